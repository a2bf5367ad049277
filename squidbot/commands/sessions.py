"""`squidbot sessions`: what a store holds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import DAMAGED_DATA, complain
from squidbot.commands.paper import Paper
from squidbot.commands.reading.listing import listed
from squidbot.commands.reading.opened import opened
from squidbot.commands.texts import ago, count, shorter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.commands.reading.listing import Listed

__all__ = ["sessions"]

COLUMNS = ("session", "messages", "begun", "newest", "requests", "tokens", "plan", "window")
ID_CHARS = 28


@click.command()
@options.store
@options.limit(30, "Sessions")
@options.as_json
def sessions(*, store: str | None, limit: int, as_json: bool) -> None:
    """List the sessions of a store: those first in which something was said last.

    tokens: the newest request, as a bound; plan: the number of the view plan in force, and why it was made.
    """
    with opened(store) as place:
        found, every = listed(place, limit)
    if as_json:
        options.print_json({"sessions": [one.to_json() for one in found], "total": every})
    else:
        _print(found, every)
    damaged = [one for one in found if one.damaged]
    for one in damaged:
        complain(f"{one.session_id}: {one.damaged}")
    click.get_current_context().exit(DAMAGED_DATA if damaged else 0)


def _print(found: Sequence[Listed], every: int) -> None:
    paper, now = Paper(), time.time()
    if not found:
        paper.say("no sessions")
    else:
        told = ("goes on from",) if any(one.parent for one in found) else ()
        rows = [(*_row(one, now), *((_from(one),) if told else ())) for one in found]
        paper.table((*COLUMNS, *told), rows, texts=("session", "plan", "window", *told))
    if every > len(found):
        paper.say(f"… {count(every - len(found), 'older session')}; --limit {every} lists all", "dim")
    paper.print()


def _from(one: Listed) -> str:
    return f"{shorter(one.parent, ID_CHARS)} ({one.way})" if one.parent else "-"


def _row(one: Listed, now: float) -> tuple[str, ...]:
    window = f"{one.window_tokens:,} {one.model}".rstrip() if one.window_tokens else "-"
    return (
        shorter(one.session_id, ID_CHARS),
        f"{one.messages:,}",
        ago(one.first_time, now),
        ago(one.last_time, now),
        f"{one.requests:,}",
        f"{one.request_tokens:,}" if one.request_tokens is not None else "-",
        "damaged" if one.damaged else f"{one.plan} {one.cause}" if one.plan is not None else "-",
        window,
    )
