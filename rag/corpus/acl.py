"""Reads the XML files of the ACL Anthology: a collection of volumes of papers.

Venue and year are the volume's. Front matter is no paper. Does not read attachments, videos or editors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.corpus import xml_stream
from rag.corpus.fields import doi_of, names, year_of
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source
from rag.corpus.xml_stream import Element, first_text, root_tag, text_of

_SITE = "https://aclanthology.org/"
_ADDRESS = re.compile(r"^https?://[^/]+/(?:anthology/)?|(?:\.pdf|/)+$")
_TWO_DIGITS = re.compile(r"W\d\d|C69")


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The papers of a collection. Raises ReadError when it is no XML."""
    return xml_stream.records_of(source, ("meta", "paper"), _Collection().record)


class _Collection:
    """Remembers what a volume says of itself, which comes before its papers."""

    def __init__(self) -> None:
        self._volume: Element | None = None
        self._venue = ""
        self._year: int | None = None

    def record(self, element: Element) -> Record | None:
        """The record of a paper; None for front matter and for what is said of the volume."""
        volume = element.getparent()
        if volume is not self._volume:
            self._volume, self._venue, self._year = volume, "", None
        if element.tag == "meta":
            self._venue = first_text(element, "booktitle")
            self._year = year_of(first_text(element, "year"))
            return None
        key = _key(element)
        if element.get("id") == "0":
            return None
        return Record(
            text=text_of(element.find("abstract")),
            title=text_of(element.find("title")),
            authors=names(_name(author) for author in element.iterfind("author")),
            year=self._year or year_of(first_text(element, "year")),
            venue=self._venue or first_text(element, "booktitle"),
            url=f"{_SITE}{key}/" if key else "",
            doi=doi_of(first_text(element, "doi")),
            external_id=f"acl:{key}" if key else "",
        )


def _name(author: Element) -> str:
    return f"{first_text(author, 'first')} {first_text(author, 'last')}".strip()


def _key(paper: Element) -> str:
    """``2022.acl-long.1`` or ``J89-1001``: what the address says, else put together as the Anthology does."""
    if address := first_text(paper, "url"):
        return _ADDRESS.sub("", address)
    volume = paper.getparent()
    collection = volume.getparent() if volume is not None else None
    if volume is None or collection is None:
        return ""
    ids = [node.get("id", "") for node in (collection, volume, paper)]
    if not all(ids):
        return ""
    if ids[0][:1].isdigit() or not (ids[1] + ids[2]).isdecimal():
        return f"{ids[0]}-{ids[1]}.{ids[2]}"
    if len(ids[2]) >= 4:  # old files number the papers with the volume before
        return f"{ids[0]}-{ids[2]}"
    two = _TWO_DIGITS.fullmatch(ids[0]) or (ids[0] == "D19" and int(ids[1]) >= 5)
    return f"{ids[0]}-{int(ids[1]):02d}{int(ids[2]):02d}" if two else f"{ids[0]}-{int(ids[1])}{int(ids[2]):03d}"


def _fits(source: Source) -> bool:
    return root_tag(source) == "collection" and "<volume" in source.start


FORMAT = Format("acl", "XML of the ACL Anthology", (".xml",), _fits, read)
