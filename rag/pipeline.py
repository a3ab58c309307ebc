"""The story of one question, from its words to an answer bound to its sources. Each step lives in a module of its own.

Yields events as they become known: the papers found, pieces of the draft, at last the answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from models.protocols import Prompt, Request, Usage
from rag import prompt
from rag.abstain import Decision, calibration
from rag.answering import Bound, bind
from rag.conversation import Understood, understand
from rag.domain import Answer, Event, Found, Hit, Passage, Piece, Support, Timings, Turn
from rag.judge import Judged, belonging, judge, to_read
from rag.kinds import Kind, kind_of
from rag.listing import bind_list, one_per_paper
from rag.question import checked
from rag.resources import Resources
from rag.text import is_foreign

REFUSAL = "The abstracts don't say."
STOPPED = "Stopped before there was an answer."
NEAREST = 3
REWRITE_TOKENS = 80
LOW_CLAIM = 0.2
"""About the least that the model says of a draft that passed verification."""
WORTH_WRITING = 0.4
"""Share of the strictness below which nothing is written: above it the draft itself gets its say."""


@dataclass(slots=True)
class _Clock:
    """Seconds by stage; ``mark`` books the time since the last mark."""

    started: float = field(default_factory=time.perf_counter)
    last: float = field(default_factory=time.perf_counter)
    spent: dict[str, float] = field(default_factory=dict)

    def mark(self, stage: str) -> None:
        now = time.perf_counter()
        self.spent[stage] = self.spent.get(stage, 0.0) + now - self.last
        self.last = now

    def first_word(self) -> None:
        self.spent.setdefault("first_word", time.perf_counter() - self.started)

    def timings(self) -> Timings:
        return Timings(**self.spent, total=time.perf_counter() - self.started)


@dataclass(frozen=True, slots=True)
class _Job:
    """One question being answered."""

    question: str
    understood: Understood
    english: str
    resources: Resources
    cancel: threading.Event
    clock: _Clock

    @property
    def asked(self) -> str:
        return self.understood.asked

    def finish(self, bound: Bound, **more: object) -> Answer:
        """An answer with everything that the job knows about itself."""
        answer = Answer(
            self.question, self.asked, bound.sentences, bound.citations, dropped=bound.dropped,
            model=self.resources.generator.name, timings=self.clock.timings(),
        )  # fmt: skip
        return replace(answer, **more)  # type: ignore[arg-type]

    def stopped(self, hits: Sequence[Hit]) -> Answer:
        """What is left of a question that was cancelled before anything was decided: no claim about the abstracts."""
        nearest = tuple(one_per_paper(hits)[:NEAREST])
        return self.finish(Bound((), (), ()), abstained=True, why=STOPPED, nearest=nearest)

    def abstain(self, why: str, hits: Sequence[Hit], confidence: float, dropped: Bound | None = None) -> Answer:
        """A refusal in the program's own words, with the papers that came closest."""
        left = dropped.dropped if dropped else ()
        nearest = tuple(one_per_paper(hits)[:NEAREST])
        return self.finish(
            Bound((), (), left), abstained=True, why=f"{REFUSAL} {why}", nearest=nearest, confidence=confidence
        )


def answer_events(
    question: str, history: Sequence[Turn], resources: Resources, cancel: threading.Event
) -> Iterator[Event]:
    """Answer a question. Raises QuestionError for one that can't be asked, before anything is searched."""
    clock = _Clock()
    text = checked(question, resources)
    understood = understand(text, history, _labels(resources), lambda last, new: _rewrite(last, new, resources, cancel))
    english = _english(understood.asked, resources, cancel)
    job = _Job(text, understood, english, resources, cancel, clock)
    road = _list_events if kind_of(understood.asked) is Kind.LIST else _answer_events
    yield from road(job)


def _answer_events(job: _Job) -> Iterator[Event]:
    settings = job.resources.settings
    hits = _candidates(job, settings.candidates)
    job.clock.mark("retrieve")
    yield Found(job.asked, tuple(hits))
    judged = judge(job.english, hits, job.resources, job.cancel)
    job.clock.mark("judge")
    best = judged[0].probability if judged else 0.0
    if job.cancel.is_set():
        yield job.stopped(hits)
        return
    if not judged or best < settings.strictness * WORTH_WRITING:
        yield job.abstain(_nearest_words(hits), hits, best)
        return
    read = to_read(judged)
    draft, usage = [], Usage()
    for piece in _draft(job, read, usage):
        job.clock.first_word()
        draft.append(piece)
        yield Piece(piece)
    job.clock.mark("generate")
    yield _concluded(job, hits, read, "".join(draft), whole=usage.stopped == "end")


