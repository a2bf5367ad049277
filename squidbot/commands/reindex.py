"""`squidbot memory reindex`: what is found of files, brought to their state."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.remaking import Remade, bar, remade
from squidbot.commands.texts import count
from squidbot.commands.whose import opened, scoped
from squidbot.replay.report import plain
from squidbot.services.indexing import Paths
from squidbot.services.indexing import reindex as index

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.services.indexing import Became, Indexed, Outcome

__all__ = ["reindex"]


@click.command(short_help="Find what files say; make the vectors that wait.")
@click.argument("paths", metavar="[PATH...]", nargs=-1)
@click.option("--drop", is_flag=True, help="Take out what is found of them; all without PATH.")
@click.option("--dry-run", is_flag=True, help="Say what would become of each file, and write nothing.")
@click.option("--anew", is_flag=True, help="Make all vectors, and what words are found by, anew.")
@scoped
def reindex(*, paths: tuple[str, ...], drop: bool, dry_run: bool, anew: bool, as_json: bool, **whose: str) -> None:
    """Find what files say: read those that are new or have changed; and make the vectors that wait.

    A PATH is a file, a folder or a pattern; without one it is all of memory.index_paths, and what was asked for before.
    """
    with opened(whose, makes=not dry_run) as (memories, loaded):
        with bar("reading files") as tick:
            done = index(
                memories,
                Paths.of(loaded, paths, drops=drop, scope=memories.view.scope),
                dry_run=dry_run,
                tick=tick,
                wait=_Waiting(),
            )
        made = Remade() if dry_run else remade(memories.store, anew=anew)
    if as_json:
        shown = {"files": [one._asdict() for one in done.outcomes], "unchanged": done.unchanged, "read": done.read}
        options.print_json({"dry_run": dry_run, **shown, "made": made._asdict()})
        return
    # Whoever named no files, and has none, came for the vectors.
    of_files = _lines(done, paths, dry_run=dry_run) if paths or _counts(done) or made == Remade() else ()
    for line in (*of_files, *made.lines()):
        click.echo(line)


class _Waiting:
    """Waits for other programs, and says so once."""

    def __init__(self) -> None:
        self._is_told = False

    def __call__(self, seconds: float) -> None:
        if not self._is_told:
            click.echo("another program indexes the same files: waiting for it, up to a minute", err=True)
        self._is_told = True
        time.sleep(seconds)


def _lines(done: Indexed, paths: Sequence[str], *, dry_run: bool) -> Iterator[str]:
    width = min(60, max((len(one.path) for one in done.outcomes), default=0))
    for one in done.outcomes:
        yield f"{one.became:<8} {plain(one.path):<{width}}  {plain(_about(one))}".rstrip()
    said = _counts(done)
    new, old = sum(one.new_pieces for one in done.outcomes), sum(one.old_pieces for one in done.outcomes)
    if not said:
        yield _nothing(paths)
    elif len(done.outcomes) == done.count("skipped") and not old:
        yield f"nothing has changed: {said}"
    else:
        yield f"files: {said}; {count(new, 'piece')} came, {old} went{'; nothing was written' if dry_run else ''}"


def _nothing(paths: Sequence[str]) -> str:
    if paths:
        return f"there is no file to read in {plain(', '.join(paths))}"
    return "there is nothing to read: name files or folders, or set memory.index_paths in ./squidbot.toml"


def _counts(done: Indexed) -> str:
    kinds: tuple[Became, ...] = ("new", "changed", "renamed", "removed", "skipped")
    counts = [(done.count(kind), str(kind)) for kind in kinds]
    return ", ".join(f"{number} {kind}" for number, kind in (*counts, (done.unchanged, "as before")) if number)


def _about(one: Outcome) -> str:
    """Return what is to be said of a file beside its name."""
    pieces = [f"{one.new_pieces} new" if one.new_pieces else "", f"{one.old_pieces} gone" if one.old_pieces else ""]
    told = ", ".join(filter(None, pieces))
    if one.became == "new":
        told = count(one.new_pieces, "piece")
    if one.became == "renamed":
        told = f"was {one.reason}"
    if one.became == "skipped":
        told = one.reason + (f"; {count(one.old_pieces, 'piece')} of it went" if one.old_pieces else "")
    return told
