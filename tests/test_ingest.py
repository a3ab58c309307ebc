"""Files into the library: idempotent, reported, one writer, and whole again after being killed anywhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import rag
from models.fakes import FakeEmbedder
from rag import ingest
from rag.errors import DiskFullError, LibraryError, LibraryLockedError, ReadError
from rag.ingest import AddReport, Ingest, add_files, rebuild, sync_folder
from rag.lock import writing
from rag.store import Store
from rag.vectors import VectorIndex

SAMPLE = sorted((Path(rag.__file__).parent / "sample").glob("*.txt"))
A = "We introduce FooNet, a network for bars. It reaches 5.2% on Baz."
B = "Diffusion models are slow to sample from. We make them fast without retraining."
C = "Nothing is known about quuxes; this paper measures a thousand of them in the wild."


class Library:
    """A library with a small embedder."""

    def __init__(self, folder: Path, embedder: FakeEmbedder | None = None, passage_tokens: int = 480) -> None:
        self.store = Store(folder, create=True)
        self.vectors = VectorIndex(self.store)
        self.embedder = embedder or FakeEmbedder(64)
        self.passage_tokens = passage_tokens

    def add(self, *paths: Path, **options) -> AddReport:
        return add_files(paths, self.ingest(**options))

    def sync(self, folder: Path, confirm=lambda papers: True) -> AddReport:
        return sync_folder(folder, self.ingest(), confirm)

    def ingest(self, **options) -> Ingest:
        return Ingest(self.store, self.vectors, self.embedder, self.passage_tokens, **options)

    def finds_itself(self) -> bool:
        """Is every passage the nearest to its own vector?"""
        for row in self.store.rows():
            best = self.vectors.nearest(row.vector, 1)[0]
            if best[1] < 0.999:
                return False
        return True

    def close(self) -> None:
        self.vectors.close()
        self.store.close()


@pytest.fixture
def library(tmp_path):
    opened = Library(tmp_path / "lib")
    yield opened
    opened.close()


def file(folder: Path, name: str, *abstracts: str) -> Path:
    path = folder / name
    path.write_text("Papers\n\n" + "\n\n".join(abstracts) + "\n")
    return path


def test_sample(library):
    report = library.add(*SAMPLE)
    assert len(report.added) == 57
    assert str(report) == "57 added"
    assert library.store.count() == 57
    assert library.finds_itself()
    assert library.store.embedder == "fake-embedder-64"
    assert library.store.passage_tokens == 480


def test_again_changes_nothing(library):
    library.add(*SAMPLE)
    before = (library.store.generation, library.store.index, list(library.store.papers()))
    report = library.add(*SAMPLE)
    assert len(report.unchanged) == 57
    assert (report.added, report.duplicates, report.skipped, report.failed) == ((), (), (), ())
    assert (library.store.generation, library.store.index, list(library.store.papers())) == before


def test_duplicates(library, tmp_path):
    one = file(tmp_path, "one.txt", A, B, A.replace(" ", "  "))
    two = file(tmp_path, "two.txt", B, C)
    report = library.add(one, two)
    assert [len(report.added), len(report.duplicates), len(report.unchanged)] == [3, 2, 0]
    report = library.add(two)
    # B came from another file first, and it is remembered that this one has it too.
    assert str(report) == "2 unchanged"
    assert [paper.source for paper in library.store.papers()] == ["one.txt", "one.txt", "two.txt"]


def test_same_file_named_twice(library, tmp_path):
    one = file(tmp_path, "one.txt", A)
    assert str(library.add(one, one)) == "1 added"


def test_a_bad_file_stops_no_other(library, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(bytes(range(256)) * 9)
    report = library.add(file(tmp_path, "one.txt", A), bad, tmp_path / "absent.txt", file(tmp_path, "two.txt", B))
    assert len(report.added) == 2
    assert [Path(failed.source).name for failed in report.failed] == ["absent.txt", "bad.txt"] or [
        Path(failed.source).name for failed in report.failed
    ] == ["bad.txt", "absent.txt"]
    assert all(failed.position == -1 and "\n" not in failed.reason for failed in report.failed)


def test_nothing_could_be_read(library, tmp_path):
    with pytest.raises(ReadError, match=r"absent\.txt"):
        library.add(tmp_path / "absent.txt")
    with pytest.raises(ReadError, match="none of the 2 files"):
        library.add(tmp_path / "absent.txt", tmp_path / "gone.txt")
    assert library.store.count() == 0


def test_skipped_records_are_reported(library, tmp_path):
    report = library.add(file(tmp_path, "one.txt", A, B, "Posters", C, A + " More.", B + " More."))
    assert len(report.added) == 5
    assert [str(skipped) for skipped in report.skipped] == ["one.txt [3]: too short for an abstract: “Posters”"]


def test_folder(library, tmp_path):
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    file(folder, "one.txt", A)
    file(folder / "deep", "two.MD", B)
    file(folder / ".hidden", "three.txt", C)
    file(folder, "code.py", C)
    report = library.add(folder)
    assert len(report.added) == 2
    assert {paper.text for paper in library.store.papers()} == {A, B}
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReadError, match="no file of papers"):
        library.add(tmp_path / "empty")


def test_progress(library):
    told = []
    library.add(*SAMPLE, progress=lambda *what: told.append(what))
    assert told[:3] == [("reading files", 0, 3), ("reading files", 1, 3), ("reading files", 2, 3)]
    assert told[3:] == [("adding papers", 0, 57), ("adding papers", 32, 57), ("adding papers", 57, 57)]


def test_titles_are_embedded_and_searched(library, tmp_path):
    path = tmp_path / "titled.txt"
    path.write_text(f"Zebras\n\n{A}\n\nGiraffes\n\n{B}\n")
    library.add(path)
    assert [paper.title for paper in library.store.papers()] == ["Zebras", "Giraffes"]
    assert library.store.lexicon.full_text(["giraff"], 5)[0][0].startswith(list(library.store.papers())[1].id)
    asked = library.embedder.encode([f"Giraffes\n{B}"])[0]
    assert library.vectors.nearest(asked, 1)[0][1] == pytest.approx(1, abs=1e-4)


def test_long_papers_have_windows(tmp_path):
    library = Library(tmp_path / "lib", FakeEmbedder(64, max_tokens=30), passage_tokens=100)
    library.add(*SAMPLE[:1])
    papers = list(library.store.papers())
    assert len(papers) == 19
    assert library.store.count_rows() > 19 * 3
    assert all(len(part.text.split()) <= 100 for paper in papers for part in library.store.passages_of(paper.id))
    library.close()


def test_another_embedder_is_refused_until_rebuilt(library, tmp_path):
    library.add(*SAMPLE[:1])
    other = Library(tmp_path / "lib", FakeEmbedder(32))
    with pytest.raises(LibraryError, match="fake-embedder-64, not fake-embedder-32"):
        other.add(*SAMPLE)
    assert rebuild(replace(other.ingest(), passage_tokens=50)) == 19
    assert len(other.add(*SAMPLE).added) == 38
    assert other.finds_itself()
    assert other.store.count() == 57
    assert max(len(p.text.split()) for paper in other.store.papers() for p in other.store.passages_of(paper.id)) <= 50
    other.close()


def test_rebuild_that_breaks_off_is_finished_by_the_next_add(library, monkeypatch):
    library.add(*SAMPLE[:1])
    new = FakeEmbedder(32)
    monkeypatch.setattr(new, "encode", lambda texts: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        rebuild(Ingest(library.store, library.vectors, new, 480))
    assert library.store.count() == 0
    library.embedder = FakeEmbedder(32)
    report = library.add(*SAMPLE[:1])
    assert len(report.resumed) == 19
    assert library.store.count() == 19
    assert library.finds_itself()


def test_full_disk_keeps_what_was_added(library, monkeypatch):
    calls = []
    add = library.store.add

    def fail_second(entries, again=()):
        calls.append(len(entries))
        if len(calls) == 2:
            raise DiskFullError("full")
        add(entries, again)

    monkeypatch.setattr(library.store, "add", fail_second)
    with pytest.raises(DiskFullError):
        library.add(*SAMPLE)
    assert library.store.count() == ingest.BATCH
    assert len(library.add(*SAMPLE).added) == 57 - ingest.BATCH
    assert library.finds_itself()


# --- one writer ---


def test_a_second_writer_waits_then_says_who_writes(library):
    with writing(library.store.folder, 5):
        failed: list[BaseException] = []

        def second() -> None:
            try:
                library.add(*SAMPLE, lock_timeout=0.2)
            except LibraryLockedError as error:
                failed.append(error)

        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(failed) == 1
    assert f"process {os.getpid()} " in str(failed[0])
    assert "\n" not in str(failed[0])
    assert len(library.add(*SAMPLE).added) == 57


PRELUDE = textwrap.dedent(
    """
    import os, sys, time
    sys.path.insert(0, {tests!r})
    from test_ingest import *
    library = Library(Path({folder!r}))
    """
)


def process(folder: Path, code: str) -> subprocess.Popen[str]:
    prelude = PRELUDE.format(tests=str(Path(__file__).parent), folder=str(folder))
    return subprocess.Popen([sys.executable, "-c", prelude + textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)


def test_two_processes(tmp_path):
    holder = process(
        tmp_path / "lib",
        """
        with writing(library.store.folder, 5):
            print("held", flush=True)
            time.sleep(60)
        """,
    )
    try:
        assert holder.stdout.readline() == "held\n"
        library = Library(tmp_path / "lib")
        with pytest.raises(LibraryLockedError, match=f"process {holder.pid} "):
            library.add(*SAMPLE, lock_timeout=0.3)
        assert library.store.count() == 0
        holder.kill()  # the lock of a dead process is free
        holder.wait(30)
        assert len(library.add(*SAMPLE, lock_timeout=10).added) == 57
        library.close()
    finally:
        holder.kill()
        holder.wait(30)
        holder.stdout.close()


def test_processes_that_add_together_lose_nothing(tmp_path):
    adders = [process(tmp_path / "lib", f"print(len(library.add(SAMPLE[{n}]).added))") for n in range(3)]
    added = [int(adder.communicate(timeout=120)[0]) for adder in adders]
    assert added == [19, 19, 19]
    library = Library(tmp_path / "lib")
    assert library.store.count() == 57
    assert library.finds_itself()
    assert len(library.add(*SAMPLE).unchanged) == 57
    library.close()


# Where the process is killed: (module, name to replace, before or after the real call, at which call).
KILLS = {
    "before anything is stored": ("Store", "add", "before", 1),
    "stored, not indexed": ("VectorIndex", "add", "before", 1),
    "stored in the second batch": ("VectorIndex", "add", "before", 2),
    "indexed, not yet seen": ("Store", "mark_indexed", "before", 1),
    "in the second batch, indexed, not yet seen": ("Store", "mark_indexed", "before", 2),
    "after the first batch": ("Store", "mark_indexed", "after", 1),
    "after all": ("Store", "mark_indexed", "after", 2),
}


@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS.keys())
def test_killed(tmp_path, kill):
    kind, name, when, call = kill
    child = process(
        tmp_path / "lib",
        f"""
        import signal
        real, calls = {kind}.{name}, []

        def dying(self, *arguments):
            calls.append(1)
            if len(calls) == {call} and {when == "before"}:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(self, *arguments)
            if len(calls) == {call}:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        {kind}.{name} = dying
        library.add(*SAMPLE)
        """,
    )
    child.communicate(timeout=120)
    assert child.returncode == -signal.SIGKILL
    library = Library(tmp_path / "lib")
    seen = library.store.count()
    assert seen in (0, ingest.BATCH, 57)
    assert library.finds_itself()
    report = library.add(*SAMPLE)
    assert len(report.added) + len(report.resumed) == 57 - seen
    assert len(report.unchanged) == seen
    assert library.store.count() == 57
    assert library.store.count_pending() == 0
    assert library.finds_itself()
    assert len({row.id for row in library.store.rows()}) == library.store.count_rows()
    library.close()


def test_killed_at_any_moment(tmp_path):
    """Killed again and again, whenever it happens, the library ends up whole."""
    library = None
    for round_number in range(4):
        child = process(
            tmp_path / "lib",
            """
            class Slow(FakeEmbedder):
                def encode(self, texts):
                    time.sleep(0.02)
                    return super().encode(texts)

            ingest.BATCH = 4
            library.embedder = Slow(64)
            print("begin", flush=True)
            library.add(*SAMPLE)
            """,
        )
        assert child.stdout.readline() == "begin\n"
        time.sleep(0.4 + 0.35 * round_number)
        child.kill()
        child.communicate(timeout=60)
        library = Library(tmp_path / "lib")
        assert library.store.count() <= 57
        assert library.finds_itself()
        library.close()
    library = Library(tmp_path / "lib")
    library.add(*SAMPLE)
    assert library.store.count() == 57
    assert library.finds_itself()
    library.close()
