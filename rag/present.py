"""An answer as plain text: the words with [n] markers, then the sources. Colours and widgets are others' business."""

from __future__ import annotations

from rag.domain import Answer, Citation, Hit, Support
from rag.naming import labelled
from rag.text import plain

QUOTE_LENGTH = 240


def answer_text(answer: Answer) -> str:
    """Text, markers, sources (or the nearest papers when abstained), and what was left out with its reason."""
    parts = [_asked(answer), _marked(answer), _sources(answer.citations), _nearest(answer), _dropped(answer)]
    return "\n\n".join(part for part in parts if part)


def short(text: str, length: int = QUOTE_LENGTH) -> str:
    """One line of at most ``length`` characters; three dots show that something was left out."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rsplit(" ", 1)[0] + "…"


def _asked(answer: Answer) -> str:
    return f"(understood as: {answer.asked})" if answer.asked != answer.question else ""


def _marked(answer: Answer) -> str:
    partial = [s for s in answer.sentences if s.support is Support.PARTIAL]
    note = f"\n({len(partial)} of {len(answer.sentences)} sentences only partly supported)" if partial else ""
    return answer.marked + note + (f"\n({answer.note})" if answer.note else "")


def _sources(citations: tuple[Citation, ...]) -> str:
    lines = [f"[{c.number}] {c.paper.label} ({_where(c)}): “{short(plain(c.quote))}”" for c in citations]
    return "\n".join(["Sources", *lines]) if lines else ""


def _where(citation: Citation) -> str:
    return f"{citation.paper.source}, abstract {citation.paper.position + 1}"


def _nearest(answer: Answer) -> str:
    if not answer.abstained or not answer.nearest:
        return ""
    return "\n".join(["Nearest papers", *(f"- {_nearest_line(hit)}" for hit in answer.nearest)])


def _nearest_line(hit: Hit) -> str:
    return labelled(hit.paper.label, short(plain(hit.paper.text), 160))


def _dropped(answer: Answer) -> str:
    lines = [f"- {s.text} ({s.reason})" for s in answer.dropped]
    return "\n".join(["Left out, because no abstract supports it", *lines]) if lines else ""
