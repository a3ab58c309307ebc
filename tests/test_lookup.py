"""Guesses come from the passages, where three tokens in a row agree on what follows, and nowhere else."""

from __future__ import annotations

from models.lookup import GUESSED, MATCH, Lookup

PASSAGE = [1, 2, 3, 4, 5, 6, 7, 8]


def test_what_follows_the_last_tokens_is_guessed():
    lookup = Lookup([PASSAGE])
    assert lookup.guess([9, 2, 3, 4]) == (5, 6, 7)
    assert len(lookup.guess([2, 3, 4])) == GUESSED


def test_fewer_tokens_than_a_match_or_other_ones_guess_nothing():
    lookup = Lookup([PASSAGE])
    assert lookup.guess([]) == ()
    assert lookup.guess(PASSAGE[: MATCH - 1]) == ()
    assert lookup.guess([2, 3, 9]) == ()


def test_a_guess_ends_with_its_passage():
    lookup = Lookup([PASSAGE, [20, 21, 22, 23]])
    assert lookup.guess([5, 6, 7]) == (8,)
    assert lookup.guess([6, 7, 8]) == ()
    assert lookup.guess([7, 8, 20]) == ()


def test_places_that_disagree_guess_nothing_and_a_third_does_not_settle_it():
    one, other = [1, 2, 3, 4], [1, 2, 3, 5]
    assert Lookup([one, one]).guess([1, 2, 3]) == (4,)
    for passages in ([one, other], [one, other, one], [one, other, other]):
        assert Lookup(passages).guess([1, 2, 3]) == ()


def test_no_passages_no_guess():
    assert Lookup([]).guess([1, 2, 3]) == ()
    assert Lookup([[1, 2, 3]]).guess([1, 2, 3]) == ()
