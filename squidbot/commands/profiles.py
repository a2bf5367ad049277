"""`squidbot profiles`: what one word in squidbot.toml sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from squidbot import profiles as every
from squidbot.commands import options
from squidbot.commands.paper import Paper
from squidbot.commands.texts import count

if TYPE_CHECKING:
    from squidbot.profiles import Profile

__all__ = ["profiles"]


@click.command()
@click.argument("name", metavar="[NAME]", required=False)
@options.as_json
def profiles(*, name: str | None, as_json: bool) -> None:
    """List the profiles, or every key that NAME sets.

    A profile stands below squidbot.toml: profile = "NAME" at its top takes it, and what the file sets goes before.
    """
    found = [*every.profiles().values()] if name is None else [every.profile_of(name)]
    if as_json:
        options.print_json({"profiles": [_as_json(one) for one in found]})
        return
    paper = Paper()
    if name is None:
        paper.pairs([(one.name, f"{one.about} {count(len(one.keys), 'key')}.") for one in found])
    else:
        _put(paper, found[0])
    paper.print()


def _as_json(profile: Profile) -> dict[str, object]:
    settings = [{"key": key, "value": value} for key, value in profile.keys.items()]
    return {"name": profile.name, "about": profile.about, "settings": settings}


def _put(paper: Paper, profile: Profile) -> None:
    """Put down a profile as the squidbot.toml that it stands for."""
    paper.say(profile.about)
    paper.blank()
    paper.say(f'profile = "{profile.name}"', "bold")
    for key, value in profile.keys.items():
        paper.say(f"{key} = {_written(value)}")


def _written(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
