"""When the plan changes, and what that costs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.compaction.planner import due, first_changed
from squidbot.core.compaction.pressure import (
    SUPPOSED_TOKENS,
    CallContext,
    CompactionCost,
    Outlook,
    pays,
    pressure_fraction,
    room_of,
    saves_enough,
)
from squidbot.core.messages import Cost, Kind, Usage
from squidbot.core.plan import FirstChanged, PlanRecord, Prices, Representation, Segment, price_of
from squidbot.core.settings import HistorySettings, strategy
from squidbot.core.view.current import CurrentView, Pieces, PlanBlock, Tail, view_of

from ..promises.driver import Host, Setup, causes, requests
from ..promises.histories import tame, timed
from ..rows import RENDERER, part, row

# -- when the plan changes --------------------------------------------------------------------------------------------

MOMENT = CallContext(
    limit=Cost(1000, 1000),
    system=(),
    tools=Cost(0, 0),
    notices=(Cost(9, 9), Cost(5, 5)),
    new_turn=True,
    cold=False,
    stored=10,
    changed=None,
    now=None,
    paused=False,
    unit="tokens",
)
SETTINGS = HistorySettings(high_fraction=0.7, low_fraction=0.3)


def history(tokens: int, *, noted: bool = False) -> CurrentView:
    """Return a standing whose history costs so many tokens, some of it in a block where `noted`."""
    block = PlanBlock(Segment(0, 0, Representation.MERGED, "s0-0.beef"), (part("user", Kind.SUMMARY),))
    blocks, rest = ((block,), tokens - 10) if noted else ((), tokens)
    tail = Tail().extended([row(1, tokens=rest)], RENDERER, 0)
    return view_of(None, Pieces((), (), blocks, tail))._replace(messages=2, turn=1)


@pytest.mark.parametrize(
    ("tokens", "change", "cause"),
    [
        (700, {}, None),
        (701, {}, "high-water"),
        (701, {"new_turn": False}, None),
        (701, {"paused": True}, None),
        (1000, {"new_turn": False}, None),
        (1001, {"new_turn": False, "paused": True}, "overflow"),
        (1001, {"changed": "tools-changed"}, "overflow"),
        (10, {"changed": "tools-changed", "new_turn": False}, "tools-changed"),
        (701, {"changed": "opened"}, "opened"),
        (600, {"cold": True}, None),
        (700, {"tools": Cost(1, 1)}, "high-water"),
        (700, {"limit": Cost(999, 2000)}, "high-water"),
    ],
)
def test_plan_changes_for_a_cause(tokens: int, change: dict[str, object], cause: str | None) -> None:
    """Above the mark before a new turn; beyond the room at once; in the unit that binds."""
    assert due(history(tokens), MOMENT._replace(**change), SETTINGS) == cause  # type: ignore[arg-type]


@pytest.mark.parametrize(("tokens", "cause"), [(500, None), (501, "cold-cache"), (701, "high-water")])
def test_cold_cache_lowers_the_mark_to_the_middle_for_what_is_compacted_already(tokens: int, cause: str) -> None:
    """(.7 + .3) / 2."""
    assert due(history(tokens, noted=True), MOMENT._replace(cold=True), SETTINGS) == cause


def test_pressure_is_that_of_the_unit_that_binds() -> None:
    """Without room, anything is too much, and nothing is not."""
    assert pressure_fraction(Cost(50, 20), Cost(100, 100)) == 0.5
    assert pressure_fraction(Cost(20, 50), Cost(100, 100)) == 0.5
    assert pressure_fraction(Cost(1, 1), Cost(0, 10)) == float("inf")
    assert pressure_fraction(Cost(0, 1), Cost(10, -5)) == float("inf")
    assert pressure_fraction(Cost(0, 0), Cost(0, 0)) == 0.0


def test_room_is_what_the_fixed_parts_leave() -> None:
    """System text, tools, and the notices that a request needs (B-13)."""
    call = MOMENT._replace(system=(part("system", Kind.SYSTEM),), tools=Cost(20, 30))
    assert room_of(history(100), call) == Cost(970, 960)
    alone = view_of(None, Pieces((), (), (), Tail().extended([row(0, "assistant")], RENDERER, 0)))._replace(messages=1)
    assert room_of(alone, MOMENT) == Cost(1000 - 14, 1000 - 14)


@pytest.mark.parametrize(("after", "enough"), [(900, True), (901, False), (1000, False), (1200, False)])
def test_event_saves_enough_when_it_saves_a_tenth(after: int, *, enough: bool) -> None:
    """Of the whole request."""
    record = PlanRecord(0, None, "", None, "high-water", tokens_before=1000, tokens_after=after)
    assert saves_enough(record, SETTINGS) is enough


def test_first_change_is_where_parts_differ() -> None:
    """Inside, behind the shorter one, or at the end of equal ones."""
    old = [part("user", seq=seq) for seq in range(3)]
    assert first_changed(old, [old[0], part("user", seq=7), old[2]]) == FirstChanged(1, 7, 10)
    assert first_changed(old, [*old, part("user", seq=3)]) == FirstChanged(3, 3, 30)
    assert first_changed(old, old[:2]) == FirstChanged(2, -1, 20)
    assert first_changed(old, [one._replace() for one in old]) == FirstChanged(3, -1, 30)


# -- the high-water mark by price: an event comes once going on costs more --------------------------------------------

CLAUDE = Prices(0.1, 1.25, 5.0, 0)
# High enough never to be reached here.
PATIENT = HistorySettings(high_fraction=0.9, patience=1.0)


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


def noted_history(said: int, *, noted: bool = True, role: Literal["user", "assistant"] = "assistant") -> CurrentView:
    """Return a standing with a block of 10 tokens, and so many raw behind it in messages of 10, a user's last."""
    block = PlanBlock(Segment(0, 0, Representation.MERGED, "s0-0.beef", (), 10), (part("user", Kind.SUMMARY),))
    rows = [row(1 + at, role, tokens=10, turn=at if role == "user" else 1) for at in range(said // 10 - 1)]
    tail = Tail().extended([*rows, row(said // 10, "user", tokens=10, turn=said // 10)], RENDERER, 0)
    made = view_of(None, Pieces((), (), (block,) if noted else (), tail))
    return made._replace(messages=said // 10 + 1, turn=said // 10)


def test_event_comes_below_the_mark_once_going_on_costs_more() -> None:
    """The later, the more patience there is; with much of it only at the mark."""
    sizes = range(110, 800, 10)
    waits = {
        patience: next(
            (said for said in sizes if due(noted_history(said), MOMENT, replace(PATIENT, patience=patience))),
            800,
        )
        for patience in (0.05, 0.1, 0.2, 9.0)
    }
    assert 110 < waits[0.05] < waits[0.1] < waits[0.2] < waits[9.0] < 800
    assert not pays(noted_history(waits[9.0]), MOMENT, replace(PATIENT, patience=9.0))


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
    settings = replace(PATIENT, **{"patience": 0.2, **changes})  # type: ignore[arg-type]
    assert pays(noted_history(700), MOMENT, replace(PATIENT, patience=0.2))
    assert not pays(noted_history(700, noted=noted, role=role), MOMENT, settings)


def test_an_event_that_would_save_too_little_of_the_request_is_not_asked_for() -> None:
    """Asked for and skipped twice, it would pause compaction."""
    settings = replace(PATIENT, patience=0.01)
    assert pays(noted_history(300), MOMENT, settings)
    assert not pays(noted_history(300), MOMENT._replace(tools=Cost(2000, 2000), limit=Cost(3000, 3000)), settings)


# -- what breaking a prompt cache costs and brings --------------------------------------------------------------------

PRICES = Prices(0.1, 1.25)


def test_rewriting_is_shared_out_over_the_requests_until_the_next_event() -> None:
    """(1000 - 400) / 60 = 10 requests; .1 x 700 for reading, 1.15 x 400 / 10 for writing."""
    outlook = Outlook(high_tokens=1000, growth_tokens=60, read_price=0.1, write_price=1.25)
    assert outlook.cost_per_request(after=400, written=400) == pytest.approx(70 + 46)


@pytest.mark.parametrize(("after", "growth"), [(1000.0, 60.0), (2000.0, 60.0), (990.0, 60.0)])
def test_event_without_room_to_grow_pays_its_rewriting_on_every_request(after: float, growth: float) -> None:
    """At least one request."""
    outlook = Outlook(1000, growth, 0.1, 1.25)
    assert outlook.cost_per_request(after=after, written=100) == pytest.approx(0.05 * (after + 1000) + 115)


def test_history_that_does_not_grow_is_taken_to_grow_by_a_token() -> None:
    """No division by nothing."""
    assert Outlook(100, 0, 0.1, 1.1).cost_per_request(after=50, written=50) == pytest.approx(7.5 + 1)


def test_price_of_an_event_is_what_it_writes_and_what_it_saves() -> None:
    """1.15 a written token against .1 a token saved on each request."""
    price = price_of(Cost(0, 10_000), Cost(0, 4_000), 1_000, PRICES, cold=False)
    assert price.written_tokens == pytest.approx(3450)
    assert price.saved_tokens_per_request == pytest.approx(600)
    assert price.break_even_requests == pytest.approx(5.75)
    assert price.summary_tokens == 0.0


def test_event_on_a_cold_cache_writes_nothing_that_would_not_be_written_anyway() -> None:
    """It pays from the first request on."""
    price = price_of(Cost(0, 10_000), Cost(0, 4_000), 0, PRICES, cold=True)
    assert (price.written_tokens, price.break_even_requests) == (0.0, 0.0)


def test_event_that_saves_nothing_never_breaks_even() -> None:
    """Equal, or larger behind an unchanged part that is longer than it all."""
    assert price_of(Cost(0, 100), Cost(0, 100), 0, PRICES, cold=False).break_even_requests is None
    price = price_of(Cost(0, 100), Cost(0, 120), 500, PRICES, cold=False)
    assert (price.written_tokens, price.break_even_requests) == (0.0, None)


def test_summaries_are_paid_for_before_an_event_pays() -> None:
    """What a model read at 1, what it wrote at the price of output: 500 + 5 x 100 beside 3,450 written."""
    price = price_of(Cost(0, 10_000), Cost(0, 4_000), 1_000, PRICES, cold=False)
    dearer = price.with_summaries(PRICES.asked(Usage(500, 100)))
    assert dearer.summary_tokens == 1000.0
    assert dearer.tokens == pytest.approx(4450)
    assert dearer.break_even_requests == pytest.approx(4450 / 600)
    assert dearer.with_summaries(0.0) == price


def test_event_never_pays_by_the_cache_where_reading_is_free() -> None:
    """A local model only prefills what is new: a shorter request saves nothing, and writing it anew takes time."""
    price = price_of(Cost(0, 10_000), Cost(0, 4_000), 1_000, Prices(0.0, 1.0), cold=False)
    assert (price.written_tokens, price.saved_tokens_per_request, price.break_even_requests) == (3000.0, 0.0, None)


def test_request_too_short_for_the_cache_costs_its_tokens_each_time() -> None:
    """Below 1,024 tokens nothing is read or written: the event from 3,000 to 900 makes every later call dearer."""
    prices = Prices(0.1, 1.25, least_tokens=1024)
    price = price_of(Cost(0, 3_000), Cost(0, 900), 500, prices, cold=False)
    assert (price.written_tokens, price.break_even_requests) == (0.0, None)
    assert price.saved_tokens_per_request == pytest.approx(300 - 900)
    longer = price_of(Cost(0, 3_000), Cost(0, 2_000), 500, prices, cold=False)
    assert longer.written_tokens == pytest.approx(1.15 * 2_000)  # its first 500 tokens were no entry of their own


@given(
    tokens=st.tuples(*[st.integers(0, 10**6)] * 3),
    prices=st.builds(Prices, st.floats(0, 10), st.floats(0, 10), st.floats(0, 100), st.integers(0, 10_000)),
    usage=st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**5)),
    cold=st.booleans(),
)
def test_price_of_an_event_is_never_negative(
    tokens: tuple[int, int, int], prices: Prices, usage: Usage, *, cold: bool
) -> None:
    """Whatever is charged: no event is paid for being made, and one that pays saves something."""
    before, after, unchanged = tokens
    price = price_of(Cost(0, before), Cost(0, after), unchanged, prices, cold=cold)
    price = price.with_summaries(prices.asked(usage))
    assert price.written_tokens >= 0
    assert price.summary_tokens >= 0
    assert price.written_tokens == 0 or not cold
    if price.break_even_requests is None:
        assert price.saved_tokens_per_request <= 0
    else:
        assert price.break_even_requests >= 0
        assert price.saved_tokens_per_request > 0


# -- what the engine does otherwise where a provider charges otherwise ------------------------------------------------

ROOM_TOKENS = 14_336
BALANCED = strategy("balanced", ROOM_TOKENS)
NEVER = float("inf")


def talked(settings: HistorySettings, pause_seconds: float) -> Host:
    """Return a host after turns with a pause before each question."""
    host = Host(InMemoryStore(), Setup(16_384, settings=settings), watch=False)
    said = tame(24, 400)
    gaps = [pause_seconds if one.role == "user" else 5.0 for one in said]
    host.run(timed(said, gaps))
    return host


def test_settings_name_their_prices() -> None:
    """As the plan takes them."""
    settings = HistorySettings(read_price=0.2, write_price=1.5, output_price=6.0, least_cached_tokens=9)
    assert settings.prices == Prices(0.2, 1.5, 6.0, 9)
    assert HistorySettings().prices == Prices(0.1, 1.25)


def test_cache_that_is_never_forgotten_is_never_cold() -> None:
    """A year between turns brings events where five minutes are the limit, and none where there is no limit."""
    year = 31_536_000.0
    assert "cold-cache" in causes(talked(BALANCED, year))
    never = causes(talked(replace(BALANCED, cache_ttl_seconds=NEVER), year))
    assert "cold-cache" not in never
    assert "high-water" in never


@pytest.mark.parametrize(("ttl_seconds", "is_cold"), [(300.0, True), (1800.0, False), (NEVER, False)])
def test_pause_within_the_lifetime_leaves_the_cache_warm(ttl_seconds: float, *, is_cold: bool) -> None:
    """Twenty minutes: too long for a cache of five, short for one of thirty."""
    host = talked(replace(BALANCED, cache_ttl_seconds=ttl_seconds), 1200.0)
    assert ("cold-cache" in causes(host)) is is_cold


def test_event_is_told_the_price_of_its_provider() -> None:
    """The same events cost more where writing costs 2, and pay by no cache where reading is free."""
    prices: dict[str, list[float]] = {}
    for name, read, write in (("5m", 0.1, 1.25), ("1h", 0.1, 2.0), ("slot", 0.0, 1.0)):
        settings = replace(BALANCED, read_price=read, write_price=write, cache_ttl_seconds=NEVER)
        events = [request.event.price for request in requests(talked(settings, 5.0).calls) if request.event]
        prices[name] = [price.written_tokens for price in events if price]
        assert len(prices[name]) >= 2
        assert all((price is not None and price.break_even_requests is None) == (read == 0.0) for price in events)
    assert prices["1h"][0] == pytest.approx(prices["5m"][0] * 1.9 / 1.15)
    assert prices["slot"][0] == pytest.approx(prices["5m"][0] / 1.15)
