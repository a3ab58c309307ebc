"""An answer as plain text: the words with [n] markers, then the sources. Colours and widgets are others' business."""

from __future__ import annotations

from collections.abc import Sequence

from rag.domain import Answer, Citation, Hit, Paper, Support
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
    lines = [f"[{c.number}] {c.paper.label} ({reference(c.paper)}): “{short(plain(c.quote))}”" for c in citations]
    return "\n".join(["Sources", *lines]) if lines else ""


def reference(paper: Paper) -> str:
    """Who wrote a paper, where and when it came out, and where it was read, as far as it is known."""
    return "; ".join(part for part in (byline(paper), address(paper), read_at(paper)) if part)


def byline(paper: Paper) -> str:
    """Authors, venue and year."""
    venue = " ".join(part for part in (paper.venue, str(paper.year or "")) if part)
    return ", ".join(part for part in (by(paper.authors), venue) if part)


def address(paper: Paper) -> str:
    """Where on the web the paper is; nothing but http and https."""
    url = paper.url or (f"https://doi.org/{paper.doi}" if paper.doi else "")
    return url if url.startswith(("https://", "http://")) else ""


def read_at(paper: Paper) -> str:
    """The file that it was read from, and where in it."""
    where = f"abstract {paper.position + 1}"
    return f"{paper.source}, {where}" if paper.source else where


def by(authors: Sequence[str]) -> str:
    """Up to two authors by name, of more the first one."""
    return " and ".join(authors) if len(authors) < 3 else f"{authors[0]} et al."


def _nearest(answer: Answer) -> str:
    if not answer.abstained or not answer.nearest:
        return ""
    return "\n".join(["Nearest papers", *(f"- {_nearest_line(hit)}" for hit in answer.nearest)])


def _nearest_line(hit: Hit) -> str:
    return labelled(hit.paper.label, short(plain(hit.paper.text), 160))


def _dropped(answer: Answer) -> str:
    lines = [f"- {s.text} ({s.reason})" for s in answer.dropped]
    return "\n".join(["Left out, because no abstract supports it", *lines]) if lines else ""
