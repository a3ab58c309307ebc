"""Questions, drafts, answers and evidence as HTML. Decides what is shown, not what it looks like; touches no gradio.

Places in the page, so that a link in the chat finds its evidence: the evidence of question 2 is ``cb-turn-2``; its
citation 3 is ``cb-2-c3``; the first of its papers is ``cb-2-p1``. Each function returns one line of balanced HTML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.domain import Answer, Citation, Hit, Paper, Sentence, Support
from rag.present import address, byline, read_at
from ui.safe import Marks, escaped, inline, marked, typed

# A verdict that is worth saying: its sign and its words. Supported needs no word, its citation says it.
_SUPPORT_SIGNS = {Support.PARTIAL: ("◐", "partly supported"), Support.UNSUPPORTED: ("○", "not supported")}

_COMMAND = re.compile(r"`([^`]+)`")
"""A command to run, as error messages name it."""


def question_html(text: str) -> str:
    """A question as the user typed it."""
    return f'<div class="cb-question">{typed(text)}</div>'


def waiting_html(turn: int = 0, found: int = 0) -> str:
    """The place of an answer before its first word; once papers are found, with the way to them."""
    link = f'<a class="cb-open" href="#cb-turn-{turn}">{_papers_words(found)} found</a>' if found else ""
    return f'<div class="cb-answer cb-waiting"><span></span><span></span><span></span>{link}</div>'


def draft_html(text: str) -> str:
    """The model's words so far; not yet checked, and looking so."""
    return f'<div class="cb-answer cb-draft">{inline(text)}</div>'


def error_html(message: str) -> str:
    """What went wrong, in one line."""
    shown = _COMMAND.sub(r"<code>\1</code>", escaped(message))
    return f'<div class="cb-answer cb-error"><strong>That didn’t work.</strong> {shown}</div>'


def stopped_html(draft: str) -> str:
    """An answer that the user stopped before anything of it was checked."""
    words = f" The unchecked draft so far: <em>{inline(draft)}</em>" if draft.strip() else ""
    return f'<div class="cb-answer cb-stopped"><strong>Stopped.</strong>{words}</div>'


def answer_html(answer: Answer, turn: int, found: Sequence[Hit] = ()) -> str:
    """A finished answer with its markers, or an abstention with the nearest papers."""
    if answer.abstained:
        inner, kind = _abstention(answer, turn, found), " cb-abstained"
    else:
        inner, kind = _sentences(answer, turn), ""
    after = f"{_note(answer)}{_dropped(answer)}{_foot(answer, turn)}"
    return f'<div class="cb-answer{kind}">{_asked(answer)}{inner}{after}</div>'


def evidence_html(question: str, turn: int, found: Sequence[Hit], answer: Answer | None) -> str:
    """What one answer rests on: cited abstracts with their spans marked, then the other papers that were found."""
    citations = answer.citations if answer else ()
    cited = _by_paper(citations)
    others = [paper for paper in _papers(answer, found) if paper.id not in cited]
    cards = [
        _card(papers[0].paper, turn, place, papers, opened=place == 1)
        for place, papers in enumerate(cited.values(), start=1)
    ]
    more = [_card(paper, turn, place) for place, paper in enumerate(others, start=len(cards) + 1)]
    return (
        f'<section class="cb-turn" id="cb-turn-{turn}"><div class="cb-for">{typed(question)}</div>'
        f"{_group('Cited', cards)}{_group('Also found' if cards else 'Papers found', more)}</section>"
    )


def header_html(name: str, papers: int) -> str:
    """The program's name and the library that it answers from."""
    return (
        '<div class="cb-brand"><h1>Citebound</h1>'
        f'<span class="cb-library"><b>{escaped(name)}</b>'
        f'<span class="cb-count">{_papers_words(papers)}</span></span></div>'
    )


def welcome_html(papers: int) -> str:
    """What stands in the chat before the first question."""
    if not papers:
        return (
            '<div class="cb-welcome"><h2>This library is empty</h2>'
            "<p>Add papers with <code>citebound add FILE</code>, then reload this page.</p></div>"
        )
    return (
        '<div class="cb-welcome"><h2>Ask your papers</h2>'
        "<p>Every sentence of an answer links to the words of the abstract that support it. "
        "When the abstracts don’t say, the answer says so.</p></div>"
    )


def panel_head_html() -> str:
    """The title of the evidence, and what it will hold."""
    return (
        '<div class="cb-panel-title"><h2>Evidence</h2><button type="button" class="cb-close">Close</button></div>'
        '<p class="cb-hint">The papers found for a question appear here, and with the answer the exact words '
        "that support it.</p>"
    )


def _asked(answer: Answer) -> str:
    if answer.asked.strip() == answer.question.strip():
        return ""
    return f'<div class="cb-asked">Understood as: <em>{typed(answer.asked)}</em></div>'


def _sentences(answer: Answer, turn: int) -> str:
    cited = {c.number: c for c in answer.citations}
    shown = [_sentence(sentence, cited, turn) for sentence in answer.sentences]
    if answer.listed:
        return f'<ul class="cb-text">{"".join(f"<li>{one}</li>" for one in shown)}</ul>'
    return f'<div class="cb-text">{" ".join(shown)}</div>'


