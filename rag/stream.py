"""A streamed answer in a user's hands: iterate for text, or for events; stop it; read the answer at the end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from rag.domain import Answer, Event, Piece
from rag.errors import CiteboundError


class AnswerStream:
    """What ``ask(..., stream=True)`` returns. Iterating yields pieces of text; ``answer`` is there when it ended.

    The pieces are the model's draft: the final ``answer`` may hold fewer sentences, since unsupported ones are dropped.
    """

    def __init__(self, start: Callable[[threading.Event], Iterator[Event]]) -> None:
        self._cancel = threading.Event()
        self._events = start(self._cancel)
        self._answer: Answer | None = None
        self._error: BaseException | None = None

    def events(self) -> Iterator[Event]:
        """Found, then Piece by Piece, then the Answer."""
        try:
            for event in self._events:
                if isinstance(event, Answer):
                    self._answer = event
                yield event
        except CiteboundError as error:
            self._error = error
            raise

    def __iter__(self) -> Iterator[str]:
        return (event.text for event in self.events() if isinstance(event, Piece))

    @property
    def answer(self) -> Answer:
        """The finished answer; runs the stream to its end when it hasn't ended yet."""
        for _ in self.events():
            pass
        if self._error is not None:
            raise self._error
        if self._answer is None:
            raise RuntimeError("the stream was closed before it ended")
        return self._answer

    def cancel(self) -> None:
        """Stop the model between two tokens. The stream then ends with what is verified so far."""
        self._cancel.set()
