"""`squidbot continued`: a new session that goes on another one's context."""

from __future__ import annotations

import click

from squidbot.commands import options
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.commands.texts import count
from squidbot.core.transcript.documents import DOCUMENT
from squidbot.core.transcript.goals import stored_goals
from squidbot.core.transcript.pins import PIN
from squidbot.engine import Engine

__all__ = ["continued"]


@click.command()
@options.session
@click.argument("new_id", metavar="NEW")
@options.store
@options.as_json
def continued(*, session_id: str, new_id: str, store: str | None, as_json: bool) -> None:
    """Begin the session NEW with the context of another: goals, decisions, documents, pins, not its conversation."""
    with opened(store, writes=True) as place:
        found = place.find(session_id)
        made = Engine(place.wired).continued(found, new_id).session_id
        goals = stored_goals(place.store, made)
        taken = {
            "session": made,
            "parent": found,
            "goal": goals.active.text if goals.active else None,
            "decisions": len(goals.decisions),
            "documents": len(DOCUMENT.state(place.store, made)),
            "pins": len(PIN.state(place.store, made).texts),
        }
    if as_json:
        options.print_json(taken)
        return
    paper = Paper()
    paper.heading(f"{made} goes on from {found}")
    paper.say(f"goal: {taken['goal'] or 'none'}", indent="  ")
    sizes = (count(int(str(taken[key])), key.removesuffix("s")) for key in ("decisions", "documents", "pins"))
    paper.say(", ".join(sizes), indent="  ")
    paper.print()
