"""What memories of a file are like, and what of them can be saved into a copy: the part of `doctor` that is theirs.

Vectors and what search finds by are not saved: both are made anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from squidbot.adapters.sqlite3 import rows as stored_rows
from squidbot.adapters.sqlite3.memory import marks, queries, rows, tables
from squidbot.core.errors import DamagedStoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

__all__ = ["GRAVE_CELLS", "MEMORY_CELLS", "SAVED_TABLES", "Saved", "damaged", "proved", "proved_grave"]

MEMORY_CELLS, GRAVE_CELLS = 19, 7
SAVED_TABLES = ("memories", "forgotten_memories", "memory_marks")
LOOKED_ROWS = 512  # at once

# A row may be found twice: as it is, and as it was before another took its place.
FOUND = f"CREATE TEMP TABLE found_memories({rows.MEMORY_COLUMNS}, PRIMARY KEY(key))"
TAKE = (
    f"INSERT INTO found_memories({rows.MEMORY_COLUMNS}) VALUES({', '.join('?' * MEMORY_CELLS)}) "  # our own constants
    "ON CONFLICT DO UPDATE SET superseded_by = excluded.superseded_by, checksum = excluded.checksum "
    "WHERE excluded.superseded_by IS NOT NULL"
)
TAKE_GRAVE = f"INSERT OR IGNORE INTO forgotten_memories VALUES({', '.join('?' * GRAVE_CELLS)})"
# What was forgotten stays so, whatever free pages still hold; of an id that came again the later one counts.
KEEP = (
    f"INSERT OR IGNORE INTO memories({rows.MEMORY_COLUMNS}) SELECT {rows.MEMORY_COLUMNS} FROM found_memories "  # noqa: S608
    "WHERE key NOT IN (SELECT key FROM forgotten_memories) ORDER BY key DESC"
)
DONE = "DROP TABLE found_memories"


def damaged(path: str, connection: sqlite3.Connection) -> tuple[int, tuple[int, ...]]:
    """Return how many memories a file has, and the keys of those whose rows are damaged.

    Raises:
        StoreError: a newer squidbot made their tables, or none did.
        sqlite3.Error: their keys can't be read.
    """
    if not tables.is_laid_out(path, connection):
        return 0, ()
    lost: list[int] = []
    count = last = 0
    while keys := queries.keys_behind(connection, last, LOOKED_ROWS):
        read = {key for key, _ in queries.readable(connection, last, LOOKED_ROWS).memories}
        lost += [key for key in keys if key not in read]
        count, last = count + len(keys), keys[-1]
    return count, tuple(lost)


def proved(key: int, values: Sequence[object]) -> tuple[stored_rows.Cell, ...]:
    """Return the cells of a memory's row, as pages hold them.

    Raises:
        DamagedMemoryError: they do not match their checksum.
        TypeError, ValueError: they are no such row.
    """
    time, importance = (float(cast("float", value)) for value in values[6:8])
    row = (key, *values[1:6], time, importance, *values[8:])
    rows.decode(cast("rows.MemoryRow", row))
    return tuple(map(_cell, row))


def proved_grave(key: int, values: Sequence[object]) -> tuple[stored_rows.Cell, ...]:
    """Return the cells of what is left of a forgotten memory, as pages hold them; raises as `proved`."""
    memory_id, owner, time, check, forgotten, reason = values[1:]
    row = (key, memory_id, owner, float(cast("float", time)), check, float(cast("float", forgotten)), reason)
    if rows.grave_checksum(key, owner, row[3], row[5], memory_id, reason) != check:  # type: ignore[arg-type]  # it sees to that
        raise rows.DamagedMemoryError(f"what is left of memory {key}")
    return tuple(map(_cell, row))


class Saved:
    """Memories on their way into a copy, within a transaction."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        """Take the copy's path and connection."""
        self._path = path
        self._connection = connection
        self._found = False

    def take(self, table: str, row: tuple[stored_rows.Cell, ...]) -> None:
        """Take a row that is proved; the first one makes the tables."""
        if table == "memory_marks":
            marks.keep(self._connection, row)
            return
        if not self._found:
            tables.lay_out(self._path, self._connection)
            self._connection.execute(FOUND)
            self._found = True
        self._connection.execute(TAKE if table == "memories" else TAKE_GRAVE, row)

    def finish(self) -> int:
        """Keep what is to be kept, and return how many memories that is.

        Raises:
            DamagedStoreError: the copy does not hold what was put into it.
        """
        if not self._found:
            return 0
        self._connection.execute(KEEP)
        self._connection.execute(DONE)
        count, lost = damaged(self._path, self._connection)
        if lost:
            raise DamagedStoreError(f"{self._path}: the copy is damaged itself; check the disk")
        return count


def _cell(value: object) -> stored_rows.Cell:
    return stored_rows.cell(value) if isinstance(value, bytes) else cast("stored_rows.Cell", value)
