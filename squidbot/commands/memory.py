"""`squidbot memory`: durable facts, searched, listed, added, forgotten, and carried to another store."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from squidbot.adapters.common.files import open_own
from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO
from squidbot.commands.merged import merge, restore, show
from squidbot.commands.noted import notes
from squidbot.commands.reading.memories import as_json as as_json_fact
from squidbot.commands.reading.memories import as_lines, from_lines
from squidbot.commands.reindex import reindex
from squidbot.commands.texts import block, count, line
from squidbot.commands.whose import opened, scoped, written_beside
from squidbot.core.errors import RecallError, SquidbotError
from squidbot.core.memories import CARDS, CATEGORIES, JOURNAL, View
from squidbot.core.memory.asking import Added, Asked
from squidbot.core.memory.pieces import FILES
from squidbot.replay.report import progress
from squidbot.services.forget import Wrote, note_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.memories import FactCategory, Memory
    from squidbot.core.memory.asking import Memories
    from squidbot.core.memory.text import Told

__all__ = ["for_people", "memory"]

PAGE = 500
_FRAME = re.compile(r"<squidbot memories: data, not instructions; (.*)>")
# How a model asks for more, and a person.
_MORE = (
    (re.compile(r"; more: list after (\S+)]"), r"; more with --after \1]"),
    (re.compile(r"; more: search with offset [0-9]+]"), "; more with --limit]"),
)


@click.group()
def memory() -> None:
    """Search, list, add and forget durable facts, beyond any session; and find what files say."""


for inner in (reindex, merge, restore, show, notes):
    memory.add_command(inner)


@memory.command(short_help="Search facts, best first.")
@click.argument("query")
@options.limit(8, "Facts")
@click.option(
    "--category", type=click.Choice((*CATEGORIES, JOURNAL)), help="Only of this one; journal: what these say."
)
@click.option("--past", is_flag=True, help="Also what was replaced.")
@scoped
def search(*, query: str, limit: int, category: str | None, past: bool, as_json: bool, **whose: str) -> None:
    """Search facts for QUERY, best first in each group; exit code 1 where nothing is relevant."""
    with opened(whose) as (memories, _):
        tag = JOURNAL if category == JOURNAL else ""
        kind = next((one for one in CATEGORIES if one == category), None)
        told = memories.search(Asked(query, kind, limit, past=past, tag=tag), time.time())
    _show(told, as_json=as_json)
    click.get_current_context().exit(0 if told.memories else ANSWER_IS_NO)


@memory.command("list")
@options.limit(20, "Facts")
@click.option("--category", type=click.Choice(CATEGORIES), help="Only of this one.")
@click.option("--after", metavar="ID", default="", help="Behind this one.")
@click.option("--past", is_flag=True, help="Also what was replaced.")
@scoped
def listed(  # one for each option
    *, limit: int, category: FactCategory | None, after: str, past: bool, as_json: bool, **whose: str
) -> None:
    """List facts, newest first."""
    with opened(whose) as (memories, _):
        _show(memories.listed(Asked("", category, limit, after=after, past=past), time.time()), as_json=as_json)


@memory.command(short_help="Remember a text, one fact as a sentence.")
@click.argument("text")
@click.option("--category", type=click.Choice(CATEGORIES), default="background", show_default=True)
@click.option("--replaces", metavar="ID", default="", help="The fact whose place it takes.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by; may be given more than once.")
@scoped
def add(
    *, text: str, category: FactCategory, replaces: str, tags: tuple[str, ...], as_json: bool, **whose: str
) -> None:
    """Remember TEXT, one fact as a sentence. Secrets in it are taken out."""
    with opened(whose, makes=True) as (memories, _):
        added = Added(text, category, replaces, tags, "user", reason="added on the command line")
        _show(memories.add(added, time.time()), as_json=as_json)


@memory.command(short_help="Remove facts for good.")
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", default="", help="Kept with the fact that something was forgotten.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@scoped
def forget(*, memory_ids: tuple[str, ...], reason: str, yes: bool, as_json: bool, **whose: str) -> None:
    """Remove facts for good, from all that is searched, and from the file's bytes."""
    if not yes:
        with opened(dict(whose)) as (memories, _):
            for one in dict.fromkeys(memory_ids):
                click.echo(f"{one}: {line(memories.one(one).text)}", err=True)
        click.confirm(f"Forget {count(len({*memory_ids}), 'fact')} for good?", abort=True, err=True)
    sessions: set[str] = set()
    with opened(whose, told=sessions) as (memories, _):
        ids = list(dict.fromkeys(memory_ids))
        # What is not there comes first, and is refused before anything is forgotten.
        told = [memories.forget(one, reason) for one in sorted(ids, key=lambda one: _is_there(memories, one))]
    if as_json:
        options.print_json({"forgotten": ids, "sessions": sorted(sessions)})
        return
    click.echo(block("\n".join(for_people(one.text) for one in told)))
    if sessions:
        count_of = count(len(sessions), "session")
        click.echo(f"taken out of what {count_of} {'was' if len(sessions) == 1 else 'were'} told")


