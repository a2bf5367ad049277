"""Shares with their 95 % intervals, by drawing conversations again.

Questions of one conversation are alike, so conversations are what is drawn, with all their questions: of five there is
less to be sure of than of the thousand questions that they have.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import TYPE_CHECKING

from benchmarks.report import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["interval"]

DRAWS, SEED = 2_000, 20_311
TAIL_FRACTION = 0.025  # on each side


def interval(parts: Sequence[tuple[float, int]]) -> Interval | None:
    """Return what all conversations have in a hundred of their questions; None without any question.

    Of each conversation a sum over its questions is given, and their number. The interval is that of a difference if
    the sums are differences: both of a pair are then drawn together.
    """
    value = _percent(parts)
    if value is None:
        return None
    drawn = (_percent([parts[place] for place in places]) for places in _draws(len(parts)))
    found = sorted(each for each in drawn if each is not None)
    last = len(found) - 1
    low, high = (found[round(last * share)] for share in (TAIL_FRACTION, 1 - TAIL_FRACTION))
    return Interval(value, low, high)


def _percent(parts: Sequence[tuple[float, int]]) -> float | None:
    questions = sum([count for _, count in parts])
    return 100 * sum([part for part, _ in parts]) / questions if questions else None


@cache
def _draws(count: int) -> list[list[int]]:
    """Return places of so many conversations, drawn again and again, the same in every run."""
    chance = Random(SEED)  # noqa: S311  # repeatable
    return [chance.choices(range(count), k=count) for _ in range(DRAWS)]
