"""Vectors of memories, by the model that made them: models are never mixed, and a vector names its text."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from squidbot.adapters.common.cells import json_text, plain, stored_text
from squidbot.adapters.common.memories import (
    encode_vector,
    refuse_damage,
    refuse_dimension,
    refuse_length,
    vector_checksum,
    view_digest,
)
from squidbot.adapters.sqlite3.memory import rows
from squidbot.adapters.sqlite3.memory.rows import CARDS_INDEX, IS_CARD, MEMORY_BITS, has_cards
from squidbot.adapters.sqlite3.rows import IN_LIST
from squidbot.core.vectors import FLOAT_BYTES, VectorEntry, VectorStamp

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from squidbot.core.memories import Memory, View
    from squidbot.core.vectors import QueryMeaning


MEMORY_KEYS = (1 << MEMORY_BITS) - 1

MODEL = "SELECT no, dimension FROM memory_models WHERE name = ?"
MODELS = "SELECT name, dimension FROM memory_models ORDER BY no"
ADD_MODEL = "INSERT INTO memory_models(name, dimension) VALUES(?, ?)"
REMOVE_MODEL = "DELETE FROM memory_models WHERE no = ?"
PUT = "REPLACE INTO memory_vectors(key, digest, checksum, vector) VALUES(?, ?, ?, ?)"
REMOVE_RANGE = "DELETE FROM memory_vectors WHERE key > ? AND key < ?"
REMOVE = "DELETE FROM memory_vectors WHERE key = ?"
KEPT = "SELECT digest, checksum, vector FROM memory_vectors WHERE key = ?"
LAST = "SELECT max(key) FROM memory_vectors WHERE key > ? AND key < ?"
COUNT = "SELECT count(*) FROM memories"
COUNT_VECTORS = "SELECT coalesce(sum(vectors), 0) FROM memory_vector_stamps WHERE no = ?"
PICKED = f"SELECT key, digest, checksum, vector FROM memory_vectors WHERE key {IN_LIST}"  # noqa: S608  # our own
WITHOUT = (
    f"SELECT key FROM memories WHERE key > ? AND NOT ({IS_CARD}) "  # noqa: S608  # our own constants
    "AND NOT EXISTS (SELECT 1 FROM memory_vectors WHERE memory_vectors.key = ? + memories.key) ORDER BY key LIMIT ?"
)
# An earlier squidbot made vectors of cards, too.
BARE_CARDS = (
    f"SELECT count(*) FROM memories INDEXED BY {CARDS_INDEX} WHERE {IS_CARD} "  # noqa: S608
    "AND NOT EXISTS (SELECT 1 FROM memory_vectors WHERE memory_vectors.key = ? + memories.key)"
)


def models(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the dimension of each model that has vectors, in order of arrival."""
    return {plain(name): dimension for name, dimension in connection.execute(MODELS)}


def put(connection: sqlite3.Connection, model: str, dimension: int, vectors: Mapping[str, Sequence[float]]) -> int:
    """Store vectors of memories, by id, within a transaction, and return the number that still existed.

    Raises:
        StoreError: a vector, or the model's vectors, have another length than `dimension`, or it has no direction.
    """
    first = _model(connection, model, dimension)
    count = 0
    for memory_id, vector in vectors.items():
        refuse_length(vector, model, dimension)
        found = rows.find(connection, memory_id)
        if found is None:  # forgotten while its vector was made
            continue
        key, memory = found
        row = encode_vector(first + key, memory, vector)
        # An unchanged vector keeps its place: every index has it already.
        if connection.execute(KEPT, (first + key,)).fetchone() != row:
            connection.execute(PUT, (first + key, *row))
        count += 1
    return count


def _model(connection: sqlite3.Connection, model: str, dimension: int) -> int:
    """Return the first key of a model's vectors; allocate one if it has none yet.

    Raises:
        StoreError: the model has another dimension.
    """
    name = stored_text(model)[0]
    found = connection.execute(MODEL, (name,)).fetchone()
    if found is None:
        connection.execute(ADD_MODEL, (name, dimension))
        found = connection.execute(MODEL, (name,)).fetchone()
    refuse_dimension(model, found[1], dimension)
    return int(found[0]) << MEMORY_BITS


