"""Calibration listens to the real road, fits rows that the program reads, and measures them on what they didn't see."""

from __future__ import annotations

import math
import random
import threading
from argparse import Namespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eval import calibrate, fit
from eval.calibrate import report
from eval.datasets import Gold, Question
from eval.files import rows
from eval.fit import Item, evaluate, held_out, items, probability
from eval.signals import Candidate, Collected, Listener, Listening, Road, collect
from models.fakes import FakeEmbedder, FakeGenerator
from rag.abstain import Calibration, Signals, log_odds
from rag.domain import Hit, Paper, Passage, Span
from rag.errors import ReadError
from rag.pipeline import answer_events
from rag.resources import Resources
from rag.settings import load_settings
from rag.stream import AnswerStream

TEXTS = {
    "OARFISH": "We propose OARFISH, a planner for boats. OARFISH needs 42 strokes per mile.",
    "KITEWING": "We present KITEWING, which steers kites. It is trained on wind with 7 layers.",
    "SNOWMAP": "SNOWMAP draws maps of snow. It also plans routes for boats on ice.",
}
PAPERS = {label: Paper(label, text, label, "file.txt", i) for i, (label, text) in enumerate(TEXTS.items())}
STROKES = Question("s", "fact", ("How many strokes does OARFISH need?",), True, ("42",), (Gold("We propose OARFISH"),))
WHO = Question("w", "unanswerable", ("Who pays for KITEWING?",), False)
BOATS = Question("b", "multi", ("Which papers plan for boats?",), True, (), (Gold("OARFISH"), Gold("SNOWMAP")))
FOLLOW = Question(
    "f", "followup", ("What is KITEWING?", "How many layers does it have?"), True, ("7",), (Gold("KITEWING"),)
)


class Models:
    def __init__(self, judgements):
        self.fake = FakeGenerator({"Answer in": "OARFISH needs 42 strokes per mile."}, judgements)
        self.opened = 0

    def generator(self):
        self.opened += 1
        return self.fake

    def embedder(self):
        return FakeEmbedder()


class Library:
    """The real pipeline on doubles: every question finds all papers, in the order of the table."""

    def __init__(self, tmp_path, models, **settings):
        self.settings = load_settings(home=tmp_path, **settings)
        self.models = models
        self.asked = []

    def papers(self):
        return list(PAPERS.values())

    @property
    def generator(self):
        return self.models.generator()

    def ask(self, question, *, history=(), stream=False):
        self.asked.append((question, len(history)))
        made = Resources(
            self.settings, self.generator, lambda _, k: [hit(p) for p in PAPERS][:k], lambda i, _: [hit(i)], PAPERS.get
        )
        answering = AnswerStream(lambda cancel: answer_events(question, history, made, cancel))
        return answering if stream else answering.answer


def hit(label):
    paper = PAPERS[label]
    index = paper.position
    passage = Passage(label, label, Span(0, len(paper.text)), paper.text)
    return Hit(passage, paper, 1.0 - index / 10, similarity=0.5 - index / 10, overlap=0.25, named=index == 0)


@pytest.fixture
def listened(tmp_path):
    def make(judgements, **settings):
        return Library(tmp_path, Listening(Models(judgements)), **settings)

    return make


def quiet(*_):
    return None


def test_signals_are_those_of_every_candidate_also_when_the_first_settled_it(tmp_path, listened):
    library = listened({"state the answer": 0.999})
    [found] = collect([STROKES], library, tmp_path / "signals.jsonl", quiet)
    assert found == Collected(
        "s",
        Road.ANSWERABLE,
        True,
        (
            Candidate(Signals(0.999, 0.5, 0.25, True), True),
            Candidate(Signals(0.999, 0.4, 0.25, False), False),
            Candidate(Signals(0.999, 0.3, 0.25, False), False),
        ),
    )


def test_a_refused_question_has_the_signals_that_it_was_refused_by(tmp_path, listened):
    library = listened({"state the answer": 0.01})
    [found] = collect([WHO], library, tmp_path / "signals.jsonl", quiet)
    assert [c.signals.yes for c in found.candidates] == [0.01] * 3
    assert not found.answerable
    assert not any(c.gold for c in found.candidates)
    assert len(library.generator._generator.prompts) == 3


def test_a_question_for_papers_gives_each_paper_its_own_judgement(tmp_path, listened):
    library = listened({"belong in the answer": 0.8})
    [found] = collect([BOATS], library, tmp_path / "signals.jsonl", quiet)
    assert found.road is Road.BELONGS
    assert [(c.signals.yes, c.gold) for c in found.candidates] == [(0.8, True), (0.8, False), (0.8, True)]


