"""The embedder: counting without torch, honest limits; with the real model, vectors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from models.catalog import resolve
from models.embedder import HALF, SentenceEmbedder, fast_at_half
from models.errors import ModelDamagedError, ModelMissingError, TextTooLongError, UnknownModelError
from models.weights import path_of
from rag.settings import load_settings

NAME = "all-minilm-l6-v2"


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.fixture
def folder(tmp_path) -> Path:
    """A sentence-transformers folder without weights: words are tokens, 8 of them and 2 special ones fit."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "word": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(4)  # as some published files do; it must not fool us
    tokenizer.enable_padding(length=6)
    folder = tmp_path / "own-model"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "config.json", {"hidden_size": 48, "max_position_embeddings": 512})
    _write(folder / "sentence_bert_config.json", {"max_seq_length": 10})
    _write(folder / "tokenizer_config.json", {"model_max_length": 20})
    _write(
        folder / "modules.json",
        [
            {"type": "sentence_transformers.models.Transformer", "path": ""},
            {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"},
            {"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"},
        ],
    )
    _write(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False})
    return folder


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "models"


def test_tokens_are_counted_whole_whatever_the_file_asks_for(folder, home) -> None:
    embedder = SentenceEmbedder(folder, home)
    assert embedder.count_tokens("") == 0
    assert embedder.count_tokens("one word") == 2
    assert embedder.count_tokens("word " * 30) == 30


def test_the_limit_is_the_smallest_one_less_the_special_tokens(folder, home) -> None:
    assert SentenceEmbedder(folder, home).max_tokens == 8
    (folder / "sentence_bert_config.json").unlink()
    assert SentenceEmbedder(folder, home).max_tokens == 18
    (folder / "tokenizer_config.json").unlink()
    assert SentenceEmbedder(folder, home).max_tokens == 510
    _write(folder / "config.json", {"hidden_size": 48})
    with pytest.raises(ModelDamagedError, match="max_seq_length"):
        _ = SentenceEmbedder(folder, home).max_tokens


def test_a_text_that_is_too_long_is_refused_before_anything_is_loaded(folder, home) -> None:
    embedder = SentenceEmbedder(folder, home)
    with pytest.raises(TextTooLongError, match=r"9 tokens .* \(8\)") as caught:
        embedder.encode(["word", "word\n" * 9])
    assert "\n" not in str(caught.value)


def test_the_dimension_is_read_from_the_files(folder, home) -> None:
    assert SentenceEmbedder(folder, home).dimension == 48
    assert SentenceEmbedder(folder, home).encode([]).shape == (0, 48)
    both = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}
    _write(folder / "1_Pooling" / "config.json", both)
    assert SentenceEmbedder(folder, home).dimension == 96
    modules = json.loads((folder / "modules.json").read_text())
    _write(folder / "modules.json", [*modules, {"type": "sentence_transformers.models.Dense", "path": "3_Dense"}])
    _write(folder / "3_Dense" / "config.json", {"in_features": 96, "out_features": 16})
    assert SentenceEmbedder(folder, home).dimension == 16


def test_the_transformer_may_be_in_a_folder_of_its_own(folder, home) -> None:
    inner = folder / "0_Transformer"
    inner.mkdir()
    for name in ("tokenizer.json", "sentence_bert_config.json", "tokenizer_config.json"):
        (folder / name).rename(inner / name)
    shutil.copy(folder / "config.json", inner)
    modules = json.loads((folder / "modules.json").read_text())
    _write(folder / "modules.json", [modules[0] | {"path": "0_Transformer"}, *modules[1:]])
    embedder = SentenceEmbedder(folder, home)
    assert (embedder.dimension, embedder.max_tokens, embedder.count_tokens("a word")) == (48, 8, 2)


def test_a_folders_name_tells_what_is_in_it(folder, home) -> None:
    name = SentenceEmbedder(folder, home).name
    assert name.startswith("own-model-")
    assert SentenceEmbedder(folder, home).name == name
    _write(folder / "sentence_bert_config.json", {"max_seq_length": 9})
    assert SentenceEmbedder(folder, home).name != name


@pytest.mark.parametrize("name", ["tokenizer.json", "modules.json", "sentence_bert_config.json"])
def test_a_file_that_is_no_json_is_damaged(folder, home, name) -> None:
    (folder / name).write_text("{ no")
    embedder = SentenceEmbedder(folder, home)
    with pytest.raises(ModelDamagedError, match="own-model") as caught:
        _ = embedder.max_tokens, embedder.dimension
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_tokenizer_is_damaged(folder, home) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelDamagedError, match=r"tokenizer\.json"):
        SentenceEmbedder(folder, home).count_tokens("a")


def test_missing_and_unknown_models_are_told(home, tmp_path) -> None:
    with pytest.raises(ModelMissingError, match=f"citebound models pull {NAME}"):
        SentenceEmbedder(NAME, home)
    with pytest.raises(UnknownModelError, match=NAME):
        SentenceEmbedder("all-minilm", home)
    with pytest.raises(UnknownModelError):
        SentenceEmbedder(tmp_path, home)


