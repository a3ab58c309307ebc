"""What every command gets: its arguments, the settings in force, the output, the library. Does no command's work."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.output import Output

if TYPE_CHECKING:
    from rag.library import Library
    from rag.loading import ModelSource
    from rag.settings import Settings

ABSTAINED = 10
"""Exit code of an abstention under ``--exit-code``."""


@dataclass(frozen=True, slots=True)
class Context:
    """One call of the command line. ``models`` replaces the models of the settings, for tests."""

    args: argparse.Namespace
    output: Output
    models: ModelSource | None = None

    def settings(self, **more: Any) -> Settings:  # noqa: ANN401 - load_settings checks them
        """The settings in force: options of the command line over environment over file."""
        from rag.settings import load_settings

        given = {name: getattr(self.args, name, None) for name in ("home", "library", "model")}
        return load_settings(**given, **more)

    @contextmanager
    def library(self, settings: Settings, *, create: bool = False) -> Iterator[Library]:
        """The library in force, closed at the end. The sample library is made here when it is the one and isn't there.

        Raises LibraryMissingError for a folder that is none, unless ``create``.
        """
        from rag.library import Library

        if not create and is_sample(settings):
            with self.output.progress("making the sample library") as step:
                library = Library.sample(settings=settings, models=self.models, progress=step)
        else:
            library = Library.open(settings.library, settings=settings, models=self.models, create=create)
        with library:
            yield library


def is_sample(settings: Settings) -> bool:
    """Whether the library in force is the sample: none was named, and the user has not begun one."""
    from rag.library import OWN

    return settings.library is None and not (settings.home / OWN).is_dir()


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table: ``configure`` adds its arguments to a parser, ``run`` does it and gives the exit code."""

    name: str
    help: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Context], int]


def common_options(parser: argparse.ArgumentParser) -> None:
    """Options that may stand before or after the command; without a default, so that neither place undoes the other."""
    none = argparse.SUPPRESS
    parser.add_argument("--library", metavar="DIR", type=a_path, default=none, help="the library's folder")
    parser.add_argument("--home", metavar="DIR", type=a_path, default=none, help="models, passage cache, libraries")
    parser.add_argument("--model", metavar="NAME", default=none, help="a generator of `models list`, or a GGUF file")


def filter_option(parser: argparse.ArgumentParser) -> None:
    """Which papers may be found; given several times, all must hold."""
    parser.add_argument(
        "-f", "--filter", action="append", default=[], metavar="FILTER",
        help="only papers that meet it: year>=2024, author=Smith, venue=ICML, topic=vision, file=name; repeatable",
    )  # fmt: skip


def positive(text: str) -> int:
    """An argument that counts something, at most a million; argparse makes a usage error of the ValueError."""
    number = int(text)
    if not 1 <= number <= 10**6:
        raise ValueError(text)
    return number


def a_path(text: str) -> Path:
    """A path that isn't empty: an unset variable of the shell must not mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)
