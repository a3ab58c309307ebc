"""Text from outside as safe HTML: escaped, its formulas delimited, its emphasis as elements. Knows no answers.

Every string that a user, a model or a file gave goes through ``escaped`` (directly or by ``inline`` and ``marked``).
What comes out is one line, so that it stays one block of the component that shows it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise

from rag.domain import Span
from ui.markup import Kind, Run, runs

# Formulas are found here and handed to the page between characters that no text holds: they are taken out of every
# text first. So nothing that the page could take for a delimiter ($5 and $10) ever reaches it by accident.
MATH_OPEN, MATH_CLOSE, DISPLAY_OPEN, DISPLAY_CLOSE = "\ue0f0", "\ue0f1", "\ue0f2", "\ue0f3"
LATEX_DELIMITERS: list[dict[str, str | bool]] = [
    {"left": DISPLAY_OPEN, "right": DISPLAY_CLOSE, "display": True},
    {"left": MATH_OPEN, "right": MATH_CLOSE, "display": False},
]

_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160)], "\ufffd")
# Characters that reorder the text around them could make a page say what its text does not.
_REORDERING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C])
_OURS = dict.fromkeys(map(ord, (MATH_OPEN, MATH_CLOSE, DISPLAY_OPEN, DISPLAY_CLOSE)), "\ufffd")
_OUT = {**_CONTROLS, **_REORDERING, **_OURS}
_PARAGRAPH = re.compile(r"\s*\n\s*\n\s*")

Marks = tuple[int, ...]
"""Numbers of the spans that cover a piece of text."""


def escaped(text: str) -> str:
    """Text as HTML that shows exactly this text: one line, no markup, fit for an attribute's value too."""
    clean = html.escape(text.replace("\r\n", "\n").translate(_OUT), quote=True)
    # The page's own placeholder for formulas starts with three of these; a text must not be able to spell it.
    return clean.replace("%", "&#37;").replace("\n", " ")


def inline(text: str) -> str:
    """A text of the corpus or the model: formulas, emphasis and quotes shown as such."""
    return "".join(_shown(run) for run in runs(text))


def typed(text: str) -> str:
    """What a user typed: formulas shown as such, line breaks kept, everything else as it is."""
    lines = (("".join(_shown(run) for run in runs(line, rich=False))) for line in text.strip().split("\n"))
    return "<br>".join(lines)


def marked(text: str, spans: Sequence[Span], wrap: Callable[[str, Marks, Marks], str]) -> str:
    """An abstract with the given spans wrapped: ``wrap(html, covering, starting)`` gets indexes into ``spans``.

    ``starting`` are those of ``covering`` that have not been wrapped before. Spans may touch and overlap. One that
    ends inside something that can't be cut (a formula) covers all of it.
    """
    edges = sorted({edge for span in spans for edge in (span.start, span.end)})
    pieces = [piece for run in runs(text) for piece in _cut(run, edges)]
    seen: set[int] = set()
    out: list[str] = []
    for covering, group in groupby(pieces, key=lambda piece: _covering(piece, spans)):
        shown = "".join(_shown(piece) for piece in group)
        starting = tuple(n for n in covering if n not in seen)
        seen.update(starting)
        out.append(wrap(shown, covering, starting) if covering else shown)
    return "".join(out)


def _covering(run: Run, spans: Sequence[Span]) -> Marks:
    return tuple(n for n, span in enumerate(spans) if span.start < run.end and run.start < span.end)


def _cut(run: Run, edges: Sequence[int]) -> list[Run]:
    inside = [edge for edge in edges if run.start < edge < run.end]
    if not inside or not run.divisible:
        return [run]
    bounds = [run.start, *inside, run.end]
    return [Run(a, b, run.text[a - run.start : b - run.start], run.kind, run.styles) for a, b in pairwise(bounds)]


_FRAMES = {Kind.TEXT: ("", ""), Kind.MATH: (MATH_OPEN, MATH_CLOSE), Kind.DISPLAY: (DISPLAY_OPEN, DISPLAY_CLOSE)}


def _shown(run: Run) -> str:
    if run.kind is Kind.TEXT:
        shown = "<br><br>".join(escaped(part) for part in _PARAGRAPH.split(run.text))
    else:
        left, right = _FRAMES[run.kind]
        shown = f'<span class="cb-math">{left}{escaped(run.text)}{right}</span>'
    for style in reversed(run.styles):
        shown = f"<{style}>{shown}</{style}>"
    return shown
