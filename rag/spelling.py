"""How names are spelt: the shapes that tell a name from a word. Looks at one token at a time."""

from __future__ import annotations

import re

ACRONYM = re.compile(r"[A-Z][A-Z0-9]*[A-Z][A-Z0-9]*s?$")
_INNER_CAPITAL = re.compile(r"[a-zα-ω][A-Z]|[A-Z]{2,}[a-rt-z]|[A-Z]{2,}s[a-z]|[a-z]'[a-z]*[A-Z]")
_LETTERS_AND_DIGITS = re.compile(r"[^\W\d_][\w.+-]*\d|\d+[A-Z][\w-]*[A-Z]")
_ROMAN = re.compile(r"[IVX]+$")
_DOTTED = re.compile(r"(?:[^\W_]\.)+[^\W_]?$")


def is_name_like(token: str) -> bool:
    """Whether it is spelt as names are: a capital inside or after a hyphen, letters with digits, an acronym."""
    if len(token) < 2 or _ROMAN.match(token) or _DOTTED.match(token):
        return False
    if "-" in token:
        return _is_hyphened_name(token)
    if token[0].isdigit():
        return bool(re.match(r"\d+[A-Za-z]*[A-Z][A-Za-z]*[A-Z]", token))
    digits = _LETTERS_AND_DIGITS.match(token) and (any(c.isupper() for c in token) or len(token) > 3)
    return bool(ACRONYM.match(token) or _INNER_CAPITAL.search(token) or digits)


def _is_hyphened_name(token: str) -> bool:
    """Fed-CAW, E-SCOT, Dual-Window, CIFAR-10; not LLM-based, pre-trained, 5-shot or State-of-the-art."""
    parts = [part for part in token.split("-") if part]
    if len(parts) < 2:
        return False
    if parts[0][0].isdigit() and not re.match(r"\d[A-Z]", parts[0]):
        return False
    tail = parts[1:]
    capitals = all(part[0].isupper() or part[0].isdigit() for part in tail) and any(c.isupper() for c in token)
    strange = any(is_name_like(part) and not ACRONYM.match(part) for part in parts)
    versions = any(re.fullmatch(r"v?\d[\w.]*", part) for part in tail) and any(c.isupper() for c in parts[0])
    return capitals or strange or versions
