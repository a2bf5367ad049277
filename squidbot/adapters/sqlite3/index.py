"""The search index of a store's messages: a view beside them, made of them alone, that may be dropped at any time.

An FTS5 table holds the terms of `core.finding.words` by the primary key of their message: a session is a range of
keys. It keeps neither texts nor positions (a phrase is looked up in the messages themselves): half of the disk.

Tables carry a number, the *generation*: the highest one in the table `search` counts. A damaged index is not always
one that can be dropped; a new generation needs nothing of the one before.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3 import rows
from squidbot.core.finding.ranking import best
from squidbot.core.finding.sayings import said
from squidbot.core.finding.words import RULES, terms
from squidbot.core.messages import Category

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.adapters.sqlite3.queries import Session
    from squidbot.core.finding.words import Query, Word
    from squidbot.core.messages import Found

__all__ = ["BATCH_MESSAGES", "DamagedIndexError", "backlog", "extend", "keep_up", "remove", "renew", "search"]

# An append that passes a multiple of this indexes what has gathered: one in so many pays, and search finds the rest.
BATCH_MESSAGES = 64
# A bulk append of so many characters indexes itself: else the next small one would have to.
BATCH_CHARS = 256 * 1024
# Sizes are asked for so many at once: a statement for each power of two up to it.
SIZES_ROWS = 256

STATE = "CREATE TABLE IF NOT EXISTS search(generation INTEGER PRIMARY KEY, rules INTEGER NOT NULL)"
# A term is letters, digits and `_`, folded already; what is not ASCII belongs to a word for the tokenizer "ascii".
WORDS = (
    "CREATE VIRTUAL TABLE words_{0} USING fts5(terms, content='', columnsize=0, detail=none, "
    "tokenize=\"ascii tokenchars '_'\")"
)
# How many messages of a session are in, from the first on.
INDEXED = "CREATE TABLE indexed_{0}(session INTEGER PRIMARY KEY, messages INTEGER NOT NULL, checksum INTEGER NOT NULL)"

GENERATION = "SELECT generation, rules FROM search ORDER BY generation DESC LIMIT 1"
KNOWN = "SELECT count(*) FROM sqlite_master WHERE name = 'search'"
TEXTS = "SELECT key, form, payload FROM messages WHERE key BETWEEN ? AND ?"
PAYLOAD = "SELECT payload FROM messages WHERE key = ?"
SIZES = {
    size: f"SELECT key, estimate FROM messages WHERE key IN ({', '.join('?' * size)})"  # noqa: S608  # our constants
    for size in (1 << power for power in range(SIZES_ROWS.bit_length()))
}

# Errors that are no damage: they come from outside, and may be gone the next time.
PASSING = frozenset(
    (
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CANTOPEN,
    )
)  # fmt: skip


class DamagedIndexError(Exception):
    """The index contradicts itself, or was made by other rules: it has to be made anew."""


def backlog(connection: sqlite3.Connection, session: Session) -> int:
    """Return how many messages of a session are not in the index yet."""
    if not session.messages:
        return 0
    try:
        return session.messages - _indexed(connection, _generation(connection), session)
    except (DamagedIndexError, sqlite3.DatabaseError) as error:
        if not _is_damage(error):
            raise
        return session.messages


def keep_up(connection: sqlite3.Connection, before: int, session: Session, chars: int) -> None:
    """Index what has gathered, within the transaction of an append, if it is time to; an append never fails for it.

    `before`: how many messages there were; `chars`: characters of the payloads that came.
    """
    if chars < BATCH_CHARS and before // BATCH_MESSAGES == session.messages // BATCH_MESSAGES:
        return
    try:
        extend(connection, session, session.messages)
    except (DamagedIndexError, sqlite3.Error):
        if not connection.in_transaction:  # the disk failed, and SQLite undid the append, too
            raise
        # Else the messages are stored, and search comes back to the index and says what is wrong with it.


def extend(connection: sqlite3.Connection, session: Session, at_most: int) -> int:
    """Index up to `at_most` more messages of a session, within a transaction, and return how many are left then.

    Raises:
        DamagedIndexError: there is no way to make it anew, either.
    """
    try:
        with _undone(connection):
            return _extend(connection, _generation(connection), session, at_most)
    except (DamagedIndexError, sqlite3.DatabaseError) as error:
        if not _is_damage(error):
            raise
    with _undone(connection):
        return _extend(connection, renew(connection), session, at_most)


def renew(connection: sqlite3.Connection) -> int:
    """Start a new, empty index, within a transaction, drop the old ones if that goes, and return its generation."""
    connection.execute(STATE)
    old = [number for (number,) in connection.execute("SELECT generation FROM search").fetchall()]
    generation = max(old, default=0) + 1
    for number in old:
        try:
            with _undone(connection):
                connection.execute(f"DROP TABLE IF EXISTS words_{number:d}")
                connection.execute(f"DROP TABLE IF EXISTS indexed_{number:d}")
                connection.execute("DELETE FROM search WHERE generation = ?", (number,))
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            # A part of it can't even be read to be dropped. It stays, and harms nobody.
    connection.execute(WORDS.format(generation))
    connection.execute(INDEXED.format(generation))
    connection.execute("INSERT INTO search(generation, rules) VALUES(?, ?)", (generation, RULES))
    return generation


def remove(connection: sqlite3.Connection, session: Session, payloads: Iterable[tuple[int, str]]) -> None:
    """Take messages out of the index, within a transaction: (seq, payload as it was), whatever stands there now.

    FTS5 would keep the words of what was removed until its parts are merged, so they are, all of them.
    """
    try:
        with _undone(connection):
            generation = _generation(connection)
            indexed = _indexed(connection, generation, session)
            cells = [
                (session.first_key + seq, " ".join(terms(said(payload)))) for seq, payload in payloads if seq < indexed
            ]
            words = f"words_{generation:d}"
            connection.executemany(f"INSERT INTO {words}({words}, rowid, terms) VALUES('delete', ?, ?)", cells)
            connection.execute(f"INSERT INTO {words}({words}) VALUES('optimize')")
    except (DamagedIndexError, sqlite3.DatabaseError) as error:
        if not _is_damage(error):
            raise
        with _undone(connection):
            renew(connection)


def search(
    connection: sqlite3.Connection, session: Session, query: Query, limit: int, after: Found | None
) -> list[Found]:
    """Return the indexed messages that answer a query, as `ranking.best` does.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    if not session.messages:
        return []
    connection.execute("BEGIN")  # all its statements see the same messages
    try:
        return best(query, _Postings(connection, _generation(connection), session), limit, after)
    except sqlite3.DatabaseError as error:
        if _is_damage(error):
            raise DamagedIndexError(str(error)) from error
        raise
    finally:
        connection.execute("ROLLBACK")


