"""Intervals over conversations are what drawing whole conversations gives."""

from __future__ import annotations

import pytest

from benchmarks.intervals import interval


def test_one_conversation_has_no_spread() -> None:
    """Nothing else can be drawn."""
    found = interval([(3, 4)])
    assert found is not None
    assert (float(found), found.low, found.high) == (75, 75, 75)


def test_conversations_are_drawn_whole() -> None:
    """Of two, one without any answer, each is drawn twice in a quarter of the cases."""
    found = interval([(0, 10), (10, 10)])
    assert found is not None
    assert (float(found), found.low, found.high) == (50, 0, 100)


def test_conversations_count_by_their_questions() -> None:
    """All questions together have the share; one without questions has none to give."""
    found = interval([(1, 1), (0, 3), (0, 0)])
    assert found is not None
    assert (float(found), found.low, found.high) == (25, 0, 100)


def test_differences_have_intervals_too() -> None:
    """Where each conversation changes by the same share, the difference is sure."""
    found = interval([(-1, 10), (-2, 20), (-3, 30)])
    assert found is not None
    assert (float(found), found.low, found.high) == (-10, -10, -10)


def test_twenty_conversations_are_as_sure_as_the_normal_distribution_says() -> None:
    """Half of them right: 50 +- 1.96 * 50 / sqrt(20) points; the same in every run."""
    parts = [(10 * (place % 2), 10) for place in range(20)]
    found = interval(parts)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((28, 72), abs=3)
    again = interval(parts)
    assert again is not None
    assert (again.low, again.high) == (found.low, found.high)


def test_without_questions_there_is_no_share() -> None:
    """Of a category that nobody asks about."""
    assert interval([]) is None
    assert interval([(0, 0)]) is None
