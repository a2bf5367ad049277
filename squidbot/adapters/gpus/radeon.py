"""What AMD's sources have in common: which of a device's memories count."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from squidbot.core.devices import Device, MainMemory

__all__ = ["Pools", "as_device"]

# A processor's own graphics have a small part of main memory set aside for them, and take more of it as GTT.
APU_VRAM_BYTES = 4 << 30


class Pools(NamedTuple):
    """A device's memories in bytes: its own (VRAM), and of main memory what it may map (GTT); None where unknown."""

    vram_total: int | None
    vram_used: int | None
    gtt_total: int | None = None
    gtt_used: int | None = None


def as_device(device: Device, pools: Pools, main: MainMemory | None) -> Device | None:
    """Return a device with the memory that a model can have of it; None where it does not tell how much it has.

    An APU (less than 4 GiB of VRAM, and more GTT than that) is unified: both memories count, and of main memory no
    more is free than `main` has.
    """
    vram, gtt = pools.vram_total, pools.gtt_total
    if vram is None:
        return None
    if vram >= APU_VRAM_BYTES or gtt is None or gtt <= vram:
        return device._replace(total_bytes=vram, free_bytes=_rest(vram, pools.vram_used))
    total = vram + gtt
    used = None if pools.vram_used is None or pools.gtt_used is None else pools.vram_used + pools.gtt_used
    free = _rest(total, used)
    if free is not None and main is not None:
        free = min(free, main.available_bytes)
    return device._replace(total_bytes=total, free_bytes=free, unified=True)


def _rest(total: int, used: int | None) -> int | None:
    return None if used is None else max(0, total - used)
