"""The ``corpus.jsonl`` of BEIR's layout: ``_id``, ``title``, ``text``, and ``metadata`` that differs by data set.

Does not read the questions (``queries.jsonl``), which have no title.
"""

from __future__ import annotations

from collections.abc import Iterable

from rag.corpus.json_outline import SUFFIXES, Row, first_row
from rag.corpus.json_papers import record_of
from rag.corpus.json_rows import read_rows
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source


def fits(source: Source) -> bool:
    """Whether the first row has the three keys."""
    return {"_id", "title", "text"} <= (first_row(source) or {}).keys()


def read(source: Source, _: Options) -> Iterable[Record | Skipped]:
    """The documents, in order."""
    return read_rows(source, _record)


def _record(row: Row) -> Record:
    metadata = row.get("metadata")
    rest = {key: value for key, value in row.items() if key not in {"metadata", "_id"}}
    return record_of({**(metadata if isinstance(metadata, dict) else {}), **rest, "id": row.get("_id")})


FORMAT = Format("beir", "corpus.jsonl of BEIR", SUFFIXES, fits, read, distinct=True)
