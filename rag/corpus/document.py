"""A text or Markdown file that is one paper: with front matter, a title above its text, or "Title: … Abstract: …".

Of several sections the abstract is taken. Front matter is read as far as papers need it (``key: value``, lists), not
as YAML. Files of several abstracts are the business of ``abstracts``; what is not clearly one paper is left to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rag.corpus.abstracts import LIST_ITEM, RULER, count_words, is_heading, joined
from rag.corpus.fields import arxiv_of, doi_of, people, terms, text_of, topics_of, year_of
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import HEAD, Source

_SUFFIXES = (".txt", ".md", ".text", ".markdown")
_NAMES = {
    "title": "title|题目|标题|題目|タイトル",
    "authors": "authors?|作者|著者",
    "abstract": "abstract|summary|摘要|概要|要旨",
    "topics": "key ?words?|index terms|tags|topics|categories|关键词|關鍵詞|キーワード",
    "year": "year|date|published",
    "venue": "venue|journal|conference|booktitle|published in",
    "doi": "doi",
    "url": "url|link|pdf",
    "id": "id|arxiv(?: id)?|eprint",
    "rest": "(?:introduction|background|related works?|methods?|experiments?|results|discussion|conclusions?"
    "|references|bibliography|notes|acknowledge?ments?|引言|结论|参考文献)",
}
_FIELDS = {name: re.compile(f"(?:{pattern})", re.IGNORECASE) for name, pattern in _NAMES.items()}
_LABEL = re.compile(
    r"\W{0,4}?([\w ]{1,16}?)(?:\s?[:：—]\s?[*_]{0,2}|\.[*_]{1,2}|[*_]{1,2}\s?[:：.—])\s*(.*)"
)  # Title: …, **Title:** …, **Title.** …, Abstract— …
_HEADING = re.compile(r"(#{1,6})\s+(.+?)[\s#]*")
_NUMBERED = re.compile(r"\W{0,3}(?:(?:[\d.]+|[IVX]+\.?)\s+)?(.*?)[\s.:：*_]*")
_ENTRY = re.compile(r"([A-Za-z_][\w -]{0,30}):(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(?:name:\s*)?(.+)")
_LISTED = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,]+)""")
_STRUCTURED = re.compile(
    r"\W{0,3}(?:background|objectives?|purpose|aims?|context|importance|methods?|materials and methods|"
    r"design|setting|results?|findings|conclusions?|discussion|significance|interpretation)\W{0,3}[:.—-]",
    re.IGNORECASE,
)
_BARE = 7  # level of a heading that is only a line by itself: below all others
_LONG, _VERY_LONG, _MOST = 60, 80, 700  # words: of a text, of an abstract beyond doubt, of one paper's file


@dataclass
class _Paper:
    fields: dict[str, object] = field(default_factory=dict)
    headings: list[str] = field(default_factory=list)  # at the first level
    others: list[str] = field(default_factory=list)  # at lower levels, with no usual name
    parts: dict[str, list[list[str]]] = field(default_factory=dict)  # section -> its blocks of lines
    labels: list[str] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)
    level: int = _BARE  # of the abstract's heading

    def texts(self, part: str) -> list[str]:
        return [joined(block) for block in self.parts.get(part, []) if block]


def fits(source: Source) -> bool:
    """Whether the file is clearly one paper."""
    if source.suffix not in _SUFFIXES:
        return False
    paper = _parsed(source.start)
    if {"title", "authors", "abstract"} & paper.fields.keys():
        return True
    once = [*paper.labels, *paper.sections].count("abstract") == 1
    if paper.labels.count("title") == 1 or paper.labels.count("authors") == 1:
        return once and paper.labels.count("title") < 2
    if len(paper.headings) != 1 or not source.start.startswith("#"):
        return False
    texts = [text for text in paper.texts("") if not LIST_ITEM.match(text)]
    return once or (not paper.others and (len(texts) == 1 or sum(count_words(text) >= _LONG for text in texts) == 1))


