"""Reads what a sentence-transformers folder says: tokens, limits, the vector's length. Loads no weights, no torch."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.errors import ModelDamagedError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LISTED_BY_DEFAULT = [{"type": "Transformer", "path": ""}, {"type": "Pooling", "path": "1_Pooling"}]


class SentenceFolder:
    """A folder on disk. Every property raises ModelDamagedError when a file it needs is not readable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, which neither cuts texts nor fills them up, whatever its file asks for."""
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else it warns on stderr after every fork
        from tokenizers import Tokenizer

        path = self._base / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises bare Exception for a missing or malformed file
            raise ModelDamagedError(f"{path} can't be read as a tokenizer ({error}); get the folder again") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def special_tokens(self) -> int:
        """Tokens that the tokenizer adds to every text."""
        return int(self.tokenizer.num_special_tokens_to_add(is_pair=False))

    @cached_property
    def max_tokens(self) -> int:
        """Longest text that is read whole, without special tokens: the smallest limit that any file states."""
        limits = [
            self._read("sentence_bert_config.json").get("max_seq_length"),
            self._read("tokenizer_config.json").get("model_max_length"),
            self._read("config.json").get("max_position_embeddings"),
        ]
        numbers = [int(limit) for limit in limits if limit is not None]
        if not numbers:
            raise ModelDamagedError(f"{self.path} does not say how long a text may be: set max_seq_length in there")
        return min(numbers) - self.special_tokens

    @cached_property
    def dimension(self) -> int | None:
        """Length of the vector that comes out of the last module; None with a module of an unknown class."""
        size: int | None = None
        for entry in self._modules:
            kind = str(entry["type"]).rsplit(".", 1)[-1]
            config = _json(self.path / str(entry["path"]) / "config.json") or {}
            if kind == "Transformer":
                size = config.get("hidden_size")
            elif kind == "Pooling":
                modes = sum(value is True for key, value in config.items() if key.startswith("pooling_mode_"))
                size = size and size * max(modes, 1)
            elif kind == "Dense":
                size = config.get("out_features")
            elif kind != "Normalize":
                return None
        return size

    @cached_property
    def _modules(self) -> list[dict[str, Any]]:
        """Return the steps from tokens to a vector, the transformer first, as modules.json lists them."""
        modules = _json(self.path / "modules.json") or _LISTED_BY_DEFAULT
        if not all(isinstance(entry, dict) and {"type", "path"} <= entry.keys() for entry in modules):
            raise ModelDamagedError(f"{self.path / 'modules.json'} is no list of modules; get the folder again")
        return list(modules)

    @property
    def _base(self) -> Path:
        """The folder of the transformer: the model's own, or one in there."""
        return self.path / str(self._modules[0]["path"])

    def _read(self, name: str) -> dict[str, Any]:
        content = _json(self._base / name)
        return content if isinstance(content, dict) else {}


def _json(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """Return a JSON file's content, None when there is no such file. Raises ModelDamagedError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ModelDamagedError(f"{path} can't be read ({error}); get the folder again") from error
