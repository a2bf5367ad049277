"""`SqliteMemoryStore`: durable facts in one file that several processes may write."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import closing, suppress
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from squidbot.adapters.sqlite3 import files
from squidbot.adapters.sqlite3 import rows as stored_rows
from squidbot.adapters.sqlite3.files import FOREIGN, OpenedFile, open_only_reading, open_reading, store_error
from squidbot.adapters.sqlite3.index import DamagedIndexError, index_errors
from squidbot.adapters.sqlite3.memory import index, rows, vectors
from squidbot.adapters.sqlite3.memory.index import OF_MEMORIES, candidates
from squidbot.adapters.sqlite3.memory.rows import DamagedMemoryError
from squidbot.adapters.sqlite3.memory.vectors import SqliteVectors
from squidbot.adapters.sqlite3.rows import cell, checksum, json_text, plain, stored_text
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.memories import (
    CARDS,
    Mark,
    View,
    is_from_session,
    is_same,
    passage_of,
    refuse_misfit,
    refuse_missing,
    with_sources,
    without_messages,
)
from squidbot.core.memory.search import (
    CANDIDATES,
    NEIGHBOURS_OF,
    OF_DAYS,
    ParsedQuery,
    PreparedPassage,
    Similarity,
    features_of,
    is_sought,
    score,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from squidbot.adapters.sqlite3.memory.vectors import Vector
    from squidbot.adapters.sqlite3.rows import Cell
    from squidbot.core.memories import FactCategory, Memory, MemoryHit, NewSources, Passage, Source
    from squidbot.core.vectors import Meant


# Memories that take the places of others, what brings these back, and which messages say them; none
# is removed.

# What a session is called stands in its memories' sources as JSON, quotes and all.
SOURCED = "SELECT id FROM memories WHERE instr(CAST(sources AS BLOB), ?) ORDER BY key"


def supersede(connection: sqlite3.Connection, places: Mapping[str, str], *, indexes: bool) -> None:
    """Do what `MemoryStore.supersede` says, within a transaction.

    Raises:
        StoreError: the transaction must be undone.
        DamagedIndexError: the same, to be done again without indexing.
    """
    for memory_id, taker in places.items():
        key, old = _found(connection, memory_id)
        if old.superseded_by == taker:
            continue
        if taker and (old.superseded_by or _found(connection, taker)[1].scope[:2] != old.scope[:2]):
            raise StoreError(f"memory {memory_id!a:.80} was replaced before, or is another user's; nothing was written")
        changed = replace(old, superseded_by=taker)
        rows.update(connection, key, changed)
        if indexes:
            index.swap(connection, key, old, changed)
    for taker in filter(None, places.values()):
        if _found(connection, taker)[1].superseded_by:
            raise StoreError(f"memory {taker!a:.80} is history itself, and takes no place; nothing was written")


def said_in(connection: sqlite3.Connection, session_id: str) -> list[Memory]:
    """Return all memories that name a session among their sources, history too.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    return [memory for _, memory in _said_in(connection, session_id)]


def say(connection: sqlite3.Connection, said: NewSources) -> None:
    """Give memories sources that they do not have yet, by id, within a transaction.

    Raises:
        NotFoundError: the transaction must be undone: one is not there.
        DamagedMemoryError: the same: a row does not match its checksum.
    """
    refuse_missing(said, rows.keys_of(connection, said))
    for memory_id, sources in said.items():
        key, old = _found(connection, memory_id)
        if (more := with_sources(old, sources)) is not old:
            rows.rewrite(connection, key, more)


