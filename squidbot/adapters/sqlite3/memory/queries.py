"""Every statement that reads or writes memories. Each runs on a connection that the caller holds."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.sqlite3.memory import rows
from squidbot.adapters.sqlite3.memory.rows import MEMORY_COLUMNS, VIEW_COLUMNS, DamagedMemoryError
from squidbot.adapters.sqlite3.rows import plain, stored
from squidbot.adapters.sqlite3.views import is_damage
from squidbot.core.errors import NotFoundError
from squidbot.core.memories import View

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.memories import Category, Memory
    from squidbot.core.memory.search.dates import Days

__all__ = [
    "Readable",
    "behind",
    "bury",
    "count",
    "find",
    "graves",
    "insert",
    "keys_behind",
    "keys_of",
    "last_before",
    "listed",
    "next_key",
    "of_days",
    "picked",
    "readable",
    "remove",
    "rewrite",
    "seen",
    "update",
]

INSERT = f"INSERT INTO memories({MEMORY_COLUMNS}) VALUES({', '.join('?' * 19)})"
REWRITE = INSERT.replace("INSERT", "REPLACE", 1)
UPDATE = "UPDATE memories SET checksum = ?, superseded_by = ? WHERE key = ?"
REMOVE = "DELETE FROM memories WHERE key = ?"
FIND = f"SELECT {MEMORY_COLUMNS} FROM memories WHERE id = ?"  # noqa: S608  # our own constants, here and below
KEY = "SELECT key FROM memories WHERE id = ?"
NEXT_KEY = (
    "SELECT max(coalesce((SELECT max(key) FROM memories), 0), coalesce((SELECT max(key) FROM forgotten_memories), 0))"
)
LAST_BEFORE = "SELECT max(key) FROM memories WHERE key < ?"
BEHIND = f"SELECT {MEMORY_COLUMNS} FROM memories WHERE key > ? ORDER BY key LIMIT ?"  # noqa: S608
KEYS_BEHIND = "SELECT key FROM memories WHERE key > ? ORDER BY key LIMIT ?"
# Rows are asked for so many at once: a statement for each power of two up to it.
PICKED_ROWS = 128
PICKED = {
    size: f"SELECT {MEMORY_COLUMNS} FROM memories WHERE key IN ({', '.join('?' * size)})"  # noqa: S608
    for size in (1 << power for power in range(PICKED_ROWS.bit_length()))
}
# "+" so that SQLite goes by the keys, and not through all of the view.
SEEN = {
    column: f"SELECT key FROM memories WHERE key IN ({', '.join('?' * PICKED_ROWS)}) AND +{column} = ? "  # noqa: S608
    "AND (superseded_by IS NULL OR ?)"
    for column in VIEW_COLUMNS.values()
}
BURY = (
    "INSERT INTO forgotten_memories(key, id, owner, time, checksum, forgotten, reason) "
    "SELECT key, id, owner, time, ?, ?, ? FROM memories WHERE key = ?"
)
PLACE = "SELECT owner, time FROM memories WHERE key = ?"
GRAVES = (
    "SELECT key, id, owner, time, checksum, forgotten, reason FROM forgotten_memories WHERE id = ? "
    "ORDER BY key DESC LIMIT 1"
)


OF_DAYS = {
    column: f"SELECT key FROM memories WHERE {column} = ? AND time >= ? AND time < ? ORDER BY time DESC LIMIT ?"  # noqa: S608
    for column in VIEW_COLUMNS.values()
}
DAY_SECONDS = 86_400
EPOCH_DAY = 719_163  # 1970-01-01, in days since the year 1


class Readable(NamedTuple):
    """Memories that can be read, by their keys, and the last key that was looked at; 0 where none was left."""

    memories: list[tuple[int, Memory]]
    last: int


def next_key(connection: sqlite3.Connection) -> int:
    """Return a key that no memory has, or had."""
    return int(connection.execute(NEXT_KEY).fetchone()[0]) + 1


def count(connection: sqlite3.Connection) -> int:
    """Return how many memories there are."""
    return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])


def last_before(connection: sqlite3.Connection, key: int) -> int:
    """Return the last key below one; 0 for none."""
    return int(connection.execute(LAST_BEFORE, (key,)).fetchone()[0] or 0)


def insert(connection: sqlite3.Connection, key: int, memory: Memory) -> None:
    """Write a new row.

    Raises:
        StoreError: a value can't be stored.
    """
    connection.execute(INSERT, rows.encode(key, memory))


def update(connection: sqlite3.Connection, key: int, memory: Memory) -> None:
    """Write by what a memory is superseded."""
    cells = rows.encode(key, memory)
    connection.execute(UPDATE, (cells[8], cells[12], key))


def rewrite(connection: sqlite3.Connection, key: int, memory: Memory) -> None:
    """Write the row of a memory anew.

    Raises:
        StoreError: a value can't be stored.
    """
    connection.execute(REWRITE, rows.encode(key, memory))


def find(connection: sqlite3.Connection, memory_id: str) -> tuple[int, Memory] | None:
    """Return the key and the memory of an id; None where there is none.

    Raises:
        DamagedMemoryError: the row does not match its checksum.
    """
    row = connection.execute(FIND, (stored(memory_id)[0],)).fetchone()
    if row is None:
        return None
    key, memory = rows.decode(row)
    if memory.memory_id != memory_id:
        raise DamagedMemoryError(f"the index entry of memory {memory_id!a:.80}")
    return key, memory


def of_days(connection: sqlite3.Connection, view: View, days: Days, limit: int) -> list[int]:
    """Return the keys of at most `limit` memories of a view that were told on these days, newest first."""
    first, last = ((ordinal - EPOCH_DAY) * DAY_SECONDS for ordinal in (days.first, days.last + 1))
    cells = (rows.view_digest(view), first, last, limit)
    return [key for (key,) in connection.execute(OF_DAYS[VIEW_COLUMNS[view.isolation]], cells)]


def keys_of(connection: sqlite3.Connection, memory_ids: Iterable[str]) -> dict[str, int]:
    """Return the keys of the ids that are there, damaged or not, each once, in their order."""
    found = ((name, connection.execute(KEY, (stored(name)[0],)).fetchone()) for name in dict.fromkeys(memory_ids))
    return {name: row[0] for name, row in found if row is not None}


def listed(  # noqa: PLR0913  # as the port has it
    connection: sqlite3.Connection, view: View, category: Category | None, limit: int, after: str, *, past: bool
) -> list[Memory]:
    """Return the memories of a view, newest first, behind one of them.

    Raises:
        NotFoundError: that one is not, and was not, there.
        DamagedMemoryError: a row does not match its checksum.
    """
    cells: list[object] = [rows.view_digest(view)]
    wanted = [f"{VIEW_COLUMNS[view.isolation]} = ?"]
    if after:
        wanted.append("(time, key) < (?, ?)")
        cells += _place(connection, view, after)
    if category is not None:
        wanted.append("category = ?")
        cells.append(category)
    if not past:
        wanted.append("superseded_by IS NULL")
    found = connection.execute(
        f"SELECT {MEMORY_COLUMNS} FROM memories WHERE {' AND '.join(wanted)} "  # noqa: S608
        "ORDER BY time DESC, key DESC LIMIT ?",
        (*cells, max(limit, 0)),
    )
    memories = (rows.decode(row)[1] for row in found.fetchall())
    return [memory for memory in memories if View(memory.scope, view.isolation).key == view.key]


def _place(connection: sqlite3.Connection, view: View, memory_id: str) -> tuple[float, int]:
    """Return the place in listings of a memory that is, or was, in a view.

    Raises:
        NotFoundError: there is, and was, none.
    """
    found = find(connection, memory_id)
    if found and View(found[1].scope, view.isolation).key == view.key:
        return found[1].time, found[0]
    grave = connection.execute(GRAVES, (stored(memory_id)[0],)).fetchone()
    if grave is None or found or grave[2] != rows.view_digests(view.scope)[0]:
        raise NotFoundError(f"no memory {memory_id!a:.80} to list behind: begin with the first page")
    return grave[3], grave[0]


def picked(connection: sqlite3.Connection, keys: Sequence[int]) -> list[tuple[int, Memory]]:
    """Return memories by key, in no order, without those that can't be read."""
    found: list[tuple[int, Memory]] = []
    for start in range(0, len(keys), PICKED_ROWS):
        some = list(keys[start : start + PICKED_ROWS])
        size = 1 << (len(some) - 1).bit_length()
        found += _decoded(_rows(connection, PICKED[size], some + some[-1:] * (size - len(some)), some))
    return found


