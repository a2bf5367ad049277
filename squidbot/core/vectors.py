"""Vectors of memories as values, the stamp by which an index is known to be whole, and the ports."""

from __future__ import annotations

import math
import struct
from functools import reduce
from hashlib import blake2b
from operator import mul, xor
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from squidbot.core.errors import ConfigError, DamagedStoreError
from squidbot.core.ports import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from squidbot.core.memories import Memory, MemoryHit, View


FLOAT_BYTES = 4
# A length of 1 is off by at most half of it in 32 bits.
FLOAT_STEP = 2.0**-23


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    products: Iterable[float] = map(mul, one, other)
    return sum(products)


# The sum of the products of two vectors: the cosine, where both have length 1. Python 3.12 brings it, and faster.
dot: Callable[[Sequence[float], Sequence[float]], float] = getattr(math, "sumprod", _dot)


class VectorStamp(NamedTuple):
    """Identifies a set of vectors: two sets with the same stamp hold the same vectors.

    Attributes:
        model: the model that made the vectors; vectors of two models are never compared.
        dimensions: how many numbers each has.
        vectors: how many there are.
        digest: the exclusive or of all marks: order does not matter, and adding or removing one is cheap.
    """

    model: str
    dimensions: int
    vectors: int = 0
    digest: int = 0

    def plus(self, marks: Iterable[int]) -> VectorStamp:
        """Return the stamp with the entries of these marks taken in."""
        new = list(marks)
        return self._replace(vectors=self.vectors + len(new), digest=reduce(xor, new, self.digest))

    def minus(self, marks: Iterable[int]) -> VectorStamp:
        """Return the stamp with the entries of these marks taken out."""
        old = list(marks)
        return self._replace(vectors=self.vectors - len(old), digest=reduce(xor, old, self.digest))


class VectorEntry(NamedTuple):
    """One memory's vector.

    Attributes:
        place: a number from 1 on; each new vector in the store gets the next, and none is used again.
        mark: identifies it: see `mark_of`.
        memory_id: the memory that it is of.
        views: the numbers of the views that see it, four at most, as `StoredVectors.view` makes them.
        vector: its numbers, 32-bit floats, little-endian; of length 1.
        holds: False if the memory has been superseded; an index does not keep it.
    """

    place: int
    mark: int
    memory_id: str
    views: tuple[int, ...]
    vector: bytes
    holds: bool = True


class IndexHit(NamedTuple):
    """A hit of an index.

    Attributes:
        place: the place of the entry.
        cosine: its cosine to the query, -1 to 1, higher is closer.
    """

    place: int
    cosine: float


def dots(vector: Sequence[float], others: Sequence[bytes]) -> list[float]:
    """Return `dot` of a vector and each of some others as entries have them, of as many numbers, in order."""
    return [dot(vector, unpacked(other)) for other in others]


class QueryMeaning(NamedTuple):
    """The vector of a query, for a search by words and vectors.

    Attributes:
        model: the model that made it; it is compared with vectors of the same model only.
        vector: the query's, of length 1.
        nearest: the places of the nearest vectors, as an index found them: their memories are candidates whatever
            their words are.
        even: how far the nearest stands out that is as likely as not an answer (`SupportsCalibration`); None if
            unknown.
        dots: the function that compares it with many others.
    """

    model: str
    vector: tuple[float, ...]
    nearest: Sequence[int]
    even: float | None = None
    dots: Callable[[Sequence[float], Sequence[bytes]], list[float]] = dots


def mark_of(place: int, memory_id: str, digest: bytes) -> int:
    """Return the mark of a vector, 63 bits: of its place, its memory, and the digest of the text it was made from."""
    name = memory_id.encode("utf-8", "surrogatepass")
    data = b"%d %d %b%b" % (place, len(name), name, digest)
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


def unit(vector: Sequence[float]) -> tuple[float, ...]:
    """Return a vector with length 1.

    Raises:
        ValueError: it has no direction: it is zero, or a number of it is not finite.
    """
    length = math.hypot(*vector)
    if not length or not math.isfinite(length):
        raise ValueError(f"a vector of length {length} has no direction")
    return tuple(value / length for value in vector)


def packed(vector: Sequence[float]) -> bytes:
    """Return a vector, with length 1, as an entry has it; one that comes from an entry is the same, bit for bit.

    Raises:
        ValueError: it has no direction.
    """
    is_unit = abs(math.hypot(*vector) - 1) < FLOAT_STEP
    return struct.pack(f"<{len(vector)}f", *(vector if is_unit else unit(vector)))


