"""The story of a question on doubles: what is found, judged, answered, dropped, refused, listed, stopped."""

import threading
from dataclasses import replace

import pytest

from models.fakes import FakeGenerator
from rag.abstain import Signals
from rag.answering import bind
from rag.domain import Answer, Found, Hit, Paper, Passage, Piece, Span, Support, Turn
from rag.errors import QuestionError
from rag.judge import Judged
from rag.listing import bind_list
from rag.pipeline import REFUSAL, answer_events
from rag.resources import Resources
from rag.settings import load_settings

ABSTRACTS = {
    "OARFISH": "Rowing is hard. We propose OARFISH, a planner for boats. OARFISH needs 42 strokes per mile.",
    "KITEWING": "We present KITEWING, which steers kites. It is trained on wind from Skagen with 7 layers.",
    "SNOWMAP": "SNOWMAP draws maps of snow. It also plans routes for boats on ice.",
}
PAPERS = {label: Paper(label, text, label, "file.txt", i) for i, (label, text) in enumerate(ABSTRACTS.items())}


def hit(label, score=0.5):
    paper = PAPERS[label]
    return Hit(Passage(label, label, Span(0, len(paper.text)), paper.text), paper, score, score, score, named=True)


def resources(generator, found=("OARFISH", "KITEWING", "SNOWMAP"), **settings):
    return Resources(
        load_settings(home="/nonexistent", **settings),
        generator,
        lambda text, k: [hit(label) for label in found][:k],
        lambda paper_id, text: [hit(paper_id)],
        PAPERS.get,
    )


def run(question, generator, history=(), cancel=None, **more):
    return list(answer_events(question, history, resources(generator, **more), cancel or threading.Event()))


def answered(question, generator, history=(), **more) -> Answer:
    return run(question, generator, history, **more)[-1]


def fake(answers=None, yes=0.99, **more):
    judgements = {"state the answer": yes, "belong in the answer": yes, **more}
    return FakeGenerator(answers or {"Answer by": "OARFISH needs 42 strokes per mile."}, judgements)


def test_papers_come_first_then_the_draft_then_the_answer():
    events = run("How many strokes does OARFISH need?", fake())
    assert isinstance(events[0], Found)
    assert events[0].hits[0].paper.label == "OARFISH"
    assert "".join(e.text for e in events if isinstance(e, Piece)).strip() == "OARFISH needs 42 strokes per mile."
    answer = events[-1]
    assert not answer.abstained
    assert answer.text == "OARFISH needs 42 strokes per mile."
    [citation] = answer.citations
    assert citation.quote == "OARFISH needs 42 strokes per mile."
    assert citation.paper.text[citation.span.start : citation.span.end] == citation.quote
    assert "[1]" in str(answer)
    assert answer.timings.total >= answer.timings.first_word > 0


def test_a_marker_that_the_model_writes_is_no_citation():
    answer = answered("How many strokes does OARFISH need?", fake({"Answer by": "OARFISH needs 42 strokes [7]."}))
    assert [c.number for c in answer.citations] == [1]
    assert "[7]" not in answer.marked


def test_an_answer_does_not_speak_of_the_passage():
    said = "The passage states that OARFISH needs 42 strokes per mile."
    answer = answered("How many strokes does OARFISH need?", fake({"Answer by": said}))
    assert answer.text == "OARFISH needs 42 strokes per mile."


def test_an_invented_number_is_dropped_and_told():
    said = "OARFISH needs 42 strokes per mile. It has 19 layers."
    answer = answered("How many strokes does OARFISH need?", fake({"Answer by": said}))
    assert answer.text == "OARFISH needs 42 strokes per mile."
    [dropped] = answer.dropped
    assert "19" in dropped.reason
    assert "19 layers" in str(answer).split("Left out")[1]


def test_when_nothing_is_supported_it_abstains():
    answer = answered("How many layers does OARFISH have?", fake({"Answer by": "OARFISH has 19 layers."}))
    assert answer.abstained
    assert answer.text.startswith(REFUSAL)
    assert answer.citations == ()
    assert len(answer.dropped) == 1


def test_it_abstains_before_writing_when_no_passage_answers():
    generator = fake(yes=0.001)
    answer = answered("Who built OARFISH?", generator)
    assert answer.abstained
    assert [h.paper.label for h in answer.nearest] == ["OARFISH", "KITEWING", "SNOWMAP"]
    assert not any("Answer by" in p.turn for p in generator.prompts)


def test_strictness_decides():
    generator = fake(yes=0.5)
    assert answered("What is OARFISH?", generator, strictness=0.99).abstained
    assert not answered("What is OARFISH?", generator, strictness=0.0).abstained


def test_a_list_has_each_paper_that_belongs_with_its_evidence():
    generator = FakeGenerator({}, {"Which papers": 0.99})
    answer = answered("Which papers are about boats?", generator)
    assert answer.listed
    assert [p.label for p in answer.papers] == ["OARFISH", "KITEWING", "SNOWMAP"]
    assert "boats" in answer.citations[0].quote
    assert all(s.support is Support.SUPPORTED and len(s.citations) == 1 for s in answer.sentences)
    assert answered("Which papers are about boats?", FakeGenerator({}, {"Which papers": 0.001})).abstained


