"""How far a session has been told in a journal, as records of the session, and when an entry is due (J-02)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from squidbot.core.ports import TranscriptStore

__all__ = ["JOURNALED", "Told", "tell", "told_of"]

# The kind of these records.
JOURNALED: Final = "journaled"
# How often a record makes way for another writer before it gives up.
_MOST_TRIES: Final = 1_000


class Told(NamedTuple):
    """What entries have told of a session.

    Attributes:
        until_seq: the first message that none tells of.
        time: when the newest was made, in seconds since 1970; None where there is none.
        entries: how many there are.
    """

    until_seq: int = 0
    time: float | None = None
    entries: int = 0


def told_of(transcripts: TranscriptStore, session_id: str) -> Told:
    """Return how far a session has been told.

    Raises:
        DamagedStoreError: what is stored can't be read.
        StoreError: the store failed.
    """
    records = transcripts.records(session_id, JOURNALED)
    if not records:
        return Told()
    try:
        until_seq, time = json.loads(records[-1].body)
        return Told(int(until_seq), float(time), len(records))
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"what a journal tells of {session_id!r} can't be read: {error}") from error


def tell(transcripts: TranscriptStore, session_id: str, until_seq: int, time: float) -> None:
    """Note, durably, that the messages in front of one have been told.

    Raises:
        StoreError: nothing was noted.
    """
    for _ in range(_MOST_TRIES):
        head = transcripts.head(session_id)
        record = Record(JOURNALED, told_of(transcripts, session_id).entries, json.dumps([until_seq, time]))
        try:
            transcripts.append(session_id, head[0], (), (record,))
        except StoreError:
            if transcripts.head(session_id) == head:
                raise
        else:
            return
    raise StoreError(f"{_MOST_TRIES} other writers came first; nothing was noted in {session_id!r}")
