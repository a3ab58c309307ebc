"""What kind of question it is, as far as it changes the road: about one paper, or "which papers". Calls no model.

Decided by the form of the question (it asks for papers, in the plural), not by its topic; English and Chinese forms
are known, everything else takes the ordinary road, which also answers.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Kind(StrEnum):
    """The road that a question takes."""

    ANSWER = "answer"
    LIST = "list"


_PAPERS = r"(?:papers|abstracts|articles|publications|preprints)"
_THINGS = rf"(?:{_PAPERS}|works|studies)"
_FILLER = r"(?:(?:of|the|these|those|our|my|your|other|all|recent|existing|more|any|some|in|here)\s+)*"
_NOT_PRIOR = r"(?<!prior\s)(?<!previous\s)(?<!existing\s)(?<!it\s)"
_LIST = re.compile(
    rf"""
    \b(?:which|what)\s+{_FILLER}(?:{_PAPERS}\b | (?:works|studies)\s+(?!on\b|with\b|best\b|well\b)\w)   # which papers
    | \b(?:list|name|show|find|give|tell|enumerate|mention|are\s+there|do\s+(?:we|you)\s+have|any|all)\b
      [^.?!]{{0,40}}? \b(?:{_PAPERS} | {_NOT_PRIOR}(?:works|studies)\s+(?:on|about|that|which|using|in))\b
    | ^\W*{_THINGS}\s+(?:on|about|that|which|using|with|for|in|from|dealing|related|proposing|studying)\b # papers on
    | \bwhat\s+(?:work|research|literature)\s+(?:is|exists|has|do|does|there)\b    # what work is there on
    | \bwho\s+(?:works|work|studies|study)\s+on\b
    | 哪些(?:论文|文章|工作|研究|摘要) | 哪几篇 | 有哪些.{{0,20}}(?:论文|文章|工作|研究)
    | 列出 | 有没有.{{0,12}}(?:论文|文章)
    """,
    re.IGNORECASE | re.VERBOSE,
)


def kind_of(question: str) -> Kind:
    """The kind of a question that stands alone."""
    return Kind.LIST if _LIST.search(question) else Kind.ANSWER
