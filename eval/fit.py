"""Logistic regression from signals to a probability, in the form that ``rag.abstain`` keeps. Collects no signals.

An item is what one decision is made on: the candidates of a question of which the best one counts, or one candidate of
a list. Which candidate is the best one depends on the fit, so fitting and choosing alternate until the choice stays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from eval.signals import Collected, Road
from rag.abstain import Calibration, Signals
from rag.judge import SURE

Weight = Literal["balanced"] | None
START = Calibration(0.0, (1.0, 0.0, 0.0, 0.0))
ROUNDS = 10
FOLDS = 5
KEPT = 0.97
"""Share of the positives that the second threshold keeps."""


@dataclass(frozen=True, slots=True)
class Item:
    """Signals of the candidates of one decision, the right decision, and the question that it belongs to."""

    group: str
    positive: bool
    candidates: tuple[Signals, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted row and its figures by cross-validation.

    ``kept`` is the share of positives at or above a threshold, ``abstain`` the share of negatives below it; at 0.5 and
    at ``threshold``, the highest one that keeps ``KEPT`` of the positives.
    """

    row: Calibration
    positives: int
    negatives: int
    auc: float
    kept: float
    abstain: float
    threshold: float
    kept_there: float
    abstain_there: float

    @property
    def shifted(self) -> Calibration:
        """The same row with its intercept moved so that ``threshold`` becomes 0.5."""
        t = min(max(self.threshold, 1e-6), 1 - 1e-6)
        return Calibration(self.row.intercept - math.log(t / (1 - t)), self.row.weights)


def items(collected: Sequence[Collected], road: Road) -> list[Item]:
    """The decisions of one road; questions without candidates decide nothing."""
    mine = [c for c in collected if c.road is road and c.candidates]
    if road is Road.ANSWERABLE:
        return [Item(c.id, c.answerable, tuple(one.signals for one in c.candidates)) for c in mine]
    return [Item(c.id, one.gold, (one.signals,)) for c in mine for one in c.candidates]


def probability(row: Calibration, item: Item) -> float:
    """What the program would take for the probability: the first candidate's when it is sure, else the best one's."""
    return row.probability(_chosen(row, item))


def _chosen(row: Calibration, item: Item) -> Signals:
    first = item.candidates[0]
    return first if row.probability(first) >= SURE else max(item.candidates, key=row.probability)


def fit(data: Sequence[Item], weight: Weight = None) -> Calibration:
    """Weights for ``Signals.features`` by logistic regression (L2, C = 1, on standardized features).

    Raises ValueError when the items are all positive or all negative.
    """
    row, chosen = START, list[Signals]()
    for _ in range(ROUNDS):
        before, chosen = chosen, [_chosen(row, item) for item in data]
        if chosen == before:
            break
        row = _regression([s.features() for s in chosen], [item.positive for item in data], weight)
    return row


def _regression(features: Sequence[Sequence[float]], labels: Sequence[bool], weight: Weight) -> Calibration:
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    x = np.asarray(features, float)
    scaler = StandardScaler().fit(x)
    model = LogisticRegression(C=1.0, class_weight=weight, max_iter=1000).fit(scaler.transform(x), labels)
    # Fold the scaling back in: w'(x - mean) / scale + b = (w / scale)'x + b - w'mean / scale.
    weights = model.coef_[0] / scaler.scale_
    intercept = float(model.intercept_[0] - weights @ scaler.mean_)
    first, second, third, fourth = (round(float(w), 4) for w in weights)
    return Calibration(round(intercept, 4), (first, second, third, fourth))


def held_out(data: Sequence[Item], weight: Weight = None) -> list[float]:
    """Each item's probability by a row that was fitted without its fold; a question's items share a fold."""
    import numpy as np
    from sklearn.model_selection import StratifiedGroupKFold

    labels = np.asarray([item.positive for item in data])
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    said = [math.nan] * len(data)
    for train, test in folds.split(np.zeros((len(data), 1)), labels, [item.group for item in data]):
        row = fit([data[i] for i in train], weight)
        for i in test:
            said[i] = probability(row, data[i])
    return said


def evaluate(data: Sequence[Item], weight: Weight = None) -> Fit:
    """Fit on everything, and measure by cross-validation. Raises ValueError when a class has too few questions."""
    from sklearn.metrics import roc_auc_score

    said = held_out(data, weight)
    yes = sorted(p for p, item in zip(said, data, strict=True) if item.positive)
    no = [p for p, item in zip(said, data, strict=True) if not item.positive]
    # The highest threshold that loses no more positives than allowed is the first positive that must be kept.
    threshold = yes[math.floor((1 - KEPT) * len(yes) + 1e-9)]
    return Fit(
        row=fit(data, weight),
        positives=len(yes),
        negatives=len(no),
        auc=float(roc_auc_score([item.positive for item in data], said)),
        kept=_share_from(yes, 0.5),
        abstain=1 - _share_from(no, 0.5),
        threshold=threshold,
        kept_there=_share_from(yes, threshold),
        abstain_there=1 - _share_from(no, threshold),
    )


def _share_from(values: Sequence[float], threshold: float) -> float:
    return sum(v >= threshold for v in values) / len(values)
