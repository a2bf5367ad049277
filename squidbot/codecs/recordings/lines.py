"""The entries of a recording, read in bounded memory: what agents write is not to be trusted."""

from __future__ import annotations

import codecs
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.codecs import jsontext
from squidbot.codecs.recordings import Position
from squidbot.core.errors import TranscriptError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from io import BufferedReader
    from pathlib import Path


__all__ = [
    "MOST_BYTES",
    "Entry",
    "ReadPoint",
    "entries",
    "first_values",
    "position_in",
    "whole",
]

# A line, or a file of one value, that is longer is left out: Claude Code's pictures are at most some 5 MB of base64.
MOST_BYTES: Final = 32 * 1024 * 1024
# A line of more values is left out: a gigabyte of objects can stand in so many bytes.
_MOST_VALUES: Final = 1_000_000
# Lines behind so many are left out: 100,000 messages of Claude Code have some 300,000.
_MOST_LINES: Final = 1_000_000
# Forms are known by their first entries.
_FIRST_ENTRIES: Final = 20
_FIRST_BYTES: Final = 4 * 1024 * 1024


class Entry(NamedTuple):
    """An object of a file, its line from 1, and the place in bytes behind it."""

    value: dict[str, object]
    line: int
    end: int


class ReadPoint(NamedTuple):
    """A place where reading could stop: how far it was, and what was counted until then."""

    position: Position
    unread: Counter[str]


def entries(path: Path, start: Position, unread: Counter[str], having: Sequence[bytes] = ()) -> Iterator[Entry]:
    """Yield the objects of a file of JSON lines behind a position; `unread` counts what is none, by what it is.

    A last line without its end is being written: it is left for the next time, unless it is a whole object. With
    `having`, lines that hold none of these bytes are passed over.

    Raises:
        TranscriptError: the file can't be read.
    """
    try:
        with _opened(path) as file:
            end, number = start.offset, _lines_before(file, start)
            while raw := file.readline(MOST_BYTES):
                if number >= _MOST_LINES:
                    unread[f"files with more than {_MOST_LINES:,} lines"] += 1
                    return
                number += 1
                end += len(raw)
                is_whole = raw.endswith(b"\n")
                if not is_whole and len(raw) >= MOST_BYTES:
                    unread[f"lines of more than {MOST_BYTES >> 20} MiB"] += 1
                    end += _skipped(file)
                    continue
                if having and not any(mark in raw for mark in having):
                    continue
                value = _object(raw)
                if value is not None:
                    yield Entry(value, number, end)
                elif not is_whole:
                    return
                elif _is_dense(raw):
                    unread[f"lines of more than {_MOST_VALUES:,} values"] += 1
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
    if len(raw) > MOST_BYTES or _is_dense(raw):
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


def _lines_before(file: BufferedReader, start: Position) -> int:
    """Go to a position, and return how many lines end in front of it."""
    file.seek(max(0, start.offset - 1))
    # A whole object is read before the end of its line is written: what is left of it is no other line.
    return start.line if not start.offset or file.read(1) == b"\n" else start.line - 1


def position_in(path: Path, start: Position | None) -> Position:
    """Return where to go on in a file: its beginning if it has become shorter since, so is another one.

    Raises:
        TranscriptError: the file can't be read.
    """
    try:
        is_there = start is not None and start.offset <= path.stat().st_size
    except OSError as error:
        raise TranscriptError(str(path), None, f"can't be read: {error.strerror or error}") from error
    return start if start is not None and is_there else Position()


def _object(raw: bytes) -> dict[str, object] | None:
    text = raw.strip()
    if not text.startswith((b"{", codecs.BOM_UTF8)) or not text.endswith(b"}") or _is_dense(raw):
        return None
    try:
        value = jsontext.parse(raw.decode("utf-8-sig"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _is_dense(raw: bytes) -> bool:
    """Whether the text has so many values that their objects would fill the memory."""
    return len(raw) > _MOST_VALUES and sum(map(raw.count, (b",", b"[", b"{"))) > _MOST_VALUES


def _skipped(file: BufferedReader) -> int:
    """Skip the rest of a line, and return its bytes."""
    passed = 0
    while raw := file.readline(MOST_BYTES):
        passed += len(raw)
        if raw.endswith(b"\n"):
            break
    return passed
