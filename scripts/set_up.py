"""Sets a fresh machine up, in stages that run side by side; says how long each took. The Makefile calls it.

    python3 scripts/set_up.py STAGE...          (with all that these need first; the stages are in ``stages``)

A finished stage leaves a stamp in .venv/set-up with a hash of all that it depends on, so that the next run is instant,
and a changed pin, model or folder runs only the stages that it concerns. When everything ran from nothing, the times
go to .setup.json. Standard library only.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

from stages import PYTHON, ROOT, STAGES, VENV, Stage

RECORDS = VENV / "set-up"
TIMES = ROOT / ".setup.json"
SIGN_OF_LIFE_S = 20
TAIL = 15
"""Lines of a failed stage's log that are shown."""


class SetUpError(Exception):
    """A stage failed; the message is what the user reads."""


def main(names: list[str]) -> int:
    """Bring those stages up to date; 0, or 1 with the reason on standard error."""
    unknown = [name for name in names if name not in STAGES]
    if unknown or not names:
        say(f"usage: set_up.py STAGE...  with stages out of {', '.join(STAGES)}")
        return 2
    with alone():
        run = Run(names)
        try:
            run.all()
        except SetUpError as error:
            say(f"set-up stopped: {error}")
            return 1
        except KeyboardInterrupt:
            say("set-up interrupted; the next make goes on where it stopped")
            return 130
        finally:
            run.stop()
    return 0


class Run:
    """One run over the wanted stages. Threads wait for commands; what they share is under ``_lock``."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = in_order(names)
        self._took: dict[str, float] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._packages = threading.Lock()
        self._stopped = False
        self._from_nothing = not VENV.exists()

    def all(self) -> None:
        """Run what is not up to date, each stage as soon as what it needs is done. Raises SetUpError."""
        began = time.monotonic()
        waiting, done = list(self._names), set[str]()
        with ThreadPoolExecutor(len(STAGES)) as pool:
            running: dict[Future[None], str] = {}
            try:
                while waiting or running:
                    for name in [n for n in waiting if not (set(STAGES[n].needs) & set(self._names)) - done]:
                        waiting.remove(name)
                        running[pool.submit(self._bring_up, name)] = name
                    finished, _ = wait(running, timeout=SIGN_OF_LIFE_S, return_when=FIRST_COMPLETED)
                    if not finished:
                        say(f"set-up: at it for {clock(time.monotonic() - began)}: {', '.join(running.values())}")
                    for future in finished:
                        done.add(running.pop(future))
                        future.result()
            finally:
                self.stop()  # after a failure or Ctrl-C; otherwise nothing runs any more
        self._report(time.monotonic() - began)

    def stop(self) -> None:
        """End the commands that still run, with their children."""
        with self._lock:
            self._stopped = True
            for process in self._running.values():
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)

    def _bring_up(self, name: str) -> None:
        stage = STAGES[name]
        if is_done(name, stage):
            return
        record(name).unlink(missing_ok=True)
        with self._packages if stage.writes else threading.Lock():
            say(f"set-up: {name} …")
            began = time.monotonic()
            said = self._commands(name, stage)
        took = time.monotonic() - began
        self._took[name] = round(took, 1)
        left = said.splitlines() if stage.leaves else []
        RECORDS.mkdir(parents=True, exist_ok=True)  # a stage may find that it has nothing to run
        record(name).write_text(json.dumps({"hash": digest(stage), "leaves": left}), encoding="utf-8")
        say(f"set-up: {name} done in {clock(took)}")

    def _commands(self, name: str, stage: Stage) -> str:
        """Run a stage's commands; what the last one printed. ``venv --clear`` empties .venv, so its log opens later."""
        said = b""
        for command in stage.run():
            process = self._start(name, command, stage)
            out, err = process.communicate()
            with self._lock:
                self._running.pop(name, None)
            RECORDS.mkdir(parents=True, exist_ok=True)
            with log_of(name).open("ab" if said else "wb") as log:
                log.write(out + err)
            if process.returncode:
                raise SetUpError(self._why(name, stage))
            said = out
        return said.decode(errors="replace")

    def _start(self, name: str, command: Iterable[str], stage: Stage) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise SetUpError(f"{name} was not begun")
            self._running[name] = subprocess.Popen(  # noqa: S603 - commands of our own table
                list(command),
                cwd=ROOT,
                env=os.environ | stage.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            return self._running[name]

    def _why(self, name: str, stage: Stage) -> str:
        if self._stopped:
            return f"{name} was ended"
        log = log_of(name).read_text(encoding="utf-8", errors="replace")
        tail = "\n".join(f"  {line}" for line in log.splitlines()[-TAIL:])
        return stage.failure(log) or f"{name} failed; the end of {log_of(name)}:\n{tail}"

    def _report(self, took: float) -> None:
        if not self._took:
            return
        say(f"set-up: all done in {clock(took)}")
        if self._from_nothing and {"llama", "weights", "sample"} <= set(self._took) and was_from_nothing():
            stages = {f"setup_{name}_s": seconds for name, seconds in self._took.items()}
            TIMES.write_text(json.dumps({"fresh_setup_s": round(took, 1), **stages}) + "\n", encoding="utf-8")


def in_order(names: Iterable[str]) -> list[str]:
    """The stages and all that they need, in the table's order."""
    wanted = set(names)
    for name in reversed(STAGES):  # a stage stands after what it needs
        if name in wanted:
            wanted.update(STAGES[name].needs)
    return [name for name in STAGES if name in wanted]


def is_done(name: str, stage: Stage) -> bool:
    """Whether the stamp is of the same inputs, and what the stage left is still there."""
    try:
        stamp = json.loads(record(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    there = Path(PYTHON).exists() and all(Path(path).exists() for path in stamp["leaves"])
    return there and bool(stamp["hash"] == digest(stage))


def was_from_nothing() -> bool:
    """Whether llama.cpp was compiled and weights were fetched, by the words of pip and of `citebound models pull`."""
    read = [log_of(name).read_text(encoding="utf-8", errors="replace") for name in ("llama", "weights")]
    return "Building wheel for llama" in read[0] and "already here" not in read[1]


def digest(stage: Stage) -> str:
    """A hash of all that the stage depends on."""
    return hashlib.sha256(stage.depends().encode()).hexdigest()


def record(name: str) -> Path:
    """Where a stage's stamp is."""
    return RECORDS / f"{name}.json"


def log_of(name: str) -> Path:
    """Where a stage's log is."""
    return RECORDS / f"{name}.log"


class alone:  # noqa: N801 - reads as a statement
    """Hold the checkout: a second make waits for the first."""

    def __enter__(self) -> None:
        self._folder = os.open(ROOT, os.O_RDONLY)
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("set-up: another make is at it; waiting")
            fcntl.flock(self._folder, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._folder)


def clock(seconds: float) -> str:
    """Such as 2 min 8 s."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def say(text: str) -> None:
    """Tell the user."""
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
