"""Logistic regression from signals to a probability, in the form that ``rag.abstain`` keeps. Collects no signals.

An item is what one decision is made on: the candidates of a question of which the best one counts, or a single one.
Which candidate is the best one depends on the fit, so fitting and choosing alternate until the choice stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eval.signals import Collected, Road
from rag.abstain import FEATURES, Calibration, Decision, Signals
from rag.judge import is_sure

Weight = Literal["balanced"] | None
START = Calibration(0.0, {"yes": 1.0})
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
    settles: bool = True
    """Whether a sure first candidate settles it, as ``rag.judge`` has it."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted row and its figures by cross-validation.

    ``kept`` is the share of positives at or above a threshold, ``abstain`` the share of negatives below it; at 0.5 and
    at ``threshold``, the highest one that keeps ``KEPT`` of the positives. ``said`` are the items' probabilities, each
    by a row that did not see its question.
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
    said: tuple[float, ...] = ()

    @property
    def shifted(self) -> Calibration:
        """The same row with its intercept moved so that ``threshold`` becomes 0.5."""
        t = min(max(self.threshold, 1e-6), 1 - 1e-6)
        return Calibration(round(self.row.intercept - math.log(t / (1 - t)), 4), self.row.weights)


def _best_of(one: Collected) -> list[Item]:
    return [Item(one.id, one.answerable, tuple(c.signals for c in one.candidates), one.settles)]


def _written(one: Collected) -> list[Item]:
    return [] if one.written is None else [Item(one.id, one.answerable, (one.candidates[one.written].signals,))]


def _each(one: Collected) -> list[Item]:
    return [Item(one.id, candidate.gold, (candidate.signals,)) for candidate in one.candidates]


_ITEMS: Mapping[Decision, tuple[Road, Callable[[Collected], list[Item]]]] = {
    Decision.ANSWERABLE: (Road.ANSWER, _best_of),
    Decision.ANSWERED: (Road.ANSWER, _written),
    Decision.BELONGS: (Road.LIST, _each),
}


def items(collected: Sequence[Collected], decision: Decision) -> list[Item]:
    """What a decision is made on; questions without candidates decide nothing."""
    road, made = _ITEMS[decision]
    return [item for one in collected if one.road is road and one.candidates for item in made(one)]


def probability(row: Calibration, item: Item) -> float:
    """What the program would take for the probability: the first candidate's when it is sure, else the best one's."""
    return row.probability(_chosen(row, item))


def _chosen(row: Calibration, item: Item) -> Signals:
    first = item.candidates[0]
    if item.settles and is_sure(row.probability(first)):
        return first
    return max(item.candidates, key=row.probability)


def fit(data: Sequence[Item], decision: Decision, weight: Weight = None) -> Calibration:
    """Weights for the decision's features by logistic regression (L2, C = 1, on standardized features).

    Of the rows that fitting and choosing went through, the one with the least log loss on its own choice: the two may
    go round in a circle. Raises ValueError when the items are all positive or all negative.
    """
    rows, chosen = [START], list[Signals]()
    for _ in range(ROUNDS):
        before, chosen = chosen, [_chosen(rows[-1], item) for item in data]
        if chosen == before:
            break
        rows.append(_regression(chosen, [item.positive for item in data], FEATURES[decision], weight))
    return min(rows[1:], key=lambda row: _log_loss(row, data, weight))


def _log_loss(row: Calibration, data: Sequence[Item], weight: Weight) -> float:
    """Mean of -ln of the probability given to what is right; balanced, both classes weigh the same."""
    losses: dict[bool, list[float]] = {True: [], False: []}
    for item in data:
        p = probability(row, item)
        losses[item.positive].append(-math.log(max(p if item.positive else 1 - p, 1e-12)))
    means = [sum(some) / len(some) for some in losses.values()]
    return sum(means) if weight else sum(map(sum, losses.values())) / len(data)


def _regression(
    signals: Sequence[Signals], labels: Sequence[bool], names: Sequence[str], weight: Weight
) -> Calibration:
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    x = np.asarray([[s.feature(name) for name in names] for s in signals], float)
    scaler = StandardScaler().fit(x)
    model = LogisticRegression(C=1.0, class_weight=weight, max_iter=1000).fit(scaler.transform(x), labels)
    # Fold the scaling back in: w'(x - mean) / scale + b = (w / scale)'x + b - w'mean / scale.
    weights = model.coef_[0] / scaler.scale_
    intercept = float(model.intercept_[0] - weights @ scaler.mean_)
    return Calibration(round(intercept, 4), {n: round(float(w), 4) for n, w in zip(names, weights, strict=True)})


def held_out(data: Sequence[Item], decision: Decision, weight: Weight = None) -> list[float]:
    """Each item's probability by a row that was fitted without its fold; a question's items share a fold."""
    import numpy as np
    from sklearn.model_selection import StratifiedGroupKFold

    labels = np.asarray([item.positive for item in data])
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    said = [math.nan] * len(data)
    for train, test in folds.split(np.zeros((len(data), 1)), labels, [item.group for item in data]):
        row = fit([data[i] for i in train], decision, weight)
        for i in test:
            said[i] = probability(row, data[i])
    return said


def evaluate(data: Sequence[Item], decision: Decision, weight: Weight = None) -> Fit:
    """Fit on everything, and measure by cross-validation. Raises ValueError when a class has too few questions."""
    from sklearn.metrics import roc_auc_score

    said = held_out(data, decision, weight)
    yes = sorted(p for p, item in zip(said, data, strict=True) if item.positive)
    no = [p for p, item in zip(said, data, strict=True) if not item.positive]
    # The highest threshold that loses no more positives than allowed is the first positive that must be kept.
    threshold = yes[math.floor((1 - KEPT) * len(yes) + 1e-9)]
    return Fit(
        row=fit(data, decision, weight),
        positives=len(yes),
        negatives=len(no),
        auc=float(roc_auc_score([item.positive for item in data], said)),
        kept=_share_from(yes, 0.5),
        abstain=1 - _share_from(no, 0.5),
        threshold=threshold,
        kept_there=_share_from(yes, threshold),
        abstain_there=1 - _share_from(no, threshold),
        said=tuple(said),
    )


def _share_from(values: Sequence[float], threshold: float) -> float:
    return sum(v >= threshold for v in values) / len(values)


def whole_road(
    collected: Sequence[Collected],
    worth: Mapping[str, float],
    borne_out: Mapping[str, float],
    *,
    gate: float,
    threshold: float,
) -> tuple[float, float]:
    """Shares kept and abstained when both decisions and the verification between them have their say.

    ``worth`` and ``borne_out`` are the held-out probabilities before and after writing, by question; a question that
    isn't in ``borne_out`` had no sentence left. Below ``gate`` nothing is written, below ``threshold`` nothing stands.
    """
    mine = [c for c in collected if c.road is Road.ANSWER and c.candidates]
    answered = {c.id: worth[c.id] >= gate and borne_out.get(c.id, 0.0) >= threshold for c in mine}
    yes = [answered[c.id] for c in mine if c.answerable]
    no = [not answered[c.id] for c in mine if not c.answerable]
    return sum(yes) / max(len(yes), 1), sum(no) / max(len(no), 1)