def unpacked(vector: bytes) -> tuple[float, ...]:
    """Return the numbers of an entry's vector.

    Raises:
        ValueError: these are no whole numbers of 4 bytes.
    """
    if len(vector) % FLOAT_BYTES:
        raise ValueError(f"{len(vector)} bytes are not a vector: each number takes {FLOAT_BYTES}")
    return struct.unpack(f"<{len(vector) // FLOAT_BYTES}f", vector)


class StoredVectors(Protocol):
    """The truth: the vectors that one model made of the memories of a store."""

    def stamp(self) -> VectorStamp:
        """Return the stamp of the present vectors. Cheap at any number of vectors: every search calls it.

        Raises:
            StoreError: the disk failed.
        """

    def view(self, view: View) -> int:
        """Return the number that stands for a view in `VectorEntry.views`: 63 bits, the same for ever."""

    def behind(self, place: int, limit: int) -> list[VectorEntry]:
        """Return the entries behind a place, in order of their places, at most `limit`; 0 is before the first.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """

    def places(self) -> Sequence[int]:
        """Return the places of all entries, ascending."""

    def picked(self, places: Sequence[int]) -> list[VectorEntry]:
        """Return the entries at these places, in any order; if there is none, nothing comes.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """

    def holding(self, places: Sequence[int]) -> list[int]:
        """Return the places, in the same order, whose memories hold; places without an entry are left out.

        Raises:
            StoreError: the disk failed.
        """


class NearestVectors(Protocol):
    """Finds the nearest of the stored vectors of one model. Threads may share it."""

    @property
    def fault(self) -> str:
        """Why it is slower than it should be, in one line; "" if it is not."""

    @property
    def vectors(self) -> int:
        """The number of vectors."""

    def dots(self, vector: Sequence[float], others: Sequence[bytes]) -> list[float]:
        """Return the sum of the products of a vector and each of some others, as entries have them, in order."""

    def behind(self) -> int:
        """Return the number of stored vectors that it does not find yet.

        Raises:
            StoreError: the store failed.
        """

    def refresh(self) -> bool:
        """Bring it up to date, and return whether it is.

        Raises:
            StoreError: the store failed.
        """

    def save(self) -> None:
        """Bring it up to date, and write it to its file, if it has one.

        Raises:
            StoreError: the store, or the disk, failed.
        """

    def close(self) -> None:
        """Free all resources; it does not save."""

    def places(self, vector: Sequence[float], view: View, *, limit: int, past: bool = False) -> list[int]:
        """Return the places of the nearest vectors that a view sees, best first; with `past` of history, too.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
            StoreError: the store failed.
        """

    def search(self, vector: Sequence[float], view: View, *, limit: int = 20, past: bool = False) -> dict[str, float]:
        """Return the cosines of the memories of a view whose vectors are nearest, by id, best first, ties newest first.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
            StoreError: the store failed.
        """


@runtime_checkable
class SupportsNearest(Protocol):
    """An optional part of a VectorStore: a server that compares the vectors itself, so that nobody keeps an index."""

    def nearest(self, model: str, dimension: int) -> NearestVectors | None:
        """Return what finds a model's nearest vectors; `None` if the server can't, so that an index has to."""


class VectorIndex(Protocol):
    """Finds the nearest of many vectors of one model. It can be rebuilt from `StoredVectors` at any time.

    An index that is kept in a file opens empty where the file is missing, cut, damaged, or of another model: it is
    whole, or empty. Threads may share one.
    """

    @property
    def fault(self) -> str:
        """Why the file that was there could not be used, in one line; "" if it could, or none was there."""

    @property
    def last(self) -> int:
        """The highest place that was taken in since it was empty; 0 for none."""

    def stamp(self) -> VectorStamp:
        """Return the stamp of its vectors."""

    def places(self) -> Sequence[int]:
        """Return the places of its vectors, ascending."""

    def add(self, entries: Sequence[VectorEntry]) -> None:
        """Add entries, all or nothing. A place that is there stays as it is.

        Raises:
            StoreError: nothing was added: a vector has another number of dimensions, or a number that is not finite.
        """

    def remove(self, places: Sequence[int]) -> int:
        """Remove entries, and return how many were there."""

    def clear(self, expected: int = 0) -> None:
        """Remove all. `expected` is the number of vectors to come, for an index that is laid out by it."""

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        """Return the nearest that a view sees, best first, ties newest place first, at most `limit`.

        An index that is not exact may miss some, and be a few hundredths wrong in a cosine, but returns `limit` where
        the view has as many.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
        """

    def dots(self, vector: Sequence[float], others: Sequence[bytes]) -> list[float]:
        """Return the sum of the products of a vector and each of some others, as entries have them, in order.

        All have as many numbers; products are summed with 64 bits. `dots` of this module does it in plain Python.
        """

    def save(self) -> None:
        """Write it to its file, whole or not at all; do nothing if it has no file, or nothing has changed.

        Raises:
            StoreError: the disk failed; the file is as it was.
        """

    def close(self) -> None:
        """Free all resources; a second call does nothing. It does not save."""