def test_only_the_last_turn_counts_and_the_earlier_ones_are_its_history(tmp_path, listened):
    library = listened({"state the answer": 0.7})
    [found] = collect([FOLLOW], library, tmp_path / "signals.jsonl", quiet)
    assert library.asked == [("What is KITEWING?", 0), ("How many layers does it have?", 1)]
    assert len(found.candidates) == 3


def test_collected_signals_are_kept_until_something_they_depend_on_changes(tmp_path, listened, monkeypatch):
    cache = tmp_path / "signals.jsonl"
    library = listened({"state the answer": 0.7})
    first = collect([STROKES, WHO], library, cache, quiet)
    library.asked = []
    assert collect([STROKES, WHO, BOATS], library, cache, quiet)[:2] == first
    assert [question for question, _ in library.asked] == [BOATS.asked]
    with cache.open("ab") as file:
        file.write(b'{"id": "s", "run')
    collect([STROKES], library, cache, quiet)
    assert len(list(rows(cache))) == 3
    other = listened({"state the answer": 0.7}, candidates=2)
    assert len(collect([STROKES], other, cache, quiet)[0].candidates) == 2


def test_a_damaged_line_of_signals_is_told(tmp_path, listened):
    cache = tmp_path / "signals.jsonl"
    library = listened({"state the answer": 0.7})
    collect([STROKES], library, cache, quiet)
    cache.write_text(cache.read_text().replace('"yes"', '"aye"'))
    with pytest.raises(ReadError, match="line of s is damaged"):
        collect([STROKES], library, cache, quiet)


def test_a_listener_is_needed_and_passes_everything_on(tmp_path):
    with pytest.raises(TypeError, match="Listening"):
        collect([WHO], Library(tmp_path, Models({})), tmp_path / "signals.jsonl", quiet)
    fake = FakeGenerator()
    listener = Listener(fake)
    assert (listener.name, listener.context_tokens) == (fake.name, fake.context_tokens)
    assert listener.count_tokens("a b") == 2
    assert listener.prepare("s", ["p"], threading.Event()) == 1
    listener.close()
    assert fake._closed


# --- fitting


def drawn(count, seed=3):
    """Decisions that yes and overlap tell apart, not perfectly."""
    draw = random.Random(seed)
    found = []
    for n in range(count):
        positive = draw.random() < 0.7
        centre = 2.0 if positive else -1.5
        candidates = tuple(
            Signals(1 / (1 + math.exp(-draw.gauss(centre - rank, 1.5))), draw.uniform(0, 1), draw.random() / 2 + positive / 3, draw.random() < 0.5)  # noqa: E501
            for rank in range(3)
        )  # fmt: skip
        found.append(Item(f"q{n}", positive, candidates))
    return found


def test_scaling_is_folded_into_the_weights():
    data = [Item(i.group, i.positive, i.candidates[:1]) for i in drawn(200)]
    x = np.array([i.candidates[0].features() for i in data])
    y = [i.positive for i in data]
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, class_weight="balanced")).fit(x, y)
    row = fit.fit(data, "balanced")
    expected = model.predict_proba(x)[:, 1]
    assert [row.probability(i.candidates[0]) for i in data] == pytest.approx(expected, abs=1e-3)


def test_a_signal_that_never_changes_is_no_trouble():
    data = [Item(str(n), n % 2 == 0, (Signals(0.9 if n % 2 == 0 else 0.1, 0.5, 0.5, False),)) for n in range(20)]
    row = fit.fit(data)
    assert all(math.isfinite(w) for w in row.weights)
    assert probability(row, data[0]) > 0.5 > probability(row, data[1])


def test_the_best_candidate_counts_unless_the_first_is_sure():
    row = Calibration(0.0, (1.0, 0.0, 0.0, 0.0))
    low, high, sure = (Signals(yes, 0.0, 0.0, False) for yes in (0.2, 0.97, 0.91))
    assert probability(row, Item("a", True, (low, high))) == pytest.approx(0.97)
    assert probability(row, Item("a", True, (sure, high))) == pytest.approx(0.91)


def test_no_question_is_measured_by_a_row_that_saw_it(monkeypatch):
    data = [Item(f"q{n // 2}", n % 3 == 0, i.candidates) for n, i in enumerate(drawn(60))]
    seen = []

    def remember(some, weight=None):
        seen.append({i.group for i in some})
        return Calibration(float(len(seen)), (0.0, 0.0, 0.0, 0.0))

    monkeypatch.setattr(fit, "fit", remember)
    said = held_out(data)
    assert len(seen) == 5
    for item, p in zip(data, said, strict=True):
        fold = round(log_odds(p))
        assert item.group not in seen[fold - 1]


