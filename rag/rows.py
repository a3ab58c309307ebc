"""What goes into the store and comes out of it, and how a row of the database becomes a value."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.protocols import Vectors
from rag.domain import Paper, Passage, Span

PAPER = (
    "papers.id, papers.text, label, papers.source, papers.position, title, authors, year, venue, topics, url, doi, "
    "papers.external_id"
)
"""The columns that ``paper_from`` takes."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A record that a paper was read from. ``key`` is the file's path on this machine; ``source`` is what it is called.

    ``digest`` is the id of the text as it stands there, which may differ from the paper's own: the same paper can come
    from several files in slightly different words.
    """

    key: str
    source: str
    position: int
    external_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper ready to be stored: its passages, and for each passage the vectors of its windows, (windows, dim).

    ``replaces`` is the id of the paper that goes when this one becomes visible: its earlier version.
    """

    paper: Paper
    passages: tuple[Passage, ...]
    vectors: tuple[Vectors, ...]
    origin: Origin | None = None
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class Again:
    """A record that is a paper which the library has: the paper's id, where the record stands, and what it says."""

    paper_id: str
    origin: Origin
    record: Paper


@dataclass(frozen=True, slots=True)
class Row:
    """One window of the vector index."""

    id: str
    passage_id: str
    vector: Vectors


def paper_row(paper: Paper) -> tuple[object, ...]:
    """The values of the columns ``PAPER``."""
    return (
        paper.id, paper.text, paper.label, paper.source, paper.position, paper.title, _listed(paper.authors),
        paper.year, paper.venue, _listed(paper.topics), paper.url, paper.doi, paper.external_id,
    )  # fmt: skip


def _listed(values: Sequence[str]) -> str:
    return json.dumps(values, ensure_ascii=False) if values else ""


def paper_from(row: Sequence[Any]) -> Paper:
    """From the columns ``PAPER``."""
    paper_id, text, label, source, position, title, authors, year, venue, topics, url, doi, external_id = row[:13]
    return Paper(
        paper_id, text, label, source=source, position=position, title=title,
        authors=tuple(json.loads(authors)) if authors else (), year=year, venue=venue,
        topics=tuple(json.loads(topics)) if topics else (), url=url, doi=doi, external_id=external_id,
    )  # fmt: skip


def passage_from(row: Sequence[Any]) -> Passage:
    """From id, paper id, start, end, and the paper's text."""
    passage_id, paper_id, start, end, text = row[:5]
    return Passage(passage_id, paper_id, Span(start, end), text[start:end])


def vector_from(blob: bytes) -> Vectors:
    """From the bytes of float32 numbers."""
    return np.frombuffer(blob, dtype=np.float32)
