"""Follow-ups: what is made of a question in a conversation, without a model."""

import pytest

from rag.conversation import Understood, understand
from rag.domain import Turn

BLITZ = Turn("What is BlitzRank?", "BlitzRank is a framework for reranking.", ("p1",))
REFUSED = Turn("How fast is NCD?", "The abstracts don't say.", ())
LABELS = {"p1": "BlitzRank", "p2": "NCD"}


def run(question, history, rewriting="", seen=None):
    def rewrite(last, new):
        if seen is not None:
            seen.append((last, new))
        return rewriting

    return understand(question, history, lambda paper_id: LABELS.get(paper_id, ""), rewrite)


def test_the_first_question_is_left_alone():
    assert run("What does it do?", []) == Understood("What does it do?")


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How many tokens does it save?", "How many tokens does BlitzRank save?"),
        ("What are its limits?", "What are BlitzRank's limits?"),
        ("Which datasets is the method tested on?", "Which datasets is BlitzRank tested on?"),
        ("Does this approach need training?", "Does BlitzRank need training?"),
        ("And what does it guarantee?", "And what does BlitzRank guarantee?"),
    ],
)
def test_a_reference_is_replaced_by_the_paper_cited_last(question, asked):
    assert run(question, [BLITZ]) == Understood(asked, ("p1",), follow_up=True)


def test_after_a_refusal_the_name_that_was_asked_about_is_the_subject():
    assert run("What does it do?", [REFUSED]).asked == "What does NCD do?"


def test_a_question_with_a_name_of_its_own_stands_alone():
    assert run("What does sensGAN identify?", [BLITZ]) == Understood("What does sensGAN identify?")


def test_a_question_without_any_reference_is_left_alone_but_keeps_the_focus():
    found = run("What is the capital of Australia?", [BLITZ])
    assert found.asked == "What is the capital of Australia?"
    assert not found.follow_up


def test_an_ellipsis_is_rewritten_by_the_model():
    seen = []
    found = run("And for NCD?", [BLITZ], "What is NCD?", seen)
    assert found.asked == "What is NCD?"
    assert seen == [(BLITZ, "And for NCD?")]


@pytest.mark.parametrize("rewriting", ["", "What is the capital of Australia, and NCD?", "Tell me a joke."])
def test_a_rewriting_that_loses_or_invents_is_not_taken(rewriting):
    found = run("And for NCD?", [BLITZ], rewriting)
    assert "NCD" in found.asked
    assert "BlitzRank" in found.asked
    assert "Australia" not in found.asked


def test_it_is_what_was_talked_about_last():
    assert run("How does it work?", [BLITZ, REFUSED]) == Understood("How does NCD work?", (), follow_up=True)
    assert run("How does it work?", [REFUSED, BLITZ]).asked == "How does BlitzRank work?"
    small_talk = Turn("Thanks!", "The abstracts don't say.", ())
    assert run("How does it work?", [BLITZ, small_talk]).focus == ("p1",)


def test_chinese_reference_keeps_the_focus():
    found = run("它节省多少 token？", [BLITZ])
    assert found.focus == ("p1",)
    assert found.follow_up


@pytest.mark.parametrize("question", ["Explain E-SCOT", "Define RoPE.", "Tell me about sensGAN"])
def test_short_questions_with_a_name_stand_alone(question):
    assert run(question, [BLITZ]).asked == question
    assert not run(question, [BLITZ]).follow_up


@pytest.mark.parametrize("question", ["Is it true that transformers need warmup?", "图神经网络怎样生成分子结构？"])
def test_what_refers_to_nothing_is_left_alone(question):
    assert run(question, [BLITZ]).asked == question
