"""The name that a paper gives to what it contributes: E-SCOT, MEG-XL, Initial Energy Injection; none where it gives none.

Reads the sentences in which authors introduce something ("we propose X", "we introduce a framework called X", "an X is
presented") and takes the name that stands right there, so that the data sets and models a paper uses are not taken for
its own. Of several, the one that the results speak of wins. Works on English, and on Latin names in Chinese text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rag.sentences import sentences
from rag.spelling import ACRONYM, COMMON, is_name_like
from rag.text import fold, plain

_OWN = re.compile(
    r"\b(?:we|our|ours|i|us|authors?|here|(?:this|the|present|current)(?: [a-z]+)?"
    r" (?:paper|work|article|study|report|letter|thesis|research|project))\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\bet al\b|\b(?:prior|previous|earlier|existing) (?:work|stud|paper|method|approach)", re.IGNORECASE
)
_VERB = re.compile(
    r"\b(?:propos(?:e|es|ing)|present(?:s|ing)?|introduc(?:e|es|ing)|develop(?:s|ing)?|design(?:s|ing)?|describ(?:e|es|ing)"
    r"|devis(?:e|es|ing)|releas(?:e|es|ing)|creat(?:e|es|ing)|build(?:s|ing)?|construct(?:s|ing)?|contribut(?:e|es|ing)"
    r"|unveil(?:s|ing)?|offer(?:s|ing)?|provid(?:e|es|ing)|establish(?:es|ing)?|suggest(?:s|ing)?|formulat(?:e|es|ing)|study|studies|explore"
    r"|(?:we|have|paper|work)(?: \w+ly| first| then| also)? (?:proposed|presented|introduced|developed|designed|created|built))\s+(?=\S)"
)
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were)(?: \w+ly| then| first| also)? (?:proposed|introduced|presented|developed)\b"
)
_LEAD = re.compile(
    r"(?:(?:an?|the|our|its|one|two|three|several|new|novel|simple|efficient|effective|general|unified|first|principled|scalable"
    r"|lightweight|robust|flexible|powerful|fast|practical|both|also|so-called|[a-z]+ly|and|yet|but)[\s,]+|[\"'(])*"
)
_CLASS = (
    r"(?:frameworks?|methods?|models?|algorithms?|approach(?:es)?|benchmarks?|data ?sets?|systems?|architectures?|networks?"
    r"|techniques?|strateg(?:y|ies)|paradigms?|pipelines?|tools?|toolkits?|librar(?:y|ies)|packages?|platforms?|suites?|corpus"
    r"|procedures?|schemes?|modules?|layers?|loss(?:es)?|objectives?|metrics?|estimators?|optimizers?|agents?|environments?"
    r"|simulators?|solvers?|engines?|famil(?:y|ies)|class(?:es)?|variants?|mechanisms?|recipes?|protocols?|testbeds?)"
)
_WORD = r"[^\W_][\w'+./-]*(?<=[\w+*])\*?"
_NUMBER = r"(?: \d+(?:\.\d+)?(?![\w%.-]))?"
_STOPS = (
    r"(?=\s*(?:[,;:().\"]|$)|\s(?:-|an?|the|our|that|which|whose|to|for|by|with|in|on|as|where|and|using|via|from|based|is|at)\b|\s-|\s"
    + _CLASS
    + r"\b)"
)
_FIRM = r"(?=\"?\s*(?:[,:(]|-\s)|\s(?:an?|the|our|which|that|whose)\b)"
_SINGLE = re.compile(rf"(?P<name>{_WORD}{_NUMBER}){_STOPS}")
_CAPITAL = r"(?:[A-Z][\w'/-]*|\d[\w-]*)"
_SEVERAL = re.compile(
    rf"(?P<name>[A-Z][\w'/-]*(?: (?:(?:in|of|for|and|to|with|the|on|by|as|via|from) )?{_CAPITAL})+){_FIRM}"
)
_SEVERAL_CALLED = re.compile(_SEVERAL.pattern.removesuffix(_FIRM) + r"(?!\w)")
_LONE = re.compile(rf"(?P<name>[A-Z][a-z]{{2,}}){_FIRM}")
_EXPANDED = re.compile(r"(?P<long>[^().;:]{3,120}?)\s*\(\s*(?P<short>[^()]{2,60}?)\s*\)(?P<next>\s+[a-z][\w-]*)?")
_CALLED = re.compile(
    r"\b(?:called|named|termed|dubbed|coined|titled|namely|denoted(?: as| by)?|abbreviated(?: as)?|(?:refer(?:red)?(?: to)?(?: it)? as)"
    r"|we (?:call|name|term|dub|coin)(?: (?:it|this|them|the \w+))?|i\.e\.,?)\s+(?:the\s+|as\s+)?\"?(?=[\w])"
)
_PLACE_WORDS = r"(?:for|of|to|on|with|in|by|from|that|across|over|under|using|between|within|via|based)"
_APPOSED = re.compile(rf"(?:(?!{_PLACE_WORDS}\b)[\w/+'-]+\s){{0,8}}?{_CLASS}\s*[,(:]?\s*\"?(?=[^\s]*[A-Z])")
_CALLED_OURS = re.compile(
    rf"\b(?:[Oo]ur|[Tt]he (?:resulting|proposed|extended|new|final|whole)|[Tt]his|new) [^.;()]{{0,60}}?[,(]?\s*{_CALLED.pattern}"
    rf"|\b(?:[Oo]ur|[Tt]he) proposed (?:{_CLASS}[,:]? )?(?=[^\s]*[A-Z])"
)
_TERMED = re.compile(r"\b(?:which|that) we (?:call|name|term|dub|coin|refer to as)\s+(?:the\s+)?\"?(?=[\w])")
_NO_METHOD = re.compile(
    r"\b(?:phenomen\w+|problem|setting|task|effect|behaviou?r|issue|challenge|regime|propert\w+|bias|failure|gap)\W*$"
)
_BETWEEN_COMMAS = re.compile(rf"[^,()]{{5,100}}, (?P<name>{_WORD}), (?:which|that|an?|to|for|where|with|the|our)\b")
_REPOSITORY = re.compile(
    r"(?:git(?:hub|lab|ee)\.com|bitbucket\.org|huggingface\.co(?:/datasets)?|\w+\.github\.io|4open\.science)/(?:[\w.-]+/)?(?P<name>[\w.-]+)"
)
_CHINESE = re.compile(
    r"(?:提出|介绍|引入|设计|构建|开发|发布|构造|推出)[了出]?[^。；]{0,30}?(?P<name>[A-Za-z][\w+./-]*[\w+])"
)
_RESULTS = re.compile(
    r"\b(?:experiment|result|outperform|achiev|demonstrat|evaluat|improv|empirical|benchmark|state-of-the-art|show that)",
    re.IGNORECASE,
)


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
    results = " ".join(sentence for sentence in spans if _RESULTS.search(sentence))
    for name in found:
        found[name] += (2.0 if _mentions(results, name) else 0.0) + 0.25 * min(4, _mentions(flat, name))
    return max(found, key=lambda name: found[name], default="")


def _key(name: str) -> str:
    return re.sub(r"[\W_]+", "", fold(name))


def _mentions(text: str, name: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _introduced(sentence: str, flat: str) -> Iterator[str]:
    """Names that one sentence introduces as the authors' own."""
    for match in _VERB.finditer(sentence):
        before = sentence[: match.start()]
        own = _OWN.search(before) or _OWN.match(match[0]) or re.search(r"\bby\s+$|^\W*$", before)
        if own and not _OTHERS.search(before[-80:]):
            name = _object(sentence[match.end() :], flat)
            if name:
                yield name
    for match in _CALLED_OURS.finditer(sentence):
        name = _at_start(sentence[match.end() :], flat, called=True)
        if name and _mentions(flat, name) > 1:
            yield name
    yield from _presented(sentence, flat)
    for match in _TERMED.finditer(sentence):
        name = (
            ""
            if _NO_METHOD.search(sentence[: match.start()])
            else _at_start(sentence[match.end() :], flat, called=True)
        )
        if name:
            yield name
    for match in _CHINESE.finditer(sentence):
        if is_name_like(match["name"]) and fold(match["name"]) not in COMMON:
            yield match["name"]


