"""Sentence models that were exported as ONNX, run by onnxruntime, those in 8 bits, too."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from squidbot.adapters.common.embeddings import (
    AROUND_TOKENS,
    Pooling,
    check_modules,
    cut,
    known_even,
    object_in,
    pooling_of,
)
from squidbot.core.errors import ConfigError, LLMError, ModelFileError
from squidbot.core.tokens.wordpiece import WordPiece
from squidbot.core.vectors import unit

if TYPE_CHECKING:
    from collections.abc import Sequence


# What the folder of an exported model says: its file, its tokens, how the vectors of these become
# one.

# Where sentence-transformers and optimum put what they export.
FILES = ("model.onnx", "onnx/model.onnx")
ELSEWHERE = "a file of it in GGUF runs by llama.cpp or Ollama"
EXPORT = "pip install 'optimum-onnx[onnxruntime]' && optimum-cli export onnx --model NAME FOLDER"


class Folder(NamedTuple):
    """What is known of a model before its network is read.

    Attributes:
        network: the file of ONNX.
        pooling: which vectors of tokens become a text's: the mean of all, or that of the token before them.
        piece_tokens: how many tokens are read at once; its own around them are not counted.
        pieces: its tokens.
    """

    network: Path
    pooling: Pooling
    piece_tokens: int
    pieces: WordPiece


def read_folder(model: str | Path) -> Folder:
    """Read what is beside a network: `model` is the folder of an exported model, or the file of ONNX in it.

    Raises:
        ConfigError: there is no exported model.
        ModelFileError: a file can't be read, or the model is of a kind that is not run here.
    """
    network = _network(Path(model).expanduser())
    folder = network.parent if (network.parent / "tokenizer.json").exists() else network.parent.parent
    check_modules(folder)
    config = object_in(folder / "config.json")
    said = [
        config.get("max_position_embeddings"),
        object_in(folder / "sentence_bert_config.json", {}).get("max_seq_length"),
    ]
    windows = [size for size in said if type(size) is int]
    if not windows or min(windows) <= AROUND_TOKENS:
        raise ModelFileError(f"max_position_embeddings is not the size of a window @ {folder / 'config.json'}")
    pieces = _pieces(folder / "tokenizer.json")
    return Folder(network, pooling_of(folder), min(windows) - AROUND_TOKENS, pieces)


def _network(path: Path) -> Path:
    if path.suffix == ".onnx" and path.is_file():
        return path
    found = next((path / name for name in FILES if (path / name).is_file()), None)
    if found is not None:
        return found
    if (path / "model.safetensors").is_file():
        raise ConfigError(f'no exported model @ {path}: as it is, "numpy:{path}" runs it; or export it: {EXPORT}')
    raise ConfigError(f"no exported model @ {path}: expected a folder with model.onnx and tokenizer.json; {EXPORT}")


def _pieces(path: Path) -> WordPiece:
    """Return the tokens of a tokenizer of BERT's uncased kind, which is the only one that is read here."""
    told = object_in(path)
    model, form = _part(told, "model"), _part(told, "normalizer")
    kind = model.get("type")
    if kind != "WordPiece":
        raise ModelFileError(f"its tokenizer is {kind!r}, and 'WordPiece' is read here; {ELSEWHERE} @ {path}")
    if form.get("type") != "BertNormalizer" or form.get("lowercase") is not True or form.get("strip_accents") is False:
        raise ModelFileError(f"a vocabulary with capitals or accents is not read here; {ELSEWHERE} @ {path}")
    vocabulary = _part(model, "vocab")
    tokens = sorted(vocabulary, key=lambda token: cast("int", vocabulary[token]))
    if [vocabulary[token] for token in tokens] != [*range(len(tokens))]:
        raise ModelFileError(f"can't be read @ {path}: the ids of its tokens have gaps")
    try:
        return WordPiece(tokens)
    except ValueError as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error


def _part(told: dict[str, object], key: str) -> dict[str, object]:
    part = told.get(key)
    return part if isinstance(part, dict) else {}


# A file of ONNX as a network: tokens in, a vector for each, or one for all, out.

