"""An exam asks every turn, writes each answer down at once, goes on where it stopped, and grades what came."""

from __future__ import annotations

import dataclasses
import io
import json

import pytest

from eval import answers, exam, retrieval
from eval.__main__ import COMMANDS, main
from eval.datasets import Question, read_questions
from eval.files import append, mend, replace, rows
from rag.domain import Answer, Citation, Hit, Paper, Passage, Sentence, Span, Support, Timings
from rag.errors import CiteboundError, ModelMissingError, QuestionError, ReadError
from rag.output import Output
from rag.settings import load_settings

FOO = Paper("foo", "Foo reads 10 maps. It is quick.", "Foo", "a.txt", 0)
BAR = Paper("bar", "Bar is trained on 3.5 million sentences.", "Bar", "a.txt", 1)
QUESTIONS = [
    {"id": "q1", "kind": "fact", "turns": ["How many maps does Foo read?"], "answerable": True, "facts": ["10"],
     "gold": [{"file": "a.txt", "anchor": "Foo"}]},
    {"id": "q2", "kind": "followup", "turns": ["What is Bar?", "And its size?"], "answerable": True,
     "facts": ["3\\.5"], "gold": [{"file": "a.txt", "anchor": "Bar"}]},
    {"id": "q3", "kind": "unanswerable", "turns": ["Who wrote Foo?"], "answerable": False, "facts": [], "gold": []},
]  # fmt: skip


def passage(paper):
    return Passage(paper.id, paper.id, Span(0, len(paper.text)), paper.text)


def stated(question, paper, start, end, asked=None):
    quote = paper.text[start:end]
    citation = Citation(1, paper, passage(paper), Span(start, end), quote)
    sentence = Sentence(quote, (1,), Support.SUPPORTED, "every word of it")
    times = Timings(first_word=0.25, total=0.5)
    return Answer(question, asked or question, (sentence,), (citation,), confidence=0.9, timings=times, model="double")


class Library:
    """Answers from a script, and remembers what it was asked."""

    name = "double"

    def __init__(self, tmp_path, papers=(FOO, BAR), **settings):
        self.settings = load_settings(home=tmp_path, **settings)
        self.asked = []
        self.warmed = 0
        self.prepared = False
        self.closed = False
        self._papers = list(papers)
        self.script = {
            "How many maps does Foo read?": lambda q: stated(q, FOO, 0, 18),
            "What is Bar?": lambda q: stated(q, BAR, 0, 40),
            "And its size?": lambda q: stated(q, BAR, 0, 40, asked="And the size of Bar?"),
            "Who wrote Foo?": lambda q: Answer(
                q,
                q,
                abstained=True,
                why="The abstracts don't say.",
                confidence=0.1,
                nearest=(Hit(passage(FOO), FOO, 1.0),),
            ),
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True

    def papers(self):
        return self._papers

    def warm(self):
        self.warmed += 1

    def ask(self, question, *, history=()):
        self.asked.append((question, tuple(history)))
        return self.script[question](question)

    def prepare(self, progress=None):
        self.prepared = self.warmed == 0

    def search(self, question, k=5):
        order = (BAR, FOO) if "Bar" in question else (FOO, FOO, BAR)
        return [Hit(passage(paper), paper, 1.0 - i / 10) for i, paper in enumerate(order)][:k]


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path)


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(q) + "\n" for q in QUESTIONS), encoding="utf-8")
    return path


