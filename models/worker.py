"""One thread that owns something not safe to share, and a queue in front of it. Knows nothing of models.

Callers on any thread submit functions; they run one after the other in the order they came. A caller can wait for a
result or read a stream of items while the function still runs.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from models.errors import CiteboundError, GeneratorDiedError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


class Worker:
    """A daemon thread with a first-in-first-out queue of functions."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._closed = False
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    @property
    def closed(self) -> bool:
        """Whether it takes no more functions."""
        return self._closed

    def call(self, function: Callable[[], T]) -> T:
        """Run a function on the thread, wait, and give its result or raise its error."""
        return self.submit(function).result()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Queue a function; its future holds result or error. Unexpected errors become GeneratorDiedError."""
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits, never swallowed
                future.set_exception(_known(error))

        with self._closing:  # a job must not land behind the end of the queue
            if self._closed:
                raise GeneratorDiedError("the model was closed; open the library again")
            self._jobs.put(job)
        return future

    def stream(self, produce: Callable[[Callable[[T], None]], None]) -> Iterator[T]:
        """Run ``produce(emit)`` on the thread and yield what it emits, as it comes. Its error is raised at the end."""
        items: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
        future = self.submit(lambda: produce(items.put))
        future.add_done_callback(lambda done: items.put(_End(done.exception())))
        while not isinstance(item := items.get(), _End):
            yield item
        if item.error is not None:
            raise item.error

    def close(self, last: Callable[[], None] | None = None) -> None:
        """Let queued functions finish, then ``last``, then end the thread. Closing twice is fine."""
        with self._closing:
            if not self._closed:
                self._closed = True
                if last is not None:
                    self._jobs.put(last)
                self._jobs.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()


def _known(error: BaseException) -> BaseException:
    if isinstance(error, CiteboundError | KeyboardInterrupt | SystemExit):
        return error
    died = GeneratorDiedError(f"the model stopped on an unexpected fault ({type(error).__name__}: {error}); ask again")
    died.__cause__ = error
    return died
