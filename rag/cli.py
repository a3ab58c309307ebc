"""The command line: `citebound COMMAND …`. Reads arguments, runs one row of the table, makes errors one line.

Answers nothing itself. Exit codes:

      0  done; an abstention is an answer too
      1  something unexpected went wrong (CITEBOUND_DEBUG=1 shows where), or the output could not be written
      2  wrong usage, a wrong setting, something that is no question
      3  a model: missing, damaged, unknown, could not be fetched, or a text is too long for it
      4  a file can't be read as abstracts
      5  the library: missing, empty, damaged, being written to, or the disk is full
     10  with `ask --exit-code`: the abstracts don't say
    130  interrupted (Ctrl-C)
    141  whoever read the output went away
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from models.errors import CiteboundError
from rag.commands import asking, handing_on, papers, upkeep, weights
from rag.commands.base import Context, common_options
from rag.output import Output

if TYPE_CHECKING:
    from rag.loading import ModelSource

COMMANDS = {
    command.name: command
    for family in (papers.COMMANDS, upkeep.COMMANDS, asking.COMMANDS, handing_on.COMMANDS, weights.COMMANDS)
    for command in family
}
INTERRUPTED, HUNG_UP = 130, 141


def main(argv: Sequence[str] | None = None, output: Output | None = None, models: ModelSource | None = None) -> int:
    """Run one command and return the exit code. ``output`` and ``models`` are for tests."""
    output = output or Output()
    try:
        with output.warnings():
            code = _run(list(sys.argv[1:] if argv is None else argv), output, models)
        output.flush()
    except CiteboundError as error:
        output.error(str(error))
        _details(output)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        output.hang_up()
        return HUNG_UP
    except SystemExit as stop:  # argparse: after its help, or a usage error that was told
        return stop.code if isinstance(stop.code, int) else 0
    except Exception as error:  # noqa: BLE001 - the last line: a user never sees a traceback that wasn't asked for
        output.error(f"unexpected {type(error).__name__}: {error}; for details run again with CITEBOUND_DEBUG=1")
        _details(output)
        _give_up(output)
        return 1
    return code


def _run(argv: list[str], output: Output, models: ModelSource | None) -> int:
    if argv[:1] == ["eval"]:  # has a parser of its own, which also explains itself
        return handing_on.evaluate(argv[1:], output)
    parser = _parser(output)
    args = parser.parse_args(argv)
    if args.version:
        from importlib.metadata import version

        output.text(f"citebound {version('citebound')}")
        return 0
    if args.command is None:
        parser.error("no command was given")
    return COMMANDS[args.command].run(Context(args, output, models))


def _give_up(output: Output) -> None:
    """If it was the output that failed, what is still buffered for it would fail again when Python ends."""
    try:
        output.flush()
    except OSError:
        output.hang_up()


def _details(output: Output) -> None:
    if os.environ.get("CITEBOUND_DEBUG", "") not in ("", "0"):
        output.details()


class _Parser(argparse.ArgumentParser):
    """argparse whose errors are one line and whose words all go through the output."""

    output: Output

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong with the usage and where it is explained; exit 2."""
        self.output.error(f"{message}; see: {self.prog} --help")
        raise SystemExit(2)

    def print_help(self, file: object = None) -> None:
        """Write the help where results go."""
        self.output.text(self.format_help().rstrip("\n"))
        self.output.flush()


def _parser(output: Output) -> argparse.ArgumentParser:
    class Parser(_Parser):
        pass

    Parser.output = output
    summary = "Answers questions about your library of paper abstracts, each sentence bound to its source."
    parser = Parser(prog="citebound", description=summary, allow_abbrev=False)
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    common_options(parser)
    rows = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for command in COMMANDS.values():
        row = rows.add_parser(command.name, help=command.help, description=command.help, allow_abbrev=False)
        common_options(row)
        command.configure(row)
    return parser


if __name__ == "__main__":
    sys.exit(main())
