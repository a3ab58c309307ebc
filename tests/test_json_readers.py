"""JSON in every wrapping and dialect -> records; what is broken is skipped or refused in one line."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.corpus import arxiv, beir, conference, csl, json_papers, openreview, paperlists, semantic_scholar
from rag.corpus.json_outline import first_row
from rag.corpus.json_rows import rows
from rag.corpus.opening import sources
from rag.corpus.records import Format, Options, Record, Skipped
from rag.errors import ReadError

DIALECTS = (conference, paperlists, openreview, arxiv, semantic_scholar, csl, beir, json_papers)
FORMATS = [module.FORMAT for module in DIALECTS]
A = "We introduce FooNet, a network for bars. It reaches 5.2% on Baz."
B = "Diffusion models are slow to sample from. We make them fast without retraining."
ROWS = [{"title": "Foo", "abstract": A}, {"title": "Bar", "abstract": B}]


def source(tmp_path: Path, content: object, name: str = "papers.json"):
    path = tmp_path / name
    if not isinstance(content, str | bytes):
        content = json.dumps(content, ensure_ascii=False)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    [only] = sources(path)
    return only


def read(form: Format, tmp_path: Path, content: object, name: str = "papers.json") -> list[Record]:
    found = list(form.read(source(tmp_path, content, name), Options()))
    assert not any(isinstance(item, Skipped) for item in found), found
    return found


def taken_by(tmp_path: Path, content: object, name: str = "papers.json") -> str:
    """The name of the first format that fits."""
    return next((form.name for form in FORMATS if form.fits(source(tmp_path, content, name))), "")


# --- wrappings ---


def jsonl(values: list[object]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        jsonl(ROWS),
        jsonl(ROWS).replace("\n", "\r\n"),
        "\n\n" + jsonl(ROWS).replace("\n", "\n\n"),
        jsonl(ROWS).rstrip("\n"),
        "".join(map(json.dumps, ROWS)),
        "\n".join(json.dumps(row, indent=2) for row in ROWS),
        json.dumps({"count": 2, "next": None, "results": ROWS, "after": [1, 2]}),
        json.dumps({"notes": ROWS}),
        json.dumps({"message-type": "work-list", "message": {"facets": {}, "items": ROWS}}),
        json.dumps({"whatever": ROWS}),
        json.dumps({"title": "My library", "items": ROWS}),
        "\ufeff" + json.dumps(ROWS),
        ("\ufeff" + json.dumps(ROWS)).encode("utf-16-le"),
        json.dumps(ROWS)[:-1] + ",]",
        json.dumps([*ROWS[:1], {**ROWS[1], "score": float("nan"), "n": float("inf")}]),
    ],
)
def test_rows_of_every_wrapping(tmp_path, content):
    found = list(rows(source(tmp_path, content)))
    assert [(row["title"], row["abstract"]) for row in found] == [("Foo", A), ("Bar", B)]
    assert first_row(source(tmp_path, content))["title"] == "Foo"


def test_a_single_object_is_a_row(tmp_path):
    row = {"title": "Foo", "abstract": A, "authors": [{"name": "Jane Doe", "id": 1}], "references": [{"title": "Bar"}]}
    assert list(rows(source(tmp_path, row))) == [row]
    assert first_row(source(tmp_path, row)) == row
    assert list(rows(source(tmp_path, {"status": "ok", "message": row}))) == [row]


def test_packed(tmp_path):
    packed = source(tmp_path, gzip.compress(jsonl(ROWS).encode()), "papers.jsonl.gz")
    assert len(list(rows(packed))) == 2


def test_of_a_key_given_twice_the_last_counts(tmp_path):
    assert list(rows(source(tmp_path, '[{"title": "x", "title": "y"}]'))) == [{"title": "y"}]


def test_numbers_without_measure(tmp_path):
    [row] = rows(source(tmp_path, '[{"a": ' + "9" * 5000 + ', "b": 1e999, "c": -12}]'))
    assert row == {"a": float("inf"), "b": float("inf"), "c": -12}


def test_the_first_row_shows_its_keys_even_when_it_is_longer_than_the_head(tmp_path):
    long = {"id": "abc", "forum": "abc", "content": {"title": {"value": "Foo"}, "abstract": {"value": A * 2000}}}
    row = first_row(source(tmp_path, {"notes": [long]}))
    assert row["forum"] == "abc"
    assert row["content"]["title"] == {"value": "Foo"}
    assert row["content"]["abstract"]["value"].startswith("We introduce")
    assert taken_by(tmp_path, {"notes": [long]}) == "openreview"


@pytest.mark.parametrize(
    "content", ["", " ", "[]", "{}", "[1]", "null", '"a"', "{\\rtf1", "[" * 100_000, '{"a":' * 50_000]
)
def test_no_first_row(tmp_path, content):
    assert not first_row(source(tmp_path, content, "x.txt")) or content.startswith('{"a":')
    assert not any(form.fits(source(tmp_path, content, "x.txt")) for form in FORMATS)


def test_rows_across_the_pieces_that_are_read(tmp_path):
    many = [{"n": n, "text": "x" * (n % 97), "no": n / 7, "odd": [True, None, 'é\\"😀']} for n in range(5000)]
    for content in (many, jsonl(many), {"results": many, "total": 123456789, "ratio": 0.123456789}):
        assert list(rows(source(tmp_path, content))) == many


@pytest.mark.parametrize("length", range(65_500, 65_540))
def test_a_number_cut_by_the_end_of_a_piece(tmp_path, length):
    content = '{"pad": "' + "x" * length + '", "total": 123.5e+01, "results": [{"title": "Foo"}]}'
    found = list(rows(source(tmp_path, content)))
    assert found[-1].get("title") == "Foo" or "results" in found[-1]


def test_one_row_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["rag.corpus.sources"], "WHOLE", 10**6)  # smaller files may be read in one piece
    big = source(tmp_path, jsonl([{"title": "Foo", "abstract": A * 100}] * 2000))
    tracemalloc.start()
    try:
        assert sum(1 for _ in rows(big)) == 2000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


# --- broken input ---


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"title": "x"', "line 2 is no JSON object (Expecting ',' delimiter)"),
        ('{"title": "x', "line 2 is no JSON object (Invalid control character)"),
        ("not json", "line 2 is no JSON object (Expecting value)"),
        ("one\ntwo", "lines 2 to 3 are no JSON object (Expecting value)"),
        ("[1, 2]", "line 2 is no JSON object (a list)"),
        ("[1, 2", "line 2 is no JSON object (Expecting ',' delimiter)"),
        ("null", "line 2 is no JSON object (a NoneType)"),
        ('{"a": "\x00"}', "line 2 is no JSON object (Invalid control character)"),
        ('{"a":' * 100_000, "line 2 is no JSON object (nested too deeply)"),
        ("{'a': 1}", "line 2 is no JSON object (Expecting property name enclosed in double quotes)"),
    ],
)
def test_a_broken_line_is_skipped(tmp_path, line, reason):
    first, last = map(json.dumps, ROWS)
    broken = source(tmp_path, f"{first}\n{line}\n{last}\n", "papers.jsonl")
    assert list(rows(broken)) == [ROWS[0], Skipped("papers.jsonl", 1, reason), ROWS[1]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('[{"title": "x"}, {"title": "y', "record 2 (line 1) is no JSON (it ends too early)"),
        ('[{"title": "x"}', "record 2 (line 1) is no JSON (it ends too early)"),
        ('[{"title": "x"}\n{"title": "y"}]', "record 2 (line 2) is no JSON (',' is missing)"),
        ('[{"title": "x"},\n{"title": }]', "record 2 (line 2) is no JSON (Expecting value)"),
        ('{"results": [{"title": "x"}, {"titl', "record 2 (line 1) is no JSON (it ends too early)"),
        ('[{"title": "x"}, ' + "[" * 100_000, "record 2 (line 1) is no JSON (nested too deeply)"),
    ],
)
def test_a_broken_array_ends_with_the_record_named(tmp_path, content, reason):
    found = []
    with pytest.raises(ReadError) as caught:
        found.extend(rows(source(tmp_path, content, "papers.json")))
    assert reason in str(caught.value)
    assert "papers.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_before_the_break_are_read(tmp_path):
    reading = rows(source(tmp_path, '[{"title": "x"}, {"title": "y"}, {"tit'))
    assert [next(reading), next(reading)] == [{"title": "x"}, {"title": "y"}]
    with pytest.raises(ReadError):
        next(reading)


def test_a_record_without_end_is_refused(tmp_path):
    endless = source(tmp_path, '[{"title": "x"}, {"abstract": "' + "x" * 17_000_000)
    with pytest.raises(ReadError, match="record 2 is longer than 16 MB"):
        list(rows(endless))


def test_what_is_no_object_is_skipped(tmp_path):
    found = list(rows(source(tmp_path, [ROWS[0], 1, None, ROWS[1]])))
    assert [isinstance(row, Skipped) for row in found] == [False, True, True, False]
    assert str(found[1]) == "papers.json [1]: record 2 is no JSON object (a int)"


# --- dialects: a sample of each, and what it becomes ---

EVENT = {
    "type": "Poster", "name": "Foo", "virtualsite_url": "https://ICML.cc//virtual/2024/poster/35005",
    "speakers/authors": "Jane Doe, Plato", "abstract": f"{A} $x_1$ **bold**",
}  # fmt: skip
LONG_EVENT = {
    "id": 71, "uid": "x", "name": "Foo", "authors": [{"id": 1, "fullname": "Jane Doe", "institution": "X"}],
    "abstract": A, "topic": "Deep Learning->Bars", "keywords": ["nets"], "decision": "Accept (poster)",
    "session": "S1", "eventtype": "Poster", "virtualsite_url": "/virtual/2023/poster/71",
    "url": "https://example.org/71", "paper_url": "https://openreview.net/forum?id=aB-c_1",
}  # fmt: skip
LISTED = {
    "id": "AbC1", "title": "Foo", "track": "main", "status": "Poster", "keywords": "nets;bars", "tldr": "Bars.",
    "abstract": A, "primary_area": "vision", "author": "Jane Doe;John Roe", "aff": "X;Y", "gs_citation": 3,
    "site": "https://openreview.net/forum?id=AbC1",
}  # fmt: skip
NOTE_1 = {
    "id": "AbC1", "forum": "AbC1", "invitation": "ICLR.cc/2021/Conference/-/Blind_Submission", "cdate": 1601308231000,
    "content": {
        "title": "Foo", "abstract": A, "authors": ["Jane Doe", "John Roe"], "keywords": ["nets"],
        "_bibtex": "@inproceedings{\nx,\nyear={2021}\n}", "venueid": "ICLR.cc/2021/Conference",
    },
}  # fmt: skip
NOTE_2 = {
    "id": "AbC2", "forum": "AbC2", "pdate": 1705409910646, "invitations": ["ICLR.cc/2024/Conference/-/Submission"],
    "content": {
        "title": {"value": "Foo"}, "abstract": {"value": A}, "authors": {"value": ["Jane Doe"]},
        "venue": {"value": "ICLR 2024 poster"}, "keywords": {"value": ["nets", "bars"]},
    },
}  # fmt: skip
KAGGLE = {
    "id": "hep-th/9901001", "submitter": "J", "authors": "C. Bal\\'azs, E. L. Berger", "title": "Foo\n  bar",
    "journal-ref": "Phys.Rev.D76", "doi": "10.1103/PhysRevD.76.013009", "categories": "hep-ph math.CO",
    "abstract": "  We introduce\nFooNet, a\n\n  network $x$.\n", "update_date": "2008-11-26",
    "authors_parsed": [["Balázs", "C.", ""], ["King", "M. L.", "Jr."]],
}  # fmt: skip
SCRAPED = {
    "id": "2603.11048v1", "title": "Foo", "summary": A, "authors": ["Jane Doe"], "published": "2026-03-11T00:00:00Z",
    "categories": ["cs.CV", "cs.AI", "cs.CV"],
}  # fmt: skip
S2ORC = {
    "paper_id": "77490025", "title": "Foo", "year": 1975, "venue": None, "journal": "J. Bars", "abstract": A,
    "authors": [{"first": "Jane", "middle": ["B."], "last": "Doe", "suffix": ""}], "arxiv_id": None, "acl_id": None,
    "pubmed_id": None, "pmc_id": None, "doi": "10.1/x", "mag_field_of_study": ["Medicine"],
    "s2_url": "https://api.semanticscholar.org/CorpusID:77490025",
}  # fmt: skip
S2 = {
    "paperId": "649def34f8be52c8b66281af98ae884c09aef38b", "title": "Foo", "abstract": A, "venue": "ICML", "year": 2024,
    "externalIds": {"DOI": "10.1000/X", "PubMed": "123", "CorpusId": 99}, "url": "https://www.semanticscholar.org/paper/6",
    "authors": [{"authorId": "1", "name": "Jane Doe"}], "fieldsOfStudy": None,
    "s2FieldsOfStudy": [{"category": "Computer Science", "source": "s2"}],
}  # fmt: skip
CSL = {
    "id": "doe2024", "type": "article-journal", "title": "Foo", "container-title": "J. Bars", "abstract": f"<p>{A}</p>",
    "author": [{"family": "Gogh", "given": "Vincent", "non-dropping-particle": "van"}, {"literal": "The Team"}],
    "issued": {"date-parts": [["2024", 1, 2]]}, "DOI": "10.1000/ABC", "URL": "https://example.org", "keyword": "a; b",
}  # fmt: skip
CROSSREF = {
    "DOI": "10.1000/abc", "title": ["Foo <i>bar</i>"], "container-title": ["Journal of Bars", "J. Bars"],
    "abstract": f"<jats:title>Abstract</jats:title><jats:p>{A} If i&lt;j.</jats:p>",
    "author": [{"given": "Jane", "family": "Doe", "sequence": "first"}], "issued": {"date-parts": [[2020]]},
    "URL": "https://doi.org/10.1000/abc", "subject": ["Bars"],
}  # fmt: skip
BEIR = {"_id": "4983", "title": "Foo", "text": A, "metadata": {"authors": ["Jane Doe"], "year": 2001, "url": "u"}}
ANY = {"Name": "Foo", "Summary": A, "Authors": "Doe, Jane; Roe, John", "Publication Year": "2014", "Tags": ["a"],
       "Journal": "J", "Link": "https://arxiv.org/abs/2101.00001v2", "DOI ": "x"}  # fmt: skip

SAMPLES = [
    ("conference", [EVENT], Record(
        f"{A} $x_1$ **bold**", "Foo", ("Jane Doe", "Plato"), 2024, "ICML", (),
        "https://icml.cc/virtual/2024/poster/35005", "", "icml.cc:2024/poster/35005",
    )),
    ("conference", {"count": 1, "results": [LONG_EVENT]}, Record(
        A, "Foo", ("Jane Doe",), 2023, "", ("Deep Learning", "Bars", "nets"),
        "https://openreview.net/forum?id=aB-c_1", "", "openreview:aB-c_1",
    )),
    ("paperlists", [LISTED], Record(
        A, "Foo", ("Jane Doe", "John Roe"), None, "", ("nets", "bars", "vision"),
        "https://openreview.net/forum?id=AbC1", "", "openreview:AbC1",
    )),
    ("openreview", {"notes": [NOTE_1], "count": 1}, Record(
        A, "Foo", ("Jane Doe", "John Roe"), 2021, "ICLR", ("nets",), "https://openreview.net/forum?id=AbC1", "",
        "openreview:AbC1",
    )),
    ("openreview", [NOTE_2], Record(
        A, "Foo", ("Jane Doe",), 2024, "ICLR 2024 poster", ("nets", "bars"), "https://openreview.net/forum?id=AbC2", "",
        "openreview:AbC2",
    )),
    ("arxiv", jsonl([KAGGLE]), Record(
        "We introduce FooNet, a network $x$.", "Foo bar", ("C. Balázs", "M. L. King Jr."), 1999, "Phys.Rev.D76",
        ("hep-ph", "math.CO"), "https://arxiv.org/abs/hep-th/9901001", "10.1103/physrevd.76.013009",
        "arxiv:hep-th/9901001",
    )),
    ("arxiv", [SCRAPED], Record(
        A, "Foo", ("Jane Doe",), 2026, "", ("cs.CV", "cs.AI"), "https://arxiv.org/abs/2603.11048", "",
        "arxiv:2603.11048",
    )),
    ("s2", jsonl([S2ORC]), Record(
        A, "Foo", ("Jane B. Doe",), 1975, "J. Bars", ("Medicine",),
        "https://api.semanticscholar.org/CorpusID:77490025", "", "s2:77490025",
    )),
    ("s2", {"total": 1, "data": [S2]}, Record(
        A, "Foo", ("Jane Doe",), 2024, "ICML", ("Computer Science",), "https://www.semanticscholar.org/paper/6",
        "10.1000/x", "pmid:123",
    )),
    ("csl", {"items": [CSL]}, Record(
        A, "Foo", ("Vincent van Gogh", "The Team"), 2024, "J. Bars", ("a", "b"), "https://example.org", "10.1000/abc",
        "id:doe2024",
    )),
    ("csl", {"status": "ok", "message": {"items": [CROSSREF]}}, Record(
        f"{A} If i<j.", "Foo bar", ("Jane Doe",), 2020, "Journal of Bars", ("Bars",), "https://doi.org/10.1000/abc",
        "10.1000/abc", "",
    )),
    ("csl", {"status": "ok", "message": CROSSREF}, Record(
        f"{A} If i<j.", "Foo bar", ("Jane Doe",), 2020, "Journal of Bars", ("Bars",), "https://doi.org/10.1000/abc",
        "10.1000/abc", "",
    )),
    ("beir", jsonl([BEIR]), Record(A, "Foo", ("Jane Doe",), 2001, "", (), "u", "", "id:4983")),
    ("json", [ANY], Record(
        A, "Foo", ("Jane Doe", "John Roe"), 2014, "J", ("a",), "https://arxiv.org/abs/2101.00001v2", "",
        "arxiv:2101.00001",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "record"), SAMPLES)
def test_each_dialect(tmp_path, name, content, record):
    assert taken_by(tmp_path, content, "papers.txt") == name
    [form] = [form for form in FORMATS if form.name == name]
    assert read(form, tmp_path, content) == [record]


@pytest.mark.parametrize("row", [EVENT, LISTED, NOTE_1, KAGGLE, S2ORC, S2, CSL, BEIR, ANY])
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize("value", [None, 5, True, [], [None, 7, [], {}], {}, {"value": 3}, [[]], -1e300, "", "\ud800"])
def test_values_of_a_wrong_type(tmp_path, row, form, value):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([dict.fromkeys(row, value)]))
    [only] = sources(path)
    form.fits(only)
    assert len(list(form.read(only, Options()))) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
WHOLE_ROWS = (EVENT, LONG_EVENT, LISTED, NOTE_1, KAGGLE, S2, S2ORC, CSL, BEIR, NOTE_1["content"])
KEYS = st.sampled_from(sorted({key for row in WHOLE_ROWS for key in row} | {"versions", "body", "message", "pdate"}))
ROW = st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON, max_size=4), max_size=8)


@settings(deadline=None, max_examples=150)
@given(st.lists(ROW | JSON, max_size=3) | ROW)
def test_any_rows_are_read_or_refused(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("h") / "x.json"
    path.write_text(json.dumps(value))
    [only] = sources(path)
    for form in FORMATS:
        assert form.fits(only) in (True, False)
        try:
            found = list(form.read(only, Options()))
        except ReadError as error:
            assert "\n" not in str(error)  # noqa: PT017
            continue
        assert all(isinstance(item, Record | Skipped) for item in found)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(['{"a": 1}', "{", "}", "[", "]", ",", ":", '"', "\n", "1", '"a"', "é", "\\", "nul"])))
def test_any_text_is_read_or_refused(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("h") / "x.json"
    path.write_text("".join(pieces), encoding="utf-8")
    [only] = sources(path)
    first_row(only)
    try:
        found = list(rows(only))
    except ReadError:
        return
    assert all(isinstance(row, dict | Skipped) for row in found)


# --- what is particular ---


def test_events_that_are_no_papers_are_skipped_and_say_what_they_are(tmp_path):
    talk = {"type": "Invited Talk", "name": "Foo", "virtualsite_url": "https://neurips.cc/virtual/2023/talk/1",
            "speakers/authors": "", "abstract": A}  # fmt: skip
    found = list(conference.FORMAT.read(source(tmp_path, [EVENT, talk]), Options()))
    assert found[1] == Skipped("papers.json", 1, "is no paper but: invited talk (“Foo”)")


@pytest.mark.parametrize(
    ("name", "venue", "year"),
    [("iclr2024.json", "ICLR", 2024), ("nips_2019.json", "NeurIPS", 2019), ("list.json", "", None)],
)
def test_venue_and_year_from_the_file_name(tmp_path, name, venue, year):
    [record] = read(paperlists.FORMAT, tmp_path, [LISTED], name)
    assert (record.venue, record.year) == (venue, year)
    [record] = read(conference.FORMAT, tmp_path, {"results": [LONG_EVENT]}, name)
    assert (record.venue, record.year) == (venue, 2023)


def test_paperlists_by_address(tmp_path):
    row = {**LISTED, "site": "https://openaccess.thecvf.com/content/CVPR2024/html/x.html"}
    [record] = read(paperlists.FORMAT, tmp_path, [row])
    assert (record.venue, record.year, record.external_id) == ("CVPR", 2024, "id:AbC1")


def test_reviews_have_an_empty_text(tmp_path):
    review = {"id": "r1", "forum": "AbC1", "invitation": "x", "content": {"review": "Weak.", "rating": 3}}
    assert [record.text for record in read(openreview.FORMAT, tmp_path, {"notes": [NOTE_1, review]})] == [A, ""]


@pytest.mark.parametrize(("value", "year"), [(1705409910646, 2024), (-1, None), (10**30, None), ("2024", None)])
def test_year_of_a_note_by_its_date(tmp_path, value, year):
    note = {"id": "x", "forum": "x", "cdate": value, "content": {"title": "Foo", "abstract": A}}
    assert read(openreview.FORMAT, tmp_path, [note])[0].year == year


@pytest.mark.parametrize(
    ("extra", "year"),
    [
        ({"id": "0704.0001"}, 2007),
        ({"id": "2305.10429", "versions": [{"version": "v1", "created": "Mon, 2 Apr 2018 19:18:42 GMT"}]}, 2018),
        ({"id": "https://arxiv.org/abs/1706.03762v5"}, 2017),
    ],
)
def test_year_of_the_first_version(tmp_path, extra, year):
    [record] = read(arxiv.FORMAT, tmp_path, [{"title": "Foo", "abstract": A, "update_date": "2020-01-01", **extra}])
    assert record.year == year


def test_a_saved_answer_of_arxivs_api(tmp_path):
    body = (
        "<?xml version='1.0' encoding='ISO-8859-1'?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry>"
        f"<id>http://arxiv.org/abs/2202.12139v1</id><title>Föö</title><summary>{A}</summary></entry></feed>"
    )
    saved = {"url": "https://export.arxiv.org/api/query", "status_code": 200, "body": body}
    assert taken_by(tmp_path, saved) == "arxiv"
    [record] = read(arxiv.FORMAT, tmp_path, saved)
    assert (record.text, record.title, record.external_id) == (A, "Föö", "arxiv:2202.12139")


@pytest.mark.parametrize(
    ("extra", "key"),
    [
        ({"arxiv_id": "1706.03762", "pubmed_id": "1"}, "arxiv:1706.03762"),
        ({"pubmed_id": "1", "acl_id": "P19-1"}, "pmid:1"),
        ({"acl_id": "P19-1"}, "acl:P19-1"),
    ],
)
def test_the_better_known_id_counts(tmp_path, extra, key):
    assert read(semantic_scholar.FORMAT, tmp_path, [{**S2ORC, **extra}])[0].external_id == key


@pytest.mark.parametrize(
    ("issued", "year"),
    [({"literal": "Spring 2019"}, 2019), ({"raw": "2018-02"}, 2018), ("2017", 2017), ({"date-parts": [[None]]}, None)],
)
def test_dates_of_csl(tmp_path, issued, year):
    assert read(csl.FORMAT, tmp_path, [{**CSL, "issued": issued}])[0].year == year


def test_ids_of_csl(tmp_path):
    assert read(csl.FORMAT, tmp_path, [{**CSL, "PMID": 30776994}])[0].external_id == "pmid:30776994"
    [record] = read(csl.FORMAT, tmp_path, [{**CSL, "DOI": "10.48550/arXiv.1706.03762"}])
    assert record.external_id == "arxiv:1706.03762"


def test_latex_and_markdown_stay_as_they_are(tmp_path):
    text = "We show $a<b$ & **more** with \\cite{x}."
    assert read(openreview.FORMAT, tmp_path, [{**NOTE_1, "content": {"title": "x", "abstract": text}}])[0].text == text
    assert read(csl.FORMAT, tmp_path, [{**CSL, "abstract": text}])[0].text == text


def test_fields_beside_a_beir_text(tmp_path):
    row = {"_id": "1", "title": "Foo", "text": A, "authors": "brenckman,m.", "source": "j. ae. scs. 25, 1958, 324."}
    [record] = read(beir.FORMAT, tmp_path, [row])
    assert (record.authors, record.year, record.venue) == (("m. brenckman",), 1958, "j. ae. scs. 25, 1958, 324.")


def test_a_text_in_sentences_is_joined(tmp_path):
    assert read(json_papers.FORMAT, tmp_path, [{"title": "Foo", "abstract": ["One is.", "Two are."]}])[0].text == (
        "One is. Two are."
    )


def test_the_ending_of_json_is_enough_for_the_last_resort(tmp_path):
    assert taken_by(tmp_path, '{"broken', "x.jsonl") == "json"
    assert taken_by(tmp_path, '{"broken', "x.txt") == ""
    assert taken_by(tmp_path, [{"a": 1}], "x.txt") == ""
