"""A search of memories in one transaction: candidates by words, days, neighbours and vectors, then their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.sqlite3.memory import index, places, queries, vectors
from squidbot.adapters.sqlite3.memory.candidates import candidates
from squidbot.adapters.sqlite3.views import index_errors
from squidbot.core.memories import View, passage_of
from squidbot.core.memory.search.index import CANDIDATES, NEIGHBOURS_OF, OF_DAYS
from squidbot.core.memory.search.likeness import Meaning
from squidbot.core.memory.search.query import Query
from squidbot.core.memory.search.ranking import score
from squidbot.core.memory.search.signals import Candidate
from squidbot.core.memory.search.texts import prepared

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping

    from squidbot.core.memories import Hit, Passage
    from squidbot.core.vectors.values import Meant

__all__ = ["Wanted", "searched"]

# Of more memories than so many, what words find is a smaller part of what is ranked, where vectors find, too: each
# takes a tenth of a millisecond. As many are found then: of 997 questions among 2,760 passages, 84.4 and 88.8 in 100
# have their evidence within 1,000 and 2,000 tokens, 84.2 and 88.7 with all of them. Among fewer it is not done: the
# nearest stands out less from those that are left, and twice as many questions get no answer, for a third less that
# should have none.
MANY_MEMORIES = 50_000
FEWER_FRACTION = 0.5


class Wanted(NamedTuple):
    """What is searched for, as `MemoryStore.search` has it."""

    query: str
    view: View
    limit: int
    now: float
    past: bool


def searched(connection: sqlite3.Connection, wanted: Wanted, meant: Meant | None) -> list[Hit]:
    """Return what answers a query, best first, within a transaction that sees the same memories all the time.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    query = Query.of(wanted.query, wanted.now)
    with index_errors():
        lists = index.lists(connection, wanted.view, past=wanted.past)
        share = FEWER_FRACTION if meant and lists.among > MANY_MEMORIES else 1
        keys, counted = candidates(lists, query, max(round(CANDIDATES * share), wanted.limit))
    best = keys[: round(NEIGHBOURS_OF * share)]
    for day in query.days:
        keys += queries.of_days(connection, wanted.view, day, OF_DAYS)
    keys += places.keys_at(connection, meant) if meant else ()
    found = _seen(connection, wanted, dict.fromkeys(keys))
    with index_errors():
        beside = index.beside(lists, [found[key] for key in best if key in found])
    found |= _seen(connection, wanted, (key for key in beside if key not in found))
    meaning = _meaning(connection, meant, found) if meant else None
    # Who of these speaks is known only now: a name in the query may be a speaker's.
    query = Query.of(wanted.query, wanted.now, {passage.speaker for passage in found.values()})
    with index_errors():
        ranked = score(query, [Candidate(each, prepared(each)) for each in found.values()], counted, meaning)
    return ranked[: wanted.limit]


def _seen(connection: sqlite3.Connection, wanted: Wanted, keys: Iterable[int]) -> dict[int, Passage]:
    """Return the passages of memories by key, of those that the view sees."""
    return {
        key: passage_of(memory)
        for key, memory in queries.picked(connection, list(keys))
        if View(memory.scope, wanted.view.isolation).key == wanted.view.key
        and (wanted.past or not memory.superseded_by)
    }


def _meaning(connection: sqlite3.Connection, meant: Meant, found: Mapping[int, Passage]) -> Meaning:
    similar = vectors.cosines(connection, meant, list(found))
    return Meaning({found[key].key: cosine for key, cosine in similar.items()}, meant.even)
