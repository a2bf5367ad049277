"""Who may use the connection, and what SQLite's errors mean to the one who must act."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from squidbot.adapters.sqlite3.rows import DamagedRowError
from squidbot.core.errors import DamagedStoreError, StoreError

if TYPE_CHECKING:
    import threading
    from types import TracebackType

__all__ = ["FOREIGN", "Access", "store_error"]

UNTOUCHED = "; nothing was written"

# SQLite's primary result codes: which of our errors, what it means, what to do.
BUSY = (StoreError, "another program holds the file's lock", "try again")
DAMAGED = (
    DamagedStoreError,
    "the file is damaged",
    "read_intact() serves what is whole, `squidbot doctor` saves it into a copy; or put a backup in its place",
)
UNREACHABLE = (StoreError, "can't be opened or written", "check that its folder exists and that both may be written")
MEANINGS: dict[int, tuple[type[StoreError], str, str]] = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_ERROR: DAMAGED,  # our statements are fixed: a table or column of theirs is gone
    sqlite3.SQLITE_CONSTRAINT: DAMAGED,  # a row is where the counts say that there is none
    sqlite3.SQLITE_CANTOPEN: UNREACHABLE,
    sqlite3.SQLITE_READONLY: UNREACHABLE,
    sqlite3.SQLITE_FULL: (StoreError, "the disk is full", "what is stored can be read; make room and try again"),
    sqlite3.SQLITE_NOTADB: (
        DamagedStoreError,
        "not a squidbot store, or its header is destroyed",
        "name another file, or put a backup in its place, or try `squidbot doctor`",
    ),
}
# What may come up in a `with` block of ours and is no StoreError yet.
FOREIGN = (sqlite3.Error, DamagedRowError, OverflowError, UnicodeDecodeError, MemoryError)
OTHER = (StoreError, "SQLite refused", "check the disk and the call")


def store_error(path: str, error: BaseException, note: str = "") -> StoreError:
    """Return our error for one of SQLite's, or for a damaged row. `note`: what became of a write."""
    if isinstance(error, DamagedRowError):
        return DamagedStoreError(f"{path}: {error} is missing or does not match its checksum{note}; {error.advice}")
    if isinstance(error, MemoryError):  # Python's name for SQLITE_NOMEM: noise reads as the length of a huge block
        said = "SQLite asks for more memory than there is, as it does of a damaged file"
        return DamagedStoreError(f"{path}: {said}{note}; {DAMAGED[2]}")
    # The low byte is the primary code, the rest its detail. Where SQLite's message quotes a damaged schema, Python
    # raises UnicodeDecodeError in its place.
    code = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else getattr(error, "sqlite_errorcode", 0)
    usual = UNREACHABLE if isinstance(error, OSError) else OTHER
    kind, meaning, advice = MEANINGS.get(code & 0xFF, usual)
    return kind(f"{path}: {meaning} ({error}){note}; {advice}")


class Access:
    """Hands out the one connection to one thread at a time; a writing access is one transaction.

    Use it with `with`. Leaving it commits a writing access, or undoes it after any exception. Every sqlite3.Error,
    and what Python raises for a value that SQLite can't hold, leaves as a StoreError with its cause.
    """

    __slots__ = ("_busy_seconds", "_connection", "_lock", "_note", "_path", "_pid", "_writes")

    def __init__(
        self, path: str, connection: sqlite3.Connection, lock: threading.Lock, busy_seconds: float, *, writes: bool
    ) -> None:
        """Take what is shared. `busy_seconds`: the longest wait for another thread."""
        self._path = path
        self._connection = connection
        self._lock = lock
        self._busy_seconds = busy_seconds
        self._writes = writes
        self._note = UNTOUCHED if writes else ""
        self._pid = os.getpid()

    def __enter__(self) -> sqlite3.Connection:
        """Wait for the connection and, to write, for the file's lock.

        Raises:
            StoreError: the wait passed `busy_seconds`, or this process is a fork of the one that opened the store.
        """
        if os.getpid() != self._pid:  # SQLite: a connection carried over a fork destroys the file
            raise StoreError(f"{self._path}: opened before a fork; open the store again in this process{self._note}")
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise StoreError(f"{self._path}: another thread is busy with the store{self._note}; try again")
        if self._writes:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except BaseException as error:
                self._lock.release()
                if isinstance(error, FOREIGN):
                    raise store_error(self._path, error, self._note) from error
                raise
        return self._connection

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Commit or undo, let the next one in, and name the error.

        Raises:
            StoreError: SQLite failed in between or at the commit; a write left nothing behind.
        """
        try:
            if self._writes:
                self._end(keep=error is None)
        except FOREIGN as failed:
            raise store_error(self._path, failed, self._note) from failed
        finally:
            self._lock.release()
        if isinstance(error, FOREIGN):
            raise store_error(self._path, error, self._note) from error

    def _end(self, *, keep: bool) -> None:
        try:
            if keep:
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
