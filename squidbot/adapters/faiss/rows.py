"""Whose vector is which: for each row of a FAISS index its place, its mark, and the views that see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from squidbot.adapting.kept import VIEWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.vectors.values import Entry

__all__ = ["Rows"]

COLUMNS = 2 + VIEWS
FEWEST_ROWS = 1024


class Rows:
    """A table of integers with one row for each vector, in the order of their coming.

    Its columns are place, mark and views; a place of 0 says that the row is empty, as are views of 0.
    """

    BYTES = COLUMNS * 8  # what a row takes in a file

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

    def add(self, entries: Sequence[Entry]) -> None:
        """Put rows behind the last one."""
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
        """Return which rows have one of these places."""
        wanted = np.unique(np.array([place for place in places if place > 0], np.int64))
        if not len(wanted):
            return np.zeros(0, np.int64)
        where = np.minimum(np.searchsorted(wanted, self.places), len(wanted) - 1)
        return np.flatnonzero(wanted[where] == self.places)

    def empty(self, rows: np.ndarray) -> None:
        """Leave nothing in rows but that they are empty."""
        self._table[:, rows] = 0
        self._seen.clear()

    def close_up(self) -> None:
        """Take empty rows out: those behind them get lower numbers."""
        kept = self._table[:, : self.size][:, self.places > 0]
        self._table, self.size = np.ascontiguousarray(kept), kept.shape[1]
        self._seen.clear()

    def seen(self, view: int) -> tuple[np.ndarray, int]:
        """Return which rows a view sees, a bit each, lowest first, and how many they are."""
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
    def of(cls, data: bytes) -> Rows:
        """Return what `as_bytes` was of.

        Raises:
            ValueError: these are no whole rows.
        """
        rows = cls()
        rows._table = np.frombuffer(data, "<i8").reshape(COLUMNS, -1).astype(np.int64)
        rows.size = rows._table.shape[1]
        return rows
