"""What happens when a user asks, stops, starts over or leaves, on a library made by hand."""

from __future__ import annotations

import copy
import html
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from scripted_library import PAPERS, ScriptedLibrary, ScriptedStream, abstained, answered, hit, paper

from rag.domain import Event, Found, Piece
from rag.errors import CiteboundError
from ui import handlers
from ui.background import Background
from ui.examples import example_questions
from ui.handlers import Desk
from ui.session import WAITING_LIMIT, Session, View


@pytest.fixture
def library() -> ScriptedLibrary:
    return ScriptedLibrary()


@pytest.fixture(autouse=True)
def every_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handlers, "REFRESH_S", 0.0)


def asked(desk: Desk, session: Session, question: str, key: str = "tab") -> list[View]:
    return [desk.put(session, key, question), *desk.answer(session)]


def text(view: View, message: int = -1) -> str:
    return view.chat[message]["content"][0]["text"]


def test_a_question_goes_from_search_to_answer(library: ScriptedLibrary) -> None:
    views = asked(Desk(library), Session(), "How well?")
    statuses = list(dict.fromkeys(view.status for view in views))
    assert statuses == [
        "Waiting…",
        "Searching the library…",
        "Reading the 3 papers found…",
        "Writing, then checking each sentence…",
        "Answered in 1.3 s",
    ]
    assert [m["role"] for m in views[-1].chat] == ["user", "assistant"]
    assert views[-1].chat[0]["content"] == [{"type": "text", "text": '<div class="cb-question">How well?</div>'}]
    assert [view.busy for view in views][:-2] == [True] * (len(views) - 2)
    assert not views[-1].busy


def test_papers_are_shown_before_the_first_word(library: ScriptedLibrary) -> None:
    views = asked(Desk(library), Session(), "How well?")
    first = next(view for view in views if "COMPASS" in view.evidence)
    assert "cb-waiting" in text(first)
    assert "Papers found" in first.evidence


def test_the_draft_grows_and_the_answer_replaces_it(library: ScriptedLibrary) -> None:
    views = asked(Desk(library), Session(), "How well?")
    drafts = [text(v) for v in views if "cb-draft" in text(v)]
    assert len(drafts) > 5
    assert "900 dollars" in drafts[-1]
    assert "cb-draft" not in text(views[-1])
    assert "cb-cite" in text(views[-1])
    assert "<mark" in views[-1].evidence


