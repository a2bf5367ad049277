"""The search that reads all passages: what stores and settings are compared with."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from heapq import nlargest, nsmallest
from math import inf
from typing import TYPE_CHECKING

from squidbot.core.memory.days import day_of
from squidbot.core.memory.search import (
    CANDIDATES,
    INSTRUCTIONS,
    LENGTH_SHARE,
    NEAREST,
    NEIGHBOURS_OF,
    OF_DAYS,
    RELATED,
    SATURATION,
    ParsedQuery,
    PreparedPassage,
    features_of,
    idf,
    neighbours_of,
    score,
)
from squidbot.core.memory.words import root, synonyms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from squidbot.core.memories import MemoryHit, Passage
    from squidbot.core.memory.search import Similarity

# Beyond so many postings the commonest terms are skipped, unless there are too few hits: about 10 ms.
MOST_POSTINGS = 20_000


def lookups(query: ParsedQuery) -> dict[str, float]:
    """Return the terms that find candidates, beside those of their families, and their weights."""
    found = {each.stem: each.near for term in query.terms for each in synonyms(term)}
    return found | dict.fromkeys(query.terms, 1.0)


class Index:
    """Passages that can be searched. Not for use by several threads at once."""

    def __init__(self, passages: Iterable[Passage] = ()) -> None:
        """Take in passages."""
        self._candidates: dict[str, PreparedPassage] = {}
        self._postings: dict[str, dict[str, int]] = {}
        self._families: dict[str, set[str]] = {}
        self._places: dict[tuple[str, int], str] = {}
        self._days: list[tuple[int, str]] = []
        self._speakers: dict[str, int] = {}
        self._instructions: dict[str, None] = {}
        self._terms = 0
        self.add(passages)

    def __len__(self) -> int:
        """Return how many passages there are."""
        return len(self._candidates)

    @property
    def passages(self) -> int:
        """How many passages there are."""
        return len(self._candidates)

    @property
    def average_terms(self) -> float:
        """How many terms they have, on the average; above 0."""
        return max(1.0, self._terms / max(1, len(self._candidates)))

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return how many passages have each term, for terms of any passage."""
        return {term: len(self._postings[term]) for term in terms if term in self._postings}

    def passage(self, key: str) -> Passage:
        """Return a passage by its key.

        Raises:
            KeyError: there is none of that key.
        """
        return self._candidates[key].passage

    def add(self, passages: Iterable[Passage]) -> None:
        """Add passages; one of a known key replaces the former."""
        for passage in passages:
            self.remove((passage.key,))
            candidate = PreparedPassage(passage, features_of(passage))
            self._candidates[passage.key] = candidate
            for term in candidate.prepared.terms:
                counts = self._postings.setdefault(term, {})
                counts[passage.key] = counts.get(passage.key, 0) + 1
                self._families.setdefault(root(term), set()).add(term)
            self._terms += len(candidate.prepared.terms)
            if candidate.prepared.instructs:
                self._instructions[passage.key] = None
            self._speakers[passage.speaker] = self._speakers.get(passage.speaker, 0) + 1
            if passage.group:
                self._places[passage.group, passage.position] = passage.key
            if passage.time is not None:
                insort(self._days, (day_of(passage.time), passage.key))

    def remove(self, keys: Iterable[str]) -> None:
        """Remove passages; unknown keys do nothing."""
        for candidate in [self._candidates.pop(key) for key in keys if key in self._candidates]:
            passage, terms = candidate.passage, candidate.prepared.terms
            for term in dict.fromkeys(terms):
                del self._postings[term][passage.key]
                if not self._postings[term]:
                    del self._postings[term]
                    self._families[root(term)].discard(term)
                    if not self._families[root(term)]:
                        del self._families[root(term)]
            self._terms -= len(terms)
            self._instructions.pop(passage.key, None)
            self._speakers[passage.speaker] -= 1
            if not self._speakers[passage.speaker]:
                del self._speakers[passage.speaker]
            if self._places.get((passage.group, passage.position)) == passage.key:
                del self._places[passage.group, passage.position]
            if passage.time is not None:
                del self._days[bisect_left(self._days, (day_of(passage.time), passage.key))]

    def search(
        self,
        text: str,
        limit: int = 20,
        now: float | None = None,
        *,
        meaning: Similarity | None = None,
        cosines: Callable[[Iterable[str]], Mapping[str, float]] | None = None,
    ) -> list[MemoryHit]:
        """Return the passages that answer a query, best first, ties newest first, then by key.

        `now` is in seconds since 1970. With `meaning` vectors find and rank passages, too; `cosines` returns further
        cosines by key.

        Raises:
            ValueError: there is no letter or digit in the query.
        """
        query = ParsedQuery.of(text, now, self._speakers)
        found = self.candidates(query, limit, meaning.similar if meaning else {})
        if meaning and cosines:
            known = meaning.similar
            more = cosines(each.passage.key for each in found if each.passage.key not in known)
            meaning = meaning._replace(similar={**known, **more})
        return score(query, found, self, meaning)[: max(0, limit)]

    def candidates(
        self, query: ParsedQuery, limit: int = 0, similar: Mapping[str, float] | None = None
    ) -> list[PreparedPassage]:
        """Return the candidates: the best by words, their neighbours, passages of the days asked about, the nearest.

        There are at least `limit` of the best, if so many have any of the words, and of the nearest by `similar`, which
        has the cosines of passages by their keys.
        """
        found = self._lexical(query, limit)
        most = max(CANDIDATES, limit)
        least = min(nlargest(most, found.values()), default=0.0)
        near = [key for key, value in found.items() if value >= least]
        best = nsmallest(most, near, key=lambda key: (-found[key], self._recency(key), key))
        keys = dict.fromkeys(best)
        for key in best[:NEIGHBOURS_OF]:
            keys.update(dict.fromkeys(self._beside(key)))
        keys.update(dict.fromkeys(list(self._instructions)[-INSTRUCTIONS:]))
        for first, last in query.days:
            low, high = bisect_left(self._days, (first, "")), bisect_right(self._days, (last + 1, ""))
            keys.update(dict.fromkeys(key for _, key in self._days[low:high][-OF_DAYS:]))
        meant = similar or {}
        keys.update(dict.fromkeys(nsmallest(max(NEAREST, limit), meant, key=lambda key: (-meant[key], key))))
        return [self._candidates[key] for key in keys if key in self._candidates]

    def _lexical(self, query: ParsedQuery, limit: int) -> dict[str, float]:
        found: dict[str, float] = {}
        left = MOST_POSTINGS
        base, slope = SATURATION * (1 - LENGTH_SHARE), SATURATION * LENGTH_SHARE / self.average_terms
        wanted = lookups(query)
        for term in query.terms:
            for other in sorted(self._families.get(root(term), ())):
                wanted[other] = max(RELATED, wanted.get(other, 0.0))
        tells_of = {
            term: near * idf(len(self._postings[term]), len(self._candidates))
            for term, near in wanted.items()
            if term in self._postings
        }
        for term in sorted(tells_of, key=lambda term: (-tells_of[term], term)):
            postings, tells = self._postings[term], tells_of[term]
            if len(found) >= max(1, limit) and len(postings) > left:
                break
            left -= len(postings)
            for key, count in postings.items():
                damping = base + slope * len(self._candidates[key].prepared.terms)
                found[key] = found.get(key, 0.0) + tells * count / (count + damping)
        return found

    def _beside(self, key: str) -> Sequence[str]:
        passage = self._candidates[key].passage
        if not passage.group:
            return ()
        places = ((passage.group, passage.position + steps) for steps in neighbours_of(passage))
        return [self._places[place] for place in places if place in self._places]

    def _recency(self, key: str) -> float:
        time = self._candidates[key].passage.time
        return inf if time is None else -time
