"""What is written out is read again as the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rag.corpus import Record, paper_of, read_papers
from rag.corpus.fields import without_tags
from rag.domain import Paper
from rag.errors import LibraryError
from rag.export import EXPORTERS, _balanced, exported, write
from rag.text import plain

SUFFIX = {"bibtex": ".bib", "csl": ".json", "jsonl": ".jsonl", "markdown": ".md", "ris": ".ris"}
WHOLE = sorted(EXPORTERS.keys() - {"markdown"})
RECORD = Record(
    "We introduce FooNet, a network for $x<y$ & bars. It reaches 5.2\\% on Baz, {as} R\\'enyi said: 100 % #1 @home.",
    "FooNet: Networks for $x$ bars", ("Ana Müller", "Bo de Li", "The 3M Group"), 2024, "ICML",
    ("vision", "bars and stars"),
    "https://example.org/a_b?c=1&d=%20", "10.1000/ab_c(1)", "arxiv:2401.00001",
)  # fmt: skip
OTHER = Record("Nothing is known about quuxes; this paper measures a thousand of them in the wild.")


def back(tmp_path: Path, papers: list[Paper], to: str) -> list[Paper]:
    path = tmp_path / f"papers{SUFFIX[to]}"
    write(exported(papers, to), path)
    return list(read_papers(path).papers)


def papers_of(*records: Record) -> list[Paper]:
    return [paper_of(record, "a.json", position) for position, record in enumerate(records)]


def bare(paper: Paper) -> Paper:
    """A paper but for where it was read, and with the layout of its text left out."""
    return replace(paper, source="", position=0, text=" ".join(paper.text.split()))


@pytest.mark.parametrize("to", WHOLE)
def test_every_field_comes_back(tmp_path, to):
    first, second = papers_of(RECORD, OTHER)
    found = back(tmp_path, [first, second], to)
    assert bare(found[0]) == bare(first)
    # A record without an id is given a key where the format must have one.
    assert bare(replace(found[1], external_id="")) == bare(second)


def test_markdown_keeps_titles_and_abstracts(tmp_path):
    found = back(tmp_path, papers_of(RECORD, OTHER), "markdown")
    assert [paper.text for paper in found] == [RECORD.text, OTHER.text]
    assert found[0].title == RECORD.title


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=40)
# Left out is what the formats take for their own: braces around a text and LaTeX in BibTeX, separators of lists, and
# what looks like HTML, since exports of others are full of it.
NAMES = st.from_regex(r"[A-ZÄÉ][a-zäé]{1,9} [A-ZÄÉ]'?[a-zäé]{1,9}(-[A-Z][a-z]{1,9})?", fullmatch=True)
TOPICS = st.from_regex(r"[a-zäé]{2,9}( [a-z]{2,9})?", fullmatch=True)


def _is_plain(text: str) -> bool:
    return _balanced(text).strip()[:1] != "{" and without_tags(text) == text


RECORDS = st.builds(
    Record,
    text=st.lists(WORDS, min_size=1, max_size=6).map(" ".join).filter(_is_plain),
    title=st.from_regex(r"[A-Z][a-zäé:]{2,9}( [A-Za-z0-9]{1,9}){0,5}", fullmatch=True),
    authors=st.lists(NAMES, max_size=3, unique=True).map(tuple),
    year=st.none() | st.integers(1900, 2100),
    venue=st.from_regex(r"([A-Z][a-z]{2,9}( [A-Za-z]{2,9}){0,3})?", fullmatch=True),
    topics=st.lists(TOPICS, max_size=3, unique=True).map(tuple),
    doi=st.just("") | st.from_regex(r"10\.[0-9]{4}/[a-z0-9._-]{1,9}[a-z0-9]", fullmatch=True),
    external_id=st.sampled_from(["", "id:k1", "pmid:30776994", "openreview:aB-c_1", "acl:2022.acl-long.1"]),
)


@pytest.mark.parametrize("to", WHOLE)
@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(records=st.lists(RECORDS, min_size=1, max_size=3, unique_by=lambda record: record.text))
def test_whatever_a_paper_says_comes_back(tmp_path, to, records):
    papers = [paper for paper in papers_of(*records) if any(c.isalpha() for c in paper.text)]
    if len({paper.external_id for paper in papers}) < len(papers):
        papers = papers[:1]  # of two with one key BibTeX must change one: see below
    assume(papers)
    found = back(tmp_path, papers, to)
    assert len(found) == len(papers)
    for before, after in zip(papers, found, strict=True):
        text = _as_written(before.text, to)
        assert " ".join(after.text.split()) == text
        for name in ("title", "authors", "year", "venue", "topics", "doi"):
            assert getattr(after, name) == getattr(before, name), name
        if before.external_id:
            assert after.external_id == before.external_id


def _as_written(text: str, to: str) -> str:
    text = " ".join(text.split())
    if to != "bibtex":
        return text
    return " ".join(_balanced(text).split())  # BibTeX can't hold a brace that isn't closed


@pytest.mark.parametrize("to", WHOLE)
def test_papers_with_the_same_key_stay_two(tmp_path, to):
    records = [replace(OTHER, external_id="id:k", text=f"{OTHER.text} And {n} more.") for n in range(3)]
    assert len(back(tmp_path, papers_of(*records), to)) == 3


def test_a_file_that_can_not_be_written_is_told(tmp_path):
    with pytest.raises(LibraryError, match="can't be written"):
        write("x", tmp_path / "no" / "papers.bib")
    assert list(tmp_path.iterdir()) == []


def test_labels_are_plain(tmp_path):
    [paper] = papers_of(replace(RECORD, title="On $\\alpha$-bars"))
    assert plain(paper.title) == paper.label