@runtime_checkable
class VectorStore(MemoryStore, Protocol):
    """A MemoryStore that also stores vectors of its memories, separately for each model.

    A forgotten memory has no vector any more, neither in the store nor in an index beside it.
    """

    def search(  # noqa: PLR0913  # as `MemoryStore` has it, and what the query means
        self,
        query: str,
        view: View,
        *,
        limit: int = 20,
        now: float,
        past: bool = False,
        meant: QueryMeaning | None = None,
    ) -> list[MemoryHit]:
        """Return the memories of a view that answer a query, as `MemoryStore` has it; with `meant` vectors speak, too.

        Raises:
            ValueError: there is no letter or digit in the query.
        """

    def models(self) -> dict[str, int]:
        """Return the dimensions of the stored vectors by model, in the order in which the models came."""

    def vectors_of(self, model: str, dimension: int) -> StoredVectors:
        """Return a model's vectors as the truth beside which an index of them is kept; none need be there yet.

        Raises:
            StoreError: the disk failed.
        """

    def put_vectors(self, model: str, dimension: int, of: Mapping[str, Sequence[float]]) -> int:
        """Store a model's vectors of memories, by id, with length 1; return how many of the memories still exist.

        A vector that is stored already, number for number, stays as it is.

        Raises:
            StoreError: nothing was written: a vector, or the model's others, have another length than `dimension`, or
                it has no direction.
        """

    def without_vectors(self, model: str, after: str = "", limit: int = 100) -> list[Memory]:
        """Return memories without a vector of a model, in the order in which they came, behind `after`.

        One that can't be read is left out, and so are cards of files (`memories.CARDS`).
        """

    def newest_without(self, model: str, limit: int) -> list[Memory]:
        """Return the first memories behind the last one with a vector of a model; cheap at any number.

        One that can't be read is left out, and so are cards of files.
        """

    def waiting(self, model: str) -> int:
        """Return the number of memories without a vector of a model, cards of files left out."""

    def drop_vectors(self, model: str) -> None:
        """Remove a model and its vectors, for good; nothing for an unknown one."""


# Searching: the index may be wrong in any way, a hit may not.

# How many vectors are read at once: 8 MB at 1,024 dimensions.
READ_ENTRIES = 2_000
# How many vectors a search takes in before it looks: about a fifth of a second. More wait for `refresh`.
SEARCH_ENTRIES = 2_000
# How often an index is brought to what the truth holds while others change that.
TRIES = 5
# So many more than wanted are ranked by exact cosines: one byte a number makes cosines a hundredth wrong.
SPARE = 16
# An index that has grown by this share since it was saved is saved again: opening it takes in the rest.
SAVED_FRACTION = 0.1
SAVED_ENTRIES = 1_000


