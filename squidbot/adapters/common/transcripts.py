"""What every transcript store refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.errors import StoreError
from squidbot.core.messages import Category, Erasure
from squidbot.core.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.core.messages import Record, StoredMessage


def shown_id(session_id: object) -> str:
    """Return an id for error texts: printable, and not 1,024 characters long."""
    shown = ascii(session_id)
    return shown if len(shown) <= 80 else f"{shown[:60]}... ({len(str(session_id))} characters)"


def refuse_id(session_id: object) -> None:
    """Check that a session id is valid.

    Raises:
        StoreError: it is not a str of 1 to 1,024 characters.
    """
    if not isinstance(session_id, str) or not 1 <= len(session_id) <= 1024:
        raise StoreError(f"session id {shown_id(session_id)}: must be 1 to 1024 characters; nothing was written")


def refuse_gap(messages: Sequence[StoredMessage], expected_seq: int) -> None:
    """Check that messages' seqs are consecutive from `expected_seq`.

    Raises:
        StoreError: they are not.
    """
    for seq, message in enumerate(messages, expected_seq):
        if message.seq != seq:
            raise StoreError(f"message {message.seq} stands where {seq} must; nothing was written")


def refuse_other_writer(session_id: str, stored: int, expected_seq: int) -> None:
    """Check that a session has the number of messages expected.

    Raises:
        StoreError: it has another number.
    """
    if stored != expected_seq:
        raise StoreError(
            f"another writer came first: session {shown_id(session_id)} has {count(stored, 'message')}, "
            f"not {expected_seq}; nothing was written: read what is new, then append behind it"
        )


def grown_counts(counts: Mapping[str, int], records: Sequence[Record]) -> dict[str, int]:
    """Return the number of records of each kind after these are appended.

    Raises:
        StoreError: a record's number is not the next of its kind.
    """
    grown = dict(counts)
    for record in records:
        number = grown.get(record.kind, 0)
        if record.number != number:
            raise StoreError(
                f"record {record.number} of kind {record.kind!r} is not the next one, {number}; nothing was written"
            )
        grown[record.kind] = number + 1
    return grown


def refuse_misfit(
    session_id: str,
    erasure: Erasure,
    messages: int,
    counts: Mapping[str, int],
    pick: Callable[[Sequence[int]], Sequence[StoredMessage]],
) -> None:
    """Check that an erasure fits a session with these counts; `pick` returns stored messages by seq.

    Raises:
        StoreError: it was made for another state of the session, or changes too much.
    """
    name, stored = shown_id(session_id), (messages, sum(counts.values()))
    if erasure.expected != stored:
        raise StoreError(
            f"another writer came first: session {name} has {count(stored[0], 'message')} and "
            f"{count(stored[1], 'record')}, not {erasure.expected[0]} and {erasure.expected[1]}; nothing was changed"
        )
    for tombstone in erasure.tombstones:
        if not 0 <= tombstone.seq < messages:
            raise StoreError(f"message {tombstone.seq} is not in session {name}; nothing was changed")
        if tombstone.category is not Category.FORGOTTEN:
            raise StoreError(f"what takes the place of message {tombstone.seq} is no tombstone; nothing was changed")
    for record in erasure.replaced:
        if not 0 <= record.number < counts.get(record.kind, 0):
            raise StoreError(
                f"record {record.number} of kind {record.kind!r} is not in session {name}; nothing was changed"
            )
    _refuse_changes(erasure.unnoticed, pick)


def _refuse_changes(
    unnoticed: Sequence[StoredMessage], pick: Callable[[Sequence[int]], Sequence[StoredMessage]]
) -> None:
    """Check that rows change only notices; search terms stay."""
    there = {row.seq: row for row in pick(sorted({row.seq for row in unnoticed}))}
    for row in unnoticed:
        if row.seq not in there or not Erasure.is_unnoticed(there[row.seq], row):
            raise StoreError(f"more than its notice would change of message {row.seq}; nothing was changed")
