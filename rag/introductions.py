"""How authors introduce what is theirs, as patterns over plain text. ``rag.own_name`` applies them."""

from __future__ import annotations

import re

OWN = re.compile(
    r"\b(?:we|our|ours|i|us|authors?|here|(?:this|the|present|current)(?: [a-z]+)?"
    r" (?:paper|work|article|study|report|letter|thesis|research|project))\b",
    re.IGNORECASE,
)
"""The authors or their paper."""

OTHERS = re.compile(
    r"\bet al\b|\b(?:prior|previous|earlier|existing) (?:work|stud|paper|method|approach)", re.IGNORECASE
)
"""Somebody else's work."""

VERB = re.compile(
    r"\b(?:propos(?:e|es|ing)|present(?:s|ing)?|introduc(?:e|es|ing)|develop(?:s|ing)?|design(?:s|ing)?"
    r"|describ(?:e|es|ing)|devis(?:e|es|ing)|releas(?:e|es|ing)|creat(?:e|es|ing)|build(?:s|ing)?|construct(?:s|ing)?"
    r"|contribut(?:e|es|ing)|unveil(?:s|ing)?|offer(?:s|ing)?|provid(?:e|es|ing)|establish(?:es|ing)?|suggest(?:s|ing)?"
    r"|formulat(?:e|es|ing)|study|studies|explore"
    r"|(?:we|have|paper|work)(?: \w+ly| first| then| also)?"
    r" (?:proposed|presented|introduced|developed|designed|created|built))\s+(?=\S)"
)
PASSIVE = re.compile(
    r"\b(?:is|are|was|were)(?: \w+ly| then| first| also)? (?:proposed|introduced|presented|developed)\b"
)

LEAD = re.compile(
    r"(?:(?:an?|the|our|its|one|two|three|several|new|novel|simple|efficient|effective|general|unified|first|principled"
    r"|scalable|lightweight|robust|flexible|powerful|fast|practical|both|also|so-called|[a-z]+ly|and|yet|but)[\s,]+"
    r"|[\"'(])*"
)
"""Articles and praise before the thing itself."""

CLASS = (
    r"(?:frameworks?|methods?|models?|algorithms?|approach(?:es)?|benchmarks?|data ?sets?|systems?|architectures?"
    r"|networks?|techniques?|strateg(?:y|ies)|paradigms?|pipelines?|tools?|toolkits?|librar(?:y|ies)|packages?"
    r"|platforms?|suites?|corpus|procedures?|schemes?|modules?|layers?|loss(?:es)?|objectives?|metrics?|estimators?"
    r"|optimizers?|agents?|environments?|simulators?|solvers?|engines?|famil(?:y|ies)|class(?:es)?|variants?"
    r"|mechanisms?|recipes?|protocols?|testbeds?)"
)
"""What kind of thing it is."""

WORD = r"[^\W_][\w'+./-]*(?<=[\w+*])\*?"
_NUMBER = r"(?: \d+(?:\.\d+)?(?![\w%.-]))?"
_STOPS = (
    r"(?=\s*(?:[,;:().\"]|$)|\s-"
    r"|\s(?:-|an?|the|our|that|which|whose|to|for|by|with|in|on|as|where|and|using|via|from|based|is|at)\b"
    rf"|\s{CLASS}\b)"
)
_FIRM = r"(?=\"?\s*(?:[,:(]|-\s)|\s(?:an?|the|our|which|that|whose)\b)"
_CAPITALS = r"[A-Z][\w'/-]*(?: (?:(?:in|of|for|and|to|with|the|on|by|as|via|from) )?(?:[A-Z][\w'/-]*|\d[\w-]*))+"

SINGLE = re.compile(rf"(?P<name>{WORD}{_NUMBER}){_STOPS}")
"""One word, and then the phrase ends: it is no modifier of what follows."""
SINGLE_CALLED = re.compile(rf"(?P<name>{WORD}{_NUMBER})(?![\w-])")
SEVERAL = re.compile(rf"(?P<name>{_CAPITALS}){_FIRM}")
SEVERAL_CALLED = re.compile(rf"(?P<name>{_CAPITALS})(?!\w)")
LONE = re.compile(rf"(?P<name>[A-Z][a-z]{{2,}}){_FIRM}")
EXPANDED = re.compile(r"(?P<long>[^().;:]{3,120}?)\s*\(\s*(?P<short>[^()]{2,60}?)\s*\)(?P<next>\s+[a-z][\w-]*)?")
"""Long Name (LN)."""

_CALLED_WORDS = (
    r"\b(?:called|named|termed|dubbed|coined|titled|namely|denoted(?: as| by)?|abbreviated(?: as)?"
    r"|(?:refer(?:red)?(?: to)?(?: it)? as)|we (?:call|name|term|dub|coin)(?: (?:it|this|them|the \w+))?|i\.e\.,?)"
    r"\s+(?:the\s+|as\s+)?\"?(?=[\w])"
)
CALLED = re.compile(_CALLED_WORDS)
CALLED_OURS = re.compile(
    r"\b(?:[Oo]ur|[Tt]he (?:resulting|proposed|extended|new|final|whole)|[Tt]his|new) [^.;()]{0,60}?[,(]?\s*"
    rf"{_CALLED_WORDS}|\b(?:[Oo]ur|[Tt]he) proposed (?:{CLASS}[,:]? )?(?=[^\s]*[A-Z])"
)
TERMED = re.compile(r"\b(?:which|that) we (?:call|name|term|dub|coin|refer to as)\s+(?:the\s+)?\"?(?=[\w])")
NO_METHOD = re.compile(
    r"\b(?:phenomen\w+|problem|setting|task|effect|behaviou?r|issue|challenge|regime|propert\w+|bias|failure|gap)\W*$"
)
"""Before "which we call": what is called so is not a method."""

_PLACE_WORDS = r"(?:for|of|to|on|with|in|by|from|that|across|over|under|using|between|within|via|based)"
APPOSED = re.compile(rf"(?:(?!{_PLACE_WORDS}\b)[\w/+'-]+\s){{0,8}}?{CLASS}\s*[,(:]?\s*\"?(?=[^\s]*[A-Z])")
"""A framework X, a framework, X."""
BETWEEN_COMMAS = re.compile(rf"[^,()]{{5,100}}, (?P<name>{WORD}), (?:which|that|an?|to|for|where|with|the|our)\b")

REPOSITORY = re.compile(
    r"(?:git(?:hub|lab|ee)\.com|bitbucket\.org|huggingface\.co(?:/datasets)?|(?<!\w)\w{1,40}\.github\.io|4open\.science)"
    r"/(?:[\w.-]+/)?(?P<name>[\w.-]+)"
)
CHINESE = re.compile(
    r"(?:提出|介绍|引入|设计|构建|开发|发布|构造|推出)[了出]?[^。；]{0,30}?(?P<name>[A-Za-z][\w+./-]*[\w+])"
)
RESULTS = re.compile(
    r"\b(?:experiment|result|outperform|achiev|demonstrat|evaluat|improv|empirical|benchmark|state-of-the-art"
    r"|show that)",
    re.IGNORECASE,
)
"""Sentences about results, where the paper's own name comes up again."""
