"""`squidbot memory notes`: facts and the journal as files of notes in YAML, and such files taken over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from squidbot.commands import options
from squidbot.commands.ending import complain
from squidbot.commands.texts import count
from squidbot.commands.whose import opened, scoped, written_beside
from squidbot.core.memory.notefiles import DECLARATIVE, SUMMARY
from squidbot.services.exchange import read_notes, write_notes
from squidbot.services.forget import Wrote, note_written
from squidbot.wiring.journal import journal_of, timed_rules

if TYPE_CHECKING:
    from squidbot.services.exchange import Noted

__all__ = ["notes"]


@click.command(short_help="Write facts and the journal as notes in YAML, or read such notes.")
@click.argument("folder", metavar="FOLDER")
@click.option("--read", is_flag=True, help="Add what notes in FOLDER say.")
@scoped
def notes(*, folder: str, read: bool, as_json: bool, **whose: str) -> None:
    """Write declarative_notes.yml (facts) and summary_notes.yml (the journal) into FOLDER, or read them from there."""
    written = written_beside(whose["store"])
    with opened(whose, makes=read) as (memories, loaded):
        journal = journal_of(loaded, None, memories.view.scope, timed_rules(loaded, complain))
        done = read_notes(memories, journal, folder, loaded) if read else write_notes(memories, journal, folder)
    if not read:
        note_written(
            written, *(Wrote(str((Path(folder) / name).absolute()), "facts") for name in (DECLARATIVE, SUMMARY))
        )
    if as_json:
        options.print_json({"folder": folder, **done._asdict()})
    else:
        click.echo(_told(done, folder, read=read))


def _told(done: Noted, folder: str, *, read: bool) -> str:
    both = f"{count(done.facts, 'fact')}, {count(done.entries, 'entry', 'entries')}"
    if not read:
        return f"{both} in {folder}"
    return f"{both} from {folder}" + (f"; {count(done.known, 'note')} known already" if done.known else "")
