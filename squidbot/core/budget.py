"""The token budget: context windows, tiers, caps and shares."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.messages import ContextWindow, Cost

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from squidbot.core.ports import Certificate


# The context window of a session: how large, how much of it is for input, and whether a request fits.

# The default reserve.
DEFAULT_RESERVE_TOKENS = 4096

CALIBRATED_FRACTION = 0.95
# The share of a refused request that should fit if the provider does not say: counters are rarely a third under.
LEFT_FRACTION = 0.67
# Share of the window that the estimate may fill: .85 for a heuristic, .95 once reported usage has calibrated it.
_SAFETY_FRACTIONS: dict[Certificate, float] = {
    "exact": 1.0,
    "anchored": CALIBRATED_FRACTION,
    "calibrated": CALIBRATED_FRACTION,
    "proved": 0.85,
    "measured": 0.85,
    "none": 0.85,
}

_UNITS = {"": 1, "k": 1000, "Ki": 1024, "m": 1_000_000, "Mi": 1024 * 1024}

# A request and its answer in fewer tokens hold no conversation.
LEAST_BUDGET_TOKENS = 256
_SHARE = re.compile(r"0?\.[0-9]{1,9}")

# Twelve digits are beyond any window; int() itself refuses a number only at 4,301 digits, and with a foreign error.
_SIZE = re.compile(r"([0-9]{1,12})(k|Ki|m|Mi)?")
MOST_TOKENS = 10**12 - 1


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """The settings that a window is opened with.

    Attributes:
        window_tokens: input and output together, above 0.
        reserved_output_tokens: room for the answer; None: `default_reserve_tokens`.
        safety_fraction: share of the window that the estimate may fill, 0 < x <= 1; None: by the counter's certificate.
        model_max_output_tokens: the longest answer of the model; None if unknown.
        model: the model's alias, "" if unknown.
        source: where the window came from, ("native-limit", "global-config", ...).
        model_parameters_billion: the size of the model; None if unknown.
        detail: how the window came about, in sentences; "" if there is nothing to tell.
        learned_for: as in `Window`.
    """

    window_tokens: int
    reserved_output_tokens: int | None = None
    safety_fraction: float | None = None
    model_max_output_tokens: int | None = None
    model: str = ""
    source: str = "default"
    model_parameters_billion: float | None = None
    detail: str = ""
    learned_for: str = ""


class Reserve(NamedTuple):
    """The room for the answers of one turn, in tokens, and the complexity, 0 to 1, of the question that opened it."""

    tokens: int
    score: float


def parse_tokens(text: str) -> int:
    """Return the tokens that "32000", "32k" (32,000), "32Ki" (32,768), "1m" or "1Mi" names; always above 0.

    Raises:
        ConfigError: the text is anything else: empty, signed, zero, another unit or another spelling.
    """
    size = _size_of(text)
    if not size:
        raise ConfigError(f"{text[:40]!r} is not a number of tokens; write 32000, 32k (32,000) or 32Ki (32,768)")
    return size


def _size_of(text: str) -> int:
    """Return the tokens that a text names, 0 if it names none."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNITS[match[2] or ""] if match else 0


def read_tokens(given: object, what: str) -> int:
    """Return a number of tokens that is given as one, or as a text as `parse_tokens` takes it; always above 0.

    Raises:
        ConfigError: it is none; the text begins with `what`, which is how the user calls it.
    """
    if isinstance(given, str):
        try:
            return parse_tokens(given)
        except ConfigError as error:
            raise ConfigError(f"{what} = {error}") from None
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 < given <= MOST_TOKENS and given % 1 == 0:
        return int(given)
    raise ConfigError(
        f"{what} must be a whole number of tokens below 10**12, such as 32000 or '32k', not {given!r:.60}"
    )


def read_budget(given: object) -> float | None:
    """Return a budget: whole tokens, written as a number or as "8k", or a share of a window, below 1; None for None.

    Raises:
        ConfigError: it is none of these, or fewer tokens than a conversation takes.
    """
    if given is None:
        return None
    budget = _budget_of(given)
    if 0 < budget < 1 or LEAST_BUDGET_TOKENS <= budget <= MOST_TOKENS:
        return budget
    if 0 < budget < LEAST_BUDGET_TOKENS:
        least = f"a request and its answer need at least {LEAST_BUDGET_TOKENS} tokens"
        raise ConfigError(f"budget = {given!r}: {least}; write a larger number, or remove it")
    raise ConfigError(f"budget must be a token count (8000, '8k') or a fraction of the window (0.5), not {given!r:.80}")


def _budget_of(given: object) -> float:
    """Return the number that a budget names, 0 if it names none."""
    if isinstance(given, str):
        text = given.strip()
        return float(text) if _SHARE.fullmatch(text) else _size_of(text)
    if isinstance(given, int | float) and not isinstance(given, bool) and (0 < given < 1 or given % 1 == 0):
        return given
    return 0


