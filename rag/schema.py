"""The tables of ``library.db``, and what an SQLite error means to a user. Holds no data access of its own."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rag.errors import DiskFullError, LibraryDamagedError, LibraryError, LibraryLockedError, LibraryMissingError
from rag.upgrade import from_2_to_3

VERSION = 3
OLDEST = 2
"""Formats from this one on are brought up to date when they are opened."""
FILE_NAME = "library.db"

# Where papers come from, what they are filtered by, what versions of one paper share: new in format 3.
PROVENANCE = (
    """CREATE TABLE origins (
        paper INTEGER NOT NULL REFERENCES papers (num), key TEXT NOT NULL, source TEXT NOT NULL,
        position INTEGER NOT NULL, external_id TEXT NOT NULL, digest TEXT NOT NULL,
        UNIQUE (key, external_id, digest)
    )""",
    "CREATE INDEX origins_of ON origins (paper)",
    "CREATE INDEX origins_external ON origins (external_id) WHERE external_id != ''",
    "CREATE TABLE facets (kind TEXT NOT NULL, value TEXT NOT NULL, paper INTEGER NOT NULL REFERENCES papers (num), "
    "PRIMARY KEY (kind, value, paper)) WITHOUT ROWID",
    "CREATE INDEX facets_of ON facets (paper)",
    "CREATE INDEX papers_year ON papers (year) WHERE year IS NOT NULL",
    "CREATE TABLE likeness (key INTEGER NOT NULL, paper INTEGER NOT NULL REFERENCES papers (num), "
    "PRIMARY KEY (key, paper)) WITHOUT ROWID",
    "CREATE INDEX likeness_of ON likeness (paper)",
)

TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE papers (
        num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, label TEXT NOT NULL, title TEXT NOT NULL,
        source TEXT NOT NULL, position INTEGER NOT NULL,
        indexed INTEGER NOT NULL DEFAULT 0,  -- 1 when its vectors are in the index: only then readers see it
        authors TEXT NOT NULL DEFAULT '', year INTEGER, venue TEXT NOT NULL DEFAULT '',  -- lists as JSON
        topics TEXT NOT NULL DEFAULT '', url TEXT NOT NULL DEFAULT '', doi TEXT NOT NULL DEFAULT '',
        external_id TEXT NOT NULL DEFAULT '',
        replaces TEXT NOT NULL DEFAULT ''  -- id of the paper that goes when this one becomes visible
    )""",
    "CREATE INDEX papers_indexed ON papers (indexed)",
    *PROVENANCE,
    """CREATE TABLE passages (
        num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, paper INTEGER NOT NULL REFERENCES papers (num),
        start INTEGER NOT NULL, end INTEGER NOT NULL
    )""",
    "CREATE INDEX passages_of ON passages (paper)",
    # What the embedder read, and its float32 vector: the index can be built again without the embedder.
    """CREATE TABLE windows (
        num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, passage INTEGER NOT NULL REFERENCES passages (num),
        vector BLOB NOT NULL
    )""",
    "CREATE INDEX windows_of ON windows (passage)",
    # Only the inverted index: its text is derived from papers. rowid = passages.num.
    """CREATE VIRTUAL TABLE terms USING fts5 (
        title, body, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '.'"
    )""",
    "INSERT INTO terms (terms, rank) VALUES ('rank', 'bm25(2.0, 1.0)')",
    # The vocabulary: how many papers hold a term; ``backwards`` finds terms by their end.
    "CREATE TABLE words (term TEXT PRIMARY KEY, papers INTEGER NOT NULL, backwards TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX words_backwards ON words (backwards)",
    """CREATE TABLE names (
        key TEXT NOT NULL, paper INTEGER NOT NULL REFERENCES papers (num),
        own INTEGER NOT NULL,  -- 1 when it is what the paper calls its own method
        PRIMARY KEY (key, paper)
    ) WITHOUT ROWID""",
    "CREATE INDEX names_own ON names (key, paper) WHERE own = 1",
    "CREATE INDEX names_of ON names (paper)",
    f"PRAGMA user_version = {VERSION}",
)


def connect(folder: Path, create: bool) -> sqlite3.Connection:
    """An open connection to a folder's library, its tables made when ``create``.

    Raises LibraryMissingError, LibraryDamagedError, LibraryError (written by a newer version; no permission).
    """
    path = folder / FILE_NAME
    if not create and not path.exists():
        raise LibraryMissingError(
            f"there is no library at {folder}: make one with citebound add --library {folder} FILE"
        )
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LibraryError(f"can't make a library at {folder} ({error.strerror}): choose another folder") from error
    with translated(folder):
        connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, folder, create)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, folder: Path, create: bool) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise LibraryError(
            f"the library at {folder} was written by a newer Citebound (format {version}, this one reads {VERSION}): "
            "upgrade with pip install -U citebound"
        )
    if 0 < version < OLDEST:
        raise LibraryError(
            f"the library at {folder} was written by an older Citebound (format {version}, this one reads {VERSION}): "
            f"move it away and add your files again (citebound add --library {folder} FILE)"
        )
    if version == 0:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables:
            raise LibraryDamagedError(f"{folder / FILE_NAME} is no library of Citebound's: choose another folder")
        if not create:
            raise LibraryMissingError(
                f"the library at {folder} was never filled: do it with citebound add --library {folder} FILE"
            )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if version == 0:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:  # nobody else was faster
            for statement in TABLES:
                connection.execute(statement)
        connection.execute("COMMIT")
    elif version < VERSION:
        from_2_to_3(connection, PROVENANCE)


_FULL = "the disk of {folder} is full: free some space and repeat; what was added before is kept"
_DAMAGED = (
    "{folder}/library.db is damaged ({error}): move it away and add your files again "
    "(citebound add --library {folder} FILE)"
)
_MEANINGS: dict[int, tuple[type[LibraryError], str]] = {
    sqlite3.SQLITE_FULL: (DiskFullError, _FULL),
    sqlite3.SQLITE_CORRUPT: (LibraryDamagedError, _DAMAGED),
    sqlite3.SQLITE_NOTADB: (LibraryDamagedError, _DAMAGED),
    sqlite3.SQLITE_ERROR: (LibraryDamagedError, _DAMAGED),  # a table is missing
    sqlite3.SQLITE_IOERR: (LibraryDamagedError, _DAMAGED),
    sqlite3.SQLITE_BUSY: (LibraryLockedError, "another process is writing to {folder}: wait for it, or stop it"),
    sqlite3.SQLITE_LOCKED: (LibraryLockedError, "another process is writing to {folder}: wait for it, or stop it"),
    sqlite3.SQLITE_READONLY: (LibraryError, "no permission to write to {folder}: allow it with chmod u+w"),
    sqlite3.SQLITE_CANTOPEN: (LibraryError, "can't open {folder}/library.db: check the folder's permissions"),
    sqlite3.SQLITE_PERM: (LibraryError, "can't open {folder}/library.db: check the folder's permissions"),
}


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Turn SQLite's errors into the library's."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:  # the driver's own complaint, not about the file
            if "closed" in str(error):
                raise LibraryError(f"the library at {folder} was closed; open it again") from error
            raise
        kind, message = _MEANINGS.get(code & 0xFF, (LibraryError, "{folder}/library.db: {error}; repeat"))
        if code & 0xFF == sqlite3.SQLITE_IOERR and shutil.disk_usage(folder).free < 10**6:
            kind, message = DiskFullError, _FULL
        raise kind(message.format(folder=folder, error=error)) from error
