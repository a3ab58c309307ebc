"""A question -> hits: names however they are typed, slips, both sides fused, what a hit says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rag
from models.fakes import FakeEmbedder
from rag.errors import LibraryEmptyError, LibraryError
from rag.ingest import Ingest, add_files
from rag.query import few, understand
from rag.retrieve import hits_of, retrieve
from rag.store import Store
from rag.vectors import VectorIndex

SAMPLE = sorted((Path(rag.__file__).parent / "sample").glob("*.txt"))
EXAM = Path(rag.__file__).parent.parent / "eval" / "data" / "exam.jsonl"
EMBEDDER = FakeEmbedder(256)


class Library:
    def __init__(self, folder: Path, files: list[Path]) -> None:
        self.store = Store(folder, create=True)
        self.vectors = VectorIndex(self.store)
        if files:
            add_files(files, Ingest(self.store, self.vectors, EMBEDDER, 480))

    def find(self, question: str, k: int = 5, embedder: FakeEmbedder | None = EMBEDDER):
        return retrieve(question, self.store, self.vectors, embedder, k)

    def close(self) -> None:
        self.vectors.close()
        self.store.close()


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    opened = Library(tmp_path_factory.mktemp("sample") / "lib", SAMPLE)
    yield opened
    opened.close()


def make(tmp_path, *abstracts: str) -> Library:
    path = tmp_path / "papers.txt"
    path.write_text("Papers\n\n" + "\n\n".join(abstracts) + "\n")
    return Library(tmp_path / "lib", [path])


# Names as people type them, and the label of the paper that has them.
SPELLINGS = {
    "E-SCOT": "E-SCOT", "e-scot": "E-SCOT", "escot": "E-SCOT", "E–SCOT": "E-SCOT", "e scot": "E-SCOT",
    "renyi entropy reweighting": "E-SCOT", "Rényi-entropy": "E-SCOT", "R\\'enyi": "E-SCOT",
    "the (L0, L1) condition": "Distributed stochastic", "l0 l1 smoothness": "Distributed stochastic",
    "$(L_0,L_1)$-smoothness": "Distributed stochastic", "VALL-E 2": "LatentLM", "valle 2": "LatentLM",
    "vall-e2": "LatentLM", "sigma-VAE": "LatentLM", "σ-VAE": "LatentLM", "latent LM": "LatentLM",
    "what'sup benchmark": "PGT", "What’sUp": "PGT", "whatsup": "PGT", "whats up": "PGT", "cv bench 2d": "PGT",
    "blitz rank": "BlitzRank", "BLITZRANK": "BlitzRank", "dinov2": "Compositional", "DINO v2": "Compositional",
    "drq v2": "PAMC", "math500": "TTC", "MATH 500": "TTC", "meg xl": "MEG-XL", "megxl": "MEG-XL",
    "tri scale stiff node": "Tri-Scale", "fed caw": "Fed-CAW", "lean4": "We present the first comprehensive",
}  # fmt: skip


@pytest.mark.parametrize("embedder", [EMBEDDER, None], ids=["both sides", "words only"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_names_however_they_are_typed(sample, spelling, embedder):
    hits = sample.find(f"what about {spelling}?", 3, embedder)
    assert hits[0].paper.label.startswith(SPELLINGS[spelling])


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("blitzrnak savings", "BlitzRank"),
        ("how does latenttlm work", "LatentLM"),
        ("what is evomsa about", "EvoMAS"),
        ("polysemantcity in networks", "This work demonstrates"),
        ("byzantne agents", "We study decentralized"),
        ("disempowrment of users", "We present the first large"),
        ("respirtion to eeg", "This paper introduces a novel cross"),
    ],
)
def test_slips(sample, question, label):
    assert sample.find(question, 1, None)[0].paper.label.startswith(label)


def test_named(sample):
    hits = sample.find("What does MEG-XL do?", 57)
    assert [hit.paper.label for hit in hits if hit.named] == ["MEG-XL"]
    assert not any(hit.named for hit in sample.find("What is reinforcement learning?", 57))
    assert not any(hit.named for hit in sample.find("How does FooNet-9 work?", 57))
    # A slip may be another name: it counts for the order, not as named.
    hits = sample.find("what is blitzrnak", 57)
    assert hits[0].paper.label == "BlitzRank"
    assert not hits[0].named


def test_a_common_word_is_no_name(tmp_path):
    library = make(
        tmp_path,
        "We propose LESS, a method for data selection. LESS wins on tasks.",
        *(f"Our approach number {n} needs less memory and less time than others." for n in range(9)),
    )
    assert not any(hit.named for hit in library.find("which method needs less memory?", 10))
    assert [hit.paper.label for hit in library.find("what is LESS?", 10) if hit.named] == ["LESS"]
    library.close()


def test_few():
    assert [few(n) for n in (1, 57, 5000, 100_000)] == [2, 2, 18, 79]


def test_similarity_and_overlap(sample):
    question = "How many fewer tokens does BlitzRank require?"
    hits = sample.find(question, 57)
    asked = EMBEDDER.encode([question])[0]
    for hit in hits:
        windows = sample.store.vectors([hit.passage.id])[hit.passage.id]
        assert hit.similarity == pytest.approx(float((windows @ asked).max()), abs=1e-3)
        assert 0 <= hit.overlap <= 1
        assert hit.passage.paper_id == hit.paper.id
    assert hits == sorted(hits, key=lambda hit: -hit.score)
    assert hits[0].overlap == 1.0
    assert hits[-1].overlap < 0.3
    alone = sample.find(question, 57, None)
    assert {hit.similarity for hit in alone} == {0.0}
    assert alone[0].overlap == 1.0


def test_unknown_words_lower_the_overlap(sample):
    known = sample.find("What does MEG-XL do?", 1)[0].overlap
    unknown = sample.find("What zygomorphic ballast does MEG-XL do?", 1)[0].overlap
    assert known == 1.0
    assert 0.2 < unknown < 0.5


def test_chinese_question_on_english_papers(sample):
    hits = sample.find("BlitzRank 比同类方法少用多少 token？", 3)
    assert hits[0].paper.label == "BlitzRank"
    assert hits[0].overlap == 1.0, "words of a language that no paper is in say nothing"


def test_chinese_papers(tmp_path):
    library = make(
        tmp_path,
        "我们提出了联邦学习的新方法，在异构数据上效果显著。",
        "我们研究了大语言模型的推理能力与效率问题。",
        "本文提出了FooNet，一种用于图像分类的网络。",
    )
    assert library.find("哪些论文研究联邦学习？", 1, None)[0].paper.text.startswith("我们提出了联邦")
    assert library.find("大语言模型的推理", 1, None)[0].paper.text.startswith("我们研究了大语言")
    assert library.find("foonet 是什么？", 1, None)[0].paper.label == "FooNet"
    library.close()


def test_fewer_than_asked_for(sample):
    assert len(sample.find("reinforcement learning", 500)) == 57
    assert len(sample.find("reinforcement learning", 1)) == 1


def test_hits_of(sample):
    paper = next(paper for paper in sample.store.papers() if paper.label == "LatentLM")
    (hit,) = hits_of(paper.id, "What is LatentLM?", sample.store, sample.vectors, EMBEDDER)
    assert hit.paper == paper
    assert hit.similarity > 0
    assert hit.named
    assert hits_of("absent", "What?", sample.store, sample.vectors, EMBEDDER) == []


def test_empty_library(tmp_path):
    library = Library(tmp_path / "lib", [])
    with pytest.raises(LibraryEmptyError, match="citebound add"):
        library.find("anything")
    library.close()


def test_another_embedder_is_refused(sample):
    with pytest.raises(LibraryError, match="fake-embedder-256, not fake-embedder-8"):
        sample.find("anything", 3, FakeEmbedder(8))


def test_question_longer_than_the_embedder_reads(sample):
    question = "Tell me about BlitzRank. " + "What else is there to say about that? " * 60
    hits = sample.find(question, 3)
    assert [hit.paper.label for hit in hits if hit.named] == ["BlitzRank"]
    assert all(hit.similarity for hit in hits)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   ",
        "?",
        "!!! ... ???",
        "the of and",
        "\\",
        '"',
        "*",
        "NEAR(a b)",
        "a OR",
        "\x00",
        "'; DROP TABLE papers; --",
        "(" * 500,
        "名",
    ],
)
def test_odd_questions(sample, question):
    for embedder in (EMBEDDER, None):
        hits = sample.find(question, 3, embedder)
        assert len(hits) <= 3
    assert sample.store.count() == 57


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_any_question(sample, question):
    query = understand(question, sample.store.lexicon, 57)
    assert all(unit.weight >= 0 for unit in query.units)
    for hit in sample.find(question, 3, None):
        assert 0 <= hit.overlap <= 1 + 1e-9


def single_paper_questions():
    for line in EXAM.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if len(item["gold"]) == 1:
            turns = item["turns"]
            yield " ".join(turns if len(turns) == 1 else (turns[0], turns[-1])), item["gold"][0]["anchor"]


def ranks(library: Library, embedder) -> np.ndarray:
    found = []
    for question, anchor in single_paper_questions():
        hits = retrieve(question, library.store, library.vectors, embedder, 10)
        found.append(next((n for n, hit in enumerate(hits) if anchor in hit.paper.text), 99))
    return np.array(found)


def test_exam_by_words_alone(sample):
    found = ranks(sample, None)
    assert len(found) == 66
    assert (found == 0).mean() >= 0.95
    assert (found < 3).mean() >= 0.99


@pytest.mark.model
def test_exam(tmp_path):
    from models.embedder import SentenceEmbedder
    from rag.settings import load_settings

    settings = load_settings()
    embedder = SentenceEmbedder(settings.embedder, settings.models_dir)
    library = Library(tmp_path / "lib", [])
    add_files(SAMPLE, Ingest(library.store, library.vectors, embedder, settings.passage_tokens))
    found = ranks(library, embedder)
    assert (found == 0).mean() >= 0.95
    assert (found < 3).mean() >= 0.99
    library.close()


def test_the_paper_that_is_called_so_comes_before_those_that_speak_of_it(tmp_path):
    library = make(
        tmp_path,
        "We compare FooNet with other networks on nine data sets. FooNet is fast, and FooNet is small.",
        "Networks are slow in practice and costly. We propose FooNet, a network for bars and rows of things.",
        *(f"Our study number {n} is about other things that come in heaps and not in rows." for n in range(9)),
    )
    hits = library.find("What is foonet?", 2, None)
    assert [hit.paper.label for hit in hits] == ["FooNet", "We compare FooNet with other networks on nine data…"]
    assert all(hit.named for hit in hits)
    library.close()
