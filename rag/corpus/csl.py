"""CSL-JSON, as Zotero, Mendeley and Pandoc write it, and works of Crossref's API, which are the same with lists.

The abstracts of both may hold HTML or JATS; it is removed, with the heading "Abstract" that JATS has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag.corpus.fields import arxiv_of, doi_of, key_of, one_line, people, text_of, topics_of, without_tags, year_of
from rag.corpus.json_outline import SUFFIXES, Row, first_row
from rag.corpus.json_rows import read_rows
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source

_OWN = {"container-title", "issued", "DOI", "citation-key", "citation-label", "collection-title"}
_NAMES = {"family", "literal"}
_DATES = ("issued", "published", "published-print", "published-online", "event-date", "created")
_HEADING = re.compile(r"<(jats:|)(title|h\d)>\s*(?:abstract|summary)[.:]?\s*</\1\2>", re.IGNORECASE)


def fits(source: Source) -> bool:
    """Whether the first row is a CSL item."""
    row = first_row(source) or {}
    authors = row.get("author")
    first = authors[0] if isinstance(authors, list) and authors else None
    return not _OWN.isdisjoint(row) or (isinstance(first, dict) and not _NAMES.isdisjoint(first))


def read(source: Source, _: Options) -> Iterable[Record | Skipped]:
    """The items, in order."""
    return read_rows(source, _record)


def _record(row: Row) -> Record:
    return Record(
        text=_plain(text_of(row, "abstract")),
        title=_plain(text_of(row, "title")),
        authors=people(row.get("author")),
        year=next((year for year in (_year(row.get(key)) for key in _DATES) if year), None),
        venue=_plain(_first(row, "container-title") or _first(row, "event-title") or _first(row, "publisher")),
        topics=topics_of(row.get("keyword")) or topics_of(row.get("subject")),
        url=text_of(row, "URL", "url"),
        doi=doi_of(row.get("DOI")),
        external_id=_external_id(row),
    )


def _plain(text: str) -> str:
    """Without tags; where there were any, line breaks mean nothing."""
    found = without_tags(_HEADING.sub("", text))
    return found if found == text else one_line(found)


def _first(row: Row, key: str) -> str:
    """Crossref gives the long and the short name of a journal."""
    value = row.get(key)
    return text_of({key: value[:1]} if isinstance(value, list) else row, key)


def _year(date: object) -> int | None:
    """Of ``{"date-parts": [[2024, 1]]}``, or of the texts that may stand in its place."""
    if not isinstance(date, dict):
        return year_of(date)
    parts = date.get("date-parts")
    while isinstance(parts, list) and parts:
        parts = parts[0]
    return next((year for year in map(year_of, (parts, date.get("literal"), date.get("raw"))) if year), None)


def _external_id(row: Row) -> str:
    if found := next(filter(None, (arxiv_of(row.get(key)) for key in ("DOI", "URL", "number"))), ""):
        return found
    pubmed = one_line(row.get("PMID"))
    return f"pmid:{pubmed}" if pubmed else key_of(row.get("id"))


FORMAT = Format("csl", "CSL-JSON (Zotero, Mendeley) and JSON of Crossref's API", SUFFIXES, fits, read)
