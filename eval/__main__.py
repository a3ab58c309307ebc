"""``python -m eval COMMAND``: exams, calibration, benchmarks. Measures nothing itself: each command is a module."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from rag.errors import CiteboundError
from rag.output import Output

# name -> module; a module has HELP, arguments(parser) and run(args, output) -> exit code
COMMANDS = {
    "exam": "eval.exam",
    "grade": "eval.grading",
    "retrieval": "eval.retrieval",
    "calibrate": "eval.calibrate",
    "bench": "eval.bench",
}
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None, output: Output | None = None) -> int:
    """Run one command; the exit code. ``argv`` None takes the process's own arguments."""
    try:
        args = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said what is wrong, or printed the help that was asked for
        return int(stop.code or 0)
    output = output or Output()
    try:
        return int(args.run(args, output))
    except CiteboundError as error:
        output.error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        output.error("stopped; what is on file is kept, and the same command goes on from there")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eval", description="Measure how well Citebound answers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        command = importlib.import_module(module)
        one = commands.add_parser(name, help=command.HELP, description=command.__doc__.splitlines()[0])
        command.arguments(one)
        one.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
