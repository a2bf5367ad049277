"""What each category of messages may cost of a request: soft caps by weight (P-08, C11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.budget.allocate import Item, allocate

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CATEGORIES", "WEIGHTS", "Share", "shares"]

# In the order of the document: system text with tools, context with documents, what was said with notes on it, what
# tools put out with their errors.
CATEGORIES: Final = ("system", "context", "dialog", "output")
WEIGHTS: Final = (10, 30, 40, 20)
# A pool for what is none of these (C11), beside weights that sum to 100.
POOL: Final = "other"
POOL_WEIGHT: Final = 5


class Share(NamedTuple):
    """What a category uses of a request, and what it is allotted, in the unit of the total."""

    name: str
    used: int
    allotted: int

    @property
    def is_over(self) -> bool:
        """Whether it uses more than its share."""
        return self.used > self.allotted


def shares(total: int, used: Mapping[str, int], weights: tuple[int, int, int, int] = WEIGHTS) -> tuple[Share, ...]:
    """Return what each category uses and may, in the document's order: a cap is soft, what nobody uses is borrowed.

    So nothing is over its share while all of them together fit: 60,000 of dialogue in 100,000 are (V11).

    Raises:
        ConfigError: a weight is negative.
    """
    named = zip(CATEGORIES, weights, strict=True)
    items = [Item(name, weight, actual=used.get(name, 0)) for name, weight in named]
    allotted = allocate(max(0, total), [*items, Item(POOL, POOL_WEIGHT, actual=used.get(POOL, 0))])
    return tuple(Share(name, used.get(name, 0), allotted[name]) for name in CATEGORIES)
