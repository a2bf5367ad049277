"""What a model takes on each device, with one window: weights, cache, compute buffer, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.sizing.cells import Context
    from squidbot.core.sizing.compute import Compute, ComputeKind
    from squidbot.core.sizing.context import Card, CardKind, Loading

__all__ = ["Held", "Method", "Sizing", "sharing"]

# "header": worked out from the file's header; "dry run": said by llama.cpp, which planned everything and took nothing.
Method = Literal["header", "dry run"]
# Best first.
_TRUST: tuple[ComputeKind, ...] = ("dry run", "guarded", "wide", "unknown")


class Held(NamedTuple):
    """What one device holds; sizes in bytes.

    Attributes:
        number: its place among the cards that were asked about; -1: main memory.
        name: as its card has it; "" where it has none.
        kind: whose rules it allocates by.
        layers: how many are here, the output counted as one.
        weights_bytes, kv_bytes, recurrent_bytes: exact.
        compute: the compute buffer.
        extra_bytes: of further files, such as a vision projector.
        margin_bytes: what has to stay free.
        free_bytes: before anything is loaded; None where unknown: then there is room.
        shared: whether it is main memory, and `free_bytes` what GPUs that share it leave of it.
    """

    number: int
    name: str
    kind: CardKind
    layers: int
    weights_bytes: int
    kv_bytes: int
    recurrent_bytes: int
    compute: Compute
    extra_bytes: int = 0
    margin_bytes: int = 0
    free_bytes: int | None = None
    shared: bool = False

    @property
    def total_bytes(self) -> int:
        """All that the model takes here; without the margin."""
        context = self.kv_bytes + self.recurrent_bytes
        return self.weights_bytes + context + self.compute.total_bytes + self.extra_bytes

    @property
    def left_bytes(self) -> int | None:
        """What is free with the model loaded, above the margin; below 0: so much too little; None where unknown."""
        return None if self.free_bytes is None else self.free_bytes - self.total_bytes - self.margin_bytes

    @property
    def fits(self) -> bool:
        """Whether there is room for it, as far as is known."""
        return self.compute.kind != "unknown" and (self.left_bytes is None or self.left_bytes >= 0)


@dataclass(frozen=True, slots=True)
class Sizing:
    """What a model takes with one window: the value that is printed, published and decided by.

    Attributes:
        architecture: by llama.cpp's name.
        blocks: layers of the file, the output not counted.
        trained_tokens: the window it was trained with; 0 where the file does not say.
        loading: how it is loaded; context: what llama.cpp makes of that, `context.n_seq` is the window.
        devices: in the order of the cards; main memory last, because it holds the token embedding at least.
        kv_bytes_per_token: by which the cache grows with each token of the window, all devices together: that of
            layers that see everything.
        method: who says so.
    """

    architecture: str
    blocks: int
    trained_tokens: int
    loading: Loading
    context: Context
    devices: tuple[Held, ...]
    kv_bytes_per_token: int
    method: Method = "header"

    @property
    def window_tokens(self) -> int:
        """The window of one sequence."""
        return self.context.n_seq

    @property
    def weights_bytes(self) -> int:
        """Weights on all devices."""
        return sum(held.weights_bytes for held in self.devices)

    @property
    def kv_bytes(self) -> int:
        """Cached keys and values on all devices."""
        return sum(held.kv_bytes for held in self.devices)

    @property
    def recurrent_bytes(self) -> int:
        """State that does not grow with the window, on all devices."""
        return sum(held.recurrent_bytes for held in self.devices)

    @property
    def compute_bytes(self) -> int:
        """Compute buffers of all devices, guards included."""
        return sum(held.compute.total_bytes for held in self.devices)

    @property
    def extra_bytes(self) -> int:
        """Further files."""
        return sum(held.extra_bytes for held in self.devices)

    @property
    def total_bytes(self) -> int:
        """All of it, on all devices; without margins."""
        return sum(held.total_bytes for held in self.devices)

    @property
    def compute_kind(self) -> ComputeKind:
        """How far to trust the compute buffers: as far as the least certain one that decides whether it fits."""
        return max((held.compute.kind for held in self._decisive), key=_TRUST.index)

    @property
    def fits(self) -> bool:
        """Whether every device has room for its part and its margin, as far as is known."""
        return all(held.fits for held in self.devices)

    @property
    def tightest(self) -> Held:
        """The device with the least left, of those that tell."""
        known = [(held.left_bytes, held) for held in self.devices if held.left_bytes is not None]
        return min(known, key=lambda each: each[0])[1] if known else self.devices[0]

    @property
    def _decisive(self) -> tuple[Held, ...]:
        """GPUs, and main memory where there is none."""
        return self.devices[:-1] or self.devices


def sharing(sizing: Sizing, cards: Sequence[Card]) -> Sizing:
    """Return a sizing whose main memory has free what the GPUs leave that share it, their margins kept.

    Each would fit by itself, and all of it would not. Where no card is unified, the sizing as it is.
    """
    gpus, main = sizing.devices[:-1], sizing.devices[-1]
    taken = sum(held.total_bytes + held.margin_bytes for held in gpus if cards[held.number].unified)
    if not taken or main.free_bytes is None:
        return sizing
    left = main._replace(free_bytes=max(main.free_bytes - taken, 0), shared=True)
    return replace(sizing, devices=(*gpus, left))
