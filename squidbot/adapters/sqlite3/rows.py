"""Every statement that reads or writes sessions, messages, records and summaries in SQLite."""

from __future__ import annotations

import json
import sqlite3
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from squidbot.adapters.common.cells import (
    PAIR,
    DamagedRowError,
    MessageRow,
    cell,
    checksum,
    decode,
    decode_record,
    decode_summary,
    encode,
    encode_record,
    encode_summary,
    json_text,
    plain,
    stored_text,
)
from squidbot.adapters.common.transcripts import grown_counts, refuse_id, shown_id
from squidbot.core.errors import StoreError
from squidbot.core.messages import Opening, Record, StoredMessage, Summary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


# Rows by number: one statement for any number of them, passed as JSON text.
IN_LIST = "IN (SELECT value FROM json_each(?))"

MESSAGE_COLUMNS = "key, bound, estimate, turn, checksum, time, form, call_ids, result_ids, frozen, payload"
SUMMARY_COLUMNS = "id, first_seq, last_seq, estimate, bound, checksum, level, counter, source_digest, made_by, text"


def session_checksum(no: int, messages: int, session_id: bytes, records: bytes) -> int:
    """Return the checksum of a session's row; -1, which no row has, if a cell has another type."""
    try:
        return checksum(PAIR(no, messages), session_id, records)
    except (struct.error, TypeError):
        return -1


# Finds, adds and updates a session's row. Each statement runs on the caller's connection.

# key = session number << 32 | seq: 4 billion messages a session and 2 billion sessions in SQLite's 63 bits.
SEQ_BITS = 32

# Fixed texts: a connection prepares each once.
FIND = "SELECT no, messages, checksum, records FROM sessions WHERE id = ?"
FIND_BY_HASH = "SELECT id FROM sessions WHERE hash = ?"
ADD = "INSERT INTO sessions(id, hash, messages, checksum, records) VALUES(?, ?, 0, 0, '{}')"
GROW = "UPDATE sessions SET messages = ?, checksum = ?, records = ? WHERE no = ?"
LAST_KEY = "SELECT max(key) FROM messages WHERE key BETWEEN ? AND ?"
SESSIONS = "SELECT id, messages FROM sessions ORDER BY no"
ALL = "SELECT no, id, messages, checksum, records FROM sessions ORDER BY no"
# The newest message with a time of each session; an append adds no cell to a session's row for it.
NEWEST_KEY = (
    f"SELECT key FROM messages WHERE key BETWEEN no << {SEQ_BITS} AND (no << {SEQ_BITS}) + messages - 1 "  # noqa: S608
    "AND time IS NOT NULL ORDER BY key DESC LIMIT 1"
)
WRITTEN = (
    f"SELECT no, id, time FROM (SELECT no, id, ({NEWEST_KEY}) AS newest FROM sessions WHERE no > ? "  # noqa: S608
    "ORDER BY no LIMIT ?) LEFT JOIN messages ON key = newest ORDER BY no"
)
NEWEST = f"SELECT ({NEWEST_KEY}) FROM sessions WHERE no = ?"  # noqa: S608
WRITTEN_ROWS = 1_000  # at once


# A turn asks for one several times.
@lru_cache(256)
def _counts(records: bytes) -> Mapping[str, int]:
    counts: dict[str, int] = json.loads(plain(records))
    return counts


class SessionRow(NamedTuple):
    """A session's row. `no` is 0 if it has none yet; `records` is JSON text: the number of each kind."""

    session_id: str
    no: int
    messages: int
    records: bytes

    @property
    def record_counts(self) -> Mapping[str, int]:
        """Number of records of each kind."""
        return _counts(self.records)

    @property
    def first_key(self) -> int:
        """The primary key of its message 0."""
        return self.no << SEQ_BITS

    @property
    def shown(self) -> str:
        """Its id for errors."""
        return shown_id(self.session_id)


