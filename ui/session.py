"""One user's conversation: its questions, where each stands, and the view of it all. Asks nothing and draws nothing.

A session belongs to one browser tab and is never shared. Several threads touch it (the answer that streams, the stop
button), so every change happens under its lock.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from rag.domain import Answer, Event, Found, Hit, Turn
from ui import render

WAITING_LIMIT = 5
"""Questions that may wait in one session; a script that floods it gets told."""


class Stage(StrEnum):
    """Where a question stands."""

    WAITING = "waiting"
    SEARCHING = "searching"
    READING = "reading"
    WRITING = "writing"
    ANSWERED = "answered"
    ABSTAINED = "abstained"
    STOPPED = "stopped"
    FAILED = "failed"


_OPEN = (Stage.WAITING, Stage.SEARCHING, Stage.READING, Stage.WRITING)
_STATUS = {
    Stage.WAITING: "Waiting…",
    Stage.SEARCHING: "Searching the library…",
    Stage.READING: "Reading the {found}…",
    Stage.WRITING: "Writing, then checking each sentence…",
    Stage.ANSWERED: "Answered in {seconds:.1f} s",
    Stage.ABSTAINED: "Searched and read for {seconds:.1f} s",
    Stage.STOPPED: "Stopped",
    Stage.FAILED: "Not answered",
}


class Cancellable(Protocol):
    """A running answer, as far as stopping it goes."""

    def cancel(self) -> None:
        """Stop the model between two tokens."""


@dataclass(slots=True, eq=False)
class Exchange:
    """A question and what became of it. ``reply`` and ``evidence`` are its HTML, kept once it is finished."""

    number: int
    question: str
    filters: str = ""
    stage: Stage = Stage.WAITING
    found: tuple[Hit, ...] = ()
    draft: str = ""
    answer: Answer | None = None
    seconds: float = 0.0
    stopping: bool = False
    reply: str = ""
    evidence: str = ""

    @property
    def open(self) -> bool:
        """Whether it is not finished."""
        return self.stage in _OPEN

    @property
    def papers(self) -> int:
        """How many papers were found for it."""
        return len({hit.paper.id for hit in self.found})

    @property
    def status(self) -> str:
        """Where it stands, in words for the user."""
        found = "paper found" if self.papers == 1 else f"{self.papers} papers found"
        return _STATUS[self.stage].format(seconds=self.seconds, found=found)

    def finish(self, stage: Stage, reply: str) -> None:
        """Set its last word."""
        self.stage, self.reply = stage, reply


Message = dict[str, Any]
"""``{"role": "user" | "assistant", "content": [{"type": "text", "text": html}]}``."""


@dataclass(frozen=True, slots=True)
class View:
    """What one session's page shows."""

    chat: list[Message]
    evidence: str
    status: str
    busy: bool


