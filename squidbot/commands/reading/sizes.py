"""How much memory a model file takes on some devices, and the largest window that fits, as one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.gguf import read_header
from squidbot.commands.reading.verified import Verified, largest_window, verified_at, with_compute
from squidbot.core.errors import SizingError
from squidbot.core.sizing.fit import (
    Alternative,
    Bound,
    Bounds,
    Fit,
    alternatives,
    fit,
    limit_of,
    windows_between,
    with_layers_that_fit,
)
from squidbot.core.sizing.header import tensor_bytes
from squidbot.core.sizing.memory import Reserved, measure, model_of, placed, sharing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.sizing.header import Card, Header, Loading
    from squidbot.core.sizing.memory import Sizing

__all__ = ["Asked", "Size", "size_of"]


class Asked(NamedTuple):
    """What is to be sized.

    Attributes:
        path: the model file.
        loading: how it is loaded; `n_ctx` 0: with the largest window that fits.
        cards: the devices.
        bounds: between which windows the largest is looked for.
        reserved: what is set aside besides.
        auto_layers: whether fewer layers on GPUs will do.
        verify: whether llama.cpp itself is asked, too.
    """

    path: str
    loading: Loading
    cards: tuple[Card, ...]
    bounds: Bounds
    reserved: Reserved
    auto_layers: bool = False
    verify: bool = False


class Size(NamedTuple):
    """The answer.

    Attributes:
        header: what the file says.
        sizing: what the model takes with the window that was asked for, else with the largest that fits, else with the
            smallest; None where that can't be said.
        found: the largest window; None where that can't be said.
        others: what would fit better.
        refused: why nothing can be said from the header; "" where it can.
        verified: None where llama.cpp was not asked.
    """

    asked: Asked
    header: Header
    sizing: Sizing | None
    found: Fit | None
    others: tuple[Alternative, ...]
    refused: str
    verified: Verified | None

    @property
    def tensor_bytes(self) -> int:
        """The tensors that llama.cpp loads, each once, without padding."""
        loaded = {one.tensor.name: one.tensor for one in placed(self.header, self.asked.loading, ())}
        return sum(map(tensor_bytes, loaded.values()))

    @property
    def fits(self) -> bool:
        """Whether there is room for what was asked."""
        return self.sizing is not None and self.sizing.fits


def size_of(asked: Asked) -> Size:
    """Return how much memory a model takes.

    Raises:
        ConfigError: llama.cpp would not load it so.
        ModelFileError: the file is damaged.
        ModelLoadError: llama.cpp, asked itself, does not load it.
        SizingError: llama.cpp was to be asked, and is not there.
    """
    header = read_header(asked.path)
    try:
        answer = _from_header(asked, header)
    except SizingError as error:
        answer = Size(asked, header, None, None, (), str(error), None)
    if not asked.verify:
        return answer
    if answer.sizing and answer.sizing.compute_kind == "unknown":
        answer = _found_by_llama_cpp(asked, header, answer, answer.sizing)
    verified = verified_at(asked.path, answer.sizing.loading if answer.sizing else asked.loading)
    sizing = with_compute(answer.sizing, verified.said) if answer.sizing else None
    return answer._replace(verified=verified, sizing=sizing)


def _from_header(asked: Asked, header: Header) -> Size:
    model, loading, bounds = model_of(header), asked.loading, asked.bounds
    if loading.n_ctx:
        bounds = Bounds(min(bounds.least_tokens, loading.n_ctx), max(bounds.most_tokens, loading.n_ctx))
    if asked.auto_layers:
        held = bounds._replace(least_tokens=loading.n_ctx or bounds.least_tokens)
        loading = with_layers_that_fit(model, loading, asked.cards, held, asked.reserved)
    found = fit(model, loading, asked.cards, bounds, asked.reserved)
    sizing = found.sizing
    if loading.n_ctx:
        sizing = sharing(measure(model, loading, asked.cards, asked.reserved), asked.cards)
        bounds = Bounds(loading.n_ctx, loading.n_ctx)
    others = _others(alternatives(model, loading, asked.cards, bounds, asked.reserved), sizing)
    return Size(asked, header, sizing, found, others, "", None)


def _found_by_llama_cpp(asked: Asked, header: Header, answer: Size, sizing: Sizing) -> Size:
    """Return the answer with the largest window that llama.cpp itself says fits, where the header does not tell."""
    model, bounds = model_of(header), asked.bounds
    windows = windows_between(model, bounds)
    largest = largest_window(
        asked.path, sizing.loading, windows, lambda loading: measure(model, loading, asked.cards, asked.reserved)
    )
    if largest is None:
        reason = "llama.cpp was asked, and does not see these devices, or has no room on them"
        found = answer.found._replace(reason=f"{sizing.devices[0].compute.reason}; {reason}") if answer.found else None
        return answer._replace(found=found)
    window, taken = largest
    bound: Bound = "memory" if len(taken.devices) == 1 else "vram"
    found = Fit(window, limit_of(model, bounds)[1] if window == windows[-1] else bound, taken)
    return answer._replace(found=found, sizing=sizing if asked.loading.n_ctx else taken)


def _others(found: Sequence[Alternative], sizing: Sizing) -> tuple[Alternative, ...]:
    """Return what would change something: all of it where nothing fits."""
    return tuple(one for one in found if not sizing.fits or one.window_tokens > sizing.window_tokens)
