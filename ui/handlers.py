"""What happens when a user asks, stops, starts over or leaves: sessions in, views out. Knows no gradio.

``answer`` is a generator of views; whoever closes it, or calls ``leave``, frees the model.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from rag.domain import Event, Paper, Turn
from rag.errors import CiteboundError
from rag.filters import Filter, parse_line
from ui.session import Exchange, Session, View

_log = logging.getLogger(__name__)

REFRESH_S = 0.06
"""Shortest time between two views of a draft: faster than an eye follows, slower than every token."""
LOADING = "Loading the models, once…"
UNEXPECTED = "Something went wrong inside Citebound ({kind}); the program's log has the details. Ask again."


class Stream(Protocol):
    """A streamed answer: ``rag.stream.AnswerStream``."""

    def events(self) -> Iterator[Event]:
        """Found, then Piece by Piece, then the Answer."""

    def cancel(self) -> None:
        """Stop the model between two tokens."""


class Library(Protocol):
    """What the chat needs of ``rag.library.Library``."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    def __len__(self) -> int:
        """Number of papers."""

    def papers(self) -> list[Paper]:
        """All papers."""

    def ask(
        self, question: str, *, history: Sequence[Turn] = (), filters: Sequence[Filter] = (), stream: Literal[True]
    ) -> Stream:
        """Start to answer."""


class Desk:
    """Serves every session over one library.

    ``busy`` is entered while a question is being answered; ``loading`` tells whether it will wait for the models.
    """

    def __init__(
        self,
        library: Library,
        busy: Callable[[], AbstractContextManager[object]] = nullcontext,
        loading: Callable[[], bool] = lambda: False,
    ) -> None:
        self._library = library
        self._busy = busy
        self._loading = loading
        self._sessions: WeakValueDictionary[str, Session] = WeakValueDictionary()
        self._lock = threading.Lock()

    def put(self, session: Session, key: str, question: str, filters: str = "") -> View:
        """Show a question in the conversation; ``answer`` answers it. ``key`` names the tab, for ``leave``.

        ``filters`` are as the user wrote them: what is wrong with them is told in the place of an answer.
        """
        with self._lock:
            self._sessions[key] = session
        if question.strip():
            session.ask(question, filters)
        return session.view()

    def answer(self, session: Session) -> Iterator[View]:
        """Answer the session's waiting questions one after the other, yielding a view at each change.

        One generator a session does so at a time: the views that its page gets are in order.
        """
        owner = session.begin()
        if owner is None:  # the one that runs takes this question too
            return
        try:
            yield session.view()
            while (exchange := session.take(owner)) is not None:
                yield replace(session.view(), status=LOADING) if self._loading() else session.view()
                with self._busy():
                    yield from self._answer(session, exchange)
                yield session.view()
        finally:
            session.end(owner)

    def stop(self, session: Session) -> None:
        """Stop the answer that runs and the questions that wait; ``answer`` shows it."""
        session.stop()

    def clear(self, session: Session) -> View:
        """Start a new conversation."""
        session.clear()
        return session.view()

    def leave(self, key: str) -> None:
        """The tab was closed or reloaded: free the model."""
        with self._lock:
            session = self._sessions.pop(key, None)
        if session:
            session.stop()

    def close(self) -> None:
        """Stop everything that runs."""
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.stop()

    def _answer(self, session: Session, exchange: Exchange) -> Iterator[View]:
        try:
            stream = self._library.ask(
                exchange.question, history=session.history(), filters=parse_line(exchange.filters), stream=True
            )
            session.attach(exchange, stream)
            shown_at = 0.0
            for event in stream.events():
                was = exchange.stage
                session.happened(exchange, event)
                if exchange.stage is not was or time.monotonic() - shown_at >= REFRESH_S:
                    shown_at = time.monotonic()
                    yield session.view()
            if exchange.open:
                session.failed(exchange, "The answer ended before it was checked; ask again.")
        except CiteboundError as error:
            session.failed(exchange, str(error))
        except Exception as error:  # noqa: BLE001 - the page stays alive whatever a question provokes; the log tells the rest
            _log.exception("question failed")
            session.failed(exchange, UNEXPECTED.format(kind=type(error).__name__))
        finally:
            session.detach()