def without(
    connection: sqlite3.Connection, session_id: str, seqs: Container[int]
) -> Iterator[tuple[int, Memory, tuple[Source, ...]]]:
    """Yield the memories that lose a source with these messages: key, memory, and the sources that are left.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    for key, memory in _said_in(connection, session_id):
        if (left := without_messages(memory, session_id, seqs)) != memory.sources:
            yield key, memory, left


def _said_in(connection: sqlite3.Connection, session_id: str) -> list[tuple[int, Memory]]:
    named = json_text(session_id).encode("utf-8", "surrogatepass")
    ids = [plain(memory_id) for (memory_id,) in connection.execute(SOURCED, (named,)).fetchall()]
    found = (rows.find(connection, memory_id) for memory_id in ids)
    return [each for each in found if each and is_from_session(each[1], session_id)]


def _found(connection: sqlite3.Connection, memory_id: str) -> tuple[int, Memory]:
    found = rows.find(connection, memory_id)
    if found is None:
        raise StoreError(f"memory {memory_id!a:.80} is not there; nothing was written")
    return found


# What changes memories, each within a transaction of the caller's: rows, their words and their
# vectors together.


def add(connection: sqlite3.Connection, memories: Sequence[Memory], *, indexes: bool) -> None:
    """Store memories, within a transaction.

    Raises:
        StoreError: the transaction must be undone.
        DamagedIndexError: the same, to be done again without indexing.
    """
    key = rows.next_key(connection)
    new: dict[int, Memory] = {}
    for memory in memories:
        found = rows.find(connection, memory.memory_id)
        if found is None:
            if memory.supersedes:
                _supersede(connection, memory, new, indexes=indexes)
            if memory.scope.collection == CARDS:
                rows.make_cards(connection)
            rows.insert(connection, key, memory)
            new[key] = memory
            key += 1
        elif not is_same(found[1], memory):
            raise StoreError(f"memory {memory.memory_id!a:.80} is there, and another one; nothing was written")
    if indexes:
        index.add(connection, list(new.items()))


def _supersede(connection: sqlite3.Connection, memory: Memory, new: dict[int, Memory], *, indexes: bool) -> None:
    found = rows.find(connection, memory.supersedes)
    if found is None or found[1].scope[:2] != memory.scope[:2]:
        raise StoreError(
            f"memory {memory.memory_id!a:.80} supersedes {memory.supersedes!a:.80}, which is not there or another "
            "user's; nothing was written"
        )
    key, old = found
    if old.superseded_by:
        return
    past = replace(old, superseded_by=memory.memory_id)
    rows.update(connection, key, past)
    if key in new:
        new[key] = past
    elif indexes:
        index.swap(connection, key, old, past)


def forget(connection: sqlite3.Connection, memory_ids: Sequence[str], reason: str, *, indexed: bool = True) -> int:
    """Remove memories, within a transaction.

    Raises:
        DamagedIndexError: the transaction must be undone, and done again with a new index.
    """
    keys = rows.keys_of(connection, memory_ids)
    if keys and indexed:
        index.remove(connection, _indexed_of(connection, keys))
    now = time.time()
    for memory_id, key in keys.items():
        rows.bury(connection, key, memory_id, now, reason)
        vectors.remove(connection, key)
        rows.remove(connection, key)
    if keys:
        files.mark(connection)
    return len(keys)


def _indexed_of(connection: sqlite3.Connection, keys: Mapping[str, int]) -> list[tuple[int, Memory]]:
    try:
        return [each for each in (rows.find(connection, name) for name in keys) if each]
    except DamagedMemoryError as error:  # which words of it are in the index, nobody knows
        raise DamagedIndexError(str(error)) from error


def unsay(
    connection: sqlite3.Connection, said: tuple[str, Container[int]], reason: str, *, indexed: bool = True
) -> list[str]:
    """Take messages of a session out of the sources of memories, within a transaction.

    Return the ids of those that named no others, and are forgotten.

    Raises:
        DamagedMemoryError: the transaction must be undone.
        DamagedIndexError: the same, to be done again with a new index.
    """
    found = list(without(connection, *said))
    gone = [old.memory_id for _, old, left in found if not left]
    for key, old, left in found:
        if left:
            memory = replace(old, sources=left)
            rows.rewrite(connection, key, memory)
            if indexed and passage_of(old) != passage_of(memory):
                index.swap(connection, key, old, memory)
    forget(connection, gone, reason, indexed=indexed)
    return gone


def exchange(
    connection: sqlite3.Connection,
    gone: Sequence[str],
    memories: Sequence[Memory],
    reason: str,
    *,
    indexed: bool = True,
) -> int:
    """Forget memories and add others, within a transaction, and return how many were forgotten.

    One that says the same in both keeps its row, and so its vectors.

    Raises:
        NotFoundError: the transaction must be undone: one of those to forget is not there.
        StoreError, DamagedIndexError: as `add` and `forget`.
    """
    refuse_missing(gone, rows.keys_of(connection, gone))
    without = set(gone)
    stay = {one.memory_id: each for one in memories if one.memory_id in without if (each := _same(connection, one))}
    count = forget(connection, [one for one in gone if one not in stay], reason, indexed=indexed)
    for memory in memories:
        if memory.memory_id in stay:
            key, old = stay[memory.memory_id]
            rows.rewrite(connection, key, memory)
            if indexed and old.sources != memory.sources:
                index.swap(connection, key, old, memory)
    add(connection, [one for one in memories if one.memory_id not in stay], indexes=indexed)
    return count


def _same(connection: sqlite3.Connection, memory: Memory) -> tuple[int, Memory] | None:
    """Return the key and the memory of that id, if it has the same words, scope and versions; None else."""
    try:
        found = rows.find(connection, memory.memory_id)
    except DamagedMemoryError:
        return None
    if found is None:
        return None
    old = found[1]
    told = [(one.text, one.scope, one.supersedes, one.superseded_by) for one in (old, memory)]
    return found if told[0] == told[1] else None


# A search of memories in one transaction: candidates by words, days, neighbours and vectors, then
# their scores.

# Of more memories than so many, what words find is a smaller part of what is ranked, where vectors find, too: each
# takes a tenth of a millisecond. As many are found then: of 997 questions among 2,760 passages, 84.4 and 88.8 in 100
# have their evidence within 1,000 and 2,000 tokens, 84.2 and 88.7 with all of them. Among fewer it is not done: the
# nearest stands out less from those that are left, and twice as many questions get no answer, for a third less that
# should have none.
MANY_MEMORIES = 50_000
FEWER_FRACTION = 0.5


class Wanted(NamedTuple):
    """What is searched for, as `MemoryStore.search` has it."""

    query: str
    view: View
    limit: int
    now: float
    past: bool


def searched(connection: sqlite3.Connection, wanted: Wanted, meant: Meant | None) -> list[MemoryHit]:
    """Return what answers a query, best first, within a transaction that sees the same memories all the time.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    query = ParsedQuery.of(wanted.query, wanted.now)
    with index_errors():
        lists = index.lists(connection, wanted.view, past=wanted.past)
        share = FEWER_FRACTION if meant and lists.among > MANY_MEMORIES else 1
        keys, counted = candidates(lists, query, max(round(CANDIDATES * share), wanted.limit))
    best = keys[: round(NEIGHBOURS_OF * share)]
    for day in query.days:
        keys += rows.of_days(connection, wanted.view, day, OF_DAYS)
    keys += vectors.keys_at(connection, meant) if meant else ()
    found = _seen(connection, wanted, dict.fromkeys(keys))
    with index_errors():
        beside = index.beside(lists, [found[key] for key in best if key in found])
    found |= _seen(connection, wanted, (key for key in beside if key not in found))
    meaning = _meaning(connection, meant, found) if meant else None
    # Who of these speaks is known only now: a name in the query may be a speaker's.
    query = ParsedQuery.of(wanted.query, wanted.now, {passage.speaker for passage in found.values()})
    with index_errors():
        ranked = score(query, [PreparedPassage(each, features_of(each)) for each in found.values()], counted, meaning)
    return ranked[: wanted.limit]


