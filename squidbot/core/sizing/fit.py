"""The largest window of a model that fits, and what would fit where none does."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.memory import CPU, DEFAULT_RESERVED, MIB, SizingCalculator, sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.core.sizing.header import Card, Loading
    from squidbot.core.sizing.memory import ModelLayout, ReservedMemory, Sizing

__all__ = [
    "DEFAULT_BOUNDS",
    "Alternative",
    "Bound",
    "Bounds",
    "Change",
    "Fit",
    "alternatives",
    "fit",
    "limit_of",
    "windows_between",
    "with_layers_that_fit",
]

# Windows are multiples of it (sizing by free memory: V6).
WINDOW_STEP = 1024
# A batch of half the usual: the compute buffer is about half as large, and prompts are read more slowly.
SMALL_BATCH = 256

# Types of the cache that take less, more exact first.
_SMALLER: tuple[Literal["q8_0", "q4_0"], ...] = ("q8_0", "q4_0")

# Why a window is no larger: free memory of a GPU, or of the machine; else the first of these that
# is smallest: what the model was trained with, its cap in the settings, that of all windows.
Bound = Literal["vram", "memory", "native-limit", "model-cap", "window.max"]
# What is loaded otherwise.
Change = Literal["window", "flash_attn", "swa_full", "q8_0", "q4_0", "n_ubatch", "n_gpu_layers", "cpu"]


class Bounds(NamedTuple):
    """Between which windows one is looked for, in tokens.

    Attributes:
        least_tokens: a smaller one is of no use (`window.min`).
        most_tokens: a larger one is not wanted (`window.max`).
        cap_tokens: the same for this model; None: no cap.
    """

    least_tokens: int = 2048
    most_tokens: int = 131_072
    cap_tokens: int | None = None


DEFAULT_BOUNDS = Bounds()


class Fit(NamedTuple):
    """The largest window that fits, or that none does.

    Attributes:
        window_tokens: None: none fits.
        bound_by: why it is no larger; None where none fits.
        sizing: with that window; where none fits, with the smallest.
        reason: why none fits, in a sentence with numbers; "" where one does.
        n_gpu_layers: where none fits, the most layers on GPUs with which the smallest does; None: not even without, or
            there is no GPU.
    """

    window_tokens: int | None
    bound_by: Bound | None
    sizing: Sizing
    reason: str = ""
    n_gpu_layers: int | None = None


class Alternative(NamedTuple):
    """Something else that fits.

    Attributes:
        change: what is different: a smaller window, flash attention on, sliding layers that keep what they see, the
            cache as q8_0 or q4_0, batches of 256, fewer layers on GPUs, or no GPU at all.
        window_tokens: the largest window with it.
        sizing: what the model takes then; `sizing.loading` is how it is loaded.
    """

    change: Change
    window_tokens: int
    sizing: Sizing


def fit(
    model: ModelLayout,
    loading: Loading,
    cards: Sequence[Card],
    bounds: Bounds = DEFAULT_BOUNDS,
    reserved: ReservedMemory = DEFAULT_RESERVED,
) -> Fit:
    """Return the largest window with which a model fits on every device; that none does is a result, too.

    It is the greatest multiple of 1,024 within the bounds and what the model was trained with. Where there is no
    multiple between them, or the model was trained with less than the least, the upper bound itself is tried.

    Args:
        model: the model.
        loading: how it is to be loaded; its `n_ctx` does not count.
        cards: the GPUs in the order of their numbers, and what main memory has free, as a card "cpu".
        bounds: between which windows.
        reserved: what is set aside besides.

    Raises:
        ConfigError: llama.cpp would not load it so, or a bound is below 1.
        SizingError: the type of a tensor is unknown.
        ModelFileError: a key that is needed is missing or out of its range.
    """
    return _fit(_Case(model, loading, tuple(cards), bounds, reserved))


def with_layers_that_fit(
    model: ModelLayout,
    loading: Loading,
    cards: Sequence[Card],
    bounds: Bounds = DEFAULT_BOUNDS,
    reserved: ReservedMemory = DEFAULT_RESERVED,
) -> Loading:
    """Return how to load a model with as many layers on GPUs as hold the least window; unchanged where none do.

    Parameters and exceptions are those of `fit`.
    """
    found = fit(model, loading, cards, bounds, reserved)
    return loading if found.n_gpu_layers is None else replace(loading, n_gpu_layers=found.n_gpu_layers)


def alternatives(
    model: ModelLayout,
    loading: Loading,
    cards: Sequence[Card],
    bounds: Bounds = DEFAULT_BOUNDS,
    reserved: ReservedMemory = DEFAULT_RESERVED,
) -> tuple[Alternative, ...]:
    """Return what would fit better than what `fit` finds for the same: each changes one thing.

    Where nothing fits, all that does; else what gives a larger window. Parameters and exceptions are those of `fit`.
    For one window that was asked for, it is both the least and the most of the bounds.
    """
    case = _Case(model, loading, tuple(cards), bounds, reserved)
    now = _fit(case)
    if now.window_tokens == case.windows()[-1]:
        return ()
    cases = _changes(case)
    if now.window_tokens is None:
        smaller = Bounds(WINDOW_STEP, max(bounds.least_tokens - 1, 1), bounds.cap_tokens)
        cases = chain([("window", case._replace(bounds=smaller))], cases, _elsewhere(case, now))
    found = ((change, _search(other)) for change, other in cases)
    most = now.window_tokens or 0
    return tuple(Alternative(change, *largest) for change, largest in found if largest and largest[0] > most)


def windows_between(model: ModelLayout, bounds: Bounds) -> Sequence[int]:
    """Return the windows of a model that come into question, in rising order; at least one.

    Raises:
        ConfigError: a bound is below 1.
    """
    top, _ = limit_of(model, bounds)
    if min(top, bounds.least_tokens) < 1:
        raise ConfigError(f"a window must be above 0 tokens, not {min(top, bounds.least_tokens)}")
    return range(-(-bounds.least_tokens // WINDOW_STEP) * WINDOW_STEP, top + 1, WINDOW_STEP) or (top,)


def limit_of(model: ModelLayout, bounds: Bounds) -> tuple[int, Bound]:
    """Return the largest window of a model that is wanted, in tokens, and who says so."""
    limits: list[tuple[int, Bound]] = [(bounds.most_tokens, "window.max")]
    if bounds.cap_tokens is not None:
        limits.insert(0, (bounds.cap_tokens, "model-cap"))
    if model.trained_tokens:
        limits.insert(0, (model.trained_tokens, "native-limit"))
    return min(limits, key=lambda each: each[0])


class _Case(NamedTuple):
    """All that a window depends on."""

    model: ModelLayout
    loading: Loading
    cards: tuple[Card, ...]
    bounds: Bounds
    reserved: ReservedMemory

    def windows(self) -> Sequence[int]:
        """Return the windows that come into question, as `windows_between` does."""
        return windows_between(self.model, self.bounds)

    def limit(self) -> tuple[int, Bound]:
        """Return the largest window that is wanted, and who says so."""
        return limit_of(self.model, self.bounds)

    def measured(self) -> SizingCalculator:
        """Return what says how much memory a window takes."""
        return SizingCalculator(self.model, self.loading, self.cards, self.reserved)

    def sizing(self, measured: SizingCalculator, window: int) -> Sizing:
        """Return what a window takes; of each sequence, where they share none."""
        sizing = measured.at(window if self.loading.kv_unified else window * self.loading.n_seq_max)
        return sharing(sizing, self.cards)


def _fit(case: _Case) -> Fit:
    measured, windows = case.measured(), case.windows()
    found = _largest(windows, lambda window: case.sizing(measured, window))
    if found is None:
        sizing = case.sizing(measured, windows[0])
        return Fit(None, None, sizing, _why(sizing), _most_layers(case, measured, sizing))
    window, sizing = found
    if window == windows[-1]:
        return Fit(window, case.limit()[1], sizing)
    beyond = case.sizing(measured, windows[windows.index(window) + 1])
    return Fit(window, "memory" if beyond.tightest.number == CPU else "vram", sizing)


def _search(case: _Case) -> tuple[int, Sizing] | None:
    """Return the largest window of a case; None where nothing fits, or llama.cpp would not load it so."""
    try:
        measured = case.measured()
    except ConfigError:
        return None
    return _largest(case.windows(), lambda window: case.sizing(measured, window))


def _largest(numbers: Sequence[int], take: Callable[[int], Sizing]) -> tuple[int, Sizing] | None:
    """Return the last of rising numbers with what it takes, where that fits: the more, the more they take."""
    sizing = take(numbers[-1])
    if sizing.fits:
        return numbers[-1], sizing
    fits, too_large, found = -1, len(numbers) - 1, None
    while too_large - fits > 1:
        middle = (fits + too_large) // 2
        sizing = take(numbers[middle])
        if sizing.fits:
            fits, found = middle, (numbers[middle], sizing)
        else:
            too_large = middle
    return found


def _why(sizing: Sizing) -> str:
    """Return why a window does not fit."""
    unknown = next((held.compute.reason for held in sizing.devices if held.compute.kind == "unknown"), "")
    if unknown:
        return unknown
    held = sizing.tightest
    where = f"device {held.number}" if held.number != CPU else "main memory"
    margin = f" and the margin {_mib(held.margin_bytes)}" if held.margin_bytes else ""
    return (
        f"{sizing.window_tokens:,} tokens take {_mib(held.total_bytes)} of {where} (weights {_mib(held.weights_bytes)})"
        f"{margin}; {_mib(held.free_bytes or 0)} are free: {_mib(-(held.left_bytes or 0))} too few"
    )


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f} MiB"


def _most_layers(case: _Case, measured: SizingCalculator, sizing: Sizing) -> int | None:
    """Return with how many layers on GPUs the smallest window fits: the most, below what was asked for."""
    gpus, all_layers, asked = len(sizing.devices) - 1, case.model.blocks + 1, sizing.loading.n_gpu_layers
    fewer = range(all_layers if asked < 0 else min(asked, all_layers))
    if not gpus or not fewer:
        return None

    def take(layers: int) -> Sizing:
        return case.sizing(measured.with_layers(layers), case.windows()[0])

    if gpus > 1:  # a layer less may move others from one device to the next
        return next((layers for layers in reversed(fewer) if take(layers).fits), None)
    found = _largest(fewer, take)
    return found[0] if found else None


def _changes(case: _Case) -> Iterator[tuple[Change, _Case]]:
    """Yield what can be loaded otherwise on the same devices, that which costs least first."""
    loading = case.loading
    if not loading.flash_attn:
        yield "flash_attn", case._replace(loading=replace(loading, flash_attn=True))
    if loading.swa_full and case.model.shape.slides:
        yield "swa_full", case._replace(loading=replace(loading, swa_full=False))
    for name in _SMALLER:
        yield name, case._replace(loading=replace(loading, type_k=name, type_v=name, flash_attn=True))
    if loading.n_ubatch > SMALL_BATCH:
        yield "n_ubatch", case._replace(loading=replace(loading, n_ubatch=SMALL_BATCH))


def _elsewhere(case: _Case, now: Fit) -> Iterator[tuple[Change, _Case]]:
    """Yield where else it can lie: fewer layers on GPUs, with the smallest window, and none."""
    if now.n_gpu_layers is not None:
        least = case.windows()[0]
        loading = replace(case.loading, n_gpu_layers=now.n_gpu_layers)
        yield "n_gpu_layers", case._replace(loading=loading, bounds=Bounds(least, least))
    if len(now.sizing.devices) > 1:
        main = tuple(card for card in case.cards if card.kind == "cpu")
        yield "cpu", case._replace(loading=replace(case.loading, n_gpu_layers=0), cards=main)
