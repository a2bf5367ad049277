"""Which layer is on which device, and how many bytes of weights each device takes."""

from __future__ import annotations

import re
from struct import pack, unpack
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.families import LOADED_OF_PREDICTING, NEVER_TIED, windows
from squidbot.core.sizing.layers import blocks_of
from squidbot.core.sizing.tensor_types import TENSOR_TYPES, row_bytes, tensor_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.sizing.context import Card, CardKind, Loading
    from squidbot.core.sizing.header import Header, Tensor

__all__ = ["CPU", "Placed", "held_bytes", "place", "placed", "weights_bytes"]

# Main memory, as the number of a device.
CPU = -1
# How devices align tensors.
ALIGNMENT_BYTES: dict[CardKind, int] = {"cpu": 32, "cuda": 128, "hip": 128, "metal": 32, "vulkan": 256, "sycl": 128}
# CUDA's matrix kernels read whole runs of this many elements (MATRIX_ROW_PADDING; HIP is the same code).
ROW_STEP = 512

_BLOCK = re.compile(r"blk\.(\d+)\.")
# Made with the output, and with the first block; what is in neither list, nor in a block, stays in main memory.
_WITH_OUTPUT = ("output", "cls", "altup_", "dense_2.", "dense_3.")
_WITH_FIRST = ("token_embd_norm.", "per_layer_model_proj.", "per_layer_proj_norm.")
# Once on each device that holds layers.
_EVERYWHERE = re.compile(r"rope_(freqs|factors_\w+)\.")


class Placed(NamedTuple):
    """One tensor on one device: its number from 0, or CPU."""

    tensor: Tensor
    device: int


def place(blocks: int, loading: Loading, cards: Sequence[Card]) -> tuple[int, ...]:
    """Return the device of each block and, last, of the output: its number from 0, or CPU.

    Source: load_tensors of llama.cpp 0c1e57098, which compares shares in 32 bits.

    Args:
        blocks: all blocks of the file.
        loading: how many layers are on GPUs, and the shares of each.
        cards: the devices, main memory left out or named "cpu".

    Raises:
        ConfigError: `tensor_split` has more shares than there are GPUs, a negative one, or one that is no number.
    """
    gpus = [number for number, card in enumerate(cards) if card.kind != "cpu"]
    layers = blocks + 1
    wanted = loading.n_gpu_layers if loading.n_gpu_layers >= 0 else layers
    if not gpus or not wanted:
        return (CPU,) * layers
    start, count = max(layers - wanted, 0), min(wanted, layers)
    points = _points(loading.tensor_split, [cards[number].free_bytes for number in gpus])
    devices = [CPU] * start
    for number in range(count):
        share = _f32(number / count)
        devices.append(next((gpu for gpu, point in zip(gpus, points, strict=True) if point > share), gpus[-1]))
    return tuple(devices)


def _points(split: Sequence[float], free: Sequence[int]) -> list[float]:
    """Return where, from 0 to 1, each GPU's share of the layers ends."""
    if len(split) > len(free) or any(not 0 <= share < float("inf") for share in split):
        raise ConfigError(f"tensor_split must be at most {len(free)} shares of 0 or more, not {tuple(split)}")
    shares: list[float] = [*split, *(0.0,) * (len(free) - len(split))] if any(split) else [*free]
    if not any(shares):  # devices that tell nothing share evenly
        shares = [1.0] * len(free)
    total, points = 0.0, []
    for share in shares:
        total = _f32(total + _f32(share))
        points.append(total)
    return [_f32(point / total) for point in points]


def _f32(number: float) -> float:
    """Return a number as 32 bits hold it."""
    return float(unpack("f", pack("f", number))[0])


