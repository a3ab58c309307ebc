"""What answering needs, as one frozen value: settings, the model, and ways into the library. Opens nothing.

``Library`` builds it from the real store; tests build it from doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from models.protocols import Generator
from rag.domain import Hit, Paper
from rag.settings import Settings


@dataclass(frozen=True, slots=True)
class Resources:
    """``find(text, k)`` retrieves, ``passages_of(paper_id)`` gives a paper's passages as hits for a text.

    ``paper(paper_id)`` is None for an id that the library doesn't hold (any more).
    """

    settings: Settings
    generator: Generator
    find: Callable[[str, int], list[Hit]]
    passages_of: Callable[[str, str], list[Hit]]
    paper: Callable[[str], Paper | None]
