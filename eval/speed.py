"""How long things take: first words, tokens per second, whole answers, commands. Judges no figure.

Each function compares or times what it is given and returns plain figures, in seconds unless their name says otherwise.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import Protocol, runtime_checkable

from eval.report import quantile
from models.protocols import Generator, Prompt, Request, Usage
from rag.errors import CiteboundError

Figures = dict[str, float]


@runtime_checkable
class Forgetful(Generator, Protocol):
    """A generator whose context can be emptied, so that one run leaves nothing to the next."""

    def forget(self) -> None:
        """Forget every prompt that is still in the context; a passage cache keeps its entries."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, the time to its first piece and to its end, and what it cost."""

    text: str
    first: float
    total: float
    usage: Usage


def fresh(generator: Forgetful, system: str) -> None:
    """Empty the context but for the system message, which stays there between questions."""
    generator.forget()
    generator.yes_probability([Prompt(system, (), "Ready? Reply yes or no.")])


def say(generator: Generator, prompt: Prompt, max_tokens: int) -> Said:
    """Let a generator answer, and time it. Without any piece the first word is the end."""
    request = Request(prompt, max_tokens)
    started, first, pieces = time.perf_counter(), 0.0, []
    for piece in generator.stream(request):
        first = first or time.perf_counter() - started
        pieces.append(piece)
    total = time.perf_counter() - started
    return Said("".join(pieces), first or total, total, request.usage)


def said_freshly(generator: Forgetful, prompt: Prompt, max_tokens: int) -> Said:
    """Like ``say``, with nothing of this prompt in the context yet."""
    fresh(generator, prompt.system)
    return say(generator, prompt, max_tokens)


def plainly(prompt: Prompt) -> Prompt:
    """The same text with nothing that can be computed ahead: a generator reads it from its start."""
    return Prompt(prompt.system, (), prompt.turn)


def pair(generator: Forgetful, prompt: Prompt, max_tokens: int, *, plain_first: bool) -> tuple[Said, Said]:
    """A prompt with plain and with cached prefill, one right after the other; who begins is the caller's to alternate.

    One generator does both: a second one beside it would slow both down, because OpenMP stops letting threads spin
    when there are more of them than cores.
    """
    if plain_first:
        return said_freshly(generator, plainly(prompt), max_tokens), said_freshly(generator, prompt, max_tokens)
    second = said_freshly(generator, prompt, max_tokens)
    return said_freshly(generator, plainly(prompt), max_tokens), second


def first_words(pairs: Sequence[tuple[float, float]], other: str, suffix: str = "") -> Figures:
    """Medians of (plain, other) times to the first word, and the median of plain over other."""
    return {
        f"first_word_plain{suffix}_s": median(plain for plain, _ in pairs),
        f"first_word_{other}{suffix}_s": median(mine for _, mine in pairs),
        f"first_word_ratio{suffix}": median(plain / mine for plain, mine in pairs),
    }


def cold_first_words(generator: Forgetful, prompts: Sequence[Prompt], empty_cache: Callable[[], None]) -> Figures:
    """What the passage cache costs when it holds nothing: its first words over those of plain prefill."""
    pairs = []
    for number, prompt in enumerate(prompts):
        empty_cache()
        plain, cold = pair(generator, prompt, 1, plain_first=number % 2 == 0)
        pairs.append((plain.first, cold.first))
    return {
        "first_word_cold_s": median(mine for _, mine in pairs),
        "first_word_cold_plain_s": median(theirs for theirs, _ in pairs),
        "first_word_cold_ratio": median(mine / theirs for theirs, mine in pairs),
    }


Complete = Callable[[Prompt, int], int]
"""(prompt, most tokens) -> how many tokens were generated."""
Opener = Callable[[], AbstractContextManager[Complete]]
"""Loads a model, and frees it at the end."""


ENOUGH = 64
"""Tokens that a text must have for its speed to count."""


def decoding(
    ours: Opener, reference: Opener, prompts: Sequence[Prompt], max_tokens: int, suffix: str = "", enough: int = ENOUGH
) -> Figures:
    """Tokens per second against a reference's, the prompt already read on both sides; medians over the prompts.

    Each is open alone, as it is in use, and twice, in the order ours, reference, reference, ours: what the machine
    does meanwhile then weighs on both alike. Texts of fewer than ``enough`` tokens don't count; without any that do,
    there are no figures.
    """
    runs: dict[Opener, list[list[tuple[int, float]]]] = {ours: [], reference: []}
    for opener in (ours, reference, reference, ours):
        with opener() as complete:
            runs[opener].append([_timed(complete, prompt, max_tokens) for prompt in prompts])
    speeds = [
        tuple(sum(tokens / took for tokens, took in side) / 2 for side in (mine, theirs))
        for mine, theirs in zip(zip(*runs[ours], strict=True), zip(*runs[reference], strict=True), strict=True)
        if all(tokens >= enough for tokens, _ in (*mine, *theirs))
    ]
    if not speeds:
        return {}
    return {
        f"decode{suffix}_tokens_per_s": median(mine for mine, _ in speeds),
        f"decode{suffix}_reference_tokens_per_s": median(theirs for _, theirs in speeds),
        f"decode{suffix}_ratio": median(mine / theirs for mine, theirs in speeds),
        f"decode{suffix}_n": len(speeds),
    }


def _timed(complete: Complete, prompt: Prompt, max_tokens: int) -> tuple[int, float]:
    """Tokens and seconds."""
    complete(prompt, 1)  # reads the prompt; what follows finds it in the context
    started = time.perf_counter()
    return complete(prompt, max_tokens), time.perf_counter() - started


def seconds(run: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def quantiles(times: Sequence[float], name: str) -> Figures:
    """Median and 95th percentile."""
    return {f"{name}_p50_s": quantile(times, 0.5), f"{name}_p95_s": quantile(times, 0.95)}


def command(words: Sequence[str], repeats: int = 5) -> float:
    """Median wall time of a command. Raises CiteboundError when it fails."""

    def once() -> None:
        try:
            done = subprocess.run(words, capture_output=True, check=False, timeout=120)  # noqa: S603 - our own program
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CiteboundError(f"`{' '.join(words)}` can't be run ({error}); install the package first") from error
        if done.returncode:
            last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
            raise CiteboundError(f"`{' '.join(words)}` exited with {done.returncode}: {last}")

    return median(seconds(once) for _ in range(repeats))
