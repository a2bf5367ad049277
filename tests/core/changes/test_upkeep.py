"""The high-water mark by price: an event comes once going on costs more."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.compaction.planner import due
from squidbot.core.compaction.pressure import SUPPOSED_TOKENS, CompactionCost, pays
from squidbot.core.messages import Cost, Kind
from squidbot.core.plan import Prices, Representation, Segment
from squidbot.core.settings import HistorySettings
from squidbot.core.view.current import Block, CurrentView, Pieces, Tail, standing

from ..rows import RENDERER, part, row
from .test_event import MOMENT

CLAUDE = Prices(0.1, 1.25, 5.0, 0)
# High enough never to be reached here.
SETTINGS = HistorySettings(high_fraction=0.9, patience=1.0)


def mean_price(calls: int, written: float, prices: Prices) -> float:
    """Return what a request costs on average beside what it has to, with an event each so many calls."""
    carried = SUPPOSED_TOKENS * calls * (calls + 1) // 2
    return ((prices.write - prices.read) * written + prices.read * carried) / calls


@given(st.integers(200, 40_000), st.floats(0.02, 0.9), st.floats(0.1, 2.0))
def test_to_wait_until_it_pays_is_cheapest_where_requests_grow_evenly(written: int, read: float, more: float) -> None:
    """Beside the best of all numbers of calls between two events, that number costs hardly anything more."""
    prices = Prices(read, read + more, 5.0, 0)
    best = min(mean_price(calls, written, prices) for calls in range(1, 1000))
    waits = next(
        calls
        for calls in range(1, 1000)
        if CompactionCost(SUPPOSED_TOKENS * calls, calls, SUPPOSED_TOKENS * calls, written, 1).pays_by(prices) >= 1
    )
    assert mean_price(waits, written, prices) <= 1.02 * best + prices.read * SUPPOSED_TOKENS / 2


def test_free_reads_never_pay_for_an_event_and_a_free_event_pays_at_once() -> None:
    """A local model reads its own cache for nothing; without a cache each token is written whatever is done."""
    upkeep = CompactionCost(9_000, 10, 8_000, 2_000, 7_000)
    assert upkeep.pays_by(Prices(0.0, 1.0, 5.0, 0)) == 0
    assert upkeep.pays_by(Prices(1.0, 1.0, 5.0, 0)) == math.inf
    assert CompactionCost(900, 10, 0, 900, 0).pays_by(Prices(1.0, 1.0, 5.0, 0)) == 0


def history(said: int, *, noted: bool = True, role: Literal["user", "assistant"] = "assistant") -> CurrentView:
    """Return a standing with a block of 10 tokens, and so many raw behind it in messages of 10, a user's last."""
    block = Block(Segment(0, 0, Representation.MERGED, "s0-0.beef", (), 10), (part("user", Kind.SUMMARY),))
    rows = [row(1 + at, role, tokens=10, turn=at if role == "user" else 1) for at in range(said // 10 - 1)]
    tail = Tail().extended([*rows, row(said // 10, "user", tokens=10, turn=said // 10)], RENDERER, 0)
    made = standing(None, Pieces((), (), (block,) if noted else (), tail))
    return made._replace(messages=said // 10 + 1, turn=said // 10)


def test_event_comes_below_the_mark_once_going_on_costs_more() -> None:
    """The later, the more patience there is; with much of it only at the mark."""
    sizes = range(110, 800, 10)
    waits = {
        patience: next(
            (said for said in sizes if due(history(said), MOMENT, replace(SETTINGS, patience=patience))), 800
        )
        for patience in (0.05, 0.1, 0.2, 9.0)
    }
    assert 110 < waits[0.05] < waits[0.1] < waits[0.2] < waits[9.0] < 800
    assert not pays(history(waits[9.0]), MOMENT, replace(SETTINGS, patience=9.0))


@pytest.mark.parametrize(
    ("changes", "noted", "role"),
    [
        ({"patience": 0.0}, True, "assistant"),
        ({"chain": False}, True, "assistant"),
        ({"read_price": 0.0}, True, "assistant"),
        ({}, False, "assistant"),
        ({}, True, "user"),
    ],
)
def test_nothing_pays_without_patience_chain_price_notes_or_anything_to_take(
    changes: dict[str, float],
    noted: bool,  # noqa: FBT001
    role: Literal["user", "assistant"],
) -> None:
    """Before the first event all is sent raw; the user's messages stay verbatim anyway."""
    settings = replace(SETTINGS, **{"patience": 0.2, **changes})  # type: ignore[arg-type]
    assert pays(history(700), MOMENT, replace(SETTINGS, patience=0.2))
    assert not pays(history(700, noted=noted, role=role), MOMENT, settings)


def test_an_event_that_would_save_too_little_of_the_request_is_not_asked_for() -> None:
    """Asked for and skipped twice, it would pause compaction."""
    settings = replace(SETTINGS, patience=0.01)
    assert pays(history(300), MOMENT, settings)
    assert not pays(history(300), MOMENT._replace(tools=Cost(2000, 2000), limit=Cost(3000, 3000)), settings)