def _seen(connection: sqlite3.Connection, wanted: Wanted, keys: Iterable[int]) -> dict[int, Passage]:
    """Return the passages of memories by key, of those that the view sees."""
    return {
        key: passage_of(memory)
        for key, memory in rows.picked(connection, list(keys))
        if View(memory.scope, wanted.view.isolation).key == wanted.view.key
        and (wanted.past or not memory.superseded_by)
    }


def _meaning(connection: sqlite3.Connection, meant: Meant, found: Mapping[int, Passage]) -> Similarity:
    similar = vectors.cosines(connection, meant, list(found))
    return Similarity({found[key].key: cosine for key, cosine in similar.items()}, meant.even)


# The files beside a store that are views of its vectors: what lies there under its name may hold what
# is forgotten.

# What follows the name of the store's file: a name of the index's, and this.
ENDING = ".vectors"


def remove_beside(path: str) -> None:
    """Remove every index of vectors that lies beside a store's file, and what is left of unfinished ones.

    Each is made anew of the store's own vectors by whoever needs it.

    Raises:
        StoreError: one can't be removed.
    """
    store = Path(path)
    for ending in (ENDING, f"{ENDING}.part"):
        for found in store.parent.glob(f"{escape(store.name)}.*{ending}"):
            try:
                with suppress(FileNotFoundError):  # another process was faster
                    if found.is_dir() and not found.is_symlink():
                        shutil.rmtree(found)
                    else:
                        found.unlink()
            except OSError as error:
                raise StoreError(
                    f"{found}: an index that may hold what is to be forgotten can't be removed: {error.strerror}; "
                    "nothing was changed"
                ) from error