class _Postings:
    """The indexed messages of a session: `ranking.Postings`."""

    def __init__(self, connection: sqlite3.Connection, generation: int, session: Session) -> None:
        self._connection = connection
        self._first_key = session.first_key
        self._newest = (
            f"SELECT rowid FROM words_{generation:d} WHERE words_{generation:d} MATCH ? "  # noqa: S608  # a number
            "AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"
        )
        self.messages = session.messages

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` seqs under `below` of messages that have each of the words, newest first."""
        first = self._first_key
        cells = (_match(words), first, first + min(below, self.messages) - 1, limit)
        return [key - first for (key,) in self._connection.execute(self._newest, cells).fetchall()]

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the order asked for; 0 for one that is missing."""
        found: dict[int, int] = {}
        for start in range(0, len(seqs), SIZES_ROWS):
            keys = [self._first_key + seq for seq in seqs[start : start + SIZES_ROWS]]
            size = 1 << (len(keys) - 1).bit_length()
            keys += keys[-1:] * (size - len(keys))
            found.update(self._connection.execute(SIZES[size], keys).fetchall())
        return [max(found.get(self._first_key + seq, 0), 0) for seq in seqs]

    def text(self, seq: int) -> str:
        """Return what a message says; nothing for one that is missing."""
        row = self._connection.execute(PAYLOAD, (self._first_key + seq,)).fetchone()
        return said(_text(row[0])) if row else ""


def _match(words: Sequence[Word]) -> str:
    """Return words as FTS5's own language has it: quoted terms, AND, OR and brackets."""
    return " AND ".join(
        f"({' OR '.join(' AND '.join(f'{chr(34)}{term}{chr(34)}' for term in each) for each in word)})"
        for word in words
    )


def _generation(connection: sqlite3.Connection) -> int:
    """Return the number of the index that counts.

    Raises:
        DamagedIndexError: there is none, or it was made by other rules.
    """
    if connection.execute(KNOWN).fetchone() == (0,):
        raise DamagedIndexError("there is no index yet")
    row = connection.execute(GENERATION).fetchone()
    if row is None or row[1] != RULES:
        raise DamagedIndexError("the index was made by other rules")
    return int(row[0])


def _indexed(connection: sqlite3.Connection, generation: int, session: Session) -> int:
    """Return how many messages of a session are in.

    Raises:
        DamagedIndexError: the row contradicts its checksum, or the transcript.
    """
    found = connection.execute(
        f"SELECT messages, checksum FROM indexed_{generation:d} WHERE session = ?",  # noqa: S608  # a number
        (session.no,),
    ).fetchone()
    if found is None:
        return 0
    indexed, check = found
    if rows.session_checksum(session.no, indexed, b"", b"") != check or not 0 <= indexed <= session.messages:
        raise DamagedIndexError(f"the index's row of session {session.named}")
    return int(indexed)


def _extend(connection: sqlite3.Connection, generation: int, session: Session, at_most: int) -> int:
    first = _indexed(connection, generation, session)
    last = min(first + at_most, session.messages)
    insert = f"INSERT INTO words_{generation:d}(rowid, terms) VALUES(?, ?)"  # a number
    for start in range(first, last, BATCH_MESSAGES):
        end = min(start + BATCH_MESSAGES, last) - 1
        found = _texts(connection, session.first_key + start, session.first_key + end)
        connection.executemany(insert, ((key, " ".join(terms(said(text)))) for key, text in found))
    cells = (session.no, last, rows.session_checksum(session.no, last, b"", b""))
    connection.execute(f"REPLACE INTO indexed_{generation:d} VALUES(?, ?, ?)", cells)
    return session.messages - last


def _texts(connection: sqlite3.Connection, first_key: int, last_key: int) -> list[tuple[int, str]]:
    """Return the payloads in a range of keys, without recalled copies, and without what can't be read."""
    try:
        found = connection.execute(TEXTS, (first_key, last_key)).fetchall()
    except sqlite3.DatabaseError as error:
        if not _is_damage(error):
            raise
        if first_key == last_key:
            return []
        middle = (first_key + last_key) // 2
        return _texts(connection, first_key, middle) + _texts(connection, middle + 1, last_key)
    return [(key, _text(payload)) for key, form, payload in found if not _is_copy(form)]


def _is_copy(form: bytes) -> bool:
    return f'"{Category.RECALLED}"'.encode() in form


def _text(payload: object) -> str:
    """Return a payload as text, whatever became of the row."""
    return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""


def _is_damage(error: Exception) -> bool:
    return isinstance(error, DamagedIndexError) or (getattr(error, "sqlite_errorcode", 5) & 0xFF) not in PASSING


@contextmanager
def _undone(connection: sqlite3.Connection) -> Iterator[None]:
    """Undo a block that fails, and no more than it: what the transaction did before stays."""
    connection.execute("SAVEPOINT search_index")
    try:
        yield
        # FTS5 gathers what is inserted and writes it at the next savepoint, or at the commit, which would be too late.
        connection.execute("SAVEPOINT search_index_written")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO search_index")
            connection.execute("RELEASE search_index")
        raise
    connection.execute("RELEASE search_index")
