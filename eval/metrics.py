"""Marks for answers, as values that print, hash and compare by their name. Asks nothing and reads no file.

A metric gives a question and its reply a mark in [0, 1], or None where it does not apply; an exam's figure is the mean
over the questions that it applies to. A question that got no reply is graded like an empty one that did not abstain:
it never drops out of a mean.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from eval.datasets import Question


@dataclass(frozen=True, slots=True)
class Reply:
    """What a system gave for a question. ``cited`` holds the whole text of each cited abstract. Times in seconds."""

    answer: str = ""
    abstained: bool = False
    cited: tuple[str, ...] = ()
    seconds: float | None = None
    first_word: float | None = None


NO_REPLY = Reply()
"""What stands for a reply that never came."""

Mark = Callable[[Question, Reply], float | None]


@dataclass(frozen=True, slots=True, repr=False)
class Metric:
    """A named way to mark a reply."""

    name: str
    mark: Mark = field(compare=False)
    about: str = field(compare=False, default="")

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __call__(self, question: Question, reply: Reply | None) -> float | None:
        """The mark in [0, 1], or None where the metric does not apply to the question."""
        return self.mark(question, NO_REPLY if reply is None else reply)


def _abstain(question: Question, reply: Reply) -> float | None:
    return None if question.answerable else float(reply.abstained)


def _kept(question: Question, reply: Reply) -> float | None:
    return float(not reply.abstained) if question.answerable else None


def _cite_recall(question: Question, reply: Reply) -> float | None:
    if not question.answerable:
        return None
    return statistics.mean(float(any(gold.anchor in text for text in reply.cited)) for gold in question.gold)


def _cite_precision(question: Question, reply: Reply) -> float | None:
    if not question.answerable:
        return None
    hits = [float(any(gold.anchor in text for gold in question.gold)) for text in reply.cited]
    return statistics.mean(hits) if hits else 0.0


def _right(question: Question, reply: Reply) -> float | None:
    if not question.answerable or not question.facts:
        return None
    stated = all(re.search(fact, reply.answer, re.IGNORECASE) for fact in question.facts)
    return float(stated and not reply.abstained)


def _right_and_cited(question: Question, reply: Reply) -> float | None:
    right, recall = _right(question, reply), _cite_recall(question, reply)
    return None if right is None else float(bool(right) and bool(recall))


Kept = Metric("kept", _kept, "share of answerable questions that were answered")
CiteRecall = Metric("cite_recall", _cite_recall, "share of the gold papers that are cited")
CitePrecision = Metric("cite_precision", _cite_precision, "share of the cited papers that are gold; none cited is 0")
Right = Metric("right", _right, "answered, and every fact is found in the answer")
RightAndCited = Metric("right_and_cited", _right_and_cited, "right, and at least one gold paper is cited")
Abstain = Metric("abstain", _abstain, "share of unanswerable questions that were refused")

METRICS: tuple[Metric, ...] = (Kept, CiteRecall, CitePrecision, Right, RightAndCited, Abstain)


@dataclass(frozen=True, slots=True)
class Graded:
    """A question, its reply and the marks that apply."""

    question: Question
    reply: Reply | None
    marks: Mapping[Metric, float]

    @property
    def perfect(self) -> bool:
        """Whether every mark is 1."""
        return min(self.marks.values()) >= 1


def grade(questions: Iterable[Question], replies: Mapping[str, Reply]) -> list[Graded]:
    """Every question with its marks, whether a reply to it came or not."""
    graded = []
    for question in questions:
        reply = replies.get(question.id)
        marks = {metric: metric(question, reply) for metric in METRICS}
        graded.append(Graded(question, reply, {m: mark for m, mark in marks.items() if mark is not None}))
    return graded


def by_kind(graded: Iterable[Graded]) -> dict[str, list[Graded]]:
    """The graded questions of each kind, kinds in the order of their first question."""
    kinds: dict[str, list[Graded]] = {}
    for one in graded:
        kinds.setdefault(one.question.kind, []).append(one)
    return kinds


def means(graded: Sequence[Graded]) -> dict[Metric, tuple[float, int]]:
    """For each metric that applies to any of the questions, its mean and how many it applies to."""
    marks = {metric: [g.marks[metric] for g in graded if metric in g.marks] for metric in METRICS}
    return {metric: (statistics.mean(values), len(values)) for metric, values in marks.items() if values}


def summary(graded: Sequence[Graded]) -> dict[str, dict[str, float] | dict[str, dict[str, float]]]:
    """The figures of an exam as plain data: ``all`` with n and the median of seconds, and ``by_kind``."""
    every: dict[str, float] = {**_rounded(graded), "n": len(graded)}
    if seconds := [g.reply.seconds for g in graded if g.reply and g.reply.seconds is not None]:
        every["seconds_p50"] = round(statistics.median(seconds), 2)
    return {"all": every, "by_kind": {kind: _rounded(some) for kind, some in by_kind(graded).items()}}


def _rounded(graded: Sequence[Graded]) -> dict[str, float]:
    return {metric.name: round(mean, 3) for metric, (mean, _) in means(graded).items()}
