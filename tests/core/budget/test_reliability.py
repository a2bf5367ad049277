"""How far a model can be relied on (O-17, C24)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import LEAST_FRACTION, level_of, reliability


@pytest.mark.parametrize(
    ("billion", "factor"),
    [(70.0, 0.95), (69.9, 0.85), (30.0, 0.85), (13.0, 0.7), (7.0, 0.5), (6.9, 0.3), (0.0, 0.3), (None, 1.0)],
)
def test_factor_follows_the_size_of_the_model(billion: float | None, factor: float) -> None:
    """.95, .85, .7, .5 and .3, from 70, 30, 13 and 7 billion parameters; an unknown size has none."""
    assert reliability(0, billion) == factor
    assert reliability(1, billion) == pytest.approx(factor * 0.85)


@pytest.mark.parametrize(("generations", "left"), [(0, 1.0), (1, 0.85), (2, 0.7), (4, 0.4), (5, 0.3), (9, 0.3)])
def test_each_generation_takes_15_percent_when_it_is_linear(generations: int, left: float) -> None:
    """Max(1 - .15 n, .3)."""
    assert reliability(generations) == pytest.approx(left)


@pytest.mark.parametrize(("generations", "left"), [(0, 1.0), (1, 0.85), (2, 0.7225), (7, 0.3206), (8, 0.3)])
def test_each_generation_leaves_85_percent_when_it_is_exponential(generations: int, left: float) -> None:
    """Max(.85 to the power of n, .3); equal to the linear form up to one generation."""
    assert reliability(generations, exponential=True) == pytest.approx(left, abs=1e-4)


@pytest.mark.parametrize(
    ("fraction", "level"),
    [(1.0, "high"), (0.85, "high"), (0.849, "fair"), (0.6, "fair"), (0.599, "low"), (0.4, "low"), (0.399, "poor")],
)
def test_levels_are_85_60_and_40_percent(fraction: float, level: str) -> None:
    """Below the last one a new conversation is better."""
    assert level_of(fraction) == level
    assert (level == "poor") == (fraction < LEAST_FRACTION)


@given(st.integers(0, 50), st.none() | st.floats(0, 2000), st.booleans())
def test_reliability_never_rises_with_what_is_lost(generations: int, billion: float | None, exponential: bool) -> None:  # noqa: FBT001  # drawn
    """And is always a share."""
    now = reliability(generations, billion, exponential=exponential)
    assert 0 < reliability(generations + 1, billion, exponential=exponential) <= now <= 1