def _presented(sentence: str, flat: str) -> Iterator[str]:
    """The name in "an X, which …, is introduced"."""
    passive = _PASSIVE.search(sentence)
    if not passive or _OTHERS.search(sentence):
        return
    for part in sentence[: passive.start()].split(", "):
        subject = _after_lead(part.strip())
        name = _at_start(subject, flat, called=True)
        if name and (subject.rstrip() == name or subject.startswith(f"{name} (") or f"({name}" in subject):
            yield name
            return


def _after_lead(text: str) -> str:
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead else text


def _object(rest: str, flat: str) -> str:
    """The name in what follows an introducing verb, if there is one."""
    thing = _after_lead(rest)
    name = _at_start(thing, flat, indefinite=bool(re.match(r"an?\s", rest)))
    if name:
        return name
    called = _CALLED.search(thing[:250])
    if called:
        name = _at_start(thing[called.end() :], flat, called=True)
        if name:
            return name
    apposed = _APPOSED.match(thing)
    if apposed:
        name = _strong(_SINGLE.match(thing, apposed.end()), flat) or _expanded(thing[apposed.end() :], flat)
        if name:
            return name
    between = _BETWEEN_COMMAS.match(thing)
    return between["name"] if between and _is_own(between["name"], flat, thing[between.end("name") :]) else ""


