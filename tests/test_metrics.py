"""Marks mean what they are defined to mean, for hand-made cases and against an oracle of those definitions."""

from __future__ import annotations

import random
import re

import pytest

from eval.datasets import Gold, Question
from eval.metrics import (
    METRICS,
    Abstain,
    CitePrecision,
    CiteRecall,
    Kept,
    Metric,
    Reply,
    Right,
    RightAndCited,
    by_kind,
    grade,
    means,
    summary,
)
from eval.report import latency_table, marks_table, wrong_lines

FOO, BAR, BAZ = "Foo reads 10 maps.", "Bar is trained on 3.5 million sentences.", "Baz paints walls."
FACT = Question("f", "fact", ("How many?",), True, ("\\b10\\b", "maps"), (Gold("Foo"),))
BOTH = Question("m", "multi", ("Which papers?",), True, (), (Gold("Foo"), Gold("Bar")))
NONE = Question("u", "unanswerable", ("Who?",), False)


def marks(question: Question, reply: Reply | None) -> dict[str, float]:
    return {str(m): mark for m, mark in grade([question], {question.id: reply} if reply else {})[0].marks.items()}


@pytest.mark.parametrize(
    ("question", "reply", "expected"),
    [
        (FACT, Reply("It reads 10 MAPS.", cited=(FOO,)), {"kept": 1, "cite_recall": 1, "cite_precision": 1, "right": 1, "right_and_cited": 1}),  # noqa: E501
        (FACT, Reply("It reads 10 maps.", cited=(BAR,)), {"kept": 1, "cite_recall": 0, "cite_precision": 0, "right": 1, "right_and_cited": 0}),  # noqa: E501
        (FACT, Reply("It reads 10 maps."), {"kept": 1, "cite_recall": 0, "cite_precision": 0, "right": 1, "right_and_cited": 0}),  # noqa: E501
        (FACT, Reply("It reads 10 books.", cited=(FOO, BAR)), {"kept": 1, "cite_recall": 1, "cite_precision": 0.5, "right": 0, "right_and_cited": 0}),  # noqa: E501
        (FACT, Reply("Not said: 10 maps.", abstained=True), {"kept": 0, "cite_recall": 0, "cite_precision": 0, "right": 0, "right_and_cited": 0}),  # noqa: E501
        (FACT, None, {"kept": 1, "cite_recall": 0, "cite_precision": 0, "right": 0, "right_and_cited": 0}),
        (BOTH, Reply("Foo.", cited=(FOO, BAZ, BAZ)), {"kept": 1, "cite_recall": 0.5, "cite_precision": 1 / 3}),
        (BOTH, Reply("Both.", cited=(BAR, FOO)), {"kept": 1, "cite_recall": 1, "cite_precision": 1}),
        (BOTH, None, {"kept": 1, "cite_recall": 0, "cite_precision": 0}),
        (NONE, Reply("The abstracts don't say.", abstained=True), {"abstain": 1}),
        (NONE, Reply("Ada."), {"abstain": 0}),
        (NONE, None, {"abstain": 0}),
    ],
)  # fmt: skip
def test_marks_of_hand_made_cases(question: Question, reply: Reply | None, expected: dict[str, float]) -> None:
    assert marks(question, reply) == pytest.approx(expected)


def test_metrics_are_values_that_go_by_their_name() -> None:
    assert str(RightAndCited) == repr(RightAndCited) == "right_and_cited"
    assert Metric("right", lambda _q, _r: 0.0) == Right
    assert hash(Metric("right", lambda _q, _r: 0.0)) == hash(Right)
    assert {Kept: 1}[Metric("kept", Abstain.mark)] == 1
    assert len({*METRICS}) == len({m.name for m in METRICS}) == 6
    assert Abstain(FACT, None) is None
    assert Right(BOTH, None) is None
    assert {CiteRecall(NONE, None), CitePrecision(NONE, None), Kept(NONE, None)} == {None}


def test_a_question_without_reply_stays_in_every_mean() -> None:
    other = Question("g", "fact", ("How many?",), True, ("10",), (Gold("Foo"),))
    graded = grade([FACT, other, NONE], {"f": Reply("10 maps", cited=(FOO,), seconds=2.0)})
    assert means(graded)[Right] == (0.5, 2)
    assert means(graded)[Abstain] == (0.0, 1)
    assert summary(graded) == {
        "all": {
            "kept": 1.0,
            "cite_recall": 0.5,
            "cite_precision": 0.5,
            "right": 0.5,
            "right_and_cited": 0.5,
            "abstain": 0.0,
            "n": 3,
            "seconds_p50": 2.0,
        },
        "by_kind": {
            "fact": {"kept": 1.0, "cite_recall": 0.5, "cite_precision": 0.5, "right": 0.5, "right_and_cited": 0.5},
            "unanswerable": {"abstain": 0.0},
        },
    }
    assert [g.question.id for g in by_kind(graded)["fact"]] == ["f", "g"]


