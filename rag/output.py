"""The one place that writes to standard output and standard error: text, JSON, notes, errors, progress, the live draft.

Standard output carries results only, so that it can be piped; everything else goes to standard error. What papers and
models say is not trusted: control characters that move a terminal's cursor or turn its text around never reach it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

Step = Callable[[str, int, int], None]
"""(what is being done, done so far, of how many): what long work calls as it goes."""

# C0 and C1 controls but tab and line feed, lone surrogates, and the marks that override the direction of text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_OURS = ("models", "rag", "ui", "eval")
_EVERY_S = 5.0
"""Plain progress lines of counted work come no closer together than this."""


def safe(text: str) -> str:
    """Replace each character that a terminal would obey by U+FFFD."""
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n"))


class Output:
    """Two streams and how to write to them. ``out`` and ``err`` are for tests; None means the process's own."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        for stream in (self._out, self._err):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="replace")  # an old terminal's encoding is no reason to lose an answer

    def text(self, text: str) -> None:
        """Write a result, and a line end after it."""
        self._write(self._out, safe(text) + "\n")

    def data(self, value: object) -> None:
        """Write one JSON document; what a terminal would obey is escaped."""
        document = json.dumps(value, ensure_ascii=False, indent=2, default=str)
        self._write(self._out, _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", document) + "\n")

    def note(self, text: str) -> None:
        """Tell the user something that is not a result."""
        self._write(self._err, f"{safe(text)}\n")

    def error(self, text: str) -> None:
        """One line, whatever the message's own line ends."""
        self._write(self._err, f"citebound: {safe(' '.join(text.split()))}\n")

    def details(self) -> None:
        """Write the traceback of the exception being handled: for CITEBOUND_DEBUG=1 only."""
        self._write(self._err, traceback.format_exc())

    def flush(self) -> None:
        """Bring out what is still buffered, so that a full disk or a closed pipe is noticed while it can be told."""
        if self._out is not None:
            self._out.flush()

    def hang_up(self) -> None:
        """Nobody reads standard output any more: let what is buffered for it go nowhere, without a word."""
        with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream without a file descriptor has no pipe
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._out.fileno())
            os.close(nowhere)

    @contextlib.contextmanager
    def warnings(self) -> Iterator[None]:
        """Meanwhile, what our own packages log as a warning is told like any note, one line each."""
        listener = _Listener(self)
        loggers = [logging.getLogger(name) for name in _OURS]
        for logger in loggers:
            logger.addHandler(listener)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeHandler(listener)

    @contextlib.contextmanager
    def draft(self) -> Iterator[Callable[[str], None]]:
        """Show text as it grows, on a terminal; it is wiped off at the end, for the verified answer to take its place.

        Gives a function that takes the whole text so far. On anything but a terminal nothing is shown.
        """
        if not _is_terminal(self._out):
            yield lambda _: None
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        with Live(console=Console(file=self._out), transient=True, auto_refresh=False) as live:
            yield lambda text: live.update(Text(safe(text), style="dim"), refresh=True)

    @contextlib.contextmanager
    def progress(self, title: str, *, in_bytes: bool = False) -> Iterator[Step]:
        """Show how far work is: a bar on a terminal, else plain lines, both on standard error."""
        if _is_terminal(self._err):
            with self._bar(title, in_bytes) as step:
                yield step
        else:
            yield self._lines(title, in_bytes)

    @contextlib.contextmanager
    def _bar(self, title: str, in_bytes: bool) -> Iterator[Step]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        count: tuple[ProgressColumn, ...] = (
            (DownloadColumn(), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)
        )
        columns = (
            TextColumn("{task.fields[title]}", markup=False),
            BarColumn(),
            *count,
            TimeRemainingColumn(),
            TextColumn("{task.fields[doing]}", markup=False),
        )
        bar = Progress(*columns, console=Console(file=self._err), transient=True)
        task = bar.add_task("", title=title, doing="", total=None)

        def step(doing: str, done: int, total: int) -> None:
            bar.start()  # the first time; work that turns out to be done already shows no bar
            bar.update(task, completed=done, total=total or None, doing=safe(doing))

        try:
            yield step
        finally:
            bar.stop()

    def _lines(self, title: str, in_bytes: bool) -> Step:
        """Say each new note of a download, and counted work from time to time."""
        last: tuple[str, float] = ("", -_EVERY_S)

        def step(doing: str, done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last[1] >= _EVERY_S or (in_bytes and doing != last[0]):
                last = (doing, now)
                count = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if in_bytes else f"{done} of {total}"
                self.note(f"{title}: {count}{doing and f', {doing}'}")

        return step

    @staticmethod
    def _write(stream: TextIO | None, text: str) -> None:
        if stream is not None:  # a closed descriptor (>&-) is a wish for silence
            stream.write(text)


class _Listener(logging.Handler):
    """Hands log records on to an output."""

    def __init__(self, output: Output) -> None:
        super().__init__(logging.WARNING)
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        self._output.error(record.getMessage())


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
