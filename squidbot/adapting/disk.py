"""Files that one process writes at a time, names that last, and files and folders that are their owner's alone."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["OWN_FILE", "OWN_FOLDER", "lock", "lock_at_once", "make_file", "make_folder", "open_own", "sync"]

# What was said stands in these files, in words or as vectors: their owner reads and writes them, and nobody else.
OWN_FILE: Final = 0o600
OWN_FOLDER: Final = 0o700

if sys.platform == "win32":
    import msvcrt

    def lock(file: BinaryIO) -> None:
        """Wait until no other process has locked a file, and lock it until it is closed, or the process dies."""
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)

    def lock_at_once(file: BinaryIO) -> bool:
        """Lock a file as `lock` does, and return whether no other process had."""
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def lock(file: BinaryIO) -> None:
        """Wait until no other process has locked a file, and lock it until it is closed, or the process dies."""
        fcntl.flock(file, fcntl.LOCK_EX)

    def lock_at_once(file: BinaryIO) -> bool:
        """Lock a file as `lock` does, and return whether no other process had."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def open_own(path: str | os.PathLike[str], mode: str) -> BinaryIO:
    """Open a file of bytes as `open` does; one that it makes is its owner's alone, one that is there stays as it is.

    Raises:
        OSError: it can't be opened.
    """
    file: BinaryIO = open(path, f"{mode}b", opener=_made_own)  # type: ignore[assignment]  # noqa: SIM115  # the caller's
    return file


def make_file(path: str | os.PathLike[str]) -> None:
    """Make an empty file that is its owner's alone; one that is there stays as it is, and is not even opened.

    Raises:
        OSError: it can't be made.
    """
    with suppress(FileExistsError):
        os.close(_made_own(os.fspath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder, and those above it, where they are missing; what is made is its owner's alone.

    Raises:
        OSError: it can't be made, or a file has its name.
    """
    folder = Path(path)
    for above in reversed(folder.parents):
        if not above.exists():
            above.mkdir(OWN_FOLDER, exist_ok=True)
    folder.mkdir(OWN_FOLDER, exist_ok=True)


def _made_own(path: str, flags: int) -> int:
    return os.open(path, flags, OWN_FILE)


def sync(path: str | os.PathLike[str]) -> None:
    """Make durable what is in a file, or which names are in a folder, where folders can be opened.

    Raises:
        OSError: the disk failed, or the file can't be opened.
    """
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        if Path(path).is_dir():  # Windows opens none; there a rename is durable by itself
            return
        raise
    try:
        os.fsync(number)
    finally:
        os.close(number)
