"""`squidbot show`: what was said in a session, a page at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import DAMAGED_DATA, complain
from squidbot.commands.events import event_line
from squidbot.commands.paper import ROLE_STYLES, Paper, put_entry
from squidbot.commands.reading.entries import page
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.sending import request_of
from squidbot.commands.texts import count, seqs, span
from squidbot.core.messages import BEHIND_SCENES

if TYPE_CHECKING:
    from squidbot.commands.reading.entries import Page
    from squidbot.commands.reading.sending import Request

__all__ = ["show"]

_RANGE = re.compile(r"m?([0-9]{1,12})(?:(-)(?:m?([0-9]{1,12}))?)?")
END = 10**12
NEXT = "next"


def _number(_: click.Context, __: click.Parameter, value: str | None) -> str | int | None:
    if value is None or value == NEXT:
        return value
    if not value.isdecimal() or len(value) > 12:
        raise click.BadParameter(f"{value[:40]!r} is no number of a request; write 17, or nothing for the next one")
    return int(value)


def _range(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    found = _RANGE.fullmatch(value)
    if found is None:
        raise click.BadParameter(f"{value[:40]!r} names no messages; write m17, m17-m30 or m17-")
    first = int(found[1])
    last = int(found[3]) if found[3] else END if found[2] else first
    if last < first:
        raise click.BadParameter(f"m{last} stands before m{first}; write m{last}-m{first}")
    return first, last


@click.command()
@options.session
@click.argument("wanted", metavar="[RANGE]", required=False, callback=_range)
@click.option(
    "--request",
    metavar="[N]",
    is_flag=False,
    flag_value=NEXT,
    callback=_number,
    help="The next request as it is sent, or the recorded one of number N.",
)
@click.option("--from", "start", metavar="ID", callback=options.message, help="Begin at this message.")
@options.limit(20, "Messages")
@click.option("--all", "everything", is_flag=True, help="System text, context and tool output, too.")
@click.option("--whole", is_flag=True, help="Print long texts whole.")
@options.store
@options.as_json
def show(  # noqa: PLR0913  # an argument for each option
    *,
    session_id: str,
    wanted: tuple[int, int] | None,
    request: str | int | None,
    start: int | None,
    limit: int,
    everything: bool,
    whole: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Show what was said: the newest messages, or those of RANGE (m17, m17-m30, m17-).

    SESSION is an id, or how one begins. One message alone is printed whole. System text, context and what tools put
    out are only counted without --all, or ui.show_context_messages. With --request: what would be sent if nothing new
    were said, or what was sent; JSON has it byte for byte.
    """
    with opened(store) as place:
        name = place.find(session_id)
        if request is not None:
            sent = request_of(place, name, None if isinstance(request, str) else request)
            _print_request(sent, whole=whole, as_json=as_json)
            return
        everything = everything or place.wired.loaded.settings.ui.show_context_messages
        first, last = _ends(place.length(name), wanted, start, limit)
        found = page(place, name, first, last)
    if as_json:
        options.print_json(found.to_json())
    else:
        alone = wanted is not None and wanted[0] == wanted[1]
        _print(found, limit, whole=whole or alone, everything=everything or alone)
    if found.damaged:
        complain(f"{name}: {seqs(found.damaged)} can't be read; squidbot doctor tells more")
        click.get_current_context().exit(DAMAGED_DATA)


def _ends(messages: int, wanted: tuple[int, int] | None, start: int | None, limit: int) -> tuple[int, int]:
    """Return the first and the last message to show."""
    if wanted is not None and start is None:
        first, last = wanted
        if first >= messages > 0:
            raise click.UsageError(f"there is no m{first}: the session has m0 to m{messages - 1}")
        return first, min(last, first + limit - 1)
    if start is not None:
        return start, min(start + limit - 1, wanted[1] if wanted else END)
    return max(0, messages - limit), messages - 1


def _print(found: Page, limit: int, *, whole: bool, everything: bool) -> None:
    paper = Paper()
    shown = f"; {span(found.first_seq, found.last_seq)} below" if found.entries else ""
    paper.heading(f"{found.session_id}: {count(found.messages, 'message')}{shown}")
    hidden = [] if everything else [one for one in found.entries if one.row.category in BEHIND_SCENES]
    for entry in found.entries:
        if entry not in hidden:
            paper.blank()
            put_entry(paper, entry, whole=whole)
    if hidden:
        paper.blank()
        paper.say(f"{count(len(hidden), 'message')} of system text, context, tool output not shown: --all", "dim")
    _print_ways(paper, found, limit)
    paper.print()


def _print_request(sent: Request, *, whole: bool, as_json: bool) -> None:
    if as_json:
        options.print_json(sent.to_json())
        return
    paper, made = Paper(), sent.assembly
    which = "the next request, if nothing new were said" if sent.number is None else f"request {sent.number}"
    cost = f"{made.cost.bound:,} of {made.limit.bound:,} tokens (bounds)"
    paper.heading(f"{made.session_id}: {which}: {count(len(sent.parts), 'part')}, {cost}")
    if sent.outside_tokens:
        paper.say(f"beside them {sent.outside_tokens:,} tokens, which are not stored: system, tools, template", "dim")
    if made.event is not None:
        paper.say(f"it brings an event: {event_line(made.event)}")
    for number, one in enumerate(sent.parts):
        paper.blank()
        style = ROLE_STYLES.get(one.part.role, "bold")
        paper.heading(f"#{number}  {one.part.role}  {one.about}  {count(one.part.cost.bound, 'token')}", style)
        paper.body(one.text, whole=whole, most_lines=4)
    paper.print()


def _print_ways(paper: Paper, found: Page, limit: int) -> None:
    """Say how to go on reading, in both directions."""
    before, after = found.first_seq, found.messages - 1 - found.last_seq
    ways = []
    if before > 0 and found.entries:
        ways.append(f"{before:,} earlier: --from m{max(0, before - limit)}")
    if after > 0 and found.entries:
        ways.append(f"{after:,} later: --from m{found.last_seq + 1}")
    if ways:
        paper.blank()
        paper.say("; ".join(ways), "dim")
