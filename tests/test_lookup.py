"""Guesses come from the prompt's texts: the longer an answer repeats one, the more; none where it forks."""

from __future__ import annotations

from models.lookup import STEPS, Lookup

LONG, SHORT, LEAST = STEPS
TEXT = list(range(100, 160))


def test_the_longer_the_answer_repeats_a_text_the_more_is_guessed():
    lookup = Lookup([TEXT])
    for step in STEPS:
        guess = lookup.guess([9, *TEXT[: step.shared]])
        assert guess == tuple(TEXT[step.shared : step.shared + step.guessed])
    for longer, step in ((LONG, SHORT), (SHORT, LEAST)):
        assert len(lookup.guess([9, *TEXT[: longer.shared - 1]])) == step.guessed


def test_fewer_tokens_than_the_least_or_other_ones_guess_nothing():
    lookup = Lookup([TEXT])
    assert lookup.guess([]) == ()
    assert lookup.guess(TEXT[: LEAST.shared - 1]) == ()
    assert lookup.guess([*TEXT[: LEAST.shared - 1], 9]) == ()


def test_a_guess_ends_with_its_text():
    lookup = Lookup([TEXT, [200, 201, 202, 203]])
    assert lookup.guess(TEXT[40:58]) == (158, 159)  # too few left for the longest guess
    assert lookup.guess(TEXT[55:]) == ()
    assert lookup.guess([*TEXT[58:], 200]) == ()


def test_the_longest_guess_stops_before_a_sentence_ends_soon():
    start, half = LONG.shared, (LONG.guessed + 1) // 2
    assert len(Lookup([TEXT], [TEXT[start + half - 1]]).guess(TEXT[:start])) == SHORT.guessed
    assert len(Lookup([TEXT], [TEXT[start + half]]).guess(TEXT[:start])) == LONG.guessed


def test_places_that_disagree_guess_nothing_and_a_third_does_not_settle_it():
    one, other = [1, 2, 3, 4], [1, 2, 3, 5]
    assert Lookup([one, one]).guess([1, 2, 3]) == (4,)
    for texts in ([one, other], [one, other, one], [one, other, other]):
        assert Lookup(texts).guess([1, 2, 3]) == ()


def test_a_place_that_shares_more_is_believed():
    assert Lookup([[7, 1, 2, 3, 4], [8, 1, 2, 3, 5]]).guess([7, 1, 2, 3]) == (4,)
    assert Lookup([[7, 1, 2, 3, 4], [7, 1, 2, 3, 5]]).guess([7, 1, 2, 3]) == ()


def test_no_texts_no_guess():
    assert Lookup([]).guess([1, 2, 3]) == ()
    assert Lookup([[1, 2, 3]]).guess([1, 2, 3]) == ()
