"""The vectors of one model as the truth that an index is a view of: in the order in which they came, with a stamp.

A vector's key says whose it is, and not when it came: each that is stored gets a place, which is never given out again,
and a mark by chance, which no other file has. Triggers keep both, and the stamp of each model, within whatever
transaction stores or removes vectors. All of that can be made anew from the vectors.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from squidbot.adapters.sqlite3.memory import vectors
from squidbot.adapters.sqlite3.memory.rows import view_digest
from squidbot.adapters.sqlite3.rows import plain, stored
from squidbot.core.vectors.values import Entry, Stamp

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from squidbot.adapters.sqlite3.access import Access
    from squidbot.core.memories import View
    from squidbot.core.vectors.values import Meant

__all__ = ["SqliteVectors", "keys_at"]

HAS_PLACES = "SELECT count(*) FROM sqlite_master WHERE name GLOB 'memory_vector_*' AND name NOT GLOB '*_index'"
# SQLite has no exclusive or; of numbers below 2**63 it is what either has, less what both have.
XOR = "digest = (digest | {0}.mark) - (digest & {0}.mark)"
NO = f"({{0}}.key >> {vectors.MEMORY_BITS})"
TABLES = (
    """CREATE TABLE memory_vector_places(
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    key INTEGER NOT NULL UNIQUE,  -- that of the vector
    mark INTEGER NOT NULL         -- 63 bits by chance
)""",
    """CREATE TABLE memory_vector_stamps(
    no INTEGER PRIMARY KEY,       -- of the model
    vectors INTEGER NOT NULL,
    digest INTEGER NOT NULL       -- the marks of all, by exclusive or
)""",
    # Not "OR IGNORE": within the trigger of a REPLACE that would be a REPLACE, too.
    f"""CREATE TRIGGER memory_vector_place_added AFTER INSERT ON memory_vector_places BEGIN
    INSERT INTO memory_vector_stamps SELECT {NO.format("new")}, 0, 0
        WHERE NOT EXISTS (SELECT 1 FROM memory_vector_stamps WHERE no = {NO.format("new")});
    UPDATE memory_vector_stamps SET vectors = vectors + 1, {XOR.format("new")} WHERE no = {NO.format("new")};
END""",  # noqa: S608  # our own constants, here and below
    f"""CREATE TRIGGER memory_vector_place_removed AFTER DELETE ON memory_vector_places BEGIN
    UPDATE memory_vector_stamps SET vectors = vectors - 1, {XOR.format("old")} WHERE no = {NO.format("old")};
END""",  # noqa: S608
    # A vector in the place of another: SQLite tells no trigger that the old one goes.
    """CREATE TRIGGER memory_vector_added AFTER INSERT ON memory_vectors BEGIN
    DELETE FROM memory_vector_places WHERE key = new.key;
    INSERT INTO memory_vector_places(key, mark) VALUES(new.key, random() & 0x7fffffffffffffff);
END""",
    """CREATE TRIGGER memory_vector_removed AFTER DELETE ON memory_vectors BEGIN
    DELETE FROM memory_vector_places WHERE key = old.key;
