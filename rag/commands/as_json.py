"""Answers, hits, papers as plain values for ``--json``. A change of a name here breaks other people's programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rag.domain import Answer, Citation, Hit, Paper, Sentence

Json = dict[str, Any]


def answer_json(answer: Answer) -> Json:
    """All of an answer. ``text`` is plain, ``marked`` has [n] after each sentence that has evidence."""
    return {
        "question": answer.question,
        "asked": answer.asked,
        "abstained": answer.abstained,
        "confidence": round(answer.confidence, 4),
        "text": answer.text,
        "marked": answer.marked,
        "listed": answer.listed,
        "sentences": [sentence_json(sentence) for sentence in answer.sentences],
        "citations": [citation_json(citation) for citation in answer.citations],
        "nearest": [hit_json(hit) for hit in answer.nearest],
        "dropped": [sentence_json(sentence) for sentence in answer.dropped],
        "model": answer.model,
        "seconds": {name: round(value, 3) for name, value in asdict(answer.timings).items()},
    }


def sentence_json(sentence: Sentence) -> Json:
    """A sentence, the numbers of its citations, the verdict on it."""
    return {
        "text": sentence.text,
        "citations": list(sentence.citations),
        "support": str(sentence.support),
        "reason": sentence.reason,
    }


def citation_json(citation: Citation) -> Json:
    """``quote`` is the paper's text from character ``start`` to ``end``."""
    return {
        "number": citation.number,
        "paper": paper_json(citation.paper),
        "start": citation.span.start,
        "end": citation.span.end,
        "quote": citation.quote,
    }


def hit_json(hit: Hit) -> Json:
    """A found passage, its place in the paper's text, its scores."""
    return {
        "paper": paper_json(hit.paper),
        "start": hit.passage.span.start,
        "end": hit.passage.span.end,
        "passage": hit.passage.text,
        "score": round(hit.score, 4),
        "similarity": round(hit.similarity, 4),
        "overlap": round(hit.overlap, 4),
    }


def paper_json(paper: Paper) -> Json:
    """What is known of a paper, and where it was read (``position`` counts the file's abstracts from 0)."""
    return {
        "id": paper.id,
        "label": paper.label,
        "title": paper.title,
        "authors": list(paper.authors),
        "year": paper.year,
        "venue": paper.venue,
        "topics": list(paper.topics),
        "url": paper.url,
        "doi": paper.doi,
        "external_id": paper.external_id,
        "source": paper.source,
        "position": paper.position,
    }
