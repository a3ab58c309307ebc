"""Deterministic doubles of the generator and the embedder, for tests and for trying the program without weights.

They keep the protocols' promises (errors, cancelling, usage, unit vectors) and understand nothing: an answer is the
passages' sentence that shares most words with the question, a probability is the share of the question's words found.
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from models.errors import GeneratorDiedError, PromptTooLongError, TextTooLongError
from models.protocols import Prompt, Request, Vectors

_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|\w+")  # Chinese and Japanese characters one by one
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_LABELLED = re.compile(r"^[A-Za-z][A-Za-z ]{0,30}: (.+)$", re.MULTILINE)
T = TypeVar("T")
_STOP = frozenset(
    _WORD.findall(
        "a an and are as at be by can do does for from has have how in into is it its many much of on or than that "
        "the their this to was were what when where which who why with"
    )
)


class FakeEmbedder:
    """An ``Embedder``: a text is its bag of words, each word hashed to a place and a sign of the vector."""

    def __init__(self, dimension: int = 256, max_tokens: int = 254) -> None:
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.name = f"fake-embedder-{dimension}"

    def count_tokens(self, text: str) -> int:
        """Words of a text."""
        return len(_WORD.findall(text))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension), float32, unit length. Raises TextTooLongError."""
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, self.dimension), np.float32)

    def warm(self) -> None:
        """Nothing to load."""

    def _vector(self, text: str) -> Vectors:
        if (count := self.count_tokens(text)) > self.max_tokens:
            raise TextTooLongError(
                f"a text of {count} tokens is longer than {self.name} reads ({self.max_tokens}); "
                f"split it: {' '.join(text.split())[:60]!r}…"
            )
        vector = np.zeros(self.dimension, np.float64)
        for word in _content(text):
            number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            vector[(number >> 1) % self.dimension] += 1 if number & 1 else -1
        length = float(np.linalg.norm(vector))
        if not length:  # no words, or words that cancel out: some unit vector, always the same
            vector[0] = length = 1.0
        return (vector / length).astype(np.float32)


class FakeGenerator:
    """A ``Generator`` that quotes. Words are its tokens.

    ``answers`` and ``judgements`` script it: the first key that is contained in a prompt's instruction or question,
    whatever the case, gives the answer's text or P(yes). ``delay`` is slept before each piece, in seconds. ``prompts``
    keeps every prompt that it was given, in order. Without passages it answers with the question itself, so that a
    request to rephrase a question gives that question.
    """

    def __init__(
        self,
        answers: Mapping[str, str] | None = None,
        judgements: Mapping[str, float] | None = None,
        *,
        context_tokens: int = 8192,
        delay: float = 0.0,
    ) -> None:
        self.name = "fake-generator"
        self.context_tokens = context_tokens
        self.prompts: list[Prompt] = []
        self._answers = dict(answers or {})
        self._judgements = dict(judgements or {})
        self._delay = delay
        self._read: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def count_tokens(self, text: str) -> int:
        """Words of a text."""
        return len(text.split())

    def stream(self, request: Request) -> Iterator[str]:
        """Pieces of the answer, a word each; see ``Generator.stream``."""
        started, usage = time.perf_counter(), request.usage
        usage.cached_tokens = self._cached(request.prompt)
        usage.prompt_tokens = self._take(request.prompt, request.max_tokens)
        usage.stopped = "cancelled"  # unless it comes to its end below; the caller may close us at any piece
        try:
            for piece in re.findall(r"\s*\S+", self._answer(request.prompt)):
                if usage.new_tokens == request.max_tokens:
                    usage.stopped = "length"
                    break
                if request.cancel.wait(self._delay) if self._delay else request.cancel.is_set():
                    break
                usage.new_tokens += 1
                usage.first_token_s = usage.first_token_s or time.perf_counter() - started
                yield piece
            else:
                usage.stopped = "end"
        finally:
            usage.total_s = time.perf_counter() - started

    def yes_probability(self, prompts: Sequence[Prompt], cancel: threading.Event | None = None) -> list[float]:
        """For each prompt, a probability from the share of the question's words that the passages contain."""
        found = []
        for prompt in prompts:
            if cancel is not None and cancel.is_set():
                break
            self._take(prompt, 0)
            found.append(self._judgement(prompt))
        return found

    def prepare(self, system: str, passages: Sequence[str], cancel: threading.Event | None = None) -> int:
        """Mark passages as read; how many were not yet."""
        new = 0
        for passage in passages:
            if cancel is not None and cancel.is_set():
                break
            new += self._remember(system, passage)
        return new

    def close(self) -> None:
        """Refuse all later calls."""
        self._closed = True

    def _take(self, prompt: Prompt, max_tokens: int) -> int:
        """Note a prompt and return its tokens. Raises PromptTooLongError."""
        length = sum(map(self.count_tokens, (prompt.system, *prompt.ahead, prompt.question)))
        if length + max_tokens > self.context_tokens:
            raise PromptTooLongError(
                f"a prompt of {length} tokens and an answer of {max_tokens} do not fit the context of "
                f"{self.context_tokens}; ask with fewer passages or raise context_tokens"
            )
        for text in prompt.ahead:
            self._remember(prompt.system, text)
        with self._lock:
            self.prompts.append(prompt)
        return length

    def _remember(self, system: str, passage: str) -> bool:
        with self._lock:
            if self._closed:
                raise GeneratorDiedError("the model was closed; open the library again")
            new = (system, passage) not in self._read
            self._read.add((system, passage))
            return new

    def _cached(self, prompt: Prompt) -> int:
        with self._lock:
            if self._closed:
                raise GeneratorDiedError("the model was closed; open the library again")
            return sum(self.count_tokens(text) for text in prompt.ahead if (prompt.system, text) in self._read)

    def _answer(self, prompt: Prompt) -> str:
        scripted = _scripted(self._answers, prompt.instruction + prompt.question)
        if scripted is not None:
            return scripted
        subject = _subject(prompt.question)
        words = set(_content(subject))
        sentences = [s for text in prompt.passages for s in _SENTENCE.split(_unlabelled(text)) if s.strip()]
        return max(sentences, key=lambda s: len(words & set(_content(s))), default=subject).strip()

    def _judgement(self, prompt: Prompt) -> float:
        scripted = _scripted(self._judgements, prompt.instruction + prompt.question)
        if scripted is not None:
            return scripted
        words = set(_content(_subject(prompt.question)))
        held = words & set(_content(" ".join(prompt.passages)))
        share = len(held) / len(words) if words else 0.0
        return 1 / (1 + math.exp(-12 * (share - 0.5)))


def _content(text: str) -> list[str]:
    """Words that carry meaning, in lower case, cut to six letters so that most word forms agree."""
    return [word[:6] for word in _WORD.findall(text.lower()) if word not in _STOP]


def _subject(text: str) -> str:
    """Find what a prompt is about: its last line of the form ``Label: …`` without the label, else its last line."""
    labelled = _LABELLED.findall(text)
    return str(labelled[-1]) if labelled else (text.strip().splitlines() or [""])[-1]


def _unlabelled(text: str) -> str:
    """Take a ``Label:`` off the start of a passage."""
    return re.sub(r"^[A-Z][a-z]+: ", "", text)


def _scripted(script: Mapping[str, T], question: str) -> T | None:
    folded = question.casefold()
    return next((value for key, value in script.items() if key.casefold() in folded), None)
