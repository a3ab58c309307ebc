"""From the model's draft to an answer bound to its sources: sentences, evidence, verdicts, numbers. Retrieves nothing.

A sentence that nothing supports is not shown as part of the answer: it moves to ``dropped`` with its reason. When none
is left the answer is an abstention, since what remains would be no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.abstain import refuses
from rag.attribute import Source, attribute, sources_of
from rag.domain import Citation, Paper, Passage, Sentence, Span, Support
from rag.prompt import ClaimJudge
from rag.text import plain, sentences
from rag.verify import Verdict, verify

_REPORTING = re.compile(
    r"^(?:the|this) (?:passage|abstract|paper|text)s? (?:also |explicitly )?"
    r"(?:states?|says?|mentions?|notes?|explains?|reports?|indicates?) that\s+(?=\S)",
    re.IGNORECASE,
)
_MARK = re.compile(r"(?<!\s)\s*\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]")


@dataclass(frozen=True, slots=True)
class Bound:
    """A draft after attribution and verification."""

    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    dropped: tuple[Sentence, ...]


class Numbering:
    """Gives each cited span its number, from 1, in the order of first use."""

    def __init__(self) -> None:
        self._by_span: dict[tuple[str, Span], Citation] = {}

    def number(self, source: Source) -> int:
        """The number of a source sentence, the same whenever it is cited again."""
        key = (source.paper.id, source.span)
        if key not in self._by_span:
            number = len(self._by_span) + 1
            self._by_span[key] = Citation(number, source.paper, source.passage, source.span, source.quote)
        return self._by_span[key].number

    @property
    def citations(self) -> tuple[Citation, ...]:
        """All citations so far, by number."""
        return tuple(self._by_span.values())


def bind(
    draft: str, read: Sequence[tuple[Paper, Passage]], question: str, judge: ClaimJudge, *, whole: bool = True
) -> Bound:
    """Attribute and verify each sentence of a draft. ``whole`` False says that the draft's end was cut off."""
    sources = sources_of(read)
    text = plain(" ".join(passage.text for _, passage in read))
    numbering, kept, dropped = Numbering(), list[Sentence](), list[Sentence]()
    # A number in brackets that no abstract contains is the model playing at citing; the real ones are added below.
    parts = split_draft(_MARK.sub(lambda m: m[0] if m[0].strip() in text else "", draft))
    for position, part in enumerate(parts):
        torn = not whole and position == len(parts) - 1 and part[-1] not in ".!?。！？"
        if torn and len(parts) > 1:
            dropped.append(Sentence(part, (), Support.UNSUPPORTED, "cut off before its end"))
            continue
        evidence = attribute(part, sources, question)
        if refuses(part) and not any(refuses(source.quote) for source in evidence.sources):
            dropped.append(Sentence(part, (), Support.UNSUPPORTED, "the model's own words for: it isn't stated"))
            continue
        verdict = verify(part, evidence, text, judge)
        if torn and verdict.support is Support.SUPPORTED:  # all that there is: better shown as what it is than not
            verdict = Verdict(Support.PARTIAL, "cut off before its end")
        if verdict.support is Support.UNSUPPORTED:
            dropped.append(Sentence(part, (), verdict.support, verdict.reason))
            continue
        # Another script than the abstract's, and no number or name to go by: the passage itself is the evidence.
        backing = evidence.sources or (_whole(*read[0]),)
        numbers = tuple(sorted(numbering.number(source) for source in backing))
        kept.append(Sentence(f"{part} …" if torn else part, numbers, verdict.support, verdict.reason))
    return Bound(tuple(kept), numbering.citations, tuple(dropped))


def _whole(paper: Paper, passage: Passage) -> Source:
    """A passage as one source."""
    return Source(paper, passage, passage.span, frozenset())


def split_draft(draft: str) -> list[str]:
    """Sentences of a draft; a line break ends one too (models write lists)."""
    parts = []
    for line in draft.splitlines():
        parts += [line[s.start : s.end].strip() for s in sentences(line)]
    return [_plainly(part) for part in parts if any(c.isalnum() for c in part)]


def _plainly(sentence: str) -> str:
    """The sentence without "The passage states that": where it is stated is what the citation says."""
    said = _REPORTING.sub("", sentence)
    return said[:1].upper() + said[1:] if said != sentence else sentence
