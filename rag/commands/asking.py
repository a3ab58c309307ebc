"""``ask`` and ``search``: a question from the arguments or standard input; an answer, or passages, to the output."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rag.commands.as_json import answer_json, hit_json
from rag.commands.base import ABSTAINED, Command, Context, filter_option, positive
from rag.commands.weights import need_models
from rag.domain import Answer, Found, Hit, Piece
from rag.errors import QuestionError
from rag.present import reference, short

if TYPE_CHECKING:
    from rag.library import Library

LONGEST_INPUT = 1_000_000
"""Bytes of standard input that may hold a question; far more than any model reads."""


def _ask_arguments(parser: argparse.ArgumentParser) -> None:
    _question_argument(parser)
    parser.add_argument("-k", type=positive, metavar="N", help="judge the N best passages (default: candidates)")
    filter_option(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    parser.add_argument(
        "--exit-code", action="store_true", help=f"exit with {ABSTAINED} when the abstracts don't say; without it, 0"
    )


def _ask(context: Context) -> int:
    text = question(context.args.question)
    settings = context.settings(candidates=context.args.k)
    need_models(context, settings, "embedder", "generator")
    with context.library(settings) as library:
        answer = _answered(context, library, text)
    if context.args.json:
        context.output.data(answer_json(answer))
    else:
        context.output.text(str(answer))
    return ABSTAINED if answer.abstained and context.args.exit_code else 0


def _answered(context: Context, library: Library, text: str) -> Answer:
    """Ask; on a terminal the draft is shown as it grows, until the verified answer takes its place."""
    if context.args.json:
        return library.ask(text, filters=context.args.filter)
    stream = library.ask(text, filters=context.args.filter, stream=True)
    with context.output.draft() as show:
        draft = ""
        for event in stream.events():
            if isinstance(event, Found):
                names = dict.fromkeys(hit.paper.label for hit in event.hits)
                show(f"Reading {', '.join(names)} …")
            elif isinstance(event, Piece):
                draft += event.text
                show(draft)
    return stream.answer


def _search_arguments(parser: argparse.ArgumentParser) -> None:
    _question_argument(parser)
    parser.add_argument("-k", type=positive, default=5, metavar="N", help="how many passages (default: 5)")
    filter_option(parser)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")


def _search(context: Context) -> int:
    text = question(context.args.question)
    settings = context.settings()
    need_models(context, settings, "embedder")
    with context.library(settings) as library:
        hits = library.search(text, context.args.k, filters=context.args.filter)
    if context.args.json:
        context.output.data([hit_json(hit) for hit in hits])
    else:
        context.output.text("\n".join(_line(n, hit) for n, hit in enumerate(hits, start=1)) or "No passage was found.")
    return 0


def _line(number: int, hit: Hit) -> str:
    return f"{number}. {hit.paper.label} ({reference(hit.paper)}; score {hit.score:.2f})\n   {short(hit.passage.text)}"


def _question_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "question", nargs="*", help="the question; several words are joined; - or nothing reads standard input"
    )


def question(words: list[str]) -> str:
    """The question of the arguments, or of standard input when they are ``-`` or none. Raises QuestionError."""
    if words and words != ["-"]:
        return " ".join(words)
    if not words and (sys.stdin is None or sys.stdin.isatty()):
        raise QuestionError("no question was given; write it after the command, or pipe it in")
    raw = sys.stdin.buffer.read(LONGEST_INPUT + 1)
    if len(raw) > LONGEST_INPUT:
        raise QuestionError(
            f"standard input holds more than {LONGEST_INPUT} bytes, no question is that long; shorten it"
        )
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise QuestionError(f"standard input is not UTF-8 text (byte {error.start}); convert it first") from error
    if not text:
        raise QuestionError("standard input is empty; pipe a question in")
    return text


COMMANDS = (
    Command("ask", "answer a question, each sentence with its source", _ask_arguments, _ask),
    Command("search", "the passages that fit a question best", _search_arguments, _search),
)
