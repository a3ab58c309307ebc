"""Turns texts into unit vectors with a sentence-transformers model from a folder on disk. Fetches nothing, ever.

Counting tokens needs only the folder's ``tokenizer.json``; torch and sentence-transformers, which take seconds to
import, are loaded at the first ``encode`` (or in the background by ``warm``). Splitting texts is the caller's job.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.catalog import ModelSpec, resolve
from models.errors import CiteboundError, ModelDamagedError, TextTooLongError
from models.protocols import Vectors
from models.weights import check, fingerprint

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

BATCH = 32
"""Texts that go through the model together; larger is no faster on a CPU."""
SMALL = 512
"""Tokens up to which one thread does the work. A second one gains 2 ms on a question on an idle machine, and loses half
a second when another thread is busy on its core (the generator): both wait for each other after every layer."""
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}


class SentenceEmbedder:
    """An ``Embedder`` (see ``protocols``) on the CPU. Safe to share between threads; they take turns.

    Equal texts in equal batches give equal vectors; the rest of the batch can change the last bits of a vector.
    """

    def __init__(self, name_or_folder: str | Path, models_dir: Path) -> None:
        """Find the model and check its files, without loading it.

        Raises UnknownModelError, ModelMissingError, ModelDamagedError.
        """
        model = resolve(name_or_folder, "embedder")
        if isinstance(model, ModelSpec):
            self._folder, self._name = check(model, models_dir), model.name
        else:
            self._folder, self._name = model, f"{model.name}-{_fingerprint(model, models_dir)[:12]}"
        self._lock = threading.Lock()
        self._model: SentenceTransformer | None = None

    @property
    def name(self) -> str:
        """Name in the catalogue, or the folder's name with the first digits of the sha256 of what is in it."""
        return self._name

    @cached_property
    def dimension(self) -> int:
        """Length of a vector. Known from the model's files, unless it is built in an unusual way."""
        known = _dimension(self._modules)
        return known if known is not None else self._width(self._loaded())

    @cached_property
    def max_tokens(self) -> int:
        """Longest text that is read whole, in this embedder's own tokens without special ones."""
        limits = [
            self._read("sentence_bert_config.json").get("max_seq_length"),
            self._read("tokenizer_config.json").get("model_max_length"),
            self._read("config.json").get("max_position_embeddings"),
        ]
        numbers = [int(limit) for limit in limits if limit is not None]
        if not numbers:
            raise ModelDamagedError(f"{self._folder} does not say how long a text may be: set max_seq_length in there")
        return min(numbers) - self._tokenizer.num_special_tokens_to_add(is_pair=False)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text by the embedder's own tokenizer, without special ones. Loads no model."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension), float32, unit length.

        Raises TextTooLongError for a text of more than ``max_tokens``: nothing is cut off in silence.
        """
        counts = [self.count_tokens(text) for text in texts]
        for text, count in zip(texts, counts, strict=True):
            if count > self.max_tokens:
                raise TextTooLongError(
                    f"a text of {count} tokens is longer than {self._name} reads ({self.max_tokens}); "
                    f"split it: {' '.join(text.split())[:60]!r}…"
                )
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        model = self._loaded()
        with self._lock, _threads(1 if sum(counts) <= SMALL else 0):
            vectors = model.encode(
                list(texts),
                batch_size=BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        return np.ascontiguousarray(vectors, dtype=np.float32)

    def warm(self) -> None:
        """Begin to load the model in a thread of its own; ``encode`` waits for it if need be."""
        threading.Thread(target=self._warm, name="embedder-warm").start()

    def _warm(self) -> None:
        try:
            self._loaded()
        except CiteboundError:  # ``encode`` meets the same error, and there somebody can hear it
            return

    @cached_property
    def _modules(self) -> list[tuple[str, dict[str, Any]]]:
        """Return (class, configuration) of each step from tokens to a vector, the transformer first."""
        listed = _json(self._folder / "modules.json") or [{"type": "Transformer", "path": ""}, {"type": "Pooling"}]
        return [
            (entry["type"].rsplit(".", 1)[-1], _json(self._folder / entry.get("path", "-") / "config.json") or {})
            for entry in listed
        ]

    @cached_property
    def _base(self) -> Path:
        """The folder of the transformer: the model's own, or its first module's."""
        listed = _json(self._folder / "modules.json") or [{"path": ""}]
        return self._folder / str(listed[0]["path"])

    def _read(self, name: str) -> dict[str, Any]:
        return _json(self._base / name) or {}

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else it warns on stderr after every fork
        from tokenizers import Tokenizer

        path = self._base / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises bare Exception for a missing or malformed file
            raise ModelDamagedError(f"{path} can't be read as a tokenizer ({error}); get the folder again") from error
        tokenizer.no_truncation()  # the file may ask to cut texts and fill them up; we count what is there
        tokenizer.no_padding()
        return tokenizer

    def _loaded(self) -> SentenceTransformer:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> SentenceTransformer:
        with _offline():
            import transformers
            from sentence_transformers import SentenceTransformer

            transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
            transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            try:
                model = SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)
            except Exception as error:  # whatever its readers of json, safetensors, vocabularies raise
                reason = " ".join(str(error).split())[:200]
                raise ModelDamagedError(f"{self._folder} can't be loaded ({reason}); get the folder again") from error
        model.float()
        model.default_prompt_name = None  # a prompt would be in the vector and not in the count
        reads = model.max_seq_length
        if reads is not None and reads - self._tokenizer.num_special_tokens_to_add(is_pair=False) < self.max_tokens:
            raise ModelDamagedError(
                f"{self._folder} reads {reads} tokens, fewer than its files say; mend max_seq_length"
            )
        return model

    @staticmethod
    def _width(model: SentenceTransformer) -> int:
        return int(model.encode(["a"], show_progress_bar=False).shape[1])


def _fingerprint(folder: Path, models_dir: Path) -> str:
    try:
        return fingerprint(folder, models_dir)
    except OSError as error:
        raise ModelDamagedError(f"{error.filename} can't be read ({error.strerror}); mend that first") from error


def _dimension(modules: list[tuple[str, dict[str, Any]]]) -> int | None:
    """Length of the vector that comes out of the last module, or None for a module of an unknown class."""
    size: int | None = None
    for kind, config in modules:
        if kind == "Transformer":
            size = config.get("hidden_size")
        elif kind == "Pooling":
            modes = sum(value is True for key, value in config.items() if key.startswith("pooling_mode_"))
            size = size and size * max(modes, 1)
        elif kind == "Dense":
            size = config.get("out_features")
        elif kind != "Normalize":
            return None
    return size


def _json(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return a JSON file's content, None when there is no such file. Raises ModelDamagedError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ModelDamagedError(f"{path} can't be read ({error}); get the folder again") from error


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let torch use ``count`` threads; 0 leaves it as it is."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _offline() -> Iterator[None]:
    """Import and load with the hub's libraries told to stay offline.

    They read the environment when they are imported and keep what they read, so it is put back afterwards: a later
    ``pull`` in this process may use the network. If another library imported them before, the switch is set directly.
    """
    before = {name: os.environ.get(name) for name in _OFFLINE}
    os.environ.update(_OFFLINE)
    try:
        from huggingface_hub import constants

        constants.HF_HUB_OFFLINE = True
        constants.HF_HUB_DISABLE_TELEMETRY = True
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
