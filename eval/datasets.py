"""Questions with what a right answer to them is, read from JSON Lines. Asks and grades nothing.

``eval/data/README.md`` describes the fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from eval.files import Row, rows
from rag.errors import ReadError


@dataclass(frozen=True, slots=True)
class Gold:
    """A paper that a right answer cites. ``anchor`` is text that only its abstract contains, ``file`` its source."""

    anchor: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of an exam. ``turns`` are what the user says, oldest first; the last one is graded.

    ``facts`` are regular expressions, case-insensitive: an answer is right when each is found in it. ``gold`` is
    empty only when the question is not ``answerable``, that is when no abstract states the answer.
    """

    id: str
    kind: str
    turns: tuple[str, ...]
    answerable: bool
    facts: tuple[str, ...] = ()
    gold: tuple[Gold, ...] = ()

    @property
    def asked(self) -> str:
        """The turn that is graded."""
        return self.turns[-1]


def default_exam() -> Path:
    """Where the sample library's exam is."""
    return _data("exam.jsonl")


def default_calibration() -> Path:
    """Where the questions are that thresholds are fitted to."""
    return _data("calibration.jsonl")


def _data(name: str) -> Path:
    return Path(str(files("eval") / "data" / name))


def read_questions(path: Path) -> list[Question]:
    """All questions of a file, in its order.

    Raises ReadError, which names file, line and field, for a line that isn't a question, an id that comes twice, or
    a file without questions.
    """
    lines: dict[str, int] = {}
    questions = []
    for number, row in rows(path):
        question = _question(row, f"{path}:{number}")
        if first := lines.get(question.id):
            raise ReadError(f"{path}:{number}: id {question.id!r} is taken by line {first}; give each question its own")
        lines[question.id] = number
        questions.append(question)
    if not questions:
        raise ReadError(f"{path} holds no questions; a line holds one, as a JSON object")
    return questions


def _question(row: Row, where: str) -> Question:
    for field, (fits, wanted, default) in _FIELDS.items():
        if not fits(row.get(field, default)):
            raise ReadError(f"{where}: {field!r} must be {wanted}; mend that line")
    gold = tuple(Gold(g["anchor"], str(g.get("file", ""))) for g in row.get("gold", []))
    if row["answerable"] and not gold:
        raise ReadError(f"{where}: an answerable question needs a paper in 'gold'; add one, or make it unanswerable")
    facts = tuple(row.get("facts", []))
    for fact in facts:
        try:
            re.compile(fact)
        except re.error as error:
            raise ReadError(f"{where}: fact {fact!r} is not a regular expression ({error}); mend that line") from error
    return Question(row["id"], row["kind"], tuple(row["turns"]), row["answerable"], facts, gold)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_golds(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(g, dict) and _is_text(g.get("anchor")) for g in value)


# field -> (what a value must satisfy, the same in words, the value of a line that leaves the field out)
_FIELDS: dict[str, tuple[Callable[[Any], bool], str, Any]] = {
    "id": (_is_text, "a text that isn't empty", None),
    "kind": (_is_text, "a text that isn't empty", None),
    "turns": (lambda v: _is_texts(v) and bool(v), "a list of at least one text, none empty", None),
    "answerable": (lambda v: isinstance(v, bool), "true or false", None),
    "facts": (_is_texts, "a list of regular expressions", []),
    "gold": (_is_golds, 'a list of papers, each {"file": …, "anchor": …}', []),
}
