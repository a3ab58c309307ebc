"""Verification: is a sentence of the answer backed by the evidence that was found for it? Finds no evidence itself.

Cheap checks first. A number or a name that the paper doesn't contain condemns a sentence, whatever else it says;
wording is free, so the share of its content that the evidence covers decides only when it is clearly high or clearly
low. Between the two, and for a sentence in another language, the model is asked about the passage that it has just
read. A later version may put calibrated thresholds here; these were set on the calibration questions.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag.attribute import Evidence
from rag.domain import Support
from rag.naming import missing_names
from rag.numbers import missing_numbers
from rag.prompt import ClaimJudge
from rag.text import is_english, plain

CLEAR = 0.75
"""Coverage from which a sentence counts as supported without asking the model."""
HOPELESS = 0.25
"""Coverage below which it counts as unsupported without asking the model."""
YES, MAYBE = 0.75, 0.6
"""The model's probability from which a doubtful sentence counts as supported, or as partly supported."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How well a sentence is supported, and the reason in words fit for the user."""

    support: Support
    reason: str


def verify(sentence: str, evidence: Evidence, read: str, judge: ClaimJudge) -> Verdict:
    """Judge one sentence. ``read`` is the plain text of all that the model read for it.

    Numbers and names that only the question brought in count as missing: repeating them in a sentence about another
    paper is the commonest way to be wrong.
    """
    if missing := missing_numbers(plain(sentence), read):
        return Verdict(Support.UNSUPPORTED, f"the number {', '.join(missing)} is not in the abstract")
    if strange := missing_names(sentence, read):
        return Verdict(Support.UNSUPPORTED, f"{', '.join(strange)} is not in the abstract")
    if not evidence.sources and evidence.coverage is not None:
        return Verdict(Support.UNSUPPORTED, "no sentence of the abstract says this")
    return _by_content(sentence, evidence, judge)


def _by_content(sentence: str, evidence: Evidence, judge: ClaimJudge) -> Verdict:
    coverage = evidence.coverage
    if coverage is not None and coverage >= CLEAR:
        return Verdict(Support.SUPPORTED, f"the cited words cover {coverage:.0%} of the sentence")
    if coverage is not None and coverage < HOPELESS and is_english(sentence):
        return Verdict(Support.UNSUPPORTED, f"the closest words cover only {coverage:.0%} of the sentence")
    chance = judge(sentence)
    said = f"the model gives {chance:.0%} that the passage states all of it"
    if chance >= YES:
        return Verdict(Support.SUPPORTED, said)
    return Verdict(Support.PARTIAL if chance >= MAYBE else Support.UNSUPPORTED, said)
