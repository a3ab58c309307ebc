"""Attribution: which source sentences say what a sentence of the answer says. Judges nothing, calls no model.

The model is never asked to cite. After it has written a sentence, the source sentences of the passages that it read
are ranked by how much of the sentence they cover: stems, names and numbers, each weighted by its rarity among the
source sentences, and counted double when the question had not already said it (what the answer adds is what needs a
source). A further source sentence joins while it covers enough that the earlier ones don't.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag.domain import Paper, Passage, Span
from rag.numbers import numbers_in, stated_numbers
from rag.text import plain, sentences, stems

MAX_SOURCES = 3
MIN_GAIN = 0.12
"""Share of the sentence that a further source sentence must newly cover."""
NEWS_WEIGHT = 2.0
UNSEEN_WEIGHT = 0.6
"""A word that no source uses is often only another wording; numbers and names are held to account elsewhere."""


@dataclass(frozen=True, slots=True)
class Source:
    """One sentence of a stored abstract, with the terms that it states. ``span`` is in the paper's characters."""

    paper: Paper
    passage: Passage
    span: Span
    terms: frozenset[str]

    @property
    def quote(self) -> str:
        """The sentence as it stands in the abstract."""
        return self.paper.text[self.span.start : self.span.end]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The source sentences of one sentence of an answer, in reading order.

    ``coverage`` is the weighted share of the sentence's terms that they state, in [0, 1]; None when the sentence has
    no terms that could be compared (another script, no numbers), so that nothing is known either way.
    """

    sources: tuple[Source, ...]
    coverage: float | None
    uncovered: tuple[str, ...] = ()


def sources_of(read: Sequence[tuple[Paper, Passage]]) -> list[Source]:
    """The sentences of the passages that the model read."""
    found = []
    for paper, passage in read:
        for span in sentences(passage.text):
            whole = Span(passage.span.start + span.start, passage.span.start + span.end)
            text = paper.text[whole.start : whole.end]
            found.append(Source(paper, passage, whole, frozenset(_stated(text))))
    return found


def attribute(sentence: str, sources: Sequence[Source], question: str = "") -> Evidence:
    """The source sentences that cover a sentence best, greedily, at most three."""
    terms = _claimed(sentence)
    if not terms or not sources:
        return Evidence((), None if sources else 0.0)
    weights = _weights(terms, sources, _stated(question))
    total = sum(weights.values())
    left, chosen = set(terms), list[Source]()
    while len(chosen) < MAX_SOURCES and left:
        best = max(sources, key=lambda s: sum(weights[t] for t in left & s.terms))
        gain = sum(weights[t] for t in left & best.terms) / total
        if gain <= 0 or (chosen and gain < MIN_GAIN):
            break
        chosen.append(best)
        left -= best.terms
    covered = 1.0 - sum(weights[t] for t in left) / total
    order = sorted(chosen, key=sources.index)
    return Evidence(tuple(order), covered, tuple(sorted(left)))


def _weights(terms: set[str], sources: Sequence[Source], asked: set[str]) -> dict[str, float]:
    seen = Counter(term for source in sources for term in source.terms)
    rarity = {
        t: math.log(1.0 + len(sources) / (1.0 + max(seen[t], 1))) * (1.0 if seen[t] else UNSEEN_WEIGHT) for t in terms
    }
    return {t: rarity[t] * (1.0 if t in asked else NEWS_WEIGHT) for t in terms}


def _claimed(text: str) -> set[str]:
    """Terms that a sentence claims, in Latin script or digits: what can be compared with an English abstract."""
    return {t for t in stems(text) if t.isascii() and not t[0].isdigit()} | {f"#{n}" for n in numbers_in(plain(text))}


def _stated(text: str) -> set[str]:
    return set(stems(text)) | {f"#{n}" for n in stated_numbers(plain(text))}
