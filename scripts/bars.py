"""Do the figures of an exam and of retrieval keep their bars? Measures nothing: reads what `python -m eval` wrote.

python scripts/bars.py EXAM.json RETRIEVAL.json      each figure beside its bar; exit 1 when one is missed
python scripts/bars.py --same EXAM.json OTHER.json   have two graders given the same marks? exit 1 when not
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

EXAM = {
    "right": 0.94,
    "right_and_cited": 0.93,
    "cite_precision": 0.93,
    "kept": 0.97,
    "abstain": 0.90,
}
RETRIEVAL = {"P@1": 0.95, "R@3": 0.99}
ROUNDING = 0.0011
"""Marks are written with three digits."""

Figures = dict[str, float]


def main(argv: list[str]) -> int:
    """Compare; the exit code."""
    if len(argv) == 3 and argv[0] == "--same":
        return same(exam(argv[1]), exam(argv[2]))
    if len(argv) == 2:
        return bars(exam(argv[0]), EXAM) | bars(read(argv[1]), RETRIEVAL)
    say(__doc__ or "")
    return 2


def bars(figures: Figures, least: Figures) -> int:
    """Say each figure and its bar; 1 when one is missed or was not measured."""
    missed = 0
    for name, bar in least.items():
        value = figures.get(name)
        kept = value is not None and value >= bar
        missed |= not kept
        shown = "not measured" if value is None else f"{value:.3f}"
        say(f"{name:16} {shown:>12}  bar {bar:.2f}{'' if kept else '  MISSED'}")
    return missed


def same(ours: Figures, theirs: Figures) -> int:
    """Say each mark by both graders; 1 when they differ, or when a bar's mark is missing in either."""
    differ = 0
    for name in EXAM:
        pair = (ours.get(name), theirs.get(name))
        equal = None not in pair and abs(pair[0] - pair[1]) < ROUNDING  # type: ignore[operator]
        differ |= not equal
        say(f"{name:16} {pair[0]} and {pair[1]}{'' if equal else '  DIFFER'}")
    return differ


def exam(path: str) -> Figures:
    """An exam's figures over all its questions."""
    figures: Figures = read(path)["all"]  # type: ignore[assignment]
    return figures


def read(path: str) -> Figures:
    """A JSON object of figures."""
    found: Figures = json.loads(Path(path).read_text(encoding="utf-8"))
    return found


def say(text: str) -> None:
    """Tell the user."""
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
