"""The chat in a real browser, on a library made by hand. Anything that the page asks of another host fails the test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from scripted_library import PAPERS, ScriptedLibrary

from rag.errors import SettingsError
from ui.app import serve

pytestmark = pytest.mark.browser

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """A chat that runs in a thread of this process."""

    def __init__(self, library: Any, **how: Any) -> None:
        self.library = library
        self.port = free_port()
        self.url = ""
        self._up, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, kwargs=how, daemon=True)
        self._thread.start()
        assert self._up.wait(120)

    def _run(self, **how: Any) -> None:
        serve(self.library, port=self.port, announce=self._announced, stop=self._stop, **how)

    def _announced(self, url: str) -> None:
        self.url = url
        self._up.set()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    chat = Served(ScriptedLibrary(pace=0.08))
    yield chat
    chat.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    assert Path(CHROMIUM).exists(), f"no Chromium at {CHROMIUM}; name it in CHROMIUM, or leave out -m browser"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """One user's tab, watched: requests to other hosts, script errors and console errors are remembered."""

    def __init__(self, chromium: Any, url: str, options: dict[str, Any]) -> None:
        self.url = url
        self.context = chromium.new_context(**options)
        self.page = self.context.new_page()
        self.wrong: list[str] = []
        self.context.on("request", self._requested)
        self.page.on("pageerror", lambda error: self.wrong.append(f"script error: {error}"))
        self.page.on("console", self._said)
        self.page.on("popup", lambda popup: self.wrong.append(f"a window opened: {popup.url}"))
        self.page.on("dialog", lambda dialog: self.wrong.append("a dialog opened"))
        self.open()

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.wrong.append(f"asked of another host: {request.url}")

    def _said(self, message: Any) -> None:
        left = "AbortError" in message.text or "errored out" in message.text  # a page that is left says so
        if message.type == "error" and not left:
            self.wrong.append(message.text)

    def open(self) -> None:
        self.page.goto(self.url)
        self.page.wait_for_selector("#cb-box textarea")
        self.page.wait_for_selector(".cb-brand")
        self.page.wait_for_function("document.getElementById('cb-status').getAttribute('role') === 'status'")

    @property
    def box(self) -> Any:
        return self.page.locator("#cb-box textarea")

    def ask(self, question: str, wait_for: str = "") -> None:
        self.box.fill(question)
        self.box.press("Enter")
        if wait_for:
            self.page.wait_for_selector(wait_for)

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).last.inner_text())

    def wait_for_status(self, words: str) -> None:
        self.page.wait_for_function("w => document.getElementById('cb-status').innerText.includes(w)", arg=words)

    def is_inside(self, selector: str, frame: str) -> bool:
        """Whether the element is within what can be seen of the frame."""
        script = """([s, f]) => { const a = document.querySelector(s).getBoundingClientRect(),
            b = document.querySelector(f).getBoundingClientRect();
            return a.height > 0 && a.top >= b.top - 1 && a.bottom <= Math.min(b.bottom, innerHeight) + 1; }"""
        return bool(self.page.evaluate(script, [selector, frame]))

    def close(self) -> None:
        self.context.close()
        assert self.wrong == []


@pytest.fixture
def tab(chromium: Any, served: Served) -> Iterator[Tab]:
    opened = Tab(chromium, served.url, DESKTOP)
    yield opened
    opened.close()


@pytest.fixture
def phone(chromium: Any, served: Served) -> Iterator[Tab]:
    opened = Tab(chromium, served.url, PHONE)
    yield opened
    opened.close()


def test_the_page_says_what_it_answers_from_and_offers_questions(tab: Tab) -> None:
    assert "Made <em>up</em> & small" in tab.text("#cb-header")
    assert "3 papers" in tab.text("#cb-header")
    tab.page.get_by_text("What is COMPASS?").click()
    tab.page.wait_for_selector(".cb-cite")
    assert tab.text(".cb-question") == "What is COMPASS?"


