"""The largest window of a model that fits memory, and alternatives where none does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from squidbot.core.errors import ConfigError
from squidbot.core.sizing.memory import CPU, DEFAULT_RESERVED, MIB, SizingCalculator, sharing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from squidbot.core.sizing.header import Card, Loading
    from squidbot.core.sizing.memory import ModelLayout, ReservedMemory, Sizing

# Windows are multiples of this.
WINDOW_STEP = 1024
# A batch of half the usual: the compute buffer is about half as large, and prompts are read more slowly.
SMALL_BATCH = 256

# Types of the cache that take less, more exact first.
_SMALLER: tuple[Literal["q8_0", "q5_1", "q5_0", "q4_1", "q4_0"], ...] = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0")
# A margin that does where no other program uses the GPU: drivers keep 300 to 500 MiB.
SMALL_MARGIN_BYTES = 512 * MIB

# What limits a window: free memory of a GPU or of the machine; else the smallest of the trained window, the model's cap
# in the settings, and the cap of all windows.
Bound = Literal["vram", "memory", "native-limit", "model-cap", "window.max"]
# What an alternative changes.
Change = Literal[
    "window",
    "flash_attn",
    "swa_full",
    "q8_0",
    "q5_1",
    "q5_0",
    "q4_1",
    "q4_0",
    "n_ubatch",
    "margin",
    "n_gpu_layers",
    "cpu",
]


# Types for which llama.cpp computes attention on the CPU of a machine with NVIDIA GPUs, unless built otherwise.
SLOW_TYPES: tuple[Change, ...] = ("q5_1", "q5_0", "q4_1")
CHANGES_IN_ORDER: tuple[Change, ...] = get_args(Change)
# Changes of how attention is computed, of which one goes at a time; with the others at most so many.
CACHE_CHANGES: frozenset[Change] = frozenset({"flash_attn", *_SMALLER})
MOST_CHANGES = 4


class Bounds(NamedTuple):
    """The range of windows to search, in tokens.

    Attributes:
        least_tokens: the smallest useful window (`window.min`).
        most_tokens: the largest wanted window (`window.max`).
        cap_tokens: the largest for this model; `None`: no cap.
    """

    least_tokens: int = 2048
    most_tokens: int = 131_072
    cap_tokens: int | None = None


DEFAULT_BOUNDS = Bounds()


class Fit(NamedTuple):
    """The largest window that fits, or why none does.

    Attributes:
        window_tokens: None: none fits.
        bound_by: what keeps it from being larger; `None` if none fits.
        sizing: with that window; where none fits, with the smallest.
        reason: why none fits, in a sentence with numbers; "" if one does.
        n_gpu_layers: where none fits, the most layers on GPUs with which the smallest window fits; `None`: not even
            with none, or there is no GPU.
    """

    window_tokens: int | None
    bound_by: Bound | None
    sizing: Sizing
    reason: str = ""
    n_gpu_layers: int | None = None


class Alternative(NamedTuple):
    """A change of the settings that makes a window fit.

    Attributes:
        change: what is different: a smaller window, flash attention on, sliding layers that keep what they see, the
            cache as q8_0, q5_1, q5_0, q4_1 or q4_0, batches of 256, a margin of 512 MiB, fewer layers on GPUs, or no
            GPU at all.
        window_tokens: the largest window with it.
        sizing: what the model takes then; `sizing.loading` is how it is loaded.
        also: further changes, where one alone is not enough.
    """

    change: Change
    window_tokens: int
    sizing: Sizing
    also: tuple[Change, ...] = ()


def windows_between(model: ModelLayout, bounds: Bounds) -> Sequence[int]:
    """Return the windows to try, in rising order; at least one.

    Raises:
        ConfigError: a bound is below 1.
    """
    top, _ = limit_of(model, bounds)
    if min(top, bounds.least_tokens) < 1:
        raise ConfigError(f"a window must be above 0 tokens, not {min(top, bounds.least_tokens)}")
    return range(-(-bounds.least_tokens // WINDOW_STEP) * WINDOW_STEP, top + 1, WINDOW_STEP) or (top,)


def limit_of(model: ModelLayout, bounds: Bounds) -> tuple[int, Bound]:
    """Return the largest window that is wanted, in tokens, and what limits it."""
    limits: list[tuple[int, Bound]] = [(bounds.most_tokens, "window.max")]
    if bounds.cap_tokens is not None:
        limits.insert(0, (bounds.cap_tokens, "model-cap"))
    if model.trained_tokens:
        limits.insert(0, (model.trained_tokens, "native-limit"))
    return min(limits, key=lambda limit: limit[0])


class WindowSearch(NamedTuple):
    """The search for the largest window with which a model fits on every device.

    Its methods raise ConfigError where llama.cpp would not load the model so, or a bound is below 1; SizingError for
    an unknown type of a tensor; ModelFileError for a missing key, or one that is out of its range.

    Attributes:
        model: the model.
        loading: how it is to be loaded; its `n_ctx` does not count.
        cards: the GPUs in the order of their numbers, and the free main memory, as a card "cpu".
        bounds: the windows to search.
        reserved: further memory to set aside.
    """

    model: ModelLayout
    loading: Loading
    cards: Sequence[Card]
    bounds: Bounds = DEFAULT_BOUNDS
    reserved: ReservedMemory = DEFAULT_RESERVED

    def fit(self) -> Fit:
        """Return the largest window that fits; that none fits is a result, too.

        It is the greatest multiple of 1,024 within the bounds and the trained window. If there is no multiple between
        them, or the model was trained with less than the least, the upper bound itself is tried.
        """
        calculator, windows = self._calculator(), self._windows()
        found = _largest(windows, lambda window: self._sizing(calculator, window))
        if found is None:
            sizing = self._sizing(calculator, windows[0])
            return Fit(None, None, sizing, _why(sizing), self._most_layers(calculator, sizing))
        window, sizing = found
        if window == windows[-1]:
            return Fit(window, limit_of(self.model, self.bounds)[1], sizing)
        beyond = self._sizing(calculator, windows[windows.index(window) + 1])
        return Fit(window, "memory" if beyond.tightest.number == CPU else "vram", sizing)

    def with_layers_that_fit(self) -> Loading:
        """Return the loading with as many layers on GPUs as hold the least window; unchanged if none do."""
        layers = self.fit().n_gpu_layers
        return self.loading if layers is None else replace(self.loading, n_gpu_layers=layers)

    def alternatives(self) -> tuple[Alternative, ...]:
        """Return changes that allow a larger window than `fit` finds; each changes one thing.

        If no window fits, all changes that make one fit. For one requested window, make it both bounds. If a window is
        requested, or none fits, and no change on the same devices is enough, the smallest combination that is enough
        comes behind these changes.
        """
        now, windows = self.fit(), self._windows()
        if now.window_tokens == windows[-1]:
            return ()
        found = _fitting(self._changes(), now.window_tokens or 0)
        is_requested = limit_of(self.model, self.bounds)[1] == "model-cap"
        wanted = windows[0] if now.window_tokens is None else windows[-1]
        if (now.window_tokens is None or is_requested) and all(one.window_tokens < wanted for one in found):
            found += self._combination(wanted)
        if now.window_tokens is not None:
            return found
        smaller = Bounds(WINDOW_STEP, max(self.bounds.least_tokens - 1, 1), self.bounds.cap_tokens)
        return _fitting([("window", self._replace(bounds=smaller))]) + found + _fitting(self._elsewhere(now))

    def _combination(self, wanted: int) -> tuple[Alternative, ...]:
        """Return the fewest changes that together make a window of `wanted` tokens fit, with the most exact cache.

        If that one is slow on most GPUs, the best with another cache comes behind it.
        """
        for count in range(2, MOST_CHANGES + 1):
            fitting = []
            for changes, search in sorted(self._combined(count), key=lambda one: _lost(one[0])):
                found = search._largest_window()  # noqa: SLF001  # its own kind
                if found and found[0] >= wanted:
                    fitting.append(Alternative(changes[0], *found, also=changes[1:]))
            if fitting:
                fast = (one for one in fitting if not {one.change, *one.also}.intersection(SLOW_TYPES))
                best, quick = fitting[0], next(fast, fitting[0])
                return (best,) if quick is best else (best, quick)
        return ()

    def _combined(
        self, count: int, before: tuple[Change, ...] = ()
    ) -> Iterator[tuple[tuple[Change, ...], WindowSearch]]:
        """Yield so many changes at once, in their order; one of the cache, whose small types set flash attention."""
        done = CHANGES_IN_ORDER[: CHANGES_IN_ORDER.index(before[-1]) + 1] if before else ()
        for change, search in self._changes():
            if change in done or (change in CACHE_CHANGES and not CACHE_CHANGES.isdisjoint(before)):
                continue
            if count == 1:
                yield (*before, change), search
            else:
                yield from search._combined(count - 1, (*before, change))  # noqa: SLF001  # its own kind

    def _windows(self) -> Sequence[int]:
        return windows_between(self.model, self.bounds)

    def _calculator(self) -> SizingCalculator:
        return SizingCalculator(self.model, self.loading, self.cards, self.reserved)

    def _sizing(self, calculator: SizingCalculator, window: int) -> Sizing:
        """Return the memory of a window: one for each sequence, unless they share one."""
        sizing = calculator.at(window if self.loading.kv_unified else window * self.loading.n_seq_max)
        return sharing(sizing, self.cards)

    def _largest_window(self) -> tuple[int, Sizing] | None:
        """Return the largest window and its sizing; None if nothing fits, or llama.cpp would not load it so."""
        try:
            calculator = self._calculator()
        except ConfigError:
            return None
        return _largest(self._windows(), lambda window: self._sizing(calculator, window))

    def _most_layers(self, calculator: SizingCalculator, sizing: Sizing) -> int | None:
        """Return the most layers on GPUs, fewer than requested, with which the smallest window fits."""
        gpus, all_layers, wanted = len(sizing.devices) - 1, self.model.blocks + 1, sizing.loading.n_gpu_layers
        fewer = range(all_layers if wanted < 0 else min(wanted, all_layers))
        if not gpus or not fewer:
            return None

        def take(layers: int) -> Sizing:
            return self._sizing(calculator.with_layers(layers), self._windows()[0])

        if gpus > 1:  # a layer less may move others from one device to the next
            return next((layers for layers in reversed(fewer) if take(layers).fits), None)
        found = _largest(fewer, take)
        return found[0] if found else None

    def _changes(self) -> Iterator[tuple[Change, WindowSearch]]:
        """Yield changes on the same devices, the cheapest first."""
        loading = self.loading
        if not loading.flash_attn:
            yield "flash_attn", self._replace(loading=replace(loading, flash_attn=True))
        if loading.swa_full and self.model.shape.slides:
            yield "swa_full", self._replace(loading=replace(loading, swa_full=False))
        for name in _SMALLER:
            yield name, self._replace(loading=replace(loading, type_k=name, type_v=name, flash_attn=True))
        if loading.n_ubatch > SMALL_BATCH:
            yield "n_ubatch", self._replace(loading=replace(loading, n_ubatch=SMALL_BATCH))
        if self.reserved.margin_bytes > SMALL_MARGIN_BYTES and any(card.kind != "cpu" for card in self.cards):
            yield "margin", self._replace(reserved=self.reserved._replace(margin_bytes=SMALL_MARGIN_BYTES))

    def _elsewhere(self, now: Fit) -> Iterator[tuple[Change, WindowSearch]]:
        """Yield other placements: fewer layers on GPUs with the smallest window, and no GPU."""
        if now.n_gpu_layers is not None:
            least = self._windows()[0]
            loading = replace(self.loading, n_gpu_layers=now.n_gpu_layers)
            yield "n_gpu_layers", self._replace(loading=loading, bounds=Bounds(least, least))
        if len(now.sizing.devices) > 1:
            main = tuple(card for card in self.cards if card.kind == "cpu")
            yield "cpu", self._replace(loading=replace(self.loading, n_gpu_layers=0), cards=main)


def _fitting(searches: Iterable[tuple[Change, WindowSearch]], most: int = 0) -> tuple[Alternative, ...]:
    """Return the changes with which more than `most` tokens fit."""
    found = ((change, search._largest_window()) for change, search in searches)  # noqa: SLF001  # its own kind
    return tuple(Alternative(change, *largest) for change, largest in found if largest and largest[0] > most)


def _lost(changes: Sequence[Change]) -> int:
    """Return how inexact changes make the cache: 0 as it is, 1 for q8_0, and so on."""
    return max((_SMALLER.index(change) + 1 for change in _SMALLER if change in changes), default=0)


def _largest(numbers: Sequence[int], take: Callable[[int], Sizing]) -> tuple[int, Sizing] | None:
    """Return the largest of rising numbers that fits, with its sizing; a larger number never takes less."""
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
    unknown = next((device.compute.reason for device in sizing.devices if device.compute.kind == "unknown"), "")
    if unknown:
        return unknown
    device = sizing.tightest
    where = f"device {device.number}" if device.number != CPU else "main memory"
    margin = f" and the margin {_mib(device.margin_bytes)}" if device.margin_bytes else ""
    takes = f"{sizing.window_tokens:,} tokens take {_mib(device.total_bytes)} of {where}"
    free = f"{_mib(device.free_bytes or 0)} are free: {_mib(-(device.left_bytes or 0))} too few"
    return f"{takes} (weights {_mib(device.weights_bytes)}){margin}; {free}"


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / MIB:,.1f} MiB"
