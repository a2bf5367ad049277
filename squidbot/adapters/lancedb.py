"""The nearest of many vectors by LanceDB: in a folder beside the store, and not in memory."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import IvfFlat

from squidbot.adapters.common.embeddings import FAILURES, VIEWS, KeptIndex, UnusableError, lists_for, misfit
from squidbot.adapters.common.files import OWN_FILE, OWN_FOLDER, lock, make_folder, open_own, sync
from squidbot.core.errors import StoreError
from squidbot.core.vectors import Near, Stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.vectors import Entry


# A table of LanceDB: written whole or grown, and searched.

# What is to be known of partitions that hold nothing: that is usual, and it would stand in the user's terminal.
os.environ.setdefault("LANCEDB_LOG", "error")
os.environ.setdefault("LANCE_LOG", "error")


NAME = "vectors"
ROWS = ("place", "mark", *(f"view{number}" for number in range(VIEWS)))
BATCH_ROWS = 8_192
# Centres are learned from so many vectors each, in so many rounds; more of either finds hardly more.
LEARNED_FROM = 48
ROUNDS = 6
# In this share of the lists is searched, and in so many at least.
READ_FRACTION = 0.1
READ_LISTS = 16
# Versions of a table are deleted that are older; of none at all LanceDB warns, as if others could be reading them.
OLDER = timedelta(milliseconds=1)


class Rows(NamedTuple):
    """Whose vector is which, for each row: its place, its mark, and the views that see it (0: none)."""

    places: np.ndarray
    marks: np.ndarray
    views: np.ndarray


class Table:
    """One table in a folder of its own, written once and then only read."""

    def __init__(self, folder: Path, lists: int) -> None:
        """Open it; `lists`: how many its index has, 0 for none.

        Raises:
            RuntimeError, ValueError, OSError: there is none, or LanceDB can't read it.
        """
        self.folder = folder
        self.lists = lists
        self._table: Any = lancedb.connect(str(folder)).open_table(NAME)

    def rows(self) -> Rows:
        """Return whose vectors it has, in order of their places."""
        found = self._table.search().select([*ROWS]).limit(self._table.count_rows() or 1).to_arrow()
        columns = [found[name].to_numpy() for name in ROWS]
        order = np.argsort(columns[0])
        places, marks, *views = (column[order] for column in columns)
        return Rows(places, marks, np.stack(views, axis=1))

    def nearest(self, vector: np.ndarray, limit: int, view: int) -> list[Near]:
        """Return the nearest that a view sees, best first; fewer where the lists that were read have fewer."""
        probes = max(READ_LISTS, round(READ_FRACTION * self.lists))
        return self._nearest(vector, limit, view, probes if self.lists > probes else None)

    def all_nearest(self, vector: np.ndarray, limit: int, view: int) -> list[Near]:
        """Return the nearest that a view sees, best first, each compared."""
        return self._nearest(vector, limit, view, None)

    def _nearest(self, vector: np.ndarray, limit: int, view: int, probes: int | None) -> list[Near]:
        asked = self._table.search(vector, vector_column_name="vector").distance_type("dot")
        asked = asked.nprobes(probes) if probes else asked.bypass_vector_index()
        seen = " OR ".join(f"{name} = {view}" for name in ROWS[2:])
        found = asked.where(seen, prefilter=True).select(["place", "_distance"]).limit(limit).to_arrow()
        pairs = zip(found["place"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        return [Near(place, max(-1.0, min(1.0, 1.0 - distance))) for place, distance in pairs]

    def batches(self, gone: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """Return all rows with their vectors, but those of some places."""
        left_out = np.fromiter(gone, np.int64)
        found = self._table.search().select([*ROWS, "vector"]).limit(self._table.count_rows() or 1)
        for batch in found.to_batches(BATCH_ROWS):
            kept = ~np.isin(batch["place"].to_numpy(), left_out)
            yield batch.filter(pa.array(kept))

    @staticmethod
    def written(folder: Path, batches: Iterator[pa.RecordBatch], dimensions: int, lists: int) -> Table:
        """Write a table whole, with an index of so many lists.

        Raises:
            RuntimeError, ValueError, OSError: LanceDB can't.
        """
        schema = _schema(dimensions)
        reader = pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in batches))
        made = lancedb.connect(str(folder)).create_table(NAME, reader)
        if lists:
            index = IvfFlat(distance_type="dot", num_partitions=lists, max_iterations=ROUNDS, sample_rate=LEARNED_FROM)
            made.create_index("vector", config=index)
        _clean(made)
        return Table(folder, lists)


def _clean(table: Any) -> None:  # noqa: ANN401  # LanceDB's own
    """Put small files together, new rows into the index, and leave no older version."""
    table.optimize()
    time.sleep(2 * OLDER.total_seconds())
    table.optimize(cleanup_older_than=OLDER, delete_unverified=True)


def _schema(dimensions: int) -> pa.Schema:
    vector = pa.field("vector", pa.list_(pa.float32(), dimensions))
    return pa.schema([*(pa.field(name, pa.int64()) for name in ROWS), vector])


def as_batch(entries: Sequence[Entry], vectors: np.ndarray) -> pa.RecordBatch:
    """Return entries as rows; `vectors` has theirs, one each."""
    whole = [(each.place, each.mark, *(*each.views, *[0] * VIEWS)[:VIEWS]) for each in entries]
    columns = np.array(whole, np.int64).reshape(len(whole), len(ROWS)).T
    flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
    arrays = [*map(pa.array, columns), pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])]
    return pa.RecordBatch.from_arrays(arrays, schema=_schema(vectors.shape[1]))


# What came since the table was written, compared one by one.


class Held:
    """Entries in memory, by their places, in the order of their coming."""

    def __init__(self, dimensions: int) -> None:
        """Hold nothing yet."""
        self._dimensions = dimensions
        self.entries: dict[int, Entry] = {}
        self._vectors: np.ndarray | None = None

    @property
    def vectors(self) -> np.ndarray:
        """Their vectors, a row each."""
        if self._vectors is None:
            self._vectors = self._matrix([*self.entries.values()])
        return self._vectors

    def add(self, entries: Sequence[Entry]) -> None:
        """Take entries in, all or nothing.

        Raises:
            StoreError: a vector has another number of dimensions, or a number that is not finite.
        """
        self._matrix(entries)
        self.entries.update((each.place, each) for each in entries)
        self._vectors = None

    def pop(self, place: int) -> Entry | None:
        """Take one out, and return it; None if it was not there."""
        entry = self.entries.pop(place, None)
        if entry is not None:
            self._vectors = None
        return entry

    def nearest(self, vector: np.ndarray, view: int) -> list[Near]:
        """Return all that a view sees, in any order."""
        seen = [(row, each.place) for row, each in enumerate(self.entries.values()) if view in each.views]
        cosines = self.vectors[[row for row, _ in seen]] @ vector if seen else ()
        return [Near(place, float(cosine)) for (_, place), cosine in zip(seen, cosines, strict=True)]

    def _matrix(self, entries: Sequence[Entry]) -> np.ndarray:
        vectors = np.zeros((len(entries), self._dimensions), np.float32)
        for row, each in enumerate(entries):
            if len(each.vector) == 4 * self._dimensions:
                vectors[row] = np.frombuffer(each.vector, "<f4")
            if len(each.vector) != 4 * self._dimensions or not np.isfinite(vectors[row]).all():
                raise misfit(each, self._dimensions)
        return vectors


# Which of the tables in a folder counts, and whether its files are as they were written.

FORMAT = "squidbot vectors by LanceDB 2"
TABLE_NAME = "index.json"
CHUNK_BYTES = 1 << 20


class Said(NamedTuple):
    """What is said of the table that counts.

    Attributes:
        table: its name in the folder.
        stamp: what is in it: model, dimensions, vectors, digest.
        last: the highest place that was ever taken in.
        lists: for how many lists its index was made; 0 where every vector is compared.
        files: size and checksum of each of its files, by the path below the table.
    """

    table: str
    stamp: tuple[str, int, int, int]
    last: int
    lists: int
    files: dict[str, tuple[int, int]]


def read(folder: Path) -> Said:
    """Return what a folder says.

    Raises:
        UnusableError: it says nothing that is ours.
        FileNotFoundError: there is none.
        OSError: it can't be read.
    """
    if folder.exists() and not folder.is_dir():
        raise UnusableError("it is no folder")
    try:
        text = (folder / TABLE_NAME).read_bytes()
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise UnusableError(f"{TABLE_NAME} is missing") from None
        raise
    try:
        data, _, checksum = text.rstrip(b"\n").rpartition(b"\n")
        said = json.loads(data)
        if int(checksum) != crc32(data) or said["format"] != FORMAT:
            raise UnusableError(f"{TABLE_NAME} is cut or damaged, or of another version")
        model, dimensions, vectors, digest = said["stamp"]
        files = {str(name): (int(size), int(check)) for name, (size, check) in said["files"].items()}
        stamp = (str(model), int(dimensions), int(vectors), int(digest))
        return Said(str(said["table"]), stamp, int(said["last"]), int(said["lists"]), files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableError(f"{TABLE_NAME} is none of ours") from error


def checked(folder: Path, said: Said) -> None:
    """Read all files of the table that counts, and pass where they are as they were written.

    Raises:
        UnusableError: one is missing, cut, damaged, or too many.
    """
    for name, due in said.files.items():
        try:
            found = _checksum(folder / said.table / name)
        except OSError as error:
            raise UnusableError(f"{said.table}/{name}: {error.strerror}") from error
        if found != due:
            raise UnusableError(f"{said.table}/{name} is cut or damaged: its checksum is wrong")
    if {*_names(folder / said.table)} != said.files.keys():
        raise UnusableError(f"{said.table} has files that are none of ours")


def counting(folder: Path) -> str | None:
    """Return the name of the table that counts; None where none does."""
    with suppress(UnusableError, OSError):
        return read(folder).table
    return None


def next_table(folder: Path) -> str:
    """Return a name that no table has, and delete what is left of tables that never counted."""
    _delete_but(folder, counting(folder))
    return str(max((int(each.name) for each in folder.iterdir() if each.name.isdecimal()), default=0) + 1)


def publish(folder: Path, said: Said) -> Said:
    """Let a table count from now on, durably, and delete all others; returns what is said with the files.

    Raises:
        OSError: the disk failed; the old table counts.
    """
    table = folder / said.table
    files = {}
    for made in (table, *(path for path in table.rglob("*") if path.is_dir())):  # LanceDB makes them for all to read
        made.chmod(OWN_FOLDER)
    for name in _names(table):
        (table / name).chmod(OWN_FILE)
        sync(table / name)
        files[name] = _checksum(table / name)
    said = said._replace(files=files)
    data = json.dumps({"format": FORMAT, **said._asdict()}).encode()
    part = folder / f"{TABLE_NAME}.part"
    with open_own(part, "w") as file:
        file.write(b"%b\n%d\n" % (data, crc32(data)))
    sync(part)
    part.replace(folder / TABLE_NAME)
    sync(folder)
    _delete_but(folder, said.table)
    return said


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time save to a folder, which is made; what else lay in its place is deleted.

    Raises:
        OSError: it can't be made.
    """
    if folder.exists() and not folder.is_dir():
        folder.unlink()
    make_folder(folder)
    with open_own(folder / "lock", "a") as file:
        lock(file)  # given back when the file is closed, and when the process dies
        yield


