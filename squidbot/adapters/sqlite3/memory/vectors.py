"""Vectors of memories, by the model that made them: models are never mixed, and a vector says of which text it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from squidbot.adapters.sqlite3.memory import queries
from squidbot.adapters.sqlite3.memory.rows import DamagedMemoryError, text_digest
from squidbot.adapters.sqlite3.memory.tables import CARDS_INDEX, IS_CARD, has_cards
from squidbot.adapters.sqlite3.rows import plain, stored
from squidbot.core.errors import StoreError
from squidbot.core.vectors.values import packed

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from squidbot.core.memories import Memory
    from squidbot.core.vectors.values import Meant

__all__ = [
    "MEMORY_BITS",
    "MEMORY_KEYS",
    "Vector",
    "cosines",
    "drop",
    "models",
    "newest_without",
    "put",
    "read",
    "refuse_damage",
    "remove",
    "waiting",
    "without",
]

# key = model << 40 | memory: a trillion memories, and eight million models in SQLite's 63 bits.
MEMORY_BITS = 40
MEMORY_KEYS = (1 << MEMORY_BITS) - 1
FLOAT_BYTES = 4

MODEL = "SELECT no, dimension FROM memory_models WHERE name = ?"
MODELS = "SELECT name, dimension FROM memory_models ORDER BY no"
ADD_MODEL = "INSERT INTO memory_models(name, dimension) VALUES(?, ?)"
REMOVE_MODEL = "DELETE FROM memory_models WHERE no = ?"
PUT = "REPLACE INTO memory_vectors(key, digest, checksum, vector) VALUES(?, ?, ?, ?)"
READ = (
    "SELECT memory_vectors.key, memories.id, digest, memory_vectors.checksum, vector FROM memory_vectors "
    "JOIN memories ON memories.key = memory_vectors.key & ? "
    "WHERE memory_vectors.key > ? AND memory_vectors.key < ? ORDER BY memory_vectors.key LIMIT ?"
)
REMOVE_RANGE = "DELETE FROM memory_vectors WHERE key > ? AND key < ?"
REMOVE = "DELETE FROM memory_vectors WHERE key = ?"
KEPT = "SELECT digest, checksum, vector FROM memory_vectors WHERE key = ?"
LAST = "SELECT max(key) FROM memory_vectors WHERE key > ? AND key < ?"
COUNT = "SELECT count(*) FROM memories"
COUNT_VECTORS = "SELECT count(*) FROM memory_vectors WHERE key > ? AND key < ?"
# Where an index is kept of them they are counted already: to count 1,000,000 takes more than a second.
COUNTED = "SELECT 1 FROM sqlite_master WHERE name = 'memory_vector_stamps'"
COUNTED_VECTORS = "SELECT coalesce(sum(vectors), 0) FROM memory_vector_stamps WHERE no = ?"
# Rows are asked for so many at once: a statement for each power of two up to it.
PICKED_ROWS = 128
PICKED = {
    size: f"SELECT key, digest, checksum, vector FROM memory_vectors WHERE key IN ({', '.join('?' * size)})"  # noqa: S608  # our own constants
    for size in (1 << power for power in range(PICKED_ROWS.bit_length()))
}
WITHOUT = (
    f"SELECT key FROM memories WHERE key > ? AND NOT ({IS_CARD}) "  # noqa: S608  # our own constants
    "AND NOT EXISTS (SELECT 1 FROM memory_vectors WHERE memory_vectors.key = ? + memories.key) ORDER BY key LIMIT ?"
)
# An earlier squidbot made vectors of cards, too.
BARE_CARDS = (
    f"SELECT count(*) FROM memories INDEXED BY {CARDS_INDEX} WHERE {IS_CARD} "  # noqa: S608
    "AND NOT EXISTS (SELECT 1 FROM memory_vectors WHERE memory_vectors.key = ? + memories.key)"
)


class Vector(NamedTuple):
    """A vector of a memory: 32-bit floats, little-endian; `digest` is that of the text that it was made from."""

    memory_id: str
    digest: bytes
    vector: bytes


def models(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the dimension of each model that vectors are kept of, in the order of their coming."""
    return {plain(name): dimension for name, dimension in connection.execute(MODELS)}


def put(connection: sqlite3.Connection, model: str, dimension: int, vectors: Mapping[str, Sequence[float]]) -> int:
    """Keep the vectors of memories, by id, within a transaction, and return how many of these were still there.

    Raises:
        StoreError: a vector has another length than `dimension`, or the model's vectors do, or it has no direction.
    """
    first = _model(connection, model, dimension)
    count = 0
    for memory_id, vector in vectors.items():
        if len(vector) != dimension:
            raise StoreError(
                f"a vector of {len(vector)} numbers, where {model!a:.80} has {dimension}; nothing was written"
            )
        found = queries.find(connection, memory_id)
        if found is None:  # forgotten while its vector was made
            continue
        key, memory = found
        try:
            data, digest = packed(vector), text_digest(memory.text)
        except ValueError as error:
            raise StoreError(f"the vector of memory {memory_id!a:.80}: {error}; nothing was written") from error
        row = (digest, _checksum(first + key, digest, data), data)
        # What is there as it is keeps its place: every index has it already.
        if connection.execute(KEPT, (first + key,)).fetchone() != row:
            connection.execute(PUT, (first + key, *row))
        count += 1
    return count


def _model(connection: sqlite3.Connection, model: str, dimension: int) -> int:
    """Return the first key of a model's vectors, which gets one if it has none yet.

    Raises:
        StoreError: it is known with another dimension.
    """
    name = stored(model)[0]
    found = connection.execute(MODEL, (name,)).fetchone()
    if found is None:
        connection.execute(ADD_MODEL, (name, dimension))
        found = connection.execute(MODEL, (name,)).fetchone()
    if found[1] != dimension:
        raise StoreError(
            f"vectors of {model!a:.80} have {found[1]} dimensions here, not {dimension}; nothing was written: drop the "
            "model's vectors first, or give the model another name"
        )
    return int(found[0]) << MEMORY_BITS


