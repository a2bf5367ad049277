"""The tiers of context windows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import TIERS, tier_of
from squidbot.core.errors import ConfigError


@pytest.mark.parametrize(
    ("window_tokens", "number"),
    [
        (1, 1),
        (2000, 1),
        (2048, 1),
        (4000, 1),
        (4096, 1),
        (4097, 2),
        (8000, 2),
        (8192, 2),
        (8193, 3),
        (16000, 3),
        (16384, 3),
        (16385, 4),
        (32000, 4),
        (32768, 4),
        (32769, 5),
        (64000, 5),
        (131072, 5),
        (1_048_576, 5),
    ],
)
def test_tier_is_the_range_that_holds_the_window(window_tokens: int, number: int) -> None:
    """O-03, C13: decimal and binary sizes of a tier are both inside, and an upper end belongs to its own tier."""
    assert tier_of(window_tokens).number == number


def test_tiers_carry_the_figures_of_the_document() -> None:
    """O-05, C22, C23: labels, targets, summaries in view, ceilings."""
    assert [t.label for t in TIERS] == ["Minimal", "Basic", "Standard", "Premium", "Ultra"]
    assert [t.target_fraction for t in TIERS] == [None, 0.80, 0.70, 0.70, 0.65]
    assert [sum(t.summaries) for t in TIERS] == [0, 1, 3, 10, 15]
    assert [t.summaries for t in TIERS] == [(0, 0, 0), (1, 0, 0), (1, 1, 1), (4, 3, 3), (5, 5, 5)]
    assert [t.pinned_fraction for t in TIERS] == [0.05, 0.10, 0.15, 0.25, 0.30]
    assert [t.prompt_cap_tokens for t in TIERS] == [400, 800, 1300, 1800, 1800]


@pytest.mark.parametrize("window_tokens", [0, -1])
def test_tier_is_refused_when_there_is_no_window(window_tokens: int) -> None:
    """Nothing has no tier."""
    with pytest.raises(ConfigError, match="must be > 0 tokens"):
        tier_of(window_tokens)


@given(st.integers(1, 2_000_000), st.integers(1, 2_000_000))
def test_tier_never_falls_when_the_window_grows(one_tokens: int, other_tokens: int) -> None:
    """A larger window is in the same tier or a higher one, and may show at least as many summaries."""
    small, large = sorted((one_tokens, other_tokens))
    assert tier_of(small).number <= tier_of(large).number
    assert sum(tier_of(small).summaries) <= sum(tier_of(large).summaries)
