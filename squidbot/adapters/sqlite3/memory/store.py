"""`SqliteMemoryStore`: durable facts in one file that several processes may write."""

from __future__ import annotations

import shutil
import time
from contextlib import closing, suppress
from functools import cache
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.cells import json_text, plain
from squidbot.adapters.common.memories import DamagedMemoryError, added, memories_without, replaced, says_the_same
from squidbot.adapters.common.postings import search_memories
from squidbot.adapters.sqlite3 import files
from squidbot.adapters.sqlite3.files import FOREIGN, StoreFile, open_only_reading, store_error
from squidbot.adapters.sqlite3.index import DamagedIndexError
from squidbot.adapters.sqlite3.memory import index, rows, vectors
from squidbot.adapters.sqlite3.memory.index import OF_MEMORIES
from squidbot.adapters.sqlite3.memory.vectors import SqliteVectors
from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import CARDS, CATEGORIES, is_from_session, passage_of, refuse_missing
from squidbot.core.memory.search import is_sought

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.adapters.sqlite3.memory.index import TermLists
    from squidbot.core.memories import FactCategory, FactRow, Mark, Memory, MemoryHit, NewSources, Passage, View
    from squidbot.core.memory.days import Days
    from squidbot.core.vectors import QueryMeaning


# Changes memories, each within a transaction of the caller: rows, index terms and vectors together.

NEXT_KEYS: Mapping[str, int] = {}
# Memories' sources hold a session's id as JSON, including quotes.
SOURCED = "SELECT id FROM memories WHERE instr(CAST(sources AS BLOB), ?) ORDER BY key"


def _finder(connection: sqlite3.Connection) -> Callable[[str], Memory | None]:
    """Return a lookup of memories by id; it reads a row once."""

    @cache
    def find(memory_id: str) -> Memory | None:
        found = rows.find(connection, memory_id)
        return found[1] if found else None

    return find


def _write(
    connection: sqlite3.Connection,
    changed: Mapping[str, Memory],
    *,
    indexes: bool,
    keys: Mapping[str, int] = NEXT_KEYS,
) -> None:
    """Write memories: new ones under the next keys, or under those given, and changed ones over their rows.

    Raises:
        StoreError: undo the transaction.
        DamagedIndexError: the same, and repeat it without indexing.
    """
    key = rows.next_key(connection)
    new: list[tuple[int, Memory]] = []
    for memory in changed.values():
        found = rows.find(connection, memory.memory_id)
        if found is None:
            key = keys.get(memory.memory_id, key)
            if memory.scope.collection == CARDS:
                rows.make_cards(connection)
            rows.write(connection, key, memory)
            new.append((key, memory))
            key += 1
        elif found[1] != memory:
            rows.write(connection, found[0], memory)
            if indexes and _indexed_as(found[1]) != _indexed_as(memory):
                index.swap(connection, *found, memory)
    if indexes:
        index.add(connection, new)


def _indexed_as(memory: Memory) -> tuple[Passage, bool]:
    return passage_of(memory), bool(memory.superseded_by)


def _forget(connection: sqlite3.Connection, memory_ids: Sequence[str], reason: str, *, indexes: bool) -> int:
    """Remove memories, and return how many existed.

    Raises:
        DamagedIndexError: undo the transaction, and repeat it with a new index.
    """
    keys = rows.keys_of(connection, memory_ids)
    if not keys:
        return 0
    if indexes:
        try:
            index.remove(connection, [each for each in (rows.find(connection, name) for name in keys) if each])
        except DamagedMemoryError as error:  # nobody knows which of its words are indexed
            raise DamagedIndexError(str(error)) from error
    now = time.time()
    for memory_id, key in keys.items():
        rows.bury(connection, key, memory_id, now, reason)
        vectors.remove(connection, key)
        rows.remove(connection, key)
    files.mark(connection)
    return len(keys)


