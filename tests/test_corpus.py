"""Files -> papers: headings, layout, what is skipped, what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rag
from rag.answering import bind
from rag.corpus import paper_id, read_papers, suffixes
from rag.domain import Passage, Span
from rag.errors import ReadError

SAMPLE = Path(rag.__file__).parent / "sample"
A = "We introduce FooNet, a network for bars. It reaches 5.2% on Baz."
B = "Diffusion models are slow to sample from. We make them fast without retraining."
C = "Nothing is known about quuxes; this paper measures a thousand of them in the wild."


def read(tmp_path: Path, text: str | bytes, name: str = "papers.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_papers(path)


def texts(reading) -> list[str]:
    return [paper.text for paper in reading.papers]


def test_sample_files_hold_57_papers():
    readings = [read_papers(path) for path in sorted(SAMPLE.glob("*.txt"))]
    assert [len(reading.papers) for reading in readings] == [19, 19, 19]
    assert not any(reading.skipped for reading in readings)
    assert len({paper.id for reading in readings for paper in reading.papers}) == 57


def test_text_is_kept_as_it_is_written():
    first = read_papers(SAMPLE / "000_707c410ee5512e6b.txt").papers[0]
    assert "**``Low-Overlap negative transfer regime''**" in first.text
    assert "R\\'enyi" in first.text
    assert first.source == "000_707c410ee5512e6b.txt"
    assert first.position == 0


@pytest.mark.parametrize(
    "heading",
    [
        "ICML 2026 Papers",
        "ICML 2026 论文列表",
        "Accepted papers",
        "# NeurIPS 2025: oral presentations",
        "Статьи конференции",
        "採択論文一覧",
        "ICML 2026\nAccepted papers, main track",
        "Papers of the 43rd International Conference on Machine Learning (ICML 2026), Seoul",
        "-----\nICML\n-----",
    ],
)
def test_heading_is_no_paper(tmp_path, heading):
    reading = read(tmp_path, f"{heading}\n\n{A}\n\n{B}\n")
    assert texts(reading) == [A, B]
    assert reading.skipped == ()
    assert [paper.title for paper in reading.papers] == ["", ""]


def test_heading_right_above_a_long_line(tmp_path):
    long = " ".join([A, B, C, A])
    assert texts(read(tmp_path, f"ICML 2026 Papers\n{long}\n\n{B}\n")) == [long, B]


def test_heading_with_a_full_stop_is_told_by_its_length(tmp_path):
    long = " ".join([A, B, C] * 3)
    assert texts(read(tmp_path, f"Papers of ICML 2026.\n\n{long}\n\n{long[::-1]}.\n"))[0] == long


def test_no_heading(tmp_path):
    assert texts(read(tmp_path, f"{A}\n\n{B}")) == [A, B]


def test_one_abstract(tmp_path):
    assert texts(read(tmp_path, A)) == [A]
    assert texts(read(tmp_path, f"Heading\n\n{A}\n")) == [A]


def test_a_single_heading_is_not_taken_for_a_title(tmp_path):
    paper = read(tmp_path, f"ICML 2026 Papers\n\n{B}\n").papers[0]
    assert paper.title == ""
    assert paper.label.startswith("Diffusion models are slow")


def test_long_abstract_without_full_stop(tmp_path):
    long = " ".join([A, B, C]).rstrip(".")
    assert texts(read(tmp_path, f"Papers\n\n{long}\n\n{A}")) == [long, A]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n", "\u2028"])
def test_line_ends(tmp_path, end):
    text = f"Papers{end}{end}{A}{end} \t{end}{B}{end}"
    assert texts(read(tmp_path, text)) == [A, B]


@pytest.mark.parametrize("blank", ["", "   ", "\t", "\u00a0", "\u3000", "\u200b", "\ufeff", "----", "* * *", "===="])
def test_blank_lines(tmp_path, blank):
    assert texts(read(tmp_path, f"Papers\n{blank}\n{A}\n{blank}\n{B}\n{blank}\n")) == [A, B]


def test_wrapped_lines_are_joined(tmp_path):
    wrapped = "We introduce FooNet, a\nnetwork for bars. It\nreaches 5.2% on Baz."
    assert texts(read(tmp_path, f"Papers\n\n{wrapped}\n\n{B}")) == [A, B]


def test_hyphen_at_a_line_end(tmp_path):
    assert texts(read(tmp_path, "We study state-of-the-\nart methods for low-\nrank models of text.")) == [
        "We study state-of-the-art methods for low-rank models of text."
    ]


def test_chinese_lines_are_joined_without_a_blank(tmp_path):
    reading = read(
        tmp_path,
        "论文列表\n\n我们提出了一种新的跨分词器\n知识蒸馏方法，效果显著。\n\n我们研究了大语言模型的推理能力与效率。",
    )
    assert texts(reading) == [
        "我们提出了一种新的跨分词器知识蒸馏方法，效果显著。",
        "我们研究了大语言模型的推理能力与效率。",
    ]


def test_lists_keep_their_lines(tmp_path):
    text = "We make three contributions:\n- a model that is fast,\n- a data set of bars."
    assert texts(read(tmp_path, text)) == [text]


def test_first_words_on_a_line_of_their_own_are_not_lost(tmp_path):
    text = "We propose\nFooNet, a network for bars that is fast and small and good.\nIt reaches 5.2% on Baz."
    assert "We propose FooNet" in texts(read(tmp_path, f"{text}\n\n{B}\n\n{C}"))[0]


def test_titles_before_each_abstract(tmp_path):
    reading = read(tmp_path, f"ICML 2026\n\nFooNet: bars\n\n{A}\n\nFast *diffusion*\n\n{B}\n\n## **Quuxes**\n\n{C}")
    assert texts(reading) == [A, B, C]
    assert [paper.title for paper in reading.papers] == ["FooNet: bars", "Fast *diffusion*", "Quuxes"]
    assert [paper.label for paper in reading.papers] == ["FooNet: bars", "Fast diffusion", "Quuxes"]
    assert reading.skipped == ()


def test_titles_above_wrapped_abstracts(tmp_path):
    blocks = [
        "FooNet for bars\nWe introduce FooNet, a network\nfor bars. It reaches 5.2% on\nBaz.",
        "Fast diffusion\nDiffusion models are slow to\nsample from. We make them fast\nwithout retraining.",
    ]
    reading = read(tmp_path, "\n\n".join(blocks))
    assert texts(reading) == [A, B]
    assert [paper.title for paper in reading.papers] == ["FooNet for bars", "Fast diffusion"]


def test_section_headings_are_reported(tmp_path):
    reading = read(tmp_path, f"ICML\n\n{A}\n\n{B}\n\nPosters\n\n{C}\n\n{A} More.\n\n{B} More.")
    assert len(reading.papers) == 5
    assert [skipped.reason for skipped in reading.skipped] == ["too short for an abstract: “Posters”"]
    assert not any(paper.title for paper in reading.papers)


def test_page_break_between_and_inside_abstracts(tmp_path):
    cut = A.replace("for bars", "\n\ffor bars")
    assert texts(read(tmp_path, f"Papers\n\n{cut}\n\f{B}\n")) == [A, B]


def test_bom_is_no_text(tmp_path):
    assert texts(read(tmp_path, b"\xef\xbb\xbf" + A.encode())) == [A]
    assert texts(read(tmp_path, ("\ufeff" + A).encode("utf-16-le"))) == [A]


def test_id_depends_on_words_only():
    assert paper_id("a  b\nc") == paper_id("a b c")
    assert paper_id("ﬁne") == paper_id("fine")
    assert paper_id("a b c") != paper_id("a b d")
    assert len(paper_id("x")) == 16
    assert int(paper_id("x"), 16) >= 0


# --- what is refused ---


def refused(path: Path) -> str:
    with pytest.raises(ReadError) as caught:
        read_papers(path)
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message or str(path) in message
    assert ":" in message, "a message gives the way out"
    return message


def test_missing_file(tmp_path):
    assert "does not exist" in refused(tmp_path / "absent.txt")
    assert "does not exist" in refused(tmp_path / "absent" / "x.txt")


def test_folder(tmp_path):
    assert "folder" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b" \n\n\t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n\n"])
def test_empty_file(tmp_path, content):
    path = tmp_path / "empty.txt"
    path.write_bytes(content)
    refused(path)


@pytest.mark.parametrize("content", ["ICML 2026 Papers\n", "# Heading\n\n----\n", "12345\n\n67890\n", "...\n\n!!!\n"])
def test_no_abstract(tmp_path, content):
    path = tmp_path / "none.txt"
    path.write_text(content)
    assert "no abstract" in refused(path)


def test_unreadable_file(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text(A)
    path.chmod(0)
    if os.access(path, os.R_OK):  # root may read anything: then there is nothing to refuse
        assert texts(read_papers(path)) == [A]
    else:
        assert "chmod" in refused(path)


def test_pipe_is_refused_without_waiting(tmp_path):
    path = tmp_path / "pipe.txt"
    os.mkfifo(path)
    assert "no ordinary file" in refused(path)


def test_link_to_itself(tmp_path):
    path = tmp_path / "loop.txt"
    path.symlink_to(path)
    refused(path)


def test_name_too_long_or_with_nul(tmp_path):
    with pytest.raises(ReadError):
        read_papers(tmp_path / ("x" * 300 + ".txt"))
    with pytest.raises(ReadError):
        read_papers("a\0b.txt")


def test_unknown_ending(tmp_path):
    path = tmp_path / "data.xyz"
    path.write_text(A)
    message = refused(path)
    assert ".xyz" in message
    assert ".txt" in message


@pytest.mark.parametrize("content", [b"%PDF-1.7\n%\xe2\xe3", b"PK\x03\x04" + b"x" * 50, bytes(range(256)) * 4])
def test_binary_file(tmp_path, content):
    path = tmp_path / "file.txt"
    path.write_bytes(content)
    refused(path)


def test_suffixes_are_those_of_the_table():
    assert {".txt", ".md"} <= suffixes()


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([A, B, C, "", "\f", "Heading", "----", "x", "\r", "1. a"]), max_size=12),
    st.sampled_from("\n\r"),
)
def test_no_word_is_lost_or_invented(tmp_path_factory, blocks, end):
    """Every word of the file is in a paper, a title, a skipped record's reason, or the heading; and none is new."""
    path = tmp_path_factory.mktemp("h") / "x.txt"
    content = (end * 2).join(blocks)
    path.write_text(content, newline="")
    try:
        reading = read_papers(path)
    except ReadError:
        assert not any(block in (A, B, C) for block in blocks)
        return
    for paper in reading.papers:
        assert set(paper.text.split()) <= set(content.split())
    assert [p.text for p in reading.papers if p.text in (A, B, C)] == [block for block in blocks if block in (A, B, C)]


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("h") / "x.txt"
    path.write_bytes(data)
    try:
        reading = read_papers(path)
    except ReadError:
        return
    assert reading.papers
    assert all(paper.text.strip() for paper in reading.papers)