def looks_single(source: Source) -> bool:
    """Whether a file by itself may be one paper: short, with one long paragraph or the parts of an abstract."""
    if len(source.head) >= HEAD:
        return False
    paragraphs = [text for text in re.split(r"\n\s*\n", "\n".join(source.start.splitlines())) if text.strip()]
    long = [text for text in paragraphs if count_words(text) >= _VERY_LONG]
    if not paragraphs or sum(map(count_words, paragraphs)) > _MOST:
        return False
    return len(long) <= 1 or all(_STRUCTURED.match(text) for text in long)


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The paper. Raises ReadError when the bytes are no text."""
    paper = _parsed(source.text().removeprefix("\ufeff").lstrip())
    texts = paper.texts("")
    abstract = paper.texts("abstract")
    title = text_of(paper.fields, "title") or " ".join(paper.texts("title") or paper.headings[:1])
    if not title and len(texts + abstract) > 1 and texts and is_heading(texts[0]):
        title, texts = texts[0], texts[1:]
    authors = people(paper.fields.get("authors")) or people("; ".join(paper.texts("authors")))
    if not authors and len(texts + abstract) > 1 and texts and _are_names(texts[0]):
        authors, texts = people(texts[0]), texts[1:]
    told = {
        name: paper.fields.get(name) or " ".join(paper.texts(name)) for name in ("year", "venue", "doi", "url", "id")
    }
    yield Record(
        text=text_of(paper.fields, "abstract") or "\n\n".join(abstract or texts or paper.texts("rest")),
        title=title.strip("*_ "),
        authors=authors,
        year=year_of(told["year"]) or year_of(told["venue"]),
        venue=text_of(told, "venue"),
        topics=terms(topics_of(paper.fields.get("topics")) or topics_of("\n".join(paper.texts("topics")))),
        url=text_of(told, "url"),
        doi=doi_of(told["doi"]),
        external_id=arxiv_of(told["id"]) or arxiv_of(told["url"]),
    )


def _are_names(text: str) -> bool:
    pieces = re.split(r"\s*[,;]\s*|\s+and\s+", text)
    return all(1 < len(piece.split()) < 6 and all(word[0].isupper() for word in piece.split()) for piece in pieces)


def _field_of(name: str) -> str:
    return next((key for key, pattern in _FIELDS.items() if pattern.fullmatch(name.strip())), "")


def _parsed(text: str) -> _Paper:
    lines = text.splitlines()
    paper = _Paper()
    end = _end_of_front_matter(lines)
    if end:
        paper.fields = {_field_of(key): value for key, value in _front_matter(lines[1:end]) if _field_of(key)}
    part = ""
    for raw in lines[end + 1 if end else 0 :]:
        line = "" if RULER.fullmatch(raw) else raw.strip()
        opened = _opens(paper, line, part) if line else None
        if opened is not None:
            part, line = opened
        blocks = paper.parts.setdefault(part, [])
        if not line or opened is not None or not blocks:
            blocks.append([])
        if line:
            blocks[-1].append(line)
        elif part not in ("", "abstract", "rest") and paper.parts[part][0]:
            part = ""  # a blank line ends a label's value
    return paper


def _opens(paper: _Paper, line: str, part: str) -> tuple[str, str] | None:
    """The part that a line begins, with the text that it has already; None for a line of text."""
    heading = _HEADING.fullmatch(line) if len(line) < 300 else None
    level = len(heading[1]) if heading else _BARE
    name = _NUMBERED.fullmatch(heading[2] if heading else line) if len(line) < 60 else None
    section = _field_of(name[1]) if name else ""
    inner = level > paper.level or level == paper.level == _BARE
    if name and part == "abstract" and inner and _STRUCTURED.match(f"{name[1]}:"):  # "Methods" below "Abstract"
        return part, f"{name[1]}:"
    if section:
        paper.sections.append(section)
        paper.level = level if section == "abstract" else paper.level
        return section, ""
    if heading:
        (paper.headings if level == 1 else paper.others).append(heading[2])
        return "rest" if paper.sections else "", ""
    label = _LABEL.fullmatch(line)
    known = _field_of(label[1]) if label else ""
    if label and known not in ("", "rest"):
        paper.labels.append(known)
        return known, label[2]
    return None


def _end_of_front_matter(lines: list[str]) -> int:
    """The line that ends it; 0 when there is none."""
    if not lines or lines[0].rstrip() != "---" or len(lines) < 3 or not _ENTRY.match(lines[1]):
        return 0
    return next((number for number, line in enumerate(lines[:200]) if number and line.rstrip() in ("---", "...")), 0)


def _front_matter(lines: list[str]) -> Iterator[tuple[str, object]]:
    """Keys with a text or a list."""
    key, items, texts = "", list[str](), list[str]()
    for line in [*lines, "end:"]:
        entry, item = _ENTRY.fullmatch(line), _ITEM.fullmatch(line)
        if entry:
            if key:
                yield key, items or " ".join(texts)
            value = (entry[2] or "").strip()
            key, texts = entry[1], [] if value in ("", "|", ">", "|-", ">-") else [value.strip("\"'")]
            items = (
                [one.strip(" \"'") for one in _LISTED.findall(value[1:-1])] if value[:1] + value[-1:] == "[]" else []
            )
        elif item:
            items.append(item[1].strip(" \"'"))
        elif line.strip():
            texts.append(line.strip())


FORMAT = Format("paper", "a text or Markdown file that is one paper", _SUFFIXES, fits, read)
