"""Memories to test with: one made in a line, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.memories import Memory, Scope, View, memory_id_of

if TYPE_CHECKING:
    from squidbot.core.memories import Category, Source

__all__ = ["ANN", "NOW", "SEEN", "made_memory"]

NOW = 2e9
ANN = Scope(user="ann", bot="squid")
SEEN = View(ANN)


def made_memory(  # noqa: PLR0913  # a memory has that many sides, and a test names those it is about
    text: str,
    scope: Scope = ANN,
    *,
    time: float = 1e9,
    category: Category = "background",
    supersedes: str = "",
    memory_id: str = "",
    sources: tuple[Source, ...] = (),
) -> Memory:
    """Return a memory with the id that follows from scope, text and sources unless another is given, for tests.

    `time`: in seconds since 1970.
    """
    memory_id = memory_id or memory_id_of(scope, text, sources)
    return Memory(memory_id, text, category, scope, time, sources=sources, supersedes=supersedes)
