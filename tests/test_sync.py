"""A library in step with files: changed abstracts, the same paper from two places, what is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.fakes import FakeEmbedder
from rag.errors import ReadError
from rag.ingest import AddReport, Ingest, add_files, sync_folder
from rag.store import Store
from rag.upkeep import faults
from rag.vectors import VectorIndex

A = "We introduce FooNet, a network for bars. It reaches 5.2% on Baz, far above what was known before it."
B = "Diffusion models are slow to sample from. We make them fast without retraining any part of them at all."
C = "Nothing is known about quuxes; this paper measures a thousand of them in the wild and finds no two alike."
EDITED = A.replace("5.2%", "6.1%")
PREPRINT = (
    "Large models forget what they were taught first. We show that rehearsal of one example in a hundred is enough "
    "to keep nearly all of it. Our method, Remind, costs 2% more compute. Code is available."
)
PUBLISHED = PREPRINT.replace(" Code is available.", " It holds for seven models and four languages.")


class Library:
    """A library with a small embedder, and what was asked before anything went."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder, create=True)
        self.vectors = VectorIndex(self.store)
        self.into = Ingest(self.store, self.vectors, FakeEmbedder(64), 480)
        self.asked: list[list[str]] = []

    def add(self, *paths: Path) -> AddReport:
        return add_files(paths, self.into)

    def sync(self, folder: Path, yes: bool = True) -> AddReport:
        def confirm(papers):
            self.asked.append([paper.label for paper in papers])
            return yes

        return sync_folder(folder, self.into, confirm)

    def texts(self) -> list[str]:
        return [paper.text for paper in self.store.papers()]

    def finds(self, term: str) -> int:
        return len(self.store.lexicon.full_text([term], 10))


@pytest.fixture
def library(tmp_path):
    opened = Library(tmp_path / "lib")
    yield opened
    assert faults(opened.store, opened.vectors) == []
    opened.vectors.close()
    opened.store.close()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "papers"
    made.mkdir()
    return made


def text(folder: Path, name: str, *abstracts: str) -> Path:
    path = folder / name
    path.write_text("Papers of the year\n\n" + "\n\n".join(abstracts) + "\n")
    return path


def rows(folder: Path, name: str, *records: dict[str, object]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_changed_abstract_takes_the_place_of_the_old_one_by_its_key(library, folder):
    library.add(rows(folder, "a.jsonl", {"id": "k1", "abstract": A}, {"id": "k2", "abstract": B}))
    report = library.add(rows(folder, "a.jsonl", {"id": "k1", "abstract": EDITED}, {"id": "k2", "abstract": B}))
    assert str(report) == "1 changed, 1 unchanged"
    assert sorted(library.texts()) == sorted([EDITED, B])
    assert library.finds("5.2") == 0
    assert library.finds("6.1") == 1
    assert str(library.add(folder / "a.jsonl")) == "2 unchanged"


def test_a_changed_abstract_without_a_key_is_told_by_its_words(library, folder):
    library.add(text(folder, "a.txt", A, B))
    assert str(library.add(text(folder, "a.txt", EDITED, B))) == "1 changed, 1 unchanged"
    assert sorted(library.texts()) == sorted([EDITED, B])


def test_an_abstract_that_only_left_a_file_stays_until_a_sync(library, folder):
    library.add(text(folder, "a.txt", A, B))
    assert str(library.add(text(folder, "a.txt", C, B))) == "1 added, 1 unchanged"
    assert len(library.texts()) == 3
    assert str(library.sync(folder)) == "1 removed, 2 unchanged"
    assert sorted(library.texts()) == sorted([B, C])


def test_the_same_id_elsewhere_with_another_text_is_the_newer_version(library, folder, tmp_path):
    library.add(rows(folder, "old.jsonl", {"arxiv_id": "2401.00001v1", "abstract": A}))
    newer = rows(tmp_path, "new.jsonl", {"arxiv_id": "2401.00001v2", "abstract": EDITED})
    assert str(library.add(newer)) == "1 changed"
    assert library.texts() == [EDITED]
    # Both files are remembered, and neither brings the old one back.
    assert str(library.add(folder / "old.jsonl", newer)) == "2 unchanged"


def test_two_files_of_one_run_that_differ_about_a_paper_do_not_take_turns(library, folder):
    rows(folder, "a.jsonl", {"arxiv_id": "2401.00001", "abstract": A})
    rows(folder, "b.jsonl", {"arxiv_id": "2401.00001", "abstract": EDITED})
    assert str(library.sync(folder)) == "1 added, 1 near-duplicates"
    assert str(library.sync(folder)) == "2 unchanged"
    assert library.texts() == [A]


def test_preprint_and_published_version_are_kept_once_with_both_sources(library, folder):
    first = rows(
        folder, "arxiv.jsonl",
        {"arxiv_id": "2401.00001", "title": "Remind: Rehearsal of Little", "abstract": PREPRINT, "authors": ["A. B"]},
    )  # fmt: skip
    second = rows(
        folder, "venue.jsonl",
        {"openreview_id": "xyz", "title": "REMIND: rehearsal of little", "abstract": PUBLISHED, "year": 2024,
         "venue": "ICML", "authors": ["Alice B"]},
    )  # fmt: skip
    assert str(library.add(first, second)) == "1 added, 1 near-duplicates"
    [paper] = library.store.papers()
    assert (paper.text, paper.year, paper.venue, paper.authors) == (PREPRINT, 2024, "ICML", ("A. B",))
    origins = library.store.origins.of_paper(paper.id)
    assert [(origin.source, origin.external_id) for origin in origins] == [
        ("arxiv.jsonl", "arxiv:2401.00001"),
        ("venue.jsonl", "openreview:xyz"),
    ]
    assert str(library.add(second, first)) == "2 unchanged"
    first.unlink()
    assert str(library.sync(folder)) == "1 unchanged"  # the other file still has it
    second.unlink()
    assert str(library.sync(folder)) == "1 removed"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"arxiv_id": "2401.00001"}, {"arxiv_id": "2401.00002"}),  # two ids of one kind are two papers
        ({"id": "1"}, {"id": "2"}),  # a table's keys say so too
        ({"title": "Part one of everything"}, {"title": "Part two of everything"}),
    ],
)
def test_alike_is_not_the_same(library, folder, one, other):
    rows(folder, "a.jsonl", {"title": "Rehearsal of little", "abstract": PREPRINT, **one})
    rows(folder, "a2.jsonl", {"abstract": B}) if "id" not in one else None
    name = "a.jsonl" if "id" in one else "b.jsonl"
    with (folder / name).open("a") as file:
        file.write(json.dumps({"title": "Rehearsal of little", "abstract": PUBLISHED, **other}) + "\n")
    library.add(folder)
    assert {PREPRINT, PUBLISHED} <= set(library.texts())


