"""Profiles: what one word in squidbot.toml sets, by the system whose behaviour it brings; see profiles.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from squidbot.core.errors import ConfigError

__all__ = ["DEFAULT", "FILE_NAME", "KEY", "Profile", "profile_of", "profiles", "with_profile"]

FILE_NAME: Final = "profiles.toml"
KEY: Final = "profile"
DEFAULT: Final = "ladder"

Place = tuple[str, ...]


class Profile(NamedTuple):
    """What one name stands for.

    Attributes:
        name: the word for `profile`.
        about: whose behaviour it is, in a sentence.
        settings: what it sets, as squidbot.toml would.
    """

    name: str
    about: str
    settings: Mapping[str, object]

    @property
    def keys(self) -> dict[str, object]:
        """The same with one dotted key for each value."""
        return {".".join(path): value for path, value in _leaves((), self.settings)}


@lru_cache(maxsize=1)
def profiles() -> Mapping[str, Profile]:
    """Return all profiles by name, the default first."""
    text = Path(__file__).with_name(FILE_NAME).read_text(encoding="utf-8")
    return {name: _read(name, entry) for name, entry in tomllib.loads(text).items()}


def profile_of(name: str) -> Profile:
    """Return a profile by its name.

    Raises:
        ConfigError: there is none of that name; the text lists those there are.
    """
    if name not in profiles():
        raise ConfigError(f"unknown profile {name!r:.60}, known: {', '.join(profiles())}")
    return profiles()[name]


def with_profile(raw: Mapping[str, object], source: str) -> tuple[dict[str, object], dict[tuple[str, ...], str]]:
    """Return settings above those of the profile that they name, and "profile NAME" by each key that it has set.

    What the settings say themselves goes before. Where they name no profile it is the default one, which sets nothing.

    Raises:
        ConfigError: there is no such profile; the text ends with the path.
    """
    name = raw.get(KEY, DEFAULT)
    if name == DEFAULT or not isinstance(name, str):
        return dict(raw), {}  # nothing has to be read for it; who checks types says what is no name
    try:
        profile = profile_of(name)
    except ConfigError as error:
        raise ConfigError(f"{error} @ {source}.{KEY}") from None
    set_by_it = [path for path, _ in _leaves((), profile.settings) if not _sets(raw, path)]
    return _merged(profile.settings, raw), dict.fromkeys(set_by_it, f"profile {name}")


def _read(name: str, entry: Mapping[str, object]) -> Profile:
    return Profile(name, str(entry["about"]), {key: value for key, value in entry.items() if key != "about"})


def _merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Return both, tables of the same name merged; where one is no table, it is the upper one's."""
    made = {**below, **above}
    for key in below.keys() & above.keys():
        lower, upper = below[key], above[key]
        if isinstance(lower, Mapping) and isinstance(upper, Mapping):
            made[key] = _merged(lower, upper)
    return made


def _sets(raw: object, path: Place) -> bool:
    """Return whether settings say something of a key themselves: it, or anything that is no table on the way to it."""
    for name in path:
        if not isinstance(raw, Mapping):
            return True
        if name not in raw:
            return False
        raw = raw[name]
    return True


def _leaves(path: Place, value: object) -> Iterator[tuple[Place, object]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves((*path, name), inner)
    else:
        yield path, value
