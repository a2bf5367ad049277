"""`PostgresqlMemoryStore`: durable facts in PostgreSQL, for any number of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

from squidbot.adapters.common.cells import DamagedRowError
from squidbot.adapters.common.memories import DamagedMemoryError, added, memories_without, replaced, says_the_same
from squidbot.adapters.common.postings import search_memories
from squidbot.adapters.psycopg.facts import FactRows, KnownMemories
from squidbot.adapters.psycopg.nearest import PgvectorSearch
from squidbot.adapters.psycopg.server import SNAPSHOT, Server, ServerStore
from squidbot.adapters.psycopg.vectors import HOME, MOST_DIMENSIONS, PostgresqlVectors, VectorTables, home_of
from squidbot.adapters.psycopg.words import RULES_OF_LISTS, MemoryWords, OtherRulesError, ViewLists
from squidbot.core.errors import DamagedStoreError
from squidbot.core.memories import passage_of, refuse_missing
from squidbot.core.memory.search import is_sought

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from psycopg import Connection

    from squidbot.core.memories import FactCategory, FactRow, Mark, Memory, MemoryHit, NewSources, Passage, View
    from squidbot.core.memory.days import Days
    from squidbot.core.vectors import QueryMeaning

T = TypeVar("T")

# Each statement of a change reads what is committed then. The first takes the lock of all who write facts of a tenant,
# until the transaction ends; so the others read what is there under the lock.
CHANGE = "BEGIN ISOLATION LEVEL READ COMMITTED"
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended({schema_text} || ' ' || {schema}.tenant(), 0))"
# Notes the change; returns whether it is new, by which rules the lists of words were made, and pgvector's schema.
NOTE = (
    "WITH new AS (INSERT INTO {schema}.memory_changes(id) VALUES(%s) ON CONFLICT DO NOTHING RETURNING 1), old AS ("  # noqa: S608
    "DELETE FROM {schema}.memory_changes WHERE tenant = {schema}.tenant() AND at < now() - interval '1 hour') "
    "SELECT EXISTS(SELECT 1 FROM new), (SELECT number FROM {schema}.memory_rules WHERE tenant = {schema}.tenant()), "
    f"({HOME})"
)
NEXT_KEYS: Mapping[str, int] = {}
# Memories to read and index at once.
INDEXED_MEMORIES = 1_000


class FactWriter:
    """Changes memories within one transaction: rows, lists of words and vectors together."""

    def __init__(self, server: Server, home: str, connection: Connection[Any]) -> None:
        """Take the transaction, which has the lock; `home` is pgvector's schema, "" without it."""
        self._server, self._connection = server, connection
        self.rows = FactRows(server, connection)
        self.vectors = VectorTables(server, home, connection)
        self._words = MemoryWords(server, connection)

    def write(
        self, changed: Mapping[str, Memory], known: KnownMemories, own_keys: Mapping[str, int] = NEXT_KEYS
    ) -> None:
        """Write memories: new ones under the next keys, or under those given, and changed ones over their rows.

        Raises:
            StoreError: undo the transaction.
        """
        key, keys = self.rows.next_key() if changed else 0, known.keys
        rows: list[tuple[int, Memory]] = []
        for name, memory in changed.items():
            old = known.find(name)
            if old is None:
                key = own_keys.get(name, key)
                rows.append((key, memory))
                self._words.add(key, memory)
                key += 1
            elif old != memory:
                rows.append((keys[name], memory))
                if _found_as(old) != _found_as(memory):
                    self._words.remove(keys[name], old)
                    self._words.add(keys[name], memory)
                    self.vectors.move(keys[name], memory)
        self.rows.write(rows)

    def forget(self, memory_ids: Iterable[str], known: KnownMemories, reason: str) -> int:
        """Remove memories, and return how many existed."""
        keys = {name: known.keys[name] for name in memory_ids if name in known.keys}
        if not keys:
            return 0
        places = self.rows.bury(keys, reason)
        for name, key in keys.items():
            try:
                memory = known.find(name)
            except DamagedMemoryError:
                views, past = places[key]
                self._words.remove_unreadable(key, views, past=past)
            else:
                if memory is not None:
                    self._words.remove(key, memory)
        self.vectors.remove(keys.values())
        return len(keys)

    def index_anew(self) -> int:
        """Make the lists of words from the rows, and return how many memories they have."""
        self._words.clear()
        key = count = 0
        while found := self.rows.behind(key, INDEXED_MEMORIES):
            for key, memory in found.items():  # the last one is where it goes on
                if memory is not None:
                    self._words.add(key, memory)
            self.finish()
            count += len(found)
        return count

    def finish(self) -> None:
        """Write the lists of words."""
        self._words.write()
        self._words = MemoryWords(self._server, self._connection)


