"""`squidbot recall` and `squidbot search`: the words as they were said, by id or by what stands in them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, DAMAGED_DATA, complain
from squidbot.commands.paper import Paper, put_entry
from squidbot.commands.reading.opened import opened
from squidbot.commands.reading.recalled import brought_back, found_by, recalled
from squidbot.commands.texts import ago, clock, count, line, seqs, shorter, span
from squidbot.core.recall.history import Asked

if TYPE_CHECKING:
    from squidbot.commands.reading.recalled import Recalled, Searched

__all__ = ["recall", "search"]

SNIPPET_CHARS = 190


@click.command()
@options.session
@click.argument("handle", metavar="ID")
@click.option("--from", "start", metavar="ID", callback=options.message, help="Begin at this message of them.")
@options.limit(20, "Messages")
@click.option("--send", is_flag=True, help="Put it behind the conversation, so that the next request has it.")
@options.store
@options.as_json
def recall(  # noqa: PLR0913  # an argument for each option
    *, session_id: str, handle: str, start: int | None, limit: int, send: bool, store: str | None, as_json: bool
) -> None:
    """Show the words behind ID, whole: a message (m17), a run (m17-m40) or notes (s12-80.ab12).

    Nothing is changed; with --send as much as fits is recorded behind the transcript, flagged, for the model to read.
    """
    with opened(store, writes=send) as place:
        name = place.find(session_id)
        if send:
            back = brought_back(place, name, handle, time.time())
        else:
            found = recalled(place, name, handle, start, limit)
    if send:
        if as_json:
            options.print_json(back)
        else:
            click.echo(f"{back['shown']} of {line(name)} will be in the next request, as m{back['recorded']}")
    elif as_json:
        options.print_json(found.to_json())
    else:
        _print_recalled(found, limit)
    if not send and found.page.damaged:
        complain(f"{name}: {seqs(found.page.damaged)} can't be read; squidbot doctor tells more")
        click.get_current_context().exit(DAMAGED_DATA)


@click.command()
@options.session
@click.argument("query")
@options.limit(10, "Hits")
@click.option("--offset", metavar="N", type=click.IntRange(0), default=0, show_default=True, help="Pass over so many.")
@options.store
@options.as_json
def search(  # noqa: PLR0913  # an argument for each option
    *, session_id: str, query: str, limit: int, offset: int, store: str | None, as_json: bool
) -> None:
    """Search all that was said for QUERY, best first: words (any of them, all are better), "quoted phrases".

    What was said since the last search is put into the index first.
    """
    with opened(store, writes=True) as place:
        name = place.find(session_id)
        try:
            found = found_by(place, name, Asked(query, offset, limit, time.time()))
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="QUERY") from error
    if as_json:
        options.print_json(found.to_json())
    else:
        _print_found(found)
    click.get_current_context().exit(0 if found.hits else ANSWER_IS_NO)


def _print_recalled(found: Recalled, limit: int) -> None:
    paper, page = Paper(), found.page
    what = f"notes {found.summary.summary_id} stand for " if found.summary else ""
    paper.heading(f"{page.session_id}: {what}{span(found.first_seq, found.last_seq)}")
    for entry in page.entries:
        paper.blank()
        put_entry(paper, entry, whole=True)
    if page.last_seq < found.last_seq:
        paper.blank()
        left = count(found.last_seq - page.last_seq, "message")
        paper.say(f"{left} more: --from m{page.last_seq + 1}, or --limit {max(limit, found.last_seq)}", "dim")
    paper.print()


def _print_found(found: Searched) -> None:
    paper, now = Paper(), time.time()
    if not found.hits:
        paper.say(f"{found.session_id}: nothing found for {found.query}")
    for number, hit in enumerate(found.hits):
        if number:
            paper.blank()
        row = hit.row
        shown = f", {hit.shown}" if hit.shown else ""
        when = f"{clock(row.time)}, {ago(row.time, now)}"
        paper.heading(f"{span(row.seq, row.seq)}  {row.role}  {when}  score {hit.score:.2f}{shown}")
        paper.body(shorter(hit.snippet, SNIPPET_CHARS))
    if found.next_offset is not None:
        paper.blank()
        paper.say(f"more: --offset {found.next_offset}", "dim")
    paper.print()
