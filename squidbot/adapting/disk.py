"""Files that one process writes at a time, and names that last."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["lock", "lock_at_once", "sync"]

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