@pytest.fixture
def started(monkeypatch, library):
    """``started(*argv)`` runs a command on the double; exit code, standard output, standard error."""

    def opened(folder, output, **settings):
        library.settings = load_settings(home=library.settings.home, **settings)
        return library

    monkeypatch.setattr(exam, "opened", opened)
    monkeypatch.setattr(retrieval, "opened", opened)

    def run(*argv):
        out, err = io.StringIO(), io.StringIO()
        code = main([str(a) for a in argv], Output(out, err))
        return code, out.getvalue(), err.getvalue()

    return run


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_turn_is_asked_and_the_last_is_written_down(tmp_path, started, questions, library):
    out = tmp_path / "new" / "answers.jsonl"
    code, shown, _ = started("exam", questions, "--out", out)
    assert code == 0
    assert [question for question, _ in library.asked] == [t for q in QUESTIONS for t in q["turns"]]
    [turn] = library.asked[2][1]
    assert (turn.question, turn.answer, turn.cited) == ("What is Bar?", BAR.text, ("bar",))
    first, second, third = lines(out)
    assert {
        "id": "q1",
        "answer": "Foo reads 10 maps.",
        "abstained": False,
        "cited": [FOO.text],
    }.items() <= first.items()
    assert 0 <= first["seconds"] < 5
    assert first["timings"]["first_word"] == 0.25
    assert first["sentences"][0] == {
        "text": "Foo reads 10 maps.", "citations": [1], "support": "supported", "reason": "every word of it",
    }  # fmt: skip
    [citation] = first["citations"]
    assert FOO.text[citation["start"] : citation["end"]] == citation["quote"] == "Foo reads 10 maps."
    assert second["id"] == "q2"
    assert third["abstained"] is True
    assert third["cited"] == []
    assert third["abstention"] == "no evidence"
    assert third["nearest"] == ["Foo"]
    assert "1.000 (2)" in shown
    assert library.closed


def test_json_marks_are_the_graders(started, questions, library):
    code, shown, _ = started("exam", questions, "--json", "--prepare")
    assert code == 0
    assert library.prepared
    marks = json.loads(shown)
    assert marks["by_kind"]["unanswerable"] == {"abstain": 1.0}
    assert marks["all"].pop("seconds_p50") >= 0
    assert marks["all"] == {
        "kept": 1.0, "cite_recall": 1.0, "cite_precision": 1.0, "right": 1.0, "right_and_cited": 1.0, "abstain": 1.0,
        "n": 3,
    }  # fmt: skip


def test_a_second_run_asks_nothing_again(tmp_path, started, questions, library):
    out = tmp_path / "answers.jsonl"
    _, first, _ = started("exam", questions, "--out", out)
    before, library.asked = out.read_bytes(), []
    code, second, told = started("exam", questions, "--out", out)
    assert (code, second, library.asked) == (0, first, [])
    assert out.read_bytes() == before
    assert "3 of 3 questions are answered there already" in told
    assert library.warmed == 1


@pytest.mark.parametrize("change", ["turns", "settings", "papers", "program"])
def test_what_an_answer_depends_on_makes_it_be_asked_again(tmp_path, started, questions, library, monkeypatch, change):
    out = tmp_path / "answers.jsonl"
    started("exam", questions, "--out", out)
    library.asked = []
    again = 4
    if change == "turns":
        other = [{**QUESTIONS[0], "turns": ["What is Bar?"]}, *QUESTIONS[1:]]
        questions.write_text("".join(json.dumps(q) + "\n" for q in other), encoding="utf-8")
        again = 1
    elif change == "papers":
        library._papers = [FOO, BAR, Paper("baz", "Baz paints walls.", "Baz")]
    elif change == "program":
        monkeypatch.setattr("eval.identity.program_key", lambda without=(): "another")
    _, _, told = started("exam", questions, "--out", out, *(["--plain"] if change == "settings" else []))
    assert len(library.asked) == again
    assert "of another run" in told
    assert len(lines(out)) == 3 + (1 if again == 1 else 3)
    assert answers.read_rows(out)["q3"]["abstained"] is True


def test_facts_and_gold_may_change_without_asking_again(tmp_path, started, questions, library):
    out = tmp_path / "answers.jsonl"
    started("exam", questions, "--out", out)
    library.asked = []
    stricter = [{**QUESTIONS[0], "facts": ["11"]}, *QUESTIONS[1:]]
    questions.write_text("".join(json.dumps(q) + "\n" for q in stricter), encoding="utf-8")
    _, shown, _ = started("exam", questions, "--out", out, "--json")
    assert library.asked == []
    assert json.loads(shown)["all"]["right"] == 0.5