def without(connection: sqlite3.Connection, model: str, after: str, limit: int) -> list[Memory]:
    """Return memories without a vector of a model, in order of arrival, after `after`.

    Skip unreadable ones, and return later ones instead.
    """
    key = rows.keys_of(connection, [after]).get(after, 0) if after else 0
    return _without(connection, _first(connection, model), key, limit)


def newest_without(connection: sqlite3.Connection, model: str, limit: int) -> list[Memory]:
    """Return the first memories after the last one that has a vector of a model; skip unreadable ones."""
    first = _first(connection, model)
    last = connection.execute(LAST, (first, first + (1 << MEMORY_BITS))).fetchone()[0] if first else None
    return _without(connection, first, (last or 0) & MEMORY_KEYS, limit)


def waiting(connection: sqlite3.Connection, model: str) -> int:
    """Return the number of memories, except document cards, without a vector of a model."""
    first = _first(connection, model)
    stored = connection.execute(COUNT_VECTORS, (first >> MEMORY_BITS,)).fetchone()[0]
    without = int(connection.execute(COUNT).fetchone()[0]) - int(stored)
    if without > 0 and has_cards(connection):
        without -= int(connection.execute(BARE_CARDS, (first,)).fetchone()[0])
    return without


def cosines(connection: sqlite3.Connection, meant: QueryMeaning, keys: Sequence[int]) -> dict[int, float]:
    """Return the cosines of the query and of memories by key, except unreadable ones."""
    found = connection.execute(MODEL, (stored_text(meant.model)[0],)).fetchone()
    if found is None or found[1] != len(meant.vector):
        return {}
    first, size, others = found[0] << MEMORY_BITS, len(meant.vector) * FLOAT_BYTES, dict[int, bytes]()
    for key, digest, check, data in connection.execute(PICKED, (json_text([first + key for key in keys]),)):
        if vector_checksum(key, digest, data) == check and len(data) == size:
            others[key & MEMORY_KEYS] = data
    return dict(zip(others, meant.dots(meant.vector, [*others.values()]), strict=True))


def _first(connection: sqlite3.Connection, model: str) -> int:
    """Return the exclusive lower bound of a model's vector keys; 0, without vectors, for an unknown one."""
    found = connection.execute(MODEL, (stored_text(model)[0],)).fetchone()
    return found[0] << MEMORY_BITS if found else 0


def _without(connection: sqlite3.Connection, first: int, key: int, limit: int) -> list[Memory]:
    found: dict[int, Memory] = {}
    while len(found) < limit:
        keys = [each for (each,) in connection.execute(WITHOUT, (key, first, limit - len(found)))]
        if not keys:
            break
        key = keys[-1]
        found.update(rows.picked(connection, keys))
    return [found[each] for each in sorted(found)]


def drop(connection: sqlite3.Connection, model: str) -> None:
    """Remove a model and its vectors, within a transaction; ignore an unknown one."""
    found = connection.execute(MODEL, (stored_text(model)[0],)).fetchone()
    if found is not None:
        first = found[0] << MEMORY_BITS
        connection.execute(REMOVE_RANGE, (first, first + (1 << MEMORY_BITS)))
        connection.execute(REMOVE_MODEL, (found[0],))


def remove(connection: sqlite3.Connection, key: int) -> None:
    """Remove the vectors of a memory, of every model, within a transaction."""
    for (no,) in connection.execute("SELECT no FROM memory_models").fetchall():
        connection.execute(REMOVE, ((no << MEMORY_BITS) + key,))


# The vectors of one model as an index's source: in order of arrival, with a stamp.

MODEL_BY_SIZE = "SELECT no FROM memory_models WHERE name = ? AND dimension = ?"
STAMP = "SELECT vectors, digest FROM memory_vector_stamps WHERE no = ?"
# SQLite would scan and sort all of a model's vectors: CROSS keeps the order of the tables, + disables the index.
ENTRY = (
    "SELECT place, mark, memory_vectors.key, digest, memory_vectors.checksum, vector, id, owner, bot, agent, model, "
    "superseded_by IS NULL FROM memory_vector_places "
    "CROSS JOIN memory_vectors USING(key) CROSS JOIN memories ON memories.key = memory_vectors.key & ? "
)
BEHIND = ENTRY + "WHERE place > ? AND +memory_vector_places.key BETWEEN ? AND ? ORDER BY place LIMIT ?"
PLACES = "SELECT place FROM memory_vector_places WHERE key BETWEEN ? AND ? ORDER BY place"
PICKED_PLACES = f"{ENTRY} WHERE place {IN_LIST} AND +memory_vector_places.key BETWEEN ? AND ?"

