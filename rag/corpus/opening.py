"""Files -> sources: a file itself, what a .gz holds, the members of a .zip. Nothing is unpacked to disk.

Archives in archives, encrypted members and packed folders of other kinds are not opened, and say so.
"""

from __future__ import annotations

import gzip
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

from rag.corpus.records import Skipped
from rag.corpus.sources import Source, Stream, readable
from rag.errors import ReadError

_MEMBERS = 20_000
_GZIP, _ZIP, _ENTRY = b"\x1f\x8b", b"PK\x03\x04", b"PK\x01\x02"


def sources(path: Path) -> Iterator[Source | Skipped]:
    """What a file holds: itself, or what is packed in it. Raises ReadError for what can't be opened."""
    # A name that is no UTF-8 must not keep the papers out: what can't be shown is shown as such.
    name = os.fsencode(path.name).decode("utf-8", "replace")
    key = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow links, and two names are two files
    with readable(str(path)):
        _check_ordinary(path)
        with path.open("rb") as file:
            magic = file.read(4)
        size = path.stat().st_size
    if magic == _ZIP:
        yield from _members(path, name, key)
    elif magic[:2] == _GZIP:
        inner = Path(path.name.removesuffix(".gz"))
        source = Source(name, key, inner.suffix.lower(), lambda: Stream(_gzip(path), name, size))
        if source.head[257:262] == b"ustar":
            raise ReadError(f"{path} is a packed folder (tar): unpack it and add the folder")
        yield source
    else:
        yield Source(name, key, path.suffix.lower(), lambda: Stream(_plain(path), str(path)))


def _check_ordinary(path: Path) -> None:
    """Not to hang on a pipe: look before opening."""
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        folder = stat.S_ISDIR(state.st_mode)
        what = "a folder: add the files in it" if folder else "no ordinary file: save its content first"
        raise ReadError(f"{path} is {what}")


def _plain(path: Path) -> IO[bytes]:
    with readable(str(path)):
        return path.open("rb", buffering=0)


def _gzip(path: Path) -> IO[bytes]:
    with readable(str(path)):
        return cast("IO[bytes]", gzip.open(path, "rb"))


def _members(path: Path, name: str, key: str) -> Iterator[Source | Skipped]:
    with readable(str(path)):
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
    names = {info.filename for info in infos}
    if names & {"[Content_Types].xml", "mimetype"}:
        raise ReadError(f"{path} is an office document: save it as text or CSV and add that")
    for info in infos:
        member = Path(info.filename)
        shown = f"{name}/{info.filename}".encode("utf-8", "replace").decode()
        if any(part.startswith((".", "__MACOSX")) for part in member.parts):
            continue
        if info.flag_bits & 1:
            yield Skipped(shown, -1, "is encrypted: unpack it first")
            continue
        opener = _member_opener(path, info, shown)
        source = Source(shown, f"{key}/{info.filename}", member.suffix.lower(), opener)
        try:
            packed = source.head[:2] == _GZIP or source.head[:4] == _ZIP
        except ReadError as error:
            yield Skipped(shown, -1, str(error))
            continue
        yield Skipped(shown, -1, "is an archive inside an archive: unpack it first") if packed else source


def _member_opener(path: Path, info: zipfile.ZipInfo, shown: str) -> Callable[[], Stream]:
    def opened() -> Stream:
        with readable(shown):
            archive = zipfile.ZipFile(path)
            try:
                return Stream(archive.open(info), shown, max(1, info.compress_size))
            finally:
                archive.close()  # the member keeps the file open for as long as it needs it

    return opened


def _check_directory(path: Path) -> None:
    """Count the entries before they are all made into objects."""
    count = 0
    with path.open("rb") as file:
        rest = b""
        while block := file.read(1 << 20):
            count += (rest + block).count(_ENTRY)
            rest = block[-3:]
    if count > _MEMBERS:
        raise ReadError(f"{path} holds more than {_MEMBERS} files: unpack it and add the folder")
