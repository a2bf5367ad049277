"""The entries of a recording, read in bounded memory: what agents write is not to be trusted."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs import jsontext
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path

    from squidbot.codecs.recordings import Position

__all__ = ["MOST_BYTES", "Entry", "entries", "first_values", "whole"]

# A line, or a file of one value, that is longer is left out: Claude Code's pictures are at most some 5 MB of base64.
MOST_BYTES: Final = 32 * 1024 * 1024
# Forms are known by their first entries.
_FIRST_ENTRIES: Final = 20
_FIRST_BYTES: Final = 4 * 1024 * 1024


class Entry(NamedTuple):
    """An object of a file, its line from 1, and the place in bytes behind it."""

    value: dict[str, object]
    line: int
    end: int


def entries(path: Path, start: Position, unread: Counter[str]) -> Iterator[Entry]:
    """Yield the objects of a file of JSON lines behind a position; `unread` counts what is none, by what it is.

    A last line without its end is being written: it is left for the next time, unless it is a whole object.

    Raises:
        TranscriptError: the file can't be read.
    """
    try:
        with _opened(path) as file:
            file.seek(start.offset)
            end, number = start.offset, start.line
            while raw := file.readline(MOST_BYTES):
                number += 1
                end += len(raw)
                is_whole = raw.endswith(b"\n")
                if not is_whole and len(raw) >= MOST_BYTES:
                    unread[f"lines of more than {MOST_BYTES >> 20} MiB"] += 1
                    end += _skipped(file)
                    continue
                value = _object(raw)
                if value is not None:
                    yield Entry(value, number, end)
                elif not is_whole:
                    return
                elif raw.strip():
                    unread["broken lines"] += 1
    except OSError as error:
        raise TranscriptError(str(path), None, f"can't be read: {error.strerror or error}") from error


def first_values(path: Path) -> list[object]:
    """Return the values of the first lines of a file, or its one value; none if it is neither.

    Raises:
        TranscriptError: the file can't be read.
    """
    try:
        with _opened(path) as file:
            head = file.read(_FIRST_BYTES)
    except OSError as error:
        raise TranscriptError(str(path), None, f"can't be read: {error.strerror or error}") from error
    lines = head.split(b"\n")
    found = [value for raw in lines[:_FIRST_ENTRIES] if raw.strip() and (value := _object(raw)) is not None]
    if found and _object(lines[0]) is not None:
        return [*found]
    alone = whole(path)
    return [] if alone is None else [alone]


def whole(path: Path) -> object:
    """Return the one JSON value of a file; `None` if it is none, or longer than `MOST_BYTES`.

    Raises:
        TranscriptError: the file can't be read.
    """
    try:
        with _opened(path) as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise TranscriptError(str(path), None, f"can't be read: {error.strerror or error}") from error
    if len(raw) > MOST_BYTES:
        return None
    try:
        return jsontext.parse(raw.decode("utf-8-sig"))
    except ValueError:
        return None


def _opened(path: Path) -> BufferedReader:
    """Open a file that is one: a pipe or a device that a repository brings would never end."""
    file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "is no regular file")
    return file


def _object(raw: bytes) -> dict[str, object] | None:
    try:
        value = jsontext.parse(raw.decode("utf-8-sig"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _skipped(file: BufferedReader) -> int:
    """Skip the rest of a line, and return its bytes."""
    passed = 0
    while raw := file.readline(MOST_BYTES):
        passed += len(raw)
        if raw.endswith(b"\n"):
            break
    return passed
