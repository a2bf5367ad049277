"""A session's row: found by its id, added, grown. Each statement runs on a connection that the caller holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from squidbot.adapters.sqlite3 import rows
from squidbot.adapters.sqlite3.rows import DamagedRowError
from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    import sqlite3

__all__ = ["LAST_KEY", "SEQ_BITS", "SESSIONS", "Session", "add", "find", "find_damaged", "named", "save"]

# key = session number << 32 | seq: 4 billion messages a session and 2 billion sessions in SQLite's 63 bits.
SEQ_BITS = 32

# Fixed texts: each is prepared once per connection.
FIND = "SELECT no, messages, checksum, records FROM sessions WHERE id = ?"
FIND_BY_HASH = "SELECT id FROM sessions WHERE hash = ?"
ADD = "INSERT INTO sessions(id, hash, messages, checksum, records) VALUES(?, ?, 0, 0, '{}')"
GROW = "UPDATE sessions SET messages = ?, checksum = ?, records = ? WHERE no = ?"
LAST_KEY = "SELECT max(key) FROM messages WHERE key BETWEEN ? AND ?"
SESSIONS = "SELECT id, messages FROM sessions ORDER BY no"


class Session(NamedTuple):
    """A session's row. `no` is 0 for one that has none yet; `records` is JSON text: how many of each kind."""

    session_id: str
    no: int
    messages: int
    records: bytes

    @property
    def record_counts(self) -> dict[str, int]:
        """How many records of each kind there are."""
        counts: dict[str, int] = json.loads(rows.plain(self.records))
        return counts

    @property
    def first_key(self) -> int:
        """The primary key of its message 0."""
        return self.no << SEQ_BITS

    @property
    def named(self) -> str:
        """Its id as errors show it: printable, and not 1,024 characters long."""
        return named(self.session_id)


def named(session_id: str) -> str:
    """Return an id as errors show it: printable, and not 1,024 characters long."""
    shown = ascii(session_id)
    return shown if len(shown) <= 80 else f"{shown[:60]}... ({len(session_id)} characters)"


def find(connection: sqlite3.Connection, session_id: str) -> Session:
    """Return a session's row, empty for an unknown one.

    Raises:
        StoreError: the id is not a str of 1 to 1,024 characters.
        DamagedRowError: the row does not match its checksum.
    """
    if not isinstance(session_id, str) or not 1 <= len(session_id) <= 1024:
        raise StoreError(f"session id {named(session_id)}: must be 1 to 1024 characters; nothing was written")
    cell, data = rows.stored(session_id)
    row = connection.execute(FIND, (cell,)).fetchone()
    if row is None and (data,) not in connection.execute(FIND_BY_HASH, (crc32(data),)).fetchall():
        return Session(session_id, 0, 0, b"{}")
    # An index that lost the id must not look like a new conversation, nor one that began between the looks like that.
    if (row := row or connection.execute(FIND, (cell,)).fetchone()) is None:
        raise DamagedRowError(f"the index entry of session {named(session_id)}")
    no, stored, check, noted = row
    if rows.session_checksum(no, stored, data, noted) != check:
        raise DamagedRowError(f"the row of session {named(session_id)}")
    return Session(session_id, no, stored, noted)


def find_damaged(connection: sqlite3.Connection, session_id: str) -> Session:
    """Return a session's row; where that is damaged, with as many messages as there are rows of it.

    Raises:
        StoreError: the id is not a str of 1 to 1,024 characters.
    """
    try:
        return find(connection, session_id)
    except DamagedRowError:
        no = connection.execute(FIND, (rows.stored(session_id)[0],)).fetchone()[0]
        session = Session(session_id, no, 0, b"{}")
        first_key = session.first_key
        last_key = connection.execute(LAST_KEY, (first_key, first_key + (1 << SEQ_BITS) - 1)).fetchone()[0]
        return session if last_key is None else session._replace(messages=last_key - first_key + 1)


def add(connection: sqlite3.Connection, session: Session) -> Session:
    """Return the session, with a row of its own from now on."""
    if session.no:
        return session
    cell, data = rows.stored(session.session_id)
    added = session._replace(no=connection.execute(ADD, (cell, crc32(data))).lastrowid or 0)
    save(connection, added)
    return added


def save(connection: sqlite3.Connection, session: Session) -> None:
    """Write what a session's row says now."""
    check = rows.session_checksum(session.no, session.messages, rows.stored(session.session_id)[1], session.records)
    connection.execute(GROW, (session.messages, check, rows.cell(session.records), session.no))
