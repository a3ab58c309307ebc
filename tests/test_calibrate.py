"""Calibration listens to the real road, fits rows that the program reads, and measures them on what they didn't see."""

from __future__ import annotations

import io
import math
import random
import threading
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eval import calibrate, fit
from eval.__main__ import main
from eval.calibrate import report
from eval.datasets import Gold, Question
from eval.files import rows
from eval.fit import Item, evaluate, held_out, items, probability, whole_road
from eval.listening import Listener, Listening
from eval.signals import Candidate, Collected, Ears, Road, collect
from models.fakes import FakeEmbedder, FakeGenerator
from models.protocols import Prompt
from rag import prompt
from rag.abstain import FEATURES, Calibration, Decision, Signals, log_odds
from rag.domain import Hit, Paper, Passage, Span
from rag.errors import ReadError
from rag.output import Output
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
    def __init__(self, judgements, said="OARFISH needs 42 strokes per mile."):
        self.fake = FakeGenerator({"Answer by": said}, judgements)

    def generator(self):
        return self.fake

    def embedder(self, made_by=""):
        return FakeEmbedder()


class Library:
    """The real pipeline on doubles: every question finds all papers, in the order of the table."""

    def __init__(self, tmp_path, models, asked, **settings):
        self.settings = load_settings(home=tmp_path, **settings)
        self.models = models
        self.asked = asked

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def papers(self):
        return list(PAPERS.values())

    def paper(self, paper_id):
        return PAPERS.get(paper_id)

    def search(self, _question, k=5):
        return [hit(label) for label in PAPERS][:k]

    @property
    def generator(self):
        return self.models.generator()

    def ask(self, question, *, history=(), stream=False):
        self.asked.append((question, len(history), self.settings.strictness))
        made = Resources(self.settings, self.generator, self.search, lambda i, _: [hit(i)], PAPERS.get)
        answering = AnswerStream(lambda cancel: answer_events(question, history, made, cancel))
        return answering if stream else answering.answer


def hit(label):
    paper = PAPERS[label]
    index = paper.position
    passage = Passage(label, label, Span(0, len(paper.text)), paper.text)
    return Hit(passage, paper, 1.0 - index / 10, similarity=0.5 - index / 10, overlap=0.25, named=index == 0)


@pytest.fixture
def listened(tmp_path):
    """Makes ears over the real pipeline; ``ears.asked`` are the questions, lengths of history and strictness."""

    def make(judgements, said="OARFISH needs 42 strokes per mile.", **settings):
        models, asked = Listening(Models(judgements, said)), []
        ears = Ears(
            Library(tmp_path, models, asked, **settings), Library(tmp_path, models, asked, strictness=0.0, **settings)
        )
        return ears, asked

    return make


def quiet(*_):
    return None


def signals_of(question, ears, tmp_path):
    [found] = collect([question], ears, tmp_path / "signals.jsonl", quiet)
    return found


def test_signals_are_those_of_every_candidate_also_when_the_first_settled_it(tmp_path, listened):
    ears, _ = listened({"Proposed answer": 0.75, "state the answer": 0.999})
    found = signals_of(STROKES, ears, tmp_path)
    assert (found.id, found.road, found.answerable, found.written) == ("s", Road.ANSWER, True, 0)
    assert [(c.signals.yes, c.signals.similarity, c.gold) for c in found.candidates] == [
        (0.999, 0.5, True), (0.999, 0.4, False), (0.999, pytest.approx(0.3), False),
    ]  # fmt: skip
    assert [c.signals.claim for c in found.candidates] == [0.75, 0.5, 0.5]
    assert [c.signals.strange for c in found.candidates] == [0, 1, 1]
    assert found.settles


def test_a_question_that_names_what_another_candidate_contains_is_not_settled_by_the_first(
    tmp_path, listened, monkeypatch
):
    monkeypatch.setattr(Library, "search", lambda _self, _q, k=5: [hit(p) for p in ("KITEWING", "OARFISH")][:k])
    ears, _ = listened({"state the answer": 0.999})
    assert not signals_of(STROKES, ears, tmp_path).settles


def test_nothing_is_refused_on_the_way_so_every_draft_has_its_judgement(tmp_path, listened):
    ears, _ = listened({"Proposed answer": 0.25, "state the answer": 0.01}, said="KITEWING has 7 layers.")
    found = signals_of(WHO, ears, tmp_path)
    assert [c.signals.yes for c in found.candidates] == [0.01] * 3
    assert not found.answerable
    assert not any(c.gold for c in found.candidates)
    # All yes are alike and the strange names decide: KITEWING's own passage was written from.
    assert found.written == 1
    assert found.candidates[1].signals.claim == 0.25


