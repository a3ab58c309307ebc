"""The vector index on a real Chroma: finding, freshness between processes, damage, rebuilding."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rag import Library
from rag import vectors as vectors_module
from rag.chunk import Passage
from rag.corpus import paper_id
from rag.domain import Paper, Span
from rag.errors import DiskFullError
from rag.loading import FakeModels
from rag.lock import writing
from rag.rows import Entry
from rag.settings import load_settings
from rag.store import Store
from rag.vectors import VectorIndex

DIMENSION = 24


def entries(count: int, windows: int = 1, seed: int = 0) -> list[Entry]:
    """Papers with one passage each, and random vectors."""
    numbers = np.random.default_rng(seed)
    made = []
    for n in range(count):
        text = f"Abstract {seed}.{n} is about something."
        paper = Paper(paper_id(text), text, f"p{n}")
        passage = Passage(f"{paper.id}:0-{len(text)}", paper.id, Span(0, len(text)), text)
        vectors = numbers.normal(size=(windows, DIMENSION)).astype(np.float32)
        made.append(Entry(paper, (passage,), (vectors / np.linalg.norm(vectors, axis=1, keepdims=True),)))
    return made


def put(store: Store, index: VectorIndex, made: list[Entry]) -> None:
    with writing(store.folder, 5):
        store.add(made)
        index.add([one.paper.id for one in made])


def is_found(index: VectorIndex, one: Entry, window: int = 0) -> bool:
    passage_id, similarity = index.nearest(one.vectors[0][window], 1)[0]
    return passage_id == one.passages[0].id and similarity == pytest.approx(1, abs=1e-4)


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "lib", create=True)
    yield opened
    opened.close()


@pytest.fixture
def index(store):
    opened = VectorIndex(store)
    yield opened
    opened.close()


def test_empty(index):
    assert index.nearest(np.ones(DIMENSION, np.float32), 5) == []


def test_nearest_is_by_cosine(store, index):
    made = entries(60)
    put(store, index, made)
    asked = made[7].vectors[0][0]
    expected = sorted(((float(one.vectors[0][0] @ asked), one.passages[0].id) for one in made), reverse=True)[:10]
    found = index.nearest(asked, 10)
    assert [passage_id for passage_id, _ in found] == [passage_id for _, passage_id in expected]
    assert [similarity for _, similarity in found] == pytest.approx([s for s, _ in expected], abs=1e-4)


def test_a_passage_counts_as_its_best_window(store, index):
    made = entries(20, windows=30)
    put(store, index, made)
    for window in (0, 17, 29):
        assert is_found(index, made[3], window)
    found = index.nearest(made[3].vectors[0][5], 20)
    assert len(found) == 20
    assert len({passage_id for passage_id, _ in found}) == 20


def test_more_than_there_are(store, index):
    put(store, index, entries(3))
    assert len(index.nearest(np.ones(DIMENSION, np.float32), 50)) == 3


def test_adding_twice_changes_nothing(store, index):
    made = entries(5)
    put(store, index, made)
    with writing(store.folder, 5):
        index.add([one.paper.id for one in made])
    assert len(index.nearest(made[0].vectors[0][0], 50)) == 5


def test_another_opening_sees_new_rows(store, index):
    made = entries(30)
    put(store, index, made[:10])
    other_store = Store(store.folder)
    other = VectorIndex(other_store)
    assert is_found(other, made[0])
    put(store, index, made[10:])
    assert is_found(other, made[29])
    assert is_found(index, made[29])
    other.close()
    other_store.close()


def test_another_process_sees_new_rows(store, index):
    made = entries(30)
    put(store, index, made[:10])
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_vectors import *
        store = Store({str(store.folder)!r})
        index = VectorIndex(store)
        made = entries(30)
        assert is_found(index, made[0])
        put(store, index, made[10:])
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert is_found(index, made[29])


def test_threads(store, index):
    made = entries(200)
    put(store, index, made[:100])

    def look(n: int) -> bool:
        return is_found(index, made[n])

    with ThreadPoolExecutor(8) as pool:
        adding = pool.submit(put, store, index, made[100:])
        assert all(pool.map(look, range(100)))
        adding.result()
        assert all(pool.map(look, range(200)))


def test_opens_no_connection(store, index, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    made = entries(5)
    put(store, index, made)
    assert is_found(index, made[0])


def test_settings_do_not_come_from_the_folder_one_stands_in(store, index, tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("IS_PERSISTENT=false\nANONYMIZED_TELEMETRY=true\nCHROMA_SERVER_HOST=example.org\n")
    monkeypatch.chdir(tmp_path)
    made = entries(5)
    put(store, index, made)
    index.close()
    assert is_found(index, made[0])


# --- damage: mended from the store, with a warning ---


def folder_of(store: Store):
    return store.folder / store.index[0]


def remove_folder(store):
    shutil.rmtree(folder_of(store))


def empty_folder(store):
    shutil.rmtree(folder_of(store))
    folder_of(store).mkdir()


def remove_graph(store):
    for path in folder_of(store).glob("*/"):
        shutil.rmtree(path)


def junk_in(pattern):
    def damage(store):
        paths = [path for path in folder_of(store).glob(pattern) if path.stat().st_size]
        assert paths, f"there is no {pattern}"
        for path in paths:
            path.write_bytes(os.urandom(path.stat().st_size))

    return damage


def cut_short(pattern):
    def damage(store):
        for path in folder_of(store).glob(pattern):
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


DAMAGES = {
    "no folder": remove_folder,
    "empty folder": empty_folder,
    "no graph": remove_graph,
    "junk in the graph": junk_in("*/data_level0.bin"),  # opened, it crashes the process
    "junk in the links": junk_in("*/link_lists.bin"),
    "junk in the ids": junk_in("*/index_metadata.pickle"),
    "junk in the header": junk_in("*/header.bin"),
    "graph cut short": cut_short("*/data_level0.bin"),
    "junk in its database": junk_in("chroma.sqlite3"),
    "its database cut short": cut_short("chroma.sqlite3"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_mended_with_a_warning(store, index, damage, caplog):
    made = entries(1300)  # more than Chroma keeps outside its graph
    put(store, index, made)
    index.close()
    damage(store)
    with caplog.at_level(logging.WARNING, logger="rag.vectors"):
        assert is_found(index, made[0])
        assert is_found(index, made[1299])
    assert "building it again" in caplog.text
    caplog.clear()
    index.close()
    with caplog.at_level(logging.WARNING, logger="rag.vectors"):
        assert is_found(index, made[650])
    assert not caplog.records, "mended once, it stays so"
    assert [path.name for path in store.folder.glob("vectors-*")] == [store.index[0]]


def test_damage_is_mended_when_adding(store, index, caplog):
    made = entries(40)
    put(store, index, made[:20])
    index.close()
    remove_folder(store)
    with caplog.at_level(logging.WARNING, logger="rag.vectors"):
        put(store, index, made[20:])
    assert "building it again" in caplog.text
    assert is_found(index, made[0])
    assert is_found(index, made[39])


def test_an_untouched_index_is_opened_without_a_warning(store, index, caplog):
    made = entries(1300)
    put(store, index, made[:40])
    with caplog.at_level(logging.WARNING, logger="rag.vectors"):
        for _ in range(2):
            index.close()
            assert is_found(index, made[0])
        put(store, index, made[40:])
        for _ in range(2):
            index.close()
            assert is_found(index, made[1200])
    assert not caplog.records


def test_while_another_writes_a_damaged_index_vectors_are_compared(store, index, monkeypatch, caplog):
    made = entries(30)
    put(store, index, made)
    index.close()
    remove_folder(store)
    monkeypatch.setattr(vectors_module, "_PATIENCE", 0.2)
    with ThreadPoolExecutor(1) as pool, writing(store.folder, 5), caplog.at_level(logging.WARNING):
        assert pool.submit(is_found, index, made[4]).result()  # a thread of its own: the lock is the thread's
    assert "comparing one by one" in caplog.text
    assert not folder_of(store).exists()
    assert is_found(index, made[4])
    assert folder_of(store).exists()


def test_rebuild(store, index):
    made = entries(10)
    put(store, index, made)
    before = store.index[0]
    with writing(store.folder, 5):
        index.rebuild()
    assert store.index[0] != before
    assert is_found(index, made[0])


def test_full_disk(store, index, monkeypatch):
    made = entries(10)
    put(store, index, made[:5])

    def fail(*_args, **_kwargs):
        raise RuntimeError("database or disk is full")

    monkeypatch.setattr(type(index._rows._rows), "upsert", fail)
    with pytest.raises(DiskFullError) as caught:
        put(store, index, made[5:])
    assert str(store.folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert store.count() == 5
    monkeypatch.undo()
    assert is_found(index, made[0])
    with writing(store.folder, 5):
        index.add([one.paper.id for one in made[5:]])
    assert store.count() == 10
    assert is_found(index, made[9])


def test_hundreds_of_equal_vectors_do_not_hide_the_others(tmp_path, caplog):
    """An HNSW graph can lose everything else behind them; then vectors are compared one by one, and it is said once."""
    caplog.set_level(logging.WARNING)
    library = equal_library(tmp_path, equal=600)
    assert library.search("kites steer in the wind", 1)[0].paper.text.startswith("Kites")
    assert library.search("kites steer in the wind", 1)[0].paper.text.startswith("Kites")
    assert "damaged" not in caplog.text


def equal_library(folder, equal):
    """A library of ``equal`` abstracts that differ in what their vectors don't show, and one of another kind."""
    papers = folder / "papers.txt"
    words = "Lamps burn oil slowly and brightly at night in every house of the town."
    same = [f"{words} {'!' * (n + 1)}" for n in range(equal)]
    other = "Kites steer well in the wind when a hand holds them by a long string."
    papers.write_text("\n\n".join([*same, other]), encoding="utf-8")
    settings = load_settings(home=folder / "home")
    library = Library.open(folder / "lib", settings=settings, models=FakeModels(), create=True)
    library.add(papers)
    return library
