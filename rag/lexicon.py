"""The words and names of a library: full text, vocabulary, who is named where. Reads; ``Store.add`` writes with it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.database import Database
from rag.domain import Paper, Passage
from rag.filters import ALL, Where
from rag.naming import names_in, own_name
from rag.text import fold, search_terms

ANALYZER = "1"
"""Counts the changes of how texts become terms: words of one count can't be searched, or forgotten, by another."""
_SEPARATORS = re.compile(r"[\W_]+")
_LAST = "\U0010ffff"


def name_key(name: str) -> str:
    """What a name is looked up by: its letters and digits, folded. E-SCOT and escot are one."""
    return _SEPARATORS.sub("", fold(name))


@dataclass(frozen=True, slots=True)
class Words:
    """What a paper is found by: terms of its title, of each passage, the keys of the names in it, and its own."""

    title: tuple[str, ...]
    bodies: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    own: str

    def save_paper(self, connection: sqlite3.Connection, num: int) -> None:
        """Count the paper's terms in the vocabulary and note its names."""
        connection.executemany(
            "INSERT INTO words (term, papers, backwards) VALUES (?, 1, ?) "
            "ON CONFLICT (term) DO UPDATE SET papers = papers + 1",
            [(term, term[::-1]) for term in sorted(self._terms)],
        )
        connection.executemany(
            "INSERT INTO names (key, paper, own) VALUES (?, ?, ?)",
            [(key, num, key == self.own) for key in sorted(self.names)],
        )

    def save_passage(self, connection: sqlite3.Connection, num: int, position: int) -> None:
        """Put a passage into the full text."""
        connection.execute(
            "INSERT INTO terms (rowid, title, body) VALUES (?, ?, ?)",
            (num, *self._searched(position)),
        )

    def drop(self, connection: sqlite3.Connection, passages: Sequence[int]) -> None:
        """Undo ``save_paper`` but for its names, and ``save_passage`` for passages of these numbers, in order.

        The full text keeps no copy of what it indexed, so it has to be told exactly what to forget.
        """
        connection.executemany(
            "INSERT INTO terms (terms, rowid, title, body) VALUES ('delete', ?, ?, ?)",
            [(num, *self._searched(position)) for position, num in enumerate(passages)],
        )
        terms = [(term,) for term in sorted(self._terms)]
        connection.executemany("UPDATE words SET papers = papers - 1 WHERE term = ?", terms)
        connection.executemany("DELETE FROM words WHERE term = ? AND papers < 1", terms)

    @property
    def _terms(self) -> set[str]:
        return {*self.title, *(term for body in self.bodies for term in body)}

    def _searched(self, position: int) -> tuple[str, str]:
        return " ".join(self.title), " ".join(self.bodies[position])


def words_of(paper: Paper, passages: Sequence[Passage]) -> Words:
    """The words of a paper, by passage."""
    own = name_key(own_name(paper.text))
    names = {own, *map(name_key, names_in(f"{paper.title}\n\n{paper.text}"))}
    keys = frozenset(key for key in names if len(key) > 1)
    return Words(tuple(search_terms(paper.title)), tuple(tuple(search_terms(p.text)) for p in passages), keys, own)


class Lexicon:
    """Questions about words, answered by the database's indexes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def full_text(self, terms: Sequence[str], limit: int, where: Where = ALL) -> list[tuple[str, float]]:
        """Passages that hold any of the terms, best first, with their BM25 score (larger is better).

        Of all papers, or of those that meet a condition.
        """
        if not terms:
            return []
        match = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
        found = "SELECT terms.rowid AS num, -rank AS score FROM terms"
        if not where.is_all:
            found += " JOIN passages ON passages.num = terms.rowid JOIN papers ON papers.num = passages.paper"
        rows = self._database.all(
            f"SELECT passages.id, score FROM ({found} WHERE terms MATCH ? AND {where.sql} ORDER BY rank "
            "LIMIT ?) AS found JOIN passages ON passages.num = found.num JOIN papers ON papers.num = paper "
            "WHERE indexed = 1 ORDER BY score DESC, passages.num",
            (match, *where.values, limit),
        )
        return [(str(row[0]), float(row[1])) for row in rows]

    def forget(self, connection: sqlite3.Connection) -> None:
        """Drop every word and name, to be made anew by ``save_paper`` and ``save_passage``."""
        connection.execute("INSERT INTO terms (terms) VALUES ('delete-all')")
        connection.execute("DELETE FROM words")
        connection.execute("DELETE FROM names")

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """In how many papers each term is; terms in none are missing."""
        rows = self._database.within("SELECT term, papers FROM words WHERE term IN ({})", terms)
        return {str(row[0]): int(row[1]) for row in rows}

    def terms_like(self, start: str, end: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        """Terms of the vocabulary that begin with ``start`` or end with ``end``, and their papers."""
        rows = []
        for column, edge in (("term", start), ("backwards", end[::-1])):
            if edge:
                rows += self._database.all(
                    f"SELECT term, papers FROM words WHERE {column} >= ? AND {column} < ? "
                    "AND length(term) BETWEEN ? AND ?",
                    (edge, edge + _LAST, shortest, longest),
                )
        return [(str(term), int(papers)) for term, papers in rows]

    def named(self, keys: Iterable[str], limit: int) -> dict[str, list[str]]:
        """For each name key, the papers that mention it (ids, at most ``limit`` + 1 of them)."""
        return self._papers_by_name(keys, "", limit + 1)

    def owners(self, keys: Iterable[str], limit: int) -> dict[str, list[str]]:
        """For each name key, the papers that call their own method so (ids, at most ``limit`` of them)."""
        return self._papers_by_name(keys, "AND own = 1", limit)

    def _papers_by_name(self, keys: Iterable[str], condition: str, limit: int) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key in dict.fromkeys(keys):
            rows = self._database.all(
                # CROSS JOIN: names first; SQLite would go through all papers in order.
                "SELECT papers.id FROM names CROSS JOIN papers ON papers.num = names.paper "
                f"WHERE key = ? {condition} AND indexed = 1 ORDER BY names.paper LIMIT ?",
                (key, limit),
            )
            if rows:
                found[key] = [str(row[0]) for row in rows]
        return found