def test_sync_asks_before_anything_goes(library, folder):
    library.add(text(folder, "a.txt", A), text(folder, "b.txt", B))
    (folder / "b.txt").unlink()
    assert str(library.sync(folder, yes=False)) == "1 unchanged"
    assert library.asked == [[library.store.paper(next(p.id for p in library.store.papers() if p.text == B)).label]]
    assert len(library.texts()) == 2
    assert str(library.sync(folder)) == "1 removed, 1 unchanged"
    assert library.texts() == [A]
    library.sync(folder)
    assert len(library.asked) == 2  # nothing was gone, nothing was asked


def test_sync_of_a_folder_that_was_emptied(library, folder):
    library.add(text(folder, "a.txt", A))
    (folder / "a.txt").unlink()
    assert str(library.sync(folder)) == "1 removed"
    assert library.texts() == []


def test_sync_leaves_other_folders_alone(library, folder, tmp_path):
    other = tmp_path / "papers-of-others"
    other.mkdir()
    library.add(text(folder, "a.txt", A), text(other, "b.txt", B))
    (folder / "a.txt").unlink()
    (other / "b.txt").unlink()
    library.sync(folder)
    assert library.texts() == [B]


def test_what_a_broken_file_held_stays(library, folder):
    library.add(rows(folder, "a.jsonl", {"id": "1", "abstract": A}), text(folder, "b.txt", B))
    (folder / "a.jsonl").write_bytes(b"\x00\x01\x02" * 99)
    report = library.sync(folder)
    assert [Path(failed.source).name for failed in report.failed] == ["a.jsonl"]
    assert report.removed == ()
    assert sorted(library.texts()) == sorted([A, B])


def test_sync_wants_a_folder(library, folder):
    with pytest.raises(ReadError, match="is no folder"):
        library.sync(text(folder, "a.txt", A))


def test_many_that_went_and_came_again_are_found(library, folder):
    every = [f"Paper number {n} tells of the {n}th way to sort socks, which none before {n} tried." for n in range(70)]
    library.add(text(folder, "a.txt", *every))
    library.sync(folder) if text(folder, "a.txt", *every[:5]) else None
    assert len(library.texts()) == 5
    assert library.vectors.dead() == 65
    for row in library.store.rows():
        assert library.vectors.nearest(row.vector, 3)[0][1] > 0.999
        assert len(library.vectors.nearest(row.vector, 5)) == 5  # the dead are passed over
    library.add(text(folder, "a.txt", *every))
    assert len(library.texts()) == 70
    assert library.vectors.dead() == 0


def test_moved_records_change_nothing_but_their_place(library, folder):
    library.add(text(folder, "a.txt", A, B))
    before = library.store.generation
    assert str(library.add(text(folder, "a.txt", B, A))) == "2 unchanged"
    assert library.store.generation == before
    [first, second] = [library.store.origins.of_paper(paper.id)[0].position for paper in library.store.papers()]
    assert (first, second) == (1, 0)


def test_a_folder_of_single_papers_keeps_paragraphs_together(library, folder):
    for number in range(4):
        (folder / f"{number}.md").write_text(
            f"# Paper {number} on socks\n\nWe sort {number} socks by colour. It takes long.\n\nThen we wash them.\n"
        )
    assert str(library.add(folder)) == "4 added"
    assert {paper.title for paper in library.store.papers()} == {f"Paper {n} on socks" for n in range(4)}
