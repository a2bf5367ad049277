"""What llama.cpp would refuse, or die of, said before it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.cache_types import CACHE_TYPES, cache_type
from squidbot.core.sizing.cells import context_of, uses_flash
from squidbot.core.sizing.families import EVEN_BATCHES, NO_FLASH
from squidbot.core.sizing.layers import is_mla, layers_of
from squidbot.core.sizing.tensor_types import TENSOR_TYPES

if TYPE_CHECKING:
    from squidbot.core.sizing.context import Loading
    from squidbot.core.sizing.header import Header
    from squidbot.core.sizing.layers import Layer

__all__ = ["check_loading"]

# The bounds of llama.cpp 0c1e57098 (LLAMA_MAX_SEQ); windows are 32 bits wide.
SEQUENCES_MAX = 256
TOKENS_MAX = 2**31 - 1
# Whole numbers by their smallest and largest value.
RANGES = {
    "n_ctx": (0, TOKENS_MAX),
    "n_batch": (1, TOKENS_MAX),
    "n_ubatch": (1, TOKENS_MAX),
    "n_seq_max": (1, SEQUENCES_MAX),
    "n_gpu_layers": (-1, TOKENS_MAX),
    "n_rs_seq": (0, TOKENS_MAX),
    "n_outputs_max": (1, TOKENS_MAX),
}


def check_loading(header: Header, loading: Loading) -> None:
    """Check that llama.cpp loads a model in this way.

    Some of what it does not load ends its process: hence before. A window that is larger than the model was trained
    with is loaded, and allowed here.

    Raises:
        ConfigError: it does not; the text has the key, and the nearest value that does.
        SizingError: the architecture's layout is unknown.
        ModelFileError: a key that is needed is missing or wrong.
    """
    _check_numbers(loading)
    cache_type(loading.type_k, "type_k")
    cache_type(loading.type_v, "type_v")
    _check_flash(header, loading)
    if is_mla(header) and loading.type_k != loading.type_v:
        raise ConfigError(f"type_v must be {loading.type_k}, as type_k is: {header.architecture} keeps both in one")
    _check_batch(header, loading)
    for layer in layers_of(header):
        if layer.kv_heads:
            _check_layer(header, layer, loading)


def _check_numbers(loading: Loading) -> None:
    for key, (least, most) in RANGES.items():
        value: int | None = getattr(loading, key)
        if value is not None and not least <= value <= most:
            nearest = least if value < least else most
            raise ConfigError(f"{key} must be {least} to {most}, not {value}; the nearest is {nearest}")
    _check_outputs(loading)
    if any(not 0 <= share < float("inf") for share in loading.tensor_split):
        raise ConfigError(f"tensor_split must be shares of 0 or more, not {loading.tensor_split}")


def _check_outputs(loading: Loading) -> None:
    """Check that each sequence may have logits: llama.cpp asserts it (llama-context.cpp, graph_reserve)."""
    batch = min(loading.n_batch, loading.n_ctx or loading.n_batch)
    outputs = loading.n_outputs_max or batch
    if outputs < loading.n_seq_max:
        key = "n_outputs_max" if loading.n_outputs_max else "n_batch and n_ctx"
        raise ConfigError(
            f"{key} must be {loading.n_seq_max} or more, as n_seq_max is, not {outputs}; n_seq_max = 1 fits"
        )


def _check_flash(header: Header, loading: Loading) -> None:
    kind = loading.type_v
    if _block(kind) == 1:
        return
    if header.architecture in NO_FLASH:
        raise ConfigError(f"type_v must be f16 or bf16, not {kind}: {header.architecture} has no flash attention")
    if not loading.flash_attn:
        raise ConfigError(f"flash_attn must be true for type_v = {kind}; without it, the nearest type_v is f16")
    several = loading.n_seq_max > 1 and not loading.kv_unified
    if header.architecture == "phi3" and several and _block(loading.type_k) > 1:
        raise ConfigError(
            f"kv_unified must be true, or n_seq_max 1, for phi3 with type_v = {kind}: it ends the process"
        )


def _check_batch(header: Header, loading: Loading) -> None:
    """Check that each sequence gets as many tokens of a batch as the others, where that is needed."""
    if header.architecture not in EVEN_BATCHES or loading.kv_unified:
        return
    batch = context_of(loading, header).n_ubatch
    if batch % loading.n_seq_max:
        nearest = max(batch // loading.n_seq_max, 1) * loading.n_seq_max
        raise ConfigError(
            f"n_ubatch must be a multiple of n_seq_max ({loading.n_seq_max}) for {header.architecture}, not {batch}; "
            f"the nearest is {nearest}"
        )


def _check_layer(header: Header, layer: Layer, loading: Loading) -> None:
    """Check that a layer's rows are whole blocks, with flash attention those of each head, too."""
    value_length = header.number("attention.value_length", 0) if is_mla(header) else layer.value_length
    sides = (("type_k", loading.type_k, layer.key_length), ("type_v", loading.type_v, value_length))
    for key, name, length in sides:
        block = _block(name)
        if uses_flash(header, loading) and length % block:
            raise ConfigError(f"{key} = {name} needs heads of a multiple of {block}, not {length}; {_plain(key)}")
        if length * layer.kv_heads % block:
            width = length * layer.kv_heads
            raise ConfigError(f"{key} = {name} needs rows of a multiple of {block}, not {width}; {_plain(key)}")


def _plain(key: str) -> str:
    nearest = next(iter(CACHE_TYPES))
    return f"the nearest that fits is {key} = {nearest}"


def _block(name: str) -> int:
    return TENSOR_TYPES[cache_type(name)].block
