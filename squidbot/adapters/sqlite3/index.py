"""The search index of a store's messages: a view beside them, made of them alone, that may be dropped at any time.

An FTS5 table holds the terms of `core.recall.search.terms` by the primary key of their message: a session is a range of
keys. It keeps neither texts nor positions (a phrase is looked up in the messages themselves): half of the disk.
What becomes of a damaged one: see `views`; what shows damage that nobody notices: `proof`.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.adapters.sqlite3 import rows
from squidbot.adapters.sqlite3.rows import IN_LIST, json_text, plain, stored_text
from squidbot.core.recall.search import RULES, UNSEARCHED, best, payload_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.adapters.sqlite3.rows import SessionRow
    from squidbot.core.messages import SearchMatch, StoredMessage
    from squidbot.core.recall.search import SearchQuery, Word


# What the indexes of messages and of memories share: how their tables are called, and when one is
# damaged.

# A term is letters, digits and `_`, folded already; what is not ASCII belongs to a word for the tokenizer "ascii".
WORDS = (
    "CREATE VIRTUAL TABLE {} USING fts5(terms, content='', columnsize=0, detail=none, "
    "tokenize=\"ascii tokenchars '_'\")"
)

# Errors that are no damage: they come from outside, and may be gone the next time.
PASSING = frozenset(
    (
        sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CANTOPEN,
    )
)  # fmt: skip


class DamagedIndexError(Exception):
    """There is no index by our rules, or it contradicts itself, or it could not be written: it has to be made anew."""


def generations(connection: sqlite3.Connection, parts: Sequence[str]) -> list[tuple[int, int]]:
    """Return rules and generation of each index that has tables whose names begin with one of these, in order."""
    like = " OR ".join(f"name GLOB '{part}_[0-9]*'" for part in parts)
    ours = re.compile(rf"(?:{'|'.join(parts)})_(\d+)_(\d+)".encode())
    names = connection.execute(f"SELECT name FROM sqlite_master WHERE {like}").fetchall()  # noqa: S608  # our own constants
    return sorted({(int(each[1]), int(each[2])) for (name,) in names if (each := ours.fullmatch(name))})


class SearchIndex:
    """One kind of search index: tables whose names end with the number of their rules and of their generation.

    A view of the rows beside it: it may be dropped, and made anew, at any time.
    """

    def __init__(self, rules: int, parts: Sequence[str], statements: Sequence[str]) -> None:
        """Take the rules, what the tables' names begin with, and what makes them, `{0}` for the end of their names."""
        self.rules = rules
        self._parts = parts
        self._statements = statements

    def all(self, connection: sqlite3.Connection) -> list[tuple[int, int]]:
        """Return rules and generation of each index there is, or a part of; of the same rules the newest is last."""
        return generations(connection, self._parts)

    def is_there(self, connection: sqlite3.Connection) -> bool:
        """Say whether there is one that was made by these rules."""
        return any(rules == self.rules for rules, _ in self.all(connection))

    def newest(self, connection: sqlite3.Connection) -> str:
        """Return the end of the names of the index that counts.

        Raises:
            DamagedIndexError: there is none that was made by these rules.
        """
        numbers = [number for rules, number in self.all(connection) if rules == self.rules]
        if not numbers:
            raise DamagedIndexError("there is no index yet")
        return f"{self.rules}_{numbers[-1]}"

    def renew(self, connection: sqlite3.Connection, *, drops: bool = True) -> None:
        """Start a new, empty index, within a transaction, and drop the old ones.

        Without `drops` they stay, and harm nobody: a damaged one may refuse to go.

        Raises:
            sqlite3.Error: the transaction must be undone.
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
        # How many messages of a session are in, from the first on.
        "CREATE TABLE indexed_{0}(session INTEGER PRIMARY KEY, messages INTEGER NOT NULL, checksum INTEGER NOT NULL)",
    ),
)


def flush(connection: sqlite3.Connection) -> None:
    """Have FTS5 write what it gathered: it would at the commit, where an error of the index would be the append's."""
    connection.execute("SAVEPOINT search_index")
    connection.execute("RELEASE search_index")


def is_damage(error: sqlite3.Error) -> bool:
    """Say whether an error speaks of damage, and not of what may be gone the next time."""
    return (getattr(error, "sqlite_errorcode", sqlite3.SQLITE_BUSY) & 0xFF) not in PASSING


def readable(connection: sqlite3.Connection, statement: str, keys: Sequence[int]) -> list[tuple[Any, ...]]:
    """Return the rows of these keys, without those that SQLite can't read."""
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
    """Turn SQLite's errors that speak of damage, or all of them, into ours.

    A damaged index may ask for more memory than there can be, which SQLite reports as if there were none. Where there
    really is none, making the index anew fails in the same way.
    """
    try:
        yield
    except MemoryError as error:
        raise DamagedIndexError(f"SQLite asks for more memory than there is: {error}") from error
    except sqlite3.Error as error:
        if all_of_them or is_damage(error):
            raise DamagedIndexError(str(error)) from error
        raise


# An append that passes a multiple of this indexes what has gathered: one in so many pays, and search finds the rest.
BATCH_MESSAGES = 64
# A bulk append of so many characters indexes itself: else the next small one would have to.
BATCH_CHARS = 256 * 1024
# How many messages are read and indexed at once: about a tenth of a second.
ADDED_MESSAGES = 1024

UNSEARCHED_MARKS = tuple(f'"{category}"'.encode() for category in UNSEARCHED)  # as a row's form holds them

TEXTS = "SELECT key, form, payload FROM messages WHERE key BETWEEN ? AND ?"
SIZES, PAYLOADS = (
    f"SELECT key, {cell} FROM messages WHERE key {IN_LIST}"  # noqa: S608  # our own constants
    for cell in ("estimate", "payload")
)


