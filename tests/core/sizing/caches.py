"""What `measure` says of a model's context: keys, values and recurrent state by device, and by token."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.sizing.header import Card, Header, Loading
from squidbot.core.sizing.memory import measure, model_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Caches", "caches_of", "fixed_bytes", "kv_bytes_per_token"]

# It aligns to 32 bytes, and fills no row up.
PLAIN = (Card("metal", 2**50),)


class Caches(NamedTuple):
    """Bytes by device; devices without any are left out."""

    kv_bytes: dict[int, int]
    recurrent_bytes: dict[int, int]


def caches_of(header: Header, loading: Loading, cards: Sequence[Card]) -> Caches:
    """Return the memory of a model's context."""
    devices = measure(model_of(header), loading, cards).devices
    return Caches(
        {device.number: device.kv_bytes for device in devices if device.kv_bytes},
        {device.number: device.recurrent_bytes for device in devices if device.recurrent_bytes},
    )


def kv_bytes_per_token(header: Header, loading: Loading) -> int:
    """Return by how much the cache grows with each token."""
    return measure(model_of(header), loading, PLAIN).kv_bytes_per_token


def fixed_bytes(header: Header, loading: Loading) -> int:
    """Return what the context takes beside what grows with the window."""
    sizing = measure(model_of(header), loading, PLAIN)
    cells = sizing.context.n_seq * sizing.context.streams
    return sizing.kv_bytes + sizing.recurrent_bytes - sizing.kv_bytes_per_token * cells
