"""Settings: a frozen value, read from ``citebound.toml``, then the environment, then arguments. Opens no model.

Later sources win. The environment's names are the fields' with ``CITEBOUND_`` before them (``CITEBOUND_HOME``); the
file is ``citebound.toml`` in the home folder. Thresholds that were fitted to data live beside what they belong to
(``rag.abstain``), not here: here is what a user may sensibly choose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import platformdirs
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from rag.errors import SettingsError

FILE_NAME = "citebound.toml"


def _default_home() -> Path:
    return platformdirs.user_data_path("citebound", appauthor=False)


class Settings(BaseSettings):
    """What a user may choose. Sizes in MB are 10**6 bytes."""

    model_config = SettingsConfigDict(env_prefix="CITEBOUND_", env_ignore_empty=True, frozen=True, extra="forbid")

    home: Path = Field(default_factory=_default_home)
    """Holds models, the passage cache and the default libraries."""
    library: Path | None = None
    """The library's folder; none: ``home/library`` once papers were added to it, the sample library before."""
    model: str = "qwen2.5-coder-1.5b-instruct-q4_k_m"
    """A name from the catalogue, or a path to a GGUF file."""
    embedder: str = "all-minilm-l6-v2"
    """A name from the catalogue, or a sentence-transformers folder on disk."""
    context_tokens: int = Field(default=8192, ge=1024, le=131072)
    """Context of the generator: the passages of one question, all its judgements and the answer share it."""
    threads: int = Field(default=0, ge=0, le=256)
    """Threads of the generator; 0 is one a physical core."""
    answer_tokens: int = Field(default=160, ge=16, le=2048)
    """Longest answer."""
    candidates: int = Field(default=4, ge=1, le=20)
    """Passages that the model judges for a question about one paper."""
    list_candidates: int = Field(default=12, ge=1, le=100)
    """Passages that the model judges for a question of the kind "which papers"."""
    passage_tokens: int = Field(default=480, ge=64, le=2048)
    """Longest passage, in the embedder's tokens: what the model reads as one piece."""
    passage_cache: bool = True
    """Reuse the passages' attention states; off, every prompt is read from its start (slower, for comparison)."""
    cache_memory_mb: int = Field(default=1000, ge=0)
    """Byte budget of the passage cache in memory."""
    cache_disk_mb: int = Field(default=4000, ge=0)
    """Byte budget of the passage cache on disk; 0 keeps it in memory only."""
    strictness: float = Field(default=0.5, ge=0.0, le=1.0)
    """Probability that the library answers the question below which Citebound abstains."""

    @field_validator("home", "library")
    @classmethod
    def _expanded(cls, path: Path | None) -> Path | None:
        """``~`` is the user's folder also where no shell has seen it."""
        return path.expanduser() if path is not None else None

    @property
    def models_dir(self) -> Path:
        """Where model files are."""
        return self.home / "models"

    @property
    def cache_dir(self) -> Path:
        """Where the passage cache keeps its entries."""
        return self.home / "passages"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments over environment over file; the file stands in the home folder that the first two name."""
        named = {**env_settings(), **init_settings()}
        home = Path(named.get("home") or _default_home()).expanduser()
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, home / FILE_NAME)


def load_settings(**arguments: Any) -> Settings:  # noqa: ANN401 - pydantic checks each value against its field
    """The settings in force. Arguments that are None count as not given.

    Raises SettingsError, one line, for an unknown name, a wrong type or a value out of range.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise SettingsError(
                f"there is no setting {name!r}; remove it (from {FILE_NAME}, if it stands there)"
            ) from error
        raise SettingsError(
            f"setting {name!r}: {first['msg']} (got {first['input']!r}); set it in {FILE_NAME}, "
            f"as CITEBOUND_{name.upper()}, or as an argument"
        ) from error
    except OSError as error:
        raise SettingsError(f"{error.filename} can't be read ({error.strerror}); mend or remove it") from error
    except ValueError as error:  # tomllib's own complaint about the file
        raise SettingsError(f"{FILE_NAME} is not valid TOML: {error}; mend it or remove it") from error
