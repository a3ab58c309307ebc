"""A thin, typed layer on llama.cpp's low-level calls: tokens in, logits out. One model, one context, many sequences.

Knows nothing of templates, passages or caches, and is not safe to use from two threads at once (``worker`` sees to
that). llama-cpp-python's own ``Llama`` class knows one sequence only; below it are the calls that copy, move, save and
restore sequences, on which the passage cache rests.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import GeneratorDiedError, ModelDamagedError, ModelMissingError

Logits = NDArray[np.float32]

# llama.cpp writes to stderr through a callback. It must outlive every model: a collected one crashes the process.
_silence: Any = None


@dataclass(frozen=True, slots=True)
class Row:
    """Tokens to decode at positions ``start``, ``start + 1``, ... of one sequence."""

    sequence: int
    start: int
    tokens: Sequence[int]


@dataclass(frozen=True, slots=True)
class ContextSize:
    """Cells of the shared attention memory, sequences that share it, threads, tokens decoded at once."""

    tokens: int = 8192
    sequences: int = 32
    threads: int = 2
    batch: int = 512


def physical_cores() -> int:
    """Cores without hyperthreads, at least 1: more threads than that slow llama.cpp down."""
    siblings = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
    cores = {path.read_text(encoding="ascii") for path in siblings}
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, min(len(cores) or available, available))


def runtime() -> Any:  # noqa: ANN401 - a module of foreign functions
    """llama-cpp-python's low-level module, with OpenMP told not to spin for long.

    OpenMP reads its settings when the library is loaded. Its threads normally spin for long while they wait for one
    another; when another program wants a core too, each spins away the time that the other needs. Never spinning costs
    a third of the speed on an idle machine (21 tokens a second instead of 30), so they spin for a moment only. A value
    that the user set wins. Each thread that decodes gets OpenMP threads of its own, and none of them spins while there
    are more than cores: two models open in one process slow each other by a third even when one is idle.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        os.environ["GOMP_SPINCOUNT"] = "100000"
    import llama_cpp

    return llama_cpp


def silence() -> None:
    """Keep llama.cpp's own messages off stderr; errors reach the user as ours."""
    global _silence  # noqa: PLW0603 - the reference must live as long as the process
    if _silence is None:
        llama_cpp = runtime()
        _silence = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(_silence, ctypes.c_void_p(0))


