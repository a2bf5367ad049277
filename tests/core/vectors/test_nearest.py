"""An index beside its truth: whatever the index holds, a hit is right."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.errors import ConfigError, DamagedStoreError, StoreError
from squidbot.core.memories import Scope, View, memory_id_of
from squidbot.core.vectors import IndexHit, VectorEntry, VectorSearch, VectorStamp, dot, mark_of, packed, unit, unpacked
from squidbot.testing import made_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.memories import Isolation, Memory

ANN = Scope(user="ann", bot="a")
USERS = ("ann", "bob")
BOTS = ("a", "b")
DIMENSIONS = 4


class InMemoryVectors:
    """Vectors that are gone with the process; threads may share one."""

    def __init__(self, model: str, dimensions: int) -> None:
        """Open an empty one for the vectors of a model."""
        self._stamp = VectorStamp(model, dimensions)
        self._entries: dict[int, VectorEntry] = {}  # in the order of their places
        self._place: dict[str, int] = {}
        self._lock = threading.Lock()
        self._next = 1

    def put(self, memory: Memory, vector: Sequence[float]) -> int:
        """Keep the vector of a memory in place of any that it has, and return its place.

        Raises:
            StoreError: nothing was kept: the vector has another number of dimensions, or no direction.
        """
        if len(vector) != self._stamp.dimensions:
            raise StoreError(f"a vector of {len(vector)} numbers, where there are {self._stamp.dimensions}")
        try:
            data = packed(vector)
        except ValueError as error:
            raise StoreError(f"{error}; nothing was kept") from error
        digest = _text_digest(memory)
        views = tuple(_digest(View(memory.scope, policy)) for policy in ("bot", "model", "global", "agent"))
        if (there := self.of([memory.memory_id])) and there[0].vector == data:
            return there[0].place
        self.remove([memory.memory_id])
        with self._lock:
            place, self._next = self._next, self._next + 1
            mark = mark_of(place, memory.memory_id, digest)
            entry = VectorEntry(place, mark, memory.memory_id, views, data, holds=not memory.superseded_by)
            self._entries[place] = entry
            self._place[memory.memory_id] = place
            self._stamp = self._stamp.plus([mark])
        return place

    def renew(self, memory: Memory) -> None:
        """Take over whether a memory holds; a vector of another text than it has is removed."""
        with self._lock:
            place = self._place.get(memory.memory_id, 0)
            entry = self._entries.get(place)
            if entry is None:
                return
            if entry.mark == mark_of(place, memory.memory_id, _text_digest(memory)):
                self._entries[place] = entry._replace(holds=not memory.superseded_by)
                return
        self.remove([memory.memory_id])

    def of(self, memory_ids: Iterable[str]) -> list[VectorEntry]:
        """Return the entries of these memories; where there is none, nothing comes."""
        with self._lock:
            return [self._entries[self._place[name]] for name in memory_ids if name in self._place]

    def remove(self, memory_ids: Sequence[str]) -> int:
        """Remove the vectors of memories, and return how many were there."""
        with self._lock:
            places = [self._place.pop(name) for name in dict.fromkeys(memory_ids) if name in self._place]
            self._stamp = self._stamp.minus(self._entries.pop(place).mark for place in places)
            return len(places)

    def stamp(self) -> VectorStamp:
        """Return what there is now."""
        return self._stamp

    def view(self, view: View) -> int:
        """Return the number that stands for a view in `VectorEntry.views`."""
        return _digest(view)

    def behind(self, place: int, limit: int) -> list[VectorEntry]:
        """Return the entries behind a place, in order of their places, at most `limit`."""
        with self._lock:
            found = (entry for entry in self._entries.values() if entry.place > place)
            return list(islice(found, max(limit, 0)))

    def places(self) -> Sequence[int]:
        """Return the places of all entries, ascending."""
        with self._lock:
            return list(self._entries)

    def picked(self, places: Sequence[int]) -> list[VectorEntry]:
        """Return the entries at these places."""
        with self._lock:
            return [self._entries[place] for place in dict.fromkeys(places) if place in self._entries]

    def holding(self, places: Sequence[int]) -> list[int]:
        """Return those of these places whose memories hold, in the same order."""
        return [each.place for each in self.picked(places) if each.holds]


def _text_digest(memory: Memory) -> bytes:
    return blake2b(memory.text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _digest(view: View) -> int:
    data = repr(tuple(view.key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


def _vector(number: int) -> tuple[float, ...]:
    chance = random.Random(number)  # noqa: S311  # no secret
    return tuple(chance.gauss(0, 1) for _ in range(DIMENSIONS))


def _truth(numbers: Sequence[int] = ()) -> InMemoryVectors:
    truth = InMemoryVectors("m", DIMENSIONS)
    for number in numbers:
        truth.put(made_memory(f"{number}", ANN), _vector(number))
    return truth


@settings(max_examples=60)
@given(st.data())
def test_search_is_exact_whatever_the_truth_does_in_between(data: st.DataObject) -> None:
    """Put, put again, superseded, forgotten, an index that lost or kept something: hits are what comparing all gives.

    A memory of one user is found for no other under any policy.
    """
    truth = InMemoryVectors("m", DIMENSIONS)
    index = ExactIndex("m", DIMENSIONS)
    nearest = VectorSearch(index, truth)
    kept: dict[str, tuple[Scope, int, bool]] = {}
    for step in range(data.draw(st.integers(1, 25))):
        act = data.draw(st.sampled_from(("put", "supersede", "forget", "lose", "clear", "search")))
        scope = Scope(user=data.draw(st.sampled_from(USERS)), bot=data.draw(st.sampled_from(BOTS)))
        number = data.draw(st.integers(0, 9))
        memory = made_memory(f"{number}", scope)
        name = memory.memory_id
        if act == "put" or (act == "supersede" and name in kept):
            holds = act == "put"
            truth.put(memory if holds else replace(memory, superseded_by="x"), _vector(number + step))
            kept[name] = (scope, number + step, holds)
        elif act == "forget":
            assert truth.remove([name]) == (kept.pop(name, None) is not None)
        elif act == "lose":
            index.remove([*index.places()][:: data.draw(st.integers(1, 3))])
        elif act == "clear":
            index.clear()
        policy: Isolation = data.draw(st.sampled_from(("bot", "global")))
        past = data.draw(st.booleans())
        seen = {
            name: dot(unit(_vector(99)), unpacked(packed(_vector(seed))))
            for name, (owner, seed, holds) in kept.items()
            if View(owner, policy).key == View(scope, policy).key and (holds or past)
        }
        found = nearest.search(_vector(99), View(scope, policy), limit=3, past=past)
        assert list(found.values()) == pytest.approx(sorted(seen.values(), reverse=True)[:3])
        assert found.keys() <= {*seen}
        assert index.stamp() == truth.stamp()


class Liar(ExactIndex):
    """Says that it holds what the truth holds, and finds what it likes."""

    def __init__(self, truth: InMemoryVectors, found: Sequence[IndexHit]) -> None:
        super().__init__("m", DIMENSIONS)
        self._truth, self._hits = truth, found

    def stamp(self) -> VectorStamp:
        """Lie."""
        return self._truth.stamp() if hasattr(self, "_truth") else super().stamp()

    def search(self, vector: Sequence[float], limit: int, view: int) -> list[IndexHit]:  # noqa: ARG002  # a liar
        """Find what is not there, or another's."""
        return [*self._hits][:limit]


