"""Every statement that reads or writes rows. Each runs on a connection that the caller holds."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from zlib import crc32

from squidbot.adapters.sqlite3 import rows
from squidbot.adapters.sqlite3.rows import MESSAGE_COLUMNS, SUMMARY_COLUMNS, DamagedRowError
from squidbot.core.errors import StoreError
from squidbot.core.messages import Opening

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.messages import Record, StoredMessage, Summary

__all__ = [
    "SESSIONS",
    "Session",
    "add",
    "add_summary",
    "append",
    "find",
    "find_damaged",
    "first_past",
    "intact_messages",
    "last_record",
    "messages",
    "opening",
    "picked",
    "records",
    "summaries_by_id",
    "summaries_in_range",
    "warm",
]

T = TypeVar("T")

# key = session number << 32 | seq: 4 billion messages a session and 2 billion sessions in SQLite's 63 bits.
SEQ_BITS = 32
# How many rows `intact_messages` asks for at once before it goes row by row.
INTACT_ROWS = 256

# Fixed texts: each is prepared once per connection.
FIND = "SELECT no, messages, checksum, records FROM sessions WHERE id = ?"
FIND_BY_HASH = "SELECT id FROM sessions WHERE hash = ?"
ADD = "INSERT INTO sessions(id, hash, messages, checksum, records) VALUES(?, ?, 0, 0, '{}')"
GROW = "UPDATE sessions SET messages = ?, checksum = ?, records = ? WHERE no = ?"
LAST_KEY = "SELECT max(key) FROM messages WHERE key BETWEEN ? AND ?"
INSERT = f"INSERT INTO messages({MESSAGE_COLUMNS}) VALUES({', '.join('?' * 11)})"
RANGE = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE key BETWEEN ? AND ? ORDER BY key"  # noqa: S608  # our own constants
# How many rows are asked for at once by name: a statement for each power of two up to it, a shorter list is filled up.
PICKED_ROWS = 256
PICKED = {
    size: f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE key IN ({', '.join('?' * size)}) ORDER BY key"  # noqa: S608
    for size in (1 << power for power in range(PICKED_ROWS.bit_length()))
}
BOUNDS = "SELECT key, bound FROM messages WHERE key BETWEEN ? AND ? ORDER BY key DESC"
INSERT_RECORD = "INSERT INTO records(session, kind, number, checksum, body) VALUES(?, ?, ?, ?, ?)"
RECORDS = "SELECT number, checksum, body FROM records WHERE session = ? AND kind = ? AND number >= ? ORDER BY number"
INSERT_SUMMARY = f"INSERT INTO summaries(session, {SUMMARY_COLUMNS}) VALUES({', '.join('?' * 12)})"
NAMED = {
    size: f"SELECT {SUMMARY_COLUMNS} FROM summaries WHERE session = ? AND id IN ({', '.join('?' * size)})"  # noqa: S608
    for size in PICKED
}
SUMMARIES = (
    f"SELECT {SUMMARY_COLUMNS} FROM summaries "  # noqa: S608  # our own constants
    "WHERE session = ? AND first_seq BETWEEN ? AND ? AND last_seq <= ?"
)
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


def warm(connection: sqlite3.Connection, session_id: str) -> None:
    """Read the pages that the next append behind a session touches."""
    session = find(connection, session_id)
    first, last = session.first_key, session.first_key + session.messages
    connection.execute(LAST_KEY, (first, last)).fetchone()
    for kind, count in session.record_counts.items():
        connection.execute(RECORDS, (session.no, kind, count - 1)).fetchall()


def add(connection: sqlite3.Connection, session: Session) -> Session:
    """Return the session, with a row of its own from now on."""
    if session.no:
        return session
    cell, data = rows.stored(session.session_id)
    added = session._replace(no=connection.execute(ADD, (cell, crc32(data))).lastrowid or 0)
    _save(connection, added)
    return added


def _save(connection: sqlite3.Connection, session: Session) -> None:
    check = rows.session_checksum(session.no, session.messages, rows.stored(session.session_id)[1], session.records)
    connection.execute(GROW, (session.messages, check, rows.cell(session.records), session.no))


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
    _save(connection, grown)
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
    for start in range(0, len(wanted), PICKED_ROWS):
        some = wanted[start : start + PICKED_ROWS]
        keys = _filled_up([first_key + seq for seq in some])
        found += _decoded(session, connection.execute(PICKED[len(keys)], keys).fetchall(), some)
    return found


def _filled_up(names: list[T]) -> list[T]:
    """Return names, of which there are some, with the last one repeated until there is a statement for so many."""
    size = 1 << (len(names) - 1).bit_length()
    return names + names[-1:] * (size - len(names))


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


def add_summary(connection: sqlite3.Connection, summary: Summary) -> None:
    """Insert a summary unless an equal one is there.

    Raises:
        StoreError: a different one is there under its id, or a value can't be stored.
    """
    session = find(connection, summary.session_id)
    present = summaries_by_id(connection, session, [summary.summary_id])
    if present == [summary]:
        return
    if present:
        raise StoreError(
            f"summary {summary.summary_id!r} of session {session.named} is there with another text; nothing was written"
        )
    session = add(connection, session)
    connection.execute(INSERT_SUMMARY, rows.encode_summary(session.no, summary))


def summaries_by_id(connection: sqlite3.Connection, session: Session, summary_ids: Sequence[str]) -> list[Summary]:
    """Return the named summaries in the order asked for; unknown ones are left out.

    Raises:
        DamagedRowError: a row does not match its checksum.
    """
    names = [rows.stored(summary_id) for summary_id in summary_ids]
    found: dict[bytes, Summary] = {}
    for start in range(0, len(names), PICKED_ROWS):
        cells = _filled_up([cell for cell, _ in names[start : start + PICKED_ROWS]])
        for row in connection.execute(NAMED[len(cells)], (session.no, *cells)).fetchall():
            found[row[0]] = rows.decode_summary(session.no, session.session_id, row)
    return [found[data] for _, data in names if data in found]


def summaries_in_range(
    connection: sqlite3.Connection, session: Session, first_seq: int, last_seq: int
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
