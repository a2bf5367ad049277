"""What the engine does otherwise where a provider charges otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.plan import Prices
from squidbot.core.settings import HistorySettings, strategy

from ..promises.driver import Host, Setup, causes, requests
from ..promises.histories import tame, timed

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
        events = [one.event.price for one in requests(talked(settings, 5.0).calls) if one.event]
        prices[name] = [price.written_tokens for price in events if price]
        assert len(prices[name]) >= 2
        assert all((price is not None and price.break_even_requests is None) == (read == 0.0) for price in events)
    assert prices["1h"][0] == pytest.approx(prices["5m"][0] * 1.9 / 1.15)
    assert prices["slot"][0] == pytest.approx(prices["5m"][0] / 1.15)
