"""``python -m eval grade``: marks for answers that are on file, whoever wrote them. Asks nothing."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval import answers
from eval.datasets import read_questions
from eval.exam import graded_rows, grading_arguments, show

if TYPE_CHECKING:
    from rag.output import Output

HELP = "grade answers that are on file"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("questions", type=Path, metavar="QUESTIONS.jsonl")
    parser.add_argument("answers", type=Path, metavar="ANSWERS.jsonl")
    grading_arguments(parser)


def run(args: argparse.Namespace, output: Output) -> int:
    """Run the command; its exit code."""
    show(graded_rows(read_questions(args.questions), answers.read_rows(args.answers)), args, output)
    return 0
