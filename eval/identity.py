"""When may an earlier result be used again? Fingerprints of what it depends on. Keeps no results itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.library import Library

_PACKAGES = ("models", "rag")
_PATHS = {"home", "library"}
"""Settings that say where things are and not how questions are answered."""


def turns_key(turns: Sequence[str]) -> str:
    """Fingerprint of what the user says."""
    return _digest(list(turns))


def run_key(library: Library, *, without: Collection[str] = ()) -> str:
    """Fingerprint of all that answers depend on beside the question: settings, papers and the program's own source.

    ``without`` names source files, relative to their package's parent (``rag/cli.py``), that don't matter.
    """
    settings = library.settings.model_dump(mode="json", exclude=_PATHS)
    return _digest([settings, sorted(paper.id for paper in library.papers()), program_key(without=without)])


def program_key(*, without: Collection[str] = ()) -> str:
    """Fingerprint of the source of the packages that answer questions."""
    sources = {}
    for package in _PACKAGES:
        folder = Path(str(files(package)))
        for path in sorted(folder.rglob("*.py")):
            name = f"{package}/{path.relative_to(folder).as_posix()}"
            if name not in without:
                sources[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _digest(sources)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
