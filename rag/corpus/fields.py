"""Fields of a record in one form: years, names, DOIs, external ids, text without tags. Reads no files."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d|21\d\d)(?!\d)")
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_ARXIV = re.compile(
    r"(?:arxiv[:./\s]*|abs/|pdf/)?((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7}))(?:v\d+)?", re.IGNORECASE
)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9:]{0,20}(?:\s[^<>]{0,200})?/?>")
_BREAK = re.compile(r"</?(?:p|br|div|sec|li|title|abstracttext|jats:p|jats:sec|jats:title)\b[^<>]*>", re.IGNORECASE)

_VENUES = {
    "aaai": "AAAI", "acl": "ACL", "aistats": "AISTATS", "coling": "COLING", "colm": "COLM", "colmweb": "COLM",
    "corl": "CoRL", "cvpr": "CVPR", "eccv": "ECCV", "emnlp": "EMNLP", "icassp": "ICASSP", "iccv": "ICCV",
    "iclr": "ICLR", "icml": "ICML", "icra": "ICRA", "ijcai": "IJCAI", "iros": "IROS", "kdd": "KDD", "mlsys": "MLSys",
    "naacl": "NAACL", "neurips": "NeurIPS", "nips": "NeurIPS", "sigir": "SIGIR", "uai": "UAI", "wacv": "WACV",
}  # fmt: skip
_VENUE = re.compile(rf"(?<![a-zA-Z])({'|'.join(_VENUES)})(?![a-zA-Z])", re.IGNORECASE)
_VENUE_YEAR = re.compile(r"(?<!\d)(?:19[89]|20\d)\d(?!\d)")


def one_line(value: object) -> str:
    """A value as text on one line; nothing for None and what is no text or number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())


def year_of(value: object) -> int | None:
    """The first year from 1500 to 2199 in a value: 2014, "2014//", "Published 2014-05-01"."""
    found = _YEAR.search(one_line(value))
    return int(found[1]) if found else None


def doi_of(value: object) -> str:
    """A DOI without the address before it, lower case as DOIs compare; empty when there is none."""
    found = _DOI.search(one_line(value))
    doi = found[0].rstrip(".,;]}>\"'").lower() if found else ""
    return doi if doi.count("(") == doi.count(")") else doi.rstrip(".,;)]}>\"'")  # "(doi:10.1/x)", and 10.1/x(1)


def arxiv_of(value: object) -> str:
    """``arxiv:2602.05448`` from an id, an address or a DOI of arXiv, without the version; empty when it is none."""
    text = one_line(value).removeprefix("https://doi.org/10.48550/").removeprefix("10.48550/")
    text = re.sub(r"^(?:oai:arXiv\.org:|https?://(?:www\.|export\.)?arxiv\.org/)", "", text, flags=re.IGNORECASE)
    found = _ARXIV.fullmatch(text.removesuffix(".pdf"))
    return f"arxiv:{found[1]}" if found else ""


_KINDS = re.compile(r"(?:arxiv|pmid|pmc|openreview|acl|s2|[\w-]+\.(?:cc|org|com|net)):[^\s:]\S*")


def key_of(value: object) -> str:
    """An external id from a key: with its kind if it has one already, as our own exports write it, else ``id:…``."""
    key = one_line(value)
    return key if not key or _KINDS.fullmatch(key) else f"id:{key}"


def names(values: Iterable[object]) -> tuple[str, ...]:
    """Names, each once, in order; "Marx, Karl" becomes "Karl Marx"."""
    found = (_given_first(one_line(value)) for value in values)
    return tuple(dict.fromkeys(name for name in found if name))


def _given_first(name: str) -> str:
    family, comma, given = name.partition(",")
    if not comma or not given.strip() or "," in given:  # "King, Martin Luther, Jr." stays as it is
        return name.strip(" ,;")
    return f"{given.strip()} {family.strip()}".strip(" ;")


def split_names(text: str) -> tuple[str, ...]:
    """Names of one string: between semicolons, "and", or commas when no name can have one of its own."""
    parts = [part for part in re.split(r"\s*;\s*|\s+and\s+|\s*\n\s*", text) if part.strip()]
    if (len(parts) == 1 and text.count(",") > 1) or (
        len(parts) == 1 and "," in text and all(" " in part.strip() for part in text.split(","))
    ):
        parts = text.split(",")
    elif len(parts) > 1 and ";" not in text:  # "A. B, C. D and E. F"
        parts = [one for part in parts for one in (part.split(",") if _is_list(part) else [part])]
    return names(parts)


def _is_list(part: str) -> bool:
    pieces = [piece.strip() for piece in part.split(",")]
    return len(pieces) > 1 and all(" " in piece for piece in pieces)


def terms(values: Iterable[object]) -> tuple[str, ...]:
    """Topics or keywords, each once, in order."""
    return tuple(dict.fromkeys(term for term in (one_line(value).strip(" ;,.") for value in values) if term))


def without_tags(text: str) -> str:
    """Text without HTML, JATS or XML tags and entities; formulas like ``i<j`` stay. Tags of blocks become blanks."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub(" ", text))
    return html.unescape(text) if "&" in text else text


def text_of(row: Mapping[str, object], *keys: str) -> str:
    """The first of these fields that holds text; lists of texts are joined. Line breaks stay."""
    for key in keys:
        value = row.get(key)
        value = value.get("value") if isinstance(value, dict) else value  # {"value": …} is OpenReview's
        if isinstance(value, list):
            value = " ".join(one for one in value if isinstance(one, str))
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def people(value: object) -> tuple[str, ...]:
    """Names from a string or a list, whose items may be strings or objects with a name or its parts."""
    if isinstance(value, str):
        return split_names(value)
    return names(_person(one) if isinstance(one, dict) else one for one in value) if isinstance(value, list) else ()


_PARTS = ("first", "given", "middle", "dropping-particle", "non-dropping-particle", "last", "family", "suffix")


def _person(who: Mapping[str, object]) -> str:
    for key in ("fullname", "literal", "name", "display_name"):
        if name := one_line(who.get(key)):
            return name
    return " ".join(part for part in (text_of(who, key) for key in _PARTS) if part)


def topics_of(value: object) -> tuple[str, ...]:
    """Topics from a string with semicolons or commas, or a list of strings or of objects with a name."""
    if isinstance(value, str):
        return terms(re.split(r"[;\n]" if ";" in value else r"[,\n]", value))
    if not isinstance(value, list):
        return ()
    return terms(
        text_of(one, "name", "display_name", "category", "term") if isinstance(one, dict) else one for one in value
    )


def venue_and_year(text: str) -> tuple[str, int | None]:
    """A well-known conference and a year that an address, a file's name or an id tells: ``iclr2024.json``."""
    venue, year = _VENUE.search(text), _VENUE_YEAR.search(text)
    return (_VENUES[venue[1].lower()] if venue else ""), (int(year[0]) if year else None)
