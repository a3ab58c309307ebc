"""Papers -> BibTeX, RIS, CSL-JSON, Markdown, JSON Lines. What is written is read again by ``rag.corpus`` as the same.

Markdown holds titles and abstracts only. A line break inside an abstract becomes a blank where the format has none, and
a brace that closes nothing is left out of BibTeX, which has no way to write one. Knows nothing of libraries.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rag.domain import Paper
from rag.errors import LibraryError

_LOCAL = "id:"
_BLANKS = re.compile(r"\s+")


def exported(papers: Sequence[Paper], to: str) -> str:
    """The text of papers in a format of ``EXPORTERS``."""
    return EXPORTERS[to](papers)


def write(text: str, path: Path) -> None:
    """Write a file whole or not at all. Raises LibraryError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            draft.write_text(text, encoding="utf-8")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise LibraryError(f"{path} can't be written ({error.strerror}): choose another file") from error


def _jsonl(papers: Iterable[Paper]) -> str:
    return "".join(json.dumps(_row(paper), ensure_ascii=False) + "\n" for paper in papers)


def _row(paper: Paper) -> dict[str, object]:
    row = {
        "id": paper.external_id.removeprefix(_LOCAL), "title": paper.title, "abstract": paper.text,
        "authors": list(paper.authors), "year": paper.year, "venue": paper.venue, "topics": list(paper.topics),
        "url": paper.url, "doi": paper.doi,
    }  # fmt: skip
    return {key: value for key, value in row.items() if value or key == "abstract"}


def _csl(papers: Iterable[Paper]) -> str:
    return json.dumps([_csl_item(paper) for paper in papers], ensure_ascii=False, indent=1) + "\n"


def _csl_item(paper: Paper) -> dict[str, object]:
    item = {
        "id": paper.external_id.removeprefix(_LOCAL) or paper.id, "type": "article", "title": paper.title,
        "author": [{"literal": name} for name in paper.authors],
        "issued": {"date-parts": [[paper.year]]} if paper.year else None, "container-title": paper.venue,
        "abstract": _escaped(paper.text), "keyword": "; ".join(paper.topics), "URL": paper.url, "DOI": paper.doi,
    }  # fmt: skip
    return {key: value for key, value in item.items() if value or key == "container-title"}


def _escaped(text: str) -> str:
    """CSL-JSON may hold tags, so what looks like one must not be one."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _ris(papers: Iterable[Paper]) -> str:
    return "\n".join(_ris_record(paper) for paper in papers)


def _ris_record(paper: Paper) -> str:
    fields = [
        ("TY", "CPAPER" if paper.venue else "GEN"), ("ID", paper.external_id.removeprefix(_LOCAL)), ("TI", paper.title),
        *(("AU", name) for name in paper.authors), ("PY", str(paper.year or "")), ("T2", paper.venue),
        *(("KW", topic) for topic in paper.topics), ("AB", paper.text), ("UR", paper.url), ("DO", paper.doi),
    ]  # fmt: skip
    lines = [f"{tag}  - {_one_line(value)}" for tag, value in fields if value]
    return "\n".join([*lines, "ER  - ", ""])


def _bibtex(papers: Iterable[Paper]) -> str:
    used: set[str] = set()
    return "\n".join(_entry(paper, used) for paper in papers)


def _entry(paper: Paper, used: set[str]) -> str:
    local = paper.external_id.removeprefix(_LOCAL)
    key = re.sub(r"[^\w:./+-]", "-", local) or _key(paper)
    while key in used:
        key += "-"
    used.add(key)
    fields = {
        "title": paper.title, "author": " and ".join(map(_braced, paper.authors)), "year": str(paper.year or ""),
        "booktitle": paper.venue, "keywords": "; ".join(paper.topics), "url": paper.url, "doi": paper.doi,
        "abstract": paper.text,
    }  # fmt: skip
    lines = [f"  {name} = {{{_balanced(_one_line(value))}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{'inproceedings' if paper.venue else 'misc'}{{{key},", *lines, "}", ""])


def _key(paper: Paper) -> str:
    family = re.sub(r"\W", "", paper.authors[0].split()[-1]) if paper.authors else "paper"
    return f"{family.lower()}{paper.year or ''}{paper.id[:6]}"


def _braced(name: str) -> str:
    return f"{{{name}}}" if "," in name or " and " in name else name


def _balanced(text: str) -> str:
    """With every brace closed: one that isn't would swallow the entries after it."""
    depth, kept = 0, []
    for piece in re.findall(r"\\.|.", text, re.DOTALL):
        if piece == "}" and not depth:
            continue
        depth += (piece == "{") - (piece == "}")
        kept.append(piece)
    if kept and kept[-1] == "\\":
        kept.pop()  # a lone backslash would escape the brace that ends the field
    return "".join(kept) + "}" * depth


def _markdown(papers: Iterable[Paper]) -> str:
    return "\n".join(f"## {_one_line(paper.title or paper.label)}\n\n{_one_line(paper.text)}\n" for paper in papers)


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


EXPORTERS: dict[str, Callable[[Sequence[Paper]], str]] = {
    "bibtex": _bibtex,
    "csl": _csl,
    "jsonl": _jsonl,
    "markdown": _markdown,
    "ris": _ris,
}
