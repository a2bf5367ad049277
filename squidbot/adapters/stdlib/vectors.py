"""Vectors without any package: an index that compares with every one, and a truth that lives in memory."""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections import defaultdict
from hashlib import blake2b
from heapq import nsmallest
from math import isfinite
from typing import TYPE_CHECKING

from squidbot.adapters.common.embeddings import misfit
from squidbot.core.errors import StoreError
from squidbot.core.memories import View
from squidbot.core.vectors import Entry, Near, Stamp, dot, mark_of, packed, unit, unpacked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from squidbot.core.memories import Memory
    from squidbot.core.vectors import Meant

__all__ = ["ExactIndex", "InMemoryVectors", "VectorSpaces"]


class ExactIndex:
    """VectorIndex for some thousands: a search of 1,000 vectors of 384 dimensions takes about 10 ms of CPU time.

    It has no file: it is filled from the truth each time, in a tenth of a second for 5,000.
    """

    def __init__(self, model: str, dimensions: int) -> None:
        """Open an empty one for the vectors of a model."""
        self._stamp = Stamp(model, dimensions)
        self._entries: dict[int, tuple[Entry, tuple[float, ...]]] = {}
        self._seen: dict[int, set[int]] = defaultdict(set)
        self._last = 0
        self._lock = threading.Lock()

    @property
    def fault(self) -> str:
        """Nothing: there is no file."""
        return ""

    @property
    def last(self) -> int:
        """The highest place that was taken in since it was empty; 0 for none."""
        return self._last

    def stamp(self) -> Stamp:
        """Return what it holds."""
        return self._stamp

    def places(self) -> Sequence[int]:
        """Return the places of what it holds, ascending."""
        with self._lock:
            return sorted(self._entries)

    def add(self, entries: Sequence[Entry]) -> None:
        """Take entries in, all or nothing. A place that is there stays as it is.

        Raises:
            StoreError: nothing was taken in: a vector has another number of dimensions, or a number is not finite.
        """
        with self._lock:
            new = {each.place: (each, self._numbers(each)) for each in entries if each.place not in self._entries}
            for entry, _ in new.values():
                for view in entry.views:
                    self._seen[view].add(entry.place)
            self._entries |= new
            self._stamp = self._stamp.plus(entry.mark for entry, _ in new.values())
            self._last = max(self._last, *new, 0)

    def remove(self, places: Sequence[int]) -> int:
        """Take entries out, and return how many were there."""
        with self._lock:
            gone = [self._entries.pop(place)[0] for place in dict.fromkeys(places) if place in self._entries]
            for entry in gone:
                for view in entry.views:
                    self._seen[view].discard(entry.place)
            self._stamp = self._stamp.minus(entry.mark for entry in gone)
            return len(gone)

    def clear(self, expected: int = 0) -> None:  # noqa: ARG002  # nothing is laid out by it
        """Take all out."""
        with self._lock:
            self._entries.clear()
            self._seen.clear()
            self._stamp = self._stamp._replace(vectors=0, digest=0)
            self._last = 0

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[Near]:
        """Return the nearest that a view sees, best first, ties newest place first.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
        """
        if len(vector) != self._stamp.dimensions:
            raise ValueError(f"a vector of {len(vector)} numbers, where {self._stamp.dimensions} are compared")
        asked = unit(vector)
        with self._lock:
            seen = [(place, self._entries[place][1]) for place in self._seen.get(view, ())]
        scored = ((-dot(asked, numbers), -place) for place, numbers in seen)
        return [Near(-place, -cosine) for cosine, place in nsmallest(max(limit, 0), scored)]

    def save(self) -> None:
        """Do nothing: there is no file."""

    def close(self) -> None:
        """Give back what is held."""
        self.clear()

    def _numbers(self, entry: Entry) -> tuple[float, ...]:
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
        self._stamp = Stamp(model, dimensions)
        self._entries: dict[int, Entry] = {}
        self._place: dict[str, int] = {}
        self._order: list[int] = []
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
            entry = Entry(place, mark, memory.memory_id, views, data, holds=not memory.superseded_by)
            self._entries[place] = entry
            self._place[memory.memory_id] = place
            insort(self._order, place)
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

    def of(self, memory_ids: Iterable[str]) -> list[Entry]:
        """Return the entries of these memories; where there is none, nothing comes."""
        with self._lock:
            return [self._entries[self._place[name]] for name in memory_ids if name in self._place]

    def remove(self, memory_ids: Sequence[str]) -> int:
        """Remove the vectors of memories, and return how many were there."""
        with self._lock:
            places = [self._place.pop(name) for name in dict.fromkeys(memory_ids) if name in self._place]
            for place in places:
                self._order.remove(place)
                self._stamp = self._stamp.minus([self._entries.pop(place).mark])
            return len(places)

    def stamp(self) -> Stamp:
        """Return what there is now."""
        return self._stamp

    def view(self, view: View) -> int:
        """Return the number that stands for a view in `Entry.views`."""
        return _digest(view)

    def behind(self, place: int, limit: int) -> list[Entry]:
        """Return the entries behind a place, in order of their places, at most `limit`."""
        with self._lock:
            first = bisect_right(self._order, place)
            return [self._entries[each] for each in self._order[first : first + max(limit, 0)]]

    def places(self) -> Sequence[int]:
        """Return the places of all entries, ascending."""
        with self._lock:
            return list(self._order)

    def picked(self, places: Sequence[int]) -> list[Entry]:
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

    def cosines(self, meant: Meant, memory_ids: Iterable[str]) -> Mapping[str, float]:
        """Return the cosines of what was meant and memories, those that have a vector of its model."""
        space = self._space_of(meant)
        return _compared(meant, space.of(memory_ids)) if space else {}

    def nearest(self, meant: Meant) -> Mapping[str, float]:
        """Return the cosines of what was meant and the memories that are nearest, those that are still there."""
        space = self._space_of(meant)
        return _compared(meant, space.picked(meant.nearest)) if space else {}

    def _space_of(self, meant: Meant) -> InMemoryVectors | None:
        space = self._spaces.get(meant.model)
        return space if space is not None and space.stamp().dimensions == len(meant.vector) else None

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


def _compared(meant: Meant, entries: Sequence[Entry]) -> dict[str, float]:
    cosines = meant.dots(meant.vector, [each.vector for each in entries])
    return {each.memory_id: cosine for each, cosine in zip(entries, cosines, strict=True)}


def _digest(view: View) -> int:
    said = repr(tuple(view.key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(said, digest_size=8).digest(), "big") >> 1
