"""Streams elements out of XML files, one at a time, in constant memory and without trusting the file.

Nothing outside the file is loaded: no DTD, no external entity, no network. Entities that a file declares itself are
not unfolded: a record that uses one is skipped with the reason, and libxml2 stops at entities that multiply. Knows no
format of papers: which elements are records, and what is in them, is for the modules that use this one.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import IO

from lxml import etree

from rag.corpus.records import Record, Skipped
from rag.corpus.sources import Source
from rag.errors import ReadError

LONGEST = 3 * 10**6
"""Bytes of the longest record: a paper of 3,000 authors has 2 MB; as a tree, XML takes up to fifty times its bytes."""
_BEFORE_ROOT = re.compile(r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
_ROOT = re.compile(r"<(?:[^\s<>/:!?]+:)?([^\s<>/:!?]+)")

Element = etree._Element
Convert = Callable[[Element], Record | None]
"""An element -> its record; None for what is no record. Raises UnfitError for a record that can't be read."""


class UnfitError(ValueError):
    """One record can't be read, and why. It becomes a ``Skipped``, so that no caller ever sees it."""


def root_tag(source: Source) -> str:
    """The name of a source's outermost element, without prefix, told by its first bytes; empty if it is no XML."""
    start, position = source.start, 0
    while found := _BEFORE_ROOT.match(start, position):
        position = found.end()
    root = _ROOT.match(start, position)
    return root[1] if root else ""


def records_of(source: Source, tags: tuple[str, ...], convert: Convert) -> Iterator[Record | Skipped]:
    """The records that ``convert`` makes of the elements with one of the tags, in order. Raises ReadError."""
    stream = source.open()
    with stream.limited(LONGEST) as buffered:
        blank_lines = _skip_blanks(buffered)
        yield from records(buffered, source.name, tags, convert, done=stream.record_done, line=blank_lines)


def records(
    stream: IO[bytes],
    name: str,
    tags: tuple[str, ...],
    convert: Convert,
    *,
    done: Callable[[], None] | None = None,
    line: int = 0,
) -> Iterator[Record | Skipped]:
    """As ``records_of``, for bytes that are no file of their own. ``line`` is how many lines came before them."""
    position = 0
    for element in _elements(stream, name, tags, line):
        item: Record | Skipped | None
        try:
            item = convert(element)
        except UnfitError as error:
            item = Skipped(name, position, str(error))
        if done:
            done()
        if item is not None:
            yield item
            position += 1


def text_of(element: Element | None) -> str:
    """All text in an element and its children, on one line. Raises UnfitError when an entity in it is not unfolded."""
    if element is None:
        return ""
    for entity in element.iter(etree.Entity):
        raise UnfitError(f"uses the entity {entity.text}, which is not unfolded: write the character itself")
    return " ".join("".join(map(str, element.itertext())).split())


def texts_of(element: Element, path: str) -> tuple[str, ...]:
    """The text of each element at a path, in order."""
    return tuple(text_of(found) for found in element.iterfind(path))


def first_text(element: Element, *paths: str) -> str:
    """The text of the first element, at the first path, that has any."""
    return next((text for path in paths for text in texts_of(element, path) if text), "")


def _skip_blanks(buffered: io.BufferedReader) -> int:
    """Go past white space before the XML declaration, where none may stand but some does; how many lines it was."""
    lines = 0
    while (byte := buffered.peek(1)[:1]) and byte in b" \t\r\n":
        lines += buffered.read(1) == b"\n"
    return lines


def _elements(stream: IO[bytes], name: str, tags: tuple[str, ...], line: int) -> Iterator[Element]:
    events = etree.iterparse(
        stream, events=("end",), tag=[f"{{*}}{tag}" for tag in tags], load_dtd=False, no_network=True,
        resolve_entities=False, huge_tree=False, remove_comments=True, remove_pis=True, recover=False,
    )  # fmt: skip
    try:
        for _, element in events:
            yield element
            _free(element)
    except etree.LxmlError as error:
        raise ReadError(_reason(name, events, error, line)) from error
    except (ValueError, LookupError, AssertionError) as error:  # what lxml raises for impossible names and encodings
        raise ReadError(f"{name} can't be read as XML ({' '.join(str(error).split())}): mend it") from error


def _reason(name: str, events: etree.iterparse[tuple[str, Element]], error: etree.LxmlError, line: int) -> str:
    """One line; lxml's own error says "no element found (line 0)" where its log knows the cause and the place."""
    log = [entry for entry in events.error_log if entry.line and entry.message]
    at = line + (log[0].line if log else getattr(error, "lineno", 0) or 1)
    message = " ".join((log[0].message if log else str(error).removesuffix(" (line 0)")).split())
    if "amplification" in message:
        return f"{name}: entities unfold without measure at line {at}, those of papers never do: it is not read"
    return f"{name} is broken XML at line {at} ({message.rstrip('.')}): mend it there, or fetch it again"


def _free(element: Element) -> None:
    """Give back the memory of an element that was read, and of all that came before it in the file."""
    element.clear()
    for node in (element, *element.iterancestors()):
        parent = node.getparent()
        while parent is not None and node.getprevious() is not None:
            del parent[0]