def test_an_answer_streams_is_cited_and_its_words_are_marked(tab: Tab, served: Served) -> None:
    read, written = threading.Event(), threading.Event()

    def gated(question: str, stream: Any) -> Iterator[Any]:
        events = list(served.library.answer("How well?", stream))
        yield events[0]
        assert read.wait(60)
        yield events[1]
        assert written.wait(60)
        yield from events[2:]

    served.library.scripts["gated"] = gated
    tab.ask("A gated question?", wait_for="#cb-turn-1")
    assert "Papers found" in tab.text("#cb-turn-1")
    assert "Reading the 3 papers found" in tab.text("#cb-status")
    assert tab.page.locator(".cb-waiting").count() == 1
    read.set()
    tab.page.wait_for_selector(".cb-draft")
    assert tab.text(".cb-draft").strip() == "COMPASS"
    assert tab.page.locator(".cb-cite").count() == 0
    written.set()
    tab.page.wait_for_selector(".cb-cite")
    assert tab.page.locator(".cb-cite").all_inner_texts() == ["[1]", "[2]", "[3]"]
    assert "partly supported" in tab.text("#cb-chat .bot")
    assert "900 dollars" not in tab.text("#cb-chat .bot .cb-text")
    assert tab.is_inside("mark.cb-1-c1", "#cb-right")
    assert "93% success" in tab.page.locator("mark.cb-1-c1").inner_text()
    tab.wait_for_status("Answered in 1.3 s")
    tab.page.get_by_text("1 sentence left out: no abstract supports it").click()
    assert "900 is in no abstract" in tab.text(".cb-dropped")


def test_a_marker_opens_its_abstract(tab: Tab) -> None:
    tab.ask("How well?", wait_for=".cb-cite")
    assert not tab.page.locator("mark.cb-1-c3").is_visible()
    tab.page.get_by_text("[3]", exact=True).first.click()
    tab.page.wait_for_selector("mark.cb-1-c3.cb-now")
    tab.page.wait_for_timeout(400)
    assert tab.is_inside("mark.cb-1-c3", "#cb-right")
    assert tab.page.evaluate("scrollY") == 0


def test_a_follow_up_shows_how_it_was_understood_and_keeps_earlier_evidence(tab: Tab, served: Served) -> None:
    tab.ask("How well?", wait_for=".cb-cite")
    tab.ask("And at night?", wait_for=".cb-asked")
    assert "Understood as: What does COMPASS reach?" in tab.text(".cb-asked")
    assert served.library.asked[-1][1][0].question == "How well?"
    assert tab.page.locator("#cb-turn-2").is_visible()
    tab.page.locator(".cb-cite").first.click()
    assert tab.page.locator("#cb-turn-1").is_visible()
    assert not tab.page.locator("#cb-turn-2").is_visible()
    assert tab.is_inside("mark.cb-1-c1", "#cb-right")


def test_an_abstention_offers_the_nearest_papers(tab: Tab) -> None:
    tab.ask("Something unknown?", wait_for=".cb-abstained")
    assert "The abstracts don't say." in tab.text(".cb-abstained")
    assert tab.page.locator(".cb-cite").count() == 0
    tab.page.locator(".cb-paper", has_text="LANTERN").click()
    assert tab.page.get_by_text("Night scenes break detectors.").is_visible()


def test_stop_stops_the_model(tab: Tab, served: Served) -> None:
    assert not tab.page.locator("#cb-stop").is_visible()
    tab.ask("a slow one", wait_for=".cb-draft")
    tab.page.locator("#cb-stop").click()
    tab.page.wait_for_selector(".cb-stopped")
    assert served.library.streams[-1].cancelled.is_set()
    tab.wait_for_status("Stopped")
    tab.page.locator("#cb-stop").wait_for(state="hidden")
    tab.ask("How well?", wait_for=".cb-cite")


def test_a_tab_that_is_reloaded_frees_the_model(tab: Tab, served: Served) -> None:
    tab.ask("a slow one", wait_for=".cb-draft")
    running = served.library.streams[-1]
    tab.open()
    assert running.cancelled.wait(10)
    assert tab.page.locator(".cb-question").count() == 0
    tab.ask("How well?", wait_for=".cb-cite")


def test_a_tab_that_leaves_while_nothing_comes_frees_the_model(chromium: Any, served: Served) -> None:
    def silent(question: str, stream: Any) -> Iterator[Any]:
        stream.cancelled.wait(60)
        yield from ()

    served.library.scripts["silent"] = silent
    leaving = Tab(chromium, served.url, DESKTOP)
    leaving.ask("a silent one")
    leaving.wait_for_status("Searching")
    running = served.library.streams[-1]
    leaving.close()
    assert running.cancelled.wait(10)