def test_search_returns_nothing_that_the_truth_does_not_confirm() -> None:
    """Places that are empty, or another user's, are no hits; cosines are the truth's own."""
    truth = _truth([1, 2])
    truth.put(made_memory("bob's", Scope(user="bob")), _vector(3))
    nearest = VectorSearch(
        Liar(truth, [IndexHit(3, 1.0), IndexHit(77, 0.9), IndexHit(2, 0.8), IndexHit(1, 0.7)]), truth
    )
    found = nearest.search(_vector(1), View(ANN))
    assert list(found) == [memory_id_of(ANN, "1"), memory_id_of(ANN, "2")]
    assert max(found.values()) == pytest.approx(1.0)


def test_search_goes_deeper_when_history_crowds_out_what_holds() -> None:
    """However many were superseded, as many as are wanted of those that hold are found."""
    truth = _truth()
    for number in range(300):
        old = replace(made_memory(f"old {number}", ANN), superseded_by="x")
        truth.put(old, (1, 0.001 * number, 0, 0))
    for number in range(5):
        truth.put(made_memory(f"new {number}", ANN), (0, 0, 1, number))
    nearest = VectorSearch(ExactIndex("m", DIMENSIONS), truth)
    assert len(nearest.search((1, 0, 0, 0), View(ANN), limit=5)) == 5
    assert len(nearest.search((1, 0, 0, 0), View(ANN), limit=9)) == 5
    assert nearest.search((1, 0, 0, 0), View(ANN), limit=0) == {}
    assert len(nearest.search((1, 0, 0, 0), View(ANN), limit=400, past=True)) == 305
    new = list(range(301, 306))
    assert sorted(nearest.places((1, 0, 0, 0), View(ANN), limit=5)) == new
    assert sorted(nearest.places((1, 0, 0, 0), View(ANN), limit=9)) == new
    assert nearest.places((1, 0, 0, 0), View(ANN), limit=0) == []
    assert nearest.places((1, 0, 0, 0), View(ANN), limit=4, past=True) == [1, 2, 3, 4]


