"""Guesses the next tokens of an answer: what follows in a passage when the answer repeats it word for word.

Prompt-lookup decoding (Yang et al., "Inference with Reference: Lossless Acceleration of Large Language Models", 2023;
Saxena, "Prompt Lookup Decoding", 2023): the model checks several guessed tokens in one decode and keeps those that it
would have chosen itself, so the answer is the greedy one, only sooner. On few cores a wrong guess costs more than it
saves; so a guess is made only where the answer's last ``MATCH`` tokens are in the passages and every place agrees on
what comes next. Decodes nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence

MATCH = 3
"""Tokens in a row that an answer must share with a passage: fewer guess wrong too often, more miss too much."""
GUESSED = 3
"""Tokens guessed at once: four rows (the sure token and three guesses) fill a matrix kernel of llama.cpp, and cost on
two cores 2.4 times a single one; two or three rows cost 1.5 and 2.1."""


class Lookup:
    """Every place where ``MATCH`` tokens of the passages are followed by more."""

    def __init__(self, passages: Sequence[Sequence[int]]) -> None:
        self._next: dict[tuple[int, ...], tuple[int, ...]] = {}
        for passage in passages:
            for place in range(MATCH, len(passage)):
                key = tuple(passage[place - MATCH : place])
                found = tuple(passage[place : place + GUESSED])
                known = self._next.get(key)
                # An empty guess stays: once two places disagree, no third one can settle it.
                self._next[key] = found if known is None or known[:1] == found[:1] else ()

    def guess(self, answer: Sequence[int]) -> tuple[int, ...]:
        """What may follow these tokens, at most ``GUESSED`` tokens; nothing where the passages don't tell."""
        return self._next.get(tuple(answer[-MATCH:]), ())