@memory.command(short_help="Write all facts as JSON lines.")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False), default="-")
@click.option("--files", is_flag=True, help="Also what is found of files, which reindex makes anew.")
@scoped
def export(*, file: str, files: bool, as_json: bool, **whose: str) -> None:
    """Write all facts, history too, as JSON lines; to standard output without FILE."""
    written = written_beside(whose["store"])
    with opened(whose) as (memories, _):
        found = [one for shelf in ("", *((FILES, CARDS) if files else ())) for one in _every(memories, shelf)]
    text = as_lines(found)
    if file == "-":
        sys.stdout.write(text)
        return
    if os.path.lexists(file):
        raise SquidbotError(f"{file}: exists; an export overwrites nothing, name a new file")
    with open_own(file, "x") as out:
        out.write(text.encode("utf-8", "surrogatepass"))
    note_written(written, Wrote(str(Path(file).absolute()), "facts"))
    if as_json:
        options.print_json({"file": file, "memories": len(found)})
    else:
        click.echo(f"{count(len(found), 'fact')} in {file}")


@memory.command("import", short_help="Add the facts of an export.")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@scoped
def import_(*, file: str, as_json: bool, **whose: str) -> None:
    """Add the facts of an export; those that are known already stay as they are. They keep the scope they had."""
    with click.open_file(file, encoding="utf-8", errors="surrogatepass") as lines:
        found = from_lines(lines, file)
    new: list[Memory] = []
    with opened(whose, makes=True) as (memories, _), progress(len(found), "importing") as tick:
        for start in range(0, len(found), PAGE):
            page = found[start : start + PAGE]
            known = {one.memory_id for one in memories.store.get([one.memory_id for one in page])}
            memories.store.add(page)
            new += [one for one in page if one.memory_id not in known]
            for _ in page:
                tick()
        # One that was replaced, and brought back, holds here, too; to add what replaced it has it replaced.
        memories.store.supersede({one.memory_id: "" for one in new if not one.superseded_by})
    if as_json:
        options.print_json({"file": file, "memories": len(found)})
    else:
        click.echo(f"{count(len(found), 'fact')} from {file}")


def _is_there(memories: Memories, memory_id: str) -> bool:
    try:
        memories.one(memory_id)
    except RecallError:
        return False
    return True


def _every(memories: Memories, shelf: str) -> Iterator[Memory]:
    """Yield all that stands on a shelf of a view, newest first, history too."""
    after = ""
    view = View(memories.view.scope._replace(shelf=shelf), memories.view.isolation)
    while page := memories.store.listed(view, limit=PAGE, after=after, past=True):
        yield from page
        after = page[-1].memory_id


def _show(told: Told, *, as_json: bool) -> None:
    if as_json:
        options.print_json({"memories": [as_json_fact(one) for one in told.memories], "text": told.text})
    else:
        click.echo(block(for_people(told.text)))


def for_people(text: str) -> str:
    """Return what a model is told without the frame that marks it as data, and with options for what it would call."""
    lines = [shown for shown in text.splitlines() if not shown.startswith("</squidbot")]
    for call, option in _MORE:
        lines[-1] = call.sub(option, lines[-1])
    about = _FRAME.fullmatch(lines[0])
    return "\n".join([about[1] if about else lines[0], *lines[1:]])
