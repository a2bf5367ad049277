"""`squidbot snapshot`, `snapshots` and `restore`: points to which the view plan and the pins can go back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.changes import print_event
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.terms import session_of
from squidbot.commands.texts import ago, clock, count, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.transcript.snapshots import Snapshot

__all__ = ["restore", "snapshot", "snapshots"]

COLUMNS = ("name", "made", "cause", "plan", "messages")


@click.command()
@options.session
@click.argument("name")
@options.store
@options.as_json
def snapshot(*, session_id: str, name: str, store: str | None, as_json: bool) -> None:
    """Keep what is sent now, and what is pinned, under NAME; a name given again takes the place of the one before."""
    with opened(store, writes=True) as place:
        found = place.find(session_id)
        try:
            made = session_of(place, found).snapshot(name, now=time.time())
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="NAME") from error
    if as_json:
        options.print_json({"session": found, "snapshot": _json(made)})
    else:
        click.echo(f"{line(found)}: snapshot {line(made.name)} of {count(made.messages, 'message')}")


@click.command()
@options.session
@options.store
@options.as_json
def snapshots(*, session_id: str, store: str | None, as_json: bool) -> None:
    """List the snapshots that are kept, oldest first: named ones, and those made when the window got full."""
    with opened(store) as place:
        found = place.find(session_id)
        kept = session_of(place, found).snapshots()
    if as_json:
        options.print_json({"session": found, "snapshots": [_json(one) for one in kept]})
    else:
        _print(found, kept)


@click.command()
@options.session
@click.argument("name")
@options.store
@options.as_json
def restore(*, session_id: str, name: str, store: str | None, as_json: bool) -> None:
    """Send again what was sent at the snapshot NAME, and what was said since behind it.

    The state now is kept as a snapshot first.
    """
    with opened(store, writes=True) as place:
        found = place.find(session_id)
        plan = session_of(place, found).restore(name, now=time.time())
    print_event(found, plan, f"restored {name}", as_json=as_json)


def _print(found: str, kept: Sequence[Snapshot]) -> None:
    paper, now = Paper(), time.time()
    if not kept:
        paper.say(f"{found}: no snapshots")
    else:
        rows = [
            (
                one.name,
                f"{clock(one.created_at)}, {ago(one.created_at, now)}",
                one.cause,
                f"{one.plan_id}" if one.plan_id >= 0 else "-",
                f"{one.messages:,}",
            )
            for one in kept
        ]
        paper.table(COLUMNS, rows, texts=("name", "made", "cause"))
    paper.print()


def _json(one: Snapshot) -> dict[str, object]:
    return {
        "name": one.name,
        "automatic": one.automatic,
        "cause": one.cause,
        "plan": one.plan_id if one.plan_id >= 0 else None,
        "messages": one.messages,
        "time": one.created_at,
    }
