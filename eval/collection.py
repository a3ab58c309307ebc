"""``python -m eval retrieval FOLDER``: search measured on a test collection in BEIR's layout.

A folder holds ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv`` or ``qrels/test.tsv``; files of another split are
named with ``--queries`` and ``--qrels``. Measures are ir-measures' (nDCG@10, R@10, R@100, RR@10), each with a bootstrap
interval; a query for which nothing is found counts as 0. Beside the program's own search stand its two sides alone and
their plain reciprocal rank fusion (Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and
individual rank learning methods", SIGIR 2009), from the same index. Tunes nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from eval import files
from rag.errors import ReadError

if TYPE_CHECKING:
    from models.protocols import Embedder
    from rag.output import Output, Step
    from rag.store import Store
    from rag.vectors import VectorIndex

MEASURES = ("nDCG@10", "R@10", "R@100", "RR@10")
DEPTH = 100
"""Papers ranked for a query."""
_PASSAGES = 160
"""Passages searched for them: some papers have several."""
_RESAMPLES, _SEED = 2000, 20261130
_RRF = 60
"""The constant of reciprocal rank fusion, as its authors set it."""

Ranking = dict[str, list[tuple[str, float]]]
"""For each query id, (document id, score), best first."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Queries by id, and for each the documents that were judged and how relevant they are."""

    corpus: Path
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Measured:
    """A system's measures on a collection: the means, their 95% intervals, and each query's own values."""

    means: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    by_query: dict[str, dict[str, float]]


def read(folder: Path, queries: Path | None = None, qrels: Path | None = None) -> Collection:
    """The collection in a folder. Raises ReadError, which names the file and what is wrong."""
    corpus = folder / "corpus.jsonl"
    if not corpus.is_file():
        raise ReadError(f"{folder} has no corpus.jsonl: name a folder in BEIR's layout")
    judged = _qrels(qrels or _first(folder, "qrels.tsv", "qrels/test.tsv"))
    texts = {str(row["_id"]): str(row["text"]) for _, row in files.rows(queries or _first(folder, "queries.jsonl"))
             if "_id" in row and "text" in row}  # fmt: skip
    asked = {query: texts[query] for query in judged if query in texts}
    if not asked:
        raise ReadError(f"{folder}: no query has judged documents: name the split's --queries and --qrels")
    return Collection(corpus, asked, {query: judged[query] for query in asked})


