"""Work for the time when nobody asks: load the models, then compute the passages' attention states. Computes nothing.

A question that comes pauses the work (at the next passage); it goes on when all has been quiet for a moment.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rag.errors import CiteboundError

_log = logging.getLogger(__name__)

QUIET_S = 2.0
"""Seconds without a question before the work goes on."""


class Background:
    """Runs ``prepare(cancel)`` in a thread of its own until it ends without having been cancelled."""

    def __init__(
        self, warm: Callable[[], object], prepare: Callable[[threading.Event], object] | None, quiet_s: float = QUIET_S
    ) -> None:
        self._warm = warm
        self._prepare = prepare
        self._quiet_s = quiet_s
        self._changed = threading.Condition()
        self._asking = 0
        self._stopped = False
        self._warming = False
        self._cancel = threading.Event()
        self._thread = threading.Thread(target=self._run, name="citebound-background", daemon=True)

    @property
    def running(self) -> bool:
        """Whether there is still something to do or being done."""
        return self._thread.is_alive()

    @property
    def warming(self) -> bool:
        """Whether the models are being loaded right now."""
        return self._warming

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self, timeout: float = 3.0) -> None:
        """End the work at the next passage and wait for it, ``timeout`` seconds at most."""
        with self._changed:
            self._stopped = True
            self._cancel.set()
            self._changed.notify_all()
        if self.running:
            self._thread.join(timeout)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While a question is being answered."""
        with self._changed:
            self._asking += 1
            self._cancel.set()
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()

    def _run(self) -> None:
        try:
            self._warming = True
            self._warm()
            self._warming = False
            while self._prepare and (cancel := self._when_quiet()):
                self._prepare(cancel)
                if not cancel.is_set():
                    return
        except CiteboundError as error:  # whoever asks a question is told the same
            _log.warning("nothing prepared ahead: %s", error)
        except Exception:  # noqa: BLE001 - idle work must never take the chat down; questions do without it
            _log.exception("preparing ahead failed")
        finally:
            self._warming = False

    def _when_quiet(self) -> threading.Event | None:
        """A fresh cancel event once nobody has asked for a while; None when stopped."""
        with self._changed:
            while not self._stopped:
                self._changed.wait_for(lambda: self._stopped or not self._asking)
                if not self._changed.wait_for(lambda: self._stopped or self._asking, timeout=self._quiet_s):
                    self._cancel = threading.Event()
                    return self._cancel
        return None
