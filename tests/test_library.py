"""The library as a user holds it: a real store and a real Chroma, doubles of the models."""

import shutil
import threading

import pytest

import rag
from rag import Library, Turn
from rag.domain import Answer, Found, Piece
from rag.errors import LibraryEmptyError, LibraryMissingError, ReadError
from rag.loading import FakeModels
from rag.present import answer_text
from rag.settings import load_settings

FILE = """Papers of a small conference

We present OARFISH, a planner for rowing boats. OARFISH needs 42 strokes per mile on calm water.

We present KITEWING, which steers kites in strong wind. It is trained on wind from Skagen with a network of 7 layers.
"""


@pytest.fixture
def settings(tmp_path):
    return load_settings(home=tmp_path / "home", strictness=0.0)


@pytest.fixture
def library(tmp_path, settings):
    path = tmp_path / "papers.txt"
    path.write_text(FILE, encoding="utf-8")
    with Library.open(tmp_path / "lib", settings=settings, models=FakeModels(), create=True) as library:
        library.add(path)
        yield library


def test_adds_searches_and_asks(library):
    assert len(library) == 2
    assert {p.label for p in library.papers()} == {"OARFISH", "KITEWING"}
    assert library.search("rowing boats", 1)[0].paper.label == "OARFISH"
    answer = library.ask("How many strokes per mile does OARFISH need?")
    assert isinstance(answer, Answer)
    assert "42" in answer.text
    [citation] = answer.citations
    assert library.paper(citation.paper.id).text[citation.span.start : citation.span.end] == citation.quote


def test_adding_again_changes_nothing_and_says_so(library, tmp_path):
    report = library.add(tmp_path / "papers.txt")
    assert len(library) == 2
    assert not report.added
    assert report.unchanged


def test_what_was_added_is_there_after_reopening(library, tmp_path, settings):
    library.close()
    with Library.open(tmp_path / "lib", settings=settings, models=FakeModels()) as again:
        assert again.search("kites in wind", 1)[0].paper.label == "KITEWING"


def test_streams_found_pieces_and_the_answer(library):
    stream = library.ask("How many strokes per mile does OARFISH need?", stream=True)
    events = list(stream.events())
    assert isinstance(events[0], Found)
    assert any(isinstance(e, Piece) for e in events)
    assert events[-1] is stream.answer
    text = "".join(library.ask("How many strokes per mile does OARFISH need?", stream=True))
    assert "42" in text


def test_history_makes_a_follow_up(library):
    history = [Turn("What is KITEWING?", "It steers kites.", (library.search("kites", 1)[0].paper.id,))]
    assert library.ask("How many layers does it have?", history=history).asked == "How many layers does KITEWING have?"


def test_prepare_reads_each_passage_once_and_can_be_stopped(library):
    assert library.prepare() == 2
    assert library.prepare() == 0
    cancel = threading.Event()
    cancel.set()
    assert library.prepare(cancel=cancel) == 0


def test_the_sample_comes_with_the_package_and_is_made_once(settings):
    said = []
    with Library.sample(settings=settings, models=FakeModels(), progress=lambda *step: said.append(step)) as sample:
        assert len(sample) == 57
        assert said
    said.clear()
    with Library.sample(settings=settings, models=FakeModels(), progress=lambda *step: said.append(step)) as sample:
        assert len(sample) == 57
        assert not said


def test_without_a_folder_the_sample_is_opened_and_once_there_is_one_the_users_own(settings, tmp_path):
    with Library.open(settings=settings, models=FakeModels()) as library:
        assert library.name == "sample"
    own = tmp_path / "own.txt"
    own.write_text(FILE, encoding="utf-8")
    with Library.open(settings=settings, models=FakeModels(), create=True) as library:
        library.add(own)
    with Library.open(settings=settings, models=FakeModels()) as library:
        assert library.name == "library"
        assert len(library) == 2


def test_a_folder_without_a_library_is_an_error(tmp_path, settings):
    with pytest.raises(LibraryMissingError):
        Library.open(tmp_path / "nothing", settings=settings, models=FakeModels())


def test_an_empty_library_says_so(tmp_path, settings):
    with Library.open(tmp_path / "empty", settings=settings, models=FakeModels(), create=True) as empty:
        with pytest.raises(LibraryEmptyError):
            empty.ask("What is OARFISH?")
        with pytest.raises(ReadError):
            empty.add(tmp_path / "missing.txt")


def test_a_lost_vector_index_is_built_again(library, tmp_path, settings):
    library.close()
    for path in (tmp_path / "lib").iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    with Library.open(tmp_path / "lib", settings=settings, models=FakeModels()) as again:
        assert again.search("rowing boats", 1)[0].paper.label == "OARFISH"


def test_an_answer_prints_as_text_with_markers_and_sources(library):
    answer = library.ask("How many strokes per mile does OARFISH need?")
    printed = answer_text(answer)
    assert printed == str(answer)
    assert "[1]" in printed
    assert "papers.txt" in printed
    assert "OARFISH" in printed.split("Sources")[1]


def test_the_public_names_are_there():
    assert all(hasattr(rag, name) for name in rag.__all__)


def test_a_name_that_is_not_public_is_an_attribute_error():
    assert set(dir(rag)) >= set(rag.__all__)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = rag.nothing_like_it
