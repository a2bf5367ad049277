"""What the indexes of messages and of memories share: how their tables are called, and when one is damaged.

The name of a table ends in two numbers: that of the rules for terms, and the *generation*, of which the highest counts.
A damaged index is not always one that can be dropped; a new generation needs nothing of the one before.

SQLite commits nothing any more once it met a damaged page within a transaction that writes. So whatever fails in an
index leaves as a DamagedIndexError, and the store undoes the whole transaction and does it again without the index.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "OF_MEMORIES",
    "OF_MESSAGES",
    "WORDS",
    "DamagedIndexError",
    "Generation",
    "Generations",
    "flush",
    "following",
    "index_errors",
    "is_damage",
]

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


class Generation(NamedTuple):
    """The number of the rules, the generation, and both as they stand in the names of tables."""

    rules: int
    number: int
    name: str


class Generations:
    """The tables of one kind of index."""

    def __init__(self, *parts: str) -> None:
        """Take what their names begin with."""
        like = " OR ".join(f"name GLOB '{part}_[0-9]*'" for part in parts)
        self.parts = parts
        self._names = f"SELECT name FROM sqlite_master WHERE {like}"  # noqa: S608  # our own constants
        self._ours = re.compile(rf"(?:{'|'.join(parts)})_(\d+)_(\d+)".encode())

    def all(self, connection: sqlite3.Connection) -> list[Generation]:
        """Return each index there is, or a part of; of those of the same rules the one that counts is last."""
        found = (self._ours.fullmatch(name) for (name,) in connection.execute(self._names).fetchall())
        numbers = {(int(each[1]), int(each[2])) for each in found if each}
        return [Generation(rules, number, f"{rules}_{number}") for rules, number in sorted(numbers)]

    def newest(self, connection: sqlite3.Connection, rules: int) -> str:
        """Return the name of the index that counts.

        Raises:
            DamagedIndexError: there is none that was made by these rules.
        """
        names = [each.name for each in self.all(connection) if each.rules == rules]
        if not names:
            raise DamagedIndexError("there is no index yet")
        return names[-1]


OF_MESSAGES = Generations("words", "indexed")
OF_MEMORIES = Generations("memory_words", "memory_last", "memory_seen")


def following(old: Sequence[Generation], rules: int) -> str:
    """Return the name of a new index beside the old ones."""
    return f"{rules}_{max((each.number for each in old), default=0) + 1}"


def flush(connection: sqlite3.Connection) -> None:
    """Have FTS5 write what it gathered: it would at the commit, where an error of the index would be the append's."""
    connection.execute("SAVEPOINT search_index")
    connection.execute("RELEASE search_index")


def is_damage(error: sqlite3.Error) -> bool:
    """Say whether an error speaks of damage, and not of what may be gone the next time."""
    return (getattr(error, "sqlite_errorcode", sqlite3.SQLITE_BUSY) & 0xFF) not in PASSING


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
