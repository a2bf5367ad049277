"""Durable facts that live in memory, for tests and for hosts that keep nothing."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.stdlib.changes import decided, moved, wanted
from squidbot.adapters.stdlib.vectors import Spaces
from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import CARDS, View, is_said_in, passage_of, refuse_missing, unsaid
from squidbot.core.memory.search.index import Index
from squidbot.core.memory.search.likeness import Meaning
from squidbot.core.memory.search.query import is_sought

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from squidbot.adapters.stdlib.vectors import InMemoryVectors
    from squidbot.core.memories import Category, Hit, Mark, Memory, Said
    from squidbot.core.vectors.values import Meant

__all__ = ["Grave", "InMemoryMemoryStore"]


class _Kept(NamedTuple):
    """A memory, and its place in the order of their coming."""

    memory: Memory
    place: int

    @property
    def order(self) -> tuple[float, int]:
        """What listings go by, newest first."""
        return -self.memory.time, -self.place


class Grave(NamedTuple):
    """What is left of a memory that was forgotten: its place in listings, whose it was, and why it is gone."""

    order: tuple[float, int]
    owner: tuple[str, str]
    reason: str


# All of one tenant's user, by id.
_Owned = dict[str, _Kept]


class InMemoryMemoryStore:
    """MemoryStore that is gone with the process; threads may share one."""

    def __init__(self) -> None:
        self._owners: dict[tuple[str, str], _Owned] = {}
        self._owner: dict[str, tuple[str, str]] = {}
        self._graves: dict[str, Grave] = {}
        self._marks: dict[tuple[str, str], Mark] = {}
        self._indexes: dict[tuple[View, bool], Index] = {}
        self._spaces = Spaces()
        self._places = 0
        self._lock = threading.Lock()

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: Said | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store memories, all or nothing; each takes the place of what it supersedes. An equal one does nothing.

        With `mark` how far a session was read goes with them, in the place of `was`; with `said` sources that memories
        do not have yet, by id; with `places` memories are put into the places of others, too, as by `supersede`.

        Raises:
            NotFoundError: nothing was stored: one of `said` is not there.
            StoreError: nothing was stored: another memory has that id, what is superseded is not there or is another
                user's, a value can't be stored, a place can't be taken, or another has read the session meanwhile.
        """
        with self._lock:
            placed = self._placed(wanted(self._find, memories, said or {}, places or {}))
            self._check_mark(mark, was)
            self._take_in(placed, mark)

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None where it has not begun."""
        with self._lock:
            return self._marks.get((session_id, reader))

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, all or nothing; "" takes that back.

        Raises:
            StoreError: nothing was changed: a memory is not there, another user's, or replaced before; or what is to
                take its place is history.
        """
        with self._lock:
            self._take_in(self._placed(moved(self._find, places)))

    def said_in(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, history too."""
        with self._lock:
            every = [kept.memory for owned in self._owners.values() for kept in owned.values()]
        return [memory for memory in every if is_said_in(memory, session_id)]

    def unsay(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages out of the sources of memories; return the ids of those that were forgotten by that."""
        with self._lock:
            found = self._unsaid(session_id, frozenset(seqs))
            gone = [each.memory_id for each in found if not each.sources]
            for memory_id in gone:
                self._remove(memory_id, reason)
            self._take_in(self._placed(each for each in found if each.sources))
            return gone

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others, all or nothing; one that is in both is from then on as it comes.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there.
            StoreError: nothing was changed: as `add` does.
        """
        with self._lock:
            without = frozenset(gone)
            refuse_missing(without, self._owner)
            placed = self._placed(decided(self._find, memories, without).values())
            for memory_id in without:
                self._remove(memory_id, reason)
            for place, memory in placed:
                self._graves.pop(memory.memory_id, None)
                self._put(memory, place)

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out."""
        with self._lock:
            return [found for found in map(self._find, memory_ids) if found]

    def listed(
        self, view: View, category: Category | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return the memories of a view, newest first, at most `limit` behind `after`; with `past` history, too.

        Raises:
            NotFoundError: no memory of the view has, or had, the id `after`.
        """
        with self._lock:
            behind = self._order(view, after) if after else None
            seen = sorted(self._seen(view, past=past), key=lambda kept: kept.order)
        listed = (kept.memory for kept in seen if behind is None or kept.order > behind)
        return list(islice((each for each in listed if category in {None, each.category}), max(limit, 0)))

    def search(  # noqa: PLR0913  # as the port has it
        self,
        query: str,
        view: View,
        *,
        limit: int = 20,
        now: float,
        past: bool = False,
        meant: Meant | None = None,
    ) -> list[Hit]:
        """Return the memories of a view that answer a query, best first, ties newest first; with `meant` vectors speak.

        Raises:
            ValueError: there is no letter or digit in the query.
        """
        self._look()
        if not is_sought(query, now):
            return []
        with self._lock:
            known = self._indexes.get((view, past))
            if known is None:
                known = Index(passage_of(kept.memory) for kept in self._seen(view, past=past))
                self._indexes[view, past] = known
            if meant is None:
                return known.search(query, max(limit, 0), now)
            meaning = Meaning(self._spaces.nearest(meant), meant.even)
            cosines = partial(self._spaces.cosines, meant)
            return known.search(query, max(limit, 0), now, meaning=meaning, cosines=cosines)

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, and return how many were there; that each was, and why it is gone, is kept."""
        with self._lock:
            return sum(self._remove(memory_id, reason) for memory_id in dict.fromkeys(memory_ids))

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return, of these ids, those that were forgotten and are not there again, with the reason that was given."""
        with self._lock:
            gone = (name for name in memory_ids if name in self._graves and name not in self._owner)
            return {name: self._graves[name].reason for name in gone}

    def models(self) -> dict[str, int]:
        """Return how many dimensions the vectors of each model have that are kept, in the order of their coming."""
        return self._spaces.models()

    def vectors_of(self, model: str, dimension: int) -> InMemoryVectors:
        """Return a model's vectors as the truth beside which an index of them is kept; none need be there yet."""
        return self._spaces.of(model, dimension)

    def put_vectors(self, model: str, dimension: int, of: Mapping[str, Sequence[float]]) -> int:
        """Keep vectors that a model made of memories, by id, made one long; return how many were still there.

        Raises:
            StoreError: nothing was kept: a vector, or the model's others, have another length than `dimension`, or it
                has no direction.
        """
        with self._lock:
            found = ((self._find(name), vector) for name, vector in of.items())
            return self._spaces.put(model, dimension, [(memory, vector) for memory, vector in found if memory])

    def without_vectors(self, model: str, after: str = "", limit: int = 100) -> list[Memory]:
        """Return memories that a model's vectors are still to be made of, in the order of their coming."""
        waiting = self._waiting(model)
        with self._lock:
            owner = self._owner.get(after)
            behind = self._owners[owner][after].place if owner else 0
        return [kept.memory for kept in waiting if kept.place > behind][: max(limit, 0)]

    def newest_without(self, model: str, limit: int) -> list[Memory]:
        """Return the first memories behind the last one of which a model's vector is kept."""
        waiting, having = self._waiting(model), self._spaces.having(model)
        with self._lock:
            there = (self._owners[self._owner[name]][name] for name in having if name in self._owner)
            last = max((kept.place for kept in there), default=0)
        return [kept.memory for kept in waiting if kept.place > last][: max(limit, 0)]

    def waiting(self, model: str) -> int:
        """Return how many memories there are of which no vector of a model is kept."""
        return len(self._waiting(model))

    def drop_vectors(self, model: str) -> None:
        """Remove a model's vectors."""
        self._spaces.drop(model)

    def _look(self) -> None:
        """Take in what others have written: nobody else has."""

    def _waiting(self, model: str) -> list[_Kept]:
        self._look()
        having = self._spaces.having(model)
        with self._lock:
            every = [kept for owned in self._owners.values() for kept in owned.values()]
        bare = (one for one in every if one.memory.memory_id not in having and one.memory.scope.shelf != CARDS)
        return sorted(bare, key=lambda kept: kept.place)

    def _remove(self, memory_id: str, reason: str) -> bool:
        """Remove a memory but for its grave, and return whether it was there."""
        owner = self._owner.pop(memory_id, None)
        if owner is None:
            return False
        self._graves[memory_id] = Grave(self._owners[owner].pop(memory_id).order, owner, reason)
        for known in self._indexes.values():
            known.remove([memory_id])
        self._spaces.remove([memory_id])
        return True

    def _check_mark(self, mark: Mark | None, was: Mark | None) -> None:
        if mark is not None and self._marks.get(mark[:2]) != was:
            raise StoreError(f"session {mark.session_id!a:.80} was read by another meanwhile; nothing was written")

    def _take_in(self, placed: Iterable[tuple[int, Memory]], mark: Mark | None = None) -> None:
        for place, memory in placed:
            self._put(memory, place)
        if mark is not None:
            self._marks[mark[:2]] = mark

    def _find(self, memory_id: str) -> Memory | None:
        owner = self._owner.get(memory_id)
        return None if owner is None else self._owners[owner][memory_id].memory

    def _unsaid(self, session_id: str, seqs: Container[int]) -> list[Memory]:
        """Return the memories that lose a source with these messages, as they are from then on."""
        every = [kept.memory for owned in self._owners.values() for kept in owned.values()]
        left = [(each, unsaid(each, session_id, seqs)) for each in every]
        return [replace(each, sources=sources) for each, sources in left if sources != each.sources]

    def _placed(self, memories: Iterable[Memory]) -> list[tuple[int, Memory]]:
        """Return memories with their places in the order of their coming: new ones get the next."""
        placed, last = [], self._places
        for memory in memories:
            owner = self._owner.get(memory.memory_id)
            if owner is None:
                last += 1
            placed.append((last if owner is None else self._owners[owner][memory.memory_id].place, memory))
        return placed

    def _put(self, memory: Memory, place: int) -> None:
        owner = memory.scope.tenant, memory.scope.user
        owned = self._owners.setdefault(owner, {})
        known = owned.get(memory.memory_id) or _Kept(memory, place)
        owned[memory.memory_id] = known._replace(memory=memory)
        self._owner[memory.memory_id] = owner
        self._places = max(self._places, place)
        self._spaces.renew(memory)
        for (view, past), found in self._indexes.items():
            found.remove([memory.memory_id])
            if _is_seen(memory, view, past=past):
                found.add([passage_of(memory)])

    def _bury(self, memory_id: str, grave: Grave) -> None:
        self._graves[memory_id] = grave
        self._places = max(self._places, -int(grave.order[1]))

    def _clear(self) -> None:
        for each in (self._owners, self._owner, self._graves, self._marks, self._indexes):
            each.clear()
        self._places = 0

    def _seen(self, view: View, *, past: bool) -> Iterator[_Kept]:
        for kept in self._owners.get((view.scope.tenant, view.scope.user), {}).values():
            if _is_seen(kept.memory, view, past=past):
                yield kept

    def _order(self, view: View, memory_id: str) -> tuple[float, int]:
        """Return the place in listings of a memory that is, or was, in a view.

        Raises:
            NotFoundError: there is, and was, none.
        """
        found = [kept.order for kept in self._seen(view, past=True) if kept.memory.memory_id == memory_id]
        grave = self._graves.get(memory_id)
        if not found and grave and grave.owner == (view.scope.tenant, view.scope.user):
            found = [grave.order]
        if not found:
            raise NotFoundError(f"no memory {memory_id!a:.80} to list behind: begin with the first page")
        return found[0]


def _is_seen(memory: Memory, view: View, *, past: bool) -> bool:
    return (past or not memory.superseded_by) and View(memory.scope, view.isolation).key == view.key
