"""Memories as rows of the table `memories`: every statement that reads or writes them, and their tables."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from operator import itemgetter
from typing import TYPE_CHECKING

from squidbot.adapters.common.cells import json_text, plain, stored_text
from squidbot.adapters.common.memories import (
    MEMORY_COLUMNS,
    VIEW_COLUMNS,
    DamagedMemoryError,
    decode,
    decode_grave,
    decode_mark,
    encode,
    encode_grave,
    encode_mark,
    grave_checksum,
    refuse_other_reader,
    seconds_of,
    view_digest,
    view_digests,
)
from squidbot.adapters.sqlite3 import index
from squidbot.adapters.sqlite3.files import FOREIGN, open_reading
from squidbot.adapters.sqlite3.rows import IN_LIST
from squidbot.core.errors import DamagedStoreError, NotFoundError, StoreError
from squidbot.core.memories import CARDS, FactRow, View

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from squidbot.core.memories import FactCategory, Isolation, Mark, Memory
    from squidbot.core.memory.days import Days


# Each statement runs on the caller's connection.

WRITE = f"REPLACE INTO memories({MEMORY_COLUMNS}) VALUES({', '.join('?' * 19)})"
REMOVE = "DELETE FROM memories WHERE key = ?"
FIND = f"SELECT {MEMORY_COLUMNS} FROM memories WHERE id = ?"  # noqa: S608  # our own constants, here and below
KEY = "SELECT key FROM memories WHERE id = ?"
NEXT_KEY = (
    "SELECT max(coalesce((SELECT max(key) FROM memories), 0), coalesce((SELECT max(key) FROM forgotten_memories), 0))"
)
LAST_BEFORE = "SELECT max(key) FROM memories WHERE key < ?"
KEYS_BEHIND = "SELECT key FROM memories WHERE key > ? ORDER BY key LIMIT ?"
PICKED = f"SELECT {MEMORY_COLUMNS} FROM memories WHERE key {IN_LIST}"  # noqa: S608
# "+" makes SQLite use the keys instead of scanning the view.
SEEN = {
    column: f"SELECT key FROM memories WHERE key {IN_LIST} AND +{column} = ? "  # noqa: S608
    "AND (superseded_by IS NULL OR ?)"
    for column in VIEW_COLUMNS.values()
}
BURY = (
    "INSERT INTO forgotten_memories(key, id, owner, time, checksum, forgotten, reason) "
    "SELECT key, id, owner, time, ?, ?, ? FROM memories WHERE key = ?"
)
PLACE = "SELECT owner, time FROM memories WHERE key = ?"
BEHIND = f"SELECT {MEMORY_COLUMNS} FROM memories WHERE key > ? ORDER BY key LIMIT ?"  # noqa: S608
_GRAVE = "key, id, owner, time, checksum, forgotten, reason"
GRAVES_BEHIND = f"SELECT {_GRAVE} FROM forgotten_memories WHERE key > ? ORDER BY key LIMIT ?"  # noqa: S608
PUT_GRAVE = f"REPLACE INTO forgotten_memories({_GRAVE}) VALUES(?, ?, ?, ?, ?, ?, ?)"
GRAVES = (
    "SELECT key, id, owner, time, checksum, forgotten, reason FROM forgotten_memories WHERE id = ? "
    "ORDER BY key DESC LIMIT 1"
)


OF_DAYS = {
    column: f"SELECT key FROM memories WHERE {column} = ? AND time >= ? AND time < ? ORDER BY time DESC LIMIT ?"  # noqa: S608
    for column in VIEW_COLUMNS.values()
}
LOOKED_ROWS = 512  # at once, by `damaged`


def next_key(connection: sqlite3.Connection) -> int:
    """Return a key that no memory has, or had."""
    return int(connection.execute(NEXT_KEY).fetchone()[0]) + 1


def count(connection: sqlite3.Connection) -> int:
    """Return the number of memories."""
    return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])


def count_facts(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the number of facts that hold, and of those that were replaced or forgotten; pieces of files are none."""
    holding, every = connection.execute(COUNT_FACTS).fetchone()
    return holding, every - holding + int(connection.execute("SELECT count(*) FROM forgotten_memories").fetchone()[0])


def last_before(connection: sqlite3.Connection, key: int) -> int:
    """Return the last key below one; 0 for none."""
    return int(connection.execute(LAST_BEFORE, (key,)).fetchone()[0] or 0)


def write(connection: sqlite3.Connection, key: int, memory: Memory) -> None:
    """Write a memory's row, replacing its former one.

    Raises:
        StoreError: a value can't be stored.
    """
    connection.execute(WRITE, encode(key, memory))


