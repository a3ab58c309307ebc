"""``python -m eval bench``: how fast, and as right with the passage cache as without? Figures in one flat JSON object.

Ratios compare two things in the same run on the same prompts, so they hold on any machine; absolute times are only
reported. ``CHECKS`` says which figures must hold, ``--check`` makes the exit code say whether they do.
"""

from __future__ import annotations

import argparse
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eval import files
from eval.datasets import Question, default_exam, read_questions
from eval.exam import count, opened
from eval.report import quantile, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eval.speed import Figures, Forgetful
    from rag.library import Library
    from rag.output import Output

HELP = "measure speed, and what the passage cache does to the answers"
SETUP = Path(".setup.json")
"""Figures of the installation, if it left any: a flat JSON object."""
ENOUGH = 50
"""Questions below which figures are rough."""
THREE, COLD = 25, 5
"""Questions that three passages, and the empty cache, are measured on: each costs many seconds without a cache."""
DECODED, DECODED_ANSWERS = 12, 12
"""Answers whose decoding is compared: to broad questions, and to the exam's."""
COMMANDS = {"help_s": ("--help",), "models_list_s": ("models", "list")}
FAILED = 1


@dataclass(frozen=True, slots=True)
class Check:
    """A figure and the bound that it must keep."""

    figure: str
    sign: str
    bound: float

    def holds(self, figures: Mapping[str, float]) -> bool:
        """Whether it was measured and keeps the bound."""
        value = figures.get(self.figure)
        return value is not None and _SIGNS[self.sign](value, self.bound)

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"


_SIGNS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le}
CHECKS = (
    Check("first_word_ratio", ">=", 12),
    Check("first_word_cold_ratio", "<=", 1.10),
    Check("decode_ratio", ">=", 1.2),
    Check("right_cached_minus_plain", ">=", -2),
    Check("right_three_cached_minus_plain", ">=", -2),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--out", type=Path, default=Path("bench.json"), metavar="FILE", help="default: bench.json")
    parser.add_argument("--questions", type=count, default=ENOUGH, metavar="N",
                        help=f"questions of the sample library's exam to measure on (default: {ENOUGH})")  # fmt: skip
    parser.add_argument("--check", action="store_true", help="exit with 1 when a figure misses its bound")


def run(args: argparse.Namespace, output: Output) -> int:
    """Run the command; its exit code."""
    questions = suitable(read_questions(default_exam()))[: args.questions]
    if len(questions) < ENOUGH:
        output.note(f"only {len(questions)} questions: the figures are rough ({ENOUGH} is the least for good ones)")
    figures: dict[str, float] = {}
    started = time.perf_counter()
    for name, found in phases(questions, output):
        figures |= found
        output.note(f"{time.perf_counter() - started:5.0f} s  {name}")
    figures |= {"questions": len(questions), "bench_s": time.perf_counter() - started, **setup(SETUP)}
    figures = {name: round(value, 4) for name, value in figures.items()}
    files.replace(args.out, figures)
    output.text(figures_table(figures))
    missed = [check for check in CHECKS if not check.holds(figures)]
    for check in missed if args.check else ():
        output.note(f"{check.figure} is {figures.get(check.figure, 'not measured')}; it must be {check}")
    return FAILED if args.check and missed else 0


def suitable(questions: Sequence[Question]) -> list[Question]:
    """Questions of one turn with facts to find: only they can be put to the model as they are, and marked."""
    return [q for q in questions if q.answerable and q.facts and len(q.turns) == 1]


def phases(questions: Sequence[Question], output: Output) -> Iterator[tuple[str, Figures]]:
    """Every measurement, one after the other, each with its name. No two models are loaded at once."""
    from eval import comparison, opponents, speed

    yield "commands", {figure: speed.command([*program(), *words]) for figure, words in COMMANDS.items()}
    with opened(None, output) as library:
        settings = library.settings
        with opponents.cold(settings) as (cold, empty):
            three = [comparison.over_found(question, library) for question in questions[:COLD]]
            yield "first word, nothing cached", speed.cold_first_words(cold, three, empty)
        library.warm()
        with output.progress("passage cache") as step:
            library.prepare(step)
        mine = opponents.forgetful(library.generator)
        yield "search", {"search_p50_ms": 1000 * quantile(_searches(library, questions), 0.5)}
        yield "whole answers", speed.quantiles(_answers(library, mine, questions), "answer_cached")
        cases = [comparison.case(question, library) for question in questions]
        with output.progress("answers") as step:
            both = comparison.Both(mine, settings.answer_tokens, step)
            yield "first word and marks, three passages", comparison.three_passages(cases[:THREE], both)
            yield "first word and marks, judged passages", comparison.judged_passages(cases, both)
    ours, reference = partial(opponents.ours, settings), partial(opponents.high_level, settings)
    long = comparison.at_length(cases[:DECODED])
    yield "decoding", speed.decoding(ours, reference, long, settings.answer_tokens)
    answers = [case.read for case in cases[:DECODED_ANSWERS]]
    yield "decoding, answers", speed.decoding(ours, reference, answers, settings.answer_tokens, "_answers", enough=1)


def _searches(library: Library, questions: Sequence[Question]) -> list[float]:
    from eval import speed

    library.search(questions[0].asked)
    return [speed.seconds(lambda q=q: library.search(q.asked)) for q in questions]  # type: ignore[misc]


def _answers(library: Library, generator: Forgetful, questions: Sequence[Question]) -> list[float]:
    from eval import speed
    from rag.prompt import SYSTEM

    times = []
    for question in questions:
        speed.fresh(generator, SYSTEM)
        times.append(speed.seconds(lambda q=question: library.ask(q.asked)))  # type: ignore[misc]
    return times


def program() -> list[str]:
    """How this installation's ``citebound`` is started."""
    import sys

    script = Path(sys.executable).with_name("citebound")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "rag.cli"]


def setup(path: Path) -> dict[str, float]:
    """The figures that the installation left in a file, if there is one; they are numbers."""
    if not path.is_file():
        return {}
    return {name: float(value) for name, value in files.document(path).items() if isinstance(value, int | float)}


def figures_table(figures: Mapping[str, float]) -> str:
    """All figures, and for those with a bound whether they keep it."""
    bounds = {check.figure: check for check in CHECKS}
    rows = []
    for name, value in figures.items():
        bound = bounds.get(name)
        verdict = "" if bound is None else "holds" if bound.holds(figures) else "MISSED"
        rows.append([name, f"{value:.4g}", str(bound or ""), verdict])
    return table(["figure", "value", "bound", ""], rows)