def test_a_stopped_run_goes_on_and_a_torn_line_is_asked_again(tmp_path, started, questions, library):
    out = tmp_path / "answers.jsonl"

    def stop(_):
        raise KeyboardInterrupt

    script, library.script["Who wrote Foo?"] = library.script["Who wrote Foo?"], stop
    code, _, told = started("exam", questions, "--out", out)
    assert (code, len(lines(out))) == (130, 2)
    assert "goes on where it was" in told
    library.script["Who wrote Foo?"] = script
    with out.open("r+b") as file:
        file.truncate(out.stat().st_size - 9)
    library.asked = []
    code, shown, told = started("exam", questions, "--out", out, "--json")
    assert code == 0
    assert "torn" in told
    assert [question for question, _ in library.asked] == ["What is Bar?", "And its size?", "Who wrote Foo?"]
    assert [row["id"] for row in lines(out)] == ["q1", "q2", "q3"]
    assert json.loads(shown)["all"]["n"] == 3


def test_a_question_that_cant_be_asked_is_wrong_and_not_gone(tmp_path, started, questions, library):
    def refuse(_):
        raise QuestionError("the question is too long")

    library.script["What is Bar?"] = refuse
    out = tmp_path / "answers.jsonl"
    code, shown, _ = started("exam", questions, "--out", out, "--json")
    assert code == 0
    assert lines(out)[1]["error"] == "the question is too long"
    marks = json.loads(shown)
    assert marks["by_kind"]["followup"]["right"] == 0.0
    assert marks["all"]["right"] == 0.5
    library.asked = []
    started("exam", questions, "--out", out)
    assert library.asked == []


def test_what_meets_every_question_ends_the_run_in_one_line(tmp_path, started, questions, library):
    def missing(_):
        raise ModelMissingError("no model; pull it")

    library.script["What is Bar?"] = missing
    out = tmp_path / "answers.jsonl"
    code, shown, told = started("exam", questions, "--out", out)
    assert (code, shown) == (3, "")
    assert told.splitlines()[-1] == "citebound: no model; pull it"
    assert len(lines(out)) == 1


def test_limit_wrong_and_plain(started, questions, library):
    library.script["How many maps does Foo read?"] = lambda q: stated(q, BAR, 0, 40)
    code, shown, _ = started("exam", questions, "--limit", 1, "--wrong", "--plain")
    assert code == 0
    assert not library.prepared
    assert "- q1 (cite_recall 0.00, cite_precision 0.00, right 0.00, right_and_cited 0.00) How many" in shown
    assert len(library.asked) == 1
    assert library.settings.passage_cache is False


def test_questions_about_other_papers_are_pointed_out(tmp_path, started, questions, library):
    library._papers = [FOO]
    _, _, told = started("exam", questions)
    assert "1 questions ask for papers that this library doesn't hold, q2" in told


def test_each_kind_of_abstention_is_told_apart():
    dropped = (Sentence("It has 19 layers.", (), Support.UNSUPPORTED, "no source has 19"),)
    answer = Answer("q", "q", abstained=True, why="No.", confidence=0.0, dropped=dropped)
    assert answers.abstention(answer) is answers.Abstention.UNSUPPORTED
    assert answers.abstention(dataclasses.replace(answer, confidence=0.3)) is answers.Abstention.DOUBTED
    assert answers.abstention(dataclasses.replace(answer, confidence=0.1, dropped=())) is answers.Abstention.NO_EVIDENCE
    assert answers.abstention(Answer("q", "q")) is answers.Abstention.NONE
    question = Question("q1", "fact", ("q",), True)
    row = answers.row_of(question, answer, 1.0)
    assert row["dropped"][0]["reason"] == "no source has 19"
    assert answers.reply_of(row).abstained


