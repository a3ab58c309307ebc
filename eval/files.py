"""JSON Lines that survive a crash, and JSON documents that are never half written. Knows nothing of what is in them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.errors import CiteboundError, ReadError

Row = dict[str, Any]


def rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield each line's number, from 1, and its object; empty lines are passed over.

    Raises ReadError, which names file and line.
    """
    # Split at line feeds only: a JSON text may hold other characters that Python counts as line ends.
    for number, line in enumerate(_bytes(path).split(b"\n"), start=1):
        if line.strip():
            yield number, _object(line, f"{path}:{number}", "a line holds one JSON object")


def document(path: Path) -> Row:
    """The one object that a file holds. Raises ReadError, which names the file."""
    return _object(_bytes(path), str(path), "mend the file or remove it")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise ReadError(f"{path} can't be read ({error.strerror}); check the path") from error


def _object(raw: bytes, where: str, way_out: str) -> Row:
    try:
        found = json.loads(raw.decode("utf-8"))
    except ValueError as error:  # of the decoder or of the parser
        raise ReadError(f"{where} is not JSON in UTF-8 ({error}); {way_out}") from error
    if not isinstance(found, dict):
        raise ReadError(f"{where} is not a JSON object; {way_out}")
    return found


def append(path: Path, row: Row) -> None:
    """Add one line; it is on the disk when this returns. Raises CiteboundError when the disk refuses it."""
    line = json.dumps(row, ensure_ascii=False) + "\n"
    try:
        with path.open("ab") as file:
            file.write(line.encode("utf-8", "backslashreplace"))  # half a surrogate pair becomes its JSON escape
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _refused(path, error) from error


def mend(path: Path) -> bool:
    """Make a file of lines ready to be added to: create it, or drop a last line that a crash left torn.

    True when something was dropped.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            file.seek(0)
            whole, _, rest = file.read().rpartition(b"\n")
            if not rest.strip():
                return False
            if _is_object(rest):  # whole, only the line's end is missing
                file.write(b"\n")
                return False
            file.truncate(len(whole) + 1 if whole else 0)
            return True
    except OSError as error:
        raise _refused(path, error) from error


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def replace(path: Path, document: object) -> None:
    """Write a JSON document in place of what is there, all or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(document, file, ensure_ascii=False, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> CiteboundError:
    return CiteboundError(f"{path} can't be written ({error.strerror}); make room or name another file")
