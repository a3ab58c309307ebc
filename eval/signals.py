"""What the program knows when it decides whether to answer: the signals of each candidate, over a question set.

Every question goes down the real road, ``Library.ask``, with nothing refused on the way; a wrapper around the generator
listens to what is judged. So what is fitted is what will be used. Fits nothing itself.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from eval import files
from eval.datasets import Question
from eval.exam import turn_of
from eval.files import Row
from eval.identity import run_key, turns_key
from eval.listening import Listener
from rag import prompt
from rag.abstain import Signals
from rag.domain import Answer, Found, Hit, Turn
from rag.errors import ReadError
from rag.judge import belonging, judge, may_settle
from rag.resources import Resources

if TYPE_CHECKING:
    from rag.library import Library
    from rag.output import Step


class Road(StrEnum):
    """Which way a question went."""

    ANSWER = "answer"
    LIST = "list"


INSTRUCTIONS = {Road.ANSWER: prompt.JUDGE, Road.LIST: prompt.BELONGS}
NOT_INVOLVED = ("rag/abstain.py",)
"""Source whose changes don't make signals stale: fitted rows are pasted there."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One judged passage; ``gold`` says that its paper is one of those that a right answer cites."""

    signals: Signals
    gold: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """A question's candidates in the order that they were found in, and what was written.

    ``written`` is the place of the candidate that the draft was written from; the claim of its signals is the
    judgement of that draft. None when no sentence of a draft was left after verification, or none was written.
    """

    id: str
    road: Road
    answerable: bool
    candidates: tuple[Candidate, ...]
    written: int | None = None
    settles: bool = True
    """Whether a sure first candidate settles the question: not when it names what another candidate contains."""


@dataclass(frozen=True, slots=True)
class Ears:
    """One library, opened twice on the same listening models.

    ``usual`` answers the earlier turns of a conversation as a user would see them; ``lenient`` (strictness 0) never
    refuses for lack of evidence, so that its judgement of the draft is known for every question.
    """

    usual: Library
    lenient: Library

    @property
    def listener(self) -> Listener:
        """The generator of both."""
        generator = self.lenient.generator
        if not isinstance(generator, Listener):
            raise TypeError("signals are collected from a library opened on Listening models")
        return generator


def collect(
    questions: Sequence[Question], ears: Ears, cache: Path, step: Step, *, reuse: bool = False
) -> list[Collected]:
    """Signals of all questions; those that stand in ``cache`` from a run alike are not collected again.

    With ``reuse`` those of any run are taken, also when settings, papers or the program have changed since.
    """
    run = run_key(ears.usual, without=NOT_INVOLVED)
    files.mend(cache)
    known = {row.get("id"): row for _, row in files.rows(cache) if reuse or row.get("run") == run}
    found = []
    for number, question in enumerate(questions):
        step(question.id, number, len(questions))
        row, key = known.get(question.id), turns_key(question.turns)
        if row is None or row.get("question_key") != key:
            row = {**_row(question, ears), "question_key": key, "run": run}
            files.append(cache, row)
        found.append(_collected(row, question, cache))
    return found


def _row(question: Question, ears: Ears) -> Row:
    history: list[Turn] = []
    for text in question.turns[:-1]:
        history.append(turn_of(ears.usual.ask(text, history=history)))
    ears.listener.reset()
    hits, answer = _asked(question, history, ears.lenient)
    road, asked = _road(ears.listener)
    signals = _signals(road, asked, hits, ears)
    written = _written(hits, ears.listener) if road is Road.ANSWER and answer.sentences else None
    if written is not None:
        signals[written] = replace(signals[written], claim=_claim(answer, ears.listener))
    candidates = [
        {**asdict(known), "paper": hit.paper.label, "gold": any(g.anchor in hit.paper.text for g in question.gold)}
        for hit, known in zip(hits, signals, strict=True)
    ]
    fields = {"id": question.id, "road": road.value, "answerable": question.answerable}
    settles = may_settle(hits)
    return {**fields, "candidates": candidates, "written": written, "settles": settles}


def _asked(question: Question, history: Sequence[Turn], library: Library) -> tuple[tuple[Hit, ...], Answer]:
    """The hits that were judged, and the answer."""
    stream = library.ask(question.asked, history=history, stream=True)
    hits: tuple[Hit, ...] = ()
    for event in stream.events():
        if isinstance(event, Found):
            hits = event.hits
    return hits, stream.answer


def _road(listener: Listener) -> tuple[Road, str]:
    """Which way the question went, and the words in which its passages were judged."""
    before, after = prompt.QUESTION.split("{question}")
    for road, instruction in INSTRUCTIONS.items():
        for judged in listener.judged:
            if judged.question.endswith(after + instruction):
                return road, judged.question.removeprefix(before).removesuffix(after + instruction)
    return Road.ANSWER, ""


def _signals(road: Road, asked: str, hits: Sequence[Hit], ears: Ears) -> list[Signals]:
    """Signals of each hit, also of those that the first one made superfluous."""
    library = ears.lenient
    resources = Resources(library.settings, ears.listener, library.search, lambda _id, _text: [], library.paper)
    if road is Road.LIST:
        return [judged.signals for judged in belonging(asked, hits, resources, threading.Event())]
    return [judge(asked, [hit], resources, threading.Event())[0].signals for hit in hits]


def _written(hits: Sequence[Hit], listener: Listener) -> int | None:
    """Which hit's passage the draft was written from: the first in the prompt, when several were read."""
    texts = [prompt.passage_text(hit.passage) for hit in hits]
    drafts = [p for p in listener.written if p.passages and p.instruction == prompt.ahead(prompt.ANSWER)]
    return texts.index(drafts[-1].passages[0]) if drafts and drafts[-1].passages[0] in texts else None


def _claim(answer: Answer, listener: Listener) -> float:
    """P(yes) of the judgement of the whole draft."""
    asked = prompt.claim(" ".join(sentence.text for sentence in answer.sentences))
    for judged, yes in listener.judged.items():
        if judged.question.endswith(asked):
            return yes
    raise LookupError(f"the draft of {answer.question!r} was not judged as a whole")


def _collected(row: Row, question: Question, cache: Path) -> Collected:
    names = tuple(Signals.__dataclass_fields__)
    try:
        candidates = tuple(
            Candidate(Signals(**{name: c[name] for name in names}), bool(c["gold"])) for c in row["candidates"]
        )
        road, settles = Road(row["road"]), row.get("settles", True)
        return Collected(question.id, road, question.answerable, candidates, row["written"], settles)
    except (KeyError, TypeError, ValueError) as error:
        raise ReadError(f"{cache}: the line of {question.id} is damaged ({error!r}); remove the file") from error
