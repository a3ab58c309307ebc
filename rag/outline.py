"""A first look at files: which sources there are, what records each holds.

Nothing of a file is added before all of it was read once. So a file that breaks in its middle is refused as a whole and
leaves nothing behind, and what a library has from a file that is no longer in it is known. Keeps a number for each
record, no text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from rag.corpus import (
    Options,
    Record,
    Skipped,
    document,
    format_of,
    named_format,
    no_abstract,
    paper_id,
    records_of,
    suffixes,
)
from rag.corpus.opening import sources
from rag.corpus.sources import Source
from rag.errors import ReadError

_VOTERS = 2
_MAJORITY = 0.8


@dataclass(frozen=True, slots=True)
class Outline:
    """What one source holds. ``records`` are numbers that stand for external id and text of each."""

    source: Source
    options: Options
    records: frozenset[int]
    count: int
    skipped: tuple[Skipped, ...] = ()

    def has(self, external_id: str, digest: str) -> bool:
        """Whether a record with this id and this text is in the source."""
        return _number(external_id, digest) in self.records

    def read(self) -> Iterator[Record]:
        """The records again, in order."""
        return (item for item in records_of(self.source, self.options) if isinstance(item, Record))


def _number(external_id: str, digest: str) -> int:
    return int.from_bytes(blake2b(f"{external_id} {digest}".encode("utf-8", "replace"), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Surveyed:
    """All sources that could be read, and the files that could not, with the errors that say why."""

    outlines: tuple[Outline, ...]
    failed: tuple[Skipped, ...]
    errors: tuple[ReadError, ...]


def survey(
    paths: Iterable[Path], options: Options, tell: Callable[[str, int, int], None], *, may_be_empty: bool = False
) -> Surveyed:
    """Read files once, and the files of papers in folders. One that can't be read stops no other.

    Raises SettingsError for a format that is none, ReadError when not one file could be read; with ``may_be_empty``, a
    folder without files is no error.
    """
    if options.format:
        named_format(options.format)
    outlines: list[Outline] = []
    failed: list[Skipped] = []
    errors: list[ReadError] = []

    def fail(name: str, error: ReadError) -> None:
        errors.append(error)
        failed.append(Skipped(name, -1, str(error)))

    files: dict[Path, Options] = {}
    for path in paths:
        try:
            found = _files(path, options, may_be_empty)
            for file, said in found:
                files.setdefault(file, said)
        except ReadError as error:
            fail(str(path), error)
    for number, (file, said) in enumerate(files.items()):
        tell("reading files", number, len(files))
        try:
            outlines += list(_outlines(file, said, fail))
        except ReadError as error:
            fail(str(file), error)
    if errors and not any(outline.count for outline in outlines):
        if len(errors) == 1:
            raise errors[0]
        raise ReadError(f"none of the {len(errors)} files could be read; the first: {errors[0]}") from errors[0]
    return Surveyed(tuple(outlines), tuple(failed), tuple(errors))


def _outlines(file: Path, options: Options, fail: Callable[[str, ReadError], None]) -> Iterator[Outline]:
    """The outlines of a file's sources. Raises ReadError when no source of it holds an abstract."""
    skipped: list[Skipped] = []
    count = 0
    for source in sources(file):
        if isinstance(source, Skipped):
            skipped.append(source)
            fail(source.source, ReadError(str(source)))
            continue
        try:
            outline = _outline(source, options)
        except ReadError as error:
            if source.key == os.path.abspath(file):  # noqa: PTH100 - as the source's key is made
                raise
            fail(source.name, error)
            continue
        count += outline.count
        skipped += outline.skipped
        yield outline
    if not count:
        raise no_abstract(file, skipped)


def _outline(source: Source, options: Options) -> Outline:
    records: set[int] = set()
    skipped: list[Skipped] = []
    count = 0
    for item in records_of(source, options):
        if isinstance(item, Skipped):
            skipped.append(item)
        else:
            count += 1
            records.add(_number(item.external_id, paper_id(item.text)))
    return Outline(source, options, frozenset(records), count, tuple(skipped))


def _files(path: Path, options: Options, may_be_empty: bool) -> list[tuple[Path, Options]]:
    """A file itself; of a folder, the files in it and below that have a reader, hidden ones left out.

    Where nearly every text file of a folder holds one paper, each is one: so that two paragraphs stay together.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - unlike Path.is_dir, false for any path that can't be looked at
        return [(path, options)]
    known = suffixes()
    files = sorted(_walked(path, known))
    if not files and not may_be_empty:
        raise ReadError(f"{path} holds no file of papers ({', '.join(sorted(known))}): add a file, or another folder")
    single = set() if options.format else _single(files)
    one = Options(document.FORMAT.name, options.columns)
    return [(file, one if file in single else options) for file in files]


def _walked(folder: Path, known: frozenset[str]) -> Iterator[Path]:
    # Links to folders are not followed: they can lead back to where they are.
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            file = Path(where, name)
            if not name.startswith(".") and file.suffix.lower() in known and file.is_file():
                yield file


def _single(files: list[Path]) -> set[Path]:
    """The text files of each folder in which nearly every one is a single paper."""
    folders: dict[Path, list[Path]] = {}
    for file in files:
        if file.suffix.lower() in document.FORMAT.suffixes:
            folders.setdefault(file.parent, []).append(file)
    single: set[Path] = set()
    for texts in folders.values():
        if len(texts) >= _VOTERS and sum(map(_is_single, texts)) >= _MAJORITY * len(texts):
            single.update(texts)
    return single


def _is_single(file: Path) -> bool:
    try:
        return all(
            isinstance(source, Source) and format_of(source).name in _TEXTS and document.looks_single(source)
            for source in sources(file)
        )
    except ReadError:
        return False


_TEXTS = {"text", document.FORMAT.name}
