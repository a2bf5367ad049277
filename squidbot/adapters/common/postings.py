"""The search of memories by lists of terms: what a list knows a memory by, candidates for a query, their scores."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from hashlib import blake2b
from heapq import nlargest
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, Protocol

from squidbot.adapters.common.memories import view_digests
from squidbot.core.memories import View, passage_of
from squidbot.core.memory.search import (
    CANDIDATES,
    INSTRUCTIONS,
    NEIGHBOURS_OF,
    OF_DAYS,
    RELATED,
    ParsedQuery,
    PreparedPassage,
    Similarity,
    features_of,
    idf,
    instructs,
    neighbours_of,
    score,
    terms_of,
)
from squidbot.core.memory.words import FELLOW, root, synonyms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from squidbot.core.memories import Memory, MemoryHit, Passage
    from squidbot.core.memory.days import Days
    from squidbot.core.vectors import QueryMeaning


# The mark of standing instructions, which is no root of a word.
INSTRUCTION = "__instruction"
# Positions in rows to look for in one statement: FTS5 takes up to 256 words.
PLACES_AT_ONCE = 64


class MemoryLists(Protocol):
    """The lists of one view: the words of its memories."""

    @property
    def among(self) -> int:
        """The number of its memories."""

    def newest(self, words: Iterable[Sequence[str]], limit: int) -> list[int]:
        """Return the keys of at most `limit` memories that have each of the words, in any of its forms, newest first.

        Without words, those of any memories.
        """

    def expect(self, asked: Sequence[tuple[Sequence[Sequence[str]], int]]) -> None:
        """Take the words and limits that `newest` will be asked for: one reading may serve them all."""


class ViewCounts:
    """Number of indexed memories of each view, current and history."""

    def __init__(self) -> None:
        """Count none."""
        self.of_views = defaultdict[int, list[int]](lambda: [0, 0])

    def terms(self, memory: Memory, sign: int = 1) -> list[str]:
        """Return what lists know a memory by: its terms, its marks, and the roots that they don't show; count it.

        `sign`: -1 to remove it.
        """
        for digest in view_digests(memory.scope):
            self.of_views[digest][bool(memory.superseded_by)] += sign
        passage = passage_of(memory)
        marks = [INSTRUCTION] if instructs(memory.text) else []
        if passage.group:
            marks.append(_place(passage.group, passage.position))
        different = dict.fromkeys((*terms_of(memory.text), *marks))
        return [*different, *{f"_{root(term)}" for term in different if term[:1] != "_" and root(term) != term}]


def _place(group: str, position: int) -> str:
    """Return the term of a position in a row."""
    digest = blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"_{digest}_{position}"


def family(term: str) -> tuple[str, ...]:
    """Return the index terms for memories with a word of a term's family."""
    return root(term), f"_{root(term)}"


def fellows_of(term: str) -> tuple[str, ...]:
    """Return the index terms for memories with another word of a term's subject."""
    return tuple(fellow.stem for fellow in synonyms(term))


# Finds candidates for a query in a view, in bounded time for any number of memories.

# Also the number of a term's memories to read: at a million, a millisecond a term. At 20,000 the ten best of six words
# are .96 those of a search that reads all; with 512 they are .88.
PROBED = 2048
# Number of rarest terms to look for together, in pairs and all at once; number with subjects.
TOGETHER = 4
SUBJECTS = 8
# Memories to find per combination, family or subject.
PAIRED = 128
# Terms in a larger fraction are combined only if fewer than three terms are rarer.
COMMON_FRACTION = 1 / 8


class TermStatistics:
    """`core.memory.search.Statistics` of all memories of a view, from the lists; common terms are estimated."""

    def __init__(self, lists: MemoryLists) -> None:
        """Take the lists of a view."""
        self._lists = lists
        self._known: dict[str, int] = {}
        self._newest = 0

    @property
    def passages(self) -> int:
        """Number of memories in the view."""
        return self._lists.among

    def frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Count the memories with each term."""
        asked = list(terms)
        self._lists.expect([([(term,)], PAIRED) for term in asked if term not in self._known])
        return {term: self._known[term] if term in self._known else self._probed(term) for term in asked}

    def _probed(self, term: str) -> int:
        return self.note(term, self._lists.newest([(term,)], PAIRED), PAIRED)

    def note(self, term: str, keys: Sequence[int], limit: int) -> int:
        """Return the number of memories with a term, given its newest ones, at most `limit`, and remember it."""
        if term not in self._known:
            count = len(keys)
            if count == limit:
                # The term's share since its oldest found memory stands for its share of all.
                self._newest = self._newest or self._lists.newest([], 1)[0]
                since = max(self._newest - keys[-1] + 1, limit)
                count = min(max(limit * self.passages // since, limit), self.passages)
            self._known[term] = count
        return self._known[term]


class ProbedTerm(NamedTuple):
    """A query term: whether all its memories are known, their number, and the term's weight."""

    term: str
    is_complete: bool
    memories: int
    weight: float


def candidates(lists: MemoryLists, query: ParsedQuery, limit: int) -> tuple[list[int], TermStatistics]:
    """Return at most `limit` memories of a view that may answer a query best, and statistics of the others."""
    counted = TermStatistics(lists)
    having = defaultdict[int, float](float)
    lists.expect(
        [
            ([], 1),
            ([(INSTRUCTION,)], INSTRUCTIONS),
            *(([(term,)], max(PROBED, limit)) for term in query.terms),
            *(([forms], PAIRED) for term in query.terms for forms in (family(term), fellows_of(term)) if forms),
        ]
    )
    known = [_probe(lists, counted, term, max(PROBED, limit), having) for term in query.terms]
    rarest = sorted((each for each in known if each.memories), key=lambda each: each.memories)[:TOGETHER]
    for several in _together(rarest, lists.among):
        weight = sum(each.weight for each in several)
        for key in lists.newest([(each.term,) for each in several], PAIRED):
            having[key] = max(having[key], weight)
    _add_fellows(lists, known, having)
    best = nlargest(limit, zip(having.values(), having, strict=True))
    return [key for _, key in best], counted


