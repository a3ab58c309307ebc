"""Papers as Semantic Scholar gives them in JSON: its API, its data sets, and the metadata of S2ORC.

Does not read S2ORC's full texts.
"""

from __future__ import annotations

from collections.abc import Iterable

from rag.corpus.fields import arxiv_of, doi_of, one_line, people, text_of, topics_of, year_of
from rag.corpus.json_outline import SUFFIXES, Row, first_row
from rag.corpus.json_rows import read_rows
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source

_OWN = {"paperId", "corpusid", "corpusId", "externalIds", "externalids"}
_OF_S2ORC = {"s2_url", "mag_id", "mag_field_of_study", "arxiv_id", "acl_id", "pmc_id", "outbound_citations"}


def fits(source: Source) -> bool:
    """Whether the first row has the ids of Semantic Scholar."""
    row = first_row(source) or {}
    return not _OWN.isdisjoint(row) or ("paper_id" in row and not _OF_S2ORC.isdisjoint(row))


def read(source: Source, _: Options) -> Iterable[Record | Skipped]:
    """The papers, in order."""
    return read_rows(source, _record)


def _record(row: Row) -> Record:
    ids = _ids(row)
    key = _external_id(row, ids)
    url = text_of(row, "s2_url", "url")
    corpus_id = ids.get("corpusid", "")
    topics = [topics_of(row.get(name)) for name in ("mag_field_of_study", "fieldsOfStudy", "s2FieldsOfStudy")]
    return Record(
        text=text_of(row, "abstract"),
        title=text_of(row, "title"),
        authors=people(row.get("authors")),
        year=year_of(row.get("year")) or year_of(row.get("publicationDate")),
        venue=text_of(row, "venue", "journal") or _inner_name(row, "publicationVenue") or _inner_name(row, "journal"),
        topics=tuple(dict.fromkeys(topic for some in topics for topic in some)),
        url=url or (f"https://api.semanticscholar.org/CorpusID:{corpus_id}" if corpus_id else ""),
        doi=doi_of(ids.get("doi")),
        external_id=key,
    )


def _ids(row: Row) -> dict[str, str]:
    """Ids by their small names, from the row and from its ``externalIds``."""
    found = {name.lower(): one_line(value) for name, value in row.items()}
    for key in ("externalIds", "externalids"):
        inner = row.get(key)
        if isinstance(inner, dict):
            found.update({name.lower(): one_line(value) for name, value in inner.items()})
    return {
        "doi": found.get("doi", ""),
        "arxiv": found.get("arxiv_id") or found.get("arxiv", ""),
        "pmid": found.get("pubmed_id") or found.get("pubmed", ""),
        "acl": found.get("acl_id") or found.get("acl", ""),
        # S2ORC's paper_id is what the API calls the corpus id.
        "corpusid": found.get("corpusid") or found.get("paper_id", ""),
    }


def _external_id(row: Row, ids: dict[str, str]) -> str:
    if arxiv := arxiv_of(ids["arxiv"]):
        return arxiv
    named = (("pmid", ids["pmid"]), ("acl", ids["acl"]), ("s2", ids["corpusid"]), ("s2", one_line(row.get("paperId"))))
    return next((f"{kind}:{value}" for kind, value in named if value), "")


def _inner_name(row: Row, key: str) -> str:
    value = row.get(key)
    return text_of(value, "name") if isinstance(value, dict) else ""


FORMAT = Format("s2", "JSON of Semantic Scholar and S2ORC", SUFFIXES, fits, read)
