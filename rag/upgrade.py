"""Brings a library of an older format up to date, in one transaction. Touches neither texts nor vectors."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

_COLUMNS = (
    "authors TEXT NOT NULL DEFAULT ''", "year INTEGER", "venue TEXT NOT NULL DEFAULT ''",
    "topics TEXT NOT NULL DEFAULT ''", "url TEXT NOT NULL DEFAULT ''", "doi TEXT NOT NULL DEFAULT ''",
    "external_id TEXT NOT NULL DEFAULT ''", "replaces TEXT NOT NULL DEFAULT ''",
)  # fmt: skip


def from_2_to_3(connection: sqlite3.Connection, tables: Sequence[str]) -> None:
    """Papers get their fields, empty, and an origin: of it only the file's name is known. ``tables``: the new ones."""
    from rag.rows import PAPER, paper_from
    from rag.saving import save_facets, save_likeness

    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] != 2:  # another process was faster
            connection.execute("ROLLBACK")
            return
        for column in _COLUMNS:
            connection.execute(f"ALTER TABLE papers ADD COLUMN {column}")
        for statement in tables:
            connection.execute(statement)
        connection.execute("CREATE INDEX names_of ON names (paper)")
        connection.execute(
            "INSERT OR IGNORE INTO origins (paper, key, source, position, external_id, digest) "
            "SELECT num, source, source, position, '', id FROM papers ORDER BY num"
        )
        for row in connection.execute(f"SELECT {PAPER}, num FROM papers").fetchall():
            paper, num = paper_from(row), int(row[-1])
            save_facets(connection, num, paper)
            save_likeness(connection, num, paper)
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('analyzer', '1')")
        connection.execute("PRAGMA user_version = 3")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
