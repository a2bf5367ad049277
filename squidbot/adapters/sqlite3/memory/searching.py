"""A search of memories in one transaction: candidates by words, days, neighbours and vectors, then their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.sqlite3.memory import index, queries, vectors
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
        keys, counted = candidates(lists, query, max(CANDIDATES, wanted.limit))
    best = keys[:NEIGHBOURS_OF]
    for day in query.days:
        keys += queries.of_days(connection, wanted.view, day, OF_DAYS)
    keys += queries.keys_of(connection, meant.nearest if meant else ()).values()
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
    known = {each.key: meant.nearest[each.key] for each in found.values() if each.key in meant.nearest}
    others = [key for key, each in found.items() if each.key not in known]
    similar = vectors.cosines(connection, meant.model, meant.vector, others)
    return Meaning(known | {found[key].key: cosine for key, cosine in similar.items()}, meant.even)
