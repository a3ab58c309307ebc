"""What the program knows before it answers: the signals of each candidate passage, collected over a question set.

Every question goes down the real road, ``Library.ask``, up to its first word; a wrapper around the generator listens
to the judgements. So what is fitted is what will be used. Fits nothing itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from eval import files
from eval.datasets import Question
from eval.exam import turn_of
from eval.files import Row
from eval.identity import run_key, turns_key
from models.protocols import Embedder, Generator, Prompt, Request
from rag import prompt
from rag.abstain import Signals
from rag.domain import Found, Hit, Piece, Turn
from rag.errors import ReadError

if TYPE_CHECKING:
    from rag.library import Library
    from rag.loading import ModelSource
    from rag.output import Step


class Road(StrEnum):
    """Which judgement a question led to, and so which table of ``rag.abstain`` it informs."""

    ANSWERABLE = "answerable"
    BELONGS = "belongs"


INSTRUCTIONS = {Road.ANSWERABLE: prompt.JUDGE, Road.BELONGS: prompt.BELONGS}
NOT_INVOLVED = ("rag/abstain.py",)
"""Source that signals don't depend on: pasting a fitted row in there doesn't make them stale."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One judged passage; ``gold`` says that its paper is one of those that a right answer cites."""

    signals: Signals
    gold: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """A question's candidates in the order that they were found in."""

    id: str
    road: Road
    answerable: bool
    candidates: tuple[Candidate, ...]


class Listener:
    """A ``Generator`` that passes everything on and keeps what was judged since ``reset``."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self.judged: list[tuple[Prompt, float]] = []

    def reset(self) -> None:
        """Forget what was judged."""
        self.judged.clear()

    @property
    def name(self) -> str:
        """As the generator says."""
        return self._generator.name

    @property
    def context_tokens(self) -> int:
        """As the generator says."""
        return self._generator.context_tokens

    def count_tokens(self, text: str) -> int:
        """As the generator says."""
        return self._generator.count_tokens(text)

    def stream(self, request: Request) -> Iterator[str]:
        """As the generator says."""
        return self._generator.stream(request)

    def yes_probability(self, prompts: Sequence[Prompt], cancel: threading.Event | None = None) -> list[float]:
        """As the generator says, and remember it."""
        said = self._generator.yes_probability(prompts, cancel)
        self.judged += zip(prompts, said, strict=False)
        return said

    def prepare(self, system: str, passages: Sequence[str], cancel: threading.Event | None = None) -> int:
        """As the generator says."""
        return self._generator.prepare(system, passages, cancel)

    def close(self) -> None:
        """Close the generator."""
        self._generator.close()


class Listening:
    """A source of models whose generator is listened to."""

    def __init__(self, models: ModelSource) -> None:
        self._models = models
        self._listener: Listener | None = None

    def generator(self) -> Listener:
        """The generator behind its listener, always the same."""
        if self._listener is None:
            self._listener = Listener(self._models.generator())
        return self._listener

    def embedder(self) -> Embedder:
        """As the source says."""
        return self._models.embedder()


def collect(questions: Sequence[Question], library: Library, cache: Path, step: Step) -> list[Collected]:
    """Signals of all questions; those that stand in ``cache`` from a run alike are not collected again.

    ``library`` must have been opened on ``Listening`` models.
    """
    run = run_key(library, without=NOT_INVOLVED)
    files.mend(cache)
    known = {row.get("id"): row for _, row in files.rows(cache) if row.get("run") == run}
    found = []
    for number, question in enumerate(questions):
        step(question.id, number, len(questions))
        row, key = known.get(question.id), turns_key(question.turns)
        if row is None or row.get("question_key") != key:
            row = {**_row(question, *_signals(question, library)), "question_key": key, "run": run}
            files.append(cache, row)
        found.append(_collected(row, question, cache))
    return found


def _signals(question: Question, library: Library) -> tuple[Road, list[tuple[Hit, float]]]:
    """The road that a question took, and each hit with its P(yes)."""
    listener = library.generator
    if not isinstance(listener, Listener):
        raise TypeError("signals are collected from a library opened on Listening models")
    history: list[Turn] = []
    for text in question.turns[:-1]:
        history.append(turn_of(library.ask(text, history=history)))
    listener.reset()
    stream = library.ask(question.asked, history=history, stream=True)
    hits: tuple[Hit, ...] = ()
    judged: list[tuple[Prompt, float]] | None = None
    for event in stream.events():
        if isinstance(event, Found):
            hits = event.hits
        elif judged is None:  # the first word, or a refusal: judging is over
            judged = list(listener.judged)
            if isinstance(event, Piece):
                stream.cancel()
    road, known, asked = _sorted(judged or [])
    left = [hit for hit in hits if prompt.passage_text(hit.passage) not in known]
    if asked and left:  # the first hit had settled it; the others are of interest here all the same
        more = [replace(asked, passages=(prompt.passage_text(hit.passage),)) for hit in left]
        said = listener.yes_probability(more)
        known |= {p.passages[0]: yes for p, yes in zip(more, said, strict=True)}
    return road, [(hit, known[prompt.passage_text(hit.passage)]) for hit in hits if asked]


def _sorted(judged: Sequence[tuple[Prompt, float]]) -> tuple[Road, dict[str, float], Prompt | None]:
    """Which road these judgements are of, P(yes) by the passage's text, and one of the prompts."""
    for road, instruction in INSTRUCTIONS.items():
        mine = [(p, yes) for p, yes in judged if len(p.passages) == 1 and p.question.endswith(instruction)]
        if mine:
            return road, {p.passages[0]: yes for p, yes in mine}, mine[0][0]
    return Road.ANSWERABLE, {}, None


def _row(question: Question, road: Road, judged: Sequence[tuple[Hit, float]]) -> Row:
    candidates = [
        {
            **asdict(Signals.of(hit, yes)),
            "paper": hit.paper.label,
            "gold": any(gold.anchor in hit.paper.text for gold in question.gold),
        }
        for hit, yes in judged
    ]
    return {"id": question.id, "road": road.value, "answerable": question.answerable, "candidates": candidates}


def _collected(row: Row, question: Question, cache: Path) -> Collected:
    try:
        candidates = tuple(
            Candidate(Signals(*(c[name] for name in ("yes", "similarity", "overlap", "named"))), bool(c["gold"]))
            for c in row["candidates"]
        )
        return Collected(question.id, Road(row["road"]), question.answerable, candidates)
    except (KeyError, TypeError, ValueError) as error:
        raise ReadError(f"{cache}: the line of {question.id} is damaged ({error!r}); remove the file") from error
