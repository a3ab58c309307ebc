"""``chat`` and ``eval``: start the parts of the program that this one must not know. Both are found when called.

``rag`` stands below ``ui`` and ``eval`` and imports neither; the command line hands on to them by name.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from rag.commands.base import Command, Context
from rag.commands.weights import need_models
from rag.errors import SettingsError
from rag.output import Output


def _chat_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", type=_port, default=7860, help="port (default: 7860)")
    parser.add_argument("--open", action="store_true", help="open a browser window")


def _port(text: str) -> int:
    """A port number; argparse makes a usage error of the ValueError."""
    if not 1 <= int(text) <= 65535:
        raise ValueError(text)
    return int(text)


def _chat(context: Context) -> int:
    settings = context.settings()
    need_models(context, settings, "embedder", "generator")
    args = context.args
    with context.library(settings) as library:
        importlib.import_module("ui.app").serve(
            library,
            args.host,
            args.port,
            open_browser=args.open,
            announce=lambda url: context.output.note(f"Citebound answers at {url} (Ctrl-C ends it)"),
        )
    return 0


def evaluate(argv: Sequence[str], output: Output) -> int:
    """`citebound eval ARGS` is `python -m eval ARGS`."""
    code: int = importlib.import_module("eval.__main__").main(argv, output)
    return code


def _eval_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="see: citebound eval --help")


def _eval(_: Context) -> int:
    raise SettingsError("`eval` comes first and its options after it; see: citebound eval --help")


COMMANDS = (
    Command("chat", "chat in the browser", _chat_arguments, _chat),
    Command("eval", "exams, benchmarks and other measurements, offline", _eval_arguments, _eval),
)
