"""`make demo`: one question to the sample library, answered in the terminal. Shows; measures nothing.

Exit 1 when the answer is a refusal or comes without a citation.
"""

from __future__ import annotations

import sys

from rag.errors import CiteboundError
from rag.library import Library
from rag.output import Output

QUESTION = "What causes the Velocity Deficit in flow matching?"


def main() -> int:
    """Ask and show; the exit code."""
    output = Output()
    try:
        with output.progress("sample library") as step, Library.sample(progress=step) as library:
            answer = library.ask(QUESTION)
    except CiteboundError as error:
        output.error(str(error))
        return error.exit_code
    output.text(f"> {QUESTION}\n\n{answer}\n\n  ({answer.timings.total:.1f} s)\n")
    if answer.abstained or not answer.citations:
        output.error("the demo did not go as it should: this is in the abstracts, and the answer must cite it")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
