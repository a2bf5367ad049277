"""How far what was billed stood above what was counted."""

from __future__ import annotations

import json
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.tokens.calibration import GRID, Excess

# (real tokens, bound) of one message each.
STEPS = st.lists(st.tuples(st.integers(0, 1800), st.integers(0, 900)), max_size=30)


def seen(steps: list[tuple[int, int]]) -> Excess:
    """Return the excess of messages, one after the other."""
    found = Excess()
    for real, bound in steps:
        found = found.grown(real, bound)
    return found


@given(steps=STEPS, first=st.integers(0, 29), last=st.integers(0, 30))
def test_every_run_that_was_seen_is_within_its_bound(steps: list[tuple[int, int]], first: int, last: int) -> None:
    """Wherever it begins and ends; texts that come may be as far above theirs."""
    run, excess = steps[first:last], seen(steps)
    real, bound = sum(real for real, _ in run), sum(bound for _, bound in run)
    assert real <= excess.run_bound(bound) <= max(excess.text_bound(bound), excess.run_bound(bound))
    assert excess.text_bound(bound) == bound + excess.above(bound) >= max(bound, real)


@given(steps=STEPS, limit=st.integers(0, 50_000))
def test_limits_are_the_largest_bounds_that_fit(steps: list[tuple[int, int]], limit: int) -> None:
    """Each inverse gives what its bound takes back to the limit, or less."""
    excess = seen(steps)
    assert excess.run_bound(excess.run_limit(limit)) <= max(limit, excess.run_bound(0))
    text = excess.text_limit(limit)
    assert text < 0 or excess.text_bound(text) <= limit


def test_slack_is_the_largest_excess_of_any_run() -> None:
    """Kadane's maximum against all runs, one by one, at the bound itself."""
    steps = [(130, 100), (60, 100), (150, 100), (140, 100), (20, 100)]
    over = [real - bound for real, bound in steps]
    largest = max(max(accumulate(over[first:])) for first in range(len(over)))
    assert seen(steps).slacks[GRID.index(100)] == largest == 90


@given(steps=STEPS)
def test_excess_survives_storing(steps: list[tuple[int, int]]) -> None:
    """What JSON gives back is the same value; the zeros at the end of both lists take no room."""
    excess = seen(steps)
    stored = json.loads(json.dumps(excess.stored))
    assert Excess.of(stored) == excess
    assert all(not values or values[-1] for values in stored)


@pytest.mark.parametrize("stored", [None, 3, [[1]], [[1], [2], [3]], [[-1], []], [["x"], []], [[0] * 18, []], [1, 2]])
def test_excess_out_of_range_is_refused(stored: object) -> None:
    """It would loosen the window."""
    with pytest.raises(ValueError, match=r"excess|unpack"):
        Excess.of(stored)
