"""Knows the sha256 of model files without reading a gigabyte twice. Judges nothing: ``weights`` compares.

Beside a file that was hashed stands a small sidecar, ``NAME.ok.json``, with its sha256, size and time of change; while
size and time are the same, so is the file. For a file outside the models folder the sidecar is in ``outside/`` in
there, named by the hash of the file's path. A sidecar only saves time: a missing or unreadable one means hashing.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

SIDECAR = ".ok.json"
PART = ".part"


def sha256_of(path: Path) -> str:
    """Read a whole file and return its sha256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(path: Path, models_dir: Path) -> str:
    """Sha256 in hex of a file, or of the names and sha256s of all files of a folder, hashed once and remembered.

    Raises OSError when the file can't be read.
    """
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and not _is_ours(file))
        lines = (f"{fingerprint(file, models_dir)}  {file.relative_to(path).as_posix()}\n" for file in files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    return recall(path, models_dir) or rehash(path, models_dir)


def recall(path: Path, models_dir: Path) -> str | None:
    """Return the remembered sha256 of a file, or None when it has changed since or was never hashed."""
    try:
        noted = json.loads(_sidecar(path, models_dir).read_text(encoding="utf-8"))
        return str(noted["sha256"]) if noted == _record(str(noted["sha256"]), path.stat()) else None
    except (OSError, ValueError, KeyError, TypeError):  # no sidecar, or not one of ours: the same as none
        return None


def rehash(path: Path, models_dir: Path) -> str:
    """Hash a file whatever its sidecar says, and remember the result."""
    before = path.stat()
    sha256 = sha256_of(path)
    if _record("", before) == _record("", path.stat()):  # else it changed while it was read: don't remember
        remember(path, models_dir, sha256)
    return sha256


def remember(path: Path, models_dir: Path, sha256: str) -> None:
    """Write the sidecar of a file as it is now, whose sha256 the caller has just found."""
    sidecar = _sidecar(path, models_dir)
    fresh = sidecar.with_name(f"{sidecar.name}.{os.getpid()}.new")
    try:
        sidecar.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(_record(sha256, path.stat()), file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(sidecar)
    except OSError:  # a folder that can't be written (a shared, read-only one): the next run hashes again
        return


def forget(path: Path, models_dir: Path) -> None:
    """Remove a file's sidecar, if there is one."""
    _sidecar(path, models_dir).unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    return path.name.endswith((SIDECAR, PART))


def _record(sha256: str, stat: os.stat_result) -> dict[str, str | int]:
    return {"sha256": sha256, "bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _sidecar(path: Path, models_dir: Path) -> Path:
    absolute, root = path.absolute(), models_dir.absolute()
    if absolute.is_relative_to(root):
        return absolute.with_name(absolute.name + SIDECAR)
    key = hashlib.sha256(os.fsencode(absolute)).hexdigest()[:32]
    return root / "outside" / (key + SIDECAR)
