"""What changes memories, each within a transaction of the caller's: rows, their words and their vectors together."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3 import erase
from squidbot.adapters.sqlite3.memory import history, index, queries, tables, vectors
from squidbot.adapters.sqlite3.memory.rows import DamagedMemoryError
from squidbot.adapters.sqlite3.views import DamagedIndexError
from squidbot.core.errors import StoreError
from squidbot.core.memories import CARDS, is_same, passage_of, refuse_missing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container, Mapping, Sequence

    from squidbot.core.memories import Memory

__all__ = ["add", "exchange", "forget", "unsay"]


def add(connection: sqlite3.Connection, memories: Sequence[Memory], *, indexes: bool) -> None:
    """Store memories, within a transaction.

    Raises:
        StoreError: the transaction must be undone.
        DamagedIndexError: the same, to be done again without indexing.
    """
    key = queries.next_key(connection)
    new: dict[int, Memory] = {}
    for memory in memories:
        found = queries.find(connection, memory.memory_id)
        if found is None:
            if memory.supersedes:
                _supersede(connection, memory, new, indexes=indexes)
            if memory.scope.shelf == CARDS:
                tables.make_cards(connection)
            queries.insert(connection, key, memory)
            new[key] = memory
            key += 1
        elif not is_same(found[1], memory):
            raise StoreError(f"memory {memory.memory_id!a:.80} is there, and another one; nothing was written")
    if indexes:
        index.add(connection, list(new.items()))


def _supersede(connection: sqlite3.Connection, memory: Memory, new: dict[int, Memory], *, indexes: bool) -> None:
    found = queries.find(connection, memory.supersedes)
    if found is None or found[1].scope[:2] != memory.scope[:2]:
        raise StoreError(
            f"memory {memory.memory_id!a:.80} supersedes {memory.supersedes!a:.80}, which is not there or another "
            "user's; nothing was written"
        )
    key, old = found
    if old.superseded_by:
        return
    past = replace(old, superseded_by=memory.memory_id)
    queries.update(connection, key, past)
    if key in new:
        new[key] = past
    elif indexes:
        index.swap(connection, key, old, past)


def forget(connection: sqlite3.Connection, memory_ids: Sequence[str], reason: str, *, indexed: bool = True) -> int:
    """Remove memories, within a transaction.

    Raises:
        DamagedIndexError: the transaction must be undone, and done again with a new index.
    """
    keys = queries.keys_of(connection, memory_ids)
    if keys and indexed:
        index.remove(connection, _indexed_of(connection, keys))
    now = time.time()
    for memory_id, key in keys.items():
        queries.bury(connection, key, memory_id, now, reason)
        vectors.remove(connection, key)
        queries.remove(connection, key)
    if keys:
        erase.mark(connection)
    return len(keys)


def _indexed_of(connection: sqlite3.Connection, keys: Mapping[str, int]) -> list[tuple[int, Memory]]:
    try:
        return [each for each in (queries.find(connection, name) for name in keys) if each]
    except DamagedMemoryError as error:  # which words of it are in the index, nobody knows
        raise DamagedIndexError(str(error)) from error


def unsay(
    connection: sqlite3.Connection, said: tuple[str, Container[int]], reason: str, *, indexed: bool = True
) -> list[str]:
    """Take messages of a session out of the sources of memories, within a transaction.

    Return the ids of those that named no others, and are forgotten.

    Raises:
        DamagedMemoryError: the transaction must be undone.
        DamagedIndexError: the same, to be done again with a new index.
    """
    found = list(history.without(connection, *said))
    gone = [old.memory_id for _, old, left in found if not left]
    for key, old, left in found:
        if left:
            memory = replace(old, sources=left)
            queries.rewrite(connection, key, memory)
            if indexed and passage_of(old) != passage_of(memory):
                index.swap(connection, key, old, memory)
    forget(connection, gone, reason, indexed=indexed)
    return gone


def exchange(
    connection: sqlite3.Connection,
    gone: Sequence[str],
    memories: Sequence[Memory],
    reason: str,
    *,
    indexed: bool = True,
) -> int:
    """Forget memories and add others, within a transaction, and return how many were forgotten.

    One that says the same in both keeps its row, and so its vectors.

    Raises:
        NotFoundError: the transaction must be undone: one of those to forget is not there.
        StoreError, DamagedIndexError: as `add` and `forget`.
    """
    refuse_missing(gone, queries.keys_of(connection, gone))
    without = set(gone)
    stay = {one.memory_id: each for one in memories if one.memory_id in without if (each := _same(connection, one))}
    count = forget(connection, [one for one in gone if one not in stay], reason, indexed=indexed)
    for memory in memories:
        if memory.memory_id in stay:
            key, old = stay[memory.memory_id]
            queries.rewrite(connection, key, memory)
            if indexed and old.sources != memory.sources:
                index.swap(connection, key, old, memory)
    add(connection, [one for one in memories if one.memory_id not in stay], indexes=indexed)
    return count


def _same(connection: sqlite3.Connection, memory: Memory) -> tuple[int, Memory] | None:
    """Return the key and the memory of that id, if it has the same words, scope and versions; None else."""
    try:
        found = queries.find(connection, memory.memory_id)
    except DamagedMemoryError:
        return None
    if found is None:
        return None
    old = found[1]
    told = [(one.text, one.scope, one.supersedes, one.superseded_by) for one in (old, memory)]
    return found if told[0] == told[1] else None
