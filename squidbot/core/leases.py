"""The leases that a session has had, as records: any process can go on under the newest.

Where a lease is smaller than settings say, because the provider refused more, a record beside it says for what.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Lease, Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from squidbot.core.ports import TranscriptStore

__all__ = ["LEARNED", "LEASE", "due_learned", "due_lease", "learned_tokens", "lease_named", "lease_of", "newest_lease"]

LEASE = "lease"
LEARNED = "learned-window"


def due_lease(last: Record | None, lease: Lease) -> tuple[Record, ...]:
    """Return the record to store before anything is done under a lease; nothing where the newest one, `last`, is equal.

    Raises:
        DamagedStoreError: the newest record is no lease.
    """
    if last is not None and lease_of(last) == lease:
        return ()
    return (Record(LEASE, last.number + 1 if last else 0, json.dumps(asdict(lease), separators=(",", ":"))),)


def due_learned(last: Record | None, lease: Lease) -> tuple[Record, ...]:
    """Return the record that keeps what a refusal has shown; nothing where the newest one, `last`, says it."""
    body = json.dumps({"for": lease.learned_for, "window_tokens": lease.window_tokens}, separators=(",", ":"))
    if not lease.learned_for or (last is not None and last.body == body):
        return ()
    return (Record(LEARNED, last.number + 1 if last else 0, body),)


def learned_tokens(records: Iterable[Record], learned_for: str) -> int | None:
    """Return the smallest window that these records have for what is named, in tokens; None where none has.

    Raises:
        DamagedStoreError: a record can't be read.
    """
    found = []
    for record in records:
        try:
            body = json.loads(record.body)
            found += [int(body["window_tokens"])] if body["for"] == learned_for else []
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedStoreError(f"learned window {record.number} can't be read: {error}") from error
    return min(found, default=None)


def newest_lease(transcripts: TranscriptStore, session_id: str) -> Lease | None:
    """Return the lease that a session was last written to under; None where nothing was.

    Raises:
        DamagedStoreError: its record is no lease.
    """
    last = transcripts.last_record(session_id, LEASE)
    return lease_of(last) if last else None


def lease_named(transcripts: TranscriptStore, session_id: str, lease_id: str) -> Lease | None:
    """Return the lease of an id that a session has had, or None.

    Raises:
        DamagedStoreError: a record is no lease.
    """
    leases = map(lease_of, transcripts.records(session_id, LEASE))
    return next((lease for lease in leases if lease.lease_id == lease_id), None)


def lease_of(record: Record) -> Lease:
    """Return the lease of a record.

    Raises:
        DamagedStoreError: it is none.
    """
    try:
        return Lease(**json.loads(record.body))
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"lease {record.number} can't be read: {error}") from error
