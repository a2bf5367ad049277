"""Texts as vectors by a sentence model of BERT's form, in this process."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from squidbot.adapters.numpy.bert import Bert
from squidbot.adapters.numpy.folder import model_folder, read_folder
from squidbot.adapters.numpy.safetensors import read_tensors
from squidbot.adapters.numpy.threads import OneThread
from squidbot.adapting.evens import MINILM
from squidbot.adapting.sentences import cut
from squidbot.core.errors import LLMError, ModelFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["NumpyEmbedder", "Tokens"]

# What goes through the network at once: wide enough for the products, and some 10 MB while it lasts.
BATCH_TOKENS = 1024
# Of each tensor so many numbers make the name: those of two models differ from the first on.
_NAMED_NUMBERS = 256
# By name: to make a vector for it takes longer than to open the model.
_EVEN = {"bert-6x384-mean-254:87810ddd7259": MINILM.even}


class Tokens(NamedTuple):
    """A text's tokens, without those that begin and end it.

    Attributes:
        ids: which tokens of the vocabulary they are.
        vectors: what each means where it stands, a row of length 1.
    """

    ids: tuple[int, ...]
    vectors: np.ndarray


class NumpyEmbedder:
    """A sentence model run by NumPy; the vectors are those of sentence-transformers, but for rounding.

    No text is too long and none is cut: one that is longer than the model's window is read in pieces, and its vector
    is the mean of all. The weights stay in their file, mapped; threads share them. Each works with one thread: on a
    busy machine two take ten times as long for a query, and twice the CPU time for many texts.
    """

    def __init__(self, model: str | Path) -> None:
        """Open a model: the path of its folder, or the name of an installed package that carries one.

        Raises:
            ConfigError: there is no model.
            ModelFileError: it can't be read, or is of a kind that is not run here.
        """
        folder = read_folder(model_folder(model))
        tensors = read_tensors(folder.weights)
        self._one_thread = OneThread()
        with self._one_thread:
            self._bert = Bert(tensors, folder.shape)
        self._pieces = folder.pieces
        self._piece_tokens = folder.piece_tokens
        self._pooling = folder.pooling
        if len(self._pieces) > len(self._bert.words):
            raise ModelFileError(f"vocab.txt has more tokens than the weights @ {folder.weights.parent}")
        shape = f"{folder.shape.layers}x{self._bert.width}"
        self._name = f"bert-{shape}-{folder.pooling}-{self._piece_tokens}:{_digest(tensors)}"

    @property
    def name(self) -> str:
        """What makes the vectors, by its weights: the same wherever the model's folder lies, and whatever its name."""
        return self._name

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._bert.width

    @property
    def even(self) -> float | None:
        """By how much the nearest text stands out that answers a question as likely as not; None: not measured."""
        return _EVEN.get(self._name)

    def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return a vector of length 1 for each text, in order.

        Raises:
            LLMError: a vector has no direction: the weights are damaged.
        """
        states = self._states([cut(text, self._pieces, self._piece_tokens) for text in texts])
        pooled = [np.concatenate([self._pooled(state) for state in each]).mean(axis=0) for each in states]
        return [tuple(_unit(vector).tolist()) for vector in pooled]

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return for each text, in order, its tokens with a vector for each.

        Raises:
            LLMError: a vector has no direction: the weights are damaged.
        """
        parts = [cut(text, self._pieces, self._piece_tokens) for text in texts]
        found = []
        for pieces, states in zip(parts, self._states(parts), strict=True):
            ids = tuple(number for piece in pieces for number in piece[1:-1])
            found.append(Tokens(ids, _unit(np.concatenate([state[1:-1] for state in states]))))
        return found

    def _pooled(self, state: np.ndarray) -> np.ndarray:
        return state[:1] if self._pooling == "cls" else state

    def _states(self, texts: Sequence[Sequence[list[int]]]) -> list[list[np.ndarray]]:
        """Return the states of each text's pieces; short ones go through the network together."""
        pieces = [piece for text in texts for piece in text]
        done: dict[int, np.ndarray] = {}
        with self._one_thread:
            for batch in _batches(pieces):
                done.update(zip(batch, self._bert.states([pieces[number] for number in batch]), strict=True))
        in_order = (done[number] for number in range(len(pieces)))
        return [[next(in_order) for _ in text] for text in texts]


def _batches(pieces: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    batch: list[int] = []
    tokens = 0
    for number, piece in enumerate(pieces):
        if batch and tokens + len(piece) > BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(number)
        tokens += len(piece)
    if batch:
        yield batch


def _unit(vectors: np.ndarray) -> np.ndarray:
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise LLMError("unusable", "a vector has no direction: the model's weights are damaged")
    unit: np.ndarray = wide / lengths
    return unit


def _digest(tensors: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].ravel()[:_NAMED_NUMBERS].tobytes())
    return digest.hexdigest()
