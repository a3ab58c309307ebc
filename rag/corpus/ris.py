"""Reads RIS, as Zotero, EndNote, Scopus, Embase, Ovid, ProQuest, PubMed, Rayyan and Web of Science write it.

What a tag means is rispy's knowledge; its parser is not used, as it reads a file as a whole and stops at, or takes
apart, what exports really hold: a missing ER, a value over several lines, lines between records. Attachments, notes and
tags without a meaning are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rispy.config import LIST_TYPE_TAGS, TAG_KEY_MAPPING

from rag.corpus import tagged
from rag.corpus.fields import arxiv_of, doi_of, key_of, names, terms, without_tags, year_of
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source
from rag.corpus.tagged import Tagged

_STRICT = re.compile(r"\ufeff?\s{0,3}([A-Z][A-Z0-9])(?:  |\t)-(.*)", re.DOTALL)
_LOOSE = re.compile(r"\ufeff?([A-Z][A-Z0-9]) ?-(?:\s(.*))?", re.DOTALL)
_PUBMED = re.compile(r"pubmed|medline", re.IGNORECASE)
_KEYS: dict[str, tuple[str, ...]] = {
    # Fields of a record by rispy's names for them, the better ones first.
    "abstract": ("abstract", "notes_abstract"),
    "title": ("title", "primary_title", "short_title"),
    "authors": ("authors", "first_authors"),
    "year": ("year", "publication_year", "date"),
    "venue": ("alternate_title3", "secondary_title", "journal_name", "alternate_title2", "alternate_title1"),
    "topics": ("keywords",),
    "url": ("urls",),
    "doi": ("doi",),
    "id": ("accession_number", "id"),
    "database": ("name_of_database", "database_provider"),
}
_TAG_OF = {key: tag for tag, key in TAG_KEY_MAPPING.items()}
_TAGS = {what: tuple(_TAG_OF[key] for key in keys) for what, keys in _KEYS.items()}


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The records of a file, in order. Raises ReadError when the bytes are no text."""
    return map(_record, tagged.split(source.lines(), source.name, _LAYOUT))


def _tag_of(line: str) -> tuple[str, str] | None:
    """Tag and value. With fewer blanks than RIS asks for, only a known tag is one: text may hold "B1 - a vitamin"."""
    if found := _STRICT.fullmatch(line):
        return found[1], found[2]
    found = _LOOSE.fullmatch(line)
    return (found[1], found[2] or "") if found and found[1] in TAG_KEY_MAPPING else None


_LAYOUT = tagged.Layout(_tag_of, lambda tag, _record, _blank: tag == "TY", ("ER",))


def _record(record: Tagged) -> Record:
    doi = doi_of(record.first(*_TAGS["doi"])) or _doi_of_address(record)
    url = _url(record)
    return Record(
        text=record.text(*_TAGS["abstract"]),
        title=without_tags(record.first(*_TAGS["title"])),
        authors=names(_listed(record, "authors")),
        year=next((year for year in map(year_of, record.values(*_TAGS["year"])) if year), None),
        venue=without_tags(record.first(*_TAGS["venue"])),
        topics=terms(word.strip(" *") for value in _listed(record, "topics") for word in value.split(";")),
        url=url,
        doi=doi,
        external_id=arxiv_of(doi) or arxiv_of(url) or _id(record),
    )


def _listed(record: Tagged, what: str) -> list[str]:
    """Values of tags that rispy knows as lists: each line is one, also when it has no tag of its own (Rayyan)."""
    tags = _TAGS[what]
    return [value for tag in tags for value in (record.lines if tag in LIST_TYPE_TAGS else record.values)(tag)]


def _urls(record: Tagged) -> list[str]:
    parts = (part for value in record.lines(*_TAGS["url"]) for part in re.split(r";\s*(?=https?:)|\s+", value))
    return [part for part in parts if part.startswith(("http://", "https://"))]


def _url(record: Tagged) -> str:
    return next(iter(_urls(record)), "")


def _doi_of_address(record: Tagged) -> str:
    return next((doi for url in _urls(record) if "doi.org/" in url and (doi := doi_of(url))), "")


def _id(record: Tagged) -> str:
    """An accession number means a PubMed one only where the record says that it comes from there."""
    key = record.first(*_TAGS["id"])
    if key.isdecimal() and any(map(_PUBMED.search, record.values(*_TAGS["database"]))):
        return f"pmid:{key}"
    return key_of(key)


FORMAT = Format("ris", "RIS (Zotero, EndNote, Scopus, Embase …)", (".ris",), tagged.fits("ris", ".ris"), read)
