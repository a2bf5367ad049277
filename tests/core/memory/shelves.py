"""A store of memories in a dict, whose scores are shares of words: for tests of what is done with a store."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from squidbot.core.counting.meter import Meter
from squidbot.core.counting.tokens import builtin_counter
from squidbot.core.errors import StoreError
from squidbot.core.finding.words import read_query, terms
from squidbot.core.memories import Category, Hit, Memory, Scope, Trust, View
from squidbot.core.memory.naming import named

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY = 86_400.0
NOW = 1_700_000_000.0
ANN = Scope(user="ann", bot="squid")
BEN = Scope(user="ben", bot="squid")
METER = Meter(builtin_counter("classes"))


@dataclass
class Shelf:
    """A MemoryStore; a score is the share of the query's words that a memory has."""

    memories: dict[str, Memory] = field(default_factory=dict)
    forgotten: list[tuple[str, str]] = field(default_factory=list)

    def add(self, memories: Sequence[Memory]) -> None:
        """Store them, and mark what they replace."""
        for one in memories:
            if self.memories.get(one.memory_id, one) != one:
                raise StoreError(f"another memory has the id {one.memory_id}")
            if one.supersedes:
                old = self.memories[one.supersedes]
                self.memories[old.memory_id] = replace(old, superseded_by=one.memory_id)
            self.memories[one.memory_id] = one

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return those there are, of whatever scope."""
        return [self.memories[one] for one in memory_ids if one in self.memories]

    def listed(
        self, view: View, category: Category | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return them newest first."""
        seen = [one for one in self._seen(view, past=past) if category in (None, one.category)]
        start = next((place + 1 for place, one in enumerate(seen) if one.memory_id == after), 0)
        return seen[start : start + limit]

    def search(self, query: str, view: View, *, limit: int = 20, now: float, past: bool = False) -> list[Hit]:
        """Return those that share words with the query."""
        del now
        read_query(query)
        asked = terms(query)
        hits = (Hit(one.memory_id, len(asked & terms(one.text)) / len(asked)) for one in self._seen(view, past=past))
        return sorted((hit for hit in hits if hit.score > 0), key=lambda hit: -hit.score)[:limit]

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Drop them."""
        gone = [one for one in memory_ids if self.memories.pop(one, None) is not None]
        self.forgotten += [(one, reason) for one in gone]
        return len(gone)

    def _seen(self, view: View, *, past: bool) -> list[Memory]:
        seen = [one for one in self.memories.values() if view._replace(scope=one.scope).key == view.key]
        held = [one for one in seen if past or not one.superseded_by]
        return sorted(held, key=lambda one: (-one.time, one.memory_id))


def fact(text: str, category: Category = "core", days: float = 3, trust: Trust = "user", **more: object) -> Memory:
    """Return a memory of Ann that was said so many days ago."""
    made = Memory("", text, category, ANN, NOW - days * DAY, trust=trust)
    return named(replace(made, **more))  # type: ignore[arg-type]  # fields of a memory


def shelf(*memories: Memory) -> Shelf:
    """Return a store with these memories."""
    made = Shelf()
    made.add(memories)
    return made
