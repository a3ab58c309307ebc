"""A benchmark compares like with like, writes one flat object, and says which figure misses its bound."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from types import SimpleNamespace

import pytest

from eval import bench, comparison, opponents, speed
from eval.__main__ import main
from eval.bench import CHECKS, Check
from eval.datasets import Gold, Question
from models.fakes import FakeGenerator
from models.protocols import Prompt
from rag.abstain import Signals
from rag.domain import Hit, Paper, Passage, Span
from rag.errors import CiteboundError, ReadError
from rag.judge import Judged
from rag.output import Output
from rag.settings import load_settings

GOOD = {
    "first_word_ratio": 15.0,
    "first_word_cold_ratio": 1.02,
    "decode_ratio": 1.3,
    "right_cached_minus_plain": -2.0,
    "right_three_cached_minus_plain": 1.0,
}


class Generator(FakeGenerator):
    """A double that can forget; ``log`` is shared, to see who did what when."""

    def __init__(self, name="fake", log=None, answers=None, **more):
        super().__init__(answers, **more)
        self.name = name
        self.log = [] if log is None else log

    def forget(self):
        self.log.append((self.name, "forget"))

    def stream(self, request):
        self.log.append((self.name, request.prompt.question))
        return super().stream(request)


def prompts(count):
    return [Prompt("s", (f"Passage: Foo reads {n} maps.\n\n",), f"q{n}") for n in range(count)]


def test_both_prefills_start_afresh_and_who_begins_alternates():
    generator = Generator()
    said = comparison.Both(generator, 20, lambda *_: None).say(prompts(2))
    plain = [f"Passage: Foo reads {n} maps.\n\nq{n}" for n in range(2)]
    assert [what for _, what in generator.log] == [
        "forget", plain[0], "forget", "q0", "forget", "q1", "forget", plain[1],
    ]  # fmt: skip
    assert [ours.text for _, ours in said] == ["Foo reads 0 maps.", "Foo reads 1 maps."]
    assert all(0 < one.first <= one.total for pair in said for one in pair)


def test_plain_prefill_reads_the_same_text_with_nothing_ahead():
    prompt = Prompt("s", ("one ", "two "), "what?", "Answer.\n")
    assert speed.plainly(prompt) == Prompt("s", (), "one two Answer.\nwhat?")


def test_the_empty_cache_is_emptied_before_every_prompt():
    generator = Generator()
    found = speed.cold_first_words(generator, prompts(2), lambda: generator.log.append(("", "emptied")))
    assert [what[-2:] for _, what in generator.log if what != "forget"] == ["ed", "q0", "q0", "ed", "q1", "q1"]
    assert found["first_word_cold_ratio"] > 0


def test_ratios_are_medians_over_questions_of_each_ones_own():
    found = speed.first_words([(10.0, 1.0), (8.0, 0.5), (6.0, 2.0)], "cached", "_one")
    assert found == {"first_word_plain_one_s": 8.0, "first_word_cached_one_s": 1.0, "first_word_ratio_one": 10.0}


def test_an_answer_without_a_piece_has_its_first_word_at_its_end():
    said = speed.say(Generator(answers={"q": ""}), prompts(1)[0], 5)
    assert said.text == ""
    assert said.first == said.total > 0


def test_decoding_is_compared_with_the_prompt_read_and_one_model_open_at_a_time():
    log = []

    def opener(name, short="none"):
        @contextlib.contextmanager
        def opened():
            log.append(f"{name} opens")
            yield lambda prompt, most: log.append((prompt.question, most)) or (9 if prompt.question == short else most)
            log.append(f"{name} closes")

        return opened

    found = speed.decoding(opener("ours"), opener("theirs"), prompts(2), 70, "_x")
    once = [("q0", 1), ("q0", 70), ("q1", 1), ("q1", 70)]
    expected = []
    for name in ("ours", "theirs", "theirs", "ours"):
        expected += [f"{name} opens", *once, f"{name} closes"]
    assert log == expected
    assert found["decode_x_n"] == 2
    assert found.keys() == {
        "decode_x_ratio", "decode_x_n", "decode_x_tokens_per_s", "decode_x_reference_tokens_per_s"
    }  # fmt: skip
    assert found["decode_x_ratio"] > 0
    # Where either side says little, its speed doesn't count.
    assert speed.decoding(opener("ours"), opener("theirs", "q1"), prompts(2), 70)["decode_n"] == 1
    assert speed.decoding(opener("ours", "q0"), opener("theirs", "q1"), prompts(2), 70) == {}
    assert speed.decoding(opener("ours"), opener("theirs", "q1"), prompts(2), 70, enough=1)["decode_n"] == 2


def test_a_command_is_timed_and_a_failing_one_is_told():
    assert speed.command([sys.executable, "-c", "pass"], 1) > 0
    with pytest.raises(CiteboundError, match="exited with 3: at last"):
        speed.command([sys.executable, "-c", "import sys; print('first\\nat last', file=sys.stderr); sys.exit(3)"], 1)
    with pytest.raises(CiteboundError, match="can't be run"):
        speed.command(["/nonexistent/citebound"], 1)


# --- the comparison's prompts and marks

PAPERS = [
    Paper(name, f"{name} does {n} things. It is a method.", name, "a.txt", n)
    for n, name in enumerate(["Foo", "Bar", "Baz", "Qux"])
]


def library(*judged, found=4):
    hits = [Hit(Passage(p.id, p.id, Span(0, len(p.text)), p.text), p, 1.0, 0.5, 0.5) for p in PAPERS[:found]]
    generator = Generator()
    generator.judged = judged
    return SimpleNamespace(
        generator=generator, settings=load_settings(home="/nonexistent"),
        search=lambda _question, k=5: hits[:k], paper=lambda _id: None,
    )  # fmt: skip


QUESTION = Question("q", "fact", ("How many things does Foo do?",), True, ("\\b0\\b",), (Gold("Foo"),))


@pytest.fixture
def plainly(monkeypatch):
    """Each library's ``judged`` are the probabilities of its hits, best first, whatever rows are in force."""

    def judge(_question, hits, resources, _cancel):
        return [Judged(hit, Signals(p), p) for hit, p in zip(hits, resources.generator.judged, strict=False)]

    monkeypatch.setattr(comparison, "judge", judge)