COUNTING = """
import sys
from pathlib import Path
from models.embedder import HALF, SentenceEmbedder, fast_at_half
embedder = SentenceEmbedder(Path(sys.argv[1]), Path(sys.argv[2]))
embedder.name, embedder.dimension, embedder.max_tokens, embedder.count_tokens("a word"), embedder.encode([])
print(*(name for name in ("torch", "transformers", "sentence_transformers") if name in sys.modules))
"""


def test_counting_imports_no_torch(folder, home) -> None:
    command = [sys.executable, "-c", COUNTING, str(folder), str(home)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


# --- the real model


@pytest.fixture(scope="module")
def models_dir() -> Path:
    return load_settings().models_dir


@pytest.fixture(scope="module", params=[NAME, NAME + HALF])
def real(models_dir, request) -> SentenceEmbedder:
    return SentenceEmbedder(NAME, models_dir, made_by=request.param)


TEXTS = [
    "How many sentences of law was the model trained on?",
    "The model was trained on 3.5 million sentences of law.",
    "The cat sleeps.",
    "的图 $\\alpha_{i}$ [SEP] \u00e9\u0300 \x00 \n\n end",
    "",
]


@pytest.mark.model
def test_real_vectors_are_unit_float32_and_near_when_meanings_are(real) -> None:
    assert (real.name.removesuffix(HALF), real.dimension, real.max_tokens) == (NAME, 384, 254)
    vectors = real.encode(TEXTS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.6
    assert vectors[0] @ vectors[2] < 0.2
    assert np.array_equal(real.encode(TEXTS), vectors)
    last_bits = 4e-3 if real.name.endswith(HALF) else 1e-5
    assert real.encode(TEXTS[:1])[0] == pytest.approx(vectors[0], abs=last_bits)


@pytest.mark.model
def test_half_precision_changes_hardly_anything_and_has_a_name_of_its_own(models_dir) -> None:
    exact, half = (SentenceEmbedder(NAME, models_dir, made_by=name) for name in (NAME, NAME + HALF))
    assert (exact.name, half.name) == (NAME, NAME + HALF)
    assert SentenceEmbedder(NAME, models_dir).name == (half.name if fast_at_half() else exact.name)
    cosines = (exact.encode(TEXTS[:4]) * half.encode(TEXTS[:4])).sum(axis=1)
    assert cosines.min() > 0.999


@pytest.mark.model
def test_our_count_is_the_models_count(real) -> None:
    model = real._loaded()
    for text in [*TEXTS, "word " * 254, "Ünïcödé ＦＵＬＬ " * 20]:
        assert model.preprocess([text])["input_ids"].shape[1] == real.count_tokens(text) + 2


@pytest.mark.model
def test_the_longest_text_is_read_to_its_end(real) -> None:
    longest = "word " * 253
    one, other = real.encode([longest + "cat", longest + "law"])
    assert not np.allclose(one, other, atol=1e-4)
    with pytest.raises(TextTooLongError, match=r"255 tokens .* \(254\)"):
        real.encode([longest + "cat law"])


@pytest.mark.model
def test_threads_get_the_vectors_of_their_own_texts(real) -> None:
    alone = [real.encode([text]) for text in TEXTS]
    together: dict[int, np.ndarray] = {}

    def run(place: int) -> None:
        together[place] = np.stack([real.encode([TEXTS[place]]) for _ in range(5)])

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(TEXTS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(together[place], np.stack([alone[place]] * 5)) for place in range(len(TEXTS)))


OFFLINE = """
import os, socket, sys
from pathlib import Path
def refuse(*args, **kwargs):
    raise SystemExit("the network was used")
socket.socket.connect = socket.getaddrinfo = refuse
import huggingface_hub.constants  # as a library that was imported before ours would
from models.embedder import HALF, SentenceEmbedder, fast_at_half
embedder = SentenceEmbedder(sys.argv[1], Path(sys.argv[2]))
embedder.warm()
print(embedder.encode(["a question"]).shape, os.environ.get("HF_HUB_OFFLINE"))
print(huggingface_hub.constants.is_offline_mode())
"""


@pytest.mark.model
def test_loading_is_quiet_offline_and_leaves_the_environment_alone(models_dir) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    command = [sys.executable, "-c", OFFLINE, NAME, str(models_dir)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == ["(1, 384) None", "True"]


@pytest.mark.model
def test_damaged_weights_are_told(models_dir, tmp_path, home) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(path_of(resolve(NAME), models_dir), copy)
    os.truncate(copy / "model.safetensors", 1_000_000)
    embedder = SentenceEmbedder(copy, home)
    embedder.warm()  # its thread keeps quiet
    with pytest.raises(ModelDamagedError, match="copy") as caught:
        embedder.encode(["a"])
    assert "\n" not in str(caught.value)


@pytest.mark.model
def test_a_folder_by_its_path_gives_the_same_vectors(real, models_dir, tmp_path, home) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(path_of(resolve(NAME), models_dir), copy)
    own = SentenceEmbedder(copy, home, made_by=real.name)
    assert own.name.startswith("copy-")
    assert np.array_equal(own.encode(TEXTS), real.encode(TEXTS))