def _sentence(sentence: Sentence, cited: dict[int, Citation], turn: int) -> str:
    markers = "".join(_marker(cited[number], turn) for number in sentence.citations if number in cited)
    return f'<span class="cb-sentence">{inline(sentence.text)}</span>{markers}{_verdict(sentence)}'


def _marker(citation: Citation, turn: int) -> str:
    title = escaped(f"Show the evidence in {citation.paper.label}")
    return f'<a class="cb-cite" href="#cb-{turn}-c{citation.number}" title="{title}">[{citation.number}]</a>'


def _verdict(sentence: Sentence) -> str:
    if sentence.support not in _SUPPORT_SIGNS:
        return ""
    sign, words = _SUPPORT_SIGNS[sentence.support]
    shown = f'<span class="cb-sign">{sign}</span> {words}'
    if not sentence.reason:
        return f' <span class="cb-verdict">{shown}</span>'
    return (
        f' <details class="cb-verdict"><summary>{shown}</summary>'
        f'<span class="cb-reason">{inline(sentence.reason)}</span></details>'
    )


def _abstention(answer: Answer, turn: int, found: Sequence[Hit]) -> str:
    places = {paper.id: place for place, paper in enumerate(_papers(answer, found), start=1)}
    nearest = {hit.paper.id: hit.paper for hit in answer.nearest}.values()
    links = "".join(
        f'<li><a class="cb-paper" href="#cb-{turn}-p{places[paper.id]}">{inline(paper.label)}</a></li>'
        for paper in nearest
    )
    # The sentence names the nearest papers, and so do the links: say it once.
    first, _, rest = answer.why.partition(". ")
    why = first + "." if links and rest.startswith("The closest papers are ") else answer.why
    return f'<div class="cb-text"><span class="cb-sign">∅</span> <strong>{inline(why)}</strong></div>' + (
        f'<div class="cb-nearest">Closest papers<ul>{links}</ul></div>' if links else ""
    )


def _note(answer: Answer) -> str:
    return f'<p class="cb-reason">{inline(answer.note)}</p>' if answer.note else ""


def _dropped(answer: Answer) -> str:
    count = len(answer.dropped)
    if not count:
        return ""
    what = "1 sentence left out: no abstract supports it" if count == 1 else (
        f"{count} sentences left out: no abstract supports them"
    )  # fmt: skip
    items = "".join(
        f'<li>{inline(s.text)}<span class="cb-reason">{inline(s.reason)}</span></li>' for s in answer.dropped
    )
    return f'<details class="cb-dropped"><summary>{what}</summary><ul>{items}</ul></details>'


def _foot(answer: Answer, turn: int) -> str:
    if not answer.papers:
        return ""
    words = f"Evidence from {_papers_words(len(answer.papers))}"
    return f'<div class="cb-foot"><a class="cb-open" href="#cb-turn-{turn}">{words}</a></div>'


def _papers_words(count: int) -> str:
    return "1 paper" if count == 1 else f"{count:,} papers"


def _papers(answer: Answer | None, found: Sequence[Hit]) -> list[Paper]:
    """Every paper that a turn can show, once: cited ones first, then those found, then the nearest."""
    cited = list(answer.papers) if answer else []
    hits = [*found, *(answer.nearest if answer else ())]
    return list({paper.id: paper for paper in [*cited, *(hit.paper for hit in hits)]}.values())


def _by_paper(citations: Sequence[Citation]) -> dict[str, list[Citation]]:
    grouped: dict[str, list[Citation]] = {}
    for citation in citations:
        grouped.setdefault(citation.paper.id, []).append(citation)
    return grouped


def _group(title: str, cards: Sequence[str]) -> str:
    return f'<h3 class="cb-group">{title}</h3>{"".join(cards)}' if cards else ""


def _card(paper: Paper, turn: int, place: int, citations: Sequence[Citation] = (), *, opened: bool = False) -> str:
    numbers = "".join(f'<span class="cb-number">[{c.number}]</span>' for c in citations)
    where = "; ".join(part for part in (byline(paper), read_at(paper)) if part)
    link = address(paper)
    web = (
        f'<a class="cb-link" href="{escaped(link)}" target="_blank" rel="noopener noreferrer">{escaped(link)}</a>'
        if link
        else ""
    )
    return (
        f'<details class="cb-card" id="cb-{turn}-p{place}"{" open" if opened else ""}><summary>'
        f'<span class="cb-label">{numbers}{inline(paper.label)}</span><span class="cb-where">{escaped(where)}</span>'
        f'</summary><div class="cb-abstract">{_abstract(paper, turn, citations)}{web}</div></details>'
    )


def _abstract(paper: Paper, turn: int, citations: Sequence[Citation]) -> str:
    def wrap(shown: str, covering: Marks, starting: Marks) -> str:
        names = " ".join(f"cb-{turn}-c{citations[n].number}" for n in covering)
        signs = "".join(
            f'<span class="cb-number" id="cb-{turn}-c{citations[n].number}">[{citations[n].number}]</span>'
            for n in starting
        )
        return f'<mark class="{names}">{signs}{shown}</mark>'

    return marked(paper.text, [c.span for c in citations], wrap)
