"""Vectors without any package: an index that compares with every one, and a truth that lives in memory."""

from __future__ import annotations

import threading
from collections import defaultdict
from hashlib import blake2b
from heapq import nsmallest
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING

from squidbot.adapters.common.indexes import BaseIndex, misfit
from squidbot.core.errors import StoreError
from squidbot.core.memories import View
from squidbot.core.vectors import FLOAT_BYTES, IndexHit, VectorEntry, VectorStamp, dot, mark_of, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from squidbot.core.memories import Memory
    from squidbot.core.vectors import QueryMeaning

__all__ = ["ExactIndex", "InMemoryVectors", "VectorSpaces"]


class ExactIndex(BaseIndex):
    """VectorIndex for some thousands: a search of 1,000 vectors of 384 dimensions takes about 10 ms of CPU time.

    It has no file: it is filled from the truth each time, in a tenth of a second for 5,000.
    """

    def __init__(self, model: str, dimensions: int) -> None:
        """Open an empty one for the vectors of a model."""
        super().__init__(None, model, dimensions)
        self.begin()

    def places(self) -> Sequence[int]:
        """Return the places of what it holds, ascending."""
        with self._lock:
            return sorted(self._entries)

    def _empty(self) -> None:
        super()._empty()
        self._entries: dict[int, tuple[VectorEntry, tuple[float, ...]]] = {}
        self._seen: dict[int, set[int]] = defaultdict(set)

    def _known(self, places: Sequence[int]) -> list[int]:
        return [place for place in places if place in self._entries]

    def _put(self, entries: Sequence[VectorEntry]) -> None:
        self._entries |= {entry.place: (entry, self._numbers(entry)) for entry in entries}
        for entry in entries:
            for view in entry.views:
                self._seen[view].add(entry.place)

    def _drop(self, places: Sequence[int]) -> list[int]:
        gone = [self._entries.pop(place)[0] for place in dict.fromkeys(places) if place in self._entries]
        for entry in gone:
            for view in entry.views:
                self._seen[view].discard(entry.place)
        return [entry.mark for entry in gone]

    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        scored = ((-dot(asked, self._entries[place][1]), -place) for place in self._seen.get(view, ()))
        return [IndexHit(-place, -cosine) for cosine, place in nsmallest(limit, scored)]

    def _numbers(self, entry: VectorEntry) -> tuple[float, ...]:
        try:
            numbers = unpacked(entry.vector)
        except ValueError as error:
            raise StoreError(f"the vector of memory {entry.memory_id!a:.80}: {error}; nothing was taken in") from error
        if len(numbers) != self._stamp.dimensions or not isfinite(dot(numbers, numbers)):
            raise misfit(entry, self._stamp.dimensions)
        return numbers


class InMemoryVectors:
    """Vectors that are gone with the process; threads may share one."""

    def __init__(self, model: str, dimensions: int) -> None:
        """Open an empty one for the vectors of a model."""
        self._stamp = VectorStamp(model, dimensions)
        self._entries: dict[int, VectorEntry] = {}  # in the order of their places
        self._place: dict[str, int] = {}
        self._lock = threading.Lock()
        self._next = 1

    def put(self, memory: Memory, vector: Sequence[float]) -> int:
        """Keep the vector of a memory in place of any that it has, and return its place.

        Raises:
            StoreError: nothing was kept: the vector has another number of dimensions, or no direction.
        """
        if len(vector) != self._stamp.dimensions:
            raise StoreError(f"a vector of {len(vector)} numbers, where there are {self._stamp.dimensions}")
        try:
            data = packed(vector)
        except ValueError as error:
            raise StoreError(f"{error}; nothing was kept") from error
        digest = _text_digest(memory)
        views = tuple(_digest(View(memory.scope, policy)) for policy in ("bot", "model", "global", "agent"))
        if (there := self.of([memory.memory_id])) and there[0].vector == data:
            return there[0].place
        self.remove([memory.memory_id])
        with self._lock:
            place, self._next = self._next, self._next + 1
            mark = mark_of(place, memory.memory_id, digest)
            entry = VectorEntry(place, mark, memory.memory_id, views, data, holds=not memory.superseded_by)
            self._entries[place] = entry
            self._place[memory.memory_id] = place
            self._stamp = self._stamp.plus([mark])
        return place

    def renew(self, memory: Memory) -> None:
        """Take over whether a memory holds; a vector of another text than it has is removed."""
        with self._lock:
            place = self._place.get(memory.memory_id, 0)
            entry = self._entries.get(place)
            if entry is None:
                return
            if entry.mark == mark_of(place, memory.memory_id, _text_digest(memory)):
                self._entries[place] = entry._replace(holds=not memory.superseded_by)
                return
        self.remove([memory.memory_id])

    def of(self, memory_ids: Iterable[str]) -> list[VectorEntry]:
        """Return the entries of these memories; where there is none, nothing comes."""
        with self._lock:
            return [self._entries[self._place[name]] for name in memory_ids if name in self._place]

    def remove(self, memory_ids: Sequence[str]) -> int:
        """Remove the vectors of memories, and return how many were there."""
        with self._lock:
            places = [self._place.pop(name) for name in dict.fromkeys(memory_ids) if name in self._place]
            self._stamp = self._stamp.minus(self._entries.pop(place).mark for place in places)
            return len(places)

    def stamp(self) -> VectorStamp:
        """Return what there is now."""
        return self._stamp

    def view(self, view: View) -> int:
        """Return the number that stands for a view in `VectorEntry.views`."""
        return _digest(view)

    def behind(self, place: int, limit: int) -> list[VectorEntry]:
        """Return the entries behind a place, in order of their places, at most `limit`."""
        with self._lock:
            found = (entry for entry in self._entries.values() if entry.place > place)
            return list(islice(found, max(limit, 0)))

    def places(self) -> Sequence[int]:
        """Return the places of all entries, ascending."""
        with self._lock:
            return list(self._entries)

    def picked(self, places: Sequence[int]) -> list[VectorEntry]:
        """Return the entries at these places."""
        with self._lock:
            return [self._entries[place] for place in dict.fromkeys(places) if place in self._entries]

    def holding(self, places: Sequence[int]) -> list[int]:
        """Return those of these places whose memories hold, in the same order."""
        return [each.place for each in self.picked(places) if each.holds]