def _add_fellows(lists: MemoryLists, known: Sequence[ProbedTerm], having: defaultdict[int, float]) -> None:
    """Add the weight of memories with another word of a term's subject, also for terms that no memory has."""
    for each in sorted(known, key=lambda each: each.memories)[:SUBJECTS]:
        if fellows := fellows_of(each.term):
            for key in lists.newest([fellows], PAIRED):
                having[key] += FELLOW * each.weight


def _probe(
    lists: MemoryLists, statistics: TermStatistics, term: str, limit: int, having: defaultdict[int, float]
) -> ProbedTerm:
    keys = lists.newest([(term,)], limit)
    count = statistics.note(term, keys, limit)
    weight = idf(count, lists.among)
    for key in keys:
        having[key] += weight
    own = set(keys)
    for key in lists.newest([family(term)], PAIRED):
        if key not in own:
            having[key] += RELATED * weight
    return ProbedTerm(term, len(keys) < limit, count, weight)


def _together(found: Sequence[ProbedTerm], among: int) -> list[tuple[ProbedTerm, ...]]:
    """Return the terms to look for together: combinations with a truncated list."""
    if all(each.is_complete for each in found):
        return []
    telling = [each for each in found if each.memories <= among * COMMON_FRACTION]
    if len(telling) < 3:
        telling = list(found)
    pairs = [pair for pair in combinations(telling, 2) if not all(each.is_complete for each in pair)]
    return [*pairs, *([tuple(telling)] if len(telling) > 2 else [])]


# A search of memories in one transaction: candidates by words, days, neighbours and vectors, then their scores.

# Above this many memories, if vectors search too, words supply fewer candidates: each costs a tenth of a millisecond.
# Below it this does not pay: the nearest stands out less from the rest, and more questions get no answer.
MANY_MEMORIES = 50_000
FEWER_FRACTION = 0.5


class MemorySource(Protocol):
    """What a store reads for a search, on one snapshot."""

    def lists(self, view: View, *, past: bool) -> MemoryLists:
        """Return the lists of a view; with `past` including history."""

    def of_days(self, view: View, days: Days, limit: int) -> list[int]:
        """Return the keys of at most `limit` memories of a view from these days, newest first."""

    def keys_at(self, meant: QueryMeaning) -> list[int]:
        """Return the keys of existing memories with the vectors nearest to the query."""

    def picked(self, keys: Sequence[int]) -> Iterable[tuple[int, Memory]]:
        """Return memories by key, in no order, except unreadable ones."""

    def cosines(self, meant: QueryMeaning, keys: Sequence[int]) -> dict[int, float]:
        """Return the cosines of the query and of memories by key, except unreadable ones."""


def search_memories(  # noqa: PLR0913  # as `MemoryStore.search` has it
    source: MemorySource,
    text: str,
    view: View,
    *,
    limit: int,
    now: float,
    past: bool,
    meant: QueryMeaning | None,
) -> list[MemoryHit]:
    """Return the memories that answer a query, best first. Raises what the source raises."""
    seen = partial(_seen, source, view, past=past)
    query = ParsedQuery.of(text, now)
    lists = source.lists(view, past=past)
    share = FEWER_FRACTION if meant and lists.among > MANY_MEMORIES else 1
    keys, statistics = candidates(lists, query, max(round(CANDIDATES * share), limit))
    best = keys[: round(NEIGHBOURS_OF * share)]
    keys += lists.newest([(INSTRUCTION,)], INSTRUCTIONS)
    for day in query.days:
        keys += source.of_days(view, day, OF_DAYS)
    keys += source.keys_at(meant) if meant else ()
    found = seen(dict.fromkeys(keys))
    neighbours = beside(lists, [found[key] for key in best if key in found])
    found |= seen(key for key in neighbours if key not in found)
    meaning = _meaning(source, meant, found) if meant else None
    # The speakers are known only now: a name in the query may be a speaker's.
    query = ParsedQuery.of(text, now, {passage.speaker for passage in found.values()})
    ranked = score(query, [PreparedPassage(each, features_of(each)) for each in found.values()], statistics, meaning)
    return ranked[:limit]


def _seen(source: MemorySource, view: View, keys: Iterable[int], *, past: bool) -> dict[int, Passage]:
    """Return the passages of memories by key, those that a view sees."""
    return {
        key: passage_of(memory)
        for key, memory in source.picked(list(keys))
        if View(memory.scope, view.isolation).key == view.key and (past or not memory.superseded_by)
    }


def _meaning(source: MemorySource, meant: QueryMeaning, found: Mapping[int, Passage]) -> Similarity:
    similar = source.cosines(meant, list(found))
    return Similarity({found[key].key: cosine for key, cosine in similar.items()}, meant.even)


def beside(lists: MemoryLists, passages: Iterable[Passage]) -> list[int]:
    """Return the keys of memories next to others in their rows; the lists know no more about them."""
    rows = [each for each in passages if each.group]
    steps = ((each.group, each.position + step) for each in rows for step in neighbours_of(each))
    places = list(dict.fromkeys(_place(group, position) for group, position in steps if position >= 0))
    return [
        key
        for first in range(0, len(places), PLACES_AT_ONCE)
        for key in lists.newest([places[first : first + PLACES_AT_ONCE]], 2 * PLACES_AT_ONCE)
    ]
