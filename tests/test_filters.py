"""Filters: how they are written, what they mean, and what search finds through them."""

from __future__ import annotations

import json

import pytest

from rag.errors import FilterError
from rag.filters import ALL, Filter, parse, parse_all, where_of
from rag.library import Library
from rag.loading import FakeModels

PAPERS = [
    {"id": "1", "title": "Socks one", "abstract": "We sort socks by colour, with a fast machine.", "year": 2019,
     "authors": ["Ana Müller", "Bo Li"], "venue": "ICML", "topics": ["Computer Vision", "sorting"]},
    {"id": "2", "title": "Socks two", "abstract": "We sort socks by smell, which no machine can do.", "year": 2023,
     "authors": ["Bo Li"], "venue": "NeurIPS", "topics": ["olfaction"]},
    {"id": "3", "title": "Socks three", "abstract": "We sort socks by sound and find most of them mute.", "year": 2024,
     "authors": ["Cy 100%_Doe"], "venue": "ICML 2024"},
    {"id": "4", "title": "Socks four", "abstract": "We sort socks without asking when or by whom."},
]  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    (folder / "socks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PAPERS))
    with Library.open(folder / "lib", models=FakeModels(), create=True) as opened:
        opened.add(folder / "socks.jsonl")
        yield opened


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ((), "1234"),
        ("year>=2023", "23"),
        ("year > 2023", "3"),
        ("year<2023", "1"),
        ("year=2019..2023", "12"),
        ("year=..2019", "1"),
        ("year=2019|2024", "13"),
        ("year!=2019", "23"),  # of a paper without a year nobody knows
        ("author=muller", "1"),
        ("Author: Bo li", "12"),
        ("author=100%_", "3"),  # no wildcards
        ("author=Müller|Doe", "13"),
        ("author!=Li", "34"),
        ("venue=icml", "13"),
        ("topic=vision", "1"),
        ("topics=OLFACTION", "2"),
        ("file=socks", "1234"),
        (["venue=ICML", "year>=2020"], "3"),
        ([parse("venue=ICML"), "author=li"], "1"),
    ],
)
def test_what_is_found(library, filters, found):
    assert "".join(paper.external_id[3:] for paper in library.papers(filters=filters)) == found
    hits = library.search("how are socks sorted?", 10, filters=filters)
    assert "".join(sorted(hit.paper.external_id[3:] for hit in hits)) == found


@pytest.mark.parametrize("filters", ["year>2030", "venue=KDD", ["venue=ICML", "author=nobody"]])
def test_filters_that_no_paper_meets_are_told(library, filters):
    with pytest.raises(FilterError, match="no paper of lib meets"):
        library.search("socks", filters=filters)
    with pytest.raises(FilterError, match="ask with other filters"):
        library.ask("Who sorts socks?", filters=filters)


def test_an_answer_is_from_the_papers_that_meet_the_filters(library):
    answer = library.ask("How does the paper sort socks by smell?", filters="year=2023")
    assert {paper.external_id for paper in answer.papers} == {"id:2"}
    answer = library.ask("How does the paper sort socks by smell?", filters="year=2019")
    assert {hit.paper.external_id for hit in answer.nearest} == {"id:1"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("socks", "is no filter"),
        ("", "is no filter"),
        ("colour=red", "can't be filtered by 'colour'"),
        ("year>=new", "'new' is no year"),
        ("year=..", "is no year"),
        ("year>=2020|2021", "has no order"),
        ("author>Smith", "has no order"),
        ("venue=|", "has no order"),
    ],
)
def test_what_is_no_filter(text, why):
    with pytest.raises(FilterError, match=why) as raised:
        parse(text)
    assert "\n" not in str(raised.value)


def test_a_filter_is_a_value_that_prints_as_it_is_written():
    assert str(parse(" Venue : ICML | NeurIPS ")) == "venue=ICML|NeurIPS"
    assert parse("year==2020") == Filter("year", "=", ("2020",))
    assert parse_all([parse("year>1")]) == (Filter("year", ">", ("1",)),)
    assert where_of(()) == ALL


def test_a_filter_can_not_reach_the_tables(library):
    with pytest.raises(FilterError, match="no paper"):
        library.search("socks", filters="author=' OR 1=1 --")


def test_parts_too_large_to_compare_are_searched_in_the_graph(library, monkeypatch):
    monkeypatch.setattr("rag.vectors._COMPARED", 0)
    hits = library.search("how are socks sorted?", 10, filters="year>=2023")
    assert {hit.paper.external_id for hit in hits} == {"id:2", "id:3"}