END""",
    "INSERT INTO memory_vector_places(key, mark) SELECT key, random() & 0x7fffffffffffffff FROM memory_vectors",
)
# Two tables, four triggers.
PARTS = 6

MODEL = "SELECT no FROM memory_models WHERE name = ? AND dimension = ?"
STAMP = "SELECT vectors, digest FROM memory_vector_stamps WHERE no = ?"
# SQLite would go through all of a model's vectors, and sort: CROSS keeps the order of the tables, + the index out.
ENTRY = (
    "SELECT place, mark, memory_vectors.key, digest, memory_vectors.checksum, vector, id, owner, bot, agent, model, "
    "superseded_by IS NULL FROM memory_vector_places "
    "CROSS JOIN memory_vectors USING(key) CROSS JOIN memories ON memories.key = memory_vectors.key & ? "
)
BEHIND = ENTRY + "WHERE place > ? AND +memory_vector_places.key BETWEEN ? AND ? ORDER BY place LIMIT ?"
PLACES = "SELECT place FROM memory_vector_places WHERE key BETWEEN ? AND ? ORDER BY place"
PICKED_ROWS = 128
AT = f"place IN ({', '.join('?' * PICKED_ROWS)})"
PICKED = ENTRY + f"WHERE {AT} AND +memory_vector_places.key BETWEEN ? AND ?"

# As `ENTRY`.
HELD = "CROSS JOIN memories ON memories.key = memory_vector_places.key & ? WHERE superseded_by IS NULL "
HOLDING = f"SELECT place FROM memory_vector_places {HELD} AND {AT}"  # noqa: S608
KEYS_AT = f"SELECT key FROM memory_vector_places WHERE {AT}"  # noqa: S608


def keys_at(connection: sqlite3.Connection, meant: Meant) -> list[int]:
    """Return the keys of the memories whose vectors are nearest to what is meant, those that are still there."""
    first, last = _keys(connection, meant.model, len(meant.vector))
    found: list[int] = []
    for start in range(0, len(meant.nearest), PICKED_ROWS):
        some = [*meant.nearest[start : start + PICKED_ROWS]]
        rows = connection.execute(KEYS_AT, (*some, *[0] * (PICKED_ROWS - len(some))))
        found += [key & vectors.MEMORY_KEYS for (key,) in rows if first <= key <= last]
    return found


class SqliteVectors:
    """`core.vectors.values.Vectors` of one model in a store's file; threads and processes may share it."""

    def __init__(self, reading: Access, writing: Access, model: str, dimensions: int) -> None:
        """Take a store's access to its file, and have the places made where they are missing.

        Raises:
            StoreError: the disk failed.
        """
        self._reading = reading
        self._model = model
        self._dimensions = dimensions
        with reading as connection:
            is_made = _is_made(connection)
        if not is_made:
            with writing as connection:
                _make(connection)

    def stamp(self) -> Stamp:
        """Return what there is now.

        Raises:
            StoreError: the disk failed.
        """
        empty = Stamp(self._model, self._dimensions)
        with self._reading as connection:
            number = _number(connection, self._model, self._dimensions)
            found = None if number is None else connection.execute(STAMP, (number,)).fetchone()
        return empty._replace(vectors=found[0], digest=found[1]) if found else empty

    def view(self, view: View) -> int:
        """Return the number that stands for a view in `Entry.views`: 63 bits, the same for ever."""
        return view_digest(view)

    def behind(self, place: int, limit: int) -> list[Entry]:
        """Return the entries behind a place, in order of their places, at most `limit`.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        with self._reading as connection:
            keys = self._keys(connection)
            rows = connection.execute(BEHIND, (vectors.MEMORY_KEYS, place, *keys, max(limit, 0)))
            return [self._entry(row) for row in rows]

    def places(self) -> Sequence[int]:
        """Return the places of all entries, ascending."""
        with self._reading as connection:
            return array("q", (place for (place,) in connection.execute(PLACES, self._keys(connection))))

    def picked(self, places: Sequence[int]) -> list[Entry]:
        """Return the entries at these places, in any order.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        found: list[Entry] = []
        with self._reading as connection:
            keys = self._keys(connection)
            for first in range(0, len(places), PICKED_ROWS):
                some = [*places[first : first + PICKED_ROWS]]
                cells = (vectors.MEMORY_KEYS, *some, *[0] * (PICKED_ROWS - len(some)), *keys)
                found += [self._entry(row) for row in connection.execute(PICKED, cells)]
        return found

    def holding(self, places: Sequence[int]) -> list[int]:
        """Return those of these places whose memories hold, in the same order.

        Raises:
            StoreError: the disk failed.
        """
        found: set[int] = set()
        with self._reading as connection:
            for first in range(0, len(places), PICKED_ROWS):
                some = [*places[first : first + PICKED_ROWS]]
                cells = (vectors.MEMORY_KEYS, *some, *[0] * (PICKED_ROWS - len(some)))
                found.update(place for (place,) in connection.execute(HOLDING, cells))
        return [place for place in places if place in found]

    def _keys(self, connection: sqlite3.Connection) -> tuple[int, int]:
        return _keys(connection, self._model, self._dimensions)

    def _entry(self, row: Iterable[Any]) -> Entry:
        place, mark, key, digest, check, data, name, *views, holds = row
        vectors.refuse_damage((key, name, digest, check, data), self._dimensions)
        return Entry(place, mark, plain(name), tuple(views), data, bool(holds))


def _number(connection: sqlite3.Connection, model: str, dimensions: int) -> int | None:
    found = connection.execute(MODEL, (stored(model)[0], dimensions)).fetchone()
    return None if found is None else int(found[0])


def _keys(connection: sqlite3.Connection, model: str, dimensions: int) -> tuple[int, int]:
    """Return the first and the last key that a vector of a model may have; none has 0."""
    number = _number(connection, model, dimensions)
    return (0, 0) if number is None else (number << vectors.MEMORY_BITS, ((number + 1) << vectors.MEMORY_BITS) - 1)


def _is_made(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute(HAS_PLACES).fetchone()[0] == PARTS)


def _make(connection: sqlite3.Connection) -> None:
    """Make the places, within a transaction, unless another process was faster."""
    if not _is_made(connection):
        for kind, name in connection.execute(
            "SELECT type, name FROM sqlite_master WHERE name GLOB 'memory_vector_*' AND type IN ('table', 'trigger')"
        ).fetchall():
            connection.execute(f"DROP {kind.decode()} IF EXISTS {name.decode()}")
        for statement in TABLES:
            connection.execute(statement)
