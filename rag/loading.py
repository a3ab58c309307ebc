"""Opens the models that the settings name; nothing is loaded before it is asked for. Also the doubles, for tests."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path
from typing import Protocol

from models.catalog import ModelSpec, resolve
from models.fingerprint import fingerprint
from models.protocols import Embedder, Generator
from models.weights import check
from rag.settings import Settings

MB = 10**6


class ModelSource(Protocol):
    """Where a library gets its models from."""

    def generator(self) -> Generator:
        """The generator, opened on first use and then shared."""

    def embedder(self, made_by: str = "") -> Embedder:
        """The embedder, likewise; the one whose vectors compare with those that ``made_by`` made, if any."""

    def close(self) -> None:
        """Free what was opened; closing twice is fine."""


class LocalModels:
    """The models of the settings, from files on this machine.

    Raises ModelMissingError, ModelDamagedError, UnknownModelError when one is first asked for.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._embedders: dict[bool, Embedder] = {}
        self._opening = threading.Lock()

    def generator(self) -> Generator:
        """The generator with its passage cache."""
        return self._generator

    def embedder(self, made_by: str = "") -> Embedder:
        """The embedder, in the precision of the one that made a library's vectors."""
        from models.embedder import HALF, SentenceEmbedder, fast_at_half

        half = made_by.endswith(HALF) if made_by else fast_at_half()
        with self._opening:
            if half not in self._embedders:
                settings = self._settings
                self._embedders[half] = SentenceEmbedder(settings.embedder, settings.models_dir, made_by)
            return self._embedders[half]

    def close(self) -> None:
        """Free the generator, if it was opened."""
        if "_generator" in self.__dict__:
            self._generator.close()

    @cached_property
    def _generator(self) -> Generator:
        from models.generator import GeneratorArgs, LlamaGenerator
        from models.passage_cache import PassageCache

        settings = self._settings
        model = resolve(settings.model, "generator")
        known = isinstance(model, ModelSpec)
        path = check(model, settings.models_dir) if isinstance(model, ModelSpec) else Path(model)
        cache = PassageCache(settings.cache_dir, settings.cache_memory_mb * MB, settings.cache_disk_mb * MB)
        args = GeneratorArgs(
            path=path,
            name=model.name if known else path.stem,
            fingerprint=fingerprint(path, settings.models_dir),
            context_tokens=settings.context_tokens,
            threads=settings.threads,
        )
        return LlamaGenerator(args, cache if settings.passage_cache else None)


class FakeModels:
    """Deterministic doubles: for tests, and for looking at the program without a model."""

    def generator(self) -> Generator:
        """A double that quotes the passage."""
        return self._generator

    def embedder(self, made_by: str = "") -> Embedder:
        """A double that hashes words."""
        return self._embedder

    def close(self) -> None:
        """Nothing to free."""

    @cached_property
    def _generator(self) -> Generator:
        from models.fakes import FakeGenerator

        return FakeGenerator()

    @cached_property
    def _embedder(self) -> Embedder:
        from models.fakes import FakeEmbedder

        return FakeEmbedder()
