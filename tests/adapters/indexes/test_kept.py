"""Indexes of vectors that are kept on disk, by FAISS and by LanceDB: beside their truth, whatever was saved before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from squidbot.core.errors import StoreError
from squidbot.core.memories import View
from squidbot.core.vectors import VectorIndex, VectorSearch

from .kept import ANN, BOB, DIMENSIONS, EXACT, first_of, memory_of, truth_of, vector_of

if TYPE_CHECKING:
    from pathlib import Path


class Kept(VectorIndex, Protocol):
    """An index that says in how many lists its vectors lie."""

    @property
    def lists(self) -> int:
        """In how many lists; 0 where every one is compared."""


class Opening(Protocol):
    """Opens an index that is kept."""

    def __call__(self, path: Path, model: str = "m", dimensions: int = DIMENSIONS) -> Kept:
        """Open it."""


@pytest.fixture(params=["faiss", pytest.param("lancedb", marks=pytest.mark.lancedb)])
def opened(request: pytest.FixtureRequest) -> Opening:
    """Return what opens an index of each kind."""
    pytest.importorskip(request.param, reason=f"the extra {request.param}", exc_type=ImportError)
    if request.param == "faiss":
        from squidbot.adapters.faiss import FaissIndex  # noqa: PLC0415  # an extra

        return lambda path, model="m", dimensions=DIMENSIONS: FaissIndex(path, model, dimensions, exact_vectors=EXACT)
    from squidbot.adapters.lancedb import LanceIndex  # noqa: PLC0415  # an extra

    return lambda path, model="m", dimensions=DIMENSIONS: LanceIndex(path, model, dimensions, exact_vectors=EXACT)


@pytest.mark.parametrize("count", [50, 900], ids=["exact", "lists"])
def test_what_was_saved_spares_reading_all_again(opened: Opening, tmp_path: Path, count: int) -> None:
    """It is what the truth holds: it is opened, and what came since is read alone."""
    truth, path = truth_of(count), tmp_path / "vectors"
    nearest = VectorSearch(opened(path), truth)
    assert nearest.refresh()
    nearest.save()
    truth.put(memory_of(5000), vector_of(5000))
    index = opened(path)
    assert (index.stamp().vectors, bool(index.lists)) == (count, count > EXACT)
    assert first_of(VectorSearch(index, truth), 5000) == memory_of(5000).memory_id
    assert index.stamp() == truth.stamp()


def test_index_of_another_embedder_is_refused_at_load(opened: Opening, tmp_path: Path) -> None:
    """Vectors of two models, or of two lengths, are never compared."""
    path = tmp_path / "vectors"
    VectorSearch(opened(path), truth_of(20)).save()
    for index in (opened(path, "other"), opened(path, "m", DIMENSIONS + 1)):
        assert index.stamp().vectors == 0
        assert index.fault.endswith(f"it is of 'm', {DIMENSIONS} dimensions @ {path}")


def test_index_newer_than_the_truth_says_what_the_truth_says(opened: Opening, tmp_path: Path) -> None:
    """A backup of the store was put back: its vectors count, where places were given out again, too."""
    path = tmp_path / "vectors"
    VectorSearch(opened(path), truth_of(60)).save()
    old = truth_of(40)
    for number in range(100, 110):
        old.put(memory_of(number, BOB), vector_of(number))
    nearest = VectorSearch(index := opened(path), old)
    assert first_of(nearest, 50) != memory_of(50).memory_id
    assert first_of(nearest, 105, BOB) == memory_of(105, BOB).memory_id
    assert index.stamp() == old.stamp()


def test_foreign_index_never_shows_what_is_another_users(opened: Opening, tmp_path: Path) -> None:
    """What Bob's store has lies beside Ann's: Ann finds hers, Bob nothing."""
    path = tmp_path / "vectors"
    VectorSearch(opened(path), truth_of(60, BOB)).save()
    nearest = VectorSearch(opened(path), truth_of(60))
    assert nearest.search(vector_of(3), View(BOB)) == {}
    assert first_of(nearest, 3) == memory_of(3).memory_id


def test_two_processes_indexes_follow_one_truth(opened: Opening, tmp_path: Path) -> None:
    """What one put in or took out the other finds, or finds no more, at its next search; saves may cross."""
    truth, path = truth_of(30), tmp_path / "vectors"
    one, other = VectorSearch(opened(path), truth), VectorSearch(opened(path), truth)
    for nearest in (one, other):
        nearest.refresh()
        nearest.save()
    truth.put(memory_of(70), vector_of(70))
    assert first_of(one, 70) == first_of(other, 70) == memory_of(70).memory_id
    one.save()
    truth.remove([memory_of(70).memory_id])
    assert first_of(other, 70) != memory_of(70).memory_id
    other.save()
    assert first_of(one, 8) == memory_of(8).memory_id
    assert first_of(one, 70) != memory_of(70).memory_id
    one.save()
    assert opened(path).stamp() == truth.stamp()


def test_lists_are_made_anew_when_outgrown(opened: Opening, tmp_path: Path) -> None:
    """Lists made for some hundred vectors are more and shorter for some thousand; all are still found."""
    truth, path = truth_of(EXACT + 1), tmp_path / "vectors"
    nearest = VectorSearch(index := opened(path), truth)
    nearest.save()
    few = index.lists
    for number in range(1000, 1000 + 5 * EXACT):
        truth.put(memory_of(number), vector_of(number))
    truth.remove([memory_of(number).memory_id for number in range(0, EXACT, 2)])
    nearest.save()
    assert index.lists > few > 0
    for number in (1, 1003, 2500):
        assert first_of(nearest, number) == memory_of(number).memory_id
    assert opened(path).stamp() == truth.stamp()


def test_vector_that_does_not_fit_is_refused_in_one_line(opened: Opening, tmp_path: Path) -> None:
    """It names the memory; nothing was taken in, and what is asked for has to fit, too."""
    truth, index = truth_of(3), opened(tmp_path / "vectors")
    (bad,) = truth.behind(2, 1)
    with pytest.raises(StoreError, match=r"is not 8 finite numbers; nothing was taken in"):
        index.add([*truth.behind(0, 2), bad._replace(vector=bad.vector[:-4])])
    assert index.stamp().vectors == 0
    with pytest.raises(ValueError, match="expected a vector of 8 numbers, got 9"):
        index.search((1.0,) * 9, 1, truth.view(View(ANN)))
