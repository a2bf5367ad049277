"""BERT's network (Devlin et al., 2018): tokens in, a vector for each out, in the light of all others of its text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from squidbot.core.errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Bert", "Shape"]

# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: the error function to 1.5e-7.
_ERF_SLOPE = np.float32(0.3275911)
_ERF = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))


class Shape(NamedTuple):
    """What a model's config.json says of its network.

    Attributes:
        layers: how many layers follow each other.
        heads: in how many parts each layer looks at a text.
        positions: how many tokens a text may have.
        epsilon: what is added to a variance before it divides.
    """

    layers: int
    heads: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer's weights, transposed as they are multiplied; queries, keys and values side by side."""

    looks: tuple[np.ndarray, np.ndarray]
    seen: tuple[np.ndarray, np.ndarray]
    seen_norm: tuple[np.ndarray, np.ndarray]
    wide: tuple[np.ndarray, np.ndarray]
    narrow: tuple[np.ndarray, np.ndarray]
    norm: tuple[np.ndarray, np.ndarray]


class Bert:
    """The network with its weights, which threads share."""

    def __init__(self, tensors: Mapping[str, np.ndarray], shape: Shape) -> None:
        """Lay the weights out.

        Raises:
            ModelFileError: a tensor is missing, or of another size than the others.
        """
        self.shape = shape
        bare = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
        try:
            self.words = bare["embeddings.word_embeddings.weight"]
            kinds = bare["embeddings.token_type_embeddings.weight"]
            self._places = bare["embeddings.position_embeddings.weight"] + kinds[0]
            self._norm = _norm(bare, "embeddings.LayerNorm")
            self._layers = [_layer(bare, f"encoder.layer.{number}.") for number in range(shape.layers)]
            self.width = int(self.words.shape[1])
            self.states([[0, 0]])  # sizes that don't go together are found here, not at the first text
        except (KeyError, ValueError, IndexError) as error:
            raise ModelFileError(f"the weights are not those of config.json: {error}") from error

    def states(self, texts: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Return for each text, given as the ids of its tokens, the vector of each token: a row of the last layer.

        Texts are not padded: the tokens of all go through each product together, and are parted where they look at
        each other.
        """
        cuts = np.cumsum([0, *map(len, texts)])
        spans = [slice(int(start), int(end)) for start, end in pairwise(cuts)]
        ids = np.fromiter((number for text in texts for number in text), np.int64)
        places = np.concatenate([np.arange(len(text)) for text in texts])
        state = _normed(self.words[ids] + self._places[places], self._norm, self.shape.epsilon)
        for layer in self._layers:
            state = self._through(layer, state, spans)
        return [state[span] for span in spans]

    def _through(self, layer: _Layer, state: np.ndarray, spans: Sequence[slice]) -> np.ndarray:
        looks = state @ layer.looks[0] + layer.looks[1]
        seen = np.empty_like(state)
        for span in spans:
            seen[span] = self._looked(looks[span])
        state = _normed(state + (seen @ layer.seen[0] + layer.seen[1]), layer.seen_norm, self.shape.epsilon)
        wide = _gelu(state @ layer.wide[0] + layer.wide[1])
        return _normed(state + (wide @ layer.narrow[0] + layer.narrow[1]), layer.norm, self.shape.epsilon)

    def _looked(self, looks: np.ndarray) -> np.ndarray:
        """Return for each token of one text what it takes from all: queries, keys and values in, one row each out."""
        count, triple = looks.shape
        parts = looks.reshape(count, 3, self.shape.heads, triple // 3 // self.shape.heads)
        queries, keys, values = (parts[:, number].transpose(1, 0, 2) for number in range(3))
        shares = queries @ keys.transpose(0, 2, 1) * np.float32(queries.shape[2] ** -0.5)
        shares = np.exp(shares - shares.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        taken: np.ndarray = shares @ values
        return taken.transpose(1, 0, 2).reshape(count, triple // 3)


def _layer(bare: Mapping[str, np.ndarray], name: str) -> _Layer:
    each = [_dense(bare, f"{name}attention.self.{part}") for part in ("query", "key", "value")]
    looks = tuple(np.concatenate(parts, axis=-1) for parts in zip(*each, strict=True))
    return _Layer(
        (looks[0], looks[1]),
        _dense(bare, f"{name}attention.output.dense"),
        _norm(bare, f"{name}attention.output.LayerNorm"),
        _dense(bare, f"{name}intermediate.dense"),
        _dense(bare, f"{name}output.dense"),
        _norm(bare, f"{name}output.LayerNorm"),
    )


def _dense(bare: Mapping[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    return bare[f"{name}.weight"].T, bare[f"{name}.bias"]


def _norm(bare: Mapping[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    return bare[f"{name}.weight"], bare[f"{name}.bias"]


def _normed(state: np.ndarray, norm: tuple[np.ndarray, np.ndarray], epsilon: float) -> np.ndarray:
    state = state - state.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", state, state) / np.float32(state.shape[1]) + np.float32(epsilon))
    normed: np.ndarray = state / spread[:, None] * norm[0] + norm[1]
    return normed


def _gelu(state: np.ndarray) -> np.ndarray:
    """Return x times the share of the normal distribution below x."""
    at = np.abs(state) * np.float32(0.5**0.5)
    near = 1 / (1 + _ERF_SLOPE * at)
    tail = np.zeros_like(near)
    for factor in _ERF:
        tail += factor
        tail *= near
    at *= at
    tail *= np.exp(np.negative(at, out=at), out=at)
    # tail is 1 - erf(|x|/sqrt 2): twice the share above |x|.
    tail *= np.float32(0.5)
    turned: np.ndarray = state * np.where(state < 0, tail, 1 - tail)
    return turned