def test_without_times_there_is_no_median_of_them() -> None:
    assert "seconds_p50" not in summary(grade([NONE], {}))["all"]


def oracle(q: dict, a: dict | None) -> dict[str, float]:
    """The definitions once more, on plain data and without a shortcut."""
    answer, refused, cited = (a["answer"], a["abstained"], a["cited"]) if a else ("", False, [])
    if q["answerable"] is False:
        return {"abstain": 1.0 if refused else 0.0}
    hit_gold = 0
    for anchor in q["gold"]:
        for text in cited:
            if text.find(anchor) >= 0:
                hit_gold += 1
                break
    hit_cited = 0
    for text in cited:
        for anchor in q["gold"]:
            if text.find(anchor) >= 0:
                hit_cited += 1
                break
    found = {"kept": 0.0 if refused else 1.0, "cite_recall": hit_gold / len(q["gold"])}
    found["cite_precision"] = hit_cited / len(cited) if len(cited) > 0 else 0.0
    if len(q["facts"]) > 0:
        missing = [fact for fact in q["facts"] if re.compile(fact, re.I).search(answer) is None]
        right = len(missing) == 0 and not refused
        found["right"] = 1.0 if right else 0.0
        found["right_and_cited"] = 1.0 if right and hit_gold > 0 else 0.0
    return found


def test_marks_agree_with_the_oracle_on_random_exams() -> None:
    draw = random.Random(20)
    papers = [f"{name} does {n} things." for n, name in enumerate(["Foo", "Bar", "Baz", "Qux", "Quux"])]
    anchors = [paper.split()[0] + " does" for paper in papers]
    words = ["ten", "MAPS", "7.5", "walls", "foo"]
    for _ in range(400):
        questions, plain, replies, given = [], {}, {}, {}
        for n in range(draw.randint(1, 6)):
            answerable = draw.random() < 0.7
            q = {
                "answerable": answerable,
                "gold": draw.sample(anchors, draw.randint(1, 3)) if answerable else [],
                "facts": draw.sample(["t(e|o)n", "maps", r"7\.5", "wall|foo"], draw.randint(0, 2))
                if answerable
                else [],
            }
            plain[str(n)] = q
            golds = tuple(Gold(anchor) for anchor in q["gold"])
            kind = draw.choice(["fact", "multi"])
            questions.append(Question(str(n), kind, ("?",), answerable, tuple(q["facts"]), golds))
            if draw.random() < 0.85:
                cited = draw.choices(papers, k=draw.randint(0, 4))
                a = {"answer": " ".join(draw.choices(words, k=4)), "abstained": draw.random() < 0.3, "cited": cited}
                given[str(n)] = a
                replies[str(n)] = Reply(a["answer"], a["abstained"], tuple(cited))
        graded = grade(questions, replies)
        expected = {key: oracle(q, given.get(key)) for key, q in plain.items()}
        for one in graded:
            assert {str(m): v for m, v in one.marks.items()} == pytest.approx(expected[one.question.id])
        for metric, (mean, n) in means(graded).items():
            values = [row[str(metric)] for row in expected.values() if str(metric) in row]
            assert (mean, n) == (pytest.approx(sum(values) / len(values)), len(values))


def test_the_tables_show_means_with_their_n_and_the_wrong_ones() -> None:
    graded = grade(
        [FACT, BOTH, NONE],
        {"f": Reply("10 maps", cited=(FOO,), seconds=1.0, first_word=0.25), "m": Reply("x" * 300, seconds=3.0)},
    )
    rows = {line.split()[0]: " ".join(line.split()) for line in marks_table(graded).splitlines() if line.strip()}
    assert rows["fact"] == "fact 1 1.000 (1) 1.000 (1) 1.000 (1) 1.000 (1) 1.000 (1)"
    assert rows["all"] == "all 3 1.000 (2) 0.500 (2) 0.500 (2) 1.000 (1) 1.000 (1) 0.000 (1)"
    times = latency_table(graded).splitlines()
    assert any(line.split() == ["whole", "answer", "2", "2.00", "2.90"] for line in times)
    assert any(line.split() == ["first", "word", "1", "0.25", "0.25"] for line in times)
    wrong = wrong_lines(graded).splitlines()
    assert [line.split()[1] for line in wrong] == ["m", "u"]
    assert wrong[0].endswith("x…")
    assert len(wrong[0]) < 300
    assert wrong[1].endswith("<no answer>")
