"""A question, looked up in the library's vocabulary: which of its words count, how much, and which papers it names.

Words that no paper has are matched to ones that differ by a slip of the finger. Ranks nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from rag.lexicon import Lexicon, name_key
from rag.naming import names_in
from rag.text import Chunk, chunks, is_stop, stem

_MAX_SLIPS = 2  # spellings tried for one unknown word
_SHORTEST_SLIP = 5  # letters: shorter words have too many neighbours


@dataclass(frozen=True, slots=True)
class Unit:
    """A content word or name of the question. A paper has it when it has all terms of any of its ``forms``.

    ``weight`` is its rarity, ln(1 + N / papers that have it).
    """

    forms: tuple[tuple[str, ...], ...]
    weight: float


@dataclass(frozen=True, slots=True)
class Query:
    """A question as the library's words.

    ``named``: ids of papers with a name from it that few have; ``owners``: of papers that call their own method so;
    ``perhaps_named``: of papers with a name that differs by a slip.
    """

    units: tuple[Unit, ...]
    named: frozenset[str]
    owners: frozenset[str]
    perhaps_named: frozenset[str]

    @property
    def terms(self) -> list[str]:
        """All terms to search for, each once."""
        return list(dict.fromkeys(term for unit in self.units for form in unit.forms for term in form))

    def overlap(self, terms: set[str]) -> float:
        """Share of the units, by weight, that a paper with these terms has; in [0, 1]."""
        total = sum(unit.weight for unit in self.units)
        found = sum(u.weight for u in self.units if any(terms.issuperset(form) for form in u.forms))
        return found / total if total else 0.0


def few(papers: int) -> int:
    """A name that at most so many papers have tells papers apart: 2 of 57, 18 of 5,000, 79 of 100,000."""
    return max(2, round(math.sqrt(papers) / 4))


def understand(question: str, lexicon: Lexicon, papers: int) -> Query:
    """Look a question up in a library of so many papers."""
    parts = chunks(question)
    pairs = [_pair(left, right) for left, right in pairwise(parts)]
    known = lexicon.frequencies(
        stem(term) for group in ([*c.parts, *c.joined] for c in parts) for term in group
    ) | lexicon.frequencies(stem(pair) for pair in pairs if pair)
    spelt = {name_key(name) for name in names_in(question)}
    few_papers = few(papers)
    keys = _name_keys(parts, pairs, known, spelt, few_papers)
    names = {key: ids for key, ids in lexicon.named(keys, few_papers).items() if len(ids) <= few_papers}
    owners = lexicon.owners(keys, few_papers)
    units: list[Unit] = []
    guesses: set[str] = set()
    wide = any(chunk.wide and any(part in known for part in chunk.parts) for chunk in parts)
    for position, chunk in enumerate(parts):
        beside = [pair for pair in (pairs[position - 1] if position else "", *pairs[position : position + 1]) if pair]
        if chunk.wide:
            # In a library without a word of Chinese, a Chinese question is judged by its names alone.
            units += [_unit(((part,),), known, papers) for part in chunk.parts if wide and not is_stop(part)]
            continue
        named_pairs = [pair for pair in beside if name_key(pair) in names or name_key(pair) in owners]
        if (
            all(map(is_stop, chunk.parts))
            and not named_pairs
            and chunk.whole not in names
            and chunk.whole not in owners
        ):
            continue
        forms = [tuple(map(stem, chunk.parts)), *((stem(term),) for term in chunk.joined)]
        # Written as one only where that is a name, or where the word alone is nothing: else the words say it already.
        alone = any(term in known for form in forms for term in form)
        forms += [(stem(pair),) for pair in (named_pairs if alone else beside) if stem(pair) in known]
        unit = _unit(tuple(dict.fromkeys(forms)), known, papers)
        if not _is_known(unit, known):
            slips = _slips(chunk.whole, lexicon)
            if slips:
                guesses.update(slips)
                unit = _unit(tuple((slip,) for slip in slips), slips, papers)
        units.append(unit)
    perhaps = lexicon.named(sorted(guesses), few_papers)
    return Query(
        tuple(dict.fromkeys(units)),
        _all(names.values()),
        _all(owners.values()),
        _all(ids for ids in perhaps.values() if len(ids) <= few_papers),
    )


def _all(groups: Iterable[list[str]]) -> frozenset[str]:
    return frozenset(paper for ids in groups for paper in ids)


def _pair(left: Chunk, right: Chunk) -> str:
    """Two neighbours written as one: "blitz rank" for BlitzRank."""
    both = left.whole + right.whole
    return both if left.whole and right.whole and len(both) > 3 and not both.isdigit() else ""


def _unit(forms: tuple[tuple[str, ...], ...], known: dict[str, int], papers: int) -> Unit:
    # A form is as rare as its rarest term; the unit as common as its most common form.
    having = max((min((known.get(term, 0) for term in form), default=0) for form in forms), default=0)
    return Unit(forms, math.log1p(papers / max(1, having)))


def _is_known(unit: Unit, known: dict[str, int]) -> bool:
    return any(all(term in known for term in form) for form in unit.forms)


def _name_keys(
    parts: list[Chunk], pairs: list[str], known: dict[str, int], spelt: set[str], few_papers: int
) -> list[str]:
    """What in a question may be a name.

    "magic" is the name MAGIC unless many papers have the word: then it must be spelt as a name.
    """
    keys = [name_key(one) for chunk in parts for one in (chunk.whole, *chunk.joined)] + [
        name_key(pair) for pair in pairs
    ]
    return [
        key
        for key in dict.fromkeys(keys)
        if len(key) > 1
        and not key.isdigit()
        and (key in spelt or (not is_stop(key) and known.get(stem(key), 0) <= few_papers))
    ]


def _slips(word: str, lexicon: Lexicon) -> dict[str, int]:
    """Terms of the vocabulary that a word may be a misspelling of, the nearest ones, with the papers that have each."""
    if len(word) < _SHORTEST_SLIP or not word.isalpha():
        return {}
    from rapidfuzz.distance import OSA

    stemmed = stem(word)
    allowed = 1 if len(stemmed) < 9 else 2
    # With one slip, the first or the last part of the word is whole.
    whole = max(1, (len(stemmed) - 2) // 2)
    near = lexicon.terms_like(stemmed[:whole], stemmed[-whole:], len(stemmed) - allowed, len(stemmed) + allowed)
    ranked = sorted(
        (distance, -papers, term)
        for term, papers in set(near)
        if term.isalpha() and (distance := OSA.distance(stemmed, term, score_cutoff=allowed)) <= allowed
    )
    nearest = [(term, -papers) for distance, papers, term in ranked if distance == ranked[0][0]]
    return dict(nearest[:_MAX_SLIPS])
