"""``sync``, ``export`` and ``library``: a library in step with a folder, written out, and looked after."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from rag.commands.base import Command, Context, a_path, common_options, filter_option, is_sample
from rag.commands.papers import own_library, tell_report
from rag.commands.weights import need_models
from rag.domain import Paper
from rag.errors import LibraryDamagedError, LibraryError, ReadError

_SHOWN = 10


def _sync_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=a_path, help="the folder whose files the library should follow")
    parser.add_argument("--yes", action="store_true", help="take out what is gone without asking")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")


def _sync(context: Context) -> int:
    settings = own_library(context.settings())
    need_models(context, settings, "embedder")
    with context.library(settings, create=True) as library, context.output.progress("adding papers") as step:
        report = library.sync(context.args.folder, confirm=_confirm(context), progress=step)
    tell_report(context, report)
    return ReadError.exit_code if report.failed else 0


def _confirm(context: Context) -> Callable[[Sequence[Paper]], bool]:
    def confirm(papers: Sequence[Paper]) -> bool:
        if context.args.yes:
            return True
        names = [f"  {paper.label}" for paper in papers[:_SHOWN]]
        more = [f"  and {len(papers) - _SHOWN} more"] if len(papers) > _SHOWN else []
        context.output.note("\n".join(["In no file of the folder any more:", *names, *more]))
        if sys.stdin is None or not sys.stdin.isatty():
            context.output.note("Nothing is taken out without a word; say --yes.")
            return False
        context.output.note(f"Take {'it' if len(papers) == 1 else f'these {len(papers)}'} out of the library? [y/N]")
        return sys.stdin.readline().strip().lower() in {"y", "yes"}

    return confirm


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    from rag.export import EXPORTERS

    parser.add_argument("--to", choices=sorted(EXPORTERS), default="jsonl", help="the format (default: jsonl)")
    parser.add_argument("--out", type=a_path, metavar="FILE", help="write here and not to standard output")
    filter_option(parser)


def _export(context: Context) -> int:
    from rag.export import exported

    with context.library(context.settings()) as library:
        papers = library.papers(filters=context.args.filter)
        text = exported(papers, context.args.to)
    if context.args.out is None:
        context.output.text(text.rstrip("\n"))
        return 0
    from rag.export import write

    write(text, context.args.out)
    context.output.note(f"{len(papers)} papers in {context.args.out}")
    return 0


def _library_arguments(parser: argparse.ArgumentParser) -> None:
    rows = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    for name, (help_text, _) in _LIBRARY.items():
        common_options(rows.add_parser(name, help=help_text, description=help_text, allow_abbrev=False))


def _library(context: Context) -> int:
    return _LIBRARY[context.args.what][1](context)


def _status(context: Context) -> int:
    with context.library(context.settings()) as library:
        state = library.state()
    first, last = state.years
    unfinished = f", {state.pending} more are not finished: add them again" if state.pending else ""
    span = "unknown" if first is None else f"{first} to {last}"
    for line in (
        f"folder     {library.folder}",
        f"papers     {state.papers}{unfinished}",
        f"passages   {state.passages}, of at most {state.passage_tokens} tokens",
        f"vectors    {state.rows} by {state.embedder or 'nothing yet'}, {state.dead} of papers that went",
        f"years      {span}",
        f"disk       {state.disk / 1e6:.1f} MB",
        *(f"file       {name} ({count} records)" for name, count in state.files[:_SHOWN]),
        *([f"           and {len(state.files) - _SHOWN} more files"] if len(state.files) > _SHOWN else []),
    ):
        context.output.text(line)
    return 0


def _verify(context: Context) -> int:
    with context.library(context.settings()) as library:
        faults, papers = library.faults(), len(library)
    if not faults:
        context.output.text(f"{library.folder}: {papers} papers, nothing is wrong")
        return 0
    for fault in faults:
        context.output.text(fault)
    raise LibraryDamagedError(f"the library at {library.folder} is damaged; mend it with: citebound library rebuild")


def _rebuild(context: Context) -> int:
    settings = context.settings()
    need_models(context, settings, "embedder")
    with context.library(settings) as library, context.output.progress("making the library anew") as step:
        papers = library.rebuild(progress=step)
    context.output.text(f"{library.folder}: passages, words and vectors of {papers} papers made anew")
    return 0


def _compact(context: Context) -> int:
    settings = context.settings()
    if is_sample(settings):
        raise LibraryError("the sample library needs no compacting; name yours with --library DIR")
    with context.library(settings) as library:
        before = library.state().disk
        library.compact()
        after = library.state().disk
    context.output.text(f"{library.folder}: {before / 1e6:.1f} MB before, {after / 1e6:.1f} MB now")
    return 0


_LIBRARY: dict[str, tuple[str, Callable[[Context], int]]] = {
    "status": ("what the library holds, and from which files", _status),
    "verify": ("read every byte of the library and say what is wrong", _verify),
    "rebuild": ("make passages, words and vectors anew, as the settings say now", _rebuild),
    "compact": ("give back the disk that papers which went still take", _compact),
}

COMMANDS = (
    Command("sync", "bring the library up to date with a folder", _sync_arguments, _sync),
    Command("export", "write the papers out: BibTeX, RIS, CSL-JSON, Markdown, JSON Lines", _export_arguments, _export),
    Command("library", "status, verify, rebuild, compact", _library_arguments, _library),
)
