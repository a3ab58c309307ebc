"""The lists of conference papers that papercopilot/paperlists keeps: one JSON array for each conference and year.

Venue and year come from the addresses or from the file's name (``iclr2024.json``); a list without either has none.
"""

from __future__ import annotations

from collections.abc import Iterable

from rag.corpus.fields import names, one_line, text_of, topics_of, venue_and_year
from rag.corpus.json_outline import SUFFIXES, Row, first_row
from rag.corpus.json_rows import read_rows
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source

_OWN = {"site", "openreview", "primary_area", "status", "track", "tldr", "gs_citation", "aff"}


def fits(source: Source) -> bool:
    """Whether the first row has the keys of these lists."""
    row = first_row(source) or {}
    return "title" in row and isinstance(row.get("author"), str) and len(_OWN & row.keys()) > 1


def read(source: Source, _: Options) -> Iterable[Record | Skipped]:
    """The papers, in order."""
    return read_rows(source, lambda row: _record(row, source.name))


def _record(row: Row, name: str) -> Record:
    site = text_of(row, "site", "openreview", "pdf")
    told = [venue_and_year(text) for text in (site, name)]
    key = one_line(row.get("id"))
    kind = "openreview" if "openreview.net" in text_of(row, "openreview") + site else "id"
    return Record(
        text=text_of(row, "abstract"),
        title=text_of(row, "title"),
        authors=names(text_of(row, "author").split(";")),
        year=next((year for _, year in told if year), None),
        venue=next((venue for venue, _ in told if venue), ""),
        topics=tuple(dict.fromkeys(topics_of(row.get("keywords")) + topics_of([row.get("primary_area")]))),
        url=site,
        external_id=f"{kind}:{key}" if key else "",
    )


FORMAT = Format("paperlists", "JSON lists of conference papers by papercopilot", SUFFIXES, fits, read)
