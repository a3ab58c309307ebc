"""Files -> papers. Holds the one table of readers; opens nothing but the file it is given.

A new format is one module with a ``FORMAT`` (see ``records.Format``) and one line in ``FORMATS``.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from rag.corpus import (
    abstracts,
    acl,
    arxiv,
    atom,
    beir,
    bibtex,
    conference,
    csl,
    document,
    json_papers,
    nbib,
    openreview,
    paperlists,
    pubmed,
    ris,
    semantic_scholar,
    tables,
    wos,
)
from rag.corpus.opening import sources
from rag.corpus.records import Format, Options, Reading, Record, Skipped
from rag.corpus.sources import Source
from rag.domain import Paper
from rag.errors import ReadError, SettingsError
from rag.naming import label_of

__all__ = [
    "FORMATS", "Format", "Options", "Reading", "Record", "Skipped", "format_of", "named_format", "no_abstract",
    "paper_id", "paper_of", "read_papers", "records_of", "suffixes",
]  # fmt: skip

MAX_CHARACTERS = 200_000
"""Longest record that is taken for an abstract: a whole book in one paragraph would hold everything up."""
_LONGEST_FIELD = 2_000
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")

FORMATS: tuple[Format, ...] = (
    # The first that fits is taken; plain text takes what is left.
    conference.FORMAT, paperlists.FORMAT, openreview.FORMAT, arxiv.FORMAT, semantic_scholar.FORMAT, csl.FORMAT,
    beir.FORMAT, json_papers.FORMAT,
    atom.FORMAT, acl.FORMAT, pubmed.FORMAT,
    nbib.FORMAT, ris.FORMAT, wos.FORMAT, bibtex.FORMAT, tables.FORMAT,
    document.FORMAT, abstracts.FORMAT,
)  # fmt: skip
_PACKED = (".gz", ".zip")


def suffixes() -> frozenset[str]:
    """The endings of files that are read when a folder is given."""
    return frozenset(suffix for form in FORMATS for suffix in form.suffixes if suffix) | set(_PACKED)


def named_format(name: str) -> Format:
    """A format by its name. Raises SettingsError, which lists them."""
    for form in FORMATS:
        if form.name == name:
            return form
    raise SettingsError(f"there is no format {name!r}; take one of {', '.join(form.name for form in FORMATS)}")


def format_of(source: Source, wanted: str = "") -> Format:
    """The format that a source is in. ``wanted`` overrides what its content says.

    Raises ReadError, SettingsError for a ``wanted`` that is none.
    """
    if wanted:
        return named_format(wanted)
    for form in FORMATS:
        if form.fits(source):
            return form
    raise ReadError(f"{source.name}: no reader for it; if it is plain text, rename it to .txt")


def records_of(source: Source, options: Options) -> Iterator[Record | Skipped]:
    """The records of one source, cleaned, and what was skipped. A record without an abstract comes as ``Skipped``.

    Raises ReadError when the source can't be read, or not to its end.
    """
    form = format_of(source, options.format)
    for position, item in enumerate(form.read(source, options)):
        if isinstance(item, Skipped):
            yield item
            continue
        record = _cleaned(item)
        if len(record.text) > MAX_CHARACTERS:
            why = f"is longer than any abstract ({len(record.text)} characters, at most {MAX_CHARACTERS})"
            yield Skipped(source.name, position, why)
        elif not any(c.isalpha() for c in record.text):
            yield Skipped(source.name, position, f"has no abstract{_titled(record.title)}")
        else:
            yield record


def _titled(title: str) -> str:
    return f" (“{title if len(title) <= 60 else title[:60].rstrip() + '…'}”)" if title else ""


def _cleaned(record: Record) -> Record:
    """Without control characters and with single blanks in its fields; no field is longer than a page."""

    def line(text: str) -> str:
        return " ".join(_CONTROLS.sub(" ", text).split())[:_LONGEST_FIELD]

    def lines(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(one for one in map(line, texts) if one)

    return Record(
        text=_CONTROLS.sub(" ", record.text).strip(), title=line(record.title), authors=lines(record.authors),
        year=record.year, venue=line(record.venue), topics=lines(record.topics), url=line(record.url),
        doi=line(record.doi), external_id=line(record.external_id),
    )  # fmt: skip


def paper_id(text: str) -> str:
    """16 hex digits that stand for an abstract, whatever its layout: sha256 of the NFKC text with single blanks."""
    collapsed = " ".join(unicodedata.normalize("NFKC", text).split())
    return hashlib.sha256(collapsed.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def paper_of(record: Record, source: str, position: int) -> Paper:
    """The paper that a record is; ``source`` and ``position`` say where it was read."""
    return Paper(
        paper_id(record.text), record.text, label_of(record.text, record.title), source=source, position=position,
        title=record.title, authors=record.authors, year=record.year, venue=record.venue, topics=record.topics,
        url=record.url, doi=record.doi, external_id=record.external_id,
    )  # fmt: skip


def read_papers(path: Path | str, options: Options | None = None) -> Reading:
    """All papers of one file, and the records that were skipped with reasons. Holds them all: for small files.

    Raises ReadError when the file is missing, unreadable, empty, not of a known format, or holds no abstract.
    """
    path = Path(path)
    papers: list[Paper] = []
    skipped: list[Skipped] = []
    for source in sources(path):
        if isinstance(source, Skipped):
            skipped.append(source)
            continue
        for item in records_of(source, options or Options()):
            if isinstance(item, Skipped):
                skipped.append(item)
            else:
                papers.append(paper_of(item, source.name, len(papers)))
    if not papers:
        raise no_abstract(path, skipped)
    return Reading(path.name, tuple(papers), tuple(skipped))


def no_abstract(path: Path, skipped: Sequence[Skipped]) -> ReadError:
    """What to raise for a file in which there was no abstract."""
    if path.exists() and not path.stat().st_size:
        return ReadError(f"{path} is empty: put abstracts in it, with blank lines between them")
    why = f" ({skipped[0].reason})" if skipped else ""
    return ReadError(f"{path} holds no abstract{why}: put abstracts in it, with blank lines between them")