# How far sessions were read for facts. A table beside the layout, made when it is first wanted.

# Four cells in an index: what is salvaged from damaged files are rows of two, five, six, seven and more.
TABLE = """CREATE TABLE IF NOT EXISTS memory_marks(
    session NOT NULL,           -- its id; BLOB where it holds lone surrogates
    reader NOT NULL,
    mark TEXT NOT NULL,         -- JSON: next seq, version, stamp
    checksum INTEGER NOT NULL,  -- CRC-32 of all other cells
    PRIMARY KEY(session, reader)
) WITHOUT ROWID"""
MARK_CELLS = 4
HAS_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'memory_marks'"
READ = "SELECT mark, checksum FROM memory_marks WHERE session = ? AND reader = ?"
KEEP_MARK = "INSERT OR IGNORE INTO memory_marks(session, reader, mark, checksum) VALUES(?, ?, ?, ?)"
PUT = "REPLACE INTO memory_marks(session, reader, mark, checksum) VALUES(?, ?, ?, ?)"


def are_in(path: str) -> bool:
    """Say whether a file has marks; nothing is made where there are none. One that can't be read may."""
    if not os.path.exists(path):  # noqa: PTH110  # as for all paths of stores
        return False
    try:
        with closing(open_reading(path, 0.0)) as connection:
            return connection.execute(HAS_TABLE).fetchone() is not None
    except (*FOREIGN, OSError, StoreError):
        return True  # who opens it says what is wrong


def read(connection: sqlite3.Connection, session_id: str, reader: str) -> Mark | None:
    """Return how far a reader has come in a session; None where it has not begun.

    Raises:
        DamagedMemoryError: it does not match its checksum.
    """
    if connection.execute(HAS_TABLE).fetchone() is None:
        return None
    (session, session_data), (name, name_data) = stored_text(session_id), stored_text(reader)
    row = connection.execute(READ, (session, name)).fetchone()
    if row is None:
        return None
    if checksum(session_data, name_data, row[0]) != row[1]:
        raise DamagedMemoryError(f"the mark of session {session_id!a:.80}")
    return Mark(session_id, reader, *json.loads(plain(row[0])))


def put(connection: sqlite3.Connection, mark: Mark, was: Mark | None) -> None:
    """Put a mark into the place of another one, within a transaction.

    Raises:
        StoreError: the one that is there is another.
        DamagedMemoryError: it does not match its checksum.
    """
    there = read(connection, mark.session_id, mark.reader)
    if there != was:
        raise StoreError(f"session {mark.session_id!a:.80} was read by another meanwhile; nothing was written")
    connection.execute(TABLE)
    (session, session_data), (name, name_data) = stored_text(mark.session_id), stored_text(mark.reader)
    said, data = stored_text(json_text((mark.next_seq, mark.version, mark.stamp)))
    connection.execute(PUT, (session, name, said, checksum(session_data, name_data, data)))


