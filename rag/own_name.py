"""The name that a paper gives to what it contributes: E-SCOT, MEG-XL, Initial Energy Injection; or none.

Reads the sentences in which authors introduce something ("we propose X", "we introduce a framework called X", "an X is
presented") and takes the name that stands right there, so that the data sets and models a paper uses are not taken for
its own. Of several, the one that the results speak of wins. Works on English, and on Latin names in Chinese text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rag import introductions as use
from rag.sentences import sentences
from rag.spelling import ACRONYM, is_name_like
from rag.text import fold, plain
from rag.wordlists import COMMON_ACRONYMS


@lru_cache(maxsize=4096)
def own_name(text: str) -> str:
    """The name in plain form, as the paper spells it; empty when it names nothing of its own."""
    flat = plain(text)
    spans = [flat[span.start : span.end] for span in sentences(flat)]
    found: dict[str, float] = {}
    for sentence in spans:
        for name in _introduced(sentence, flat):
            found.setdefault(name, -0.5 * len(found))  # the first counts more than the next
    for name in _in_addresses(text, flat):
        known = next((one for one in found if _key(one) == _key(name)), name)
        found[known] = found.get(known, 0.0) + 2.0
    results = " ".join(sentence for sentence in spans if use.RESULTS.search(sentence))
    for name in found:
        found[name] += (2.0 if _mentions(results, name) else 0.0) + 0.25 * min(4, _mentions(flat, name))
    return max(found, key=lambda name: found[name], default="")


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", fold(name))


def _mentions(text: str, name: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _introduced(sentence: str, flat: str) -> Iterator[str]:
    """Names that one sentence introduces as the authors' own."""
    for match in use.VERB.finditer(sentence):
        before = sentence[: match.start()]
        own = use.OWN.search(before) or use.OWN.match(match[0]) or re.search(r"\b[Bb]y\s+$|^\W*$", before)
        if own and not use.OTHERS.search(before[-80:]):
            name = _object(sentence[match.end() :], flat)
            if name:
                yield name
    for match in use.CALLED_OURS.finditer(sentence):
        name = _at_start(sentence[match.end() :], flat, called=True)
        if name and _mentions(flat, name) > 1:
            yield name
    yield from _presented(sentence, flat)
    for match in use.TERMED.finditer(sentence):
        name = (
            ""
            if use.NO_METHOD.search(sentence[: match.start()])
            else _at_start(sentence[match.end() :], flat, called=True)
        )
        if name:
            yield name
    for match in use.CHINESE.finditer(sentence):
        if is_name_like(match["name"]) and fold(match["name"]) not in COMMON_ACRONYMS:
            yield match["name"]


def _presented(sentence: str, flat: str) -> Iterator[str]:
    """The name in "an X, which …, is introduced"."""
    passive = use.PASSIVE.search(sentence)
    if not passive or use.OTHERS.search(sentence):
        return
    for part in sentence[: passive.start()].split(", "):
        subject = _after_lead(part.strip())
        name = _at_start(subject, flat, called=True)
        if name and (subject.rstrip() == name or subject.startswith(f"{name} (") or f"({name}" in subject):
            yield name
            return


def _after_lead(text: str) -> str:
    lead = use.LEAD.match(text)
    return text[lead.end() :] if lead else text


def _object(rest: str, flat: str) -> str:
    """The name in what follows an introducing verb, if there is one."""
    thing = _after_lead(rest)
    name = _at_start(thing, flat, indefinite=bool(re.match(r"an?\s", rest)))
    if name:
        return name
    called = use.CALLED.search(thing[:250])
    if called:
        name = _at_start(thing[called.end() :], flat, called=True)
        if name:
            return name
    apposed = use.APPOSED.match(thing)
    if apposed:
        name = _strong(use.SINGLE.match(thing, apposed.end()), flat) or _expanded(thing[apposed.end() :], flat)
        if name:
            return name
    between = use.BETWEEN_COMMAS.match(thing)
    return between["name"] if between and _is_own(between["name"], flat, thing[between.end("name") :]) else ""


