"""One writer at a time for a library: a lock on a file, with a note beside it of who holds it. Locks no readers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.errors import LibraryError, LibraryLockedError

_LOCK, _NOTE = "write.lock", "writer.json"


@contextmanager
def writing(folder: Path, timeout: float) -> Iterator[None]:
    """Hold a library's write lock. Within one thread it may be taken again.

    Waits up to ``timeout`` seconds, then raises LibraryLockedError with the process that holds it. The lock of a
    process that died is free: the system gives it back.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / _LOCK, is_singleton=True, fallback_to_soft=False)
    try:
        lock.acquire(timeout=timeout)
    except Timeout as error:
        raise LibraryLockedError(
            f"{_holder(folder)} is adding papers to {folder}: wait until it is done, or stop it, and repeat"
        ) from error
    except OSError as error:
        raise LibraryError(f"can't lock {folder} for writing ({error.strerror}): check its permissions") from error
    try:
        if lock.lock_counter == 1:
            _leave_note(folder)
        yield
    finally:
        lock.release()


def _leave_note(folder: Path) -> None:
    note = json.dumps({"pid": os.getpid(), "since": time.time()})
    try:
        (folder / _NOTE).write_text(note, encoding="utf-8")
    except OSError:  # only serves the message that another process would show
        (folder / _NOTE).unlink(missing_ok=True)


def _holder(folder: Path) -> str:
    try:
        note = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        return f"process {int(note['pid'])} (since {time.strftime('%H:%M:%S', time.localtime(float(note['since'])))})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
