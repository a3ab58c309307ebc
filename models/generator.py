"""The local generator: a GGUF model that answers and judges over cached passages. Knows nothing of papers.

Greedy decoding only: the same prompt gives the same answer. One thread owns the model; requests wait their turn and
each can be cancelled between two tokens. Text from outside is tokenized without control tokens, so a passage that
spells ``<|im_end|>`` cannot end the user's turn.
"""

from __future__ import annotations

import codecs
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from models.errors import ChatTemplateError, GeneratorDiedError
from models.llama import ContextSize, Llama, Logits, Row, physical_cores, runtime
from models.lookup import Lookup
from models.passage_cache import PassageCache
from models.protocols import Prompt, Request
from models.slots import Slot, Slots, TokenPrompt, common
from models.template import ChatTemplate
from models.worker import Worker

SENTENCE_ENDS = (".", "!", "?", ".\n", ".\n\n")
YES, NO = ("yes", "Yes", "YES", " yes", " Yes"), ("no", "No", "NO", " no", " No")


@dataclass(frozen=True, slots=True)
class GeneratorArgs:
    """How to open a generator. ``fingerprint`` is the file's sha256: it keys the passage cache."""

    path: Path
    name: str
    fingerprint: str
    context_tokens: int = 8192
    threads: int = 0
    sequences: int = 16


