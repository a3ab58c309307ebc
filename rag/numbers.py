"""The numbers of a text in one canonical form, so that "1.5M", "1.5 million" and "1,500,000" are the same number.

Reads digits, thousands separators, scale words and letters, ranges, exponents and the small number words of English.
Does not convert units, and does not compute: "half" is not 0.5.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_SCALES = {
    "k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6, "millions": 6, "b": 9, "bn": 9, "billion": 9,
    "billions": 9, "trillion": 12, "trillions": 12, "万": 4, "亿": 8, "百万": 6,
}  # fmt: skip
_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "hundred": 100, "thousand": 1000, "million": 10**6, "twice": 2, "double": 2, "triple": 3,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?:\s*(?P<scale>thousand|millions?|billions?|trillions?|百万|万|亿)|(?P<letter>[kKmMbB]|bn|mn)(?![\w]))?",
)
_LOOSE = re.compile(r"\d+(?:\.\d+)?")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_WORD = re.compile(r"\b(" + "|".join(_WORDS) + r")\b", re.IGNORECASE)
# "1. First" and "(2) then" number the items of a list; "[3]" is a citation mark.
_ENUMERATION = re.compile(r"(?:(?<=\s)|^)(?:\(?\d{1,2}[.)]|\(\d{1,2}\))(?=\s)|\[\d{1,3}\]")


def _canonical(digits: str, power: int) -> str:
    try:
        value = Decimal(digits.replace(",", "")).scaleb(power)
    except InvalidOperation:
        return digits
    return format(value.normalize(), "f")


def numbers_in(text: str) -> set[str]:
    """Numbers written with digits, canonical ("1500000", "0.81"). Enumeration marks of a list don't count."""
    return {
        _canonical(m["digits"], _SCALES.get((m["scale"] or m["letter"] or "").lower(), 0))
        for m in _NUMBER.finditer(_ENUMERATION.sub(" ", text))
    }


def number_words_in(text: str) -> set[str]:
    """Numbers written as words ("seven"), canonical."""
    return {str(_WORDS[m[0].lower()]) for m in _WORD.finditer(text)}


def stated_numbers(text: str) -> set[str]:
    """Every number that a source states in any form; parts of names ("CIFAR-10") and "2.5B" as "2.5" too."""
    text = _ADDRESS.sub(" ", text)
    return (
        numbers_in(text) | number_words_in(text) | {_canonical(d, 0) for d in _LOOSE.findall(_THOUSANDS.sub("", text))}
    )


def missing_numbers(claim: str, source: str) -> list[str]:
    """Numbers that the claim writes with digits and the source doesn't state, sorted."""
    return sorted(numbers_in(claim) - stated_numbers(source))
