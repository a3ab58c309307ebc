"""What files of tagged lines have in common (RIS, MEDLINE, Web of Science): lines -> records of tags and values.

Also tells these formats, BibTeX and XML by how a file begins. Knows no meaning of any tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from rag.corpus.fields import without_tags
from rag.corpus.sources import RECORD, Source
from rag.errors import ReadError

_STARTS = {
    "xml": re.compile(r"<\?xml\s|<!DOCTYPE\s"),
    # Each at the very start of a file, after a few lines of heading at most: prose that speaks of a format is none.
    # Every run of blanks has a bound or a single place to end, so that no file can keep these busy.
    "ris": re.compile(
        r"(?:(?:\d{1,9}\.|Record #\d[^\n]{0,80}|[A-Z]\w{0,20}:[^\n]{0,120})?[ \t]{0,9}\n){0,12}?"
        r"TY {0,2}-[ \t]{0,9}[A-Za-z ]{0,40}\n\s*(?:[A-Z][A-Z0-9] {0,2}-|$)"
    ),
    "nbib": re.compile(r"(?:PMID- {0,9}\d{1,12}|PMC - {0,9}(?:PMC)?\d{1,12})[ \t]{0,9}(?:\n|$)"),
    "wos": re.compile(r"FN [^\n]{0,200}\n\s*VR \d|(?:VR [\d.]{1,9}\s{1,9})?PT [A-Z]\s{1,9}(?:AU|AF|BA|BE|CA|GP|TI) "),
    "bibtex": re.compile(
        r"(?:\s*%[^\n]*\n)*\s*@(?:(?:string|comment|preamble)\s{0,9}[{(]"
        r"|[a-z]{1,40}\s{0,9}[{(]\s{0,9}[^\s{}(),=\"]{0,200}\s{0,9},\s{0,99}[\w-]{1,40}\s{0,9}=)",
        re.IGNORECASE,
    ),
}


def sniffed(source: Source) -> str:
    """The name of the text format that a source begins like, or nothing."""
    start = source.start.replace("\r\n", "\n").replace("\r", "\n")
    return next((name for name, pattern in _STARTS.items() if pattern.match(start)), "")


def fits(name: str, *suffixes: str) -> Callable[[Source], bool]:
    """Whether a source begins like a format, or has its ending and begins like no other one."""

    def fit(source: Source) -> bool:
        found = sniffed(source)
        return found == name or (not found and source.suffix in suffixes)

    return fit


@dataclass(slots=True)
class Tagged:
    """One record: the values of each tag in order, each value with the lines that it had."""

    fields: dict[str, list[list[str]]] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, tag: str, value: str) -> None:
        """A line with a tag."""
        self.last = [value.strip()]
        self.fields.setdefault(tag, []).append(self.last)

    def extend(self, line: str) -> None:
        """A line without a tag, that goes on with the last value."""
        self.last.append(line.strip())

    def values(self, *tags: str) -> tuple[str, ...]:
        """All values of the tags, in the order of the tags; the lines of each joined by blanks."""
        found = (" ".join(filter(None, lines)) for tag in tags for lines in self.fields.get(tag, ()))
        return tuple(value for value in found if value)

    def lines(self, *tags: str) -> tuple[str, ...]:
        """As ``values``, where each line is a value of its own."""
        found = (line for tag in tags for lines in self.fields.get(tag, ()) for line in lines)
        return tuple(line for line in found if line)

    def first(self, *tags: str) -> str:
        """The first value of the first tag that has one."""
        return next(iter(self.values(*tags)), "")

    def text(self, *tags: str) -> str:
        """All values of the tag with the longest ones, without markup: long texts are cut over several lines."""
        return without_tags(max((" ".join(self.values(tag)) for tag in tags), key=len, default=""))


@dataclass(frozen=True, slots=True)
class Layout:
    """How a format cuts a file. ``tag_of`` takes a line apart; ``begins`` says whether a tag starts a record.

    ``begins`` is given the tag, the record so far (None outside) and whether the line before was blank.
    """

    tag_of: Callable[[str], tuple[str, str] | None]
    begins: Callable[[str, Tagged | None, bool], bool]
    ends: Collection[str] = ()


def split(lines: Iterable[str], name: str, layout: Layout) -> Iterator[Tagged]:
    """The records of a file. What stands outside of records is passed over. Raises ReadError for one without end."""
    record: Tagged | None = None
    blank = True
    for number, line in enumerate(lines, 1):
        if not line.strip():
            blank = True
            continue
        tag, value = layout.tag_of(line) or ("", line)
        if tag and layout.begins(tag, record, blank):
            if record:
                yield record
            record = Tagged()
        blank = False
        if record is None:
            continue
        if tag in layout.ends:
            yield record
            record = None
            continue
        _add(record, tag, value)
        if record.size > RECORD:
            raise too_long(name, f"the record at line {number}")
    if record:
        yield record


def too_long(name: str, what: str) -> ReadError:
    """What to raise for a record that would fill the memory; ``what`` says where it is."""
    return ReadError(
        f"{name}: {what} is longer than {RECORD // 10**6} MB, no abstract is: take it out of the file, or close what "
        "is open in it"
    )


def _add(record: Tagged, tag: str, value: str) -> None:
    record.size += len(value) + 200  # what a line takes beside its characters
    if tag:
        record.add(tag, value)
    elif record.last:
        record.extend(value)
