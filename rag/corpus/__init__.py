"""Files -> papers. Holds the one table of readers; opens nothing but the file it is given.

A new format is one module with a ``read`` function (see ``records.Reader``) and one line in ``FORMATS``.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rag.corpus import abstracts
from rag.corpus.records import Reader, Reading, Record, Skipped
from rag.domain import Paper
from rag.errors import ReadError
from rag.naming import label_of

__all__ = ["FORMATS", "Format", "Reading", "Record", "Skipped", "paper_id", "read_papers", "suffixes"]

MAX_BYTES = 512 * 10**6
MAX_CHARACTERS = 200_000
"""Longest record that is taken for an abstract: a whole book in one paragraph would hold everything up."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: the endings it goes by, its reader, and a look at the first bytes where endings are shared."""

    name: str
    suffixes: tuple[str, ...]
    read: Reader
    fits: Callable[[bytes], bool] | None = None


FORMATS: tuple[Format, ...] = (
    # The first that has the ending and fits is taken.
    Format("plain text", (".txt", ".md", ".text", ".markdown", ""), abstracts.read),
)


def suffixes() -> frozenset[str]:
    """The endings of files that are read when a folder is given."""
    return frozenset(suffix for form in FORMATS for suffix in form.suffixes if suffix)


def paper_id(text: str) -> str:
    """16 hex digits that stand for an abstract, whatever its layout: sha256 of the NFKC text with single blanks."""
    collapsed = " ".join(unicodedata.normalize("NFKC", text).split())
    return hashlib.sha256(collapsed.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_papers(path: Path | str) -> Reading:
    """All papers of one file, and the records that were skipped with reasons.

    Raises ReadError when the file is missing, unreadable, empty, not of a known format, or holds no abstract.
    """
    path = Path(path)
    data = _bytes_of(path)
    form = _format_of(path, data)
    papers: list[Paper] = []
    skipped: list[Skipped] = []
    # A name that is no UTF-8 must not keep the papers out: what can't be shown is shown as such.
    source = os.fsencode(path.name).decode("utf-8", "replace")
    for item in form.read(data, source):
        if isinstance(item, Skipped):
            skipped.append(item)
        elif len(item.text) > MAX_CHARACTERS:
            why = f"is longer than any abstract ({len(item.text)} characters, at most {MAX_CHARACTERS})"
            skipped.append(Skipped(source, len(papers) + len(skipped), why))
        elif not any(c.isalpha() for c in item.text):
            skipped.append(Skipped(source, len(papers) + len(skipped), "has no abstract"))
        else:
            papers.append(_paper(item, source, len(papers)))
    if not papers:
        why = f" ({skipped[0].reason})" if skipped else ""
        raise ReadError(f"{path} holds no abstract{why}: put abstracts in it, with blank lines between them")
    return Reading(source, tuple(papers), tuple(skipped))


def _paper(record: Record, source: str, position: int) -> Paper:
    title = " ".join(record.title.split())
    return Paper(
        paper_id(record.text), record.text, label_of(record.text, title), source=source, position=position, title=title
    )


def _format_of(path: Path, data: bytes) -> Format:
    suffix = path.suffix.lower()
    for form in FORMATS:
        if suffix in form.suffixes and (form.fits is None or form.fits(data[:4096])):
            return form
    known = ", ".join(sorted(suffixes()))
    raise ReadError(f"{path}: no reader for {suffix} files (known: {known}); if it is plain text, rename it to .txt")


_REASONS = {
    errno.ENOENT: "does not exist: check the path",
    errno.ENOTDIR: "does not exist: check the path",
    errno.ENAMETOOLONG: "is too long a name: check the path",
    errno.ELOOP: "is a link that leads to itself: remove it",
    errno.EACCES: "may not be read: allow it with chmod u+r",
    errno.EPERM: "may not be read: allow it with chmod u+r",
    errno.EISDIR: "is a folder: add the files in it",
}


def _bytes_of(path: Path) -> bytes:
    try:
        # Not to hang on a pipe: look before opening.
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            folder = stat.S_ISDIR(state.st_mode)
            what = "a folder: add the files in it" if folder else "no ordinary file: save its content first"
            raise ReadError(f"{path} is {what}")
        if state.st_size > MAX_BYTES:
            raise ReadError(f"{path} has {state.st_size // 10**6} MB, more than {MAX_BYTES // 10**6}: split it")
        data = path.read_bytes()
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"can't be read ({error.strerror}): check the file")
        raise ReadError(f"{path} {reason}") from error
    except ValueError as error:  # a NUL in the path
        raise ReadError(f"{str(path)!r} is no path: check it") from error
    if not data.strip():
        raise ReadError(f"{path} is empty: put abstracts in it, with blank lines between them")
    return data