def test_a_draft_of_which_nothing_is_left_has_no_judgement(tmp_path, listened):
    ears, _ = listened({"Proposed answer": 0.9, "state the answer": 0.9}, said="The passage does not mention it.")
    found = signals_of(STROKES, ears, tmp_path)
    assert found.written is None
    assert len(found.candidates) == 3


def test_a_question_for_papers_gives_each_paper_its_own_judgement(tmp_path, listened):
    ears, _ = listened({"belong in the answer": 0.8})
    found = signals_of(BOATS, ears, tmp_path)
    assert (found.road, found.written) == (Road.LIST, None)
    assert [(c.signals.yes, c.signals.margin, c.gold) for c in found.candidates] == [
        (0.8, 0.0, True), (0.8, 0.0, False), (0.8, 0.0, True),
    ]  # fmt: skip


def test_only_the_last_turn_counts_and_the_earlier_ones_are_answered_as_usual(tmp_path, listened):
    ears, asked = listened({"state the answer": 0.7})
    found = signals_of(FOLLOW, ears, tmp_path)
    assert asked == [("What is KITEWING?", 0, 0.5), ("How many layers does it have?", 1, 0.0)]
    assert len(found.candidates) == 3


def test_what_was_judged_on_the_way_is_not_judged_again(tmp_path, listened):
    ears, _ = listened({"state the answer": 0.7, "Proposed answer": 0.7})
    signals_of(STROKES, ears, tmp_path)
    judged = [p for p in ears.listener._generator.prompts if p.question.endswith(prompt.JUDGE)]
    assert len(judged) == len(set(judged)) == 3


def test_collected_signals_are_kept_until_something_they_depend_on_changes(tmp_path, listened):
    cache = tmp_path / "signals.jsonl"
    ears, asked = listened({"state the answer": 0.7})
    first = collect([STROKES, WHO], ears, cache, quiet)
    asked.clear()
    assert collect([STROKES, WHO, BOATS], ears, cache, quiet)[:2] == first
    assert [question for question, _, _ in asked] == [BOATS.asked]
    with cache.open("ab") as file:
        file.write(b'{"id": "s", "run')
    collect([STROKES], ears, cache, quiet)
    assert len(list(rows(cache))) == 3
    other, _ = listened({"state the answer": 0.7}, candidates=2)
    assert len(collect([STROKES], other, cache, quiet)[0].candidates) == 2
    third, _ = listened({"state the answer": 0.7}, candidates=1)
    assert len(collect([STROKES], third, cache, quiet, reuse=True)[0].candidates) == 2


def test_a_damaged_line_of_signals_is_told(tmp_path, listened):
    cache = tmp_path / "signals.jsonl"
    ears, _ = listened({"state the answer": 0.7})
    collect([STROKES], ears, cache, quiet)
    cache.write_text(cache.read_text().replace('"yes"', '"aye"'))
    with pytest.raises(ReadError, match="line of s is damaged"):
        collect([STROKES], ears, cache, quiet)


def test_a_listener_is_needed_and_passes_everything_on(tmp_path):
    deaf = Library(tmp_path, Models({}), [])
    with pytest.raises(TypeError, match="Listening"):
        collect([WHO], Ears(deaf, deaf), tmp_path / "signals.jsonl", quiet)
    fake = FakeGenerator()
    listener = Listener(fake)
    assert (listener.name, listener.context_tokens) == (fake.name, fake.context_tokens)
    assert listener.count_tokens("a b") == 2
    assert listener.prepare("s", ["p"], threading.Event()) == 1
    one, two = (Prompt("s", (), text) for text in "ab")
    assert listener.yes_probability([one, two, one]) == [fake.yes_probability([p])[0] for p in (one, two, one)]
    listener.reset()
    assert not listener.judged
    listener.close()
    assert fake._closed


# --- fitting


@pytest.fixture(autouse=True)
def sure(monkeypatch):
    """The figures below are made for this one."""
    monkeypatch.setattr("rag.judge.SURE", 0.9)


def drawn(count, seed=3):
    """Decisions that yes and overlap tell apart, not perfectly."""
    draw = random.Random(seed)
    found = []
    for n in range(count):
        positive = draw.random() < 0.7
        centre = 2.0 if positive else -1.5
        candidates = tuple(
            Signals(1 / (1 + math.exp(-draw.gauss(centre - rank, 1.5))), draw.random(), strange=draw.randint(0, 3))
            for rank in range(3)
        )  # fmt: skip
        found.append(Item(f"q{n}", positive, candidates))
    return found


