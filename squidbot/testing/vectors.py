"""The check of a VectorIndex."""

from __future__ import annotations

import random
import threading
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from squidbot.core.errors import StoreError
from squidbot.core.vectors import IndexHit, VectorEntry, dot, mark_of, packed, unit, unpacked
from squidbot.testing.values import ODD_IDS, closed_after, refuses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.vectors import VectorIndex

__all__ = ["check_vector_index", "made_entry"]

MODEL = "check"
DIMENSIONS = 24
ANN, BOB, NOBODY = 11, 22, 33
# The error of an inexact index: one byte for each number of a vector of length 1.
COSINE_ERROR = 0.03
# How many of the nearest ten it must find.
RECALL = 0.95


def made_entry(
    place: int, vector: Sequence[float], views: tuple[int, ...] = (ANN,), memory_id: str = ""
) -> VectorEntry:
    """Return an entry for tests, with the mark that follows from place and id."""
    memory_id = memory_id or f"f-{place}"
    return VectorEntry(place, mark_of(place, memory_id, b"text"), memory_id, views, packed(vector))


def check_vector_index(
    factory: Callable[[str, int], VectorIndex], reopened: Callable[[VectorIndex], VectorIndex] | None = None
) -> None:
    """Check the promises of `vectors.values.VectorIndex`.

    `factory` returns an empty index of a model, by its name and dimensions. `reopened` closes an index and opens it
    again from the same file; None for an index without a file.

    Promised: it finds at least .95 of the ten nearest, best first, with cosines right to .03; a view sees only its own
    entries, and even a small one gets the requested number; an added entry counts once, and a removed one no more, as
    soon as the call returns; the stamp depends on the entries, not on their order; a wrong vector is refused with the
    whole call; threads lose nothing; opened again, the index is what was saved.

    Raises:
        AssertionError: a promise is broken; the text says which.
    """
    for check in CHECKS:
        with closed_after(factory(MODEL, DIMENSIONS)) as index:
            check(index)
    with closed_after(factory(MODEL, DIMENSIONS)) as one, closed_after(factory(MODEL, DIMENSIONS)) as other:
        _checks_stamps(one, other)
    if reopened is not None:
        _checks_reopened(factory(MODEL, DIMENSIONS), reopened)


