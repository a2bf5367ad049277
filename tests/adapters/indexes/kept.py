"""A small truth of vectors, and what an index beside it finds first, as the tests of kept indexes have them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from squidbot.adapters.stdlib import InMemoryVectors
from squidbot.core.memories import Scope, View
from squidbot.testing import made_memory

if TYPE_CHECKING:
    from squidbot.core.memories import Memory
    from squidbot.core.vectors import VectorSearch

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


def truth_of(count: int, scope: Scope = ANN) -> InMemoryVectors:
    """Return the vectors of so many memories."""
    truth = InMemoryVectors("m", DIMENSIONS)
    for number in range(count):
        truth.put(memory_of(number, scope), vector_of(number))
    return truth


def first_of(nearest: VectorSearch, number: int, scope: Scope = ANN) -> str:
    """Return the id of the memory that is nearest to a vector; "" where none is found."""
    found = nearest.search(vector_of(number), View(scope), limit=1)
    return next(iter(found), "")
