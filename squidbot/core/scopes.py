"""Whose the messages of a session are, as records: what is learned of them is learned for that one, by any process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.memories import Scope
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.ports import TranscriptStore

__all__ = ["SCOPE", "Since", "due_number", "scope_at", "scope_record", "scopes_of"]

SCOPE = "scope"
NOBODY = Scope()


class Since(NamedTuple):
    """A scope, and the first message that is of it."""

    first_seq: int
    scope: Scope


def due_number(last: Record | None, scope: Scope | None) -> int | None:
    """Return the number of the record to store with the next messages; None where the newest one, `last`, says it.

    `scope` None is as it was before: nothing is stored. Nobody's messages need no record where there was none.

    Raises:
        DamagedStoreError: the newest record is no scope.
    """
    if scope is None or scope == (_since(last).scope if last else NOBODY):
        return None
    return last.number + 1 if last else 0


def scope_record(number: int, scope: Scope, first_seq: int) -> Record:
    """Return the record that messages from `first_seq` on are of a scope."""
    return Record(SCOPE, number, json.dumps([first_seq, *scope.parts], separators=(",", ":")))


def scopes_of(transcripts: TranscriptStore, session_id: str) -> tuple[Since, ...]:
    """Return the scopes that a session has had, oldest first.

    Raises:
        DamagedStoreError: a record is no scope.
        StoreError: the store failed.
    """
    return tuple(map(_since, transcripts.records(session_id, SCOPE)))


def scope_at(scopes: Sequence[Since], seq: int) -> Scope | None:
    """Return whose a message is; None where that is not known: it came before anybody's scope was recorded.

    In a session that never had a scope all are nobody's.
    """
    held = [one.scope for one in scopes if one.first_seq <= seq]
    if held:
        return held[-1]
    return None if scopes else NOBODY


def _since(record: Record) -> Since:
    try:
        first_seq, *parts = json.loads(record.body)
        return Since(first_seq, Scope(*parts))
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"scope {record.number} can't be read: {error}") from error
