"""Sentence boundaries and their offsets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rag
from rag.corpus import read_papers
from rag.sentences import sentences

CASES = [
    ["**PGT** a simple framework.", "It works."],
    ["See Fig. 3 for details.", "We follow Smith et al. (2020).", "It beats others, e.g. BERT, i.e. all vs. none."],
    ["Although non-i.i.d. CP theory exists, gaps remain.", "Data are i.i.d.", "We show more."],
    ["The Accuracy is 84 vs. 88 (MAE 5.0 vs. 5.1 years).", "It wins."],
    ["We gain 3.5.", "2 models fail.", "Costs fell to 3.5 M.", "We use J. Smith's data."],
    ["We treat individual cells.", "scCBGM adapts concepts.", "mRNA is next."],
    ["(1) Objects are hard; (2) scenes are easy; and (3) all is well.", "Overall, we win."],
    ["It intertwines (i) noise, (ii) compression, and (iii) updates.", "Each was studied."],
    ["We call it the **``Low-Overlap regime''**.", "To overcome this, we propose more."],
    ['It is ``good".', '"Is it?" he asked.', "“Yes.”", "Then it ended."],
    ["We use $x$.", "$y. z$ is a formula.", "\\textbf{DWS. It} is a macro."],
    ["The project is at https://a.b/c.d.", "Claude.ai and Node.js are names."],
    ["Does it work?", "Yes!", "It does... mostly.", "Done…", "Next."],
    ["1. First item.", "2. Second item."],
    ["This is a claim [1].", "Another one. [2]", "A third.[3, 4]", "End."],
    ["No. 5 is alive.", "We say no.", "Dr. Who left (cf. Sec. 2.1)."],
    ["no capitals here at all.", "the next one follows.", "and another."],
]


@pytest.mark.parametrize("parts", CASES)
def test_boundaries(parts):
    text = " ".join(parts)
    assert [text[span.start : span.end] for span in sentences(text)] == parts


def test_chinese_has_no_blanks():
    parts = ["准确率提高了5.2%。", "我们提出了一种方法！", "“它有效吗？”", "是的。", "Yes.", "结束"]
    text = "".join(parts[:4]) + " Yes. 结束"
    assert [text[span.start : span.end] for span in sentences(text)] == parts


def test_glued_sentences():
    text = "It needs no labels.We show that it works."
    assert [text[span.start : span.end] for span in sentences(text)] == [
        "It needs no labels.",
        "We show that it works.",
    ]


def test_list_lines_and_empty_lines_end_sentences():
    text = "We make two points:\n- one is fast\n- one is small\n\nA new paragraph"
    assert [text[span.start : span.end] for span in sentences(text)] == [
        "We make two points:",
        "- one is fast",
        "- one is small",
        "A new paragraph",
    ]


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_nothing(text):
    assert sentences(text) == []


def test_sample_has_399():
    papers = [
        p for path in sorted((Path(rag.__file__).parent / "sample").glob("*.txt")) for p in read_papers(path).papers
    ]
    counts = [len(sentences(paper.text)) for paper in papers]
    assert sum(counts) == 399
    assert min(counts) == 4
    ends = [paper.text[span.start : span.end][-1] for paper in papers for span in sentences(paper.text)]
    assert set(ends) <= set('.?)"*')


@settings(deadline=None)
@given(st.text(st.sampled_from(list("aZ.。!? \n\t\"')]*$\\{}1é中[-")), max_size=120) | st.text(max_size=120))
def test_every_character_is_in_one_sentence(text):
    spans = sentences(text)
    covered = ""
    at = 0
    for span in spans:
        assert at <= span.start < span.end
        assert not text[at : span.start].strip()
        assert not text[span.start].isspace()
        assert not text[span.end - 1].isspace()
        covered += text[span.start : span.end]
        at = span.end
    assert not text[at:].strip()
    assert "".join(covered.split()) == "".join(text.split())
