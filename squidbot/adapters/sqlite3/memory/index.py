"""What search finds memories by: a view beside them, made of them alone, that may be dropped at any time.

An FTS5 table holds each memory's terms by its key. A term begins with the digest of the memory's owner, its tenant and
user, so that the memories of others are not even in the same lists; four marks say which view under which policy it is
seen in, and whether it still holds. Neither texts nor positions are kept. What becomes of a damaged one: see `views` of
the room above; what shows damage that nobody notices: `proof` there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.sqlite3.memory import queries
from squidbot.adapters.sqlite3.memory.rows import view_digest, view_digests
from squidbot.adapters.sqlite3.views import OF_MEMORIES, WORDS, DamagedIndexError, flush, following, index_errors
from squidbot.core.memories import passage_of
from squidbot.core.memory.search.index import NEIGHBOURS
from squidbot.core.memory.search.stems import root
from squidbot.core.memory.search.texts import RULES, terms_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.memories import Memory, Passage, View

__all__ = [
    "Counts",
    "Lists",
    "add",
    "beside",
    "catch_up",
    "counted",
    "family",
    "held",
    "lists",
    "remove",
    "renew",
    "rules",
    "swap",
    "waits",
]

# Beside that of the rules: raise it with every change of what is kept of terms.
FORM = 3
# Places in rows that are looked for in one statement: FTS5 takes up to 256 words.
PLACES_AT_ONCE = 64
# A list of fewer is taken whole to look its rows up, at 20 microseconds each: less than to seek in a mark's list.
FEW = 256
# How many memories are read and indexed at once: about a fifth of a second.
ADDED_MEMORIES = 2048

# Up to which key all memories are in; row 0 alone. How many of a view are in, those that hold and history.
LAST = "CREATE TABLE memory_last_{0}(one INTEGER PRIMARY KEY, key INTEGER NOT NULL)"
SEEN = (
    "CREATE TABLE memory_seen_{0}(view INTEGER PRIMARY KEY, live INTEGER NOT NULL, past INTEGER NOT NULL, "
    "terms INTEGER NOT NULL)"
)
# What the tokenizer would part a term at: the rest of it would be in no owner's list, or in everybody's.
PARTING = re.compile("[^0-9a-z_\x80-\U0010ffff]")


def family(term: str) -> tuple[str, ...]:
    """Return what memories are found by that have a word of a term's family."""
    return root(term), f"_{root(term)}"


def rules() -> int:
    """Return the number of the rules by which memories are indexed."""
    return FORM * 1000 + RULES


def renew(connection: sqlite3.Connection, *, drops: bool = True) -> None:
    """Start a new, empty index, within a transaction, and drop the old ones.

    Without `drops` they stay, and harm nobody: a damaged one may refuse to go.

    Raises:
        sqlite3.Error: the transaction must be undone.
    """
    old = OF_MEMORIES.all(connection)
    for _, _, name in old if drops else ():
        for part in OF_MEMORIES.parts:
            connection.execute(f"DROP TABLE IF EXISTS {part}_{name}")
    name = following(old, rules())
    connection.execute(WORDS.format(f"memory_words_{name}"))
    for statement in (LAST, SEEN):
        connection.execute(statement.format(name))
    connection.execute(f"INSERT INTO memory_last_{name} VALUES(0, 0)")  # numbers


def add(connection: sqlite3.Connection, memories: Sequence[tuple[int, Memory]]) -> None:
    """Index memories that have just been stored, within the same transaction, unless others before them wait for it.

    Raises:
        DamagedIndexError: the transaction must be undone, and done again without this.
    """
    with index_errors(all_of_them=True):
        if not memories:
            return
        if not OF_MEMORIES.all(connection):
            renew(connection)
        name = OF_MEMORIES.newest(connection, rules())
        if queries.last_before(connection, memories[0][0]) <= _last(connection, name):
            _put(connection, name, memories)
            _set_last(connection, name, memories[-1][0])
            flush(connection)


def catch_up(connection: sqlite3.Connection) -> bool:
    """Index the next memories that wait for it, within a transaction, and return whether more may wait.

    One whose row is damaged is left out: no search returns it.

    Raises:
        DamagedIndexError: the transaction must be undone.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection, rules())
        found = queries.readable(connection, _last(connection, name), ADDED_MEMORIES)
        if not found.last:
            return False
        _put(connection, name, found.memories)
        _set_last(connection, name, found.last)
        flush(connection)
    return True


def waits(connection: sqlite3.Connection) -> bool:
    """Say whether memories wait for being indexed.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        return queries.last_before(connection, 1 << 62) > _last(connection, OF_MEMORIES.newest(connection, rules()))