def _exchange(
    connection: sqlite3.Connection, gone: Sequence[str], memories: Sequence[Memory], reason: str, *, indexes: bool
) -> int:
    """Forget memories and add others, and return the number forgotten.

    A memory that is the same in both keeps its row, and so its vectors.

    Raises:
        NotFoundError: undo the transaction: a memory to forget is missing.
        StoreError, DamagedIndexError: as `_write` and `_forget`.
    """
    refuse_missing(gone, rows.keys_of(connection, gone))
    changed = added(_finder(connection), memories, gone=frozenset(gone))
    stay = {name for name in gone if name in changed and _says_the_same(connection, changed[name])}
    count = _forget(connection, [name for name in gone if name not in stay], reason, indexes=indexes)
    _write(connection, changed, indexes=indexes)
    return count


def _says_the_same(connection: sqlite3.Connection, memory: Memory) -> bool:
    try:
        found = rows.find(connection, memory.memory_id)
    except DamagedMemoryError:
        return False
    return found is not None and says_the_same(found[1], memory)


def _said_in(connection: sqlite3.Connection, session_id: str) -> list[Memory]:
    """Return all memories, including history, with a session as a source.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    quoted = json_text(session_id).encode("utf-8", "surrogatepass")
    ids = [plain(memory_id) for (memory_id,) in connection.execute(SOURCED, (quoted,)).fetchall()]
    memories = map(_finder(connection), ids)
    return [memory for memory in memories if memory and is_from_session(memory, session_id)]


class MemorySnapshot(NamedTuple):
    """What a search reads, within a transaction: `common.postings.MemorySource`."""

    connection: sqlite3.Connection

    def lists(self, view: View, *, past: bool) -> TermLists:
        """Return the lists of a view.

        Raises:
            DamagedIndexError: rebuild the index.
        """
        return index.lists(self.connection, view, past=past)

    def of_days(self, view: View, days: Days, limit: int) -> list[int]:
        """Return the keys of at most `limit` memories of a view from these days, newest first."""
        return rows.of_days(self.connection, view, days, limit)

    def keys_at(self, meant: QueryMeaning) -> list[int]:
        """Return the keys of existing memories with the vectors nearest to the query."""
        return vectors.keys_at(self.connection, meant)

    def picked(self, keys: Sequence[int]) -> list[tuple[int, Memory]]:
        """Return memories by key, in no order, except unreadable ones."""
        return rows.picked(self.connection, keys)

    def cosines(self, meant: QueryMeaning, keys: Sequence[int]) -> dict[int, float]:
        """Return the cosines of the query and of memories by key, except unreadable ones."""
        return vectors.cosines(self.connection, meant, keys)


# The vector index files beside a store: files under its name may hold forgotten data.

# Follows the name of the store's file: an index's name, then this.
ENDING = ".vectors"


def remove_beside(path: str) -> None:
    """Remove every vector index beside a store's file, and the remains of unfinished ones.

    Each user of an index rebuilds it from the store's own vectors.

    Raises:
        StoreError: one can't be removed.
    """
    if path == files.MEMORY:
        return
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
                    f"{found}: cannot remove an index that may hold what you want to forget: {error.strerror}; "
                    "nothing was changed"
                ) from error


# KiB; a search at 1,000,000 memories reads some 1,000 pages, and takes twice as long with few cached.
CACHE = "PRAGMA cache_size = -16384"


class SqliteMemoryStore(StoreFile):
    """MemoryStore in one SQLite file, created if it is missing: its own file, or one with sessions.

    An `add` is one transaction with one sync of the disk (write-ahead log, synchronous = FULL). Any number of processes
    may use the file; a writer waits up to `busy_seconds` for another. Threads may share one store and take turns. After
    a fork, the child opens its own store. Each row has a checksum; a search index that is damaged, missing or of other
    rules is rebuilt. Every method may also raise StoreError: the disk failed, the store is closed, the wait for the
    lock exceeded `busy_seconds`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_seconds: float = 30.0,
        create: bool = True,
        read_only: bool = False,
    ) -> None:
        """Open the file, or (if `create`) create a missing or empty one; create the tables it lacks.

        `read_only`: change nothing, and see what others write; a search whose index is damaged or missing is refused.

        Raises:
            NotFoundError: it is read only, and has no tables of memories.
            DamagedStoreError: the file is not a store, or is damaged, or existed and is gone; it is unchanged.
            StoreError: the file can't be opened, or a newer squidbot wrote it, or there is none to open.
        """
        super().__init__(
            path, OF_MEMORIES, busy_seconds=busy_seconds, create=create, read_only=read_only, follows=read_only
        )
        try:
            self._lay_out()
        except BaseException:
            self.close()
            raise
        if not read_only:
            self._scrub_left()

    def _lay_out(self) -> None:
        with self._reading as connection:
            connection.execute(CACHE)
            is_laid_out = rows.is_laid_out(self._path, connection)
        if not is_laid_out and self._is_read_only:
            raise NotFoundError(f"{self._path}: no durable facts are stored there yet")
        if not is_laid_out:
            with self._writing as connection:
                rows.lay_out(self._path, connection)

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: NewSources | None = None,
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Store memories in one transaction; durable on return, and searchable at once. Skip equal ones.

        `mark` replaces `was` as the reader's position in a session; `said` adds sources to stored memories, by id;
        `places` replaces stored memories, as `supersede` does. On an error nothing is stored.

        Raises:
            NotFoundError: one of `said` is missing.
            StoreError: another memory has that id, a memory to replace is missing or another tenant's or user's, a
                value
                can't be stored, a place can't be taken, another reader has moved the mark meanwhile.
            DamagedStoreError: a memory to replace, or the mark, does not match its checksum.
        """

        def add(connection: sqlite3.Connection, indexes: bool) -> None:  # noqa: FBT001
            if mark is not None:
                rows.put_mark(connection, mark, was)
            _write(connection, added(_finder(connection), memories, said, places), indexes=indexes)

        self._written(add)

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction; one that is in both takes its new form.

        Raises:
            NotFoundError: nothing was changed: a memory to forget is missing.
            StoreError: nothing was changed: as `add` and `forget`.
        """
        self._remove_beside(gone)
        self._scrub_after(
            self._written(lambda connection, indexes: _exchange(connection, gone, memories, reason, indexes=indexes))
        )

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return a reader's mark in a session; `None` if it has not begun.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """
        with self._reading as connection:
            return rows.mark(connection, session_id, reader)

    def supersede(self, places: Mapping[str, str]) -> None:
        """Replace memories with others, in one transaction; "" restores one. Durable on return.

        Raises:
            StoreError: nothing was changed: a memory is missing, another user's, or already replaced; or the
                replacement is history.
        """
        self._written(
            lambda connection, indexes: _write(connection, replaced(_finder(connection), places), indexes=indexes)
        )

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories, including history, with a session among their sources; this reads each row.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return _said_in(connection, session_id)

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Remove messages from the sources of memories; return the ids of memories thereby forgotten.

        Raises:
            StoreError: nothing was changed; DamagedStoreError if a row does not match its checksum.
        """

        def unsay(connection: sqlite3.Connection, indexes: bool) -> list[str]:  # noqa: FBT001
            kept, gone = memories_without(_said_in(connection, session_id), session_id, frozenset(seqs))
            _write(connection, kept, indexes=indexes)
            _forget(connection, gone, reason, indexes=indexes)
            return gone

        with self._reading as connection:
            kept, due = memories_without(_said_in(connection, session_id), session_id, frozenset(seqs))
        self._remove_beside(due)
        gone = self._written(unsay) if kept or due else []
        self._scrub_after(len(gone))
        return gone

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; skip unknown ones.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            found = (rows.find(connection, name) for name in memory_ids)
            return [each[1] for each in found if each]

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return a view's memories, newest first, at most `limit` after `after`; with `past` including history.

        The first listing of a category in a large file creates its index, which writes to the file.

        Raises:
            NotFoundError: the view never had the memory `after`.
            DamagedStoreError: a row does not match its checksum.
        """
        if category is not None and not past:
            with suppress(StoreError):  # it is only faster
                self._index_categories(view)
        with self._reading as connection:
            return rows.listed(connection, view, category, limit, after, past=past)

    def newest(self, views: Sequence[View], *, limit: int = 100) -> list[dict[FactCategory, list[Memory]]]:
        """Return the memories of each view that hold, by category: the newest first, at most `limit` of each.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with suppress(StoreError):  # it is only faster
            for view in views[:1]:
                self._index_categories(view)
        with self._reading as connection:
            return [
                {kind: rows.listed(connection, view, kind, limit, "", past=False) for kind in CATEGORIES}
                for view in views
            ]

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
        meant: QueryMeaning | None = None,
    ) -> list[MemoryHit]:
        """Return the memories of a view that answer a query, best first, ties newest first; `meant` adds vectors.

        Index waiting memories first, which writes to the file. Rebuild a damaged index; a memory with a damaged row is
        not found.

        Raises:
            ValueError: the query has no letter or digit.
            DamagedStoreError: the index is damaged and can't be rebuilt.
        """
        if not is_sought(query, now) or limit <= 0:
            return []

        def search_once() -> list[MemoryHit]:
            while self._is_behind():
                with self._writing as connection:
                    index.catch_up(connection)
            with self._reading as connection:
                connection.execute("BEGIN")  # all its statements read one snapshot
                try:
                    return search_memories(
                        MemorySnapshot(connection), query, view, limit=limit, now=now, past=past, meant=meant
                    )
                finally:
                    connection.execute("ROLLBACK")

        return self._indexed(search_once)

    def reindex(self, tick: Callable[[int, int], None] | None = None) -> int:
        """Rebuild the memories' search index, and return their number; `tick` gets the indexed and all.

        Raises:
            StoreError: the disk failed; the next search indexes the rest.
        """
        with self._reading as connection:
            count = rows.count(connection)
        self._renewed(lambda _: None)
        done = 0
        while self._is_behind():
            with self._writing as connection:
                index.catch_up(connection)
            done = min(done + index.ADDED_MEMORIES, count)
            if tick is not None:
                tick(done, count)
        return count

    def _is_behind(self) -> bool:
        with self._reading as connection:
            return index.waits(connection)

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, with vectors and words, and return the number that existed; durable on return.

        Then overwrite the old bytes, as `SqliteStore.forget` does: see `scrub`. Each memory's id, place in listings,
        time of forgetting and reason remain.

        Raises:
            StoreError: nothing was removed.
        """
        self._remove_beside(memory_ids)
        return self._scrub_after(
            self._written(lambda connection, indexes: _forget(connection, memory_ids, reason, indexes=indexes))
        )

    def _remove_beside(self, memory_ids: Sequence[str]) -> None:
        """Remove the files that may hold vectors of memories to be forgotten.

        Raises:
            StoreError: one can't be removed.
        """
        with self._reading as connection:
            is_there = bool(rows.keys_of(connection, memory_ids))
        if is_there:
            remove_beside(self._path)

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return the ids that were forgotten and do not exist again, with the given reason.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return rows.graves(connection, memory_ids)

    def fact_rows(self, after: int, limit: int) -> list[FactRow]:
        """Return memories and graves with keys above `after`, in order, at most `limit`.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            connection.execute("BEGIN")  # one that is forgotten meanwhile is seen once
            try:
                return rows.behind(connection, after, limit)
            finally:
                connection.execute("ROLLBACK")

    def put_fact_rows(self, copied: Sequence[FactRow]) -> None:
        """Store rows of another store under their keys, in one transaction, in their new state.

        Raises:
            StoreError: nothing was stored.
        """
        memories = {row.memory.memory_id: row.memory for row in copied if row.memory}
        keys = {row.memory.memory_id: row.key for row in copied if row.memory}
        graves = [(row.grave.memory_id, row.key) for row in copied if row.grave]

        def put(connection: sqlite3.Connection, indexes: bool) -> int:  # noqa: FBT001
            there = rows.keys_of(connection, (name for name, _ in graves))
            buried = [name for name, key in graves if there.get(name) == key]
            gone = _forget(connection, buried, "", indexes=indexes)
            for row in copied:
                if row.grave:
                    rows.put_grave(connection, row)
            _write(connection, memories, indexes=indexes, keys=keys)
            return gone

        self._remove_beside([name for name, _ in graves])
        self._scrub_after(self._written(put))

    def marks(self) -> list[Mark]:
        """Return how far each reader has come in each session.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        with self._reading as connection:
            return rows.marks(connection)

    def models(self) -> dict[str, int]:
        """Return the dimension of each model that has vectors, in order of arrival."""
        with self._reading as connection:
            return vectors.models(connection)

    def put_vectors(self, model: str, dimension: int, of: Mapping[str, Sequence[float]]) -> int:
        """Store a model's vectors of memories, by id, in one transaction; return the number that still existed.

        Raises:
            StoreError: nothing was written: a vector, or the model's others, have another length than `dimension`, or
                it has no direction.
        """
        with self._writing as connection:
            return vectors.put(connection, model, dimension, of)

    def vectors_of(self, model: str, dimension: int) -> SqliteVectors:
        """Return a model's vectors as the source for an index of them; there may be none yet.

        Raises:
            StoreError: the disk failed.
        """
        return SqliteVectors(lambda: self._reading, model, dimension)

    def without_vectors(self, model: str, after: str = "", limit: int = 100) -> list[Memory]:
        """Return memories without a vector of a model, in order of arrival, after `after`.

        Skip unreadable ones.
        """
        with self._reading as connection:
            return vectors.without(connection, model, after, limit)

    def newest_without(self, model: str, limit: int) -> list[Memory]:
        """Return the first memories after the last one that has a vector of a model."""
        with self._reading as connection:
            return vectors.newest_without(connection, model, limit)

    def waiting(self, model: str) -> int:
        """Return the number of memories without a vector of a model."""
        with self._reading as connection:
            return vectors.waiting(connection, model)

    def drop_vectors(self, model: str) -> None:
        """Remove a model and its vectors, and the files beside that hold any; ignore an unknown one."""
        remove_beside(self._path)
        with self._writing as connection:
            vectors.drop(connection, model)


class InMemoryMemoryStore(SqliteMemoryStore):
    """The same in memory: it ends with the process."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__(files.MEMORY)


# Read-only counts of memories and vectors in a store's file.

BUSY_SECONDS = 5.0


class MemoryCounts(NamedTuple):
    """Number of facts and chunks; each model's dimension, and its memories without a vector.

    `facts` hold; `past` were replaced or forgotten. Neither counts chunks.
    """

    memories: int
    models: Mapping[str, int]
    waiting: Mapping[str, int]
    facts: int = 0
    past: int = 0


def memory_counts(path: str) -> MemoryCounts:
    """Return a file's counts; none if it has no tables of memories.

    Raises:
        StoreError: it can't be read, or is damaged.
    """
    with closing(open_only_reading(path, BUSY_SECONDS).connection) as connection:
        try:
            if not rows.is_laid_out(path, connection):
                return MemoryCounts(0, {}, {})
            models = vectors.models(connection)
            waiting = {name: vectors.waiting(connection, name) for name in models}
            number = rows.count(connection) - rows.count_cards(connection)
            return MemoryCounts(number, models, waiting, *rows.count_facts(connection))
        except FOREIGN as error:
            raise store_error(path, error) from error
