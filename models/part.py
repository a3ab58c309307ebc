"""A file on its way: ``NAME.part`` grows at its end, is checked, and only then gets its name. Fetches nothing itself.

Every source of a file gives the same bytes, so what one of them left in the part, another can carry on from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from models.fingerprint import PART, sha256_of

CHUNK = 1 << 20


class SourceError(Exception):
    """A source could not give a file; the text says why in a few words. Never leaves the package: the next is tried."""


class WrongBytesError(SourceError):
    """All bytes came, and they are not the file that the catalogue names."""


@dataclass(frozen=True, slots=True)
class Part:
    """The part of ``final``, which must become ``size`` bytes of the given ``sha256``.

    ``report`` hears how many bytes there are, each time some are added or thrown away.
    """

    final: Path
    size: int
    sha256: str
    report: Callable[[int], None]

    @property
    def path(self) -> Path:
        """Where the bytes are collected."""
        return self.final.with_name(self.final.name + PART)

    @property
    def have(self) -> int:
        """Bytes so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    def cut(self, size: int) -> None:
        """Keep the first ``size`` bytes."""
        if self.have != size:
            with self.path.open("ab") as file:
                file.truncate(size)
        self.report(size)

    def discard(self) -> None:
        """Throw all bytes away."""
        self.path.unlink(missing_ok=True)
        self.report(0)

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], None]]:
        """Give a function that adds bytes at the end; what it added is on the disk when the block is left.

        That function raises WrongBytesError when more bytes come than the file has.
        """
        with self.path.open("ab") as file:
            have = self.have

            def add(data: bytes) -> None:
                nonlocal have
                if have + len(data) > self.size:
                    raise WrongBytesError(f"more than {self.size} bytes came")
                file.write(data)
                have += len(data)
                self.report(have)

            try:
                yield add
            finally:
                file.flush()
                os.fsync(file.fileno())

    def finish(self) -> None:
        """Give the file its name, if it is the right one. Raises WrongBytesError if not."""
        have = self.have
        if have != self.size or sha256_of(self.path) != self.sha256:
            size = f"{have} bytes and not {self.size}" if have != self.size else f"not the sha256 {self.sha256}"
            raise WrongBytesError(f"the wrong file came ({size})")
        self.path.replace(self.final)
        _sync_folder(self.final.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system lets a folder be opened (not Windows)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
