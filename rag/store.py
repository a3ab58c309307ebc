"""The library's source of truth: one SQLite file with papers, passages, vectors; ``lexicon`` has its words and names.

A paper comes in with everything that belongs to it in one transaction, and is seen by readers once its vectors are in
the vector index as well (``mark_indexed``). ``generation`` counts those moments, so that other processes notice.
Knows neither the embedder nor Chroma, and ranks nothing. Safe to share between threads.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from models.protocols import Vectors
from rag.database import Database
from rag.domain import Paper, Passage
from rag.filters import ALL, Where
from rag.lexicon import ANALYZER, Lexicon, words_of
from rag.origins import Origins, drop_origins
from rag.rows import PAPER, Again, Entry, Row, paper_from, passage_from, vector_from
from rag.saving import remove_paper, replace_earlier, save_again, save_entry
from rag.schema import FILE_NAME

_PORTION = 500  # rows read at a time


class Store:
    """One library on disk. Every method may raise LibraryDamagedError, LibraryLockedError or DiskFullError."""

    def __init__(self, folder: Path | str, *, create: bool = False) -> None:
        """Open the library in a folder. Raises LibraryMissingError when there is none and ``create`` is off."""
        self.folder = Path(folder)
        self.path = self.folder / FILE_NAME
        self.database = Database(self.folder, create)
        self.lexicon = Lexicon(self.database)
        self.origins = Origins(self.database)

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self.database.close()

    # --- what the library is made of ---

    @property
    def generation(self) -> int:
        """Grows whenever readers can see something new."""
        return int(self._meta("generation") or 0)

    @property
    def embedder(self) -> str:
        """Name of the embedder that the vectors come from; empty before the first paper."""
        return self._meta("embedder")

    @property
    def passage_tokens(self) -> int:
        """Longest passage, in that embedder's tokens; 0 before the first paper."""
        return int(self._meta("passage_tokens") or 0)

    @property
    def analyzer(self) -> str:
        """Which way of turning texts into terms the words were made by (``lexicon.ANALYZER``)."""
        return self._meta("analyzer")

    def words_updated(self, connection: sqlite3.Connection) -> None:
        """Note that the words are made the present way; readers see new ones."""
        self._set(connection, analyzer=ANALYZER)
        self._next_generation(connection)

    @property
    def index(self) -> tuple[str, str]:
        """Folder and checksums of the vector index, as last written; empty before the first paper."""
        rows: dict[str, str] = dict(
            self.database.all("SELECT key, value FROM meta WHERE key IN ('index', 'index_sums')")
        )
        return rows.get("index", ""), rows.get("index_sums", "{}")

    def describe(self, embedder: str, passage_tokens: int) -> None:
        """Say, before the first paper, what vectors and passages are made with."""
        with self.database.writing() as connection:
            self._set(connection, embedder=embedder, passage_tokens=str(passage_tokens), analyzer=ANALYZER)

    def clear_index(self, embedder: str, passage_tokens: int) -> None:
        """Drop passages and vectors of all papers, to be made anew with another embedder or length."""
        with self.database.writing() as connection:
            for table in ("windows", "passages"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute("INSERT INTO terms (terms) VALUES ('delete-all')")
            connection.execute("UPDATE papers SET indexed = 0")
            self._set(connection, embedder=embedder, passage_tokens=str(passage_tokens))
            self._next_generation(connection)

    # --- writing ---

    def add(self, entries: Sequence[Entry], again: Sequence[Again] = ()) -> None:
        """Store papers with all that belongs to them, not yet seen by readers: all of them or none.

        A paper that is there already without passages (``clear_index``) gets its passages. ``again`` are records that
        turned out to be papers that are known, or that come with this call.
        """
        prepared = [words_of(entry.paper, entry.passages) for entry in entries]  # slow: outside the transaction
        with self.database.writing() as connection:
            for entry, words in zip(entries, prepared, strict=True):
                save_entry(connection, entry, words)
            save_again(connection, again)

    def mark_indexed(self, paper_ids: Iterable[str], index: tuple[str, str]) -> None:
        """Let readers see these papers, and no longer those that they replace.

        ``index``: the vector index's folder and the checksums of its files.
        """
        ids = list(paper_ids)
        with self.database.writing() as connection:
            connection.executemany("UPDATE papers SET indexed = 1 WHERE id = ?", [(one,) for one in ids])
            replace_earlier(connection, ids)
            self._set(connection, index=index[0], index_sums=index[1])
            self._next_generation(connection)

    def forget(self, key: str, records: Sequence[tuple[str, str]]) -> list[Paper]:
        """Forget records of a file (external id, digest); the papers that go, because they are in no other file."""
        with self.database.writing() as connection:
            papers = []
            for num in drop_origins(connection, key, records):
                row = connection.execute(f"SELECT {PAPER} FROM papers WHERE num = ?", (num,)).fetchone()
                papers.append(paper_from(row))
                remove_paper(connection, num)
            if papers:
                self._next_generation(connection)
        return papers

    def only_from(self, records: Mapping[str, Sequence[tuple[str, str]]]) -> list[Paper]:
        """The papers that would go if these records (by file) were forgotten."""
        gone = {(key, *where) for key, every in records.items() for where in every}
        known = {key: self.origins.of_file(key) for key in records}
        ids = dict.fromkeys(
            known[key][external_id, digest].paper_id
            for key, external_id, digest in sorted(gone)
            if (external_id, digest) in known[key]
        )
        alone = [
            one
            for one in ids
            if all((origin.key, origin.external_id, origin.digest) in gone for origin in self.origins.of_paper(one))
        ]
        return [paper for paper in map(self.paper, alone) if paper is not None]

    def remove(self, paper_ids: Iterable[str]) -> int:
        """Take papers out, wherever they were read; how many there were."""
        with self.database.writing() as connection:
            nums = [
                int(row[0])
                for one in paper_ids
                for row in connection.execute("SELECT num FROM papers WHERE id = ?", (one,)).fetchall()
            ]
            for num in nums:
                remove_paper(connection, num)
            if nums:
                self._next_generation(connection)
        return len(nums)

    # --- reading papers ---

    def count(self, where: Where = ALL) -> int:
        """How many papers readers see that meet a condition."""
        return self.database.number(f"SELECT count(*) FROM papers WHERE indexed = 1 AND {where.sql}", where.values)

    def has_fields(self) -> bool:
        """Whether there is anything to filter by but the files that papers come from."""
        query = (
            "SELECT EXISTS (SELECT 1 FROM papers WHERE year IS NOT NULL) OR "
            "EXISTS (SELECT 1 FROM facets WHERE kind IN ('author', 'venue', 'topic'))"
        )
        return bool(self.database.number(query))

    def paper(self, paper_id: str) -> Paper | None:
        """One paper by its id; None when readers don't see such a one."""
        rows = self.database.all(f"SELECT {PAPER} FROM papers WHERE id = ? AND indexed = 1", (paper_id,))
        return paper_from(rows[0]) if rows else None

    def papers(self, where: Where = ALL) -> Iterator[Paper]:
        """All papers that readers see and that meet a condition, in the order in which they came; read in portions."""
        last = 0
        while rows := self.database.all(
            f"SELECT {PAPER}, num FROM papers WHERE num > ? AND indexed = 1 AND {where.sql} ORDER BY num LIMIT ?",
            (last, *where.values, _PORTION),
        ):
            yield from map(paper_from, rows)
            last = int(rows[-1][-1])

    def known(self, paper_ids: Iterable[str]) -> dict[str, str]:
        """Which of these papers are stored, seen by readers or not, with the file each came from."""
        rows = self.database.within("SELECT id, source FROM papers WHERE id IN ({})", paper_ids)
        return {str(row[0]): str(row[1]) for row in rows}

    def pending(self, limit: int) -> list[tuple[Paper, bool]]:
        """Papers that readers don't see yet, oldest first, and whether each has its passages."""
        rows = self.database.all(
            f"SELECT {PAPER}, EXISTS (SELECT 1 FROM passages WHERE paper = papers.num) FROM papers "
            "WHERE indexed = 0 ORDER BY num LIMIT ?",
            (limit,),
        )
        return [(paper_from(row), bool(row[-1])) for row in rows]

    def count_pending(self) -> int:
        """How many papers readers don't see yet."""
        return self.database.number("SELECT count(*) FROM papers WHERE indexed = 0")

    def passages_of(self, paper_id: str) -> list[Passage]:
        """A paper's passages, in order; empty for a paper that readers don't see."""
        rows = self.database.all(
            "SELECT passages.id, papers.id, start, end, text FROM passages JOIN papers ON papers.num = paper "
            "WHERE papers.id = ? AND indexed = 1 ORDER BY start",
            (paper_id,),
        )
        return [passage_from(row) for row in rows]

    def passages(self, passage_ids: Iterable[str], where: Where = ALL) -> dict[str, tuple[Passage, Paper]]:
        """Passages by id, each with its paper; those that readers don't see, or of other papers, are missing."""
        rows = self.database.within(
            f"SELECT passages.id, papers.id, start, end, papers.text, {PAPER} FROM passages "
            f"JOIN papers ON papers.num = paper WHERE passages.id IN ({{}}) AND indexed = 1 AND {where.sql}",
            passage_ids,
            where.values,
        )
        return {str(row[0]): (passage_from(row), paper_from(row[5:])) for row in rows}

    def seen(self, passage_ids: Iterable[str], where: Where = ALL) -> set[str]:
        """Those of these passages that readers see, and whose papers meet a condition."""
        rows = self.database.within(
            "SELECT passages.id FROM passages JOIN papers ON papers.num = paper "
            f"WHERE passages.id IN ({{}}) AND indexed = 1 AND {where.sql}",
            passage_ids,
            where.values,
        )
        return {str(row[0]) for row in rows}

    # --- vectors ---

    def vectors(self, passage_ids: Iterable[str]) -> dict[str, Vectors]:
        """The window vectors of passages, (windows, dimension) each."""
        rows = self.database.within(
            "SELECT passages.id, vector FROM windows JOIN passages ON passages.num = passage WHERE passages.id IN ({})",
            passage_ids,
        )
        found: dict[str, list[Vectors]] = {}
        for passage_id, blob in rows:
            found.setdefault(str(passage_id), []).append(vector_from(blob))
        return {passage_id: np.stack(vectors) for passage_id, vectors in found.items()}

    def count_rows(self) -> int:
        """How many rows the vector index must hold for what readers see."""
        return self.database.number(
            "SELECT (SELECT count(*) FROM windows) - (SELECT count(*) FROM papers JOIN passages ON paper = papers.num "
            "JOIN windows ON passage = passages.num WHERE indexed = 0)"
        )

    def rows(self, paper_ids: Iterable[str] | None = None, where: Where = ALL) -> Iterator[Row]:
        """The vector index's rows, of some papers or of all that readers see; read in portions.

        ``where`` applies to the latter.
        """
        query = (
            "SELECT windows.id, passages.id, vector, windows.num FROM windows JOIN passages ON passages.num = passage "
            "JOIN papers ON papers.num = paper WHERE "
        )
        if paper_ids is not None:
            for row in self.database.within(query + "papers.id IN ({})", paper_ids):
                yield Row(str(row[0]), str(row[1]), vector_from(row[2]))
            return
        last = 0
        while rows := self.database.all(
            f"{query} indexed = 1 AND windows.num > ? AND {where.sql} ORDER BY windows.num LIMIT ?",
            (last, *where.values, _PORTION),
        ):
            for row in rows:
                yield Row(str(row[0]), str(row[1]), vector_from(row[2]))
            last = int(rows[-1][-1])

    def windows_of(self, where: Where) -> int:
        """How many rows of the vector index belong to papers that meet a condition."""
        return self.database.number(
            "SELECT count(*) FROM papers JOIN passages ON paper = papers.num JOIN windows ON passage = passages.num "
            f"WHERE indexed = 1 AND {where.sql}",
            where.values,
        )

    # --- plumbing ---

    def _meta(self, key: str) -> str:
        rows = self.database.all("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else ""

    @staticmethod
    def _set(connection: sqlite3.Connection, **values: str) -> None:
        connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", list(values.items()))

    @staticmethod
    def _next_generation(connection: sqlite3.Connection) -> None:
        connection.execute(
            "INSERT INTO meta (key, value) VALUES ('generation', '1') "
            "ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1"
        )