def find(connection: sqlite3.Connection, memory_id: str) -> tuple[int, Memory] | None:
    """Return the key and the memory of an id; `None` if it is unknown.

    Raises:
        DamagedMemoryError: the row does not match its checksum.
    """
    row = connection.execute(FIND, (stored_text(memory_id)[0],)).fetchone()
    if row is None:
        return None
    key, memory = decode(row)
    if memory.memory_id != memory_id:
        raise DamagedMemoryError(f"the index entry of memory {memory_id!a:.80}")
    return key, memory


def of_days(connection: sqlite3.Connection, view: View, days: Days, limit: int) -> list[int]:
    """Return the keys of at most `limit` memories of a view from these days, newest first."""
    cells = (view_digest(view), *seconds_of(days), limit)
    return [key for (key,) in connection.execute(OF_DAYS[VIEW_COLUMNS[view.isolation]], cells)]


def keys_of(connection: sqlite3.Connection, memory_ids: Iterable[str]) -> dict[str, int]:
    """Return the keys of existing ids, damaged or not, each once, in their order."""
    found = ((name, connection.execute(KEY, (stored_text(name)[0],)).fetchone()) for name in dict.fromkeys(memory_ids))
    return {name: row[0] for name, row in found if row is not None}


def listed(  # noqa: PLR0913  # as the port has it
    connection: sqlite3.Connection, view: View, category: FactCategory | None, limit: int, after: str, *, past: bool
) -> list[Memory]:
    """Return the memories of a view, newest first, after one of them.

    Raises:
        NotFoundError: that one never existed.
        DamagedMemoryError: a row does not match its checksum.
    """
    cells: list[object] = [view_digest(view)]
    wanted = [f"{VIEW_COLUMNS[view.isolation]} = ?"]
    if after:
        wanted.append("(time, key) < (?, ?)")
        cells += _place(connection, view, after)
    if category is not None:
        wanted.append("category = ?")
        cells.append(category)
    if not past:
        wanted.append("superseded_by IS NULL")
    found = connection.execute(
        f"SELECT {MEMORY_COLUMNS} FROM memories WHERE {' AND '.join(wanted)} "  # noqa: S608
        "ORDER BY time DESC, key DESC LIMIT ?",
        (*cells, max(limit, 0)),
    )
    memories = (decode(row)[1] for row in found.fetchall())
    return [memory for memory in memories if View(memory.scope, view.isolation).key == view.key]


def _place(connection: sqlite3.Connection, view: View, memory_id: str) -> tuple[float, int]:
    """Return a memory's place in listings, also if it was forgotten.

    Raises:
        NotFoundError: it never existed.
    """
    found = find(connection, memory_id)
    if found and View(found[1].scope, view.isolation).key == view.key:
        return found[1].time, found[0]
    grave = connection.execute(GRAVES, (stored_text(memory_id)[0],)).fetchone()
    if grave is None or found or grave[2] != view_digests(view.scope)[0]:
        raise NotFoundError(f"no memory {memory_id!a:.80} to continue from: start with the first page")
    return grave[3], grave[0]


def picked(connection: sqlite3.Connection, keys: Sequence[int]) -> list[tuple[int, Memory]]:
    """Return memories by key, in no order, except unreadable ones."""
    memories: dict[int, Memory] = {}
    for row in index.readable(connection, PICKED, keys):
        with suppress(DamagedMemoryError):
            key, memory = decode(row)
            memories[key] = memory
    return list(memories.items())


def seen(connection: sqlite3.Connection, keys: Sequence[int], view: View, *, past: bool) -> set[int]:
    """Return the keys that belong to memories of a view; with `past` including history."""
    cells = (json_text(keys), view_digest(view), past)
    return {key for (key,) in connection.execute(SEEN[VIEW_COLUMNS[view.isolation]], cells)}


def readable(connection: sqlite3.Connection, behind_key: int, limit: int) -> dict[int, Memory | None]:
    """Return the next memories after a key, in order of keys; `None` for an unreadable one."""
    keys = [key for (key,) in connection.execute(KEYS_BEHIND, (behind_key, limit))]
    found = dict(picked(connection, keys))
    return {key: found.get(key) for key in keys}


def bury(connection: sqlite3.Connection, key: int, memory_id: str, now: float, reason: str) -> None:
    """Reduce a forgotten memory's row to its id, its place in listings, the time and the reason."""
    owner, time = connection.execute(PLACE, (key,)).fetchone()
    cell, data = stored_text(reason)
    check = grave_checksum(key, owner, time, now, stored_text(memory_id)[1], data)
    connection.execute(BURY, (check, now, cell, key))