def swap(connection: sqlite3.Connection, key: int, old: Memory, new: Memory) -> None:
    """Index a memory as it has just become, within the same transaction.

    Raises:
        DamagedIndexError: the transaction must be undone, and done again with a new index.
    """
    with index_errors(all_of_them=True):
        if OF_MEMORIES.all(connection) and key <= _last(connection, name := OF_MEMORIES.newest(connection, rules())):
            _put(connection, name, [(key, old)], removes=True)
            _put(connection, name, [(key, new)])
            flush(connection)


def remove(connection: sqlite3.Connection, memories: Sequence[tuple[int, Memory]]) -> None:
    """Take memories out, within a transaction: as they are stored.

    FTS5 would keep the words of what was removed until its parts are merged, so they are, all of them: seconds at
    1,000,000 memories in the file.

    Raises:
        DamagedIndexError: the transaction must be undone; `renew` in another one, which forgets all, does the same.
    """
    with index_errors(all_of_them=True):
        if OF_MEMORIES.all(connection):
            name = OF_MEMORIES.newest(connection, rules())
            last = _last(connection, name)
            _put(connection, name, [each for each in memories if each[0] <= last], removes=True)
            words = f"memory_words_{name}"
            connection.execute(f"INSERT INTO {words}({words}) VALUES('optimize')")
            flush(connection)


class Lists(NamedTuple):
    """The lists of one view: which of its memories have which words.

    A mark's list is nearly as long as the index, and to seek in it all through costs ten milliseconds at 1,000,000. So
    where a view has all memories of its owner, `without`, the mark of those that hold no more, takes the place of
    `mark`: "" for none. Where it has not, a list of few is taken whole, and rows tell which of them the view sees.
    """

    connection: sqlite3.Connection
    newest_first: str
    owner: int
    mark: str
    without: str | None
    among: int
    terms: int
    view: View
    past: bool

    def newest(self, words: Iterable[Sequence[str]], limit: int) -> list[int]:
        """Return the keys of at most `limit` memories that have each of the words, in any of its forms, newest first.

        `among` memories are in the lists, with `terms` terms in all.
        """
        match = " AND ".join(self._any(word) for word in words)
        if match and self.without is not None:
            return self._found(f"({match}) NOT {self.without}" if self.without else match, limit)
        few = self._found(match, min(limit, FEW)) if match else []
        if match and len(few) < min(limit, FEW):
            seen = queries.seen(self.connection, few, self.view, past=self.past)
            return [key for key in few if key in seen]
        return self._found(f"{match} AND {self.mark}" if match else self.mark, limit)

    def _found(self, match: str, limit: int) -> list[int]:
        return [key for (key,) in self.connection.execute(self.newest_first, (match, limit))]

    def _any(self, word: Sequence[str]) -> str:
        return f"({' OR '.join(f'{chr(34)}{_owned(self.owner, term)}{chr(34)}' for term in word)})"


def lists(connection: sqlite3.Connection, view: View, *, past: bool) -> Lists:
    """Return the lists of a view; with `past` those of history, too.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection, rules())
        digest = view_digest(view)
        owner = view_digests(view.scope)[0]
        found = {
            seen: counts
            for seen, *counts in connection.execute(
                f"SELECT view, live, past, terms FROM memory_seen_{name} WHERE view IN (?, ?)",  # noqa: S608  # numbers
                (digest, owner),
            )
        }
    live, history, terms = found.get(digest, (0, 0, 0))
    is_whole = [live, history] == found.get(owner, [])[:2]
    among = live + (history if past else 0)
    terms = terms * among // max(1, live + history)
    holds, no_more = (f'"{_mark(digest, holds=each)}"' for each in (True, False))
    without = no_more if history and not past else ""
    newest = f"SELECT rowid FROM memory_words_{name} WHERE memory_words_{name} MATCH ? ORDER BY rowid DESC LIMIT ?"  # noqa: S608
    mark = f"({holds} OR {no_more})" if past else holds
    return Lists(connection, newest, owner, mark, without if is_whole else None, among, terms, view, past)


def beside(lists: Lists, passages: Iterable[Passage]) -> list[int]:
    """Return the keys of those memories that stand beside others in their rows; no more than that is known of them.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    rows = [each for each in passages if each.group]
    steps = ((each.group, each.position + step) for each in rows for step in NEIGHBOURS)
    places = list(dict.fromkeys(_place(group, position) for group, position in steps if position >= 0))
    return [
        key
        for first in range(0, len(places), PLACES_AT_ONCE)
        for key in lists.newest([places[first : first + PLACES_AT_ONCE]], 2 * PLACES_AT_ONCE)
    ]