def seen(connection: sqlite3.Connection, keys: Sequence[int], view: View, *, past: bool) -> set[int]:
    """Return those of some keys that are of memories of a view; with `past` those of history, too."""
    statement, digest = SEEN[VIEW_COLUMNS[view.isolation]], rows.view_digest(view)
    found: set[int] = set()
    for start in range(0, len(keys), PICKED_ROWS):
        some = list(keys[start : start + PICKED_ROWS])
        cells = (*some, *some[-1:] * (PICKED_ROWS - len(some)), digest, past)
        found.update(key for (key,) in connection.execute(statement, cells))
    return found


def readable(connection: sqlite3.Connection, behind_key: int, limit: int) -> Readable:
    """Return the next memories behind a key, in order of key, without those that can't be read."""
    keys = keys_behind(connection, behind_key, limit)
    if not keys:
        return Readable([], 0)
    return Readable(_decoded(_rows(connection, BEHIND, [behind_key, limit], keys)), keys[-1])


def keys_behind(connection: sqlite3.Connection, key: int, limit: int) -> list[int]:
    """Return the next keys behind one, in order."""
    return [each for (each,) in connection.execute(KEYS_BEHIND, (key, limit))]


def behind(connection: sqlite3.Connection, key: int, limit: int) -> list[tuple[int, Memory]]:
    """Return the next memories behind a key, in order of key.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    return [rows.decode(row) for row in connection.execute(BEHIND, (key, limit)).fetchall()]


def _rows(connection: sqlite3.Connection, statement: str, cells: list[int], keys: list[int]) -> list[rows.MemoryRow]:
    """Return rows; one by one where SQLite can't read all of them."""
    try:
        return connection.execute(statement, cells).fetchall()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
    return [row for key in keys if len(keys) > 1 for row in _rows(connection, PICKED[1], [key], [key])]


