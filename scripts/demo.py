"""`make demo`: three questions to the sample library, of which the last has no answer there. Shows; measures nothing.

Exit 1 when an answer comes without a citation, or the unanswerable question gets one.
"""

from __future__ import annotations

import sys

from rag import Library
from rag.errors import CiteboundError
from rag.output import Output

QUESTIONS = (
    ("What causes the Velocity Deficit in flow matching?", True),
    ("Which papers are about causal discovery?", True),
    ("How many GPUs was GeoPT trained on?", False),
)


def main() -> int:
    """Ask and show; the exit code."""
    output, wrong = Output(), 0
    try:
        with output.progress("sample library") as step, Library.sample(progress=step) as library:
            library.warm()
            for question, answerable in QUESTIONS:
                answer = library.ask(question)
                output.text(f"> {question}\n\n{answer}\n\n  ({answer.timings.total:.1f} s)\n")
                wrong |= answer.abstained is answerable or (answerable and not answer.citations)
    except CiteboundError as error:
        output.error(str(error))
        return error.exit_code
    if wrong:
        output.error("the demo did not go as it should: an answer without a source, or one that isn't in the abstracts")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