class VectorSpaces:
    """Vectors of memories by the model that made them, each in a space of its own."""

    def __init__(self) -> None:
        self._spaces: dict[str, InMemoryVectors] = {}

    def models(self) -> dict[str, int]:
        """Return the dimensions of each model that vectors were kept of."""
        stamps = {name: space.stamp() for name, space in self._spaces.items()}
        return {name: stamp.dimensions for name, stamp in stamps.items() if stamp.vectors}

    def of(self, model: str, dimension: int) -> InMemoryVectors:
        """Return a model's vectors, the same space each time.

        Raises:
            StoreError: the model's vectors have other dimensions.
        """
        space = self._spaces.get(model)
        if space is None or (space.stamp().dimensions != dimension and not space.stamp().vectors):
            space = self._spaces[model] = InMemoryVectors(model, dimension)
        if space.stamp().dimensions != dimension:
            raise StoreError(
                f"vectors of {model!a:.80} have {space.stamp().dimensions} dimensions here, not {dimension}; nothing "
                "was written: drop the model's vectors first, or give the model another name"
            )
        return space

    def put(self, model: str, dimension: int, of: Iterable[tuple[Memory, Sequence[float]]]) -> int:
        """Keep the vectors of memories, all or nothing, and return how many they are.

        Raises:
            StoreError: one has another length than `dimension`, or the model's have, or it has no direction.
        """
        space, new = self.of(model, dimension), list(of)
        trial = InMemoryVectors(model, dimension)
        for memory, vector in new:
            trial.put(memory, vector)
        for memory, vector in new:
            space.put(memory, vector)
        return len(new)

    def having(self, model: str) -> set[str]:
        """Return the ids of the memories that have a vector of a model."""
        space = self._spaces.get(model)
        return {each.memory_id for each in space.picked(space.places())} if space else set()

    def cosines(self, meant: QueryMeaning, memory_ids: Iterable[str]) -> Mapping[str, float]:
        """Return the cosines of what was meant and memories, those that have a vector of its model."""
        space = self._spaces.get(meant.model)
        return self._compared(meant, space.of(memory_ids) if space else [])

    def nearest(self, meant: QueryMeaning) -> Mapping[str, float]:
        """Return the cosines of what was meant and the memories that are nearest, those that are still there."""
        space = self._spaces.get(meant.model)
        return self._compared(meant, space.picked(meant.nearest) if space else [])

    @staticmethod
    def _compared(meant: QueryMeaning, entries: Sequence[VectorEntry]) -> dict[str, float]:
        alike = [entry for entry in entries if len(entry.vector) == FLOAT_BYTES * len(meant.vector)]
        cosines = meant.dots(meant.vector, [entry.vector for entry in alike])
        return {entry.memory_id: cosine for entry, cosine in zip(alike, cosines, strict=True)}

    def renew(self, memory: Memory) -> None:
        """Take over what has become of a memory."""
        for space in self._spaces.values():
            space.renew(memory)

    def keep(self, memory_ids: Collection[str]) -> None:
        """Remove the vectors of all memories but these, of every model."""
        for model, space in self._spaces.items():
            space.remove([each for each in self.having(model) if each not in memory_ids])

    def remove(self, memory_ids: Sequence[str]) -> None:
        """Remove the vectors of memories, of every model."""
        for space in self._spaces.values():
            space.remove(memory_ids)

    def drop(self, model: str) -> None:
        """Remove a model and its vectors."""
        if model in self._spaces:
            self._spaces[model].remove([*self.having(model)])


def _text_digest(memory: Memory) -> bytes:
    return blake2b(memory.text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _digest(view: View) -> int:
    data = repr(tuple(view.key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1