def find(connection: sqlite3.Connection, session_id: str) -> SessionRow:
    """Return a session's row, empty for an unknown one.

    Raises:
        StoreError: the id is not a str of 1 to 1,024 characters.
        DamagedRowError: the row does not match its checksum.
    """
    refuse_id(session_id)
    cell, data = stored_text(session_id)
    row = connection.execute(FIND, (cell,)).fetchone()
    if row is None and (data,) not in connection.execute(FIND_BY_HASH, (crc32(data),)).fetchall():
        return SessionRow(session_id, 0, 0, b"{}")
    # An index that lost the id must not look like a new conversation, nor must a session created between the queries.
    if (row := row or connection.execute(FIND, (cell,)).fetchone()) is None:
        raise DamagedRowError(f"the index entry of session {shown_id(session_id)}")
    no, stored, check, noted = row
    if session_checksum(no, stored, data, noted) != check:
        raise DamagedRowError(f"the row of session {shown_id(session_id)}")
    return SessionRow(session_id, no, stored, noted)


def find_several(connection: sqlite3.Connection, session_ids: Collection[str]) -> list[SessionRow]:
    """Return the rows of these sessions that are there and have messages, in the order in which they were begun.

    Damaged rows are left out.
    """
    wanted, found = {*session_ids}, list[SessionRow]()
    for no, name, stored, check, noted in connection.execute(ALL):
        if (session_id := plain(name)) in wanted and session_checksum(no, stored, name, noted) == check and stored:
            found.append(SessionRow(session_id, no, stored, noted))
    return found


def find_damaged(connection: sqlite3.Connection, session_id: str) -> SessionRow:
    """Return a session's row; if that is damaged, count its messages' rows.

    Raises:
        StoreError: the id is not a str of 1 to 1,024 characters.
    """
    try:
        return find(connection, session_id)
    except DamagedRowError:
        no = connection.execute(FIND, (stored_text(session_id)[0],)).fetchone()[0]
        session = SessionRow(session_id, no, 0, b"{}")
        first_key = session.first_key
        last_key = connection.execute(LAST_KEY, (first_key, first_key + (1 << SEQ_BITS) - 1)).fetchone()[0]
        return session if last_key is None else session._replace(messages=last_key - first_key + 1)


def written_times(connection: sqlite3.Connection, after: int) -> list[tuple[int, bytes, float | None]]:
    """Return (no, id, time of the newest message with one) of the next sessions behind a number."""
    return connection.execute(WRITTEN, (after, WRITTEN_ROWS)).fetchall()


def written(connection: sqlite3.Connection, session: SessionRow) -> float | None:
    """Return the time of the newest message that has one.

    Raises:
        DamagedRowError: it does not match its checksum.
    """
    key = (connection.execute(NEWEST, (session.no,)).fetchone() or (None,))[0]
    return None if key is None else picked(connection, session, [key - session.first_key])[0].time


def add(connection: sqlite3.Connection, session: SessionRow) -> SessionRow:
    """Return the session, with its own row from now on."""
    if session.no:
        return session
    cell, data = stored_text(session.session_id)
    added = session._replace(no=connection.execute(ADD, (cell, crc32(data))).lastrowid or 0)
    save(connection, added)
    return added


def save(connection: sqlite3.Connection, session: SessionRow) -> None:
    """Write a session's row as it is now."""
    check = session_checksum(session.no, session.messages, stored_text(session.session_id)[1], session.records)
    connection.execute(GROW, (session.messages, check, cell(session.records), session.no))


# Every statement that reads or writes messages and records. Each runs on the caller's connection.

# Rows that `intact_messages` reads at once before it reads one by one.
INTACT_ROWS = 256

# Fixed texts: a connection prepares each once.
INSERT = f"INSERT INTO messages({MESSAGE_COLUMNS}) VALUES({', '.join('?' * 11)})"
RANGE = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE key BETWEEN ? AND ? ORDER BY key"  # noqa: S608  # our own constants
PICKED = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE key {IN_LIST} ORDER BY key"  # noqa: S608
PICKED_ROWS = 256  # at once
BOUNDS = "SELECT key, bound FROM messages WHERE key BETWEEN ? AND ? ORDER BY key DESC"
INSERT_RECORD = "INSERT INTO records(session, kind, number, checksum, body) VALUES(?, ?, ?, ?, ?)"
RECORDS = "SELECT number, checksum, body FROM records WHERE session = ? AND kind = ? AND number >= ? ORDER BY number"