# Its exceptions have no root of their own.
FAILURES = (
    failures.EngineError, failures.EPFail, failures.Fail, failures.InvalidArgument, failures.InvalidGraph,
    failures.InvalidProtobuf, failures.ModelLoaded, failures.NoModel, failures.NoSuchFile, failures.NotImplemented,
    failures.RuntimeException,
)  # fmt: skip
# What exports of sentence models take, beside the tokens.
KNOWN = ("input_ids", "attention_mask", "token_type_ids")
ERRORS_ONLY = 3


class Network:
    """A network that threads share, on the CPU."""

    def __init__(self, path: Path) -> None:
        """Read it.

        Raises:
            ModelFileError: it can't be read, or takes or gives something else than is run here.
        """
        options = onnxruntime.SessionOptions()
        options.log_severity_level = ERRORS_ONLY
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except FAILURES as error:
            raise ModelFileError(f"onnxruntime can't read it: {_said(error)} @ {path}") from error
        self._path = path
        self._inputs = [each.name for each in self._session.get_inputs()]
        unknown = [name for name in self._inputs if name not in KNOWN]
        if unknown or "input_ids" not in self._inputs:
            raise ModelFileError(f"its inputs are {self._inputs}, and {[*KNOWN]} are known here @ {path}")
        shapes = {each.name: len(each.shape) for each in self._session.get_outputs()}
        # Vectors of the tokens go first: how they become one is said beside the file.
        self._output = next((name for rank in (3, 2) for name in shapes if shapes[name] == rank), "")
        if not self._output:
            raise ModelFileError(f"no output of it is vectors: {[*shapes]} @ {path}")
        self.pools = shapes[self._output] == 2
        self.width = int(self.states([0, 0]).shape[1])

    def states(self, ids: Sequence[int]) -> np.ndarray:
        """Return the vector of each token of a text, a row each; of a network that pools itself one row.

        Raises:
            LLMError: the network failed on it.
        """
        tokens = np.array([ids], np.int64)
        given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        try:
            (made,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        except FAILURES as error:
            raise LLMError("unusable", f"onnxruntime failed: {_said(error)} @ {self._path}") from error
        states: np.ndarray = made if self.pools else made[0]
        return states


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


# Texts as vectors by a sentence model that was exported as ONNX.


class OnnxEmbedder:
    """A sentence model run by onnxruntime; the vectors are those of sentence-transformers, but for rounding.

    No text is too long and none is cut: one that is longer than the model's window is read in pieces, and its vector
    is the mean of all. Each piece goes through alone: in one batch with others, a network of 8 bits rounds by what
    stands beside it, and the same text would have many vectors. Threads share the network.
    """

    def __init__(self, model: str | Path) -> None:
        """Open the folder of an exported model, or the file of ONNX in it, which names one of several.

        Raises:
            ConfigError: there is no exported model.
            ModelFileError: it can't be read, or is of a kind that is not run here.
        """
        folder = read_folder(model)
        self._network = Network(folder.network)
        self._folder = folder
        pooling = "own" if self._network.pools else folder.pooling
        self._name = f"onnx-{self._network.width}-{pooling}-{folder.piece_tokens}:{_digest(folder.network)}"

    @property
    def name(self) -> str:
        """What makes the vectors, by its weights: the same wherever the model's folder lies, and whatever its name."""
        return self._name

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._network.width

    @cached_property
    def even(self) -> float | None:
        """By how much the nearest text stands out that answers a question as likely as not; None: not measured.

        Raises:
            LLMError: a vector has no direction: the weights are damaged.
        """
        return known_even(self)

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            LLMError: a vector has no direction: the weights are damaged.
        """
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> tuple[float, ...]:
        pieces = cut(text, self._folder.pieces, self._folder.piece_tokens)
        states = np.concatenate([self._pooled(self._network.states(piece)) for piece in pieces])
        try:
            return unit(states.astype(np.float64).mean(axis=0).tolist())
        except ValueError as error:
            raise LLMError("unusable", f"{error}: the weights are damaged @ {self._folder.network}") from error

    def _pooled(self, states: np.ndarray) -> np.ndarray:
        return states[:1] if self._folder.pooling == "cls" else states


def _digest(network: Path) -> str:
    """Return what tells a network from any other: of all of it, and of the weights that large ones keep beside it."""
    digest = hashlib.blake2b(digest_size=6)
    for path in (network, *sorted(network.parent.glob(f"{network.name}_data*"))):
        with path.open("rb") as file:
            while data := file.read(1 << 20):
                digest.update(data)
    return digest.hexdigest()
