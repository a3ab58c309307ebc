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
    from eval.fit import Fit, Item, Weight
    from eval.signals import Collected, Ears
    from rag.abstain import Calibration, Decision
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
    parser.add_argument("--reuse", action="store_true",
                        help="take signals that are there even when the program has changed since")  # fmt: skip


def run(args: argparse.Namespace, output: Output) -> int:
    """Run the command; its exit code."""
    from eval.signals import collect

    questions = read_questions(args.questions)
    ears = _ears(args, output)
    settings = ears.usual.settings
    cache = args.signals or settings.home / "calibration" / f"{Path(settings.model).name}.jsonl"
    with ears.usual, ears.lenient, output.progress("signals") as step:
        collected = collect(questions, ears, cache, step, reuse=args.reuse)
    output.note(f"signals are kept in {cache}")
    output.text(report(collected, ears.listener.name))
    return 0


def _ears(args: argparse.Namespace, output: Output) -> Ears:
    from eval.listening import Listening
    from eval.signals import Ears
    from rag.library import Library
    from rag.loading import LocalModels
    from rag.settings import load_settings

    usual = load_settings(model=args.model)
    models = Listening(LocalModels(usual))

    def opened(strictness: float) -> Library:
        settings = usual.model_copy(update={"strictness": strictness})
        if args.library is not None:
            return Library.open(args.library, settings=settings, models=models)
        with output.progress("sample library") as step:
            return Library.sample(settings=settings, models=models, progress=step)

    return Ears(opened(usual.strictness), opened(0.0))


def report(collected: list[Collected], model: str) -> str:
    """For each decision of ``rag.abstain``: figures by cross-validation, and the rows of the fits over everything."""
    from eval.fit import evaluate, items
    from rag.abstain import Decision

    parts: list[str] = []
    fitted: dict[Decision, tuple[list[Item], dict[Weight, Fit]]] = {}
    for decision in Decision:
        data = items(collected, decision)
        heading = f"{decision.name}: {len(data)} decisions of {len({item.group for item in data})} questions"
        if problem := _too_few(data):
            parts.append(f"{heading}; {problem}")
            continue
        fits = {weight: evaluate(data, decision, weight) for weight in WEIGHTS}
        fitted[decision] = data, fits
        parts.append("\n".join([heading, "", *_fit_lines(fits, model)]))
    if {Decision.ANSWERABLE, Decision.ANSWERED} <= fitted.keys():
        parts.append(_road_lines(collected, fitted))
    if empty := [c.id for c in collected if not c.candidates]:
        parts.append(f"{len(empty)} questions had no candidates and are left out: {', '.join(empty)}")
    return "\n\n".join(parts)


def _too_few(data: list[Item]) -> str:
    from eval.fit import FOLDS

    groups = ({i.group for i in data if i.positive is positive} for positive in (True, False))
    return "" if min(map(len, groups)) >= FOLDS else f"too few to fit ({FOLDS} questions of each class are needed)"


def _fit_lines(fits: dict[Weight, Fit], model: str) -> list[str]:
    from eval.fit import KEPT

    columns = ["class weight", "yes", "no", "AUC", "kept", "abstain", f"threshold for {KEPT}", "kept", "abstain"]
    lines = [table(columns, [_figures(str(weight or "none"), fit) for weight, fit in fits.items()])]
    for weight, fit in fits.items():
        lines += ["", f"class weight {weight or 'none'}; then with {KEPT} kept at 0.5:"]
        lines += [_paste(model, fit.row), _paste(model, fit.shifted)]
    return lines


def _figures(name: str, fit: Fit) -> list[str]:
    shares = (fit.auc, fit.kept, fit.abstain, fit.threshold, fit.kept_there, fit.abstain_there)
    return [name, str(fit.positives), str(fit.negatives), *(f"{share:.3f}" for share in shares)]


def _paste(model: str, row: Calibration) -> str:
    weights = ", ".join(f'"{name}": {weight:.4g}' for name, weight in row.weights.items())
    return f'    "{model}": Calibration({row.intercept:.4g}, {{{weights}}}),'


def _road_lines(collected: list[Collected], fitted: dict[Decision, tuple[list[Item], dict[Weight, Fit]]]) -> str:
    """What both decisions and the verification between them come to, as fitted and with the last one shifted."""
    from eval.fit import KEPT, whole_road
    from rag.abstain import Decision
    from rag.pipeline import WORTH_WRITING

    lines = []
    for weight in WEIGHTS:
        worth, borne_out = (
            {item.group: p for item, p in zip(fitted[d][0], fitted[d][1][weight].said, strict=True)}
            for d in (Decision.ANSWERABLE, Decision.ANSWERED)
        )
        shifted = fitted[Decision.ANSWERED][1][weight].threshold
        for name, threshold in (("as fitted", 0.5), (f"ANSWERED with {KEPT} kept", shifted)):
            kept, abstain = whole_road(collected, worth, borne_out, gate=0.5 * WORTH_WRITING, threshold=threshold)
            lines.append([str(weight or "none"), name, f"{kept:.3f}", f"{abstain:.3f}"])
    title = "From the question to the answer, held out, at strictness 0.5:\n"
    return title + table(["class weight", "rows", "kept", "abstain"], lines)