def warm(connection: sqlite3.Connection, session_id: str) -> None:
    """Read the pages that the next append behind a session touches."""
    session = find(connection, session_id)
    first, last = session.first_key, session.first_key + session.messages
    connection.execute(LAST_KEY, (first, last)).fetchone()
    for kind, count in session.record_counts.items():
        connection.execute(RECORDS, (session.no, kind, count - 1)).fetchall()


def append(
    connection: sqlite3.Connection, session: SessionRow, messages: Sequence[StoredMessage], records: Sequence[Record]
) -> SessionRow:
    """Insert rows after the last one, and return the session's new state.

    Raises:
        StoreError: a record's number is not the next of its kind, or a value can't be stored.
    """
    first_key = session.first_key
    connection.executemany(INSERT, [encode(first_key + message.seq, message) for message in messages])
    grown = session._replace(messages=session.messages + len(messages))
    if records:
        counts = grown_counts(session.record_counts, records)
        connection.executemany(INSERT_RECORD, [encode_record(session.no, record) for record in records])
        grown = grown._replace(records=stored_text(json_text(counts))[1])
    save(connection, grown)
    return grown


def messages(connection: sqlite3.Connection, session: SessionRow, first_seq: int, last_seq: int) -> list[StoredMessage]:
    """Return the messages first_seq..last_seq that exist.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    first_key = session.first_key
    first_seq, last_seq = max(first_seq, 0), min(last_seq, session.messages - 1)
    if first_seq > last_seq:
        return []
    found = connection.execute(RANGE, (first_key + first_seq, first_key + last_seq)).fetchall()
    return _decoded(session, found, range(first_seq, last_seq + 1))


def _decoded(session: SessionRow, found: Sequence[MessageRow], wanted: Sequence[int]) -> list[StoredMessage]:
    """Return the messages in rows, which must be the wanted ones.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    try:
        decoded = decode(found, session.first_key)
    except DamagedRowError as error:
        raise DamagedRowError(f"{error} of session {session.shown}") from error
    if len(decoded) != len(wanted):
        there = {message.seq for message in decoded}
        missing = next(seq for seq in wanted if seq not in there)
        raise DamagedRowError(f"message {missing} of session {session.shown}")
    return decoded


def picked(connection: sqlite3.Connection, session: SessionRow, seqs: Iterable[int]) -> list[StoredMessage]:
    """Return the named messages in order, each once.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    return list(each_picked(connection, session, seqs))


def each_picked(connection: sqlite3.Connection, session: SessionRow, seqs: Iterable[int]) -> Iterator[StoredMessage]:
    """Yield the rows of `picked`."""
    first_key = session.first_key
    wanted = sorted({seq for seq in seqs if 0 <= seq < session.messages})
    for start in range(0, len(wanted), PICKED_ROWS):
        some = wanted[start : start + PICKED_ROWS]
        keys = json_text([first_key + seq for seq in some])
        yield from _decoded(session, connection.execute(PICKED, (keys,)).fetchall(), some)


def first_past(connection: sqlite3.Connection, session: SessionRow, budget_tokens: int) -> int:
    """Return the seq at which the sum of bounds, from the newest message back, exceeds the budget; else 0.

    Read two small columns of each row.

    Raises:
        DamagedRowError: a row is missing, or its bound no number.
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
        raise DamagedRowError(f"message {seq} of session {session.shown}") from error
    finally:
        cursor.close()
    if seq:
        raise DamagedRowError(f"message {seq - 1} of session {session.shown}")
    return 0


def intact_messages(
    connection: sqlite3.Connection, session: SessionRow, first_seq: int, last_seq: int
) -> tuple[list[StoredMessage], list[int]]:
    """Return the intact messages of a range, and the seqs of the others."""
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
    connection: sqlite3.Connection, session: SessionRow, first_seq: int, last_seq: int
) -> list[StoredMessage] | None:
    try:
        return messages(connection, session, first_seq, last_seq)
    except sqlite3.OperationalError:  # locked, or the disk failed: not the rows' fault
        raise
    except (DamagedRowError, sqlite3.DatabaseError):
        return None


