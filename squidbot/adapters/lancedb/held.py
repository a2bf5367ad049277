"""What came since the table was written: its rows and vectors in memory, each compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from squidbot.adapting.kept import misfit
from squidbot.core.vectors.values import Near

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.vectors.values import Entry

__all__ = ["Held"]

FEWEST_ROWS = 64


class Held:
    """Entries in memory, by their places."""

    def __init__(self, dimensions: int) -> None:
        """Hold nothing yet."""
        self._matrix = np.zeros((FEWEST_ROWS, dimensions), np.float32)
        self._entries: list[Entry | None] = []
        self._rows: dict[int, int] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._rows)

    def __contains__(self, place: int) -> bool:
        """Return whether one is there."""
        return place in self._rows

    @property
    def places(self) -> Iterable[int]:
        """Their places."""
        return self._rows.keys()

    @property
    def entries(self) -> list[Entry]:
        """All of them, in the order of their coming."""
        return [each for each in self._entries if each is not None]

    @property
    def vectors(self) -> np.ndarray:
        """Their vectors, a row each."""
        rows = [row for row, each in enumerate(self._entries) if each is not None]
        vectors: np.ndarray = self._matrix[rows]
        return vectors

    def add(self, entries: Sequence[Entry]) -> None:
        """Take entries in, all or nothing.

        Raises:
            StoreError: a vector has another number of dimensions, or a number that is not finite.
        """
        vectors = self._checked(entries)
        end = len(self._entries) + len(entries)
        if end > len(self._matrix):
            larger = np.zeros((max(end, 2 * len(self._matrix)), self._matrix.shape[1]), np.float32)
            larger[: len(self._entries)] = self._matrix[: len(self._entries)]
            self._matrix = larger
        self._matrix[len(self._entries) : end] = vectors
        self._rows.update((each.place, row) for row, each in enumerate(entries, len(self._entries)))
        self._entries.extend(entries)

    def pop(self, place: int) -> Entry | None:
        """Take one out, and return it; None where it was not there."""
        row = self._rows.pop(place, None)
        if row is None:
            return None
        entry, self._entries[row] = self._entries[row], None
        self._matrix[row] = 0
        return entry

    def nearest(self, vector: np.ndarray, limit: int, view: int) -> list[Near]:
        """Return the nearest that a view sees, best first, ties newest place first."""
        seen = [each.place for each in self.entries if view in each.views]
        if not seen:
            return []
        cosines = self._matrix[[self._rows[place] for place in seen]] @ vector
        found = (Near(place, float(cosine)) for place, cosine in zip(seen, cosines, strict=True))
        return sorted(found, key=lambda near: (-near.cosine, -near.place))[:limit]

    def _checked(self, entries: Sequence[Entry]) -> np.ndarray:
        dimensions = self._matrix.shape[1]
        vectors = np.zeros((len(entries), dimensions), np.float32)
        for row, each in enumerate(entries):
            if len(each.vector) == 4 * dimensions:
                vectors[row] = np.frombuffer(each.vector, "<f4")
            if len(each.vector) != 4 * dimensions or not np.isfinite(vectors[row]).all():
                raise misfit(each, dimensions)
        return vectors
