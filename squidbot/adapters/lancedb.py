"""The nearest of many vectors by LanceDB: in a folder beside the store, and not in memory."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import contextmanager, suppress
from datetime import timedelta
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import IvfFlat

from squidbot.adapters.common.files import OWN_FILE, OWN_FOLDER, lock, make_folder, open_own, sync
from squidbot.adapters.common.indexes import FAILURES, VIEWS, BaseIndex, UnusableError, lists_for, misfit
from squidbot.core.errors import StoreError
from squidbot.core.vectors import IndexHit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.vectors import VectorEntry, VectorStamp


# LanceDB warns about empty partitions, which are usual, in the user's terminal.
os.environ.setdefault("LANCEDB_LOG", "error")
os.environ.setdefault("LANCE_LOG", "error")

FORMAT = "squidbot vectors by LanceDB 3"
STATE_NAME = "index.json"
NAME = "vectors"
ROWS = ("place", "mark", *(f"view{number}" for number in range(VIEWS)))
BATCH_ROWS = 8_192
# Vectors per centre to learn from, and rounds; more of either finds hardly more.
LEARNED_FROM = 48
ROUNDS = 6
# A search reads this share of the lists, and at least this many.
READ_FRACTION = 0.1
READ_LISTS = 16
# Older versions of a table are deleted; LanceDB warns at an age of zero, as if others could be reading them.
OLDER = timedelta(milliseconds=1)
# This many vectors wait in memory before an automatic save: 150 MB at 384 dimensions.
HELD_VECTORS = 100_000
# Up to this many in the folder, a search compares every vector; above, they are in lists around centres.
EXACT_VECTORS = 5_000
# Up to this many removed vectors are filtered from results; beyond it the table is rewritten.
MOST_GONE = 1_000


class LanceIndex(BaseIndex):
    """VectorIndex in a folder; threads may share one, processes each have their own.

    Vectors stay in the folder's files, which a search reads as needed. Changes since the last save are in memory.
    `save` writes a new table without removed vectors, makes it current, and deletes the one before. The next `save`
    also takes over another process's saved vectors, with the changes here.
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
        """Open the index of a model's vectors in a folder, or a new one; empty if it can't be used.

        `held_vectors`: how many wait in memory before an automatic save; `exact_vectors`: up to how many in the folder
        a search compares every vector.
        """
        super().__init__(path, model, dimensions)
        self._held_vectors = held_vectors
        self._exact_vectors = exact_vectors
        self.begin()

    @property
    def lists(self) -> int:
        """Number of lists for the folder's vectors; 0 if every vector is compared."""
        return self._saved.lists if self._saved else 0

    def stamp(self) -> VectorStamp:
        """Return its content; without that of a table deleted meanwhile."""
        with self._lock:
            if self._path and self._saved and not (self._path / self._saved.table).exists():
                self._take_over(self._path)
            return self._stamp

    def places(self) -> Sequence[int]:
        """Return the places in the index, ascending."""
        with self._lock:
            return sorted(chain((p for p in self._places.tolist() if p not in self._gone), self._held))

    # -- what it holds --

    def _empty(self) -> None:
        super()._empty()
        # The current table, and the vector in each of its rows, by place.
        self._saved: SavedTable | None = None
        self._table: Any = None
        self._places = self._marks = np.zeros(0, np.int64)
        self._views = np.zeros((0, VIEWS), np.int64)
        self._seen: dict[int, int] = {}  # number of its vectors that a view sees
        # Vectors added, and those removed from the table, since the last save.
        self._held: dict[int, VectorEntry] = {}
        self._held_matrix: np.ndarray | None = None
        self._gone: set[int] = set()

    def _row(self, place: int) -> int | None:
        """Return the row of a place in the table; `None` if it is missing or removed."""
        row = int(np.searchsorted(self._places, place))
        is_there = row < len(self._places) and self._places[row] == place and place not in self._gone
        return row if is_there else None

    def _known(self, places: Sequence[int]) -> list[int]:
        return [place for place in places if place in self._held or self._row(place) is not None]

    def _put(self, entries: Sequence[VectorEntry]) -> None:
        self._matrix(entries)
        self._held.update((entry.place, entry) for entry in entries)
        self._held_matrix = None

    def _drop(self, places: Sequence[int]) -> list[int]:
        marks = []
        for place in dict.fromkeys(places):
            entry, row = self._held.pop(place, None), self._row(place)
            if entry is not None:
                marks.append(entry.mark)
                self._held_matrix = None
            elif row is not None:
                marks.append(int(self._marks[row]))
                self._gone.add(place)
        return marks

    def _grown(self) -> None:
        """Save automatically, to limit memory; `save` reports a failure."""
        if len(self._held) > self._held_vectors or len(self._gone) > MOST_GONE:
            with suppress(StoreError):
                self.save()

    def _matrix(self, entries: Sequence[VectorEntry]) -> np.ndarray:
        dimensions = self._stamp.dimensions
        vectors = np.zeros((len(entries), dimensions), np.float32)
        for row, entry in enumerate(entries):
            if len(entry.vector) != 4 * dimensions:
                raise misfit(entry, dimensions)
            vectors[row] = np.frombuffer(entry.vector, "<f4")
            if not np.isfinite(vectors[row]).all():
                raise misfit(entry, dimensions)
        return vectors

    # -- searching --

    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Search; if another process has replaced the table, search the folder's present one."""
        vector = np.array(asked, np.float32)
        for _ in range(2):
            try:
                return [*self._nearest_held(vector, view), *self._nearest_saved(vector, limit, view)]
            except FAILURES:
                self._take_over(self._path or Path())
        self._empty()
        return []

    def _nearest_held(self, vector: np.ndarray, view: int) -> list[IndexHit]:
        if self._held_matrix is None:
            self._held_matrix = self._matrix(list(self._held.values()))
        seen = [(row, entry.place) for row, entry in enumerate(self._held.values()) if view in entry.views]
        cosines = self._held_matrix[[row for row, _ in seen]] @ vector if seen else ()
        return [IndexHit(place, float(cosine)) for (_, place), cosine in zip(seen, cosines, strict=True)]

    def _nearest_saved(self, vector: np.ndarray, limit: int, view: int) -> list[IndexHit]:
        if view not in self._seen:
            self._seen[view] = int((self._views == view).any(axis=1).sum())
        there = self._seen[view]
        if not there:
            return []
        wanted = min(limit + len(self._gone), there)  # as many of the results may be removed ones
        probes = max(READ_LISTS, round(READ_FRACTION * self.lists))
        found = self._query(vector, wanted, view, probes if self.lists > probes else 0)
        if len(found) < wanted and self.lists > probes:
            found = self._query(vector, wanted, view, 0)
        return [near for near in found if near.place not in self._gone]

    def _query(self, vector: np.ndarray, limit: int, view: int, probes: int) -> list[IndexHit]:
        """Query LanceDB for the nearest that a view sees; `probes`: number of lists, 0 to compare all."""
        query = self._table.search(vector, vector_column_name="vector").distance_type("dot")
        query = query.nprobes(probes) if probes else query.bypass_vector_index()
        seen = " OR ".join(f"{name} = {view}" for name in ROWS[2:])
        found = query.where(seen, prefilter=True).select(["place", "_distance"]).limit(limit).to_arrow()
        pairs = zip(found["place"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        return [IndexHit(place, max(-1.0, min(1.0, 1.0 - distance))) for place, distance in pairs]

    # -- the folder --

    def _take(self, path: Path) -> None:
        saved = read_state(path)
        self._refuse_other(saved.model, saved.dimensions)
        check_files(path, saved)
        self._hold(path, saved)

    def _hold(self, path: Path, saved: SavedTable) -> None:
        """Hold a table of the folder, and nothing else."""
        table = lancedb.connect(str(path / saved.table)).open_table(NAME)
        found = table.search().select([*ROWS]).limit(table.count_rows() or 1).to_arrow()
        columns = [found[name].to_numpy() for name in ROWS]
        order = np.argsort(columns[0])
        places, marks, *views = (column[order] for column in columns)
        self._empty()
        self._saved, self._table, self._last = saved, table, saved.last
        self._places, self._marks, self._views = places, marks, np.stack(views, axis=1)
        self._stamp = self._stamp.plus(marks.tolist())
        self._dirty = False

    def _take_over(self, path: Path) -> None:
        """Hold the folder's present table, with the changes here; only these if the folder can't be used."""
        held, gone, last = self._held, self._gone, self._last
        self._empty()
        self._open(path)
        self._stamp = self._stamp.minus(self._drop([*gone]))
        new = [held[place] for place in held if not self._known([place])]
        self._put(new)
        self._stamp = self._stamp.plus(entry.mark for entry in new)
        self._last, self._dirty = max(self._last, last), True

    def _write(self, path: Path) -> None:
        with locked(path):
            if self._saved is not None and self._saved.table != table_of(path):
                self._take_over(path)
            delete_but(path, table_of(path))
            name = str(max((int(each.name) for each in path.iterdir() if each.name.isdecimal()), default=0) + 1)
            count = self._stamp.vectors
            lists = lists_for(count) if count > self._exact_vectors else 0
            self._write_table(path / name, lists)
            stamp = self._stamp
            self._hold(path, publish(path, SavedTable(name, stamp.model, stamp.dimensions, self._last, lists, {})))

    def _write_table(self, folder: Path, lists: int) -> None:
        """Write its content as a table with an index of this many lists, in one version."""
        vector = pa.field("vector", pa.list_(pa.float32(), self._stamp.dimensions))
        schema = pa.schema([*(pa.field(name, pa.int64()) for name in ROWS), vector])
        batches = (batch.cast(schema) for batch in chain(self._kept_batches(), [self._held_batch(schema)]))
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        table = lancedb.connect(str(folder)).create_table(NAME, reader)
        if lists:
            index = IvfFlat(distance_type="dot", num_partitions=lists, max_iterations=ROUNDS, sample_rate=LEARNED_FROM)
            table.create_index("vector", config=index)
        table.optimize()
        time.sleep(2 * OLDER.total_seconds())
        table.optimize(cleanup_older_than=OLDER, delete_unverified=True)

    def _kept_batches(self) -> Iterator[pa.RecordBatch]:
        if self._table is not None:
            gone = np.fromiter(self._gone, np.int64)
            found = self._table.search().select([*ROWS, "vector"]).limit(self._table.count_rows() or 1)
            for batch in found.to_batches(BATCH_ROWS):
                yield batch.filter(pa.array(~np.isin(batch["place"].to_numpy(), gone)))

    def _held_batch(self, schema: pa.Schema) -> pa.RecordBatch:
        rows = [(each.place, each.mark, *(*each.views, *[0] * VIEWS)[:VIEWS]) for each in self._held.values()]
        columns = np.array(rows, np.int64).reshape(len(rows), len(ROWS)).T
        flat = pa.array(self._matrix(list(self._held.values())).ravel())
        vectors = pa.FixedSizeListArray.from_arrays(flat, self._stamp.dimensions)
        return pa.RecordBatch.from_arrays([*map(pa.array, columns), vectors], schema=schema)


# The current one of a folder's tables, and whether its files are unchanged.


class SavedTable(NamedTuple):
    """The current table.

    Attributes:
        table: its name in the folder.
        model, dimensions: those of its vectors.
        last: the highest place ever added.
        lists: number of lists of its index; 0 if every vector is compared.
        files: the SHA-256 of each of its files, by the path below the table.
    """

    table: str
    model: str
    dimensions: int
    last: int
    lists: int
    files: dict[str, str]


def read_state(folder: Path) -> SavedTable:
    """Return the current table of a folder.

    Raises:
        UnusableError: the folder is not ours, or damaged.
        FileNotFoundError: there is none.
        OSError: it can't be read.
    """
    if folder.exists() and not folder.is_dir():
        raise UnusableError("not a folder")
    try:
        data, _, checksum = (folder / STATE_NAME).read_bytes().rstrip(b"\n").rpartition(b"\n")
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise UnusableError(f"{STATE_NAME} is missing") from None
        raise
    if checksum != b"%d" % crc32(data):
        raise UnusableError(f"{STATE_NAME} is truncated or damaged")
    state = json.loads(data)
    if state.pop("format", "") != FORMAT:
        raise UnusableError(f"{STATE_NAME} is of another version")
    return SavedTable(**state)


def check_files(folder: Path, saved: SavedTable) -> None:
    """Read all files of the current table, and check that they are unchanged.

    Raises:
        UnusableError: one is missing, truncated, damaged, or not ours.
        OSError: one can't be read.
    """
    files = _files(folder / saved.table)
    for name in {**saved.files, **files}:
        if name not in files or name not in saved.files:
            raise UnusableError(f"{saved.table}/{name} is {'not a file of the index' if name in files else 'missing'}")
        if files[name] != saved.files[name]:
            raise UnusableError(f"{saved.table}/{name} is truncated or damaged: its checksum is wrong")


def table_of(folder: Path) -> str | None:
    """Return the name of the current table; `None` for none."""
    with suppress(*FAILURES):
        return read_state(folder).table
    return None


def publish(folder: Path, saved: SavedTable) -> SavedTable:
    """Make a table current, durably, and delete all others; return it with its files.

    Raises:
        OSError: the disk failed; the old table stays current.
    """
    table = folder / saved.table
    for path in (table, *table.rglob("*")):  # LanceDB makes them readable for all
        path.chmod(OWN_FOLDER if path.is_dir() else OWN_FILE)
        if path.is_file():
            sync(path)
    saved = saved._replace(files=_files(table))
    data = json.dumps({"format": FORMAT, **saved._asdict()}).encode()
    part = folder / f"{STATE_NAME}.part"
    with open_own(part, "w") as file:
        file.write(b"%b\n%d\n" % (data, crc32(data)))
    sync(part)
    part.replace(folder / STATE_NAME)
    sync(folder)
    delete_but(folder, saved.table)
    return saved


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time save to a folder; create it, and delete anything else in its place.

    Raises:
        OSError: it can't be made.
    """
    if folder.exists() and not folder.is_dir():
        folder.unlink()
    make_folder(folder)
    with open_own(folder / "lock", "a") as file:
        lock(file)  # released when the file is closed, and when the process dies
        yield


def delete_but(folder: Path, table: str | None) -> None:
    """Delete all tables of a folder but one."""
    for each in folder.iterdir():
        if each.name.isdecimal() and each.name != table:
            shutil.rmtree(each, ignore_errors=sys.platform == "win32")  # there no open file can be deleted


def _files(table: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a table, by the path below it."""
    found = {}
    for path in sorted(path for path in table.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            found[path.relative_to(table).as_posix()] = file_digest(file, "sha256").hexdigest()
    return found
