"""The vector index: a Chroma collection on disk, made from the store and always replaceable.

A row is a window of a passage; rows of papers that went stay until the next rebuild and are passed over, since taking
rows out of such a graph can make others unreachable. The store remembers which folder is the index and the sizes and
checksums of its files: a torn or damaged index (one can crash the process when it is opened) is seen first, and built
again from the store's vectors, with a warning. While that can't be done, because another process is writing, vectors
are compared one by one instead. Finds passages; knows nothing of words.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from models.protocols import Vectors
from rag.chroma import BATCH, ChromaRows, portions
from rag.errors import DiskFullError, LibraryLockedError
from rag.filters import ALL, Where
from rag.index_faults import disk_errors, is_fault, reason
from rag.index_files import IndexFiles
from rag.lock import writing
from rag.rows import Row
from rag.store import Store

_log = logging.getLogger(__name__)

_COMPARED = 10_000  # rows that are compared one by one rather than searched: some 30 ms
_SAME = 0.99  # cosine of a vector with itself, after rounding
_PATIENCE = 5.0  # seconds to wait for another process before comparing one by one
_PAUSE = 0.2


class _BrokenError(Exception):
    """The index can't be used as it is on disk; the message says why."""


class VectorIndex:
    """The vector index of a store. Safe to share between threads: they take turns."""

    def __init__(self, store: Store) -> None:
        """Touches nothing: the index is opened at first use."""
        self._store = store
        self._lock = threading.RLock()
        self._rows: ChromaRows | None = None
        self._folder = Path()
        self._generation = -1
        self._blind = -1  # the generation whose freshly built index does not find what is in it
        self._files = IndexFiles(store.folder)

    def close(self) -> None:
        """Close Chroma's files; the next use opens them again."""
        with self._lock:
            if self._rows is not None:
                self._rows.close()
            self._rows, self._generation = None, -1

    def nearest(self, vector: Vectors, limit: int, where: Where = ALL) -> list[tuple[str, float]]:
        """Passage ids with their cosine, best first; a passage counts as its best window.

        Of all papers, or of those that meet a condition. Some may not be seen by readers (any more): look them up in
        the store.
        """
        with self._lock:
            # A graph finds the nearest of all and few of a small part: that part is compared whole.
            if not where.is_all and self._store.windows_of(where) <= _COMPARED:
                return _best(_compared(self._store.rows(where=where), vector), limit)
            for _ in range(2):
                if not self._ready():
                    break
                try:
                    return self._nearest(vector, limit, where)
                except BaseException as error:  # Chroma's faults are of many kinds: see is_fault
                    if not is_fault(error):
                        raise
                    _log.warning("the vector index of %s failed (%s)", self._store.folder, reason(error))
                    self.close()
            return _best(_compared(self._store.rows(where=where), vector), limit)

    def add(self, paper_ids: Iterable[str]) -> None:
        """Put stored papers into the index and let readers see them. The caller holds the write lock.

        Raises DiskFullError; then readers see none of them, and the next call begins anew.
        """
        ids = list(paper_ids)
        with self._lock:
            try:
                self._open().upsert(self._store.rows(ids))
            except BaseException as error:  # see is_fault
                if not is_fault(error):
                    raise
                if self._store.index[0]:
                    self._warn(error)
                self._make(ids)
            self._publish(ids)

    def rebuild(self) -> None:
        """Build the index again from the store. The caller holds the write lock."""
        with self._lock:
            self._make([])
            self._publish([])

    def faults(self) -> list[str]:
        """What is wrong with the index on disk, one line each; mends nothing. Every vector is looked at."""
        with self._lock:
            try:
                rows = self._open()
                wrong = sum(_differing(rows, batch) for batch in portions(self._store.rows(), BATCH))
            except BaseException as error:  # see is_fault
                if not is_fault(error):
                    raise
                self.close()
                return [f"the vector index: {reason(error)}"] if self._store.count() else []
            return [f"the vector index: {wrong} vectors are missing or differ from the library's"] if wrong else []

    def dead(self) -> int:
        """Rows of papers that went: they cost room, and time when there are many."""
        with self._lock:
            return self._dead(self._rows) if self._ready() and self._rows is not None else 0

    # --- opening and mending ---

    def _ready(self) -> bool:
        """Open, current and whole; mended if need be. False while another process keeps us from mending it."""
        deadline = time.monotonic() + _PATIENCE
        while not self._opened():
            if self._blind == self._store.generation:
                return False
            try:
                with writing(self._store.folder, _PAUSE):
                    if not self._opened(warn=True):
                        self.rebuild()
                        return self._sees()
                    return True
            except DiskFullError:
                _log.warning("no room for the vector index of %s: comparing one by one", self._store.folder)
                return False
            except LibraryLockedError:  # what it writes may be whole in a moment
                if time.monotonic() > deadline:
                    _log.warning("the vector index of %s is being written: comparing one by one", self._store.folder)
                    return False
        return True

    def _sees(self) -> bool:
        """Whether a new index finds what is in it. Hundreds of equal vectors can hide the others from a graph."""
        if self._rows is not None and self._finds(self._rows):
            return True
        self._blind = self._store.generation
        self.close()
        _log.warning("too many equal abstracts for the vector index of %s: comparing one by one", self._store.folder)
        return False

    def _opened(self, warn: bool = False) -> bool:
        try:
            self._open()
        except BaseException as error:  # see is_fault
            if not is_fault(error):
                raise
            if warn:
                self._warn(error)
            return False
        return True

    def _open(self) -> ChromaRows:
        """Open the index that the store names, after a look at its files; nothing to do when it is open.

        Raises _BrokenError for an index that is not what was written, and what Chroma raises.
        """
        generation = self._store.generation
        if self._rows is not None and generation == self._generation:
            return self._rows
        self.close()
        name, sums = self._store.index
        self._folder = self._store.folder / name
        if not name or not self._folder.is_dir():
            raise _BrokenError("it is missing")
        if self._files.checksums(self._folder) != sums:
            raise _BrokenError("its files are not what was written")
        rows = self._rows = ChromaRows(self._folder)
        if len(rows) < self._store.count_rows():
            raise _BrokenError("rows are missing")
        if not self._finds(rows):
            raise _BrokenError("it does not find what is in it")
        self._generation = generation
        return rows

    def _finds(self, rows: ChromaRows) -> bool:
        probe = next(self._store.rows(), None)
        return probe is None or rows.nearest(probe.vector, 1)[0][1] >= _SAME

    def _dead(self, rows: ChromaRows) -> int:
        return max(0, len(rows) - self._store.count_rows())

    def _make(self, paper_ids: list[str]) -> None:
        """Build an index in a folder of its own: all that readers see, and these papers."""
        self.close()
        self._folder = self._files.next_folder()
        with disk_errors(self._store.folder):
            self._rows = ChromaRows(self._folder)
        self._rows.upsert(self._store.rows())
        self._rows.upsert(self._store.rows(paper_ids))

    def _publish(self, paper_ids: list[str]) -> None:
        self._store.mark_indexed(paper_ids, (self._folder.name, self._files.checksums(self._folder)))
        self._generation = self._store.generation
        self._files.keep_only(self._folder)

    def _warn(self, error: BaseException) -> None:
        _log.warning("the vector index of %s is damaged (%s): building it again", self._store.folder, reason(error))

    # --- rows ---

    def _nearest(self, vector: Vectors, limit: int, where: Where) -> list[tuple[str, float]]:
        rows = self._open()
        total, wanted = len(rows), limit + 8  # some passages have several windows
        dead = self._dead(rows)
        while total:
            found = _best(rows.nearest(vector, min(wanted, total)), total)
            if dead or not where.is_all:
                seen = self._store.seen((passage_id for passage_id, _ in found), where)
                found = [pair for pair in found if pair[0] in seen]
            if len(found) >= limit or wanted >= total:
                return found[:limit]
            wanted *= 2
        return []


def _differing(rows: ChromaRows, batch: list[Row]) -> int:
    vectors = rows.vectors([row.id for row in batch])
    return sum(row.id not in vectors or float(np.dot(vectors[row.id], row.vector)) < _SAME for row in batch)


def _best(pairs: Iterable[tuple[str, float]], limit: int) -> list[tuple[str, float]]:
    """Each passage once, with its best window."""
    best: dict[str, float] = {}
    for passage_id, similarity in pairs:
        best[passage_id] = max(similarity, best.get(passage_id, -1.0))
    return sorted(best.items(), key=lambda item: -item[1])[:limit]


def _compared(rows: Iterator[Row], vector: Vectors) -> Iterator[tuple[str, float]]:
    for batch in portions(rows, BATCH):
        similarities = np.stack([row.vector for row in batch]) @ vector
        yield from ((row.passage_id, float(value)) for row, value in zip(batch, similarities, strict=True))
