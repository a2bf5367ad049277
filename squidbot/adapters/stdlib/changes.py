"""What a change makes of memories, decided before anything is changed: all of it, or an error that says why not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import is_same, refuse_misfit, said_too

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from squidbot.core.memories import Memory, Said

__all__ = ["decided", "moved", "wanted"]


def wanted(
    find: Callable[[str], Memory | None], memories: Sequence[Memory], said: Said, places: Mapping[str, str]
) -> list[Memory]:
    """Return what `MemoryStore.add` changes, as it is from then on; `find` gives what is there.

    Raises:
        NotFoundError, StoreError: it can't be done.
    """
    new = decided(find, memories)
    for memory_id, sources in said.items():
        old = new.get(memory_id) or find(memory_id)
        if old is None:
            raise NotFoundError(f"memory {memory_id!a:.80} is not there, or no more; nothing was changed")
        if (more := said_too(old, sources)) is not old:
            new[memory_id] = more
    new |= {one.memory_id: one for one in moved(lambda memory_id: new.get(memory_id) or find(memory_id), places)}
    return list(new.values())


def decided(
    find: Callable[[str], Memory | None], memories: Sequence[Memory], gone: Collection[str] = ()
) -> dict[str, Memory]:
    """Return what adding memories would store, by id, if those were `gone`: new ones, and what they supersede.

    Raises:
        StoreError: one can't be added.
    """
    new: dict[str, Memory] = {}
    for memory in memories:
        refuse_misfit(memory)
        there = new.get(memory.memory_id)
        if there is None and memory.memory_id not in gone:
            there = find(memory.memory_id)
        if there is None:
            new[memory.memory_id] = memory
            if memory.supersedes:
                old = None if memory.supersedes in gone else find(memory.supersedes)
                new |= _superseded(memory, new.get(memory.supersedes) or old)
        elif not is_same(there, memory):
            raise StoreError(f"memory {memory.memory_id!a:.80} is there, and another one; nothing was written")
    return new


def moved(find: Callable[[str], Memory | None], places: Mapping[str, str]) -> list[Memory]:
    """Return what `MemoryStore.supersede` changes, as it is from then on.

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
    return list(changed.values())


def _there(find: Callable[[str], Memory | None], memory_id: str) -> Memory:
    found = find(memory_id)
    if found is None:
        raise StoreError(f"memory {memory_id!a:.80} is not there; nothing was written")
    return found


def _superseded(memory: Memory, old: Memory | None) -> dict[str, Memory]:
    """Return, by its id, what a memory supersedes, as it is from then on.

    Raises:
        StoreError: it is not there, or another user's.
    """
    if old is None or old.scope[:2] != memory.scope[:2]:
        raise StoreError(
            f"memory {memory.memory_id!a:.80} supersedes {memory.supersedes!a:.80}, which is not there or another "
            "user's; nothing was written"
        )
    return {old.memory_id: replace(old, superseded_by=old.superseded_by or memory.memory_id)}
