"""The memory store in memory, and that the public check notices one that breaks a promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryMemoryStore
from squidbot.core.memories import Hit, View
from squidbot.testing import check_memory_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import Category, Memory


def test_in_memory_memory_store_keeps_the_promises_of_memories() -> None:
    """The public check of the port passes."""
    check_memory_store(InMemoryMemoryStore)


class Distances(InMemoryMemoryStore):
    """Lower is closer."""

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[Hit]:
        """Return distances as scores."""
        found = super().search(query, view, limit=limit, now=now, past=past)
        return [Hit(hit.key, 1 - hit.score) for hit in found]


class Leaky(InMemoryMemoryStore):
    """Every user sees what all do under one policy."""

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[Hit]:
        """Pass over the bot."""
        return super().search(query, View(view.scope, "global"), limit=limit, now=now, past=past)


class Oldest(InMemoryMemoryStore):
    """Ties are oldest first."""

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[Hit]:
        """Turn ties around."""
        found = super().search(query, view, limit=1000, now=now, past=past)
        found.reverse()
        return sorted(found, key=lambda hit: -hit.score)[:limit]


class Nostalgic(InMemoryMemoryStore):
    """History is found like what holds."""

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[Hit]:  # noqa: ARG002  # that is the fault
        """Find history, too."""
        return super().search(query, view, limit=limit, now=now, past=True)


class Amnesic(InMemoryMemoryStore):
    """Nobody knows that anything was forgotten."""

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:  # noqa: ARG002  # that is the fault
        """Know nothing."""
        return {}


class Overwriting(InMemoryMemoryStore):
    """The last memory under an id stays."""

    def add(self, memories: Sequence[Memory]) -> None:
        """Make room first."""
        self.forget([memory.memory_id for memory in memories])
        super().add(memories)


class Partial(InMemoryMemoryStore):
    """What comes before what is refused is stored."""

    def add(self, memories: Sequence[Memory]) -> None:
        """Store one by one."""
        for memory in memories:
            super().add([memory])


class Doubling(InMemoryMemoryStore):
    """Pages overlap."""

    def listed(
        self, view: View, category: Category | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Give the last one of the page before again."""
        found = super().listed(view, category, limit=limit, after=after, past=past)
        return [*self.get([after]), *found][:limit] if after else found


FAULTS = {
    Distances: "scores fall|any of the words|all words go before",
    Leaky: "finds its own memories, and no others",
    Oldest: "ties newest first",
    Nostalgic: "superseded is not found",
    Amnesic: "and why, is kept",
    Overwriting: "another memory under a stored id",
    Partial: "with one that is refused, nothing is stored",
    Doubling: "pages of 17",
}


@pytest.mark.parametrize("broken", FAULTS, ids=lambda broken: str(broken.__name__))
def test_check_of_memory_stores_notices_when_a_promise_is_broken(broken: type[InMemoryMemoryStore]) -> None:
    """Each fault is told by the promise that it breaks."""
    with pytest.raises(AssertionError, match=FAULTS[broken]):
        check_memory_store(broken)
