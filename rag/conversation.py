"""Follow-ups: a question in a conversation, made to stand alone. Retrieves nothing and answers nothing.

A question that names its subject is left as it is. A pronoun or "the method" is replaced by the label of the paper
that the last answer cited, which costs nothing and can't invent. Only an ellipsis ("And on CIFAR-10?") is rewritten
by the model, and its words are taken only when they keep what was asked and add nothing that the conversation does
not contain. Whatever the rewriting, the papers in focus stay candidates: the passage itself resolves most references.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.domain import Turn
from rag.naming import names_in
from rag.prompt import Label
from rag.text import is_foreign, stems

_PRONOUN = re.compile(r"\b(?:it|its|they|their|them|he|she|this|that|these|those)\b", re.IGNORECASE)
_ARTICLED = re.compile(
    r"\b(?:the|this|that|these|those|their|said|same|proposed)\s+(?:proposed\s+|same\s+)?(?P<noun>papers?|works?|methods?|approach(?:es)?|models?|frameworks?|"
    r"algorithms?|system|technique|benchmark|dataset|study|authors?|one)\b",
    re.IGNORECASE,
)
# "Is it true that …" and "it is known that …" speak of nothing before.
_EXPLETIVE = re.compile(
    r"\b(?:is|was)\s+it\s+(?:true|possible|known|clear|\w+ful|\w+[ai]ble)\b(?:\s+that\b)?|\bit\s+(?:is|was)\s+\w+\s+(?:that|to)\b",
    re.IGNORECASE,
)
_OPENING = re.compile(r"^\W*(?:and|but|so|ok|okay|then|also|now|what about|how about)\b", re.IGNORECASE)
_ASKING = re.compile(
    r"\b(?:what|which|how|why|when|where|who|whose|is|are|does|do|did|can|could|has|have|was|were)\b", re.IGNORECASE
)
_CHINESE_REFERENCE = re.compile(
    r"它们?的?|他们的?|该(?:方法|模型|论文|框架)|这个?(?:方法|模型|论文|框架|篇)|那么|呢[？?]?$"
)

Rewrite = Callable[[Turn, str], str]
"""(last turn, new question) -> the model's rewriting."""


@dataclass(frozen=True, slots=True)
class Understood:
    """A question as it is worked on. ``asked`` stands alone; ``focus`` are ids of papers that it may be about."""

    asked: str
    focus: tuple[str, ...] = ()
    follow_up: bool = False


def understand(question: str, history: Sequence[Turn], label: Label, rewrite: Rewrite) -> Understood:
    """Make a question stand alone. ``label`` gives a paper's label by its id."""
    if not history:
        return Understood(question)
    focus, subject = _subject(history, label)
    bare = _OPENING.sub("", question)
    if _is_elliptic(question, bare):
        return Understood(_checked_rewrite(question, history[-1], subject, rewrite), focus, follow_up=True)
    if names_in(question):
        return Understood(question, focus if _refers(question) else ())
    if _refers(question) and subject:
        return Understood(_substitute(question, subject), focus, follow_up=True)
    return Understood(question, focus, follow_up=_refers(question))


def _refers(question: str) -> bool:
    question = _EXPLETIVE.sub(" ", question)
    return bool(_PRONOUN.search(question) or _ARTICLED.search(question) or _CHINESE_REFERENCE.search(question))


def _is_elliptic(question: str, bare: str) -> bool:
    """No verb of its own: "And on CIFAR-10?", "What about memory?", "Why?"."""
    if is_foreign(bare):  # no blanks between words
        return len(bare) <= 6
    opened = bare != question
    words = bare.split()
    return (len(words) <= 2 and not names_in(bare)) or (opened and len(words) <= 8 and not _ASKING.search(bare))


def _subject(history: Sequence[Turn], label: Label) -> tuple[tuple[str, ...], str]:
    """The papers in focus and what "it" stands for: what was cited last, or, after a refusal, the name asked about."""
    for turn in reversed(history):
        if turn.cited:
            return turn.cited, label(turn.cited[0])
        said = turn.question.casefold()
        if names := sorted(names_in(turn.question), key=said.rfind):
            start = said.rfind(names[-1])
            return (), turn.question[start : start + len(names[-1])]
    return (), ""


def _substitute(question: str, subject: str) -> str:
    """Put the subject in place of the first reference: "its" and "their" become a genitive."""

    def put(match: re.Match[str]) -> str:
        return f"{subject}'s" if match[0].lower() in {"its", "their"} else subject

    articled = _ARTICLED.search(question)
    if articled and articled["noun"].lower() not in {"authors", "author"}:
        return question[: articled.start()] + subject + question[articled.end() :]
    replaced, count = re.subn(r"\b(?:its|it|they|their|them)\b", put, question, count=1, flags=re.IGNORECASE)
    if count:
        return replaced
    return f"{question.rstrip(' ?？')} ({subject})?"


def _checked_rewrite(question: str, last: Turn, subject: str, rewrite: Rewrite) -> str:
    """The model's rewriting when it holds what was asked and nothing new; else both questions, side by side."""
    written = rewrite(last, question).strip().strip('"').split("\n")[0].strip()
    said = set(stems(f"{question} {last.question} {last.answer} {subject}"))
    kept = set(stems(question)) - {"about", "and"}
    terms = set(stems(written))
    if written and kept <= terms and len(terms - said) <= 1 and len(written) <= 400:
        return written
    return f"{last.question.rstrip(' ?？.')}; {_OPENING.sub('', question).strip(' ,')}"
