"""JSON in any wrapping -> its rows (objects), one at a time: JSON Lines, arrays, objects around arrays, one object.

Holds one row at a time, whatever the file's size. A row that is broken is skipped where lines tell the next one (JSON
Lines, objects one after the other); inside an array nothing does, and reading ends there. ``NaN`` is taken, since
Python writes it; of a key given twice the last counts. Knows no field of any format.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator

from rag.corpus.json_outline import DECODER, Row, after_space, path_of_rows
from rag.corpus.records import Record, Skipped
from rag.corpus.sources import Source
from rag.errors import ReadError

_STEP = (1 << 16, 1 << 22)  # characters to read on, at least and at most
_CUT = 16  # a fault this near to the end of what was read may come from the cut: no word or escape is longer
_EARLY = "it ends too early"
_NEXT_LINE = re.compile(r"\n(?=[{\[])")


class _BrokenError(Exception):
    """No JSON value here; the text says why."""


class _Window:
    """A piece of the text that moves over the file."""

    def __init__(self, source: Source) -> None:
        self._stream, self._bytes = source.utf8()
        self._name = source.name
        # A lone surrogate may stand in a text that was converted to UTF-8: it is no reason to stop.
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogatepass")
        self._text, self._at, self._ended = "", 0, False
        self.line, self.count = 1, 0

    def close(self) -> None:
        self._bytes.close()

    def peek(self) -> str:
        """The next character that is no white space, "" at the end."""
        while True:
            self._move(after_space(self._text, self._at))
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, wanted: str) -> None:
        """Step over a character."""
        if self.peek() != wanted:
            raise _BrokenError(f"{wanted!r} is missing" if self.peek() else _EARLY)
        self._move(self._at + 1)

    def value(self) -> object:
        """The next JSON value. Raises _BrokenError, and stays where it is."""
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                early = error.pos >= len(self._text.rstrip()) or error.msg.startswith("Unterminated string")
                if (early or error.pos >= len(self._text) - _CUT) and self._more():
                    continue
                why = _EARLY if early else error.msg.removesuffix(" at")
                raise _BrokenError(why) from error
            except RecursionError as error:
                raise _BrokenError("nested too deeply") from error
            else:
                # The rest of a number may be still to come.
                if isinstance(value, int | float) and end >= len(self._text) - _CUT and self._more():
                    continue
                self._move(end)
                return value

    def row_done(self) -> None:
        self._stream.record_done()
        self.count += 1

    def to_next_line(self) -> int:
        """To the next line that begins like a row, or to the end; the number of the line before."""
        while not (found := _NEXT_LINE.search(self._text, self._at)):
            if not self._more():
                self._move(len(self._text.rstrip()))
                return self.line
        self._move(found.end())
        return self.line - 1

    def _move(self, to: int) -> None:
        self.line += self._text.count("\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        if self._ended:
            return False
        rest = self._text[self._at :]
        data = self._bytes.read(min(max(len(rest), _STEP[0]), _STEP[1]))
        self._ended = not data
        try:
            self._text, self._at = rest + self._decoder.decode(data, final=self._ended), 0
        except UnicodeDecodeError as error:
            raise ReadError(
                f"{self._name} is not UTF-8 (after line {self.line}, record {self.count}): convert it "
                "(iconv -f ENCODING -t UTF-8) and add it again"
            ) from error
        return True


def rows(source: Source) -> Iterator[Row | Skipped]:
    """The objects of a source in order, and what was skipped. Raises ReadError when no more can be read."""
    path = path_of_rows(source)
    window = _Window(source)
    try:
        arrays = window.peek() == "["  # and not only on some line of JSON Lines
        while first := window.peek():
            if path or (arrays and first == "["):
                yield from _inside(window, source.name, path if first == "{" else ())
            else:
                yield _standing_alone(window, source.name)
                window.row_done()
    except _BrokenError as error:
        raise ReadError(
            f"{source.name}: record {window.count + 1} (line {window.line}) is no JSON ({error}): mend it there, or "
            "fetch the file again"
        ) from error
    finally:
        window.close()


def read_rows(source: Source, make: Callable[[Row], Record | str]) -> Iterator[Record | Skipped]:
    """The records that ``make`` makes of the rows; where it gives a reason instead, that is why a row is skipped."""
    for position, row in enumerate(rows(source)):
        made = row if isinstance(row, Skipped) else make(row)
        yield Skipped(source.name, position, made) if isinstance(made, str) else made


def _inside(window: _Window, name: str, path: tuple[str, ...]) -> Iterator[Row | Skipped]:
    """Rows of an array, or of what stands at ``path`` in an object; a single object is a row too."""
    if window.peek() == "[":
        window.take("[")
        while window.peek() not in ("]", ""):
            yield _row(window.value(), name, window.count, f"record {window.count + 1}")
            window.row_done()
            if window.peek() != "]":
                window.take(",")
        window.take("]")
    elif window.peek() != "{" or not path:
        yield _row(window.value(), name, window.count, f"record {window.count + 1}")
        window.row_done()
    else:
        window.take("{")
        while window.peek() not in ("}", ""):
            key = window.value()
            window.take(":")
            if key == path[0]:
                yield from _inside(window, name, path[1:])
            else:
                window.peek()
                window.value()
            if window.peek() != "}":
                window.take(",")
        window.take("}")


def _standing_alone(window: _Window, name: str) -> Row | Skipped:
    line = window.line
    try:
        return _row(window.value(), name, window.count, f"line {line}")
    except _BrokenError as error:
        last = window.to_next_line()
        where = f"line {line} is" if last == line else f"lines {line} to {last} are"
        return Skipped(name, window.count, f"{where} no JSON object ({error})")


def _row(value: object, name: str, position: int, where: str) -> Row | Skipped:
    if isinstance(value, dict):
        return value
    return Skipped(name, position, f"{where} is no JSON object (a {type(value).__name__})")