@cache
def _vectors(count: int, seed: int = 0) -> tuple[tuple[float, ...], ...]:
    """Return vectors around some centres, like those of texts, the same each time."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    centres = [[chance.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(12)]
    return tuple(unit([value + chance.gauss(0, 0.7) for value in chance.choice(centres)]) for _ in range(count))


@cache
def _nearest(entries: tuple[VectorEntry, ...], asked: tuple[float, ...], limit: int) -> list[IndexHit]:
    """Return the result of an exact index."""
    scored = sorted((-dot(asked, unpacked(each.vector)), -each.place) for each in entries)
    return [IndexHit(-place, -cosine) for cosine, place in scored[:limit]]


def _checks_empty(index: VectorIndex) -> None:
    stamp = index.stamp()
    assert stamp == (MODEL, DIMENSIONS, 0, 0), f"an empty index is of its model, and of nothing: got {stamp}"
    assert (index.last, [*index.places()], index.fault) == (0, [], ""), "it has no place, and no fault"
    asked = _vectors(1)[0]
    assert index.search(asked, 10, ANN) == [], "nothing is found in it"
    assert index.remove([1, 2]) == 0, "nothing is taken out of it"
    index.add([])
    index.add([made_entry(1, asked)])
    assert index.search(asked, 0, ANN) == [], "none is none"
    for view in (NOBODY, 0, -1):
        assert index.search(asked, 10, view) == [], f"who sees nothing finds nothing: view {view}"
    for promise, wrong in (("dimensions", asked[:-1]), ("direction", (0.0,) * DIMENSIONS), ("numbers", ())):
        try:
            index.search(wrong, 10, ANN)
        except ValueError:
            continue
        raise AssertionError(f"a vector of other {promise} is a ValueError")


def _checks_nearest(index: VectorIndex) -> None:
    entries = tuple(made_entry(place, vector, (ANN, BOB)) for place, vector in enumerate(_vectors(1200), 1))
    index.add(entries[:400])
    for first in range(400, 1200, 400):
        index.add(entries[first : first + 400])
    found = wanted = 0
    for asked in _vectors(20, seed=1):
        due, got = _nearest(entries, asked, 10), index.search(asked, 10, BOB)
        _checks_order(got)
        assert len(got) == 10, f"as many as are wanted: got {len(got)}"
        for near in got:
            cosine = dot(asked, unpacked(entries[near.place - 1].vector))
            assert abs(near.cosine - cosine) <= COSINE_ERROR, f"a cosine is right: got {near.cosine}, it is {cosine}"
        found, wanted = found + len({near.place for near in due} & {near.place for near in got}), wanted + 10
    assert found >= RECALL * wanted, f"the nearest are found: {found} of {wanted}"
    _checks_products(index, entries[:50])
    whole = index.search(_vectors(1, seed=2)[0], 5000, ANN)
    assert len({near.place for near in whole}) == len(whole) == 1200, "all are found where all are wanted, each once"
    same = made_entry(4000, _vectors(1)[0], (ANN,))
    index.add([same])
    assert [near.place for near in index.search(_vectors(1)[0], 2, ANN)] == [4000, 1], "ties are newest place first"


def _checks_products(index: VectorIndex, entries: Sequence[VectorEntry]) -> None:
    asked, others = _vectors(1, seed=2)[0], [each.vector for each in entries]
    for got, other in zip(index.dots(asked, others), others, strict=True):
        assert abs(got - dot(asked, unpacked(other))) < 1e-9, f"products are summed with 64 bits: got {got}"
    assert list(index.dots(asked, [])) == [], "none is none"


def _checks_order(got: Sequence[IndexHit]) -> None:
    keys = [(-near.cosine, -near.place) for near in got]
    assert keys == sorted(keys), f"best first, ties newest place first: got {got}"
    assert all(-1 <= near.cosine <= 1 for near in got), f"cosines are -1 to 1: got {got}"


def _checks_views(index: VectorIndex) -> None:
    chance = random.Random(3)  # noqa: S311  # no secret
    vectors = _vectors(1300, seed=3)
    views = [(NOBODY - 1, 90 + chance.randrange(9), 70, 80) for _ in vectors]
    for place in range(100, 1300, 100):
        views[place] = (ANN, 91, 71, 81)
    entries = [
        made_entry(place, vector, seen) for place, (vector, seen) in enumerate(zip(vectors, views, strict=True), 1)
    ]
    index.add(entries)
    for asked, view in product(_vectors(5, seed=4), (ANN, 91, 71, 80)):
        seen = tuple(each for each in entries if view in each.views)
        got = {near.place for near in index.search(asked, 10, view)}
        assert got <= {each.place for each in seen}, f"a view sees its own alone: view {view} saw {got}"
        assert len(got) == 10, f"a small view of a large store has its ten: view {view} got {len(got)}"
        due = {near.place for near in _nearest(seen, asked, 3)}
        assert due & got, f"they are the nearest of the view: view {view}"
    for asked in _vectors(5, seed=4):
        assert index.search(asked, 10, 0) == [], "0 is no view"
    assert len(index.search(vectors[0], 50, ANN)) == 12, "it has no more than its own"


def _checks_removed(index: VectorIndex) -> None:
    vectors = _vectors(1500, seed=5)
    entries = [made_entry(place, vector) for place, vector in enumerate(vectors, 1)]
    index.add(entries)
    gone = [3, 700, 1500]
    assert index.remove([*gone, gone[0], 0, 9999]) == 3, "remove says how many were there"
    assert index.remove(gone) == 0, "they are gone once"
    assert [*index.places()] == [place for place in range(1, 1501) if place not in gone], "all others are there"
    assert index.last == 1500, "the last place is remembered"
    for place in gone:
        got = index.search(vectors[place - 1], 1500, ANN)
        assert not {near.place for near in got} & {*gone}, "what was taken out is not found"
        assert len(got) == 1497, f"all others are: got {len(got)}"
    index.add([entries[2], made_entry(1501, vectors[1499])])
    assert index.search(vectors[2], 1, ANN)[0].place == 3, "what is added again is found again"
    assert index.search(vectors[1499], 1, ANN)[0].place == 1501, "as is what comes behind"
    index.clear()
    assert (index.stamp().vectors, index.last, index.search(vectors[0], 5, ANN)) == (0, 0, []), "cleared, it is empty"
    index.add(entries[:5])
    assert [*index.places()] == [1, 2, 3, 4, 5], "and can be filled"


def _checks_refused(index: VectorIndex) -> None:
    good, other = (made_entry(place, vector) for place, vector in enumerate(_vectors(2), 1))
    index.add([good])
    for promise, wrong in (
        ("too few dimensions", b"\0" * 4 * (DIMENSIONS - 1)),
        ("half a number", good.vector + b"\0"),
        ("no numbers", b""),
        ("a number that is none", b"\0\0\xc0\x7f" * DIMENSIONS),
        ("an infinite number", b"\0\0\x80\x7f" * DIMENSIONS),
    ):
        refuses(f"a vector with {promise}", index.add, [other, other._replace(place=3, vector=wrong)])
        assert [*index.places()] == [1], f"with {promise}, nothing is taken in"
    index.add([good._replace(vector=other.vector), other, other])
    assert [*index.places()] == [1, 2], "a place counts once"
    assert index.stamp().vectors == 2, "in the stamp, too"
    assert index.search(unpacked(good.vector), 1, ANN)[0].place == 1, "and stays as it was"


def _checks_threads(index: VectorIndex) -> None:
    failures: list[BaseException] = []
    vectors = _vectors(400, seed=6)

    def adds(name: int) -> None:
        try:
            for number in range(name * 100, name * 100 + 100):
                index.add([made_entry(number + 1, vectors[number])])
                assert number + 1 in {near.place for near in index.search(vectors[number], 5, ANN)}
                if number % 10 == 0:
                    assert index.remove([number + 1]) == 1
        except (AssertionError, StoreError, ValueError) as error:
            failures.append(error)

    threads = [threading.Thread(target=adds, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, f"threads share an index: {failures[:1]}"
    assert [*index.places()] == [place for place in range(1, 401) if place % 10 != 1], "nothing is lost"


def _checks_stamps(one: VectorIndex, other: VectorIndex) -> None:
    vectors = _vectors(len(ODD_IDS), seed=7)
    entries = [
        made_entry(place, vector, memory_id=name)
        for place, (vector, name) in enumerate(zip(vectors, ODD_IDS, strict=True), 1)
    ]
    one.add(entries)
    for entry in reversed(entries):
        other.add([entry])
    assert one.stamp() == other.stamp(), "the same vectors have the same stamp, in any order"
    one.remove([2])
    assert one.stamp() != other.stamp(), "with one less it is another"
    one.add([entries[1]._replace(mark=entries[1].mark ^ 1)])
    assert one.stamp() != other.stamp(), "and with another in its place"
    other.remove([2])
    one.remove([2])
    assert one.stamp() == other.stamp(), "and the same again where that is gone"


def _checks_reopened(index: VectorIndex, reopened: Callable[[VectorIndex], VectorIndex]) -> None:
    vectors = _vectors(1200, seed=8)
    entries = [made_entry(place, vector, (ANN, BOB, -5, 2**62)) for place, vector in enumerate(vectors, 1)]
    index.add(entries[:1100])
    index.remove([7, 1100])
    index.save()
    stamp, due = index.stamp(), index.search(vectors[50], 20, 2**62)
    index.add(entries[1100:])
    index = reopened(index)
    assert (index.stamp(), index.last, index.fault) == (stamp, 1100, ""), "opened again, it is what was saved"
    assert index.search(vectors[50], 20, 2**62) == due, "and finds the same"
    assert 7 not in {near.place for near in index.search(vectors[6], 1100, ANN)}, "not what was taken out"
    index.add(entries[1100:])
    assert index.search(vectors[1150], 1, BOB)[0].place == 1151, "it can be added to"
    index.save()
    with closed_after(reopened(index)) as again:
        assert again.stamp().vectors == 1198, "and saved again"
        assert again.search(vectors[1150], 1, BOB)[0].place == 1151, "with what came since"


# The slowest check comes last, so that other broken promises show first.
CHECKS = (
    _checks_empty, _checks_refused, _checks_removed, _checks_views, _checks_nearest, _checks_threads,
)  # fmt: skip
