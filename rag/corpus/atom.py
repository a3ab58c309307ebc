"""Reads Atom feeds of the arXiv API: one record for each entry.

Takes the abstract page's address without its version. Fetches nothing, and reads no other Atom feeds: a summary in
those is seldom an abstract.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from rag.corpus import xml_stream
from rag.corpus.fields import arxiv_of, doi_of, names, terms, without_tags, year_of
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source
from rag.corpus.xml_stream import Element, UnfitError, first_text, root_tag, texts_of

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_TAGS = ("entry",)


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The records of a feed in a file. Raises ReadError when it is no XML."""
    return xml_stream.records_of(source, _TAGS, _record)


def records(stream: IO[bytes], name: str) -> Iterator[Record | Skipped]:
    """The records of a feed that lies in something else; ``name`` is what errors call it. Raises ReadError."""
    return xml_stream.records(stream, name, _TAGS, _record)


def _record(entry: Element) -> Record:
    address = first_text(entry, f"{_ATOM}id")
    summary = first_text(entry, f"{_ATOM}summary")
    if "/api/errors" in address:  # arXiv answers a wrong query with an entry that says so
        raise UnfitError(f"is an error message of arXiv: {summary[:200]}")
    external_id = arxiv_of(address)
    return Record(
        text=without_tags(summary),
        title=without_tags(first_text(entry, f"{_ATOM}title")),
        authors=names(texts_of(entry, f"{_ATOM}author/{_ATOM}name")),
        year=year_of(first_text(entry, f"{_ATOM}published", f"{_ATOM}updated")),
        venue=first_text(entry, f"{_ARXIV}journal_ref"),
        topics=terms(category.get("term") for category in entry.iterfind(f"{_ATOM}category")),
        url=f"https://arxiv.org/abs/{external_id.removeprefix('arxiv:')}" if external_id else address,
        doi=doi_of(first_text(entry, f"{_ARXIV}doi")),
        external_id=external_id,
    )


def _fits(source: Source) -> bool:
    return root_tag(source) == "feed" and "arxiv.org" in source.start


FORMAT = Format("arxiv-atom", "Atom feed of the arXiv API", (".xml", ".atom"), _fits, read)
