"""The search index of a store's messages: derived from them alone, so it may be dropped at any time.

An FTS5 table holds the terms of `core.recall.search.terms` by their message's primary key: a session is a range of
keys. It stores neither texts nor positions (phrases are searched in the messages): half of the disk space. Damaged
indexes: see `views`; proof of silent damage: see `proof`.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from bisect import bisect_right
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.adapters.common.cells import COMPRESSED, json_text, plain, plain_small, stored_text
from squidbot.adapters.sqlite3 import rows
from squidbot.adapters.sqlite3.rows import IN_LIST
from squidbot.core.recall.across import SessionRanges
from squidbot.core.recall.search import RULES, UNSEARCHED, best, payload_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.adapters.sqlite3.rows import SessionRow
    from squidbot.core.messages import SearchMatch, SessionMatch, StoredMessage
    from squidbot.core.recall.search import SearchQuery, Word


# Shared by the indexes of messages and memories: table names, and which errors mean damage.

# A term is letters, digits and `_`, already folded; the tokenizer "ascii" counts non-ASCII characters as letters.
WORDS = (
    "CREATE VIRTUAL TABLE {} USING fts5(terms, content='', columnsize=0, detail=none, "
    "tokenize=\"ascii tokenchars '_'\")"
)

# Errors that are not damage: they come from outside, and a retry may succeed.
PASSING = frozenset(
    (
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CANTOPEN,
    )
)  # fmt: skip


class DamagedIndexError(Exception):
    """No index has our rules, or it contradicts itself or could not be written: rebuild it."""


def generations(connection: sqlite3.Connection, parts: Sequence[str]) -> list[tuple[int, int]]:
    """Return rules and generation of each index with tables that begin with one of these names, in order."""
    like = " OR ".join(f"name GLOB '{part}_[0-9]*'" for part in parts)
    ours = re.compile(rf"(?:{'|'.join(parts)})_(\d+)_(\d+)".encode())
    names = connection.execute(f"SELECT name FROM sqlite_master WHERE {like}").fetchall()  # noqa: S608  # our own constants
    return sorted({(int(each[1]), int(each[2])) for (name,) in names if (each := ours.fullmatch(name))})


class SearchIndex:
    """One kind of search index: tables that end with the number of their rules and of their generation.

    It is derived from the rows, so it may be dropped and rebuilt at any time.
    """

    def __init__(self, rules: int, parts: Sequence[str], statements: Sequence[str]) -> None:
        """Take the rules, the prefixes of the tables' names, and the SQL that creates them, `{0}` for the suffix."""
        self.rules = rules
        self._parts = parts
        self._statements = statements

    def all(self, connection: sqlite3.Connection) -> list[tuple[int, int]]:
        """Return rules and generation of each index, complete or not; the newest of the same rules is last."""
        return generations(connection, self._parts)

    def is_there(self, connection: sqlite3.Connection) -> bool:
        """Return whether an index has these rules."""
        return any(rules == self.rules for rules, _ in self.all(connection))

    def newest(self, connection: sqlite3.Connection) -> str:
        """Return the end of the names of the index in use.

        Raises:
            DamagedIndexError: no index has these rules.
        """
        numbers = [number for rules, number in self.all(connection) if rules == self.rules]
        if not numbers:
            raise DamagedIndexError("there is no index yet")
        return f"{self.rules}_{numbers[-1]}"

    def renew(self, connection: sqlite3.Connection, *, drops: bool = True) -> None:
        """Start a new, empty index, within a transaction, and drop the old ones.

        Without `drops`, keep them unused: a damaged one may be impossible to drop.

        Raises:
            sqlite3.Error: undo the transaction.
        """
        old = self.all(connection)
        for rules, number in old if drops else ():
            for part in self._parts:
                connection.execute(f"DROP TABLE IF EXISTS {part}_{rules}_{number}")
        name = f"{self.rules}_{max((number for _, number in old), default=0) + 1}"
        for statement in self._statements:
            connection.execute(statement.format(name))


MEMORY_PARTS = ("memory_words", "memory_last", "memory_seen")
OF_MESSAGES = SearchIndex(
    RULES,
    ("words", "indexed"),
    (
        WORDS.format("words_{0}"),
        # A session's indexed messages, from the first on.
        "CREATE TABLE indexed_{0}(session INTEGER PRIMARY KEY, messages INTEGER NOT NULL, checksum INTEGER NOT NULL)",
    ),
)


