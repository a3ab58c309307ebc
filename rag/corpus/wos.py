"""Reads Web of Science's plain text ("FN Clarivate … / PT J / AU … / ER / EF").

Its RIS export is read by ``ris``, its tables by ``tables``. Cited references and addresses are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rispy.config import WOK_TAG_KEY_MAPPING

from rag.corpus import tagged
from rag.corpus.fields import doi_of, names, terms, without_tags, year_of
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source
from rag.corpus.tagged import Tagged

_LINE = re.compile(r"\ufeff?([A-Z][A-Z0-9])(?:[ \t](.*)|\s*)", re.DOTALL)


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The records of a file, in order. Raises ReadError when the bytes are no text."""
    return map(_record, tagged.split(source.lines(), source.name, _LAYOUT))


def _tag_of(line: str) -> tuple[str, str] | None:
    found = _LINE.fullmatch(line)
    return (found[1], found[2] or "") if found and found[1] in WOK_TAG_KEY_MAPPING else None


_LAYOUT = tagged.Layout(_tag_of, lambda tag, _record, _blank: tag == "PT", ("ER", "EF"))


def _record(record: Tagged) -> Record:
    accession, pubmed = record.first("UT"), record.first("PM")
    return Record(
        text=record.text("AB"),
        title=without_tags(record.first("TI")),
        authors=names(record.lines("AF") or record.lines("AU") or record.lines("CA", "GP")),
        year=next((year for year in map(year_of, record.values("PY", "EY", "PD")) if year), None),
        venue=record.first("SO", "SE", "JI"),
        topics=terms(word for value in record.values("DE", "ID") for word in value.split(";")),
        doi=doi_of(record.first("DI", "D2")),
        external_id=f"pmid:{pubmed}" if pubmed.isdecimal() else f"id:{accession}" if accession else "",
    )


FORMAT = Format("wos", "plain text of Web of Science", (".ciw",), tagged.fits("wos", ".ciw"), read)
