"""Question files are read whole, or refused with the file, the line and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.datasets import Gold, Question, default_calibration, default_exam, read_questions
from rag.errors import ReadError

FACT = {
    "id": "q1",
    "kind": "fact",
    "turns": ["How many?"],
    "answerable": True,
    "facts": ["\\b7\\b"],
    "gold": [{"file": "a.txt", "anchor": "Foo"}],
}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return path


def test_a_line_becomes_a_question(tmp_path: Path) -> None:
    none = {"id": "q2", "kind": "unanswerable", "turns": ["What is Foo?", "And its size?"], "answerable": False}
    found = read_questions(write(tmp_path / "q.jsonl", FACT, "", none))
    assert found == [
        Question("q1", "fact", ("How many?",), True, ("\\b7\\b",), (Gold("Foo", "a.txt"),)),
        Question("q2", "unanswerable", ("What is Foo?", "And its size?"), False),
    ]
    assert found[1].asked == "And its size?"
    assert len({*found, *found}) == 2


def test_a_byte_order_mark_and_other_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    row = {**FACT, "turns": ["one\u2028two"]}
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(row, ensure_ascii=False).encode() + b"\r\n")
    assert read_questions(path)[0].turns == ("one\u2028two",)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"id": ""}, "'id'"),
        ({"id": 7}, "'id'"),
        ({"kind": None}, "'kind'"),
        ({"turns": []}, "'turns'"),
        ({"turns": "How many?"}, "'turns'"),
        ({"turns": ["How many?", " "]}, "'turns'"),
        ({"answerable": "yes"}, "'answerable'"),
        ({"facts": "7"}, "'facts'"),
        ({"facts": ["("]}, "not a regular expression"),
        ({"gold": [{"file": "a.txt"}]}, "'gold'"),
        ({"gold": []}, "'gold'"),
    ],
)
def test_a_broken_field_is_named_with_file_and_line(tmp_path: Path, broken: dict[str, object], says: str) -> None:
    path = write(tmp_path / "q.jsonl", FACT, {**FACT, "id": "q2", **broken})
    with pytest.raises(ReadError) as caught:
        read_questions(path)
    message = str(caught.value)
    assert f"{path}:2" in message
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize("line", ["{", "[1]", '"text"', "nonsense"])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "q.jsonl", FACT, line)
    with pytest.raises(ReadError, match=r"q\.jsonl:2 "):
        read_questions(path)


def test_bytes_that_are_no_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(ReadError, match=r"q\.jsonl:1 .*UTF-8"):
        read_questions(path)


def test_an_id_comes_once(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"q\.jsonl:3: id 'q1' is taken by line 1"):
        read_questions(write(tmp_path / "q.jsonl", FACT, "", FACT))


def test_a_file_without_questions_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no questions"):
        read_questions(write(tmp_path / "q.jsonl"))
    with pytest.raises(ReadError, match=r"none\.jsonl can't be read"):
        read_questions(tmp_path / "none.jsonl")


def test_the_sets_that_come_along_are_whole_and_share_no_question() -> None:
    exam, calibration = read_questions(default_exam()), read_questions(default_calibration())
    assert len(exam) == 83
    assert {q.answerable for q in exam} == {True, False}
    assert not {q.turns for q in exam} & {q.turns for q in calibration}
    assert not {q.id for q in exam} & {q.id for q in calibration}


def test_each_anchor_picks_one_abstract_of_the_sample() -> None:
    from importlib.resources import files

    from rag.corpus import read_papers

    papers = [
        paper for path in sorted(Path(str(files("rag") / "sample")).glob("*.txt")) for paper in read_papers(path).papers
    ]
    for question in read_questions(default_exam()) + read_questions(default_calibration()):
        for gold in question.gold:
            assert sum(gold.anchor in paper.text for paper in papers) == 1, (question.id, gold.anchor)
