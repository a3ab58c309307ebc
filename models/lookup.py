"""Guesses the next tokens of an answer: what follows in the prompt when the answer repeats it word for word.

Prompt-lookup decoding (Yang et al., "Inference with Reference: Lossless Acceleration of Large Language Models", 2023;
Saxena, "Prompt Lookup Decoding", 2023): the model checks several guessed tokens in one decode and keeps those that it
would have chosen itself, so the answer is the greedy one, only sooner (but for rounding: several rows are computed in
another order than one, which may turn a tie of two tokens). On few cores a wrong guess costs more than it saves; so the
longer the answer has been repeating a text, the more is guessed, and nothing where that text goes on in two ways.
Decodes nothing itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """How many tokens are guessed once an answer's last ``shared`` tokens stand in a text.

    ``whole`` guesses all of them or none, and none where a sentence ends among the first half: there answers turn away.
    """

    shared: int
    guessed: int
    whole: bool = False


STEPS = (Step(24, 15, whole=True), Step(4, 3), Step(3, 1))
"""Longest first. With the sure token these are 16, 4 and 2 rows a decode, which on two cores cost 8, 2.8 and 1.6 single
ones; 8 rows cost 6.5 and 10 to 15 up to 9.5, since they fill no matrix kernel of llama.cpp."""
SHORTEST = STEPS[-1].shared


class Lookup:
    """Every place in the texts where an answer may be copying. ``ends`` are the tokens that end a sentence."""

    def __init__(self, texts: Sequence[Sequence[int]], ends: Collection[int] = ()) -> None:
        self._texts = [tuple(text) for text in texts]
        self._ends = frozenset(ends)
        self._places: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for number, text in enumerate(self._texts):
            for place in range(SHORTEST, len(text)):
                self._places.setdefault(text[place - SHORTEST : place], []).append((number, place))

    def guess(self, answer: Sequence[int]) -> tuple[int, ...]:
        """What may follow these tokens; nothing where the texts don't tell."""
        places = self._places.get(tuple(answer[-SHORTEST:]), ())
        for step in STEPS:
            last = tuple(answer[-step.shared :])
            found = [
                text[place : place + step.guessed]
                for text, place in ((self._texts[number], place) for number, place in places)
                if place >= step.shared and text[place - step.shared : place] == last
            ]
            if len({guess[0] for guess in found}) == 1 and self._fits(found[0], step):
                return found[0]
        return ()

    def _fits(self, guess: Sequence[int], step: Step) -> bool:
        return not step.whole or (
            len(guess) == step.guessed and self._ends.isdisjoint(guess[: (step.guessed + 1) // 2])
        )
