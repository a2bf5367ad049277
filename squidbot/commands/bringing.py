"""`squidbot import` and `squidbot migrate`: files of WorkspaceAI into a store, and out of it again."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, DAMAGED_DATA, complain
from squidbot.commands.model_files import left_out
from squidbot.commands.reading.opened import file_of, opened
from squidbot.commands.remaking import bar
from squidbot.commands.texts import count, line
from squidbot.core.errors import ConfigError, TranscriptError
from squidbot.engine import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.services.exchange import Brought, Imported, Reading, RolledBack

__all__ = ["import_", "migrate"]

_paths = click.argument("paths", metavar="PATH...", nargs=-1, required=True)
_session = click.option("--session", metavar="ID", help="Of exchanges that name none.  [default: workspaceai]")
_dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")


@click.command("import")
@_paths
@_session
@_dry_run
@options.form_version
@options.store
@options.as_json
def import_(  # noqa: PLR0913  # an argument for each option
    *, paths: tuple[str, ...], session: str | None, dry_run: bool, version: str, store: str | None, as_json: bool
) -> None:
    """Bring in the files of `export --format workspaceai`: PATH is a file or a folder of them.

    Each exchange goes into the session that it names, else into `workspaceai@model:NAME`, once, however often that is
    done. The files stay as they are.
    """
    from squidbot.services.exchange import Reading, imported  # noqa: PLC0415  # its help stays quick

    files = _files(paths)
    with _opened(store, files, version, dry_run=dry_run) as wired, bar("bringing exchanges") as tick:
        done = imported(wired, files, _reading(Reading(), session, version, dry_run=dry_run, tick=tick))
    _end(done, dry_run=dry_run, as_json=as_json)


@click.command()
@_paths
@_session
@click.option("--rollback", is_flag=True, help="Take out what was brought from them, and put files back.")
@click.option("--yes", is_flag=True, help="Of --rollback: do not ask.")
@_dry_run
@options.form_version
@options.store
@options.as_json
def migrate(  # noqa: PLR0913  # an argument for each option
    *,
    paths: tuple[str, ...],
    session: str | None,
    rollback: bool,
    yes: bool,
    dry_run: bool,
    version: str,
    store: str | None,
    as_json: bool,
) -> None:
    """Bring in older files of WorkspaceAI (versions 1.0 and 2.0; 3.0, too): PATH is a file or a folder of them.

    Exchanges are parted by their models; those that name none are qwen2.5:7b's. A copy of each file is kept beside it,
    as FILE.backup. However often it is done, each exchange is there once.
    """
    from squidbot.services.exchange import (  # noqa: PLC0415
        Reading,  # its help stays quick
        migrated,
    )

    if rollback:
        _roll_back(paths, store, yes=yes, dry_run=dry_run, as_json=as_json)
        return
    files = _files(paths)
    with _opened(store, files, version, dry_run=dry_run) as wired, bar("bringing exchanges") as tick:
        done = migrated(wired, files, _reading(Reading(), session, version, dry_run=dry_run, tick=tick))
    _end(done, dry_run=dry_run, as_json=as_json)


def _reading(
    one: Reading, session: str | None, version: str, *, dry_run: bool, tick: Callable[[int, int], None]
) -> Reading:
    return replace(one, session=session or one.session, version=version, dry_run=dry_run, tick=tick)


@contextmanager
def _opened(store: str | None, files: Sequence[Path], version: str, *, dry_run: bool) -> Iterator[Wired]:
    """Give the store, made where it is missing and a file has something; only looked at by a dry run.

    Where there is none, a dry run, or one of files that are damaged, goes by an empty one in memory.
    """
    from squidbot.services.exchange import read_files  # noqa: PLC0415  # as above

    is_new = False
    with suppress(ConfigError):  # a store of an extension is no file, and is opened as it says
        is_new = not Path(file_of(store)).exists()
    if is_new and (dry_run or all(read_files(file, Counter(), version).failed for file in files)):
        with load({}) as engine:
            yield engine.wired
        return
    with opened(store, writes=not dry_run, makes=is_new) as place:
        yield place.wired


def _files(paths: Sequence[str]) -> list[Path]:
    from squidbot.services.exchange import files_at  # noqa: PLC0415  # as above

    return list(dict.fromkeys(file for path in paths for file in files_at(path)))


def _roll_back(paths: tuple[str, ...], store: str | None, *, yes: bool, dry_run: bool, as_json: bool) -> None:
    from squidbot.services.exchange import rolled_back  # noqa: PLC0415  # as above

    places = [Path(path) for path in paths]
    with opened(store, writes=True) as place:
        sessions = [name for name, _ in place.sessions()]
        done = rolled_back(place.wired, sessions, places, dry_run=True)
        if not dry_run and done:
            _confirm(done, yes=yes)
            done = rolled_back(place.wired, sessions, places)
    if not done:
        raise TranscriptError(", ".join(paths), None, "nothing was brought in from there; name the file as it was then")
    if as_json:
        options.print_json({"dry_run": dry_run, "rolled_back": [one._asdict() for one in done]})
    else:
        for text in _rolled(done, dry_run=dry_run):
            click.echo(text)
    _exit([f"{line(one.session)}: {one.reason}" for one in done if one.reason], damaged=False)


def _confirm(found: Sequence[RolledBack], *, yes: bool) -> None:
    messages, sessions = sum(one.messages for one in found), len({one.session for one in found})
    if messages and not yes:
        what = f"{count(messages, 'message')} of {count(sessions, 'session')}"
        click.confirm(f"Take {what} out for good?", abort=True, err=True)


def _rolled(done: Sequence[RolledBack], *, dry_run: bool) -> Iterator[str]:
    for one in done:
        if not one.reason:
            yield f"{line(one.session)}: {count(one.messages, 'message')} of {line(one.path)} taken out"
    if dry_run:
        yield "nothing was written"


def _end(done: Imported, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        files = [one._asdict() for one in done.files]
        options.print_json({"dry_run": dry_run, "files": files, "left_out": dict(done.left)})
    else:
        for text in _lines(done.files, dry_run=dry_run):
            click.echo(text)
    if (said_left := left_out(done.left)) and not as_json:
        complain(f"not taken from the files: {said_left}")
    failed = [one for one in done.files if one.became == "failed"]
    _exit([f"{one.path}: {one.reason}" for one in failed], damaged=any(one.damaged for one in failed))


def _exit(failed: Sequence[str], *, damaged: bool) -> None:
    for text in failed:
        complain(text)
    click.get_current_context().exit((DAMAGED_DATA if damaged else ANSWER_IS_NO) if failed else 0)


def _lines(files: Sequence[Brought], *, dry_run: bool) -> Iterator[str]:
    for one in files:
        if one.became != "failed":
            new = f"{one.new:,} new of {count(one.exchanges, 'exchange')}"
            yield f"{one.became:<9} {line(one.path)} ({one.version})  {line(one.session)}: {new}"
    for backup in dict.fromkeys(one.backup for one in files if one.backup):
        yield f"a copy is kept: {line(backup)}"
    yield f"{count(sum(one.new for one in files), 'exchange')}{'; nothing was written' if dry_run else ' brought in'}"
