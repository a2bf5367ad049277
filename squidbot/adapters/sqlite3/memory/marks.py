"""How far sessions were read for facts. A table beside the layout, made when it is first wanted.

A squidbot that knows no marks passes it over. Copies of the file by `doctor` have them: what was read once, and
forgotten since, is not read again.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3.access import FOREIGN
from squidbot.adapters.sqlite3.files import open_reading
from squidbot.adapters.sqlite3.memory.rows import DamagedMemoryError
from squidbot.adapters.sqlite3.rows import cell, checksum, json_text, plain, stored
from squidbot.core.errors import StoreError
from squidbot.core.memories import Mark

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from squidbot.adapters.sqlite3.rows import Cell

__all__ = ["MARK_CELLS", "are_in", "keep", "proved", "put", "read"]

# Four cells in an index: what is salvaged from damaged files are rows of two, five, six, seven and more.
TABLE = """CREATE TABLE IF NOT EXISTS memory_marks(
    session NOT NULL,           -- its id; BLOB where it holds lone surrogates
    reader NOT NULL,
    mark TEXT NOT NULL,         -- JSON: next seq, version, stamp
    checksum INTEGER NOT NULL,  -- CRC-32 of all other cells
    PRIMARY KEY(session, reader)
) WITHOUT ROWID"""
MARK_CELLS = 4
HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'memory_marks'"
READ = "SELECT mark, checksum FROM memory_marks WHERE session = ? AND reader = ?"
KEEP = "INSERT OR IGNORE INTO memory_marks(session, reader, mark, checksum) VALUES(?, ?, ?, ?)"
PUT = "REPLACE INTO memory_marks(session, reader, mark, checksum) VALUES(?, ?, ?, ?)"


def are_in(path: str) -> bool:
    """Say whether a file has marks; nothing is made where there are none. One that can't be read may."""
    if not os.path.exists(path):  # noqa: PTH110  # as for all paths of stores
        return False
    try:
        with closing(open_reading(path, 0.0)) as connection:
            return connection.execute(HAS_TABLE).fetchone() is not None
    except (*FOREIGN, OSError, StoreError):
        return True  # who opens it says what is wrong


def read(connection: sqlite3.Connection, session_id: str, reader: str) -> Mark | None:
    """Return how far a reader has come in a session; None where it has not begun.

    Raises:
        DamagedMemoryError: it does not match its checksum.
    """
    if connection.execute(HAS_TABLE).fetchone() is None:
        return None
    (session, session_data), (name, name_data) = stored(session_id), stored(reader)
    row = connection.execute(READ, (session, name)).fetchone()
    if row is None:
        return None
    if checksum(session_data, name_data, row[0]) != row[1]:
        raise DamagedMemoryError(f"the mark of session {session_id!a:.80}")
    return Mark(session_id, reader, *json.loads(plain(row[0])))


def put(connection: sqlite3.Connection, mark: Mark, was: Mark | None) -> None:
    """Put a mark into the place of another one, within a transaction.

    Raises:
        StoreError: the one that is there is another.
        DamagedMemoryError: it does not match its checksum.
    """
    there = read(connection, mark.session_id, mark.reader)
    if there != was:
        raise StoreError(f"session {mark.session_id!a:.80} was read by another meanwhile; nothing was written")
    connection.execute(TABLE)
    (session, session_data), (name, name_data) = stored(mark.session_id), stored(mark.reader)
    said, data = stored(json_text((mark.next_seq, mark.version, mark.stamp)))
    connection.execute(PUT, (session, name, said, checksum(session_data, name_data, data)))


def proved(values: Sequence[object]) -> tuple[Cell, ...]:
    """Return the cells of a mark's row, as pages hold them.

    Raises:
        DamagedMemoryError: they do not match their checksum, or are no such row.
    """
    session, reader, mark, check = values
    if not (isinstance(session, bytes) and isinstance(reader, bytes) and isinstance(mark, bytes)):
        raise DamagedMemoryError("no mark")
    if checksum(session, reader, mark) != check:
        raise DamagedMemoryError(f"the mark of session {plain(session)!a:.80}")
    return cell(session), cell(reader), cell(mark), check


def keep(connection: sqlite3.Connection, row: tuple[Cell, ...]) -> None:
    """Take a mark's row that is proved into a copy, within a transaction; of two of a reader the first stays."""
    connection.execute(TABLE)
    connection.execute(KEEP, row)
