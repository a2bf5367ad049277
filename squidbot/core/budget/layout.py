"""What each part of a request is given in a window of its size: the layouts of document 004 (O-04, C11)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.budget.allocate import Item, allocate
from squidbot.core.budget.tiers import TIERS, tier_of
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from squidbot.core.budget.tiers import Tier

__all__ = ["LEVELS", "RECENT", "SESSION", "Layout", "laid_out"]

# What was said and is sent as such; it gets what the others leave.
RECENT: Final = "recent"
# The parts that are summaries with a level, in the order of `Tier.summaries`; and the one note on all that was said.
LEVELS: Final = ("detailed", "moderate", "compact")
SESSION: Final = "session"
# One note on what is older than all summaries is paid from recent where it has no part (C23): this much of it.
MERGED_FRACTION: Final = 0.25
# Of the smallest windows recent keeps so much in any case: where the document's figures would fill all of them.
LEAST_RECENT: Final = 3


class Layout(NamedTuple):
    """The parts of a request by name, in the document's order, in tokens; together the input limit."""

    parts: tuple[tuple[str, int], ...]
    counts: tuple[int, int, int]

    def tokens(self, name: str) -> int:
        """Return what a part is given; 0 for one that the tier does not have."""
        return dict(self.parts).get(name, 0)

    @property
    def total(self) -> int:
        """What all parts are given together."""
        return sum(tokens for _, tokens in self.parts)

    @property
    def levels(self) -> int:
        """What summaries that have a level are given together."""
        return sum(map(self.tokens, LEVELS))

    @property
    def notes(self) -> int:
        """What all notes are given together, one on what is older with them."""
        return self.levels + (self.session or int(MERGED_FRACTION * self.tokens(RECENT)))

    @property
    def session(self) -> int:
        """What one note on all that is older than the summaries is given; 0 where the tier has no part for it."""
        return self.tokens(SESSION)

    def single(self, level: str) -> int | None:
        """Return what one summary of a level is given; None where the tier names none of that level."""
        count = self.counts[LEVELS.index(level)] if level in LEVELS else 0
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
    items = [Item(name, most, min=floors.get(name, 0), max=most) for name, most in of.layout]
    least = floors[RECENT]
    shares = allocate(input_tokens, [*items, Item(RECENT, 1, min=least, actual=least)])
    return Layout(tuple((name, shares[name]) for name, _ in (*of.layout, (RECENT, 0))), of.summaries)


def _floors(of: Tier, window_tokens: int, input_tokens: int) -> dict[str, int]:
    """Return what each part has in the largest window of the tier below, where as large a share of it is for input."""
    below = TIERS[of.number - 2].largest_window_tokens if of.number > 1 else None
    input_below = input_tokens * below // window_tokens if below else 0
    if not below or not input_below:
        return {RECENT: input_tokens // LEAST_RECENT}
    return dict(laid_out(below, input_below).parts)
