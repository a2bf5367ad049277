"""What clients call the messages that they send, as records: what is sent once more is recorded once."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import TranscriptStore

__all__ = ["KEY", "Keys", "Run"]

KEY = "key"


class Run(NamedTuple):
    """The messages that were recorded under a key, both ends included."""

    first_seq: int
    last_seq: int


class Keys:
    """The keys of one session, read from its store at first need, and then what is new.

    A record has the SHA-256 of a key and no word of it: it outlasts what is forgotten.
    """

    def __init__(self, transcripts: TranscriptStore, session_id: str) -> None:
        """Read nothing yet."""
        self._transcripts = transcripts
        self._session_id = session_id
        self._runs: dict[str, Run] = {}
        self._read = 0

    def find(self, key: str) -> Run | None:
        """Return what is recorded under a key, by anybody; None for nothing.

        Raises:
            DamagedStoreError: a record is no key.
            StoreError: the store failed.
        """
        for record in self._transcripts.records(self._session_id, KEY, self._read):
            digest, run = _read(record)
            self._runs.setdefault(digest, run)
            self._read = record.number + 1
        return self._runs.get(_digest(key))

    def record(self, key: str, rows: Sequence[StoredMessage]) -> Record | None:
        """Return the record that messages are stored under a key, which `find` did not find; None without messages."""
        if not rows:
            return None
        body = [_digest(key), rows[0].seq, rows[-1].seq]
        return Record(KEY, self._read, json.dumps(body, separators=(",", ":")))


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _read(record: Record) -> tuple[str, Run]:
    try:
        digest, first_seq, last_seq = json.loads(record.body)
        return str(digest), Run(int(first_seq), int(last_seq))
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"key {record.number} can't be read: {error}") from error
