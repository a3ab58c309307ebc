"""Papers of arXiv as JSON: the metadata set on Kaggle, what scrapers write, and answers of its API saved in JSON.

The answers' Atom is read by ``atom``. Hard line breaks of an abstract are layout, so it becomes one line; its LaTeX
stays. The year is that of the first version.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from rag.corpus.fields import arxiv_of, doi_of, names, one_line, people, text_of, topics_of, year_of
from rag.corpus.json_outline import SUFFIXES, Row, first_row
from rag.corpus.json_rows import rows
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source

_IDS = ("id", "arxiv_id", "arxivId", "entry_id")
_XML = re.compile(r"\s*<(?:\?xml|feed)\b")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*>")
_FIRST_YEAR = re.compile(r"(\d\d)\d\d[.\d]|[^/]+/(\d\d)")  # 0704.0001 and hep-th/9901001


_OWN = {
    "summary", "categories", "primary_category", "authors_parsed", "versions", "update_date", "journal-ref",
    "journal_ref", "report-no", "submitter", "published", "updated", "comments", "comment", "pdf_url", "entry_id",
}  # fmt: skip


def fits(source: Source) -> bool:
    """Whether the first row has an id of arXiv and something that only arXiv says, or is a saved answer."""
    row = first_row(source) or {}
    return bool(_is_answer(row) or (_id(row) and "title" in row and row.keys() & _OWN))


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The papers, in order. Raises ReadError."""
    for row in rows(source):
        if isinstance(row, Skipped):
            yield row
        elif _is_answer(row):
            from rag.corpus import atom

            # The text is UTF-8 by now, whatever the declaration said that it was.
            body = _DECLARATION.sub("", text_of(row, "body"))
            yield from atom.records(io.BytesIO(body.encode("utf-8", "replace")), source.name)
        else:
            yield _record(row)


def _is_answer(row: Row) -> bool:
    return bool(_XML.match(text_of(row, "body")))


def _id(row: Row) -> str:
    return next((found for found in (arxiv_of(row.get(key)) for key in _IDS) if found), "")


def _record(row: Row) -> Record:
    key = _id(row)
    number = key.removeprefix("arxiv:")
    return Record(
        text=one_line(text_of(row, "abstract", "summary")),
        title=one_line(text_of(row, "title")),
        authors=_parsed(row.get("authors_parsed")) or people(row.get("authors")),
        year=_year(row, number),
        venue=text_of(row, "journal-ref", "journal_ref", "journal"),
        topics=_categories(row.get("categories")),
        url=f"https://arxiv.org/abs/{number}" if number else text_of(row, "url", "link"),
        doi=doi_of(row.get("doi")),
        external_id=key,
    )


def _parsed(value: object) -> tuple[str, ...]:
    """Names of ``[["Balázs", "C.", ""], …]``: family, given, suffix."""
    people_ = [one for one in value if isinstance(one, list)] if isinstance(value, list) else []
    return names(" ".join(filter(None, map(one_line, [*one[1:2], *one[:1], *one[2:3]]))) for one in people_)


def _categories(value: object) -> tuple[str, ...]:
    return topics_of(value.split() if isinstance(value, str) and ";" not in value and "," not in value else value)


def _year(row: Row, number: str) -> int | None:
    versions = row.get("versions")
    first = versions[0] if isinstance(versions, list) and versions else None
    created = first.get("created") if isinstance(first, dict) else first
    told = map(year_of, (row.get("published"), created, row.get("year")))
    return next((year for year in told if year), None) or _year_of_id(number) or year_of(row.get("update_date"))


def _year_of_id(number: str) -> int | None:
    found = _FIRST_YEAR.match(number)
    year = int(found[1] or found[2]) if found else -1
    return None if year < 0 else year + (1900 if year > 90 else 2000)  # arXiv began in 1991


FORMAT = Format("arxiv", "JSON of arXiv: the metadata set of Kaggle, scrapers, saved answers", SUFFIXES, fits, read)
