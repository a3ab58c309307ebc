"""The JSON that the sites of ICML, NeurIPS and ICLR offer for download: papers, and talks, tutorials and workshops.

Two layouts: ``name`` with ``speakers/authors`` in one string, and the longer one in ``results`` with a list of
authors. Events that are no papers (talks, tutorials, workshops, breaks) are skipped. Does not fetch pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag.corpus.fields import names, one_line, people, text_of, topics_of, venue_and_year, without_tags
from rag.corpus.json_outline import SUFFIXES, Row, first_row
from rag.corpus.json_rows import read_rows
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source

_ADDRESS = re.compile(r"(https?://[^/\s]+)/+", re.IGNORECASE)
_PAPER = re.compile(r"poster|oral|spotlight|paper|position|highlight|journal|demo|dataset", re.IGNORECASE)
_NUMBER = re.compile(r"/(\d+)/?$")
_EVENT = re.compile(r"://(?:www\.)?([\w.-]+)/+virtual/(\d{4}/[\w-]+/\d+)", re.IGNORECASE)
_FORUM = re.compile(r"openreview\.net/(?:forum|pdf)\?id=([\w-]+)")


def fits(source: Source) -> bool:
    """Whether the first row is an event of such a site."""
    row = first_row(source) or {}
    return "virtualsite_url" in row or "speakers/authors" in row or {"eventtype", "session"} <= row.keys()


def read(source: Source, _: Options) -> Iterable[Record | Skipped]:
    """The events, in order."""
    return read_rows(source, lambda row: _record(row, source.name))


def _record(row: Row, name: str) -> Record | str:
    kind = text_of(row, "type", "eventtype", "event_type")
    if kind and not _PAPER.search(kind):
        return f"is no paper but: {kind.lower()} (“{one_line(text_of(row, 'name', 'title'))[:60]}”)"
    site = text_of(row, "virtualsite_url")
    venue, year = venue_and_year(site)
    of_file = venue_and_year(name)
    forum = _FORUM.search(" ".join(text_of(row, key) for key in ("paper_url", "url", "sourceurl")))
    number = _NUMBER.search(site)
    key = one_line(row.get("id")) or (number[1] if number else "")
    speakers = row.get("speakers/authors")  # one string, always with commas between the names
    return Record(
        text=without_tags(text_of(row, "abstract")),
        title=text_of(row, "name", "title"),
        authors=names(speakers.split(",")) if isinstance(speakers, str) else people(row.get("authors")),
        year=year or of_file[1],
        venue=venue or of_file[0],
        topics=topics_of(text_of(row, "topic").replace("->", ";")) + topics_of(row.get("keywords")),
        url=_tidy(site) if _ADDRESS.match(site) else text_of(row, "paper_url", "url"),
        external_id=f"openreview:{forum[1]}" if forum else _event(site) or (f"id:{key}" if key else ""),
    )


def _event(site: str) -> str:
    """``icml.cc:2024/poster/35005``: the same event has the same address in every download."""
    found = _EVENT.search(site)
    return f"{found[1].lower()}:{found[2]}" if found else ""


def _tidy(address: str) -> str:
    """With a small host and single slashes: the site writes ``https://ICML.cc//virtual/…``."""
    return _ADDRESS.sub(lambda found: found[1].lower() + "/", address, count=1)


FORMAT = Format("conference", "JSON download of a conference's site (ICML, NeurIPS, ICLR)", SUFFIXES, fits, read)
