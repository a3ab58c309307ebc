"""Texts as they are searched and compared: plain form, tokens, stems, search terms. What is shown is never this.

``plain`` takes LaTeX, Markdown and typography off. ``tokens`` are its words and numbers, ``stems`` the ones that
carry content. ``search_terms`` also spells names in the ways that people type them: E-SCOT is found as e-scot,
"e scot" and escot, $(L_0, L_1)$ as (L0, L1), What’sUp as whatsup, σ-VAE as sigma-vae; Chinese and Japanese are cut
into pairs of characters. Positions in the original text are the business of ``rag.sentences``.
"""

from __future__ import annotations

import html
import logging
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rag.sentences import sentences
from rag.wordlists import STOP_WORDS

__all__ = [
    "STOP_WORDS",
    "Chunk",
    "chunks",
    "is_english",
    "is_foreign",
    "is_stop",
    "plain",
    "search_terms",
    "sentences",
    "stem",
    "stems",
    "tokens",
]

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－"), "-")
_QUOTES = {**dict.fromkeys(map(ord, "‘’‚‛′`´ʹʼ＇"), "'"), **dict.fromkeys(map(ord, "“”„‟″«»＂"), '"')}
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u200f"), None)
_TYPOGRAPHY = {**_DASHES, **_QUOTES, **_INVISIBLE}

_MATH = re.compile(
    r"(?<!\\)\$\$.+?(?<!\\)\$\$|(?<!\\)\$(?=\S)[^$]+?(?<=[^\s\\])\$(?!\d)"
    r"|(?<!\\)\$(?:\\[^$]+?|[^\w\s$]{1,4})(?<=[^\s\\])\$",
    re.S,
)
_LONE = re.compile(r"(?<!\\)[%$#&]")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}$]")
_HREF = re.compile(r"\\href\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_KEYS = re.compile(r"\\(?:begin|end|label|(?:eq|page|auto|name|[cC])?ref|cite[a-z]*)\*?(?:\[[^\]]*\])?\{[^{}]*\}")
_LATEX_ACCENT = re.compile(r"\\[`'^\"~=.](?=\{?[A-Za-z\\])")
_LONG_WORD = re.compile(r"[A-Za-z]{4,}")
_TAG = re.compile(r"</?[A-Za-z][\w:-]*(?:\s[^<>]{0,200})?/?>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\(([^()\s]*)\)")
_MARKS = re.compile(
    r"\*{2,3}|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|^#{1,6}\s+|~~", re.M
)


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """One line of plain text: no LaTeX, HTML or Markdown marks, NFKC, straight quotes, ``-`` for every dash."""
    if "\\" in text or "$" in text:
        text = _without_latex(_HREF.sub(r"\2 (\1)", text))
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub("", text)
    if "](" in text:
        text = _LINK.sub(lambda link: link[1] if link[1] == link[2] else f"{link[1]} ({link[2]})", text)
    text = unicodedata.normalize("NFKC", text.translate(_TYPOGRAPHY)).translate(_TYPOGRAPHY)
    text = _MARKS.sub("", text.replace("''", '"'))
    return " ".join(text.split())


_GROUP = re.compile(r"\\.|[{}\[\]]", re.DOTALL)
_MOST_OPEN = 8
"""Each argument that is never closed doubles pylatexenc's time: sixteen of them took 5 s, thirty would take a day."""


def _never_closed(text: str) -> int:
    """How many braces and brackets are open at the end of a text."""
    braces = options = 0
    for match in _GROUP.finditer(text):
        match match[0]:
            case "{":
                braces += 1
            case "}":
                braces = max(0, braces - 1)
            case "[":
                options += 1
            case "]":
                options = max(0, options - 1)
    return braces + options


def _without_latex(text: str) -> str:
    """Let pylatexenc read it; signs that are LaTeX only by accident (7%, $5, AT&T) are kept from it."""
    pieces: list[str] = []
    at = 0
    for match in _MATH.finditer(text):
        pieces += [_LONE.sub(r"\\\g<0>", text[at : match.start()]), match[0]]
        at = match.end()
    pieces.append(_LONE.sub(r"\\\g<0>", text[at:]))
    try:
        converted = str(_converter().latex_to_text("".join(pieces))) if _never_closed(text) <= _MOST_OPEN else ""
    # A third-party parser over anybody's text: besides its own errors it raises IndexError, KeyError and
    # RecursionError on broken input. Then the marks go and the words stay.
    except Exception:  # noqa: BLE001
        converted = ""
    # A brace that never closes can swallow the rest.
    stripped = _COMMAND.sub(" ", _LATEX_ACCENT.sub("", _KEYS.sub(" ", text)))
    kept = _ACCENTS.sub("", unicodedata.normalize("NFKD", converted))
    return converted if all(re.search(f"(?<![a-z]){word}", kept) for word in _LONG_WORD.findall(stripped)) else stripped


@lru_cache(maxsize=1)
def _converter() -> Any:  # noqa: ANN401 - pylatexenc has no types
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    known = get_default_latex_context_db()
    # Without this, the argument of a macro that has no rule (\\texttt) is lost.
    known.set_unknown_macro_spec(MacroTextSpec("", simplify_repl=_arguments))
    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # what it can't read is dealt with here
    return LatexNodes2Text(latex_context=known, math_mode="text", strict_latex_spaces=True)


