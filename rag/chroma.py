"""One Chroma collection on disk, opened: rows in, nearest rows out. Only this file imports Chroma.

Chroma is given our vectors and downloads nothing. Knows neither the store nor what to do about damage: what Chroma
raises passes through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from models.protocols import Vectors
from rag.index_faults import disk_errors
from rag.rows import Row

BATCH = 1000
"""Rows that go in together; after as many Chroma saves its graph."""
_COLLECTION = "windows"
# With these, 0.999 of the 60 true nearest of 80 questions were found among 4,000 windows.
_SHAPE = {"space": "cosine", "ef_construction": 200, "ef_search": 200, "max_neighbors": 24}


class ChromaRows:
    """The rows of an index folder. Close it; closing twice is fine."""

    def __init__(self, folder: Path) -> None:
        """Open the folder's collection, or make one in it."""
        import chromadb
        from chromadb.config import Settings

        self._folder = folder
        # Its settings would also come from a .env file that happens to lie about.
        settings = Settings(_env_file=None, anonymized_telemetry=False, allow_reset=False)
        self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._rows: Any = None  # chromadb.Collection, whose type is partly unknown
        try:
            self._rows = self._client.get_or_create_collection(
                _COLLECTION, embedding_function=None, configuration={"hnsw": {**_SHAPE, "sync_threshold": BATCH}}
            )
        except BaseException:
            self._client.close()
            raise

    def close(self) -> None:
        """Close Chroma's files."""
        self._client.close()

    def __len__(self) -> int:
        """Rows in the index, those of papers that went among them."""
        return int(self._rows.count())

    def upsert(self, rows: Iterable[Row]) -> None:
        """Put rows in, in the place of those with the same id. Raises DiskFullError."""
        for batch in portions(rows, min(BATCH, self._client.get_max_batch_size())):
            with disk_errors(self._folder.parent):
                self._rows.upsert(
                    ids=[row.id for row in batch],
                    embeddings=np.stack([row.vector for row in batch]),
                    metadatas=[{"passage": row.passage_id} for row in batch],
                )

    def nearest(self, vector: Vectors, count: int) -> list[tuple[str, float]]:
        """(passage id, cosine) of the nearest rows, best first; a passage may come with several of its rows."""
        answer = self._rows.query(query_embeddings=[vector], n_results=count, include=["metadatas", "distances"])
        pairs = zip(answer["metadatas"][0], answer["distances"][0], strict=True)
        return [(str(row["passage"]), 1.0 - float(distance)) for row, distance in pairs]

    def vectors(self, row_ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of rows, by id; those that aren't there are missing."""
        stored = self._rows.get(ids=list(row_ids), include=["embeddings"])
        return {str(one): np.asarray(v) for one, v in zip(stored["ids"], stored["embeddings"], strict=True)}


def portions(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Rows in lists of ``size``, the last one shorter."""
    rest = iter(rows)
    while batch := list(islice(rest, size)):
        yield batch