class VectorSearch:
    """Searches the vectors of one model by an index that it keeps up to date.

    It compares stamps before each search, so vectors that any process stored or removed count at once. Each hit is
    then confirmed by the store, and ranked by its exact cosine.
    """

    def __init__(self, index: VectorIndex, truth: StoredVectors) -> None:
        """Take an index and the stored vectors that it is of.

        Raises:
            ConfigError: they are of two models, or of different dimensions.
        """
        ours, due = index.stamp(), truth.stamp()
        if ours[:2] != due[:2]:
            raise ConfigError(
                f"the index is of {ours.model!a:.80} with {ours.dimensions} dimensions, the vectors are of "
                f"{due.model!a:.80} with {due.dimensions}: open it for that model"
            )
        self._index = index
        self._truth = truth
        self.dots = index.dots
        self._saved = ours.vectors
        # Whether its file may have vectors that are not stored any more.
        self._has_gone = bool(index.fault)

    @property
    def fault(self) -> str:
        """Why the index's file could not be used, in one line; "" if it could."""
        return self._index.fault

    @property
    def vectors(self) -> int:
        """The number of vectors in the index."""
        return self._index.stamp().vectors

    def behind(self) -> int:
        """Return the number of stored vectors that the index lacks; 0 if it is up to date, or has too many."""
        return max(0, self._truth.stamp().vectors - self._index.stamp().vectors)

    def refresh(self) -> bool:
        """Bring the index up to date, save it where much has changed, and return whether it is up to date.

        It is not if others changed the vectors all the while. Removed vectors are not in the index's file when this
        returns.

        Raises:
            DamagedStoreError: a stored vector does not match its checksum, or the stamp is not of the stored vectors.
            StoreError: the disk failed.
        """
        done = self._catch_up()
        count = self._index.stamp().vectors
        if self._has_gone or abs(count - self._saved) >= max(SAVED_ENTRIES, SAVED_FRACTION * count):
            self._save()
        return done

    def save(self) -> None:
        """Bring the index up to date, and write it to its file.

        Raises:
            DamagedStoreError: as for `refresh`.
            StoreError: the disk failed; the file is as it was.
        """
        self._catch_up()
        self._save()

    def close(self) -> None:
        """Close the index; it does not save."""
        self._index.close()

    def places(self, vector: Sequence[float], view: View, *, limit: int, past: bool = False) -> list[int]:
        """Return the places of the vectors that are nearest by the index, best first; with `past` of history, too.

        Whoever reads what is there confirms who sees it. Where the index is far behind, it is searched as it is: see
        `behind`.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
            DamagedStoreError: as for `refresh`.
            StoreError: the disk failed.
        """
        asked, seen = self._ready(vector, view)
        wanted = max(limit, 0) + SPARE
        while True:
            found = [near.place for near in self._index.search(asked, wanted, seen)]
            held = found if past else self._truth.holding(found)
            if len(held) >= limit or len(found) < wanted:
                return held[: max(limit, 0)]
            wanted *= 4

    def search(self, vector: Sequence[float], view: View, *, limit: int = 20, past: bool = False) -> dict[str, float]:
        """Return the cosines of the memories of a view whose vectors are nearest, by id, best first, ties newest first.

        With `past` those of history, too.

        Where the index is far behind, it is searched as it is: see `behind`.

        Raises:
            ValueError: the vector has another number of dimensions, or no direction.
            DamagedStoreError: as for `refresh`.
            StoreError: the disk failed.
        """
        asked, seen = self._ready(vector, view)
        wanted = max(limit, 0) + min(max(limit, 0), SPARE) + SPARE
        while True:
            found = self._index.search(asked, wanted, seen)
            alike = self._confirmed(asked, found, seen, past=past)
            if len(alike) >= limit or len(found) < wanted:
                return dict(alike[: max(limit, 0)])
            wanted *= 4

    def _ready(self, vector: Sequence[float], view: View) -> tuple[tuple[float, ...], int]:
        """Return the vector with length 1, and the view's number; bring the index up to date if it lacks little."""
        asked, seen = unit(vector), self._truth.view(view)
        if self.behind() <= SEARCH_ENTRIES:
            self._catch_up()
        return asked, seen

    def _confirmed(
        self, vector: Sequence[float], found: Sequence[IndexHit], view: int, *, past: bool
    ) -> list[tuple[str, float]]:
        """Return the hits that are still stored, that the view sees, and that hold unless history is wanted, too."""
        entries = self._truth.picked([near.place for near in found])
        seen = [entry for entry in entries if view in entry.views and (past or entry.holds)]
        cosines = self.dots(vector, [entry.vector for entry in seen])
        ranked = sorted(zip(cosines, seen, strict=True), key=lambda scored: (-scored[0], -scored[1].place))
        return [(each.memory_id, max(-1.0, min(1.0, cosine))) for cosine, each in ranked]

    def _save(self) -> None:
        self._index.save()
        self._saved, self._has_gone = self._index.stamp().vectors, False

    def _catch_up(self) -> bool:
        """Bring the index up to date, and return whether it is.

        Raises:
            DamagedStoreError: it can't be: the stamp is not of the stored vectors.
        """
        due = self._truth.stamp()
        if due == self._index.stamp():
            return True
        if not self._index.stamp().vectors:
            self._index.clear(due.vectors)
        for made_anew in (False, True):
            for _ in range(TRIES):
                due = self._truth.stamp()
                for step in (self._add_new, self._reconcile):
                    step()
                    if self._truth.stamp() == self._index.stamp():
                        return True
                if self._truth.stamp() == due:  # nobody changed it meanwhile: the index is not of this truth
                    break
            else:
                return False
            if not made_anew:
                self._index.clear(due.vectors)
                self._has_gone = True
        raise DamagedStoreError(
            f"the vectors of {due.model!a:.80} do not match their stamp ({due.vectors}): drop them; they "
            "are computed again"
        )

    def _add_new(self) -> None:
        while entries := self._truth.behind(self._index.last, READ_ENTRIES):
            self._index.add(entries)

    def _reconcile(self) -> None:
        """Remove vectors that are not stored any more, and add missed ones from before the newest."""
        due, ours = {*self._truth.places()}, {*self._index.places()}
        if self._index.remove(sorted(ours - due)):
            self._has_gone = True
        missed = sorted(due - ours)
        for first in range(0, len(missed), READ_ENTRIES):
            self._index.add(sorted(self._truth.picked(missed[first : first + READ_ENTRIES])))