def proved_mark(values: Sequence[object]) -> tuple[Cell, ...]:
    """Return the cells of a mark's row, as pages hold them.

    Raises:
        DamagedMemoryError: they do not match their checksum, or are no such row.
    """
    session, reader, mark, check = values
    if not (isinstance(session, bytes) and isinstance(reader, bytes) and isinstance(mark, bytes)):
        raise DamagedMemoryError("no mark")
    if checksum(session, reader, mark) != check:
        raise DamagedMemoryError(f"the mark of session {plain(session)!a:.80}")
    return cell(session), cell(reader), cell(mark), check


def keep(connection: sqlite3.Connection, row: tuple[Cell, ...]) -> None:
    """Take a mark's row that is proved into a copy, within a transaction; of two of a reader the first stays."""
    connection.execute(TABLE)
    connection.execute(KEEP_MARK, row)


# KiB; a search at 1,000,000 memories looks at some 1,000 pages, and twice as slowly where few of them stay.
CACHE = "PRAGMA cache_size = -16384"


class SqliteMemoryStore(OpenedFile):
    """MemoryStore in one SQLite file, created if it is missing: a file of its own, or one that holds sessions.

    An `add` is one transaction with one sync of the disk (write-ahead log, synchronous = FULL). Any number of processes
    may use the file; a writer waits up to `busy_seconds` for another. Threads may share one store, they take turns.
    After a fork the child opens a store of its own. Each row carries a checksum; what search finds by is made anew when
    it is damaged, missing or made by other rules. Every method may also raise StoreError: the disk failed, the store is
    closed, the wait for the lock passed `busy_seconds`.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = 30.0, create: bool = True) -> None:
        """Open the file, or (if `create`) create it where there is none or an empty one; make the tables it lacks.

        Raises:
            DamagedStoreError: the file is not a store, or a damaged one, or there was one and it is gone; it was left
                as it is.
            StoreError: the file can't be opened, or a newer squidbot wrote it, or there is none to open.
        """
        super().__init__(path, OF_MEMORIES, busy_seconds=busy_seconds, create=create)
        try:
            with self._reading as connection:
                connection.execute(CACHE)
                is_laid_out = rows.is_laid_out(self._path, connection)
            if not is_laid_out:
                with self._writing as connection:
                    rows.lay_out(self._path, connection)
        except BaseException:
            self._connection.close()
            raise
        self._scrub_left()

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store memories in one transaction; durable on return, and found at once. An equal one does nothing.

        With `mark` how far a session was read goes with them, in the place of `was`; with `said` sources that memories
        do not have yet, by id; with `places` memories are put into the places of others, too, as by `supersede`. What
        raises has stored nothing.

        Raises:
            NotFoundError: one of `said` is not there.
            StoreError: another memory has that id, what is superseded is not there or is another tenant's or user's, a
                value can't be stored, a place can't be taken, another has read the session meanwhile.
            DamagedStoreError: what is superseded, or the mark, does not match its checksum.
        """
        for memory in memories:
            refuse_misfit(memory)

        def added(connection: sqlite3.Connection, indexes: bool) -> None:  # noqa: FBT001
            if mark is not None:
                put(connection, mark, was)
            add(connection, memories, indexes=indexes)
            say(connection, said or {})
            supersede(connection, places or {}, indexes=indexes)

        self._written(added)

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction; one that is in both is from then on as it comes.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there.
            StoreError: nothing was changed: as `add` and `forget` do.
        """
        for memory in memories:
            refuse_misfit(memory)

        self._remove_beside(gone)
        self._scrub_after(
            self._written(lambda connection, indexes: exchange(connection, gone, memories, reason, indexed=indexes))
        )

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None where it has not begun.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """
        with self._reading as connection:
            return read(connection, session_id, reader)

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, in one transaction; "" takes that back. Durable on return.

        Raises:
            StoreError: nothing was changed: a memory is not there, another user's, or replaced before; or what is to
                take its place is history.
        """
        self._written(lambda connection, indexes: supersede(connection, places, indexes=indexes))

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, history too; each row is looked at.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return said_in(connection, session_id)

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages out of the sources of memories; return the ids of those that were forgotten by that.

        Raises:
            StoreError: nothing was changed; as DamagedStoreError where a row does not match its checksum.
        """
        said = session_id, frozenset(seqs)

        with self._reading as connection:
            due = [memory.memory_id for _, memory, _ in without(connection, *said)]
        self._remove_beside(due)
        gone = (
            self._written(lambda connection, indexes: unsay(connection, said, reason, indexed=indexes)) if due else []
        )
        self._scrub_after(len(gone))
        return gone

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            found = (rows.find(connection, name) for name in memory_ids)
            return [each[1] for each in found if each]

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return the memories of a view, newest first, at most `limit` behind `after`; with `past` history, too.

        The first listing of a category in a large file makes an index for it, which writes to the file.

        Raises:
            NotFoundError: no memory of the view has, or had, the id `after`.
            DamagedStoreError: a row does not match its checksum.
        """
        if category is not None and not past:
            with suppress(StoreError):  # it is only faster
                self._index_categories(view)
        with self._reading as connection:
            return rows.listed(connection, view, category, limit, after, past=past)

    def _index_categories(self, view: View) -> None:
        with self._reading as connection:
            if rows.has_categories(connection, view.isolation):
                return
        with self._writing as connection:
            rows.make_categories(connection, view.isolation)

    def search(  # noqa: PLR0913  # as the port has it
        self,
        query: str,
        view: View,
        *,
        limit: int = 20,
        now: float,
        past: bool = False,
        meant: Meant | None = None,
    ) -> list[MemoryHit]:
        """Return the memories of a view that answer a query, best first, ties newest first; with `meant` vectors speak.

        What waits for being indexed is indexed first, which writes to the file. A damaged index is made anew; a memory
        whose row is damaged is not found.

        Raises:
            ValueError: there is no letter or digit in the query.
            DamagedStoreError: the index is damaged and can't be made anew.
        """
        if not is_sought(query, now) or limit <= 0:
            return []

        def search_once() -> list[MemoryHit]:
            while self._is_behind():
                with self._writing as connection:
                    index.catch_up(connection)
            with self._reading as connection:
                connection.execute("BEGIN")  # all its statements see the same memories
                try:
                    return searched(connection, Wanted(query, view, limit, now, past), meant)
                finally:
                    connection.execute("ROLLBACK")

        return self._indexed(search_once)

    def reindex(self, told: Callable[[int, int], None] | None = None) -> int:
        """Make anew what words find memories by, and return of how many; `told` gets how many are in, of how many.

        Raises:
            StoreError: the disk failed; what is missing is indexed by the next search.
        """
        with self._reading as connection:
            count = rows.count(connection)
        self._renewed(lambda _: None)
        done = 0
        while self._is_behind():
            with self._writing as connection:
                index.catch_up(connection)
            done = min(done + index.ADDED_MEMORIES, count)
            if told is not None:
                told(done, count)
        return count

    def _is_behind(self) -> bool:
        with self._reading as connection:
            return index.waits(connection)

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, their vectors and words, too, and return how many were there; durable on return.

        The bytes of what was there are overwritten, as `SqliteStore.forget` does: see `scrub`. Of each its id, its
        place in listings, when it was forgotten and the reason are kept.

        Raises:
            StoreError: nothing was removed.
        """
        self._remove_beside(memory_ids)
        return self._scrub_after(
            self._written(lambda connection, indexes: forget(connection, memory_ids, reason, indexed=indexes))
        )

    def _remove_beside(self, memory_ids: Sequence[str]) -> None:
        """Remove the files that may hold vectors of memories that are about to be forgotten.

        Raises:
            StoreError: one can't be removed.
        """
        with self._reading as connection:
            is_there = bool(rows.keys_of(connection, memory_ids))
        if is_there:
            remove_beside(self._path)

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return, of these ids, those that were forgotten and are not there again, with the reason that was given.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return rows.graves(connection, memory_ids)

    def behind(self, key: int = 0, limit: int = 1000) -> list[tuple[int, Memory]]:
        """Return the next memories of all views behind a key, with their keys, in the order of their coming.

        What other views are made from: keys only grow, and none is used again.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return rows.behind(connection, key, limit)

    def models(self) -> dict[str, int]:
        """Return the dimension of each model that vectors are kept of, in the order of their coming."""
        with self._reading as connection:
            return vectors.models(connection)

    def put_vectors(self, model: str, dimension: int, of: Mapping[str, Sequence[float]]) -> int:
        """Keep vectors that a model made of memories, by id, in one transaction; return how many were still there.

        Raises:
            StoreError: nothing was written: a vector, or the model's others, have another length than `dimension`, or
                it has no direction.
        """
        with self._writing as connection:
            return vectors.put(connection, model, dimension, of)

    def vectors(self, model: str, after: str = "", limit: int = 1000) -> list[Vector]:
        """Return a model's vectors in the order in which their memories came, at most `limit` behind that of `after`.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        with self._reading as connection:
            return vectors.read(connection, model, after, limit)

    def vectors_of(self, model: str, dimension: int) -> SqliteVectors:
        """Return a model's vectors as the truth beside which an index of them is kept; none need be there yet.

        Raises:
            StoreError: the disk failed.
        """
        return SqliteVectors(self._reading, self._writing, model, dimension)

    def without_vectors(self, model: str, after: str = "", limit: int = 100) -> list[Memory]:
        """Return memories that a model's vectors are still to be made of, in the order of their coming, behind `after`.

        One that can't be read is left out.
        """
        with self._reading as connection:
            return vectors.without(connection, model, after, limit)

    def newest_without(self, model: str, limit: int) -> list[Memory]:
        """Return the first memories behind the last one of which a model's vector is kept."""
        with self._reading as connection:
            return vectors.newest_without(connection, model, limit)

    def waiting(self, model: str) -> int:
        """Return how many memories there are of which no vector of a model is kept."""
        with self._reading as connection:
            return vectors.waiting(connection, model)

    def drop_vectors(self, model: str) -> None:
        """Remove a model and its vectors, and the files beside that hold any; nothing for an unknown one."""
        remove_beside(self._path)
        with self._writing as connection:
            vectors.drop(connection, model)


