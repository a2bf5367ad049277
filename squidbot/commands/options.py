"""Options and arguments that several commands have, spelled once."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import click

from squidbot.core.budget import parse_tokens
from squidbot.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["as_json", "form_version", "limit", "message", "print_json", "session", "store", "tokens"]

_ID = re.compile(r"m?([0-9]{1,12})")


def tokens(_: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return the tokens that an option names; a reserve of 0 is one, a window of 0 is none."""
    if value is None or (value == "0" and param.name == "reserve"):
        return None if value is None else 0
    try:
        return parse_tokens(value)
    except ConfigError as error:
        raise click.BadParameter(str(error)) from None


def message(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return the seq of the message that "m17" or "17" names."""
    if value is None:
        return None
    found = _ID.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value[:40]!r} names no message; write m17 or 17")
    return int(found[1])


store = click.option("--store", metavar="FILE.db", help="The store.  [default: the one of ./squidbot.toml]")
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
form_version = click.option(
    "--form-version",
    "version",
    type=click.Choice(["1.0", "2.0", "3.0"]),
    envvar="SQUIDBOT_WORKSPACEAI_VERSION",
    callback=lambda _, __, value: value or "",
    help="The version of WorkspaceAI's files, whatever they say; also SQUIDBOT_WORKSPACEAI_VERSION.",
)
session = click.argument("session_id", metavar="SESSION")


def limit(number: int, what: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Return the option that says how many there are at most."""
    return click.option(
        "--limit", metavar="N", type=click.IntRange(1), default=number, show_default=True, help=f"{what} at most."
    )


def print_json(value: object) -> None:
    """Print one JSON value. Characters stay as they are where the stream can spell them, lone surrogates too."""
    click.echo(json.dumps(value, indent=2))
