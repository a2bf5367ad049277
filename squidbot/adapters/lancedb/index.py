"""VectorIndex by LanceDB: what lies in the folder, what came since, and what has gone since."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from squidbot.adapters.lancedb import folder as folders
from squidbot.adapters.lancedb.held import Held
from squidbot.adapters.lancedb.table import Rows, Table, as_batch
from squidbot.adapting.kept import FAILURES, OUTGROWN, VIEWS, KeptIndex, UnusableError, lists_for
from squidbot.core.errors import StoreError
from squidbot.core.vectors.values import Stamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.vectors.values import Entry, Near

__all__ = ["LanceIndex"]

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
            return sorted(chain((p for p in self._rows.places.tolist() if p not in self._gone), self._held.places))

    def add(self, entries: Sequence[Entry]) -> None:
        """Take entries in, all or nothing. A place that is there stays as it is.

        Raises:
            StoreError: nothing was taken in: a vector has another number of dimensions, or a number is not finite.
        """
        with self._lock:
            self._put(entries)
            if len(self._held) > self._held_vectors:
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
        self._said: folders.Said | None = None
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
        if place in self._held:
            return True
        row = self._row(place)
        found = row < len(self._rows.places) and int(self._rows.places[row]) == place
        return found and place not in self._gone

    # -- what lies in the folder --

    def _take(self, path: Path) -> None:
        said = folders.read(path)
        self._refuse_other(*said.stamp[:2])
        folders.checked(path, said)
        table = Table(path / said.table, said.lists)
        self._hold(said, table, self._rows_of(table, said.stamp))

    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[Near]:
        vector = np.array(asked, np.float32)
        return [*self._held.nearest(vector, limit, view), *self._written(vector, limit, view)]

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
        self._put(held.entries)
        self._last = max(self._last, last)

    def _write(self, path: Path) -> None:
        with folders.locked(path):
            self._write_alone(path)

    def _write_alone(self, path: Path) -> None:
        if self._said is not None and self._said.table != folders.counting(path):
            self._take_over(path)
        name, old, lists, made_for = folders.next_table(path), self._said, *self._lists_due()
        batch = as_batch(self._held.entries, self._held.vectors)
        if self._table is None or self._gone or lists != self.lists:
            kept = self._table.batches(self._gone) if self._table else iter(())
            table, old = Table.written(path / name, chain(kept, [batch]), self._stamp.dimensions, lists), None
        else:
            table = self._table.grown(path / name, batch)
        rows = self._rows_of(table, self._stamp)
        said = folders.Said(name, (*self._stamp[:2], *self._stamp[2:]), self._last, lists, made_for, {})
        self._hold(folders.publish(path, said, old), table, rows)

    def _lists_due(self) -> tuple[int, int]:
        """Return how many lists there should be, and for how many vectors they are made."""
        count, made_for = self._stamp.vectors, self._said.made_for if self._said else 0
        if count <= self._exact_vectors:
            return 0, 0
        if self._said and self.lists and made_for / OUTGROWN <= count <= OUTGROWN * made_for:
            return self.lists, made_for
        return lists_for(count), count

    def _rows_of(self, table: Table, due: Sequence[object]) -> Rows:
        """Return whose vectors a table has.

        Raises:
            UnusableError: they are not those of a stamp.
        """
        rows = table.rows()
        if self._stamp._replace(vectors=0, digest=0).plus(rows.marks.tolist()) != due:
            raise UnusableError("it does not hold what it says")
        return rows

    def _hold(self, said: folders.Said, table: Table, rows: Rows) -> None:
        """Hold a table, and nothing else."""
        self._empty()
        self._said, self._table, self._rows, self._last = said, table, rows, said.last
        self._stamp = Stamp(*said.stamp)
        self._dirty = False
