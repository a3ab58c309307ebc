"""Every word that the model is given, as named constants, and the prompts made of them. Runs no model.

A cached passage belongs to the system prompt that it was read under, so there is one short, neutral system prompt for
everything; what differs between judging, answering and rewriting is said after the passages. How to answer is said
before the question, so that it is computed ahead like a passage and only the question is left to read.
No passage carries its rank or a number: citations are computed from the finished sentence, never written by the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from models.protocols import Prompt
from rag.domain import Passage, Turn

ClaimJudge = Callable[[str], float]
"""P(yes) that a claim is stated in the passages that were read."""
Label = Callable[[str], str]
"""A paper's id to its label, empty for an unknown one."""

SYSTEM = "You answer questions about research papers from their abstracts."
PASSAGE = "Passage: {text}\n\n"
QUESTION = "Question: {question}\n"
ANSWER = (
    "Answer by quoting the passage word for word, in one to three sentences. "
    "Give every number, name and item that the passage states for it."
)
JUDGE = "Does the passage state the answer to this question? Reply yes or no."
BELONGS = "Does this paper belong in the answer to this question? Reply yes or no."
CLAIM = "Proposed answer: {claim}\nIs every part of the proposed answer stated in the passage? Reply yes or no."
STANDALONE = (
    "Earlier question: {before}\nEarlier answer: {answer}\nNew question: {question}\n"
    "Rewrite the new question so that it can be understood without the earlier ones. Reply with the question only."
)
TRANSLATE = "Translate this question to English. Reply with the translation only.\n{question}"


def passage_text(passage: Passage) -> str:
    """A passage as the model reads it; the same text whatever the question, so that it can be computed ahead."""
    return PASSAGE.format(text=passage.text)


def ahead(instruction: str) -> str:
    """An instruction as the model reads it between passages and question."""
    return instruction + "\n\n"


def answer(passages: Sequence[Passage], question: str) -> Prompt:
    """The prompt that asks for the answer from passages."""
    asked = QUESTION.format(question=question).rstrip("\n")
    return Prompt(SYSTEM, tuple(map(passage_text, passages)), asked, ahead(ANSWER))


def over(passages: Sequence[Passage], question: str, instruction: str) -> Prompt:
    """A prompt that judges passages: the question first, which all judgements share, then what to judge."""
    return Prompt(SYSTEM, tuple(map(passage_text, passages)), QUESTION.format(question=question) + instruction)


def bare(text: str) -> Prompt:
    """A prompt without passages."""
    return Prompt(SYSTEM, (), text)


def claim(text: str) -> str:
    """The instruction that asks whether passages state a claim."""
    return CLAIM.format(claim=text)


def standalone(last: Turn, question: str) -> Prompt:
    """The prompt that asks for a question that stands alone."""
    return bare(STANDALONE.format(before=last.question, answer=last.answer[:600], question=question))
