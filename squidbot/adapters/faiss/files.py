"""A file that is whole, or found not to be: a line that says what it is, its bytes, and their checksum at the end."""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from zlib import crc32

from squidbot.adapting.disk import lock, open_own, sync
from squidbot.adapting.kept import UnusableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["opened", "write"]

MAGIC = b"squidbot vectors 1 "
MOST_HEAD_BYTES = 4096
CHUNK_BYTES = 1 << 20
TAIL = struct.Struct("<I")


class Out:
    """What is written to a file, with a running checksum; FAISS calls `write`, too."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.checksum = 0

    def write(self, data: bytes) -> int:
        """Write all of it."""
        self.checksum = crc32(data, self.checksum)
        return self._file.write(data)


@contextmanager
def write(path: Path, said: Mapping[str, object]) -> Iterator[Out]:
    """Write a file in place of the one that is there, whole or not at all; durable on return.

    Raises:
        OSError: the disk failed; the file is as it was.
    """
    with _unfinished(path) as file:
        out = Out(file)
        out.write(MAGIC + json.dumps(said).encode() + b"\n")
        yield out
        file.write(TAIL.pack(out.checksum))
        file.flush()
        os.fsync(file.fileno())
        if sys.platform == "win32":
            file.close()  # no open file is renamed there
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)  # an index of another kind, which is a view of the same truth
        Path(file.name).replace(path)
    sync(path.parent)


@contextmanager
def _unfinished(path: Path) -> Iterator[BinaryIO]:
    """Open the empty file that is to take the place of one; one process at a time, the others wait.

    What a process that died left of it is gone: it may be of memories that were forgotten.
    """
    part = path.with_name(f"{path.name}.part")
    while True:
        with open_own(part, "a") as file:
            if sys.platform != "win32":  # there the second of two that save at once fails
                lock(file)
            if not _is(file, part):  # it has taken its place meanwhile
                continue
            try:
                file.truncate(0)
                yield file
            finally:
                if not file.closed and _is(file, part):
                    with suppress(OSError):
                        part.unlink()
            return


def _is(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def opened(path: Path) -> Iterator[tuple[dict[str, object], BinaryIO]]:
    """Open a file whose checksum is right; gives what its first line says, and the file behind that line.

    Raises:
        UnusableError: it is damaged, cut, or of another kind.
        FileNotFoundError: there is none.
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.readline(MOST_HEAD_BYTES)
        if not head.startswith(MAGIC):
            raise UnusableError("it is not one of ours, or of another version")
        if not head.endswith(b"\n"):
            raise UnusableError("it is cut")
        left, checksum = size - len(head) - TAIL.size, crc32(head)
        while left > 0 and (data := file.read(min(left, CHUNK_BYTES))):
            left, checksum = left - len(data), crc32(data, checksum)
        if left or file.read() != TAIL.pack(checksum):
            raise UnusableError("it is cut or damaged: its checksum is wrong")
        try:
            said = json.loads(head[len(MAGIC) :])
        except ValueError as error:  # with a right checksum: written so
            raise UnusableError("its first line is none of ours") from error
        if not isinstance(said, dict):
            raise UnusableError("its first line is none of ours")
        file.seek(len(head))
        yield said, file
