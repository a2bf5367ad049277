"""What one word in squidbot.toml stands for: a profile (profiles.toml), an entry of the price table (prices.toml)."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from squidbot.config.schema import PriceEntry
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILES_FILE: Final = "profiles.toml"
PRICES_FILE: Final = "prices.toml"
DEFAULT: Final = "ladder"


class Profile(NamedTuple):
    """What one name stands for.

    Attributes:
        name: the word for `profile`.
        about: whose behaviour it brings, in a sentence.
        keys: what it sets, by dotted keys.
    """

    name: str
    about: str
    keys: Mapping[str, object]


def _file(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def profiles() -> Mapping[str, Profile]:
    """Return all profiles by name, the default first."""
    return {
        name: Profile(
            name,
            entry.pop("about"),
            {f"{table}.{key}": value for table, keys in entry.items() for key, value in keys.items()},
        )
        for name, entry in _file(PROFILES_FILE).items()
    }


def profile_of(name: str) -> Profile:
    """Return a profile by its name.

    Raises:
        ConfigError: there is none of that name; the text lists those there are.
    """
    if name not in profiles():
        raise ConfigError(f"unknown profile {name!r:.60}, known: {', '.join(profiles())}")
    return profiles()[name]


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, PriceEntry]:
    """Return the entries of the price table that squidbot brings, by name."""
    table = _file(PRICES_FILE)["price_table"]
    return {name: PriceEntry(**{**entry, "as_of": str(entry["as_of"])}) for name, entry in table.items()}


def known(own: Mapping[str, PriceEntry]) -> dict[str, PriceEntry]:
    """Return all entries by name: those of squidbot, and `own` ones, which go before one of the same name."""
    return {**shipped(), **own}


def entry_of(name: str, own: Mapping[str, PriceEntry]) -> PriceEntry:
    """Return an entry by its name, from all that are `known`.

    Raises:
        ConfigError: there is none of that name; the text lists those there are.
    """
    entries = known(own)
    if name not in entries:
        raise ConfigError(f"unknown {name!r:.60}, known: {', '.join(entries)}")
    return entries[name]