def test_writing_goes_on_while_an_answer_streams(tab: Tab) -> None:
    tab.ask("a slow one", wait_for=".cb-draft")
    tab.box.fill("How well?")
    tab.box.press("Shift+Enter")
    tab.box.type("Really?")
    assert tab.box.input_value() == "How well?\nReally?"
    tab.box.press("Enter")
    tab.page.wait_for_function("document.querySelectorAll('.cb-question').length === 2")
    assert tab.box.input_value() == ""
    tab.page.locator("#cb-stop").click()  # stops both
    tab.page.wait_for_function("document.querySelectorAll('.cb-stopped').length === 2")


def test_a_question_sent_meanwhile_is_answered_next(tab: Tab, served: Served) -> None:
    release = threading.Event()

    def held(question: str, stream: Any) -> Iterator[Any]:
        release.wait(30)
        yield from served.library.answer("How well?", stream)

    served.library.scripts["held"] = held
    tab.ask("held back", wait_for=".cb-question")
    tab.ask("How well?")
    tab.page.wait_for_function("document.querySelectorAll('.cb-question').length === 2")
    release.set()
    tab.page.wait_for_function("document.querySelectorAll('.cb-foot').length === 2")


def test_a_new_conversation_is_empty(tab: Tab, served: Served) -> None:
    tab.ask("How well?", wait_for=".cb-cite")
    tab.page.locator("#cb-new").click()
    tab.page.wait_for_selector(".cb-welcome")
    assert tab.page.locator(".cb-turn").count() == 0
    # Gradio may count "processing" for the blink of an eye; it must not stay.
    tab.page.wait_for_function("document.getElementById('cb-status').innerText.trim() === ''")
    tab.ask("Again?", wait_for=".cb-cite")
    assert served.library.asked[-1][1] == ()
    assert tab.page.locator("mark").first.is_visible()


def test_two_users_do_not_mix(chromium: Any, served: Served) -> None:
    mine, yours = Tab(chromium, served.url, DESKTOP), Tab(chromium, served.url, DESKTOP)
    mine.ask("my slow secret", wait_for=".cb-draft")
    yours.ask("How well?", wait_for=".cb-cite")
    assert "secret" not in yours.page.content()
    assert "How well?" not in mine.page.content()
    yours.page.locator("#cb-new").click()
    yours.page.wait_for_selector(".cb-welcome")
    assert mine.page.locator(".cb-draft").count() == 1
    mine.page.locator("#cb-stop").click()
    mine.page.wait_for_selector(".cb-stopped")
    mine.close()
    yours.close()


def test_hostile_text_is_shown_as_text(tab: Tab) -> None:
    question = (
        "<img src=http://evil.example/a onerror=window.hacked=9> <script>window.hacked=8</script> "
        "[x](javascript:alert(1)) ![y](http://evil.example/b.png) $\\href{javascript:alert(1)}{z}$ %%%LATEX_BLOCK_0%%%"
    )
    tab.ask(question, wait_for=".cb-cite")
    assert tab.text(".cb-question") == question
    tab.page.locator("summary", has_text="EVIL").click()
    abstract = tab.text("#cb-evidence .cb-card[open] .cb-abstract")
    assert "<script>window.hacked=1</script><img src=x onerror=window.hacked=2>" in abstract
    assert "see here (javascript:alert(1))" in abstract
    assert "track (http://evil.example/pixel.png)" in abstract
    tab.page.locator("summary", has_text="EVIL").hover()
    assert tab.page.evaluate("window.hacked") is None
    inside = "#cb-chat .message, #cb-evidence"
    for what in ("img", "script", "iframe", "svg", "a:not([href^='#cb-'])", "[onerror]", "[onmouseover]"):
        found = tab.page.evaluate(
            "([i, w]) => [...document.querySelectorAll(i)].flatMap(e => [...e.querySelectorAll(w)])"
            ".filter(e => !e.closest('.katex')).length",
            [inside, what],
        )
        assert found == 0, what


def test_formulas_are_typeset_and_prices_are_not(tab: Tab) -> None:
    tab.ask("is $i<j$ for $5 or $10?", wait_for=".cb-cite")
    assert tab.page.locator(".cb-question .katex").count() == 1
    assert "$5 or $10?" in tab.text(".cb-question")
    assert tab.page.locator("#cb-chat .bot .katex").count() == 1
    abstract = tab.page.locator("#cb-1-p1 .cb-abstract")
    assert abstract.locator(".katex").count() == 3
    assert "i<j" in abstract.locator("annotation").all_text_contents()
    assert "costs $5 on one GPU and $10 on two" in abstract.inner_text()
    assert "Rényi" in abstract.inner_text()
    assert tab.page.locator(".katex-error").count() == 0
    font = "getComputedStyle(document.querySelector('.katex')).fontFamily"
    assert "KaTeX" in tab.page.evaluate(font)
    assert tab.page.evaluate("document.fonts.check('16px KaTeX_Main')")


