"""The folders that hold the vector index, one current at a time, and checksums of the files in them. Opens no index."""

from __future__ import annotations

import json
import shutil
import time
import zlib
from pathlib import Path

_PREFIX = "vectors-"
_SAVED = "index_metadata.pickle"
_BLOCK = 1 << 20


class IndexFiles:
    """Index folders inside a library's folder: vectors-1, vectors-2, … Each is built whole before it is used."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self._sums: dict[Path, tuple[int, int, int]] = {}

    def next_folder(self) -> Path:
        """A folder that is not there yet."""
        numbers = [int(path.name.removeprefix(_PREFIX)) for path in self._folders()]
        return self._library / f"{_PREFIX}{max(numbers, default=0) + 1}"

    def keep_only(self, current: Path) -> None:
        """Remove the other folders. One that another process has open may stay: the next call sweeps it."""
        for folder in self._folders():
            if folder != current:
                shutil.rmtree(folder, ignore_errors=True)

    def checksums(self, folder: Path) -> str:
        """Size and CRC-32 of each file of the graph, as JSON.

        Chroma saves the graph every thousand rows; from then on only writing changes its files. Before, when there is
        no ``index_metadata.pickle``, each opening makes them anew, and they say nothing.
        """
        sums: dict[str, list[int]] = {}
        for path in sorted(folder.glob("*/*")):
            if not (path.parent / _SAVED).exists():
                continue
            stat = path.stat()
            known = self._sums.get(path)
            if known is None or known[:2] != (stat.st_size, stat.st_mtime_ns) or _is_fresh(stat.st_mtime):
                known = (stat.st_size, stat.st_mtime_ns, _crc(path))
                self._sums[path] = known
            sums[path.relative_to(folder).as_posix()] = [known[0], known[2]]
        return json.dumps(sums, sort_keys=True)

    def _folders(self) -> list[Path]:
        return [path for path in self._library.glob(_PREFIX + "*") if path.name[len(_PREFIX) :].isdigit()]


def _is_fresh(mtime: float) -> bool:
    """Too young for its time to tell two states apart."""
    return time.time() - mtime < 2.0


def _crc(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value
