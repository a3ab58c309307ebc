"""Any other JSON rows with a text under a usual name; the last resort. Names count whatever their case.

A file with the ending of JSON is taken even when its first row has no such field, so that reading it says what is
wrong. Does not guess at fields under other names.
"""

from __future__ import annotations

from collections.abc import Iterable

from rag.corpus.fields import arxiv_of, doi_of, key_of, one_line, people, text_of, topics_of, year_of
from rag.corpus.json_outline import SUFFIXES, Row, first_row
from rag.corpus.json_rows import read_rows
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source

_TEXT = ("abstract", "abstracttext", "summary", "text", "content", "description", "摘要")
_TITLE = ("title", "name", "headline")
_AUTHORS = ("authors", "author", "creators")
_YEAR = ("year", "publicationyear", "published", "publicationdate", "date")
_VENUE = ("venue", "journal", "conference", "booktitle", "publication", "source")
_TOPICS = ("keywords", "topics", "tags", "categories", "subjects")
_URL = ("url", "link", "pdf", "pdfurl", "href")
_ID = ("id", "paperid", "key")
_KINDS = {"pmid": "pmid", "pubmedid": "pmid", "openreviewid": "openreview", "aclid": "acl", "corpusid": "s2"}


def fits(source: Source) -> bool:
    """Whether the first row has a text, or the ending promises JSON."""
    row = _named(first_row(source) or {})
    return source.suffix in SUFFIXES or any(isinstance(row.get(key), str) for key in _TEXT)


def read(source: Source, _: Options) -> Iterable[Record | Skipped]:
    """The rows' papers, in order."""
    return read_rows(source, record_of)


def record_of(row: Row) -> Record:
    """The paper of a row with usual names."""
    row = _named(row)
    venue, url = text_of(row, *_VENUE), text_of(row, *_URL)
    return Record(
        text=text_of(row, *_TEXT),
        title=text_of(row, *_TITLE),
        authors=next(filter(None, (people(row.get(key)) for key in _AUTHORS)), ()),
        year=next(filter(None, (year_of(row.get(key)) for key in _YEAR)), None) or year_of(venue),
        venue="" if "://" in venue else venue,
        topics=next(filter(None, (topics_of(row.get(key)) for key in _TOPICS)), ()),
        url=url,
        doi=doi_of(row.get("doi")),
        external_id=_external_id(row, url),
    )


def _named(row: Row) -> Row:
    """By names without case, blanks and dashes: "Publication Year" is ``publicationyear``. The first of two counts."""
    return {key.lower().translate(_NO_GAPS): value for key, value in reversed(row.items())}


_NO_GAPS = str.maketrans("", "", " -_")


def _external_id(row: Row, url: str) -> str:
    if found := next(filter(None, map(arxiv_of, (row.get("arxivid"), row.get("arxiv"), row.get("id"), url))), ""):
        return found
    of_kind = (f"{kind}:{one_line(row.get(key))}" for key, kind in _KINDS.items() if one_line(row.get(key)))
    return next(of_kind, "") or next(filter(None, (key_of(row.get(key)) for key in _ID)), "")


FORMAT = Format("json", "any JSON or JSON Lines with an abstract in each row", SUFFIXES, fits, read, distinct=True)
