"""What each sequence of the attention memory holds, and how a prompt gets into one with the least work.

A prompt is system tokens, passages and a tail (the question, the template's end). An instruction that can be read ahead
counts as one more passage. Each passage is read by itself right after the system tokens; its states are kept in a
``PassageCache`` and moved to their place by a rotation of the keys, which is exact for the positions and leaves out
only the attention between passages (the prompt-cache idea of Gim et al., "Prompt Cache: Modular Attention Reuse for
Low-Latency Inference", MLSys 2024). A slot remembers its passages and tail, so that a second prompt which begins alike
decodes only where it differs: judging a passage and later a draft from it pays for the question once.

Does not tokenize, sample or lock.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from models.errors import PromptTooLongError
from models.llama import Llama, Row
from models.passage_cache import PassageCache, entry_key

SYSTEM, SPARE, FIRST_SLOT = 0, 1, 2
IDLE = 2048
"""Tokens of earlier prompts that stay for what may follow them. Attention walks over every cell in use, also those of
other prompts: 1,300 of them cost a twentieth of a token's time, 5,000 a tenth and more."""

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TokenPrompt:
    """A prompt as tokens. ``reserve`` is how many more will be generated."""

    system: Tokens
    passages: tuple[Tokens, ...]
    tail: Tokens
    reserve: int = 0

    @property
    def length(self) -> int:
        """All tokens of the prompt, without the reserve."""
        return len(self.system) + sum(map(len, self.passages)) + len(self.tail)


