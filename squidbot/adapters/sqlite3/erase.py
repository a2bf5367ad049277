"""What is forgotten goes for good: out of the rows, out of the search index, and out of the bytes of the file.

The rows go in one transaction, and with it a mark is set. Their old bytes stay behind at first: in the write-ahead
log, in pages that are free again, in the unused part of pages. `scrub` writes the whole file anew, empties the log and
takes the mark away. It needs a moment in which nobody reads an older state. What ends it early, a crash, a reader or
a full disk, leaves the mark, and whoever opens the store next tries again.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3 import claims, index, queries, rows, session_rows
from squidbot.adapters.sqlite3.access import FOREIGN, store_error
from squidbot.adapters.sqlite3.files import SETTINGS, connect
from squidbot.adapters.sqlite3.views import DamagedIndexError
from squidbot.core.errors import StoreError
from squidbot.core.messages import Category, Erasure

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from squidbot.adapters.sqlite3.session_rows import Session
    from squidbot.core.messages import StoredMessage

__all__ = ["drop", "forget", "is_unscrubbed", "mark", "remove_summaries", "scrub"]

# REPLACE and not UPDATE: it mends a damaged or missing row, too.
REPLACE_MESSAGE = queries.INSERT.replace("INSERT", "REPLACE", 1)
REPLACE_RECORD = queries.INSERT_RECORD.replace("INSERT", "REPLACE", 1)
HAS_SUMMARY = "SELECT 1 FROM summaries WHERE session = ? AND id = ?"
REMOVE_SUMMARY = "DELETE FROM summaries WHERE session = ? AND id = ?"

REMOVE_MESSAGES = "DELETE FROM messages WHERE key BETWEEN ? AND ?"
REMOVE_SESSION = (
    "DELETE FROM records WHERE session = ?",
    "DELETE FROM summaries WHERE session = ?",
    "DELETE FROM sessions WHERE no = ?",
)
# How many messages of a session are read at once, to be taken out of the index.
PAGE_ROWS = 1_000

# A random number for each change that is not scrubbed yet: one of them never takes away the mark of another.
MARKS = "CREATE TABLE IF NOT EXISTS unscrubbed(mark INTEGER PRIMARY KEY)"
ADD_MARK = "INSERT INTO unscrubbed(mark) VALUES(abs(random() >> 1))"
HAS_MARKS = "SELECT 1 FROM sqlite_master WHERE name = 'unscrubbed'"
ALL_MARKS = "SELECT mark FROM unscrubbed"
REMOVE_MARK = "DELETE FROM unscrubbed WHERE mark = ?"

READER = "another program is reading an older state of the store"
DAMAGED_INDEX = "a search index of former times is damaged and can't be removed"
LATER = "what was forgotten is out of reach, but its bytes are not overwritten yet"


def forget(connection: sqlite3.Connection, session: Session, erasure: Erasure, *, renewed: bool = False) -> None:
    """Do what an erasure says, within a transaction. `renewed`: the search index has just been emptied.

    Raises:
        StoreError: the erasure does not fit the session; the transaction must be undone.
        DamagedIndexError: the same, to be done again with a new index.
    """
    _refuse_misfit(session, erasure)
    seqs = [tombstone.seq for tombstone in erasure.tombstones]
    is_indexed = bool(seqs) and not renewed
    if is_indexed:
        _unindex(connection, session, seqs)
    _refuse_changes(connection, session, erasure.unnoticed)
    changed = (*erasure.unnoticed, *erasure.tombstones)
    cells = [rows.encode(session.first_key + row.seq, row) for row in changed]
    connection.executemany(REPLACE_MESSAGE, cells)
    connection.executemany(REPLACE_RECORD, [rows.encode_record(session.no, record) for record in erasure.replaced])
    if is_indexed:
        index.settle(connection, session, max(seqs))
    remove_summaries(connection, session, erasure.summaries)
    if erasure.appended:
        session = queries.append(connection, session_rows.add(connection, session), (), erasure.appended)
    if changed or erasure.replaced:
        mark(connection)


def drop(connection: sqlite3.Connection, session: Session) -> None:
    """Remove a session with all its rows, within a transaction; nothing is done where there is none.

    Raises:
        DamagedIndexError: it needs a new index; the transaction must be undone.
    """
    if not session.no:
        return
    try:
        index.remove(connection, session, _all_of(connection, session))
    except rows.DamagedRowError as error:
        raise DamagedIndexError(str(error)) from error
    index.leave(connection, session)
    claims.leave(connection, session.session_id)
    connection.execute(REMOVE_MESSAGES, (session.first_key, session.first_key + (1 << session_rows.SEQ_BITS) - 1))
    for statement in REMOVE_SESSION:
        connection.execute(statement, (session.no,))
    mark(connection)


def _all_of(connection: sqlite3.Connection, session: Session) -> Iterator[StoredMessage]:
    for first in range(0, session.messages, PAGE_ROWS):
        yield from queries.messages(connection, session, first, min(session.messages, first + PAGE_ROWS) - 1)


def _unindex(connection: sqlite3.Connection, session: Session, seqs: Sequence[int]) -> None:
    """Take rows out of the search index before they are replaced.

    Raises:
        DamagedIndexError: it needs a new index.
    """
    try:
        index.remove(connection, session, queries.picked(connection, session, seqs))
    except rows.DamagedRowError as error:  # which words of it are in the index, nobody knows
        raise DamagedIndexError(str(error)) from error


def _refuse_misfit(session: Session, erasure: Erasure) -> None:
    """Pass an erasure that fits a session.

    Raises:
        StoreError: it was made for another state of the session.
    """
    counts = session.record_counts
    stored = session.messages, sum(counts.values())
    if erasure.expected != stored:
        raise StoreError(
            f"another writer came first: session {session.named} has {stored[0]} messages and {stored[1]} records, "
            f"not {erasure.expected[0]} and {erasure.expected[1]}; nothing was changed"
        )
    for tombstone in erasure.tombstones:
        if not 0 <= tombstone.seq < session.messages:
            raise StoreError(f"message {tombstone.seq} is not in session {session.named}; nothing was changed")
        if tombstone.category is not Category.FORGOTTEN:
            raise StoreError(f"what takes the place of message {tombstone.seq} is no tombstone; nothing was changed")
    for record in erasure.replaced:
        if not 0 <= record.number < counts.get(record.kind, 0):
            raise StoreError(
                f"record {record.number} of kind {record.kind!r} is not in session {session.named}; nothing was changed"
            )


def _refuse_changes(connection: sqlite3.Connection, session: Session, unnoticed: Sequence[StoredMessage]) -> None:
    """Pass rows that change nothing but notices; what search knows of them stays.

    Raises:
        StoreError: another thing would change, or the row is not there.
        rows.DamagedRowError: a stored row does not match its checksum.
    """
    seqs = sorted({row.seq for row in unnoticed})
    there = {row.seq: row for row in queries.picked(connection, session, seqs)} if seqs else {}
    for row in unnoticed:
        if row.seq not in there or not Erasure.is_unnoticed(there[row.seq], row):
            raise StoreError(f"more than its notice would change of message {row.seq}; nothing was changed")


def remove_summaries(connection: sqlite3.Connection, session: Session, summary_ids: Sequence[str]) -> None:
    """Remove summaries, within a transaction; unknown ids are passed over."""
    cells = [(session.no, rows.stored(name)[0]) for name in summary_ids]
    there = [each for each in cells if connection.execute(HAS_SUMMARY, each).fetchone()]
    if there:
        connection.executemany(REMOVE_SUMMARY, there)
        mark(connection)


def mark(connection: sqlite3.Connection) -> None:
    """Say, within the transaction of a change, that bytes of what was forgotten are to be overwritten."""
    connection.execute(MARKS)
    connection.execute(ADD_MARK)


def is_unscrubbed(connection: sqlite3.Connection) -> bool:
    """Say whether words that were forgotten may still stand in the bytes of the file or of its log."""
    return connection.execute(HAS_MARKS).fetchone() is not None


def scrub(path: str, busy_seconds: float) -> None:
    """Write a file with marks anew and empty its log; nobody else can write meanwhile.

    Takes room for two more copies of the file while it lasts: one in the log, one where SQLite keeps temporary files.

    Raises:
        StoreError: it could not be ended: a program reads an older state, or writes, for longer than `busy_seconds`;
            the disk is full; the file is damaged.
    """
    try:
        with closing(connect(path, busy_seconds)) as connection:
            for setting in SETTINGS:
                connection.execute(setting)
            _scrub(path, connection)
    except FOREIGN as error:
        raise store_error(path, error, f"; {LATER}") from error


def _scrub(path: str, connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    marks = _marks(connection)
    connection.execute("ROLLBACK")
    if not marks:  # another program was faster
        return
    _empty_log(path, connection)  # before the work: a reader that is in the way is found at once
    connection.execute("VACUUM")
    _empty_log(path, connection)
    if index.are_several(connection):
        raise StoreError(f"{path}: {DAMAGED_INDEX}; {LATER}; `squidbot doctor` makes a copy without them")
    connection.execute("BEGIN IMMEDIATE")
    if left := _marks(connection):
        connection.executemany(REMOVE_MARK, marks)
        if set(left) <= set(marks):
            connection.execute("DROP TABLE unscrubbed")
    connection.execute("COMMIT")


def _marks(connection: sqlite3.Connection) -> list[tuple[int]]:
    return connection.execute(ALL_MARKS).fetchall() if is_unscrubbed(connection) else []


def _empty_log(path: str, connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        raise StoreError(f"{path}: {READER}; {LATER}; try again when it has ended")
