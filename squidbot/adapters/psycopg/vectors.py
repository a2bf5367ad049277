"""Vectors of memories, by the model that made them, and as the source of an index beside the store."""

from __future__ import annotations

import random
from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from squidbot.adapters.common.cells import plain, stored_text
from squidbot.adapters.common.memories import (
    MEMORY_COLUMNS,
    encode_vector,
    refuse_damage,
    refuse_dimension,
    refuse_length,
    vector_checksum,
    view_digest,
    view_digests,
)
from squidbot.adapters.psycopg.facts import readable
from squidbot.core.vectors import FLOAT_BYTES, VectorEntry, VectorStamp, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from psycopg import Connection

    from squidbot.adapters.psycopg.facts import KnownMemories
    from squidbot.adapters.psycopg.server import Server
    from squidbot.core.memories import Memory, View
    from squidbot.core.vectors import QueryMeaning

    Looked = Callable[[Callable[["VectorTables"], Any]], Any]

# In checksums a vector is named as in SQLite: by its model and, in 40 bits, its memory.
MEMORY_BITS = 40
# The most numbers that pgvector has an index for.
MOST_DIMENSIONS = 4_000

MODEL = (
    "SELECT no, dimension, vectors, digest FROM {schema}.memory_models "
    "WHERE tenant = {schema}.tenant() AND sha256(name) = sha256(%s)"
)
MODELS = "SELECT name, dimension FROM {schema}.memory_models WHERE tenant = {schema}.tenant() ORDER BY no"
ADD_MODEL = (
    "INSERT INTO {schema}.memory_models(no, name, dimension) "
    "SELECT coalesce(max(no), 0) + 1, %s::bytea, %s::integer FROM {schema}.memory_models "
    "WHERE tenant = {schema}.tenant()"
)
COUNT = (
    "UPDATE {schema}.memory_models m SET vectors = m.vectors + n.vectors, digest = m.digest # n.digest "
    "FROM unnest(%s::integer[], %s::bigint[], %s::bigint[]) AS n(no, vectors, digest) "
    "WHERE tenant = {schema}.tenant() AND m.no = n.no"
)
KEPT = (
    "SELECT key, mark, digest, checksum, vector FROM {schema}.memory_vectors "
    "WHERE tenant = {schema}.tenant() AND no = %s AND key = ANY(%s)"
)
PUT = (
    "INSERT INTO {schema}.memory_vectors(no, key, mark, digest, checksum, vector) "
    "SELECT * FROM unnest(%s::integer[], %s::bigint[], %s::bigint[], %b::bytea[], %s::bigint[], %b::bytea[]) "
    "ON CONFLICT (tenant, no, key) DO UPDATE SET place = DEFAULT, mark = excluded.mark, digest = excluded.digest, "
    "checksum = excluded.checksum, vector = excluded.vector RETURNING key, place"
)
REMOVE = (
    "DELETE FROM {schema}.memory_vectors WHERE tenant = {schema}.tenant() AND key = ANY(%s) AND no IN "
    "(SELECT no FROM {schema}.memory_models WHERE tenant = {schema}.tenant()) RETURNING no, mark"
)
DROP = (
    "DELETE FROM {schema}.memory_vectors WHERE tenant = {schema}.tenant() AND no = %s",
    "DELETE FROM {schema}.memory_models WHERE tenant = {schema}.tenant() AND no = %s",
)
_BARE = (
    "m.tenant = {schema}.tenant() AND NOT EXISTS (SELECT 1 FROM {schema}.memory_vectors v "
    "WHERE v.tenant = {schema}.tenant() AND v.no = %s AND v.key = m.key)"
)
WITHOUT = (
    f"SELECT {MEMORY_COLUMNS} FROM {{schema}}.memories m "  # noqa: S608  # our own constants, here and below
    f"WHERE {_BARE} AND NOT is_card AND key > %s ORDER BY key LIMIT %s"
)
WAITING = (
    "SELECT (SELECT count(*) FROM {schema}.memories WHERE tenant = {schema}.tenant()) "  # noqa: S608
    f"- (SELECT count(*) FROM {{schema}}.memories m WHERE {_BARE} AND is_card)"
)
LAST = "SELECT max(key) FROM {schema}.memory_vectors WHERE tenant = {schema}.tenant() AND no = %s"
_ENTRY = (
    "SELECT v.no, v.place, v.mark, v.key, v.digest, v.checksum, v.vector, m.id, m.owner, m.bot, m.agent, m.model, "
    "m.holds FROM {schema}.memory_vectors v "
    "JOIN {schema}.memories m ON m.tenant = {schema}.tenant() AND m.key = v.key "
    "WHERE v.tenant = {schema}.tenant() AND v.no = %s AND "
)
BEHIND, PICKED = f"{_ENTRY}v.place > %s ORDER BY v.place LIMIT %s", f"{_ENTRY}v.place = ANY(%s)"
HOLDING = (
    "SELECT v.place FROM {schema}.memory_vectors v "
    "JOIN {schema}.memories m ON m.tenant = {schema}.tenant() AND m.key = v.key "
    "WHERE v.tenant = {schema}.tenant() AND v.no = %s AND v.place = ANY(%s) AND m.holds"
)
PLACES = "SELECT place FROM {schema}.memory_vectors WHERE tenant = {schema}.tenant() AND no = %s ORDER BY place"
KEYS_AT = "SELECT key FROM {schema}.memory_vectors WHERE tenant = {schema}.tenant() AND no = %s AND place = ANY(%s)"

