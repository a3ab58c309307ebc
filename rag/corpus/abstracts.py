"""Reads plain text files of abstracts: an optional heading, then abstracts with blank lines between them.

A record is a block of lines between blank ones (a line of only white space, a ruler like ``---``, a form feed). Line
breaks inside a block are a matter of layout and become blanks, except before a list item; LaTeX and Markdown stay as
they are. A short block that is no sentence is a heading: of the file, when it comes first; of the abstract after it,
when nearly every abstract has one; otherwise it is reported as skipped. Does not look for authors or addresses.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from itertools import pairwise

from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source

_LINE_END = re.compile(r"\r+\n|[\r\n\x0b\x85\u2028]")
_PAGE_END = re.compile(r"[\f\u2029]")
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060"
RULER = re.compile(r"[-*_=~#+\s]{3,}")
LIST_ITEM = re.compile(r"(?:[-*•+]|\(?\d{1,2}[.)]|\\item)\s|\$\$|\\(?:begin|end|\[|\])")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\u3001-\u3011]")
_SENTENCE_END = re.compile(r"""[.!?。！？…।؟][\s"'”’»)\]}*_`$」』）]*$""")
_HASHES = re.compile(r"#{1,6}\s+(?=\S)")
_EMPHASIS = re.compile(r"^(\*{1,3}|_{1,3})(.+)\1$")

_MIN_WORDS = 4  # fewer can't be an abstract
_MAX_HEADING = 30  # words: longer ones are text, whatever they end with
_LONG = 20  # words: text even without a full stop
_UNWRAPPED = 200  # characters: a line this long is not broken for layout
_TITLED = 0.8  # share of the abstracts that must have a heading for headings to be titles


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """Records of a text file, in order, and what was skipped. Raises ReadError when the bytes are no text."""
    name = source.name
    parts = _parts(list(_paragraphs(source.text())))
    if not parts:
        return
    kinds = [is_heading(part) for part in parts]
    if len(parts) > 1 and not kinds[0] and _is_odd_start(parts):
        kinds[0] = True
    titled = _headings_are_titles(kinds)
    for position, (part, heading) in enumerate(zip(parts, kinds, strict=True)):
        before = parts[position - 1] if position and kinds[position - 1] else ""
        after_is_text = position + 1 < len(parts) and not kinds[position + 1]
        if not heading:
            yield Record(part, _without_marks(before) if titled else "")
        elif not (position == 0 or (titled and after_is_text)):
            yield Skipped(name, position, f"too short for an abstract: “{_shortened(part)}”")


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Blocks of lines. A page break ends a block, unless it cuts through a running sentence."""
    lines: list[str] = []
    gap = ""
    for number, page in enumerate(_PAGE_END.split(text)):
        gap = "page" if number else gap
        for raw in _LINE_END.split(page):
            line = raw.strip().strip(_INVISIBLE).strip()
            if not line or RULER.fullmatch(line):
                gap = gap or "blank"
                continue
            runs_on = gap == "page" and line[0].islower() and not (lines and _SENTENCE_END.search(lines[-1]))
            if lines and gap and not runs_on:
                yield lines
                lines = []
            gap = ""
            lines.append(line)
    if lines:
        yield lines


def _parts(blocks: list[list[str]]) -> list[str]:
    """Headings and texts in order. First lines are split off when most blocks have one that stands alone.

    Otherwise a first line is part of its text (losing one would be worse than a heading in front of an abstract),
    except at the file's start, when a short line stands over one long line.
    """
    alone = [_stands_alone(lines) for lines in blocks]
    texts = sum(len(lines) > 1 or not is_heading(lines[0]) for lines in blocks)
    if sum(alone) < max(2, _TITLED * texts):
        alone = [i == 0 and one and len(lines) == 2 for i, (one, lines) in enumerate(zip(alone, blocks, strict=True))]
    parts: list[str] = []
    for one, lines in zip(alone, blocks, strict=True):
        parts += [lines[0], joined(lines[1:])] if one else [joined(lines)]
    return parts


_HYPHEN = re.compile(r"\w-")


def _stands_alone(lines: list[str]) -> bool:
    """Whether the first line broke off although the next word had room."""
    if len(lines) < 2 or not is_heading(lines[0]) or lines[1][0].islower() or is_heading(joined(lines[1:40])):
        return False
    width = max(map(len, lines))
    if len(lines) == 2:
        return width > _UNWRAPPED
    return len(lines[0]) + 1 + len(lines[1].split()[0]) <= width


def joined(lines: list[str]) -> str:
    """Lines as one text; list items stay on lines of their own."""
    pieces = [lines[0]]
    for before, line in pairwise(lines):
        if LIST_ITEM.match(line):
            pieces.append("\n")
        elif not (
            (_CJK.match(before[-1]) and _CJK.match(line[0])) or (_HYPHEN.fullmatch(before[-2:]) and line[0].islower())
        ):  # no blank inside a Chinese sentence, nor after a hyphen
            pieces.append(" ")
        pieces.append(line)
    return "".join(pieces)


def count_words(text: str) -> float:
    """Length in words; two characters of Chinese count as one."""
    wide = len(_CJK.findall(text))
    return len(_CJK.sub(" ", text).split()) + wide / 2


def is_heading(text: str) -> bool:
    """Whether a block is a heading and no abstract: short, and no sentence."""
    words = count_words(text)
    if words < _MIN_WORDS or not any(c.isalpha() for c in text):
        return True
    if _HASHES.match(text) and words <= _MAX_HEADING:
        return True
    return words < _LONG and not _SENTENCE_END.search(text)


def _is_odd_start(parts: list[str]) -> bool:
    """A first block much shorter than the others is a heading even with a full stop, or if it runs on."""
    words = count_words(parts[0])
    usual = statistics.median(map(count_words, parts[1:]))
    if _SENTENCE_END.search(parts[0]):
        return words < 15 and words < usual / 6
    return words <= 2 * _MAX_HEADING and words < usual / 3


def _headings_are_titles(kinds: list[bool]) -> bool:
    texts = kinds.count(False)
    pairs = sum(heading and not after for heading, after in pairwise(kinds))
    return texts > 1 and pairs >= 2 and pairs >= _TITLED * texts


def _without_marks(heading: str) -> str:
    return _EMPHASIS.sub(r"\2", _HASHES.sub("", heading).rstrip("# "))


def _shortened(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[:limit].rstrip() + "…"


FORMAT = Format(
    "text", "plain text, blank lines between abstracts", (".txt", ".md", ".text", ".markdown"),
    lambda source: source.suffix in {".txt", ".md", ".text", ".markdown", ""}, read,
)  # fmt: skip