# As `ENTRY`.
HOLDING_MEMORY = "CROSS JOIN memories ON memories.key = memory_vector_places.key & ? WHERE superseded_by IS NULL "
HOLDING = f"SELECT place FROM memory_vector_places {HOLDING_MEMORY} AND place {IN_LIST}"  # noqa: S608
KEYS_AT = f"SELECT key FROM memory_vector_places WHERE place {IN_LIST}"  # noqa: S608


def keys_at(connection: sqlite3.Connection, meant: QueryMeaning) -> list[int]:
    """Return the keys of existing memories with the vectors nearest to the query."""
    first, last = _keys(connection, meant.model, len(meant.vector))
    found = connection.execute(KEYS_AT, (json_text(list(meant.nearest)),))
    return [key & MEMORY_KEYS for (key,) in found if first <= key <= last]


class SqliteVectors:
    """`core.vectors.values.Vectors` of one model in a store's file; threads and processes may share it."""

    def __init__(
        self, reading: Callable[[], AbstractContextManager[sqlite3.Connection]], model: str, dimensions: int
    ) -> None:
        """Take the source of connections."""
        self._reading = reading
        self._model = model
        self._dimensions = dimensions

    def stamp(self) -> VectorStamp:
        """Return the current state.

        Raises:
            StoreError: the disk failed.
        """
        empty = VectorStamp(self._model, self._dimensions)
        with self._reading() as connection:
            number = _number(connection, self._model, self._dimensions)
            found = None if number is None else connection.execute(STAMP, (number,)).fetchone()
        return empty._replace(vectors=found[0], digest=found[1]) if found else empty

    def view(self, view: View) -> int:
        """Return a view's number in `VectorEntry.views`: 63 bits, the same for ever."""
        return view_digest(view)

    def behind(self, place: int, limit: int) -> list[VectorEntry]:
        """Return the entries after a place, in order of their places, at most `limit`.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        with self._reading() as connection:
            keys = self._keys(connection)
            rows = connection.execute(BEHIND, (MEMORY_KEYS, place, *keys, max(limit, 0)))
            return [self._entry(row) for row in rows]

    def places(self) -> Sequence[int]:
        """Return the places of all entries, ascending."""
        with self._reading() as connection:
            return array("q", (place for (place,) in connection.execute(PLACES, self._keys(connection))))

    def picked(self, places: Sequence[int]) -> list[VectorEntry]:
        """Return the entries at these places, in any order.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        with self._reading() as connection:
            cells = (MEMORY_KEYS, json_text(list(places)), *self._keys(connection))
            return [self._entry(row) for row in connection.execute(PICKED_PLACES, cells)]

    def holding(self, places: Sequence[int]) -> list[int]:
        """Return those of the places with current memories, in order.

        Raises:
            StoreError: the disk failed.
        """
        with self._reading() as connection:
            found = {place for (place,) in connection.execute(HOLDING, (MEMORY_KEYS, json_text(list(places))))}
        return [place for place in places if place in found]

    def _keys(self, connection: sqlite3.Connection) -> tuple[int, int]:
        return _keys(connection, self._model, self._dimensions)

    def _entry(self, row: Iterable[Any]) -> VectorEntry:
        place, mark, key, digest, check, data, name, *views, holds = row
        refuse_damage((key, name, digest, check, data), self._dimensions)
        return VectorEntry(place, mark, plain(name), tuple(views), data, bool(holds))


def _number(connection: sqlite3.Connection, model: str, dimensions: int) -> int | None:
    found = connection.execute(MODEL_BY_SIZE, (stored_text(model)[0], dimensions)).fetchone()
    return None if found is None else int(found[0])


def _keys(connection: sqlite3.Connection, model: str, dimensions: int) -> tuple[int, int]:
    """Return the first and the last possible key of a model's vectors; 0 for no model."""
    number = _number(connection, model, dimensions)
    return (0, 0) if number is None else (number << MEMORY_BITS, ((number + 1) << MEMORY_BITS) - 1)
