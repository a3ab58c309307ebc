"""Abstracts as people write them, LaTeX and Markdown mixed, cut into runs that can be shown. Makes no HTML.

Each run knows which characters of the source it stands for, so that a span of the source can be highlighted in what
is shown. What is recognised: formulas, emphasis, typographic quotes, accents, escapes, links (as plain words: nothing
becomes clickable). Everything else, HTML included, stays the text that it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ui.formula import is_price, is_typesettable, symbol, words_only


class Kind(StrEnum):
    """What a run is shown as: words, a formula in the line, a formula on a line of its own."""

    TEXT = "text"
    MATH = "math"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Run:
    """``source[start:end]`` is shown as ``text`` (words, or TeX without its delimiters) in the given styles.

    Styles are ``strong``, ``em``, ``code``, ``u``, the outermost first.
    """

    start: int
    end: int
    text: str
    kind: Kind = Kind.TEXT
    styles: tuple[str, ...] = ()

    @property
    def divisible(self) -> bool:
        """Whether each character shown is one character of the source, so that the run can be cut anywhere."""
        return self.kind is Kind.TEXT and len(self.text) == self.end - self.start


_MATH_RULES = (
    ("dollars", r"(?<!\\)\$\$(?P<dollars_in>(?:\\.|[^$\\]){1,2000}?)\$\$"),
    ("bracket", r"\\\[(?P<bracket_in>.{1,2000}?)\\\]"),
    ("paren", r"\\\((?P<paren_in>.{1,2000}?)\\\)"),
    ("equation", r"\\begin\{(?P<environment>(?:equation|align|gather|multline)\*?)\}(?P<equation_in>.{1,2000}?)"
                 r"\\end\{(?P=environment)\}"),
    # A sign between numbers: 4100$\pm$250.
    ("sign", r"(?<![\\$])\$(?P<sign_in>\\[A-Za-z](?:\\.|[^$\\]){0,1000}?|[^\w\s$\\]{1,4})(?<!\s)\$(?!\$)"),
    # As in Pandoc: no space inside the dollars, no digit after the second. A price has one or the other.
    ("dollar", r"(?<![\\$])\$(?![\s$])(?P<dollar_in>(?:\\.|[^$\\]){1,1000}?)(?<!\s)\$(?![\d$])"),
)  # fmt: skip
_TEXT_RULES = (
    ("href", r"\\href\s*\{(?P<href_url>[^{}]{0,1000})\}\s*\{"),
    ("url", r"\\url\s*\{(?P<url_in>[^{}]{0,1000})\}"),
    ("command", r"\\(?P<command_name>emph|text(?:it|sl|bf|tt|sc|rm|sf|normal|up|md)|underline|mbox)\s*\{"),
    ("group", r"\{\\(?P<group_name>em|it|sl|bf|tt|sc|rm|sf|itshape|bfseries|ttfamily)\s+"),
    ("accent", r"\\(?P<accent_sign>['`^\"~=.]|[uvHcdbkr](?=\{))\{?(?P<accent_letter>\\?[A-Za-z])\}?"),
    ("escape", r"\\(?P<escape_in>[%&#_${}])"),
    ("blank", r"\\[,;:! ]|\\\\|(?<=\S)~(?=\\)"),
    ("symbol", r"\\(?P<symbol_name>[A-Za-z]+)(?:\{\})?"),
    ("image", r"!?\[(?P<image_in>[^\[\]\n]{0,400})\]\((?P<image_url>[^()\s]{0,1000})(?:\s+\"[^\"\n]{0,200}\")?\)"),
    ("strongest", r"\*\*\*(?=\S)(?P<strongest_in>[^*]{1,1000}?)(?<=\S)\*\*\*"),
    ("strong", r"\*\*(?=\S)(?P<strong_in>.{1,1000}?)(?<=\S)\*\*"),
    ("em", r"(?<![\w*])\*(?=[^\s*])(?P<em_in>[^*\n]{1,1000}?)(?<=[^\s*])\*(?![\w*])"),
    ("quotes", r"``(?P<quotes_in>[^`]{1,1000}?)''"),
    ("code", r"`(?P<code_in>[^`'\n]{1,200})`"),
    ("quote", r"`(?P<quote_in>[^`'\n]{1,400})'(?!\w)"),
    ("opening", r"``"),
    ("closing", r"''"),
    ("dash", r"(?<=[\w)])---?(?=[\w(])|(?<=\s)---(?=\s)"),
)
_FULL = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in (*_MATH_RULES, *_TEXT_RULES)), re.DOTALL)
_MATH = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _MATH_RULES), re.DOTALL)

_DISPLAYED = {"dollars", "bracket", "equation"}
_STYLE_OF = {
    "emph": "em", "textit": "em", "textsl": "em", "textbf": "strong", "texttt": "code", "underline": "u",
    "em": "em", "it": "em", "sl": "em", "itshape": "em", "bf": "strong", "bfseries": "strong", "tt": "code",
    "ttfamily": "code", "strong": "strong",
}  # fmt: skip
_COMBINING = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "d": "\u0323", "b": "\u0331", "k": "\u0328",
    "r": "\u030a",
}  # fmt: skip
MARKED_LENGTH = 20_000
"""Characters beyond which a text is shown as written: no abstract is that long, and reading marks costs time."""


def runs(text: str, *, rich: bool = True) -> list[Run]:
    """The runs of a text, in order and without gaps. ``rich`` False recognises formulas only (what a user typed)."""
    if len(text) > MARKED_LENGTH:
        return [Run(0, len(text), text)]
    return list(_Scanner(text, _FULL if rich else _MATH).scan(0, len(text), ()))


Handler = Callable[["_Scanner", "re.Match[str]", tuple[str, ...]], "Iterator[Run] | None"]


class _Scanner:
    """Walks a text once; a handler may walk a part of it again with more styles, and says where it ended."""

    def __init__(self, text: str, rules: re.Pattern[str]) -> None:
        self.text = text
        self.rules = rules
        self.limit = len(text)
        """Where the part being walked ends."""
        self.resume = 0
        """Where a handler that consumed more than its match wants the walk to go on."""

    def scan(self, start: int, end: int, styles: tuple[str, ...]) -> Iterator[Run]:
        at, looked = start, start
        while match := self.rules.search(self.text, looked, end):
            found = None
            if len(styles) < 8:  # deeper nesting is nobody's prose
                self.limit, self.resume = end, match.end()
                found = _HANDLERS[match.lastgroup or ""](self, match, styles)
            if found is None:
                looked = match.start() + 1
                continue
            if match.start() > at:
                yield Run(at, match.start(), self.text[at : match.start()], styles=styles)
            at = looked = self.resume
            yield from found
        if end > at:
            yield Run(at, end, self.text[at:end], styles=styles)

    def closing(self, start: int) -> int:
        """The position of the brace that closes a group whose content starts at ``start``; -1 when none does."""
        depth = 1
        for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(self.text, start, min(self.limit, start + 2000)):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if depth == 0:
                return match.start()
        return -1


def _math(scanner: _Scanner, match: re.Match[str], styles: tuple[str, ...]) -> Iterator[Run] | None:
    name = match.lastgroup or ""
    content = match[f"{name}_in"]
    if "\n\n" in content or (name == "dollar" and is_price(content)):
        return None
    if words := words_only(content):
        style = _STYLE_OF.get(words[0])
        return iter([Run(match.start(), match.end(), words[1], styles=(*styles, style) if style else styles)])
    if not is_typesettable(content):
        return iter([Run(match.start(), match.end(), match[0], styles=(*styles, "code"))])
    kind = Kind.DISPLAY if name in _DISPLAYED else Kind.MATH
    tex = match[0] if name == "equation" and "align" in match["environment"] else content
    return iter([Run(match.start(), match.end(), tex.replace(r"\emph", r"\textit").strip(), kind, styles)])


def _braced(scanner: _Scanner, match: re.Match[str], styles: tuple[str, ...]) -> Iterator[Run] | None:
    """A command with its argument, or a group that a command opens: the words inside, in the command's style."""
    name = match["command_name"] or match["group_name"] or "href"
    start, stop = match.end(), scanner.closing(match.end())
    if stop < 0:
        return None
    style = _STYLE_OF.get(name)
    inner = list(scanner.scan(start, stop, (*styles, style) if style else styles))
    if name == "href" and (url := match["href_url"].strip()):
        inner.append(Run(stop, stop + 1, f" ({url})", styles=styles))
    scanner.resume = stop + 1
    return iter(inner)


