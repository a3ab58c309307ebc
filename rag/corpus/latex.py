"""LaTeX of titles and names -> text: accents decoded, braces gone, formulas as they are. Not for abstracts."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

# It warns of each macro that it can't read; what has one is left as it is.
logging.getLogger("pylatexenc").addHandler(logging.NullHandler())

_COMMENT_OR_COLUMN = re.compile(r"(?<!\\)[%&]")  # in a title it is meant as the character, whatever LaTeX says
_MARKUP = re.compile(r"[\\{}~]|--|``|''")
_LONGEST, _DEEPEST = 4_000, 6
"""Characters, and groups in one another, that are decoded: each group that is never closed doubles the time."""
_DECODER_ERRORS = (RecursionError, LookupError, ValueError, TypeError, AttributeError)
"""What pylatexenc raises for macros without their arguments."""


@lru_cache(10_000)  # journals and people come again
def plain(latex: str) -> str:
    """LaTeX as text: accents decoded, braces gone, formulas as they are."""
    if not _MARKUP.search(latex) or len(latex) > _LONGEST or _depth(latex) > _DEEPEST:
        return latex
    try:
        return " ".join(_decoder().latex_to_text(_COMMENT_OR_COLUMN.sub(r"\\\g<0>", latex)).split())
    except _DECODER_ERRORS:
        return latex


@lru_cache(1)
def _decoder() -> LatexNodes2Text:
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(math_mode="verbatim")


def _depth(latex: str) -> int:
    braces = accumulate((char == "{") - (char == "}") for char in latex)
    return max(braces, default=0) + latex.count("[")