def read(connection: sqlite3.Connection, model: str, after: str, limit: int) -> list[Vector]:
    """Return a model's vectors in the order in which their memories came, at most `limit` behind that of `after`.

    Raises:
        DamagedMemoryError: one does not match its checksum, or is of another text than its memory has.
    """
    found = connection.execute(MODEL, (stored(model)[0],)).fetchone()
    if found is None:
        return []
    first = found[0] << MEMORY_BITS
    last = first + queries.keys_of(connection, [after]).get(after, 0) if after else first
    cells = (MEMORY_KEYS, last, first + (1 << MEMORY_BITS), limit)
    vectors = []
    for row in connection.execute(READ, cells).fetchall():
        refuse_damage(row, found[1])
        vectors.append(Vector(plain(row[1]), row[2], row[4]))
    return vectors


def refuse_damage(row: tuple[int, bytes, bytes, int, bytes], dimension: int) -> None:
    """Pass a vector's row that is as it was written: its key, the id of its memory, digest, checksum and numbers.

    Raises:
        DamagedMemoryError: it does not match its checksum, or is of another length.
    """
    key, memory_id, digest, check, data = row
    if _checksum(key, digest, data) != check or len(data) != dimension * FLOAT_BYTES:
        raise DamagedMemoryError(f"the vector of memory {plain(memory_id)!a:.80}")


def without(connection: sqlite3.Connection, model: str, after: str, limit: int) -> list[Memory]:
    """Return memories that a model's vectors are still to be made of, in the order of their coming, behind `after`.

    One that can't be read is left out, and the next come in its place.
    """
    key = queries.keys_of(connection, [after]).get(after, 0) if after else 0
    return _without(connection, _first(connection, model), key, limit)


def newest_without(connection: sqlite3.Connection, model: str, limit: int) -> list[Memory]:
    """Return the first memories behind the last that has a vector of a model; one that can't be read is left out."""
    first = _first(connection, model)
    last = connection.execute(LAST, (first, first + (1 << MEMORY_BITS))).fetchone()[0] if first else None
    return _without(connection, first, (last or 0) & MEMORY_KEYS, limit)


def waiting(connection: sqlite3.Connection, model: str) -> int:
    """Return of how many memories, but for cards of files, there is no vector of a model."""
    first = _first(connection, model)
    counted: tuple[str, tuple[int, ...]] = COUNT_VECTORS, (first, first + (1 << MEMORY_BITS) if first else 0)
    if connection.execute(COUNTED).fetchone():
        counted = COUNTED_VECTORS, (first >> MEMORY_BITS,)
    without = int(connection.execute(COUNT).fetchone()[0]) - int(connection.execute(*counted).fetchone()[0])
    if without > 0 and has_cards(connection):
        without -= int(connection.execute(BARE_CARDS, (first,)).fetchone()[0])
    return without


def cosines(connection: sqlite3.Connection, meant: Meant, keys: Sequence[int]) -> dict[int, float]:
    """Return the cosines of what is meant and of memories by key, without those that can't be read."""
    found = connection.execute(MODEL, (stored(meant.model)[0],)).fetchone()
    if found is None or found[1] != len(meant.vector):
        return {}
    first, size, others = found[0] << MEMORY_BITS, len(meant.vector) * FLOAT_BYTES, dict[int, bytes]()
    for start in range(0, len(keys), PICKED_ROWS):
        some = [first + key for key in keys[start : start + PICKED_ROWS]]
        asked = 1 << (len(some) - 1).bit_length()
        for key, digest, check, data in connection.execute(PICKED[asked], some + some[-1:] * (asked - len(some))):
            if _checksum(key, digest, data) == check and len(data) == size:
                others[key & MEMORY_KEYS] = data
    return dict(zip(others, meant.dots(meant.vector, [*others.values()]), strict=True))


def _first(connection: sqlite3.Connection, model: str) -> int:
    """Return what the keys of a model's vectors are above; 0 for an unknown one, of which there are none."""
    found = connection.execute(MODEL, (stored(model)[0],)).fetchone()
    return found[0] << MEMORY_BITS if found else 0


def _without(connection: sqlite3.Connection, first: int, key: int, limit: int) -> list[Memory]:
    found: dict[int, Memory] = {}
    while len(found) < limit:
        keys = [each for (each,) in connection.execute(WITHOUT, (key, first, limit - len(found)))]
        if not keys:
            break
        key = keys[-1]
        found.update(queries.picked(connection, keys))
    return [found[each] for each in sorted(found)]


def drop(connection: sqlite3.Connection, model: str) -> None:
    """Remove a model and its vectors, within a transaction; nothing for an unknown one."""
    found = connection.execute(MODEL, (stored(model)[0],)).fetchone()
    if found is not None:
        first = found[0] << MEMORY_BITS
        connection.execute(REMOVE_RANGE, (first, first + (1 << MEMORY_BITS)))
        connection.execute(REMOVE_MODEL, (found[0],))


def remove(connection: sqlite3.Connection, key: int) -> None:
    """Remove the vectors of a memory, of every model, within a transaction."""
    for (no,) in connection.execute("SELECT no FROM memory_models").fetchall():
        connection.execute(REMOVE, ((no << MEMORY_BITS) + key,))


def _checksum(key: int, digest: bytes, data: bytes) -> int:
    return crc32(data, crc32(digest, crc32(key.to_bytes(8, "little"))))
