"""Opens what a benchmark compares: the generator, the same with an empty cache, and llama-cpp-python's high-level API.

Each runs on a thread of its own that ends with it: OpenMP keeps worker threads for every thread that ever called it,
and lets none of them spin while there are more than cores. Measures nothing.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.speed import Complete, Forgetful, say
from models.protocols import Generator, Prompt
from models.worker import Worker
from rag.errors import CiteboundError

if TYPE_CHECKING:
    from rag.settings import Settings


def forgetful(generator: Generator) -> Forgetful:
    """The same generator, if its context can be emptied; else CiteboundError."""
    if not isinstance(generator, Forgetful):
        raise CiteboundError(f"{generator.name} can't forget its prompts, so its speed can't be compared; use a GGUF")
    return generator


@contextlib.contextmanager
def ours(settings: Settings) -> Iterator[Complete]:
    """The generator as the library opens it."""
    from rag.loading import LocalModels

    generator = LocalModels(settings).generator()
    try:
        yield lambda prompt, most: say(generator, prompt, most).usage.new_tokens
    finally:
        generator.close()


@contextlib.contextmanager
def cold(settings: Settings) -> Iterator[tuple[Forgetful, Callable[[], None]]]:
    """The same model with a passage cache of its own on disk, and a function that empties that cache."""
    from rag.loading import LocalModels

    with tempfile.TemporaryDirectory(prefix="citebound-bench-") as name:
        home = Path(name)
        settings.models_dir.mkdir(parents=True, exist_ok=True)
        (home / "models").symlink_to(settings.models_dir.absolute(), target_is_directory=True)
        # No memory level: removing the files then empties the cache whole.
        alone = settings.model_copy(update={"home": home, "cache_memory_mb": 0, "passage_cache": True})
        generator = LocalModels(alone).generator()
        try:
            yield forgetful(generator), lambda: shutil.rmtree(alone.cache_dir, ignore_errors=True)
        finally:
            generator.close()


@contextlib.contextmanager
def high_level(settings: Settings) -> Iterator[Complete]:
    """llama-cpp-python's ``Llama.create_completion`` on the same model and threads, greedy."""
    thread = Worker("citebound-reference")
    try:
        llama, complete = thread.call(lambda: _high_level(settings))
        try:
            yield lambda prompt, most: thread.call(lambda: complete(prompt, most))
        finally:
            thread.call(llama.close)
    finally:
        thread.close()


def _high_level(settings: Settings) -> tuple[Any, Complete]:
    """The opened ``Llama``, and what completes a prompt with it."""
    from models.llama import physical_cores, runtime, silence
    from models.template import ChatTemplate

    silence()
    threads = settings.threads or physical_cores()
    llama = runtime().Llama(
        str(model_file(settings)), n_ctx=settings.context_tokens, n_batch=512, n_threads=threads,
        n_threads_batch=threads, verbose=False,
    )  # fmt: skip

    def special(token: int) -> str:
        return llama.detokenize([token], special=True).decode("utf-8", "replace") if token >= 0 else ""

    bos = special(llama.token_bos())
    source = llama.metadata.get("tokenizer.chat_template", "")
    template = ChatTemplate(source, bos, special(llama.token_eos()), settings.model)

    def complete(prompt: Prompt, max_tokens: int) -> int:
        frame = template.frame(prompt.system)
        before = frame.before.removeprefix(bos)  # create_completion puts it there itself
        text = before + prompt.turn + frame.after
        done: Any = llama.create_completion(text, max_tokens=max_tokens, temperature=0.0)
        return int(done["usage"]["completion_tokens"])

    return llama, complete


def model_file(settings: Settings) -> Path:
    """The generator's GGUF file."""
    from models.catalog import ModelSpec, resolve
    from models.weights import check

    model = resolve(settings.model, "generator")
    return check(model, settings.models_dir) if isinstance(model, ModelSpec) else model
