"""Filters: which papers may be found. From words like ``year>=2024`` to a condition on the tables.

Finds nothing itself.

``year`` compares (=, !=, <, <=, >, >=, or a range: ``year=2020..2024``). ``author``, ``venue``, ``topic`` and ``file``
contain what is given, whatever its case and accents; ``!=`` is the reverse. Several values of one filter stand between
bars (``venue=ICML|NeurIPS``); several filters must all hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rag.errors import FilterError
from rag.text import fold

FIELDS = ("year", "author", "venue", "topic", "file")
_FORM = re.compile(r"\s*([^\W\d_]+)\s*(>=|<=|!=|==|=|:|<|>)\s*(.+?)\s*", re.DOTALL)
_BETWEEN = re.compile(r"\s*(?:[,;，；]|\band\b|&&)\s*(?=[^\W\d_]+\s*(?:[<>=:]|!=))", re.IGNORECASE)
_PLURALS = {
    "authors": "author",
    "venues": "venue",
    "topics": "topic",
    "years": "year",
    "files": "file",
    "source": "file",
}
_RANGE = re.compile(r"(\d{1,4})?\s*(?:\.\.|–|-)\s*(\d{1,4})?")
_HOW = "write year>=2024, author=Smith, venue=ICML|NeurIPS, topic=vision or file=name"


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on the row of ``papers`` that a statement has joined, and the values of its question marks."""

    sql: str = "1"
    values: tuple[object, ...] = ()

    @property
    def is_all(self) -> bool:
        """Whether every paper meets it."""
        return self.sql == "1"


ALL = Where()


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: a field, how it compares, and with what."""

    field: str
    operator: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        """As it can be written."""
        return f"{self.field}{self.operator}{'|'.join(self.values)}"

    def where(self) -> Where:
        """The condition that it is."""
        return self._years() if self.field == "year" else self._contains()

    def _contains(self) -> Where:
        likes = " OR ".join(["value LIKE ? ESCAPE '\\'"] * len(self.values))
        verb = "NOT IN" if self.operator == "!=" else "IN"
        sql = f"papers.num {verb} (SELECT paper FROM facets WHERE kind = ? AND ({likes}))"
        return Where(sql, (self.field, *(f"%{_escaped(fold(value))}%" for value in self.values)))

    def _years(self) -> Where:
        if self.operator not in ("=", "!="):
            return Where(f"papers.year {self.operator} ?", (int(self.values[0]),))
        parts, values = [], list[object]()
        for value in self.values:
            low, high = _years(value)
            parts.append("papers.year BETWEEN ? AND ?")
            values += [low, high]
        sql = f"({' OR '.join(parts)})"
        # A paper without a year is not of another year: nobody knows.
        return Where(f"(papers.year IS NOT NULL AND NOT {sql})" if self.operator == "!=" else sql, tuple(values))


def parse(text: str) -> Filter:
    """One filter from its words. Raises FilterError, which says how to write one."""
    match = _FORM.fullmatch(text)
    if not match:
        raise FilterError(f"{text!r} is no filter: {_HOW}")
    field = _PLURALS.get(match[1].lower(), match[1].lower())
    if field not in FIELDS:
        raise FilterError(f"papers can't be filtered by {match[1]!r} (known: {', '.join(FIELDS)}): {_HOW}")
    operator = {"==": "=", ":": "="}.get(match[2], match[2])
    values = tuple(value for value in (part.strip() for part in match[3].split("|")) if value)
    if not values or (operator not in ("=", "!=") and (field != "year" or len(values) > 1)):
        raise FilterError(f"{text!r} compares what has no order: {_HOW}")
    if field == "year":
        for value in values:
            if not (value.isdecimal() and len(value) <= 4) and not (operator in ("=", "!=") and _is_range(value)):
                raise FilterError(f"{value!r} is no year: {_HOW}")
    return Filter(field, operator, values)


def parse_all(texts: Iterable[str | Filter]) -> tuple[Filter, ...]:
    """Filters from their words; those that are filters already stay. Raises FilterError."""
    return tuple(text if isinstance(text, Filter) else parse(text) for text in texts)


def parse_line(line: str) -> tuple[Filter, ...]:
    """Filters written on one line, between commas, semicolons or "and". Raises FilterError."""
    return parse_all(part for part in _BETWEEN.split(line.strip()) if part.strip())


def where_of(filters: Iterable[Filter]) -> Where:
    """The condition that all filters hold."""
    parts = [one.where() for one in filters]
    if not parts:
        return ALL
    return Where(" AND ".join(f"({part.sql})" for part in parts), tuple(v for part in parts for v in part.values))


def _is_range(value: str) -> bool:
    match = _RANGE.fullmatch(value)
    return bool(match and (match[1] or match[2]))


def _years(value: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(value)
    if match is None:
        return int(value), int(value)
    return int(match[1] or 0), int(match[2] or 9999)


def _escaped(value: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", value)
