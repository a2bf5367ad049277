"""The parts of a window by tier (O-04)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import LAYOUT_LEVELS, RECENT, input_limit, laid_out, left_reserve_tokens, tier_of
from squidbot.core.errors import ConfigError


def limit(window_tokens: int) -> int:
    """Return what a request may cost in a window where nothing is said of the answer."""
    return input_limit(window_tokens, left_reserve_tokens(window_tokens), 0.85)


@pytest.mark.parametrize(
    ("window_tokens", "recent"),
    [(2000, 1200), (4000, 2900), (8000, 4300), (16_000, 8900), (32_000, 9700), (64_000, 32_300), (128_000, 86_700)],
)
def test_recent_is_the_rest_of_85_percent(window_tokens: int, recent: int) -> None:
    """O-04, C11: the residuals of the errata, every other part at its figure."""
    made = laid_out(window_tokens, limit(window_tokens))
    assert made.parts == (*tier_of(window_tokens).layout, (RECENT, recent))


def test_layouts_are_those_of_the_document() -> None:
    """O-04, C23: summaries by level, those of one level together, and singly."""
    third, fourth, fifth = (laid_out(window, limit(window)) for window in (16_000, 32_000, 128_000))
    assert [third.tokens(name) for name in ("system", "task", "architecture")] == [1000, 400, 1200]
    assert [fourth.tokens(name) for name in ("system", "task", "architecture", "contracts")] == [1500, 600, 3000, 2000]
    assert [[one.tokens(name) for name in LAYOUT_LEVELS] for one in (third, fourth, fifth)] == [
        [1200, 600, 300],
        [6500, 3000, 900],
        [9000, 4500, 1500],
    ]
    assert [fourth.single(name) for name in (*LAYOUT_LEVELS, "merged")] == [1625, 1000, 300, None]
    smallest = laid_out(4000, 3400)
    assert (smallest.merged, smallest.notes, smallest.single("detailed")) == (300, 300, None)


@pytest.mark.parametrize(
    ("window_tokens", "merged"),
    [(2000, 300), (8000, 500), (9000, 84), (16_000, 150), (16_384, 153), (32_000, 300), (128_000, 1200)],
)
def test_merged_note_has_the_size_of_the_document(window_tokens: int, merged: int) -> None:
    """O-09, C23: "Ultra (Merged): 80% compression, ~150 tokens", scaled with the limit; the first tiers name a part."""
    made = laid_out(window_tokens, limit(window_tokens))
    assert made.merged == merged
    assert made.notes == made.levels + merged


@given(st.integers(1, 2_000_000), st.floats(0.01, 1.0))
def test_parts_are_the_input_limit_in_every_window(window_tokens: int, share: float) -> None:
    """O-04, C11: their sum, exactly; each within its figure, and recent has something."""
    total = max(1, int(share * window_tokens))
    made = laid_out(window_tokens, total)
    assert made.total == total
    assert all(0 <= made.tokens(name) <= most for name, most in tier_of(window_tokens).layout)
    assert made.notes <= total
    assert total < 3 or made.tokens(RECENT) > 0
    assert sum(made.within(total + 100).values()) == total + 100


@given(st.integers(8, 1_000_000), st.integers(8, 1_000_000))
def test_a_larger_window_gives_no_part_less(one_tokens: int, other_tokens: int) -> None:
    """O-04: of parts that both have; the ends of all tiers are tried, too."""
    windows = sorted((one_tokens, other_tokens, 4096, 4097, 8192, 8193, 16_384, 16_385, 32_768, 32_769))
    for small, large in pairwise(laid_out(window, limit(window)) for window in windows):
        both = dict(small.parts).keys() & dict(large.parts).keys()
        assert RECENT in both
        # A token is cut where shares are rounded down.
        assert all(large.tokens(name) >= small.tokens(name) - 1 for name in both), (small, large)


def test_a_layout_is_refused_where_there_is_no_room() -> None:
    """Nothing, or more than the window."""
    for tokens in (0, 101):
        with pytest.raises(ConfigError, match=r"must be 1 to that, not"):
            laid_out(100, tokens)


@pytest.mark.parametrize(("window_tokens", "reserve"), [(8192, 1229), (16_000, 2400), (131_072, 19_661)])
def test_reserve_is_what_85_percent_leave(window_tokens: int, reserve: int) -> None:
    """O-04, C12."""
    assert left_reserve_tokens(window_tokens) == reserve
