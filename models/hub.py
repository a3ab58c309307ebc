"""Fetches files of hub repositories over HTTP, resuming where a part ends. Checks lengths; ``Part`` checks the bytes.

The hub's address is ``HF_ENDPOINT`` if set (a mirror), else the official one; ``HF_HUB_OFFLINE=1`` switches the hub
off. Nothing but the wanted files is asked for, and nothing is sent along.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from models.catalog import HubSource
from models.part import Part, SourceError, WrongBytesError

if TYPE_CHECKING:
    import httpx

ENDPOINT = "https://huggingface.co"
TRIES = 8
"""Connections for one file, while each breaks before the end."""
CONNECT_S = 5.0
READ_S = 30.0
PAUSE_S = 1.0
"""Wait before the second connection; it grows by as much each time."""
_FALSE = {"", "0", "false", "no", "off"}


class Hub:
    """One conversation with the hub. Once its host could not be reached, no further file is tried."""

    def __init__(self, note: Callable[[str], None], endpoint: str | None = None) -> None:
        self._endpoint = (endpoint or os.environ.get("HF_ENDPOINT") or ENDPOINT).rstrip("/")
        self._note = note
        self._client: httpx.Client | None = None
        self.off = ""
        """Why the hub is not to be asked, if so."""
        if os.environ.get("HF_HUB_OFFLINE", "").lower() not in _FALSE:
            self.off = "switched off by HF_HUB_OFFLINE"

    def fetch(self, source: HubSource, part: Part) -> None:
        """Add what the part lacks. Raises SourceError with the reason; what came until then is kept.

        An answer that ends in good order is not asked for again, even if it is short: ``Part`` finds it wrong.
        """
        import httpx

        if self.off:
            raise SourceError(self.off)
        url = f"{self._endpoint}/{source.repository}/resolve/{source.revision}/{quote(source.path)}"
        unreachable = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)
        for attempt in range(1, TRIES + 1):
            try:
                self._once(url, part)
            except httpx.TransportError as error:
                trouble = _brief(error)
                if isinstance(error, unreachable) and attempt in (1, TRIES):
                    self.off = f"{self._endpoint} can't be reached ({trouble})"
                    raise SourceError(self.off) from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise SourceError(f"no usable answer from {url} ({_brief(error)})") from error
            else:
                return
            if attempt < TRIES:
                self._note(f"the connection broke ({trouble}); resuming, {attempt} of {TRIES - 1}")
                time.sleep(PAUSE_S * attempt)
        raise SourceError(f"the connection broke {TRIES} times ({trouble})")

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()

    def _once(self, url: str, part: Part) -> None:
        have = part.have
        # "identity": lengths and ranges are then those of the file itself
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with self._open().stream("GET", url, headers=headers) as response:
            if response.status_code == 416 and have:  # "range not satisfiable": the hub's file is shorter than our part
                raise WrongBytesError(f"the hub's file has fewer than {have} bytes")
            start = _start(response)
            encoded = response.headers.get("Content-Encoding", "identity") != "identity"
            length = response.headers.get("Content-Length")
            if length and not encoded and start + int(length) != part.size:
                raise WrongBytesError(f"the wrong file came ({start + int(length)} bytes and not {part.size})")
            if start not in (0, have):
                raise SourceError(f"the answer starts at byte {start}, {have} was asked for")
            part.cut(start)
            with part.appending() as add:
                for chunk in response.iter_bytes():
                    add(chunk)

    def _open(self) -> httpx.Client:
        import httpx

        if self._client is None:
            timeout = httpx.Timeout(READ_S, connect=CONNECT_S)
            self._client = httpx.Client(timeout=timeout, follow_redirects=True)
        return self._client


def _start(response: httpx.Response) -> int:
    """Return the first byte's place in the file, by the status and Content-Range. Raises SourceError if none came."""
    if response.status_code == 200:
        return 0
    span = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    if response.status_code != 206 or span is None:
        raise SourceError(f"{response.url.host} answered {response.status_code}")
    return int(span.group(1))


def _brief(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
