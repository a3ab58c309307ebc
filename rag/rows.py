"""What goes into the store and comes out of it, and how a row of the database becomes a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.protocols import Vectors
from rag.domain import Paper, Passage, Span


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper ready to be stored: its passages, and for each passage the vectors of its windows, (windows, dim)."""

    paper: Paper
    passages: tuple[Passage, ...]
    vectors: tuple[Vectors, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One window of the vector index."""

    id: str
    passage_id: str
    vector: Vectors


def paper_from(row: Sequence[Any]) -> Paper:
    """From id, text, label, source, position, title."""
    paper_id, text, label, source, position, title = row[:6]
    return Paper(paper_id, text, label, source=source, position=position, title=title)


def passage_from(row: Sequence[Any]) -> Passage:
    """From id, paper id, start, end, and the paper's text."""
    passage_id, paper_id, start, end, text = row[:5]
    return Passage(passage_id, paper_id, Span(start, end), text[start:end])


def vector_from(blob: bytes) -> Vectors:
    """From the bytes of float32 numbers."""
    return np.frombuffer(blob, dtype=np.float32)
