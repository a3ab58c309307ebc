"""Is this text a question that can be asked, and in which script is it? Understands nothing of its content."""

from __future__ import annotations

import unicodedata

from rag.errors import QuestionError
from rag.resources import Resources

ROOM_FOR_PASSAGES = 2048
"""Tokens of the context that a question must leave to passages, instruction and answer."""


def checked(question: str, resources: Resources) -> str:
    """The question without the white space around it, or QuestionError: empty, not text, too long."""
    if not isinstance(question, str):
        raise QuestionError(f"a question is text, not {type(question).__name__}; ask with a str")
    text = unicodedata.normalize("NFC", question).strip()
    if any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\r\t" for c in text):
        raise QuestionError("the question holds control characters, so it isn't text; type it again as plain text")
    if not any(c.isalnum() for c in text):
        raise QuestionError("the question is empty; ask something about the papers, for example what a method does")
    generator = resources.generator
    limit = max(generator.context_tokens - ROOM_FOR_PASSAGES, 256) // resources.settings.candidates
    # A token is at most a few dozen characters: text far beyond the limit need not be counted to be refused.
    if len(text) > 64 * limit or generator.count_tokens(text) > limit:
        raise QuestionError(
            f"the question is too long ({len(text)} characters; at most {limit} tokens leave room for the passages); "
            "shorten it, or raise `context_tokens`"
        )
    return text
