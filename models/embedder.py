"""Turns texts into unit vectors with a sentence-transformers model from a folder on disk. Fetches nothing, ever.

Counting tokens needs only the folder's ``tokenizer.json``; torch and sentence-transformers, which take seconds to
import, are loaded at the first ``encode`` (or in the background by ``warm``). Splitting texts is the caller's job.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.catalog import ModelSpec, resolve
from models.errors import CiteboundError, ModelDamagedError, TextTooLongError
from models.protocols import Vectors
from models.sentence_folder import SentenceFolder
from models.weights import check, fingerprint

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BATCH = 32
"""Texts that go through the model together (the library's own default)."""
SMALL = 512
"""Tokens up to which one thread does the work. With two threads on two cores a question took 500 ms while another
process kept both cores busy, with one thread 12 ms. The bound itself is a choice, not a measurement."""
HALF = "+bf16"
"""At the end of an embedder's name: its matrices are multiplied in bfloat16."""
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

    def __init__(self, name_or_folder: str | Path, models_dir: Path, made_by: str = "") -> None:
        """Find the model and check its files, without loading it.

        ``made_by`` is the name of the embedder whose vectors these must be comparable with, in precision too; empty:
        as precise as this CPU is fast at. Raises UnknownModelError, ModelMissingError, ModelDamagedError.
        """
        self._half = made_by.endswith(HALF) if made_by else fast_at_half()
        model = resolve(name_or_folder, "embedder")
        if isinstance(model, ModelSpec):
            self._folder, self._name = SentenceFolder(check(model, models_dir)), model.name
            self._mend = f"run: citebound models pull {model.name}"
        else:
            self._folder, self._name = SentenceFolder(model), f"{model.name}-{_fingerprint(model, models_dir)[:12]}"
            self._mend = "get the folder again"
        self._lock = threading.Lock()
        self._model: SentenceTransformer | None = None

    @property
    def name(self) -> str:
        """Name in the catalogue, or the folder's name with the first digits of the sha256 of what is in it.

        Vectors from multiplications in half precision have a name of their own.
        """
        return self._name + HALF if self._half else self._name

    @cached_property
    def dimension(self) -> int:
        """Length of a vector. Known from the model's files, unless it is built in an unusual way."""
        known = self._folder.dimension
        return known if known is not None else self._width(self._loaded())

    @property
    def max_tokens(self) -> int:
        """Longest text that is read whole, in this embedder's own tokens without special ones."""
        return self._folder.max_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of a text by the embedder's own tokenizer, without special ones. Loads no model."""
        return len(self._folder.tokenizer.encode(text, add_special_tokens=False).ids)

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
        with self._lock, _threads(1 if sum(counts) <= SMALL else 0), _multiplying_in_half(self._half):
            vectors = model.encode(
                list(texts),
                batch_size=BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        exact = np.ascontiguousarray(vectors, dtype=np.float32)
        return exact / np.linalg.norm(exact, axis=1, keepdims=True) if self._half else exact

    def warm(self) -> None:
        """Begin to load the model in a thread of its own; ``encode`` waits for it if need be."""
        threading.Thread(target=self._warm, name="embedder-warm").start()

    def _warm(self) -> None:
        try:
            self._loaded()
        except CiteboundError:  # ``encode`` meets the same error, and there somebody can hear it
            return

    def _loaded(self) -> SentenceTransformer:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> SentenceTransformer:
        path = self._folder.path
        with _offline():
            import transformers
            from sentence_transformers import SentenceTransformer

            transformers.utils.logging.set_verbosity_error()
            transformers.utils.logging.disable_progress_bar()
            try:
                model = SentenceTransformer(str(path), device="cpu", local_files_only=True)
            except Exception as error:  # whatever its readers of json, safetensors, vocabularies raise
                reason = " ".join(str(error).split())[:200]
                raise ModelDamagedError(f"{path} can't be loaded ({reason}); {self._mend}") from error
        model.float()
        model.default_prompt_name = None  # a prompt would be in the vector and not in the count
        reads = model.max_seq_length
        if reads is not None and reads - self._folder.special_tokens < self.max_tokens:
            raise ModelDamagedError(f"{path} reads {reads} tokens, fewer than its files say; mend max_seq_length")
        return model

    @staticmethod
    def _width(model: SentenceTransformer) -> int:
        return int(model.encode(["a"], show_progress_bar=False).shape[1])


def _fingerprint(folder: Path, models_dir: Path) -> str:
    try:
        return fingerprint(folder, models_dir)
    except OSError as error:
        raise ModelDamagedError(f"{error.filename} can't be read ({error.strerror}); mend that first") from error


def fast_at_half() -> bool:
    """Whether this CPU multiplies bfloat16 numbers in hardware; where it has to pretend, it is slower at them."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:  # not Linux
        return False
    return bool(_BF16.search(flags))


_BF16 = re.compile(r"^flags\s*:.*\b(?:avx512_bf16|amx_bf16)\b", re.MULTILINE)


@contextmanager
def _multiplying_in_half(half: bool) -> Iterator[None]:
    """Let torch multiply matrices in bfloat16, and keep everything between them in float32.

    2.2 times the throughput of float32, cosine of the vectors 0.99997 at least (of 359 windows); the whole model in
    bfloat16 was slower (2.1) and less exact (0.9999).
    """
    import torch

    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        yield


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
