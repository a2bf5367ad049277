"""Vectors of memories, by the model that made them: models are never mixed, and a vector says of which text it is."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from squidbot.adapters.sqlite3.memory import queries
from squidbot.adapters.sqlite3.memory.rows import DamagedMemoryError, text_digest
from squidbot.adapters.sqlite3.rows import plain, stored
from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from squidbot.core.memories import Memory

__all__ = [
    "MEMORY_BITS",
    "MEMORY_KEYS",
    "Vector",
    "drop",
    "models",
    "put",
    "read",
    "refuse_damage",
    "remove",
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
WITHOUT = (
    "SELECT id FROM memories WHERE key > ? "
    "AND NOT EXISTS (SELECT 1 FROM memory_vectors WHERE memory_vectors.key = ? + memories.key) ORDER BY key LIMIT ?"
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
        StoreError: a vector has another length than `dimension`, or the model's vectors do.
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
        data, digest = struct.pack(f"<{dimension}f", *vector), text_digest(memory.text)
        connection.execute(PUT, (first + key, digest, _checksum(first + key, digest, data), data))
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

    Raises:
        DamagedMemoryError: a memory does not match its checksum.
    """
    found = connection.execute(MODEL, (stored(model)[0],)).fetchone()
    first = found[0] << MEMORY_BITS if found else 0
    key = queries.keys_of(connection, [after]).get(after, 0) if after else 0
    ids = [plain(name) for (name,) in connection.execute(WITHOUT, (key, first, limit)).fetchall()]
    return [each[1] for each in (queries.find(connection, name) for name in ids) if each]


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
