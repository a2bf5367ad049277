"""Shared by indexes of vectors: how to add and remove entries, and how to open and save an index on disk."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from squidbot.core.errors import StoreError
from squidbot.core.vectors import VectorStamp, dots, unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.vectors import IndexHit, VectorEntry


# Views that see a memory: one for each policy of isolation.
VIEWS = 4
# Lists are rebuilt at this many times the number of vectors that they were made for.
OUTGROWN = 4


class UnusableError(Exception):
    """The saved index is unusable; the text says why."""


# Errors that packages raise, also when they read their own files.
FAILURES = (UnusableError, OSError, KeyError, ValueError, RuntimeError)


class BaseIndex(ABC):
    """The shared part of every VectorIndex; threads may share one, processes each have their own.

    A subclass holds the vectors, and calls `begin` at the end of its own `__init__`. If it is kept on disk, it defines
    reading and writing.
    """

    kept_as: ClassVar[str] = "file"  # or "folder", for people

    def __init__(self, path: str | Path | None, model: str, dimensions: int) -> None:
        """Take its path, `None` for no file, and the model of its vectors."""
        self._path = None if path is None else Path(path)
        self._fault = ""
        self._last = 0
        self._dirty = False
        self._lock = threading.RLock()
        self._stamp = VectorStamp(model, dimensions)

    def begin(self) -> None:
        """Load the saved index, if any."""
        self._empty()
        if self._path is not None:
            self._open(self._path)

    @property
    def fault(self) -> str:
        """Why the saved index could not be used, in one line; "" if it could, or if there was none."""
        return self._fault

    @property
    def last(self) -> int:
        """The highest place added since it was empty; 0 for none."""
        return self._last

    def stamp(self) -> VectorStamp:
        """Return its content."""
        return self._stamp

    def add(self, entries: Sequence[VectorEntry]) -> None:
        """Add entries, all or nothing. An existing place keeps its entry.

        Raises:
            StoreError: nothing was added: a vector has another number of dimensions, or a number is not finite.
        """
        with self._lock:
            new = {entry.place: entry for entry in entries}
            for place in self._known(list(new)):
                del new[place]
            if new:
                self._put(list(new.values()))
                self._stamp = self._stamp.plus(entry.mark for entry in new.values())
                self._last = max(self._last, *new)
                self._dirty = True
                self._grown()

    def remove(self, places: Sequence[int]) -> int:
        """Remove entries, and return how many existed."""
        with self._lock:
            marks = self._drop(places)
            if marks:
                self._stamp = self._stamp.minus(marks)
                self._dirty = True
                self._grown()
            return len(marks)

    def clear(self, expected: int = 0) -> None:  # noqa: ARG002  # for indexes that are laid out by it
        """Remove all. `expected`: number of entries to add next."""
        with self._lock:
            self._empty()

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Return the nearest that a view sees, best first, ties newest place first, at most `limit`.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
        """
        if len(vector) != self._stamp.dimensions:
            raise ValueError(f"expected a vector of {self._stamp.dimensions} numbers, got {len(vector)}")
        asked = unit(vector)
        with self._lock:
            found = self._found(asked, limit, view) if limit > 0 and view else []
        return sorted(found, key=lambda near: (-near.cosine, -near.place))[: max(limit, 0)]

    def save(self) -> None:
        """Write it to disk, whole or not at all; do nothing if it has no file, or the file is up to date.

        Raises:
            StoreError: the disk failed; the file is unchanged.
        """
        with self._lock:
            if self._path is None or not self._is_due(self._path):
                return
            try:
                self._write(self._path)
            except FAILURES as error:
                raise StoreError(
                    f"cannot save vectors: {_why(error)} @ {self._path}; the {self.kept_as} is unchanged"
                ) from error
            self._dirty, self._fault = False, ""

    def dots(self, vector: Sequence[float], others: Sequence[bytes]) -> list[float]:
        """Return the dot products of a vector and some others, as entries have them, in order."""
        return dots(vector, others)

    def close(self) -> None:
        """Release all it holds; a second call does nothing. It does not save."""
        with self._lock:
            self._empty()

    def _is_due(self, path: Path) -> bool:
        """Return whether the saved index is out of date."""
        del path
        return self._dirty

    def _open(self, path: Path) -> None:
        """Load the saved index, or note the reason."""
        try:
            self._take(path)
        except FileNotFoundError:
            return
        except FAILURES as error:
            self._empty()
            self._fault = f"vectors of {self._stamp.model!a:.80} are read from the store again: {_why(error)} @ {path}"

    def _refuse_other(self, model: object, dimensions: object) -> None:
        """Refuse another model.

        Raises:
            UnusableError: it is of another.
        """
        if (model, dimensions) != self._stamp[:2]:
            raise UnusableError(f"it is of {model!a:.80}, {dimensions} dimensions")

    def _empty(self) -> None:
        """Hold nothing; an override calls it."""
        self._stamp = self._stamp._replace(vectors=0, digest=0)
        self._last = 0
        self._dirty = True

    def _grown(self) -> None:  # noqa: B027  # not every index has more to do
        """Follow up additions and removals."""

    @abstractmethod
    def _known(self, places: Sequence[int]) -> Iterable[int]:
        """Return the places that exist, each once."""

    @abstractmethod
    def _put(self, entries: Sequence[VectorEntry]) -> None:
        """Add entries with new places; raise as `add`."""

    @abstractmethod
    def _drop(self, places: Sequence[int]) -> list[int]:
        """Remove entries, and return the marks of those that existed."""

    def _take(self, path: Path) -> None:  # noqa: B027  # not every index is kept on disk
        """Load the saved index, and nothing else, into an empty one.

        Raises:
            FileNotFoundError: there is none.
            UnusableError, OSError, KeyError, ValueError, RuntimeError: it can't be used.
        """

    def _write(self, path: Path) -> None:  # noqa: B027  # as above
        """Write the index, whole or not at all; raise as `_take`."""

    @abstractmethod
    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Return the nearest that a view sees, at least `limit` if it has as many, in any order."""


def lists_for(vectors: int) -> int:
    """Return the number of lists for vectors: about the square root of their number."""
    return 1 << round(math.log2(vectors) / 2)


def misfit(entry: VectorEntry, dimensions: int) -> StoreError:
    """Return the error text for a vector that can't be added."""
    return StoreError(
        f"the vector of memory {entry.memory_id!a:.80} is not {dimensions} finite numbers; nothing was taken in"
    )


def _why(error: Exception) -> str:
    """Return an error's text, in one line."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{said.partition(chr(10))[0]:.200}"
