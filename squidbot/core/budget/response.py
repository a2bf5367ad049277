"""The room for the answer of one turn: by how much its question asks for, where that is wanted (W-09 to W-14, C12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.budget.allocate import adaptive_shares
from squidbot.core.budget.complexity import ENGLISH, WordLists, score_complexity
from squidbot.core.budget.window import Reserve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.budget.allocate import Verbosity

__all__ = ["most_reserved_tokens", "reserve_for", "score_of"]


def score_of(text: str, *, tools_mode: bool, languages: Sequence[WordLists] = (ENGLISH,)) -> float:
    """Return the complexity of a user's text, 0 to 1: the highest that the words of any of these languages find."""
    empty = WordLists(frozenset(), frozenset(), frozenset())
    return max(score_complexity(text, tools_mode=tools_mode, words=words) for words in languages or (empty,))


def reserve_for(
    score: float,
    *,
    window_tokens: int,
    tools_mode: bool,
    verbosity: Verbosity = "balanced",
    most_tokens: int | None = None,
) -> Reserve:
    """Return the room that a question of this complexity is given of a window, in tokens.

    It is the response's share of the window, rounded down, and never more than the model's longest answer,
    `most_tokens` (None: unknown).

    Raises:
        ConfigError: the score is not within 0..1, or there is no such verbosity.
    """
    share = adaptive_shares(score, tools_mode=tools_mode, verbosity=verbosity).response
    tokens = int(share * window_tokens)
    return Reserve(tokens if most_tokens is None else min(tokens, most_tokens), score)


def most_reserved_tokens(window_tokens: int, verbosity: Verbosity, most_tokens: int | None = None) -> int:
    """Return the most that any question is given of a window, in tokens: what a lease is opened with.

    Raises:
        ConfigError: there is no such verbosity.
    """
    return reserve_for(
        1.0, window_tokens=window_tokens, tools_mode=True, verbosity=verbosity, most_tokens=most_tokens
    ).tokens