def _delete_but(folder: Path, kept: str | None) -> None:
    for each in folder.iterdir():
        if each.name.isdecimal() and each.name != kept:
            shutil.rmtree(each, ignore_errors=sys.platform == "win32")  # there no file is deleted that is open


def _names(table: Path) -> list[str]:
    return sorted(path.relative_to(table).as_posix() for path in table.rglob("*") if path.is_file())


def _checksum(path: Path) -> tuple[int, int]:
    size = checksum = 0
    with path.open("rb") as file:
        while data := file.read(CHUNK_BYTES):
            size, checksum = size + len(data), crc32(data, checksum)
    return size, checksum


# VectorIndex by LanceDB: what lies in the folder, what came since, and what has gone since.

# So many vectors are held in memory until they are written without being asked for: 150 MB at 384 dimensions.
HELD_VECTORS = 100_000
# Up to so many in the folder every vector is compared; above, they lie in lists around centres.
EXACT_VECTORS = 5_000
# So many that have gone are told apart from those that were found; of more the table is written anew.
MOST_GONE = 1_000


class LanceIndex(KeptIndex):
    """VectorIndex in a folder; threads may share one, processes each have their own.

    Vectors stay in the folder's files, which are read where a search needs them. What came or has gone since it was
    saved is kept in memory. `save` makes a table that has nothing of what was taken out, lets it count, and deletes
    the one before. What another process has saved since is taken over by the next `save`, with what came and went here.
    """

    kept_as = "folder"

    def __init__(
        self,
        path: str | Path | None,
        model: str,
        dimensions: int,
        *,
        held_vectors: int = HELD_VECTORS,
        exact_vectors: int = EXACT_VECTORS,
    ) -> None:
        """Open the index of a model's vectors in a folder, or one that has none; empty where it can't be used.

        `held_vectors`: how many wait in memory until they are written unasked; `exact_vectors`: up to how many in the
        folder every vector is compared.
        """
        super().__init__(path, model, dimensions)
        self._held_vectors = held_vectors
        self._exact_vectors = exact_vectors
        self.begin()

    @property
    def lists(self) -> int:
        """In how many lists the vectors of the folder lie; 0 where every one is compared."""
        return self._table.lists if self._table else 0

    def stamp(self) -> Stamp:
        """Return what it holds; of a table that somebody has deleted nothing any more."""
        with self._lock:
            if self._path and self._table and not self._table.folder.exists():
                self._take_over(self._path)
            return self._stamp

    def places(self) -> Sequence[int]:
        """Return the places of what it holds, ascending."""
        with self._lock:
            return sorted(chain((p for p in self._rows.places.tolist() if p not in self._gone), self._held.entries))

    def add(self, entries: Sequence[Entry]) -> None:
        """Take entries in, all or nothing. A place that is there stays as it is.

        Raises:
            StoreError: nothing was taken in: a vector has another number of dimensions, or a number is not finite.
        """
        with self._lock:
            self._put(entries)
            if len(self._held.entries) > self._held_vectors:
                self._save_unasked()

    def remove(self, places: Sequence[int]) -> int:
        """Take entries out, and return how many were there."""
        with self._lock:
            count = self._drop(places)
            if len(self._gone) > MOST_GONE:
                self._save_unasked()
            return count

    def clear(self, expected: int = 0) -> None:
        """Take all out. `expected` is of no use here: lists are made when all is written."""
        del expected
        with self._lock:
            self._empty()

    # -- what it holds --

    def _empty(self) -> None:
        none = np.zeros(0, np.int64)
        super()._empty()
        self._table: Table | None = None
        self._said: Said | None = None
        self._rows = Rows(none, none, np.zeros((0, VIEWS), np.int64))
        self._seen: dict[int, int] = {}
        self._gone: set[int] = set()
        self._held = Held(self._stamp.dimensions)

    def _put(self, entries: Sequence[Entry]) -> None:
        new = {each.place: each for each in entries if not self._has(each.place)}
        if new:
            self._held.add([*new.values()])
            self._stamp = self._stamp.plus(each.mark for each in new.values())
            self._last = max(self._last, *new)
            self._dirty = True

    def _drop(self, places: Sequence[int]) -> int:
        there = {place for place in places if self._has(place)}
        for place in there:
            entry = self._held.pop(place)
            if entry is None:
                self._gone.add(place)
            mark = int(self._rows.marks[self._row(place)]) if entry is None else entry.mark
            self._stamp = self._stamp.minus([mark])
        self._dirty = self._dirty or bool(there)
        return len(there)

    def _save_unasked(self) -> None:
        """Write it so that what is held has an end; where that fails all is as it was, and `save` tells it."""
        with suppress(StoreError):
            self.save()

    def _row(self, place: int) -> int:
        return int(np.searchsorted(self._rows.places, place))

    def _has(self, place: int) -> bool:
        if place in self._held.entries:
            return True
        row = self._row(place)
        found = row < len(self._rows.places) and int(self._rows.places[row]) == place
        return found and place not in self._gone

    # -- what lies in the folder --

    def _take(self, path: Path) -> None:
        said = read(path)
        self._refuse_other(*said.stamp[:2])
        checked(path, said)
        table = Table(path / said.table, said.lists)
        self._hold(said, table, self._rows_of(table, said.stamp))

    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[Near]:
        vector = np.array(asked, np.float32)
        return [*self._held.nearest(vector, view), *self._written(vector, limit, view)]

    def _written(self, asked: np.ndarray, limit: int, view: int) -> list[Near]:
        """Return the nearest of the folder; of a folder whose table another process has replaced, of the new one."""
        for _ in range(2):
            try:
                return self._nearest(asked, limit, view)
            except FAILURES:
                self._take_over(self._path or Path())
        self._empty()
        return []

    def _nearest(self, asked: np.ndarray, limit: int, view: int) -> list[Near]:
        if view not in self._seen:
            self._seen[view] = int((self._rows.views == view).any(axis=1).sum())
        there = self._seen[view]
        if self._table is None or not there:
            return []
        # Of those that are found as many may have gone.
        wanted = min(limit + len(self._gone), there)
        found = self._table.nearest(asked, wanted, view)
        if len(found) < wanted:
            found = self._table.all_nearest(asked, wanted, view)
        return [near for near in found if near.place not in self._gone]

    def _take_over(self, path: Path) -> None:
        """Hold what lies in the folder now, with what came and went here; only that where the folder can't be used."""
        held, gone, last = self._held, self._gone, self._last
        self._empty()
        self._open(path)
        self._drop([*gone])
        self._put([*held.entries.values()])
        self._last = max(self._last, last)

    def _write(self, path: Path) -> None:
        with locked(path):
            self._write_alone(path)

    def _write_alone(self, path: Path) -> None:
        if self._said is not None and self._said.table != counting(path):
            self._take_over(path)
        name, count = next_table(path), self._stamp.vectors
        lists = lists_for(count) if count > self._exact_vectors else 0
        kept = self._table.batches(self._gone) if self._table else iter(())
        batch = as_batch([*self._held.entries.values()], self._held.vectors)
        table = Table.written(path / name, chain(kept, [batch]), self._stamp.dimensions, lists)
        rows = self._rows_of(table, self._stamp)
        self._hold(publish(path, Said(name, self._stamp, self._last, lists, {})), table, rows)

    def _rows_of(self, table: Table, due: Sequence[object]) -> Rows:
        """Return whose vectors a table has.

        Raises:
            UnusableError: they are not those of a stamp.
        """
        rows = table.rows()
        if self._stamp._replace(vectors=0, digest=0).plus(rows.marks.tolist()) != due:
            raise UnusableError("it does not hold what it says")
        return rows

    def _hold(self, said: Said, table: Table, rows: Rows) -> None:
        """Hold a table, and nothing else."""
        self._empty()
        self._said, self._table, self._rows, self._last = said, table, rows, said.last
        self._stamp = Stamp(*said.stamp)
        self._dirty = False
