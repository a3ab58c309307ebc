"""Questions of the kind "which papers": every candidate is judged by itself, and each that belongs is listed.

The model writes nothing here: an item is the paper's label and the sentence of its abstract that fits the question
best, so nothing can be invented.
"""

from __future__ import annotations

from collections.abc import Sequence

from rag.answering import Bound, Numbering
from rag.attribute import Source, sources_of
from rag.domain import Hit, Sentence, Support
from rag.judge import Judged
from rag.naming import labelled
from rag.text import stems


def one_per_paper(hits: Sequence[Hit]) -> list[Hit]:
    """The best hit of each paper, in the order given."""
    return list({hit.paper.id: hit for hit in reversed(hits)}.values())[::-1]


def bind_list(question: str, members: Sequence[Judged]) -> Bound:
    """One item a paper, in the order given."""
    numbering, items = Numbering(), list[Sentence]()
    for member in members:
        source = _fitting(question, sources_of([(member.hit.paper, member.hit.passage)]))
        number = numbering.number(source)
        reason = f"judged to belong with probability {member.probability:.2f}"
        items.append(Sentence(labelled(member.hit.paper.label, source.quote), (number,), Support.SUPPORTED, reason))
    return Bound(tuple(items), numbering.citations, ())


def _fitting(question: str, sources: Sequence[Source]) -> Source:
    """The sentence that shares most with the question; the earliest of equals (abstracts open with their topic)."""
    asked = set(stems(question))
    return max(sources, key=lambda s: (len(asked & s.terms), -s.span.start))
