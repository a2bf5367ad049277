"""What breaking a prompt cache costs and brings."""

from __future__ import annotations

import pytest

from squidbot.core.changes.pricing import Outlook
from squidbot.core.messages import Cost
from squidbot.core.plan import price_of


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
    price = price_of(Cost(0, 10_000), Cost(0, 4_000), 1_000, (0.1, 1.25), cold=False)
    assert price.written_tokens == pytest.approx(3450)
    assert price.saved_tokens_per_request == pytest.approx(600)
    assert price.break_even_requests == pytest.approx(5.75)
    assert price.summary_tokens == 0.0


def test_event_on_a_cold_cache_writes_nothing_that_would_not_be_written_anyway() -> None:
    """It pays from the first request on."""
    price = price_of(Cost(0, 10_000), Cost(0, 4_000), 0, (0.1, 1.25), cold=True)
    assert (price.written_tokens, price.break_even_requests) == (0.0, 0.0)


def test_event_that_saves_nothing_never_breaks_even() -> None:
    """Equal, or larger behind an unchanged part that is longer than it all."""
    assert price_of(Cost(0, 100), Cost(0, 100), 0, (0.1, 1.25), cold=False).break_even_requests is None
    price = price_of(Cost(0, 100), Cost(0, 120), 500, (0.1, 1.25), cold=False)
    assert (price.written_tokens, price.break_even_requests) == (0.0, None)