# The table that pgvector searches: there only where the server had the extension when the tables were last migrated.
HOME = (
    "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
    "WHERE e.extname = 'vector' AND EXISTS ("
    "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = {schema_text} AND tablename = 'memory_nearest')"
)
PUT_NEAREST = (
    "INSERT INTO {schema}.memory_nearest(space, key, place, owner, bot, agent, model, holds, vector) "  # noqa: S608
    "SELECT %s::bigint, key, place, owner, bot, agent, model, holds, vector::{vector}.halfvec "
    f"FROM unnest({'%s::bigint[], ' * 6}%s::boolean[], %s::text[]) "
    "AS n(key, place, owner, bot, agent, model, holds, vector) ON CONFLICT (tenant, key, space) "
    "DO UPDATE SET place = excluded.place, vector = excluded.vector"
)
# What the table lacks that is made when there are vectors already, of all tenants.
ALL_VECTORS = (
    "SELECT v.tenant, o.name, o.dimension, v.key, v.place, m.owner, m.bot, m.agent, m.model, m.holds, v.vector "
    "FROM {schema}.memory_vectors v JOIN {schema}.memory_models o ON o.tenant = v.tenant AND o.no = v.no "
    "JOIN {schema}.memories m ON m.tenant = v.tenant AND m.key = v.key WHERE o.dimension <= %s"
)
FILL_NEAREST = (
    "INSERT INTO {schema}.memory_nearest(tenant, space, key, place, owner, bot, agent, model, holds, vector) "
    "VALUES(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
HOLD_NEAREST = "UPDATE {schema}.memory_nearest SET holds = %s WHERE tenant = {schema}.tenant() AND key = %s"
REMOVE_NEAREST = "DELETE FROM {schema}.memory_nearest WHERE tenant = {schema}.tenant() AND key = ANY(%s)"
DROP_NEAREST = "DELETE FROM {schema}.memory_nearest WHERE tenant = {schema}.tenant() AND space = %s"
INDEX = "SELECT {schema}.index_vectors(%s::bigint, %s::integer)"
# How many vectors fill the table at once.
FILLED_VECTORS = 1_000


def fill_nearest(server: Server, connection: Connection[Any]) -> None:
    """Give the new table of pgvector the vectors of all tenants, and its indexes; whoever migrates may see them."""
    spaces = dict[int, int]()
    with connection.cursor("vectors") as stored, connection.cursor() as filling:
        stored.execute(server.named(ALL_VECTORS), (MOST_DIMENSIONS,), binary=True)
        while rows := stored.fetchmany(FILLED_VECTORS):
            cells = []
            for tenant, model, dimension, *others, data in rows:
                space = space_of(plain(model), dimension)
                spaces[space] = dimension
                cells.append((tenant, space, *others, as_text(unpacked(data))))
            filling.executemany(server.named(FILL_NEAREST), cells)
    for each in spaces.items():
        server.execute(connection, INDEX, each)


def home_of(server: Server, connection: Connection[Any]) -> str:
    """Return the schema of pgvector, quoted; "" where the server compares no vectors."""
    found = server.execute(connection, HOME, ())
    return str(found[0][0]) if found else ""


def space_of(model: str, dimension: int) -> int:
    """Return the number of a model's vectors in an index that all tenants share: 63 bits."""
    data = f"{dimension} {model}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


def as_text(vector: Sequence[float]) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(f'{value:.7g}' for value in vector)}]"


