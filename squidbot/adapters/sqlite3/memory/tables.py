"""The tables of memories, made in a store's file when memories are first wanted there.

A squidbot that knows no memories passes them over. What search finds memories by is not among them: see `index`.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3.access import FOREIGN
from squidbot.adapters.sqlite3.files import open_reading
from squidbot.adapters.sqlite3.memory.rows import VIEW_COLUMNS
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.memories import CARDS

if TYPE_CHECKING:
    import sqlite3

    from squidbot.core.memories import Isolation

__all__ = [
    "CARDS_INDEX",
    "IS_CARD",
    "MEMORY_LAYOUT",
    "count_cards",
    "has_cards",
    "has_categories",
    "holds_any",
    "is_laid_out",
    "lay_out",
    "make_cards",
    "make_categories",
]

MEMORY_LAYOUT = 1

# Whose a memory is stands in it once, as text; `owner`, `bot`, `agent` and `model` are the same as 63 bits of a digest
# of `View.key` under each policy, so that no listing or search of a view touches a row of another.
TABLES = (
    "CREATE TABLE memory_layout(version INTEGER NOT NULL)",
    f"INSERT INTO memory_layout VALUES({MEMORY_LAYOUT})",  # a number of ours
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
)
# A category may be rare, or nowhere, and to look for it through a view of 1,000,000 takes more than a second. From so
# many memories on an index has those that hold by their category, for the policies under which these are asked for: it
# takes a second or two to make at 1,000,000, and a fifteenth of the file.
CATEGORIES_FROM = 20_000
CATEGORIES = (
    "CREATE INDEX IF NOT EXISTS memories_by_{0}_and_category ON memories({0}, category, time) "
    "WHERE superseded_by IS NULL"
)
HAS_CATEGORIES = (
    "SELECT coalesce((SELECT max(key) FROM memories), 0) < ? "
    "OR EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'memories_by_' || ? || '_and_category')"
)
# Cards of files: a scope with a shelf is written as eight parts, of which that is the last; a quote within a part has a
# backslash before it, and stands between no two parts. Few among many: an index of them is made with the first one.
BETWEEN = '","'
IS_CARD = f"scope GLOB '*{f'{BETWEEN}*' * 6}{BETWEEN}{CARDS}\"]'"
CARDS_INDEX = "memories_as_cards"
MAKE_CARDS = f"CREATE INDEX IF NOT EXISTS {CARDS_INDEX} ON memories(key) WHERE {IS_CARD}"
COUNT_CARDS = f"SELECT count(*) FROM memories INDEXED BY {CARDS_INDEX} WHERE {IS_CARD}"  # noqa: S608  # our own
HAS_CARDS = f"SELECT 1 FROM sqlite_master WHERE name = '{CARDS_INDEX}'"  # noqa: S608  # our own constants
HAS_LAYOUT = "SELECT 1 FROM sqlite_master WHERE name = 'memory_layout'"


def is_laid_out(path: str, connection: sqlite3.Connection) -> bool:
    """Say whether a file has the tables of memories.

    Raises:
        StoreError: a newer squidbot made them.
        DamagedStoreError: no squidbot did.
    """
    if connection.execute(HAS_LAYOUT).fetchone() is None:
        return False
    found = connection.execute("SELECT version FROM memory_layout").fetchall()
    version = found[0][0] if len(found) == 1 else None
    if isinstance(version, int) and version > MEMORY_LAYOUT:
        raise StoreError(
            f"{path}: has memories in layout {version}, this squidbot knows {MEMORY_LAYOUT}; update squidbot"
        )
    if version != MEMORY_LAYOUT:
        raise DamagedStoreError(f"{path}: has memories in no layout that a squidbot wrote; put a backup in its place")
    return True


def holds_any(path: str) -> bool:
    """Say whether a file may hold memories, or what is left of forgotten ones; nothing is made where there are none.

    A file that can't be read may.
    """
    if not os.path.exists(path):  # noqa: PTH110  # as for all paths of stores
        return False
    try:
        with closing(open_reading(path, 0.0)) as connection:
            return connection.execute(HAS_LAYOUT).fetchone() is not None and _has_rows(connection)
    except (*FOREIGN, OSError, StoreError):
        return True  # who opens it says what is wrong


def _has_rows(connection: sqlite3.Connection) -> bool:
    looked = connection.execute("SELECT 1 FROM memories UNION ALL SELECT 1 FROM forgotten_memories LIMIT 1")
    return looked.fetchone() is not None


def lay_out(path: str, connection: sqlite3.Connection) -> None:
    """Make the tables, within a transaction, unless another process was faster; raises as `is_laid_out`."""
    if not is_laid_out(path, connection):
        for statement in TABLES:
            connection.execute(statement)


def has_categories(connection: sqlite3.Connection, isolation: Isolation) -> bool:
    """Say whether a category of a view is found at once: by an index, or since there are few memories."""
    return bool(connection.execute(HAS_CATEGORIES, (CATEGORIES_FROM, VIEW_COLUMNS[isolation])).fetchone()[0])


def make_categories(connection: sqlite3.Connection, isolation: Isolation) -> None:
    """Make that index, within a transaction, unless another process was faster."""
    connection.execute(CATEGORIES.format(VIEW_COLUMNS[isolation]))


def has_cards(connection: sqlite3.Connection) -> bool:
    """Say whether cards of files are told from other memories at once; where not, none came since they are."""
    return connection.execute(HAS_CARDS).fetchone() is not None


def count_cards(connection: sqlite3.Connection) -> int:
    """Return how many cards of files there are, as far as they are told at once."""
    return int(connection.execute(COUNT_CARDS).fetchone()[0]) if has_cards(connection) else 0


def make_cards(connection: sqlite3.Connection) -> None:
    """Make what tells them, within a transaction, unless it is there."""
    connection.execute(MAKE_CARDS)