class Session:
    """The state of one tab."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._exchanges: list[Exchange] = []
        self._stream: Cancellable | None = None
        self._owner: object | None = None
        self._count = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        """A new session: what is copied is the empty one that every tab starts with."""
        return Session()

    def ask(self, question: str, filters: str = "") -> None:
        """Append a question, and which papers it is about. One too many is answered at once: wait."""
        with self._lock:
            self._count += 1
            exchange = Exchange(self._count, question, filters.strip(), reply=render.waiting_html())
            if sum(e.stage is Stage.WAITING for e in self._exchanges) >= WAITING_LIMIT:
                exchange.finish(Stage.FAILED, render.error_html("Too many questions are waiting; let some finish."))
            self._exchanges.append(exchange)

    def begin(self) -> object | None:
        """A token for whoever answers this session's questions from now on; None when somebody already does."""
        with self._lock:
            if self._owner:
                return None
            self._owner = object()
            return self._owner

    def take(self, owner: object) -> Exchange | None:
        """The next question to answer; None ends what ``begin`` began."""
        with self._lock:
            waiting = next((e for e in self._exchanges if e.stage is Stage.WAITING), None)
            if waiting is None:
                self.end(owner)
            else:
                waiting.stage = Stage.SEARCHING
            return waiting

    def end(self, owner: object) -> None:
        """The owner answers no more; a question that it leaves unfinished is stopped."""
        with self._lock:
            if self._owner is not owner:
                return
            self._owner = None
            self.detach()
            for exchange in self._exchanges:
                if exchange.open and exchange.stage is not Stage.WAITING:
                    exchange.finish(Stage.STOPPED, render.stopped_html(exchange.draft))

    def attach(self, exchange: Exchange, stream: Cancellable) -> None:
        """The stream that answers an exchange, so that ``stop`` can reach it."""
        with self._lock:
            self._stream = stream
            if exchange.stopping or exchange not in self._exchanges:
                stream.cancel()

    def detach(self) -> None:
        """The stream is of no more use: ended, failed, or nobody listens."""
        with self._lock:
            if self._stream:
                self._stream.cancel()
            self._stream = None

    def happened(self, exchange: Exchange, event: Event) -> None:
        """Take in an event of the stream."""
        with self._lock:
            if isinstance(event, Found):
                exchange.stage, exchange.found = Stage.READING, event.hits
                exchange.reply = render.waiting_html(exchange.number, exchange.papers)
                exchange.evidence = render.evidence_html(exchange.question, exchange.number, exchange.found, None)
            elif isinstance(event, Answer):
                self._answered(exchange, event)
            else:
                exchange.stage = Stage.WRITING
                exchange.draft += event.text
                exchange.reply = render.draft_html(exchange.draft)

    def failed(self, exchange: Exchange, message: str) -> None:
        """The question could not be answered."""
        with self._lock:
            if exchange.stopping:
                exchange.finish(Stage.STOPPED, render.stopped_html(exchange.draft))
            else:
                exchange.finish(Stage.FAILED, render.error_html(message))

    def stop(self) -> None:
        """Stop what runs and what waits."""
        with self._lock:
            for exchange in self._exchanges:
                exchange.stopping = exchange.stopping or exchange.open
                if exchange.stage is Stage.WAITING:
                    exchange.finish(Stage.STOPPED, render.stopped_html(""))
            if self._stream:
                self._stream.cancel()

    def clear(self) -> None:
        """Start over. An answer that still runs is stopped and belongs to nothing any more."""
        with self._lock:
            self.stop()
            self._exchanges = []

    def history(self) -> tuple[Turn, ...]:
        """The exchanges so far that have an answer, oldest first."""
        with self._lock:
            answers = [e.answer for e in self._exchanges if e.answer]
            return tuple(Turn(a.asked, a.text, tuple(p.id for p in a.papers)) for a in answers)

    def view(self) -> View:
        """Everything that the page shows of this session."""
        with self._lock:
            chat: list[Message] = []
            for exchange in self._exchanges:
                chat.append(_message("user", render.question_html(exchange.question)))
                chat.append(_message("assistant", exchange.reply))
            current = next((e for e in self._exchanges if e.open), self._exchanges[-1] if self._exchanges else None)
            status = current.status if current else ""
            evidence = "\n\n".join(e.evidence for e in self._exchanges if e.evidence)
            return View(chat, evidence, status, busy=any(e.open for e in self._exchanges))

    def _answered(self, exchange: Exchange, answer: Answer) -> None:
        exchange.seconds = answer.timings.total
        if exchange.stopping and answer.abstained:  # it did not abstain, it was not let finish
            exchange.finish(Stage.STOPPED, render.stopped_html(exchange.draft))
            return
        exchange.answer = answer
        stage = Stage.ABSTAINED if answer.abstained else Stage.STOPPED if exchange.stopping else Stage.ANSWERED
        exchange.finish(stage, render.answer_html(answer, exchange.number, exchange.found))
        exchange.evidence = render.evidence_html(exchange.question, exchange.number, exchange.found, answer)


def _message(role: str, shown: str) -> Message:
    return {"role": role, "content": [{"type": "text", "text": shown}]}
