"""Kill an add again and again, with -9 and at random moments; then compare with one that nobody disturbed.

python scripts/crash.py FILE [--kills 50] [--seed 1] [--longest 12]

After each kill the library must answer a search. At the end the add runs through, and the library must be the same as
the undisturbed one: every row of its tables, every id and vector of its index. Exit 1 when it is not. Takes a quarter
of an hour for 2,634 abstracts. Measures no speed.
"""

from __future__ import annotations

import argparse
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rag.errors import LibraryEmptyError, LibraryMissingError
from rag.library import Library
from rag.schema import FILE_NAME

PASSING = ("index", "index_sums", "generation")
"""What the library notes of how it came about, not of what is in it."""
QUESTION = "How is a large model trained with less memory?"


def add(folder: Path, file: Path) -> subprocess.Popen[bytes]:
    """Start to add a file to a library, in a process of its own."""
    command = [sys.executable, "-m", "rag.cli", "add", "--library", str(folder), str(file)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own program


def contents(folder: Path) -> list[str]:
    """Every statement that would make the library's tables again, but for what passes."""
    with sqlite3.connect(folder / FILE_NAME) as connection:
        lines = list(connection.iterdump())
    # The full text's own tables are an index of what the others hold, merged at moments of its choosing.
    return [
        line for line in lines
        if not line.startswith('INSERT INTO "terms_') and not any(f'"meta" VALUES(\'{key}\'' in line for key in PASSING)
    ]  # fmt: skip


def found(library: Path) -> int | None:
    """How many papers a search could find; None when there is no library yet."""
    try:
        with Library.open(library) as opened:
            opened.search(QUESTION, 3)
            return len(opened)
    except LibraryEmptyError:
        return 0
    except LibraryMissingError:
        return None


def main() -> int:
    """Run it; 0 when both libraries are the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=12.0, help="seconds until an add is killed, at most")
    args = parser.parse_args()
    moments = random.Random(args.seed)  # noqa: S311 - moments, not secrets
    with tempfile.TemporaryDirectory() as scratch:
        whole, torn = Path(scratch, "whole"), Path(scratch, "torn")
        add(whole, args.file).wait()
        killed = 0
        while killed < args.kills:
            child = add(torn, args.file)
            time.sleep(moments.uniform(0.5, args.longest))
            ended = child.poll() is not None
            child.send_signal(signal.SIGKILL)
            child.wait()
            killed += 1
            sys.stderr.write(f"kill {killed} of {args.kills}: {found(torn)} papers{', it was done' if ended else ''}\n")
        add(torn, args.file).wait()
        with Library.open(whole) as one, Library.open(torn) as other:
            faults = one.faults() + other.faults()
            papers = len(one), len(other)
        before, after = contents(whole), contents(torn)
        different = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
    sys.stdout.write(f"{papers[0]} and {papers[1]} papers, {len(before)} and {len(after)} rows, "
                     f"{len(different)} differ, {len(faults)} faults\n")  # fmt: skip
    for fault in faults:
        sys.stdout.write(f"{fault}\n")
    for one_row, other_row in different[:5]:
        sys.stdout.write(f"- {one_row[:200]}\n+ {other_row[:200]}\n")
    return int(bool(faults or different or len(before) != len(after)))


if __name__ == "__main__":
    sys.exit(main())
