"""The search index of memories: derived from them alone, so it may be dropped at any time.

An FTS5 table holds each memory's terms by its key. A term begins with the digest of the memory's owner (tenant and
user), so lists never mix owners. Four marks name the view that sees it under each policy, and whether it is current.
Texts and positions are not stored. Damaged indexes: see `views` in the package above; silent damage: see `proof` there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.memories import view_digest, view_digests
from squidbot.adapters.common.postings import ViewCounts
from squidbot.adapters.sqlite3.index import MEMORY_PARTS, WORDS, DamagedIndexError, SearchIndex, flush, index_errors
from squidbot.adapters.sqlite3.memory import rows
from squidbot.core.memory.search import RULES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.memories import Memory, View


# Added to the rules' number: raise it with every change of the stored terms.
FORM = 4
# Shorter lists are read whole and their rows looked up, at 20 microseconds each: less than to seek a mark.
FEW = 256
# Number of memories to read and index at once: about a fifth of a second.
ADDED_MEMORIES = 2048

OF_MEMORIES = SearchIndex(
    FORM * 1000 + RULES,
    MEMORY_PARTS,
    (
        WORDS.format("memory_words_{0}"),
        # The last indexed memory's key; row 0 alone.
        "CREATE TABLE memory_last_{0}(one INTEGER PRIMARY KEY, key INTEGER NOT NULL)",
        "INSERT INTO memory_last_{0} VALUES(0, 0)",
        # Indexed memories of a view: current ones and history.
        """CREATE TABLE memory_seen_{0}(view INTEGER PRIMARY KEY, live INTEGER NOT NULL, past INTEGER NOT NULL)""",
    ),
)
# Where the tokenizer would split a term: the rest would be in no owner's list, or in everybody's.
PARTING = re.compile("[^0-9a-z_\x80-\U0010ffff]")


def add(connection: sqlite3.Connection, memories: Sequence[tuple[int, Memory]]) -> None:
    """Index memories just stored, within the same transaction, unless earlier ones still wait.

    Raises:
        DamagedIndexError: undo the transaction, and repeat it without this.
    """
    with index_errors(all_of_them=True):
        if not memories:
            return
        if not OF_MEMORIES.all(connection):
            OF_MEMORIES.renew(connection)
        name = OF_MEMORIES.newest(connection)
        if rows.last_before(connection, memories[0][0]) <= _last(connection, name):
            _put(connection, name, memories)
            _set_last(connection, name, memories[-1][0])
            flush(connection)


def catch_up(connection: sqlite3.Connection) -> bool:
    """Index the next waiting memories, within a transaction, and return whether more may wait.

    Skip a memory with a damaged row: no search returns it.

    Raises:
        DamagedIndexError: undo the transaction.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection)
        found = rows.readable(connection, _last(connection, name), ADDED_MEMORIES)
        if not found:
            return False
        _put(connection, name, [(key, memory) for key, memory in found.items() if memory])
        _set_last(connection, name, max(found))
        flush(connection)
    return True


def waits(connection: sqlite3.Connection) -> bool:
    """Return whether memories wait to be indexed.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        return rows.last_before(connection, 1 << 62) > _last(connection, OF_MEMORIES.newest(connection))


def swap(connection: sqlite3.Connection, key: int, old: Memory, new: Memory) -> None:
    """Index a memory's new state, within the same transaction.

    Raises:
        DamagedIndexError: undo the transaction, and repeat it with a new index.
    """
    with index_errors(all_of_them=True):
        if OF_MEMORIES.all(connection) and key <= _last(connection, name := OF_MEMORIES.newest(connection)):
            _put(connection, name, [(key, old)], removes=True)
            _put(connection, name, [(key, new)])
            flush(connection)


def remove(connection: sqlite3.Connection, memories: Sequence[tuple[int, Memory]]) -> None:
    """Remove memories, within a transaction, as they are stored.

    FTS5 keeps removed words until it merges its parts, so this merges all: seconds at 1,000,000 memories in the file.

    Raises:
        DamagedIndexError: undo the transaction; a new index in another one, which forgets all, does the same.
    """
    with index_errors(all_of_them=True):
        if OF_MEMORIES.all(connection):
            name = OF_MEMORIES.newest(connection)
            last = _last(connection, name)
            _put(connection, name, [each for each in memories if each[0] <= last], removes=True)
            words = f"memory_words_{name}"
            connection.execute(f"INSERT INTO {words}({words}) VALUES('optimize')")
            flush(connection)


class TermLists(NamedTuple):
    """The lists of one view: the words of its memories.

    A mark's list is nearly as long as the index, and seeking through it costs ten milliseconds at 1,000,000. So if a
    view has all its owner's memories, `without`, the mark of its history ("" for none), replaces `mark`. Otherwise a
    short list is read whole, and rows show which memories the view sees.
    """

    connection: sqlite3.Connection
    newest_first: str
    owner: int
    mark: str
    without: str | None
    among: int
    view: View
    past: bool

    def newest(self, words: Iterable[Sequence[str]], limit: int) -> list[int]:
        """Return the keys of at most `limit` memories that have each of the words, in any of its forms, newest first.

        The lists have `among` memories.
        """
        match = " AND ".join(self._any(word) for word in words)
        if match and self.without is not None:
            return self._found(f"({match}) NOT {self.without}" if self.without else match, limit)
        few = self._found(match, min(limit, FEW)) if match else []
        if match and len(few) < min(limit, FEW):
            with index_errors():
                seen = rows.seen(self.connection, few, self.view, past=self.past)
            return [key for key in few if key in seen]
        return self._found(f"{match} AND {self.mark}" if match else self.mark, limit)

    def expect(self, asked: object) -> None:
        """Do nothing: each reading is fast."""

    def _found(self, match: str, limit: int) -> list[int]:
        with index_errors():
            return [key for (key,) in self.connection.execute(self.newest_first, (match, limit))]

    def _any(self, word: Sequence[str]) -> str:
        return f"({' OR '.join(f'{chr(34)}{_owned(self.owner, term)}{chr(34)}' for term in word)})"


def lists(connection: sqlite3.Connection, view: View, *, past: bool) -> TermLists:
    """Return the lists of a view; with `past` including history.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection)
        digest = view_digest(view)
        owner = view_digests(view.scope)[0]
        found = {
            seen: counts
            for seen, *counts in connection.execute(
                f"SELECT view, live, past FROM memory_seen_{name} WHERE view IN (?, ?)",  # noqa: S608  # numbers
                (digest, owner),
            )
        }
    live, history = found.get(digest, (0, 0))
    is_whole = [live, history] == found.get(owner)
    among = live + (history if past else 0)
    holds, no_more = (f'"{_mark(digest, holds=each)}"' for each in (True, False))
    without = no_more if history and not past else ""
    newest = f"SELECT rowid FROM memory_words_{name} WHERE memory_words_{name} MATCH ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608
    mark = f"({holds} OR {no_more})" if past else holds
    return TermLists(connection, newest, owner, mark, without if is_whole else None, among, view, past)


