"""Of what was found, as much as a budget takes: best first, nothing twice, and never less for a larger budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.memory.search.texts import terms_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from squidbot.core.memories import Hit, Passage

__all__ = ["select"]

# Of the terms of two passages so many are shared by what says the same.
SAME_FRACTION = 0.9


def select(
    hits: Iterable[Hit],
    passages: Mapping[str, Passage],
    budget_tokens: int,
    cost: Callable[[Passage], int],
    min_relevance: float = 0.0,
) -> list[Hit]:
    """Return the first hits that fit a budget, in their order, without what says the same as one before it.

    The first that does not fit ends it: what a smaller budget held, a larger one holds.

    Args:
        hits: what was found, best first; a hit that is not among `passages` is left out.
        passages: by their keys.
        budget_tokens: what all of it may cost.
        cost: what a passage costs as it is shown, in tokens.
        min_relevance: the least score, 0 to 1.
    """
    chosen: list[Hit] = []
    said: list[frozenset[str]] = []
    left = budget_tokens
    for hit in hits:
        passage = passages.get(hit.key)
        if passage is None or hit.score < min_relevance:
            continue
        terms = frozenset(terms_of(passage.text))
        if terms and any(_is_same(terms, other) for other in said):
            continue
        left -= cost(passage)
        if left < 0:
            break
        chosen.append(hit)
        said.append(terms)
    return chosen


def _is_same(terms: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(terms & other)
    return shared > 0 and shared >= SAME_FRACTION * (len(terms) + len(other) - shared)
