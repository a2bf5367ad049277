"""`squidbot undo` and `squidbot compact`: the view plan, changed by hand."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, BUDGET_IMPOSSIBLE, stop
from squidbot.commands.events import event_line
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.requests import plan_json
from squidbot.commands.reading.terms import session_of
from squidbot.commands.texts import line
from squidbot.core.errors import BudgetError

if TYPE_CHECKING:
    from squidbot.core.plan import PlanRecord

__all__ = ["compact", "undo"]


@click.command()
@options.session
@options.store
@options.as_json
def undo(*, session_id: str, store: str | None, as_json: bool) -> None:
    """Take the newest event back: the next request is the former one byte for byte, and what was said since behind it.

    Undoing again goes further back. From then on only a request that does not fit, `compact` or another window changes
    what is sent.
    """
    with opened(store, writes=True) as place:
        name = place.find(session_id)
        try:
            plan = session_of(place, name).undo(now=time.time())
        except BudgetError as error:
            stop(f"{name}: what was sent before does not fit any more; nothing was changed: {error}", BUDGET_IMPOSSIBLE)
    print_event(name, plan, "everything is sent as it was said" if plan.repeats == -1 else "undone", as_json=as_json)


@click.command()
@options.session
@options.store
@options.as_json
def compact(*, session_id: str, store: str | None, as_json: bool) -> None:
    """Shorten what is sent now, whatever the pressure. Nothing that was said is lost; `undo` takes it back."""
    with opened(store, writes=True) as place:
        name = place.find(session_id)
        plan = session_of(place, name).compact(now=time.time())
        if plan is not None:
            place.wired.hooks.tell("compacted", session_id=name, plan=plan)
    if plan is not None:
        print_event(name, plan, "shortened", as_json=as_json)
        return
    if as_json:
        options.print_json({"session": name, "event": None})
    else:
        click.echo(f"{line(name)}: there is nothing to shorten")
    click.get_current_context().exit(ANSWER_IS_NO)


def print_event(name: str, plan: PlanRecord, what: str, *, as_json: bool) -> None:
    """Print what an event by hand has changed."""
    if as_json:
        options.print_json({"session": name, "event": plan_json(plan)})
        return
    paper = Paper()
    paper.say(f"{name}: {what}; {event_line(plan)}")
    paper.print()
