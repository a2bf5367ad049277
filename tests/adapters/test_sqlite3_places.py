"""Vectors in SQLite as the truth of an index: in the order of their coming, with a stamp that is kept by triggers."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import reduce
from operator import xor
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3.memory import SqliteMemoryStore, vectors
from squidbot.adapters.stdlib import ExactIndex
from squidbot.core.errors import DamagedStoreError
from squidbot.core.memories import Scope, View
from squidbot.core.vectors import StoredVectors, VectorSearch, VectorStamp, packed, unit
from squidbot.testing import made_memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIMENSIONS = 4
ANN, BOB = Scope(user="ann", bot="a"), Scope(user="bob", bot="a")


def _vector(number: int) -> tuple[float, ...]:
    chance = random.Random(number)  # noqa: S311  # no secret
    return unit([chance.gauss(0, 1) for _ in range(DIMENSIONS)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the store is."""
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteMemoryStore]:
    """Open one with nine memories of Ann and one of Bob."""
    with SqliteMemoryStore(path) as store:
        store.add([made_memory(f"{number}", BOB if number == 9 else ANN, time=number) for number in range(10)])
        yield store


def _put(store: SqliteMemoryStore, *numbers: int, model: str = "m") -> None:
    scopes = ((number, BOB if number == 9 else ANN) for number in numbers)
    of = {made_memory(f"{number}", scope).memory_id: _vector(number) for number, scope in scopes}
    store.put_vectors(model, DIMENSIONS, of)


def _whole(truth: StoredVectors) -> None:
    """Say that the stamp is that of what is there, in every form in which it is told."""
    entries = truth.behind(0, 1000)
    marks = [entry.mark for entry in entries]
    places = [entry.place for entry in entries]
    assert truth.stamp()[2:] == (len(entries), reduce(xor, marks, 0))
    assert len({*marks}) == len(marks)
    assert [*truth.places()] == places == sorted(places)
    assert sorted(truth.picked([*places, 0, 10**9])) == sorted(entries)


def test_vectors_come_in_the_order_in_which_they_were_put(store: SqliteMemoryStore) -> None:
    """Whichever memory came first; another vector has a new place and a new mark, the same one keeps its own."""
    truth = store.vectors_of("m", DIMENSIONS)
    assert truth.stamp() == VectorStamp("m", DIMENSIONS)
    assert (truth.behind(0, 10), [*truth.places()], truth.picked([1])) == ([], [], [])
    _put(store, 5, 2)
    _put(store, 9)
    _whole(truth)
    first = truth.behind(0, 10)
    names = [entry.memory_id for entry in first]
    assert names == [made_memory("5", ANN).memory_id, made_memory("2", ANN).memory_id, made_memory("9", BOB).memory_id]
    assert [entry.vector for entry in first] == [packed(_vector(number)) for number in (5, 2, 9)]
    assert [entry.place for entry in truth.behind(first[0].place, 1)] == [first[1].place]
    _put(store, 2)
    assert truth.behind(0, 10) == first
    store.put_vectors("m", DIMENSIONS, {names[1]: _vector(77)})
    _whole(truth)
    again = truth.behind(first[-1].place, 10)
    assert [entry.memory_id for entry in again] == names[1:2]
    assert again[0].mark != first[1].mark
    assert truth.picked([first[1].place]) == []
    assert truth.stamp().vectors == 3


def test_stamp_follows_whatever_removes_vectors(store: SqliteMemoryStore, path: Path) -> None:
    """Memories forgotten, a model dropped, another model beside it; a second process sees the same."""
    truth, other = store.vectors_of("m", DIMENSIONS), store.vectors_of("other", DIMENSIONS)
    _put(store, *range(10))
    _put(store, 1, 2, 3, model="other")
    assert (truth.stamp().vectors, other.stamp().vectors) == (10, 3)
    store.forget([made_memory("1", ANN).memory_id, made_memory("9", BOB).memory_id])
    for each in (truth, other):
        _whole(each)
    assert (truth.stamp().vectors, other.stamp().vectors) == (8, 2)
    with SqliteMemoryStore(path) as again:
        assert again.vectors_of("m", DIMENSIONS).stamp() == truth.stamp()
        again.drop_vectors("m")
    assert truth.stamp() == VectorStamp("m", DIMENSIONS)
    _whole(other)
    assert truth.picked([entry.place for entry in other.behind(0, 10)]) == [], "models are never mixed"
    _put(store, 4)
    _whole(truth)


