"""The memory store in memory, and that the public check notices one that breaks a promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore
from squidbot.core.memories import MemoryHit, View
from squidbot.testing import check_memory_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.memories import FactCategory, Mark, Memory, NewSources


def test_in_memory_memory_store_keeps_the_promises_of_memories() -> None:
    """The public check of the port passes."""
    check_memory_store(InMemoryMemoryStore)


class Distances(InMemoryMemoryStore):
    """Lower is closer."""

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[MemoryHit]:  # type: ignore[override]  # has no vectors
        """Return distances as scores."""
        found = super().search(query, view, limit=limit, now=now, past=past)
        return [MemoryHit(hit.key, 1 - hit.score) for hit in found]


class Leaky(InMemoryMemoryStore):
    """Every user sees what all do under one policy."""

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[MemoryHit]:  # type: ignore[override]  # has no vectors
        """Pass over the bot."""
        return super().search(query, View(view.scope, "global"), limit=limit, now=now, past=past)


class Oldest(InMemoryMemoryStore):
    """Ties are oldest first."""

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[MemoryHit]:  # type: ignore[override]  # has no vectors
        """Turn ties around."""
        found = super().search(query, view, limit=1000, now=now, past=past)
        found.reverse()
        return sorted(found, key=lambda hit: -hit.score)[:limit]


class Nostalgic(InMemoryMemoryStore):
    """History is found like what holds."""

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[MemoryHit]:  # type: ignore[override]  # noqa: ARG002  # that is the fault
        """Find history, too."""
        return super().search(query, view, limit=limit, now=now, past=True)


class Amnesic(InMemoryMemoryStore):
    """Nobody knows that anything was forgotten."""

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:  # noqa: ARG002  # that is the fault
        """Know nothing."""
        return {}


class Overwriting(InMemoryMemoryStore):
    """The last memory under an id stays."""

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Make room first."""
        self.forget([memory.memory_id for memory in memories])
        super().add(memories, mark, was, said, places)


class Partial(InMemoryMemoryStore):
    """What comes before what is refused is stored."""

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store one by one."""
        for memory in memories:
            super().add([memory])
        super().add([], mark, was, said, places)


class Careless(InMemoryMemoryStore):
    """Whoever has read what another one has read stores it again."""

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,  # noqa: ARG002  # that is the fault
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Look at no mark."""
        super().add(memories, mark, self.mark(*mark[:2]) if mark else None, said, places)


class Piecemeal(InMemoryMemoryStore):
    """What comes before what can't be superseded is."""

    def supersede(self, places: Mapping[str, str]) -> None:
        """Take one place after the other."""
        for memory_id, taker in places.items():
            super().supersede({memory_id: taker})


class Present(InMemoryMemoryStore):
    """What is history was said nowhere."""

    def from_session(self, session_id: str) -> list[Memory]:
        """Leave history out."""
        return [memory for memory in super().from_session(session_id) if not memory.superseded_by]


class Deaf(InMemoryMemoryStore):
    """What is said again is not heard."""

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,  # noqa: ARG002  # that is the fault
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Pass sources over."""
        super().add(memories, mark, was, None, places)


class Crowded(InMemoryMemoryStore):
    """What comes takes one place, and no more."""

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,  # noqa: ARG002  # that is the fault
    ) -> None:
        """Leave the others where they are."""
        super().add(memories, mark, was, said)


class Rash(InMemoryMemoryStore):
    """One message takes along whatever it says."""

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Forget what others say, too."""
        gone = super().forget_messages(session_id, seqs, reason) if seqs else []
        left = [each.memory_id for each in self.from_session("t")] if gone else []
        self.forget(left, reason)
        return [*gone, *left]


class Doubling(InMemoryMemoryStore):
    """Pages overlap."""

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
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
    Crowded: "unknown memory's place",
    Deaf: "sources come behind its own",
    Rash: "what nothing else says goes",
    Careless: "a mark in the place of",
    Piecemeal: "with a chain within one call",
    Present: "what was said in a session is known",
}


@pytest.mark.parametrize("broken", FAULTS, ids=lambda broken: str(broken.__name__))
def test_check_of_memory_stores_notices_when_a_promise_is_broken(broken: type[InMemoryMemoryStore]) -> None:
    """Each fault is told by the promise that it breaks."""
    with pytest.raises(AssertionError, match=FAULTS[broken]):
        check_memory_store(broken)