@pytest.mark.usefixtures("plainly")
def test_a_case_has_three_passages_and_those_judged_best():
    sure = comparison.case(QUESTION, library(0.99, 0.1))
    assert [len(p.passages) for p in (sure.three, sure.read, sure.one)] == [3, 1, 1]
    assert sure.one == sure.read
    assert "Foo does 0 things" in sure.one.passages[0]
    torn = comparison.case(QUESTION, library(0.8, 0.8))
    assert [len(p.passages) for p in (torn.three, torn.read, torn.one)] == [3, 2, 1]
    assert {p.question for p in (torn.three, torn.read, torn.one)} == {sure.three.question}
    assert torn.three.system == torn.one.system
    with pytest.raises(CiteboundError, match="nothing is found for q"):
        comparison.case(QUESTION, library(found=0))


@pytest.mark.usefixtures("plainly")
def test_marks_count_right_drafts_and_first_words_are_of_one_passage():
    cases = [comparison.case(QUESTION, library(*yes)) for yes in ((0.99, 0.1), (0.8, 0.8))]
    # The whole text is the question only where it is read plainly.
    generator = Generator(answers={"Passage:": "It does 0.", "How many": "It does 1."})
    both = comparison.Both(generator, 20, lambda *_: None)
    three = comparison.three_passages(cases, both)
    assert three["right_three_plain"] == 2
    assert three["right_three_cached"] == 0
    assert three["right_three_cached_minus_plain"] == -2
    assert three["right_three_same_text"] == 0
    assert three["prompt_tokens_p50"] > 10
    assert three["first_word_ratio"] > 0
    read = comparison.judged_passages(cases, both)
    assert read["right_plain"] == 2
    assert read["read_one_n"] == 1
    assert read["first_word_ratio_one"] > 0
    assert [len(p.passages) for p in generator.prompts if p.passages][-3:] == [1, 2, 1]


