"""How a paper gets into the tables of a library and out of them again, inside somebody else's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from models.protocols import Vectors
from rag.domain import Paper, Passage, Span
from rag.lexicon import Words, words_of
from rag.origins import has_origin, save_origins
from rag.rows import PAPER, Again, Entry, paper_from, paper_row
from rag.similar import is_global, keys_of
from rag.text import fold


def save_entry(connection: sqlite3.Connection, entry: Entry, words: Words) -> None:
    """A paper with everything that belongs to it. One that is there without passages gets its passages."""
    num = _paper_num(connection, entry.paper.id)
    if num is None:
        num = _save_paper(connection, entry.paper, entry.replaces)
        words.save_paper(connection, num)
    if entry.origin is not None:
        save_origins(connection, [(entry.paper.id, entry.origin)])
    for position, (passage, vectors) in enumerate(zip(entry.passages, entry.vectors, strict=True)):
        passage_num = _save_passage(connection, num, passage, vectors)
        words.save_passage(connection, passage_num, position)


def _paper_num(connection: sqlite3.Connection, paper_id: str) -> int | None:
    row = connection.execute("SELECT num FROM papers WHERE id = ?", (paper_id,)).fetchone()
    return int(row[0]) if row else None


def _save_paper(connection: sqlite3.Connection, paper: Paper, replaces: str) -> int:
    columns = ", ".join(_COLUMNS)
    values = (*paper_row(paper), replaces)
    cursor = connection.execute(
        f"INSERT INTO papers ({columns}, replaces) VALUES ({', '.join('?' * len(values))})", values
    )
    num = int(cursor.lastrowid or 0)
    save_facets(connection, num, paper)
    save_likeness(connection, num, paper)
    return num


def save_again(connection: sqlite3.Connection, again: Iterable[Again]) -> None:
    """Note where papers were read again, and what those records say that the papers did not.

    Text and title stay what was indexed.
    """
    for one in again:
        save_origins(connection, [(one.paper_id, one.origin)])
        row = connection.execute(f"SELECT {PAPER}, num FROM papers WHERE id = ?", (one.paper_id,)).fetchone()
        if row is None:
            continue
        paper, num = paper_from(row), int(row[-1])
        fuller = replace(paper, **{name: getattr(one.record, name) for name in _FILLED if not getattr(paper, name)})
        if fuller != paper:
            columns = ", ".join(f"{name} = ?" for name in _COLUMNS)
            connection.execute(f"UPDATE papers SET {columns} WHERE num = ?", (*paper_row(fuller), num))
        save_facets(connection, num, replace(fuller, source=one.origin.source))
        save_likeness(connection, num, replace(one.record, text=paper.text))


_COLUMNS = PAPER.replace("papers.", "").split(", ")
_FILLED = ("authors", "year", "venue", "topics", "url", "doi")


def save_facets(connection: sqlite3.Connection, num: int, paper: Paper) -> None:
    """What the paper can be filtered by, folded."""
    values = [
        *(("author", name) for name in paper.authors), *(("topic", topic) for topic in paper.topics),
        ("venue", paper.venue), ("file", paper.source),
    ]  # fmt: skip
    connection.executemany(
        "INSERT OR IGNORE INTO facets (kind, value, paper) VALUES (?, ?, ?)",
        [(kind, fold(value), num) for kind, value in values if value],
    )


def save_likeness(connection: sqlite3.Connection, num: int, paper: Paper) -> None:
    """The keys by which other versions of the paper are found."""
    connection.executemany(
        "INSERT OR IGNORE INTO likeness (key, paper) VALUES (?, ?)", [(key, num) for key in keys_of(paper)]
    )


def _save_passage(connection: sqlite3.Connection, paper: int, passage: Passage, vectors: Vectors) -> int:
    cursor = connection.execute(
        "INSERT INTO passages (id, paper, start, end) VALUES (?, ?, ?, ?)",
        (passage.id, paper, passage.span.start, passage.span.end),
    )
    num = int(cursor.lastrowid or 0)
    connection.executemany(
        "INSERT INTO windows (id, passage, vector) VALUES (?, ?, ?)",
        [(f"{passage.id}#{i}", num, np.asarray(v, np.float32).tobytes()) for i, v in enumerate(vectors)],
    )
    return num


def replace_earlier(connection: sqlite3.Connection, paper_ids: Iterable[str]) -> None:
    """Let the earlier versions of these papers go, with the records that are no longer what they were.

    Records of other files that know an earlier version by the same external id know the new one from now on.
    """
    for paper_id in paper_ids:
        row = connection.execute(
            "SELECT new.num, old.num, new.external_id FROM papers AS new JOIN papers AS old ON old.id = new.replaces "
            "WHERE new.id = ? AND new.replaces != ''",
            (paper_id,),
        ).fetchone()
        if row is None:
            continue
        new, old, external_id = int(row[0]), int(row[1]), str(row[2])
        connection.execute(
            "DELETE FROM origins WHERE paper = ? AND key IN (SELECT key FROM origins WHERE paper = ?) "
            "AND (external_id = ? OR external_id = '')",
            (old, new, external_id),
        )
        if is_global(external_id):
            connection.execute(
                "UPDATE origins SET paper = ? WHERE paper = ? AND external_id = ?", (new, old, external_id)
            )
        connection.execute("UPDATE papers SET replaces = '' WHERE num = ?", (new,))
        if not has_origin(connection, old):
            remove_paper(connection, old)


def remove_paper(connection: sqlite3.Connection, num: int) -> None:
    """Take a paper out of every table. Its rows in the vector index stay behind, and are no longer looked at."""
    row = connection.execute(f"SELECT {PAPER} FROM papers WHERE num = ?", (num,)).fetchone()
    if row is None:
        return
    paper = paper_from(row)
    rows = connection.execute(
        "SELECT num, id, start, end FROM passages WHERE paper = ? ORDER BY start", (num,)
    ).fetchall()
    parts = [Passage(str(r[1]), paper.id, Span(int(r[2]), int(r[3])), paper.text[int(r[2]) : int(r[3])]) for r in rows]
    words = words_of(paper, parts)
    words.drop(connection, [int(r[0]) for r in rows])
    for table in ("names", "facets", "likeness", "origins"):
        connection.execute(f"DELETE FROM {table} WHERE paper = ?", (num,))
    connection.execute("DELETE FROM windows WHERE passage IN (SELECT num FROM passages WHERE paper = ?)", (num,))
    connection.execute("DELETE FROM passages WHERE paper = ?", (num,))
    connection.execute("DELETE FROM papers WHERE num = ?", (num,))
