"""Who works on what, of all processes that share the file. A table beside the layout, made when it is first wanted.

A squidbot that knows no claims passes it over; copies of the file by `doctor` have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3 import session_rows
from squidbot.adapters.sqlite3.rows import stored

if TYPE_CHECKING:
    import sqlite3

__all__ = ["claim", "leave", "release"]

# Four cells in an index: what is salvaged from damaged files are rows of five, six and more, and of two.
TABLE = """CREATE TABLE IF NOT EXISTS claims(
    session NOT NULL,           -- its id, as in `sessions`
    kind NOT NULL,
    holder NOT NULL,
    until REAL NOT NULL,        -- seconds since 1970
    PRIMARY KEY(session, kind)
) WITHOUT ROWID"""
HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'claims'"
OTHERS = "SELECT 1 FROM claims WHERE session = ? AND kind = ? AND holder <> ? AND until > ?"
TAKE = "REPLACE INTO claims(session, kind, holder, until) VALUES(?, ?, ?, ?)"
END = "DELETE FROM claims WHERE session = ? AND kind = ? AND holder = ?"


def claim(  # noqa: PLR0913, PLR0917  # as the port has it
    connection: sqlite3.Connection, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float
) -> bool:
    """Do what `ports.Claims.claim` says, within a transaction.

    Raises:
        StoreError: the id is refused.
    """
    place = _cells(connection, session_id, kind, holder)
    connection.execute(TABLE)
    if connection.execute(OTHERS, (*place, now)).fetchone():
        return False
    connection.execute(TAKE, (*place, now + ttl_seconds))
    return True


def release(connection: sqlite3.Connection, session_id: str, kind: str, holder: str) -> None:
    """Do what `ports.Claims.release` says, within a transaction.

    Raises:
        StoreError: the id is refused.
    """
    place = _cells(connection, session_id, kind, holder)
    if connection.execute(HAS_TABLE).fetchone():
        connection.execute(END, place)


def leave(connection: sqlite3.Connection, session_id: str) -> None:
    """Take away all claims on a session, within a transaction: it is removed."""
    if connection.execute(HAS_TABLE).fetchone():
        connection.execute("DELETE FROM claims WHERE session = ?", (stored(session_id)[0],))


def _cells(connection: sqlite3.Connection, *texts: str) -> tuple[str | bytes | None, ...]:
    session_rows.find(connection, texts[0])  # refuses what is no id
    return tuple(stored(text)[0] for text in texts)
