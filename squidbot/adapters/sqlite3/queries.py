"""Every statement that reads or writes messages and records. Each runs on a connection that the caller holds."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3 import rows, session_rows
from squidbot.adapters.sqlite3.rows import MESSAGE_COLUMNS, DamagedRowError
from squidbot.core.errors import StoreError
from squidbot.core.messages import Opening

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.adapters.sqlite3.session_rows import Session
    from squidbot.core.messages import Record, StoredMessage

__all__ = [
    "append",
    "first_past",
    "intact_messages",
    "last_record",
    "messages",
    "opening",
    "picked",
    "records",
    "warm",
]

# How many rows `intact_messages` asks for at once before it goes row by row.
INTACT_ROWS = 256

# Fixed texts: each is prepared once per connection.
INSERT = f"INSERT INTO messages({MESSAGE_COLUMNS}) VALUES({', '.join('?' * 11)})"
RANGE = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE key BETWEEN ? AND ? ORDER BY key"  # noqa: S608  # our own constants
PICKED = {
    size: f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE key IN ({', '.join('?' * size)}) ORDER BY key"  # noqa: S608
    for size in rows.PICKED_SIZES
}
BOUNDS = "SELECT key, bound FROM messages WHERE key BETWEEN ? AND ? ORDER BY key DESC"
INSERT_RECORD = "INSERT INTO records(session, kind, number, checksum, body) VALUES(?, ?, ?, ?, ?)"
RECORDS = "SELECT number, checksum, body FROM records WHERE session = ? AND kind = ? AND number >= ? ORDER BY number"


def warm(connection: sqlite3.Connection, session_id: str) -> None:
    """Read the pages that the next append behind a session touches."""
    session = session_rows.find(connection, session_id)
    first, last = session.first_key, session.first_key + session.messages
    connection.execute(session_rows.LAST_KEY, (first, last)).fetchone()
    for kind, count in session.record_counts.items():
        connection.execute(RECORDS, (session.no, kind, count - 1)).fetchall()


def append(
    connection: sqlite3.Connection, session: Session, messages: Sequence[StoredMessage], records: Sequence[Record]
) -> Session:
    """Insert rows behind the last one, and return the session as it is then.

    Raises:
        StoreError: a record's number is not the next one of its kind, or a value can't be stored.
    """
    first_key = session.first_key
    connection.executemany(INSERT, [rows.encode(first_key + message.seq, message) for message in messages])
    grown = session._replace(messages=session.messages + len(messages))
    if records:
        counts = session.record_counts
        for record in records:
            number = counts.get(record.kind, 0)
            if record.number != number:
                raise StoreError(
                    f"record {record.number} of kind {record.kind!r} is not the next one, {number}; nothing was written"
                )
            counts[record.kind] = number + 1
        connection.executemany(INSERT_RECORD, [rows.encode_record(session.no, record) for record in records])
        grown = grown._replace(records=rows.stored(rows.json_text(counts))[1])
    session_rows.save(connection, grown)
    return grown


def messages(connection: sqlite3.Connection, session: Session, first_seq: int, last_seq: int) -> list[StoredMessage]:
    """Return the messages first_seq..last_seq as far as there are any.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    first_key = session.first_key
    first_seq, last_seq = max(first_seq, 0), min(last_seq, session.messages - 1)
    if first_seq > last_seq:
        return []
    found = connection.execute(RANGE, (first_key + first_seq, first_key + last_seq)).fetchall()
    return _decoded(session, found, range(first_seq, last_seq + 1))


