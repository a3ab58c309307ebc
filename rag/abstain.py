"""Abstention: does the library answer this question at all? Turns signals into a probability; asks nothing itself.

Logistic regressions over what retrieval, the model's judgement of the passage and its judgement of the finished draft
say. Three decisions, each with the features that helped it: is the passage worth writing from, is the draft borne out
by it, does a paper belong in a list. The coefficients were fitted on ``eval/data/calibration.jsonl`` by
``python -m eval calibrate`` (cross-validated; the figures stand in docs/LOG.md), never on the exam. A model's
yes-probability drifts with the model, so each has its own row; a model without one is judged by the default's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rag.domain import Hit


class Decision(StrEnum):
    """What is decided."""

    ANSWERABLE = "answerable"
    """Before writing: does this passage answer the question?"""
    ANSWERED = "answered"
    """After writing: does the draft answer it from the passage?"""
    BELONGS = "belongs"
    """Does this paper belong in the list that the question asks for?"""


FEATURES: Mapping[Decision, tuple[str, ...]] = {
    Decision.ANSWERABLE: ("yes", "strange"),
    Decision.ANSWERED: ("yes", "strange", "claim"),
    Decision.BELONGS: ("yes", "similarity", "overlap", "margin"),
}


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of a passage with respect to a question.

    ``yes`` is P(yes) of its judgement; similarity and overlap are the ``Hit``'s. ``strange`` counts the question's
    names that the paper doesn't contain. ``margin`` is how far the log-odds of yes stand above the median of all
    candidates judged for the question: some topics make a small model say yes to everything, and then only what stands
    out belongs. ``claim`` is P(yes) that the passage states the draft, 0.5 before there is one.
    """

    yes: float
    similarity: float = 0.0
    overlap: float = 0.0
    strange: int = 0
    margin: float = 0.0
    claim: float = 0.5

    @classmethod
    def of(cls, hit: Hit, yes: float, strange: int, margin: float = 0.0) -> Signals:
        """The signals of one judged hit."""
        return cls(yes, hit.similarity, hit.overlap, strange, margin)

    def feature(self, name: str) -> float:
        """One input of the regression: probabilities as log-odds, ``strange`` at most 2, the rest as they are."""
        value = float(getattr(self, name))
        if name in ("yes", "claim"):
            return log_odds(value)
        return min(value, 2.0) if name == "strange" else value


@dataclass(frozen=True, slots=True)
class Calibration:
    """Intercept and a weight for each feature of a decision."""

    intercept: float
    weights: Mapping[str, float]

    def probability(self, signals: Signals) -> float:
        """Probability in [0, 1] that the decision is yes."""
        z = self.intercept + sum(weight * signals.feature(name) for name, weight in self.weights.items())
        return 1.0 / (1.0 + math.exp(-z))


_REFUSES = re.compile(
    r"\b(?:passages?|abstracts?|papers?|text|context)\b[^.;,]{0,30}\b(?:do(?:es)? not|doesn't|don't|did not|never)\s+"
    r"(?:explicitly\s+|directly\s+|specifically\s+)?(?:provide|mention|state|specify|contain|say|give|include|describe|"
    r"discuss|address|indicate|disclose|report)"
    r"|\b(?:is|are|was|were) not (?:explicitly |directly |specifically )?"
    r"(?:provided|mentioned|stated|specified|given|disclosed|reported|available)\b[^.;]*\b(?:passage|abstract|paper|text)"
    r"|\bno (?:specific |explicit )?(?:information|mention|details?)\b"
    r"|\b(?:cannot|can't|can not) be (?:determined|answered)\b"
    r"|(?:没有|未|并未)(?:明确)?(?:提到|提及|说明|提供|给出|指出)",
    re.IGNORECASE,
)

DEFAULT_MODEL = "qwen2.5-coder-1.5b-instruct-q4_k_m"
CALIBRATIONS: Mapping[Decision, Mapping[str, Calibration]] = {
    Decision.ANSWERABLE: {DEFAULT_MODEL: Calibration(-1.919, {"yes": 2.324, "strange": -2.355})},
    Decision.ANSWERED: {DEFAULT_MODEL: Calibration(-2.894, {"yes": 1.901, "strange": -1.942, "claim": 1.066})},
    Decision.BELONGS: {
        DEFAULT_MODEL: Calibration(-6.765, {"yes": 0.6036, "similarity": 1.83, "overlap": 6.886, "margin": 3.03})
    },
}


def calibration(decision: Decision, model: str) -> Calibration:
    """The row of a decision for a model, else the default model's."""
    rows = CALIBRATIONS[decision]
    return rows.get(model, rows[DEFAULT_MODEL])


def refuses(sentence: str) -> bool:
    """Whether a drafted sentence only says, in words, that the passage does not state it."""
    return bool(_REFUSES.search(sentence))


def log_odds(p: float) -> float:
    """ln(p / (1 - p)), clipped to [-8, 8] so that a rounded 0 or 1 stays finite."""
    p = min(max(p, 1e-9), 1 - 1e-9)
    return max(-8.0, min(8.0, math.log(p / (1 - p))))
