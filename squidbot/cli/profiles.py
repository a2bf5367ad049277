"""`squidbot profiles`: what one word in squidbot.toml sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from squidbot import profiles as every
from squidbot.cli.output import Result, ResultCommand
from squidbot.cli.texts import count

if TYPE_CHECKING:
    from squidbot.cli.printer import Printer

__all__ = ["profiles"]


@click.command(cls=ResultCommand)
@click.argument("name", metavar="[NAME]", required=False)
def profiles(*, name: str | None) -> Result:
    """List the profiles, or every key that NAME sets.

    Use one with profile = "NAME" at the top of squidbot.toml. Keys of the file override it.
    """
    found = [*every.profiles().values()] if name is None else [every.profile_of(name)]

    def put(out: Printer) -> None:
        if name is None:
            out.pairs([(one.name, f"{one.about} {count(len(one.keys), 'key')}.") for one in found])
            return
        out.say(found[0].about)
        out.blank()
        out.say(f'profile = "{found[0].name}"', "bold")
        for key, value in found[0].keys.items():
            out.say(f"{key} = {_toml(value)}")

    values = [
        {
            "name": one.name,
            "about": one.about,
            "settings": [{"key": key, "value": value} for key, value in one.keys.items()],
        }
        for one in found
    ]
    return Result({"profiles": values}, put)


def _toml(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
