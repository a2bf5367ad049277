"""What each layer of a model keeps: the layout of its cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ModelFileError, SizingError
from squidbot.core.sizing.families import KNOWN, MLA, NO_CACHE, RECURRENT, cached_layers, recurrent, state, windows

if TYPE_CHECKING:
    from squidbot.core.sizing.header import Header

__all__ = ["BLOCKS_MAX", "Layer", "blocks_of", "is_mla", "layers_of", "widest_value"]

# llama.cpp's own bound (LLAMA_MAX_LAYERS): it loads no model of more.
BLOCKS_MAX = 512


class Layer(NamedTuple):
    """One layer, as its cache sees it.

    Attributes:
        number: from 0.
        heads: query heads (`attention.head_count`).
        kv_heads: heads that are cached; 0: no attention cache here.
        key_length, value_length: elements of one cached head; of MLA the latent (`value_length` 0: no V is kept).
        window: tokens that a sliding layer keeps in sight; 0: all.
        recurrent: whether it keeps state that does not grow with the window.
        conv_elements, state_elements: f32 elements of that state, of one sequence (n_r, n_s).
    """

    number: int
    heads: int
    kv_heads: int
    key_length: int
    value_length: int
    window: int = 0
    recurrent: bool = False
    conv_elements: int = 0
    state_elements: int = 0


def blocks_of(header: Header) -> tuple[int, int]:
    """Return the blocks of a file, and how many of them, at its end, only predict further tokens.

    llama.cpp loads the latter for a draft context alone: here they are neither loaded nor cached.

    Raises:
        ModelFileError: there are none, more than llama.cpp takes, or no others.
    """
    blocks, predicting = header.number("block_count"), header.number("nextn_predict_layers", 0)
    if not predicting < blocks <= BLOCKS_MAX:
        raise ModelFileError(
            f"{header.architecture}.block_count must be 1 to {BLOCKS_MAX} and above nextn_predict_layers "
            f"({predicting}), not {blocks}"
        )
    return blocks, predicting


def is_mla(header: Header) -> bool:
    """Return whether a model keeps the latent of all its heads instead of keys and values.

    Raises:
        ModelFileError: a key is no number.
    """
    keys = ("attention.key_length_mla", "attention.value_length_mla")
    return header.architecture in MLA and all(header.number(key, 0) > 0 for key in keys)


def layers_of(header: Header) -> tuple[Layer, ...]:
    """Return what each layer keeps, in order, blocks that only predict further tokens left out.

    Source of the rules: llama.cpp 0c1e57098, compared with its dry run for every architecture that is known here.

    Raises:
        SizingError: the architecture's layout is unknown.
        ModelFileError: a key that is needed is missing or out of its range.
    """
    if header.architecture not in KNOWN:
        raise SizingError(f"unknown cache layout {header.architecture!r}: use --verify")
    blocks, predicting = blocks_of(header)
    count = blocks - predicting
    heads, kv_heads = _heads(header, blocks)
    lengths = _lengths(header, heads[0])
    caches = _caches(header, kv_heads[:count], cached_layers(header, blocks))
    states = _states(header, kv_heads[:count], heads[0])
    layers = []
    for number, window in enumerate(windows(header, count)):
        key_length, value_length = lengths[window > 0]
        layers.append(
            Layer(
                number,
                heads[number],
                kv_heads[number] if caches[number] else 0,
                key_length,
                0 if is_mla(header) else value_length,
                0 if states[number] else window,
                states[number] is not None,
                *(states[number] or (0, 0)),
            )
        )
    return tuple(layers)


def widest_value(header: Header) -> int:
    """Return the elements of V of a token in the widest layer, cached or not: without flash attention all take that.

    Raises:
        ModelFileError: a key that is needed is missing or out of its range.
    """
    blocks, predicting = blocks_of(header)
    heads, kv_heads = _heads(header, blocks)
    full, sliding = (value for _, value in _lengths(header, heads[0]))
    slides = (*windows(header, blocks - predicting), *(0,) * predicting)
    return max((sliding if window else full) * cached for window, cached in zip(slides, kv_heads, strict=True))


def _heads(header: Header, blocks: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the query heads of each block, and the heads that it would cache: as many, where the file says nothing."""
    heads = header.numbers("attention.head_count", blocks, 0)
    if header.value("attention.head_count_kv") is None:
        return heads, heads
    return heads, header.numbers("attention.head_count_kv", blocks)


def _lengths(header: Header, heads: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the elements of a key and of a value, first of full layers, then of sliding ones."""
    if heads == 0 and header.architecture != "plamo2":  # llama.cpp then reads no lengths: there is no attention
        return (0, 0), (0, 0)
    even = header.number("embedding_length") // heads if heads else 0
    full = header.number("attention.key_length", even), header.number("attention.value_length", even)
    sliding = (
        header.number("attention.key_length_swa", full[0]),
        header.number("attention.value_length_swa", full[1]),
    )
    return full, sliding


def _caches(header: Header, kv_heads: tuple[int, ...], cached: int) -> tuple[bool, ...]:
    """Return of each layer whether it has an attention cache of its own."""
    name = header.architecture
    if name in NO_CACHE:
        return (False,) * len(kv_heads)
    if name == "falcon-h1":
        return (True,) * len(kv_heads)
    without = recurrent(header, kv_heads)
    if name == "nemotron_h":
        widths = header.numbers("feed_forward_length", len(kv_heads), 0)
        without = tuple(one or width > 0 for one, width in zip(without, widths, strict=True))
    return tuple(not one and number < cached for number, one in enumerate(without))


def _states(header: Header, kv_heads: tuple[int, ...], heads: int) -> tuple[tuple[int, int] | None, ...]:
    """Return the state of each layer; None where it has none."""
    if header.architecture not in RECURRENT:
        return (None,) * len(kv_heads)
    elements = state(header, heads)
    return tuple(elements if one else None for one in recurrent(header, kv_heads))