def test_errors_are_told_in_the_chat_and_the_page_lives(tab: Tab) -> None:
    tab.ask("fail expected", wait_for=".cb-error")
    assert "run citebound models pull" in tab.text(".cb-error")
    tab.ask("fail surprise")
    tab.page.wait_for_function("document.querySelectorAll('.cb-error').length === 2")
    assert "secret detail" not in tab.page.content()
    tab.ask("How well?", wait_for=".cb-cite")


def test_the_keyboard_reaches_the_evidence_and_comes_back(tab: Tab) -> None:
    tab.ask("How well?", wait_for=".cb-cite")
    tab.page.locator(".cb-cite").nth(2).focus()
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector("mark.cb-1-c3.cb-now")
    focused = "document.activeElement.innerText"
    assert "LANTERN" in tab.page.evaluate(focused)
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert tab.page.evaluate(outline) == "solid"
    tab.page.keyboard.press("Escape")
    assert tab.page.evaluate(focused) == "[3]"


def test_controls_have_names(tab: Tab) -> None:
    assert tab.page.get_by_label("Your question").count() == 1
    assert tab.page.get_by_role("button", name="Send").count() == 1
    assert tab.page.get_by_role("button", name="New conversation").count() == 1
    assert tab.page.get_by_role("region", name="Evidence").count() == 1
    assert tab.page.get_by_role("status").count() >= 1
    assert tab.page.get_by_role("heading", level=1).inner_text() == "Citebound"


CONTRAST = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const light = ([r, g, b]) => { const f = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c[3] > .99) return c; } return [255, 255, 255, 1]; };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !e.checkVisibility()) continue;
    if (e.closest('.katex-mathml, .sr-only')) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) low.push([ratio.toFixed(2), e.className, walker.currentNode.textContent.slice(0, 40)]);
  }
  return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(chromium: Any, served: Served, scheme: str) -> None:
    seen = Tab(chromium, served.url, {**DESKTOP, "color_scheme": scheme})
    seen.page.wait_for_selector(".cb-welcome")
    assert seen.page.evaluate(CONTRAST) == []
    seen.ask("fail expected", wait_for=".cb-error")
    seen.ask("Something unknown?", wait_for=".cb-abstained")
    seen.ask("And how well?", wait_for=".cb-cite")
    seen.page.locator(".cb-cite").last.click()
    seen.ask("a slow one", wait_for=".cb-draft")
    assert seen.page.evaluate(CONTRAST) == []
    dark = seen.page.evaluate("document.body.classList.contains('dark')")
    assert dark == (scheme == "dark")
    seen.page.locator("#cb-stop").click()
    seen.page.wait_for_selector(".cb-stopped")
    seen.close()


def test_on_a_phone_nothing_scrolls_sideways_and_evidence_is_a_sheet(phone: Tab) -> None:
    fits = "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
    assert phone.page.evaluate(fits)
    phone.ask("How well, " + "very" * 60 + "?", wait_for=".cb-cite")
    assert phone.page.evaluate(fits)
    assert not phone.page.locator("#cb-turn-1").is_visible()
    phone.page.locator(".cb-cite").first.tap()
    phone.page.wait_for_timeout(300)
    assert phone.page.locator("#cb-turn-1").is_visible()
    assert phone.is_inside("mark.cb-1-c1", "#cb-right")
    assert phone.page.evaluate(fits)
    phone.page.get_by_role("button", name="Close").tap()
    phone.page.locator("#cb-turn-1").wait_for(state="hidden")
    assert phone.is_inside("#cb-send", "body")


def test_a_long_conversation_stays_at_its_end(tab: Tab) -> None:
    for number in range(1, 6):
        tab.ask(f"Question {number}?")
        tab.page.wait_for_function(f"document.querySelectorAll('.cb-foot').length === {number}")
    tab.page.wait_for_timeout(600)
    last = "(() => { const f = [...document.querySelectorAll('.cb-foot')].pop().getBoundingClientRect();" \
        "return f.bottom <= document.getElementById('cb-ask').getBoundingClientRect().top; })()"  # fmt: skip
    assert tab.page.evaluate(last)


