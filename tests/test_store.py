"""The store: transactions, visibility, search of words and names, damage, versions, threads."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from models.fakes import FakeEmbedder
from rag.chunk import passages
from rag.corpus import paper_id
from rag.domain import Paper
from rag.errors import (
    DiskFullError,
    LibraryDamagedError,
    LibraryError,
    LibraryLockedError,
    LibraryMissingError,
)
from rag.naming import label_of
from rag.rows import Entry
from rag.store import Store

EMBEDDER = FakeEmbedder(32)
NO_INDEX = ("", "{}")


def paper(text: str, title: str = "", source: str = "a.txt") -> Paper:
    return Paper(paper_id(text), text, label_of(text, title), source=source, title=title)


def entry(one: Paper, limit: int = 100) -> Entry:
    parts = passages(one, EMBEDDER.count_tokens, limit)
    return Entry(one, tuple(parts), tuple(EMBEDDER.encode([part.text]) for part in parts))


def fill(store: Store, *papers: Paper) -> None:
    store.add([entry(one) for one in papers])
    store.mark_indexed([one.id for one in papers], NO_INDEX)


FOO = paper("We propose FooNet, a network for bars. FooNet wins on ImageNet.")
QUX = paper("We study E-SCOT with R\\'enyi entropy under $(L_0, L_1)$-smoothness.", title="All about quuxes")
CJK = paper("我们提出了联邦学习的新方法，效果显著。")


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "lib", create=True)
    yield opened
    opened.close()


def test_a_paper_comes_back_as_it_went_in(store):
    fill(store, FOO, QUX)
    assert store.paper(QUX.id) == QUX
    assert list(store.papers()) == [FOO, QUX]
    assert store.count() == 2
    assert store.paper("absent") is None


def test_papers_are_seen_once_they_are_indexed(store):
    store.add([entry(FOO)])
    assert store.count() == 0
    assert store.paper(FOO.id) is None
    assert list(store.papers()) == []
    assert store.passages_of(FOO.id) == []
    assert store.lexicon.full_text(["foonet"], 5) == []
    assert store.lexicon.named(["foonet"], 5) == {}
    assert list(store.rows()) == []
    assert store.count_rows() == 0
    assert store.pending(9) == [(FOO, True)]
    assert store.count_pending() == 1
    assert store.known([FOO.id, QUX.id]) == {FOO.id: "a.txt"}
    before = store.generation
    store.mark_indexed([FOO.id], ("vectors-1", "{}"))
    assert store.generation == before + 1
    assert store.index == ("vectors-1", "{}")
    assert store.count() == 1
    assert store.count_rows() == 1
    assert store.pending(9) == []
    assert store.lexicon.full_text(["foonet"], 5)[0][0] == f"{FOO.id}:0-{len(FOO.text)}"


def test_add_is_all_or_nothing(store):
    good, bad = entry(FOO), entry(QUX)
    broken = Entry(bad.paper, bad.passages, ())  # fewer vectors than passages
    with pytest.raises(ValueError, match="zip"):
        store.add([good, broken])
    assert store.known([FOO.id, QUX.id]) == {}
    assert store.lexicon.frequencies(["foonet"]) == {}
    fill(store, FOO)
    assert store.count() == 1


def test_passages_and_their_vectors(store):
    long = paper(" ".join(f"Sentence number {n} has six words." for n in range(40)))
    store.add([entry(long, 60)])
    store.mark_indexed([long.id], NO_INDEX)
    parts = store.passages_of(long.id)
    assert len(parts) == 4
    assert all(part.text == long.text[part.span.start : part.span.end] for part in parts)
    assert store.passages([parts[1].id, "absent"]) == {parts[1].id: (parts[1], long)}
    vectors = store.vectors([part.id for part in parts])
    assert np.allclose(vectors[parts[2].id], EMBEDDER.encode([parts[2].text]))
    rows = list(store.rows())
    assert [row.passage_id for row in rows] == [part.id for part in parts]
    assert [row.id for row in store.rows([long.id])] == [row.id for row in rows]
    assert store.count_rows() == 4


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        (["foonet"], FOO),
        (["escot"], QUX),
        (["renyi"], QUX),
        (["l0"], QUX),
        (["quux"], QUX),  # in the title only
        (["联邦"], CJK),
        (['"', "foonet"], FOO),
        (["NEAR(", "foonet"], FOO),
    ],
)
def test_full_text(store, terms, found):
    fill(store, FOO, QUX, CJK)
    hits = store.lexicon.full_text(terms, 5)
    assert [hit[0].split(":")[0] for hit in hits] == [found.id]
    assert hits[0][1] > 0


def test_full_text_without_terms_or_hits(store):
    fill(store, FOO)
    assert store.lexicon.full_text([], 5) == []
    assert store.lexicon.full_text(["absent"], 5) == []


def test_vocabulary(store):
    fill(store, FOO, QUX)
    assert store.lexicon.frequencies(["we", "foonet", "absent"]) == {"we": 2, "foonet": 1}
    assert ("foonet", 1) in store.lexicon.terms_like("foo", "", 5, 7)
    assert ("foonet", 1) in store.lexicon.terms_like("", "net", 5, 7)
    assert ("foonet", 1) not in store.lexicon.terms_like("foo", "net", 7, 9)


def test_names(store):
    fill(store, FOO, QUX)
    assert store.lexicon.named(["foonet", "escot", "imagenet", "absent"], 2) == {
        "foonet": [FOO.id],
        "escot": [QUX.id],
        "imagenet": [FOO.id],
    }


def test_clear_index_keeps_the_papers(store):
    fill(store, FOO, QUX)
    store.describe("old", 100)
    before = store.generation
    store.clear_index("new", 50)
    assert (store.embedder, store.passage_tokens) == ("new", 50)
    assert store.generation == before + 1
    assert store.pending(9) == [(FOO, False), (QUX, False)]
    assert list(store.rows([FOO.id])) == []
    store.add([entry(FOO), entry(QUX)])
    store.mark_indexed([FOO.id, QUX.id], NO_INDEX)
    assert list(store.papers()) == [FOO, QUX]
    assert store.lexicon.frequencies(["we"]) == {"we": 2}
    assert len(store.lexicon.full_text(["foonet"], 5)) == 1


def test_a_second_opening_sees_what_the_first_wrote(store):
    fill(store, FOO)
    other = Store(store.folder)
    assert other.paper(FOO.id) == FOO
    fill(store, QUX)
    assert other.count() == 2
    assert other.generation == store.generation
    other.close()
    other.close()


# --- what can be wrong with the file ---


def one_line(error: Exception, folder: Path) -> None:
    assert "\n" not in str(error)
    assert str(folder) in str(error)


def test_missing_library(tmp_path):
    with pytest.raises(LibraryMissingError) as caught:
        Store(tmp_path / "absent")
    one_line(caught.value, tmp_path)
    assert "citebound add" in str(caught.value)
    assert not (tmp_path / "absent").exists()


def test_a_file_that_was_made_and_not_filled_is_no_library(tmp_path):
    (tmp_path / "library.db").touch()
    with pytest.raises(LibraryMissingError):
        Store(tmp_path)
    Store(tmp_path, create=True).close()
    Store(tmp_path).close()


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to be read as one" * 20, b"SQLite format 3\0" + b"x" * 4000]
)
def test_damaged_file(tmp_path, content):
    (tmp_path / "library.db").write_bytes(content)
    for create in (False, True):
        with pytest.raises(LibraryDamagedError) as caught:
            Store(tmp_path, create=create)
        one_line(caught.value, tmp_path)
        assert "add your files again" in str(caught.value)


def test_damage_inside(store):
    fill(store, *(paper(f"Abstract number {n} about topic {n * 7}. It is short.") for n in range(300)))
    path = store.path
    store.close()
    data = bytearray(path.read_bytes())
    data[4096 * 4 : -4096] = b"\xa5" * (len(data) - 4096 * 5)
    path.write_bytes(data)

    def use() -> None:
        opened = Store(store.folder)
        list(opened.papers())
        opened.lexicon.full_text(["abstract"], 5)

    with pytest.raises(LibraryDamagedError) as caught:
        use()
    one_line(caught.value, store.folder)


def test_another_programs_database(tmp_path):
    with sqlite3.connect(tmp_path / "library.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(LibraryDamagedError, match="no library"):
        Store(tmp_path, create=True)


def test_newer_format(store):
    store.close()
    with sqlite3.connect(store.path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    for create in (False, True):
        with pytest.raises(LibraryError, match="newer Citebound") as caught:
            Store(store.folder, create=create)
        assert not isinstance(caught.value, LibraryDamagedError)
        one_line(caught.value, store.folder)


def test_folder_that_is_a_file(tmp_path):
    (tmp_path / "lib").write_text("x")
    with pytest.raises(LibraryError):
        Store(tmp_path / "lib", create=True)


def test_full_disk(store):
    fill(store, FOO)
    pages = store.database.number("PRAGMA page_count")
    store.database.all(f"PRAGMA max_page_count = {pages}")  # SQLite then says what a full disk makes it say
    with pytest.raises(DiskFullError) as caught:
        fill(store, *(paper(f"Abstract number {n} about a topic. " + "It is long. " * 99) for n in range(50)))
    one_line(caught.value, store.folder)
    assert store.count() == 1
    store.database.all("PRAGMA max_page_count = 1000000")
    fill(store, QUX)
    assert list(store.papers()) == [FOO, QUX]


def test_locked_by_another_program(store):
    store.database.all("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LibraryLockedError):
        fill(store, FOO)
    other.execute("ROLLBACK")
    other.close()
    fill(store, FOO)
    assert store.count() == 1


def test_threads(store):
    papers = [paper(f"Abstract number {n} about topic {n}. It names Foo{n}Net.") for n in range(60)]

    def write(part):
        for one in part:
            fill(store, one)

    def read():
        for _ in range(40):
            seen = store.count()
            assert len(list(store.papers())) >= seen
            store.lexicon.full_text(["abstract", "topic"], 10)

    with ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(write, papers[n::3]) for n in range(3)] + [pool.submit(read) for _ in range(3)]
    for job in jobs:
        job.result()
    assert {one.id for one in store.papers()} == {one.id for one in papers}
    assert store.lexicon.frequencies(["abstract"])["abstract"] == 60


def test_older_format(store):
    store.close()
    with sqlite3.connect(store.path) as other:
        other.execute("PRAGMA user_version = 1")
    other.close()
    with pytest.raises(LibraryError, match="older Citebound") as caught:
        Store(store.folder)
    one_line(caught.value, store.folder)


def test_owners(store):
    other = paper("We compare FooNet with BarNet, and find that FooNet is better. FooNet is old.")
    fill(store, FOO, other)
    assert store.lexicon.named(["foonet"], 5) == {"foonet": [FOO.id, other.id]}
    assert store.lexicon.owners(["foonet", "barnet"], 5) == {"foonet": [FOO.id]}
