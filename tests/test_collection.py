"""Search measured on a test collection: reading, ranking, measures, intervals."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path

import pytest

from eval import collection
from eval.__main__ import main
from rag.loading import FakeModels
from rag.output import Output

DOCUMENTS = {
    "d1": ("Rowing", "A planner for rowing robots that counts strokes per mile."),
    "d2": ("Lamps", "A lamp that dims itself in storms and saves oil."),
    "d3": ("Socks", "Socks are sorted by colour with a fast machine."),
    "d4": ("Lamps again", "A lamp that dims itself in storms and saves oil."),  # the text of d2
    "d5": ("Nothing", ""),
}
QUERIES = {"q1": "rowing robots", "q2": "which lamp saves oil", "q3": "unknown words altogether", "q4": "not judged"}
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td4\t1\nq2\td2\t1\nq3\td3\t1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = tmp_path / "beir"
    (made / "qrels").mkdir(parents=True)
    lines = [json.dumps({"_id": one, "title": title, "text": text}) for one, (title, text) in DOCUMENTS.items()]
    (made / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    (made / "queries.jsonl").write_text("".join(json.dumps({"_id": q, "text": t}) + "\n" for q, t in QUERIES.items()))
    (made / "qrels" / "test.tsv").write_text(QRELS)
    monkeypatch.setenv("CITEBOUND_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("rag.loading.LocalModels", lambda settings: FakeModels())
    monkeypatch.setattr("rag.library.LocalModels", lambda settings: FakeModels())
    return made


def run(*argv: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return main([str(a) for a in argv], Output(out, err)), out.getvalue(), err.getvalue()


def test_a_collection_is_read(folder):
    read = collection.read(folder)
    assert read.queries == {q: QUERIES[q] for q in ("q1", "q2", "q3")}
    assert read.qrels["q1"] == {"d1": 2}


@pytest.mark.parametrize("qrels", ["q1\td1\t1\n", "q1\t0\td1\t1\n", "query-id\tcorpus-id\tscore\nq1\td1\t1.0\n"])
def test_judgements_with_and_without_a_heading_and_trecs(folder, qrels):
    (folder / "qrels.tsv").write_text(qrels)
    assert collection.read(folder).qrels == {"q1": {"d1": 1}}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("corpus.jsonl", None, "no corpus.jsonl"),
        ("queries.jsonl", None, "no queries.jsonl"),
        ("qrels/test.tsv", None, "no qrels.tsv or qrels/test.tsv"),
        ("qrels/test.tsv", "a\tb\t1\nc\td\tmany\n", "can't be read as judgements"),
        ("qrels/test.tsv", "q9\td1\t1\n", "no query has judged documents"),
        ("queries.jsonl", "{", "queries.jsonl:1 is not JSON"),
    ],
)
def test_what_is_no_collection(folder, name, content, why):
    (folder / name).unlink() if content is None else (folder / name).write_text(content)
    code, out, err = run("retrieval", folder)
    assert (code, out) == (4, "")
    assert why in err
    assert err.count("\n") == 1


def test_measures_of_every_system(folder, tmp_path):
    code, out, _ = run("retrieval", folder, "--json", "--trec", tmp_path / "run.trec")
    assert code == 0
    found = json.loads(out)
    # Equal texts are one paper, and come as both documents: q1 and q2 are found whole.
    assert found["queries"] == 3
    assert found["metrics"]["R@10"] > 0.66
    assert set(found["systems"]) == {"citebound", "dense", "lexical", "rrf"}
    assert found["metrics"] == found["systems"]["citebound"]
    low, high = found["intervals"]["nDCG@10"]
    assert low <= found["metrics"]["nDCG@10"] <= high
    lines = [line.split() for line in (tmp_path / "run.trec").read_text().splitlines()]
    assert lines[0][:4] == ["q1", "Q0", "d1", "1"]
    assert {line[2] for line in lines if line[0] == "q2"} >= {"d2", "d4"}


def test_a_library_that_is_kept_is_used_again(folder, tmp_path):
    first = run("retrieval", folder, "--json", "--keep", tmp_path / "kept", "--own")
    assert (tmp_path / "kept" / "library.db").exists()
    assert run("retrieval", folder, "--json", "--keep", tmp_path / "kept", "--own")[1] == first[1]


def test_the_table_names_systems_and_intervals(folder):
    _, out, _ = run("retrieval", folder)
    assert "3 queries" in out
    assert "nDCG@10" in out
    assert all(name in out for name in collection.SYSTEMS)


def test_measures_on_a_case_computed_by_hand():
    read = collection.Collection(Path("x"), {"a": "", "b": ""}, {"a": {"d1": 1, "d2": 1}, "b": {"d3": 1}})
    found = collection.measure(read, {"a": [("d9", 3.0), ("d1", 2.0)], "b": []})
    ideal = 1 + 1 / math.log2(3)
    assert found.by_query["a"]["nDCG@10"] == pytest.approx(1 / math.log2(3) / ideal)
    assert found.by_query["a"]["RR@10"] == 0.5
    assert found.by_query["a"]["R@100"] == 0.5
    assert found.by_query["b"] == dict.fromkeys(collection.MEASURES, 0.0)  # nothing found is 0, not missing
    assert found.means["RR@10"] == 0.25


def test_an_interval_holds_the_mean_and_is_the_same_every_time():
    values = [0.0, 1.0] * 50
    assert collection.interval(values) == collection.interval(values)
    low, high = collection.interval(values)
    assert 0.39 < low < 0.5 < high < 0.61
    assert collection.interval([0.3]) == (0.3, 0.3)
