"""Bytes of tensors by their type."""

import pytest

from squidbot.core.errors import ModelFileError
from squidbot.core.sizing.header import TENSOR_TYPES, Tensor, row_bytes, tensor_bytes, type_id


@pytest.mark.parametrize(
    ("name", "elements", "expected"),
    [("f32", 3, 12), ("q4_0", 64, 36), ("q8_0", 32, 34), ("q4_K", 4096, 2304), ("q6_K", 512, 420), ("mxfp4", 96, 51)],
)
def test_row_bytes_counts_whole_blocks(name: str, elements: int, expected: int) -> None:
    """A row takes so many bytes a block: 4.5 bits an element for q4_0 and q4_K, 8.5 for q8_0."""
    assert row_bytes(type_id(name), elements) == expected


@pytest.mark.parametrize("number", [4, 5, 31, 33, 36, 38, 99, -1])
def test_row_bytes_refuses_types_that_are_unknown(number: int) -> None:
    """What llama.cpp gave up, and what is newer, is no type; never a guess."""
    with pytest.raises(ModelFileError, match=f"unknown tensor type {number}:"):
        row_bytes(number, 256)


def test_row_bytes_refuses_parts_of_blocks() -> None:
    """A row of a quantised tensor is whole blocks."""
    with pytest.raises(ModelFileError, match=r"255 elements is not a whole number of q4_K blocks of 256"):
        row_bytes(type_id("q4_K"), 255)


def test_tensor_bytes_multiplies_the_rows() -> None:
    """Llama-3.1-8B's ffn_down of 14336 x 4096 in q6_K: 45.9 MiB."""
    assert tensor_bytes(Tensor("ffn_down", (14336, 4096), type_id("q6_K"))) == 14336 // 256 * 210 * 4096
    assert tensor_bytes(Tensor("norm", (4096,), 0)) == 16384


def test_type_names_are_unlike() -> None:
    """Each id has a name of its own, so that each name leads back to its id."""
    assert [type_id(kind.name) for kind in TENSOR_TYPES.values()] == list(TENSOR_TYPES)
