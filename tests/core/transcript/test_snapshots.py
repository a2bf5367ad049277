"""Which snapshots are kept, and how they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.core.errors import NotFoundError
from squidbot.core.transcript.snapshots import SNAPSHOT, Retention, Snapshot, SnapshotIndex, check_name

if TYPE_CHECKING:
    from squidbot.core.messages import Record

HOUR, DAY = 3600.0, 86_400.0
NOW = 1_700_000_000.0
MADE = Snapshot("one", automatic=False, cause="manual", plan_id=3, window_id="l", messages=9, pins=2, created_at=NOW)
UNASKED = replace(MADE, name="", automatic=True, cause="pressure")


def folded(records: list[Record]) -> SnapshotIndex:
    """Return what records leave."""
    return SNAPSHOT.fold([*map(SNAPSHOT.read, records)])


def history(*made: Snapshot, retention: Retention | None = None) -> list[Record]:
    """Return the records of snapshots made one behind the other."""
    records: list[Record] = []
    for one in made:
        records.append(folded(records).placed(one, retention or Retention()).record)
    return records


def names(records: list[Record]) -> list[str]:
    """Return the names of the snapshots that are kept."""
    return [one.name for one in folded(records).kept]


def test_snapshot_comes_back_from_its_record() -> None:
    """Every field, and its number and place."""
    records = history(UNASKED, MADE, replace(MADE, name="two", created_at=None, plan_id=-1))
    kept = folded(records)
    assert kept.kept[1] == replace(MADE, number=1, place=1)
    assert kept.kept[2] == replace(MADE, name="two", created_at=None, plan_id=-1, number=2, place=1)
    assert (kept.ever, kept.automatic) == (3, 1)
    assert [(record.kind, record.number) for record in records] == [("snapshot", 0), ("snapshot", 1), ("snapshot", 2)]


def test_newest_five_that_somebody_named_are_kept_whatever_their_age() -> None:
    """The sixth takes the place of the oldest; those made unasked do not count."""
    made = [replace(MADE, name=f"n{number}", created_at=NOW + number * 400 * DAY) for number in range(7)]
    records = history(*made[:3], UNASKED, *made[3:6])
    assert names(records) == ["n1", "n2", "n3", "n4", "n5"]
    assert names(history(*made, retention=Retention(most_named=2))) == ["n5", "n6"]


def test_name_that_is_given_again_takes_the_place_of_the_one_before() -> None:
    """The newest of a name is found."""
    records = history(MADE, replace(MADE, name="two"), replace(MADE, plan_id=7))
    assert names(records) == ["two", "one"]
    assert folded(records).named("one").plan_id == 7


def test_those_made_unasked_are_all_kept_for_a_day_then_each_tenth_for_a_month() -> None:
    """One each 4 hours for 40 days: the last 24 hours, and of the others those at places 0, 10, 20 ... of 30 days."""
    last = 40 * 6 - 1
    made = [replace(UNASKED, created_at=NOW + number * 4 * HOUR) for number in range(last + 1)]
    kept = folded(history(*made)).kept
    expected = [n for n in range(last + 1) if last - n <= 6 or (n % 10 == 0 and last - n <= 30 * 6)]
    assert [one.number for one in kept] == expected
    assert [one.name for one in kept] == [f"auto-{number}" for number in expected]


def test_nothing_is_too_old_where_no_time_is_known_or_the_clock_stepped_back() -> None:
    """An unknown age is none."""
    unknown = [replace(UNASKED, created_at=None)] * 3
    assert len(names(history(*unknown))) == 3
    back = [replace(UNASKED, created_at=NOW), replace(UNASKED, created_at=NOW - 400 * DAY)]
    assert len(names(history(*back))) == 2


def test_no_older_ones_are_kept_where_the_tenth_is_switched_off() -> None:
    """`keep_every_nth` 0."""
    made = [replace(UNASKED, created_at=NOW + day * DAY * 2) for day in range(5)]
    assert names(history(*made, retention=Retention(keep_every_nth=0))) == ["auto-4"]


def test_unknown_name_is_told_with_those_there_are() -> None:
    """So that the one who asks can choose."""
    with pytest.raises(NotFoundError, match=r"^no snapshot 'x'; there are: one, auto-1$"):
        folded(history(MADE, UNASKED)).named("x")
    with pytest.raises(NotFoundError, match=r"^no snapshot 'x'; there are: none$"):
        SnapshotIndex().named("x")


@pytest.mark.parametrize("name", ["", "x" * 201, "auto-7"])
def test_name_that_nobody_may_give_is_refused(name: str) -> None:
    """Empty, too long, of the form of those made unasked."""
    with pytest.raises(ValueError, match="a snapshot's name has 1 to 200 characters and does not begin with auto-"):
        check_name(name)


@pytest.mark.parametrize("name", ["x", "x" * 200, "../../etc/x", "\0", "\N{GRINNING FACE}", "\ud800", "AUTO-7"])
def test_any_other_name_will_do(name: str) -> None:
    """It is text in a record and nothing else."""
    check_name(name)
    assert names(history(replace(MADE, name=name))) == [name]