class IndexBatch(NamedTuple):
    """Messages of a session that are to be indexed: from `first` to before `last`, as (key, text); `left` behind it.

    `name` is that of the index that they are for.
    """

    first: int
    last: int
    texts: list[tuple[int, str]]
    left: int
    name: str


def pending(connection: sqlite3.Connection, session: SessionRow, at_most: int = ADDED_MESSAGES) -> IndexBatch:
    """Return the next messages to be indexed, the oldest first; none where all are.

    Raises:
        DamagedIndexError: the index has to be made anew.
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
    """Index messages, within a transaction; nothing, if another process was faster.

    Raises:
        DamagedIndexError: the transaction must be undone.
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
    """Yield what the index has to hold of a session, by its rows: the key and the terms of each message that is in it.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        indexed = _indexed(connection, OF_MESSAGES.newest(connection), session)
    for first in range(0, indexed, ADDED_MESSAGES):
        last = min(first + ADDED_MESSAGES, indexed) - 1
        yield from _cells(_texts(connection, session.first_key + first, session.first_key + last))


def keep_up(connection: sqlite3.Connection, before: int, session: SessionRow, chars: int) -> None:
    """Index what has gathered, within the transaction of an append, if it is time to.

    `before`: how many messages there were; `chars`: characters of the payloads that came. An append pays for its own
    and one batch more: a long session that had no index is left to search.

    Raises:
        DamagedIndexError: the transaction must be undone, and done again without this.
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
    """Take messages out of the index, within a transaction: as they were, whatever stands in their rows now.

    FTS5 would keep the words of what was removed until its parts are merged, so they are, all of them: two seconds at
    1,000,000 messages in the file. `PRAGMA secure_delete` decides whether they stay in free pages.

    Raises:
        DamagedIndexError: the transaction must be undone; a new one in another one, which forgets all, does the same.
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
    """Index messages as far as one that has just been replaced, within the same transaction.

    Another process may have read its former text to index it: it comes too late now.

    Raises:
        DamagedIndexError: the transaction must be undone. So it must where the index is far behind: a new one is as
            near, and nobody has read for that.
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
    """Take a session out of what says how far each is indexed, within a transaction; its messages were removed."""
    with index_errors(all_of_them=True):
        if OF_MESSAGES.all(connection):
            name = OF_MESSAGES.newest(connection)
            connection.execute(f"DELETE FROM indexed_{name} WHERE session = ?", (session.no,))  # noqa: S608  # our own


def are_several(connection: sqlite3.Connection) -> bool:
    """Say whether there is an old index beside the one that counts, of messages or memories: one that refused to go."""
    return len(OF_MESSAGES.all(connection)) > 1 or len(generations(connection, MEMORY_PARTS)) > 1


def search(
    connection: sqlite3.Connection, session: SessionRow, query: SearchQuery, limit: int, after: SearchMatch | None
) -> list[SearchMatch]:
    """Return the indexed messages that answer a query, as `core.recall.search.best` does.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    if not session.messages:
        return []
    connection.execute("BEGIN")  # all its statements see the same messages
    try:
        with index_errors():
            return best(query, _Postings(connection, OF_MESSAGES.newest(connection), session), limit, after)
    finally:
        connection.execute("ROLLBACK")


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
        """Return at most `limit` seqs under `below` of messages that have each of the words, newest first."""
        first = self._first_key
        cells = (_match(words), first, first + min(below, self.messages) - 1, limit)
        return [key - first for (key,) in self._connection.execute(self._newest, cells).fetchall()]

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the order asked for; 0 for one that is missing."""
        found = dict(readable(self._connection, SIZES, [self._first_key + seq for seq in seqs]))
        sizes = (found.get(self._first_key + seq) for seq in seqs)
        return [size if isinstance(size, int) else 0 for size in sizes]

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the payloads of messages, in the order asked for; an empty text for one that can't be read."""
        found = dict(readable(self._connection, PAYLOADS, [self._first_key + seq for seq in seqs]))
        return [_text(found.get(self._first_key + seq)) for seq in seqs]


def _match(words: Sequence[Word]) -> str:
    """Return words as FTS5's own language has it: quoted terms, AND, OR and brackets."""
    return " AND ".join(
        f"({' OR '.join(' AND '.join(f'{chr(34)}{term}{chr(34)}' for term in each) for each in word)})"
        for word in words
    )


def _indexed(connection: sqlite3.Connection, name: str, session: SessionRow) -> int:
    """Return how many messages of a session are in.

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
    """Return the payloads in a range of keys that search is to find, without what can't be read."""
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
    """Return a payload as text, whatever became of the row."""
    return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""


# Sessions found by what their records say: a seek for each in SQLite, in which none of them is
# opened.

# Words are looked for so many at once: SQLite takes no deeper expressions than 1,000.
WORDS_AT_ONCE = 200
FOUND = (
    "SELECT no, id FROM sessions WHERE EXISTS (SELECT 1 FROM records WHERE session = sessions.no AND kind = ? AND ({}))"
)
STANDS = "instr(CAST(body AS BLOB), ?)"


def sessions_with(connection: sqlite3.Connection, kind: str, words: Sequence[str]) -> list[str]:
    """Return the sessions that have a record of a kind in whose body one of these words stands, oldest first."""
    found: dict[int, str] = {}
    for start in range(0, len(words), WORDS_AT_ONCE):
        some = [word.encode("utf-8", "surrogatepass") for word in words[start : start + WORDS_AT_ONCE]]
        asked = FOUND.format(" OR ".join([STANDS] * len(some)))
        cells = (stored_text(kind)[0], *some)
        found.update((no, plain(name)) for no, name in connection.execute(asked, cells))
    return [found[no] for no in sorted(found)]
