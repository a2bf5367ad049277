"""Stores the pieces of a streamed answer in a file beside the store: a killed process loses nothing.

The file exists from the first piece until the answer is recorded. Its first line names the message before the answer.
If that message is later another one, or was forgotten, the pieces are dropped.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from squidbot.adapters.common.files import OWN_FILE, lock_at_once

if TYPE_CHECKING:
    from typing import BinaryIO

    from squidbot.core.ports import TranscriptStore


# If a process dies, all written pieces survive; if the machine dies, unsynced pieces are lost.
SYNC_SECONDS: Final = 1.0


class PartialAnswer:
    """The file of one session's unfinished answer. Without a store file, nothing is stored."""

    def __init__(self, place: str, store: TranscriptStore, session_id: str) -> None:
        """Take the store's file ("" for none), the store and the session. Nothing is opened yet."""
        self._store = Path(place) if place else None
        self._path = _beside(place, session_id)
        self._transcripts, self._session_id = store, session_id
        self._file: BinaryIO | None = None
        self._synced = 0.0

    def add(self, text: str) -> None:
        """Write a piece. The first one opens the file, unless another process holds it.

        Raises:
            OSError: it was not written.
            StoreError: the store can't be read.
        """
        file = self._file or self._opened()
        if file is None:
            return
        file.write(text.encode("utf-8", "surrogatepass"))
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(file.fileno())
            self._synced = time.monotonic()

    def end(self) -> None:
        """Remove the file, if it is ours: the answer is recorded, or there is none."""
        file, self._file = self._file, None
        if file is None or self._path is None:
            return
        with file, suppress(OSError):  # a file that remains is ignored: by then, another message precedes it
            file.truncate(0)
        with suppress(OSError):  # as above
            self._path.unlink()

    def left(self) -> str:
        """Return the pieces that a killed process left; "" for none, or while that process runs.

        From then on the file is ours: `end` removes it.

        Raises:
            StoreError: the store can't be read.
        """
        if self._file is not None:
            self._file.close()  # the previous answer was not recorded: the store had failed
            self._file = None
        try:
            file = self._own(os.O_RDWR)
        except OSError:
            return ""  # usually there is none
        if file is None:
            return ""
        self._file = file
        head, _, text = file.read().partition(b"\n")
        return text.decode("utf-8", "replace") if head == self._before() else ""

    def _opened(self) -> BinaryIO | None:
        """Return the file with its first line only; None if this store has none, or another process holds it."""
        file = self._own(os.O_RDWR | os.O_CREAT) if self._store and self._store.is_file() else None
        if file is not None:
            file.truncate(0)
            file.seek(0)
            file.write(self._before() + b"\n")
            self._file = file
        return file

    def _own(self, flags: int) -> BinaryIO | None:
        """Return the file, locked until it is closed; None if another process holds it."""
        if self._path is None:
            return None
        file = os.fdopen(os.open(self._path, flags, OWN_FILE), "r+b", buffering=0)
        if lock_at_once(file):
            return file
        file.close()
        return None

    def _before(self) -> bytes:
        """Return a line that names the message before the answer."""
        store, session_id = self._transcripts, self._session_id
        head = store.head(session_id)[0]
        rows = store.read(session_id, head - 1, head) if head else []
        digest = hashlib.sha256("".join(row.payload for row in rows).encode("utf-8", "surrogatepass")).hexdigest()
        return json.dumps([session_id, head, digest]).encode()


def drop(place: str, session_id: str) -> None:
    """Remove a session's pieces from a killed process: they may repeat forgotten messages.

    `place` is the store's file, "" for none. A running process removes its own file.
    """
    path = _beside(place, session_id)
    if path is None:
        return
    with suppress(OSError), path.open("r+b") as file:  # usually there is none
        if lock_at_once(file):
            file.truncate(0)
            path.unlink()


def _beside(place: str, session_id: str) -> Path | None:
    if not place:
        return None
    name = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return Path(f"{place}.{name}.heard")
