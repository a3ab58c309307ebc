"""Which tokens look like names, and what to call a paper. Never invents: a label is made of the paper's own words."""

from __future__ import annotations

import re

from rag.own_name import own_name
from rag.spelling import ACRONYM, is_name_like
from rag.text import plain

__all__ = ["first_words", "is_name_like", "label_of", "labelled", "missing_names", "names_in", "own_name"]

_LABEL_WORDS = 9
_LABEL_WIDE = 24  # characters of a label in Chinese
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_TOKEN = re.compile(
    r"(?:(?![\u3040-\u30ff\u3400-\u9fff])[^\W_])+(?:[-'._+&](?:(?![\u3040-\u30ff\u3400-\u9fff])[^\W_])+)*\+{0,2}"
)
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+")


def names_in(text: str) -> set[str]:
    """Name-like tokens of a text, casefolded. A text all in capitals gives only those with a digit.

    The plural of an acronym (LLMs) gives the singular as well.
    """
    words = [re.sub(r"'s?$", "", match[0]) for match in _TOKEN.finditer(_ADDRESS.sub(" ", plain(text)))]
    spelt = [word for word in words if len(word) > 1 and word.isalpha()]
    shouting = len(spelt) > 3 and sum(word.isupper() for word in spelt) > 0.6 * len(spelt)
    found = set()
    for word in words:
        if not is_name_like(word) or (shouting and not any(c.isdigit() for c in word)):
            continue
        found.add(word.casefold())
        if ACRONYM.match(word) and word[-1] == "s":
            found.add(word[:-1].casefold())
    return found


def missing_names(claim: str, source: str) -> list[str]:
    """Names of a claim that its source doesn't contain, sorted.

    A name counts as contained in another spelling (hyphens, blanks), spelt out ("VQA" in "visual question answering"),
    and in a compound when the part that looks like a name is ("KL-Divergenz" in "KL").
    """
    text = plain(source).casefold()
    squeezed = re.sub(r"[\s._-]", "", text)
    initials = "".join(word[0] for word in re.findall(r"\w+", text))
    strange = []
    for name in names_in(claim):
        whole = re.sub(r"[\s._-]", "", name)
        spelt_out = whole.isalpha() and 3 <= len(whole) <= 6 and whole in initials  # fmt: skip
        if name not in text and whole not in squeezed and not spelt_out and not _compound_known(name, claim, text):
            strange.append(name)
    return sorted(strange)


def _compound_known(name: str, claim: str, text: str) -> bool:
    """Whether the parts of a hyphenated compound that look like names are in the text, and there are any."""
    start = claim.casefold().find(name)
    if "-" not in name or start < 0:
        return False
    looks = [part for part in claim[start : start + len(name)].split("-") if is_name_like(part)]
    return bool(looks) and all(part.casefold() in text for part in looks)


def label_of(text: str, title: str = "") -> str:
    """What to call a paper: its title, else the name of its method, else its first words (with … when cut)."""
    return plain(title) or own_name(text) or first_words(text)


def labelled(label: str, text: str) -> str:
    """Label and text; the text alone when the label is nothing but its first words."""
    return text if plain(text).startswith(label.rstrip("….")) else f"{label}: {text}"


def first_words(text: str) -> str:
    """The first words in plain form, with … when there are more."""
    flat = plain(text)
    if _WIDE.search(flat[:_LABEL_WIDE]):
        return flat if len(flat) <= _LABEL_WIDE else flat[:_LABEL_WIDE].rstrip() + "…"
    words = flat.split()
    return flat if len(words) <= _LABEL_WORDS else " ".join(words[:_LABEL_WORDS]).rstrip(",;:.") + "…"