def _mark(digest: int, *, holds: bool) -> str:
    return f"_{'l' if holds else 'p'}{digest:x}"


def _owned(owner: int, term: str) -> str:
    return f"{owner:x}_{PARTING.sub('_', term)}"


def cell_of(memory: Memory, counts: ViewCounts, sign: int = 1) -> str:
    """Return a memory's index entry: what lists know it by, and its marks; count it.

    `sign`: -1 to remove it.
    """
    digests = view_digests(memory.scope)
    marks = (_mark(digest, holds=not memory.superseded_by) for digest in digests)
    return " ".join((*(_owned(digests[0], term) for term in counts.terms(memory, sign)), *marks))


def due_terms(connection: sqlite3.Connection, counts: ViewCounts) -> Iterator[tuple[int, str]]:
    """Yield what the index should hold, from the rows: key and cell of each indexed memory; count them.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        last, key = _last(connection, OF_MEMORIES.newest(connection)), 0
    while found := rows.readable(connection, key, ADDED_MEMORIES):
        yield from ((key, cell_of(memory, counts)) for key, memory in found.items() if memory and key <= last)
        key = max(found)


def counted(connection: sqlite3.Connection) -> dict[int, list[int]]:
    """Return the index's counts for each view with memories, in the form of `ViewCounts.of_views`.

    Raises:
        DamagedIndexError: rebuild the index.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection)
        rows = connection.execute(f"SELECT view, live, past FROM memory_seen_{name}").fetchall()  # noqa: S608
    return {view: counts for view, *counts in rows if any(counts)}


def _put(
    connection: sqlite3.Connection, name: str, memories: Sequence[tuple[int, Memory]], *, removes: bool = False
) -> None:
    """Add memories to the index, or remove them as indexed; count them."""
    words = f"memory_words_{name}"
    columns, values = (f"{words}, rowid, terms", "'delete', ?, ?") if removes else ("rowid, terms", "?, ?")
    counts = ViewCounts()
    cells = [(key, cell_of(memory, counts, -1 if removes else 1)) for key, memory in memories]
    connection.executemany(f"INSERT INTO {words}({columns}) VALUES({values})", cells)  # numbers
    connection.executemany(
        f"INSERT INTO memory_seen_{name} VALUES(?, ?, ?) ON CONFLICT(view) DO UPDATE SET "  # numbers
        "live = live + excluded.live, past = past + excluded.past",
        [(digest, *each) for digest, each in counts.of_views.items()],
    )


def _last(connection: sqlite3.Connection, name: str) -> int:
    """Return the key of the last indexed memory.

    Raises:
        DamagedIndexError: the index has none.
    """
    found = connection.execute(f"SELECT key FROM memory_last_{name}").fetchall()  # noqa: S608  # numbers
    if len(found) != 1 or not isinstance(found[0][0], int):
        raise DamagedIndexError("the index of memories does not say how far it goes")
    return int(found[0][0])


def _set_last(connection: sqlite3.Connection, name: str, key: int) -> None:
    connection.execute(f"UPDATE memory_last_{name} SET key = ?", (key,))  # noqa: S608  # numbers
