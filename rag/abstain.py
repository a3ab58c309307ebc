"""Abstention: does the library answer this question at all? Turns signals into a probability; asks nothing itself.

A logistic regression over what retrieval and the model's judgement say about the best passage. The coefficients were
fitted on ``eval/data/calibration.jsonl`` by ``python -m eval calibrate`` (five-fold cross-validation; its figures
stand in docs/LOG.md), never on the exam. A model's yes-probability drifts with the model, so each has its own row; a
model without one is judged by the default's.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from rag.domain import Hit


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of a passage before a word is written.

    ``yes`` is P(yes); similarity, overlap and named are the ``Hit``'s. ``margin`` is how far the log-odds of yes stand
    above the median of all candidates that were judged for the question: some topics make a small model say yes to
    everything, and then only what stands out belongs. 0 where candidates are not compared.
    """

    yes: float
    similarity: float
    overlap: float
    named: bool
    margin: float = 0.0

    @classmethod
    def of(cls, hit: Hit, yes: float, margin: float = 0.0) -> Signals:
        """The signals of one judged hit."""
        return cls(yes, hit.similarity, hit.overlap, hit.named, margin)

    def features(self) -> tuple[float, float, float, float, float]:
        """The regression's inputs: log-odds of yes (clipped at +-8), similarity, overlap, named, margin."""
        return log_odds(self.yes), self.similarity, self.overlap, float(self.named), self.margin


@dataclass(frozen=True, slots=True)
class Calibration:
    """Intercept and one weight a feature of ``Signals.features``."""

    intercept: float
    weights: tuple[float, float, float, float, float]

    def probability(self, signals: Signals) -> float:
        """Probability in [0, 1] that the passage answers the question."""
        z = self.intercept + sum(w * x for w, x in zip(self.weights, signals.features(), strict=True))
        return 1.0 / (1.0 + math.exp(-z))


_REFUSES = re.compile(
    r"\b(?:passages?|abstracts?|papers?|text|context)\b[^.;,]{0,30}\b(?:do(?:es)? not|doesn't|don't|did not|never)\s+"
    r"(?:explicitly\s+|directly\s+|specifically\s+)?(?:provide|mention|state|specify|contain|say|give|include|describe|"
    r"discuss|address|indicate|disclose|report)"
    r"|\b(?:is|are|was|were) not (?:explicitly |directly |specifically )?"
    r"(?:provided|mentioned|stated|specified|given|disclosed|reported|available)\b[^.;]*\b(?:passage|abstract|paper|text)"
    r"|\bno (?:specific |explicit )?(?:information|mention|details?)\b|\b(?:cannot|can't|can not) be (?:determined|answered)\b"
    r"|(?:没有|未|并未)(?:明确)?(?:提到|提及|说明|提供|给出|指出)",
    re.IGNORECASE,
)

DEFAULT_MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
ANSWERABLE: dict[str, Calibration] = {
    DEFAULT_MODEL: Calibration(0.0, (1.0, 0.0, 0.0, 0.0, 0.0)),
}
"""Does this passage answer the question? By model."""
BELONGS: dict[str, Calibration] = {
    DEFAULT_MODEL: Calibration(0.0, (1.0, 0.0, 0.0, 0.0, 0.0)),
}
"""Does this paper belong in the list that the question asks for? By model."""


def calibration(table: dict[str, Calibration], model: str) -> Calibration:
    """The row of a model, else the default's."""
    return table.get(model, table[DEFAULT_MODEL])


def refuses(sentence: str) -> bool:
    """Whether a drafted sentence only says, in words, that the passage does not state it."""
    return bool(_REFUSES.search(sentence))


def log_odds(p: float) -> float:
    """ln(p / (1 - p)), clipped to [-8, 8] so that a rounded 0 or 1 stays finite."""
    p = min(max(p, 1e-9), 1 - 1e-9)
    return max(-8.0, min(8.0, math.log(p / (1 - p))))
