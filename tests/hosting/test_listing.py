"""Long lists of which little is looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.plugins.lists import LazyList

SLICES = st.builds(slice, *[st.none() | st.integers(-15, 15)] * 2)


@given(st.lists(st.text(max_size=2), max_size=9), SLICES, st.integers(-12, 12))
def test_what_is_made_reads_like_a_list(members: list[str], part: slice, place: int) -> None:
    """At any place, from the end, too, and any part."""
    lazy = LazyList(len(members), lambda at: {at: members[at]})
    assert [*lazy] == members
    assert lazy[part] == members[part]
    if -len(members) <= place < len(members):
        assert lazy[place] == members[place]
    else:
        with pytest.raises(IndexError):
            lazy[place]


def test_each_member_is_made_once_when_it_is_asked_for() -> None:
    """And no other."""
    asked: list[int] = []

    def load(place: int) -> dict[int, str]:
        asked.append(place)
        return {place: str(place)}

    lazy = LazyList(1_000_000, load)
    assert (lazy[-1], lazy[999_999], lazy[-3:-1]) == ("999999", "999999", ["999997", "999998"])
    assert asked == [999_999, 999_998, 999_997]


def test_what_is_recorded_is_read_from_the_end() -> None:
    """A piece at a time; what was added is known without reading."""
    asked: list[int] = []

    def load(last: int) -> dict[int, str]:
        asked.append(last)
        return {at: str(at) for at in range(last - 255, last + 1)}

    lazy = LazyList(1_000, load)
    lazy.put(1_000, "new")
    lazy.put(1_001, "newer")
    assert (lazy[-1], lazy[1_000], asked) == ("newer", "new", [])
    assert lazy[-3] == "999"
    assert lazy[744] == "744"
    assert asked == [999]
    assert len(lazy) == 1_002


def test_what_can_t_be_read_is_not_there() -> None:
    """Another process has removed it: nothing stands for it."""
    lazy: LazyList[str] = LazyList(3, lambda _last: {})
    with pytest.raises(IndexError):
        lazy[-1]
