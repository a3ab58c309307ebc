"""Questions to start with, made from the library's own papers. Asks no model; invents no subject."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from rag.domain import Paper
from rag.text import is_stop, plain

_ABOUT_ONE = ("What is {}?", "How does {} work?", "What problem does {} address?")
_ABOUT_MANY = "Which papers deal with {}?"
_WORD = re.compile(r"[A-Za-z][A-Za-z-]+|[^\sA-Za-z]+")
NAME_WORDS = 4
"""A label of more words is a title or an abstract's first words, and not a name to ask for."""
READ = 500
"""Papers looked at: a large library has a topic among its first ones too."""
# Words that abstracts of every field share: two of them, or one with another, name no topic.
_BOILERPLATE = (
    "extensive experiments experimental experiment results result novel approach approaches method methods existing "
    "proposed propose framework frameworks performance demonstrate demonstrates empirical empirically evaluation "
    "evaluations state previous prior recent significantly significant paper study studies analysis benchmark "
    "benchmarks across multiple diverse different various large small high real world code available github https "
    "introduce introduces present strong challenging challenge task tasks baselines baseline accuracy improve improves "
    "consistently outperforms theoretical practical wide range data dataset datasets"
)


def example_questions(papers: Sequence[Paper]) -> tuple[str, ...]:
    """Up to four questions, the same each time for the same papers; none for an empty library."""
    looked_at = papers[:READ]
    named = [paper.label for paper in looked_at if _is_name(paper)]
    step = max(len(named) // len(_ABOUT_ONE), 1)
    about_one = [ask.format(name) for ask, name in zip(_ABOUT_ONE, named[::step], strict=False)]
    topic = _topic(looked_at)
    return (*about_one, *([_ABOUT_MANY.format(topic)] if topic else []))


def _is_name(paper: Paper) -> bool:
    label = paper.label
    return label != paper.title and "…" not in label and len(label.split()) <= NAME_WORDS and label[:1].isupper()


def _topic(papers: Sequence[Paper]) -> str:
    """The two words that most papers share, when they are neither rare nor everywhere."""
    counts: Counter[str] = Counter()
    for paper in papers:
        words = _WORD.findall(plain(paper.text).lower())
        counts.update({f"{a} {b}" for a, b in pairwise(words) if _telling(a) and _telling(b)})
    most = max(3, len(papers) // 4)
    return next((pair for pair, count in counts.most_common(50) if 3 <= count <= most), "")


def _telling(word: str) -> bool:
    return len(word) > 3 and word[0].isalpha() and word not in _BOILERPLATE.split() and not is_stop(word)