# What memories of a file are like, and what of them can be saved into a copy: the part of `doctor`
# that is theirs.

MEMORY_CELLS, GRAVE_CELLS = 19, 7
SAVED_TABLES = ("memories", "forgotten_memories", "memory_marks")
LOOKED_ROWS = 512  # at once

# A row may be found twice: as it is, and as it was before another took its place.
FOUND = f"CREATE TEMP TABLE found_memories({rows.MEMORY_COLUMNS}, PRIMARY KEY(key))"
TAKE = (
    f"INSERT INTO found_memories({rows.MEMORY_COLUMNS}) VALUES({', '.join('?' * MEMORY_CELLS)}) "  # our own constants
    "ON CONFLICT DO UPDATE SET superseded_by = excluded.superseded_by, checksum = excluded.checksum "
    "WHERE excluded.superseded_by IS NOT NULL"
)
TAKE_GRAVE = f"INSERT OR IGNORE INTO forgotten_memories VALUES({', '.join('?' * GRAVE_CELLS)})"
# What was forgotten stays so, whatever free pages still hold; of an id that came again the later one counts.
KEEP = (
    f"INSERT OR IGNORE INTO memories({rows.MEMORY_COLUMNS}) SELECT {rows.MEMORY_COLUMNS} FROM found_memories "  # noqa: S608
    "WHERE key NOT IN (SELECT key FROM forgotten_memories) ORDER BY key DESC"
)
DONE = "DROP TABLE found_memories"


