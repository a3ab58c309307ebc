"""Faults of the vector index, told apart from those of the program and of the disk. Mends nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.errors import CiteboundError, DiskFullError


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Raise DiskFullError for what Chroma raises when the disk is full; let the rest pass."""
    try:
        yield
    except Exception as error:
        full = "full" in str(error) or "No space left" in str(error) or shutil.disk_usage(folder).free < 10**6
        if full:
            raise DiskFullError(
                f"the disk of {folder} is full: free some space and repeat; what was added before is kept"
            ) from error
        raise


def is_fault(error: BaseException) -> bool:
    """Is it the index that failed? Chroma raises its own errors, ValueError, RuntimeError, and panics of Rust."""
    if isinstance(error, CiteboundError):
        return False
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def reason(error: BaseException) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__