def _at_start(thing: str, flat: str, indefinite: bool = False, called: bool = False) -> str:
    """The name that a noun phrase begins with: X, / Long Name (LN) / Long Name, a method.

    ``indefinite``: it began with "a". ``called``: what comes must be a name ("called …"), so it may end anywhere.
    """
    single = _strong(use.SINGLE.match(thing), flat, called)
    if single:
        return single
    name = _expanded(thing, flat, indefinite)
    if name:
        return name
    several = (use.SEVERAL_CALLED if called else use.SEVERAL).match(thing)
    if several and not _is_common(several["name"]):
        short = re.match(r"\s*\(([^()]+)\)", thing[several.end() :])
        return "" if short and _is_common(short[1].strip()) else several["name"]
    if called:
        return _strong(use.SINGLE_CALLED.match(thing), flat, called)
    lone = use.LONE.match(thing)
    return lone["name"] if lone and re.match(r",? (?:an?|which|the|our)\b|,? \(", thing[lone.end() :]) else ""


def _strong(match: re.Match[str] | None, flat: str, called: bool = False) -> str:
    if match is None:
        return ""
    name = match["name"].rstrip(".").removesuffix("'s")
    return name if _is_own(name, flat, match.string[match.end() :], called) else ""


def _is_own(name: str, flat: str, after: str, called: bool = False) -> bool:
    """Spelt as a name, of no common field, and not spoken of before it is introduced here."""
    spelt = is_name_like(name.split(" ", maxsplit=1)[0]) or (" " in name and name[0].isupper())
    if not spelt or _is_common(name):
        return False
    if called or re.match(r"\"?\s*[,:(-]|\s(?:an?|which)\b", after):
        return True
    if re.match(rf"\s{use.CLASS}\b", after) and (ACRONYM.match(name) or _mentions(flat, name) < 2):
        return False
    if ACRONYM.match(name) and (name[-1] == "s" or _mentions(flat, name) < 2):
        return False
    first = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", flat)
    return first is not None and flat.find(name + after[:30]) == first.start()


def _is_common(name: str) -> bool:
    return all(fold(word) in COMMON_ACRONYMS or word.isdigit() for word in re.split(r"[\s-]+", name))


def _expanded(thing: str, flat: str, indefinite: bool = False) -> str:
    """LN of "Long Name (LN)": its letters must come in the long form, from that one's first word on."""
    match = use.EXPANDED.match(thing)
    if not match:
        return ""
    short = re.split(r"[,;:]| for short|\bor\b", match["short"])[0].strip(" \"'*")
    long = match["long"].strip()
    if (
        len(short.split()) > 3
        or not short
        or _is_common(short)
        or len(short) >= len(long)
        or not any(map(str.isupper, short))
    ):
        return ""
    # "a Graph Neural Network (GNN) model" is a kind of thing, "the Test-Time Control (TTC) layer" is this one.
    goes_on = match["next"] and not re.match(
        r"\s+(?:that|which|for|to|by|with|in|on|as|and|where|from|using|based)\b", match["next"]
    )
    if indefinite and goes_on and _mentions(flat, short) < 2:
        return ""
    letters = _key(short.rstrip("s") if ACRONYM.match(short) else short)
    words = long.split()
    for start, word in enumerate(words):
        before = words[:start]
        if before and not re.fullmatch(use.CLASS + ",?", before[-1]):
            continue
        if _key(word)[:1] == letters[:1] and _is_subsequence(letters, _key("".join(words[start:]))):
            return short
    return ""


def _is_subsequence(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


def _in_addresses(text: str, flat: str) -> Iterator[str]:
    """Names whose repository is given: github.com/someone/NAME, when the text also speaks of NAME."""
    for match in use.REPOSITORY.finditer(text):
        repository = _key(re.sub(r"\.git$", "", match["name"]))
        body = flat.replace(match[0], " ")
        for word in re.findall(use.WORD, body):
            key = _key(word)
            whole = key == repository or (len(key) > 4 and repository.startswith(key))
            if whole and len(key) > 1 and is_name_like(word) and key not in COMMON_ACRONYMS:
                yield word
                break
