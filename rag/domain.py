"""The things that Citebound speaks of, as frozen values. No input or output, no model, no store.

Text positions are character offsets into ``Paper.text`` (Python string indices), half open: ``text[start:end]``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive) of a paper's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Paper:
    """One abstract. ``id`` is derived from its text, so the same abstract has the same id wherever it came from.

    ``label`` is what to call it: its title, else the name that it gives its own method, else its first words.
    ``source`` is the name of the file it was read from, ``position`` its place in there, from 0. What the file did not
    say of a paper is empty (``year``: None). ``external_id`` has its kind before it: ``arxiv:…``, ``pmid:…``; ``id:…``
    is a key of its own file.
    """

    id: str
    text: str
    label: str
    source: str = ""
    position: int = 0
    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    topics: tuple[str, ...] = ()
    url: str = ""
    doi: str = ""
    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of one paper that the model reads as a whole: ``text == paper.text[span.start:span.end]``."""

    id: str
    paper_id: str
    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found for a question, best first.

    ``score`` orders the hits (larger is better). ``similarity`` is the cosine of question and passage in [-1, 1].
    ``overlap`` is the share of the question's content words, weighted by rarity, that the paper contains, in
    [0, 1]. ``named`` says that the question names something that few papers of the library mention.
    """

    passage: Passage
    paper: Paper
    score: float
    similarity: float = 0.0
    overlap: float = 0.0
    named: bool = False


class Support(StrEnum):
    """How well the cited evidence supports a sentence."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered piece of evidence: the exact words of a stored abstract. ``quote == paper.text[span]``."""

    number: int
    paper: Paper
    passage: Passage
    span: Span
    quote: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer, the numbers of the citations that support it, and the verdict with its reason."""

    text: str
    citations: tuple[int, ...]
    support: Support
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier exchange of a conversation: what was asked, what was answered, which papers it cited (ids)."""

    question: str
    answer: str = ""
    cited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds spent, by stage. ``first_word`` counts from the question to the first piece of the answer."""

    retrieve: float = 0.0
    judge: float = 0.0
    first_word: float = 0.0
    generate: float = 0.0
    verify: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What ``ask`` returns. ``str(answer)`` is the text with [n] markers and the list of sources.

    ``asked`` is the question as it was understood (differs from ``question`` for follow-ups). ``confidence`` is the
    probability that the library answers the question. When ``abstained``, ``why`` says so in a sentence fit for the
    user, ``sentences`` and ``citations`` are empty, and ``nearest`` holds the closest papers. ``dropped`` holds
    sentences that the model wrote and no passage supports: they are not part of the answer.
    """

    question: str
    asked: str
    sentences: tuple[Sentence, ...] = ()
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    why: str = ""
    confidence: float = 0.0
    nearest: tuple[Hit, ...] = ()
    dropped: tuple[Sentence, ...] = ()
    timings: Timings = field(default_factory=Timings)
    model: str = ""
    listed: bool = False
    """True when each sentence is an item of a list (one a line) and not running text."""
    note: str = ""
    """What the reader should know of the answer as a whole, for example that a list may go on; mostly empty."""

    @property
    def text(self) -> str:
        """The answer in plain words, without markers; when abstained, why."""
        return self.why if self.abstained else self._joined([s.text for s in self.sentences])

    @property
    def marked(self) -> str:
        """The answer with [n] after each sentence that has evidence."""
        if self.abstained:
            return self.why
        return self._joined([s.text + "".join(f" [{n}]" for n in s.citations) for s in self.sentences])

    def _joined(self, parts: list[str]) -> str:
        return "\n".join(f"- {p}" for p in parts) if self.listed else " ".join(parts)

    @property
    def papers(self) -> tuple[Paper, ...]:
        """The cited papers, each once, in the order of their first citation."""
        return tuple({c.paper.id: c.paper for c in self.citations}.values())

    def __str__(self) -> str:
        """Text, markers and sources, as the command line prints them."""
        from rag.present import answer_text

        return answer_text(self)


# What a streamed answer yields, in this order: Found once, Piece many times, then the Answer itself.
@dataclass(frozen=True, slots=True)
class Found:
    """The papers that were found, before the model says a word, and the question as it was understood."""

    asked: str
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """The next characters of the draft. The final ``Answer`` may hold fewer sentences: unsupported ones go."""

    text: str


Event = Found | Piece | Answer
