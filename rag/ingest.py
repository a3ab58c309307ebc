"""Files into the library: read, cut, embed, store, index. The same again changes nothing; a broken-off run is resumed.

Order of each batch: everything into the store in one transaction, vectors into the index, then the papers become
visible. Killed anywhere, what was visible stays, and the next run finishes what the store already has. One writer at a
time, by file lock. Judges no text: what a reader gives is taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

from models.protocols import Embedder
from rag.chunk import passages, windows
from rag.corpus import Skipped, read_papers, suffixes
from rag.domain import Paper, Passage
from rag.errors import LibraryError, ReadError
from rag.lock import writing
from rag.rows import Entry
from rag.store import Store
from rag.vectors import VectorIndex

Progress = Callable[[str, int, int], None]
"""(what is being done, how many are done, how many there are)."""

BATCH = 32
"""Papers that are added together: what a kill can cost."""
_LOCK_TIMEOUT = 30.0
_TITLE_SHARE = 4  # a title may take this part of a window


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of every record, by paper id; files and records that were left out, with reasons.

    ``unchanged``: the library had it from that file. ``duplicates``: the same text came from elsewhere, or twice.
    ``resumed``: stored by a run that broke off, and finished by this one.
    """

    added: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Skipped, ...] = ()

    def __str__(self) -> str:
        """One line of counts; zeros are left out."""
        counts = {
            "added": self.added,
            "finished": self.resumed,
            "unchanged": self.unchanged,
            "duplicates": self.duplicates,
            "records skipped": self.skipped,
            "files failed": self.failed,
        }
        return ", ".join(f"{len(what)} {name}" for name, what in counts.items() if what) or "nothing to add"


def add_files(
    paths: Sequence[Path | str],
    store: Store,
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    passage_tokens: int,
    progress: Progress | None = None,
    lock_timeout: float = _LOCK_TIMEOUT,
) -> AddReport:
    """Add the papers of files, and of the text files in folders. A file that can't be read stops no other.

    Raises ReadError when not one file could be read, LibraryLockedError when another process is still writing after
    ``lock_timeout`` seconds, LibraryError when the library is made with another embedder, DiskFullError.
    """
    tell = progress or (lambda what, done, total: None)
    papers, skipped, failed = _read(paths, tell)
    with writing(store.folder, lock_timeout):
        _check_embedder(store, embedder, passage_tokens)
        cut = _Cutter(embedder, store.passage_tokens)
        resumed = _finish(store, vectors, cut, tell)
        finished = set(resumed)
        others = [paper for paper in papers if paper.id not in finished]
        fresh, unchanged, duplicates = _sorted_out(others, store.known(paper.id for paper in others))
        done = 0
        for batch in _batches(fresh):
            tell("adding papers", done, len(fresh))
            store.add(cut.entries(batch))
            vectors.add(paper.id for paper in batch)
            done += len(batch)
        tell("adding papers", done, len(fresh))
    return AddReport(tuple(p.id for p in fresh), unchanged, duplicates, resumed, skipped, failed)


def rebuild(
    store: Store,
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    passage_tokens: int,
    progress: Progress | None = None,
    lock_timeout: float = _LOCK_TIMEOUT,
) -> int:
    """Cut and embed every paper anew, for another embedder or passage length; how many there are.

    Broken off, it goes on at the next ``add_files`` or ``rebuild``; until it is done readers see part of the library.
    """
    with writing(store.folder, lock_timeout):
        store.clear_index(embedder.name, passage_tokens)
        return len(
            _finish(store, vectors, _Cutter(embedder, passage_tokens), progress or (lambda what, done, total: None))
        )


