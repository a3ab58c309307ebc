"""One SQLite connection shared between threads: transactions, queries, errors in the library's words."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag.schema import connect, translated

_PORTION = 500  # parameters of one SQL statement

Rows = list[tuple[Any, ...]]


class Database:
    """A library's file, open. Threads take turns: every statement is short, and a transaction is one thread's."""

    def __init__(self, folder: Path, create: bool) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._connection = connect(folder, create)

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is kept, or none."""
        with self._lock, translated(self.folder):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def all(self, query: str, values: Sequence[object] = ()) -> Rows:
        """Every row that a query gives."""
        with self._lock, translated(self.folder):
            return self._connection.execute(query, tuple(values)).fetchall()

    def number(self, query: str, values: Sequence[object] = ()) -> int:
        """The one number that a query gives."""
        return int(self.all(query, values)[0][0])

    def within(self, query: str, values: Iterable[str], more: Sequence[object] = ()) -> Rows:
        """Rows of a query with ``IN ({})``, for any number of values; ``more`` are for the question marks after it."""
        wanted = list(dict.fromkeys(values))
        rows: Rows = []
        for start in range(0, len(wanted), _PORTION):
            part = wanted[start : start + _PORTION]
            rows += self.all(query.format(", ".join("?" * len(part))), (*part, *more))
        return rows
