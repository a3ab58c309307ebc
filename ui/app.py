"""The chat as a web page: Gradio's components, wired to ``handlers``. Decides nothing by itself.

``serve`` runs it until Ctrl-C; ``build`` only makes it.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rag.errors import SettingsError
from ui import render
from ui.background import Background
from ui.examples import example_questions
from ui.guard import LOOPBACK, Guard
from ui.handlers import Desk
from ui.safe import LATEX_DELIMITERS
from ui.session import Session, View
from ui.theme import page_options

if TYPE_CHECKING:
    import gradio as gr

    from rag.library import Library

AT_ONCE = 4
"""Questions in progress at once: while the model serves one, others are searched and wait for it."""
_EMPTY_BOX = "(session, question, only) => [session, window.citebound.taken(question), only]"
"""Run in the page as a question is sent: what is typed next must not wait for the server, nor be wiped by it."""
_ENVIRONMENT = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "OTEL_SDK_DISABLED": "true",
}


def build(library: Library) -> gr.Blocks:
    """The page over a library; launch it with ``ui.theme.page_options()`` to have its looks."""
    return _build(library, Desk(library))


def serve(
    library: Library,
    host: str = "127.0.0.1",
    port: int = 7860,
    open_browser: bool = False,
    *,
    prepare: bool = True,
    announce: Callable[[str], None] = lambda url: None,
    stop: threading.Event | None = None,
) -> None:
    """Serve the chat until Ctrl-C, SIGTERM, or ``stop`` is set; ``announce`` is told the address once it answers.

    While nobody asks, the models are loaded and, with ``prepare``, the passage cache is filled. Raises SettingsError
    when the address can't be used.
    """
    stop = stop or threading.Event()
    background = Background(library.warm, (lambda cancel: library.prepare(cancel=cancel)) if prepare else None)
    desk = Desk(library, background.busy, lambda: background.warming)
    blocks = _build(library, desk)
    try:
        with _terminating(stop):
            announce(_launch(blocks, host, port, open_browser))
            background.start()
            stop.wait()
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        desk.close()
        background.stop()
        _close(blocks)


def _build(library: Library, desk: Desk) -> gr.Blocks:
    _keep_offline()
    import gradio as gr

    with gr.Blocks(title="Citebound", analytics_enabled=False, fill_width=True, fill_height=True) as blocks:
        session = gr.State(Session())
        with gr.Row(elem_id="cb-top"):
            header = gr.Markdown(elem_id="cb-header")
            new = gr.Button("New conversation", elem_id="cb-new", size="sm", scale=0)
        with gr.Row(elem_id="cb-main"):
            with gr.Column(elem_id="cb-left", scale=3, min_width=320):
                chat = gr.Chatbot(
                    elem_id="cb-chat", label="Conversation", show_label=False, container=False, layout="bubble",
                    height="100%", render_markdown=False, sanitize_html=True, latex_delimiters=LATEX_DELIMITERS,
                    buttons=[], feedback_options=None, allow_tags=False, allow_file_downloads=False,
                )  # fmt: skip
                status = gr.Markdown(elem_id="cb-status")
                only = gr.Textbox(
                    elem_id="cb-only", label="Only papers with", show_label=True, container=True, lines=1, max_lines=1,
                    placeholder="year>=2024, venue=ICML, author=…, topic=…, file=…", visible=False,
                )  # fmt: skip
                with gr.Row(elem_id="cb-ask"):
                    box = gr.Textbox(
                        elem_id="cb-box", label="Your question", show_label=False, container=False, lines=1,
                        max_lines=6, placeholder="Ask the papers", autofocus=True, scale=1,
                    )  # fmt: skip
                    stop = gr.Button("Stop", elem_id="cb-stop", visible=False, scale=0, min_width=84)
                    send = gr.Button("Send", elem_id="cb-send", variant="primary", scale=0, min_width=84)
            with gr.Column(elem_id="cb-right", scale=2, min_width=320):
                gr.Markdown(render.panel_head_html(), elem_id="cb-panel-head")
                evidence = gr.Markdown(elem_id="cb-evidence", latex_delimiters=LATEX_DELIMITERS, sanitize_html=True)

        shown = [chat, evidence, status, stop]

        def page(view: View) -> list[Any]:
            return [view.chat, view.evidence, view.status, gr.update(visible=view.busy)]

        @lru_cache(maxsize=1)
        def examples(papers: int) -> list[dict[str, str]]:
            return [{"text": question} for question in example_questions(library.papers())]

        def opened() -> list[Any]:
            papers = len(library)
            welcome = gr.update(placeholder=render.welcome_html(papers), examples=examples(papers))
            return [render.header_html(library.name, papers), welcome, gr.update(visible=library.has_fields())]

        def put(session: Session, question: str, filters: str, request: gr.Request) -> list[Any]:
            return [session, *page(desk.put(session, str(request.session_hash), question or "", filters or ""))]

        def chosen(session: Session, event: gr.SelectData, request: gr.Request) -> list[Any]:
            question = str(event.value.get("text", "")) if isinstance(event.value, dict) else ""
            return [session, *page(desk.put(session, str(request.session_hash), question))]

        def cleared(session: Session) -> list[Any]:
            return page(desk.clear(session))

        def answer(session: Session) -> Iterator[list[Any]]:
            for view in desk.answer(session):
                yield page(view)

        # Gradio finds these by their types, and the module itself does not import it.
        put.__annotations__["request"] = chosen.__annotations__["request"] = gr.Request
        chosen.__annotations__["event"] = gr.SelectData

        def leave(request: gr.Request) -> None:
            desk.leave(str(request.session_hash))

        leave.__annotations__["request"] = gr.Request

        quick: dict[str, Any] = {
            "queue": False, "show_progress": "hidden", "api_visibility": "private", "trigger_mode": "multiple",
        }  # fmt: skip
        model: dict[str, Any] = {
            "concurrency_id": "model", "concurrency_limit": AT_ONCE, "show_progress": "hidden",
            "api_visibility": "private", "trigger_mode": "multiple",
        }  # fmt: skip
        asked = gr.on([box.submit, send.click], put, [session, box, only], [session, *shown], js=_EMPTY_BOX, **quick)
        asked.then(answer, session, shown, **model)
        chat.example_select(chosen, session, [session, *shown], **quick).then(answer, session, shown, **model)
        # What was asked, stopped or cleared meanwhile is shown by the answer that runs, or by a new one that finds
        # nothing to do: so an old view never comes last.
        stop.click(desk.stop, session, None, **quick).then(answer, session, shown, **model)
        new.click(cleared, session, shown, **quick).then(answer, session, shown, **model)
        blocks.load(opened, None, [header, chat, only], **quick)
        blocks.unload(leave)
    return blocks


def _launch(blocks: gr.Blocks, host: str, port: int, open_browser: bool) -> str:
    from starlette.middleware import Middleware

    try:
        _, url, _ = blocks.queue(default_concurrency_limit=AT_ONCE).launch(
            server_name=f"[{host}]" if ":" in host and not host.startswith("[") else host,
            server_port=port,
            inbrowser=open_browser,
            share=False,
            quiet=True,
            prevent_thread_lock=True,
            show_error=False,
            footer_links=[],
            run_history=False,
            enable_monitoring=False,
            ssr_mode=False,
            pwa=False,
            mcp_server=False,
            max_file_size=1,
            app_kwargs={"middleware": [Middleware(Guard, host=host)], "docs_url": None, "redoc_url": None},
            **page_options(),
        )
    except OSError as error:
        raise SettingsError(f"can't serve on {host} port {port} (is it taken?); choose another port") from error
    return str(url)


def _close(blocks: gr.Blocks) -> None:
    if server := getattr(blocks, "server", None):
        # Pages that are still open must not hold the program back, nor be mourned in the log.
        server.config.timeout_graceful_shutdown = 1
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    blocks.close(verbose=False)


def _keep_offline() -> None:
    """Before Gradio is imported: nothing is counted, checked or fetched, and no proxy stands before this machine."""
    os.environ.update(_ENVIRONMENT)
    for name in ("no_proxy", "NO_PROXY"):
        known = [entry for entry in os.environ.get(name, "").split(",") if entry]
        os.environ[name] = ",".join([*known, *sorted(LOOPBACK - set(known))])


@contextmanager
def _terminating(stop: threading.Event) -> Iterator[None]:
    """SIGTERM sets ``stop`` too, where signals can be handled: in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
