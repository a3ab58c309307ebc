r"""Is what stands between two delimiters a formula, and may it be typeset? Finds no delimiters, typesets nothing.

A formula that could reach out of its place (links, files, page attributes), define macros that outlive it, or paint
over the page is shown as it was written instead.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

MATH_DEPTH = 24
"""Braces within braces beyond which a formula is shown as written: the typesetter recurses."""

_UNSAFE = re.compile(
    r"\\(?:href|url|includegraphics|html[A-Za-z]*|cssId|class|style|[gex]?def|let|futurelet|(?:re)?newcommand"
    r"|providecommand|global|long|rule|m?kern|[hmv]?skip|[hv]space|raisebox|color|textcolor|f?colorbox|tag|char|verb"
    r"|require|input|llap|rlap|smash|phantom|above|hphantom|vphantom|Huge|huge|mathllap|mathrlap|mathclap|clap)"
    r"(?![A-Za-z])"
)
# "$5 million and 10$": a digit first, words or a comma after it, nothing that only TeX has; or "$5-$".
_PRICE = re.compile(
    r"\d[^\\^_={}]*?(?:\b(?:and|or|to|per|an?|the|of|in|for|but|from|with|than|is)\b|[,.;:]\s)"
    r"|\d[\d.,]*\s*\w*\s*[-–,;:/]$"
)
_WORDS = re.compile(r"\\(?P<name>text(?:bf|it|tt|rm|sf)|emph)\{(?P<words>[^{}\\$^_]*)\}")


def is_price(between: str) -> bool:
    """Whether the text between two dollar signs is prose that starts with an amount."""
    return bool(_PRICE.match(between))


def words_only(tex: str) -> tuple[str, str] | None:
    r"""Command and words of a formula that is nothing but words in a style (``\textbf{DECOR}``); else None."""
    match = _WORDS.fullmatch(tex.strip())
    return (match["name"], match["words"]) if match else None


def is_typesettable(tex: str) -> bool:
    """Whether the formula stays in its place and is not nested beyond reason."""
    depth = deepest = 0
    for char in tex:
        depth += {"{": 1, "}": -1}.get(char, 0)
        deepest = max(deepest, depth)
    return deepest <= MATH_DEPTH and not _UNSAFE.search(tex)


@lru_cache(maxsize=512)
def symbol(name: str) -> str | None:
    r"""The character that a command outside a formula stands for (``\alpha``); None for anything longer."""
    spec = _macros().get_macro_spec(name)
    shown = getattr(spec, "simplify_repl", None)  # a string for what stands for itself, else a function or nothing
    return shown if isinstance(shown, str) and len(shown) == 1 and not shown.isascii() else None


@lru_cache(maxsize=1)
def _macros() -> Any:  # noqa: ANN401 - the library is untyped
    from pylatexenc.latex2text import get_default_latex_context_db

    return get_default_latex_context_db()