def behind(connection: sqlite3.Connection, after: int, limit: int) -> list[FactRow]:
    """Return memories and what is left of forgotten ones, with keys above one, in order.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    found = [FactRow(*decode(row)) for row in connection.execute(BEHIND, (after, limit))]
    found += map(decode_grave, connection.execute(GRAVES_BEHIND, (after, limit)))
    return sorted(found, key=itemgetter(0))[:limit]


def put_grave(connection: sqlite3.Connection, row: FactRow) -> None:
    """Write what is left of a forgotten memory, over its former row."""
    connection.execute(PUT_GRAVE, encode_grave(row))


def remove(connection: sqlite3.Connection, key: int) -> None:
    """Remove a row."""
    connection.execute(REMOVE, (key,))


def graves(connection: sqlite3.Connection, memory_ids: Iterable[str]) -> dict[str, str]:
    """Return the ids that were forgotten and do not exist again, with the reason.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    found: dict[str, str] = {}
    for name in memory_ids:
        row = connection.execute(GRAVES, (stored_text(name)[0],)).fetchone()
        if row is None or keys_of(connection, [name]):
            continue
        key, memory_id, owner, time, check, forgotten, reason = row
        if grave_checksum(key, owner, time, forgotten, memory_id, reason) != check:
            raise DamagedMemoryError(f"what is left of memory {name!a:.80}")
        found[name] = plain(reason)
    return found


# The tables of memories, created in a store's file at their first use.

MEMORY_LAYOUT = 2

# key = model << 40 | memory: a trillion memories, and eight million models in SQLite's 63 bits.
MEMORY_BITS = 40
# The order of the vectors' arrival, and a stamp of all vectors of a model, which proves an index complete. SQLite has
# no exclusive or; for numbers below 2**63 it is (a | b) - (a & b).
XOR = "digest = (digest | {0}.mark) - (digest & {0}.mark)"
NO = f"({{0}}.key >> {MEMORY_BITS})"
VECTOR_TABLES = (
    """CREATE TABLE memory_vector_places(
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    key INTEGER NOT NULL UNIQUE,  -- that of the vector
    mark INTEGER NOT NULL         -- 63 bits by chance
)""",
    """CREATE TABLE memory_vector_stamps(
    no INTEGER PRIMARY KEY,       -- of the model
    vectors INTEGER NOT NULL,
    digest INTEGER NOT NULL       -- the marks of all, by exclusive or
)""",
    # Not "OR IGNORE": inside a REPLACE's trigger that would be a REPLACE, too.
    f"""CREATE TRIGGER memory_vector_place_added AFTER INSERT ON memory_vector_places BEGIN
    INSERT INTO memory_vector_stamps SELECT {NO.format("new")}, 0, 0
        WHERE NOT EXISTS (SELECT 1 FROM memory_vector_stamps WHERE no = {NO.format("new")});
    UPDATE memory_vector_stamps SET vectors = vectors + 1, {XOR.format("new")} WHERE no = {NO.format("new")};
END""",  # noqa: S608  # our own constants, here and below
    f"""CREATE TRIGGER memory_vector_place_removed AFTER DELETE ON memory_vector_places BEGIN
    UPDATE memory_vector_stamps SET vectors = vectors - 1, {XOR.format("old")} WHERE no = {NO.format("old")};
END""",  # noqa: S608
    # A vector replaces another: SQLite fires no trigger for the old one.
    """CREATE TRIGGER memory_vector_added AFTER INSERT ON memory_vectors BEGIN
    DELETE FROM memory_vector_places WHERE key = new.key;
    INSERT INTO memory_vector_places(key, mark) VALUES(new.key, random() & 0x7fffffffffffffff);
END""",
    """CREATE TRIGGER memory_vector_removed AFTER DELETE ON memory_vectors BEGIN
    DELETE FROM memory_vector_places WHERE key = old.key;
END""",
)

