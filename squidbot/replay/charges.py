"""What a replay is billed by: the prices that policies are compared with, or those of a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ConfigError
from squidbot.core.plan import Prices

if TYPE_CHECKING:
    from squidbot.core.settings import HistorySettings

__all__ = ["SCORING", "Charges", "charges_of"]


class Charges(NamedTuple):
    """What a provider charges.

    Attributes:
        name: the entry of the price table; as_of: the day on which it was true, "" where unknown.
        prices: in uncached input tokens.
        ttl_seconds: a cached prefix is forgotten after this pause; infinite: never.
    """

    name: str
    as_of: str
    prices: Prices
    ttl_seconds: float

    def cached(self, shared_tokens: int) -> int:
        """Return how much of what two requests share at their beginning is read from the cache, in tokens."""
        return shared_tokens if shared_tokens >= self.prices.least_tokens else 0

    def request(self, tokens: int, cached_tokens: int) -> float:
        """Return what a request is billed of which the cache had so much, in uncached input tokens."""
        if tokens < self.prices.least_tokens:
            return float(tokens)
        return self.prices.read * cached_tokens + self.prices.write * (tokens - cached_tokens)

    def planned(self, settings: HistorySettings) -> HistorySettings:
        """Return settings that plan by these prices."""
        return settings.charged(self.prices, self.ttl_seconds)


# What policies are scored by: Anthropic's five minutes, cached from the first token (decisions.md section 13).
SCORING = Charges("default", "", Prices(0.1, 1.25, 5.0, 0), 300.0)


def charges_of(name: str) -> Charges:
    """Return an entry of the price table: one that squidbot brings, or one of ./squidbot.toml.

    Raises:
        ConfigError: there is no such entry, the text lists those there are; or squidbot.toml can't be read.
    """
    from squidbot.config import load_settings  # noqa: PLC0415  # who names no prices needs no settings
    from squidbot.prices import entry_of  # noqa: PLC0415  # the same

    own = load_settings().settings.price_table
    try:
        entry = entry_of(name, own)
    except ConfigError as error:
        raise ConfigError(f"--prices: {error}") from None
    prices = Prices(entry.read, entry.write, entry.output, entry.least_tokens)
    return Charges(name, entry.as_of, prices, entry.ttl_seconds)