def _place(group: str, position: int) -> str:
    """Return the term of a place in a row of memories."""
    digest = blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"_{digest}_{position}"


def _mark(digest: int, *, holds: bool) -> str:
    return f"_{'l' if holds else 'p'}{digest:x}"


def _owned(owner: int, term: str) -> str:
    return f"{owner:x}_{PARTING.sub('_', term)}"


class Counts:
    """How many memories of each view are in: those that hold, history, and the terms of both."""

    def __init__(self) -> None:
        """Begin at none."""
        self.of_views = defaultdict[int, list[int]](lambda: [0, 0, 0])

    def cell(self, memory: Memory, sign: int = 1) -> str:
        """Return what the index holds of a memory: its terms, the roots that they don't show, and its marks; count it.

        `sign`: -1 for one that goes.
        """
        digests, terms = view_digests(memory.scope), terms_of(memory.text)
        for digest in digests:
            self.of_views[digest][bool(memory.superseded_by)] += sign
            self.of_views[digest][2] += sign * len(terms)
        passage = passage_of(memory)
        different = dict.fromkeys((*terms, *([_place(passage.group, passage.position)] if passage.group else [])))
        roots = {f"_{root(term)}" for term in different if term[:1] != "_" and root(term) != term}
        marks = (_mark(digest, holds=not memory.superseded_by) for digest in digests)
        return " ".join((*(_owned(digests[0], term) for term in (*different, *roots)), *marks))


def held(connection: sqlite3.Connection, counts: Counts) -> Iterator[tuple[int, str]]:
    """Yield what the index has to hold, by the rows: the key and the cell of each memory that is in it; count them.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        last, key = _last(connection, OF_MEMORIES.newest(connection, rules())), 0
    while (found := queries.readable(connection, key, ADDED_MEMORIES)).last:
        yield from ((key, counts.cell(memory)) for key, memory in found.memories if key <= last)
        key = found.last


def counted(connection: sqlite3.Connection) -> dict[int, list[int]]:
    """Return what the index says of each view that has any memories, as `Counts.of_views` has it.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    with index_errors():
        name = OF_MEMORIES.newest(connection, rules())
        rows = connection.execute(f"SELECT view, live, past, terms FROM memory_seen_{name}").fetchall()  # noqa: S608
    return {view: counts for view, *counts in rows if any(counts)}


def _put(
    connection: sqlite3.Connection, name: str, memories: Sequence[tuple[int, Memory]], *, removes: bool = False
) -> None:
    """Add memories to the index or, as they are in it, remove them; count them."""
    words = f"memory_words_{name}"
    columns, values = (f"{words}, rowid, terms", "'delete', ?, ?") if removes else ("rowid, terms", "?, ?")
    counts = Counts()
    cells = [(key, counts.cell(memory, -1 if removes else 1)) for key, memory in memories]
    connection.executemany(f"INSERT INTO {words}({columns}) VALUES({values})", cells)  # numbers
    connection.executemany(
        f"INSERT INTO memory_seen_{name} VALUES(?, ?, ?, ?) ON CONFLICT(view) DO UPDATE SET "  # numbers
        "live = live + excluded.live, past = past + excluded.past, terms = terms + excluded.terms",
        [(digest, *each) for digest, each in counts.of_views.items()],
    )


def _last(connection: sqlite3.Connection, name: str) -> int:
    """Return the key up to which all memories are in.

    Raises:
        DamagedIndexError: the index does not say.
    """
    found = connection.execute(f"SELECT key FROM memory_last_{name}").fetchall()  # noqa: S608  # numbers
    if len(found) != 1 or not isinstance(found[0][0], int):
        raise DamagedIndexError("the index of memories does not say how far it goes")
    return int(found[0][0])


def _set_last(connection: sqlite3.Connection, name: str, key: int) -> None:
    connection.execute(f"UPDATE memory_last_{name} SET key = ?", (key,))  # noqa: S608  # numbers
