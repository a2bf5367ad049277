"""The types of tensors: how many bytes a row of each takes (ids and blocks: llama.cpp's ggml.h and ggml-common.h)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ModelFileError

if TYPE_CHECKING:
    from squidbot.core.sizing.header import Tensor

__all__ = ["TENSOR_TYPES", "TensorType", "row_bytes", "tensor_bytes", "type_id"]


class TensorType(NamedTuple):
    """One type: its elements are stored in blocks of so many elements, each block in so many bytes."""

    name: str
    block: int
    block_bytes: int


# As of llama.cpp 0c1e57098. Ids that are not here were given up by llama.cpp, or are newer than this.
TENSOR_TYPES = {
    0: TensorType("f32", 1, 4),
    1: TensorType("f16", 1, 2),
    2: TensorType("q4_0", 32, 18),
    3: TensorType("q4_1", 32, 20),
    6: TensorType("q5_0", 32, 22),
    7: TensorType("q5_1", 32, 24),
    8: TensorType("q8_0", 32, 34),
    10: TensorType("q2_K", 256, 84),
    11: TensorType("q3_K", 256, 110),
    12: TensorType("q4_K", 256, 144),
    13: TensorType("q5_K", 256, 176),
    14: TensorType("q6_K", 256, 210),
    16: TensorType("iq2_xxs", 256, 66),
    17: TensorType("iq2_xs", 256, 74),
    18: TensorType("iq3_xxs", 256, 98),
    19: TensorType("iq1_s", 256, 50),
    20: TensorType("iq4_nl", 32, 18),
    21: TensorType("iq3_s", 256, 110),
    22: TensorType("iq2_s", 256, 82),
    23: TensorType("iq4_xs", 256, 136),
    24: TensorType("i8", 1, 1),
    25: TensorType("i16", 1, 2),
    26: TensorType("i32", 1, 4),
    27: TensorType("i64", 1, 8),
    28: TensorType("f64", 1, 8),
    29: TensorType("iq1_m", 256, 56),
    30: TensorType("bf16", 1, 2),
    34: TensorType("tq1_0", 256, 54),
    35: TensorType("tq2_0", 256, 66),
    39: TensorType("mxfp4", 32, 17),
    40: TensorType("nvfp4", 64, 36),
    41: TensorType("q1_0", 128, 18),
    42: TensorType("q2_0", 64, 18),
}
_IDS = {kind.name: number for number, kind in TENSOR_TYPES.items()}


def type_id(name: str) -> int:
    """Return the id of a type by its name, such as "q4_K"; KeyError where there is none."""
    return _IDS[name]


def row_bytes(type_id: int, elements: int) -> int:
    """Return the bytes of a row of so many elements.

    Raises:
        ModelFileError: the type is unknown, or the row is not made of whole blocks.
    """
    kind = TENSOR_TYPES.get(type_id)
    if kind is None:
        raise ModelFileError(f"tensor type {type_id} is unknown here: given up by llama.cpp, or newer than this")
    blocks, rest = divmod(elements, kind.block)
    if rest:
        raise ModelFileError(f"a row of {elements} elements is no whole number of {kind.name} blocks of {kind.block}")
    return blocks * kind.block_bytes


def tensor_bytes(tensor: Tensor) -> int:
    """Return the bytes of a tensor's data, without padding.

    Raises:
        ModelFileError: as `row_bytes`.
    """
    return row_bytes(tensor.type_id, tensor.shape[0]) * prod(tensor.shape[1:])