def test_figures_at_both_thresholds(monkeypatch):
    data = [Item(str(n), n < 100, (Signals(0.5, 0.0, 0.0, False),)) for n in range(110)]
    said = [0.1 + 0.008 * n for n in range(100)] + [0.05, 0.12, 0.301, 0.401, 0.451, 0.551, 0.601, 0.701, 0.801, 0.9]
    monkeypatch.setattr(fit, "held_out", lambda _data, _weight=None: said)
    monkeypatch.setattr(fit, "fit", lambda _data, _weight=None: Calibration(1.0, (1.0, 0.0, 0.0, 0.0)))
    found = evaluate(data)
    assert (found.positives, found.negatives) == (100, 10)
    assert found.kept == 0.5
    assert found.abstain == 0.5
    assert found.threshold == pytest.approx(0.1 + 0.008 * 3)
    assert found.kept_there == 0.97
    assert found.abstain_there == pytest.approx(0.2)
    below = sum(p < n for n in said[100:] for p in said[:100])
    assert found.auc == pytest.approx(1 - below / 1000)


def test_the_shifted_row_says_one_half_at_the_threshold():
    row = Calibration(1.0, (1.0, 0.5, 0.0, 0.0))
    found = fit.Fit(row, 1, 1, 1.0, 1.0, 1.0, threshold=0.2, kept_there=1.0, abstain_there=1.0)
    yes = 1 / (1 + math.exp(-(log_odds(0.2) - 1.0)))
    signals = Signals(yes, 0.0, 0.0, False)
    assert row.probability(signals) == pytest.approx(0.2)
    assert found.shifted.probability(signals) == pytest.approx(0.5)
    assert found.shifted.weights == row.weights


def test_a_list_is_one_decision_a_candidate_of_one_group():
    both = (Candidate(Signals(0.9, 0, 0, False), True), Candidate(Signals(0.1, 0, 0, False), False))
    collected = [Collected("b", Road.BELONGS, True, both), Collected("s", Road.ANSWERABLE, True, both[::-1]),
                 Collected("e", Road.ANSWERABLE, True, ())]  # fmt: skip
    assert [(i.group, i.positive, len(i.candidates)) for i in items(collected, Road.BELONGS)] == [
        ("b", True, 1), ("b", False, 1),
    ]  # fmt: skip
    assert [(i.group, i.positive, len(i.candidates)) for i in items(collected, Road.ANSWERABLE)] == [("s", True, 2)]


def test_the_report_gives_rows_that_can_be_pasted():
    collected = [
        Collected(i.group, Road.ANSWERABLE, i.positive, tuple(Candidate(s, i.positive) for s in i.candidates))
        for i in drawn(80)
    ]
    text = report([*collected, Collected("gone", Road.ANSWERABLE, True, ())], "a-model")
    assert "ANSWERABLE: 80 decisions of 80 questions" in text
    assert "BELONGS: 0 decisions" in text
    assert "too few of one class to fit" in text
    assert "1 questions had no candidates and are left out: gone" in text
    pasted = [line for line in text.splitlines() if line.startswith('    "a-model"')]
    assert len(pasted) == 4
    row = eval("{" + pasted[0] + "}", {"Calibration": Calibration})["a-model"]
    assert row.weights[0] > 0
    data = items(collected, Road.ANSWERABLE)
    right = sum((probability(row, i) >= 0.5) is i.positive for i in data)
    assert right > 70


def test_the_command_keeps_signals_by_model(tmp_path, listened, monkeypatch):
    library = listened({"state the answer": 0.7})
    library.__class__.__enter__ = lambda self: self
    library.__class__.__exit__ = lambda self, *_: None
    monkeypatch.setattr(calibrate, "_listened", lambda _args, _output: library)
    monkeypatch.setattr(calibrate, "read_questions", lambda _path: [STROKES, WHO])

    class Output:
        notes, texts = [], []

        def progress(self, _title):
            import contextlib

            return contextlib.nullcontext(quiet)

        def note(self, text):
            self.notes.append(text)

        def text(self, text):
            self.texts.append(text)

    args = Namespace(questions=None, library=None, model=None, signals=None)
    assert calibrate.run(args, Output()) == 0
    assert len(list((tmp_path / "calibration").glob("*.jsonl"))) == 1
    assert "ANSWERABLE: 2 decisions" in Output.texts[0]