@pytest.mark.usefixtures("plainly")
def test_long_answers_are_asked_from_the_best_passage_by_broad_questions_in_turn():
    one = comparison.case(QUESTION, library(0.99, 0.1))
    prompts = comparison.at_length([one] * 4)
    assert len(prompts) == 4
    assert all((p.passages, p.instruction) == (one.one.passages, one.one.instruction) for p in prompts)
    assert all(question in p.question for question, p in zip(comparison.BROAD, prompts, strict=False))
    assert prompts[3] == prompts[0] != prompts[1]


# --- the command


@pytest.fixture
def benched(tmp_path, monkeypatch):
    """``benched(figures, *argv)`` runs the command with these figures as measured."""

    monkeypatch.chdir(tmp_path)
    asked = []

    def run(figures, *argv):
        def phases(questions, _output):
            asked[:] = questions
            yield "all", figures

        monkeypatch.setattr(bench, "phases", phases)
        out, err = io.StringIO(), io.StringIO()
        code = main(["bench", *argv], Output(out, err))
        return code, out.getvalue(), err.getvalue(), asked

    return run


def test_figures_go_to_one_flat_object(benched, tmp_path):
    (tmp_path / ".setup.json").write_text('{\n "fresh_setup_s": 241.5,\n "note": "text"\n}\n')
    code, shown, _, asked = benched(GOOD, "--check")
    assert code == 0
    written = json.loads((tmp_path / "bench.json").read_text())
    assert written.items() >= GOOD.items()
    assert written["fresh_setup_s"] == 241.5
    assert written["questions"] == len(asked) == 50
    assert all(isinstance(value, int | float) for value in written.values())
    assert "holds" in shown
    assert "MISSED" not in shown
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".new")] == []


@pytest.mark.parametrize("missing", [check.figure for check in CHECKS])
def test_each_bound_is_checked_and_a_figure_not_measured_misses(benched, missing):
    bad = {"first_word_ratio": 11.9, "first_word_cold_ratio": 1.11, "decode_ratio": 1.19}.get(missing, -3.0)
    code, shown, told, _ = benched({**GOOD, missing: bad}, "--check", "--out", "other.json")
    assert code == 1
    assert shown.count("MISSED") == 1
    assert f"{missing} is {bad}; it must be" in told
    code, _, told, _ = benched({key: value for key, value in GOOD.items() if key != missing}, "--check")
    assert code == 1
    assert f"{missing} is not measured" in told


def test_without_check_a_miss_is_only_shown(benched):
    code, shown, told, asked = benched({**GOOD, "decode_ratio": 0.9}, "--questions", "3")
    assert code == 0
    assert "MISSED" in shown
    assert "only 3 questions" in told
    assert len(asked) == 3


def test_a_bound_itself_holds():
    assert Check("a", ">=", 2).holds({"a": 2.0})
    assert Check("a", "<=", 2).holds({"a": 2.0})
    assert not Check("a", "<=", 2).holds({})


def test_a_damaged_setup_file_is_named(tmp_path):
    path = tmp_path / ".setup.json"
    path.write_text("{")
    with pytest.raises(ReadError, match=r"\.setup\.json"):
        bench.setup(path)
    assert bench.setup(tmp_path / "none.json") == {}


def test_only_questions_that_can_be_put_as_they_are():
    other = [
        Question("a", "multi", ("?",), True, (), (Gold("x"),)),
        Question("b", "followup", ("?", "?"), True, ("1",), (Gold("x"),)),
        Question("c", "unanswerable", ("?",), False),
    ]
    assert bench.suitable([QUESTION, *other]) == [QUESTION]


def test_a_generator_that_cant_forget_is_refused():
    assert opponents.forgetful(Generator()).name == "fake"
    with pytest.raises(CiteboundError, match="can't forget"):
        opponents.forgetful(FakeGenerator())
