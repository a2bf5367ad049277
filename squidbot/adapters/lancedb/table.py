"""A table of LanceDB: written whole or grown, and searched."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from squidbot.adapting.kept import VIEWS
from squidbot.core.vectors.values import Near

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from squidbot.core.vectors.values import Entry

# What is to be known of partitions that hold nothing: that is usual, and it would stand in the user's terminal.
os.environ.setdefault("LANCEDB_LOG", "error")
os.environ.setdefault("LANCE_LOG", "error")

import lancedb  # it reads the environment
from lancedb.index import IvfFlat  # the same

__all__ = ["Rows", "Table", "as_batch"]

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
    """One table in a folder of its own; nothing of it is changed once it has been written."""

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

    def grown(self, folder: Path, batch: pa.RecordBatch) -> Table:
        """Return a table with these rows, and some more, in another folder; files that are the same are linked.

        Raises:
            RuntimeError, ValueError, OSError: LanceDB can't, or the disk failed.
        """
        shutil.copytree(self.folder, folder, copy_function=_linked)
        table = lancedb.connect(str(folder)).open_table(NAME)
        table.add(batch)
        _clean(table)
        return Table(folder, self.lists)


def _linked(source: str, target: str) -> str:
    with suppress(OSError):  # where a disk has no links
        os.link(source, target)
        return target
    return shutil.copy2(source, target)


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
