"""What indexes of vectors share: how entries come and go, and how one that is kept on disk is opened and saved."""

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


# How many views see a memory: one for each policy of isolation.
VIEWS = 4
# Lists are made anew when there are so many times as many vectors as they were made for.
OUTGROWN = 4


class UnusableError(Exception):
    """What is kept can't be used; the text says why."""


# What packages raise, and reading what they have written, whatever has happened.
FAILURES = (UnusableError, OSError, KeyError, ValueError, RuntimeError)


class BaseIndex(ABC):
    """The part of a VectorIndex that all share; threads may share one, processes each have their own.

    A subclass holds the vectors, and calls `begin` at the end of its own `__init__`. One that is kept on disk says how
    it is read from there, and written.
    """

    kept_as: ClassVar[str] = "file"  # or "folder", for people

    def __init__(self, path: str | Path | None, model: str, dimensions: int) -> None:
        """Take where it is kept, None for nowhere, and whose vectors it is of."""
        self._path = None if path is None else Path(path)
        self._fault = ""
        self._last = 0
        self._dirty = False
        self._lock = threading.RLock()
        self._stamp = VectorStamp(model, dimensions)

    def begin(self) -> None:
        """Hold what is kept, or nothing."""
        self._empty()
        if self._path is not None:
            self._open(self._path)

    @property
    def fault(self) -> str:
        """Why what was there could not be used, in one line; "" where it could, or nothing was there."""
        return self._fault

    @property
    def last(self) -> int:
        """The highest place that was taken in since it was empty; 0 for none."""
        return self._last

    def stamp(self) -> VectorStamp:
        """Return what it holds."""
        return self._stamp

    def add(self, entries: Sequence[VectorEntry]) -> None:
        """Take entries in, all or nothing. A place that is there stays as it is.

        Raises:
            StoreError: nothing was taken in: a vector has another number of dimensions, or a number is not finite.
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
        """Take entries out, and return how many were there."""
        with self._lock:
            marks = self._drop(places)
            if marks:
                self._stamp = self._stamp.minus(marks)
                self._dirty = True
                self._grown()
            return len(marks)

    def clear(self, expected: int = 0) -> None:  # noqa: ARG002  # for indexes that are laid out by it
        """Take all out. `expected`: how many are about to be taken in."""
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
        """Write it to the disk, whole or not at all; nothing where it is kept nowhere, or is there as it should be.

        Raises:
            StoreError: the disk failed; what is there is as it was.
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
        """Return the sum of the products of a vector and each of some others, as entries have them, in order."""
        return dots(vector, others)

    def close(self) -> None:
        """Give back what is held; a second call does nothing. It does not save."""
        with self._lock:
            self._empty()

    def _is_due(self, path: Path) -> bool:
        """Say whether what is there is not what it should be."""
        del path
        return self._dirty

    def _open(self, path: Path) -> None:
        """Hold what is there, or nothing, and say why."""
        try:
            self._take(path)
        except FileNotFoundError:
            return
        except FAILURES as error:
            self._empty()
            self._fault = f"vectors of {self._stamp.model!a:.80} are read from the store again: {_why(error)} @ {path}"

    def _refuse_other(self, model: object, dimensions: object) -> None:
        """Pass what is of this model.

        Raises:
            UnusableError: it is of another.
        """
        if (model, dimensions) != self._stamp[:2]:
            raise UnusableError(f"it is of {model!a:.80}, {dimensions} dimensions")

    def _empty(self) -> None:
        """Hold nothing; who overrides it calls it."""
        self._stamp = self._stamp._replace(vectors=0, digest=0)
        self._last = 0
        self._dirty = True

    def _grown(self) -> None:  # noqa: B027  # not every index has more to do
        """Do what is due after entries came or went."""

    @abstractmethod
    def _known(self, places: Sequence[int]) -> Iterable[int]:
        """Return those of some places that are there, each once."""

    @abstractmethod
    def _put(self, entries: Sequence[VectorEntry]) -> None:
        """Take in entries that are not there; raises as `add`."""

    @abstractmethod
    def _drop(self, places: Sequence[int]) -> list[int]:
        """Take entries out, and return the marks of those that were there."""

    def _take(self, path: Path) -> None:  # noqa: B027  # not every index is kept on disk
        """Hold what is there, and nothing else; by then nothing is held.

        Raises:
            FileNotFoundError: nothing is there.
            UnusableError, OSError, KeyError, ValueError, RuntimeError: it can't be used.
        """

    def _write(self, path: Path) -> None:  # noqa: B027  # as above
        """Write what is held, whole or not at all; raises as `_take`."""

    @abstractmethod
    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Return the nearest that a view sees, at least `limit` where there are as many, in any order."""


def lists_for(vectors: int) -> int:
    """Return into how many lists vectors are put: about as many as the square root of their number."""
    return 1 << round(math.log2(vectors) / 2)


def misfit(entry: VectorEntry, dimensions: int) -> StoreError:
    """Return what is said of a vector that can't be taken in."""
    return StoreError(
        f"the vector of memory {entry.memory_id!a:.80} is not {dimensions} finite numbers; nothing was taken in"
    )


def _why(error: Exception) -> str:
    """Return what an error says, in one line."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{said.partition(chr(10))[0]:.200}"
