"""Every statement that reads or writes summaries. Each runs on a connection that the caller holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3 import rows, session_rows
from squidbot.adapters.sqlite3.rows import SUMMARY_COLUMNS
from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from squidbot.core.messages import Summary

__all__ = ["add", "by_id", "in_range"]

# Fixed texts: each is prepared once per connection.
INSERT_SUMMARY = f"INSERT INTO summaries(session, {SUMMARY_COLUMNS}) VALUES({', '.join('?' * 12)})"
NAMED = {
    size: f"SELECT {SUMMARY_COLUMNS} FROM summaries WHERE session = ? AND id IN ({', '.join('?' * size)})"  # noqa: S608
    for size in rows.PICKED_SIZES
}
SUMMARIES = (
    f"SELECT {SUMMARY_COLUMNS} FROM summaries "  # noqa: S608  # our own constants
    "WHERE session = ? AND first_seq BETWEEN ? AND ? AND last_seq <= ?"
)


def add(connection: sqlite3.Connection, summary: Summary) -> None:
    """Insert a summary unless an equal one is there.

    Raises:
        StoreError: a different one is there under its id, or a value can't be stored.
    """
    session = session_rows.find(connection, summary.session_id)
    present = by_id(connection, session, [summary.summary_id])
    if present == [summary]:
        return
    if present:
        raise StoreError(
            f"summary {summary.summary_id!r} of session {session.named} is there with another text; nothing was written"
        )
    session = session_rows.add(connection, session)
    connection.execute(INSERT_SUMMARY, rows.encode_summary(session.no, summary))


def by_id(connection: sqlite3.Connection, session: session_rows.Session, summary_ids: Sequence[str]) -> list[Summary]:
    """Return the named summaries in the order asked for; unknown ones are left out.

    Raises:
        DamagedRowError: a row does not match its checksum.
    """
    names = [rows.stored(summary_id) for summary_id in summary_ids]
    found: dict[bytes, Summary] = {}
    for start in range(0, len(names), rows.PICKED_ROWS):
        cells = rows.filled_up([cell for cell, _ in names[start : start + rows.PICKED_ROWS]])
        for row in connection.execute(NAMED[len(cells)], (session.no, *cells)).fetchall():
            found[row[0]] = rows.decode_summary(session.no, session.session_id, row)
    return [found[data] for _, data in names if data in found]


def in_range(
    connection: sqlite3.Connection, session: session_rows.Session, first_seq: int, last_seq: int
) -> list[Summary]:
    """Return the summaries wholly inside first_seq..last_seq, by first seq, then id.

    Raises:
        DamagedRowError: a row does not match its checksum.
    """
    cells = (session.no, first_seq, last_seq, last_seq)
    found = [
        rows.decode_summary(session.no, session.session_id, row)
        for row in connection.execute(SUMMARIES, cells).fetchall()
    ]
    # Here and not in SQL, where a TEXT comes before any BLOB: see `rows.stored`.
    return sorted(found, key=lambda summary: (summary.first_seq, summary.summary_id))
