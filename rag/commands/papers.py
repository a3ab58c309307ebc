"""``add``, ``status``, ``prepare``: what goes into a library, and what is in it."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rag.commands.base import Command, Context, a_path, is_sample
from rag.commands.weights import need_models, states
from rag.errors import LibraryError, ReadError

if TYPE_CHECKING:
    from rag.report import AddReport
    from rag.settings import Settings


_NAMED = 50
"""Records left out that are named on the terminal; of more the rest is counted."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="+", type=a_path, help="a file of papers, or a folder of such files")
    parser.add_argument(
        "--format", default="", metavar="NAME", help="what the files are, if not as they look; a wrong name lists all"
    )
    parser.add_argument(
        "--column", action="append", type=_column, default=[], metavar="FIELD=NAME",
        help="which column of a table holds what, such as abstract=Summary; repeatable",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")


def _column(text: str) -> tuple[str, str]:
    field, equals, name = text.partition("=")
    if not (field.strip() and equals and name.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not FIELD=NAME")
    return field.strip().lower(), name.strip()


def _add(context: Context) -> int:
    settings = own_library(context.settings())
    need_models(context, settings, "embedder")
    args = context.args
    with (
        _nothing_left(Path(settings.library or "")),
        context.library(settings, create=True) as library,
        context.output.progress("adding papers") as step,
    ):
        report = library.add(*args.path, format=args.format, columns=dict(args.column), progress=step)
    tell_report(context, report)
    return ReadError.exit_code if report.failed else 0


def own_library(settings: Settings) -> Settings:
    """The settings with a library to write to: the user's own unless another is named, never the sample."""
    from rag.library import OWN

    if settings.library is not None:
        return settings
    return settings.model_copy(update={"library": settings.home / OWN})


def tell_report(context: Context, report: AddReport) -> None:
    """Say what became of every record."""
    if context.args.json:
        context.output.data(asdict(report))
    else:
        context.output.text(str(report))
    for left_out in report.skipped[:_NAMED]:
        context.output.note(f"left out: {left_out}")
    if len(report.skipped) > _NAMED and not context.args.json:
        context.output.note(f"left out: {len(report.skipped) - _NAMED} more records; --json names every one")
    for left_out in report.failed:
        context.output.note(f"left out: {left_out}")


@contextmanager
def _nothing_left(folder: Path) -> Iterator[None]:
    """When adding fails before a first paper is in, take away a library that was made for it.

    Otherwise a mistyped path would leave an empty library, and questions would go there and no longer to the sample.
    """
    made = not os.path.exists(folder)  # noqa: PTH110 - unlike Path.exists, false where one can't look
    try:
        yield
    except BaseException:
        if made and folder.exists() and _is_empty(folder):
            shutil.rmtree(folder)
        raise


def _is_empty(folder: Path) -> bool:
    """Whether no paper is in the library or on its way, and nobody else is adding some."""
    from rag.lock import writing
    from rag.store import Store

    try:
        with writing(folder, timeout=0), closing(Store(folder)) as store:
            return not store.count() and not store.count_pending()
    except LibraryError:
        return False


def _no_arguments(_: argparse.ArgumentParser) -> None:
    pass


def _status(context: Context) -> int:
    settings = context.settings()
    from rag.library import SAMPLE

    if is_sample(settings) and not (settings.home / SAMPLE).is_dir():
        library = "the sample library, made on first use"
    else:
        with context.library(settings) as opened:
            library = f"{opened.folder}, {len(opened)} papers"
    models = {item.spec.name: item.state for item in states(settings)}
    for line in (
        f"library    {library}",
        f"generator  {settings.model}, {models.get(settings.model, 'a file of your own')}",
        f"embedder   {settings.embedder}, {models.get(settings.embedder, 'a folder of your own')}",
        f"home       {settings.home}",
    ):
        context.output.text(line)
    return 0


def _prepare(context: Context) -> int:
    settings = context.settings()
    need_models(context, settings, "embedder", "generator")
    with context.library(settings) as library, context.output.progress("reading ahead") as step:
        computed, papers = library.prepare(progress=step), len(library)
    context.output.text(f"{computed} passages read now; all passages of {papers} papers are read ahead.")
    return 0


COMMANDS = (
    Command("add", "read files of abstracts into the library", _add_arguments, _add),
    Command("status", "which library and models are in use", _no_arguments, _status),
    Command("prepare", "read all passages ahead, so that the first questions are fast too", _no_arguments, _prepare),
)