# A memory has its scope once, as text; `owner`, `bot`, `agent` and `model` are 63 bits of a digest of `View.key` under
# each policy, so a view's listing or search never touches another view's row.
TABLES = (
    "CREATE TABLE memory_layout(version INTEGER NOT NULL)",
    f"INSERT INTO memory_layout VALUES({MEMORY_LAYOUT})",  # our number
    """CREATE TABLE memories(
    key INTEGER PRIMARY KEY,    -- in the order of their coming; never used again
    id TEXT NOT NULL UNIQUE,    -- BLOB where it holds lone surrogates, as all texts here
    owner INTEGER NOT NULL,
    bot INTEGER NOT NULL,
    agent INTEGER NOT NULL,
    model INTEGER NOT NULL,
    time REAL NOT NULL,         -- seconds since 1970
    importance REAL NOT NULL,
    checksum INTEGER NOT NULL,  -- CRC-32 of all other cells
    category TEXT NOT NULL,
    trust TEXT NOT NULL,
    supersedes TEXT,            -- NULL for none
    superseded_by TEXT,         -- NULL while it holds
    scope TEXT NOT NULL,        -- JSON, as the next two
    tags TEXT,                  -- NULL for none
    sources TEXT,
    speaker TEXT NOT NULL,
    reason TEXT NOT NULL,
    text TEXT NOT NULL
)""",
    "CREATE INDEX memories_by_owner ON memories(owner, time)",
    "CREATE INDEX memories_by_bot ON memories(bot, time)",
    "CREATE INDEX memories_by_agent ON memories(agent, time)",
    "CREATE INDEX memories_by_model ON memories(model, time)",
    """CREATE TABLE forgotten_memories(
    key INTEGER PRIMARY KEY,    -- that of the memory, and so are the next four
    id TEXT NOT NULL,
    owner INTEGER NOT NULL,
    time REAL NOT NULL,
    checksum INTEGER NOT NULL,
    forgotten REAL NOT NULL,    -- when, in seconds since 1970
    reason TEXT NOT NULL
)""",
    "CREATE INDEX forgotten_memories_by_id ON forgotten_memories(id)",
    """CREATE TABLE memory_models(
    no INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
)""",
    """CREATE TABLE memory_vectors(
    key INTEGER PRIMARY KEY,    -- memory_models.no << 40 | memories.key
    digest BLOB NOT NULL,       -- of the text that the vector was made from
    checksum INTEGER NOT NULL,
    vector BLOB NOT NULL        -- 32-bit floats, little-endian
)""",
    *VECTOR_TABLES,
    # Four cells in an index: `doctor` recognises tables by that.
    """CREATE TABLE memory_marks(
    session NOT NULL,           -- its id; BLOB where it holds lone surrogates
    reader NOT NULL,
    mark TEXT NOT NULL,         -- JSON: next seq, version, stamp
    checksum INTEGER NOT NULL,  -- CRC-32 of all other cells
    PRIMARY KEY(session, reader)
) WITHOUT ROWID""",
)
# A category may be rare or absent, and searching a view of 1,000,000 for it takes more than a second. So from this many
# memories on, an index has the current ones by category, for the policies in use: it takes a second or two to build at
# 1,000,000, and a fifteenth of the file.
CATEGORIES_FROM = 20_000
CATEGORIES = (
    "CREATE INDEX IF NOT EXISTS memories_by_{0}_and_category ON memories({0}, category, time) "
    "WHERE superseded_by IS NULL"
)
HAS_CATEGORIES = (
    "SELECT coalesce((SELECT max(key) FROM memories), 0) < ? "
    "OR EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'memories_by_' || ? || '_and_category')"
)
# Document cards: a scope with a collection is written as eight parts, the collection last. A quote within a part has a
# backslash before it, so no part has this separator. Cards are few: the first one creates their index.
BETWEEN = '","'
IS_CARD = f"scope GLOB '*{f'{BETWEEN}*' * 6}{BETWEEN}{CARDS}\"]'"
IS_PIECE = f"scope GLOB '*{f'{BETWEEN}*' * 7}'"
COUNT_FACTS = f"SELECT count(*) FILTER (WHERE superseded_by IS NULL), count(*) FROM memories WHERE NOT {IS_PIECE}"  # noqa: S608
CARDS_INDEX = "memories_as_cards"
MAKE_CARDS = f"CREATE INDEX IF NOT EXISTS {CARDS_INDEX} ON memories(key) WHERE {IS_CARD}"
COUNT_CARDS = f"SELECT count(*) FROM memories INDEXED BY {CARDS_INDEX} WHERE {IS_CARD}"  # noqa: S608  # our own
HAS_CARDS = f"SELECT 1 FROM sqlite_master WHERE name = '{CARDS_INDEX}'"  # noqa: S608  # our own constants
HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = ?"


