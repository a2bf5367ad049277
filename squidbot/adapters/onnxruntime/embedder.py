"""Texts as vectors by a sentence model that was exported as ONNX."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from squidbot.adapters.onnxruntime.folder import read_folder
from squidbot.adapters.onnxruntime.network import Network
from squidbot.adapting.evens import known_even
from squidbot.adapting.sentences import cut
from squidbot.core.errors import LLMError
from squidbot.core.vectors.values import unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["OnnxEmbedder"]


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
