"""`squidbot journal`: what was done, decided and left open."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, DAMAGED_DATA, complain
from squidbot.commands.paper import Paper
from squidbot.commands.texts import block, clock, count, line
from squidbot.config import load_settings
from squidbot.core.errors import NotFoundError
from squidbot.core.journal import LISTS, Read, as_markdown
from squidbot.core.memories import Scope
from squidbot.wiring.journal import journal_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.journal import Entry, Journal

__all__ = ["journal", "put_entries"]

NEWEST = 5
# What the lists of an entry are called, in the order in which they are shown.
NAMES = {
    "open_questions": "open",
    "decisions": "decided",
    "errors": "failed",
    "progress": "done",
    "files_touched": "files",
}


@click.command()
@click.option("--day", metavar="DAY", help="Those of a day in UTC: 2026-11-22.")
@click.option("--tenant", default="", help="Of what is done for this tenant.")
@click.option("--user", default="", help="Of what is done for this user.")
@click.option("--bot", default="", help="Of what this bot does.")
@click.option("--tag", default="", help="Only those that have this tag.")
@click.option("--agent", default="", help="Only this agent's.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), help=f"So many at most.  [default: {NEWEST}; of a day all]"
)
@click.option("--markdown", is_flag=True, help="As Markdown.")
@click.option("--folder", help="The folder of its files.  [default: that of ./squidbot.toml]")
@options.as_json
def journal(  # noqa: PLR0913  # an argument for each option
    *,
    day: str | None,
    tag: str,
    agent: str,
    limit: int | None,
    markdown: bool,
    folder: str | None,
    as_json: bool,
    **whose: str,
) -> None:
    """Show the newest entries of the journal, newest first, or those of a day in their order."""
    book = journal_of(load_settings(), folder, Scope(agent=agent, **whose))
    if day is None:
        read = book.latest(limit or NEWEST, tag=tag, agent_id=agent)
    else:
        read = _of_day(book, day, tag, agent, limit)
    if as_json:
        entries = [_json(one) for one in read.entries]
        options.print_json({"folder": str(book.folder), "entries": entries, "faults": list(read.faults)})
    elif read.entries:
        _print_markdown(read) if markdown else _print(read.entries)
    else:
        complain(f"{book.folder}: no such entries")
    for fault in read.faults:
        complain(fault)
    click.get_current_context().exit(_code(read))


def _code(read: Read) -> int:
    if read.faults:
        return DAMAGED_DATA
    return 0 if read.entries else ANSWER_IS_NO


def _of_day(book: Journal, day: str, tag: str, agent: str, limit: int | None) -> Read:
    try:
        read = book.of_day(day)
    except NotFoundError as error:
        raise click.BadParameter(str(error), param_hint="--day") from error
    wanted = (one for one in read.entries if tag in {"", *one.tags} and agent in {"", one.agent_id})
    return Read(tuple(islice(wanted, limit)), read.faults)


def _print_markdown(read: Read) -> None:
    click.echo(block("\n".join(map(as_markdown, read.entries))), nl=False)


def _print(entries: Sequence[Entry]) -> None:
    paper = Paper()
    put_entries(paper, entries)
    paper.print()


def put_entries(paper: Paper, entries: Sequence[Entry]) -> None:
    """Put entries on paper, in their order."""
    for number, entry in enumerate(entries):
        if number:
            paper.blank()
        about = [one for one in (entry.agent_id, entry.run_id, entry.source_session) if one]
        if entry.total_tokens is not None:
            about.append(count(entry.total_tokens, "token"))
        paper.heading("  ".join([clock(entry.time), *about, *(f"#{tag}" for tag in entry.tags)]))
        paper.body(entry.summary, whole=True)
        for key, name in NAMES.items():
            for item in getattr(entry, key):
                paper.say(f"{name}: {line(' '.join(item.split()))}", indent="  ")


def _json(entry: Entry) -> dict[str, object]:
    return {
        "time": entry.time,
        "timestamp": entry.timestamp,
        "agent_id": entry.agent_id,
        "run_id": entry.run_id,
        "summary": entry.summary,
        **{key: list(getattr(entry, key)) for key in LISTS},
        "source_session": entry.source_session,
        "token_usage": None if entry.total_tokens is None else {"total": entry.total_tokens},
    }
