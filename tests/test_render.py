"""The HTML of questions, answers and evidence: balanced, harmless, and its links lead somewhere."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from scripted_library import COMPASS, HOSTILE, PAPERS, abstained, answered, hit

from rag.domain import Sentence, Span, Support
from ui import render
from ui.safe import DISPLAY_OPEN, MATH_CLOSE, MATH_OPEN, escaped, inline, marked, typed

ALLOWED_TAGS = {
    "div", "span", "strong", "em", "code", "u", "a", "ul", "li", "details", "summary", "section", "h1", "h2", "h3", "p",
    "b", "mark", "br", "button",
}  # fmt: skip
ALLOWED_ATTRIBUTES = {"class", "id", "href", "title", "open", "type"}


class Page(HTMLParser):
    """Reads HTML as a browser would, and fails on what this program never writes."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.text = ""
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.marks: list[str] = []
        self.feed(html)
        self.close()
        assert not self.stack, f"unclosed: {self.stack}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        assert tag in ALLOWED_TAGS, tag
        if attributes.get("class") == "cb-link":  # the only way out of the page, in a tab that knows nothing of it
            assert set(attributes) == {"class", "href", "target", "rel"}, attributes
            assert (attributes["target"], attributes["rel"]) == ("_blank", "noopener noreferrer")
            assert attributes["href"].startswith(("https://", "http://")), attributes
        else:
            assert set(attributes) <= ALLOWED_ATTRIBUTES, attributes
            assert attributes.get("href", "#cb-").startswith("#cb-"), attributes
        self.elements.append((tag, attributes))
        if tag == "mark":
            self.marks.append("")
        if tag != "br":
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "mark" in self.stack:
            self.marks[-1] += data

    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.elements if "id" in a]

    def links(self) -> list[str]:
        return [a["href"] for _, a in self.elements if "href" in a]


EVERYTHING_HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=http://evil.example/x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "[x](javascript:alert(1)) ![y](http://evil.example/p.png)",
    r"\href{http://evil.example}{x} $\href{javascript:alert(1)}{x}$",
    "</div></section><h1>Fake</h1>",
    "%%%LATEX_BLOCK_0%%%",
    f"{MATH_OPEN}\\href{{http://evil.example}}{{x}}{MATH_CLOSE}",
    "\u202egnp.exe \x00\x1b[31m",
    "```mermaid\nclick A call alert()\n```",
    "a\n\n<b>b</b>\n\n# c",
    HOSTILE,
]


@pytest.mark.parametrize("text", EVERYTHING_HOSTILE)
def test_hostile_text_stays_text_wherever_it_stands(text: str) -> None:
    paper = replace(PAPERS[0], text=text, label=text, source=text)
    answer = answered(
        text,
        asked=text + " again",
        sentences=(Sentence(text, (1,), Support.PARTIAL, text),),
        citations=(replace(answered("").citations[0], paper=paper, span=Span(2, len(text) - 1)),),
        dropped=(Sentence(text, (), Support.UNSUPPORTED, text),),
    )
    refusal = replace(abstained(text), why=text, nearest=(hit(paper),))
    for html in (
        render.question_html(text),
        render.draft_html(text),
        render.error_html(text),
        render.stopped_html(text),
        render.answer_html(answer, 1, (hit(paper),)),
        render.answer_html(refusal, 1),
        render.evidence_html(text, 1, (hit(paper),), answer),
        render.header_html(text, 3),
    ):
        page = Page(html)
        assert "\n" not in html
        assert "%%%" not in html
        assert "\u202e" not in html
        assert "\x00" not in html
        assert html.count(MATH_OPEN) == html.count(MATH_CLOSE)
        for frame in page.text.split(MATH_OPEN)[1:]:
            assert "href" not in frame.split(MATH_CLOSE)[0]


def test_escaped_shows_exactly_the_text() -> None:
    assert Page(escaped("a<b & \"c\" 'd' 100%")).text == "a<b & \"c\" 'd' 100%"


def test_formulas_are_delimited_and_prices_are_not() -> None:
    html = inline("if $i<j$ it costs $5 or $10 and $$x$$")
    assert f"{MATH_OPEN}i&lt;j{MATH_CLOSE}" in html
    assert f"{DISPLAY_OPEN}x" in html
    assert "$5 or $10" in html


def test_a_question_keeps_its_lines_and_its_signs() -> None:
    assert typed("a **b**\n<c>") == "a **b**<br>&lt;c&gt;"


def test_a_span_is_marked_to_the_character() -> None:
    page = Page(marked("One. Two three. Four.", [Span(5, 15)], lambda html, *_: f"<mark>{html}</mark>"))
    assert page.marks == ["Two three."]
    assert page.text == "One. Two three. Four."


def test_a_span_that_ends_inside_emphasis_and_formulas_is_marked() -> None:
    start = COMPASS.index("COMPASS**")
    stop = COMPASS.index("log n")
    page = Page(marked(COMPASS, [Span(start, stop)], lambda html, *_: f"<mark>{html}</mark>"))
    assert "".join(page.marks) == f"COMPASS, a planner with {MATH_OPEN}O(n \\log n){MATH_CLOSE}"


def test_spans_may_touch_and_overlap() -> None:
    seen: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = []

    def wrap(html: str, covering: tuple[int, ...], starting: tuple[int, ...]) -> str:
        seen.append((html, covering, starting))
        return html

    marked("abcdefgh", [Span(1, 4), Span(3, 6), Span(6, 7)], wrap)
    assert seen == [("bc", (0,), (0,)), ("d", (0, 1), (1,)), ("ef", (1,), ()), ("g", (2,), (2,))]


