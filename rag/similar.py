"""Is it the same paper in other words? Keys that versions of a paper share, and a comparison of two papers.

A preprint and the version of a conference share a title or whole sentences, so both are looked up by keys; what shares
one is compared: the share of word trigrams of the shorter abstract that the longer one has (containment, as in Broder,
"On the resemblance and containment of documents", 1997). Stores nothing.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from rag.domain import Paper
from rag.text import sentences, tokens

TITLED, UNTITLED, RETITLED = 0.6, 0.8, 0.95
"""Containment from which two papers are one: titles equal, one without a title, titles that differ."""
EDITED = 0.5
"""Containment from which a text that takes another's place in its file is that text, changed."""
_SAME_DOI = 0.3
_SENTENCES = 4
_SENTENCE_WORDS, _TITLE_WORDS = 8, 3
_LOCAL = "id:"


def keys_of(paper: Paper) -> list[int]:
    """Signed 64-bit keys: of the title, of the DOI, of the longest sentences of the abstract."""
    longest = sorted({_joined(paper.text[s.start : s.end]) for s in sentences(paper.text)}, key=lambda s: (-len(s), s))
    keys = [f"s {sentence}" for sentence in longest[:_SENTENCES] if sentence.count(" ") + 1 >= _SENTENCE_WORDS]
    title = title_key(paper.title)
    if title.count(" ") + 1 >= _TITLE_WORDS:
        keys.append(f"t {title}")
    if paper.doi:
        keys.append(f"d {paper.doi.lower()}")
    return [_hashed(key) for key in keys]


def _hashed(key: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True
    )


def title_key(title: str) -> str:
    """What titles are compared by: their words, folded."""
    return _joined(title)


def _joined(text: str) -> str:
    return " ".join(tokens(text))


@lru_cache(maxsize=4096)
def _trigrams(text: str) -> frozenset[tuple[str, ...]]:
    words = tokens(text)
    return frozenset(tuple(words[i : i + 3]) for i in range(max(1, len(words) - 2)))


def containment(first: str, second: str) -> float:
    """Share of the word trigrams of the text with fewer of them that the other one has too; in [0, 1]."""
    one, other = _trigrams(first), _trigrams(second)
    return len(one & other) / min(len(one), len(other))


def same_paper(first: Paper, second: Paper) -> bool:
    """Whether two records are one paper. Never when both have an id of the same kind and the ids differ."""
    if _told_apart(first.external_id, second.external_id):
        return False
    alike = containment(first.text, second.text)
    if first.doi and first.doi.lower() == second.doi.lower():
        return alike >= _SAME_DOI
    if not first.title or not second.title:
        return alike >= UNTITLED
    return alike >= (TITLED if title_key(first.title) == title_key(second.title) else RETITLED)


def is_global(external_id: str) -> bool:
    """Whether an external id means the same in every file."""
    return bool(external_id) and not external_id.startswith(_LOCAL)


def _told_apart(first: str, second: str) -> bool:
    if not (is_global(first) and is_global(second)):
        return False
    return first != second and first.partition(":")[0] == second.partition(":")[0]
