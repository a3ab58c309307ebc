"""Signals, probabilities and refusals in words."""

import pytest

from rag.abstain import (
    CALIBRATIONS,
    DEFAULT_MODEL,
    FEATURES,
    Calibration,
    Decision,
    Signals,
    calibration,
    log_odds,
    refuses,
)


def test_log_odds_are_finite_and_symmetric():
    assert log_odds(0.5) == pytest.approx(0.0)
    assert log_odds(0.9) == pytest.approx(2.1972, abs=1e-4)
    assert log_odds(0.9) == pytest.approx(-log_odds(0.1))
    assert log_odds(0.0) == -8.0
    assert log_odds(1.0) == 8.0


def test_probability_is_the_logistic_of_the_weighted_features():
    row = Calibration(-1.0, {"yes": 2.0, "strange": -0.5})
    assert row.probability(Signals(0.5)) == pytest.approx(0.2689, abs=1e-4)
    # 2 * 2.1972 - 0.5 * 1 - 1 = 2.8944
    assert row.probability(Signals(0.9, strange=1)) == pytest.approx(0.9476, abs=1e-4)


def test_many_strange_names_count_as_two():
    assert Signals(0.5, strange=9).feature("strange") == 2.0


@pytest.mark.parametrize("decision", list(Decision))
def test_each_decision_has_a_row_with_its_features_and_the_right_signs(decision):
    row = calibration(decision, DEFAULT_MODEL)
    assert tuple(row.weights) == FEATURES[decision]
    assert row.weights["yes"] > 0
    assert row.weights.get("strange", -1) < 0
    assert row.weights.get("claim", 1) > 0
    assert row.weights.get("margin", 1) > 0


def test_an_unknown_model_is_judged_by_the_defaults_row():
    for decision in Decision:
        assert calibration(decision, "no-such-model") is CALIBRATIONS[decision][DEFAULT_MODEL]


@pytest.mark.parametrize(
    "sentence",
    [
        "The passage does not provide specific information about the runtime.",
        "The abstract doesn't mention a license.",
        "The learning rate is not specified in the passage.",
        "There is no information on the hardware.",
        "This cannot be determined from the text.",
        "The paper does not explicitly state the number of layers.",
        "摘要没有提到作者。",
    ],
)
def test_a_refusal_in_words_is_one(sentence):
    assert refuses(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "DWS does not require expanding the action space.",
        "Prior work does not address long horizons, which the passage studies.",
        "It works without labels and needs no extra memory.",
        "The bound is not tight for compact groups.",
        "The authors report that no method wins everywhere.",
    ],
)
def test_a_statement_with_a_negation_is_none(sentence):
    assert not refuses(sentence)
