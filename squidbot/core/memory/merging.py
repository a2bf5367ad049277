"""Which memories say nearly the same, so that one can stand for them: a plan, in which nothing is ever removed."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.memory.facts import about, rank
from squidbot.core.memory.wording import is_negation, words_of
from squidbot.core.vectors.values import dot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from squidbot.core.memories import Memory

__all__ = ["Merge", "alike", "among_nearest", "as_near", "merges", "places_of"]

# From these on two memories are one: of one category, and of two (behaviours, section 7: cosine of their vectors).
SAME_CATEGORY, OTHER_CATEGORY = 0.75, 0.90
# At most so many take another's place at once: who looks at what was done can still follow.
MOST_MERGES = 10
# More are not compared with each other: a quarter of a million pairs take about a second.
MOST_COMPARED = 700
# Beside negations: with one of these in one text only, two say the opposite, too.
_TURNING = frozenset(("hates", "without"))


class Merge(NamedTuple):
    """One memory that stands for others from now on.

    Attributes:
        kept: the memory that stays.
        gone: those whose place it takes; they become history, found where that is asked for.
        reason: why, in a sentence.
    """

    kept: Memory
    gone: tuple[Memory, ...]
    reason: str


def merges(
    memories: Sequence[Memory],
    similar: Callable[[Memory, Memory], float] | None = None,
    only: Collection[str] = (),
) -> tuple[Merge, ...]:
    """Return which memories of one view to merge, at most 10 of them gone; the same from the same.

    `similar` says how near two are, 0 to 1: the cosine of their vectors, or (None) `alike`. The more trusted stays, of
    equals the newer. Memories about different things, as far as that is known, are never merged, nor those that were
    replaced; nor is one that numbers or negations tell from the other. With `only` one of two must be of these ids.
    """
    near = similar or alike
    held = [one for one in memories if not one.superseded_by][:MOST_COMPARED]
    pairs = sorted(
        _pairs(held, near, frozenset(only)), key=lambda pair: (-pair[0], pair[1].memory_id, pair[2].memory_id)
    )
    gone: dict[str, tuple[Memory, Memory, float]] = {}
    for score, kept, other in pairs:
        if len(gone) < MOST_MERGES and kept.memory_id not in gone and other.memory_id not in gone:
            # What stands for others is not taken away itself: no chains within one plan.
            if any(first.memory_id == other.memory_id for first, _, _ in gone.values()):
                continue
            gone[other.memory_id] = kept, other, score
    return tuple(_merged(gone.values()))


def places_of(plan: Sequence[Merge]) -> dict[str, str]:
    """Return a plan as `MemoryStore.supersede` takes it: of each memory, the one that takes its place."""
    return {other.memory_id: merge.kept.memory_id for merge in plan for other in merge.gone}


def as_near(vectors: Mapping[str, Sequence[float]]) -> Callable[[Memory, Memory], float]:
    """Return how near two memories are by their vectors, of length 1, by id: the cosine, not below 0."""

    def near(one: Memory, other: Memory) -> float:
        return max(0.0, dot(vectors[one.memory_id], vectors[other.memory_id]))

    return near


def among_nearest(found: Mapping[str, Mapping[str, float]]) -> Callable[[Memory, Memory], float]:
    """Return how near two memories are, from the cosines of the nearest of some: by words where there is none."""

    def near(one: Memory, other: Memory) -> float:
        first = found.get(one.memory_id, {}).get(other.memory_id)
        second = found.get(other.memory_id, {}).get(one.memory_id)
        known = [each for each in (first, second) if each is not None]
        return max(0.0, *known) if known else alike(one, other)

    return near


def _merged(gone: Collection[tuple[Memory, Memory, float]]) -> Iterator[Merge]:
    kept = {first.memory_id: first for first, _, _ in gone}
    for memory_id, first in kept.items():
        others = [(other, score) for one, other, score in gone if one.memory_id == memory_id]
        least = min(score for _, score in others)
        yield Merge(first, tuple(other for other, _ in others), f"says nearly the same, {100 * least:.0f} % alike")


def _pairs(
    held: Sequence[Memory], near: Callable[[Memory, Memory], float], only: frozenset[str]
) -> Iterator[tuple[float, Memory, Memory]]:
    for one, other in combinations(held, 2):
        if only and one.memory_id not in only and other.memory_id not in only:
            continue
        if _may_merge(one, other):
            score = near(one, other)
            if score >= (SAME_CATEGORY if one.category == other.category else OTHER_CATEGORY):
                kept, gone = sorted((one, other), key=lambda each: (rank(each.trust), -each.time, each.memory_id))
                yield score, kept, gone


def _may_merge(one: Memory, other: Memory) -> bool:
    """Return whether two memories can be one: of one speaker, and nothing known tells them apart."""
    slots = {about(one), about(other)} - {""}
    if one.speaker != other.speaker or len(slots) > 1:
        return False
    apart = set(words_of(one.text)) ^ set(words_of(other.text))
    return not any(word in _TURNING or is_negation(word) or any(map(str.isdigit, word)) for word in apart)


def alike(one: Memory, other: Memory) -> float:
    """Return how alike two memories are by their words, 0 to 1: the share of all their words that both have."""
    first, second = set(words_of(one.text)), set(words_of(other.text))
    return len(first & second) / max(1, len(first | second))
