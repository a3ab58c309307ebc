"""Reads PubMed's XML (``PubmedArticleSet`` of efetch, the baseline files and "Save as XML"): articles and books.

The parts of a structured abstract are kept in order, each with its label. Does not read reference lists, abstracts in
other languages, or deletions.
"""

from __future__ import annotations

from collections.abc import Iterator

from rag.corpus import xml_stream
from rag.corpus.fields import doi_of, names, terms, year_of
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source
from rag.corpus.xml_stream import Element, first_text, root_tag, text_of, texts_of

_ARTICLE, _BOOK = "MedlineCitation", "BookDocument"
_ROOTS = frozenset({"PubmedArticleSet", "PubmedBookArticleSet", "PubmedArticle", "PubmedBookArticle"})
_PATHS = {
    # What is looked for, first in articles, then in books; only paths that can't lead into the list of references.
    "pmid": (f"{_ARTICLE}/PMID", f"{_BOOK}/PMID"),
    "title": (
        f"{_ARTICLE}/Article/ArticleTitle", f"{_ARTICLE}/Article/VernacularTitle", f"{_BOOK}/ArticleTitle",
        f"{_BOOK}/Book/BookTitle",
    ),
    "abstract": (f"{_ARTICLE}/Article/Abstract/AbstractText", f"{_BOOK}/Abstract/AbstractText"),
    "authors": (
        f"{_ARTICLE}/Article/AuthorList/Author", f"{_BOOK}/AuthorList/Author", f"{_BOOK}/Book/AuthorList/Author",
    ),
    "year": (
        f"{_ARTICLE}/Article/Journal/JournalIssue/PubDate/Year",
        f"{_ARTICLE}/Article/Journal/JournalIssue/PubDate/MedlineDate",
        f"{_ARTICLE}/Article/ArticleDate/Year", f"{_BOOK}/Book/PubDate/Year", f"{_BOOK}/Book/PubDate/MedlineDate",
        f"{_BOOK}/ContributionDate/Year",
    ),
    "venue": (
        f"{_ARTICLE}/Article/Journal/Title", f"{_ARTICLE}/MedlineJournalInfo/MedlineTA", f"{_BOOK}/Book/BookTitle",
    ),
    "topics": (
        f"{_ARTICLE}/MeshHeadingList/MeshHeading/DescriptorName", f"{_ARTICLE}/KeywordList/Keyword",
        f"{_BOOK}/KeywordList/Keyword",
    ),
    "doi": (
        f"{_ARTICLE}/Article/ELocationID[@EIdType='doi']", "PubmedData/ArticleIdList/ArticleId[@IdType='doi']",
        f"{_BOOK}/ArticleIdList/ArticleId[@IdType='doi']",
    ),
}  # fmt: skip


def read(source: Source, _: Options) -> Iterator[Record | Skipped]:
    """The articles and books of a set. Raises ReadError when it is no XML."""
    return xml_stream.records_of(source, ("PubmedArticle", "PubmedBookArticle"), _record)


def _record(paper: Element) -> Record:
    pmid = first_text(paper, *_PATHS["pmid"])
    return Record(
        text=" ".join(filter(None, map(_labelled, _found(paper, "abstract")))),
        title=first_text(paper, *_PATHS["title"]),
        authors=names(map(_name, _found(paper, "authors"))),
        year=year_of(first_text(paper, *_PATHS["year"])),
        venue=first_text(paper, *_PATHS["venue"]),
        topics=terms(text for path in _PATHS["topics"] for text in texts_of(paper, path)),
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid else "",
        doi=doi_of(first_text(paper, *_PATHS["doi"])),
        external_id=f"pmid:{pmid}" if pmid else "",
    )


def _found(paper: Element, what: str) -> list[Element]:
    return next((found for path in _PATHS[what] if (found := paper.findall(path))), [])


def _labelled(part: Element) -> str:
    """A part of an abstract, its label before it, unless the text has it already."""
    text, label = text_of(part), " ".join(part.get("Label", "").split())
    unlabelled = not label or label == "UNLABELLED" or text.casefold().startswith(f"{label.casefold()}:")
    return text if unlabelled or not text else f"{label}: {text}"


def _name(author: Element) -> str:
    given = first_text(author, "ForeName", "Initials")
    return f"{given} {first_text(author, 'LastName')}".strip() or first_text(author, "CollectiveName")


def _fits(source: Source) -> bool:
    return root_tag(source) in _ROOTS


FORMAT = Format("pubmed-xml", "XML of PubMed", (".xml",), _fits, read)
