"""Files into the library: read, cut, embed, store, index. The same again changes nothing; a broken-off run is resumed.

Each file is read twice: once to see that it can be read to its end and what it holds, then record by record, so that no
file has to fit into memory. Order of each batch: everything into the store in one transaction, vectors into the index,
then the papers become visible, and with the same stroke the versions that they replace go. Killed anywhere, what was
visible stays, and the next run finishes what the store already has, in the same batches. One writer at a time, by file
lock. Judges no text: what a reader gives is taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from models.protocols import Embedder
from rag.corpus import Options
from rag.cutting import Cutter
from rag.domain import Paper
from rag.errors import LibraryError, ReadError
from rag.lock import writing
from rag.outline import Outline, Surveyed, survey
from rag.recognize import Kind, Recognized, Recognizer, Run
from rag.report import AddReport, Tally
from rag.rows import Again
from rag.store import Store
from rag.upkeep import update_words
from rag.vectors import VectorIndex

__all__ = ["AddReport", "Ingest", "Progress", "add_files", "rebuild", "sync_folder"]

Progress = Callable[[str, int, int], None]
"""(what is being done, how many are done, how many there are)."""
Confirm = Callable[[Sequence[Paper]], bool]
"""Shown the papers that would go, says whether they may."""

BATCH = 32
"""Papers that are added together: what a kill can cost."""
_MANY = 1000
"""Records of known papers that are noted together."""
_LOCK_TIMEOUT = 30.0
_DEAD_SHARE, _DEAD_LEAST = 0.25, 1000
"""Rows of papers that went, of all rows of the vector index, from which it is built anew."""


def _silent(_what: str, _done: int, _total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Ingest:
    """A library to write to, and how. ``lock_timeout``: seconds to wait for another process that writes."""

    store: Store
    vectors: VectorIndex
    embedder: Embedder
    passage_tokens: int
    options: Options = field(default_factory=Options)
    progress: Progress = _silent
    lock_timeout: float = _LOCK_TIMEOUT


def add_files(paths: Sequence[Path | str], into: Ingest) -> AddReport:
    """Add the papers of files, and of the files in folders. A file that can't be read stops no other.

    Raises ReadError when not one file could be read, LibraryLockedError when another process is still writing after
    ``lock_timeout`` seconds, LibraryError when the library is made with another embedder, DiskFullError.
    """
    surveyed = survey(map(Path, paths), into.options, into.progress)
    with writing(into.store.folder, into.lock_timeout):
        run = _Run(into, surveyed)
        run.add()
        return run.tally.report()


def sync_folder(folder: Path | str, into: Ingest, confirm: Confirm) -> AddReport:
    """Add what is in a folder, and take out what is in it no longer; ``confirm`` is asked before anything goes.

    What a file that can't be read held stays. A paper that is also in a file elsewhere stays. Raises as ``add_files``.
    """
    if not os.path.isdir(folder):  # noqa: PTH112 - unlike Path.is_dir, false for any path that can't be looked at
        raise ReadError(f"{folder} is no folder: name the folder whose files the library should follow")
    surveyed = survey([Path(folder)], into.options, into.progress, may_be_empty=True)
    with writing(into.store.folder, into.lock_timeout):
        run = _Run(into, surveyed)
        run.add()
        run.remove(os.path.abspath(folder), confirm)  # noqa: PTH100 - as the sources' keys are made
        return run.tally.report()


def rebuild(into: Ingest) -> int:
    """Cut and embed every paper anew, for another embedder or passage length; how many there are.

    Broken off, it goes on at the next ``add_files`` or ``rebuild``; until it is done readers see part of the library.
    """
    with writing(into.store.folder, into.lock_timeout):
        update_words(into.store)
        into.store.clear_index(into.embedder.name, into.passage_tokens)
        return len(_finish(into, Cutter(into.embedder, into.passage_tokens)))


class _Run:
    """One add or sync, under the write lock."""

    def __init__(self, into: Ingest, surveyed: Surveyed) -> None:
        self._into, self._surveyed = into, surveyed
        _check_embedder(into)
        update_words(into.store)
        self._cutter = Cutter(into.embedder, into.store.passage_tokens)
        self._gone: dict[str, list[tuple[str, str]]] = {}
        self._finished: set[str] = set()
        self._run = Run()
        self._fresh: list[Recognized] = []
        self._again: list[Again] = []
        self.tally = Tally(skipped=[s for o in surveyed.outlines for s in o.skipped], failed=list(surveyed.failed))
        self._done, self._total = 0, sum(outline.count for outline in surveyed.outlines)

    def add(self) -> None:
        """Finish what a run before left, then add every source."""
        self.tally.resumed += _finish(self._into, self._cutter)
        self._finished = set(self.tally.resumed)
        self._tell()
        for outline in self._surveyed.outlines:
            self._add_source(outline)
        self._store_batch()

    def remove(self, folder: str, confirm: Confirm) -> None:
        """Take out what was read from the folder and is in none of its files, if that is confirmed."""
        origins = self._into.store.origins
        unread = {outline.source.key for outline in self._surveyed.outlines}
        failed = {os.path.abspath(one.source) for one in self._surveyed.failed}  # noqa: PTH100 - as above
        for key in origins.files_under(folder):
            if key not in unread and not any(key == one or key.startswith(one + "/") for one in failed):
                self._gone[key] = list(origins.of_file(key))
        gone = {key: records for key, records in self._gone.items() if records}
        papers = self._into.store.only_from(gone)
        if not gone or (papers and not confirm(papers)):
            return
        for key, records in gone.items():
            self.tally.removed += [paper.id for paper in self._into.store.forget(key, records)]
        vectors = self._into.vectors
        if vectors.dead() > max(_DEAD_LEAST, _DEAD_SHARE * self._into.store.count_rows()):
            vectors.rebuild()

    def _add_source(self, outline: Outline) -> None:
        recognizer = Recognizer(self._into.store, outline, self._run)
        for position, record in enumerate(outline.read()):
            found = recognizer.recognize(record, position)
            self._note(found)
            if found.kind in (Kind.NEW, Kind.CHANGED):
                self._fresh.append(found)
            elif found.kind is not Kind.UNCHANGED or recognizer.moved(found):
                self._again.append(Again(found.known, found.origin, found.paper))
            if len(self._fresh) == BATCH or len(self._again) == _MANY:
                self._store_batch()
        self._gone[outline.source.key] = recognizer.gone

    def _note(self, found: Recognized) -> None:
        self._done += 1
        lists = {
            Kind.NEW: self.tally.added, Kind.CHANGED: self.tally.changed, Kind.UNCHANGED: self.tally.unchanged,
            Kind.DUPLICATE: self.tally.duplicates, Kind.NEAR_DUPLICATE: self.tally.near_duplicates,
        }  # fmt: skip
        if found.paper.id not in self._finished:  # a paper that this run finished is told as that
            lists[found.kind].append(found.known if found.kind is not Kind.CHANGED and found.known else found.paper.id)

    def _store_batch(self) -> None:
        """Store what has gathered, from however many sources, and let it be seen."""
        entries = [
            replace(entry, origin=found.origin, replaces=found.known)
            for entry, found in zip(self._cutter.entries([one.paper for one in self._fresh]), self._fresh, strict=True)
        ]
        if entries or self._again:
            self._into.store.add(entries, self._again)
        if entries:
            self._into.vectors.add(entry.paper.id for entry in entries)
        self._run.stored()
        self._fresh.clear()
        self._again.clear()
        self._tell()

    def _tell(self) -> None:
        self._into.progress("adding papers", self._done, self._total)


def _check_embedder(into: Ingest) -> None:
    store, embedder = into.store, into.embedder
    if not store.embedder:
        store.describe(embedder.name, into.passage_tokens)
    elif store.embedder != embedder.name:
        raise LibraryError(
            f"the library at {store.folder} is made with the embedder {store.embedder}, not {embedder.name}: "
            "set the embedder back (CITEBOUND_EMBEDDER), or make it anew for this one (citebound library rebuild)"
        )


def _finish(into: Ingest, cutter: Cutter) -> list[str]:
    """Finish papers that the store has and readers don't see."""
    finished: list[str] = []
    while pending := into.store.pending(BATCH):
        total = len(finished) + into.store.count_pending()
        into.progress("finishing papers", len(finished), total)
        into.store.add(cutter.entries([paper for paper, has_passages in pending if not has_passages]))
        into.vectors.add(paper.id for paper, _ in pending)
        finished += [paper.id for paper, _ in pending]
    return finished
