"""Where each paper was read: which record of which file. What a file no longer holds is found by it. Reads no files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.database import Database
from rag.domain import Paper
from rag.rows import PAPER, Origin, paper_from
from rag.text import fold

_SHARED = 20
"""A key that more papers share is a phrase that authors or publishers use again and again: it says nothing."""


@dataclass(frozen=True, slots=True)
class Known:
    """A record as the store remembers it: whose it is, and where in its file it stood."""

    paper_id: str
    position: int


class Origins:
    """Questions about where papers come from, and the statements that keep the answers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_file(self, key: str) -> dict[tuple[str, str], Known]:
        """The records of one file, by external id and digest."""
        rows = self._database.all(
            "SELECT origins.external_id, digest, papers.id, origins.position FROM origins "
            "JOIN papers ON papers.num = paper WHERE key = ?",
            (key,),
        )
        return {(str(row[0]), str(row[1])): Known(str(row[2]), int(row[3])) for row in rows}

    def of_paper(self, paper_id: str) -> list[Origin]:
        """Every record that a paper was read from, the first one first."""
        rows = self._database.all(
            "SELECT key, origins.source, origins.position, origins.external_id, digest FROM origins "
            "JOIN papers ON papers.num = paper WHERE papers.id = ? ORDER BY origins.rowid",
            (paper_id,),
        )
        return [Origin(*row) for row in rows]

    def files_under(self, folder: str) -> list[str]:
        """Keys of the files in a folder and below that papers were read from."""
        rows = self._database.all(
            "SELECT DISTINCT key FROM origins WHERE key >= ? AND key < ?", (folder + "/", folder + "0")
        )
        return [str(row[0]) for row in rows]

    def files(self) -> list[tuple[str, int]]:
        """Every file that papers were read from, and how many records of it are known."""
        return [(str(row[0]), int(row[1])) for row in self._database.all(
            "SELECT key, count(*) FROM origins GROUP BY key ORDER BY min(rowid)"
        )]  # fmt: skip

    def by_external_id(self, external_id: str) -> str:
        """Id of the paper that has an external id; empty when there is none."""
        rows = self._database.all(
            "SELECT papers.id FROM origins JOIN papers ON papers.num = paper WHERE origins.external_id = ? LIMIT 1",
            (external_id,),
        )
        return str(rows[0][0]) if rows else ""

    def alike(self, keys: Iterable[int]) -> list[Paper]:
        """Papers that share a key (``similar.keys_of``), those that share most first."""
        shared: dict[int, int] = {}
        for key in keys:
            rows = self._database.all("SELECT paper FROM likeness WHERE key = ? LIMIT ?", (key, _SHARED + 1))
            for row in rows if len(rows) <= _SHARED else ():
                shared[int(row[0])] = shared.get(int(row[0]), 0) + 1
        nums = sorted(shared, key=lambda num: (-shared[num], num))[:_SHARED]
        return [paper for num in nums for paper in self._numbered(num)]

    def _numbered(self, num: int) -> list[Paper]:
        return [paper_from(row) for row in self._database.all(f"SELECT {PAPER} FROM papers WHERE num = ?", (num,))]

    def adopt(self, source: str, key: str) -> None:
        """Papers of an older format know only their file's name: from now on it is this file."""
        if self._database.all("SELECT 1 FROM origins WHERE key = ? LIMIT 1", (source,)):
            with self._database.writing() as connection:
                connection.execute("UPDATE OR IGNORE origins SET key = ? WHERE key = ?", (key, source))


def save_origins(connection: sqlite3.Connection, found: Iterable[tuple[str, Origin]]) -> None:
    """Note where papers (ids) were read; a record that is known moves to its new position."""
    connection.executemany(
        "INSERT INTO origins (paper, key, source, position, external_id, digest) "
        "SELECT num, ?, ?, ?, ?, ? FROM papers WHERE id = ? "
        "ON CONFLICT (key, external_id, digest) DO UPDATE SET position = excluded.position, paper = excluded.paper",
        [(o.key, o.source, o.position, o.external_id, o.digest, paper_id) for paper_id, o in found],
    )


def drop_origins(connection: sqlite3.Connection, key: str, records: Sequence[tuple[str, str]]) -> list[int]:
    """Forget records of a file (external id, digest); the papers (nums) that come from nowhere now."""
    nums: set[int] = set()
    for external_id, digest in records:
        where = (key, external_id, digest)
        condition = "WHERE key = ? AND external_id = ? AND digest = ?"
        found = [int(row[0]) for row in connection.execute(f"SELECT paper FROM origins {condition}", where)]
        connection.execute(f"DELETE FROM origins {condition}", where)
        for num in found:
            _keep_files(connection, num)
        nums.update(found)
    return [num for num in sorted(nums) if not has_origin(connection, num)]


def _keep_files(connection: sqlite3.Connection, num: int) -> None:
    """Let a paper be found by the names of the files that it still comes from, and by no others."""
    left = {fold(str(row[0])) for row in connection.execute("SELECT source FROM origins WHERE paper = ?", (num,))}
    values = connection.execute("SELECT value FROM facets WHERE paper = ? AND kind = 'file'", (num,)).fetchall()
    connection.executemany(
        "DELETE FROM facets WHERE kind = 'file' AND value = ? AND paper = ?",
        [(row[0], num) for row in values if row[0] not in left],
    )


def has_origin(connection: sqlite3.Connection, num: int) -> bool:
    """Whether some record of some file still is this paper."""
    return connection.execute("SELECT 1 FROM origins WHERE paper = ? LIMIT 1", (num,)).fetchone() is not None
