"""Model files on disk: where they are, and whether they are whole. Loads no model; ``pull`` is what fetches them.

A file counts as the catalogue's when its size and sha256 are the catalogue's, whoever put it there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.catalog import CATALOG, ModelSpec
from models.errors import ModelDamagedError, ModelMissingError
from models.fingerprint import PART, fingerprint, forget, recall, rehash
from models.pull import SOURCES, Progress, pull

__all__ = [
    "SOURCES",
    "Listed",
    "Progress",
    "check",
    "fingerprint",
    "listing",
    "path_of",
    "pull",
    "verify",
]

State = Literal["ready", "unchecked", "partial", "damaged", "missing"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A model of the catalogue and what is on disk of it.

    ``ready`` was checked and has not changed since; ``unchecked`` has the right sizes and was never hashed;
    ``partial`` can be resumed; ``damaged`` has wrong sizes or bytes. ``size`` is in bytes, parts included.
    """

    spec: ModelSpec
    path: Path
    state: State
    size: int


def path_of(spec: ModelSpec, models_dir: Path) -> Path:
    """Where the model is: its GGUF file, or its folder. Raises ModelMissingError when a file of it is not there."""
    if not all((models_dir / file.path).is_file() for file in spec.files):
        raise ModelMissingError(f"{spec.name} is not on this machine; run: citebound models pull {spec.name}")
    return models_dir / spec.path


def check(spec: ModelSpec, models_dir: Path) -> Path:
    """Return the model's path when its files are the catalogue's, hashing only those that changed since last time.

    Raises ModelMissingError or ModelDamagedError.
    """
    return _checked(spec, models_dir, fingerprint)


def verify(spec: ModelSpec, models_dir: Path) -> Path:
    """Like ``check``, but read and hash every byte."""
    return _checked(spec, models_dir, rehash)


def listing(models_dir: Path) -> tuple[Listed, ...]:
    """Every model of the catalogue with its state, in the catalogue's order. Reads no model file."""
    return tuple(
        Listed(spec, models_dir / spec.path, _state(spec, models_dir), _on_disk(spec, models_dir)) for spec in CATALOG
    )


def _checked(spec: ModelSpec, models_dir: Path, sha256: Callable[[Path, Path], str]) -> Path:
    found = path_of(spec, models_dir)
    for file in spec.files:
        path = models_dir / file.path
        try:
            right = _size(path) == file.size and sha256(path, models_dir) == file.sha256
        except OSError as error:
            raise ModelDamagedError(
                f"{path} can't be read ({error.strerror}); mend that, or remove the file"
            ) from error
        if not right:
            forget(path, models_dir)
            raise ModelDamagedError(
                f"{path} is damaged: it is not the file of {spec.name}; run: citebound models pull {spec.name}"
            )
    return found


def _state(spec: ModelSpec, models_dir: Path) -> State:
    paths = [(models_dir / file.path, file) for file in spec.files]
    there = [(path, file) for path, file in paths if path.is_file()]
    known = [(recall(path, models_dir), file) for path, file in there]
    if any(_size(path) != file.size for path, file in there) or any(sha not in (None, f.sha256) for sha, f in known):
        return "damaged"
    if len(there) < len(paths):
        return "partial" if _on_disk(spec, models_dir) else "missing"
    return "unchecked" if any(sha is None for sha, _ in known) else "ready"


def _on_disk(spec: ModelSpec, models_dir: Path) -> int:
    return sum(_size(models_dir / file.path) + _size(models_dir / (file.path + PART)) for file in spec.files)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