def placed(header: Header, loading: Loading, cards: Sequence[Card]) -> tuple[Placed, ...]:
    """Return every tensor that is loaded, on its device; one that several devices hold comes once for each.

    Source of the rules: create_tensor of llama.cpp 0c1e57098.

    Raises:
        ConfigError: `tensor_split` is wrong.
        ModelFileError: the blocks are out of their range.
    """
    blocks, _ = blocks_of(header)
    devices = place(blocks, loading, cards)
    holding = sorted({devices[number] for number in _turning(header)})
    tied = header.tensor("output.weight") is None and header.architecture not in NEVER_TIED
    embedding = sorted({CPU, devices[blocks] if tied else CPU})
    found: list[Placed] = []
    for tensor in header.tensors:
        if _EVERYWHERE.match(tensor.name):
            found.extend(Placed(tensor, device) for device in holding)
        elif tensor.name == "token_embd.weight":
            found.extend(Placed(tensor, device) for device in embedding)
        elif tensor.name.startswith("blk."):
            found.extend(_of_block(header, tensor, devices))
        else:
            found.append(Placed(tensor, _device(header.architecture, tensor.name, devices[0], devices[blocks])))
    return tuple(found)


def _turning(header: Header) -> list[int]:
    """Return the blocks that the factors of positions are loaded for."""
    blocks, predicting = blocks_of(header)
    if header.architecture == "step35":
        return list(range(blocks))
    layers = range(blocks - predicting)
    if header.architecture == "gemma4":
        slides = windows(header, len(layers))
        return [number for number in layers if not slides[number]]
    return list(layers)


def _of_block(header: Header, tensor: Tensor, devices: Sequence[int]) -> list[Placed]:
    """Return a block's tensor on its device, or nothing where it is not loaded."""
    blocks, predicting = blocks_of(header)
    block = _BLOCK.match(tensor.name)
    number = int(block[1]) if block else blocks
    part = tensor.name[block.end() :] if block else ""
    loaded = number < blocks - predicting or (number < blocks and _still_loaded(header.architecture, part))
    return [Placed(tensor, devices[number])] if loaded else []


def _still_loaded(architecture: str, part: str) -> bool:
    """Return whether a tensor of a block that only predicts further tokens is loaded all the same."""
    rule = LOADED_OF_PREDICTING.get(architecture)
    return rule is not None and rule.match(part) is not None


def _device(architecture: str, name: str, first: int, output: int) -> int:
    """Return the device of a tensor that is in no block."""
    if name.startswith(_WITH_OUTPUT):
        return output
    if name.startswith(_WITH_FIRST):  # lfm2 calls the norm of its output by the name of another one
        return output if architecture in ("lfm2", "lfm2moe") else first
    return CPU


def weights_bytes(header: Header, loading: Loading, cards: Sequence[Card]) -> dict[int, int]:
    """Return the bytes of weights by device, CPU among them; devices without any are left out.

    Raises:
        ConfigError: `tensor_split` is wrong.
        ModelFileError: the blocks are out of their range, a tensor's type is unknown, or its rows are no whole blocks.
    """
    total: dict[int, int] = {}
    for tensor, device in placed(header, loading, cards):
        kind: CardKind = "cpu" if device == CPU else cards[device].kind
        held = held_bytes(tensor_bytes(tensor), tensor.type_id, tensor.shape[0], kind)
        total[device] = total.get(device, 0) + held
    return total


def held_bytes(size_bytes: int, type_id: int, row: int, card: CardKind) -> int:
    """Return what a device takes for a tensor of `size_bytes` whose rows have `row` elements.

    Sources: ggml's buffer types as of llama.cpp 0c1e57098. Of Vulkan and SYCL the alignment is the largest that a
    device may ask for, so that they may take a few bytes less.

    Raises:
        ModelFileError: the type is unknown.
    """
    if card in ("cuda", "hip") and row % ROW_STEP and TENSOR_TYPES[type_id].block > 1:
        size_bytes += row_bytes(type_id, ROW_STEP - row % ROW_STEP)
    step = ALIGNMENT_BYTES[card]
    return -(-size_bytes // step) * step