def test_each_sentence_carries_its_markers_and_its_verdict() -> None:
    page = Page(render.answer_html(answered("How well?"), 4))
    assert page.links() == ["#cb-4-c1", "#cb-4-c2", "#cb-4-c3", "#cb-turn-4"]
    assert "updates.[1][2] It also works at night.[3] ◐ partly supported" in page.text
    assert "the abstract speaks of detectors only" in page.text
    assert "1 sentence left out: no abstract supports it" in page.text
    assert "900 is in no abstract" in page.text
    assert "Evidence from 2 papers" in page.text
    assert "Understood as" not in page.text


def test_a_marker_without_a_citation_is_not_shown() -> None:
    answer = answered("x", sentences=(Sentence("One.", (1, 9), Support.SUPPORTED),))
    assert "[9]" not in Page(render.answer_html(answer, 1)).text


def test_a_list_is_shown_as_a_list() -> None:
    assert render.answer_html(answered("Which?", listed=True), 1).count("<li><span class=") == 2


def test_a_rewritten_question_is_shown() -> None:
    assert (
        "Understood as: What of COMPASS?"
        in Page(render.answer_html(answered("And?", asked="What of COMPASS?"), 1)).text
    )


def test_every_marker_finds_its_evidence() -> None:
    answer = answered("How well?")
    found = tuple(hit(p) for p in PAPERS)
    evidence = Page(render.evidence_html("How well?", 2, found, answer))
    wanted = {link.removeprefix("#") for link in Page(render.answer_html(answer, 2, found)).links()}
    assert wanted <= set(evidence.ids())
    assert len(evidence.ids()) == len(set(evidence.ids()))


def test_evidence_marks_the_quoted_words_and_shows_the_whole_abstract() -> None:
    page = Page(render.evidence_html("How well?", 2, tuple(hit(p) for p in PAPERS), answered("How well?")))
    first = page.marks[0].replace(MATH_OPEN, "⟨").replace(MATH_CLOSE, "⟩")
    assert first == "[2]We present COMPASS, a planner with ⟨O(n \\log n)⟩ updates where ⟨i<j⟩ holds for every step."
    assert page.marks[1].startswith("[1]On “GridWorld” it reaches 93% success")
    assert "Training costs $5 on one GPU and $10 on two." in page.text
    assert "made.txt, abstract 2" in page.text
    assert page.text.index("Cited") < page.text.index("Also found") < page.text.index("EVIL")


def test_before_the_answer_the_papers_found_are_listed() -> None:
    page = Page(render.evidence_html("How well?", 1, tuple(hit(p) for p in PAPERS), None))
    assert "Papers found" in page.text
    assert page.ids() == ["cb-turn-1", "cb-1-p1", "cb-1-p2", "cb-1-p3"]


def test_an_abstention_looks_different_and_links_the_nearest_papers() -> None:
    found = tuple(hit(p) for p in reversed(PAPERS))
    html = render.answer_html(abstained("Who?"), 3, found)
    page = Page(html)
    assert "cb-abstained" in html
    assert "cb-cite" not in html
    assert "The abstracts don't say." in page.text
    assert page.text.count("COMPASS") == 1
    evidence = render.evidence_html("Who?", 3, found, abstained("Who?"))
    place = evidence[: evidence.index("Agents lose")].rindex('id="cb-3-p')
    assert page.links()[0] == "#" + evidence[place + 4 :].split('"')[0]


def test_an_abstention_without_papers_says_why_whole() -> None:
    answer = replace(abstained("Who?"), why="The abstracts don't say. No paper comes close.", nearest=())
    assert "No paper comes close." in Page(render.answer_html(answer, 1)).text


def test_while_waiting_the_papers_found_are_linked() -> None:
    assert Page(render.waiting_html()).links() == []
    page = Page(render.waiting_html(2, 3))
    assert page.links() == ["#cb-turn-2"]
    assert page.text == "3 papers found"


def test_the_empty_library_says_what_to_do() -> None:
    assert "citebound add" in render.welcome_html(0)
    assert "1 paper" in render.header_html("x", 1)
    assert "1 papers" not in render.header_html("x", 1)


def test_gradio_and_the_models_are_not_imported() -> None:
    code = (
        "import sys, ui.render, ui.handlers, ui.app, ui.background, ui.theme, ui.guard\n"
        "print([m for m in ('gradio', 'torch', 'chromadb', 'llama_cpp', 'httpx', 'pylatexenc') if m in sys.modules])"
    )
    root = Path(__file__).parent.parent
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_card_says_who_wrote_the_paper_and_links_only_to_the_web() -> None:
    def web(**fields: object) -> tuple[str, list[str]]:
        page = Page(render.evidence_html("Who?", 1, (hit(replace(paper, **fields)),), None))
        return page.text, [a["href"] for tag, a in page.elements if tag == "a" and a.get("class") == "cb-link"]

    paper = replace(PAPERS[0], authors=("Ana <b>", "Bo", "Cy"), year=2024, venue="ICML")
    text, links = web(url="https://x.org/?a=1&b=\"'<i>")
    assert "Ana <b> et al., ICML 2024; made.txt, abstract 1" in text
    assert links == ["https://x.org/?a=1&b=\"'<i>"]
    assert web(url="javascript:alert(1)")[1] == []
    assert web(url="", doi="10.1/x")[1] == ["https://doi.org/10.1/x"]
    assert web()[1] == []
