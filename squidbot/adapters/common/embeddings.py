"""What the cosines of known embedders say of an answer, whichever runtime they are run by: measured, not guessed."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from squidbot.core.errors import StoreError
from squidbot.core.vectors import Stamp, dot, unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.ports import Embedder
    from squidbot.core.vectors import Entry, Near


# An embedder is known by what it makes of this.
SENTENCE: Final = "The squid is deep in the sea."
# How alike the first numbers have to be. Those of MiniLM's weights in 16 bits are so to .9999, in 8 to .9997 or, with
# one scale for a matrix, .979, in 4 to .972; what is told and what is not was the same with all of these. Two models
# come so near by no chance: of 24 numbers that have nothing to do with each other the cosine is most often under .4.
SAME_COSINE: Final = 0.96


class MeasuredModel(NamedTuple):
    """A model whose cosines were measured.

    Attributes:
        even: as `core.ports.Calibrated` has it.
        dimensions: how many numbers a vector of it has.
        first: the first numbers of the sentence's vector, in thousandths.
    """

    even: float
    dimensions: int
    first: tuple[int, ...]


# all-MiniLM-L6-v2. Fitted with the numbers of `core.memory.search.ranking` on questions that belong and others, .26 to
# .28 where one of four kinds of texts was left out; a little above these: a guess that is told costs more.
MINILM: Final = MeasuredModel(
    0.29,
    384,
    (-52, 36, 40, -11, -71, -70, -7, -41, 12, -22, -3, -140, -29, 71, 59, -29, 30, -50, -18, -61, 44, 85, -30, -45),
)


def known_even(embedder: Embedder) -> float | None:
    """Return by how much the nearest stands out that answers as likely as not; None where nobody has measured it.

    One text is embedded for it, unless the number of dimensions tells already.

    Raises:
        LLMError: no vector can be had now.
    """
    if embedder.dimensions != MINILM.dimensions:
        return None
    first = [vector[: len(MINILM.first)] for vector in embedder.embed([SENTENCE])]
    same = [_cosine(each, MINILM.first) >= SAME_COSINE for each in first]
    return MINILM.even if same == [True] else None


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return dot(one, other) / (hypot(*one) * hypot(*other) or 1.0)


# An index of vectors that is kept on disk: opened or found unusable, stamped, saved.

# How many views see a memory: one for each policy of isolation.
VIEWS = 4
# Lists are made anew when there are so many times as many vectors as they were made for.
OUTGROWN = 4


class UnusableError(Exception):
    """What is kept can't be used; the text says why."""


# What packages raise, and reading what they have written, whatever has happened.
FAILURES = (UnusableError, OSError, KeyError, ValueError, RuntimeError)


class KeptIndex(ABC):
    """The frame of a VectorIndex that is kept on disk; threads may share one, processes each have their own.

    Whoever makes one of it says how all is taken out, what is taken over from the disk, and how it is written there;
    and calls `begin` at the end of its own `__init__`.
    """

    kept_as: ClassVar[str]  # "file" or "folder", for people

    def __init__(self, path: str | Path | None, model: str, dimensions: int) -> None:
        """Take where it is kept, None for nowhere, and whose vectors it is of."""
        self._path = None if path is None else Path(path)
        self._fault = ""
        self._last = 0
        self._dirty = False
        self._lock = threading.RLock()
        self._stamp = Stamp(model, dimensions)

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

    def stamp(self) -> Stamp:
        """Return what it holds."""
        return self._stamp

    def add(self, entries: Sequence[Entry]) -> None:
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

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[Near]:
        """Return the nearest that a view sees, best first, ties newest place first, at most `limit`.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
        """
        if len(vector) != self._stamp.dimensions:
            raise ValueError(f"a vector of {len(vector)} numbers, where {self._stamp.dimensions} are compared")
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
                    f"vectors can't be saved: {_why(error)} @ {self._path}; the {self.kept_as} is as it was"
                ) from error
            self._dirty, self._fault = False, ""

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
    def _put(self, entries: Sequence[Entry]) -> None:
        """Take in entries that are not there; raises as `add`."""

    @abstractmethod
    def _drop(self, places: Sequence[int]) -> list[int]:
        """Take entries out, and return the marks of those that were there."""

    @abstractmethod
    def _take(self, path: Path) -> None:
        """Hold what is there, and nothing else; by then nothing is held.

        Raises:
            FileNotFoundError: nothing is there.
            UnusableError, OSError, KeyError, ValueError, RuntimeError: it can't be used.
        """

    @abstractmethod
    def _write(self, path: Path) -> None:
        """Write what is held, whole or not at all; raises as `_take`."""

    @abstractmethod
    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[Near]:
        """Return the nearest that a view sees, at least `limit` where there are as many, in any order."""


def lists_for(vectors: int) -> int:
    """Return into how many lists vectors are put: about as many as the square root of their number."""
    return 1 << round(math.log2(vectors) / 2)


def misfit(entry: Entry, dimensions: int) -> StoreError:
    """Return what is said of a vector that can't be taken in."""
    return StoreError(
        f"the vector of memory {entry.memory_id!a:.80} is not {dimensions} finite numbers; nothing was taken in"
    )


def _why(error: Exception) -> str:
    """Return what an error says, in one line."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{said.partition(chr(10))[0]:.200}"
