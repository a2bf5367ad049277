"""What a call changes in a memory store, decided before anything is written: all of it, or an error."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import is_same, refuse_misfit, with_sources, without_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from squidbot.core.memories import Memory, NewSources

__all__ = ["added", "replaced", "without_messages"]


def added(
    find: Callable[[str], Memory | None],
    memories: Sequence[Memory],
    said: NewSources | None = None,
    places: Mapping[str, str] | None = None,
    *,
    gone: Collection[str] = (),
) -> dict[str, Memory]:
    """Return what `MemoryStore.add` writes, by id: new memories, and those that change. `find` returns stored ones.

    `gone`: ids that the same call forgets.

    Raises:
        NotFoundError, StoreError: it can't be done.
    """
    changed: dict[str, Memory] = {}

    def now(memory_id: str) -> Memory | None:
        return changed.get(memory_id) or (None if memory_id in gone else find(memory_id))

    for memory in memories:
        refuse_misfit(memory)
        stored = now(memory.memory_id)
        if stored is None:
            changed[memory.memory_id] = memory
            if memory.supersedes:
                old = _superseded(memory, now(memory.supersedes))
                changed[old.memory_id] = old
        elif not is_same(stored, memory):
            raise StoreError(f"memory {memory.memory_id!a:.80} is there, and another one; nothing was written")
    changed |= _with_sources(now, said or {})
    return changed | replaced(now, places or {})


def _with_sources(find: Callable[[str], Memory | None], said: NewSources) -> dict[str, Memory]:
    changed = {}
    for memory_id, sources in said.items():
        known = find(memory_id)
        if known is None:
            raise NotFoundError(f"memory {memory_id!a:.80} is not there, or no more; nothing was changed")
        if (more := with_sources(known, sources)) is not known:
            changed[memory_id] = more
    return changed


def _superseded(memory: Memory, old: Memory | None) -> Memory:
    if old is None or old.scope[:2] != memory.scope[:2]:
        raise StoreError(
            f"memory {memory.memory_id!a:.80} supersedes {memory.supersedes!a:.80}, which is not there or another "
            "user's; nothing was written"
        )
    return replace(old, superseded_by=old.superseded_by or memory.memory_id)


def replaced(find: Callable[[str], Memory | None], places: Mapping[str, str]) -> dict[str, Memory]:
    """Return what `MemoryStore.supersede` writes, by id.

    Raises:
        StoreError: it can't be done.
    """
    changed: dict[str, Memory] = {}
    for memory_id, taker in places.items():
        old = _there(find, memory_id)
        if old.superseded_by == taker:
            continue
        if taker and (old.superseded_by or _there(find, taker).scope[:2] != old.scope[:2]):
            raise StoreError(f"memory {memory_id!a:.80} was replaced before, or is another user's; nothing was written")
        changed[memory_id] = replace(old, superseded_by=taker)
    for taker in filter(None, places.values()):
        if (changed.get(taker) or _there(find, taker)).superseded_by:
            raise StoreError(f"memory {taker!a:.80} is history itself, and takes no place; nothing was written")
    return changed


def _there(find: Callable[[str], Memory | None], memory_id: str) -> Memory:
    found = find(memory_id)
    if found is None:
        raise StoreError(f"memory {memory_id!a:.80} is not there; nothing was written")
    return found


def memories_without(
    memories: Iterable[Memory], session_id: str, seqs: Container[int]
) -> tuple[dict[str, Memory], list[str]]:
    """Return what `MemoryStore.forget_messages` writes, by id, and the ids of the memories that it forgets."""
    left = [(memory, without_messages(memory, session_id, seqs)) for memory in memories]
    changed = [(memory, sources) for memory, sources in left if sources != memory.sources]
    kept = {memory.memory_id: replace(memory, sources=sources) for memory, sources in changed if sources}
    return kept, [memory.memory_id for memory, sources in changed if not sources]
