"""A file of JSON lines, each with its checksum, that several processes may append to.

A line is an array: the CRC-32 of the rest, and a value. What was being appended when a process died has no end of line,
is passed over, and cut off by the next who appends.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from zlib import crc32

from squidbot.adapting.disk import lock, make_folder, open_own, sync
from squidbot.core.errors import DamagedStoreError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["Lines"]


class Lines:
    """One reader's and writer's place in a file of lines; the caller holds a lock of its own among threads.

    No two files have the same first line: it says whether the file is still the one that was read.
    """

    def __init__(self, path: Path) -> None:
        """Begin at the first line of a file, which need not be there yet."""
        self.path = path
        self._read_bytes = 0
        self._read_lines = 0
        self._head = (
            b""  # the first line, by which a file is known: another takes its place when something is forgotten
        )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep all others from writing, in any process.

        Raises:
            StoreError: the disk failed.
        """
        try:
            make_folder(self.path.parent)
            with open_own(self.path.with_name(f"{self.path.name}.lock"), "a") as file:
                lock(file)  # given back when the file is closed, and when the process dies
                yield
        except OSError as error:
            raise self._failed(error) from error

    def new(self) -> tuple[bool, list[object]]:
        """Return whether all must be read anew, and the values of the lines that came since the last call.

        Raises:
            DamagedStoreError: a line does not match its checksum.
            StoreError: the disk failed.
        """
        try:
            with self.path.open("rb") as file:
                head, size = file.readline(), os.fstat(file.fileno()).st_size
                is_another = head != self._head or size < self._read_bytes
                if is_another:
                    self._begin(head if head.endswith(b"\n") else b"")
                file.seek(self._read_bytes)
                data = file.read()
        except FileNotFoundError:
            was_there = bool(self._head)
            self._begin(b"")
            return was_there, []
        except OSError as error:
            raise self._failed(error) from error
        return is_another, self._values(data)

    def append(self, value: object) -> None:
        """Write a line behind the last whole one, while writing; durable on return. All before it were read.

        Raises:
            StoreError: nothing was written: the value is none for JSON, or the disk failed.
        """
        line = _line(value)
        try:
            with open_own(self.path, "r+" if self.path.exists() else "x") as file:
                file.truncate(self._read_bytes)
                file.seek(self._read_bytes)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            if not self._read_bytes:
                sync(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                os.truncate(self.path, self._read_bytes)
            raise self._failed(error) from error
        self._head = self._head or line
        self._read_bytes += len(line)
        self._read_lines += 1

    def replace(self, values: Iterable[object]) -> None:
        """Put other lines in the place of all, while writing, at once and durable; the old bytes are overwritten.

        Raises:
            StoreError: the file is as it was: the disk failed.
        """
        unfinished = self.path.with_name(f"{self.path.name}.part")
        try:
            with open_own(unfinished, "w") as file:
                lines = [file.write(_line(value)) for value in values]
                file.flush()
                os.fsync(file.fileno())
            with self.path.open("r+b") as old:
                unfinished.replace(self.path)
                sync(self.path.parent)
                old.write(b"\0" * os.fstat(old.fileno()).st_size)
                old.flush()
                os.fsync(old.fileno())
        except OSError as error:
            raise self._failed(error) from error
        finally:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        with self.path.open("rb") as file:
            self._begin(file.readline())
        self._read_bytes, self._read_lines = sum(lines), len(lines)

    def _begin(self, head: bytes) -> None:
        self._head, self._read_bytes, self._read_lines = head, 0, 0

    def _values(self, data: bytes) -> list[object]:
        values = []
        for line in data.split(b"\n")[:-1]:
            self._read_lines += 1
            values.append(self._value(line))
            self._read_bytes += len(line) + 1
        return values

    def _value(self, line: bytes) -> object:
        body = line.partition(b",")[2][:-1]
        try:
            if line == b"[%d,%b]" % (crc32(body), body):
                value: object = json.loads(body.decode("utf-8", "surrogatepass"))
                return value
        except ValueError:
            pass  # no JSON: no line of ours
        advice = "put a backup in the file's place, or take the line out"
        if self._read_lines == 1:
            advice = "name another file, or put a backup in its place"
        raise DamagedStoreError(
            f"{self.path}:{self._read_lines}: the line does not match its checksum, or is none of ours; {advice}"
        )

    def _failed(self, error: OSError) -> StoreError:
        return StoreError(f"{self.path}: {error.strerror}; nothing was written: check the disk and the path")


def _line(value: object) -> bytes:
    """Return a value as a line.

    Raises:
        StoreError: it is none for JSON.
    """
    try:
        # ASCII escapes would join two lone surrogates into one character on the way back.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise StoreError(f"a value can't be stored: {error}; nothing was written") from error
    body = text.encode("utf-8", "surrogatepass")
    return b"[%d,%b]\n" % (crc32(body), body)