def test_entries_say_who_sees_them_and_whether_they_hold(store: SqliteMemoryStore) -> None:
    """The views of the memory's scope under each policy; what was superseded holds no more, at the same place."""
    truth = store.vectors_of("m", DIMENSIONS)
    _put(store, 1, 9)
    ann, bob = truth.behind(0, 10)
    assert {*ann.views} == {truth.view(View(ANN, policy)) for policy in ("bot", "model", "global", "agent")}
    assert not {*ann.views} & {*bob.views}
    before = truth.stamp()
    store.add([made_memory("new", ANN, supersedes=ann.memory_id)])
    assert truth.picked([ann.place]) == [ann._replace(holds=False)]
    assert truth.stamp() == before


def test_nearest_follows_the_store(store: SqliteMemoryStore) -> None:
    """What is put, superseded or forgotten counts at the next search; Bob's is never Ann's."""
    truth = store.vectors_of("m", DIMENSIONS)
    index = ExactIndex("m", DIMENSIONS)
    nearest = VectorSearch(index, truth)
    _put(store, *range(10))
    found = nearest.search(_vector(4), View(ANN))
    assert (len(found), next(iter(found))) == (9, made_memory("4", ANN).memory_id)
    assert max(found.values()) == pytest.approx(1)
    assert made_memory("9", BOB).memory_id not in found
    store.add([made_memory("new", ANN, supersedes=made_memory("4", ANN).memory_id)])
    store.forget([made_memory("5", ANN).memory_id])
    assert nearest.search(_vector(4), View(ANN)).keys() == {
        made_memory(f"{number}", ANN).memory_id for number in (0, 1, 2, 3, 6, 7, 8)
    }
    assert len(nearest.search(_vector(4), View(ANN), past=True)) == 8
    assert index.stamp() == truth.stamp()


def test_entries_are_found_by_their_place_alone(store: SqliteMemoryStore, path: Path) -> None:
    """No page of entries costs more where there are more vectors: nothing is gone through, nothing sorted."""
    _put(store, *range(10))
    store.vectors_of("m", DIMENSIONS)
    with closing(sqlite3.connect(path)) as connection, connection:
        for query, cells in (
            (vectors.BEHIND, (1, 5, 0, 9, 9)),
            (vectors.PICKED_PLACES, (1, "[1, 2]", 0, 9)),
        ):
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", cells)]
            steps = [step for step in plan if "json_each" not in step and "LIST SUBQUERY" not in step]
            assert steps[0].startswith("SEARCH memory_vector_places USING INTEGER PRIMARY KEY (rowid")
            assert all("USING INTEGER PRIMARY KEY (rowid" in step for step in steps)
    connection.close()


def test_damaged_vector_is_refused_in_one_line(store: SqliteMemoryStore, path: Path) -> None:
    """A changed byte is never searched."""
    _put(store, 3, 4)
    truth = store.vectors_of("m", DIMENSIONS)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memory_vectors SET vector = zeroblob(16) WHERE rowid % 2")
    connection.close()
    with pytest.raises(DamagedStoreError, match="the vector of memory"):
        VectorSearch(ExactIndex("m", DIMENSIONS), truth).refresh()


WRITER = """
import sys
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.testing import made_memory
with SqliteMemoryStore(sys.argv[1]) as store:
    truth = store.vectors_of("m", 4)
    for number in range(60):
        memory = made_memory(f"{sys.argv[2]} {number}")
        store.add([memory])
        store.put_vectors("m", 4, {memory.memory_id: (number + 1.0, 1.0, 0.0, 0.0)})
        if number % 6 == 0:
            store.forget([memory.memory_id])
"""


@pytest.mark.slow
def test_two_processes_that_write_at_once_lose_nothing(store: SqliteMemoryStore, path: Path) -> None:
    """Each vector has a place of its own; the stamp is that of all; an index is brought up to it meanwhile."""
    truth = store.vectors_of("m", DIMENSIONS)
    nearest = VectorSearch(index := ExactIndex("m", DIMENSIONS), truth)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
    while any(writer.poll() is None for writer in writers):
        nearest.search((1, 0, 0, 0), View(ANN))
    assert [writer.wait() for writer in writers] == [0, 0]
    nearest.refresh()
    _whole(truth)
    assert index.stamp() == truth.stamp()
    assert truth.stamp().vectors == 100
