"""`squidbot goals`: what a session is after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.core.goals.records import GOAL, goals_of
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Markers
from squidbot.tool_goals import told

if TYPE_CHECKING:
    from squidbot.core.goals.values import Goals, Item

__all__ = ["goals"]


@click.command()
@options.session
@options.store
@options.as_json
def goals(*, session_id: str, store: str | None, as_json: bool) -> None:
    """Show the active goal, its milestones, decisions, artifacts and blockers, and the goals before it."""
    with opened(store) as place:
        found = place.find(session_id)
        said = Markers.of(place.store.records(found, MARKED)).said
        known = goals_of(place.store.records(found, GOAL), said)
    if as_json:
        options.print_json({"session": found, **_json(known)})
    else:
        _print(found, known)
    if not (known.active or known.ended or known.items):
        click.get_current_context().exit(ANSWER_IS_NO)


def _print(found: str, known: Goals) -> None:
    paper = Paper()
    first, *others = told(known).splitlines()
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
        "artifacts": [one.text for one in known.artifacts],
        "blockers": [one.text for one in known.blockers],
        "ended": [{"goal": one.text, "how": one.ended} for one in known.ended],
    }


def _item(item: Item, done: str) -> dict[str, object]:
    return {"text": item.text, done: item.done}