def _at_start(thing: str, flat: str, indefinite: bool = False, called: bool = False) -> str:
    """The name that a noun phrase begins with: X, / Long Name (LN) / Long Name, a method.

    ``indefinite``: it began with "a". ``called``: what comes must be a name ("called …"), so it may end anywhere.
    """
    single = _strong(_SINGLE.match(thing), flat, called)
    if single:
        return single
    name = _expanded(thing, flat, indefinite)
    if name:
        return name
    several = (_SEVERAL_CALLED if called else _SEVERAL).match(thing)
    if several and not _is_common(several["name"]):
        return several["name"]
    lone = _LONE.match(thing)
    return lone["name"] if lone and re.match(r",? (?:an?|which|the|our)\b|,? \(", thing[lone.end() :]) else ""


def _strong(match: re.Match[str] | None, flat: str, called: bool = False) -> str:
    if match is None:
        return ""
    name = match["name"].rstrip(".").removesuffix("'s")
    return name if _is_own(name, flat, match.string[match.end() :], called) else ""


def _is_own(name: str, flat: str, after: str, called: bool = False) -> bool:
    """Spelt as a name, of no common field, and not spoken of before it is introduced here."""
    spelt = is_name_like(name.split(" ")[0]) or (" " in name and name[0].isupper())
    if not spelt or _is_common(name):
        return False
    if called or re.match(r"\"?\s*[,:(-]|\s(?:an?|which)\b", after):
        return True
    if re.match(rf"\s{_CLASS}\b", after) and (ACRONYM.match(name) or _mentions(flat, name) < 2):
        return False
    if ACRONYM.match(name) and (name[-1] == "s" or _mentions(flat, name) < 2):
        return False
    first = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", flat)
    return first is not None and flat.find(name + after[:30]) == first.start()


def _is_common(name: str) -> bool:
    return all(fold(word) in COMMON or word.isdigit() for word in re.split(r"[\s-]+", name))


def _expanded(thing: str, flat: str, indefinite: bool = False) -> str:
    """LN of "Long Name (LN)": its letters must come in the long form, from that one's first word on."""
    match = _EXPANDED.match(thing)
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
        if before and not re.fullmatch(_CLASS + ",?", before[-1]):
            continue
        if _key(word)[:1] == letters[:1] and _is_subsequence(letters, _key("".join(words[start:]))):
            return short
    return ""


def _is_subsequence(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


def _in_addresses(text: str, flat: str) -> Iterator[str]:
    """Names whose repository is given: github.com/someone/NAME, when the text also speaks of NAME."""
    for match in _REPOSITORY.finditer(text):
        repository = _key(re.sub(r"\.git$", "", match["name"]))
        body = flat.replace(match[0], " ")
        for word in re.findall(_WORD, body):
            key = _key(word)
            whole = key == repository or (len(key) > 4 and repository.startswith(key))
            if whole and len(key) > 1 and is_name_like(word) and key not in COMMON:
                yield word
                break
