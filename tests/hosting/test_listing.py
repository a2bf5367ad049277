"""Long lists of which little is looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.plugins.host import READ_MESSAGES, Made, Recorded

SLICES = st.builds(slice, *[st.none() | st.integers(-15, 15)] * 2)


@given(st.lists(st.text(max_size=2), max_size=9), SLICES, st.integers(-12, 12))
def test_what_is_made_reads_like_a_list(members: list[str], part: slice, place: int) -> None:
    """At any place, from the end, too, and any part."""
    made = Made(len(members), members.__getitem__)
    recorded = Recorded(lambda first, last: members[first : last + 1])
    recorded.grow(len(members))
    for one in (made, recorded):
        assert [*one] == members
        assert one[part] == members[part]
        if -len(members) <= place < len(members):
            assert one[place] == members[place]
        else:
            with pytest.raises(IndexError):
                one[place]


def test_each_member_is_made_once_when_it_is_asked_for() -> None:
    """And no other."""
    asked: list[int] = []

    def make(place: int) -> str:
        asked.append(place)
        return str(place)

    made = Made(1_000_000, make)
    assert (made[-1], made[999_999], made[-3:-1]) == ("999999", "999999", ["999997", "999998"])
    assert asked == [999_999, 999_997, 999_998]


def test_what_is_recorded_is_read_from_the_end() -> None:
    """A piece at a time; what was added is known without reading."""
    asked: list[tuple[int, int]] = []

    def read(first: int, last: int) -> list[str]:
        asked.append((first, last))
        return [str(number) for number in range(first, last + 1)]

    recorded = Recorded(read)
    recorded.grow(1_000)
    recorded.add(["new", "newer"])
    assert (recorded[-1], recorded[1_000], asked) == ("newer", "new", [])
    assert recorded[-3] == "999"
    assert recorded[999 - READ_MESSAGES + 1] == "744"
    assert asked == [(744, 999)]
    recorded.grow(1_002)
    assert len(recorded) == 1_002


def test_what_can_t_be_read_is_not_there() -> None:
    """Another process has removed it: nothing stands for it."""
    recorded = Recorded(lambda _first, _last: [])
    recorded.grow(3)
    with pytest.raises(IndexError):
        recorded[-1]
