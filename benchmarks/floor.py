"""The least that a turn could cost: plain sqlite3 that reads the rows that are sent, or stores the same bytes."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from squidbot.core.messages import StoredMessage
    from squidbot.core.view.assembly import CoreAssembly

__all__ = ["Insert", "Reader", "evict", "sum_fresh"]

ROW = "SELECT bound, estimate, payload FROM messages WHERE key = ?"


class Reader:
    """A connection to a store's file that stays open, with its statement prepared."""

    def __init__(self, path: Path, session_id: str) -> None:
        """Open the file and look the session's number up."""
        self._connection = sqlite3.connect(path)
        found = self._connection.execute("SELECT no FROM sessions WHERE id = ?", (session_id,)).fetchone()
        self._first_key = int(found[0]) << 32

    def keys(self, assembly: CoreAssembly) -> list[int]:
        """Return the primary keys of the stored messages that a request sends."""
        stored = assembly.view.messages - len(assembly.incoming)
        seqs = [part.first_seq for part in assembly.parts if part.payload is not None]
        return [self._first_key + seq for seq in seqs if seq < stored]

    def sum(self, keys: Sequence[int]) -> int:
        """Read rows by primary key, payloads too, and return the sum of their counts in tokens."""
        return _sum(self._connection, keys)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def sum_fresh(path: Path, keys: Sequence[int]) -> int:
    """Do the same as `Reader.sum` on a new connection."""
    with closing(sqlite3.connect(path)) as connection:
        return _sum(connection, keys)


def _sum(connection: sqlite3.Connection, keys: Sequence[int]) -> int:
    tokens = 0
    for key in keys:
        bound, _estimate, _payload = connection.execute(ROW, (key,)).fetchone()
        tokens += bound
    return tokens


class Insert:
    """A table of payloads in a file of its own, as durable as a store: WAL, synchronous FULL."""

    def __init__(self, path: Path) -> None:
        """Create the file."""
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE IF NOT EXISTS messages(key INTEGER PRIMARY KEY, payload TEXT)")

    def store(self, messages: Sequence[StoredMessage]) -> None:
        """Insert the payloads of messages in one transaction; durable on return."""
        self._connection.execute("BEGIN IMMEDIATE")
        for message in messages:
            self._connection.execute("INSERT INTO messages(payload) VALUES(?)", (message.payload,))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def evict(path: Path) -> None:
    """Ask the system to forget what it holds of a file in memory; does nothing where it can't be asked."""
    if not hasattr(os, "posix_fadvise"):
        return
    for name in (path, path.with_name(f"{path.name}-wal")):
        if name.exists():
            handle = os.open(name, os.O_RDONLY)
            try:
                os.fdatasync(handle)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(handle)