class VectorTables:
    """Vectors, within a transaction of the caller's."""

    def __init__(self, server: Server, home: str, connection: Connection[Any]) -> None:
        """Take the transaction, and the schema of pgvector, "" without it."""
        self._server, self._home, self._connection = server, home, connection

    def read(self, statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows that a statement returns; `{vector}` is the schema of pgvector."""
        text = statement.replace("{vector}", self._home.replace("{", "{{").replace("}", "}}"))
        return self._server.execute(self._connection, text, cells)

    def models(self) -> dict[str, int]:
        """Return the dimension of each model that has vectors, in order of arrival."""
        return {plain(name): dimension for name, dimension in self.read(MODELS, ())}

    def model(self, model: str) -> tuple[int, int, int, int] | None:
        """Return a model's number, its dimension, the number of its vectors and their digest."""
        found = self.read(MODEL, (stored_text(model)[1],))
        return found[0] if found else None

    def put(self, model: str, dimension: int, of: Mapping[str, Sequence[float]], known: KnownMemories) -> int:
        """Store vectors of memories, by id, and return the number that still existed.

        Raises:
            StoreError: a vector, or the model's vectors, have another length than `dimension`, or it has no direction.
            DamagedMemoryError: a memory does not match its checksum.
        """
        if (found := self.model(model)) is None:
            self.read(ADD_MODEL, (stored_text(model)[1], dimension))
        no, stored, *_ = found or self.read(MODEL, (stored_text(model)[1],))[0]
        refuse_dimension(model, stored, dimension)
        rows: dict[int, tuple[bytes, int, bytes]] = {}
        memories: dict[int, Memory] = {}
        for memory_id, vector in of.items():
            refuse_length(vector, model, dimension)
            if (memory := known.find(memory_id)) is not None:  # else forgotten while its vector was made
                key = known.keys[memory_id]
                rows[key], memories[key] = encode_vector((no << MEMORY_BITS) + key, memory, vector), memory
        kept = {key: (mark, tuple(row)) for key, mark, *row in self.read(KEPT, (no, [*rows]))}
        # An unchanged vector keeps its place: every index has it already.
        new = {key: row for key, row in rows.items() if key not in kept or kept[key][1] != row}
        if new:
            self._put(no, space_of(model, dimension), new, memories, [kept[key][0] for key in new if key in kept])
        return len(rows)

    def _put(
        self,
        no: int,
        space: int,
        rows: Mapping[int, tuple[bytes, int, bytes]],
        memories: Mapping[int, Memory],
        replaced: Sequence[int],
    ) -> None:
        marks = [random.getrandbits(63) for _ in rows]  # no secret
        columns = [list(column) for column in zip(*rows.values(), strict=True)]
        places = dict(self.read(PUT, ([no] * len(rows), [*rows], marks, *columns)))
        digest = 0
        for mark in (*marks, *replaced):
            digest ^= mark
        self.read(COUNT, ([no], [len(rows) - len(replaced)], [digest]))
        if self._home and len(columns[2][0]) <= MOST_DIMENSIONS * FLOAT_BYTES:
            cells = [
                (
                    key,
                    places[key],
                    *view_digests(memories[key].scope),
                    not memories[key].superseded_by,
                    as_text(unpacked(data)),
                )
                for key, (_, _, data) in rows.items()
            ]
            self.read(PUT_NEAREST, (space, *(list(column) for column in zip(*cells, strict=True))))

    def move(self, key: int, memory: Memory) -> None:
        """Have the vectors of a memory be of one that holds, or of history."""
        if self._home:
            self.read(HOLD_NEAREST, (not memory.superseded_by, key))

    def remove(self, keys: Iterable[int]) -> None:
        """Remove the vectors of memories, of every model."""
        gone = [*keys]
        for no, mark in self.read(REMOVE, (gone,)):
            self.read(COUNT, ([no], [-1], [mark]))
        if self._home:
            self.read(REMOVE_NEAREST, (gone,))

    def drop(self, model: str) -> None:
        """Remove a model and its vectors; ignore an unknown one."""
        if (found := self.model(model)) is not None:
            for statement in DROP:
                self.read(statement, (found[0],))
            if self._home:
                self.read(DROP_NEAREST, (space_of(model, found[1]),))

    def without(self, model: str, key: int, limit: int) -> list[Memory]:
        """Return memories without a vector of a model, in order of arrival, after a key; skip unreadable ones."""
        found: dict[int, Memory] = {}
        number = self.model(model)
        while len(found) < limit:
            rows = self.read(WITHOUT, (number[0] if number else 0, key, limit - len(found)))
            if not rows:
                break
            key = rows[-1][0]
            found.update(each for each in map(readable, rows) if each)
        return [found[each] for each in sorted(found)]

    def newest_without(self, model: str, limit: int) -> list[Memory]:
        """Return the first memories after the last one that has a vector of a model; skip unreadable ones."""
        number = self.model(model)
        last = self.read(LAST, (number[0],))[0][0] if number else None
        return self.without(model, last or 0, limit)

    def waiting(self, model: str) -> int:
        """Return the number of memories, except document cards, without a vector of a model."""
        number = self.model(model) or (0, 0, 0, 0)
        return int(self.read(WAITING, (number[0],))[0][0]) - number[2]

    def keys_at(self, meant: QueryMeaning) -> list[int]:
        """Return the keys of existing memories with the vectors nearest to the query."""
        number = self.model(meant.model)
        if number is None or number[1] != len(meant.vector):
            return []
        return [key for (key,) in self.read(KEYS_AT, (number[0], list(meant.nearest)))]

    def cosines(self, meant: QueryMeaning, keys: Sequence[int]) -> dict[int, float]:
        """Return the cosines of the query and of memories by key, except unreadable ones."""
        number, others = self.model(meant.model), dict[int, bytes]()
        if number is None or number[1] != len(meant.vector):
            return {}
        for key, _, digest, check, data in self.read(KEPT, (number[0], list(keys))):
            fits = len(data) == number[1] * FLOAT_BYTES
            if fits and vector_checksum((number[0] << MEMORY_BITS) + key, digest, data) == check:
                others[key] = data
        return dict(zip(others, meant.dots(meant.vector, [*others.values()]), strict=True))


class PostgresqlVectors:
    """`core.vectors.StoredVectors` of one model; threads and processes may share it."""

    def __init__(self, looked: Looked, model: str, dimension: int) -> None:
        """Take what reads within a transaction."""
        self._looked, self._model, self._dimension = looked, model, dimension

    def stamp(self) -> VectorStamp:
        """Return the current state."""
        empty = VectorStamp(self._model, self._dimension)
        found = self._looked(lambda rows: rows.model(self._model))
        is_ours = found is not None and found[1] == self._dimension
        return empty._replace(vectors=found[2], digest=found[3]) if is_ours else empty

    def view(self, view: View) -> int:
        """Return a view's number in `VectorEntry.views`: 63 bits, the same for ever."""
        return view_digest(view)

    def behind(self, place: int, limit: int) -> list[VectorEntry]:
        """Return the entries after a place, in order of their places, at most `limit`.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        return self._entries(BEHIND, place, max(limit, 0))

    def places(self) -> Sequence[int]:
        """Return the places of all entries, ascending."""
        return array("q", (place for (place,) in self._rows(PLACES)))

    def picked(self, places: Sequence[int]) -> list[VectorEntry]:
        """Return the entries at these places, in any order.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        return self._entries(PICKED, list(places))

    def holding(self, places: Sequence[int]) -> list[int]:
        """Return those of the places with current memories, in order."""
        found = {place for (place,) in self._rows(HOLDING, list(places))}
        return [place for place in places if place in found]

    def _entries(self, statement: str, *cells: object) -> list[VectorEntry]:
        def entries(rows: VectorTables) -> list[VectorEntry]:
            return [self._entry(row) for row in self._read(rows, statement, cells)]

        return self._looked(entries)  # type: ignore[no-any-return]  # what it was given returns

    def _rows(self, statement: str, *cells: object) -> list[tuple[Any, ...]]:
        return self._looked(lambda rows: self._read(rows, statement, cells))  # type: ignore[no-any-return]

    def _read(self, rows: VectorTables, statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        found = rows.model(self._model)
        is_ours = found is not None and found[1] == self._dimension
        return rows.read(statement, (found[0], *cells)) if found is not None and is_ours else []

    def _entry(self, row: tuple[Any, ...]) -> VectorEntry:
        no, place, mark, key, digest, check, data, name, *views, holds = row
        refuse_damage(((no << MEMORY_BITS) + key, name, digest, check, data), self._dimension)
        return VectorEntry(place, mark, plain(name), tuple(views), data, holds)