def flush(connection: sqlite3.Connection) -> None:
    """Make FTS5 write its buffer: at the commit, an index error would fail the append."""
    connection.execute("SAVEPOINT search_index")
    connection.execute("RELEASE search_index")


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error means damage, and not something temporary."""
    return (getattr(error, "sqlite_errorcode", sqlite3.SQLITE_BUSY) & 0xFF) not in PASSING


def readable(connection: sqlite3.Connection, statement: str, keys: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the rows of these keys, except unreadable ones."""
    try:
        return connection.execute(statement, (json_text(list(keys)),)).fetchall()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
    half = len(keys) // 2
    parts = (keys[:half], keys[half:]) if half else ()
    return [row for part in parts for row in readable(connection, statement, part)]


@contextmanager
def index_errors(*, all_of_them: bool = False) -> Iterator[None]:
    """Turn SQLite's errors that mean damage, or all of them, into ours.

    A damaged index may ask for more memory than exists, which SQLite reports as out of memory. If memory is really
    short, rebuilding the index fails in the same way.
    """
    try:
        yield
    except MemoryError as error:
        raise DamagedIndexError(f"SQLite asks for more memory than there is: {error}") from error
    except sqlite3.Error as error:
        if all_of_them or is_damage(error):
            raise DamagedIndexError(str(error)) from error
        raise


# An append that crosses a multiple of this indexes the backlog, and search indexes the rest.
BATCH_MESSAGES = 64
# A bulk append of this many characters indexes itself: else the next small one would.
BATCH_CHARS = 256 * 1024
# Number of messages to read and index at once: about a tenth of a second.
ADDED_MESSAGES = 1024
# So many messages that are not indexed are looked through where no index may be written: about half a second.
MOST_BACKLOG = 4_096
# So many keys are read at once where messages of other sessions are passed over.
MOST_KEYS = 4_096

UNSEARCHED_MARKS = tuple(f'"{category}"'.encode() for category in UNSEARCHED)  # as a row stores them

TEXTS = "SELECT key, form, payload FROM messages WHERE key BETWEEN ? AND ?"
SIZES, PAYLOADS = (
    f"SELECT key, {cell} FROM messages WHERE key {IN_LIST}"  # noqa: S608  # our own constants
    for cell in ("estimate", "payload")
)


class IndexBatch(NamedTuple):
    """A session's messages to index: from `first` to before `last`, as (key, text); `left` more follow.

    `name` is the index that they are for.
    """

    first: int
    last: int
    texts: list[tuple[int, str]]
    left: int
    name: str


def pending(connection: sqlite3.Connection, session: SessionRow, at_most: int = ADDED_MESSAGES) -> IndexBatch:
    """Return the next messages to index, the oldest first; none if all are indexed.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    if not session.messages:
        return IndexBatch(0, 0, [], 0, "")
    with index_errors():
        name = OF_MESSAGES.newest(connection)
        first = _indexed(connection, name, session)
    last = min(first + at_most, session.messages)
    texts = _texts(connection, session.first_key + first, session.first_key + last - 1) if first < last else []
    return IndexBatch(first, last, texts, session.messages - last, name)


def add(connection: sqlite3.Connection, session: SessionRow, batch: IndexBatch) -> None:
    """Index messages, within a transaction, unless another process was faster.

    Raises:
        DamagedIndexError: undo the transaction.
    """
    with index_errors():
        name = OF_MESSAGES.newest(connection)
        if batch.first == batch.last or batch.name != name or _indexed(connection, name, session) != batch.first:
            return
        connection.executemany(f"INSERT INTO words_{name}(rowid, terms) VALUES(?, ?)", _cells(batch.texts))  # numbers
        check = rows.session_checksum(session.no, batch.last, b"", b"")
        connection.execute(f"REPLACE INTO indexed_{name} VALUES(?, ?, ?)", (session.no, batch.last, check))
        flush(connection)


def _cells(texts: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    return ((key, " ".join(payload_terms(text))) for key, text in texts)


def due_terms(connection: sqlite3.Connection, session: SessionRow) -> Iterator[tuple[int, str]]:
    """Yield what the index should hold of a session, from its rows: key and terms of each indexed message.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        indexed = _indexed(connection, OF_MESSAGES.newest(connection), session)
    for first in range(0, indexed, ADDED_MESSAGES):
        last = min(first + ADDED_MESSAGES, indexed) - 1
        yield from _cells(_texts(connection, session.first_key + first, session.first_key + last))