def damaged(path: str, connection: sqlite3.Connection) -> tuple[int, tuple[int, ...]]:
    """Return how many memories a file has, and the keys of those whose rows are damaged.

    Raises:
        StoreError: a newer squidbot made their tables, or none did.
        sqlite3.Error: their keys can't be read.
    """
    if not rows.is_laid_out(path, connection):
        return 0, ()
    lost: list[int] = []
    count = last = 0
    while keys := rows.keys_behind(connection, last, LOOKED_ROWS):
        read = {key for key, _ in rows.readable(connection, last, LOOKED_ROWS).memories}
        lost += [key for key in keys if key not in read]
        count, last = count + len(keys), keys[-1]
    return count, tuple(lost)


def proved(key: int, values: Sequence[object]) -> tuple[stored_rows.Cell, ...]:
    """Return the cells of a memory's row, as pages hold them.

    Raises:
        DamagedMemoryError: they do not match their checksum.
        TypeError, ValueError: they are no such row.
    """
    time, importance = (float(cast("float", value)) for value in values[6:8])
    row = (key, *values[1:6], time, importance, *values[8:])
    rows.decode(cast("rows.MemoryRow", row))
    return tuple(map(_cell, row))


def proved_grave(key: int, values: Sequence[object]) -> tuple[stored_rows.Cell, ...]:
    """Return the cells of what is left of a forgotten memory, as pages hold them; raises as `proved`."""
    memory_id, owner, time, check, forgotten, reason = values[1:]
    row = (key, memory_id, owner, float(cast("float", time)), check, float(cast("float", forgotten)), reason)
    if rows.grave_checksum(key, owner, row[3], row[5], memory_id, reason) != check:  # type: ignore[arg-type]  # it sees to that
        raise rows.DamagedMemoryError(f"what is left of memory {key}")
    return tuple(map(_cell, row))


