"""What a reader is given and what it yields: options; records, and the reasons for leaving some out. Reads nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag.domain import Paper

if TYPE_CHECKING:
    from rag.corpus.sources import Source


@dataclass(frozen=True, slots=True)
class Record:
    """One abstract as a reader found it; whatever the file does not give is empty.

    ``external_id`` is what others know the paper by, with its kind before it (``arxiv:2602.05448``, ``pmid:30776994``,
    ``openreview:abc``, ``acl:2022.acl-long.1``, ``s2:77490025``); ``id:…`` is a key that means something in its own
    file only. ``doi`` has no address before it. ``text`` and the other fields may still hold markup of the format's
    own only where the format says that they are LaTeX or Markdown; HTML and XML tags are the reader's to remove.
    """

    text: str
    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    topics: tuple[str, ...] = ()
    url: str = ""
    doi: str = ""
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not taken, and why, in words for the user. ``position`` counts in the file, from 0.

    ``position`` is -1 when the whole file was left out.
    """

    source: str
    position: int
    reason: str

    def __str__(self) -> str:
        """One line: where, and why."""
        return (
            f"{self.source}: {self.reason}" if self.position < 0 else f"{self.source} [{self.position}]: {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file held: its papers in order, and the records that were skipped, with reasons."""

    source: str
    papers: tuple[Paper, ...]
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """What the user says about files. ``columns`` maps a field of ``Record`` to a column of a table."""

    format: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)


Reader = Callable[["Source", Options], Iterable[Record | Skipped]]
"""A source -> its records in order, one at a time; a record without an abstract has an empty ``text``.

A record that can't be read is yielded as ``Skipped``, and the next is read. Raises ReadError, one line with the
source's name and the record's number or line, when no more can be read.
"""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. ``name`` is what ``--format`` calls it, ``title`` what people do; ``suffixes`` its usual endings.

    ``fits`` looks at a source's first bytes and ending: is it this format? It never raises for a source that can be
    opened. ``distinct`` says that records with different keys are different papers, however alike: in a test collection
    or a table somebody meant them to be; in an export of a reference manager they may be one paper, saved twice.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    fits: Callable[[Source], bool]
    read: Reader
    distinct: bool = False
