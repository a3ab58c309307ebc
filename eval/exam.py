"""``python -m eval exam``: every question of an exam through ``Library.ask``, graded. Decides no answer itself.

Answers go to a file one by one, each on the disk before the next question is asked, so a run that was stopped goes on
where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval import answers, files
from eval.datasets import Question, default_exam, read_questions
from eval.files import Row
from eval.identity import run_key
from eval.metrics import Graded, grade, summary
from eval.report import latency_table, marks_table, wrong_lines
from rag.domain import Answer, Turn
from rag.errors import PromptTooLongError, QuestionError, TextTooLongError

if TYPE_CHECKING:
    from rag.library import Library
    from rag.output import Output, Step

HELP = "ask a library an exam's questions and grade the answers"

Note = Callable[[str], None]
# What is wrong with one question only; any other error would meet every question, so it ends the run.
_OF_ONE_QUESTION = (QuestionError, PromptTooLongError, TextTooLongError)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("questions", nargs="?", type=Path, default=default_exam(), metavar="QUESTIONS.jsonl",
                        help="the exam (default: the sample library's)")  # fmt: skip
    library_argument(parser)
    parser.add_argument("--out", type=Path, metavar="ANSWERS.jsonl",
                        help="write answers there as they come; what is there already isn't asked again")  # fmt: skip
    parser.add_argument("--limit", type=count, metavar="N", help="only the first N questions")
    parser.add_argument("--prepare", action="store_true",
                        help="fill the passage cache first, so that times are those of a library in use")  # fmt: skip
    parser.add_argument("--plain", action="store_true", help="without the passage cache, for comparison")
    grading_arguments(parser)


def library_argument(parser: argparse.ArgumentParser) -> None:
    """Declare ``--library``."""
    parser.add_argument("--library", type=Path, metavar="DIR", help="a library's folder (default: the sample library)")


def grading_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how marks are shown."""
    parser.add_argument("--json", action="store_true", help="print the marks as one JSON object")
    parser.add_argument("--wrong", action="store_true", help="also list each question with a mark below 1")


def count(text: str) -> int:
    """Read a whole number from 1 up, for argparse."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def run(args: argparse.Namespace, output: Output) -> int:
    """Run the command; its exit code."""
    questions = read_questions(args.questions)[: args.limit]
    library = opened(args.library, output, passage_cache=False if args.plain else None)
    if args.prepare:
        with output.progress("passage cache") as step:
            library.prepare(step)
    with library, output.progress("exam") as step:
        rows = take(questions, library, args.out, output.note, step)
    show(graded_rows(questions, rows), args, output)
    return 0


def opened(folder: Path | None, output: Output, **settings: Any) -> Library:  # noqa: ANN401 - load_settings checks them
    """The library in a folder, or the sample library, under the settings in force but for those given."""
    from rag.library import Library
    from rag.settings import load_settings

    chosen = load_settings(**settings)
    if folder is not None:
        return Library.open(folder, settings=chosen)
    with output.progress("sample library") as step:
        return Library.sample(settings=chosen, progress=step)


def show(graded: Sequence[Graded], args: argparse.Namespace, output: Output) -> None:
    """Print marks as ``--json`` and ``--wrong`` say."""
    if args.json:
        output.data(summary(graded))
    else:
        parts = [marks_table(graded), latency_table(graded), wrong_lines(graded) if args.wrong else ""]
        output.text("\n\n".join(part for part in parts if part))
    if args.json and args.wrong:
        output.note(wrong_lines(graded))


def take(questions: Sequence[Question], library: Library, out: Path | None, note: Note, step: Step) -> dict[str, Row]:
    """Every question's line, by id; those that stand in ``out`` from the same run are not asked again.

    Raises whatever would meet every question (a missing model, a damaged library); what was answered is in ``out``.
    """
    run = run_key(library)
    rows = _earlier(questions, out, run, note) if out else {}
    _warn_of_strangers(questions, library, note)
    ahead = [question for question in questions if question.id not in rows]
    if ahead:
        library.warm()
    for number, question in enumerate(ahead, start=len(rows)):
        step(question.id, number, len(questions))
        row = answers.signed(_asked(question, library), question, run)
        if out:
            files.append(out, row)
        rows[question.id] = row
    return rows


def _earlier(questions: Sequence[Question], out: Path, run: str, note: Note) -> dict[str, Row]:
    if files.mend(out):
        note(f"{out}: the last line was torn and is dropped; its question is asked again")
    found = answers.read_rows(out)
    kept = answers.reusable(found, questions, run)
    if kept:
        note(f"{out}: {len(kept)} of {len(questions)} questions are answered there already and are not asked again")
    if others := len(found) - len(kept):
        note(f"{out}: {others} answers there are of another run (questions, settings, papers or program); not counted")
    return kept


def _warn_of_strangers(questions: Sequence[Question], library: Library, note: Note) -> None:
    texts = [paper.text for paper in library.papers()]
    strangers = [q.id for q in questions if not all(any(gold.anchor in text for text in texts) for gold in q.gold)]
    if strangers:
        note(f"{len(strangers)} questions ask for papers that this library doesn't hold, {strangers[0]} among them")


def _asked(question: Question, library: Library) -> Row:
    started = time.perf_counter()
    try:
        history: list[Turn] = []
        for text in question.turns[:-1]:
            history.append(turn_of(library.ask(text, history=history)))
        started = time.perf_counter()
        answer = library.ask(question.asked, history=history)
    except _OF_ONE_QUESTION as error:
        return answers.row_of_error(question, error, time.perf_counter() - started)
    return answers.row_of(question, answer, time.perf_counter() - started)


def turn_of(answer: Answer) -> Turn:
    """An answer as an earlier exchange of the conversation."""
    return Turn(answer.asked, answer.text, tuple(paper.id for paper in answer.papers))


def graded_rows(questions: Sequence[Question], rows: Mapping[str, Row]) -> list[Graded]:
    """Every question with the marks of its line."""
    return grade(questions, {key: answers.reply_of(row) for key, row in rows.items()})
