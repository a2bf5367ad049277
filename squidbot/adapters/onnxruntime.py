"""Embeds texts with sentence models exported as ONNX, by onnxruntime and their own tokenizers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures
from tokenizers import Tokenizer

from squidbot.adapters.common.embeddings import known_even
from squidbot.core.cached import cached_property
from squidbot.core.errors import ConfigError, LLMError, ModelFileError
from squidbot.core.vectors import unit

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OnnxEmbedder"]

# Where sentence-transformers and optimum put exports.
FILES = ("model.onnx", "onnx/model.onnx")
# onnxruntime's exceptions have no common base class.
FAILURES = (
    failures.EngineError, failures.EPFail, failures.Fail, failures.InvalidArgument, failures.InvalidGraph,
    failures.InvalidProtobuf, failures.ModelLoaded, failures.NoModel, failures.NoSuchFile, failures.NotImplemented,
    failures.RuntimeException,
)  # fmt: skip
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
ERRORS_ONLY = 3


class OnnxEmbedder:
    """A sentence model on the CPU. Its vectors are those of sentence-transformers, up to rounding.

    Texts of any length are embedded whole: a text beyond the model's window is split, and its vector is the mean over
    all parts. Each part runs alone, because an 8-bit model's rounding depends on the rest of the batch. Threads may
    share an embedder.
    """

    def __init__(self, model: str | Path) -> None:
        """Open an exported model's folder, or one of several `.onnx` files in it.

        Raises:
            ConfigError: there is no exported model.
            ModelFileError: a file can't be read, or the model needs something that squidbot does not run.
        """
        self._path = path = _network(Path(model).expanduser())
        folder = path.parent if (path.parent / "tokenizer.json").exists() else path.parent.parent
        _check_modules(folder)
        pooling = _pooling(folder)
        self._first_only = pooling == "cls"
        window = _window(folder)
        self._tokenizer = _tokenizer(folder / "tokenizer.json", window)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = ERRORS_ONLY
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except FAILURES as error:
            raise ModelFileError(f"onnxruntime can't read it: {_line(error)} @ {path}") from error
        self._inputs = [each.name for each in self._session.get_inputs()]
        if "input_ids" not in self._inputs or not {*self._inputs} <= {*INPUTS}:
            raise ModelFileError(f"its inputs are {self._inputs}; squidbot provides {[*INPUTS]} @ {path}")
        self._output, self._pools = self._outputs()
        self._dimensions = int(self._states(self._tokenizer.encode("").ids).shape[1])
        self._name = f"onnx-{self._dimensions}-{'own' if self._pools else pooling}-{window}:{_digest(path)}"

    def _outputs(self) -> tuple[str, bool]:
        """Return the output to read, and whether the network does the pooling: token vectors (rank 3) come first."""
        ranks = {len(output.shape): output.name for output in reversed(self._session.get_outputs())}
        output = ranks.get(3) or ranks.get(2)
        if not output:
            raise ModelFileError(f"none of its outputs is vectors: {[*ranks.values()]} @ {self._path}")
        return output, 3 not in ranks

    @property
    def name(self) -> str:
        """The model, identified by its weights: the same name in any folder."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Number of dimensions."""
        return self._dimensions

    @cached_property
    def even(self) -> float | None:
        """By how much the nearest text stands out at even odds of answering; `None`: not measured.

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
        # tokenizers refuses lone surrogates.
        encoded = self._tokenizer.encode(text.encode("utf-8", "replace").decode())
        states = [self._states(part.ids) for part in (encoded, *encoded.overflowing)]
        pooled = np.concatenate([state[:1] if self._first_only else state for state in states])
        try:
            return unit(pooled.astype(np.float64).mean(axis=0).tolist())
        except ValueError as error:
            raise LLMError("unusable", f"{error}: the weights are damaged @ {self._path}") from error

    def _states(self, ids: Sequence[int]) -> np.ndarray:
        """Return the vector of each token, a row each; one row if the network does the pooling."""
        tokens = np.array([ids], np.int64)
        values = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        try:
            (output,) = self._session.run([self._output], {name: values[name] for name in self._inputs})
        except FAILURES as error:
            raise LLMError("unusable", f"onnxruntime failed: {_line(error)} @ {self._path}") from error
        states: np.ndarray = output if self._pools else output[0]
        return states


def _network(path: Path) -> Path:
    """Return the `.onnx` file of a path."""
    if path.suffix == ".onnx" and path.is_file():
        return path
    found = next((path / name for name in FILES if (path / name).is_file()), None)
    if found is None:
        export = "pip install 'optimum-onnx[onnxruntime]' && optimum-cli export onnx --model NAME FOLDER"
        raise ConfigError(f"no exported model @ {path}: expected a folder with model.onnx and tokenizer.json; {export}")
    return found


def _window(folder: Path) -> int:
    """Return the model's window in tokens, special tokens included."""
    sizes = [
        _json(folder / "config.json").get("max_position_embeddings"),
        _json(folder / "sentence_bert_config.json", {}).get("max_seq_length"),
        _json(folder / "tokenizer_config.json", {}).get("model_max_length"),
    ]
    windows = [size for size in sizes if type(size) is int]
    if not windows or min(windows) < 3:
        raise ModelFileError(f"max_position_embeddings is not the size of a window @ {folder / 'config.json'}")
    return min(windows)


def _tokenizer(path: Path, window: int) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.enable_truncation(window)  # the rest of a text is in `overflowing`
        tokenizer.encode_special_tokens = True  # "[SEP]" in a text is that text, not the token
    except Exception as error:  # tokenizers raises nothing more specific
        raise ModelFileError(f"cannot be read @ {path}: {_line(error)}") from error
    return tokenizer


def _check_modules(folder: Path) -> None:
    """Refuse a model with modules after the pooling, which squidbot does not run.

    Raises:
        ModelFileError: it has one, or the list of its parts can't be read.
    """
    path = folder / "modules.json"
    for module in _json(path, [], list):
        kind = str(module.get("type")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind not in {"Transformer", "Pooling", "Normalize"}:
            raise ModelFileError(f"unsupported component {kind!r} @ {path}")


def _pooling(folder: Path) -> str:
    """Return how token vectors become a text's vector: "mean", or "cls" for the first token's."""
    config = _json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    modes = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    names = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
    if len(modes) != 1 or modes[0] not in names:
        raise ModelFileError(f"unsupported pooling {' and '.join(modes) or 'none'} @ {folder / '1_Pooling'}")
    return names[modes[0]]


def _json(path: Path, default: object = None, kind: type = dict) -> Any:  # noqa: ANN401  # JSON
    """Return the JSON object or list in a file, or a default if there is no file.

    Raises:
        ModelFileError: it can't be read, is something else, or is missing without a default.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if default is None:
            raise ModelFileError(f"not there @ {path}") from error
        return default
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error
    if not isinstance(found, kind):
        raise ModelFileError(f"expected {'a list' if kind is list else 'an object'} @ {path}")
    return found


def _digest(network: Path) -> str:
    """Return a digest of the network and of the weights that large models keep in a file beside it."""
    digest = hashlib.blake2b(digest_size=6)
    for path in (network, *sorted(network.parent.glob(f"{network.name}_data*"))):
        with path.open("rb") as file:
            while data := file.read(1 << 20):
                digest.update(data)
    return digest.hexdigest()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
