"""The guard before the chat: whose requests are answered."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from ui.guard import Guard


def asked(path: str, host: str = "127.0.0.1:7860", serving: str = "127.0.0.1") -> tuple[int, dict[bytes, bytes]]:
    """Status and headers that the guard lets out for a request, over an app that always says 200."""
    sent: list[MutableMapping[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"x"})

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request"}

    scope = {"type": "http", "path": path, "headers": [(b"host", host.encode())]}
    asyncio.run(Guard(app, serving)(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/upload",
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/file/etc/passwd",
        "/gradio_api/proxy=http://evil.example",
        "/gradio_api/component_server",
        "/gradio_api/deep_link",
    ],
)
def test_routes_that_the_chat_does_not_need_are_shut(path: str) -> None:
    assert asked(path)[0] == 404


@pytest.mark.parametrize("path", ["/", "/config", "/gradio_api/queue/join", "/gradio_api/queue/data", "/theme.css"])
def test_the_page_and_its_queue_are_open(path: str) -> None:
    assert asked(path)[0] == 200


def test_the_page_may_load_from_here_alone() -> None:
    policy = asked("/")[1][b"content-security-policy"].decode()
    assert "default-src 'self'" in policy
    assert "http" not in policy
    assert "*" not in policy


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7860", "127.0.0.1.evil.example", ""])
def test_on_this_machine_only_its_own_names_are_answered(host: str) -> None:
    assert asked("/", host)[0] == 421


@pytest.mark.parametrize("host", ["localhost:7860", "127.0.0.1", "[::1]:7860", "LOCALHOST"])
def test_its_own_names(host: str) -> None:
    assert asked("/", host)[0] == 200


def test_served_to_a_network_any_name_is_answered() -> None:
    assert asked("/", "lab.example:80", serving="0.0.0.0")[0] == 200
