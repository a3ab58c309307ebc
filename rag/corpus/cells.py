"""What columns of a table are called, and what is in their cells: a row -> a record. Reads no files."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.corpus.fields import (
    arxiv_of,
    doi_of,
    key_of,
    one_line,
    people,
    split_names,
    terms,
    topics_of,
    without_tags,
    year_of,
)
from rag.corpus.records import Record
from rag.errors import ReadError

_NAMES: dict[str, str] = {
    # Fields of a record, and what Scopus, Web of Science, Embase, Rayyan, ASReview, Dimensions, Lens, PubMed, Zotero
    # and people call them, the better ones first; in lower case, with blanks for whatever is no letter or digit.
    "text": "abstract|abstracts|abstract note|notes abstract|abstract text|primary abstract|paper abstract|"
    "abstract english|ab|n2|original abstract|summary",
    "title": "title|article title|document title|primary title|paper title|titles|ti|t1|item title|name|short title|"
    "original title",
    "authors": "author full names|authors|author names|author|author s|authors names|first authors|af|au|a1|creators|"
    "creator|names",
    "year": "year|publication year|py|pubyear|pub year|published year|y1|publication date|published|date|cover date|"
    "date published|year of publication",
    "venue": "source title|journal|journal title|journal name|publication title|venue|journal book|conference|"
    "conference name|booktitle|so|jf|jo|t2|secondary title|alternate title3|alternate title1|source|publication",
    "topics": "keywords|author keywords|keyword|topics|tags|manual tags|automatic tags|index keywords|keywords plus|"
    "mesh terms|mesh headings|mesh|subjects|kw|de|fields of study|categories",
    "url": "url|urls|link|links|open url link|doi link|source url|source urls|external url|ur|pdf url|paper url|"
    "dimensions url",
    "doi": "doi|digital object identifier|do|di|doi number|article doi",
    "external_id": "pmid|pubmed id|pm|arxiv id|arxiv|eid|ut unique wos id|ut|lens id|accession number|an|pui|"
    "publication id|openreview id|record id|paper id|key|id",
}
_FIELD_OF = {name: field for field, listed in _NAMES.items() for name in listed.split("|")}
_RANK = {name: rank for listed in _NAMES.values() for rank, name in enumerate(listed.split("|"))}
_PMID = {"pmid", "pubmed id", "pm"}
_ALIASES = {"abstract": "text", "keywords": "topics", "journal": "venue", "id": "external_id", "author": "authors"}
_COMMA = re.compile(r",(?![^()]{0,80}\))")  # not one inside parentheses
_CITATION = re.compile(r"(.{1,300}?) \(((?:1[89]|20)\d\d)\) [\d:. ()-]+")
"""Embase's source: a journal, the year, volume and pages."""
_NO_WORD = re.compile(r"[\W_]+")
_LONGEST_LIST = 100_000  # characters of a cell that is taken for a written list
_SHOWN = 30  # columns that an error lists


def _plain(name: str) -> str:
    return _NO_WORD.sub(" ", name.casefold()).strip()


def named(name: str) -> str:
    """The field of a record that a column of this name usually holds, or nothing."""
    return _FIELD_OF.get(_plain(name), "") if len(name) <= 60 else ""


def wanted(columns: Mapping[str, str]) -> dict[str, str]:
    """The user's columns by field of a record. Raises ReadError for a field that there isn't."""
    found: dict[str, str] = {}
    for what, column in columns.items():
        field = _ALIASES.get(what, what)
        if field not in _NAMES:
            known = ", ".join(["abstract", *(name for name in _NAMES if name != "text")])
            raise ReadError(f"there is no field {what!r} to take from the column {column!r} (fields: {known})")
        found[field] = column.strip()
    return found


