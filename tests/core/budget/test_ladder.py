"""The ladder of pressure: which rungs are reached, and the room whose mark comes first."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import ContextUsage, Ladder, pressure_of
from squidbot.core.messages import Cost

RUNGS = ("warn", "journal", "critical", "emergency")


def cost(tokens: int) -> Cost:
    """Return a cost whose estimate and bound are the same."""
    return Cost(tokens, tokens)


@pytest.mark.parametrize(
    ("pressure", "reached"),
    [
        (0.0, 0),
        (0.699, 0),
        (0.70, 1),
        (0.749, 1),
        (0.75, 2),
        (0.849, 2),
        (0.85, 3),
        (0.949, 3),
        (0.95, 4),
        (1.0, 4),
        (math.inf, 4),
    ],
)
def test_rung_is_reached_at_its_mark_and_not_below_it(pressure: float, reached: int) -> None:
    """The marks of decisions.md, section 8."""
    assert Ladder().told(pressure) == RUNGS[:reached]


def test_rung_is_never_reached_when_its_mark_is_0() -> None:
    """And in whatever order the others stand, each goes by its own mark."""
    ladder = Ladder(warn_fraction=0.9, journal_fraction=0.0, critical_fraction=0.2)
    assert ladder.told(0.5) == ("critical",)
    assert ladder.told(2.0) == ("warn", "critical", "emergency")


@pytest.mark.parametrize(
    ("used", "whole", "percentage", "free"), [(8500, 13600, 62, 5100), (0, 0, 100, 0), (9, 8, 112, 0)]
)
def test_usage_is_rounded_down(used: int, whole: int, percentage: int, free: int) -> None:
    """O-14: 8,500 of 13,600 are 62 percent, 5,100 left; more than there is leaves nothing."""
    usage = ContextUsage(used, whole)
    assert (usage.current_tokens, usage.max_tokens) == (used, whole)
    assert (usage.percentage, usage.available_tokens) == (percentage, free)


@pytest.mark.parametrize("summaries", [[], [1200], [600, 1200], [300, 600, 1200]])
def test_pressure_is_measured_beside_the_summaries(summaries: list[int]) -> None:
    """V1, V2, V3, V4: one token above the trigger is more than 80 % of what is available, the trigger is not."""
    room, notes = cost(13_600 - 1000), sum(summaries)
    trigger = {0: 10_080, 1: 9120, 2: 8640, 3: 8400}[len(summaries)]
    assert pressure_of(cost(trigger + notes), cost(notes), room) == 0.8
    assert pressure_of(cost(trigger + notes + 1), cost(notes), room) > 0.8


def test_pressure_is_in_the_unit_that_binds() -> None:
    """The larger share counts; without room it is infinite, or nothing."""
    assert pressure_of(Cost(10, 60), Cost(0, 0), Cost(100, 100)) == 0.6
    assert pressure_of(Cost(70, 60), Cost(20, 10), Cost(100, 100)) == 0.625
    assert pressure_of(Cost(1, 1), Cost(0, 0), Cost(0, 0)) == math.inf
    assert pressure_of(Cost(5, 5), Cost(5, 5), Cost(5, 5)) == 0.0


@given(history=st.integers(0, 5000), notes=st.integers(0, 5000), room=st.integers(1, 5000))
def test_pressure_is_above_1_exactly_when_history_does_not_fit(history: int, notes: int, room: int) -> None:
    """Whatever the share of notes in it."""
    notes = min(notes, history)
    assert (pressure_of(cost(history), cost(notes), cost(room)) > 1) == (history > max(room, notes))


def test_number_of_tokens_is_a_mark_where_it_comes_first() -> None:
    """The room is the one whose high-water mark is that number; a larger number changes nothing."""
    room = cost(1000)
    assert Ladder().marked_room(room, 0.7) == room
    assert Ladder(compact_at_tokens=350).marked_room(room, 0.7) == cost(500)
    assert Ladder(compact_at_tokens=800).marked_room(room, 0.7) == room
    assert Ladder(compact_at_tokens=350, compact_at_messages=9).without_marks() == Ladder()


def test_model_is_told_of_the_first_rung_alone() -> None:
    """In percent, rounded down, 100 at most; not at all where that is switched off."""
    ladder = Ladder()
    assert ladder.first_notice(0.69) is None
    assert "72 %" in (ladder.first_notice(0.729) or "")
    assert "100 %" in (ladder.first_notice(1.4) or "")
    assert ladder._replace(notice=False).first_notice(0.9) is None
    assert ladder._replace(warn_fraction=0.0).first_notice(0.9) is None


@pytest.mark.parametrize(("pressure", "percent"), [(0.709, 70), (1.0, 100), (7.5, 100), (math.inf, 100)])
def test_model_is_told_of_its_first_rung_however_little_room_there_is(pressure: float, percent: int) -> None:
    """Never more than full, and an endless pressure is no error."""
    assert f"{percent} % full" in (Ladder().first_notice(pressure) or "")
