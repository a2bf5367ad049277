"""`squidbot export --format workspaceai`: a store as a folder of files, one for each model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from squidbot.codecs.workspaceai import VERSION
from squidbot.commands import options
from squidbot.commands.ending import ANSWER_IS_NO, complain
from squidbot.commands.reading.opened import opened
from squidbot.commands.remaking import bar
from squidbot.commands.texts import count, line
from squidbot.services.forget import Wrote, note_written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.services.exchange import Exported, Written

__all__ = ["WORKSPACEAI", "Writing", "left_out", "write_models"]

WORKSPACEAI = "workspaceai"


class Writing(NamedTuple):
    """Which sessions are written (none: all), in which version, and how."""

    sessions: tuple[str, ...]
    version: str
    replaces: bool = False
    dry_run: bool = False
    as_json: bool = False

    def check_unused(self) -> None:
        """Refuse what goes with no other format.

        Raises:
            click.UsageError: something of it is given.
        """
        if self.sessions or self.replaces or self.dry_run:
            raise click.UsageError("--session, --replace and --dry-run go with --format workspaceai")


def write_models(folder: str, store: str | None, how: Writing, output: str | None = None) -> None:
    """Write the sessions of a store into a folder, and print what became of each file.

    Raises:
        click.UsageError: an option does not go with it.
    """
    from squidbot.services.exchange import exported  # noqa: PLC0415  # no other export needs it

    if output is not None:
        raise click.UsageError("--output is of a single session; with --format workspaceai FOLDER is the argument")
    if how.version == "2.0":
        raise click.UsageError("files are written in version 3.0, or (for a program that knows no other) in 1.0")
    with opened(store) as place, bar("reading sessions") as tick:
        sessions = [place.find(one) for one in how.sessions] or [name for name, _ in place.sessions()]
        done = exported(
            place.store,
            place.codecs,
            dict.fromkeys(sessions),
            folder,
            replaces=how.replaces,
            dry_run=how.dry_run,
            version=how.version or VERSION,
            tick=tick,
        )
        if not how.dry_run:
            files = (one for one in done.files if one.became != "failed")
            note_written(
                place.wired.written,
                *(Wrote(str(Path(one.path).absolute()), WORKSPACEAI, tuple(sessions)) for one in files),
            )
    _print(done, folder, len(sessions), how)
    click.get_current_context().exit(ANSWER_IS_NO if any(one.became == "failed" for one in done.files) else 0)


def _print(done: Exported, folder: str, sessions: int, how: Writing) -> None:
    if how.as_json:
        said = {"format": WORKSPACEAI, "folder": folder, "dry_run": how.dry_run, "sessions": sessions}
        options.print_json({**said, "files": [one._asdict() for one in done.files], "left_out": dict(done.left)})
    else:
        for one in (*_lines(done.files), _all_of(done.files, dry_run=how.dry_run)):
            click.echo(one)
    for file in done.files:
        if file.became == "failed":
            complain(file.reason if file.reason.startswith(file.path) else f"{file.path}: {file.reason}")
    if (said_left := left_out(done.left)) and not how.as_json:
        complain(f"such files have no place for: {said_left}")


def left_out(left: Mapping[str, int]) -> str:
    """Return what was left out, as a list for a sentence; "" for nothing."""
    return ", ".join(f"{number:,} {kind}" for kind, number in sorted(left.items()) if number)


def _lines(files: tuple[Written, ...]) -> Iterator[str]:
    width = min(60, max((len(line(one.path)) for one in files), default=0))
    for one in files:
        aside = f"; what stood there: {line(one.aside)}" if one.aside else ""
        yield (
            f"{one.became:<9} {line(one.path):<{width}}  {line(one.model) or 'no model'}: "
            f"{count(one.exchanges, 'exchange')}{aside}"
        )


def _all_of(files: tuple[Written, ...], *, dry_run: bool) -> str:
    if not files:
        return "nothing was said in the store: there is nothing to write"
    return f"{count(len(files), 'file')}{'; nothing was written' if dry_run else ''}"
