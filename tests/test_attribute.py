"""Attribution and verification on small abstracts: spans, coverage, verdicts with the right reason."""

import pytest

from rag.attribute import attribute, sources_of
from rag.domain import Paper, Passage, Span, Support
from rag.text import plain
from rag.verify import verify

TEXT = (
    "Rowing far is hard for machines. We propose **OARFISH**, a planner that rests after each mile. "
    "OARFISH needs 42 strokes per mile, 30\\% fewer than PADDLE-2. Trained on 1.5M logs from $\\sigma$-Boat, "
    "it generalizes to kayaks and canoes."
)
QUESTION = "How many strokes does OARFISH need?"


def material(text=TEXT, start=0):
    paper = Paper("p", text, "OARFISH", "file.txt", 0)
    passage = Passage("p:0", "p", Span(start, len(text)), text[start:])
    return paper, passage


def judged(sentence, question=QUESTION, chance=0.0, text=TEXT):
    paper, passage = material(text)
    evidence = attribute(sentence, sources_of([(paper, passage)]), question)
    return evidence, verify(sentence, evidence, plain(text), lambda claim: chance)


def test_source_sentences_have_exact_spans_of_the_paper():
    start = TEXT.index("OARFISH needs")
    paper, passage = material(start=start)
    sources = sources_of([(paper, passage)])
    assert next(s.quote for s in sources).startswith("OARFISH needs 42")
    assert all(paper.text[s.span.start : s.span.end] == s.quote for s in sources)


def test_finds_the_sentence_that_says_it():
    evidence, verdict = judged("It takes 42 strokes per mile.")
    assert [s.quote[:18] for s in evidence.sources] == ["OARFISH needs 42 s"]
    assert verdict.support is Support.SUPPORTED


def test_two_facts_from_two_sentences_cite_both_in_reading_order():
    evidence, verdict = judged("OARFISH was trained on 1.5 million logs and needs 42 strokes.")
    assert [TEXT.index(s.quote) for s in evidence.sources] == sorted(TEXT.index(s.quote) for s in evidence.sources)
    assert {s.quote.split()[0] for s in evidence.sources} == {"OARFISH", "Trained"}
    assert verdict.support is Support.SUPPORTED


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("OARFISH needs 43 strokes per mile.", "43"),
        ("It was trained on 1.5 billion logs.", "1500000000"),
        ("OARFISH beats ROWNET in strokes per mile.", "rownet"),
        ("OARFISH needs 42 strokes per mile on ImageNet.", "imagenet"),
    ],
)
def test_an_invented_number_or_name_condemns_a_sentence(sentence, named):
    _, verdict = judged(sentence, chance=1.0)
    assert verdict.support is Support.UNSUPPORTED
    assert named in verdict.reason


def test_a_name_that_only_the_question_brought_in_is_missing():
    _, verdict = judged("FASTBOAT needs 42 strokes per mile.", "How many strokes does FASTBOAT need?", chance=1.0)
    assert verdict.support is Support.UNSUPPORTED
    assert "fastboat" in verdict.reason


@pytest.mark.parametrize(("chance", "support"), [(0.9, "supported"), (0.65, "partial"), (0.3, "unsupported")])
def test_between_clearly_high_and_clearly_low_the_model_decides(chance, support):
    sentence = "The planner pauses regularly so that boats travel further."
    evidence, verdict = judged(sentence, chance=chance)
    assert 0.25 <= evidence.coverage < 0.75
    assert verdict.support == support
    assert "model" in verdict.reason


def test_another_script_is_left_to_the_model():
    evidence, verdict = judged("这种方法需要很少的划桨。", chance=0.9)
    assert evidence.coverage is None
    assert verdict.support is Support.SUPPORTED
    _, verdict = judged("这种方法需要很少的划桨。", chance=0.05)
    assert verdict.support is Support.UNSUPPORTED


def test_another_script_with_a_wrong_number_is_not():
    _, verdict = judged("OARFISH 每英里需要 43 次划桨。", chance=0.99)
    assert verdict.support is Support.UNSUPPORTED


def test_nothing_to_go_by_is_unsupported():
    evidence = attribute("Boats float.", [], QUESTION)
    assert verify("Boats float.", evidence, "", lambda claim: 1.0).support is Support.UNSUPPORTED