class LlamaGenerator:
    """``models.protocols.Generator`` on llama.cpp. ``cache`` None reads every prompt from its start (plain prefill)."""

    def __init__(self, args: GeneratorArgs, cache: PassageCache | None) -> None:
        self._name = args.name
        self._worker = Worker("citebound-model")
        self._llama: Llama
        try:
            self._worker.call(lambda: self._open(args, cache))
        except BaseException:
            self._worker.close(self._free)
            raise

    def _open(self, args: GeneratorArgs, cache: PassageCache | None) -> None:
        threads = args.threads or physical_cores()
        self._llama = Llama(args.path, ContextSize(args.context_tokens, args.sequences, threads))
        self._template = ChatTemplate(
            self._llama.chat_template(), self._llama.special_text("bos"), self._llama.special_text("eos"), args.name
        )
        movable = cache if self._llama.can_shift() else None
        self._slots = Slots(self._llama, movable, args.fingerprint, f"{runtime().__version__}/f16")
        yes, no = (self._first_tokens(words) for words in (YES, NO))
        # Some tokenizers give " yes" and " no" the same first token, a blank: it says nothing.
        self._yes, self._no = sorted(yes - no), sorted(no - yes)
        if not self._yes or not self._no:
            raise ChatTemplateError(f"{args.name} has no tokens of its own for yes and no; use another model")
        self._frame = lru_cache(maxsize=16)(self._cut_frame)
        # Abstracts are tokenized once; a tail changes with each question and isn't worth keeping.
        self._plain_tokens = lru_cache(maxsize=2048)(lambda text: tuple(self._llama.tokenize(text, special=False)))

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """Tokens of the context."""
        return self._llama.size.tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of a text; answered at once, also while the model is busy (tokenizing touches no context)."""
        if self._worker.closed:
            raise GeneratorDiedError("the model was closed; open the library again")
        return len(self._llama.tokenize(text, special=False))

    def stream(self, request: Request) -> Iterator[str]:
        """Yield pieces of the greedy answer; see ``Generator.stream``."""
        left = threading.Event()  # ours: the request's own event may be shared with what comes after it

        def produce(emit: Callable[[str], None]) -> None:
            self._generate(request, emit, lambda: left.is_set() or request.cancel.is_set())

        try:
            yield from self._worker.stream(produce)
        finally:
            left.set()

    def yes_probability(self, prompts: Sequence[Prompt], cancel: threading.Event | None = None) -> list[float]:
        """P(yes) against P(no) for each prompt, in as few decodes as fit; see ``Generator.yes_probability``."""
        return self._worker.call(lambda: self._judge(prompts, cancel or threading.Event()))

    def prepare(self, system: str, passages: Sequence[str], cancel: threading.Event | None = None) -> int:
        """Fill the cache, one queued job a passage, so that a question asked meanwhile waits for one at most."""
        computed = 0
        for passage in passages:
            if cancel is not None and cancel.is_set():
                break
            computed += self._worker.call(
                lambda text=passage: self._guard(  # type: ignore[misc]
                    lambda: self._slots.prepare(self._frame(system)[0], self._plain_tokens(text))
                )
            )
        return computed

    def forget(self) -> None:
        """Forget every prompt that is still in the context; the passage cache keeps its entries. For benchmarks."""
        self._worker.call(self._slots.reset)

    def close(self) -> None:
        """Free the model."""
        self._worker.close(self._free)

    def _free(self) -> None:
        if "_llama" in self.__dict__:  # it may have failed to open
            self._llama.close()

    # --- on the model's thread

    def _generate(self, request: Request, emit: Callable[[str], None], stop: Callable[[], bool]) -> None:
        started, usage = time.perf_counter(), request.usage
        prompt = self._tokens(request.prompt, request.max_tokens)
        if stop():
            usage.stopped = "cancelled"
            return
        usage.prompt_tokens = prompt.length

        def run() -> None:
            loaded = self._slots.load(prompt)
            usage.cached_tokens = loaded.reused
            token = int(self._llama.decode([loaded.row])[0].argmax())
            usage.first_token_s = time.perf_counter() - started
            lookup = self._lookup(request.prompt)
            tokens = self._greedy(loaded.slot, token, lookup, request)
            self._answer(tokens, request, emit, stop)
            loaded.slot.reserve = 0

        self._guard(run)
        usage.total_s = time.perf_counter() - started

    def _answer(
        self, tokens: Iterator[int], request: Request, emit: Callable[[str], None], stop: Callable[[], bool]
    ) -> None:
        usage, text = request.usage, codecs.getincrementaldecoder("utf-8")("replace")
        for token in tokens:
            if self._llama.ends(token):
                usage.stopped = "end"
                break
            usage.new_tokens += 1
            if piece := text.decode(self._llama.piece(token)):
                emit(piece)
            if stop():
                usage.stopped = "cancelled"
                break
            if usage.new_tokens >= request.max_tokens:
                usage.stopped = "length"
                break
        if rest := text.decode(b"", final=True):
            emit(rest)

    def _greedy(self, slot: Slot, first: int, lookup: Lookup, request: Request) -> Iterator[int]:
        """Tokens of greedy text without end; each decode checks what ``lookup`` guessed along with a sure token."""
        written, sure = [first], [first]
        while True:
            yield from sure
            room = request.max_tokens - len(written) - 1  # no guess beyond the last token
            sure = self._next(slot, sure[-1], lookup.guess(written)[: max(room, 0)])
            written.extend(sure)
            request.usage.decodes += 1

    def _lookup(self, prompt: Prompt) -> Lookup:
        # Answers repeat passages, and begin with the words of the question.
        question = self._llama.tokenize(prompt.question, special=False)
        return Lookup([*map(self._plain_tokens, prompt.passages), question], self._first_tokens(SENTENCE_ENDS))

    def _next(self, slot: Slot, token: int, guess: Sequence[int]) -> list[int]:
        """Decode a token and a guess at what follows; the model's own next tokens, one more than were guessed right."""
        best = self._llama.follow(slot.sequence, slot.end, [token, *guess])
        right = common(best, guess)
        if right < len(guess):
            self._llama.remove(slot.sequence, slot.end + 1 + right, -1)
        slot.tail.extend((token, *guess[:right]))
        return best[: right + 1]

    def _judge(self, prompts: Sequence[Prompt], cancel: threading.Event) -> list[float]:
        rows: list[Row] = []
        slots: list[Slot] = []
        logits: list[Logits] = []

        def flush() -> None:
            if cancel.is_set():
                self._slots.drop(slots)  # they hold rows that will not be decoded
            elif rows:
                logits.extend(self._llama.decode(rows))
            rows.clear()
            slots.clear()

        def run() -> None:
            for tokens in (self._tokens(p, 0) for p in prompts):
                if cancel.is_set():  # loading alone may read passages for seconds
                    break
                held = sum(s.end for s in slots)
                if len(slots) == self._slots.count or held + tokens.length > self._llama.size.tokens // 2:
                    flush()
                loaded = self._slots.load(tokens, slots)
                rows.append(loaded.row)
                slots.append(loaded.slot)
            flush()

        self._guard(run)
        return [self._p_yes(z) for z in logits]

    def _p_yes(self, logits: Logits) -> float:
        odds = np.exp((logits - logits.max()).astype(np.float64))
        yes, no = float(odds[self._yes].sum()), float(odds[self._no].sum())
        return yes / (yes + no) if yes + no > 0 else 0.5

    def _guard(self, run: Callable[[], object]) -> int:
        """Run something on the slots; when it fails midway, forget them all rather than trust what is in them."""
        try:
            return int(bool(run()))
        except BaseException:
            self._slots.reset()
            raise

    def _tokens(self, prompt: Prompt, reserve: int) -> TokenPrompt:
        before, after = self._frame(prompt.system)
        ahead = tuple(self._plain_tokens(text) for text in prompt.ahead)
        tail = (*self._llama.tokenize(prompt.question, special=False), *after)
        return TokenPrompt(before, ahead, tail, reserve)

    def _cut_frame(self, system: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        frame = self._template.frame(system)
        before = self._llama.tokenize(frame.before, special=True)
        bos = self._llama.special_text("bos")
        if self._llama.adds_bos() and bos and not frame.before.startswith(bos):
            before = self._llama.tokenize(bos, special=True) + before
        if not before:
            raise GeneratorDiedError(f"the chat template of {self._name} gives an empty prompt; use another model")
        return tuple(before), tuple(self._llama.tokenize(frame.after, special=True))

    def _first_tokens(self, words: Sequence[str]) -> set[int]:
        return {self._llama.tokenize(word, special=False)[0] for word in words}
