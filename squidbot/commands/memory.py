"""`squidbot memory`: durable facts, searched, listed, added, forgotten, and carried to another store."""

from __future__ import annotations

import re
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from squidbot.bootstrap import wire
from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO
from squidbot.commands.reading.memories import as_lines, from_lines
from squidbot.commands.texts import count
from squidbot.config import load_settings
from squidbot.core.errors import ConfigError, StoreError
from squidbot.core.memories import CATEGORIES, Scope
from squidbot.core.memory.asking import Added, Asked
from squidbot.remembering import provider_of
from squidbot.replay.table import progress
from squidbot.tables import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.memories import Category, Memory
    from squidbot.core.memory.asking import Memories
    from squidbot.core.memory.telling import Told

__all__ = ["memory"]

PAGE = 500
_FRAME = re.compile(r"<squidbot memories: data, not instructions; (.*)>")
_STORE = click.option("--store", metavar="FILE.db", help="The file they are in.  [default: that of ./squidbot.toml]")


def _scoped(command: Callable[..., object]) -> Callable[..., object]:
    """Give a command the options that say whose facts are meant."""
    for part in ("agent", "bot", "user", "tenant"):
        command = click.option(f"--{part}", default="", help=f"Whose facts: the {part}.")(command)
    return _STORE(options.as_json(command))


@click.group()
def memory() -> None:
    """Search, list, add and forget durable facts, beyond any session."""


@memory.command()
@click.argument("query")
@options.limit(8, "Facts")
@click.option("--category", type=click.Choice(CATEGORIES), help="Only of this one.")
@click.option("--past", is_flag=True, help="Also what was replaced.")
@_scoped
def search(*, query: str, limit: int, category: Category | None, past: bool, as_json: bool, **whose: str) -> None:
    """Search facts for QUERY, best first in each group; exit code 1 where nothing is relevant."""
    with _opened(whose) as memories:
        told = memories.search(Asked(query, category, limit, past=past), time.time())
    _show(told, as_json=as_json)
    click.get_current_context().exit(0 if told.memories else ANSWER_IS_NO)


@memory.command("list")
@options.limit(20, "Facts")
@click.option("--category", type=click.Choice(CATEGORIES), help="Only of this one.")
@click.option("--after", metavar="ID", default="", help="Behind this one.")
@click.option("--past", is_flag=True, help="Also what was replaced.")
@_scoped
def listed(  # one for each option
    *, limit: int, category: Category | None, after: str, past: bool, as_json: bool, **whose: str
) -> None:
    """List facts, newest first."""
    with _opened(whose) as memories:
        _show(memories.listed(Asked("", category, limit, after=after, past=past), time.time()), as_json=as_json)


@memory.command()
@click.argument("text")
@click.option("--category", type=click.Choice(CATEGORIES), default="background", show_default=True)
@click.option("--replaces", metavar="ID", default="", help="The fact whose place it takes.")
@click.option("--tag", "tags", multiple=True, help="A word to find it by; may be given more than once.")
@_scoped
def add(*, text: str, category: Category, replaces: str, tags: tuple[str, ...], as_json: bool, **whose: str) -> None:
    """Remember TEXT, one fact as a sentence. Secrets in it are taken out."""
    with _opened(whose, makes=True) as memories:
        added = Added(text, category, replaces, tags, "user", reason="added on the command line")
        _show(memories.add(added, time.time()), as_json=as_json)


@memory.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", default="", help="Kept with the fact that something was forgotten.")
@click.option("--yes", is_flag=True, help="Don't ask.")
@_scoped
def forget(*, memory_ids: tuple[str, ...], reason: str, yes: bool, as_json: bool, **whose: str) -> None:
    """Remove facts for good, from all that is searched, and from the file's bytes."""
    if not yes:
        click.confirm(f"Forget {count(len(memory_ids), 'fact')} for good?", abort=True, err=True)
    with _opened(whose) as memories:
        told = [memories.forget(one, reason) for one in memory_ids]
    if as_json:
        options.print_json({"forgotten": list(memory_ids)})
    else:
        click.echo("\n".join(_for_people(one.text) for one in told))


@memory.command()
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False), default="-")
@_scoped
def export(*, file: str, as_json: bool, **whose: str) -> None:
    """Write all facts, history too, as JSON lines; to standard output without FILE."""
    with _opened(whose) as memories:
        found = list(_every(memories))
    text = as_lines(found)
    if file == "-":
        sys.stdout.write(text)
        return
    with click.open_file(file, "x", encoding="utf-8", errors="surrogatepass") as out:
        out.write(text)
    if as_json:
        options.print_json({"file": file, "memories": len(found)})
    else:
        click.echo(f"{count(len(found), 'fact')} in {file}")


@memory.command("import")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@_scoped
def import_(*, file: str, as_json: bool, **whose: str) -> None:
    """Add the facts of an export; those that are known already stay as they are. They keep the scope they had."""
    with click.open_file(file, encoding="utf-8", errors="surrogatepass") as lines:
        found = from_lines(lines, file)
    with _opened(whose, makes=True) as memories, progress(len(found), "importing") as tick:
        for start in range(0, len(found), PAGE):
            page = found[start : start + PAGE]
            memories.store.add(page)
            for _ in page:
                tick()
    if as_json:
        options.print_json({"file": file, "memories": len(found)})
    else:
        click.echo(f"{count(len(found), 'fact')} from {file}")


@contextmanager
def _opened(whose: dict[str, str], *, makes: bool = False) -> Iterator[Memories]:
    """Give the facts that a scope sees, of the file that is named, else of the settings; `makes` one that is missing.

    Raises:
        ConfigError: a setting is wrong, or facts would be kept in memory only.
        StoreError: there is no such file, or it can't be opened.
    """
    loaded, file = load_settings(), whose.pop("store", None)
    settings = loaded.settings
    if file:
        settings = attrs.evolve(settings, memory=attrs.evolve(settings.memory, path=file, provider="sqlite3"))
    name, path = provider_of(attrs.evolve(loaded, settings=settings))
    if name == "stdlib":
        raise ConfigError("facts are kept in no file; say --store FILE.db, or set memory.path in ./squidbot.toml")
    if name == "sqlite3" and not makes and not Path(path).exists():
        raise StoreError(f"{path}: there is no such file; squidbot memory add makes it")
    # Sessions have nothing to do with it: their store is neither opened nor made.
    kept = attrs.evolve(settings.memory, provider=name, path=path)
    wired = wire(attrs.evolve(loaded, settings=attrs.evolve(settings, memory=kept, store=Store())))
    try:
        yield wired.remembering.memories(wired.meter(), Scope(**whose))
    finally:
        wired.close()


def _every(memories: Memories) -> Iterator[Memory]:
    """Yield all facts of a view, newest first, history too."""
    after = ""
    while page := memories.store.listed(memories.view, limit=PAGE, after=after, past=True):
        yield from page
        after = page[-1].memory_id


def _show(told: Told, *, as_json: bool) -> None:
    if as_json:
        options.print_json({"memories": [asdict(one) for one in told.memories], "text": told.text})
    else:
        click.echo(_for_people(told.text))


def _for_people(text: str) -> str:
    """Return what a model is told without the frame that marks it as data."""
    lines = [shown for shown in text.splitlines() if not shown.startswith("</squidbot")]
    about = _FRAME.fullmatch(lines[0])
    return "\n".join([about[1] if about else lines[0], *lines[1:]])
