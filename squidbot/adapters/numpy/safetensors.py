"""A file of tensors in the form of safetensors: a length, a table as JSON, then numbers."""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from squidbot.core.errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["read_tensors"]

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