class _Cutter:
    """Cuts papers into passages and windows, and embeds the windows."""

    def __init__(self, embedder: Embedder, passage_tokens: int) -> None:
        self._embedder = embedder
        self._passage_tokens = passage_tokens

    def entries(self, papers: Sequence[Paper]) -> list[Entry]:
        """The papers, ready to be stored; all their windows go through the embedder together."""
        parts = [passages(paper, self._embedder.count_tokens, self._passage_tokens) for paper in papers]
        texts = [self._texts(paper, part) for paper, pieces in zip(papers, parts, strict=True) for part in pieces]
        flat = self._embedder.encode([text for group in texts for text in group])
        ends = list(accumulate(map(len, texts)))
        vectors = iter([flat[end - len(group) : end] for group, end in zip(texts, ends, strict=True)])
        return [
            Entry(paper, tuple(pieces), tuple(islice(vectors, len(pieces))))
            for paper, pieces in zip(papers, parts, strict=True)
        ]

    def _texts(self, paper: Paper, part: Passage) -> list[str]:
        """What the embedder reads of a passage: its windows, each after the title."""
        count = self._embedder.count_tokens
        head = self._head(paper.title)
        spans = windows(part, count, self._embedder.max_tokens - count(head))
        return [head + paper.text[span.start : span.end] for span in spans]

    def _head(self, title: str) -> str:
        """A title goes before each window, so that each is about what the paper is about; a very long one doesn't."""
        head = f"{title}\n" if title else ""
        return head if self._embedder.count_tokens(head) <= self._embedder.max_tokens // _TITLE_SHARE else ""


def _check_embedder(store: Store, embedder: Embedder, passage_tokens: int) -> None:
    if not store.embedder:
        store.describe(embedder.name, passage_tokens)
    elif store.embedder != embedder.name:
        raise LibraryError(
            f"the library at {store.folder} is made with the embedder {store.embedder}, not {embedder.name}: "
            "set the embedder back (CITEBOUND_EMBEDDER), or add your files to a library in another folder"
        )


def _finish(store: Store, vectors: VectorIndex, cut: _Cutter, tell: Progress) -> tuple[str, ...]:
    """Finish papers that the store has and readers don't see."""
    finished: list[str] = []
    while pending := store.pending(BATCH):
        total = len(finished) + store.count_pending()
        tell("finishing papers", len(finished), total)
        store.add(cut.entries([paper for paper, has_passages in pending if not has_passages]))
        vectors.add(paper.id for paper, _ in pending)
        finished += [paper.id for paper, _ in pending]
    return tuple(finished)


def _read(paths: Iterable[Path | str], tell: Progress) -> tuple[list[Paper], tuple[Skipped, ...], tuple[Skipped, ...]]:
    papers: list[Paper] = []
    skipped: list[Skipped] = []
    failed: list[Skipped] = []
    errors: list[ReadError] = []
    files: list[Path] = []

    def fail(path: Path, error: ReadError) -> None:
        errors.append(error)
        failed.append(Skipped(str(path), -1, str(error)))

    for path in map(Path, paths):
        try:
            files += _files(path)
        except ReadError as error:
            fail(path, error)
    for number, file in enumerate(dict.fromkeys(files)):
        tell("reading files", number, len(files))
        try:
            reading = read_papers(file)
        except ReadError as error:
            fail(file, error)
        else:
            papers += reading.papers
            skipped += reading.skipped
    if errors and not papers:
        if len(errors) == 1:
            raise errors[0]
        raise ReadError(f"none of the {len(errors)} files could be read; the first: {errors[0]}") from errors[0]
    return papers, tuple(skipped), tuple(failed)


def _files(path: Path) -> list[Path]:
    """A file itself; of a folder, the files in it and below that have a reader, hidden ones left out."""
    if not os.path.isdir(path):  # noqa: PTH112 - unlike Path.is_dir, false for any path that can't be looked at
        return [path]
    known = suffixes()
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in known
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not files:
        raise ReadError(f"{path} holds no file of papers ({', '.join(sorted(known))}): add a file, or another folder")
    return files


def _sorted_out(papers: Iterable[Paper], known: dict[str, str]) -> tuple[list[Paper], tuple[str, ...], tuple[str, ...]]:
    fresh: dict[str, Paper] = {}
    unchanged: dict[str, None] = {}
    duplicates: list[str] = []
    for paper in papers:
        if known.get(paper.id) == paper.source and paper.id not in unchanged:
            unchanged[paper.id] = None
        elif paper.id in known or paper.id in fresh:
            duplicates.append(paper.id)
        else:
            fresh[paper.id] = paper
    return list(fresh.values()), tuple(unchanged), tuple(duplicates)


def _batches(papers: Sequence[Paper]) -> Iterator[Sequence[Paper]]:
    for start in range(0, len(papers), BATCH):
        yield papers[start : start + BATCH]
