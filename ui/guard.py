"""Stands before the web server: what the page may load, which hosts it answers to, which routes stay shut.

A plain ASGI wrapper; knows neither Gradio's code nor ours. The chat needs no uploads, no files, no proxying, so the
routes that offer them are closed, whoever asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# Gradio's page runs scripts that stand in it and builds functions at run time; everything else comes from here alone.
POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "frame-src 'none'",
        "frame-ancestors 'self'",
        "form-action 'self'",
        "base-uri 'self'",
    )
)
_HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
_API = "/gradio_api/"
_CLOSED = (
    "upload", "file", "proxy", "stream", "component_server", "deep_link", "process_recording", "custom_component",
    "vibe", "dev", "call", "mcp", "agents", "token",
)  # fmt: skip
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Guard:
    """Wraps an ASGI app.

    On a loopback address it answers only to loopback names: no page of another site can reach the chat by pointing
    its own name at this machine.
    """

    def __init__(self, app: App, host: str) -> None:
        self._app = app
        self._names = LOOPBACK if host.strip("[]") in LOOPBACK else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._names and _host(scope) not in self._names:
            await _refuse(send, 421, b"This chat answers only to the name of this machine.")
        elif str(scope["path"]).removeprefix(_API).startswith(_CLOSED) and str(scope["path"]).startswith(_API):
            await _refuse(send, 404, b"Not found.")
        else:
            await self._app(scope, receive, _with_headers(send))


def _host(scope: Scope) -> str:
    named = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    if named.startswith("["):
        return named[1:].partition("]")[0]
    return named.partition(":")[0].lower()


async def _refuse(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await send(message)

    return sending
