"""How the chat looks, and the small script that links markers to evidence: all from files beside this one.

Fonts are the system's own. Nothing here names another host.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gradio as gr

ASSETS = Path(__file__).parent / "assets"
FAVICON = ASSETS / "favicon.svg"

_FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Noto Sans", "sans-serif")
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")


def theme() -> gr.themes.Base:
    """Gradio's plain theme in the system's fonts; the colours are in ``chat.css``."""
    import gradio as gr

    return gr.themes.Base(primary_hue="teal", neutral_hue="slate", font=_FONT, font_mono=_MONO)


def head() -> str:
    """Style and script of the chat, to stand in the page's head."""
    style = (ASSETS / "chat.css").read_text("utf-8")
    script = (ASSETS / "chat.js").read_text("utf-8")
    return f"<style>{style}</style><script>{script}</script>"


def page_options() -> dict[str, Any]:
    """What ``launch`` needs to show the page as it is meant."""
    return {"theme": theme(), "head": head(), "favicon_path": str(FAVICON)}
