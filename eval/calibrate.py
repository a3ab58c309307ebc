"""``python -m eval calibrate``: fit the rows of ``rag.abstain`` to a question set, and print them to be pasted there.

Never fit to an exam whose marks are reported.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from eval.datasets import default_calibration, read_questions
from eval.exam import library_argument
from eval.report import table

if TYPE_CHECKING:
    from eval.fit import Fit, Weight
    from eval.signals import Collected, Road
    from rag.abstain import Calibration
    from rag.library import Library
    from rag.output import Output

HELP = "fit the thresholds of abstention to a question set"
WEIGHTS: tuple[Weight, ...] = (None, "balanced")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--questions", type=Path, default=default_calibration(), metavar="QUESTIONS.jsonl",
                        help="the questions to fit to (default: the sample library's calibration set)")  # fmt: skip
    library_argument(parser)
    parser.add_argument("--model", metavar="NAME", help="the generator to fit for (default: the settings')")
    parser.add_argument("--signals", type=Path, metavar="SIGNALS.jsonl",
                        help="keep collected signals there (default: in the home folder, by model)")  # fmt: skip


def run(args: argparse.Namespace, output: Output) -> int:
    """Run the command; its exit code."""
    from eval.signals import collect

    questions = read_questions(args.questions)
    with _listened(args, output) as library:
        cache = args.signals or library.settings.home / "calibration" / f"{Path(library.settings.model).name}.jsonl"
        with output.progress("signals") as step:
            collected = collect(questions, library, cache, step)
        name = library.generator.name
    output.note(f"signals are kept in {cache}")
    output.text(report(collected, name))
    return 0


def _listened(args: argparse.Namespace, output: Output) -> Library:
    from eval.signals import Listening
    from rag.library import Library
    from rag.loading import LocalModels
    from rag.settings import load_settings

    settings = load_settings(model=args.model)
    models = Listening(LocalModels(settings))
    if args.library is not None:
        return Library.open(args.library, settings=settings, models=models)
    with output.progress("sample library") as step:
        return Library.sample(settings=settings, models=models, progress=step)


def report(collected: list[Collected], model: str) -> str:
    """For both tables of ``rag.abstain``: figures by cross-validation, and the rows of the fits over everything."""
    from eval.signals import Road

    parts = [_part(collected, road, model) for road in Road]
    empty = [c.id for c in collected if not c.candidates]
    if empty:
        parts.append(f"{len(empty)} questions had no candidates and are left out: {', '.join(empty)}")
    return "\n\n".join(parts)


def _part(collected: list[Collected], road: Road, model: str) -> str:
    from eval.fit import FOLDS, KEPT, evaluate, items

    data = items(collected, road)
    heading = f"{road.name}: {len(data)} decisions of {len({item.group for item in data})} questions"
    groups = {positive: {i.group for i in data if i.positive is positive} for positive in (True, False)}
    if min(map(len, groups.values())) < FOLDS:
        return f"{heading}; too few of one class to fit ({FOLDS} questions of each are needed)"
    fits = {weight: evaluate(data, weight) for weight in WEIGHTS}
    columns = ["class weight", "yes", "no", "AUC", "kept", "abstain", f"threshold for {KEPT}", "kept", "abstain"]
    lines = [heading, "", table(columns, [_figures(str(weight or "none"), fit) for weight, fit in fits.items()])]
    for weight, fit in fits.items():
        lines += ["", f"class weight {weight or 'none'}; then with {KEPT} kept at 0.5:", _paste(model, fit.row),
                  _paste(model, fit.shifted)]  # fmt: skip
    return "\n".join(lines)


def _figures(name: str, fit: Fit) -> list[str]:
    shares = (fit.auc, fit.kept, fit.abstain, fit.threshold, fit.kept_there, fit.abstain_there)
    return [name, str(fit.positives), str(fit.negatives), *(f"{share:.3f}" for share in shares)]


def _paste(model: str, row: Calibration) -> str:
    weights = ", ".join(f"{weight:.4f}" for weight in row.weights)
    return f'    "{model}": Calibration({row.intercept:.4f}, ({weights})),'
