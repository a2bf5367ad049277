"""Which window a session gets: every source in its order, what caps it, and one tier below where that is asked for.

The order is C10 of the decisions behind behaviours B-02 (models of an API) and B-03 (models in a file); caps are B-03's
(2) and (3); the words of `source` are C9's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.budget.tiers import TIERS, tier_of
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FALLBACK_WINDOW_TOKENS", "Known", "Resolved", "Sizing", "descending", "one_tier_below", "resolve"]

Sizing = Literal["max_safe", "one_tier_below", "manual"]

# Where neither the file, the machine nor the user says anything (B-02, B-03).
FALLBACK_WINDOW_TOKENS = 32_768
# The sizes that tiers are named after (O-03), in binary K as model files have them.
TIER_WINDOWS = (2048, 4096, 8192, 16384, 32768, 65536, 131072)
# What a size that could not be loaded is followed by: half, by way of three quarters.
RETRY_WINDOWS = tuple(size for power in range(17, 8, -1) for size in (2**power, 3 * 2 ** (power - 2)))


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a window, all in tokens; None where it is not.

    Attributes:
        asked_tokens: what the caller asks for; it goes before all else, as it is.
        model_tokens: what the definition of the model says.
        global_tokens: what the settings say for all models.
        native_tokens: what the model was trained for, as its file or its definition says.
        sized_tokens: the largest that the machine's memory holds; None also where nothing fits.
        sized_source: which memory that is, as `Resolved.source` calls it: "auto-vram", "auto-ram".
        sized_reason: in a sentence how that came about, or why there is none; "" where nobody looked.
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


class Resolved(NamedTuple):
    """A window in tokens, the source that it is from, and in a sentence each how it came about, in order."""

    window_tokens: int
    source: str
    steps: tuple[str, ...]


def resolve(known: Known) -> Resolved:
    """Return the window of a session.

    Raises:
        ConfigError: a size is not above 0.
    """
    _check(known)
    if known.asked_tokens is not None:
        return Resolved(known.asked_tokens, "manual", (f"{known.asked_tokens:,} tokens asked for by the caller",))
    if known.sized_tokens is not None and known.sizing != "manual":
        found = _sized(known, known.sized_tokens)
    else:
        found = _told(known)
    return _as_served(found, known.served_tokens)


def one_tier_below(window_tokens: int, min_tokens: int = TIER_WINDOWS[0]) -> int:
    """Return the largest size of the next lower tier (O-02), in tokens; at least `min_tokens`.

    Within the lowest tier it is the largest of its sizes that fits, and a window smaller than all of these stays.

    Raises:
        ConfigError: the window is not above 0.
    """
    number = tier_of(window_tokens).number
    below = [tier.largest_window_tokens or 0 for tier in TIERS if tier.number == number - 1]
    sizes = below or [size for size in TIER_WINDOWS if size <= window_tokens] or [window_tokens]
    return min(window_tokens, max(sizes[-1], min_tokens))


def descending(window_tokens: int, min_tokens: int = TIER_WINDOWS[0]) -> Iterator[int]:
    """Return the sizes to try where a window could not be loaded, in tokens, each smaller than the one before it.

    They are powers of two and what lies halfway, down to `min_tokens`, which is the last.
    """
    for size in RETRY_WINDOWS:
        if min_tokens < size < window_tokens:
            yield size
    if min_tokens < window_tokens:
        yield min_tokens


def _check(known: Known) -> None:
    sizes = {
        "window asked for": known.asked_tokens,
        "context_window of the model": known.model_tokens,
        "window.default": known.global_tokens,
        "native_context_limit": known.native_tokens,
        "window that fits": known.sized_tokens,
        "window that is served": known.served_tokens,
        "window.min": known.min_tokens,
    }
    for name, tokens in sizes.items():
        if tokens is not None and tokens <= 0:
            raise ConfigError(f"the {name} must be > 0 tokens, not {tokens}")


def _sized(known: Known, sized: int) -> Resolved:
    """Return the window that memory holds, below its caps (B-03, 1 to 3)."""
    found = _capped(Resolved(sized, known.sized_source, (known.sized_reason or f"{sized:,} tokens fit",)), known)
    if known.sizing == "max_safe":
        return found
    lower = one_tier_below(found.window_tokens, known.min_tokens)
    if lower == found.window_tokens:
        return found
    return Resolved(lower, "tier", (*found.steps, f"one tier below: {lower:,}"))


def _told(known: Known) -> Resolved:
    """Return the window that somebody has named, or the fallback (B-02; B-03, 4 and 5)."""
    steps = (known.sized_reason,) if known.sized_reason else ()
    if known.model_tokens is not None:
        named = known.model_tokens, "model-definition", f"{known.model_tokens:,} by the model's definition"
    elif known.global_tokens is not None:
        named = known.global_tokens, "global-config", f"{known.global_tokens:,} by window.default"
    elif known.served_tokens is not None:
        named = known.served_tokens, "served", f"{known.served_tokens:,} is what the server gives the model"
    else:
        named = FALLBACK_WINDOW_TOKENS, "default", f"{FALLBACK_WINDOW_TOKENS:,} where nothing is known"
    return _capped(Resolved(named[0], named[1], (*steps, named[2])), known)


def _capped(found: Resolved, known: Known) -> Resolved:
    """Return a window cut to what the model's definition and its training allow; the source is then the cap."""
    caps = (("model-cap", known.model_tokens, "context_window"), ("native-limit", known.native_tokens, "native limit"))
    for source, cap, name in caps:
        if cap is not None and cap < found.window_tokens:
            found = Resolved(cap, source, (*found.steps, f"cut to {cap:,}: {name} of the model"))
    return found


def _as_served(found: Resolved, served: int | None) -> Resolved:
    """Return a window as the server that has the model gives it, where that is less."""
    if served is None or served >= found.window_tokens:
        return found
    return Resolved(served, "served", (*found.steps, f"cut to {served:,}: what the server gives the model"))