def test_a_name_that_is_no_utf8_keeps_no_paper_out(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff\xfe bad.txt")
    path.write_text("We propose LAMP, a lamp that burns oil slowly and brightly. It needs no wick.", encoding="utf-8")
    [paper] = read_papers(path).papers
    assert paper.source == "\ufffd\ufffd bad.txt"
    paper.source.encode("utf-8")


def test_a_record_longer_than_any_abstract_is_skipped_with_its_reason(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text(f"{A} {B}\n\n" + "A book goes on and on. " * 10_000, encoding="utf-8")
    reading = read_papers(path)
    assert len(reading.papers) == 1
    assert "longer than any abstract" in reading.skipped[0].reason


@pytest.mark.parametrize(
    "text",
    ["_" * 100_000, "-\n" * 40_000, "lamps" + " " * 150_000 + "burn oil"],
    ids=["underscores", "hyphens", "blanks"],
)
def test_odd_text_takes_no_longer_for_being_long(tmp_path, text):
    path = tmp_path / "odd.txt"
    path.write_text(f"{text} lamps burn oil twice a day, and nobody knows why they do.", encoding="utf-8")
    for paper in read_papers(path).papers:
        passage = Passage("p", paper.id, Span(0, len(paper.text)), paper.text)
        bind("Lamps burn oil [1].", [(paper, passage)], "What burns?", lambda claim: 1.0)