def test_a_follow_up_is_about_the_paper_cited_last_even_when_it_is_not_found():
    generator = fake({"Answer by": "KITEWING is trained on wind from Skagen."})
    history = [Turn("What is KITEWING?", "It steers kites.", ("KITEWING",))]
    answer = answered("Where is its wind from?", generator, history, found=("OARFISH", "SNOWMAP"))
    assert answer.asked == "Where is KITEWING's wind from?"
    assert [p.label for p in answer.papers] == ["KITEWING"]


def test_a_foreign_question_is_searched_in_english_and_answered_as_asked():
    generator = fake({"Translate": "How many strokes?", "Answer by": "OARFISH 需要 42 次划桨。"}, **{"Proposed": 0.9})
    answer = answered("OARFISH 需要多少次划桨？", generator)
    assert answer.text == "OARFISH 需要 42 次划桨。"
    assert [p.label for p in answer.papers] == ["OARFISH"]
    judged = [p.question for p in generator.prompts if "state the answer" in p.question]
    assert "How many strokes?" in judged[0]


@pytest.mark.parametrize("question", ["", "   \n\t ", "???", "a\x00b", "\x1b[31mred", "word " * 5000, "x" * 10**6])
def test_what_is_no_question_is_refused_before_anything_is_searched(question):
    generator = fake()
    with pytest.raises(QuestionError):
        run(question, generator)
    assert generator.prompts == []


def test_cancelling_keeps_what_is_verified_and_drops_the_torn_sentence():
    cancel = threading.Event()
    said = "OARFISH needs 42 strokes per mile. OARFISH is a planner for boats and much more that never ends"
    events = answer_events("What is OARFISH?", (), resources(fake({"Answer by": said})), cancel)
    seen = ""
    for event in events:
        if isinstance(event, Piece):
            seen += event.text
            if "planner" in seen:
                cancel.set()
    assert isinstance(event, Answer)
    assert event.text == "OARFISH needs 42 strokes per mile."
    assert "cut off" in event.dropped[0].reason


def test_an_empty_draft_is_an_abstention():
    assert answered("What is OARFISH?", fake({"Answer by": "  "})).abstained


def test_an_item_does_not_say_its_first_words_twice():
    text = "Boats need maps of rivers and seas and of all the lakes in between them. They have none."
    paper = Paper("x", text, "Boats need maps of rivers and seas and of…", "f.txt", 0)
    bound = bind_list(
        "Which papers are about boats?",
        [
            Judged(
                replace(hit("OARFISH"), paper=paper, passage=Passage("x", "x", Span(0, len(text)), text)),
                Signals(0.9),
                0.9,
            )
        ],
    )
    assert bound.sentences[0].text == "Boats need maps of rivers and seas and of all the lakes in between them."


def test_a_list_whose_candidates_all_belong_says_that_there_may_be_more():
    answer = answered("Which papers are about boats?", FakeGenerator({}, {"Which papers": 0.99}), list_candidates=3)
    assert "3 papers were judged" in answer.note
    assert answer.note in str(answer)


def test_stopping_before_anything_is_decided_claims_nothing_about_the_abstracts():
    for question in ("What is OARFISH?", "Which papers are about boats?"):
        cancel = threading.Event()
        cancel.set()
        answer = run(question, fake(), cancel=cancel)[-1]
        assert answer.abstained
        assert REFUSAL not in answer.text
        assert "Stopped" in answer.text


def test_a_lone_sentence_that_is_cut_off_is_marked_so():
    paper = PAPERS["OARFISH"]
    read = [(paper, Passage("OARFISH", "OARFISH", Span(0, len(paper.text)), paper.text))]
    said = "OARFISH needs 42 strokes per"
    [torn] = bind(said, read, "How many strokes?", lambda claim: 0.9, whole=False).sentences
    assert torn.support is Support.PARTIAL
    assert torn.text == f"{said} …"
    [ended] = bind(said, read, "How many strokes?", lambda claim: 0.9).sentences
    assert ended.support is Support.SUPPORTED
    assert ended.text == said


def test_what_the_abstract_itself_denies_is_an_answer_and_no_refusal():
    text = "We propose FREEBOAT, a planner. FREEBOAT needs no information about the wind."
    paper = Paper("x", text, "FREEBOAT")
    passage = Passage("x", "x", Span(0, len(text)), text)
    said = "FREEBOAT needs no information about the wind."
    bound = bind(said, [(paper, passage)], "What does FREEBOAT need to know?", lambda claim: 0.9)
    assert [s.text for s in bound.sentences] == [said]


def test_without_words_to_compare_the_whole_passage_is_the_evidence():
    paper = PAPERS["OARFISH"]
    passage = Passage("OARFISH", "OARFISH", Span(0, len(paper.text)), paper.text)
    bound = bind("该方法采用两步。", [(paper, passage)], "它有几步？", lambda claim: 0.9)
    assert [c.quote for c in bound.citations] == [paper.text]


def test_numbers_in_latex_are_the_same_numbers():
    text = r"We propose LAMPNET. It is trained on $28{,}000$ lamps at $10^5$ hours."
    passage = Passage("x", "x", Span(0, len(text)), text)
    bound = bind(
        r"It is trained on $28{,}000$ lamps.", [(Paper("x", text, "LAMPNET"), passage)], "On what?", lambda c: 0.9
    )
    assert len(bound.sentences) == 1
