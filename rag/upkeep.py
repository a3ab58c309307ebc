"""Looks after a library on disk: checks that it is whole, renews its words, gives disk back.

Adds no paper and takes none out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rag.corpus import paper_id
from rag.lexicon import ANALYZER, words_of
from rag.rows import PAPER, paper_from, passage_from
from rag.store import Store
from rag.vectors import VectorIndex

_SHOWN = 5
"""Faults of one kind that are named one by one."""


@dataclass(frozen=True, slots=True)
class LibraryState:
    """What a library holds. ``disk`` in bytes, ``dead``: rows of the vector index whose papers went."""

    papers: int
    pending: int
    passages: int
    passage_tokens: int
    rows: int
    dead: int
    embedder: str
    disk: int
    years: tuple[int | None, int | None]
    files: tuple[tuple[str, int], ...]


def state(store: Store, vectors: VectorIndex) -> LibraryState:
    """The state of a library, from its tables and files."""
    number = store.database.number
    years = store.database.all("SELECT min(year), max(year) FROM papers WHERE indexed = 1")[0]
    return LibraryState(
        papers=store.count(), pending=store.count_pending(), passages=number("SELECT count(*) FROM passages"),
        passage_tokens=store.passage_tokens, rows=store.count_rows(), dead=vectors.dead() if store.count() else 0,
        embedder=store.embedder, disk=sum(f.stat().st_size for f in store.folder.rglob("*") if f.is_file()),
        years=(years[0], years[1]), files=tuple(store.origins.files()),
    )  # fmt: skip


def update_words(store: Store) -> bool:
    """Make words and names anew if they were made by an older way of reading texts; whether they were.

    The caller holds the write lock. All of it or nothing: broken off, the old words stay.
    """
    if not store.embedder or store.analyzer == ANALYZER:
        return False
    with store.database.writing() as connection:
        store.lexicon.forget(connection)
        for row in connection.execute(f"SELECT {PAPER}, num FROM papers ORDER BY num").fetchall():
            paper, num = paper_from(row), int(row[-1])
            passages = connection.execute(
                "SELECT id, ?, start, end, ?, num FROM passages WHERE paper = ? ORDER BY start",
                (paper.id, paper.text, num),
            ).fetchall()
            words = words_of(paper, [passage_from(one) for one in passages])
            words.save_paper(connection, num)
            for position, one in enumerate(passages):
                words.save_passage(connection, int(one[-1]), position)
        store.words_updated(connection)
    return True


def compact(store: Store, vectors: VectorIndex) -> None:
    """Give the disk back what papers that went have left. The caller holds the write lock."""
    vectors.rebuild()
    with store.database.writing() as connection:
        connection.execute("INSERT INTO terms (terms) VALUES ('optimize')")
    store.database.all("VACUUM")
    store.database.all("PRAGMA wal_checkpoint(TRUNCATE)")


def faults(store: Store, vectors: VectorIndex) -> list[str]:
    """What is wrong with a library, one line each; empty when nothing is. Reads every byte of it, changes nothing."""
    found = [f"library.db: {row[0]}" for row in store.database.all("PRAGMA integrity_check") if row[0] != "ok"]
    found += [f"library.db: a row of {row[0]} belongs to nothing" for row in store.database.all(
        "PRAGMA foreign_key_check"
    )]  # fmt: skip
    found += _named("paper", "has another text than its id says", _changed(store))
    for what, query in _CHECKS:
        found += _named("paper", what, (str(row[0]) for row in store.database.all(query)))
    found += vectors.faults()
    return found


_CHECKS = (
    ("has no passages", "SELECT id FROM papers WHERE indexed = 1 AND num NOT IN (SELECT paper FROM passages)"),
    (
        "has a passage outside its text",
        "SELECT DISTINCT papers.id FROM passages JOIN papers ON papers.num = paper "
        "WHERE start < 0 OR end > length(text) OR start >= end",
    ),
    (
        "has a passage without vectors",
        "SELECT DISTINCT papers.id FROM passages JOIN papers ON papers.num = paper "
        "WHERE passages.num NOT IN (SELECT passage FROM windows)",
    ),
    (
        "can't be found by its words",
        "SELECT DISTINCT papers.id FROM passages JOIN papers ON papers.num = paper "
        "WHERE passages.num NOT IN (SELECT rowid FROM terms)",
    ),
    ("comes from no file", "SELECT id FROM papers WHERE num NOT IN (SELECT paper FROM origins)"),
)


def _changed(store: Store) -> Iterator[str]:
    return (paper.id for paper in store.papers() if paper_id(paper.text) != paper.id)


def _named(kind: str, what: str, ids: Iterator[str]) -> list[str]:
    every = list(ids)
    more = [f"and {len(every) - _SHOWN} more like the last one"] if len(every) > _SHOWN else []
    return [f"{kind} {one} {what}" for one in every[:_SHOWN]] + more
