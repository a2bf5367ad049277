"""SQLite over a file system of ours: what is written, synced and deleted is noted.

The store's own statements run on apsw's SQLite, whose calls to the operating system pass through Python. Replaying
the notes up to any of them gives the files as a kill at that moment leaves them; leaving out what was not synced gives
what a power cut may leave.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, cast

import apsw
import pytest

from squidbot.adapters.sqlite3 import files

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["Note", "after_cut", "after_kill", "laid_out", "noting"]

SECTOR_BYTES = 512


class Note(NamedTuple):
    """One call: "write", "truncate", "sync", "delete" (`at` 1: the folder is synced, too), or "told" by the writer."""

    call: str
    file: str
    at: int = 0
    data: bytes = b""


@contextmanager
def noting(settings: Sequence[str]) -> Iterator[list[Note]]:
    """Make stores work on a disk that takes notes, with these settings; give the notes."""
    notes: list[Note] = []
    system = System(notes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "connect", Connection)
        patch.setattr(files, "SETTINGS", tuple(settings))
        yield notes
    system.unregister()


class System(apsw.VFS):
    """The operating system, with notes."""

    def __init__(self, notes: list[Note]) -> None:
        self.notes = notes
        super().__init__("squidbot-notes", "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> File:  # noqa: N802  # apsw's name
        return File(self.notes, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802  # apsw's signature
        self.notes.append(Note("delete", _base(filename), int(syncdir)))
        super().xDelete(filename, syncdir)


class File(apsw.VFSFile):
    """One file, with notes."""

    def __init__(self, notes: list[Note], name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.notes = notes
        self.name = _base(name.filename() if isinstance(name, apsw.URIFilename) else name or "")
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.notes.append(Note("write", self.name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self.notes.append(Note("truncate", self.name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.notes.append(Note("sync", self.name))
        super().xSync(flags)


class Connection:
    """As much of a sqlite3.Connection as the store uses, on a connection of apsw."""

    def __init__(self, path: str, busy_seconds: float) -> None:
        with _errors():
            self._inner = apsw.Connection(path, vfs="squidbot-notes")
            self._inner.set_busy_timeout(int(busy_seconds * 1000))

    def execute(self, sql: str, values: Sequence[object] = ()) -> Cursor:
        with _errors():
            cursor = self._inner.cursor()
            cursor.row_trace = _bytes
            cursor.execute(sql, cast("tuple[apsw.SQLiteValue, ...]", tuple(values)))
            return Cursor(cursor, self._inner.last_insert_rowid())

    def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        for row in rows:
            self.execute(sql, row)

    @property
    def in_transaction(self) -> bool:
        return self._inner.in_transaction

    def close(self) -> None:
        with _errors():
            self._inner.close()


class Cursor:
    """As much of a sqlite3.Cursor as the store uses."""

    def __init__(self, inner: apsw.Cursor, lastrowid: int) -> None:
        self._inner = inner
        self.lastrowid = lastrowid

    def __iter__(self) -> Iterator[object]:
        return self._inner

    def fetchone(self) -> object:
        with _errors():
            return self._inner.fetchone()

    def fetchall(self) -> list[object]:
        with _errors():
            return list(self._inner.fetchall())

    def close(self) -> None:
        self._inner.close()


class _errors:  # noqa: N801  # a context
    """Turns apsw's errors into those of sqlite3."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, apsw.Error):
            made = sqlite3.OperationalError(str(error))
            made.sqlite_errorcode = getattr(error, "extendedresult", 0)
            raise made from error


def after_kill(notes: Sequence[Note]) -> dict[str, bytes]:
    """Return the files after these calls: a killed process loses none of them."""
    found: dict[str, bytearray] = {}
    for note in notes:
        _apply(found, note)
    return {name: bytes(data) for name, data in found.items()}


def after_cut(notes: Sequence[Note], chance: random.Random | None = None) -> dict[str, bytes]:
    """Return the files as a power cut after these calls may leave them.

    What was synced is there. Of the rest nothing is; or with `chance` any part of it, in any order of sectors.
    """
    found: dict[str, bytearray] = {}
    waiting: dict[str, list[Note]] = {}
    for note in notes:
        if note.call == "told":
            continue
        if note.call == "sync" or (note.call == "delete" and note.at):
            for each in waiting.pop(note.file, []):
                _apply(found, each)
            found.setdefault(note.file, bytearray())
            _apply(found, note)
        else:
            waiting.setdefault(note.file, []).append(note)
    if chance is not None:
        for note in (each for some in waiting.values() for each in some):
            for part in _parts(note, chance):
                _apply(found, part)
    return {name: bytes(data) for name, data in found.items()}


def _parts(note: Note, chance: random.Random) -> list[Note]:
    """Return what of a call reached the disk: all, nothing, or some of its sectors."""
    fate = chance.random()
    if fate < 0.4 or note.call != "write":
        return [note] if fate < 0.6 else []
    pieces = [
        Note("write", note.file, note.at + start, note.data[start : start + SECTOR_BYTES])
        for start in range(0, len(note.data), SECTOR_BYTES)
    ]
    return [piece for piece in pieces if chance.random() < 0.5] if fate < 0.8 else []


def _apply(found: dict[str, bytearray], note: Note) -> None:
    if note.call == "delete":
        found.pop(note.file, None)
    elif note.call == "truncate":
        del found.setdefault(note.file, bytearray())[note.at :]
    elif note.call == "write":
        data = found.setdefault(note.file, bytearray())
        data.extend(bytes(max(0, note.at - len(data))))
        data[note.at : note.at + len(note.data)] = note.data


def laid_out(folder: Path, state: dict[str, bytes]) -> None:
    """Write files into a new folder."""
    folder.mkdir()
    for name, data in state.items():
        (folder / name).write_bytes(data)


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _bytes(_cursor: apsw.Cursor, row: apsw.SQLiteValues) -> apsw.SQLiteValues:
    return tuple(value.encode() if isinstance(value, str) else value for value in row)
