"""What prompt caches cost, by provider: the dated table in prices.toml, and the entries that squidbot.toml adds."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from squidbot.checks import Amount, Day, Lifetime, Whole, structured
from squidbot.core.errors import ConfigError
from squidbot.core.settings import HistorySettings

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FILE_NAME", "Entry", "entry_of", "known", "shipped"]

FILE_NAME = "prices.toml"

# What an entry leaves out is as the core has it.
_CORE = HistorySettings()
READ, WRITE = Amount(_CORE.read_price), Amount(_CORE.write_price)
OUTPUT, LEAST_TOKENS = Amount(_CORE.output_price), Whole(_CORE.least_cached_tokens)
TTL_SECONDS = Lifetime(_CORE.cache_ttl_seconds)
NO_DAY = Day("")


@attrs.frozen
class Entry:
    """`[price_table.<name>]`: what tokens cost, an uncached input token being 1.

    Attributes:
        read, write: an input token that is cached; one that is written to the cache.
        output: a token that the model writes.
        ttl_seconds: a cached prefix is forgotten after this pause; infinite: never.
        least_tokens: of a shorter request nothing is cached.
        as_of: the day on which this was true, as YYYY-MM-DD; "" where unknown.
        source: who says so.
    """

    read: Amount = READ
    write: Amount = WRITE
    output: Amount = OUTPUT
    ttl_seconds: Lifetime = TTL_SECONDS
    least_tokens: Whole = LEAST_TOKENS
    as_of: Day = NO_DAY
    source: str = ""


@attrs.frozen
class _Table:
    price_table: dict[str, Entry]


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, Entry]:
    """Return the entries that squidbot brings, by name."""
    text = Path(__file__).with_name(FILE_NAME).read_text(encoding="utf-8")
    return structured(tomllib.loads(text), _Table, FILE_NAME).price_table


def known(own: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return all entries by name: those of squidbot, and `own` ones, which go before one of the same name."""
    return {**shipped(), **own}


def entry_of(name: str, own: Mapping[str, Entry]) -> Entry:
    """Return an entry by its name, from all that are `known`.

    Raises:
        ConfigError: there is none of that name; the text lists those there are.
    """
    entries = known(own)
    if name not in entries:
        raise ConfigError(f"unknown {name!r:.60}, known: {', '.join(entries)}")
    return entries[name]