def _decoded(found: list[rows.MemoryRow]) -> list[tuple[int, Memory]]:
    memories: dict[int, Memory] = {}
    for row in found:
        try:
            key, memory = rows.decode(row)
        except DamagedMemoryError:
            continue
        memories[key] = memory
    return list(memories.items())


def bury(connection: sqlite3.Connection, key: int, memory_id: str, now: float, reason: str) -> None:
    """Leave of a row what is kept of a forgotten memory: its id, its place in listings, when and why it was."""
    owner, time = connection.execute(PLACE, (key,)).fetchone()
    cell, data = stored(reason)
    check = rows.grave_checksum(key, owner, time, now, stored(memory_id)[1], data)
    connection.execute(BURY, (check, now, cell, key))


def remove(connection: sqlite3.Connection, key: int) -> None:
    """Remove a row."""
    connection.execute(REMOVE, (key,))


def graves(connection: sqlite3.Connection, memory_ids: Iterable[str]) -> dict[str, str]:
    """Return, of these ids, those that were forgotten and are not there again, with the reason.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    found: dict[str, str] = {}
    for name in memory_ids:
        row = connection.execute(GRAVES, (stored(name)[0],)).fetchone()
        if row is None or keys_of(connection, [name]):
            continue
        key, memory_id, owner, time, check, forgotten, reason = row
        if rows.grave_checksum(key, owner, time, forgotten, memory_id, reason) != check:
            raise DamagedMemoryError(f"what is left of memory {name!a:.80}")
        found[name] = plain(reason)
    return found
