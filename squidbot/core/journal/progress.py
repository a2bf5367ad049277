"""How far a session has been told in a journal, as records of the session, and when an entry is due (J-02)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record
from squidbot.core.trying import Writing

if TYPE_CHECKING:
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.trying import Wait

__all__ = ["JOURNALED", "Told", "stretches", "tell", "told_of"]

# The kind of these records.
JOURNALED: Final = "journaled"


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


def stretches(transcripts: TranscriptStore, session_id: str) -> list[tuple[int, int, float]]:
    """Return what has been told, in order: the first message, the first behind, and when, in seconds since 1970.

    Raises:
        DamagedStoreError: what is stored can't be read.
        StoreError: the store failed.
    """
    found: list[tuple[int, int, float]] = []
    for record in transcripts.records(session_id, JOURNALED):
        try:
            until_seq, time = json.loads(record.body)
            found.append((found[-1][1] if found else 0, int(until_seq), float(time)))
        except (ValueError, TypeError) as error:
            raise DamagedStoreError(f"what a journal tells of {session_id!r} can't be read: {error}") from error
    return found


def tell(transcripts: TranscriptStore, session_id: str, until_seq: int, time: float, wait: Wait | None = None) -> None:
    """Note, durably, that the messages in front of one have been told; `wait`: how to wait for others who write.

    Raises:
        StoreError: nothing was noted.
    """

    def act(head: tuple[int, int]) -> None:
        record = Record(JOURNALED, told_of(transcripts, session_id).entries, json.dumps([until_seq, time]))
        transcripts.append(session_id, head[0], (), (record,))

    Writing(transcripts, session_id, "nothing was noted of the journal", wait).tried(act)
