"""A generator that remembers what it was asked about one question. Changes nothing of what it says."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from models.protocols import Embedder, Generator, Prompt, Request

if TYPE_CHECKING:
    from rag.loading import ModelSource


class Listener:
    """A ``Generator`` around another one. What was judged since ``reset`` is not judged again."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self.judged: dict[Prompt, float] = {}
        self.written: list[Prompt] = []

    def reset(self) -> None:
        """Forget everything."""
        self.judged.clear()
        self.written.clear()

    @property
    def name(self) -> str:
        """As the generator says."""
        return self._generator.name

    @property
    def context_tokens(self) -> int:
        """As the generator says."""
        return self._generator.context_tokens

    def count_tokens(self, text: str) -> int:
        """As the generator says."""
        return self._generator.count_tokens(text)

    def stream(self, request: Request) -> Iterator[str]:
        """As the generator says; the prompt is remembered."""
        self.written.append(request.prompt)
        return self._generator.stream(request)

    def yes_probability(self, prompts: Sequence[Prompt], cancel: threading.Event | None = None) -> list[float]:
        """As the generator says; it is remembered."""
        new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in self.judged]
        said = self._generator.yes_probability(new, cancel) if new else []
        self.judged |= zip(new, said, strict=False)
        return [self.judged[prompt] for prompt in prompts if prompt in self.judged]

    def prepare(self, system: str, passages: Sequence[str], cancel: threading.Event | None = None) -> int:
        """As the generator says."""
        return self._generator.prepare(system, passages, cancel)

    def close(self) -> None:
        """Close the generator."""
        self._generator.close()


class Listening:
    """A source of models whose generator is listened to."""

    def __init__(self, models: ModelSource) -> None:
        self._models = models
        self._listener: Listener | None = None

    def generator(self) -> Listener:
        """The generator behind its listener, always the same."""
        if self._listener is None:
            self._listener = Listener(self._models.generator())
        return self._listener

    def embedder(self, made_by: str = "") -> Embedder:
        """As the source says."""
        return self._models.embedder(made_by)

    def close(self) -> None:
        """As the source does."""
        self._models.close()
