"""A file that is one paper: what tells it, and what is read of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rag
from rag.corpus import document
from rag.corpus.opening import sources
from rag.corpus.records import Options, Record

A = "We introduce FooNet, a network for bars. It reaches 5.2% on Baz."
B = "Diffusion models are slow to sample from. We make them fast without retraining."
LONG = " ".join([A, B] * 4)
URL = "https://arxiv.org/abs/2101.00001"


def source(tmp_path: Path, text: str | bytes, name: str = "paper.md"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    [only] = sources(path)
    return only


def read(tmp_path: Path, text: str | bytes) -> Record:
    [record] = document.FORMAT.read(source(tmp_path, text), Options())
    return record


FRONT = f"""---
title: "FooNet: bars"
authors: [Jane Doe, 'Roe, John']
date: 2024-05-01
tags:
  - nets
  - bars
venue: ICML
doi: https://doi.org/10.1000/XYZ
url: {URL}
---

# FooNet: bars

{A}

{B}
"""
SECTIONS = (
    f"# FooNet\n\nJane Doe, John Roe\n\n## Abstract\n\n{A}\n\n{B}\n\n## 1. Introduction\n\n{LONG}\n\n## Ours\n\n{LONG}"
)
LABELS = f"Title: FooNet: bars\nAuthors: Jane Doe; John Roe\nAbstract: {A}\n{B}\n\nKeywords: nets, bars\nYear: 2021\n"
BOLD = f"# FooNet\n\n**Authors:** Jane Doe and John Roe\n\n**Abstract.** {A}\n\n**Keywords:** nets; bars\n"
STRUCTURED = f"# FooNet\n\n## Abstract\n\n### Background\n\n{A}\n\n### Methods\n\n{B}\n\n## Methods\n\n{LONG}\n"

SAMPLES = [
    (FRONT, Record(f"{A}\n\n{B}", "FooNet: bars", ("Jane Doe", "John Roe"), 2024, "ICML", ("nets", "bars"), URL,
                   "10.1000/xyz", "arxiv:2101.00001")),
    (FRONT.replace("\n", "\r\n"), Record(f"{A}\n\n{B}", "FooNet: bars", ("Jane Doe", "John Roe"), 2024, "ICML",
                                         ("nets", "bars"), URL, "10.1000/xyz", "arxiv:2101.00001")),
    ("---\ntitle: Foo\nauthors:\n  - name: Jane Doe\n    at: X\n  - John Roe\nabstract: |\n  We do\n  this.\n---\nx\n",
     Record("We do this.", "Foo", ("Jane Doe", "John Roe"))),
    (SECTIONS, Record(f"{A}\n\n{B}", "FooNet", ("Jane Doe", "John Roe"))),
    (LABELS, Record(f"{A} {B}", "FooNet: bars", ("Jane Doe", "John Roe"), 2021, topics=("nets", "bars"))),
    (BOLD, Record(A, "FooNet", ("Jane Doe", "John Roe"), topics=("nets", "bars"))),
    (STRUCTURED, Record(f"Background: {A}\n\nMethods: {B}".replace(": ", ":\n\n"), "FooNet")),
    (f"# FooNet\n\n{A}\n", Record(A, "FooNet")),
    (f"\ufeff# FooNet #\n\n{LONG}\n\n{A}\n", Record(f"{LONG}\n\n{A}", "FooNet")),
    ("# 跨分词器蒸馏\n\n## 摘要\n\n我们提出了一种新的跨分词器\n知识蒸馏方法，效果显著。\n\n## 引言\n\n随着大模型。",
     Record("我们提出了一种新的跨分词器知识蒸馏方法，效果显著。", "跨分词器蒸馏")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "record"), SAMPLES)
def test_one_paper(tmp_path, text, record):
    assert document.FORMAT.fits(source(tmp_path, text))
    assert document.FORMAT.fits(source(tmp_path, text, "paper.txt"))
    assert not document.FORMAT.fits(source(tmp_path, text, "paper.json"))
    assert read(tmp_path, text) == record


@pytest.mark.parametrize(
    "text",
    [
        f"# ICML 2026\n\n{A}\n\n{B}\n",
        f"# ICML 2026\n\n{LONG}\n\n{LONG}\n",
        f"# ICML\n\n## Foo\n\n{A}\n\n## Bar\n\n{B}\n",
        f"# Foo\n\n{A}\n\n# Bar\n\n{B}\n",
        f"ICML 2026 Papers\n\n{A}\n\n{B}",
        f"{A}\n\n{B}",
        A,
        f"Title: A\nAbstract: {A}\n\nTitle: B\nAbstract: {B}\n",
        f"---\n\n{A}\n\n---\n\n{B}\n",
        f"# Data\n- repo: {LONG}\n- license: MIT\n",
        "",
        "\n",
    ],
)
def test_not_clearly_one_paper(tmp_path, text):
    assert not document.FORMAT.fits(source(tmp_path, text))


def test_the_sample_is_left_to_the_reader_of_abstracts():
    for path in (Path(rag.__file__).parent / "sample").glob("*.txt"):
        [only] = sources(path)
        assert not document.FORMAT.fits(only)
        assert not document.looks_single(only)


@pytest.mark.parametrize(
    ("text", "record"),
    [
        (f"FooNet for bars\n\n{LONG}\n", Record(LONG, "FooNet for bars")),
        (f"FooNet for bars\n===\n{LONG}\n", Record(LONG, "FooNet for bars")),
        (f"FooNet for bars\n\nAbstract\n{A}\n\n1 Introduction\n\n{LONG}", Record(A, "FooNet for bars")),
        (
            f"FooNet for bars\n\nAbstract—{A}\n\nIndex Terms—nets, bars",
            Record(A, "FooNet for bars", topics=("nets", "bars")),
        ),
        (f"{A}\n\n{LONG}", Record(f"{A}\n\n{LONG}")),
        (f"# Foo\n\n## Introduction\n\n{A}", Record(A, "Foo")),
        ("", Record("")),
    ],
)
def test_files_that_a_folder_says_are_single(tmp_path, text, record):
    assert read(tmp_path, text) == record


def test_lines_of_a_structured_abstract_are_no_sections(tmp_path):
    text = f"Background: {A}\nMethods: {B}"
    assert read(tmp_path, f"# Foo\n\nAbstract: {text}\n").text == text.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "single"),
    [
        (A, True),
        (LONG, True),
        (f"FooNet\n\n{LONG}\n\n{A}", True),
        (f"{LONG}\n\n{LONG}", False),
        (f"Background: {LONG}\n\nMethods: {LONG}\n\nRESULTS - {LONG}\n\n**Conclusion:** {LONG}", True),
        (" ".join([A] * 100), False),
        ("x " * 40_000, False),
        ("", False),
    ],
)
def test_looks_single(tmp_path, text, single):
    assert document.looks_single(source(tmp_path, text, "x.txt")) == single


@pytest.mark.parametrize(
    "text",
    [
        "# " + "# " * 100_000 + "x",
        "- " * 100_000 + "x",
        "a" + " " * 150_000 + ":",
        "---\n" + "a: [" * 50_000,
        "\n" * 100_000,
    ],
    ids=["hashes", "dashes", "blanks", "front matter", "lines"],
)
def test_odd_text_takes_no_longer_for_being_long(tmp_path, text):
    document.FORMAT.fits(source(tmp_path, text))
    document.looks_single(source(tmp_path, text))
    assert isinstance(read(tmp_path, text), Record)


PIECES = [
    A,
    LONG,
    "# Foo",
    "## Abstract",
    "Abstract",
    "Abstract:",
    "Title: x",
    "---",
    "a: b",
    "title: x",
    "- x",
    "",
    "Methods",
    "x: |",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=12))
def test_any_text_is_read(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("h") / "x.md"
    path.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    [only] = sources(path)
    assert document.FORMAT.fits(only) in (True, False)
    assert document.looks_single(only) in (True, False)
