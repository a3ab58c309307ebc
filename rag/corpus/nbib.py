"""Reads MEDLINE's tagged text: PubMed's "Save as PubMed" (.nbib) and PubMed Central's MEDLARS.

A record begins at a PMID, or at a PMC id where that comes first. Grants, dates and addresses are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.corpus import tagged
from rag.corpus.fields import doi_of, names, terms, without_tags, year_of
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source
from rag.corpus.tagged import Tagged

_LINE = re.compile(r"\ufeff?(?=.{4}-)([A-Z][A-Z0-9]{1,3}) *-(?:[ \t](.*)|\s*)", re.DOTALL)
_QUALIFIER = re.compile(r"\*|/.*")
_IDS = ("PMID", "PMC")


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The records of a file, in order. Raises ReadError when the bytes are no text."""
    return map(_record, tagged.split(source.lines(), source.name, _LAYOUT))


def _tag_of(line: str) -> tuple[str, str] | None:
    found = _LINE.fullmatch(line)
    return (found[1], found[2] or "") if found else None


def _begins(tag: str, record: Tagged | None, blank: bool) -> bool:
    """A PMC id stands inside PubMed's records too, so that it begins one only after a blank line or a second time."""
    return tag in _IDS and (record is None or blank or tag in record.fields)


_LAYOUT = tagged.Layout(_tag_of, _begins)


def _record(record: Tagged) -> Record:
    pmid, pmc = record.first("PMID"), record.first("PMC")
    url, external_id = "", ""
    if pmid:
        url, external_id = f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/", f"pmid:{pmid}"
    elif pmc:
        url, external_id = f"https://pmc.ncbi.nlm.nih.gov/articles/{pmc}/", f"pmc:{pmc}"
    return Record(
        text=record.text("AB"),
        title=without_tags(record.first("TI", "BTI", "TT")),
        authors=names(record.values("FAU") or record.values("AU", "CN")),
        year=next((year for year in map(year_of, record.values("DP", "DEP")) if year), None),
        venue=record.first("JT", "TA", "BTI"),
        topics=terms(_QUALIFIER.sub("", value) for value in record.values("MH"))
        + terms(value.strip(" *") for value in record.values("OT")),
        url=url,
        doi=next((doi_of(value) for value in record.values("LID", "AID") if "[doi]" in value), ""),
        external_id=external_id,
    )


FORMAT = Format("nbib", "PubMed's tagged text (MEDLINE)", (".nbib",), tagged.fits("nbib", ".nbib"), read)