def opening(connection: sqlite3.Connection, session: SessionRow, kinds: Sequence[str]) -> Opening:
    """Return a session's counts, and the newest record of each of these kinds that it has.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    counts = session.record_counts
    newest = {
        kind: _records(connection, session, kind, counts[kind], counts[kind] - 1)[0] for kind in kinds if kind in counts
    }
    return Opening(session.messages, sum(counts.values()), newest)


def records(connection: sqlite3.Connection, session: SessionRow, kind: str, first_number: int) -> list[Record]:
    """Return a session's records of a kind from `first_number` on, in order of number.

    Raises:
        DamagedRowError: a row is missing or does not match its checksum.
    """
    return _records(connection, session, kind, session.record_counts.get(kind, 0), max(first_number, 0))


def _records(
    connection: sqlite3.Connection, session: SessionRow, kind: str, stored: int, first_number: int
) -> list[Record]:
    found = [
        decode_record(session.no, kind, row)
        for row in connection.execute(RECORDS, (session.no, stored_text(kind)[0], first_number)).fetchall()
    ]
    for number in range(first_number, stored):
        place = number - first_number
        if place >= len(found) or found[place].number != number:
            raise DamagedRowError(f"record {number} of kind {kind!r} of session {session.shown}")
    return found


def last_record(connection: sqlite3.Connection, session: SessionRow, kind: str) -> Record | None:
    """Return the newest record of a kind, or `None`.

    Raises:
        DamagedRowError: its row is missing or does not match its checksum.
    """
    return opening(connection, session, [kind]).newest.get(kind)


# Every statement that reads or writes summaries. Each runs on the caller's connection.

# Fixed texts: a connection prepares each once.
INSERT_SUMMARY = f"INSERT INTO summaries(session, {SUMMARY_COLUMNS}) VALUES({', '.join('?' * 12)})"
NAMED = f"SELECT {SUMMARY_COLUMNS} FROM summaries WHERE session = ? AND id = ?"  # noqa: S608  # our own constants
SUMMARIES = (
    f"SELECT {SUMMARY_COLUMNS} FROM summaries "  # noqa: S608  # our own constants
    "WHERE session = ? AND first_seq BETWEEN ? AND ? AND last_seq <= ?"
)


def add_summary(connection: sqlite3.Connection, summary: Summary) -> None:
    """Insert a summary unless an equal one exists.

    Raises:
        StoreError: its id has a different summary, or a value can't be stored.
    """
    session = find(connection, summary.session_id)
    present = by_id(connection, session, [summary.summary_id])
    if present == [summary]:
        return
    if present:
        raise StoreError(
            f"summary {summary.summary_id!r} of session {session.shown} is there with another text; nothing was written"
        )
    session = add(connection, session)
    connection.execute(INSERT_SUMMARY, encode_summary(session.no, summary))


def by_id(connection: sqlite3.Connection, session: SessionRow, summary_ids: Sequence[str]) -> list[Summary]:
    """Return the named summaries in the order asked for; skip unknown ones.

    Raises:
        DamagedRowError: a row does not match its checksum.
    """
    found = (connection.execute(NAMED, (session.no, stored_text(name)[0])).fetchone() for name in summary_ids)
    return [decode_summary(session.no, session.session_id, row) for row in found if row is not None]


def in_range(connection: sqlite3.Connection, session: SessionRow, first_seq: int, last_seq: int) -> list[Summary]:
    """Return the summaries wholly inside first_seq..last_seq, by first seq, then id.

    Raises:
        DamagedRowError: a row does not match its checksum.
    """
    cells = (session.no, first_seq, last_seq, last_seq)
    found = [
        decode_summary(session.no, session.session_id, row) for row in connection.execute(SUMMARIES, cells).fetchall()
    ]
    # Not in SQL, which sorts TEXT before any BLOB: see `rows.stored`.
    return sorted(found, key=lambda summary: (summary.first_seq, summary.summary_id))
