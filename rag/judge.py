"""Which of the found passages answer the question, by the model's own yes-probability. Writes no answer.

The first hit is judged alone: when it is clearly right, and it mostly is, the others need not be read. Otherwise the
rest are judged together. A judgement leaves passage and question in the model's memory, so answering from the passage
that won costs only the instruction.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rag import prompt
from rag.abstain import Decision, Signals, calibration, log_odds
from rag.domain import Hit
from rag.naming import missing_names
from rag.resources import Resources

SURE = 0.6
"""Probability from which the first hit is taken without reading the others: on the calibration set it is then always
the right one, and three of four questions are settled so."""
NEARLY = 0.85
"""A second passage is read when its probability is at least this share of the best one's, and ..."""
SECOND = 0.6
"""... at least this much by itself."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A hit, what is known of it, and the calibrated probability that comes of it."""

    hit: Hit
    signals: Signals
    probability: float


def judge(question: str, hits: Sequence[Hit], resources: Resources, cancel: threading.Event) -> list[Judged]:
    """The hits that were judged, best first. Fewer than were given when the first one settled it."""
    first = _answerable(question, hits[:1], resources, cancel)
    if first and may_settle(hits) and is_sure(first[0].probability):
        return first
    rest = _answerable(question, hits[1:], resources, cancel)
    return sorted(first + rest, key=lambda j: -j.probability)


def may_settle(hits: Sequence[Hit]) -> bool:
    """Whether the first hit can settle a question alone: not when it names what other papers contain too."""
    return not any(hit.named for hit in hits[1:])


def is_sure(probability: float) -> bool:
    """Whether a passage so probably answers that no other has to be read."""
    return probability >= SURE


def belonging(question: str, hits: Sequence[Hit], resources: Resources, cancel: threading.Event) -> list[Judged]:
    """Every hit, judged by whether its paper belongs in the list that is asked for; in the order given."""
    said = _said(question, hits, prompt.BELONGS, resources, cancel)
    usual = median(map(log_odds, said)) if said else 0.0
    margins = [log_odds(yes) - usual for yes in said]
    return _weighed(Decision.BELONGS, question, hits, said, margins, resources)


def to_read(judged: Sequence[Judged]) -> list[Judged]:
    """The passages to answer from: the best one, and a second that is nearly as good. More distract a small model."""
    best = judged[0]
    second = [j for j in judged[1:2] if j.probability >= max(SECOND, NEARLY * best.probability)]
    return [best, *second]


def _answerable(question: str, hits: Sequence[Hit], resources: Resources, cancel: threading.Event) -> list[Judged]:
    said = _said(question, hits, prompt.JUDGE, resources, cancel)
    return _weighed(Decision.ANSWERABLE, question, hits, said, [0.0] * len(said), resources)


def _said(
    question: str, hits: Sequence[Hit], instruction: str, resources: Resources, cancel: threading.Event
) -> list[float]:
    """P(yes) for each hit. A cancelled judgement gives fewer values than hits: what wasn't judged isn't ranked."""
    prompts = [prompt.over([hit.passage], question, instruction) for hit in hits]
    return resources.generator.yes_probability(prompts, cancel) if prompts else []


def _weighed(
    decision: Decision,
    question: str,
    hits: Sequence[Hit],
    said: Sequence[float],
    margins: Sequence[float],
    resources: Resources,
) -> list[Judged]:
    row = calibration(decision, resources.generator.name)
    known = [
        Signals.of(hit, yes, len(missing_names(question, hit.paper.text)), margin)
        for hit, yes, margin in zip(hits, said, margins, strict=False)
    ]
    return [Judged(hit, signals, row.probability(signals)) for hit, signals in zip(hits, known, strict=False)]
