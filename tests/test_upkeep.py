"""A library looked after: damage is named, mended, disk given back; one of an older format is brought up to date."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

import rag
from rag import lexicon
from rag.errors import LibraryError
from rag.library import Library
from rag.loading import FakeModels
from rag.schema import FILE_NAME, PROVENANCE, VERSION

SAMPLE = sorted((Path(rag.__file__).parent / "sample").glob("*.txt"))


@pytest.fixture
def library(tmp_path):
    with Library.open(tmp_path / "lib", models=FakeModels(), create=True) as opened:
        opened.add(*SAMPLE)
        yield opened


def change(library: Library, *statements: str) -> None:
    with sqlite3.connect(library.folder / FILE_NAME) as connection:
        for statement in statements:
            connection.execute(statement)


def test_nothing_is_wrong(library):
    assert library.faults() == []


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE papers SET text = text || 'x' WHERE num = 3", "has another text than its id says"),
        ("DELETE FROM passages WHERE paper = 3", "has no passages"),
        ("UPDATE passages SET end = 99999 WHERE paper = 3", "has a passage outside its text"),
        ("DELETE FROM windows WHERE passage = 3", "has a passage without vectors"),
        ("DELETE FROM origins WHERE paper = 3", "comes from no file"),
        ("UPDATE windows SET vector = zeroblob(1024) WHERE num = 3", "1 vectors are missing or differ"),
        ("INSERT INTO names VALUES ('x', 999, 0)", "a row of names belongs to nothing"),
    ],
)
def test_damage_is_named(library, statement, fault):
    change(library, "PRAGMA foreign_keys = OFF", statement)
    assert any(fault in one for one in library.faults())


def test_many_faults_of_a_kind_are_counted(library):
    change(library, "UPDATE papers SET text = text || 'x'")
    faults = library.faults()
    assert sum("another text" in one for one in faults) == 5
    assert "and 52 more like the last one" in faults


def test_rebuild_mends_passages_words_and_vectors(library):
    change(library, "UPDATE windows SET vector = zeroblob(1024) WHERE num = 3")
    assert library.faults() != []
    before = library.search("What is GeoPT?", 3)
    assert library.rebuild() == 57
    assert library.faults() == []
    assert library.search("What is GeoPT?", 3)[0].paper == before[0].paper


def test_compact_gives_disk_back_and_changes_nothing(library, tmp_path):
    rows = [
        {"id": str(n), "abstract": f"Sock {n} is sorted by machine {n} in {n} minutes, {'again ' * n}."}
        for n in range(300)
    ]
    socks = tmp_path / "socks.jsonl"
    socks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    library.add(socks)
    library.remove(*[paper.id for paper in library.papers(filters="file=socks")])
    before, hits = library.state(), library.search("What is GeoPT?", 5)
    assert (before.papers, before.dead > 300) == (57, True)
    library.compact()
    after = library.state()
    assert (after.papers, after.dead) == (57, 0)
    assert after.disk < before.disk
    assert library.search("What is GeoPT?", 5) == hits
    assert library.faults() == []


def test_removed_papers_are_found_by_nothing(library):
    [geopt] = [paper for paper in library.papers() if paper.label == "GeoPT"]
    assert library.remove(geopt.id, "0" * 16) == 1
    assert library.paper(geopt.id) is None
    assert geopt.id not in {hit.paper.id for hit in library.search("What is GeoPT?", 57)}
    assert library.faults() == []


def test_words_of_an_older_way_are_made_anew_before_anything_is_added(library, monkeypatch):
    change(library, "UPDATE meta SET value = '0' WHERE key = 'analyzer'", "DELETE FROM words", "DELETE FROM names")
    assert library.search("What is GeoPT?", 1)  # it works meanwhile, by vectors
    library.add(SAMPLE[0])
    with sqlite3.connect(library.folder / FILE_NAME) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key = 'analyzer'").fetchone() == (lexicon.ANALYZER,)
        assert connection.execute("SELECT count(*) FROM words").fetchone()[0] > 1000
    assert library.faults() == []
    assert library.search("What is GeoPT?", 1)[0].paper.label == "GeoPT"


COLUMNS = ("authors", "year", "venue", "topics", "url", "doi", "external_id", "replaces")


def to_format_2(folder: Path) -> None:
    """What the release before wrote."""
    with sqlite3.connect(folder / FILE_NAME) as connection:
        for statement in PROVENANCE:
            kind, name = statement.split()[1:3]
            if kind == "INDEX":
                connection.execute(f"DROP INDEX {name}")
        for name in ("origins", "facets", "likeness"):
            connection.execute(f"DROP TABLE {name}")
        connection.execute("DROP INDEX names_of")
        for name in COLUMNS:
            connection.execute(f"ALTER TABLE papers DROP COLUMN {name}")
        connection.execute("DELETE FROM meta WHERE key = 'analyzer'")
        connection.execute("PRAGMA user_version = 2")


def test_a_library_of_the_format_before_is_brought_up_to_date(tmp_path):
    with Library.open(tmp_path / "lib", models=FakeModels(), create=True) as library:
        library.add(*SAMPLE)
        papers, hits = library.papers(), library.search("What is GeoPT?", 5)
    to_format_2(tmp_path / "lib")
    with Library.open(tmp_path / "lib", models=FakeModels()) as library:
        assert library.papers() == papers
        assert library.search("What is GeoPT?", 5) == hits
        assert library.faults() == []
        assert str(library.add(*SAMPLE)) == "57 unchanged"
        assert [origin.key for origin in library.sources_of(papers[0].id)] == [str(SAMPLE[0])]
        assert len(library.papers(filters=f"file={SAMPLE[0].stem}")) == 19
    with sqlite3.connect(tmp_path / "lib" / FILE_NAME) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_an_upgrade_that_breaks_off_leaves_the_old_format(tmp_path, monkeypatch):
    with Library.open(tmp_path / "lib", models=FakeModels(), create=True) as library:
        library.add(SAMPLE[0])
    to_format_2(tmp_path / "lib")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rag.saving.save_likeness", fail)
    with pytest.raises(KeyboardInterrupt):
        Library.open(tmp_path / "lib", models=FakeModels())
    with sqlite3.connect(tmp_path / "lib" / FILE_NAME) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    monkeypatch.undo()
    with Library.open(tmp_path / "lib", models=FakeModels()) as library:
        assert len(library) == 19


def test_a_format_that_is_too_old(library):
    library.close()
    change(library, "PRAGMA user_version = 1")
    with pytest.raises(LibraryError, match="older Citebound"):
        Library.open(library.folder, models=FakeModels())
