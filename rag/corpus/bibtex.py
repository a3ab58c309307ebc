"""Reads BibTeX and BibLaTeX: entries one by one, so that a library of any length is read in constant memory.

bibtexparser cuts an entry into fields; what it leaves out, @string and # in any entry, is done here. Accents are
decoded in names and titles; an abstract stays LaTeX. Does not follow crossref, and reads no comments.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rag.corpus import tagged
from rag.corpus.fields import arxiv_of, doi_of, key_of, names, terms, without_tags, year_of
from rag.corpus.latex import plain
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import RECORD, Source
from rag.errors import ReadError

if TYPE_CHECKING:
    from bibtexparser.model import Block, Entry, String

# It warns of each entry that it can't read; here these are reported as skipped.
logging.getLogger("bibtexparser").addHandler(logging.NullHandler())

_BEGINS = re.compile(r"\s*@\w*[ \t]*[{(]")
_MARK = re.compile(r"""(?<!\\)[{}"#]""")
_ESCAPED = re.compile(r"\\([_%&#~$])")
_ADDRESS = re.compile(r"https?://[^\s{}\"]+")
_ARXIV = re.compile(r"arxiv:\s*([^\s,;\]]+)", re.IGNORECASE)


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The entries of a file, in order; broken ones as ``Skipped``. Raises ReadError when the bytes are no text."""
    from bibtexparser.entrypoint import parse_string

    strings = _Strings()
    position = 0
    for line, chunk in _chunks(source):
        # An empty stack: its own handling of @string and quotes knows nothing of "#", and leaves out repeated fields.
        for block in parse_string(chunk, parse_stack=[]).blocks:
            item = _item(block, strings, Skipped(source.name, position, ""), line)
            if item:
                yield item
                position += 1


def _chunks(source: Source) -> Iterator[tuple[int, str]]:
    """Pieces with one entry each, and the lines before them: cut where bibtexparser, too, lets an entry begin."""
    lines: list[str] = []
    size = start = 0
    for number, line in enumerate(source.lines()):
        if lines and _BEGINS.match(line):
            yield start, "".join(lines)
            lines, size, start = [], 0, number
        lines.append(line)
        size += len(line) + 100  # what a line takes beside its characters
        if size > RECORD:
            raise tagged.too_long(source.name, f"the entry at line {start + 1}")
    yield start, "".join(lines)


def _item(block: Block, strings: _Strings, at: Skipped, before: int) -> Record | Skipped | None:
    from bibtexparser.model import Entry, ParsingFailedBlock, String

    line = before + (block.start_line or 0) + 1
    error = ""
    if isinstance(block, ParsingFailedBlock):
        error = " ".join(str(getattr(block.error, "abort_reason", block.error)).split())
        block = block.ignore_error_block or block  # a key or a field twice is no reason to leave an entry out
    try:
        if isinstance(block, Entry):
            return _record(block, strings)
        if isinstance(block, String):
            strings.define(block)
    except _UnfoldsError:
        raise ReadError(f"{at.source}: @string unfolds without measure at line {line}: it is not read") from None
    return Skipped(at.source, at.position, f"line {line} is no entry ({error.rstrip(' .')})") if error else None


class _UnfoldsError(ValueError):
    """Strings put together from strings are longer than any record."""


class _Strings(dict[str, str]):
    """What @string defined so far, by name in lower case."""

    size = 0

    def define(self, string: String) -> None:
        """One more. Raises _UnfoldsError when all of them are too long."""
        value = _value(string.value, self)
        self.size += len(value)
        if self.size > RECORD:
            raise _UnfoldsError
        self[string.key.lower()] = value


def _value(raw: str, strings: _Strings) -> str:
    """What a value says: parts between # put together, names of strings replaced, quotes and braces taken off."""
    parts, depth, start, quoted = [], 0, 0, False
    for mark in _MARK.finditer(raw):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
        elif depth == 0 and mark[0] == '"':
            quoted = not quoted
        elif depth == 0 and not quoted:
            parts.append(raw[start : mark.start()])
            start = mark.end()
    values = [_part(part.strip(), strings) for part in [*parts, raw[start:]]]
    if sum(map(len, values)) > RECORD:
        raise _UnfoldsError
    return "".join(values)


def _part(part: str, strings: _Strings) -> str:
    if len(part) >= 2 and part[0] + part[-1] in ('""', "{}"):
        return part[1:-1]
    return strings.get(part.lower(), part)


def _unbraced(text: str) -> str:
    """Without a pair of braces around all of it."""
    text = text.strip()
    depth = 0
    for mark in _MARK.finditer(text if text.startswith("{") else ""):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0:
            return text[1:-1].strip() if mark.end() == len(text) else text
    return text


def _record(entry: Entry, strings: _Strings) -> Record:
    fields: dict[str, str] = {}
    for field in entry.fields:
        key, value = field.key.lower(), " ".join(_value(str(field.value), strings).split())
        fields[key] = fields.get(key) or value

    def first(*keys: str) -> str:
        return next((fields[key] for key in keys if fields.get(key)), "")

    address = _ADDRESS.search(_ESCAPED.sub(r"\1", f"{first('url')} {first('howpublished')} {first('note')}"))
    url = address[0].rstrip(".,;") if address else ""
    doi = doi_of(_ESCAPED.sub(r"\1", first("doi"))) or (doi_of(url) if "doi.org/" in url else "")
    return Record(
        text=without_tags(_unbraced(first("abstract"))),
        title=without_tags(plain(first("title"))),
        authors=_authors(first("author") or first("editor")),
        year=year_of(first("year")) or year_of(first("date")),
        venue=plain(
            first("journal", "journaltitle", "booktitle")
            or first("howpublished").partition("\\url")[0].partition("http")[0]
        ),
        topics=terms(plain(word) for word in re.split(r"[;,]", _unbraced(first("keywords", "keyword")))),
        url=url,
        doi=doi,
        external_id=_arxiv(fields) or arxiv_of(doi) or arxiv_of(url) or key_of(entry.key),
    )


def _arxiv(fields: dict[str, str]) -> str:
    kind = fields.get("archiveprefix") or fields.get("eprinttype") or "arxiv"
    if kind.lower() == "arxiv" and (found := arxiv_of(fields.get("eprint"))):
        return found
    return next((arxiv_of(named[1]) for named in _ARXIV.finditer(fields.get("journal", ""))), "")


def _authors(value: str) -> tuple[str, ...]:
    from bibtexparser.middlewares.names import split_multiple_persons_names

    people = [name for name in split_multiple_persons_names(_unbraced(value)) if name.strip("{} ") != "others"]
    return names(_author(name) for name in people if name.strip("{} "))


def _author(name: str) -> str:
    from bibtexparser.middlewares.names import parse_single_name_into_parts

    if _unbraced(name) != name:  # a group, whose name may hold commas
        return plain(name).replace(",", "")
    parts = parse_single_name_into_parts(name, strict=False)
    return plain(" ".join([*parts.first, *parts.von, *parts.last, *parts.jr]))


FORMAT = Format("bibtex", "BibTeX", (".bib", ".bibtex"), tagged.fits("bibtex", ".bib", ".bibtex"), read)
