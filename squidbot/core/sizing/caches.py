"""The memory of a model's context: keys and values, and recurrent state, by device; and what a token of it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.cache_types import cache_type
from squidbot.core.sizing.cells import cells, context_of, uses_flash
from squidbot.core.sizing.layers import blocks_of, is_mla, layers_of, widest_value
from squidbot.core.sizing.placement import CPU, held_bytes, place
from squidbot.core.sizing.tensor_types import row_bytes, type_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.sizing.context import Card, CardKind, Loading
    from squidbot.core.sizing.header import Header
    from squidbot.core.sizing.layers import Layer

__all__ = ["Caches", "Kept", "caches_of", "fixed_bytes", "kept", "kv_bytes_per_token"]

F32 = type_id("f32")


class Caches(NamedTuple):
    """The memory of a context in bytes, by device (`placement.CPU` among them); devices without any are left out."""

    kv_bytes: dict[int, int]
    recurrent_bytes: dict[int, int]


class Kept(NamedTuple):
    """One tensor of a context: its type, the elements of a row, its rows, and whether it is attention's."""

    layer: int
    type_id: int
    row: int
    rows: int
    attention: bool

    @property
    def size_bytes(self) -> int:
        """Its bytes, without any padding of a device."""
        return row_bytes(self.type_id, self.row) * self.rows


def kept(header: Header, loading: Loading) -> tuple[Kept, ...]:
    """Return the tensors of a model's context: K, V, R, S of each layer that has them.

    Source: the constructors of llama.cpp's caches (0c1e57098). Without flash attention V lies transposed, and each
    layer's is as wide as the widest one's.

    Raises:
        SizingError: the architecture's layout is unknown.
        ConfigError: a cache's type is unknown, or no window, batch or sequence is left.
        ModelFileError: a key that is needed is missing or wrong, or a row is no whole number of its type's blocks.
    """
    context = context_of(loading, header)
    type_k, type_v = cache_type(loading.type_k, "type_k"), cache_type(loading.type_v, "type_v")
    latent, widest = is_mla(header), 0 if uses_flash(header, loading) else widest_value(header)
    rows = loading.n_seq_max * (1 + loading.n_rs_seq)
    found = []
    for layer in layers_of(header):
        if layer.kv_heads:
            tokens = cells(layer, context, loading) * context.streams
            found.append(Kept(layer.number, type_k, layer.key_length * layer.kv_heads, tokens, attention=True))
            if not latent:
                width = widest or layer.value_length * layer.kv_heads
                found.append(Kept(layer.number, type_v, width, tokens, attention=True))
        if layer.recurrent:
            found.append(Kept(layer.number, F32, layer.conv_elements, rows, attention=False))
            found.append(Kept(layer.number, F32, layer.state_elements, rows, attention=False))
    return tuple(found)


def caches_of(header: Header, loading: Loading, cards: Sequence[Card]) -> Caches:
    """Return the memory of a model's context, exact: each layer's lies where its weights are.

    Raises:
        SizingError: the architecture's layout is unknown.
        ConfigError: a cache's type or `tensor_split` is wrong, or no window, batch or sequence is left.
        ModelFileError: a key that is needed is missing or wrong, or a row is no whole number of its type's blocks.
    """
    devices = place(blocks_of(header)[0], loading, cards)
    found = Caches({}, {})
    for one in kept(header, loading):
        device = devices[one.layer]
        kind: CardKind = "cpu" if device == CPU else cards[device].kind
        total = found.kv_bytes if one.attention else found.recurrent_bytes
        total[device] = total.get(device, 0) + held_bytes(one.size_bytes, one.type_id, one.row, kind)
    return found


def kv_bytes_per_token(header: Header, loading: Loading) -> int:
    """Return what one more token of one sequence takes, in bytes, in the layers that keep the whole window.

    Raises:
        SizingError: the architecture's layout is unknown.
        ConfigError: a cache's type is unknown.
        ModelFileError: a key that is needed is missing or wrong, or a row is no whole number of its type's blocks.
    """
    grows = {layer.number for layer in layers_of(header) if _grows(layer, loading)}
    rows = (row_bytes(one.type_id, one.row) for one in kept(header, loading) if one.attention and one.layer in grows)
    return sum(rows)


def fixed_bytes(header: Header, loading: Loading) -> int:
    """Return what the context takes however large the window: sliding layers, and recurrent state; in bytes.

    Windows so small that sliding layers hold all of them take less.

    Raises:
        SizingError: the architecture's layout is unknown.
        ConfigError: a cache's type is unknown, or no window, batch or sequence is left.
        ModelFileError: a key that is needed is missing or wrong, or a row is no whole number of its type's blocks.
    """
    grows = {layer.number for layer in layers_of(header) if _grows(layer, loading)}
    return sum(one.size_bytes for one in kept(header, loading) if not (one.attention and one.layer in grows))


def _grows(layer: Layer, loading: Loading) -> bool:
    return layer.kv_heads > 0 and (loading.swa_full or not layer.window)
