"""The window of a model with a file: the file's header, the devices and the settings -> a size, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.checks import AUTO_LAYERS
from squidbot.core.errors import ConfigError, SizingError
from squidbot.core.sizing.compute import MIB
from squidbot.core.sizing.context import Card
from squidbot.core.sizing.fit import Bounds, fit, with_layers_that_fit
from squidbot.core.sizing.measure import Reserved, measure
from squidbot.core.sizing.model import model_of
from squidbot.models.files import loading_of, projector_bytes

if TYPE_CHECKING:
    from squidbot.config import Loaded
    from squidbot.core.devices import Device, MainMemory, Probed, Vendor
    from squidbot.core.sizing.context import CardKind, Loading
    from squidbot.core.sizing.fit import Fit
    from squidbot.core.sizing.header import Header
    from squidbot.core.sizing.memory import Sizing
    from squidbot.core.sizing.model import Model
    from squidbot.tables import Model as Definition

__all__ = ["Sized", "cards_of", "size_window"]

# By whose rules llama.cpp allocates on a vendor's devices, as its usual builds do.
KINDS: dict[Vendor, CardKind] = {
    "nvidia": "cuda",
    "amd": "hip",
    "apple": "metal",
    "intel": "sycl",
    "other": "vulkan",
}
UNTOLD = "how much memory is free is not told by each device; squidbot status says by which"
BOUNDS = {
    "vram": "the free memory of the GPUs",
    "memory": "free main memory",
    "native-limit": "what the model was trained with",
    "model-cap": "context_window",
    "window.max": "window.max",
}


class Sized(NamedTuple):
    """The size of one model's window.

    Attributes:
        window_tokens: None where none fits, or nothing can be said.
        source: "auto-vram", or "auto-ram" where there is no GPU.
        reason: in a sentence how the window came about, or why there is none.
        native_tokens: what the model was trained with; None where the file does not say.
        loading: how it is to be loaded, but for the window.
        cards: the devices that it was sized for.
        fit: all that was worked out; None where nothing can be said.
    """

    window_tokens: int | None
    source: str
    reason: str
    native_tokens: int | None
    loading: Loading
    cards: tuple[Card, ...]
    reserved: Reserved
    model: Model | None = None
    fit: Fit | None = None

    def predicted(self, loading: Loading) -> Sizing | None:
        """Return what the model takes when it is loaded so; None where that can't be said."""
        return measure(self.model, loading, self.cards, self.reserved) if self.model else None


def cards_of(probed: Probed, main: MainMemory | None) -> tuple[Card, ...]:
    """Return the devices that a model can be put on: GPUs in their order, and main memory behind them.

    A runtime is built for one vendor: of GPUs of several, those of the vendor whose have most free. Where one of these
    does not tell what is free, none is returned, nor main memory: a runtime would use it all the same.
    """
    free: dict[Vendor, int] = {}
    for one in probed.devices:
        free[one.vendor] = free.get(one.vendor, 0) + (one.free_bytes or 0)
    vendor = max(free, key=lambda name: free[name], default="other")
    used = [one for one in probed.devices if one.vendor == vendor]
    cards = [
        Card(KINDS[one.vendor], one.free_bytes, _name(one), one.unified) for one in used if one.free_bytes is not None
    ]
    if len(cards) < len(used):
        return ()
    return (*cards, *([Card("cpu", main.available_bytes, "main memory")] if main else []))


def size_window(loaded: Loaded, alias: str, header: Header, cards: tuple[Card, ...]) -> Sized:
    """Return the window of a model with that header on devices as they are now; that none fits is an answer, too.

    Raises:
        ConfigError: llama.cpp would not load it in this way, or the projector is not there.
        ModelFileError: the header is wrong.
    """
    settings, wanted = loaded.settings, loaded.settings.model(alias)
    on_gpus = any(card.kind != "cpu" for card in cards)
    loading = loading_of(loaded, wanted)
    if not on_gpus and loading.n_gpu_layers < 0 and wanted.adapter != "ollama":
        # All of it was sized for main memory: a GPU that nobody has found, or is to use, must not get it.
        loading = replace(loading, n_gpu_layers=0)
    reserved = Reserved(settings.window.vram_margin_mib * MIB, projector_bytes(loaded, alias))
    source = "auto-vram" if on_gpus else "auto-ram"
    blank = Sized(None, source, "", header.number("context_length", 0) or None, loading, cards, reserved)
    if not cards:
        return blank._replace(loading=loading_of(loaded, wanted), reason=UNTOLD)
    try:
        model = model_of(header)
    except SizingError as error:
        return blank._replace(reason=str(error))
    try:
        found = _fitted(loaded, wanted, model, blank)
    except ConfigError as error:
        raise ConfigError(f"{error} @ {loaded.source}.models[{alias!r}]") from error
    return blank._replace(
        window_tokens=found.window_tokens,
        reason=_reason(found),
        loading=found.sizing.loading,
        model=model,
        fit=found,
    )


def _fitted(loaded: Loaded, wanted: Definition, model: Model, blank: Sized) -> Fit:
    """Return the largest window; where none fits and layers are "auto", that of as many as hold the smallest.

    Raises:
        ConfigError: llama.cpp would not load it in this way.
    """
    window, cap = loaded.settings.window, wanted.context_window
    # A definition may ask for less than sizing would ever choose; all other caps are applied to what fits.
    least = min(window.min, cap or window.min)
    bounds = Bounds(least, window.max, cap if least == cap else None)
    loading = blank.loading
    if wanted.n_gpu_layers == AUTO_LAYERS:
        loading = with_layers_that_fit(model, loading, blank.cards, bounds, blank.reserved)
    return fit(model, loading, blank.cards, bounds, blank.reserved)


def _reason(found: Fit) -> str:
    if found.window_tokens is None:
        more = f'; n_gpu_layers = "auto" would put {found.n_gpu_layers} of them there' if found.n_gpu_layers else ""
        return f"does not fit: {found.reason}{more}"
    sizing, layers = found.sizing, found.sizing.loading.n_gpu_layers
    taken = f"{sizing.total_bytes / MIB:,.1f} MiB for weights, cache and compute buffers"
    gpus = len(sizing.devices) > 1
    partial = f", {layers} of {sizing.blocks + 1} layers on GPUs" if gpus and 0 <= layers <= sizing.blocks else ""
    bound = BOUNDS[found.bound_by] if found.bound_by else ""
    return f"{found.window_tokens:,} tokens fit, bound by {bound}: {taken}{partial}"


def _name(device: Device) -> str:
    return f"{device.number}: {device.name}" if device.name else str(device.number)
