"""Memories that take the places of others, what brings these back, and which messages say them; none is removed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3.memory import index, queries
from squidbot.adapters.sqlite3.rows import json_text, plain
from squidbot.core.errors import StoreError
from squidbot.core.memories import is_said_in, refuse_missing, said_too, unsaid

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Container, Iterator, Mapping

    from squidbot.core.memories import Memory, Said, Source

__all__ = ["said_in", "say", "supersede", "without"]

# What a session is called stands in its memories' sources as JSON, quotes and all.
SOURCED = "SELECT id FROM memories WHERE instr(CAST(sources AS BLOB), ?) ORDER BY key"


def supersede(connection: sqlite3.Connection, places: Mapping[str, str], *, indexes: bool) -> None:
    """Do what `MemoryStore.supersede` says, within a transaction.

    Raises:
        StoreError: the transaction must be undone.
        DamagedIndexError: the same, to be done again without indexing.
    """
    for memory_id, taker in places.items():
        key, old = _found(connection, memory_id)
        if old.superseded_by == taker:
            continue
        if taker and (old.superseded_by or _found(connection, taker)[1].scope[:2] != old.scope[:2]):
            raise StoreError(f"memory {memory_id!a:.80} was replaced before, or is another user's; nothing was written")
        changed = replace(old, superseded_by=taker)
        queries.update(connection, key, changed)
        if indexes:
            index.swap(connection, key, old, changed)
    for taker in filter(None, places.values()):
        if _found(connection, taker)[1].superseded_by:
            raise StoreError(f"memory {taker!a:.80} is history itself, and takes no place; nothing was written")


def said_in(connection: sqlite3.Connection, session_id: str) -> list[Memory]:
    """Return all memories that name a session among their sources, history too.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    return [memory for _, memory in _said_in(connection, session_id)]


def say(connection: sqlite3.Connection, said: Said) -> None:
    """Give memories sources that they do not have yet, by id, within a transaction.

    Raises:
        NotFoundError: the transaction must be undone: one is not there.
        DamagedMemoryError: the same: a row does not match its checksum.
    """
    refuse_missing(said, queries.keys_of(connection, said))
    for memory_id, sources in said.items():
        key, old = _found(connection, memory_id)
        if (more := said_too(old, sources)) is not old:
            queries.rewrite(connection, key, more)


def without(
    connection: sqlite3.Connection, session_id: str, seqs: Container[int]
) -> Iterator[tuple[int, Memory, tuple[Source, ...]]]:
    """Yield the memories that lose a source with these messages: key, memory, and the sources that are left.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    for key, memory in _said_in(connection, session_id):
        if (left := unsaid(memory, session_id, seqs)) != memory.sources:
            yield key, memory, left


def _said_in(connection: sqlite3.Connection, session_id: str) -> list[tuple[int, Memory]]:
    named = json_text(session_id).encode("utf-8", "surrogatepass")
    ids = [plain(memory_id) for (memory_id,) in connection.execute(SOURCED, (named,)).fetchall()]
    found = (queries.find(connection, memory_id) for memory_id in ids)
    return [each for each in found if each and is_said_in(each[1], session_id)]


def _found(connection: sqlite3.Connection, memory_id: str) -> tuple[int, Memory]:
    found = queries.find(connection, memory_id)
    if found is None:
        raise StoreError(f"memory {memory_id!a:.80} is not there; nothing was written")
    return found
