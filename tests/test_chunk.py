"""Passages and windows: lengths, coverage, exact offsets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rag
from rag.chunk import overlapping, passages, split, windows
from rag.corpus import paper_id, read_papers
from rag.domain import Paper
from rag.sentences import sentences


def count(text: str) -> int:
    return len(text.split())


def subwords(text: str) -> int:
    """Like a real tokenizer: long words are several tokens, Chinese characters one each."""
    return sum(-(-len(word) // 4) if word.isascii() else len(word) for word in text.split())


def paper(text: str) -> Paper:
    return Paper(paper_id(text), text, "x")


def sample() -> list[Paper]:
    return [
        p for path in sorted((Path(rag.__file__).parent / "sample").glob("*.txt")) for p in read_papers(path).papers
    ]


def test_whole_abstract_when_it_fits():
    one = paper("  First sentence here. Second one. \n")
    (passage,) = passages(one, count, 5)
    assert passage.text == "First sentence here. Second one."
    assert (passage.span.start, passage.span.end) == (2, 34)
    assert passage.paper_id == one.id
    assert passage.id == f"{one.id}:2-34"
    assert windows(passage, count, 5) == [passage.span]


def test_split_at_sentences_into_equal_parts():
    text = " ".join(f"Sentence number {n} has six words." for n in range(10))
    parts = passages(paper(text), count, 33)
    assert [count(part.text) for part in parts] == [30, 30]
    assert all(part.text.startswith("Sentence") and part.text.endswith("words.") for part in parts)


def test_long_sentence_is_split_at_words():
    text = "Short one. " + " ".join(f"w{n}" for n in range(50)) + ". Another short one."
    parts = passages(paper(text), count, 20)
    assert max(count(part.text) for part in parts) <= 20
    assert " ".join(part.text for part in parts) == text


def test_text_without_blanks_is_split_at_characters():
    text = "实验表明该方法在多个模型上取得了最先进的性能" * 10
    parts = passages(paper(text), subwords, 40)
    assert "".join(part.text for part in parts) == text
    assert max(subwords(part.text) for part in parts) <= 40


def test_windows_overlap_by_a_sentence():
    text = " ".join(f"Sentence number {n} has six words." for n in range(10))
    (passage,) = passages(paper(text), count, 100)
    spans = windows(passage, count, 36)
    assert len(spans) == 2
    assert text[spans[1].start : spans[0].end] == "Sentence number 4 has six words."
    assert (spans[0].start, spans[-1].end) == (0, len(text))


def test_windows_speak_of_the_paper_not_of_the_passage():
    text = " ".join(f"Sentence number {n} has six words." for n in range(20))
    for passage in passages(paper(text), count, 40):
        for span in windows(passage, count, 20):
            assert text[span.start : span.end] in passage.text
            assert passage.span.start <= span.start < span.end <= passage.span.end


def test_sample_fits_and_is_cut_at_sentences():
    for one in sample():
        assert len(passages(one, subwords, 1000)) == 1
        ends = {span.end for span in sentences(one.text)}
        parts = passages(one, subwords, 150)
        assert {part.span.end for part in parts} <= ends
        assert max(subwords(part.text) for part in parts) <= 150


@pytest.mark.parametrize("text", ["", "   \n "])
def test_nothing(text):
    assert passages(paper(text), count, 10) == []
    assert overlapping(text, count, 10) == []


TEXTS = st.lists(
    st.sampled_from(["Word", "two.", "ends!", "中文。", "x" * 50, "e.g.", "\n", " ", "a"]), max_size=60
).map(" ".join)


@settings(deadline=None)
@given(TEXTS | st.text(max_size=200), st.integers(1, 30), st.sampled_from([count, subwords]))
def test_pieces_fit_and_cover(text, limit, counter):
    one = paper(text)
    parts = passages(one, counter, limit)
    at = 0
    for part in parts:
        assert part.text == text[part.span.start : part.span.end]
        assert part.text == part.text.strip()
        assert part.text
        assert not text[at : part.span.start].strip(), "nothing but white space is left out"
        assert counter(part.text) <= limit or len(part.text) == 1
        at = part.span.end
        for window in windows(part, counter, limit):
            assert part.span.start <= window.start < window.end <= part.span.end
            assert counter(text[window.start : window.end]) <= limit or window.end - window.start == 1
    assert not text[at:].strip()
    assert len({part.id for part in parts}) == len(parts)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 30))
def test_windows_cover_their_passage(text, limit):
    spans = overlapping(text, count, limit)
    at = 0
    for span in spans:
        assert span.start <= at or not text[at : span.start].strip()
        assert span.end > at
        at = span.end
    assert not text[at:].strip()
    assert [span.end for span in spans] == [span.end for span in split(text, count, limit)]
