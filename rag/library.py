"""The object that a user holds: a folder of papers that can be added to, searched and asked.

Wires store, vectors, retrieval and models together and keeps each of them closed until it is needed. The work itself is
done elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, overload

from models.protocols import Embedder, Generator
from rag import pipeline, prompt
from rag.domain import Answer, Event, Hit, Paper, Turn
from rag.errors import FilterError, SettingsError
from rag.filters import Filter, Where, parse_all, where_of
from rag.loading import LocalModels, ModelSource
from rag.resources import Resources
from rag.settings import Settings, load_settings
from rag.store import Store
from rag.stream import AnswerStream

if TYPE_CHECKING:
    from rag.corpus import Options
    from rag.ingest import AddReport, Ingest
    from rag.rows import Origin
    from rag.upkeep import LibraryState
    from rag.vectors import VectorIndex

Progress = Callable[[str, int, int], None]
"""(what is being done, how many are done, how many there are)."""

Filters = str | Filter | Sequence[str | Filter]
"""One filter or several, as words (``year>=2024``) or parsed."""
LOCK_TIMEOUT = 30.0
"""Seconds to wait for another process that writes."""
OWN, SAMPLE = "library", "sample"
"""The folders in the home of the user's own library and of the sample library."""


class Library:
    """A library of papers in a folder. Use as a context manager, or call ``close``.

    Safe to share between threads. Models are opened when first needed and shared by all questions.
    """

    def __init__(self, folder: Path, settings: Settings, models: ModelSource | None, *, create: bool) -> None:
        self.folder = folder
        self.settings = settings
        self._models: ModelSource = models or LocalModels(settings)
        self._owns_models = models is None
        self._store = Store(folder, create=create)
        self._lock = threading.Lock()

    # --- opening

    @classmethod
    def open(
        cls,
        folder: Path | str | None = None,
        *,
        settings: Settings | None = None,
        models: ModelSource | None = None,
        create: bool = False,
    ) -> Self:
        """Open a library: the folder given, else the one of the settings, else the user's own, else the sample.

        Raises LibraryMissingError when a named folder holds no library and ``create`` is off.
        """
        settings = settings or load_settings()
        named = Path(folder) if folder is not None else settings.library
        if named is not None:
            return cls(named, settings, models, create=create)
        own = settings.home / OWN
        if create or own.is_dir():
            return cls(own, settings, models, create=create)
        return cls.sample(settings=settings, models=models)

    @classmethod
    def sample(
        cls,
        *,
        settings: Settings | None = None,
        models: ModelSource | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """The sample library in the home folder, made from the abstracts that come with the package."""
        settings = settings or load_settings()
        library = cls(settings.home / SAMPLE, settings, models, create=True)
        if not library.is_complete_sample():
            with as_file(files("rag") / "sample") as folder:
                library.add(*sorted(folder.glob("*.txt")), progress=progress)
        return library

    def is_complete_sample(self) -> bool:
        """Whether every abstract that comes with the package is in this library."""
        from rag.corpus import read_papers

        with as_file(files("rag") / "sample") as folder:
            shipped = {paper.id for path in folder.glob("*.txt") for paper in read_papers(path).papers}
        return all(self._store.paper(paper_id) is not None for paper_id in shipped)

    def close(self) -> None:
        """Close files, and the models unless they were given: whoever shares them closes them. Twice is fine."""
        if self._owns_models:
            self._models.close()
        if "_vectors" in self.__dict__:  # opened at first use only
            self._vectors.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- what is in it

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    def __len__(self) -> int:
        """Papers in the library."""
        return self._store.count()

    def papers(self, *, filters: Filters = ()) -> list[Paper]:
        """Every paper that meets the filters, in the order added. Raises FilterError as ``search``."""
        return list(self._store.papers(self._where(filters)))

    def has_fields(self) -> bool:
        """Whether any paper has a year, authors, a venue or topics, so that filters make sense."""
        return self._store.has_fields()

    def sources_of(self, paper_id: str) -> list[Origin]:
        """Every record that a paper was read from: the same paper may come from several files."""
        return self._store.origins.of_paper(paper_id)

    def state(self) -> LibraryState:
        """What the library holds, in figures."""
        from rag.upkeep import state

        return state(self._store, self._vectors)

    def paper(self, paper_id: str) -> Paper | None:
        """A paper by its id."""
        return self._store.paper(paper_id)

    def add(
        self,
        *paths: Path | str,
        format: str = "",  # noqa: A002 - what the command line calls it too
        columns: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> AddReport:
        """Add the papers of files, or of the files in folders. Adding what is there changes nothing.

        ``format`` is one of ``rag.corpus.FORMATS`` when the files' own looks mislead; ``columns`` names the columns of
        a table ({"abstract": "Summary"}). The report names every record that was skipped and why. Raises
        LibraryLockedError while another process writes, ReadError when nothing could be read at all.
        """
        from rag.corpus import Options
        from rag.ingest import add_files

        return add_files(paths, self._ingest(progress, Options(format, dict(columns or {}))))

    def sync(
        self,
        folder: Path | str,
        *,
        confirm: Callable[[Sequence[Paper]], bool] = lambda _: True,
        progress: Progress | None = None,
    ) -> AddReport:
        """Bring the library up to date with a folder: add what is new, take out what was read there and is gone.

        ``confirm`` is shown the papers that would go and says whether they may. Raises as ``add``.
        """
        from rag.ingest import sync_folder

        return sync_folder(folder, self._ingest(progress), confirm)

    def remove(self, *paper_ids: str) -> int:
        """Take papers out of the library, by their ids; how many there were."""
        from rag.lock import writing

        with writing(self.folder, LOCK_TIMEOUT):
            return self._store.remove(paper_ids)

    def rebuild(self, progress: Progress | None = None) -> int:
        """Cut and embed every paper anew, as the settings say now; how many there are."""
        from rag.ingest import rebuild

        return rebuild(replace(self._ingest(progress), embedder=self._models.embedder()))

    def compact(self) -> None:
        """Give the disk back what papers that went have left."""
        from rag import upkeep
        from rag.lock import writing

        with writing(self.folder, LOCK_TIMEOUT):
            upkeep.compact(self._store, self._vectors)

    def faults(self) -> list[str]:
        """What is wrong with the library on disk, one line each; empty when nothing is. Reads all of it."""
        from rag import upkeep

        return upkeep.faults(self._store, self._vectors)

    def _ingest(self, progress: Progress | None, options: Options | None = None) -> Ingest:
        from rag.corpus import Options
        from rag.ingest import Ingest

        into = Ingest(self._store, self._vectors, self.embedder, self.settings.passage_tokens, options or Options())
        return into if progress is None else replace(into, progress=progress)

    # --- asking

    def search(self, question: str, k: int = 5, *, filters: Filters = ()) -> list[Hit]:
        """The k best passages for a question, best first; of the papers that meet all filters (``year>=2024``).

        Raises LibraryEmptyError when there are no papers, FilterError when none meets the filters or one isn't any,
        SettingsError for a k below 1.
        """
        if k < 1:
            raise SettingsError(f"k is {k}; ask for at least 1 passage")
        return self._find(question, k, self._where(filters))

    @overload
    def ask(
        self, question: str, *, history: Sequence[Turn] = ..., filters: Filters = ..., stream: Literal[False] = ...
    ) -> Answer: ...
    @overload
    def ask(
        self, question: str, *, history: Sequence[Turn] = ..., filters: Filters = ..., stream: Literal[True]
    ) -> AnswerStream: ...
    def ask(
        self, question: str, *, history: Sequence[Turn] = (), filters: Filters = (), stream: bool = False
    ) -> Answer | AnswerStream:
        """Answer a question from the papers that meet all filters, each sentence bound to its source.

        ``history`` are the earlier turns of the conversation. With ``stream`` the answer comes piece by piece.
        Raises QuestionError for what can't be asked, FilterError, LibraryEmptyError, and what opening the models
        raises.
        """
        where = self._where(filters)

        def start(cancel: threading.Event) -> Iterator[Event]:
            return pipeline.answer_events(question, history, self._resources(where), cancel)

        answering = AnswerStream(start)
        return answering if stream else answering.answer

    def prepare(self, progress: Progress | None = None, cancel: threading.Event | None = None) -> int:
        """Compute the attention states of every passage ahead of any question; how many had to be computed.

        Questions asked meanwhile wait for one passage at most.
        """
        if not self.settings.passage_cache:
            return 0
        generator, computed = self.generator, 0
        papers = self.papers()
        if papers:
            generator.prepare(prompt.SYSTEM, [prompt.ahead(prompt.ANSWER)], cancel)
        for done, paper in enumerate(papers):
            if cancel is not None and cancel.is_set():
                break
            texts = [prompt.passage_text(passage) for passage in self._store.passages_of(paper.id)]
            computed += generator.prepare(prompt.SYSTEM, texts, cancel)
            if progress is not None:
                progress("reading papers ahead", done + 1, len(papers))
        return computed

    def warm(self) -> None:
        """Load the models now, so that the first question doesn't wait for them."""
        self.embedder.encode(["warm"])
        self.generator.count_tokens("warm")

    @property
    def generator(self) -> Generator:
        """The generator, opened on first use."""
        with self._lock:
            return self._models.generator()

    @property
    def embedder(self) -> Embedder:
        """The embedder, opened on first use."""
        with self._lock:
            return self._models.embedder(self._store.embedder)

    # --- wiring

    @cached_property
    def _vectors(self) -> VectorIndex:
        from rag.vectors import VectorIndex

        return VectorIndex(self._store)

    def _resources(self, where: Where) -> Resources:
        return Resources(
            self.settings,
            self.generator,
            lambda text, k: self._find(text, k, where),
            self._passages_of,
            self._store.paper,
        )

    def _where(self, filters: Filters) -> Where:
        parsed = parse_all([filters] if isinstance(filters, str | Filter) else filters)
        where = where_of(parsed)
        if parsed and self._store.count() and not self._store.count(where):
            raise FilterError(f"no paper of {self.name} meets {' and '.join(map(str, parsed))}; ask with other filters")
        return where

    def _find(self, text: str, k: int, where: Where) -> list[Hit]:
        from rag.retrieve import retrieve

        return retrieve(text, self._store, self._vectors, self.embedder, k, where)

    def _passages_of(self, paper_id: str, text: str) -> list[Hit]:
        from rag.retrieve import hits_of

        return hits_of(paper_id, text, self._store, self._vectors, self.embedder)


_shared: dict[Path | None, Library] = {}
_shared_models: list[LocalModels] = []
_sharing = threading.Lock()


def ask(
    question: str,
    *,
    history: Sequence[Turn] = (),
    filters: Filters = (),
    stream: bool = False,
    library: Path | str | None = None,
) -> Answer | AnswerStream:
    """Ask the default library, or the one in a folder; see ``Library.ask``. Libraries stay open between calls."""
    key = Path(library).resolve() if library is not None else None
    with _sharing:
        if key not in _shared:
            settings = load_settings()
            if not _shared_models:
                _shared_models.append(LocalModels(settings))
            _shared[key] = Library.open(key, settings=settings, models=_shared_models[0])
        opened = _shared[key]
    if stream:
        return opened.ask(question, history=history, filters=filters, stream=True)
    return opened.ask(question, history=history, filters=filters)


__all__ = ["Library", "ask"]
