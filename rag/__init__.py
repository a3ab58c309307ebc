"""Citebound's core: a library of papers that can be asked. Nothing is imported, opened or loaded before it is used.

from rag import ask, Library
print(ask("How many fewer tokens does BlitzRank require?"))
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.domain import Answer, Citation, Hit, Paper, Passage, Sentence, Span, Support, Turn
    from rag.errors import CiteboundError
    from rag.library import Library, ask
    from rag.settings import Settings, load_settings
    from rag.stream import AnswerStream

# The command line's --help and its list of models must not wait for numpy and the store.
_HOMES = {
    "rag.domain": ("Answer", "Citation", "Hit", "Paper", "Passage", "Sentence", "Span", "Support", "Turn"),
    "rag.errors": ("CiteboundError",),
    "rag.library": ("Library", "ask"),
    "rag.settings": ("Settings", "load_settings"),
    "rag.stream": ("AnswerStream",),
}

__all__ = [
    "Answer",
    "AnswerStream",
    "Citation",
    "CiteboundError",
    "Hit",
    "Library",
    "Paper",
    "Passage",
    "Sentence",
    "Settings",
    "Span",
    "Support",
    "Turn",
    "ask",
    "load_settings",
]


def __getattr__(name: str) -> object:
    """Import a public name from its module at first use (PEP 562)."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
