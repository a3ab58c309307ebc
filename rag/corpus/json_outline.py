"""Where a JSON source has its rows, and its first row, told from its first 64 KB. Reads no further; never raises.

An object is a row, or it stands around rows: ``{"count": 2, "results": [{…}, {…}]}``. It stands around them when it
has no abstract of its own and holds, under a usual name or having no title or id itself, objects that look like rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from rag.corpus.sources import Source

Row = dict[str, object]

SUFFIXES = (".json", ".jsonl", ".ndjson")
_DEEPEST = 2  # keys from the top to the rows, as in {"message": {"items": […]}}; and from a row to its texts
_SPACE = re.compile(r"[ \t\r\n]*")
_WRAPPERS = {
    "articles", "data", "docs", "documents", "entries", "events", "hits", "items", "message", "notes", "papers",
    "posters", "proceedings", "publications", "records", "response", "results", "rows", "works",
}  # fmt: skip
_TEXTS = frozenset({"abstract", "summary", "text"})
_OF_A_ROW = _TEXTS | {"title", "name", "id", "_id", "content", "paper_id", "paperId", "corpusid", "DOI"}


def _integer(digits: str) -> int | float:
    """Python refuses to make an int of thousands of digits."""
    return int(digits) if len(digits) < 100 else float(digits)


DECODER = json.JSONDecoder(parse_int=_integer)


def first_row(source: Source) -> Row | None:
    """The first row, to tell formats by; what the head cuts off is there in part. None when it is no JSON."""
    found = _outline(source.start, 0, _DEEPEST)
    return found[1] if found and found[1] else None


def path_of_rows(source: Source) -> tuple[str, ...]:
    """Keys from the top object to the rows; empty when they stand by themselves or in an array."""
    found = _outline(source.start, 0, _DEEPEST)
    return found[0] if found else ()


def after_space(text: str, at: int) -> int:
    """Where the white space at a place ends."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _outline(text: str, at: int, deeper: int) -> tuple[tuple[str, ...], Row] | None:
    at = after_space(text, at)
    if text.startswith("[", at):
        at = after_space(text, at + 1)
        return ((), _object(text, at)) if text.startswith("{", at) else None
    if not text.startswith("{", at):
        return None
    row: Row = {}
    inner: tuple[tuple[str, ...], Row] | None = None
    for key, value, start in _members(text, at):
        row[key] = value
        if deeper and inner is None and text[start : start + 1] in ("[", "{"):
            inner = _inner(text, key, start, deeper - 1)
    if inner and _TEXTS.isdisjoint(row) and (inner[0][0] in _WRAPPERS or _OF_A_ROW.isdisjoint(row)):
        return inner
    return (), row


def _inner(text: str, key: str, start: int, deeper: int) -> tuple[tuple[str, ...], Row] | None:
    found = _outline(text, start, deeper)
    return ((key, *found[0]), found[1]) if found and not _OF_A_ROW.isdisjoint(found[1]) else None


def _object(text: str, at: int, deeper: int = _DEEPEST) -> Row:
    return {key: value for key, value, _ in _members(text, at, deeper)}


def _members(text: str, at: int, deeper: int = _DEEPEST) -> Iterator[tuple[str, object, int]]:
    """Keys, values and where the values begin, of an object, as far as it goes; the last may be there in part."""
    at = after_space(text, at + 1)
    while text.startswith('"', at):
        try:
            key, at = DECODER.raw_decode(text, at)
        except ValueError:
            return
        start = after_space(text, after_space(text, at) + 1)  # over the colon
        try:
            value, at = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):  # cut off, or broken: reading will tell which
            yield key, _part(text, start, deeper), start
            return
        yield key, value, start
        at = after_space(text, after_space(text, at) + 1)  # over the comma


def _part(text: str, at: int, deeper: int) -> object:
    """What is there of a value that is cut off."""
    if text.startswith("{", at) and deeper:
        return _object(text, at, deeper - 1)
    return text[at + 1 :] if text.startswith('"', at) else None
