"""Times in words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.text import ago, stamp


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (0, "just now"),
        (59.9, "just now"),
        (60, "1 minute ago"),
        (7_199, "1 hour ago"),
        (3 * 86_400, "3 days ago"),
        (15 * 86_400, "2 weeks ago"),
        (364 * 86_400, "12 months ago"),
        (5_000 * 365 * 86_400, "5,000 years ago"),
        (-1, ""),
    ],
)
def test_distance_is_told_in_its_largest_unit(passed: float, words: str) -> None:
    """Rounded down, and not at all for what lies ahead."""
    assert ago(1_000_000_000 - passed, 1_000_000_000) == words


def test_stamp_is_utc_to_the_second() -> None:
    """Fractions are left out."""
    assert stamp(1_700_000_000.9) == "2023-11-14 22:13:20"


@pytest.mark.parametrize("seconds", [None, math.nan, math.inf, -1e300, 1e18])
def test_no_time_is_told_when_there_is_none(seconds: float | None) -> None:
    """Whatever a host has recorded, nothing is raised."""
    assert stamp(seconds) == ""
    assert ago(None, seconds) == ago(seconds, None) == ""


@given(seconds=st.floats(), now=st.floats())
def test_times_never_raise(seconds: float, now: float) -> None:
    """And are short."""
    assert len(stamp(seconds)) <= len("2023-11-14 22:13:20")
    assert "\n" not in ago(seconds, now)
