"""Whether what search finds messages and memories by says what their rows say: looked at by `doctor` alone.

SQLite and FTS5 keep no checksums. Who searches or appends notices an index that contradicts itself, and makes it anew;
but in a small one noise in the place of all its words is read as an empty list once in 300 times, and of single bits
that change nearly a third only hide, or show, a word of a message or two: nothing that could be noticed without reading
all of it. What is found is read from its row, which has a checksum, so no damage of an index shows a text that is not
there; it may hide one.

So all of it is read here, at about the cost of making it anew, in a copy outside of the store: FTS5 checks its own
trees in tables that may be written only.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3 import index
from squidbot.adapters.sqlite3.memory import index as memory_index
from squidbot.adapters.sqlite3.views import OF_MEMORIES, OF_MESSAGES, WORDS, DamagedIndexError, index_errors
from squidbot.core.errors import StoreError
from squidbot.core.finding.words import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from squidbot.adapters.sqlite3.session_rows import Session
    from squidbot.adapters.sqlite3.views import Generations

__all__ = ["contradictions"]

# What FTS5 keeps of a table without contents, but for its version, which it reads before anything else.
SHADOWS = {"data": "id, block", "idx": "segid, term, pgno"}
# In the copy: what the store holds, and what it has to hold.
HELD, DUE = "held", "due"

MESSAGES = "what search finds messages by is damaged, and may hide some; the messages are not: a repair makes it anew"
MEMORIES = (
    "what search finds memories by is damaged, and may hide some; the memories are not: "
    "squidbot memory reindex --anew makes it anew"
)


def contradictions(connection: sqlite3.Connection, sessions: Iterable[Session], *, has_memories: bool) -> Iterator[str]:
    """Yield what is wrong with what search finds messages and memories by, a line each; all rows have to be whole.

    An index that is missing, or of other rules, is not wrong: who searches makes it anew.

    Raises:
        StoreError: there is no room for the copy.
    """
    if _has(connection, OF_MESSAGES, RULES):
        due = (cell for session in sessions for cell in index.held(connection, session))
        if not _is_true(connection, f"words_{OF_MESSAGES.newest(connection, RULES)}", due):
            yield MESSAGES
    if has_memories and _has(connection, OF_MEMORIES, memory_index.rules()):
        counts = memory_index.Counts()
        name = OF_MEMORIES.newest(connection, memory_index.rules())
        is_true = _is_true(connection, f"memory_words_{name}", memory_index.held(connection, counts))
        if not (is_true and _are_counted(connection, counts)):
            yield MEMORIES


def _has(connection: sqlite3.Connection, tables: Generations, rules: int) -> bool:
    return any(each.rules == rules for each in tables.all(connection))


def _are_counted(connection: sqlite3.Connection, counts: memory_index.Counts) -> bool:
    try:
        return memory_index.counted(connection) == counts.of_views
    except DamagedIndexError:
        return False


def _is_true(connection: sqlite3.Connection, words: str, due: Iterable[tuple[int, str]]) -> bool:
    """Say whether a table of words is whole, and holds what is due.

    Raises:
        StoreError: there is no room for a copy.
    """
    try:
        with _copied() as path:
            with closing(sqlite3.connect(path)) as copy, copy:
                _fill(copy, connection, words, due)
            with closing(sqlite3.connect(path)) as copy, index_errors():  # FTS5 reads it anew
                copy.text_factory = bytes  # a damaged term is no text
                copy.execute(f"INSERT INTO {HELD}({HELD}) VALUES('integrity-check')")
                return all(one == other for one, other in zip_longest(*(_said(copy, each) for each in (HELD, DUE))))
    except DamagedIndexError:
        return False


@contextmanager
def _copied() -> Iterator[str]:
    """Give the path of a new file, which is gone afterwards; turn errors of its own into ours."""
    try:
        with TemporaryDirectory(prefix="squidbot-doctor-") as folder:
            yield str(Path(folder) / "words.db")
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{gettempdir()}: what search finds by can't be copied there to be looked at ({error}); set TMPDIR to a "
            "folder with as much room as the store takes"
        ) from error


def _fill(copy: sqlite3.Connection, connection: sqlite3.Connection, words: str, due: Iterable[tuple[int, str]]) -> None:
    """Copy a table of words, and make what it has to be.

    Raises:
        DamagedIndexError: it can't be read.
    """
    with index_errors():
        connection.execute(f"SELECT rowid FROM {words} WHERE {words} MATCH 'x' LIMIT 1").fetchall()  # noqa: S608  # our own
        copy.execute(WORDS.format(HELD))
        copy.execute(WORDS.format(DUE))
        copy.executemany(f"INSERT INTO {DUE}(rowid, terms) VALUES(?, ?)", due)
        for part, columns in SHADOWS.items():
            rows = connection.execute(f"SELECT {columns} FROM {words}_{part}")  # noqa: S608
            copy.execute(f"DELETE FROM {HELD}_{part}")  # noqa: S608
            places = ", ".join("?" * len(columns.split(", ")))
            copy.executemany(f"INSERT INTO {HELD}_{part} VALUES({places})", rows)


def _said(copy: sqlite3.Connection, words: str) -> Iterator[tuple[bytes, int]]:
    """Return each term with each row that has it, in order."""
    copy.execute(f"CREATE VIRTUAL TABLE temp.terms_of_{words} USING fts5vocab('main', '{words}', 'instance')")
    return copy.execute(f"SELECT term, doc FROM terms_of_{words}")  # noqa: S608