@dataclass(slots=True)
class Slot:
    """One sequence: the passages it holds, where its tail starts, and the tail's tokens so far."""

    sequence: int
    passages: tuple[Tokens, ...] = ()
    base: int = 0
    tail: list[int] = field(default_factory=list)
    used: int = -1
    reserve: int = 0

    @property
    def end(self) -> int:
        """The next free position."""
        return self.base + len(self.tail)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A slot that is ready but for the row still to decode; ``reused`` prompt tokens did not have to be."""

    slot: Slot
    row: Row
    reused: int


class Slots:
    """All sequences of one ``Llama``. Without a cache, passages are decoded in place like any other text."""

    def __init__(self, llama: Llama, cache: PassageCache | None, model: str, runtime: str) -> None:
        self._llama, self._cache = llama, cache
        self._model, self._runtime = model, runtime
        self._system: Tokens = ()
        self._slots = [Slot(s) for s in range(FIRST_SLOT, llama.size.sequences)]
        self._clock = itertools.count()

    @property
    def count(self) -> int:
        """How many prompts can be held at once."""
        return len(self._slots)

    def load(self, prompt: TokenPrompt, busy: Sequence[Slot] = ()) -> Loaded:
        """Bring a slot to hold all of the prompt but the returned row. ``busy`` slots are left alone.

        Raises PromptTooLongError when prompt and reserve exceed the context.
        """
        self._check(prompt)
        self._use_system(prompt.system)
        if self._cache is None:
            flat = tuple(itertools.chain(*prompt.passages, prompt.tail))
            prompt = TokenPrompt(prompt.system, (), flat, prompt.reserve)
        slot = self._choose(prompt, busy)
        slot.used = next(self._clock)
        self._let_go((slot, *busy), prompt)
        reused = len(prompt.system)
        if slot.passages != prompt.passages or slot.base == 0:
            self._clear(slot)
            self._make_room(prompt.length + prompt.reserve - len(prompt.system), slot, busy)
            reused += self._place(slot, prompt.passages)
        else:
            reused += sum(map(len, slot.passages))
        slot.reserve = prompt.reserve
        # The last token is decoded again even when all are there: its logits are what is asked for.
        same = min(common(slot.tail, prompt.tail), len(prompt.tail) - 1)
        if same < len(slot.tail):
            self._llama.remove(slot.sequence, slot.base + same, -1)
            del slot.tail[same:]
        self._make_room(len(prompt.tail) - same + prompt.reserve, slot, busy)
        row = Row(slot.sequence, slot.end, prompt.tail[same:])
        slot.tail.extend(prompt.tail[same:])
        return Loaded(slot, row, reused + same)

    def prepare(self, system: Tokens, passage: Tokens) -> bool:
        """Have one passage's states in the cache; True when they had to be computed."""
        if self._cache is None or self._cache.has(self._key(system, passage)):
            return False
        self._check(TokenPrompt(system, (passage,), ()))
        self._use_system(system)
        self._make_room(len(passage), None, ())
        self._compute(passage)
        self._llama.remove(SPARE)
        return True

    def drop(self, slots: Sequence[Slot]) -> None:
        """Forget slots that were loaded but whose rows are not going to be decoded."""
        for slot in slots:
            self._clear(slot)

    def reset(self) -> None:
        """Forget every sequence, for example after a failed decode left them in an unknown state."""
        for sequence in range(self._llama.size.sequences):
            self._llama.remove(sequence)
        self._system = ()
        for slot in self._slots:
            slot.passages, slot.base, slot.used, slot.reserve = (), 0, -1, 0
            slot.tail.clear()

    # --- steps of load

    def _check(self, prompt: TokenPrompt) -> None:
        # Two cells more than the prompt: llama.cpp pads, and a context filled to the last cell refuses to decode.
        if (need := prompt.length + prompt.reserve + 2) > self._llama.size.tokens:
            raise PromptTooLongError(
                f"the prompt needs {need} tokens and the context has {self._llama.size.tokens}; "
                "ask a shorter question, or raise `context_tokens`"
            )

    def _use_system(self, system: Tokens) -> None:
        if system != self._system:
            self.reset()
            self._llama.decode([Row(SYSTEM, 0, system)])
            self._system = system

    def _choose(self, prompt: TokenPrompt, busy: Sequence[Slot]) -> Slot:
        free = [s for s in self._slots if s not in busy]
        alike = [s for s in free if s.base and s.passages == prompt.passages]
        if alike and prompt.passages:
            return max(alike, key=lambda s: (common(s.tail, prompt.tail), s.used))
        if alike:  # no passages: worth keeping only when the text itself begins alike
            best = max(alike, key=lambda s: common(s.tail, prompt.tail))
            if common(best.tail, prompt.tail) * 2 > len(best.tail):
                return best
        return min(free, key=lambda s: s.used)

    def _clear(self, slot: Slot) -> None:
        self._llama.remove(slot.sequence)
        slot.passages, slot.base, slot.reserve = (), 0, 0
        slot.tail.clear()

    def _let_go(self, needed: Sequence[Slot], prompt: TokenPrompt) -> None:
        """Clear the least recently used of the other slots, down to ``IDLE`` tokens.

        Before an answer is written from passages, all that hold others go: each of its tokens would walk over them.
        Those that hold none but its own will judge the finished answer.
        """
        mine = set(prompt.passages) if prompt.reserve else set()
        kept = 0
        for slot in sorted(self._slots, key=lambda s: -s.used):
            if slot.base and slot not in needed:
                kept += slot.end - len(self._system)
                if kept > IDLE or (mine and not mine.issuperset(slot.passages)):
                    self._clear(slot)

    def _make_room(self, need: int, keep: Slot | None, busy: Sequence[Slot]) -> None:
        """Clear least recently used slots until ``need`` more cells are free."""
        held = [s for s in self._slots if s.base]
        mine = len(self._system)
        used = mine + sum(s.end - mine + (s.reserve if s in busy else 0) for s in held)
        for slot in sorted(held, key=lambda s: s.used):
            if used + need + 2 <= self._llama.size.tokens:
                return
            if slot is not keep and slot not in busy:
                used -= slot.end - mine
                self._clear(slot)
        if used + need + 2 > self._llama.size.tokens:
            raise PromptTooLongError(
                f"the prompts judged together exceed the context of {self._llama.size.tokens} tokens; "
                "raise `context_tokens` or lower `candidates`"
            )

    def _place(self, slot: Slot, passages: tuple[Tokens, ...]) -> int:
        """Put the passages behind the system tokens, one after the other; how many tokens came from the cache."""
        start = len(self._system)
        self._llama.copy(SYSTEM, slot.sequence, 0, start)
        position, reused = start, 0
        for passage in passages:
            if self._restore(passage):
                reused += len(passage)
            else:
                self._compute(passage)
            if position != start:
                self._llama.shift(SPARE, position - start)
            self._llama.copy(SPARE, slot.sequence)
            self._llama.remove(SPARE)
            position += len(passage)
        slot.passages, slot.base = passages, position
        return reused

    def _key(self, system: Tokens, passage: Tokens) -> str:
        return entry_key(self._model, self._runtime, system, passage)

    def _restore(self, passage: Tokens) -> bool:
        assert self._cache is not None  # noqa: S101 - passages are placed only with a cache
        state = self._cache.get(self._key(self._system, passage))
        return state is not None and self._llama.set_state(SPARE, state)

    def _compute(self, passage: Tokens) -> None:
        """Leave a passage's own states in the spare sequence, and in the cache."""
        assert self._cache is not None  # noqa: S101 - as above
        start = len(self._system)
        self._llama.remove(SPARE)
        self._llama.copy(SYSTEM, SPARE, 0, start)
        self._llama.decode([Row(SPARE, start, passage)])
        self._llama.remove(SPARE, 0, start)
        self._cache.put(self._key(self._system, passage), self._llama.state(SPARE))


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens two sequences begin with alike."""
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count