class Llama:
    """One loaded GGUF file with a context of its own. ``close`` frees both."""

    def __init__(self, path: Path, size: ContextSize) -> None:
        if not path.is_file():
            raise ModelMissingError(f"no model file at {path}; see `citebound models list`")
        silence()
        llama_cpp = self._c = runtime()
        self.size = size
        self._model = self._load(path)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = size.tokens, size.batch, size.batch
        params.n_seq_max, params.kv_unified = size.sequences, True
        params.n_threads = params.n_threads_batch = size.threads
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        if not self._context:
            self.close()
            raise ModelDamagedError(f"{path.name}: no memory for {size.tokens} tokens; lower `context_tokens`")
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.n_vocab: int = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self._batch = llama_cpp.llama_batch_init(size.batch, 0, 1)

    def _load(self, path: Path) -> Any:  # noqa: ANN401 - an opaque pointer
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelDamagedError(f"{path} is not a GGUF file; pull it again with `citebound models pull NAME`")
        model = self._c.llama_model_load_from_file(os.fsencode(path), self._c.llama_model_default_params())
        if not model:
            raise ModelDamagedError(
                f"{path} can't be loaded; check it with `citebound models verify`, then pull it again"
            )
        return model

    def close(self) -> None:
        """Free context and model; closing twice is fine."""
        if getattr(self, "_batch", None) is not None:
            self._c.llama_batch_free(self._batch)
            self._batch = None
        if getattr(self, "_context", None):
            self._c.llama_free(self._context)
            self._context = None
        if self._model:
            self._c.llama_model_free(self._model)
            self._model = None

    # --- text and tokens

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Tokens of a text. ``special`` reads control tokens such as ``<|im_end|>``: never for text from outside."""
        raw = text.encode("utf-8", errors="replace")
        room = len(raw) + 8
        out = (self._c.llama_token * room)()
        count = self._c.llama_tokenize(self._vocab, raw, len(raw), out, room, False, special)
        return list(out[:count])

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; control tokens give nothing."""
        for room in (64, 1024):
            buffer = (ctypes.c_char * room)()
            count = self._c.llama_token_to_piece(self._vocab, token, buffer, room, 0, False)
            if count >= 0:
                return buffer.raw[:count]
        return b""

    def ends(self, token: int) -> bool:
        """Whether a token ends the model's turn."""
        return bool(self._c.llama_vocab_is_eog(self._vocab, token))

    def special_text(self, which: str) -> str:
        """Text of the ``bos`` or ``eos`` token, empty when the model has none."""
        token = getattr(self._c, f"llama_vocab_{which}")(self._vocab)
        if token < 0:
            return ""
        buffer = (ctypes.c_char * 128)()
        count = self._c.llama_token_to_piece(self._vocab, token, buffer, 128, 0, True)
        return buffer.raw[: max(count, 0)].decode("utf-8", errors="replace")

    def adds_bos(self) -> bool:
        """Whether the model expects a beginning-of-sequence token."""
        return bool(self._c.llama_vocab_get_add_bos(self._vocab))

    def chat_template(self) -> str:
        """The Jinja source of the file's own chat template, empty when it has none."""
        raw = self._c.llama_model_chat_template(self._model, None)
        return raw.decode("utf-8") if raw else ""

    def trained_context(self) -> int:
        """The context that the model was trained for, in tokens."""
        return int(self._c.llama_model_n_ctx_train(self._model))

    # --- decoding

    def decode(self, rows: Sequence[Row]) -> list[Logits]:
        """Decode the rows together; for each the logits after its last token, shape (n_vocab,), copied."""
        flat = [
            (row.sequence, row.start + i, token, index if i == len(row.tokens) - 1 else -1)
            for index, row in enumerate(rows)
            for i, token in enumerate(row.tokens)
        ]
        found: dict[int, Logits] = {}
        for offset in range(0, len(flat), self.size.batch):
            part = flat[offset : offset + self.size.batch]
            self._run(part)
            for i, (_, _, _, index) in enumerate(part):
                if index >= 0:
                    found[index] = self._logits(i).copy()
        return [found[index] for index in range(len(rows))]

    def follow(self, sequence: int, start: int, tokens: Sequence[int]) -> list[int]:
        """Decode tokens at ``start``, ``start + 1``, ...; after each, the most likely next: the loop of greedy text."""
        self._run([(sequence, start + i, token, i) for i, token in enumerate(tokens)])
        return [int(self._logits(i).argmax()) for i in range(len(tokens))]

    def _run(self, part: Sequence[tuple[int, int, int, int]]) -> None:
        batch = self._batch
        batch.n_tokens = len(part)
        for i, (sequence, position, token, index) in enumerate(part):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, index >= 0
            batch.seq_id[i][0] = sequence
        status = self._c.llama_decode(self._context, batch)
        if status:
            raise GeneratorDiedError(f"llama_decode returned {status}; ask again, and report it if it comes back")

    def _logits(self, index: int) -> Logits:
        pointer = self._c.llama_get_logits_ith(self._context, index)
        return np.ctypeslib.as_array(pointer, (self.n_vocab,))

    # --- sequences of the attention memory

    def remove(self, sequence: int, start: int = -1, end: int = -1) -> None:
        """Forget positions ``start`` to ``end`` of a sequence; -1 is open."""
        self._c.llama_memory_seq_rm(self._memory, sequence, start, end)

    def copy(self, source: int, target: int, start: int = -1, end: int = -1) -> None:
        """Let ``target`` share the cells of ``source`` at these positions; costs no memory."""
        self._c.llama_memory_seq_cp(self._memory, source, target, start, end)

    def shift(self, sequence: int, delta: int) -> None:
        """Move a whole sequence by ``delta`` positions: the rotary embedding is turned at the next decode."""
        self._c.llama_memory_seq_add(self._memory, sequence, 0, -1, delta)

    def can_shift(self) -> bool:
        """Whether this model's attention states may be moved (not so for recurrent models)."""
        return bool(self._c.llama_memory_can_shift(self._memory))

    def state(self, sequence: int) -> bytes:
        """The attention states of one sequence, as bytes."""
        size = self._c.llama_state_seq_get_size(self._context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        written = self._c.llama_state_seq_get_data(self._context, buffer, size, sequence)
        return bytes(memoryview(buffer)[:written])

    def set_state(self, sequence: int, state: bytes) -> bool:
        """Put saved states into an empty sequence; False when they don't fit this context."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        return bool(self._c.llama_state_seq_set_data(self._context, buffer, len(state), sequence))
