"""A library for the chat's tests: papers and answers are made by hand, and the test holds the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rag.domain import (
    Answer,
    Citation,
    Event,
    Found,
    Hit,
    Paper,
    Passage,
    Piece,
    Sentence,
    Span,
    Support,
    Timings,
    Turn,
)
from rag.errors import ModelMissingError
from rag.filters import Filter

COMPASS = (
    "Agents lose their way when goals change. We present **COMPASS**, a planner with $O(n \\log n)$ updates where "
    "$i<j$ holds for every step. Training costs $5 on one GPU and $10 on two. On ``GridWorld'' it reaches "
    "\\emph{93\\%} success, $12\\times$ faster than R\\'enyi search."
)
LANTERN = (
    "Night scenes break detectors. LANTERN adds a light map \\( L(x) \\) and improves recall by 7 points on NightCity."
)
HOSTILE = (
    "<script>window.hacked=1</script><img src=x onerror=window.hacked=2> EVIL \\href{javascript:alert(1)}{see here} "
    "![track](http://evil.example/pixel.png) [click](javascript:alert(2)) $\\href{http://evil.example}{x}$ "
    "<a href='http://evil.example'>link</a> ends here."
)


def paper(text: str, label: str, position: int = 0, source: str = "made.txt") -> Paper:
    """A paper as the readers make one."""
    return Paper(f"id-{label}", text, label, source, position)


PAPERS = [
    paper(COMPASS, "COMPASS", 0),
    paper(LANTERN, "LANTERN", 1),
    paper(HOSTILE, "<b onmouseover=window.hacked=3>EVIL</b>", 2, "<i>evil</i>.txt"),
]


def hit(of: Paper, score: float = 1.0) -> Hit:
    """The whole abstract as the passage that was found."""
    return Hit(Passage(f"{of.id}-0", of.id, Span(0, len(of.text)), of.text), of, score)


def cite(number: int, of: Paper, words: str) -> Citation:
    """A citation of the given words of a paper."""
    start = of.text.index(words)
    span = Span(start, start + len(words))
    return Citation(number, of, hit(of).passage, span, words)


def answered(question: str, *, asked: str = "", **more: object) -> Answer:
    """Two cited sentences, the second only partly supported, and one that was dropped."""
    compass, lantern = PAPERS[:2]
    plain = Answer(
        question,
        asked or question,
        sentences=(
            Sentence("COMPASS reaches 93% success with $O(n \\log n)$ updates.", (1, 2), Support.SUPPORTED),
            Sentence("It **also** works at night.", (3,), Support.PARTIAL, "the abstract speaks of detectors only"),
        ),
        citations=(
            cite(
                1,
                compass,
                "On ``GridWorld'' it reaches \\emph{93\\%} success, $12\\times$ faster than R\\'enyi search.",
            ),
            cite(
                2,
                compass,
                "We present **COMPASS**, a planner with $O(n \\log n)$ updates where $i<j$ holds for every step.",
            ),
            cite(3, lantern, "LANTERN adds a light map \\( L(x) \\) and improves recall by 7 points on NightCity."),
        ),
        confidence=0.9,
        dropped=(Sentence("It costs 900 dollars.", (), Support.UNSUPPORTED, "900 is in no abstract"),),
        timings=Timings(total=1.3),
        model="fake",
    )
    return replace(plain, **more)


def abstained(question: str) -> Answer:
    """A refusal with its nearest papers."""
    return Answer(
        question,
        question,
        abstained=True,
        why="The abstracts don't say. The closest papers are COMPASS, LANTERN.",
        nearest=(hit(PAPERS[0]), hit(PAPERS[1], 0.5)),
        timings=Timings(total=0.8),
        model="fake",
    )


class ScriptedStream:
    """Plays a script of events; a test may hold it between two of them."""

    def __init__(self, script: Callable[[ScriptedStream], Iterator[Event]]) -> None:
        self.cancelled = threading.Event()
        self._script = script

    def events(self) -> Iterator[Event]:
        """The script's events."""
        return self._script(self)

    def cancel(self) -> None:
        """Noted; the scripts look at it as the model does, between two pieces."""
        self.cancelled.set()


class ScriptedLibrary:
    """Answers by keyword: ``unknown`` abstains, ``fail`` raises, ``slow`` writes until it is stopped."""

    name = "Made <em>up</em> & small"

    def __init__(self, papers: Sequence[Paper] = PAPERS, pace: float = 0.0) -> None:
        self._papers = list(papers)
        self.pace = pace
        self.streams: list[ScriptedStream] = []
        self.asked: list[tuple[str, tuple[Turn, ...]]] = []
        self.scripts: dict[str, Callable[[str, ScriptedStream], Iterator[Event]]] = {}

    def __len__(self) -> int:
        return len(self._papers)

    def papers(self) -> list[Paper]:
        return list(self._papers)

    def warm(self) -> None:
        """No models."""

    def prepare(self, cancel: threading.Event | None = None) -> int:
        return 0

    def has_fields(self) -> bool:
        return any(paper.year or paper.authors for paper in self._papers)

    def ask(
        self, question: str, *, history: Sequence[Turn] = (), filters: Sequence[Filter] = (), stream: bool = True
    ) -> ScriptedStream:
        self.asked.append((question, tuple(history)))
        self.filters = tuple(map(str, filters))
        script = next((s for word, s in self.scripts.items() if word in question), self.answer)
        made = ScriptedStream(lambda running: script(question, running))
        self.streams.append(made)
        return made

    def answer(self, question: str, stream: ScriptedStream) -> Iterator[Event]:
        """Found, the draft word by word, the answer."""
        if "fail" in question:
            raise FAILURES[question.rsplit(maxsplit=1)[-1]]
        stream.cancelled.wait(self.pace)
        yield Found(question, tuple(hit(p) for p in self._papers))
        stream.cancelled.wait(self.pace)
        if "unknown" in question:
            yield abstained(question)
            return
        words = (
            "COMPASS reaches 93% success with $O(n \\log n)$ updates. It **also** works at night. It costs 900 dollars."
        )
        for word in words.split(" ") * (200 if "slow" in question else 1):
            if stream.cancelled.wait(0.03 if "slow" in question else self.pace / 10):
                yield abstained(question)
                return
            yield Piece(word + " ")
        yield answered(question, asked="What does COMPASS reach?" if history_question(question) else "")


def history_question(question: str) -> bool:
    """Whether a question leans on what came before."""
    return question.lower().startswith("and ")


class PlannedError(Exception):
    """An error that no part of the program expects."""


FAILURES: dict[str, Exception] = {
    "surprise": PlannedError("secret detail <script>"),
    "expected": ModelMissingError("no model <b>here</b>; run `citebound models pull`"),
}
