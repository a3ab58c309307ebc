"""Answers on file: one line each, with all that a grader needs and what helps to see why. Asks and grades nothing.

The fields ``id``, ``answer``, ``abstained``, ``cited`` (the whole text of each cited abstract, in order of first
citation) and ``seconds`` (wall time of the graded turn) are what gets graded; the others explain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path

from eval.datasets import Question
from eval.files import Row, rows
from eval.identity import turns_key
from eval.metrics import Reply
from rag.domain import Answer, Citation, Sentence
from rag.errors import CiteboundError, ReadError


class Abstention(StrEnum):
    """Why an answer is none."""

    NONE = ""
    NO_EVIDENCE = "no evidence"
    """No passage was judged worth writing from."""
    UNSUPPORTED = "unsupported draft"
    """The model wrote, and no sentence of it could be tied to a passage."""
    DOUBTED = "doubted draft"
    """What it wrote could be tied to a passage, but was not judged to answer the question from there."""


def abstention(answer: Answer) -> Abstention:
    """Which kind of abstention an answer is."""
    if not answer.abstained:
        return Abstention.NONE
    if not answer.dropped:
        return Abstention.NO_EVIDENCE
    return Abstention.DOUBTED if answer.confidence else Abstention.UNSUPPORTED


def row_of(question: Question, answer: Answer, seconds: float) -> Row:
    """An answer as a line of the file."""
    return {
        "id": question.id,
        "answer": answer.text,
        "abstained": answer.abstained,
        "cited": [paper.text for paper in answer.papers],
        "seconds": round(seconds, 4),
        "kind": question.kind,
        "question": answer.question,
        "asked": answer.asked,
        "confidence": round(answer.confidence, 4),
        "abstention": abstention(answer).value,
        "sentences": [_sentence(s) for s in answer.sentences],
        "citations": [_citation(c) for c in answer.citations],
        "dropped": [_sentence(s) for s in answer.dropped],
        "nearest": [hit.paper.label for hit in answer.nearest],
        "timings": {stage: round(spent, 4) for stage, spent in asdict(answer.timings).items()},
        "model": answer.model,
    }


def row_of_error(question: Question, error: CiteboundError, seconds: float) -> Row:
    """A question that could not be asked, as a line: it counts as answered, and wrongly."""
    fields = {"id": question.id, "answer": "", "abstained": False, "cited": [], "seconds": round(seconds, 4)}
    return {**fields, "kind": question.kind, "question": question.asked, "error": str(error)}


def signed(row: Row, question: Question, run: str) -> Row:
    """A line with what it was made from, so that a later run knows whether it may be used again."""
    return {**row, "question_key": turns_key(question.turns), "run": run}


def reply_of(row: Row) -> Reply:
    """What a line says, for grading; also of lines that another program wrote. Raises ValueError or TypeError."""
    first = (row.get("timings") or {}).get("first_word") or None
    seconds = row.get("seconds")
    return Reply(
        answer=str(row.get("answer") or ""),
        abstained=bool(row.get("abstained")),
        cited=tuple(map(str, row.get("cited") or [])),
        seconds=None if seconds is None else float(seconds),
        first_word=None if first is None else float(first),
    )


def read_rows(path: Path) -> dict[str, Row]:
    """The lines of a file by their id; a later line takes the place of an earlier one. Raises ReadError."""
    found = {}
    for number, row in rows(path):
        if not isinstance(row.get("id"), str):
            raise ReadError(f"{path}:{number} has no 'id'; an answer is a JSON object with the id of its question")
        try:
            reply_of(row)
        except (ValueError, TypeError, AttributeError) as error:
            raise ReadError(f"{path}:{number} is not an answer ({error}); mend or remove that line") from error
        found[row["id"]] = row
    return found


def reusable(found: dict[str, Row], questions: Iterable[Question], run: str) -> dict[str, Row]:
    """Those lines that the same run would write again: same turns, settings, papers and program."""
    wanted = {question.id: turns_key(question.turns) for question in questions}
    return {
        key: row for key, row in found.items() if row.get("run") == run and row.get("question_key") == wanted.get(key)
    }


def _sentence(sentence: Sentence) -> Row:
    return {
        "text": sentence.text,
        "citations": list(sentence.citations),
        "support": sentence.support.value,
        "reason": sentence.reason,
    }


def _citation(citation: Citation) -> Row:
    return {
        "number": citation.number,
        "paper": citation.paper.id,
        "label": citation.paper.label,
        "source": citation.paper.source,
        "start": citation.span.start,
        "end": citation.span.end,
        "quote": citation.quote,
    }