class Saved:
    """Memories on their way into a copy, within a transaction."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        """Take the copy's path and connection."""
        self._path = path
        self._connection = connection
        self._found = False

    def take(self, table: str, row: tuple[stored_rows.Cell, ...]) -> None:
        """Take a row that is proved; the first one makes the tables."""
        if table == "memory_marks":
            keep(self._connection, row)
            return
        if not self._found:
            rows.lay_out(self._path, self._connection)
            self._connection.execute(FOUND)
            self._found = True
        self._connection.execute(TAKE if table == "memories" else TAKE_GRAVE, row)

    def finish(self) -> int:
        """Keep what is to be kept, and return how many memories that is.

        Raises:
            DamagedStoreError: the copy does not hold what was put into it.
        """
        if not self._found:
            return 0
        self._connection.execute(KEEP)
        self._connection.execute(DONE)
        count, lost = damaged(self._path, self._connection)
        if lost:
            raise DamagedStoreError(f"{self._path}: the copy is damaged itself; check the disk")
        return count


def _cell(value: object) -> stored_rows.Cell:
    return stored_rows.cell(value) if isinstance(value, bytes) else cast("stored_rows.Cell", value)


# What a store's file holds of memories and their vectors, looked at without writing anything.

BUSY_SECONDS = 5.0


class Holding(NamedTuple):
    """How many facts and pieces there are; of each model how many dimensions its vectors have, and how many wait."""

    memories: int
    models: Mapping[str, int]
    waiting: Mapping[str, int]


def holding(path: str) -> Holding:
    """Return what a file holds; nothing where it has no tables of memories.

    Raises:
        StoreError: it can't be read, or is damaged.
    """
    with closing(open_only_reading(path, BUSY_SECONDS)) as connection:
        try:
            if not rows.is_laid_out(path, connection):
                return Holding(0, {}, {})
            models = vectors.models(connection)
            waiting = {name: vectors.waiting(connection, name) for name in models}
            return Holding(rows.count(connection) - rows.count_cards(connection), models, waiting)
        except (StoreError, DamagedStoreError):
            raise
        except FOREIGN as error:
            raise store_error(path, error) from error
