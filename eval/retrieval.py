"""``python -m eval retrieval``: does search find the paper that a question asks about? Measures no answer.

Over the exam's answerable questions of one turn with one gold paper; ranks are of papers, each at its best passage.
Given a folder in BEIR's layout, over that test collection (see ``collection``). Of the exam the
figures are ir-measures' ``P@1`` (the gold paper comes first), ``R@3`` (it is among the first three) and ``RR``
(reciprocal rank, 0 when it isn't among the passages searched).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eval import collection
from eval.datasets import Question, default_exam, read_questions
from eval.exam import library_argument, opened
from eval.report import table
from rag import export
from rag.errors import CiteboundError

if TYPE_CHECKING:
    from rag.domain import Paper
    from rag.library import Library
    from rag.output import Output

HELP = "measure how often search finds the gold paper of an exam's questions"
MEASURES = ("P@1", "R@3", "RR")
DEPTH = 12
"""Passages searched for a question."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("questions", nargs="?", type=Path, default=default_exam(), metavar="PATH",
                        help="an exam's QUESTIONS.jsonl (default: the sample library's), or a folder in BEIR's layout "
                        "(corpus.jsonl, queries.jsonl, qrels.tsv)")  # fmt: skip
    library_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    parser.add_argument("--queries", type=Path, metavar="FILE", help="of a folder: another split's queries")
    parser.add_argument("--qrels", type=Path, metavar="FILE", help="of a folder: another split's judgements")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="of a folder: make its library here, or use it again")
    parser.add_argument("--trec", type=Path, metavar="FILE", help="of a folder: write the ranking in TREC's run format")
    parser.add_argument("--own", action="store_true", help="of a folder: leave out the systems to compare with")
    parser.add_argument("--wrong", action="store_true", help="also list the questions whose paper doesn't come first")


def run(args: argparse.Namespace, output: Output) -> int:
    """Run the command; its exit code."""
    if args.questions.is_dir():
        return _run_collection(args, output)
    questions = single_paper(read_questions(args.questions))
    if not questions:
        raise CiteboundError(f"{args.questions} has no question of one turn with one gold paper; name another exam")
    with opened(args.library, output) as library:
        found = measure(questions, library)
        missed = [q for q in questions if found.by_question[q.id]["P@1"] < 1]
    if args.json:
        output.data(found.figures())
    else:
        rows = [[name, f"{value:.3f}", str(len(questions))] for name, value in found.means.items()]
        output.text(table(["measure", "mean", "n"], rows))
    if args.wrong:
        output.note("\n".join(f"- {q.id} {q.asked}" for q in missed) or "every gold paper comes first")
    return 0


def _run_collection(args: argparse.Namespace, output: Output) -> int:
    read = collection.read(args.questions, args.queries, args.qrels)
    systems = ["citebound"] if args.own else list(collection.SYSTEMS)
    found, rankings = collection.measured(read, systems, output, args.keep)
    if args.trec is not None:
        export.write(collection.trec(rankings["citebound"], "citebound"), args.trec)
    if args.json:
        output.data(collection.figures(found))
        return 0
    rows = [
        [name, *(f"{one.means[m]:.4f} ({low:.3f} to {high:.3f})" for m, (low, high) in one.intervals.items())]
        for name, one in found.items()
    ]
    output.text(table(["system", *collection.MEASURES], rows, f"{len(read.queries)} queries, means and 95% intervals"))
    return 0


def single_paper(questions: Sequence[Question]) -> list[Question]:
    """The questions that search can be measured on: they stand alone, and one paper answers them."""
    return [q for q in questions if q.answerable and len(q.turns) == 1 and len(q.gold) == 1]


@dataclass(frozen=True, slots=True)
class Found:
    """Means over all questions and each question's own values, by the measures' names."""

    means: dict[str, float]
    by_question: dict[str, dict[str, float]]

    def figures(self) -> dict[str, float]:
        """Plain data: rounded means and n."""
        return {**{name: round(value, 3) for name, value in self.means.items()}, "n": len(self.by_question)}


def measure(questions: Sequence[Question], library: Library) -> Found:
    """Search for every question and compare with its gold paper.

    Raises CiteboundError when a gold paper isn't in the library: its rank would say nothing.
    """
    import ir_measures

    papers = library.papers()
    qrels = [ir_measures.Qrel(q.id, _gold(q, papers, library.name), 1) for q in questions]
    found = [
        ir_measures.ScoredDoc(q.id, paper, float(-rank))
        for q in questions
        for rank, paper in enumerate(ranked(library, q.asked))
    ]
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    by_question: dict[str, dict[str, float]] = {q.id: dict.fromkeys(MEASURES, 0.0) for q in questions}
    for one in ir_measures.iter_calc(measures, qrels, found):
        by_question[one.query_id][str(one.measure)] = float(one.value)
    means = {name: sum(values[name] for values in by_question.values()) / len(by_question) for name in MEASURES}
    return Found(means, by_question)


def ranked(library: Library, question: str) -> list[str]:
    """Ids of the papers found, best first, each once."""
    return list(dict.fromkeys(hit.paper.id for hit in library.search(question, DEPTH)))


def _gold(question: Question, papers: Sequence[Paper], library: str) -> str:
    anchor = question.gold[0].anchor
    for paper in papers:
        if anchor in paper.text:
            return paper.id
    raise CiteboundError(f"the paper that {question.id} asks about isn't in {library}; name the exam's --library")