class FactSnapshot(NamedTuple):
    """What a search reads, on one snapshot: `common.postings.MemorySource`."""

    server: Server
    home: str
    connection: Connection[Any]

    def lists(self, view: View, *, past: bool) -> ViewLists:
        """Return the lists of a view."""
        return ViewLists(self.server, self.connection, view, past=past)

    def of_days(self, view: View, days: Days, limit: int) -> list[int]:
        """Return the keys of at most `limit` memories of a view from these days, newest first."""
        return FactRows(self.server, self.connection).of_days(view, days, limit)

    def keys_at(self, meant: QueryMeaning) -> list[int]:
        """Return the keys of existing memories with the vectors nearest to the query."""
        return VectorTables(self.server, self.home, self.connection).keys_at(meant)

    def picked(self, keys: Sequence[int]) -> list[tuple[int, Memory]]:
        """Return memories by key, in no order, except unreadable ones."""
        return FactRows(self.server, self.connection).picked(keys)

    def cosines(self, meant: QueryMeaning, keys: Sequence[int]) -> dict[int, float]:
        """Return the cosines of the query and of memories by key, except unreadable ones."""
        return VectorTables(self.server, self.home, self.connection).cosines(meant, keys)


class PostgresqlMemoryStore(ServerStore):
    """VectorStore in one schema of a database, beside the sessions or alone.

    Those who write facts of one tenant wait for each other; readers wait for nobody, and each call reads one snapshot.
    Where the connection is lost, the call is repeated, unless it was done. What a call wrote is durable on return, and
    searchable at once. Each row has a checksum. Every method may also raise StoreError: the server refuses, or is away
    for longer than `patience_seconds`.
    """

    def _begin(self) -> None:
        self._nearest = dict[tuple[str, int], PgvectorSearch]()
        self._home = self._server.run(lambda connection: home_of(self._server, connection))

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
                value can't be stored, a place can't be taken, another reader has moved the mark meanwhile.
            DamagedStoreError: a memory to replace, or the mark, does not match its checksum.
        """
        names = {name for each in memories for name in (each.memory_id, each.supersedes)}
        names |= {*(said or {}), *_both(places or {})}

        def add(writer: FactWriter) -> None:
            if mark is not None:
                writer.rows.put_mark(mark, was)
            known = writer.rows.known(names)
            writer.write(added(known.find, memories, said, places), known)

        self._written(add)

    def exchange(self, gone: Sequence[str], memories: Sequence[Memory], reason: str = "") -> None:
        """Forget memories and add others in one transaction; one that is in both takes its new form.

        Raises:
            NotFoundError: nothing was changed: a memory to forget is missing.
            StoreError: nothing was changed: as `add` and `forget`.
        """
        names = {*gone, *(name for each in memories for name in (each.memory_id, each.supersedes))}

        def exchange(writer: FactWriter) -> None:
            known = writer.rows.known(names)
            refuse_missing(gone, known.keys)
            changed = added(known.find, memories, gone=frozenset(gone))
            # A memory that says the same keeps its row, and so its vectors.
            stay = {name for name in gone if name in changed and _says_the_same(known, changed[name])}
            left = dict.fromkeys(name for name in gone if name not in stay)
            writer.forget(left, known, reason)
            writer.write(changed, known.without(left))

        self._written(exchange)

    def mark(self, session_id: str, reader: str) -> Mark | None:
        """Return a reader's mark in a session; `None` if it has not begun.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """
        return self._seen(lambda rows: rows.mark(session_id, reader))

    def supersede(self, places: Mapping[str, str]) -> None:
        """Replace memories with others, in one transaction; "" restores one. Durable on return.

        Raises:
            StoreError: nothing was changed: a memory is missing, another user's, or already replaced; or the
                replacement is history.
        """

        def supersede(writer: FactWriter) -> None:
            known = writer.rows.known(_both(places))
            writer.write(replaced(known.find, places), known)

        self._written(supersede)

    def from_session(self, session_id: str) -> list[Memory]:
        """Return all memories, including history, with a session among their sources; this reads each row.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        return self._seen(lambda rows: rows.said_in(session_id))

    def forget_messages(self, session_id: str, seqs: Sequence[int], reason: str = "") -> list[str]:
        """Remove messages from the sources of memories; return the ids of memories thereby forgotten.

        Raises:
            StoreError: nothing was changed; DamagedStoreError if a row does not match its checksum.
        """

        def unsay(writer: FactWriter) -> list[str]:
            kept, gone = memories_without(writer.rows.said_in(session_id), session_id, frozenset(seqs))
            known = writer.rows.known({*kept, *gone})
            writer.write(kept, known)
            writer.forget(gone, known, reason)
            return gone

        kept, due = memories_without(self.from_session(session_id), session_id, frozenset(seqs))
        return self._written(unsay) if kept or due else []

    def get(self, memory_ids: Sequence[str]) -> list[Memory]:
        """Return the named memories in the order asked for; skip unknown ones.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

        def get(rows: FactRows) -> list[Memory]:
            known = rows.known(memory_ids)
            return [memory for memory in map(known.find, memory_ids) if memory]

        return self._seen(get)

    def listed(
        self, view: View, category: FactCategory | None = None, *, limit: int = 100, after: str = "", past: bool = False
    ) -> list[Memory]:
        """Return a view's memories, newest first, at most `limit` after `after`; with `past` including history.

        Raises:
            NotFoundError: the view never had the memory `after`.
            DamagedStoreError: a row does not match its checksum.
        """
        return self._seen(lambda rows: rows.listed(view, category, limit, after, past=past))

    def newest(self, views: Sequence[View], *, limit: int = 100) -> list[dict[FactCategory, list[Memory]]]:
        """Return the memories of each view that hold, by category, in one statement: the newest first.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        return self._seen(lambda rows: rows.newest(views, limit))

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

        A memory with a damaged row is not found.

        Raises:
            ValueError: the query has no letter or digit.
        """
        if not is_sought(query, now) or limit <= 0:
            return []

        def search(connection: Connection[Any]) -> list[MemoryHit]:
            with self._server.transaction(connection, SNAPSHOT):
                source = FactSnapshot(self._server, self._home, connection)
                return search_memories(source, query, view, limit=limit, now=now, past=past, meant=meant)

        try:
            return self._server.run(search)
        except OtherRulesError:
            self._written(lambda _: None)
            return self._server.run(search)

    def reindex(self, tick: Callable[[int, int], None] | None = None) -> int:
        """Rebuild the memories' lists of words, and return their number; `tick` gets the indexed and all.

        Raises:
            StoreError: the server refused.
        """
        count = self._written(FactWriter.index_anew)
        if tick is not None:
            tick(count, count)
        return count

    def forget(self, memory_ids: Sequence[str], reason: str = "") -> int:
        """Remove memories for good, with vectors and words, and return the number that existed; durable on return.

        Nothing reads them from then on. Their bytes stay in the database's files until PostgreSQL has cleaned them up,
        and in its log and in backups as long as these are kept. Each memory's id, place in listings, time of forgetting
        and reason remain.

        Raises:
            StoreError: nothing was removed.
        """
        return self._written(lambda writer: writer.forget(memory_ids, writer.rows.known(memory_ids), reason))

    def forgotten(self, memory_ids: Sequence[str]) -> dict[str, str]:
        """Return the ids that were forgotten and do not exist again, with the given reason.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        return self._seen(lambda rows: rows.graves(memory_ids))

    def fact_rows(self, after: int, limit: int) -> list[FactRow]:
        """Return memories and graves with keys above `after`, in order, at most `limit`.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        return self._seen(lambda rows: rows.rows_behind(after, limit))

    def put_fact_rows(self, copied: Sequence[FactRow]) -> None:
        """Store rows of another store under their keys, in one transaction, in their new state.

        Raises:
            StoreError: nothing was stored.
        """
        memories = {row.memory.memory_id: row.memory for row in copied if row.memory}
        keys = {row.memory.memory_id: row.key for row in copied if row.memory}
        graves = [(row.grave.memory_id, row.key) for row in copied if row.grave]

        def put(writer: FactWriter) -> None:
            known = writer.rows.known({*memories, *(name for name, _ in graves)})
            gone = [name for name, key in graves if known.keys.get(name) == key]
            writer.forget(gone, known, "")
            writer.rows.put_graves(row for row in copied if row.grave)
            writer.write(memories, known.without(gone), keys)

        self._written(put)

    def marks(self) -> list[Mark]:
        """Return how far each reader has come in each session.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        return self._seen(FactRows.marks)

    def models(self) -> dict[str, int]:
        """Return the dimension of each model that has vectors, in order of arrival."""
        return self._looked(lambda vectors: vectors.models())

    def put_vectors(self, model: str, dimension: int, of: Mapping[str, Sequence[float]]) -> int:
        """Store a model's vectors of memories, by id, in one transaction; return the number that still existed.

        Raises:
            StoreError: nothing was written: a vector, or the model's others, have another length than `dimension`, or
                it has no direction.
        """
        if (nearest := self.nearest(model, dimension)) is not None:
            nearest.index()
        return self._written(lambda writer: writer.vectors.put(model, dimension, of, writer.rows.known(of)))

    def nearest(self, model: str, dimension: int) -> PgvectorSearch | None:
        """Return what has the server find the nearest vectors of a model; `None` where it can't."""
        if not self._home or dimension > MOST_DIMENSIONS:
            return None
        key = model, dimension
        if key not in self._nearest:
            self._nearest[key] = PgvectorSearch(self._server, self._home, model, dimension)
        return self._nearest[key]

    def vectors_of(self, model: str, dimension: int) -> PostgresqlVectors:
        """Return a model's vectors as the source for an index of them; there may be none yet."""
        return PostgresqlVectors(self._looked, model, dimension)

    def without_vectors(self, model: str, after: str = "", limit: int = 100) -> list[Memory]:
        """Return memories without a vector of a model, in order of arrival, after `after`.

        Skip unreadable ones.
        """

        def without(connection: Connection[Any]) -> list[Memory]:
            key = FactRows(self._server, connection).known([after]).keys.get(after, 0) if after else 0
            return VectorTables(self._server, self._home, connection).without(model, key, limit)

        return self._reading(without)

    def newest_without(self, model: str, limit: int) -> list[Memory]:
        """Return the first memories after the last one that has a vector of a model."""
        return self._looked(lambda vectors: vectors.newest_without(model, limit))

    def waiting(self, model: str) -> int:
        """Return the number of memories without a vector of a model."""
        return self._looked(lambda vectors: vectors.waiting(model))

    def drop_vectors(self, model: str) -> None:
        """Remove a model and its vectors; ignore an unknown one."""
        self._written(lambda writer: writer.vectors.drop(model))

    def _seen(self, read: Callable[[FactRows], T]) -> T:
        try:
            return self._server.run(lambda connection: read(FactRows(self._server, connection, alone=True)))
        except DamagedRowError as error:
            raise _damaged(error) from error

    def _looked(self, read: Callable[[VectorTables], T]) -> T:
        return self._reading(lambda connection: read(VectorTables(self._server, self._home, connection)))

    def _reading(self, act: Callable[[Connection[Any]], T]) -> T:
        def read(connection: Connection[Any]) -> T:
            with self._server.transaction(connection, SNAPSHOT):
                return act(connection)

        try:
            return self._server.run(read)
        except DamagedRowError as error:
            raise _damaged(error) from error

    def _written(self, act: Callable[[FactWriter], T]) -> T:
        """Return what a change returns, made once, in one transaction, behind whatever others write.

        Each change has a number, which is stored with it: one whose answer was lost is found by that.

        Raises:
            StoreError: nothing was changed.
        """
        change, done = uuid4(), list[T]()

        def write(connection: Connection[Any], _again: bool) -> T:  # noqa: FBT001
            with self._server.transaction(connection, CHANGE):
                self._server.execute(connection, LOCK, ())
                is_new, rules, home = self._server.execute(connection, NOTE, (change,))[0]
                if not is_new:
                    return done[-1]
                writer = FactWriter(self._server, home or "", connection)
                if rules != RULES_OF_LISTS:
                    writer.index_anew()
                done.append(act(writer))
                writer.finish()
            return done[-1]

        try:
            return self._server.write(write)
        except DamagedRowError as error:
            raise _damaged(error) from error


def _damaged(error: DamagedRowError) -> DamagedStoreError:
    return DamagedStoreError(f"PostgreSQL: {error} does not match its checksum: {error.advice}")


def _found_as(memory: Memory) -> tuple[Passage, bool]:
    return passage_of(memory), bool(memory.superseded_by)


def _both(places: Mapping[str, str]) -> set[str]:
    return {*places, *places.values()}


def _says_the_same(known: KnownMemories, memory: Memory) -> bool:
    try:
        found = known.find(memory.memory_id)
    except DamagedMemoryError:
        return False
    return found is not None and says_the_same(found, memory)