def keep_up(connection: sqlite3.Connection, before: int, session: SessionRow, chars: int) -> None:
    """Index the backlog, within the transaction of an append, if it is due.

    `before`: number of messages before it; `chars`: characters of new payloads. An append indexes its own messages and
    one batch more: a long session without an index is left to search.

    Raises:
        DamagedIndexError: undo the transaction, and repeat it without this.
    """
    if chars < BATCH_CHARS and before // BATCH_MESSAGES == session.messages // BATCH_MESSAGES:
        return
    left = session.messages - before + BATCH_MESSAGES
    with index_errors(all_of_them=True):
        if not OF_MESSAGES.all(connection):
            OF_MESSAGES.renew(connection)
        while left > 0:
            batch = pending(connection, session, min(left, ADDED_MESSAGES))
            add(connection, session, batch)
            left = left - ADDED_MESSAGES if batch.left else 0


def remove(connection: sqlite3.Connection, session: SessionRow, messages: Iterable[StoredMessage]) -> None:
    """Remove messages from the index, within a transaction, by their old texts, whatever their rows hold.

    FTS5 keeps removed words until it merges its parts, so this merges all: two seconds at 1,000,000 messages in the
    file. `PRAGMA secure_delete` decides whether the words stay in free pages.

    Raises:
        DamagedIndexError: undo the transaction; a new index in another one, which forgets all, does the same.
    """
    with index_errors():
        if not OF_MESSAGES.all(connection):
            return
        name = OF_MESSAGES.newest(connection)
        indexed = _indexed(connection, name, session)
        cells = [
            (session.first_key + message.seq, " ".join(payload_terms(message.payload)))
            for message in messages
            if message.seq < indexed and message.category not in UNSEARCHED
        ]
        words = f"words_{name}"
        connection.executemany(f"INSERT INTO {words}({words}, rowid, terms) VALUES('delete', ?, ?)", cells)
        connection.execute(f"INSERT INTO {words}({words}) VALUES('optimize')")
        flush(connection)


def settle(connection: sqlite3.Connection, session: SessionRow, last_seq: int) -> None:
    """Index a session up to its just replaced message, within the same transaction.

    Another process may have read its former text to index it: it is too late now.

    Raises:
        DamagedIndexError: undo the transaction. Also raised if the index is far behind: a rebuild is as quick, and
            no process has read for it.
    """
    with index_errors(all_of_them=True):
        if not OF_MESSAGES.all(connection):
            return
        indexed = _indexed(connection, OF_MESSAGES.newest(connection), session)
        if last_seq - indexed >= ADDED_MESSAGES:
            raise DamagedIndexError("the index is far behind")
        if last_seq >= indexed:
            add(connection, session, pending(connection, session, last_seq + 1 - indexed))


def leave(connection: sqlite3.Connection, session: SessionRow) -> None:
    """Remove a session from the indexing progress, within a transaction; its messages are removed."""
    with index_errors(all_of_them=True):
        if OF_MESSAGES.all(connection):
            name = OF_MESSAGES.newest(connection)
            connection.execute(f"DELETE FROM indexed_{name} WHERE session = ?", (session.no,))  # noqa: S608  # our own


def are_several(connection: sqlite3.Connection) -> bool:
    """Return whether an old index, of messages or memories, could not be dropped and remains beside the current one."""
    return len(OF_MESSAGES.all(connection)) > 1 or len(generations(connection, MEMORY_PARTS)) > 1


def search(
    connection: sqlite3.Connection, session: SessionRow, query: SearchQuery, limit: int, after: SearchMatch | None
) -> list[SearchMatch]:
    """Return the indexed messages that answer a query, as `core.recall.search.best` does.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    if not session.messages:
        return []
    connection.execute("BEGIN")  # all its statements read one snapshot
    try:
        with index_errors():
            return best(query, _Postings(connection, OF_MESSAGES.newest(connection), session), limit, after)
    finally:
        connection.execute("ROLLBACK")


def unfinished(connection: sqlite3.Connection) -> set[int]:
    """Return the numbers of the sessions that have messages which are not indexed.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        name = OF_MESSAGES.newest(connection)
        behind = (
            f"SELECT no FROM sessions LEFT JOIN indexed_{name} AS indexed ON indexed.session = no "  # noqa: S608  # our own
            "WHERE sessions.messages > ifnull(indexed.messages, 0)"
        )
        return {no for (no,) in connection.execute(behind)}


