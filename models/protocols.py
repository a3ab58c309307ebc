"""What a generator and an embedder are, as the rest of the program sees them. No implementation lives here.

Both speak strings and arrays only; neither knows what a paper is. The real ones are in ``generator`` and
``embedder``, their deterministic doubles in ``fakes``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a chat model, in the parts that can be computed ahead.

    ``system`` is the system message. ``passages`` open the user's turn, each a text that is read by itself right
    after the system message, so that its attention states can be computed once and reused in any prompt with the
    same system message. ``instruction`` says what to do with them; it is computed ahead in the same way and stands
    between passages and question. ``question`` is the rest of the user's turn. The model's own chat template wraps it
    all.
    """

    system: str
    passages: tuple[str, ...]
    question: str
    instruction: str = ""

    @property
    def ahead(self) -> tuple[str, ...]:
        """The texts that can be computed ahead, in their order."""
        return (*self.passages, self.instruction) if self.instruction else self.passages

    @property
    def turn(self) -> str:
        """The user's turn as one text."""
        return "".join((*self.ahead, self.question))


@dataclass(slots=True)
class Usage:
    """What one request cost; the generator fills it in as it goes. Times in seconds, the rest in tokens or runs."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    new_tokens: int = 0
    decodes: int = 0
    """Runs of the model after the first token: fewer than ``new_tokens`` where it checked several tokens in one."""
    first_token_s: float = 0.0
    total_s: float = 0.0
    stopped: str = ""
    """Why it ended: ``end`` (the model's own end), ``length`` (max_tokens reached), ``cancelled``."""


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt and how to run it. Setting ``cancel`` ends the request between two tokens."""

    prompt: Prompt
    max_tokens: int = 160
    cancel: threading.Event = field(default_factory=threading.Event)
    usage: Usage = field(default_factory=Usage)


class Generator(Protocol):
    """A local chat model: greedy text, the probability of yes, token counts."""

    @property
    def name(self) -> str:
        """The model's name in the catalogue, or its file's name."""

    @property
    def context_tokens(self) -> int:
        """Tokens that a prompt and its answer may take together."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a text by the model's own tokenizer, without special ones."""

    def stream(self, request: Request) -> Iterator[str]:
        """Pieces of the greedy answer as they are decoded.

        Closing the iterator, or setting ``request.cancel``, stops the model.
        Raises PromptTooLongError when the prompt and ``max_tokens`` exceed the context.
        """

    def yes_probability(self, prompts: Sequence[Prompt], cancel: threading.Event | None = None) -> list[float]:
        """For each prompt, P(yes) / (P(yes) + P(no)) at the first token of the answer; in [0, 1], one a prompt."""

    def prepare(self, system: str, passages: Sequence[str], cancel: threading.Event | None = None) -> int:
        """Compute and keep the attention states of passages ahead of any question; how many had to be computed."""

    def close(self) -> None:
        """Free the model. Later calls raise; closing twice is fine."""


class Embedder(Protocol):
    """Texts to unit vectors whose dot product is their similarity."""

    @property
    def name(self) -> str:
        """Identifies the vectors: two embedders with one name give the same vectors."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Longest text that is read whole, in this embedder's own tokens without special ones."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a text by the embedder's own tokenizer, without special ones."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension), unit length.

        Raises TextTooLongError for a text of more than ``max_tokens``: nothing is cut off in silence.
        """
