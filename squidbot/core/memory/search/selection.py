"""Of what was found, what is told first: a little for what matters and for what is newer; nothing twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.memory.search.texts import lower_words, terms_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.core.memories import Hit, Memory

__all__ = ["BLOCK", "distinct", "half_life_days", "weighed", "worth"]

# What lies between the weights of the most and the least important, and what age takes in the end: where it takes 10 %,
# half a point of the evidence that is found within 2,000 tokens is lost, with 5 % .2.
IMPORTANCE_FRACTION = 0.2
AGE_FRACTION = 0.05
# Half of that is gone after so many days, times the factor of the memory's tag, else of its category (behaviours,
# section 7). That it is looked for changes neither.
HALF_LIFE_DAYS = 90.0
_FACTORS = {
    "fact": 2.0, "professional": 1.5, "health": 1.2, "relationship": 1.0, "preference": 0.8, "event": 0.5, "plan": 0.3,
    "core": 2.0, "background": 1.0, "preferences": 0.8, "concerns": 0.5,
}  # fmt: skip
# So many hits are put in order among themselves: who asks for more of them gets the same first ones.
BLOCK = 64
# Of the terms of two texts so many are shared by what says the same; numbers and negations are shared by all.
SAME_FRACTION = 0.9
_NEGATIONS = frozenset(
    ("no", "not", "never", "none", "nobody", "nothing", "without", "neither", "nor", "longer", "cannot")
)
DAY_SECONDS = 86_400.0


class Sense(NamedTuple):
    """What a text says, as far as it can be compared."""

    text: str
    terms: frozenset[str]
    telling: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Sense:
        """Read a text."""
        terms = frozenset(terms_of(text))
        numbers = (term for term in terms if any(map(str.isdigit, term)))
        negations = (word for word in lower_words(text) if word in _NEGATIONS or word.endswith(("n't", "n\u2019t")))
        return cls(text, terms, frozenset((*numbers, *("not" for _ in negations))))

    def is_of(self, other: Sense) -> bool:
        """Say whether another text says the same."""
        if self.text == other.text:
            return True
        shared = len(self.terms & other.terms)
        return self.telling == other.telling and shared >= SAME_FRACTION * max(1, len(self.terms | other.terms))


def half_life_days(memory: Memory) -> float:
    """Return after how many days half of what age takes of a memory's weight is gone; above 0."""
    factor = next((_FACTORS[tag] for tag in memory.tags if tag in _FACTORS), _FACTORS[memory.category])
    return HALF_LIFE_DAYS * factor


def worth(memory: Memory, now: float) -> float:
    """Return what a memory's score is multiplied by before hits are put in order: 1 for a new one of importance .5.

    It follows from the memory and from `now`, in seconds since 1970, alone: never from what was looked for before.
    """
    days = max(0.0, now - memory.time) / DAY_SECONDS
    left: float = 0.5 ** (days / half_life_days(memory))
    return (1 + IMPORTANCE_FRACTION * (memory.importance - 0.5)) * (1 - AGE_FRACTION * (1 - left))


def weighed(hits: Sequence[Hit], memories: Mapping[str, Memory], now: float) -> list[Memory]:
    """Return the memories of hits, which come best first, in the order in which they are told.

    Those of each `BLOCK` hits stay together. A hit that is not among the memories, by their ids, is left out.
    """
    found = []
    for start in range(0, len(hits), BLOCK):
        block = [(hit, memories[hit.key]) for hit in hits[start : start + BLOCK] if hit.key in memories]
        found += sorted(block, key=lambda pair: -pair[0].score * worth(pair[1], now))
    return [memory for _, memory in found]


def distinct(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories without those that say the same as one of the last `BLOCK` before them."""
    kept: list[Memory] = []
    said: list[Sense] = []
    for memory in memories:
        sense = Sense.of(memory.text)
        if not any(sense.is_of(other) for other in said[-BLOCK:]):
            kept.append(memory)
            said.append(sense)
    return kept
