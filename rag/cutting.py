"""Papers -> entries for the store: cut into passages and windows, and embedded together. Stores nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice

from models.protocols import Embedder
from rag.chunk import passages, windows
from rag.domain import Paper, Passage
from rag.rows import Entry

_TITLE_SHARE = 4  # a title may take this part of a window


class Cutter:
    """Cuts papers into passages of at most ``passage_tokens`` and windows, and embeds the windows."""

    def __init__(self, embedder: Embedder, passage_tokens: int) -> None:
        self._embedder = embedder
        self._passage_tokens = passage_tokens

    def entries(self, papers: Sequence[Paper]) -> list[Entry]:
        """The papers, ready to be stored; all their windows go through the embedder together."""
        parts = [passages(paper, self._embedder.count_tokens, self._passage_tokens) for paper in papers]
        texts = [self._texts(paper, part) for paper, pieces in zip(papers, parts, strict=True) for part in pieces]
        flat = self._embedder.encode([text for group in texts for text in group])
        ends = list(accumulate(map(len, texts)))
        vectors = iter([flat[end - len(group) : end] for group, end in zip(texts, ends, strict=True)])
        return [
            Entry(paper, tuple(pieces), tuple(islice(vectors, len(pieces))))
            for paper, pieces in zip(papers, parts, strict=True)
        ]

    def _texts(self, paper: Paper, part: Passage) -> list[str]:
        """What the embedder reads of a passage: its windows, each after the title."""
        count = self._embedder.count_tokens
        head = self._head(paper.title)
        spans = windows(part, count, self._embedder.max_tokens - count(head))
        return [head + paper.text[span.start : span.end] for span in spans]

    def _head(self, title: str) -> str:
        """A title goes before each window, so that each is about what the paper is about; a very long one doesn't."""
        head = f"{title}\n" if title else ""
        return head if self._embedder.count_tokens(head) <= self._embedder.max_tokens // _TITLE_SHARE else ""
