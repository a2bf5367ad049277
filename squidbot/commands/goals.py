"""`squidbot goals`: what a session is after, shown or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.core.transcript.goals import ACTIONS, GoalBook
from squidbot.core.transcript.windows import WINDOW
from squidbot.services.forget import forget_named
from squidbot.tools.goals import goal_lines
from squidbot.wiring.streams import wait

if TYPE_CHECKING:
    from squidbot.commands.reading.opened import Opened
    from squidbot.core.transcript.goals import GoalItem, Goals

__all__ = ["goals"]

FORGET = "forget"


@click.command()
@options.session
@click.argument("action", required=False, type=click.Choice([*ACTIONS, FORGET]))
@click.argument("text", required=False, default="")
@click.option("--done", is_flag=True, help="milestone: it is reached; block, architecture: over.")
@options.store
@options.as_json
def goals(  # noqa: PLR0913  # each is an argument of the command line
    *, session_id: str, action: str | None, text: str, done: bool, store: str | None, as_json: bool
) -> None:
    """Show the active goal and what belongs to it, or change them: ACTION says how, TEXT what."""
    with opened(store, writes=action is not None) as place:
        found = place.find(session_id)
        book = _book(place, found)
        if action == FORGET:
            forget_named(place.wired, found, text)
        elif action:
            _change(book, action, text, done=done)
        known = book.goals()
    if as_json:
        options.print_json({"session": found, **_json(known)})
    else:
        _print(found, known)
    if not action and not (known.active or known.ended or known.items):
        click.get_current_context().exit(ANSWER_IS_NO)


def _book(place: Opened, session_id: str) -> GoalBook:
    lease = WINDOW.newest(place.store, session_id)
    meter = place.wired.meter(lease.model if lease else "")
    window_tokens = lease.window_tokens if lease else place.wired.loaded.settings.window.default
    return GoalBook(place.store, session_id, window_tokens, lambda said: meter.text(said).bound, wait)


def _change(book: GoalBook, action: str, text: str, *, done: bool) -> None:
    try:
        book.change(action, text, done=done)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _print(found: str, known: Goals) -> None:
    paper = Paper()
    first, *others = goal_lines(known).splitlines()
    paper.heading(f"{found}: {first}")
    for one in others:
        paper.say(one, indent="  ")
    for goal in known.ended:
        paper.say(f"{goal.ended}: {goal.text}", indent="  ")
    paper.print()


def _json(known: Goals) -> dict[str, object]:
    return {
        "goal": known.active.text if known.active else None,
        "next": known.next_step,
        "milestones": [_item(one, "reached") for one in known.milestones],
        "decisions": [_item(one, "locked") for one in known.decisions],
        "architecture": [one.text for one in known.architecture],
        "artifacts": [one.text for one in known.artifacts],
        "blockers": [one.text for one in known.blockers],
        "ended": [{"goal": one.text, "how": one.ended} for one in known.ended],
    }


def _item(item: GoalItem, done: str) -> dict[str, object]:
    return {"text": item.text, done: item.done}
