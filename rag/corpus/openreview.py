"""Notes as OpenReview's API gives them, version 1 (``content.title``) and 2 (``content.title.value``).

Every note is taken, withdrawn papers too; reviews and comments have no abstract, so their text is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from rag.corpus.fields import one_line, people, text_of, topics_of, venue_and_year, year_of
from rag.corpus.json_outline import SUFFIXES, Row, first_row
from rag.corpus.json_rows import read_rows
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source

_OWN = {"forum", "invitation", "invitations", "signatures", "cdate", "tcdate"}
_BIBTEX_YEAR = re.compile(r"\byear\s*=\s*[{\"]?(\d{4})")
_LATEST = 4_102_444_800_000  # milliseconds: the year 2100


def fits(source: Source) -> bool:
    """Whether the first row is a note."""
    row = first_row(source) or {}
    return isinstance(row.get("content"), dict) and not _OWN.isdisjoint(row)


def read(source: Source, _: Options) -> Iterable[Record | Skipped]:
    """The notes, in order."""
    return read_rows(source, _record)


def _record(note: Row) -> Record:
    content = note.get("content")
    paper: Row = content if isinstance(content, dict) else {}
    forum = one_line(note.get("forum")) or one_line(note.get("id"))
    return Record(
        text=text_of(paper, "abstract"),
        title=text_of(paper, "title"),
        authors=people(_value(paper, "authors")),
        year=_year(note, paper),
        venue=text_of(paper, "venue") or venue_and_year(text_of(paper, "venueid"))[0],
        topics=topics_of(_value(paper, "keywords")),
        url=f"https://openreview.net/forum?id={forum}" if forum else "",
        external_id=f"openreview:{forum}" if forum else "",
    )


def _value(paper: Row, key: str) -> object:
    value = paper.get(key)
    return value.get("value") if isinstance(value, dict) else value


def _year(note: Row, paper: Row) -> int | None:
    """The venue's year; a paper of ICLR 2024 was written in 2023, so dates come last."""
    bibtex = _BIBTEX_YEAR.search(text_of(paper, "_bibtex"))
    told = (text_of(paper, "venue"), text_of(paper, "venueid"), bibtex[1] if bibtex else "")
    dates = (_year_of_milliseconds(note.get(key)) for key in ("pdate", "odate", "cdate", "tcdate"))
    return next((year for year in (*map(year_of, told), *dates) if year), None)


def _year_of_milliseconds(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _LATEST:
        return None
    return datetime.fromtimestamp(value / 1000, UTC).year


FORMAT = Format("openreview", "JSON of OpenReview's API, versions 1 and 2", SUFFIXES, fits, read)
