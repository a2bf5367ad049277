"""An event as one sentence."""

from __future__ import annotations

import pytest

from squidbot.cli.texts import event_line
from squidbot.core.plan import FirstChanged, PlanRecord, Price


@pytest.mark.parametrize(
    ("price", "said"),
    [
        (Price(3450.0, 600.0, 0.0, 5.75), "; costs 3,450 input tokens, pays after 6 requests"),
        (
            Price(3450.0, 600.0, 1000.0, 7.4),
            "; costs 4,450 input tokens (1,000 for summaries), pays after 8 requests",
        ),
        (Price(0.0, 600.0, 1000.0, 1.6), "; costs 1,000 input tokens (1,000 for summaries), pays after 2 requests"),
        (Price(3000.0, 0.0, 0.0, None), "; costs 3,000 input tokens, never pays by the cache"),
        (Price(0.0, 600.0, 0.0, 0.0), ""),
        (None, ""),
    ],
)
def test_event_line_says_what_an_event_costs(price: Price | None, said: str) -> None:
    """What is written anew and the summaries together; nothing where it costs nothing."""
    plan = PlanRecord(
        3,
        2,
        "l",
        None,
        "high-water",
        tokens_before=900,
        tokens_after=300,
        first_changed=FirstChanged(1, 4, 88),
        price=price,
    )
    assert event_line(plan) == f"plan 3, high-water: 900 -> 300 tokens, 88 in front unchanged{said}"