def test_earlier_evidence_stays_beside_later_evidence(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    asked(desk, session, "How well?")
    last = asked(desk, session, "And unknown?")[-1]
    sections = last.evidence.split("\n\n")
    assert len(sections) == 2
    assert all(s.startswith("<section") and s.endswith("</section>") for s in sections)
    assert "<mark" in sections[0]


def test_history_is_what_was_answered(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    for question in ("How well?", "fail expected", "And at night?"):
        asked(desk, session, question)
    turns = library.asked[-1][1]
    assert [t.question for t in turns] == ["How well?"]
    assert turns[0].cited == ("id-COMPASS", "id-LANTERN")
    assert library.asked[0][1] == ()


def test_an_expected_error_is_one_line_in_the_chat_and_the_session_lives(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    view = asked(desk, session, "fail expected")[-1]
    assert "no model &lt;b&gt;here&lt;/b&gt;; run <code>citebound models pull</code>" in text(view)
    assert view.status == "Not answered"
    assert "cb-cite" in text(asked(desk, session, "How well?")[-1])


def test_an_unexpected_error_is_logged_and_its_detail_not_shown(
    library: ScriptedLibrary, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        view = asked(Desk(library), Session(), "fail surprise")[-1]
    assert "PlannedError" in text(view)
    assert "secret detail" not in text(view)
    assert "secret detail" in caplog.text


def test_a_stream_that_ends_without_an_answer_says_so(library: ScriptedLibrary) -> None:
    library.scripts["odd"] = lambda question, stream: iter([Found(question, ()), Piece("Hm")])
    assert "ask again" in text(asked(Desk(library), Session(), "odd")[-1])


def test_an_error_while_it_streams_comes_after_the_draft(library: ScriptedLibrary) -> None:
    def breaks(question: str, stream: ScriptedStream) -> Iterator[Event]:
        yield Piece("So far")
        raise CiteboundError("the model went away; start it again")

    library.scripts["breaks"] = breaks
    view = asked(Desk(library), Session(), "breaks")[-1]
    assert "the model went away; start it again" in text(view)


def test_stop_cancels_the_stream_and_says_stopped(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    desk.put(session, "tab", "slow one")
    last = None
    for last in desk.answer(session):
        if "cb-draft" in text(last):
            desk.stop(session)
    assert library.streams[0].cancelled.is_set()
    assert last is not None
    assert last.status == "Stopped"
    assert "cb-stopped" in text(last)
    assert "cb-abstained" not in text(last)
    assert not last.busy
    assert session.history() == ()


def test_stop_keeps_what_was_verified(library: ScriptedLibrary) -> None:
    def verified(question: str, stream: ScriptedStream) -> Iterator[Event]:
        yield Piece("COMPASS")
        stream.cancelled.wait(5)
        yield answered(question)

    library.scripts["verified"] = verified
    desk, session = Desk(library), Session()
    desk.put(session, "tab", "verified")
    for view in desk.answer(session):
        if "cb-draft" in text(view):
            desk.stop(session)
    assert "cb-cite" in text(session.view())
    assert session.view().status == "Stopped"


def test_stop_before_the_search_began_asks_nothing(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    desk.put(session, "tab", "How well?")
    desk.stop(session)
    assert [view.status for view in desk.answer(session)] == ["Stopped"]
    assert library.asked == []


def test_leaving_frees_the_model(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    desk.put(session, "tab", "slow one")
    running = desk.answer(session)
    while "cb-draft" not in text(next(running)):
        pass
    desk.leave("another tab")
    assert not library.streams[0].cancelled.is_set()
    desk.leave("tab")
    assert library.streams[0].cancelled.is_set()


def test_a_closed_generator_frees_the_model_and_the_session(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    desk.put(session, "tab", "slow one")
    running = desk.answer(session)
    while "cb-draft" not in text(next(running)):
        pass
    running.close()
    assert library.streams[0].cancelled.is_set()
    assert not session.view().busy
    assert "cb-cite" in text(asked(desk, session, "How well?")[-1])


def test_closing_the_desk_stops_every_session(library: ScriptedLibrary) -> None:
    desk, sessions = Desk(library), [Session(), Session()]
    for number, session in enumerate(sessions):
        desk.put(session, f"tab {number}", "slow one")
        running = desk.answer(session)
        while "cb-draft" not in text(next(running)):
            pass
    desk.close()
    assert all(stream.cancelled.is_set() for stream in library.streams)


def test_questions_of_one_session_are_answered_in_order_by_one(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    desk.put(session, "tab", "first?")
    running = desk.answer(session)
    next(running)
    desk.put(session, "tab", "second?")
    assert list(desk.answer(session)) == []  # the running one takes it
    last = list(running)[-1]
    assert [question for question, _ in library.asked] == ["first?", "second?"]
    assert [t.question for t in library.asked[1][1]] == ["first?"]
    assert len(last.chat) == 4
    assert not last.busy


def test_a_flood_of_questions_is_told_to_wait(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    for number in range(WAITING_LIMIT + 1):
        view = desk.put(session, "tab", f"question {number}")
    assert "Too many questions" in text(view)
    list(desk.answer(session))
    assert len(library.asked) == WAITING_LIMIT


def test_an_empty_question_changes_nothing(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    assert desk.put(session, "tab", "  \n ").chat == []
    assert [view.chat for view in desk.answer(session)] == [[]]


def test_sessions_share_nothing(library: ScriptedLibrary) -> None:
    desk, mine, yours = Desk(library), Session(), Session()
    asked(desk, mine, "my secret", "a")
    view = asked(desk, yours, "How well?", "b")[-1]
    assert "secret" not in str(view)
    assert library.asked[-1][1] == ()
    assert len(mine.view().chat) == 2


def test_a_copied_session_is_an_empty_one(library: ScriptedLibrary) -> None:
    session = Session()
    asked(Desk(library), session, "How well?")
    assert copy.deepcopy(session).view().chat == []


def test_a_new_conversation_forgets_and_stops(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    asked(desk, session, "How well?")
    desk.put(session, "tab", "slow one")
    running = desk.answer(session)
    while "cb-draft" not in text(next(running)):
        pass
    cleared = desk.clear(session)
    assert cleared == View([], "", "", busy=False)
    assert library.streams[-1].cancelled.is_set()
    assert all(view.chat == [] for view in running)
    last = asked(desk, session, "Again?")[-1]
    assert library.asked[-1][1] == ()
    assert len(last.chat) == 2
    assert "cb-turn-3" in last.evidence  # places are never used twice on one page


def test_a_session_cleared_between_asking_and_answering_cancels_the_stream(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()

    def cleared(question: str, stream: ScriptedStream) -> Iterator[Event]:
        assert stream.cancelled.is_set()
        yield abstained(question)

    library.scripts["x"] = cleared
    desk.put(session, "tab", "x")
    running = desk.answer(session)
    while next(running).status != "Searching the library…":
        pass
    desk.clear(session)
    assert all(view.chat == [] for view in running)


def test_a_question_is_answered_while_the_desk_is_busy(library: ScriptedLibrary) -> None:
    log: list[str] = []

    @contextmanager
    def busy() -> Iterator[None]:
        log.append("begin")
        yield
        log.append("end")

    desk, session = Desk(library, busy), Session()
    asked(desk, session, "How well?")
    asked(desk, session, "fail surprise")
    assert log == ["begin", "end"] * 2


def test_a_question_that_waits_for_the_models_says_so(library: ScriptedLibrary) -> None:
    views = asked(Desk(library, loading=lambda: True), Session(), "How well?")
    assert handlers.LOADING in [view.status for view in views]
    assert views[-1].status == "Answered in 1.3 s"


class Work:
    """Idle work that a test can watch."""

    def __init__(self, passages: int = 1) -> None:
        self.rounds: list[threading.Event] = []
        self.warmed = threading.Event()
        self.entered = threading.Semaphore(0)
        self.finish = threading.Event()

    def warm(self) -> None:
        self.warmed.set()

    def prepare(self, cancel: threading.Event) -> int:
        self.rounds.append(cancel)
        self.entered.release()
        while not cancel.wait(0.01) and not self.finish.is_set():
            pass
        return 0


def test_idle_work_pauses_for_a_question_and_goes_on_after_it() -> None:
    work = Work()
    background = Background(work.warm, work.prepare, quiet_s=0.0)
    background.start()
    assert work.entered.acquire(timeout=10)
    with background.busy():
        assert work.rounds[0].wait(10)
        assert not work.entered.acquire(timeout=0.1)
    assert work.entered.acquire(timeout=10)
    work.finish.set()
    background.stop(timeout=10)
    assert len(work.rounds) == 2
    assert work.warmed.is_set()


def test_idle_work_stops_when_told() -> None:
    work = Work()
    background = Background(work.warm, work.prepare, quiet_s=0.0)
    background.start()
    assert work.entered.acquire(timeout=10)
    background.stop(timeout=10)
    assert not background.running


def test_without_prepare_the_models_are_loaded_and_no_more() -> None:
    work = Work()
    background = Background(work.warm, None)
    background.start()
    assert work.warmed.wait(10)
    background.stop(timeout=10)
    assert not background.warming
    assert work.rounds == []


def test_stopping_what_never_started_is_fine() -> None:
    Background(lambda: None, None).stop()


def test_idle_work_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def missing() -> None:
        raise CiteboundError("no model; pull it")

    background = Background(missing, None)
    with caplog.at_level(logging.WARNING):
        background.start()
        background.stop(timeout=10)
    assert "no model; pull it" in caplog.text


def test_examples_come_from_the_papers() -> None:
    questions = example_questions(PAPERS)
    assert questions[0] == "What is COMPASS?"
    assert all("LANTERN" in q or "COMPASS" in q for q in questions)


def test_examples_ask_for_a_topic_that_several_papers_share() -> None:
    papers = [paper(f"Paper {n} on diffusion models and more.", f"NAME{n}") for n in range(4)]
    papers += [paper(f"Nothing alike, {'xyz'[n % 3]}{n}.", f"OTHER{n}") for n in range(12)]
    assert example_questions(papers)[-1] == "Which papers deal with diffusion models?"


def test_no_papers_no_examples() -> None:
    assert example_questions([]) == ()


def test_first_words_are_no_name_to_ask_for() -> None:
    assert example_questions([paper("Agents lose their way when goals change.", "Agents lose their…")]) == ()


def test_hits_of_one_paper_are_one_card(library: ScriptedLibrary) -> None:
    library.scripts["twice"] = lambda question, stream: iter(
        [Found(question, (hit(PAPERS[0]), hit(PAPERS[0], 0.4))), abstained(question)]
    )
    view = asked(Desk(library), Session(), "twice")[-1]
    assert view.evidence.count("Agents lose their way") == 1


def test_filters_go_with_the_question_and_are_told_when_they_are_none(library: ScriptedLibrary) -> None:
    desk, session = Desk(library), Session()
    desk.put(session, "tab", "How well?", "year>=2024, author=Ana Müller and venue=ICML|NeurIPS, Inc")
    list(desk.answer(session))
    assert library.filters == ("year>=2024", "author=Ana Müller", "venue=ICML|NeurIPS, Inc")
    desk.put(session, "tab", "How well?", "colour=red")
    view = list(desk.answer(session))[-1]
    assert "can't be filtered by 'colour'" in html.unescape(text(view))
    desk.put(session, "tab", "How well?", "  ")
    list(desk.answer(session))
    assert library.filters == ()
