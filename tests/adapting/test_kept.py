"""The frame of an index that is kept: what it says where its file can't be used, and when it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common.indexes import BaseIndex, UnusableError, lists_for
from squidbot.core.errors import StoreError
from squidbot.core.vectors import IndexHit, VectorEntry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Places(BaseIndex):
    """Keeps places alone, a line each."""

    kept_as = "file"
    writes = 0

    def __init__(self, path: Path | None, model: str = "m") -> None:
        super().__init__(path, model, 2)
        self.places: list[int] = []
        self.begin()

    def put(self, place: int) -> None:
        """Take one in."""
        self.add([VectorEntry(place, place, "", (1,), b"")])

    def _known(self, places: Sequence[int]) -> list[int]:
        return [place for place in places if place in self.places]

    def _put(self, entries: Sequence[VectorEntry]) -> None:
        self.places += [entry.place for entry in entries]

    def _drop(self, places: Sequence[int]) -> list[int]:
        gone = self._known(places)
        self.places = [place for place in self.places if place not in gone]
        return gone

    def _empty(self) -> None:
        super()._empty()
        self.places = []

    def _take(self, path: Path) -> None:
        model, *places = path.read_text().splitlines()
        self._refuse_other(model, 2)
        for place in places:
            self.put(int(place))
        if self.places != sorted(self.places):
            raise UnusableError("it is out of order\nand more")
        self._dirty = False

    def _write(self, path: Path) -> None:
        self.writes += 1
        path.write_text("\n".join([self._stamp.model, *map(str, self.places)]))

    def _found(self, asked: Sequence[float], limit: int, view: int) -> list[IndexHit]:
        del asked, limit, view
        return [IndexHit(place, 1.0 / (1 + place // 2)) for place in self.places]


def test_index_is_written_when_it_has_changed(tmp_path: Path) -> None:
    """And held again when it is opened; one that is kept nowhere is never written."""
    index = Places(tmp_path / "places")
    assert (index.fault, index.last, index.stamp().vectors) == ("", 0, 0)
    for place in (3, 4, 5):
        index.put(place)
    index.save()
    index.save()
    assert index.writes == 1
    opened = Places(tmp_path / "places")
    assert (opened.stamp(), opened.last, opened.places) == (index.stamp(), 5, [3, 4, 5])
    opened.save()
    opened.close()
    opened.close()
    assert (opened.writes, opened.stamp().vectors, opened.last) == (0, 0, 0)
    nowhere = Places(None)
    nowhere.put(1)
    nowhere.save()
    assert nowhere.writes == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("other\n1", "it is of 'other', 2 dimensions"),
        ("m\n2\n1", "it is out of order"),
        ("m\nx", "invalid literal for int() with base 10: 'x'"),
    ],
)
def test_what_can_not_be_used_is_said_in_one_line_and_nothing_is_held(tmp_path: Path, text: str, why: str) -> None:
    """With the path; the next save puts it right."""
    path = tmp_path / "places"
    path.write_text(text)
    index = Places(path)
    assert index.fault == f"vectors of 'm' are read from the store again: {why} @ {path}"
    assert (index.stamp().vectors, index.places) == (0, [])
    index.save()
    assert (index.fault, Places(path).fault) == ("", "")


def test_failure_of_the_disk_is_told_when_it_is_read_and_when_it_is_written(tmp_path: Path) -> None:
    """In its own words; what could not be saved still waits for it."""
    (tmp_path / "places").mkdir()
    index = Places(tmp_path / "places")
    assert index.fault.endswith(f"Is a directory @ {tmp_path / 'places'}")
    index.put(1)
    with pytest.raises(StoreError, match=r"^cannot save vectors: Is a directory @ .*places; the file is unchanged$"):
        index.save()
    (tmp_path / "places").rmdir()
    index.save()
    assert Places(tmp_path / "places").places == [1]


def test_search_is_sorted_and_ties_are_newest_first() -> None:
    """Whatever the kind finds, and however much."""
    index = Places(None)
    for place in range(1, 6):
        index.put(place)
    assert [near.place for near in index.search((1.0, 0.0), 3, 1)] == [1, 3, 2]
    assert index.search((1.0, 0.0), 0, 1) == index.search((1.0, 0.0), -1, 1) == index.search((1.0, 0.0), 3, 0) == []
    with pytest.raises(ValueError, match="expected a vector of 2 numbers, got 3"):
        index.search((1.0, 0.0, 0.0), 3, 1)
    with pytest.raises(ValueError, match="no direction"):
        index.search((0.0, 0.0), 3, 1)


def test_lists_are_about_as_many_as_the_root() -> None:
    """Powers of two."""
    assert [lists_for(count) for count in (1, 400, 3_000, 1_000_000)] == [1, 16, 64, 1024]
