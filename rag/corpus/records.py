"""What a reader yields: records and the reasons for leaving some out. Reads nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rag.domain import Paper


@dataclass(frozen=True, slots=True)
class Record:
    """One abstract as a reader found it. ``title`` is empty when the file gives none."""

    text: str
    title: str = ""


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


Reader = Callable[[bytes, str], Iterable[Record | Skipped]]
"""A file's bytes and its name -> its records in order. Raises ReadError when the bytes are not of its format."""
