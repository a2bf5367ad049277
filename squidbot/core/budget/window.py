"""The context window of a session: how large, how much of it is for input, and whether a request fits.

Two checks stand side by side (C12) and neither implies the other. Physical: the bound of the request plus the reserve
is at most the window. Policy: the best estimate of the request is at most `safety_fraction` of the window.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.messages import Lease

if TYPE_CHECKING:
    from squidbot.core.messages import Cost
    from squidbot.core.ports import Certificate

__all__ = [
    "CALIBRATED_FRACTION",
    "MOST_TOKENS",
    "Reserve",
    "WindowSettings",
    "default_reserve_tokens",
    "fits",
    "input_limit",
    "left_reserve_tokens",
    "open_lease",
    "parse_tokens",
    "read_budget",
    "read_tokens",
    "room",
    "safety_fraction_for",
    "window_below",
]

# The reserve where neither the user nor the model names one: global default of B-02 and section 11.
DEFAULT_RESERVE_TOKENS = 4096

CALIBRATED_FRACTION = 0.95
# Of a request that was refused as too long, where nobody says how much would fit: counters are rarely a third under.
LEFT_FRACTION = 0.67
# Share of the window that the estimate may fill (C12): .85 for a heuristic, .95 once reported usage has calibrated it.
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
    """What a lease is opened from.

    Attributes:
        window_tokens: input and output together, above 0.
        reserved_output_tokens: room for the answer; None: `default_reserve_tokens`.
        safety_fraction: share of the window that the estimate may fill, 0 < x <= 1; None: by the counter's certificate.
        model_max_output_tokens: the longest answer of the model; None where unknown.
        model: the model's alias, "" where unknown.
        source: where the window came from, in the words of C9 ("native-limit", "global-config", ...).
        model_parameters_billion: the size of the model; None where unknown.
        detail: how the window came about, in sentences; "" where there is nothing to tell.
        learned_for: as in `Lease`.
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
    match = _SIZE.fullmatch(text)
    size = int(match[1]) * _UNITS[match[2] or ""] if match else 0
    if size == 0:
        raise ConfigError(
            f"{text[:40]!r} is no number of tokens; write a number above 0, alone or with k (1,000), Ki (1,024), "
            "m (1,000,000) or Mi (1,048,576): 32000, 32k, 32Ki"
        )
    return size


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
    raise ConfigError(f"{what} = {given!r:.60}: it must be > 0 tokens, whole, and below 10**12: 32000, '32k'")


def read_budget(given: object) -> float | None:
    """Return a budget: whole tokens, written as a number or as "8k", or a share of a window, below 1; None for None.

    Raises:
        ConfigError: it is none of these, or fewer tokens than a conversation takes.
    """
    if given is None:
        return None
    read: object = given
    if isinstance(given, str):
        text = given.strip()
        try:
            read = parse_tokens(text)
        except ConfigError:
            read = float(text) if _SHARE.fullmatch(text) else given
    if isinstance(read, int | float) and not isinstance(read, bool):
        if 0 < read < 1 or (LEAST_BUDGET_TOKENS <= read <= MOST_TOKENS and read % 1 == 0):
            return read
        if 0 < read < LEAST_BUDGET_TOKENS and read % 1 == 0:
            least = f"{LEAST_BUDGET_TOKENS} tokens are the least that holds a request and its answer"
            raise ConfigError(f"budget = {given!r}: {least}; write a larger number, or leave it out")
    raise ConfigError(
        f"budget = {given!r:.80}: it is a number of tokens, or a share of the window below 1: 8000, '8k', 0.5"
    )


def default_reserve_tokens(window_tokens: int, model_max_tokens: int | None = None) -> int:
    """Return the room for the answer where none is set: min(4096, the model's longest answer, window // 4) (C12).

    Both sizes are in tokens; `model_max_tokens` None means unknown.

    Raises:
        ConfigError: a size is not above 0.
    """
    _positive("context window", window_tokens)
    if model_max_tokens is None:
        return min(DEFAULT_RESERVE_TOKENS, window_tokens // 4)
    _positive("longest answer of the model", model_max_tokens)
    return min(DEFAULT_RESERVE_TOKENS, model_max_tokens, window_tokens // 4)


def left_reserve_tokens(window_tokens: int) -> int:
    """Return the room for the answer where that is what a heuristic leaves: window - floor(.85 window) (C12).

    Raises:
        ConfigError: the window is not above 0.
    """
    _positive("context window", window_tokens)
    return window_tokens - _policy_limit(window_tokens, safety_fraction_for("none"))


def safety_fraction_for(certificate: Certificate) -> float:
    """Return the share of the window that an estimate with this certificate may fill (C12)."""
    return _SAFETY_FRACTIONS[certificate]


def input_limit(window_tokens: int, reserved_output_tokens: int, safety_fraction: float) -> int:
    """Return the most tokens a request may cost: min(window - reserve, floor(safety x window)) (C12); at least 1.

    The share is taken of the decimal number that is written, not of its binary neighbour (C13): .85 of 16000 is
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
        raise BudgetError(
            "reserve and one token of input", cost=both_tokens, budget=window_tokens, unit="tokens", key=key
        )
    policy_tokens = _policy_limit(window_tokens, safety_fraction)
    if policy_tokens == 0:
        raise BudgetError("one token of input", cost=1, budget=0, unit="tokens", key="window.safety_fraction")
    return min(window_tokens - reserved_output_tokens, policy_tokens)


@lru_cache(maxsize=64)  # a host opens session after session with few settings
def open_lease(settings: WindowSettings, counter: str, certificate: Certificate) -> Lease:
    """Return the lease of a session whose requests are counted by `counter`, which has that certificate.

    Its id follows from its fields, but for the model's size, the detail and `learned_for`: equal leases have equal ids,
    in any process.

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
    return Lease(f"lease-{digest[:12]}", *fields, size, settings.detail, learned_for)


def window_below(lease: Lease, refused_tokens: int, told_tokens: int | None = None) -> int:
    """Return the window that a refusal has shown, in tokens: smaller than the lease's.

    It is what the provider tells of it, where that is smaller; else what leaves room for two thirds of what it refused.
    """
    if told_tokens is not None and 0 < told_tokens < lease.window_tokens:
        return told_tokens
    left_tokens = int(LEFT_FRACTION * min(refused_tokens, lease.window_tokens - lease.reserved_output_tokens))
    return lease.reserved_output_tokens + max(1, left_tokens)


def room(cost: Cost, lease: Lease) -> int:
    """Return the tokens that a request of this cost still has under both checks of C12; below 0: so many too many."""
    physical = lease.window_tokens - lease.reserved_output_tokens - cost.bound
    return min(physical, _policy_limit(lease.window_tokens, lease.safety_fraction) - cost.estimate)


def fits(cost: Cost, lease: Lease) -> bool:
    """Return whether a request of this cost passes both checks of C12."""
    return room(cost, lease) >= 0


@lru_cache(maxsize=256)
@lru_cache(maxsize=64)  # a call asks several times for the same
def _policy_limit(window_tokens: int, safety_fraction: float) -> int:
    # str() of a float is the shortest decimal that names it: what the user wrote, exactly. In whole numbers, since
    # importing `fractions` takes a tenth as long as the whole core.
    digits, _, exponent = str(safety_fraction).partition("e")
    whole, _, part = digits.partition(".")
    return int(whole + part) * window_tokens // int(10 ** (len(part) - int(exponent or 0)))


def _positive(what: str, tokens: int) -> None:
    if tokens <= 0:
        raise ConfigError(f"the {what} must be > 0 tokens, not {tokens}")
