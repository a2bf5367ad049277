"""The lists of words by which memories are found: for each word of an owner, the keys of the memories that have it."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any

from squidbot.adapters.common.memories import view_digest, view_digests
from squidbot.adapters.common.postings import ViewCounts
from squidbot.core.memory.search import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from psycopg import Connection

    from squidbot.adapters.psycopg.server import Server
    from squidbot.core.memories import Memory, View

# Added to the rules' number: raise it with every change of what the lists hold.
FORM = 2
RULES_OF_LISTS = FORM * 1000 + RULES
# Keys in a row: so many that it stays below the 2 KB from which PostgreSQL would store it elsewhere.
KEYS = 240
# In a list that is so many times as long as what is sought in it, to seek each is faster than to go through the list.
SOUGHT = 64
# The word of all memories of a view.
ALL = ""

# The rows of lists that have a key, or would have it.
PLACES = (
    "SELECT DISTINCT asked.word, w.first, w.keys FROM unnest(%s::bigint[], %s::bigint[]) AS asked(word, key) "
    "CROSS JOIN LATERAL (SELECT first, keys FROM {schema}.memory_words w "
    "WHERE tenant = {schema}.tenant() AND w.word = asked.word AND w.first <= asked.key ORDER BY w.first DESC LIMIT 1) w"
)
PUT = (
    "INSERT INTO {schema}.memory_words(word, first, keys) "
    "SELECT * FROM unnest(%s::bigint[], %s::bigint[], %b::bytea[]) "
    "ON CONFLICT (tenant, word, first) DO UPDATE SET keys = excluded.keys"
)
REMOVE = (
    "DELETE FROM {schema}.memory_words w USING unnest(%s::bigint[], %s::bigint[]) AS gone(word, first) "
    "WHERE tenant = {schema}.tenant() AND w.word = gone.word AND w.first = gone.first"
)
HAVING = (
    "SELECT word, first, keys FROM {schema}.memory_words "
    "WHERE tenant = {schema}.tenant() AND position(%s::bytea IN keys) > 0"
)
READ = (
    "SELECT asked.word, w.first, w.keys "
    "FROM unnest(%s::bigint[], %s::bigint[], %s::integer[]) AS asked(word, below, rows) "
    "CROSS JOIN LATERAL (SELECT first, keys FROM {schema}.memory_words w "
    "WHERE tenant = {schema}.tenant() AND w.word = asked.word AND w.first < asked.below "
    "ORDER BY w.first DESC LIMIT asked.rows) w"
)
COUNT = (
    "INSERT INTO {schema}.memory_views AS v(view, live, past) "
    "SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) "
    "ON CONFLICT (tenant, view) DO UPDATE SET "
    "live = v.live + excluded.live, past = v.past + excluded.past"
)
COUNTED = (
    "SELECT view, live, past, (SELECT number FROM {schema}.memory_rules WHERE tenant = {schema}.tenant()) "
    "FROM {schema}.memory_views WHERE tenant = {schema}.tenant() AND view = ANY(%s)"
)
CLEAR = tuple(
    f"DELETE FROM {{schema}}.{table} WHERE tenant = {{schema}}.tenant()"  # noqa: S608  # our own names
    for table in ("memory_words", "memory_views", "memory_rules")
)
SET_RULES = "INSERT INTO {schema}.memory_rules(number) VALUES(%s)"


@lru_cache(65_536)
def digest(view: int, word: str, *, past: bool) -> int:
    """Return the number of a word's list, of those memories of a view that hold, or of its history: 64 bits."""
    data = f"{view:x} {past:d} {word}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big", signed=True)


def packed_keys(keys: Iterable[int]) -> bytes:
    """Return the cell of a row of a list."""
    return _little(array("q", keys)).tobytes()


def unpacked_keys(data: bytes) -> array[int]:
    """Return the keys in a row of a list, ascending."""
    keys = array("q")
    keys.frombytes(data)
    return _little(keys)


def _little(keys: array[int]) -> array[int]:
    if sys.byteorder == "big":
        keys.byteswap()
    return keys


class OtherRulesError(Exception):
    """The lists were made by other rules than this squidbot's: make them anew."""