def test_ties_are_newest_first() -> None:
    """Of two memories with the same vector the one that came last is first."""
    truth = _truth()
    for number in range(4):
        truth.put(made_memory(f"{number}", ANN), (0, 1, 0, 0))
    found = VectorSearch(ExactIndex("m", DIMENSIONS), truth).search((0, 1, 0, 0), View(ANN))
    assert list(found) == [memory_id_of(ANN, f"{number}") for number in (3, 2, 1, 0)]


def test_search_looks_at_what_is_there_when_too_much_is_missing() -> None:
    """A search does not wait for an index of thousands: it says how far behind it is, and `refresh` brings it up."""
    truth = _truth(range(2_001))
    nearest = VectorSearch(index := ExactIndex("m", DIMENSIONS), truth)
    assert nearest.search(_vector(5), View(ANN)) == {}
    assert nearest.behind() == 2_001
    assert nearest.refresh()
    assert (nearest.behind(), index.stamp()) == (0, truth.stamp())
    assert list(nearest.search(_vector(5), View(ANN), limit=1)) == [memory_id_of(ANN, "5")]


def test_index_of_another_model_is_refused() -> None:
    """Two models' vectors are never compared; nor are those of other dimensions."""
    for index in (ExactIndex("other", DIMENSIONS), ExactIndex("m", 3)):
        with pytest.raises(ConfigError, match="open it for that model"):
            VectorSearch(index, _truth())


class Torn(InMemoryVectors):
    """Its stamp is not of its vectors."""

    def stamp(self) -> VectorStamp:
        """Count one more."""
        return super().stamp()._replace(vectors=super().stamp().vectors + 1)


def test_truth_that_contradicts_itself_is_an_error_that_says_what_to_do() -> None:
    """It is not searched as if it were whole."""
    truth = Torn("m", DIMENSIONS)
    truth.put(made_memory("1", ANN), _vector(1))
    with pytest.raises(DamagedStoreError, match="do not match their stamp"):
        VectorSearch(ExactIndex("m", DIMENSIONS), truth).refresh()


def test_refresh_says_that_it_is_not_there_when_others_write_all_the_while() -> None:
    """A truth that changes under it is no damage; what is found is right all the same."""

    class Restless(InMemoryVectors):
        def behind(self, place: int, limit: int) -> list[VectorEntry]:
            found = super().behind(place, limit)
            return found or self._another()

        def places(self) -> Sequence[int]:
            found = super().places()
            self._another()
            return found

        def _another(self) -> list[VectorEntry]:
            super().put(made_memory(f"more {self._next}", ANN), _vector(self._next))
            return []

    truth = Restless("m", DIMENSIONS)
    index = ExactIndex("m", DIMENSIONS)
    nearest = VectorSearch(index, truth)
    for number in range(3):
        truth.put(made_memory(f"{number}", ANN), _vector(number))
    nearest.refresh()
    index.remove([1])
    assert not nearest.refresh()
    assert list(nearest.search(_vector(2), View(ANN), limit=1)) == [memory_id_of(ANN, "2")]
