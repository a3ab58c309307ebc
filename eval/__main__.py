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
INTERRUPTED, HUNG_UP = 130, 141


def main(argv: Sequence[str] | None = None, output: Output | None = None) -> int:
    """Run one command; the exit code. ``argv`` None takes the process's own arguments."""
    try:
        args = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said what is wrong, or printed the help that was asked for
        return int(stop.code or 0)
    output = output or Output()
    try:
        code = int(args.run(args, output))
        output.flush()
        return code
    except CiteboundError as error:
        output.error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        output.error("stopped; what was written to files so far is kept, and an exam with --out goes on where it was")
        return INTERRUPTED
    except BrokenPipeError:
        output.hang_up()
        return HUNG_UP


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eval", description="Measure how well Citebound answers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        command = importlib.import_module(module)
        one = commands.add_parser(name, help=command.HELP, description=command.HELP)
        command.arguments(one)
        one.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    terminal = Output()
    with terminal.warnings():  # `citebound eval` does the same for itself
        sys.exit(main(None, terminal))
