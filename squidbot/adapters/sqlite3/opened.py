"""`OpenedFile`: one file that a store has open, for its threads in turn, until it is closed."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from squidbot.adapters.sqlite3 import erase
from squidbot.adapters.sqlite3.access import FOREIGN, Access
from squidbot.adapters.sqlite3.files import open_file, open_only_reading
from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["OpenedFile"]


class OpenedFile:
    """What stores in one SQLite file have in common: the connection, who may use it when, and what overwrites bytes."""

    def __init__(
        self, path: str | os.PathLike[str], *, busy_seconds: float, create: bool, read_only: bool = False
    ) -> None:
        """Open the file; parameters and exceptions are those of the stores."""
        self._path = str(Path(path).absolute())
        self._busy_seconds = busy_seconds
        self._pid = os.getpid()
        self._lock = threading.Lock()
        if read_only:
            self._connection = open_only_reading(self._path, busy_seconds)
        else:
            self._connection = open_file(self._path, busy_seconds, may_create=create)
        self._reading = Access(self._path, self._connection, self._lock, busy_seconds, writes=False)
        self._writing = Access(self._path, self._connection, self._lock, busy_seconds, writes=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice does nothing; any other call after it raises StoreError."""
        if os.getpid() == self._pid:  # in a fork the connection is still the parent's
            with self._lock:
                self._connection.close()

    def is_scrubbed(self) -> bool:
        """Say whether the bytes of all that was forgotten are overwritten."""
        with self._reading as connection:
            return not erase.is_unscrubbed(connection)

    def scrub(self) -> None:
        """Overwrite the bytes of what was forgotten, in the file and in its log. Nothing to do is done at once.

        Whatever forgets does so by itself, and opening the store tries again what that could not end. Other writers
        wait until it is done: a second or two for each 100,000 messages in the file.

        Raises:
            StoreError: it could not be ended, and why: a program that reads for long, another writer, a full disk.
        """
        with self._writing as connection:  # where another program scrubs, wait for it
            needed = erase.is_unscrubbed(connection)
        if needed:
            erase.scrub(self._path, self._busy_seconds)

    def _scrub_left(self) -> None:
        """Try again, at opening, to overwrite what could not be; a damaged file is served all the same."""
        with suppress(StoreError, *FOREIGN):  # as before: `is_scrubbed` tells
            if erase.is_unscrubbed(self._connection):
                erase.scrub(self._path, 0.0)
