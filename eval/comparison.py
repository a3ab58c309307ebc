"""The same questions over the same passages, with plain and with cached prefill: first words, and right answers.

Answers are the model's drafts as they come, neither verified nor refused, so that only the prefill differs.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eval import speed
from eval.datasets import Question
from eval.metrics import Reply, Right
from eval.report import quantile
from eval.speed import Figures, Forgetful, Said
from models.protocols import Prompt
from rag import prompt
from rag.errors import CiteboundError
from rag.judge import judge, to_read
from rag.resources import Resources

if TYPE_CHECKING:
    from rag.domain import Hit
    from rag.library import Library
    from rag.output import Step

FOUND = 3
"""Passages of the prompt that is made without judging."""
BROAD = (
    "Describe this paper at length: its problem, its method, its experiments and each of its results.",
    "Summarize this paper: problem, approach, results.",
    "What method do the authors propose, and what results do they report?",
)
"""Questions that a whole abstract answers."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its prompts: over three retrieved passages, over those judged best, over the best one."""

    question: Question
    three: Prompt
    read: Prompt
    one: Prompt


@dataclass(frozen=True, slots=True)
class Both:
    """A generator whose prefills are compared, the longest answer in tokens, and whom to tell how far things are."""

    generator: Forgetful
    max_tokens: int
    step: Step

    def say(self, prompts: Sequence[Prompt]) -> list[tuple[Said, Said]]:
        """Each prompt's (plain, cached) answers; who begins alternates."""
        said = []
        for number, one in enumerate(prompts):
            self.step("", number, len(prompts))
            said.append(speed.pair(self.generator, one, self.max_tokens, plain_first=number % 2 == 0))
        return said


def case(question: Question, library: Library) -> Case:
    """The prompts of a question, from what the library finds and the model judges."""
    generator, settings = library.generator, library.settings
    hits = library.search(question.asked, max(FOUND, settings.candidates))
    three = _over(hits, question)
    resources = Resources(settings, generator, library.search, lambda _id, _text: [], library.paper)
    judged = judge(question.asked, hits[: settings.candidates], resources, threading.Event())
    read = [j.hit.passage for j in to_read(judged)]
    several, one = (prompt.answer(passages, question.asked) for passages in (read, read[:1]))
    return Case(question, three, several, one)


def over_found(question: Question, library: Library) -> Prompt:
    """The prompt of a question over the passages found, unjudged."""
    return _over(library.search(question.asked, FOUND), question)


def _over(hits: Sequence[Hit], question: Question) -> Prompt:
    if not hits:
        raise CiteboundError(f"nothing is found for {question.id}; the bench needs the sample library")
    return prompt.answer([hit.passage for hit in hits[:FOUND]], question.asked)


def at_length(cases: Sequence[Case]) -> list[Prompt]:
    """Prompts whose answers are long: over each case's best passage, one of the broad questions."""
    asked = [prompt.QUESTION.format(question=question).rstrip("\n") for question in BROAD]
    return [replace(one.one, question=question) for one, question in zip(cases, itertools.cycle(asked), strict=False)]


def three_passages(cases: Sequence[Case], both: Both) -> Figures:
    """First words and right answers over the three passages found."""
    said = both.say([c.three for c in cases])
    firsts = [(plain.first, cached.first) for plain, cached in said]
    tokens = quantile([plain.usage.prompt_tokens for plain, _ in said], 0.5)
    return {**speed.first_words(firsts, "cached"), "prompt_tokens_p50": tokens, **rights(cases, said, "right_three")}


def judged_passages(cases: Sequence[Case], both: Both) -> Figures:
    """First words over the best passage, and right answers over those judged best."""
    said = both.say([c.read for c in cases])
    # Where two passages were read, the single one is timed by itself.
    apart = [c.one for c in cases if c.one != c.read]
    singles = [pair for c, pair in zip(cases, said, strict=True) if c.one == c.read]
    firsts = [(plain.first, cached.first) for plain, cached in [*singles, *replace(both, max_tokens=1).say(apart)]]
    return {**speed.first_words(firsts, "cached", "_one"), **rights(cases, said, "right"), "read_one_n": len(singles)}


def rights(cases: Sequence[Case], said: Sequence[tuple[Said, Said]], name: str) -> Figures:
    """How many drafts state every fact, plain and cached, and in how many cases both drafts are the same."""
    plain, cached = (
        sum(Right(c.question, Reply(pair[side].text)) or 0.0 for c, pair in zip(cases, said, strict=True))
        for side in (0, 1)
    )
    same = sum(theirs.text == ours.text for theirs, ours in said)
    return {
        f"{name}_plain": plain,
        f"{name}_cached": cached,
        f"{name}_cached_minus_plain": cached - plain,
        f"{name}_same_text": same,
        f"{name}_n": len(cases),
    }
