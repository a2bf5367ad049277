"""`SqliteMemoryStore`: durable facts in one file that several processes may write."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from squidbot.adapters.sqlite3.access import FOREIGN
from squidbot.adapters.sqlite3.memory import changes, history, index, marks, queries, tables, vectors
from squidbot.adapters.sqlite3.memory.beside import remove_beside
from squidbot.adapters.sqlite3.memory.places import SqliteVectors
from squidbot.adapters.sqlite3.memory.searching import Wanted, searched
from squidbot.adapters.sqlite3.opened import OpenedFile
from squidbot.adapters.sqlite3.views import DamagedIndexError
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.memories import View, refuse_misfit
from squidbot.core.memory.search.query import is_sought

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.adapters.sqlite3.memory.vectors import Vector
    from squidbot.core.memories import Category, Hit, Mark, Memory, Said
    from squidbot.core.vectors.values import Meant

__all__ = ["SqliteMemoryStore"]

Value = TypeVar("Value")
Done_co = TypeVar("Done_co", covariant=True)

# KiB; a search at 1,000,000 memories looks at some 1,000 pages, and twice as slowly where few of them stay.
CACHE = "PRAGMA cache_size = -16384"


class _Act(Protocol[Done_co]):
    def __call__(self, connection: sqlite3.Connection, *, indexes: bool) -> Done_co: ...


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
        super().__init__(path, busy_seconds=busy_seconds, create=create)
        try:
            with self._reading as connection:
                connection.execute(CACHE)
                is_laid_out = tables.is_laid_out(self._path, connection)
            if not is_laid_out:
                with self._writing as connection:
                    tables.lay_out(self._path, connection)
        except BaseException:
            self._connection.close()
            raise
        self._scrub_left()

    def add(
        self,
        memories: Sequence[Memory],
        mark: Mark | None = None,
        was: Mark | None = None,
        said: Said | None = None,
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

        def added(connection: sqlite3.Connection, *, indexes: bool) -> None:
            if mark is not None:
                marks.put(connection, mark, was)
            changes.add(connection, memories, indexes=indexes)
            history.say(connection, said or {})
            history.supersede(connection, places or {}, indexes=indexes)

        self._written(added)

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction; one that is in both is from then on as it comes.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there.
            StoreError: nothing was changed: as `add` and `forget` do.
        """
        for memory in memories:
            refuse_misfit(memory)

        def exchanged(connection: sqlite3.Connection, *, indexes: bool) -> int:
            return changes.exchange(connection, gone, memories, reason, indexed=indexes)

        self._remove_beside(gone)
        self._scrub_after(self._written(exchanged))

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None where it has not begun.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """
        with self._reading as connection:
            return marks.read(connection, session_id, reader)

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, in one transaction; "" takes that back. Durable on return.

        Raises:
            StoreError: nothing was changed: a memory is not there, another user's, or replaced before; or what is to
                take its place is history.
        """

        def superseded(connection: sqlite3.Connection, *, indexes: bool) -> None:
            history.supersede(connection, places, indexes=indexes)

        self._written(superseded)

    def said_in(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, history too; each row is looked at.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return history.said_in(connection, session_id)

    def unsay(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages out of the sources of memories; return the ids of those that were forgotten by that.

        Raises:
            StoreError: nothing was changed; as DamagedStoreError where a row does not match its checksum.
        """
        said = session_id, frozenset(seqs)

        def unsaid(connection: sqlite3.Connection, *, indexes: bool) -> list[str]:
            return changes.unsay(connection, said, reason, indexed=indexes)

        with self._reading as connection:
            due = [memory.memory_id for _, memory, _ in history.without(connection, *said)]
        self._remove_beside(due)
        gone = self._written(unsaid) if due else []
        self._scrub_after(len(gone))
        return gone

    def _written(self, act: _Act[Value]) -> Value:
        """Write in one transaction, the index with it, and once more where that is damaged: search does the rest."""
        try:
            with self._writing as connection:
                return act(connection, indexes=True)
        except DamagedIndexError:
            with self._writing as connection:
                self._renew(connection)
                return act(connection, indexes=False)

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; unknown ones are left out.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            found = (queries.find(connection, name) for name in memory_ids)
            return [each[1] for each in found if each]

    def listed(
        self, view: View, category: Category | None = None, *, limit: int = 100, after: str = "", past: bool = False
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
            return queries.listed(connection, view, category, limit, after, past=past)

    def _index_categories(self, view: View) -> None:
        with self._reading as connection:
            if tables.has_categories(connection, view.isolation):
                return
        with self._writing as connection:
            tables.make_categories(connection, view.isolation)

    def search(  # noqa: PLR0913  # as the port has it
        self,
        query: str,
        view: View,
        *,
        limit: int = 20,
        now: float,
        past: bool = False,
        meant: Meant | None = None,
    ) -> list[Hit]:
        """Return the memories of a view that answer a query, best first, ties newest first; with `meant` vectors speak.

        What waits for being indexed is indexed first, which writes to the file. A damaged index is made anew; a memory
        whose row is damaged is not found.

        Raises:
            ValueError: there is no letter or digit in the query.
            DamagedStoreError: the index is damaged and can't be made anew.
        """
        if not is_sought(query, now) or limit <= 0:
            return []

        def search_once() -> list[Hit]:
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
            count = queries.count(connection)
        with self._writing as connection:
            self._renew(connection)
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

    def _indexed(self, act: Callable[[], Value]) -> Value:
        """Do what needs the index, and once more with a new one where that is damaged or missing.

        Raises:
            DamagedStoreError: it can't be made anew.
        """
        try:
            return act()
        except DamagedIndexError:
            with self._writing as connection:
                self._renew(connection)
        try:
            return act()
        except DamagedIndexError as error:
            raise DamagedStoreError(
                f"{self._path}: the search index of memories is damaged and can't be made anew ({error}); the memories "
                "are not: `squidbot doctor` saves them into a copy that makes its own"
            ) from error

    @staticmethod
    def _renew(connection: sqlite3.Connection) -> None:
        connection.execute("SAVEPOINT renewing")
        try:
            index.renew(connection)
        except FOREIGN:  # a part of the old one can't even be read to be dropped
            connection.execute("ROLLBACK TO renewing")
            index.renew(connection, drops=False)
        connection.execute("RELEASE renewing")

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, their vectors and words, too, and return how many were there; durable on return.

        The bytes of what was there are overwritten, as `SqliteStore.forget` does: see `scrub`. Of each its id, its
        place in listings, when it was forgotten and the reason are kept.

        Raises:
            StoreError: nothing was removed.
        """

        def forgotten(connection: sqlite3.Connection, *, indexes: bool) -> int:
            return changes.forget(connection, memory_ids, reason, indexed=indexes)

        self._remove_beside(memory_ids)
        return self._scrub_after(self._written(forgotten))

    def _remove_beside(self, memory_ids: Sequence[str]) -> None:
        """Remove the files that may hold vectors of memories that are about to be forgotten.

        Raises:
            StoreError: one can't be removed.
        """
        with self._reading as connection:
            is_there = bool(queries.keys_of(connection, memory_ids))
        if is_there:
            remove_beside(self._path)

    def _scrub_after(self, forgotten: int) -> int:
        if forgotten:
            with suppress(StoreError):  # it is forgotten by now; `is_scrubbed` tells
                self.scrub()
        return forgotten

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return, of these ids, those that were forgotten and are not there again, with the reason that was given.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return queries.graves(connection, memory_ids)

    def behind(self, key: int = 0, limit: int = 1000) -> list[tuple[int, Memory]]:
        """Return the next memories of all views behind a key, with their keys, in the order of their coming.

        What other views are made from: keys only grow, and none is used again.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return queries.behind(connection, key, limit)

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
