"""What breaking a prompt cache costs and brings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.core.compaction.pressure import Outlook
from squidbot.core.messages import Cost, Usage
from squidbot.core.plan import Prices, price_of

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
