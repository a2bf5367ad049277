"""`SqliteMemoryStore`: durable facts in one file that several processes may write."""

from __future__ import annotations

import shutil
import time
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache, partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.sqlite3 import files
from squidbot.adapters.sqlite3.files import FOREIGN, StoreFile, open_only_reading, store_error
from squidbot.adapters.sqlite3.index import DamagedIndexError, index_errors
from squidbot.adapters.sqlite3.memory import index, rows, vectors
from squidbot.adapters.sqlite3.memory.index import OF_MEMORIES, candidates
from squidbot.adapters.sqlite3.memory.rows import DamagedMemoryError
from squidbot.adapters.sqlite3.memory.vectors import SqliteVectors
from squidbot.adapters.sqlite3.rows import json_text, plain
from squidbot.core.errors import NotFoundError, StoreError
from squidbot.core.memories import (
    CARDS,
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
    import os
    import sqlite3
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence

    from squidbot.core.memories import FactCategory, Mark, Memory, MemoryHit, NewSources, Passage
    from squidbot.core.vectors import QueryMeaning


# What a call changes, decided before anything is written: all of it, or an error.


def added(
    find: Callable[[str], Memory | None],
    memories: Sequence[Memory],
    said: NewSources | None = None,
    places: Mapping[str, str] | None = None,
    *,
    gone: Collection[str] = (),
) -> dict[str, Memory]:
    """Return what `MemoryStore.add` writes, by id: new memories, and those that change. `find` returns stored ones.

    `gone`: ids that the same call forgets.

    Raises:
        NotFoundError, StoreError: it can't be done.
    """
    changed: dict[str, Memory] = {}

    def now(memory_id: str) -> Memory | None:
        return changed.get(memory_id) or (None if memory_id in gone else find(memory_id))

    for memory in memories:
        refuse_misfit(memory)
        stored = now(memory.memory_id)
        if stored is None:
            changed[memory.memory_id] = memory
            if memory.supersedes:
                old = _superseded(memory, now(memory.supersedes))
                changed[old.memory_id] = old
        elif not is_same(stored, memory):
            raise StoreError(f"memory {memory.memory_id!a:.80} already exists with other content; nothing was written")
    changed |= _with_sources(now, said or {})
    return changed | replaced(now, places or {})


def _with_sources(find: Callable[[str], Memory | None], said: NewSources) -> dict[str, Memory]:
    changed = {}
    for memory_id, sources in said.items():
        known = find(memory_id)
        if known is None:
            raise NotFoundError(f"no memory {memory_id!a:.80}; nothing was changed")
        if (more := with_sources(known, sources)) is not known:
            changed[memory_id] = more
    return changed


def _superseded(memory: Memory, old: Memory | None) -> Memory:
    if old is None or old.scope[:2] != memory.scope[:2]:
        raise StoreError(
            f"memory {memory.memory_id!a:.80} replaces {memory.supersedes!a:.80}, which does not exist or belongs to "
            "another user; nothing was written"
        )
    return replace(old, superseded_by=old.superseded_by or memory.memory_id)


def replaced(find: Callable[[str], Memory | None], places: Mapping[str, str]) -> dict[str, Memory]:
    """Return what `MemoryStore.supersede` writes, by id.

    Raises:
        StoreError: it can't be done.
    """
    changed: dict[str, Memory] = {}
    for memory_id, taker in places.items():
        old = _there(find, memory_id)
        if old.superseded_by == taker:
            continue
        if taker and (old.superseded_by or _there(find, taker).scope[:2] != old.scope[:2]):
            raise StoreError(
                f"memory {memory_id!a:.80} is already replaced, or belongs to another user; nothing was written"
            )
        changed[memory_id] = replace(old, superseded_by=taker)
    for taker in filter(None, places.values()):
        if (changed.get(taker) or _there(find, taker)).superseded_by:
            raise StoreError(f"memory {taker!a:.80} is itself replaced and cannot replace another; nothing was written")
    return changed


def _there(find: Callable[[str], Memory | None], memory_id: str) -> Memory:
    found = find(memory_id)
    if found is None:
        raise StoreError(f"no memory {memory_id!a:.80}; nothing was written")
    return found


def memories_without(
    memories: Iterable[Memory], session_id: str, seqs: Container[int]
) -> tuple[dict[str, Memory], list[str]]:
    """Return what `MemoryStore.forget_messages` writes, by id, and the ids of the memories that it forgets."""
    left = [(memory, without_messages(memory, session_id, seqs)) for memory in memories]
    changed = [(memory, sources) for memory, sources in left if sources != memory.sources]
    kept = {memory.memory_id: replace(memory, sources=sources) for memory, sources in changed if sources}
    return kept, [memory.memory_id for memory, sources in changed if not sources]


# What changes memories, each within a transaction of the caller's: rows, their words and their vectors together.

# A session's id stands in its memories' sources as JSON, quotes and all.
SOURCED = "SELECT id FROM memories WHERE instr(CAST(sources AS BLOB), ?) ORDER BY key"


def _finder(connection: sqlite3.Connection) -> Callable[[str], Memory | None]:
    """Return what finds memories by id; each row is read once."""

    @cache
    def find(memory_id: str) -> Memory | None:
        found = rows.find(connection, memory_id)
        return found[1] if found else None

    return find


def _write(connection: sqlite3.Connection, changed: Mapping[str, Memory], *, indexes: bool) -> None:
    """Write memories: new ones, and others over the rows of their ids.

    Raises:
        StoreError: the transaction must be undone.
        DamagedIndexError: the same, to be done again without indexing.
    """
    key = rows.next_key(connection)
    new: list[tuple[int, Memory]] = []
    for memory in changed.values():
        found = rows.find(connection, memory.memory_id)
        if found is None:
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
    """Remove memories, and return how many were there.

    Raises:
        DamagedIndexError: the transaction must be undone, and done again with a new index.
    """
    keys = rows.keys_of(connection, memory_ids)
    if not keys:
        return 0
    if indexes:
        try:
            index.remove(connection, [each for each in (rows.find(connection, name) for name in keys) if each])
        except DamagedMemoryError as error:  # which words of it are in the index, nobody knows
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
    """Forget memories and add others, and return how many were forgotten.

    A memory that says the same in both keeps its row, and so its vectors.

    Raises:
        NotFoundError: the transaction must be undone: one of those to forget is not there.
        StoreError, DamagedIndexError: as `_write` and `_forget`.
    """
    refuse_missing(gone, rows.keys_of(connection, gone))
    changed = added(_finder(connection), memories, gone=frozenset(gone))
    stay = {name for name in gone if name in changed and _says_the_same(connection, changed[name])}
    count = _forget(connection, [name for name in gone if name not in stay], reason, indexes=indexes)
    _write(connection, changed, indexes=indexes)
    return count


def _says_the_same(connection: sqlite3.Connection, memory: Memory) -> bool:
    """Return whether the stored memory of that id has the same words, scope and versions."""
    try:
        found = rows.find(connection, memory.memory_id)
    except DamagedMemoryError:
        return False
    return found is not None and memory == replace(
        memory,
        text=found[1].text,
        scope=found[1].scope,
        supersedes=found[1].supersedes,
        superseded_by=found[1].superseded_by,
    )


def _said_in(connection: sqlite3.Connection, session_id: str) -> list[Memory]:
    """Return all memories that name a session among their sources, history too.

    Raises:
        DamagedMemoryError: a row does not match its checksum.
    """
    quoted = json_text(session_id).encode("utf-8", "surrogatepass")
    ids = [plain(memory_id) for (memory_id,) in connection.execute(SOURCED, (quoted,)).fetchall()]
    memories = map(_finder(connection), ids)
    return [memory for memory in memories if memory and is_from_session(memory, session_id)]


# A search of memories in one transaction: candidates by words, days, neighbours and vectors, then
# their scores.

# Of more memories than so many, what words find is a smaller part of what is ranked, where vectors find, too: each
# takes a tenth of a millisecond. As many are found then: of 997 questions among 2,760 passages, 84.4 and 88.8 in 100
# have their evidence within 1,000 and 2,000 tokens, 84.2 and 88.7 with all of them. Among fewer it is not done: the
# nearest stands out less from those that are left, and twice as many questions get no answer, for a third less that
# should have none.
MANY_MEMORIES = 50_000
FEWER_FRACTION = 0.5


def _search(  # noqa: PLR0913, PLR0917  # as `MemoryStore.search` has it
    connection: sqlite3.Connection,
    text: str,
    view: View,
    limit: int,
    now: float,
    past: bool,  # noqa: FBT001
    meant: QueryMeaning | None,
) -> list[MemoryHit]:
    """Return what answers a query, best first, within a transaction that sees the same memories all the time.

    Raises:
        DamagedIndexError: the index has to be made anew.
    """
    seen = partial(_seen, connection, view, past=past)
    query = ParsedQuery.of(text, now)
    with index_errors():
        lists = index.lists(connection, view, past=past)
        share = FEWER_FRACTION if meant and lists.among > MANY_MEMORIES else 1
        keys, statistics = candidates(lists, query, max(round(CANDIDATES * share), limit))
    best = keys[: round(NEIGHBOURS_OF * share)]
    for day in query.days:
        keys += rows.of_days(connection, view, day, OF_DAYS)
    keys += vectors.keys_at(connection, meant) if meant else ()
    found = seen(dict.fromkeys(keys))
    with index_errors():
        beside = index.beside(lists, [found[key] for key in best if key in found])
    found |= seen(key for key in beside if key not in found)
    meaning = _meaning(connection, meant, found) if meant else None
    # The speakers are known only now: a name in the query may be a speaker's.
    query = ParsedQuery.of(text, now, {passage.speaker for passage in found.values()})
    with index_errors():
        ranked = score(
            query, [PreparedPassage(each, features_of(each)) for each in found.values()], statistics, meaning
        )
    return ranked[:limit]


def _seen(connection: sqlite3.Connection, view: View, keys: Iterable[int], *, past: bool) -> dict[int, Passage]:
    """Return the passages of memories by key, of those that a view sees."""
    return {
        key: passage_of(memory)
        for key, memory in rows.picked(connection, list(keys))
        if View(memory.scope, view.isolation).key == view.key and (past or not memory.superseded_by)
    }


def _meaning(connection: sqlite3.Connection, meant: QueryMeaning, found: Mapping[int, Passage]) -> Similarity:
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


# KiB; a search at 1,000,000 memories looks at some 1,000 pages, and twice as slowly where few of them stay.
CACHE = "PRAGMA cache_size = -16384"


class SqliteMemoryStore(StoreFile):
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

        def add(connection: sqlite3.Connection, indexes: bool) -> None:  # noqa: FBT001
            if mark is not None:
                rows.put_mark(connection, mark, was)
            _write(connection, added(_finder(connection), memories, said, places), indexes=indexes)

        self._written(add)

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction; one that is in both is from then on as it comes.

        Raises:
            NotFoundError: nothing was changed: one of those to forget is not there.
            StoreError: nothing was changed: as `add` and `forget` do.
        """
        self._remove_beside(gone)
        self._scrub_after(
            self._written(lambda connection, indexes: _exchange(connection, gone, memories, reason, indexes=indexes))
        )

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return how far a reader has come in a session; None where it has not begun.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """
        with self._reading as connection:
            return rows.mark(connection, session_id, reader)

    def supersede(self, places: Mapping[str, str]) -> None:
        """Put memories into the places of others, in one transaction; "" takes that back. Durable on return.

        Raises:
            StoreError: nothing was changed: a memory is not there, another user's, or replaced before; or what is to
                take its place is history.
        """
        self._written(
            lambda connection, indexes: _write(connection, replaced(_finder(connection), places), indexes=indexes)
        )

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories that name a session among their sources, history too; each row is looked at.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        with self._reading as connection:
            return _said_in(connection, session_id)

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Take messages out of the sources of memories; return the ids of those that were forgotten by that.

        Raises:
            StoreError: nothing was changed; as DamagedStoreError where a row does not match its checksum.
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
        meant: QueryMeaning | None = None,
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
                    return _search(connection, query, view, limit, now, past, meant)
                finally:
                    connection.execute("ROLLBACK")

        return self._indexed(search_once)

    def reindex(self, tick: Callable[[int, int], None] | None = None) -> int:
        """Make anew what words find memories by, and return of how many; `tick` gets how many are in, of how many.

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
            if tick is not None:
                tick(done, count)
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
            self._written(lambda connection, indexes: _forget(connection, memory_ids, reason, indexes=indexes))
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

    def vectors_of(self, model: str, dimension: int) -> SqliteVectors:
        """Return a model's vectors as the truth beside which an index of them is kept; none need be there yet.

        Raises:
            StoreError: the disk failed.
        """
        return SqliteVectors(lambda: self._reading, model, dimension)

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


class InMemoryMemoryStore(SqliteMemoryStore):
    """The same in memory: it is gone with the process."""

    def __init__(self) -> None:
        """Make an empty one."""
        super().__init__(files.MEMORY)


# What a store's file holds of memories and their vectors, looked at without writing anything.

BUSY_SECONDS = 5.0


class MemoryCounts(NamedTuple):
    """How many facts and pieces there are; of each model how many dimensions its vectors have, and how many wait."""

    memories: int
    models: Mapping[str, int]
    waiting: Mapping[str, int]


def memory_counts(path: str) -> MemoryCounts:
    """Return what a file holds; nothing where it has no tables of memories.

    Raises:
        StoreError: it can't be read, or is damaged.
    """
    with closing(open_only_reading(path, BUSY_SECONDS)) as connection:
        try:
            if not rows.is_laid_out(path, connection):
                return MemoryCounts(0, {}, {})
            models = vectors.models(connection)
            waiting = {name: vectors.waiting(connection, name) for name in models}
            return MemoryCounts(rows.count(connection) - rows.count_cards(connection), models, waiting)
        except FOREIGN as error:
            raise store_error(path, error) from error