def is_laid_out(path: str, connection: sqlite3.Connection) -> bool:
    """Return whether a file has memory tables.

    Raises:
        StoreError: a newer squidbot made them.
        DamagedStoreError: no squidbot did.
    """
    if connection.execute(HAS_TABLE, ("memory_layout",)).fetchone() is None:
        return False
    found = connection.execute("SELECT version FROM memory_layout").fetchall()
    version = found[0][0] if len(found) == 1 else None
    if isinstance(version, int) and version > MEMORY_LAYOUT:
        raise StoreError(
            f"{path}: memories have layout {version}, newer than this squidbot's {MEMORY_LAYOUT}; update squidbot"
        )
    if version != MEMORY_LAYOUT:
        raise DamagedStoreError(f"{path}: memories have an unknown layout; restore a backup")
    return True


def may_have(path: str, *tables: str) -> bool:
    """Return whether a file may have rows in any of these tables; create nothing.

    Return True for an unreadable file: opening it reports the error.
    """
    if not os.path.exists(path):  # noqa: PTH110  # as for all paths of stores
        return False
    try:
        with closing(open_reading(path, 0.0).connection) as connection:
            return any(
                connection.execute(HAS_TABLE, (table,)).fetchone()
                and connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()  # noqa: S608  # our own
                for table in tables
            )
    except (*FOREIGN, OSError, StoreError):
        return True


def lay_out(path: str, connection: sqlite3.Connection) -> None:
    """Create the tables, within a transaction, unless they exist; raise as `is_laid_out`."""
    if not is_laid_out(path, connection):
        for statement in TABLES:
            connection.execute(statement)


def has_categories(connection: sqlite3.Connection, isolation: Isolation) -> bool:
    """Return whether a category search is fast: by an index, or because there are few memories."""
    return bool(connection.execute(HAS_CATEGORIES, (CATEGORIES_FROM, VIEW_COLUMNS[isolation])).fetchone()[0])


def make_categories(connection: sqlite3.Connection, isolation: Isolation) -> None:
    """Create that index, within a transaction, unless it exists."""
    connection.execute(CATEGORIES.format(VIEW_COLUMNS[isolation]))


def has_cards(connection: sqlite3.Connection) -> bool:
    """Return whether document cards have an index; the first new card creates it."""
    return connection.execute(HAS_CARDS).fetchone() is not None


def count_cards(connection: sqlite3.Connection) -> int:
    """Return the number of indexed document cards."""
    return int(connection.execute(COUNT_CARDS).fetchone()[0]) if has_cards(connection) else 0


def make_cards(connection: sqlite3.Connection) -> None:
    """Create their index, within a transaction, unless it exists."""
    connection.execute(MAKE_CARDS)


def damaged(path: str, connection: sqlite3.Connection) -> tuple[int, tuple[int, ...]]:
    """Return the number of a file's memories, and the keys of those with damaged rows.

    Raises:
        StoreError: a newer squidbot made their tables, or none did.
        sqlite3.Error: their keys can't be read.
    """
    if not is_laid_out(path, connection):
        return 0, ()
    lost: list[int] = []
    number = last = 0
    while found := readable(connection, last, LOOKED_ROWS):
        lost += [key for key, memory in found.items() if memory is None]
        number, last = number + len(found), max(found)
    return number, tuple(lost)


# Marks of sessions' readers for facts.

MARKS = "SELECT session, reader, mark, checksum FROM memory_marks"
READ_MARK = "SELECT mark, checksum FROM memory_marks WHERE session = ? AND reader = ?"
PUT_MARK = "REPLACE INTO memory_marks(session, reader, mark, checksum) VALUES(?, ?, ?, ?)"


def mark(connection: sqlite3.Connection, session_id: str, reader: str) -> Mark | None:
    """Return a reader's mark in a session; `None` if it has not begun.

    Raises:
        DamagedMemoryError: it does not match its checksum.
    """
    cells = stored_text(session_id)[0], stored_text(reader)[0]
    return decode_mark(session_id, reader, connection.execute(READ_MARK, cells).fetchone())


def marks(connection: sqlite3.Connection) -> list[Mark]:
    """Return how far each reader has come in each session.

    Raises:
        DamagedMemoryError: one does not match its checksum.
    """
    found = (
        decode_mark(plain(session), plain(reader), (mark, check))
        for session, reader, mark, check in connection.execute(MARKS)
    )
    return [mark for mark in found if mark]


def put_mark(connection: sqlite3.Connection, new: Mark, was: Mark | None) -> None:
    """Replace a mark with another, within a transaction.

    Raises:
        StoreError: the stored mark is another one.
        DamagedMemoryError: it does not match its checksum.
    """
    refuse_other_reader(mark(connection, new.session_id, new.reader), was, new.session_id)
    connection.execute(PUT_MARK, encode_mark(new))
