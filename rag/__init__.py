"""Citebound's core: a library of papers that can be asked. Opening models and stores is left until it is needed.

from rag import ask, Library
print(ask("How many fewer tokens does BlitzRank require?"))
"""

from rag.domain import Answer, Citation, Hit, Paper, Passage, Sentence, Span, Support, Turn
from rag.errors import CiteboundError
from rag.library import Library, ask
from rag.settings import Settings, load_settings
from rag.stream import AnswerStream

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
