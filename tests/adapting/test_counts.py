"""Counts of texts that others made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.adapters.common import counts
from squidbot.adapters.common.counts import KeptCounts

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def kept(path: Path, counter: str = "a") -> KeptCounts:
    """Return what a process has that keeps its counts there."""
    made = KeptCounts(counter)
    made.keep(path)
    return made


def test_count_is_known_to_every_process_behind_it_and_to_no_other_counter(tmp_path: Path) -> None:
    """Two that are open at once add to one file; the texts themselves are not in it."""
    path = tmp_path / "s.db.counts"
    one, two = kept(path), kept(path)
    one.put(one.key("bees \ud800"), 7)
    two.put(two.key("wasps"), 8)
    assert one.get(one.key("wasps")) is None
    again = kept(path)
    assert [again.get(again.key(text)) for text in ("bees \ud800", "wasps", "ants")] == [7, 8, None]
    other = kept(path, "b")
    assert other.get(other.key("wasps")) is None
    assert "wasps" not in path.read_text(encoding="ascii")


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    """What they said is counted once more."""
    path = tmp_path / "counts"
    made = kept(path)
    made.put(made.key("bees"), 7)
    whole = path.read_bytes()
    path.write_bytes(b"\xff\xfe broken\n" + whole + whole[:20])
    assert kept(path).get(made.key("bees")) == 7


def test_disk_that_fails_fails_no_count(tmp_path: Path) -> None:
    """A folder stands where the file should: counts live in memory."""
    made = kept(tmp_path)
    made.put(made.key("bees"), 7)
    assert made.get(made.key("bees")) == 7


def test_file_holds_no_more_than_twice_what_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest stay, in memory and in the file."""
    monkeypatch.setattr(counts, "MOST_TEXTS", 3)
    path = tmp_path / "counts"
    made = kept(path)
    for number in range(8):
        made.put(made.key(str(number)), number)
    assert [made.get(made.key(str(number))) for number in range(4, 8)] == [None, 5, 6, 7]
    again = kept(path)
    assert [again.get(again.key(str(number))) for number in range(4, 8)] == [None, 5, 6, 7]
    assert len(path.read_text(encoding="ascii").splitlines()) == 3
    assert list(tmp_path.iterdir()) == [path]