def test_answers_of_any_program_can_be_graded(tmp_path, started, questions):
    out = tmp_path / "answers.jsonl"
    out.write_text(
        '{"id": "q1", "answer": "10", "abstained": false, "cited": ["Foo"], "seconds": 4}\n'
        '{"id": "q3", "answer": null, "cited": null}\n{"id": "elsewhere", "answer": "?"}\n',
        encoding="utf-8",
    )
    code, shown, _ = started("grade", questions, out, "--json")
    assert code == 0
    assert json.loads(shown) == {
        "all": {
            "kept": 1.0, "cite_recall": 0.5, "cite_precision": 0.5, "right": 0.5, "right_and_cited": 0.5,
            "abstain": 0.0, "n": 3, "seconds_p50": 4.0,
        },
        "by_kind": {
            "fact": {"kept": 1.0, "cite_recall": 1.0, "cite_precision": 1.0, "right": 1.0, "right_and_cited": 1.0},
            "followup": {"kept": 1.0, "cite_recall": 0.0, "cite_precision": 0.0, "right": 0.0, "right_and_cited": 0.0},
            "unanswerable": {"abstain": 0.0},
        },
    }  # fmt: skip


@pytest.mark.parametrize("line", ['{"answer": "10"}', '{"id": "q1", "seconds": "soon"}', '{"id": "q1", "timings": 3}'])
def test_a_line_that_is_no_answer_is_named(tmp_path, line):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "q0"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(ReadError, match=r"answers\.jsonl:2 "):
        answers.read_rows(path)


def test_search_is_measured_on_questions_about_one_paper(tmp_path, started, questions, library):
    second = {**QUESTIONS[1], "turns": ["Foo or Bar: who is trained?"]}
    third = {**QUESTIONS[0], "id": "q4", "turns": ["Which is quick, unlike Bar?"]}
    questions.write_text("".join(json.dumps(q) + "\n" for q in (*QUESTIONS, {**second, "id": "q5"}, third)), "utf-8")
    code, shown, told = started("retrieval", questions, "--json", "--wrong")
    assert code == 0
    assert json.loads(shown) == {"P@1": 0.667, "R@3": 1.0, "RR": 0.833, "n": 3}
    assert told.splitlines()[-1] == "- q4 Which is quick, unlike Bar?"
    library._papers = [FOO]
    code, _, told = started("retrieval", questions)
    assert (code, "q5" in told) == (1, True)


def test_a_paper_that_search_misses_counts_as_zero(library, questions):
    library.search = lambda question, k=5: []
    found = retrieval.measure(retrieval.single_paper(read_questions(questions)), library)
    assert found.means == {"P@1": 0.0, "R@3": 0.0, "RR": 0.0}


def test_files_of_lines_are_mended_and_documents_replaced_whole(tmp_path):
    path = tmp_path / "a.jsonl"
    assert mend(path) is False
    append(path, {"text": "混合 \ud83d \u2028"})
    assert [row for _, row in rows(path)] == [{"text": "混合 \ud83d \u2028"}]
    whole = path.read_bytes()
    path.write_bytes(whole.rstrip(b"\n"))
    assert mend(path) is False
    assert path.read_bytes() == whole
    path.write_bytes(whole + b'{"text": "\xe6')
    assert mend(path) is True
    assert path.read_bytes() == whole
    path.write_bytes(b'{"te')
    assert mend(path) is True
    assert path.read_bytes() == b""
    replace(tmp_path / "deep" / "doc.json", {"a": 1})
    with pytest.raises(TypeError):
        replace(tmp_path / "deep" / "doc.json", {"a": object()})
    assert json.loads((tmp_path / "deep" / "doc.json").read_text()) == {"a": 1}
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["doc.json"]
    with pytest.raises(CiteboundError, match="can't be written"):
        append(tmp_path, {})


@pytest.mark.parametrize("argv", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_every_command_has_help(argv, capsys):
    assert main(argv) == 0
    assert capsys.readouterr().out.startswith("usage: ")


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["exam", "--limit", "0"], ["bench", "--questions", "x"]])
def test_wrong_arguments_are_told(argv, capsys):
    assert main(argv) == 2
    assert "usage: " in capsys.readouterr().err
