"""Keeps the attention states of passages: in memory and on disk, each within a byte budget. Computes nothing itself.

An entry is bytes under a key; the key already says which model, system prompt, passage and library version made it
(``entry_key``), so an entry can be missing or damaged but never stale. On disk an entry is one file, written under a
temporary name and renamed, with a checksum that is read back every time: whatever a crash or a bad disk left behind
is recomputed, not trusted. The least recently used entries go first.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import struct
import tempfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOG = logging.getLogger(__name__)

FORMAT = b"CBKV0001"
_HEADER = struct.Struct("<8s32sQI")  # format, key, payload bytes, crc32 of the payload
SUFFIX = ".kv"


def entry_key(model: str, runtime: str, system: Sequence[int], passage: Sequence[int]) -> str:
    """Sha256 (hex) of all that an entry depends on: model file, runtime version, system and passage tokens."""
    digest = hashlib.sha256()
    for part in (model.encode(), runtime.encode(), _packed(system), _packed(passage)):
        digest.update(struct.pack("<Q", len(part)) + part)
    return digest.hexdigest()


def _packed(tokens: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(tokens)}i", *tokens)


@dataclass(slots=True)
class CacheCounts:
    """What happened since the cache was opened."""

    memory_hits: int = 0
    disk_hits: int = 0
    misses: int = 0
    damaged: int = 0


class PassageCache:
    """Two levels of least-recently-used bytes. Safe to use from several threads and several processes.

    ``folder`` None keeps entries in memory only. Budgets are in bytes; an entry larger than a budget is not kept at
    that level.
    """

    def __init__(self, folder: Path | None, memory_bytes: int, disk_bytes: int) -> None:
        self._folder = folder if disk_bytes > 0 else None
        self._memory_budget, self._disk_budget = memory_bytes, disk_bytes
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._memory_size = 0
        self._disk_size: int | None = None
        self._lock = threading.Lock()
        self.counts = CacheCounts()

    def get(self, key: str) -> bytes | None:
        """The entry, or None when it isn't there or isn't whole."""
        with self._lock:
            found = self._memory.get(key)
            if found is not None:
                self._memory.move_to_end(key)
                self.counts.memory_hits += 1
                return found
            found = self._read(key)
            if found is None:
                self.counts.misses += 1
                return None
            self.counts.disk_hits += 1
            self._remember(key, found)
            return found

    def has(self, key: str) -> bool:
        """Whether an entry seems to be there, without reading it."""
        with self._lock:
            return key in self._memory or (self._folder is not None and self._path(key).is_file())

    def put(self, key: str, payload: bytes) -> None:
        """Keep an entry at both levels. A disk that refuses it costs time later, not the answer: it is logged."""
        with self._lock:
            self._remember(key, payload)
            if self._folder is None or len(payload) > self._disk_budget:
                return
            try:
                self._write(key, payload)
            except OSError as error:
                LOG.warning("the passage cache can't write to %s (%s); going on without", self._folder, error)

    def clear(self) -> None:
        """Forget everything, on disk too."""
        with self._lock:
            self._memory.clear()
            self._memory_size = 0
            for path in self._files():
                path.unlink(missing_ok=True)
            self._disk_size = 0

    def disk_bytes(self) -> int:
        """Bytes on disk now."""
        total = 0
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):  # another process is making room
                total += path.stat().st_size
        return total

    # --- memory

    def _remember(self, key: str, payload: bytes) -> None:
        if len(payload) > self._memory_budget:
            return
        old = self._memory.pop(key, None)
        self._memory_size += len(payload) - (len(old) if old is not None else 0)
        self._memory[key] = payload
        while self._memory_size > self._memory_budget:
            _, gone = self._memory.popitem(last=False)
            self._memory_size -= len(gone)

    # --- disk

    def _path(self, key: str) -> Path:
        assert self._folder is not None  # noqa: S101 - callers checked
        return self._folder / f"{key}{SUFFIX}"

    def _files(self) -> list[Path]:
        return list(self._folder.glob(f"*{SUFFIX}")) if self._folder is not None else []

    def _read(self, key: str) -> bytes | None:
        if self._folder is None:
            return None
        path = self._path(key)
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            LOG.warning("the passage cache can't read %s (%s); computing it again", path, error)
            return None
        payload = _checked(raw, key)
        if payload is None:
            self.counts.damaged += 1
            LOG.warning("the passage cache's entry %s is damaged; computing it again", path.name)
            with contextlib.suppress(OSError):  # a read-only cache: it will be found damaged again, no worse
                path.unlink(missing_ok=True)
            self._disk_size = None
            return None
        with contextlib.suppress(OSError):  # a read-only cache still serves; only its order of leaving suffers
            os.utime(path)
        return payload

    def _write(self, key: str, payload: bytes) -> None:
        assert self._folder is not None  # noqa: S101 - callers checked
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_HEADER.pack(FORMAT, bytes.fromhex(key), len(payload), zlib.crc32(payload)))
                file.write(payload)
            Path(name).replace(self._path(key))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        if self._disk_size is None:
            self._disk_size = self._tidy()
        else:
            self._disk_size += _HEADER.size + len(payload)
        if self._disk_size > self._disk_budget:
            self._disk_size = self._shrink()

    def _tidy(self) -> int:
        """Bytes on disk; removes what crashed writers left behind (older than an hour, so never one at work)."""
        assert self._folder is not None  # noqa: S101 - callers checked
        newest = max((p.stat().st_mtime for p in self._files()), default=0.0)
        for left in self._folder.glob(".new-*"):
            with contextlib.suppress(FileNotFoundError):
                if left.stat().st_mtime < newest - 3600:
                    left.unlink()
        return self.disk_bytes()

    def _shrink(self) -> int:
        """Remove the least recently used entries until the budget holds; other processes may remove some too."""
        aged = []
        for path in self._files():
            with contextlib.suppress(FileNotFoundError):
                stat = path.stat()
                aged.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in aged)
        for _, size, path in sorted(aged):
            if total <= self._disk_budget:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total


def _checked(raw: bytes, key: str) -> bytes | None:
    if len(raw) < _HEADER.size:
        return None
    form, made_for, size, crc = _HEADER.unpack_from(raw)
    payload = raw[_HEADER.size :]
    whole = form == FORMAT and made_for.hex() == key and len(payload) == size and zlib.crc32(payload) == crc
    return payload if whole else None
