"""What embedders and vector indexes share: measured cosines of known models, and indexes kept on disk."""

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
    from collections.abc import Sequence

    from squidbot.core.ports import Embedder
    from squidbot.core.vectors import Entry, Near


# An embedder is known by what it makes of this.
SENTENCE: Final = "The squid is deep in the sea."
# How alike the first numbers have to be. Those of MiniLM's weights in 16 bits are so to .9999, in 8 to .9997 or, with
# one scale for a matrix, .979, in 4 to .972; what is told and what is not was the same with all of these. Two models
# come so near by no chance: of 24 numbers that have nothing to do with each other the cosine is most often under .4.
SAME_COSINE: Final = 0.96


class EmbedderProfile(NamedTuple):
    """Measured cosines of a known model.

    Attributes:
        even: as `core.ports.Calibrated` has it.
        dimensions: of its vectors.
        first: the first numbers of the sentence's vector, in thousandths.
    """

    even: float
    dimensions: int
    first: tuple[int, ...]


# all-MiniLM-L6-v2. Fitted with the numbers of `core.memory.search.ranking` on questions that belong and others, .26 to
# .28 where one of four kinds of texts was left out; a little above these: a guess that is told costs more.
MINILM: Final = EmbedderProfile(
    0.29,
    384,
    (-52, 36, 40, -11, -71, -70, -7, -41, 12, -22, -3, -140, -29, 71, 59, -29, 30, -50, -18, -61, 44, 85, -30, -45),
)


def known_even(embedder: Embedder) -> float | None:
    """Return how much the nearest text stands out where it answers with even odds; `None` if not measured.

    Embeds one text, unless the number of dimensions already rules the model out.

    Raises:
        LLMError: no vector can be had now.
    """
    if embedder.dimensions != MINILM.dimensions:
        return None
    first = [vector[: len(MINILM.first)] for vector in embedder.embed([SENTENCE])]
    same = [_cosine(vector, MINILM.first) >= SAME_COSINE for vector in first]
    return MINILM.even if same == [True] else None


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return dot(one, other) / (hypot(*one) * hypot(*other) or 1.0)


# An index of vectors that is kept on disk: opened or found unusable, stamped, saved.

# How many views see a memory: one for each policy of isolation.
VIEWS = 4
# Lists are made anew when there are so many times as many vectors as they were made for.
OUTGROWN = 4


class UnusableError(Exception):
    """A saved index can't be used; the text says why."""


# What packages raise, and reading what they have written, whatever has happened.
FAILURES = (UnusableError, OSError, KeyError, ValueError, RuntimeError)


class KeptIndex(ABC):
    """The base of a `VectorIndex` that is kept on disk. Threads may share one; each process has its own.

    A subclass says how to empty, load, write and search it, and calls `begin` at the end of its `__init__`.
    """

    kept_as: ClassVar[str]  # "file" or "folder", for people

    def __init__(self, path: str | Path | None, model: str, dimensions: int) -> None:
        """Take its path, `None` to keep it in memory, and the model of its vectors."""
        self._path = None if path is None else Path(path)
        self._fault = ""
        self._last = 0
        self._dirty = False
        self._lock = threading.RLock()
        self._stamp = Stamp(model, dimensions)

    def begin(self) -> None:
        """Load what is saved, or start empty."""
        self._empty()
        if self._path is not None:
            self._open(self._path)

    @property
    def fault(self) -> str:
        """Why the saved index could not be used, in one line; "" if it could, or there was none."""
        return self._fault

    @property
    def last(self) -> int:
        """The highest place that was added; 0 for none."""
        return self._last

    def stamp(self) -> Stamp:
        """Return the stamp of its content."""
        return self._stamp

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[Near]:
        """Return up to `limit` nearest entries that a view sees, best first; ties go to the newest place.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
        """
        if len(vector) != self._stamp.dimensions:
            raise ValueError(f"a vector of {len(vector)} numbers, where {self._stamp.dimensions} are compared")
        query = unit(vector)
        with self._lock:
            found = self._found(query, limit, view) if limit > 0 and view else []
        return sorted(found, key=lambda near: (-near.cosine, -near.place))[: max(limit, 0)]

    def save(self) -> None:
        """Write it to the disk, whole or not at all, if it has a path and changed.

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
        """Free its memory without saving; a second call does nothing."""
        with self._lock:
            self._empty()

    def _is_due(self, path: Path) -> bool:
        """Return whether the file has to be written."""
        del path
        return self._dirty

    def _open(self, path: Path) -> None:
        """Load the file, or start empty and keep the reason."""
        try:
            self._take(path)
        except FileNotFoundError:
            return
        except FAILURES as error:
            self._empty()
            self._fault = f"vectors of {self._stamp.model!a:.80} are read from the store again: {_why(error)} @ {path}"

    def _refuse_other(self, model: object, dimensions: object) -> None:
        """Check that a saved index is of this model.

        Raises:
            UnusableError: it is of another.
        """
        if (model, dimensions) != self._stamp[:2]:
            raise UnusableError(f"it is of {model!a:.80}, {dimensions} dimensions")

    def _empty(self) -> None:
        """Remove everything; overrides call it."""
        self._stamp = self._stamp._replace(vectors=0, digest=0)
        self._last = 0
        self._dirty = True

    @abstractmethod
    def _take(self, path: Path) -> None:
        """Load the file into the empty index.

        Raises:
            FileNotFoundError: nothing is there.
            UnusableError, OSError, KeyError, ValueError, RuntimeError: it can't be used.
        """

    @abstractmethod
    def _write(self, path: Path) -> None:
        """Write the index, whole or not at all; raises as `_take`."""

    @abstractmethod
    def _found(self, query: Sequence[float], limit: int, view: int) -> list[Near]:
        """Return at least `limit` nearest entries that a view sees, if there are as many, in any order."""


def lists_for(vectors: int) -> int:
    """Return the number of lists for vectors: about the square root of their number."""
    return 1 << round(math.log2(vectors) / 2)


def misfit(entry: Entry, dimensions: int) -> StoreError:
    """Return the error for a vector that can't be added."""
    return StoreError(
        f"the vector of memory {entry.memory_id!a:.80} is not {dimensions} finite numbers; nothing was taken in"
    )


def _why(error: Exception) -> str:
    """Return the message of an error in one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"{text.partition(chr(10))[0]:.200}"