def test_private_routes_are_shut_and_nothing_is_advertised(served: Served) -> None:
    import httpx

    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.get("/gradio_api/file=/etc/passwd").status_code == 404
        assert client.post("/gradio_api/upload", files={"files": b"x"}).status_code == 404
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
        assert "content-security-policy" in client.get("/").headers
        named = client.get("/gradio_api/info").json()["named_endpoints"]
        assert named == {}


def test_a_taken_port_is_one_line(served: Served) -> None:
    with pytest.raises(SettingsError, match="choose another port"):
        serve(ScriptedLibrary(), port=served.port)


def test_idle_preparing_can_be_turned_off(chromium: Any) -> None:
    library = ScriptedLibrary()
    prepared = threading.Event()
    library.prepare = lambda cancel=None: prepared.set()  # type: ignore[method-assign, assignment]
    quiet = Served(library, prepare=False)
    assert not prepared.wait(3)
    quiet.close()


def test_the_real_library_with_model_doubles(chromium: Any, tmp_path: Path) -> None:
    from rag.library import Library
    from rag.loading import FakeModels
    from rag.settings import Settings

    text = "Agents forget. We present COMPASS, a planner for agents. COMPASS reaches 93% success on GridWorld."
    (tmp_path / "some.txt").write_text(text + "\n\nLanterns glow. We study lantern light at night.\n", "utf-8")
    settings = Settings(home=tmp_path / "home")
    with Library.open(tmp_path / "made", settings=settings, models=FakeModels(), create=True) as library:
        library.add(tmp_path / "some.txt")
        chat = Served(library)
        seen = Tab(chromium, chat.url, DESKTOP)
        seen.ask("What success does COMPASS reach on GridWorld?")
        seen.page.wait_for_selector(".cb-cite, .cb-abstained, .cb-error")
        assert seen.page.locator(".cb-error").count() == 0
        assert "COMPASS" in seen.text("#cb-evidence")
        if seen.page.locator(".cb-cite").count():
            assert seen.page.locator("mark").first.is_visible()
        seen.close()
        chat.close()


SCRIPT = """
import sys
sys.path[:0] = [{root!r}, {tests!r}]
from scripted_library import PAPERS, ScriptedLibrary
from ui.app import serve
serve(ScriptedLibrary(pace=0.05), port={port}, announce=lambda url: print(url, flush=True))
print("closed", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once_and_without_noise(chromium: Any, how: signal.Signals) -> None:
    tests = Path(__file__).parent
    code = SCRIPT.format(root=str(tests.parent), tests=str(tests), port=free_port())
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        url = run.stdout.readline().strip()
        seen = Tab(chromium, url, DESKTOP)
        seen.ask("a slow one", wait_for=".cb-draft")
        run.send_signal(how)
        assert run.wait(30) == 0
        assert run.stdout.read().strip() == "closed"
        assert run.stderr.read().strip() == ""
        seen.context.close()  # its console speaks of the server that went away


def test_filters_are_offered_where_papers_have_fields_and_hold_until_changed(chromium: Any) -> None:
    papers = [replace(one, year=2024, venue="ICML", authors=("Ana M",), url="https://example.org/x") for one in PAPERS]
    chat = Served(ScriptedLibrary(papers), prepare=False)
    tab = Tab(chromium, chat.url, {"viewport": {"width": 1280, "height": 800}})
    try:
        only = tab.page.get_by_label("Only papers with")
        only.fill("year>=2024; venue=ICML")
        tab.ask("How well?", ".cb-cite")
        assert chat.library.filters == ("year>=2024", "venue=ICML")
        assert only.input_value() == "year>=2024; venue=ICML"
        tab.page.locator("summary .cb-where").first.wait_for()
        shots = os.environ.get("SHOTS")
        if shots:
            tab.page.screenshot(path=f"{shots}/filters.png")
        only.fill("colour=red")
        tab.ask("And how well now?", ".cb-error")
        assert "can't be filtered by 'colour'" in tab.text(".cb-error")
        assert tab.wrong == []
    finally:
        tab.context.close()
        chat.close()


def test_without_fields_no_filter_is_offered(tab: Tab) -> None:
    assert not tab.page.locator("#cb-only").is_visible()
