"""`squidbot export`: a session as a file, in its own form or in that of another host."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from squidbot.adapters.common.files import open_own
from squidbot.commands import options
from squidbot.commands.ending import complain
from squidbot.commands.model_files import WORKSPACEAI, Writing, write_models
from squidbot.commands.reading.entries import entries
from squidbot.commands.reading.forms import FORMS, Left, told
from squidbot.commands.reading.opened import opened
from squidbot.commands.texts import count
from squidbot.core.errors import DamagedStoreError, SquidbotError
from squidbot.services.forget import Wrote, digest_of, note_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.commands.reading.opened import Opened

__all__ = ["export", "texts_of"]


@click.command()
@click.argument("session_id", metavar="SESSION|FOLDER")
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMS, WORKSPACEAI]),
    default="stored",
    show_default=True,
    help="What to write.",
)
@click.option("-o", "--output", metavar="FILE", help="Write there.  [default: standard output]")
@click.option("--session", "sessions", metavar="ID", multiple=True, help="Of workspaceai: only these sessions.")
@click.option("--replace", "replaces", is_flag=True, help="Of workspaceai: over files that have more, kept aside.")
@click.option("--dry-run", is_flag=True, help="Of workspaceai: say what would be written.")
@options.form_version
@options.store
@options.as_json
def export(  # noqa: PLR0913  # an argument for each option
    *,
    session_id: str,
    form: str,
    output: str | None,
    sessions: tuple[str, ...],
    replaces: bool,
    dry_run: bool,
    version: str,
    store: str | None,
    as_json: bool,
) -> None:
    """Write all that was said: as stored, for another host, or to read; or a whole store as a folder of files.

    stored: the host's own messages byte for byte, one on each line (a JSON array where one has line breaks in it).
    openai, anthropic: messages of that form as JSONL; from another one go text and tool calls with their results.
    workspaceai: into a FOLDER, a file for each model with all that was said under it, in form 3.0 of WorkspaceAI.
    """
    how = Writing(sessions, version, replaces=replaces, dry_run=dry_run, as_json=as_json)
    if form == WORKSPACEAI:
        write_models(session_id, store, how, output)
    else:
        how.check_unused()
        _export(session_id, form, output, store, as_json=as_json)


def texts_of(place: Opened, name: str, form: str) -> bytes:
    """Return an export of a session as a file has it.

    Raises:
        DamagedStoreError: a message can't be read.
    """
    made = BytesIO()
    _spell(made, _texts(place, name, form, Left()), array=form == "stored" and _has_breaks(place, name))
    return made.getvalue()


def _export(session_id: str, form: str, output: str | None, store: str | None, *, as_json: bool) -> None:
    left = Left()
    with opened(store) as place:
        name = place.find(session_id)
        texts = _texts(place, name, form, left)
        if as_json:
            made = list(texts)
            where = output if output is None else _written(output, iter(made), array=False)
            said = {"session": name, "format": form, "messages": place.length(name), "file": where}
            options.print_json({**said, "lines": None if output else made, "left_out": dict(left)})
        else:
            array = form == "stored" and _has_breaks(place, name)
            _write(output, texts, array=array)
        if output is not None:
            path = Path(output).absolute()
            note_written(place.wired.written, Wrote(str(path), form, (name,), digest_of(path.read_bytes())))
    if told(left) and not as_json:
        complain(told(left))


def _texts(place: Opened, name: str, form: str, left: Left) -> Iterator[str]:
    """Yield what the export is made of.

    Raises:
        DamagedStoreError: a message can't be read; the text says how to save the others.
    """
    for page in place.pages(name):
        if page.damaged:
            raise DamagedStoreError(
                f"{name}: {count(len(page.damaged), 'message')} from m{page.damaged[0]} on can't be read; "
                "squidbot doctor --repair saves the others into a new store"
            )
        for entry in entries(page.found, place.codecs):
            yield from FORMS[form](entry, left)


def _has_breaks(place: Opened, name: str) -> bool:
    return any("\n" in row.payload or "\r" in row.payload for page in place.pages(name) for row in page.found)


def _write(output: str | None, texts: Iterator[str], *, array: bool) -> None:
    if output is None:
        _spell(sys.stdout.buffer, texts, array=array)
    else:
        click.echo(_written(output, texts, array=array))


def _written(output: str, texts: Iterator[str], *, array: bool) -> str:
    with _new(output) as file:
        _spell(file, texts, array=array)
    return output


def _spell(file: IO[bytes], texts: Iterator[str], *, array: bool) -> None:
    begins, parts, ends = (b"[\n", b",\n", b"\n]\n") if array else (b"", b"\n", b"\n")
    between = begins
    for text in texts:
        file.write(between + text.encode("utf-8", "surrogatepass"))
        between = parts
    file.write(ends if between is parts else b"[]\n" if array else b"")
    file.flush()


@contextmanager
def _new(output: str) -> Iterator[IO[bytes]]:
    """Give a file that has its name when the block ends well; one that is there already is not written over.

    Raises:
        SquidbotError: there is one.
        OSError: it can't be written.
    """
    if os.path.lexists(output):
        raise SquidbotError(f"{output}: exists; an export overwrites nothing, name a new file")
    part = Path(f"{output}.part-{os.getpid()}")
    try:
        with open_own(part, "x") as file:
            yield file
        os.link(part, output)
    finally:
        part.unlink(missing_ok=True)
