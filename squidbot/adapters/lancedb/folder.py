"""Which of the tables in a folder counts, and whether its files are as they were written.

Each save makes a table of its own, "1", "2" and so on; then a file that is put in place at once says which one counts,
what is in it, and the sizes and checksums of its files; then the others are deleted. LanceDB has versions inside a
table, too, but keeps deleted rows in their files as long as few of a file's are deleted, even where it is told to
clean up: a table that something was taken out of is written anew.
"""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from squidbot.adapting.disk import OWN_FILE, OWN_FOLDER, lock, make_folder, open_own, sync
from squidbot.adapting.kept import UnusableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


__all__ = ["Said", "checked", "counting", "locked", "next_table", "publish", "read"]

FORMAT = "squidbot vectors by LanceDB 1"
NAME = "index.json"
CHUNK_BYTES = 1 << 20


class Said(NamedTuple):
    """What is said of the table that counts.

    Attributes:
        table: its name in the folder.
        stamp: what is in it: model, dimensions, vectors, digest.
        last: the highest place that was ever taken in.
        lists: for how many lists its index was made; 0 where every vector is compared.
        made_for: how many vectors the lists were made for.
        files: size and checksum of each of its files, by the path below the table.
    """

    table: str
    stamp: tuple[str, int, int, int]
    last: int
    lists: int
    made_for: int
    files: dict[str, tuple[int, int]]


def read(folder: Path) -> Said:
    """Return what a folder says.

    Raises:
        UnusableError: it says nothing that is ours.
        FileNotFoundError: there is none.
        OSError: it can't be read.
    """
    if folder.exists() and not folder.is_dir():
        raise UnusableError("it is no folder")
    try:
        text = (folder / NAME).read_bytes()
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()):
            raise UnusableError(f"{NAME} is missing") from None
        raise
    try:
        data, _, checksum = text.rstrip(b"\n").rpartition(b"\n")
        said = json.loads(data)
        if int(checksum) != crc32(data) or said["format"] != FORMAT:
            raise UnusableError(f"{NAME} is cut or damaged, or of another version")
        model, dimensions, vectors, digest = said["stamp"]
        files = {str(name): (int(size), int(check)) for name, (size, check) in said["files"].items()}
        stamp = (str(model), int(dimensions), int(vectors), int(digest))
        return Said(str(said["table"]), stamp, int(said["last"]), int(said["lists"]), int(said["made_for"]), files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableError(f"{NAME} is none of ours") from error


def checked(folder: Path, said: Said) -> None:
    """Read all files of the table that counts, and pass where they are as they were written.

    Raises:
        UnusableError: one is missing, cut, damaged, or too many.
    """
    for name, due in said.files.items():
        try:
            found = _checksum(folder / said.table / name)
        except OSError as error:
            raise UnusableError(f"{said.table}/{name}: {error.strerror}") from error
        if found != due:
            raise UnusableError(f"{said.table}/{name} is cut or damaged: its checksum is wrong")
    if {*_names(folder / said.table)} != said.files.keys():
        raise UnusableError(f"{said.table} has files that are none of ours")


def counting(folder: Path) -> str | None:
    """Return the name of the table that counts; None where none does."""
    with suppress(UnusableError, OSError):
        return read(folder).table
    return None


def next_table(folder: Path) -> str:
    """Return a name that no table has, and delete what is left of tables that never counted."""
    _delete_but(folder, counting(folder))
    return str(max((int(each.name) for each in folder.iterdir() if each.name.isdecimal()), default=0) + 1)


def publish(folder: Path, said: Said, known: Said | None) -> Said:
    """Let a table count from now on, durably, and delete all others; returns what is said with the files.

    `known`: what was said of the table that it grew from, which may share files with it.

    Raises:
        OSError: the disk failed; the old table counts.
    """
    table = folder / said.table
    files = {}
    for made in (table, *(path for path in table.rglob("*") if path.is_dir())):  # LanceDB makes them for all to read
        made.chmod(OWN_FOLDER)
    for name in _names(table):
        if known and name in known.files and _is(folder / known.table / name, table / name):
            files[name] = known.files[name]
        else:
            (table / name).chmod(OWN_FILE)
            sync(table / name)
            files[name] = _checksum(table / name)
    said = said._replace(files=files)
    data = json.dumps({"format": FORMAT, **said._asdict()}).encode()
    part = folder / f"{NAME}.part"
    with open_own(part, "w") as file:
        file.write(b"%b\n%d\n" % (data, crc32(data)))
    sync(part)
    part.replace(folder / NAME)
    sync(folder)
    _delete_but(folder, said.table)
    return said


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time save to a folder, which is made; what else lay in its place is deleted.

    Raises:
        OSError: it can't be made.
    """
    if folder.exists() and not folder.is_dir():
        folder.unlink()
    make_folder(folder)
    with open_own(folder / "lock", "a") as file:
        lock(file)  # given back when the file is closed, and when the process dies
        yield


def _delete_but(folder: Path, kept: str | None) -> None:
    for each in folder.iterdir():
        if each.name.isdecimal() and each.name != kept:
            shutil.rmtree(each, ignore_errors=sys.platform == "win32")  # there no file is deleted that is open


def _is(old: Path, new: Path) -> bool:
    return old.exists() and old.samefile(new)


def _names(table: Path) -> list[str]:
    return sorted(path.relative_to(table).as_posix() for path in table.rglob("*") if path.is_file())


def _checksum(path: Path) -> tuple[int, int]:
    size = checksum = 0
    with path.open("rb") as file:
        while data := file.read(CHUNK_BYTES):
            size, checksum = size + len(data), crc32(data, checksum)
    return size, checksum