def _concluded(job: _Job, hits: Sequence[Hit], read: Sequence[Judged], draft: str, *, whole: bool) -> Answer:
    """Bind the draft, and let the model's judgement of it decide whether it stands."""
    claims = _ClaimJudge(job, [j.hit.passage for j in read])
    bound = bind(draft, [(j.hit.paper, j.hit.passage) for j in read], job.asked, claims, whole=whole)
    if not bound.sentences:
        job.clock.mark("verify")
        return job.abstain(_nearest_words(hits), hits, 0.0, bound)
    confidence = _confidence(job, read[0], bound, claims)
    job.clock.mark("verify")
    if confidence < job.resources.settings.strictness:
        return job.abstain(_nearest_words(hits), hits, confidence, _all_dropped(bound))
    return job.finish(bound, confidence=confidence, nearest=tuple(one_per_paper(hits)[:NEAREST]))


def _confidence(job: _Job, best: Judged, bound: Bound, claims: _ClaimJudge) -> float:
    """Probability that the draft answers the question; the model isn't asked for a judgement that can't change it."""
    row = calibration(Decision.ANSWERED, job.resources.generator.name)
    # At strictness 0 nothing is refused, and every judgement is made: that is how calibration collects them.
    strictness = job.resources.settings.strictness
    if 0 < strictness <= row.probability(replace(best.signals, claim=LOW_CLAIM)):
        return row.probability(best.signals)
    said = claims(" ".join(sentence.text for sentence in bound.sentences))
    return row.probability(replace(best.signals, claim=said))


def _all_dropped(bound: Bound) -> Bound:
    reason = "the passage does not bear it out well enough"
    taken = tuple(replace(s, citations=(), support=Support.UNSUPPORTED, reason=reason) for s in bound.sentences)
    return Bound((), (), taken + bound.dropped)


def _list_events(job: _Job) -> Iterator[Event]:
    settings = job.resources.settings
    hits = one_per_paper(_candidates(job, settings.list_candidates))
    job.clock.mark("retrieve")
    yield Found(job.asked, tuple(hits))
    judged = belonging(job.english, hits, job.resources, job.cancel)
    members = [j for j in judged if j.probability >= settings.strictness]
    job.clock.mark("judge")
    if job.cancel.is_set():
        yield job.stopped(hits)
        return
    best = max((j.probability for j in judged), default=0.0)
    if not members:
        yield job.abstain(_nearest_words(hits), hits, best)
        return
    bound = bind_list(job.english, members)
    job.clock.first_word()
    note = f"{len(hits)} papers were judged and all belong: there may be more." if len(members) == len(hits) else ""
    answer = job.finish(bound, confidence=best, nearest=tuple(hits[:NEAREST]), listed=True, note=note)
    yield Piece(answer.text)
    yield answer


def _candidates(job: _Job, count: int) -> list[Hit]:
    """What was found, with the papers that the conversation is about put first when the question leans on it."""
    wanted = job.english if job.english == job.asked else f"{job.asked} {job.english}"
    found = job.resources.find(wanted, count)
    focus = [h for paper_id in job.understood.focus[:2] for h in job.resources.passages_of(paper_id, wanted)]
    known = {h.passage.id for h in focus}
    others = [h for h in found if h.passage.id not in known]
    if job.understood.follow_up:
        return [*focus, *others][:count]
    # A question that stands alone may still mean the paper at hand: it stays a candidate, but not before better ones.
    focus = focus[: count // 2]
    return [*others[: count - len(focus)], *focus]


def _draft(job: _Job, read: Sequence[Judged], usage: Usage) -> Iterator[str]:
    asked = prompt.answer([j.hit.passage for j in read], job.asked)
    yield from job.resources.generator.stream(Request(asked, job.resources.settings.answer_tokens, job.cancel, usage))


class _ClaimJudge:
    """P(yes) that the passages that were read state a claim; the same claim is asked about once."""

    def __init__(self, job: _Job, passages: Sequence[Passage]) -> None:
        self._job, self._passages = job, passages
        self._known: dict[str, float] = {}

    def __call__(self, claim: str) -> float:
        if claim not in self._known:
            asked = prompt.over(self._passages, self._job.asked, prompt.claim(claim))
            said = self._job.resources.generator.yes_probability([asked])
            self._known[claim] = said[0] if said else 0.0
        return self._known[claim]


def _english(asked: str, resources: Resources, cancel: threading.Event) -> str:
    """The question in English when its script shows that it isn't: the abstracts are searched and judged in English."""
    if not is_foreign(asked):
        return asked
    return _write(prompt.bare(prompt.TRANSLATE.format(question=asked)), resources, cancel) or asked


def _rewrite(last: Turn, question: str, resources: Resources, cancel: threading.Event) -> str:
    return _write(prompt.standalone(last, question), resources, cancel)


def _write(asked: Prompt, resources: Resources, cancel: threading.Event) -> str:
    return "".join(resources.generator.stream(Request(asked, REWRITE_TOKENS, cancel))).strip()


def _labels(resources: Resources) -> prompt.Label:
    def label(paper_id: str) -> str:
        paper = resources.paper(paper_id)
        return paper.label if paper else ""

    return label


def _nearest_words(hits: Sequence[Hit]) -> str:
    names = [hit.paper.label for hit in one_per_paper(hits)[:NEAREST]]
    return f"The closest papers are {', '.join(names)}." if names else "No paper comes close."