def default_reserve_tokens(window_tokens: int, model_max_tokens: int | None = None) -> int:
    """Return the default room for the answer: the model's longest answer, else 4096; at most window // 4.

    Both sizes are in tokens; `model_max_tokens` None means unknown.

    Raises:
        ConfigError: a size is not above 0.
    """
    _positive("context window", window_tokens)
    if model_max_tokens is None:
        return min(DEFAULT_RESERVE_TOKENS, window_tokens // 4)
    _positive("longest answer of the model", model_max_tokens)
    return min(model_max_tokens, window_tokens // 4)


def left_reserve_tokens(window_tokens: int) -> int:
    """Return the room for the answer that a heuristic counter leaves: window - floor(.85 window).

    Raises:
        ConfigError: the window is not above 0.
    """
    _positive("context window", window_tokens)
    return window_tokens - _policy_limit(window_tokens, safety_fraction_for("none"))


def safety_fraction_for(certificate: Certificate) -> float:
    """Return the share of the window that an estimate with this certificate may fill."""
    return _SAFETY_FRACTIONS[certificate]


def input_limit(window_tokens: int, reserved_output_tokens: int, safety_fraction: float) -> int:
    """Return the most tokens a request may cost: min(window - reserve, floor(safety x window)); at least 1.

    The share is taken of the decimal number that is written, not of its binary neighbour: .85 of 16000 is
    13600, of 16384 it is 13926.

    Raises:
        ConfigError: the window is not above 0, the reserve is negative, or the fraction is not within 0 < x <= 1.
        BudgetError: the reserve, or the safety share, leaves no token for input.
    """
    _positive("context window", window_tokens)
    if reserved_output_tokens < 0:
        raise ConfigError(f"reserved_output_tokens must be >= 0, not {reserved_output_tokens}")
    if not 0 < safety_fraction <= 1:
        raise ConfigError(f"safety_fraction must be above 0 and at most 1, not {safety_fraction}")
    if reserved_output_tokens >= window_tokens:
        both_tokens = reserved_output_tokens + 1
        key = "models.<alias>.context_window"
        raise BudgetError("reserve and one token of input", cost=both_tokens, budget=window_tokens, key=key)
    policy_tokens = _policy_limit(window_tokens, safety_fraction)
    if policy_tokens == 0:
        raise BudgetError("one token of input", cost=1, budget=0, key="window.safety_fraction")
    return min(window_tokens - reserved_output_tokens, policy_tokens)


@lru_cache(maxsize=64)  # a host opens session after session with few settings
def open_window(settings: WindowSettings, counter: str, certificate: Certificate) -> ContextWindow:
    """Return the window of a session whose requests are counted by `counter`, with its certificate.

    Its id follows from its fields, but for the model's size, the detail and `learned_for`: equal windows
    have equal ids in any process.

    Raises:
        ConfigError: a setting is out of its range.
        BudgetError: window, reserve and safety share leave no token for input.
    """
    window = settings.window_tokens
    reserve = settings.reserved_output_tokens
    if reserve is None:
        reserve = default_reserve_tokens(window, settings.model_max_output_tokens)
    fraction = settings.safety_fraction
    if fraction is None:
        fraction = safety_fraction_for(certificate)
    input_limit(window, reserve, fraction)
    fields = (window, reserve, fraction, counter, settings.model, settings.source)
    digest = hashlib.sha256(json.dumps(fields).encode("ascii")).hexdigest()
    size, learned_for = settings.model_parameters_billion, settings.learned_for
    return ContextWindow(f"lease-{digest[:12]}", *fields, size, settings.detail, learned_for)


def window_below(window: ContextWindow, refused_tokens: int, told_tokens: int | None = None) -> int:
    """Return the window that a refusal has shown, in tokens: smaller than the window's.

    It is what the provider tells of it, where that is smaller; else what leaves room for two thirds of what it refused.
    """
    if told_tokens is not None and 0 < told_tokens < window.window_tokens:
        return told_tokens
    left_tokens = int(LEFT_FRACTION * min(refused_tokens, window.window_tokens - window.reserved_output_tokens))
    return window.reserved_output_tokens + max(1, left_tokens)


def room(cost: Cost, window: ContextWindow) -> int:
    """Return the tokens that a request of this cost leaves free, by estimate and by bound; below 0: it is too large."""
    physical = window.window_tokens - window.reserved_output_tokens - cost.bound
    return min(physical, _policy_limit(window.window_tokens, window.safety_fraction) - cost.estimate)


def fits(cost: Cost, window: ContextWindow) -> bool:
    """Return whether a request of this cost fits, as an estimate and as a bound."""
    return room(cost, window) >= 0


@lru_cache(maxsize=256)  # a call asks several times for the same
def _policy_limit(window_tokens: int, safety_fraction: float) -> int:
    # str() of a float is the shortest decimal that names it: what the user wrote, exactly. In whole numbers, since
    # importing `fractions` takes a tenth as long as the whole core.
    digits, _, exponent = str(safety_fraction).partition("e")
    whole, _, part = digits.partition(".")
    return int(whole + part) * window_tokens // int(10 ** (len(part) - int(exponent or 0)))


def _positive(what: str, tokens: int) -> None:
    if tokens <= 0:
        raise ConfigError(f"the {what} must be > 0 tokens, not {tokens}")


# The five tiers of context windows.


@dataclass(frozen=True, slots=True)
class Tier:
    """The properties of windows of one range of sizes.

    Attributes:
        number: 1 to 5.
        label: the name shown to users.
        largest_window_tokens: the upper end of the range, itself inside; None for the last tier, which has no end.
        target_fraction: share of the available room that a compaction leaves filled; None if none is named.
        summaries: most summaries in view at the levels detailed, moderate, compact; older ones are merged.
        pinned_fraction: ceiling of pinned content as a share of the window.
        prompt_cap_tokens: ceiling of the host's mode prompt.
        layout: the most that each part of a request is given, in tokens; recent messages get the rest.
    """

    number: int
    label: str
    largest_window_tokens: int | None
    target_fraction: float | None
    summaries: tuple[int, int, int]
    pinned_fraction: float
    prompt_cap_tokens: int
    layout: tuple[tuple[str, int], ...]


# "Session summary" and "session" are one note on all that was said (in the first tier of 300 tokens); "critical" and
# "API contracts" are what is pinned; summaries by level, those of one level together.
_MINIMAL = (("system", 200), ("session", 300))
_BASIC = (("system", 500), ("contracts", 800), ("session", 500), ("detailed", 700))
_STANDARD = (
    ("system", 1000),
    ("task", 400),
    ("architecture", 1200),
    ("compact", 300),
    ("moderate", 600),
    ("detailed", 1200),
)
_LARGE = (("system", 1500), ("task", 600), ("architecture", 3000), ("contracts", 2000))
_PREMIUM = (*_LARGE, ("compact", 900), ("moderate", 3000), ("detailed", 6500))
_ULTRA = (*_LARGE, ("compact", 1500), ("moderate", 4500), ("detailed", 9000))

# Ranges are of the number given, binary or decimal. Low water is a target, at most the high-water mark less .10.
TIERS = (
    Tier(1, "Minimal", 4096, None, (0, 0, 0), 0.05, 400, _MINIMAL),
    Tier(2, "Basic", 8192, 0.80, (1, 0, 0), 0.10, 800, _BASIC),
    Tier(3, "Standard", 16384, 0.70, (1, 1, 1), 0.15, 1300, _STANDARD),
    Tier(4, "Premium", 32768, 0.70, (4, 3, 3), 0.25, 1800, _PREMIUM),
    Tier(5, "Ultra", None, 0.65, (5, 5, 5), 0.30, 1800, _ULTRA),
)


def tier_of(window_tokens: int) -> Tier:
    """Return the tier of a window of that many tokens, input and output together.

    Raises:
        ConfigError: the window is not above 0.
    """
    _positive("context window", window_tokens)
    return next(t for t in TIERS if t.largest_window_tokens is None or window_tokens <= t.largest_window_tokens)


# The resolution of a window: its sources in order, its caps, and one tier below if requested.

Sizing = Literal["max_safe", "one_tier_below", "manual"]

# The window if neither the file, the machine nor the user says anything.
FALLBACK_WINDOW_TOKENS = 32_768
# The sizes that tiers are named after, in binary K as model files have them.
TIER_WINDOWS = (2048, 4096, 8192, 16384, 32768, 65536, 131072)
# The sizes to try after one that could not be loaded: three quarters, then half, and so on.
RETRY_WINDOWS = tuple(size for power in range(17, 8, -1) for size in (2**power, 3 * 2 ** (power - 2)))


@dataclass(frozen=True, slots=True)
class WindowSources:
    """The sources of a window's size, in tokens; `None` if unknown.

    Attributes:
        asked_tokens: what the caller asks for; it goes before all else, as it is.
        model_tokens: what the definition of the model says.
        global_tokens: what the settings say for all models.
        native_tokens: what the model was trained for, by its file or its definition.
        sized_tokens: the largest that the machine's memory holds; `None` also where nothing fits.
        sized_source: which memory that is, as `ResolvedWindow.source` calls it: "auto-vram", "auto-ram".
        sized_reason: how that came about, or why there is none, in a sentence; "" if nobody looked.
        served_tokens: what a server that has loaded the model gives it.
        sizing: whether a size that fits is taken whole, one tier below, or not at all.
        min_tokens: the smallest that sizing may choose.
    """

    asked_tokens: int | None = None
    model_tokens: int | None = None
    global_tokens: int | None = None
    native_tokens: int | None = None
    sized_tokens: int | None = None
    sized_source: str = "auto-vram"
    sized_reason: str = ""
    served_tokens: int | None = None
    sizing: Sizing = "max_safe"
    min_tokens: int = TIER_WINDOWS[0]


class ResolvedWindow(NamedTuple):
    """A window in tokens, its source, and how it came about: a sentence for each step, in order."""

    window_tokens: int
    source: str
    steps: tuple[str, ...]

    def below(self, most_tokens: int | None, source: str, step: str) -> ResolvedWindow:
        """Return the window, cut to `most_tokens` where it is larger; `source` and `step` then say why."""
        if most_tokens is None or most_tokens >= self.window_tokens:
            return self
        return ResolvedWindow(most_tokens, source, (*self.steps, step.format(most_tokens)))


def resolve(known: WindowSources) -> ResolvedWindow:
    """Return the window of a session.

    Raises:
        ConfigError: a size is not above 0.
    """
    sizes = {
        "requested window": known.asked_tokens,
        "context_window of the model": known.model_tokens,
        "window.default": known.global_tokens,
        "native_context_limit": known.native_tokens,
        "window that fits": known.sized_tokens,
        "window that is served": known.served_tokens,
        "window.min": known.min_tokens,
    }
    given = {name: tokens for name, tokens in sizes.items() if tokens is not None}
    for name, tokens in given.items():
        _positive(name, tokens)
    if known.asked_tokens is not None:
        return ResolvedWindow(known.asked_tokens, "manual", (f"{known.asked_tokens:,} tokens requested by the caller",))
    sized_tokens = None if known.sizing == "manual" else known.sized_tokens
    steps = tuple(filter(None, (known.sized_reason,)))
    named = (
        (sized_tokens, known.sized_source, "" if steps else "{:,} tokens fit"),
        (known.model_tokens, "model-definition", "{:,} from the model's settings"),
        (known.global_tokens, "global-config", "{:,} by window.default"),
        (known.served_tokens, "served", "{:,} reported by the server"),
        (FALLBACK_WINDOW_TOKENS, "default", "{:,} by default"),
    )
    tokens, source, step = next((size, source, step) for size, source, step in named if size is not None)
    found = ResolvedWindow(tokens, source, (*steps, *filter(None, (step.format(tokens),))))
    found = found.below(known.model_tokens, "model-cap", "limited to {:,}: context_window of the model")
    found = found.below(known.native_tokens, "native-limit", "limited to {:,}: native limit of the model")
    if sized_tokens is not None and known.sizing == "one_tier_below":
        found = found.below(one_tier_below(found.window_tokens, known.min_tokens), "tier", "one tier below: {:,}")
    return found.below(known.served_tokens, "served", "limited to {:,}: reported by the server")


def one_tier_below(window_tokens: int, min_tokens: int = TIER_WINDOWS[0]) -> int:
    """Return the largest size of the next lower tier, in tokens; at least `min_tokens`.

    Within the lowest tier it is the largest of its sizes that fits; a window smaller than all of these stays.

    Raises:
        ConfigError: the window is not above 0.
    """
    number = tier_of(window_tokens).number
    below = [tier.largest_window_tokens or 0 for tier in TIERS if tier.number == number - 1]
    sizes = below or [size for size in TIER_WINDOWS if size <= window_tokens] or [window_tokens]
    return min(window_tokens, max(sizes[-1], min_tokens))


def descending(window_tokens: int, min_tokens: int = TIER_WINDOWS[0]) -> Iterator[int]:
    """Yield smaller sizes to try after a window could not be loaded, in tokens, the largest first.

    They are powers of two and what lies halfway; `min_tokens` is the last one.
    """
    yield from (size for size in RETRY_WINDOWS if min_tokens < size < window_tokens)
    if min_tokens < window_tokens:
        yield min_tokens


# The reliability of a model, by its size and by how often its notes were rewritten.

# Where a model of so many billion parameters, or a larger one, starts; below all of them .3.
SIZES = ((70.0, 0.95), (30.0, 0.85), (13.0, 0.7), (7.0, 0.5), (0.0, 0.3))
# What one lossy generation takes, and what is left at least.
LOSS_FRACTION, LEAST_LEFT = 0.15, 0.3
LEVELS = ((0.85, "high"), (0.60, "fair"), (0.40, "low"))
# Below this a new conversation is better.
LEAST_FRACTION = 0.40


def reliability(generations: int, parameters_billion: float | None = None, *, exponential: bool = False) -> float:
    """Return how reliably a model follows its conversation, 0 to 1.

    `generations` is how often text was told anew from text that was told itself: 0 if all is verbatim, 1 for notes
    that are made from what was said, whatever the number of compactions. A model of unknown size (None) has no factor.
    It falls linearly, or with `exponential` by a factor; both are equal up to one generation.
    """
    left = (1 - LOSS_FRACTION) ** generations if exponential else 1 - LOSS_FRACTION * generations
    return _factor(parameters_billion) * max(left, LEAST_LEFT)


def level_of(fraction: float) -> str:
    """Return the name of a reliability: "high" from .85, "fair" from .60, "low" from .40, below it "poor"."""
    return next((name for least, name in LEVELS if fraction >= least), "poor")


def _factor(parameters_billion: float | None) -> float:
    if parameters_billion is None:
        return 1.0
    return next(factor for least, factor in SIZES if parameters_billion >= least)


# The allocation of a budget: shares by weight within bounds, and a response room that grows with the question.

Verbosity = Literal["concise", "balanced", "detailed"]


@dataclass(frozen=True, slots=True)
class BudgetItem:
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


def allocate(
    total: int, items: Sequence[BudgetItem], *, unit: str = "tokens", key: str = "window.default"
) -> dict[str, int]:
    """Return the share of each item by name, in order of name; together at most `total`, each within its bounds.

    The level of a water-fill: every item gets weight x level, cut to [min, max], with one level for all.
    First up to what each can use now; what is left then goes on by weight up to the ceilings. Each is rounded to the
    nearest integer at that level; where a whole level is too much, the item nearest to its next integer comes first,
    ties by name.

    That is Webster's rounding. Rounding by the largest remainder keeps the level and moves the rounding: it can
    take from an item when the total grows (weights 6, 6, 2: the last gets 2 of 10, but 1 of 11), and a larger
    window must never give less. Over 4,000 random sets of 2 to 8 weights no share differed by more than 1.

    `unit` and `key` are for the error: the unit of all amounts, and the setting that makes the total larger.

    Raises:
        BudgetError: the minima exceed the total; the culprit is the item with the largest one.
        ConfigError: a weight or bound is negative, a minimum is above its maximum, or a name comes twice.
    """
    ordered = sorted(items, key=lambda item: item.name)
    _check_bounds(ordered)
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


# In per mille of the window, with tools and without: system text, tools, what the response may grow into, and the most
# for the conversation; then the most for the response.
_FIXED: Final = {True: (30, 60, 110, 600), False: (6, 0, 44, 800)}
_RESPONSE_MOST: Final[Mapping[bool, Mapping[Verbosity, int]]] = {
    True: {"concise": 250, "balanced": 350, "detailed": 450},
    False: {"concise": 200, "balanced": 250, "detailed": 300},
}
_RESPONSE_LEAST, _RESERVED_LEAST, _SAFETY = 150, 20, 50


def adaptive_shares(score: float, *, tools_mode: bool, verbosity: Verbosity = "balanced") -> dict[str, Fraction]:
    """Return the share of each part in a window, for a question of complexity `score`, 0 to 1; together at most 1.

    The response grows from 15 % by score x (maximum - 15 %); the reserved part pays first, down to 2 %, then the
    memory, which is for the conversation. Safety is inside the share that estimates may fill.

    Raises:
        ConfigError: the score is not within 0..1, or the verbosity is none of the three.
    """
    if not 0 <= score <= 1:
        raise ConfigError(f"a complexity score must be within 0..1, not {score}")
    maxima = _RESPONSE_MOST[tools_mode]
    if verbosity not in maxima:
        raise ConfigError(f"allocation.verbosity must be one of {', '.join(maxima)}, not {verbosity!r}")
    system, tools, spare, memory_most = _FIXED[tools_mode]
    # str() of a float is the decimal that was meant: .1 is a tenth here, and 15 % + .1 x 20 % is 17 %.
    extra = Fraction(str(score)) * (maxima[verbosity] - _RESPONSE_LEAST)
    response, reserved = _RESPONSE_LEAST + extra, max(Fraction(_RESERVED_LEAST), spare - extra)
    memory = min(Fraction(memory_most), 1000 - (system + tools + response + _SAFETY + reserved))
    names = ("system", "tools", "response", "safety", "reserved", "memory")
    parts: tuple[Fraction | int, ...] = (system, tools, response, _SAFETY, reserved, memory)
    return {name: Fraction(part) / 1000 for name, part in zip(names, parts, strict=True)}


def _check_bounds(ordered: Sequence[BudgetItem]) -> None:
    for item, following in pairwise(ordered):
        if item.name == following.name:
            raise ConfigError(f"duplicate budget item {item.name!r}")
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
    steps = range((max(highs) + 1) * max(weights) + 1)
    return bisect_right(steps, total, key=lambda step: sum(_at(step, weights, lows, highs))) - 1


def _at(step: int, weights: list[int], lows: list[int], highs: list[int]) -> list[int]:
    """Return weight x step / largest weight for each, to the nearest integer, cut to its bounds."""
    scale = max(weights)
    return [
        max(low, min(high, (2 * step * weight + scale) // (2 * scale)))
        for weight, low, high in zip(weights, lows, highs, strict=True)
    ]


# How much room a question's answer is likely to want, from 0 to 1.

# Characters looked at from either end; the score has 5 ms, and a pasted file says nothing about the request.
_LOOK_CHARS = 10_000

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class WordLists:
    """The words of one language that the score looks for, in lower case.

    Attributes:
        create: verbs that ask for something new, code above all.
        analyse: verbs that ask for an analysis.
        request: further verbs by which one asks for something; with the two above they count the parts of a request.
        question_marks: the characters that end a question.
        spaced: whether words stand between spaces; if not, as in Chinese or Japanese, they are found anywhere.
    """

    create: frozenset[str]
    analyse: frozenset[str]
    request: frozenset[str]
    question_marks: str = "?"
    spaced: bool = True


ENGLISH = WordLists(
    create=frozenset({"build", "create", "generate", "implement", "write"}),
    analyse=frozenset({"analyse", "analyze", "assess", "compare", "diagnose", "evaluate", "investigate", "review"}),
    request=frozenset(
        {
            *("add", "answer", "change", "check", "debug", "define", "delete", "describe", "design", "document"),
            *("explain", "extract", "find", "fix", "give", "identify", "improve", "list", "measure", "optimise"),
            *("optimize", "plan", "propose", "prove", "recommend", "refactor", "remove", "rename", "rewrite", "run"),
            *("search", "show", "solve", "suggest", "summarise", "summarize", "test", "translate", "update", "verify"),
        }
    ),
)


def score_complexity(text: str, *, tools_mode: bool, words: WordLists = ENGLISH) -> float:
    """Return the complexity of a user's text, 0 to 1, in thousandths.

    .05, and .05 in tools mode; up to .20 for the first 200 characters; .20 for a word that asks to create, .30 for
    one that asks to analyse; .10 for each part beyond the first, three at most. Parts are the question marks or the
    distinct request verbs, whichever are more. Of a text over 20,000 characters the middle is not looked at.
    """
    seen = text if len(text) <= 2 * _LOOK_CHARS else f"{text[:_LOOK_CHARS]}\n{text[-_LOOK_CHARS:]}"
    verbs = _verbs_in(seen.lower(), words)
    questions = sum(seen.count(mark) for mark in words.question_marks)
    parts = max(1, questions, len(verbs))
    thousandths = 50 + 50 * tools_mode + min(200, len(text)) + 100 * min(3, parts - 1)
    thousandths += 200 * bool(verbs & words.create) + 300 * bool(verbs & words.analyse)
    return min(1000, thousandths) / 1000


def _verbs_in(lowered: str, words: WordLists) -> frozenset[str]:
    verbs = words.create | words.analyse | words.request
    if words.spaced:
        return verbs.intersection(_WORD.findall(lowered))
    return frozenset(verb for verb in verbs if verb in lowered)


# The room for the answer of one turn, by its question.


def score_of(text: str, *, tools_mode: bool, languages: Sequence[WordLists] = (ENGLISH,)) -> float:
    """Return the complexity of a user's text, 0 to 1: the highest that the words of any of these languages find."""
    empty = WordLists(frozenset(), frozenset(), frozenset())
    return max(score_complexity(text, tools_mode=tools_mode, words=words) for words in languages or (empty,))


def reserve_for(
    score: float,
    *,
    window_tokens: int,
    tools_mode: bool,
    verbosity: Verbosity = "balanced",
    most_tokens: int | None = None,
) -> Reserve:
    """Return the room that a question of this complexity is given of a window, in tokens.

    It is the response's share of the window, rounded down, and never more than the model's longest answer,
    `most_tokens` (None: unknown).

    Raises:
        ConfigError: the score is not within 0..1, or there is no such verbosity.
    """
    share = adaptive_shares(score, tools_mode=tools_mode, verbosity=verbosity)["response"]
    tokens = int(share * window_tokens)
    return Reserve(tokens if most_tokens is None else min(tokens, most_tokens), score)


def most_reserved_tokens(window_tokens: int, verbosity: Verbosity, most_tokens: int | None = None) -> int:
    """Return the largest room for an answer in a window, in tokens; windows are opened with it.

    Raises:
        ConfigError: there is no such verbosity.
    """
    return reserve_for(
        1.0, window_tokens=window_tokens, tools_mode=True, verbosity=verbosity, most_tokens=most_tokens
    ).tokens


# The policy caps of sections of a request, in words or tokens, and the messages that are kept under them.

Unit = Literal["words", "tokens"]

# The line that stands for messages that are left out: its words, and about its tokens.
POINTER_WORDS, POINTER_TOKENS = 10, 32

# What a text costs in the unit of the caps.
Count = Callable[[str], int]

# What gives way where the newest messages pass the total. "ladder": what the user did not write is cut, the documents
# stay. "squidbot-v2": the messages stay whole, the documents are cut.
TrimRule = Literal["ladder", "squidbot-v2"]


@dataclass(frozen=True, slots=True)
class PolicyCaps:
    """The policy caps of one agent.

    In the configuration of an agent they are `context_memory_max_words`, `context_summary_max_words`,
    `context_history_max_words`, `context_total_max_words`, `context_min_recent_messages`, `context_budget_mode` (the
    unit) and `context_dedupe_summary_against_memory`; the names keep "words" in either unit.

    Attributes:
        memory, summary, history: what the section may cost, in `unit`.
        total: what the three may cost together, in `unit`.
        min_recent_messages: newest messages that are kept whatever they cost.
        unit: what is counted.
        dedupe: whether summary lines that the memory document has are left out.

    Raises:
        ConfigError: a cap is not above 0, the total is below the history's cap, or the unit is unknown.
    """

    memory: int = 300
    summary: int = 500
    history: int = 2500
    total: int = 4500
    min_recent_messages: int = 2
    unit: Unit = "words"
    dedupe: bool = True

    def __post_init__(self) -> None:
        """Check the caps; errors name the key as the user wrote it."""
        for key, value in (
            ("context_memory_max_words", self.memory),
            ("context_summary_max_words", self.summary),
            ("context_history_max_words", self.history),
            ("context_total_max_words", self.total),
            ("context_min_recent_messages", self.min_recent_messages),
        ):
            if value <= 0:
                raise ConfigError(f"agents.{key} must be > 0, not {value}")
        if self.unit not in ("words", "tokens"):
            raise ConfigError(f"agents.context_budget_mode must be 'words' or 'tokens', not {self.unit!r}")
        if self.total < self.history:
            raise ConfigError(
                f"agents.context_total_max_words must be >= agents.context_history_max_words, "
                f"not {self.total} < {self.history}"
            )

    def left(self, memory: int, summary: int, *, reduces: bool) -> HistoryCaps:
        """Return the caps of history beside documents of these sizes, in the unit of the caps."""
        notes = max(0, self.summary - summary)
        left = self.total - memory - summary
        pointer = POINTER_WORDS if self.unit == "words" else POINTER_TOKENS
        return HistoryCaps(self.history, left, notes, self.min_recent_messages, reduces, pointer)


class HistoryItem(NamedTuple):
    """One step of the history.

    Attributes:
        cost: what it costs as it is, in the unit of the caps.
        messages: how many messages it has.
        least: what it costs when cut as far as allowed; `None`: never cut, as a user's text.
    """

    cost: int
    messages: int = 1
    least: int | None = None


class HistoryCaps(NamedTuple):
    """The caps of the history of one call, in the unit of the policy caps.

    Attributes:
        history: what may be sent raw of what was said before the current turn.
        total: what that and notes may cost together: what the documents leave of the total.
        notes: what notes may cost.
        min_recent_messages: this many newest messages are kept whatever they cost.
        reduces: whether these are cut, the user's words aside, before the total is passed.
        pointer: what the line costs that stands for what is left out.
    """

    history: int
    total: int
    notes: int
    min_recent_messages: int
    reduces: bool
    pointer: int = 0

    def kept(self, items: Sequence[HistoryItem], *, noted: bool = False) -> tuple[int | None, ...]:
        """Return the most that each item may cost, oldest first; `None`: it is left out.

        Items are kept from the newest on while they fit; the newest messages are kept in any case. `noted` says that
        something stands for older ones already.
        """
        left = self._kept(items, self.total)
        return self._kept(items, self.total - self.pointer) if noted or None in left else left

    def _kept(self, items: Sequence[HistoryItem], total: int) -> tuple[int | None, ...]:
        total = max(1, total)
        left: dict[int, int] = {}
        spent = messages = 0
        floor = len(items)
        for place in reversed(range(len(items))):
            if messages < self.min_recent_messages:
                floor = place
            elif spent + items[place].cost > min(self.history, total):
                break
            left[place] = items[place].cost
            spent += items[place].cost
            messages += items[place].messages
        over = spent - total
        for place in range(floor, len(items)) if self.reduces else ():
            item = items[place]
            cut = 0 if item.least is None else max(0, min(item.cost - item.least, over))
            left[place] -= cut
            over -= cut
        return tuple(left.get(place) for place in range(len(items)))


def count_words(text: str) -> int:
    """Return the number of words: runs of characters that are no white space."""
    return len(text.split())


def truncate_newest(text: str, limit: int, count: Count) -> str:
    """Return the end of `text` that costs at most `limit`: its newest lines whole, one cut in the oldest one.

    In words the result has exactly `limit` of them if the text has more. The cut is before a word; only where the
    newest word alone is too much it is inside. What is returned is an end of `text`, its line breaks unchanged, and
    has been counted as a whole; "" if nothing fits. `limit` and `count` are in the same unit.
    """
    if count(text) <= limit:
        return text

    def fits(start: int) -> bool:
        return count(text[start:]) <= limit

    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    line = _earliest(line_starts[1:], fits)
    start, end = [*line_starts, len(text)][line : line + 2]
    word_starts = [match.start() for match in re.compile(r"\S+").finditer(text, start, end)]
    word = _earliest(word_starts, fits)
    if word < len(word_starts):
        return text[word_starts[word] :]
    if text[end:].strip():
        return text[end:]
    letters = range(word_starts[-1], len(text[:end].rstrip())) if word_starts else range(0)
    letter = _earliest(letters, fits)
    return text[letters[letter] :] if letter < len(letters) else ""


def _earliest(starts: Sequence[int], fits: Callable[[int], bool]) -> int:
    """Return the index of the first start that fits, if each one after it does; len(starts) where the last does not.

    It goes back from the end in growing steps, so that no more than about twice the starts that fit are ever counted.
    """
    good, bad, step = len(starts), -1, 1
    while good - bad > 1:
        probe = max(good - step, (good + bad) // 2)
        if fits(starts[probe]):
            good, step = probe, 2 * step
        else:
            bad = probe
    return good


# Categories of messages: soft caps by weight.

# In the order of the document: system text with tools, context with documents, what was said with notes on it, what
# tools put out with their errors.
CATEGORIES: Final = ("system", "context", "dialog", "output")
WEIGHTS: Final = (10, 30, 40, 20)
# A pool for what is none of these, beside weights that sum to 100.
POOL: Final = "other"
POOL_WEIGHT: Final = 5


class CategoryShare(NamedTuple):
    """Use and allotment of a category, in the unit of the total."""

    name: str
    used: int
    allotted: int

    @property
    def is_over(self) -> bool:
        """Whether it uses more than its share."""
        return self.used > self.allotted


def shares(
    total: int, used: Mapping[str, int], weights: tuple[int, int, int, int] = WEIGHTS
) -> tuple[CategoryShare, ...]:
    """Return use and allotment of each category, in the document's order: caps are soft, and unused room is borrowed.

    So nothing is over its share while all of them together fit: 60,000 of dialogue in 100,000 are.

    Raises:
        ConfigError: a weight is negative.
    """
    named = zip(CATEGORIES, weights, strict=True)
    items = [BudgetItem(name, weight, actual=used.get(name, 0)) for name, weight in named]
    allotted = allocate(max(0, total), [*items, BudgetItem(POOL, POOL_WEIGHT, actual=used.get(POOL, 0))])
    return tuple(CategoryShare(name, used.get(name, 0), allotted[name]) for name in CATEGORIES)


# Layouts: the tokens of each part of a request, by tier.

# Verbatim messages; they get what the others leave.
RECENT: Final = "recent"
# The parts that are summaries with a level, in the order of `Tier.summaries`; and the one note on all that was said.
LAYOUT_LEVELS: Final = ("detailed", "moderate", "compact")
SESSION: Final = "session"
# A summary's size is named for this input limit, and scaled with the limit; none is smaller than the least.
LEVEL_BASE_TOKENS, LEVEL_LEAST_TOKENS = 13_600, 64
# One note on what is older than all summaries. Where the tier has no part for it, recent pays.
MERGED_TOKENS: Final = 150
# Of the smallest windows recent keeps so much in any case: where the document's figures would fill all of them.
LEAST_RECENT: Final = 3


class Layout(NamedTuple):
    """The parts of a request by name, in the document's order, in tokens; together the input limit."""

    parts: tuple[tuple[str, int], ...]
    counts: tuple[int, int, int]

    def tokens(self, name: str) -> int:
        """Return the tokens of a part; 0 if the tier does not have it."""
        return dict(self.parts).get(name, 0)

    @property
    def total(self) -> int:
        """The tokens of all parts together."""
        return sum(tokens for _, tokens in self.parts)

    @property
    def levels(self) -> int:
        """The tokens of all summaries with a level."""
        return sum(map(self.tokens, LAYOUT_LEVELS))

    @property
    def notes(self) -> int:
        """The tokens of all notes, with the one on everything older."""
        return self.levels + self.merged

    @property
    def merged(self) -> int:
        """The tokens of one note on everything older than the summaries: its own part, or a little of recent."""
        scaled = max(LEVEL_LEAST_TOKENS, MERGED_TOKENS * self.total // LEVEL_BASE_TOKENS)
        return self.tokens(SESSION) or min(scaled, self.tokens(RECENT))

    def single(self, level: str) -> int | None:
        """Return the tokens of one summary of a level; None if the tier names none of that level."""
        count = self.counts[LAYOUT_LEVELS.index(level)] if level in LAYOUT_LEVELS else 0
        return self.tokens(level) // count if count else None

    def within(self, limit_tokens: int) -> dict[str, int]:
        """Return the parts by name where a request may cost another number: recent gets, or gives, the difference."""
        parts = dict(self.parts)
        return {**parts, RECENT: max(0, limit_tokens - self.total + parts[RECENT])}


@lru_cache(maxsize=64)  # a host opens session after session with few windows
def laid_out(window_tokens: int, input_tokens: int) -> Layout:
    """Return the layout of a window whose requests may cost `input_tokens`.

    Weight and ceiling of a part are the tier's figure; its floor is what it has in the largest window of the tier
    below, so that a larger window gives no part that both have less. Recent gets the rest.

    Raises:
        ConfigError: there is no window, or the input is not within 1 and the window.
    """
    of = tier_of(window_tokens)
    if not 0 < input_tokens <= window_tokens:
        raise ConfigError(f"the input of a window of {window_tokens} tokens must be 1 to that, not {input_tokens}")
    floors = _floors(of, window_tokens, input_tokens)
    items = [BudgetItem(name, most, min=floors.get(name, 0), max=most) for name, most in of.layout]
    least = floors[RECENT]
    shares = allocate(input_tokens, [*items, BudgetItem(RECENT, 1, min=least, actual=least)])
    return Layout(tuple((name, shares[name]) for name, _ in (*of.layout, (RECENT, 0))), of.summaries)


def _floors(of: Tier, window_tokens: int, input_tokens: int) -> dict[str, int]:
    """Return the tokens of each part in the largest window of the tier below, with the same share of input."""
    below = TIERS[of.number - 2].largest_window_tokens if of.number > 1 else None
    input_below = input_tokens * below // window_tokens if below else 0
    if not below or not input_below:
        return {RECENT: input_tokens // LEAST_RECENT}
    return dict(laid_out(below, input_below).parts)


# How full the context is, as a ladder of rungs.

# The names of the rungs that somebody is told of. Between and above them stand the strategy's high-water mark, which
# triggers a compaction at the next turn, and 1, which forces one.
WARN, JOURNAL, CRITICAL, EMERGENCY = "warn", "journal", "critical", "emergency"
NOTICE = "[the context is {percent} % full: notes will soon replace older messages]"


class ContextUsage(NamedTuple):
    """How much of a context is used.

    Attributes:
        current_tokens: the used tokens.
        max_tokens: the most tokens that may be used.
    """

    current_tokens: int
    max_tokens: int

    @property
    def percentage(self) -> int:
        """The used share in percent, rounded down; 100 if there is no room at all."""
        return 100 * self.current_tokens // self.max_tokens if self.max_tokens > 0 else 100

    @property
    def available_tokens(self) -> int:
        """The free tokens; 0 if more are used than there are."""
        return max(0, self.max_tokens - self.current_tokens)


class Ladder(NamedTuple):
    """The rungs, as fractions of the room for history without summaries, and their effects.

    Attributes:
        warn_fraction: user and model are warned; 0 for never, as for the others.
        journal_fraction: whoever keeps a journal is to write.
        critical_fraction: the user is warned again.
        emergency_fraction: that again, and a compaction before the next turn summarizes everything anew.
        notice: whether the model is told at the first rung, behind the message that opens a turn.
        compact_at_tokens: history of so many tokens triggers a compaction like the high-water mark does; 0 for never.
        compact_at_messages: so many messages that are sent as they were said do, too; 0 for never.
        low_water_messages: how many a compaction by number leaves, if they fit; 0: the low mark's share.
    """

    warn_fraction: float = 0.70
    journal_fraction: float = 0.75
    critical_fraction: float = 0.85
    emergency_fraction: float = 0.95
    notice: bool = True
    compact_at_tokens: int = 0
    compact_at_messages: int = 0
    low_water_messages: int = 0

    def told(self, pressure: float) -> tuple[str, ...]:
        """Return the rungs that a pressure has reached and that somebody is told of, lowest first."""
        marks = {
            WARN: self.warn_fraction,
            JOURNAL: self.journal_fraction,
            CRITICAL: self.critical_fraction,
            EMERGENCY: self.emergency_fraction,
        }
        return tuple(rung for rung, mark in marks.items() if 0 < mark <= pressure)

    def crossed(self, pressure: float, before: Collection[str]) -> tuple[str, ...]:
        """Return the rungs that a pressure has reached and that are not among those reached `before`, lowest first."""
        return tuple(rung for rung in self.told(pressure) if rung not in before)

    def first_notice(self, pressure: float) -> str | None:
        """Return the line that tells the model of its first rung; None if it has not been reached."""
        if not self.notice or WARN not in self.told(pressure):
            return None
        return NOTICE.format(percent=int(100 * min(1.0, pressure)))

    def marked_room(self, room: Cost, high_fraction: float) -> Cost:
        """Return the room whose high-water mark comes first: history's own, or the one by `compact_at_tokens`.

        All shares of a compaction are of this room, so it ends below the same mark that triggered it.
        """
        if not self.compact_at_tokens:
            return room
        tokens = int(self.compact_at_tokens / high_fraction)
        return Cost(min(room.estimate, tokens), min(room.bound, tokens))

    def without_marks(self) -> Ladder:
        """Return the ladder on which no number of tokens or messages triggers a compaction."""
        return self._replace(compact_at_tokens=0, compact_at_messages=0, low_water_messages=0)


def pressure_of(history: Cost, summaries: Cost, room: Cost) -> float:
    """Return how full the room beside the summaries is, in the unit that binds; above 1 if history does not fit.

    `history` includes the summaries. "Usage > 80 % of available" is a pressure above .8.
    """
    raw, free = history.less(summaries), room.less(summaries)
    return max(_share(raw.bound, free.bound), _share(raw.estimate, free.estimate))


def _share(used: int, room: int) -> float:
    if room > 0:
        return used / room
    return float("inf") if used > 0 else 0.0


# Drops the lines of a summary that the memory document says already.

# The heading that an emptied summary loses.
SUMMARY_HEADING = "## Conversation Summary"

_BULLETS = ("- ", "* ", "\u2022 ")


def dedupe(summary: str, memory: str) -> tuple[str, tuple[str, ...]]:
    """Return the summary without the lines that equal a line of the memory document, and those lines as they stood.

    Compared are lines that are trimmed, in lower case, without one leading bullet `-`, `*` or U+2022 followed by a
    space, and with single spaces inside. Blank lines are never removed, and what stays is unchanged. A summary
    of which only blank lines and its heading are left is returned as "".
    """
    known = {_normalised(line) for line in memory.split("\n")} - {""}
    kept: list[str] = []
    removed: list[str] = []
    for line in summary.split("\n"):
        (removed if _normalised(line) in known else kept).append(line)
    if removed and all(line.strip() in ("", SUMMARY_HEADING) for line in kept):
        kept = []
    return "\n".join(kept), tuple(removed)


def _normalised(line: str) -> str:
    text = line.strip().lower()
    # Without the space it is a sign, an option or a star of bold text: "-5 degrees", "--flag", "**Bold**".
    if text.startswith(_BULLETS):
        text = text[2:]
    return " ".join(text.split())