def _inner(scanner: _Scanner, match: re.Match[str], styles: tuple[str, ...]) -> Iterator[Run]:
    """Markdown emphasis and quotes: walk what is inside."""
    name = match.lastgroup or ""
    added, before, after = _INNER[name]
    start, stop = match.span(f"{name}_in")
    inner = list(scanner.scan(start, stop, (*styles, *added)))
    scanner.resume = match.end()
    opening = [Run(match.start(), start, before, styles=styles)] if before else []
    closing = [Run(stop, match.end(), after, styles=styles)] if after else []
    return iter([*opening, *inner, *closing])


_INNER: dict[str, tuple[tuple[str, ...], str, str]] = {
    "strongest": (("strong", "em"), "", ""),
    "strong": (("strong",), "", ""),
    "em": (("em",), "", ""),
    "quotes": ((), "“", "”"),
    "quote": ((), "‘", "’"),
}


def _code(scanner: _Scanner, match: re.Match[str], styles: tuple[str, ...]) -> Iterator[Run]:
    return iter([Run(match.start(), match.end(), match["code_in"], styles=(*styles, "code"))])


def _image(scanner: _Scanner, match: re.Match[str], styles: tuple[str, ...]) -> Iterator[Run]:
    """A link or an image: its words and its address, as plain text."""
    words, url = match["image_in"].strip(), match["image_url"]
    shown = f"{words} ({url})" if words and url and words != url else words or url
    return iter([Run(match.start(), match.end(), shown, styles=styles)])


def _replaced(shown: Callable[[re.Match[str]], str | None]) -> Handler:
    """A handler that shows something else in place of its match; None leaves it as it is."""

    def handler(scanner: _Scanner, match: re.Match[str], styles: tuple[str, ...]) -> Iterator[Run] | None:
        text = shown(match)
        return None if text is None else iter([Run(match.start(), match.end(), text, styles=styles)])

    return handler


def _accented(match: re.Match[str]) -> str:
    letter = match["accent_letter"].lstrip("\\")
    return unicodedata.normalize("NFC", letter + _COMBINING[match["accent_sign"]])


_HANDLERS: dict[str, Handler] = {
    **{name: _math for name, _ in _MATH_RULES},
    **dict.fromkeys(("href", "command", "group"), _braced),
    **dict.fromkeys(_INNER, _inner),
    "url": _replaced(lambda m: m["url_in"]),
    "accent": _replaced(_accented),
    "escape": _replaced(lambda m: m["escape_in"]),
    "blank": _replaced(lambda m: " "),
    "symbol": _replaced(lambda m: symbol(m["symbol_name"])),
    "image": _image,
    "code": _code,
    "opening": _replaced(lambda m: "“"),
    "closing": _replaced(lambda m: "”"),
    "dash": _replaced(lambda m: "—" if len(m[0]) == 3 else "–"),
}