class MemoryWords:
    """Changes lists, within the transaction of the memories."""

    def __init__(self, server: Server, connection: Connection[Any]) -> None:
        """Take the transaction."""
        self._server, self._connection = server, connection
        self._counts = ViewCounts()
        self._added: defaultdict[int, set[int]] = defaultdict(set)
        self._removed: defaultdict[int, set[int]] = defaultdict(set)

    def add(self, key: int, memory: Memory) -> None:
        """Have a memory found by its words."""
        for word in self._words_of(memory, 1):
            self._added[word].add(key)

    def remove(self, key: int, memory: Memory) -> None:
        """Have a memory, as it is stored, found no more."""
        for word in self._words_of(memory, -1):
            self._removed[word].add(key)

    def remove_unreadable(self, key: int, views: Sequence[int], *, past: bool) -> None:
        """Have a memory whose words nobody knows found no more: this reads all lists."""
        for view in views:
            self._counts.of_views[view][past] -= 1
        for word, _, data in self._read(HAVING, (packed_keys([key]),)):
            if key in unpacked_keys(data):
                self._removed[word].add(key)

    def _words_of(self, memory: Memory, sign: int) -> Iterator[int]:
        views, past = view_digests(memory.scope), bool(memory.superseded_by)
        yield from (digest(views[0], word, past=past) for word in self._counts.terms(memory, sign))
        yield from (digest(view, ALL, past=past) for view in views)

    def write(self) -> None:
        """Write what was added and removed."""
        words = {*self._added, *self._removed}
        if not words:
            return
        changed = [(word, key) for word in words for key in self._added[word] ^ self._removed[word]]
        rows: defaultdict[int, dict[int, array[int]]] = defaultdict(dict)
        for word, first, data in self._read(PLACES, _columns(changed, 2)):
            rows[word][first] = unpacked_keys(data)
        written = [(word, first, keys) for word in words for first, keys in self._rewritten(word, rows[word])]
        self._run(REMOVE, _columns([(word, first) for word, first, keys in written if not keys], 2))
        self._run(PUT, _columns([(word, first, packed_keys(keys)) for word, first, keys in written if keys], 3))
        counts = [(view, *each) for view, each in self._counts.of_views.items()]
        self._run(COUNT, _columns(counts, 3))

    def _rewritten(self, word: int, rows: dict[int, array[int]]) -> Iterator[tuple[int, list[int]]]:
        """Yield the rows of a list that change: the first possible key, and the keys; none where the row goes."""
        new, gone = self._added[word] - self._removed[word], self._removed[word] - self._added[word]
        for first, keys, more in _parted(rows, new):
            left = sorted({*keys, *more} - gone)
            if left == [*keys]:
                continue
            # A list that only grows has full rows; the others keep some room.
            is_growing = not keys or (more and min(more) > keys[-1])
            most = KEYS if is_growing or len(left) <= KEYS else max(KEYS // 2, 1)
            yield first, left[:most]
            yield from ((left[at], left[at : at + most]) for at in range(most, len(left), most))

    def clear(self) -> None:
        """Remove all lists of the tenant, and note the rules by which they are made from now on."""
        for statement in CLEAR:
            self._run(statement, ())
        self._run(SET_RULES, (RULES_OF_LISTS,))

    def _read(self, statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._server.execute(self._connection, statement, cells)

    def _run(self, statement: str, cells: Sequence[Any]) -> None:
        if not cells or cells[0]:
            self._server.execute(self._connection, statement, cells)


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


def _parted(rows: dict[int, array[int]], new: set[int]) -> Iterator[tuple[int, array[int], set[int]]]:
    """Yield the rows of a list, each with its first possible key, and the new keys that belong into it."""
    firsts, parts = sorted(rows), defaultdict[int, set[int]](set)
    before = [key for key in new if not firsts or key < firsts[0]]
    for key in new.difference(before):
        parts[firsts[bisect_left(firsts, key + 1) - 1]].add(key)
    if before:
        yield min(before), array("q"), set(before)
    yield from ((first, rows[first], parts[first]) for first in firsts)


class _List:
    """What was read of a list: its newest keys, ascending, and the key from which on they are known."""

    def __init__(self) -> None:
        self.keys = array("q")
        self.since = 1 << 62
        self.rows = 0

    def extend(self, rows: list[tuple[int, bytes]], asked: int) -> None:
        """Take the next older rows of those asked for."""
        self.keys = unpacked_keys(b"".join(data for _, data in sorted(rows))) + self.keys
        self.since = min(rows)[0] if len(rows) == asked else 0
        self.rows += asked


class ViewLists:
    """The lists of one view, on one snapshot: `common.postings.MemoryLists`."""

    def __init__(self, server: Server, connection: Connection[Any], view: View, *, past: bool) -> None:
        """Read the counts of a view; with `past` history belongs to it.

        Raises:
            OtherRulesError: make the lists anew.
        """
        self._server, self._connection = server, connection
        self._owner, self._view = view_digests(view.scope)[0], view_digest(view)
        found = server.execute(connection, COUNTED, ([self._owner, self._view],))
        if any(rules != RULES_OF_LISTS for *_, rules in found):
            raise OtherRulesError
        counts = {number: (live, history) for number, live, history, _ in found}
        live, history = counts.get(self._view, (0, 0))
        self._is_whole = (live, history) == counts.get(self._owner, (0, 0))
        self.among = live + (history if past else 0)
        self._kinds = (False, True) if past and history else (False,)
        self._lists: defaultdict[int, _List] = defaultdict(_List)

    def expect(self, asked: Sequence[tuple[Sequence[Sequence[str]], int]]) -> None:
        """Read in one statement what is looked for first, and is not known yet."""
        wanted: dict[int, int] = {}
        for words, limit in asked if self.among else ():
            for past in self._kinds:
                for number in (number for group in self._groups(words, past=past) for number in group):
                    wanted[number] = max(wanted.get(number, 0), rows_for(limit))
        self._read({number: rows for number, rows in wanted.items() if not self._lists[number].rows})

    def newest(self, words: Iterable[Sequence[str]], limit: int) -> list[int]:
        """Return the keys of at most `limit` memories that have each word, in any of its forms, newest first."""
        asked = [*words]
        found = [self._found(self._groups(asked, past=past), limit) for past in self._kinds if self.among]
        return found[0] if len(found) == 1 else sorted({*chain(*found)}, reverse=True)[:limit]

    def _groups(self, words: Sequence[Sequence[str]], *, past: bool) -> list[tuple[int, ...]]:
        """Return the lists of each word's forms; of the view, too, where it has not all of its owner's memories."""
        groups = [tuple({digest(self._owner, form, past=past): None for form in word}) for word in words]
        if not groups or not self._is_whole:
            groups.append((digest(self._view, ALL, past=past),))
        return groups

    def _found(self, groups: list[tuple[int, ...]], limit: int) -> list[int]:
        """Return the keys that are in a list of each group, newest first; read as much of the lists as that takes."""
        self._read({number: rows_for(limit) for group in groups for number in group if not self._lists[number].rows})
        while True:
            lists = [[self._lists[number] for number in group] for group in groups]
            since = max(each.since for group in lists for each in group)
            found = _newest(lists, since, limit)
            if len(found) == limit or not since:
                return found
            # What is known least far back is read on, four times as far as before.
            self._read(
                {number: 3 * self._lists[number].rows for group in groups for number in group
                 if self._lists[number].since == since}
            )  # fmt: skip

    def _read(self, wanted: dict[int, int]) -> None:
        """Read so many more rows of lists."""
        asked = [
            (number, self._lists[number].since, rows) for number, rows in wanted.items() if self._lists[number].since
        ]
        if not asked:
            return
        found: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
        columns = _columns(asked, 3)
        for number, first, data in self._server.execute(self._connection, READ, columns):
            found[number].append((first, data))
        for number, _, rows in asked:
            self._lists[number].extend(found[number], rows)


def rows_for(limit: int) -> int:
    """Return how many rows of a list are read for so many keys."""
    return limit // KEYS + 2


def _newest(groups: list[list[_List]], since: int, limit: int) -> list[int]:
    """Return at most `limit` keys from `since` on that are in a list of each group, newest first."""
    known = [[each.keys[bisect_left(each.keys, since) :] for each in group] for group in groups]
    if len(known) == 1:
        parts = [keys[-limit:] for keys in known[0]]
        newest = parts[0].tolist() if len(parts) == 1 else sorted({*chain(*parts)})
        return newest[: -limit - 1 : -1]
    (first, *others) = sorted(known, key=lambda group: sum(map(len, group)))
    left = {*chain(*first)}
    for group in others:
        left = {*chain(*(_among(keys, left) for keys in group))}
    return sorted(left, reverse=True)[:limit]


def _among(keys: array[int], sought: set[int]) -> set[int]:
    """Return those of the sought keys that are there."""
    if len(keys) < SOUGHT * len(sought):
        return sought.intersection(keys)
    places = ((key, bisect_left(keys, key)) for key in sought)
    return {key for key, at in places if at < len(keys) and keys[at] == key}