@dataclass(frozen=True, slots=True)
class Columns:
    """Which cells hold what: places in a row by field, the better ones first; ``pmid`` are those of PubMed ids."""

    places: Mapping[str, tuple[int, ...]]
    pmid: frozenset[int]

    @classmethod
    def of(cls, heading: list[str], wanted_columns: Mapping[str, str], name: str) -> Columns:
        """The columns of a heading. Raises ReadError when a named one, or one of abstracts, is not there."""
        plain = [_plain(cell) for cell in heading]
        listed = _listed(heading)
        places: dict[str, tuple[int, ...]] = {}
        for field in _NAMES:
            known = [place for place, cell in enumerate(plain) if _FIELD_OF.get(cell) == field]
            places[field] = tuple(sorted(known, key=lambda place: _RANK[plain[place]]))
        for field, column in wanted_columns.items():
            place = _place(column, heading)
            if place is None:
                raise ReadError(f"{name} has no column {column!r} (its columns: {listed})")
            places[field] = (place,)
        if not places["text"]:
            raise ReadError(
                f"{name} has no column of abstracts (its columns: {listed}): say which with --column abstract=NAME"
            )
        return cls(places, frozenset(place for place, cell in enumerate(plain) if cell in _PMID))

    @property
    def abstract(self) -> int:
        """The place of the best column of abstracts."""
        return self.places["text"][0]

    def record(self, row: list[str]) -> Record:
        """The record in a row; cells that are missing are empty."""
        doi = doi_of(self._first(row, "doi")) or _doi_of_address(self._first(row, "url"))
        venue, citation = without_tags(self._first(row, "venue")), _CITATION.match(self._first(row, "venue"))
        years = [*self._cells(row, "year"), citation[2] if citation else ""]
        url = next((part for part in re.split(r"[\s;]+", self._first(row, "url")) if part.startswith("http")), "")
        return Record(
            text=without_tags(self._first(row, "text")),
            title=without_tags(self._first(row, "title")),
            authors=_people(self._first(row, "authors")),
            year=next((year for cell in years if (year := year_of(cell))), None),
            venue=citation[1] if citation else venue,
            topics=terms(word for cell in self._cells(row, "topics") for word in _words(cell)),
            url=url,
            doi=doi,
            external_id=self._id(row) or arxiv_of(doi) or arxiv_of(url),
        )

    def _cells(self, row: list[str], field: str) -> list[str]:
        places = (place for place in self.places[field] if place < len(row))
        return [cell for place in places if (cell := row[place].strip())]

    def _first(self, row: list[str], field: str) -> str:
        return next(iter(self._cells(row, field)), "")

    def _id(self, row: list[str]) -> str:
        for place in self.places["external_id"]:
            value = one_line(row[place]) if place < len(row) else ""
            if value and place in self.pmid:
                number = value.removesuffix(".0")  # what a spreadsheet makes of a number
                return f"pmid:{number}" if number.isdecimal() else f"id:{value}"
            if value:
                return (arxiv_of(value) if not value.isdecimal() else "") or key_of(value)
        return ""


def _place(column: str, heading: list[str]) -> int | None:
    """Where a column is: by its very name, else whatever its case and blanks."""
    if column in heading:
        return heading.index(column)
    plain = [_plain(cell) for cell in heading]
    return plain.index(_plain(column)) if _plain(column) in plain else None


def _listed(heading: list[str]) -> str:
    shown = [" ".join(cell.split())[:40] or "(empty)" for cell in heading[:_SHOWN]]
    return ", ".join(shown) + (", …" if len(heading) > _SHOWN else "") if shown else "none"


def _doi_of_address(url: str) -> str:
    return doi_of(url) if "doi.org/" in url else ""


def _people(cell: str) -> tuple[str, ...]:
    listed = _written_list(cell)
    if listed is not None:
        return people(listed)
    lines = (" ".join(line.split()) for line in cell.splitlines())  # long runs of blanks would hold it up
    return split_names(re.sub(r" ?\(\d{1,20}\)", "", "\n".join(filter(None, lines))))  # Scopus numbers full names


def _words(cell: str) -> Sequence[str]:
    listed = _written_list(cell)
    if listed is not None:
        return topics_of(listed)
    return re.split(r"[;|\n]", cell) if re.search(r"[;|\n]", cell) else _COMMA.split(cell)


def _written_list(cell: str) -> list[object] | None:
    """What is in a list as Python or JSON writes it; None when the cell is none."""
    if not (cell.startswith("[") and cell.endswith("]")) or len(cell) > _LONGEST_LIST:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue  # no list in this notation
        return found if isinstance(found, list) else None
    return None
