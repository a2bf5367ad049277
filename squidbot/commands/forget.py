"""`squidbot forget`: messages removed for good, with all that repeats them."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import click

from squidbot import heard
from squidbot.commands import options
from squidbot.commands.ending import complain
from squidbot.commands.events import event_line
from squidbot.commands.paper import Paper
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.terms import session_of
from squidbot.commands.texts import count, line, seqs
from squidbot.core.errors import StoreError
from squidbot.learning import forget_with

if TYPE_CHECKING:
    from squidbot.commands.reading.opened import Opened
    from squidbot.core.forgetting import Forgotten

__all__ = ["forget"]


@runtime_checkable
class _Scrubs(Protocol):
    def is_scrubbed(self) -> bool:
        """Say whether the bytes of all that was forgotten are overwritten."""

    def scrub(self) -> None:
        """Overwrite the bytes of what was forgotten."""


_RUN = re.compile(r"m([0-9]{1,12})(?:-m?([0-9]{1,12}))?")
MOST_AT_ONCE = 10_000


def _messages(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[int, ...]:
    """Return the seqs that ids and runs name, each once, in order."""
    named: set[int] = set()
    for value in values:
        found = _RUN.fullmatch(value)
        first = int(found[1]) if found else 0
        last = int(found[2] or first) if found else -1
        if not first <= last < first + MOST_AT_ONCE:
            raise click.BadParameter(f"{value[:40]!r} names no messages; write m17 or m17-m20")
        named.update(range(first, last + 1))
    return tuple(sorted(named))


@click.command()
@options.session
@click.argument("messages", metavar="ID...", nargs=-1, required=True, callback=_messages)
@click.option("--reason", metavar="TEXT", default="", help="Kept beside the ids; not what is to be forgotten.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.store
@options.as_json
def forget(  # noqa: PLR0913  # an argument for each option
    *, session_id: str, messages: tuple[int, ...], reason: str, yes: bool, store: str | None, as_json: bool
) -> None:
    """Remove messages for good: m17, m17-m20. It can't be taken back.

    With them go the notes that tell of them, copies that were recalled, durable facts that nothing else says, and what
    search knows of them; a mark stands in the place of each. What other messages say of them stays, and so do backups
    and exports.
    """
    with opened(store, writes=True) as place:
        name = place.find(session_id)
        if not yes:
            what = f"{count(len(messages), 'message')} of {line(name)} ({seqs(messages)})"
            click.confirm(f"Forget {what} for good?", abort=True, err=True)
        forgotten = session_of(place, name).forget(*messages, reason=reason, now=time.time())
        forgotten = replace(forgotten, facts=forget_with(place.wired, name, (*forgotten.asked, *forgotten.copies)))
        heard.drop(place.wired.place, name)
        left = _left(place)
    if as_json:
        options.print_json({**_json(name, forgotten), "overwritten": not left})
    else:
        _print(name, forgotten)
    if left:
        complain(f"forgotten, but its bytes are not overwritten yet: {left}")


def _left(place: Opened) -> str:
    """Return why the bytes of what was forgotten still stand in the store's files; "" where they do not."""
    if not isinstance(place.store, _Scrubs) or place.store.is_scrubbed():
        return ""
    try:
        place.store.scrub()
    except StoreError as error:
        return str(error)
    return ""


def _json(name: str, forgotten: Forgotten) -> dict[str, object]:
    return {
        "session": name,
        "forgotten": [f"m{seq}" for seq in forgotten.asked],
        "copies": [f"m{seq}" for seq in forgotten.copies],
        "summaries": list(forgotten.summaries),
        "facts": list(forgotten.facts),
        "plan": forgotten.plan.plan_id if forgotten.plan else None,
    }


def _print(name: str, forgotten: Forgotten) -> None:
    paper = Paper()
    paper.say(f"{name}: forgotten {seqs(forgotten.asked)}")
    if forgotten.copies:
        paper.say(f"copies of them, forgotten too: {seqs(forgotten.copies)}")
    if forgotten.summaries:
        paper.say(f"{len(forgotten.summaries):,} notes that told of them are gone")
    if forgotten.facts:
        paper.say(f"{count(len(forgotten.facts), 'fact')} that nothing else said, forgotten too")
    if forgotten.plan is not None:
        paper.say(event_line(forgotten.plan))
    paper.print()
