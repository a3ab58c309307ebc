"""Cuts texts: a paper into passages, which the model reads whole, and a passage into windows, which the embedder reads.

A passage is the whole abstract when it fits. Otherwise sentences are shared out over as few pieces as will do, of
about equal length, without overlap; a sentence that is too long by itself is cut between words, a word between
characters. Windows overlap by a sentence, so that what stands across a cut is still seen together. All positions are
exact offsets into the paper's text; lengths are counted by the function that is given, and every piece is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rag.domain import Paper, Passage, Span
from rag.sentences import sentences

Count = Callable[[str], int]
"""Tokens of a text."""

_WORD = re.compile(r"\S+\s*")


def passages(paper: Paper, count: Count, limit: int) -> list[Passage]:
    """The passages of a paper, in order, none longer than ``limit`` tokens; together they hold every word of it."""
    return [_passage(paper, span) for span in split(paper.text, count, limit)]


def _passage(paper: Paper, span: Span) -> Passage:
    return Passage(f"{paper.id}:{span.start}-{span.end}", paper.id, span, paper.text[span.start : span.end])


def split(text: str, count: Count, limit: int) -> list[Span]:
    """Spans of at most ``limit`` tokens that cover a text but for white space; one when it fits."""
    whole = _trimmed(text, Span(0, len(text)))
    if whole.start == whole.end:
        return []
    if count(text[whole.start : whole.end]) <= limit:
        return [whole]
    units = _units(text, count, limit)
    pieces = _balanced(text, units, count, limit)
    return [_trimmed(text, Span(piece[0].start, piece[-1].end)) for piece in pieces]


def windows(passage: Passage, count: Count, limit: int) -> list[Span]:
    """Spans of the paper's text, of at most ``limit`` tokens, that cover the passage.

    Each begins with the last sentence of the one before, where there is room.
    """
    start = passage.span.start
    return [Span(start + span.start, start + span.end) for span in overlapping(passage.text, count, limit)]


def overlapping(text: str, count: Count, limit: int) -> list[Span]:
    """Spans of at most ``limit`` tokens over a text, overlapping by about a sentence; one when it fits."""
    spans = split(text, count, limit)
    if len(spans) < 2:
        return spans
    starts = sorted(unit.start for unit in _units(text, count, limit))
    widened = spans[:1]
    for span in spans[1:]:
        before = [start for start in starts if start < span.start]
        reach = Span(before[-1], span.end) if before else span
        widened.append(reach if count(text[reach.start : reach.end]) <= limit else span)
    return widened


def _trimmed(text: str, span: Span) -> Span:
    start, end = span.start, span.end
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end)


def _units(text: str, count: Count, limit: int) -> list[Span]:
    """What is not cut any further: sentences, and words or characters of those that are too long."""
    units: list[Span] = []
    for sentence in sentences(text):
        if count(text[sentence.start : sentence.end]) <= limit:
            units.append(sentence)
            continue
        for match in _WORD.finditer(text, sentence.start, sentence.end):
            word = Span(match.start(), match.end())
            units += [word] if count(match[0]) <= limit else _characters(text, word, count, limit)
    return units


def _characters(text: str, word: Span, count: Count, limit: int) -> list[Span]:
    """A word in pieces that fit, by halving: Chinese without blanks, or a long string of anything."""
    length = word.end - word.start
    if length <= 1 or count(text[word.start : word.end]) <= max(1, limit // 4):
        return [word]
    middle = word.start + length // 2
    return [
        *_characters(text, Span(word.start, middle), count, limit),
        *_characters(text, Span(middle, word.end), count, limit),
    ]


def _balanced(text: str, units: list[Span], count: Count, limit: int) -> list[list[Span]]:
    """Units in order, shared over as few pieces as will hold them, of about equal length."""
    lengths = [count(text[unit.start : unit.end]) for unit in units]
    total = sum(lengths)
    fewest = max(1, -(-total // limit))
    for wanted in range(fewest, len(units) + 1):
        pieces = _shared(units, lengths, total / wanted, wanted)
        if all(count(text[piece[0].start : piece[-1].end]) <= limit for piece in pieces):
            return pieces
    return [[unit] for unit in units]


def _shared(units: list[Span], lengths: list[int], target: float, wanted: int) -> list[list[Span]]:
    """Cut where the running length comes closest to each multiple of ``target``."""
    pieces: list[list[Span]] = [[]]
    done = 0.0
    for position, (unit, length) in enumerate(zip(units, lengths, strict=True)):
        edge = target * len(pieces)
        left = len(units) - position
        over = done + length - edge
        if pieces[-1] and len(pieces) < wanted and (over > edge - done or left <= wanted - len(pieces)):
            pieces.append([])
        pieces[-1].append(unit)
        done += length
    return pieces