def _arguments(node: Any, l2tobj: Any) -> str:  # noqa: ANN401 - pylatexenc has no types; it passes by these names
    arguments = node.nodeargd.argnlist if node.nodeargd else []
    return "".join(l2tobj.nodelist_to_text([argument]) for argument in arguments or [] if argument is not None)


_WIDE = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
_TOKEN = re.compile(rf"(?P<wide>{_WIDE}+)|\d+(?:[.,]\d+)+|(?:(?!{_WIDE})[^\W_])+")
_CHUNK = re.compile(
    rf"(?P<wide>{_WIDE}+)|(?P<number>\d++(?:[.,]\d++)*+)(?P<unit>(?:(?!{_WIDE})[^\W_])*+)(?![-'._^&+]+[^\W\d_])|(?:(?!{_WIDE})[^\W_])+(?:[-'._^&+]+(?:(?!{_WIDE})[^\W_])+)*"
)
_APOSTROPHE = re.compile(r"'s?(?!\w)|(?<=\w)'(?=\w)")  # possessives, and What'sUp or don't
_SEPARATORS = re.compile(r"[\W_]+")
_JOINERS = re.compile(r"[-'_^&+]+|\.+(?!\d)|(?<!\d)\.+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ACCENTS = re.compile(r"[\u0300-\u036f]")
_GREEK = re.compile(r"[α-ω]")


def fold(text: str) -> str:
    """Without case and without accents on Latin, Greek and Cyrillic letters."""
    text = text.casefold()
    return (
        text if text.isascii() else unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    )


def tokens(text: str) -> list[str]:
    """Words and numbers in order, folded: 2.5 stays whole, 28,000 is 28000, hyphens part, Chinese goes in pairs."""
    found: list[str] = []
    for match in _TOKEN.finditer(_prepared(text)):
        found += _pairs(match[0]) if match["wide"] else [match[0]]
    return found


def _prepared(text: str) -> str:
    return _THOUSANDS.sub("", _APOSTROPHE.sub("", fold(plain(text))))


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def is_stop(token: str) -> bool:
    """A word that carries no content of its own (folded form)."""
    return token in STOP_WORDS


@lru_cache(maxsize=200_000)
def stem(token: str) -> str:
    """English stem of a folded word (Porter's second algorithm); anything else is left as it is."""
    return str(_stemmer().stemWord(token)) if len(token) > 3 and token.isascii() and token.isalpha() else token


@lru_cache(maxsize=1)
def _stemmer() -> Any:  # noqa: ANN401 - snowballstemmer has no types
    import snowballstemmer

    return snowballstemmer.stemmer("english")


def stems(text: str) -> list[str]:
    """Stems of the tokens that are no stop words, in order: what two texts are compared by."""
    return [stem(token) for token in tokens(text) if token not in STOP_WORDS]


@dataclass(frozen=True, slots=True)
class Chunk:
    """What stands between two blanks: its parts, and other spellings of the whole (folded, not stemmed)."""

    parts: tuple[str, ...]
    joined: tuple[str, ...] = ()
    wide: bool = False

    @property
    def whole(self) -> str:
        """Its letters and digits in one."""
        return "".join(self.parts) if not self.wide else ""


def search_terms(text: str) -> list[str]:
    """Every term a text is found by, in order, stop words included; a term may come more than once.

    A name in parts gives its parts and the parts joined (e-scot: e, scot, escot); a number after a name is joined to
    it as well (VALL-E 2: vall, e, valle, 2, valle2).
    """
    return [stem(term) for chunk in chunks(text) for term in (*chunk.parts, *chunk.joined)]


def chunks(text: str) -> list[Chunk]:
    """The chunks of a text, in order."""
    found: list[Chunk] = []
    name, end = "", 0
    for match in _CHUNK.finditer(_THOUSANDS.sub("", _APOSTROPHE.sub("", plain(text)))):
        whole = fold(match[0])
        if match["wide"]:
            found.append(Chunk(tuple(_pairs(whole)), wide=True))
            name = ""
        elif match["number"]:
            joined = (name + whole,) if name and len(whole) < 4 and match.start() == end + 1 else ()
            found.append(Chunk((match["number"],), (*joined, whole) if match["unit"] else joined))
            name = ""
        else:
            found.append(_spelt(whole))
            named = match[0][0].isupper() and whole not in STOP_WORDS
            name = _SEPARATORS.sub("", whole) if named and not whole[-1].isdigit() else ""
        end = match.end()
    return found


def _spelt(whole: str) -> Chunk:
    parts = tuple(part for part in _JOINERS.split(whole) if part)
    whole = "".join(parts)
    greek = tuple(_greek_spelt(part) for part in (*parts, whole) if _GREEK.search(part))
    return Chunk(parts, tuple(dict.fromkeys(greek if len(parts) == 1 else (whole, *greek))))


def _greek_spelt(part: str) -> str:
    return _GREEK.sub(lambda match: unicodedata.name(match[0]).rsplit(" ", 1)[-1].lower(), part)


def is_english(text: str) -> bool:
    """Whether a text has the share of common English words that English has; short texts get the benefit."""
    words = tokens(text)
    return not words or len(words) < 4 or sum(map(is_stop, words)) >= 0.15 * len(words)


def is_foreign(text: str) -> bool:
    """Whether more than a third of the letters are of another script than Latin or Greek (formulas are Greek)."""
    letters = [c for c in text if c.isalpha()]
    foreign = sum(not unicodedata.name(c, "").startswith(("LATIN", "GREEK", "MATHEMATICAL")) for c in letters)
    return foreign * 3 > len(letters)