def _decoded(session: Session, found: Sequence[rows.MessageRow], wanted: Sequence[int]) -> list[StoredMessage]:
    """Return the messages in rows, which must be those wanted, in order.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    try:
        decoded = rows.decode(found, session.first_key)
    except DamagedRowError as error:
        raise DamagedRowError(f"{error} of session {session.named}") from error
    if len(decoded) != len(wanted):
        there = {message.seq for message in decoded}
        missing = next(seq for seq in wanted if seq not in there)
        raise DamagedRowError(f"message {missing} of session {session.named}")
    return decoded


def picked(connection: sqlite3.Connection, session: Session, seqs: Iterable[int]) -> list[StoredMessage]:
    """Return the named messages in order, each once.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    first_key = session.first_key
    wanted = sorted({seq for seq in seqs if 0 <= seq < session.messages})
    found: list[StoredMessage] = []
    for start in range(0, len(wanted), rows.PICKED_ROWS):
        some = wanted[start : start + rows.PICKED_ROWS]
        keys = rows.filled_up([first_key + seq for seq in some])
        found += _decoded(session, connection.execute(PICKED[len(keys)], keys).fetchall(), some)
    return found


def first_past(connection: sqlite3.Connection, session: Session, budget_tokens: int) -> int:
    """Return the seq at which the bounds, summed from the newest message on, pass the budget; 0 where they don't.

    Reads two small columns of each row.

    Raises:
        DamagedRowError: a row is missing, or its bound is no number.
    """
    first_key, seq, spent = session.first_key, session.messages, 0
    cursor = connection.execute(BOUNDS, (first_key, first_key + seq - 1))
    try:
        for key, bound in cursor:
            if key != first_key + seq - 1:
                break
            seq -= 1
            spent += bound
            if spent > budget_tokens:
                return seq
    except TypeError as error:
        raise DamagedRowError(f"message {seq} of session {session.named}") from error
    finally:
        cursor.close()
    if seq:
        raise DamagedRowError(f"message {seq - 1} of session {session.named}")
    return 0


def intact_messages(
    connection: sqlite3.Connection, session: Session, first_seq: int, last_seq: int
) -> tuple[list[StoredMessage], list[int]]:
    """Return the messages of a range that are whole, and the seqs of the others."""
    found: list[StoredMessage] = []
    damaged: list[int] = []
    last_seq = min(last_seq, session.messages - 1)
    for start in range(max(first_seq, 0), last_seq + 1, INTACT_ROWS):
        end = min(start + INTACT_ROWS - 1, last_seq)
        whole = _whole(connection, session, start, end)
        if whole is not None:
            found += whole
            continue
        for seq in range(start, end + 1):
            alone = _whole(connection, session, seq, seq)
            if alone is None:
                damaged.append(seq)
            else:
                found += alone
    return found, damaged


def _whole(
    connection: sqlite3.Connection, session: Session, first_seq: int, last_seq: int
) -> list[StoredMessage] | None:
    try:
        return messages(connection, session, first_seq, last_seq)
    except sqlite3.OperationalError:  # locked, or the disk failed: says nothing about the rows
        raise
    except (DamagedRowError, sqlite3.DatabaseError):
        return None


def opening(connection: sqlite3.Connection, session: Session, kinds: Sequence[str]) -> Opening:
    """Return how much a session holds, and the newest record of each of these kinds that it has.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    counts = session.record_counts
    newest = {
        kind: _records(connection, session, kind, counts[kind], counts[kind] - 1)[0] for kind in kinds if kind in counts
    }
    return Opening(session.messages, sum(counts.values()), newest)


def records(connection: sqlite3.Connection, session: Session, kind: str, first_number: int) -> list[Record]:
    """Return a session's records of a kind from `first_number` on, in order of number.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    return _records(connection, session, kind, session.record_counts.get(kind, 0), max(first_number, 0))


def _records(
    connection: sqlite3.Connection, session: Session, kind: str, stored: int, first_number: int
) -> list[Record]:
    found = [
        rows.decode_record(session.no, kind, row)
        for row in connection.execute(RECORDS, (session.no, rows.stored(kind)[0], first_number)).fetchall()
    ]
    for number in range(first_number, stored):
        place = number - first_number
        if place >= len(found) or found[place].number != number:
            raise DamagedRowError(f"record {number} of kind {kind!r} of session {session.named}")
    return found


def last_record(connection: sqlite3.Connection, session: Session, kind: str) -> Record | None:
    """Return the newest record of a kind, or None where there is none.

    Raises:
        DamagedRowError: its row is missing or does not match its checksum.
    """
    return opening(connection, session, [kind]).newest.get(kind)
