"""What a record is to a library: new, known, the same paper from elsewhere, or a new version. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from rag.corpus import Record, format_of, paper_of
from rag.domain import Paper
from rag.outline import Outline
from rag.rows import Origin
from rag.similar import EDITED, UNTITLED, containment, is_global, keys_of, same_paper
from rag.store import Store

_COMPARED = 200
"""So many texts that left a file are compared with each new one of it."""


class Kind(Enum):
    """What a record is to the library."""

    NEW = auto()
    CHANGED = auto()
    UNCHANGED = auto()
    DUPLICATE = auto()
    NEAR_DUPLICATE = auto()


@dataclass(frozen=True, slots=True)
class Recognized:
    """A record, what it is, and where it stands. ``known`` is the id of the paper that it is, or that it replaces."""

    kind: Kind
    paper: Paper
    origin: Origin
    known: str = ""


@dataclass(slots=True)
class Run:
    """What one run has met so far, in any of its sources.

    ``ids``: the external ids. ``waiting``: papers that are to be stored with the next batch, and the file of each;
    ``by_key``: the same by what versions of a paper share.
    """

    ids: set[str] = field(default_factory=set)
    waiting: dict[str, tuple[Paper, str]] = field(default_factory=dict)
    by_key: dict[int, list[Paper]] = field(default_factory=dict)

    def wait(self, paper: Paper, file: str) -> None:
        """Add a paper to those that wait; ``stored`` takes them off."""
        self.waiting[paper.id] = (paper, file)
        for key in keys_of(paper):
            self.by_key.setdefault(key, []).append(paper)

    def stored(self) -> None:
        """What waited is in the store now."""
        self.waiting.clear()
        self.by_key.clear()


class Recognizer:
    """Recognizes the records of one source, in order. What it called new it adds to the run's waiting papers."""

    def __init__(self, store: Store, outline: Outline, run: Run) -> None:
        self._store, self._outline, self._run = store, outline, run
        self._distinct = format_of(outline.source, outline.options.format).distinct
        store.origins.adopt(outline.source.name, outline.source.key)
        self._had = store.origins.of_file(outline.source.key)
        self._gone = [where for where in self._had if not outline.has(*where)]
        self._met: set[tuple[str, str]] = set()

    @property
    def gone(self) -> list[tuple[str, str]]:
        """Records (external id, digest) that the library has from this source and that are not in it any more."""
        return list(self._gone)

    def recognize(self, record: Record, position: int) -> Recognized:
        """What a record is; ``position`` is its place in the source."""
        source = self._outline.source
        paper = paper_of(record, source.name, position)
        where = (paper.external_id, paper.id)
        origin = Origin(source.key, source.name, position, *where)
        if where in self._met:
            return Recognized(Kind.DUPLICATE, paper, origin, paper.id)
        self._met.add(where)
        had = self._had.get(where)
        kind, known = (Kind.UNCHANGED, had.paper_id) if had is not None else self._compared(paper)
        if kind in (Kind.NEW, Kind.CHANGED):
            self._run.wait(paper, source.key)
        if is_global(paper.external_id):
            self._run.ids.add(paper.external_id)
        return Recognized(kind, paper, origin, known)

    def moved(self, found: Recognized) -> bool:
        """Whether a record that is known stands elsewhere in its file than before."""
        had = self._had.get((found.origin.external_id, found.origin.digest))
        return had is not None and had.position != found.origin.position

    def _compared(self, paper: Paper) -> tuple[Kind, str]:
        if paper.id in self._run.waiting or self._store.known([paper.id]):
            return Kind.DUPLICATE, paper.id
        known = self._by_external_id(paper.external_id)
        if known:
            # Two files of one run that differ about a paper would replace it by turns, at every run.
            return Kind.NEAR_DUPLICATE if paper.external_id in self._run.ids else Kind.CHANGED, known
        earlier = self._earlier(paper)
        if earlier:
            return Kind.CHANGED, earlier
        keys = keys_of(paper)
        waiting = [one for key in keys for one in self._run.by_key.get(key, ())]
        for other in (*waiting, *self._store.origins.alike(keys)):
            if self._is_same(paper, other):
                return Kind.NEAR_DUPLICATE, other.id
        return Kind.NEW, ""

    def _by_external_id(self, external_id: str) -> str:
        if not is_global(external_id):
            return ""
        waiting = (one.id for one, _ in self._run.waiting.values() if one.external_id == external_id)
        return next(waiting, "") or self._store.origins.by_external_id(external_id)

    def _is_same(self, paper: Paper, other: Paper) -> bool:
        if not same_paper(paper, other):
            return False
        if not self._is_here(other.id):
            return True
        # In one file: without keys, alike texts are meant to be two; with keys it depends on who made the keys.
        return bool(paper.external_id) and not self._distinct and containment(paper.text, other.text) >= UNTITLED

    def _is_here(self, paper_id: str) -> bool:
        key = self._outline.source.key
        if paper_id in self._run.waiting:
            return self._run.waiting[paper_id][1] == key
        return any(origin.key == key for origin in self._store.origins.of_paper(paper_id))

    def _earlier(self, paper: Paper) -> str:
        """The paper, of those that left the file, that a record is a new version of: by its key, else by its words."""
        for where in self._gone:
            if where[0] == paper.external_id and where[0]:
                self._gone.remove(where)
                return self._had[where].paper_id
        return "" if paper.external_id else self._edited(paper)

    def _edited(self, paper: Paper) -> str:
        gone = [where for where in self._gone if not where[0]]
        texts = self._texts(self._had[where].paper_id for where in gone[:_COMPARED])
        best = max(((containment(paper.text, text), one) for one, text in texts.items()), default=(0.0, ""))
        if best[0] < EDITED:
            return ""
        self._gone = [where for where in self._gone if self._had[where].paper_id != best[1]]
        return best[1]

    def _texts(self, paper_ids: Iterable[str]) -> dict[str, str]:
        found = {one: self._store.paper(one) for one in dict.fromkeys(paper_ids)}
        return {one: paper.text for one, paper in found.items() if paper is not None}
