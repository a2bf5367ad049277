"""Memories and a store with them, for tests of what is done with a store."""

from __future__ import annotations

from dataclasses import replace

from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore
from squidbot.core.memories import FactCategory, Memory, Scope, Trust, memory_id_of
from squidbot.core.tokens.counters import Meter, builtin_counter

DAY = 86_400.0
NOW = 1_700_000_000.0
ANN = Scope(user="ann", bot="squid")
BEN = Scope(user="ben", bot="squid")
METER = Meter(builtin_counter("classes"))


class SessionContext(InMemoryMemoryStore):
    """A store that shows what is in it."""

    @property
    def memories(self) -> dict[str, Memory]:
        """All that there is, of whatever scope, by id."""
        with self._reading as connection:
            names = [name.decode() for (name,) in connection.execute("SELECT id FROM memories ORDER BY key")]
        return {memory.memory_id: memory for memory in self.get(names)}


def named(memory: Memory) -> Memory:
    """Return a memory under the id that follows from it."""
    return replace(memory, memory_id=memory_id_of(memory.scope, memory.text, memory.sources))


def fact(text: str, category: FactCategory = "core", days: float = 3, trust: Trust = "user", **more: object) -> Memory:
    """Return a memory of Ann that was said so many days ago."""
    made = Memory("", text, category, ANN, NOW - days * DAY, trust=trust)
    return named(replace(made, **more))  # type: ignore[arg-type]  # fields of a memory


def shelf(*memories: Memory) -> SessionContext:
    """Return a store with these memories."""
    made = SessionContext()
    made.add(memories)
    return made
