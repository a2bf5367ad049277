"""A small truth of vectors, and what an index beside it finds first, as the tests of kept indexes have them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore
from squidbot.adapters.sqlite3.memory.vectors import SqliteVectors
from squidbot.core.memories import Scope, View
from squidbot.core.vectors import VectorSearch
from squidbot.testing import made_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from squidbot.core.memories import Memory
    from squidbot.core.vectors import VectorIndex

DIMENSIONS = 8
ANN, BOB = Scope(user="ann"), Scope(user="bob")
# Above so many vectors the tests' indexes have lists.
EXACT = 400


def vector_of(number: int) -> tuple[float, ...]:
    """Return a vector that is far from all others."""
    chance = random.Random(number)  # noqa: S311  # no secret
    return tuple(chance.gauss(0, 1) for _ in range(DIMENSIONS))


def memory_of(number: int, scope: Scope = ANN) -> Memory:
    """Return the memory whose vector it is."""
    return made_memory(f"number {number}", scope)


class StoredVectors(SqliteVectors):
    """The vectors of a store in memory."""

    def __init__(self) -> None:
        self.store = InMemoryMemoryStore()
        super().__init__(lambda: self.store._reading, "m", DIMENSIONS)

    def put(self, memory: Memory, vector: Sequence[float]) -> None:
        """Add a memory and its vector."""
        self.store.add([memory])
        self.store.put_vectors("m", DIMENSIONS, {memory.memory_id: vector})

    def remove(self, memory_ids: Sequence[str]) -> None:
        """Forget memories."""
        self.store.forget(memory_ids)


def truth_of(count: int, scope: Scope = ANN) -> StoredVectors:
    """Return the vectors of so many memories."""
    truth = StoredVectors()
    memories = [memory_of(number, scope) for number in range(count)]
    truth.store.add(memories)
    vectors = {memory.memory_id: vector_of(number) for number, memory in enumerate(memories)}
    truth.store.put_vectors("m", DIMENSIONS, vectors)
    return truth


def check_made_anew(opened: Callable[[Path], VectorIndex], path: Path, truth: StoredVectors, *, faulty: bool) -> None:
    """Check that an index whose file or folder is none is empty, says why, and is made anew and kept whole."""
    index = opened(path)
    assert index.stamp().vectors == 0
    assert bool(index.fault) == faulty
    assert "\n" not in index.fault
    nearest = VectorSearch(index, truth)
    nearest.refresh()
    nearest.save()
    assert index.stamp() == truth.stamp()
    assert first_of(nearest, 7) == memory_of(7).memory_id
    assert (opened(path).fault, opened(path).stamp()) == ("", truth.stamp())


def first_of(nearest: VectorSearch, number: int, scope: Scope = ANN) -> str:
    """Return the id of the memory that is nearest to a vector; "" where none is found."""
    found = nearest.search(vector_of(number), View(scope), limit=1)
    return next(iter(found), "")
