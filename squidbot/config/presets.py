"""Named groups of settings: profiles (profiles.toml) and entries of the price table (prices.toml)."""

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
    """The defaults of another system.

    Attributes:
        name: the value of `profile`.
        about: the system that it imitates, in a sentence.
        keys: the values that it sets, by dotted key.
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
        ConfigError: there is none of that name; the text lists the names.
    """
    if name not in profiles():
        raise ConfigError(f"unknown profile {name!r:.60}, known: {', '.join(profiles())}")
    return profiles()[name]


@lru_cache(maxsize=1)
def shipped() -> Mapping[str, PriceEntry]:
    """Return squidbot's entries of the price table, by name."""
    table = _file(PRICES_FILE)["price_table"]
    return {name: PriceEntry(**{**entry, "as_of": str(entry["as_of"])}) for name, entry in table.items()}


def known(own: Mapping[str, PriceEntry]) -> dict[str, PriceEntry]:
    """Return all entries by name: squidbot's, and `own` ones, which replace those of the same name."""
    return {**shipped(), **own}


def entry_of(name: str, own: Mapping[str, PriceEntry]) -> PriceEntry:
    """Return an entry by its name, from all that are `known`.

    Raises:
        ConfigError: there is none of that name; the text lists the names.
    """
    entries = known(own)
    if name not in entries:
        raise ConfigError(f"unknown {name!r:.60}, known: {', '.join(entries)}")
    return entries[name]