def test_scaling_is_folded_into_the_weights():
    data = [Item(i.group, i.positive, i.candidates[:1]) for i in drawn(200)]
    names = FEATURES[Decision.ANSWERABLE]
    x = np.array([[i.candidates[0].feature(name) for name in names] for i in data])
    y = [i.positive for i in data]
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, class_weight="balanced")).fit(x, y)
    row = fit.fit(data, Decision.ANSWERABLE, "balanced")
    assert tuple(row.weights) == names
    expected = model.predict_proba(x)[:, 1]
    assert [row.probability(i.candidates[0]) for i in data] == pytest.approx(expected, abs=1e-3)


def test_a_signal_that_never_changes_is_no_trouble():
    data = [Item(str(n), n % 2 == 0, (Signals(0.9 if n % 2 == 0 else 0.1),)) for n in range(20)]
    row = fit.fit(data, Decision.BELONGS)
    assert all(math.isfinite(w) for w in row.weights.values())
    assert probability(row, data[0]) > 0.5 > probability(row, data[1])


def test_the_best_candidate_counts_unless_the_first_is_sure():
    row = Calibration(0.0, {"yes": 1.0})
    low, high, sure = map(Signals, (0.2, 0.97, 0.91))
    assert probability(row, Item("a", True, (low, high))) == pytest.approx(0.97)
    assert probability(row, Item("a", True, (sure, high))) == pytest.approx(0.91)
    assert probability(row, Item("a", True, (sure, high), settles=False)) == pytest.approx(0.97)


def test_fitting_chooses_the_best_candidate_by_the_row_that_it_fits():
    """Strange names deceive: where one candidate stands alone it shows, and changes the choice where there are two."""
    draw = random.Random(1)
    data = []
    for n in range(200):
        positive = n % 2 == 0
        deceiving = Signals(draw.uniform(0.6, 0.85), strange=2)
        other = Signals(draw.uniform(0.5, 0.7) if positive else draw.uniform(0.05, 0.2), strange=0)
        data.append(Item(str(n), positive, (other,) if n % 8 < 6 else (deceiving, other)))
    torn = [item for item in data if item.positive and len(item.candidates) == 2]
    assert {fit._chosen(fit.START, item).strange for item in torn[:10]} >= {2}
    row = fit.fit(data, Decision.ANSWERABLE)
    assert all(fit._chosen(row, item).strange == 0 for item in torn)


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_when_choosing_goes_round_in_a_circle_the_best_round_counts(weight):
    draw = random.Random(1)
    data = []
    for n in range(200):
        positive = n % 2 == 0
        deceiving = Signals(draw.uniform(0.6, 0.85), strange=2)
        other = Signals(draw.uniform(0.5, 0.7) if positive else draw.uniform(0.05, 0.2))
        data.append(Item(str(n), positive, (Signals(0.87),) if n % 4 == 0 else (deceiving, other)))
    labels, names = [item.positive for item in data], FEATURES[Decision.ANSWERABLE]
    rounds = [fit.START]
    for _ in range(6):
        rounds.append(fit._regression([fit._chosen(rounds[-1], item) for item in data], labels, names, weight))
    assert rounds[-1] != rounds[-2]
    losses = [fit._log_loss(row, data, weight) for row in rounds[1:]]
    assert fit._log_loss(fit.fit(data, Decision.ANSWERABLE, weight), data, weight) == min(losses) < max(losses)


def test_no_question_is_measured_by_a_row_that_saw_it(monkeypatch):
    data = [Item(f"q{n // 2}", n % 3 == 0, i.candidates) for n, i in enumerate(drawn(60))]
    seen = []

    def remember(some, _decision, _weight=None):
        seen.append({i.group for i in some})
        return Calibration(float(len(seen)), {"yes": 0.0})

    monkeypatch.setattr(fit, "fit", remember)
    said = held_out(data, Decision.ANSWERABLE)
    assert len(seen) == 5
    for item, p in zip(data, said, strict=True):
        fold = round(log_odds(p))
        assert item.group not in seen[fold - 1]


def test_figures_at_both_thresholds(monkeypatch):
    data = [Item(str(n), n < 100, (Signals(0.5),)) for n in range(110)]
    said = [0.1 + 0.008 * n for n in range(100)] + [0.05, 0.12, 0.301, 0.401, 0.451, 0.551, 0.601, 0.701, 0.801, 0.9]
    monkeypatch.setattr(fit, "held_out", lambda *_: said)
    monkeypatch.setattr(fit, "fit", lambda *_: Calibration(1.0, {"yes": 1.0}))
    found = evaluate(data, Decision.ANSWERABLE)
    assert (found.positives, found.negatives) == (100, 10)
    assert found.kept == 0.5
    assert found.abstain == 0.5
    assert found.threshold == pytest.approx(0.1 + 0.008 * 3)
    assert found.kept_there == 0.97
    assert found.abstain_there == pytest.approx(0.2)
    assert found.said == tuple(said)
    below = sum(p < n for n in said[100:] for p in said[:100])
    assert found.auc == pytest.approx(1 - below / 1000)


