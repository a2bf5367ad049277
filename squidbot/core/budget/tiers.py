"""Which of five tiers a context window belongs to, and what each tier is given."""

from __future__ import annotations

from dataclasses import dataclass

from squidbot.core.errors import ConfigError

__all__ = ["TIERS", "Tier", "tier", "tier_of"]


@dataclass(frozen=True, slots=True)
class Tier:
    """What windows of one range of sizes have in common.

    Attributes:
        number: 1 to 5.
        label: the name shown to users (O-03).
        largest_window_tokens: the upper end of the range, itself inside; None for the last tier, which has no end.
        target_fraction: share of the available room that a compaction leaves filled (O-05); None where none is named.
        summaries: most summaries in view at the levels detailed, moderate, compact (C23); older ones are merged.
        pinned_fraction: ceiling of pinned content as a share of the window (O-05, read as in the errata of section 3).
        prompt_cap_tokens: ceiling of the host's mode prompt (C22).
        layout: the most that each part of a request is given, in tokens (O-04); recent messages get the rest (C11).
    """

    number: int
    label: str
    largest_window_tokens: int | None
    target_fraction: float | None
    summaries: tuple[int, int, int]
    pinned_fraction: float
    prompt_cap_tokens: int
    layout: tuple[tuple[str, int], ...]

    @property
    def most_summaries(self) -> int:
        """Most summaries in view, merged ones apart (O-05: 0, 1, 3, 10, 15)."""
        return sum(self.summaries)


# O-04's figures. "Session summary" and "session" are one note on all that was said (C23: T1 merged 300); "critical" and
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

# Ranges: C13, of the number given, binary or decimal. Targets: O-05; low water is the smaller of these and high - .10.
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
    if window_tokens <= 0:
        raise ConfigError(f"a context window must be > 0 tokens, not {window_tokens}")
    return next(t for t in TIERS if t.largest_window_tokens is None or window_tokens <= t.largest_window_tokens)


def tier(window_tokens: int) -> int:
    """Return the number, 1 to 5, of the tier of a window of that many tokens.

    Raises:
        ConfigError: the window is not above 0.
    """
    return tier_of(window_tokens).number
