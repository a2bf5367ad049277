"""The room for the answers of a turn, in tokens of its window."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.budget import ENGLISH, Verbosity, WordLists, most_reserved_tokens, reserve_for, score_of

GERMAN = WordLists(frozenset({"erstelle"}), frozenset({"prüfe"}), frozenset({"erkläre"}))
SCORES = st.integers(0, 1000).map(lambda score: score / 1000)
VERBOSITIES: tuple[Verbosity, ...] = ("concise", "balanced", "detailed")


@pytest.mark.parametrize(
    ("tools_mode", "score", "percent"),
    [(True, 0.1, 17), (True, 0.8, 31), (True, 1.0, 35), (False, 0.0, 15), (False, 0.2, 17), (False, 0.8, 23)],
)
def test_reserve_is_the_share_of_the_document(tools_mode: bool, score: float, percent: int) -> None:  # noqa: FBT001
    """V9 and V10, of a window of 100,000 tokens."""
    reserve = reserve_for(score, window_tokens=100_000, tools_mode=tools_mode)
    assert reserve == (1000 * percent, score)


@pytest.mark.parametrize(("verbosity", "most"), [("concise", 25_000), ("balanced", 35_000), ("detailed", 45_000)])
def test_most_reserved_is_that_of_the_verbosity(verbosity: Verbosity, most: int) -> None:
    """W-14, in tools mode, which allots more than chat."""
    assert most_reserved_tokens(100_000, verbosity) == most
    assert most_reserved_tokens(100_000, verbosity, 8192) == 8192


@given(SCORES, SCORES, st.integers(2048, 131_072), st.booleans(), st.sampled_from(VERBOSITIES), st.integers(0, 20_000))
def test_reserve_never_falls_with_score_or_window_and_is_at_most_the_lease_s(  # noqa: PLR0917  # drawn
    score: float,
    other: float,
    window: int,
    tools_mode: bool,  # noqa: FBT001
    verbosity: Verbosity,
    answer: int,
) -> None:
    """What a window is opened with covers every turn; of a larger window neither answer nor input gets less."""

    def tokens(of_score: float, of_window: int) -> int:
        return reserve_for(
            of_score, window_tokens=of_window, tools_mode=tools_mode, verbosity=verbosity, most_tokens=answer or None
        ).tokens

    low, high = sorted((score, other))
    assert tokens(low, window) <= tokens(high, window) <= most_reserved_tokens(window, verbosity, answer or None)
    assert tokens(low, window) <= tokens(low, window + 1)
    assert window - tokens(low, window) <= window + 1 - tokens(low, window + 1)
    assert tokens(high, window) < window


def test_score_is_the_highest_of_all_languages() -> None:
    """A text is in one language; the words of the others find less in it."""
    assert score_of("Prüfe das", tools_mode=False, languages=(ENGLISH, GERMAN)) == 0.359
    assert score_of("analyze", tools_mode=False, languages=(ENGLISH, GERMAN)) == 0.357
    assert score_of("Prüfe das", tools_mode=False) == 0.059
    assert score_of("Prüfe das", tools_mode=False, languages=()) == 0.059