def search_across(
    connection: sqlite3.Connection,
    sessions: Sequence[SessionRow],
    query: SearchQuery,
    limit: int,
    after: SessionMatch | None,
) -> list[SessionMatch]:
    """Return the indexed messages of several sessions, oldest first, that answer a query, as `search` does.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    if not sessions:
        return []
    ranges = SessionRanges({session.session_id: session.messages for session in sessions})
    connection.execute("BEGIN")
    try:
        with index_errors():
            postings = _JoinedIndex(connection, OF_MESSAGES.newest(connection), sessions, ranges)
            return ranges.best(query, postings, limit, after)
    finally:
        connection.execute("ROLLBACK")


def search_unchanged(
    connection: sqlite3.Connection, session: SessionRow, query: SearchQuery, limit: int, after: SearchMatch | None
) -> list[SearchMatch]:
    """Do what `search` does, and write nothing: of messages that are not indexed, the newest are looked through."""
    if not session.messages:
        return []
    connection.execute("BEGIN")
    try:
        name, indexed = _so_far(connection, session)
        return best(query, _BacklogPostings(connection, name, session, indexed), limit, after)
    finally:
        connection.execute("ROLLBACK")


def left_out(connection: sqlite3.Connection, session: SessionRow) -> int:
    """Return how many messages `search_unchanged` does not look through."""
    return max(0, session.messages - MOST_BACKLOG - _so_far(connection, session)[1]) if session.messages else 0


def _so_far(connection: sqlite3.Connection, session: SessionRow) -> tuple[str, int]:
    """Return the index in use, and how many messages of a session it has; ("", 0) if it is missing or damaged."""
    try:
        with index_errors():
            name = OF_MESSAGES.newest(connection)
            return name, _indexed(connection, name, session)
    except DamagedIndexError:
        return "", 0


class _Postings:
    """The indexed messages of a session: `core.recall.search.Postings`."""

    def __init__(self, connection: sqlite3.Connection, name: str, session: SessionRow) -> None:
        self._connection = connection
        self._first_key = session.first_key
        self._newest = (
            f"SELECT rowid FROM words_{name} WHERE words_{name} MATCH ? "  # noqa: S608  # numbers
            "AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"
        )
        self.messages = session.messages

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` seqs below `below` of messages that have all the words, newest first."""
        first = self._first_key
        cells = (_match(words), first, first + min(below, self.messages) - 1, limit)
        return [key - first for (key,) in self._connection.execute(self._newest, cells).fetchall()]

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the order asked for; 0 for a missing one."""
        keys = [*map(self._key, seqs)]
        found = dict(readable(self._connection, SIZES, keys))
        sizes = map(found.get, keys)
        return [size if isinstance(size, int) else 0 for size in sizes]

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the payloads of messages, in the order asked for; an empty text for an unreadable one."""
        keys = [*map(self._key, seqs)]
        found = dict(readable(self._connection, PAYLOADS, keys))
        return [_text(found.get(key)) for key in keys]

    def _key(self, seq: int) -> int:
        return self._first_key + seq


class _JoinedIndex(_Postings):
    """The indexed messages of several sessions, oldest first, as those of one."""

    def __init__(
        self, connection: sqlite3.Connection, name: str, sessions: Sequence[SessionRow], ranges: SessionRanges
    ) -> None:
        super().__init__(connection, name, sessions[0])
        self._sessions, self._ranges = sessions, ranges
        self._first_keys = [session.first_key for session in sessions]
        self.messages = ranges.messages

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` numbers below `below` of messages that have all the words, newest first."""
        found: list[int] = []
        match, size = _match(words), limit
        last = self._key(below - 1) if below > 0 else 0
        while last and len(found) < limit:
            cells = match, self._first_key, last, size
            keys = [key for (key,) in self._connection.execute(self._newest, cells).fetchall()]
            found += (number for key in keys if (number := self._number(key)) is not None)
            last = self._before(keys[-1]) if len(keys) == size else 0
            size = min(2 * size, MOST_KEYS)  # between few sessions are many others
        return found[:limit]

    def _key(self, seq: int) -> int:
        at, own = self._ranges.place(seq)
        return self._first_keys[at] + own

    def _number(self, key: int) -> int | None:
        """Return the number of a message by its key; `None` if it is in none of these sessions."""
        at = bisect_right(self._first_keys, key) - 1
        own = key - self._first_keys[at]
        return self._ranges.starts[at] + own if own < self._sessions[at].messages else None

    def _before(self, key: int) -> int:
        """Return the last key before one that a message of these sessions has; 0 if there is none."""
        at = bisect_right(self._first_keys, key - 1) - 1
        return min(key - 1, self._first_keys[at] + self._sessions[at].messages - 1) if at >= 0 else 0


class _BacklogPostings(_Postings):
    """The messages of a session of which only the first ones are indexed: the terms of the others are read here."""

    def __init__(self, connection: sqlite3.Connection, name: str, session: SessionRow, indexed: int) -> None:
        super().__init__(connection, name, session)
        self._indexed = indexed
        first = max(indexed, session.messages - MOST_BACKLOG)
        found = _texts(connection, session.first_key + first, session.first_key + session.messages - 1)
        # The terms of messages that are not indexed, the newest message first.
        self._terms = [(key - session.first_key, frozenset(payload_terms(text))) for key, text in reversed(found)]

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` seqs below `below` of messages that have all the words, newest first."""
        mine = [
            seq
            for seq, terms in self._terms
            if seq < below and all(any(terms.issuperset(each) for each in word) for word in words)
        ]
        left = limit - len(mine)
        older = super().newest(words, min(below, self._indexed), left) if self._indexed and left > 0 else []
        return [*mine, *older][:limit]


def _match(words: Sequence[Word]) -> str:
    """Return words in FTS5's query language: quoted terms, AND, OR and brackets."""
    return " AND ".join(
        f"({' OR '.join(' AND '.join(f'{chr(34)}{term}{chr(34)}' for term in each) for each in word)})"
        for word in words
    )


