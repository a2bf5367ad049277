"""The nearest of many vectors by FAISS, in memory, with a file beside the store."""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zlib import crc32

import faiss
import numpy as np

from squidbot.adapters.common.files import has_name, lock, open_own, sync
from squidbot.adapters.common.indexes import OUTGROWN, VIEWS, BaseIndex, UnusableError, lists_for, misfit
from squidbot.core.vectors import IndexHit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from squidbot.core.vectors import VectorEntry


# For each row of a FAISS index: its place, its mark, and the views that see it.

COLUMNS = 2 + VIEWS
FEWEST_ROWS = 1024


class VectorRows:
    """A table of integers with one row for each vector, in order of arrival.

    Its columns are place, mark and views; place and views are 0 in an empty row.
    """

    BYTES = COLUMNS * 8  # a row's bytes in a file

    def __init__(self) -> None:
        self._table = np.zeros((COLUMNS, FEWEST_ROWS), np.int64)
        self.size = 0
        self._seen: dict[int, tuple[np.ndarray, int]] = {}

    @property
    def places(self) -> np.ndarray:
        """The place of each row; 0 for an empty one."""
        return self._table[0, : self.size]

    @property
    def marks(self) -> np.ndarray:
        """The mark of each row; 0 for an empty one."""
        return self._table[1, : self.size]

    def add(self, entries: Sequence[VectorEntry]) -> None:
        """Append rows."""
        end = self.size + len(entries)
        if end > self._table.shape[1]:
            table = np.zeros((COLUMNS, max(end, self.size * 3 // 2)), np.int64)
            table[:, : self.size] = self._table[:, : self.size]
            self._table = table
        for number, each in enumerate(entries, self.size):
            self._table[:, number] = (each.place, each.mark, *(*each.views, *[0] * VIEWS)[:VIEWS])
        self.size = end
        self._seen.clear()

    def found(self, places: Sequence[int]) -> np.ndarray:
        """Return the rows with one of these places."""
        wanted = np.unique(np.array([place for place in places if place > 0], np.int64))
        if not len(wanted):
            return np.zeros(0, np.int64)
        where = np.minimum(np.searchsorted(wanted, self.places), len(wanted) - 1)
        return np.flatnonzero(wanted[where] == self.places)

    def empty(self, rows: np.ndarray) -> None:
        """Empty rows."""
        self._table[:, rows] = 0
        self._seen.clear()

    def close_up(self) -> None:
        """Remove empty rows: later ones get lower numbers."""
        kept = self._table[:, : self.size][:, self.places > 0]
        self._table, self.size = np.ascontiguousarray(kept), kept.shape[1]
        self._seen.clear()

    def seen(self, view: int) -> tuple[np.ndarray, int]:
        """Return the rows that a view sees, a bit each, lowest first, and their number."""
        if view not in self._seen:
            if len(self._seen) >= FEWEST_ROWS:
                self._seen.clear()
            views = self._table[2:, : self.size]
            mask = (views == view).any(axis=0) & (self.places > 0) & (view != 0)
            self._seen[view] = np.packbits(mask, bitorder="little"), int(mask.sum())
        return self._seen[view]

    def as_bytes(self) -> bytes:
        """Return all rows, column by column, as 64-bit integers, little-endian."""
        data: bytes = self._table[:, : self.size].astype("<i8").tobytes()
        return data

    @classmethod
    def of(cls, data: bytes) -> VectorRows:
        """Return the table of `as_bytes`.

        Raises:
            ValueError: the bytes are no whole rows.
        """
        rows = cls()
        rows._table = np.frombuffer(data, "<i8").reshape(COLUMNS, -1).astype(np.int64)
        rows.size = rows._table.shape[1]
        return rows


# A file proven whole or damaged: a line that identifies it, its bytes, and a final checksum.

MAGIC = b"squidbot vectors 1 "
MOST_HEAD_BYTES = 4096
CHUNK_BYTES = 1 << 20
TAIL = struct.Struct("<I")


class ChecksummedFile:
    """Writes to a file, with a running checksum; FAISS calls `write`, too."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.checksum = 0

    def write(self, data: bytes) -> int:
        """Write all of it."""
        self.checksum = crc32(data, self.checksum)
        return self._file.write(data)


@contextmanager
def write(path: Path, head: Mapping[str, object]) -> Iterator[ChecksummedFile]:
    """Replace a file, whole or not at all; durable on return.

    Raises:
        OSError: the disk failed; the file is unchanged.
    """
    with _unfinished(path) as file:
        out = ChecksummedFile(file)
        out.write(MAGIC + json.dumps(head).encode() + b"\n")
        yield out
        file.write(TAIL.pack(out.checksum))
        file.flush()
        os.fsync(file.fileno())
        if sys.platform == "win32":
            file.close()  # no open file is renamed there
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)  # an index of another kind, from the same source
        Path(file.name).replace(path)
    sync(path.parent)


@contextmanager
def _unfinished(path: Path) -> Iterator[BinaryIO]:
    """Open the empty file that will replace another; one process at a time, the others wait.

    Discard a dead process's partial file: it may hold forgotten memories.
    """
    part = path.with_name(f"{path.name}.part")
    while True:
        with open_own(part, "a") as file:
            if sys.platform != "win32":  # there the second of two simultaneous saves fails
                lock(file)
            if not has_name(file, part):  # it has replaced the file meanwhile
                continue
            try:
                file.truncate(0)
                yield file
            finally:
                if not file.closed and has_name(file, part):
                    with suppress(OSError):
                        part.unlink()
            return


@contextmanager
def opened(path: Path) -> Iterator[tuple[dict[str, Any], BinaryIO]]:
    """Open a file whose checksum is right; yield its first line, and the file after that line.

    Raises:
        UnusableError: it is damaged, truncated, or of another kind.
        FileNotFoundError: there is none.
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        line = file.readline(MOST_HEAD_BYTES)
        if not line.startswith(MAGIC):
            raise UnusableError("not a squidbot index, or another version")
        left, checksum = size - len(line) - TAIL.size, crc32(line)
        while left > 0 and (data := file.read(min(left, CHUNK_BYTES))):
            left, checksum = left - len(data), crc32(data, checksum)
        if left or file.read() != TAIL.pack(checksum):
            raise UnusableError("truncated or damaged: its checksum is wrong")
        head = json.loads(line[len(MAGIC) :])
        file.seek(len(line))
        yield head, file


# VectorIndex by FAISS: exact up to some ten thousand vectors, above in lists, a byte a number.

# Up to here a search compares every vector: 7 ms of CPU time at 384 dimensions, and nothing is missed.
EXACT_VECTORS = 50_000
# Above, vectors are in lists around centres, and a search reads the nearest lists: at least this many vectors, and this
# share. Of the benchmark's, which are hard to tell apart, a twenty-fifth found .91 at 1,000,000, and twice as many .97.
READ_VECTORS = 16_000
READ_FRACTION = 0.08
# Vectors per centre to learn from, and rounds; more of either finds hardly more.
LEARNED_FROM = 48
ROUNDS = 6
# FAISS adds faster in pieces: it finds a piece's centres in one product.
ADDED_ROWS = 50_000
# One thread adds fewer: on a busy machine, starting others would take longer than the work.
SHARED_ROWS = 1_000


class FaissIndex(BaseIndex):
    """VectorIndex in memory, with a file that `save` writes; threads may share one, processes each have their own.

    A search compares one view's vectors alone, so it finds enough in a small view of a large store. Removed vectors
    leave the memory at once, and the file at the next `save`.
    """

    def __init__(
        self, path: str | Path | None, model: str, dimensions: int, *, exact_vectors: int = EXACT_VECTORS
    ) -> None:
        """Open the index of a model's vectors in a file, or a new one; empty if the file can't be used.

        `exact_vectors`: up to this many, a search compares every vector.
        """
        super().__init__(path, model, dimensions)
        self._exact_vectors = exact_vectors
        self._rows = VectorRows()
        self._lists = self._expected = self._made_for = 0
        self.begin()

    @property
    def is_exact(self) -> bool:
        """Whether a search compares every vector."""
        return not self._lists

    @property
    def lists(self) -> int:
        """Number of lists; 0 if a search compares every vector."""
        return self._lists

    def places(self) -> Sequence[int]:
        """Return the places in the index, ascending."""
        with self._lock:
            places = self._rows.places
            return [int(place) for place in np.sort(places[places > 0])]

    def _known(self, places: Sequence[int]) -> list[int]:
        if not places or min(places) > self._last:
            return []
        found: list[int] = self._rows.places[self._rows.found(places)].tolist()
        return found

    def _put(self, entries: Sequence[VectorEntry]) -> None:
        vectors = self._matrix(entries)
        with _alone() if len(vectors) < SHARED_ROWS else nullcontext():
            if self._lists:
                numbers = np.arange(self._rows.size, self._rows.size + len(vectors), dtype=np.int64)
                self._index.add_with_ids(vectors, numbers)
            else:
                self._index.add(vectors)
        self._rows.add(entries)

    def _grown(self) -> None:
        if self.is_exact and self._stamp.vectors > self._exact_vectors:
            self._make_lists()

    def _drop(self, places: Sequence[int]) -> list[int]:
        rows = self._rows.found(places)
        marks: list[int] = self._rows.marks[rows].tolist()
        if marks:
            self._index.remove_ids(faiss.IDSelectorBatch(rows))
            self._rows.empty(rows)
            if self.is_exact:  # FAISS closes up the rows of an exact index, and no other
                self._rows.close_up()
        return marks

    def clear(self, expected: int = 0) -> None:
        """Remove all. `expected`: number of entries to add next: lists are made for as many."""
        with self._lock:
            self._empty()
            self._expected = expected

    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        seen, count = self._rows.seen(view)
        wanted = min(limit, count)
        if not wanted:
            return []
        row = np.array([asked], np.float32)
        found = self._nearest(row, wanted, seen, self._probes(count))
        if self._lists and len(found) < wanted:
            found = self._nearest(row, wanted, seen, self._lists)
        return found

    def _is_due(self, path: Path) -> bool:
        return self._dirty or not path.exists()

    def _write(self, path: Path) -> None:
        if self._lists and self._stamp.vectors > OUTGROWN * self._made_for:
            self._make_lists()
        head = {
            "model": self._stamp.model, "dimensions": self._stamp.dimensions, "rows": self._rows.size,
            "last": self._last, "made_for": self._made_for,
        }  # fmt: skip
        with write(path, head) as out:
            out.write(self._rows.as_bytes())
            faiss.write_index(self._index, faiss.PyCallbackIOWriter(out.write))

    def dots(self, vector: Sequence[float], others: Sequence[bytes]) -> list[float]:
        """Return the dot products of a vector and some others, as entries have them, in order."""
        rows = np.frombuffer(b"".join(others), "<f4").reshape(len(others), len(vector))
        return (rows.astype(np.float64) @ np.array(vector, np.float64)).tolist() if others else []

    def _empty(self) -> None:
        super()._empty()
        self._index: Any = faiss.IndexFlatIP(self._stamp.dimensions)
        self._rows = VectorRows()
        self._lists = self._expected = self._made_for = 0

    def _take(self, path: Path) -> None:
        with opened(path) as (head, file):
            self._refuse_other(head["model"], head["dimensions"])
            rows = VectorRows.of(file.read(head["rows"] * VectorRows.BYTES))
            index = faiss.read_index(faiss.PyCallbackIOReader(file.read))
        live = rows.places > 0
        if index.d != self._stamp.dimensions or index.ntotal != int(live.sum()):
            raise UnusableError("its parts do not match")
        self._rows, self._index, self._last, self._made_for = rows, index, head["last"], head["made_for"]
        self._lists = int(getattr(index, "nlist", 0))
        self._stamp = self._stamp.plus(int(mark) for mark in rows.marks[live])
        self._dirty = False

    def _matrix(self, entries: Sequence[VectorEntry]) -> np.ndarray:
        """Return vectors as rows of one matrix.

        Raises:
            StoreError: one has another number of dimensions, or a number is not finite.
        """
        size = self._stamp.dimensions * 4
        wrong = next((each for each in entries if len(each.vector) != size), None)
        if wrong is None:
            matrix = np.frombuffer(b"".join(each.vector for each in entries), "<f4").reshape(len(entries), -1)
            whole = np.isfinite(matrix).all(axis=1)
            if whole.all():
                return matrix.astype(np.float32, copy=False)
            wrong = entries[int(np.argmin(whole))]
        raise misfit(wrong, self._stamp.dimensions)

    def _nearest(self, asked: np.ndarray, wanted: int, seen: np.ndarray, probes: int) -> list[IndexHit]:
        selector = faiss.IDSelectorBitmap(seen)
        if self._lists:
            how = faiss.SearchParametersIVF(sel=selector, nprobe=probes)
        else:
            how = faiss.SearchParameters(sel=selector)
        with _alone():
            cosines, rows = self._index.search(asked, wanted, params=how)
        places = self._rows.places
        return [
            IndexHit(int(places[row]), max(-1.0, min(1.0, float(cosine))))
            for row, cosine in zip(rows[0], cosines[0], strict=True)
            if row >= 0
        ]

    def _probes(self, count: int) -> int:
        """Return the number of lists, across the store, with enough of a view's vectors to compare."""
        share = max(READ_VECTORS / max(count, 1), READ_FRACTION)
        return max(1, min(self._lists, round(self._lists * share)))

    def _make_lists(self) -> None:
        """Put all vectors into lists."""
        count = max(self._stamp.vectors, self._expected)
        lists = lists_for(count)
        dimensions = self._stamp.dimensions
        index = faiss.IndexIVFScalarQuantizer(
            faiss.IndexFlatIP(dimensions), dimensions, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
        )
        index.cp.niter = ROUNDS
        index.cp.min_points_per_centroid = 1
        old = self._index
        if self._lists:
            old.set_direct_map_type(faiss.DirectMap.Hashtable)
        rows = np.flatnonzero(self._rows.places > 0)
        sample = np.sort(np.random.default_rng(0).permutation(rows)[: LEARNED_FROM * lists])
        index.train(old.reconstruct_batch(sample))
        for first in range(0, len(rows), ADDED_ROWS):
            piece = rows[first : first + ADDED_ROWS]
            index.add_with_ids(old.reconstruct_batch(piece), piece)
        self._index, self._lists, self._made_for = index, lists, count


@contextmanager
def _alone() -> Iterator[None]:
    """Limit FAISS to this thread."""
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # OpenMP keeps that for each calling thread
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