def _first(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ReadError(f"{folder} has no {' or '.join(names)}: name the split's --queries and --qrels")


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    """Query id, document id, grade, with or without a heading; or TREC's four columns."""
    judged: dict[str, dict[str, int]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for number, row in enumerate(csv.reader(file, delimiter="\t"), start=1):
                columns = [row[0], *row[2:]] if len(row) == 4 else row
                if len(columns) < 3 or (number == 1 and not _is_grade(columns[2])):
                    continue
                judged.setdefault(columns[0], {})[columns[1]] = int(float(columns[2]))
    except (OSError, ValueError) as error:
        raise ReadError(f"{path} can't be read as judgements ({error}); a line is: query, document, grade") from error
    return judged


def _is_grade(text: str) -> bool:
    return text.strip().lstrip("-").replace(".", "", 1).isdecimal()


class Index:
    """A library made of a collection's documents, and what each of its papers is called there."""

    def __init__(self, store: Store, vectors: VectorIndex, embedder: Embedder) -> None:
        self.store, self.vectors, self.embedder = store, vectors, embedder
        self._documents: dict[str, list[str]] = {}
        for paper_id, external_id in store.database.all(
            "SELECT papers.id, origins.external_id FROM origins JOIN papers ON papers.num = paper "
            "ORDER BY origins.rowid"
        ):
            self._documents.setdefault(str(paper_id), []).append(str(external_id).removeprefix("id:"))

    def documents(self, passages: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
        """Passages ranked -> documents ranked, each at its best passage; equal texts come together."""
        best: dict[str, float] = {}
        for passage_id, score in passages:
            for document in self._documents.get(passage_id.partition(":")[0], ()):
                best.setdefault(document, score)
        return list(best.items())[:DEPTH]


def fused(query: str, index: Index) -> list[tuple[str, float]]:
    """The program's own search."""
    from rag.retrieve import retrieve

    hits = retrieve(query, index.store, index.vectors, index.embedder, _PASSAGES)
    return index.documents([(hit.passage.id, hit.score) for hit in hits])


def dense(query: str, index: Index) -> list[tuple[str, float]]:
    """Vectors alone."""
    from rag.retrieve import probes

    best: dict[str, float] = {}
    for vector in probes(query, index.embedder):
        for passage, score in index.vectors.nearest(vector, _PASSAGES):
            best[passage] = max(score, best.get(passage, -1.0))
    return index.documents(sorted(best.items(), key=lambda pair: -pair[1]))


def lexical(query: str, index: Index) -> list[tuple[str, float]]:
    """Full text alone."""
    from rag.query import understand

    terms = understand(query, index.store.lexicon, max(1, index.store.count())).terms
    return index.documents(index.store.lexicon.full_text(terms, _PASSAGES))


def reciprocal(query: str, index: Index) -> list[tuple[str, float]]:
    """Both sides by reciprocal rank fusion."""
    scores: dict[str, float] = {}
    for side in (dense, lexical):
        for rank, (document, _) in enumerate(side(query, index), start=1):
            scores[document] = scores.get(document, 0.0) + 1.0 / (_RRF + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])[:DEPTH]


SYSTEMS: dict[str, Callable[[str, Index], list[tuple[str, float]]]] = {
    "citebound": fused,
    "dense": dense,
    "lexical": lexical,
    "rrf": reciprocal,
}


def rank(collection: Collection, index: Index, system: str, tell: Step) -> Ranking:
    """Rank the documents for every query by one of ``SYSTEMS``."""
    found: Ranking = {}
    for number, (query, text) in enumerate(collection.queries.items()):
        tell(system, number, len(collection.queries))
        found[query] = SYSTEMS[system](text, index)
    return found


def measure(collection: Collection, ranking: Ranking) -> Measured:
    """The measures of a ranking."""
    import ir_measures

    parsed = [ir_measures.parse_measure(name) for name in MEASURES]
    qrels = [ir_measures.Qrel(q, d, grade) for q, judged in collection.qrels.items() for d, grade in judged.items()]
    run = [ir_measures.ScoredDoc(q, d, -float(r)) for q, ranked in ranking.items() for r, (d, _) in enumerate(ranked)]
    by_query = {query: dict.fromkeys(MEASURES, 0.0) for query in collection.queries}
    for one in ir_measures.iter_calc(parsed, qrels, run):
        by_query[one.query_id][str(one.measure)] = float(one.value)
    values = {name: [row[name] for row in by_query.values()] for name in MEASURES}
    means = {name: sum(some) / len(some) for name, some in values.items()}
    return Measured(means, {name: interval(some) for name, some in values.items()}, by_query)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95% interval of a mean by the percentile bootstrap (Efron, 1979): 2,000 resamples, always the same ones."""
    import numpy as np

    sample = np.asarray(values, float)
    picks = np.random.default_rng(_SEED).integers(0, len(sample), (_RESAMPLES, len(sample)))
    low, high = np.quantile(sample[picks].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def trec(ranking: Ranking, tag: str) -> str:
    """A ranking in TREC's run format: query, Q0, document, rank, score, tag."""
    return "".join(
        f"{query} Q0 {document} {position} {score:.6f} {tag}\n"
        for query, ranked in ranking.items()
        for position, (document, score) in enumerate(ranked, start=1)
    )


def measured(
    collection: Collection, systems: Sequence[str], output: Output, keep: Path | None = None
) -> tuple[dict[str, Measured], dict[str, Ranking]]:
    """Build the collection's library, or take the one kept in a folder, and measure systems on it."""
    from rag.library import Library
    from rag.loading import LocalModels
    from rag.settings import load_settings
    from rag.store import Store
    from rag.vectors import VectorIndex

    settings = load_settings()
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(TemporaryDirectory()))
        with Library.open(folder, settings=settings, create=True) as library, output.progress("adding papers") as step:
            library.add(collection.corpus, format="beir", progress=step)
        store = Store(folder)
        stack.callback(store.close)
        vectors = VectorIndex(store)
        stack.callback(vectors.close)
        index = Index(store, vectors, LocalModels(settings).embedder(store.embedder))
        tell = stack.enter_context(output.progress("searching"))
        rankings = {name: rank(collection, index, name, tell) for name in systems}
    return {name: measure(collection, ranking) for name, ranking in rankings.items()}, rankings


def figures(found: Mapping[str, Measured]) -> dict[str, object]:
    """Plain data: the program's own measures and intervals first, then those of every system."""
    own = found["citebound"]
    return {
        "metrics": {name: round(value, 4) for name, value in own.means.items()},
        "intervals": {name: [round(edge, 4) for edge in edges] for name, edges in own.intervals.items()},
        "queries": len(own.by_query),
        "systems": {system: {n: round(v, 4) for n, v in one.means.items()} for system, one in found.items()},
    }