def _indexed(connection: sqlite3.Connection, name: str, session: SessionRow) -> int:
    """Count a session's indexed messages.

    Raises:
        DamagedIndexError: the row contradicts its checksum, or the transcript.
    """
    found = connection.execute(
        f"SELECT messages, checksum FROM indexed_{name} WHERE session = ?",  # noqa: S608  # numbers
        (session.no,),
    ).fetchone()
    if found is None:
        return 0
    indexed, check = found
    if rows.session_checksum(session.no, indexed, b"", b"") != check or not 0 <= indexed <= session.messages:
        raise DamagedIndexError(f"the index's row of session {session.shown}")
    return int(indexed)


def _texts(connection: sqlite3.Connection, first_key: int, last_key: int) -> list[tuple[int, str]]:
    """Return the searchable payloads in a range of keys, except unreadable ones."""
    try:
        found = connection.execute(TEXTS, (first_key, last_key)).fetchall()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        if first_key == last_key:
            return []
        middle = (first_key + last_key) // 2
        return _texts(connection, first_key, middle) + _texts(connection, middle + 1, last_key)
    return [(key, _text(payload)) for key, form, payload in found if not _is_unsearched(form)]


def _is_unsearched(form: object) -> bool:
    return isinstance(form, bytes) and any(mark in form for mark in UNSEARCHED_MARKS)


def _text(payload: object) -> str:
    """Return a payload as text, even if its row is damaged."""
    return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""


# Finds sessions by the content of their records: SQLite seeks once for each, and opens no session.

# Number of words to look for at once: SQLite limits expressions to a depth of 1,000.
WORDS_AT_ONCE = 200
# Long bodies are compressed: SQLite finds them, and they are read here.
IS_LONG = f"substr(CAST(body AS BLOB), 1, 1) = x'{COMPRESSED.hex()}'"
SHORT = (
    "SELECT no, id FROM sessions WHERE EXISTS "  # noqa: S608  # our own constants
    f"(SELECT 1 FROM records WHERE session = sessions.no AND kind = ? AND NOT {IS_LONG} AND ({{}}))"
)
LONG = f"SELECT no, id, body FROM sessions CROSS JOIN records ON session = no WHERE kind = ? AND {IS_LONG}"  # noqa: S608
STANDS = "instr(CAST(body AS BLOB), ?)"


def sessions_with(connection: sqlite3.Connection, kind: str, words: Sequence[str]) -> list[str]:
    """Return the sessions with one of these words in the body of a record of a kind, oldest first.

    A damaged record finds nothing: its session can't read it either.
    """
    found: dict[int, str] = {}
    for start in range(0, len(words), WORDS_AT_ONCE):
        some = [stored_text(word)[1] for word in words[start : start + WORDS_AT_ONCE]]
        asked = SHORT.format(" OR ".join([STANDS] * len(some)))
        found.update((no, plain(name)) for no, name in connection.execute(asked, (stored_text(kind)[0], *some)))
    for no, name, small in connection.execute(LONG, (stored_text(kind)[0],)) if words else ():
        if no not in found and _stands(words, small):
            found[no] = plain(name)
    return [found[no] for no in sorted(found)]


def _stands(words: Sequence[str], small: bytes) -> bool:
    """Return whether one of these words stands in a compressed text."""
    try:
        text = plain_small(small)
    except (zlib.error, UnicodeDecodeError):
        return False
    return any(word in text for word in words)
