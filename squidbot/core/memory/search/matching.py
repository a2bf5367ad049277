"""How much of each of a query's terms a passage has, under its own words, their family's, or their subject's."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.core.memory.search.kin import kin
from squidbot.core.memory.search.stems import root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.core.memory.search.query import Query

__all__ = ["Statistics", "Weights", "idf", "strengths", "weights_of"]

# BM25's constants, as everybody has them: where more of the same word tells less, and how much length counts.
SATURATION = 1.2
LENGTH_SHARE = 0.75
# Where passages are shorter on the average, they are few: one of that many terms is not long.
USUAL_TERMS = 8
# A word of the same family, and one spelled alike (times how alike): "adoption" for "adopt", "colour" for "color".
FAMILY = 0.7
SPELLED = 0.5
ALIKE = 0.6  # of their three-letter pieces shared, from which on two words are spelled alike
PREFIX_LETTERS = 3
SPELLED_LETTERS = 5
# A word that nobody ever said can't be matched: it counts half of what its rarity says.
UNSAID = 0.5

Near = tuple[tuple[int, float], ...]  # places of a query's terms, and how near a word is to each


class Statistics(Protocol):
    """What is known of all passages that are searched, beyond those that are looked at."""

    @property
    def passages(self) -> int:
        """How many there are."""

    @property
    def average_terms(self) -> float:
        """How many terms they have, on the average; above 0."""

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return in how many passages terms are.

        Those that are in none may be left out, and all but the query's where counting costs: they are taken for rare.
        """


class Weights(NamedTuple):
    """What each term of a query counts, 1 in all, and the words of the passages that are near to them."""

    shares: tuple[float, ...]
    near: Mapping[str, Near]


def idf(frequency: int, passages: int) -> float:
    """Return what finding a term tells: its inverse document frequency as in BM25, above 0."""
    return log(1 + (max(passages - frequency, 0) + 0.5) / (frequency + 0.5))


def weights_of(query: Query, vocabulary: Iterable[str], statistics: Statistics) -> Weights:
    """Return what a query's terms count, and which words of a vocabulary are near to them."""
    nearby = _nearby(query.terms, vocabulary)
    known = statistics.frequencies([*query.terms, *nearby])
    tells = {term: idf(known.get(term, 0), statistics.passages) for term in (*query.terms, *nearby)}
    counted = [tells[term] * (1.0 if known.get(term) else UNSAID) for term in query.terms]
    total = sum(counted)
    near: dict[str, Near] = {}
    for word, places in nearby.items():
        # A common word that may stand for a rare one tells no more than itself.
        near[word] = tuple((at, value * min(1.0, tells[word] / tells[query.terms[at]])) for at, value in places)
    for place, term in enumerate(query.terms):
        others = tuple(each for each in near.get(term, ()) if each[0] != place)
        near[term] = ((place, 1.0), *others)
    return Weights(tuple(each / total for each in counted), near)


def strengths(terms: Sequence[str], weights: Weights, average_terms: float) -> list[float]:
    """Return how much of each of the query's terms a passage has, each 0 to 1, by its terms."""
    found = [0.0] * len(weights.shares)
    counts: dict[str, int] = {}
    for term in terms:
        if term in weights.near:
            counts[term] = counts.get(term, 0) + 1
    damping = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(terms) / max(average_terms, USUAL_TERMS))
    for term, count in counts.items():
        share = count / (count + damping)
        for place, nearness in weights.near[term]:
            found[place] = max(found[place], nearness * share)
    return found


def _nearby(terms: Sequence[str], vocabulary: Iterable[str]) -> dict[str, Near]:
    """Return the words that are near to any of the terms."""
    families: dict[str, list[int]] = {}
    spelled: dict[str, list[int]] = {}
    subjects: dict[str, list[tuple[int, float]]] = {}
    for place, term in enumerate(terms):
        families.setdefault(root(term), []).append(place)
        if len(term) >= SPELLED_LETTERS:
            spelled.setdefault(term[:PREFIX_LETTERS], []).append(place)
        for other in kin(term):
            subjects.setdefault(other.stem, []).append((place, other.near))
    found: dict[str, Near] = {}
    for word in vocabulary:
        by_subject, by_letters = subjects.get(word, ()), spelled.get(word[:PREFIX_LETTERS], ())
        by_family = families.get(root(word), ())
        if by_subject or by_letters or by_family:  # not so for most of a vocabulary
            near = dict(by_subject)
            near.update((at, _alike(word, terms[at])) for at in by_letters)
            near.update(dict.fromkeys(by_family, FAMILY))
            if places := _others(near, word, terms):
                found[word] = places
    return found


def _others(near: Mapping[int, float], word: str, terms: Sequence[str]) -> Near:
    """Return the places of those terms that a word is near to, without itself."""
    return tuple((at, value) for at, value in near.items() if value > 0 and terms[at] != word)


def _alike(word: str, other: str) -> float:
    """Return how much a word spelled like another counts, 0 for one that is not."""
    if len(word) < SPELLED_LETTERS - 1:
        return 0.0
    pieces, others = _pieces(word), _pieces(other)
    share = 2 * len(pieces & others) / (len(pieces) + len(others))
    return SPELLED * share if share >= ALIKE else 0.0


def _pieces(word: str) -> set[str]:
    framed = f"^{word}$"
    return {framed[start : start + 3] for start in range(len(framed) - 2)}
