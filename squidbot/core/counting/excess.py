"""How far what was billed stood above what was counted, over any run of messages, at each of some factors.

For each factor the largest excess of any run over factor x bound (Kadane's running maximum; Bentley, "Programming
Pearls", CACM 27(9), 1984): a statement about what was seen, wherever a run of it begins, not about what comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["GRID", "PERCENT", "Excess"]

PERCENT = 100
# Factors on bounds, in percent. Real tokenizers stand at 60 to 110 % of the class estimator's bound; beyond both ends
# a slack does the rest.
GRID = (50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100, 105, 110, 120, 135, 150, 200)
WIDE = GRID.index(PERCENT)
NOTHING = (0,) * len(GRID)


class Excess(NamedTuple):
    """What runs of messages cost above each factor of `GRID` x their bound, in tokens.

    Attributes:
        sums: of the run that ends with the newest message and is the most above it; at least 0.
        slacks: of the run that was the most above it; at least 0.
    """

    sums: tuple[int, ...] = NOTHING
    slacks: tuple[int, ...] = NOTHING

    def grown(self, real_tokens: int, bound_tokens: int) -> Excess:
        """Return it with messages behind that cost so much and are counted as so much, in tokens."""
        over = [real_tokens - factor * bound_tokens // PERCENT for factor in GRID]
        sums = tuple(max(0, held + one) for held, one in zip(self.sums, over, strict=True))
        return Excess(sums, tuple(map(max, self.slacks, sums)))

    def run_bound(self, bound_tokens: int) -> int:
        """Return a bound of a run that was seen, from its bound as counted, in tokens."""
        pairs = zip(GRID, self.slacks, strict=True)
        return min(-(-factor * bound_tokens // PERCENT) + slack for factor, slack in pairs)

    def run_limit(self, limit_tokens: int) -> int:
        """Return the largest bound as counted that `run_bound` takes to at most `limit_tokens`; 0 or more."""
        pairs = zip(GRID, self.slacks, strict=True)
        return max(0, *((limit_tokens - slack) * PERCENT // factor for factor, slack in pairs))

    def text_bound(self, bound_tokens: int) -> int:
        """Return a bound of texts that may be as much above theirs as any run was: at least the bound as counted."""
        return bound_tokens + self.above(bound_tokens)

    def text_limit(self, limit_tokens: int) -> int:
        """Return the largest bound as counted that `text_bound` takes to at most `limit_tokens`; may be below 0."""
        if self.slacks == NOTHING:  # where nothing was reported, and each call asks several times
            return limit_tokens
        pairs = zip(GRID[WIDE:], self.slacks[WIDE:], strict=True)
        return min(limit_tokens, max((limit_tokens - slack) * PERCENT // factor for factor, slack in pairs))

    def above(self, bound_tokens: int) -> int:
        """Return by how much texts may be above their bound, in tokens; 0 where no run was."""
        pairs = zip(GRID[WIDE:], self.slacks[WIDE:], strict=True)
        return min(-(-(factor - PERCENT) * bound_tokens // PERCENT) + slack for factor, slack in pairs)

    @property
    def stored(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Both tuples without the zeros at their end."""
        return _trimmed(self.sums), _trimmed(self.slacks)

    @classmethod
    def of(cls, stored: object) -> Excess:
        """Return what `stored` was of.

        Raises:
            ValueError: it is not that.
        """
        try:
            sums, slacks = cast("Iterable[Sequence[object]]", stored)
            return cls(_whole(sums), _whole(slacks))
        except TypeError as error:
            raise ValueError(f"an excess can't be read: {error}") from error


def _trimmed(values: tuple[int, ...]) -> tuple[int, ...]:
    return values[: len(values) - next((place for place, one in enumerate(reversed(values)) if one), len(values))]


def _whole(values: Sequence[object]) -> tuple[int, ...]:
    sizes = tuple(one for one in values if isinstance(one, int) and one >= 0)
    if len(sizes) < len(values) or len(values) > len(GRID):
        raise ValueError(f"an excess is out of range: {values!r:.200}")
    return (*sizes, *NOTHING[len(sizes) :])
