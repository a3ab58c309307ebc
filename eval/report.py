"""Tables of figures as text. Computes no mark and writes nowhere."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from eval.metrics import METRICS, Graded, by_kind, means

WIDTH = 118
ANSWER_LENGTH = 200


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """A table with the first column to the left and the others to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for position, column in enumerate(columns):
        drawn.add_column(column, justify="right" if position else "left", no_wrap=not position, overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    paper = io.StringIO()
    Console(file=paper, width=WIDTH, color_system=None, markup=False, highlight=False, emoji=False).print(drawn)
    lines = [line.rstrip() for line in paper.getvalue().splitlines()]
    return "\n".join(line for line in lines if line)


def marks_table(graded: Sequence[Graded]) -> str:
    """Means by kind, each with the number of questions that it is over."""
    kinds = {**by_kind(graded), "all": list(graded)}
    rows = []
    for kind, some in kinds.items():
        found = means(some)
        cells = [f"{found[m][0]:.3f} ({found[m][1]})" if m in found else "" for m in METRICS]
        rows.append([kind, str(len(some)), *cells])
    return table(["kind", "n", *map(str, METRICS)], rows)


def latency_table(graded: Sequence[Graded]) -> str:
    """Medians and 95th percentiles of the times that the replies carry, in seconds."""
    replies = [g.reply for g in graded if g.reply]
    times = {
        "whole answer": [r.seconds for r in replies if r.seconds is not None],
        "first word": [r.first_word for r in replies if r.first_word is not None and not r.abstained],
    }
    rows = [
        [name, str(len(values)), *(f"{quantile(values, q):.2f}" for q in (0.5, 0.95))]
        for name, values in times.items()
        if values
    ]
    return table(["seconds", "n", "p50", "p95"], rows) if rows else ""


def quantile(values: Sequence[float], q: float) -> float:
    """The q-quantile, q in [0, 1], between neighbours by linear interpolation. Raises IndexError for no values."""
    import numpy as np

    return float(np.quantile(np.asarray(values, float), q))


def wrong_lines(graded: Sequence[Graded]) -> str:
    """A line for each question with a mark below 1: id, those marks, what was asked and answered."""
    return "\n".join(f"- {_wrong_line(g)}" for g in graded if not g.perfect)


def _wrong_line(graded: Graded) -> str:
    low = ", ".join(f"{metric} {mark:.2f}" for metric, mark in graded.marks.items() if mark < 1)
    said = "<no answer>" if graded.reply is None else " ".join(graded.reply.answer.split())
    return f"{graded.question.id} ({low}) {graded.question.asked} => {_short(said)}"


def _short(text: str) -> str:
    return text if len(text) <= ANSWER_LENGTH else text[: ANSWER_LENGTH - 1] + "…"
