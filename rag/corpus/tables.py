"""Reads CSV and tables with tabs, semicolons or bars between their cells, as databases and screening tools write them.

Separator and heading are found by the names that columns usually have; the user names a column that is called
otherwise (``--column abstract=NAME``). Spreadsheets in other forms (.xlsx, .ods) are not read.
"""

from __future__ import annotations

import csv
import re
import threading
from collections.abc import Iterator
from itertools import islice

from rag.corpus import cells, tagged
from rag.corpus.cells import Columns, named
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import RECORD, Source
from rag.errors import ReadError

_SEPARATORS = ",;\t|"
_SUFFIXES = (".csv", ".tsv", ".tab")
_HEADING_WITHIN = 20  # rows: some exports say what was searched for above the heading
_SENTENCE_END = (".", "!", "?", ")", '"', "”", "。")
_LIMIT = threading.Lock()


def read(source: Source, options: Options) -> Iterator[Record | Skipped]:
    """The rows of a table, in order. Raises ReadError when there is no column of abstracts."""
    wanted = cells.wanted(options.columns)
    separator, number = _heading(source, tuple(wanted.values()))
    rows = _Rows(source, separator)
    filled = (row for row in rows if any(cell.strip() for cell in row))
    heading = [cell.strip() for cell in next(islice(filled, number, None), [])]
    columns = Columns.of(heading, wanted, source.name)
    for position, row in enumerate(filled):
        why = rows.unclosed() or _unfit(row, heading, columns.abstract)
        yield Skipped(source.name, position, why) if why else columns.record(row)


class _Rows:
    """Rows of a whole file, with the place in it; a row without end is refused."""

    def __init__(self, source: Source, separator: str) -> None:
        self._source = source
        self._size = self._quotes = self._line = self._begun = 0
        self._ended = False
        self._reader = csv.reader(self._lines(), delimiter=separator)

    def __iter__(self) -> Iterator[list[str]]:
        while True:
            self._size = self._quotes = 0
            self._begun = self._line + 1
            try:
                row = self._next()
            except csv.Error as error:
                raise ReadError(
                    f"{self._source.name}: line {self._line} can't be read as a table ({error}): mend it"
                ) from error
            if row is None:
                return
            yield row

    def unclosed(self) -> str:
        """Why the row that was read last is none: a quotation mark in it was open till the end of the file."""
        if not (self._ended and self._quotes % 2 and self._line > self._begun):
            return ""
        return f"lines {self._begun} to {self._line} are one row, as a quotation mark is never closed: close it"

    def _next(self) -> list[str] | None:
        """The limit of a cell is the whole process's: raised for this one call, and put back under a lock."""
        with _LIMIT:
            before = csv.field_size_limit(RECORD)
            try:
                return next(self._reader, None)
            finally:
                csv.field_size_limit(before)

    def _lines(self) -> Iterator[str]:
        for line in self._source.lines():
            self._line += 1
            self._size += len(line)
            self._quotes += line.count('"')
            if self._size > RECORD:
                raise tagged.too_long(self._source.name, f"the row at line {self._begun}")
            yield line.replace("\0", " ")
        self._ended = True


def _unfit(row: list[str], heading: list[str], abstract: int) -> str:
    """Why it can't be told which cell of a row is the abstract; nothing when it can."""
    if len(row) <= abstract and len(row) > 1:
        return f"has {len(row)} cells, too few to hold an abstract: the heading has {len(heading)}"
    if len(row) <= len(heading) or not any(cell.strip() for cell in row[len(heading) :]):
        return ""
    text = row[abstract].strip()
    if text.endswith(_SENTENCE_END) and len(text) == max(map(len, row)):
        return ""  # a whole abstract is where it should be: what is too much stands after it
    return f"has {len(row)} cells where the heading has {len(heading)}: put quotes around cells with separators in them"


def _heading(source: Source, wanted: tuple[str, ...]) -> tuple[str, int]:
    """Separator, and which of the rows with anything in them is the heading: where most names of columns are known.

    Where none is: the separator that cuts the first row into most cells.
    """
    best: tuple[tuple[int, ...], str, int] = ((-1,), ",", 0)
    for separator in _SEPARATORS:
        rows = _first_rows(source, separator)
        for number, row in enumerate(rows):
            kinds = {named(name) for name in row} - {""}
            known = len(kinds) + sum(name in row for name in wanted)
            alike = sum(len(other) == len(row) for other in rows)  # tells it when there is one column only
            rank = (known, "text" in kinds, alike, len(row), -number) if known else (0, -number, len(row))
            best = max(best, (rank, separator, number), key=lambda one: one[0])
    return best[1:]


def _first_rows(source: Source, separator: str) -> list[list[str]]:
    """The first rows that hold anything, of what is known of the file; the last may be cut off."""
    lines = (line.replace("\0", "") + "\n" for line in re.split(r"\r\n|\r|\n", source.start))
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=separator):
            cells_of = [cell.strip() for cell in row]
            rows += [cells_of] if any(cells_of) else []
            if len(rows) == _HEADING_WITHIN:
                break
    except csv.Error:
        return rows  # what was read up to there is enough to look for a heading
    return rows


def _fits(source: Source) -> bool:
    return not tagged.sniffed(source) and (source.suffix in _SUFFIXES or _begins_like_a_table(source))


def _begins_like_a_table(source: Source) -> bool:
    """Three cells or more in the first line, an abstract among them, and as many in the next: no prose is like this."""
    for separator in _SEPARATORS:
        if f"{separator} " in source.start.partition("\n")[0]:  # the commas of a sentence
            continue
        rows = _first_rows(source, separator)[:2]
        kinds = [named(name) for name in rows[0]] if rows else []
        if len(kinds) >= 3 and "text" in kinds and len(set(kinds) - {""}) >= 2 and len(rows[-1]) == len(kinds):
            return True
    return False


FORMAT = Format("csv", "CSV, TSV and other tables with a column of abstracts", _SUFFIXES, _fits, read, distinct=True)