def test_the_shifted_row_says_one_half_at_the_threshold():
    row = Calibration(1.0, {"yes": 1.0, "similarity": 0.5})
    found = fit.Fit(row, 1, 1, 1.0, 1.0, 1.0, threshold=0.2, kept_there=1.0, abstain_there=1.0)
    signals = Signals(1 / (1 + math.exp(-(log_odds(0.2) - 1.0))))
    assert row.probability(signals) == pytest.approx(0.2)
    assert found.shifted.probability(signals) == pytest.approx(0.5, abs=1e-4)
    assert found.shifted.weights == row.weights


def test_each_decision_is_made_on_its_own_items():
    one, two = Candidate(Signals(0.9, claim=0.8), True), Candidate(Signals(0.1), False)
    collected = [
        Collected("b", Road.LIST, True, (one, two)),
        Collected("s", Road.ANSWER, True, (two, one), written=1),
        Collected("w", Road.ANSWER, False, (two, two)),
        Collected("e", Road.ANSWER, True, ()),
    ]
    assert items(collected, Decision.BELONGS) == [Item("b", True, (one.signals,)), Item("b", False, (two.signals,))]
    assert items(collected, Decision.ANSWERABLE) == [
        Item("s", True, (two.signals, one.signals)),
        Item("w", False, (two.signals, two.signals)),
    ]
    assert items(collected, Decision.ANSWERED) == [Item("s", True, (one.signals,))]


def test_the_whole_road_refuses_at_each_of_its_three_places():
    candidate = (Candidate(Signals(0.5), True),)
    answerable = [Collected(name, Road.ANSWER, True, candidate) for name in ("gate", "nothing left", "doubted", "kept")]
    others = [Collected("stranger", Road.ANSWER, False, candidate), Collected("list", Road.LIST, True, candidate)]
    worth = {"gate": 0.1, "nothing left": 0.9, "doubted": 0.9, "kept": 0.9, "stranger": 0.9}
    borne_out = {"gate": 0.9, "doubted": 0.4, "kept": 0.6, "stranger": 0.4}
    assert whole_road([*answerable, *others], worth, borne_out, gate=0.2, threshold=0.5) == (0.25, 1.0)
    assert whole_road([*answerable, *others], worth, borne_out, gate=0.2, threshold=0.4) == (0.5, 0.0)


def collected_at_random(count):
    found = []
    for item in drawn(count):
        first, *rest = (Candidate(signals, item.positive) for signals in item.candidates)
        claim = random.Random(item.group).uniform(*((0.4, 1.0) if item.positive else (0.0, 0.6)))
        first = Candidate(replace(first.signals, claim=claim), item.positive)
        found.append(Collected(item.group, Road.ANSWER, item.positive, (first, *rest), written=0))
    return found


def test_the_report_gives_rows_that_can_be_pasted():
    collected = collected_at_random(80)
    text = report([*collected, Collected("gone", Road.ANSWER, True, ())], "a-model")
    assert "ANSWERABLE: 80 decisions of 80 questions" in text
    assert "ANSWERED: 80 decisions of 80 questions" in text
    assert "BELONGS: 0 decisions of 0 questions; too few to fit" in text
    assert "1 questions had no candidates and are left out: gone" in text
    assert "From the question to the answer" in text
    pasted = [line for line in text.splitlines() if line.startswith('    "a-model"')]
    assert len(pasted) == 8
    row = eval("{" + pasted[4] + "}", {"Calibration": Calibration})["a-model"]
    assert set(row.weights) == set(FEATURES[Decision.ANSWERED])
    data = items(collected, Decision.ANSWERED)
    right = sum((probability(row, i) >= 0.5) is i.positive for i in data)
    assert right > 70


def test_the_command_keeps_signals_by_model(tmp_path, listened, monkeypatch):
    ears, _ = listened({"state the answer": 0.7})
    monkeypatch.setattr(calibrate, "_ears", lambda _args, _output: ears)
    questions = tmp_path / "questions.jsonl"
    questions.write_text(
        '{"id": "s", "kind": "fact", "turns": ["How many strokes?"], "answerable": true, "facts": [],'
        ' "gold": [{"anchor": "OARFISH"}]}\n'
    )
    out, err = io.StringIO(), io.StringIO()
    assert main(["calibrate", "--questions", str(questions)], Output(out, err)) == 0
    [cache] = (tmp_path / "calibration").glob("*.jsonl")
    assert str(cache) in err.getvalue()
    assert "ANSWERABLE: 1 decisions of 1 questions; too few to fit" in out.getvalue()
