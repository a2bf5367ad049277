"""Whose the messages of a session are, and which model they were said under, as records that any process reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.leases import LEASE, lease_of
from squidbot.core.memories import Scope
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.ports import TranscriptStore

__all__ = [
    "MODEL",
    "SCOPE",
    "Since",
    "Under",
    "due_model",
    "due_number",
    "model_at",
    "models_of",
    "scope_at",
    "scope_record",
    "scopes_of",
]

SCOPE, MODEL = "scope", "model"
NOBODY = Scope()


class Since(NamedTuple):
    """A scope, and the first message that is of it."""

    first_seq: int
    scope: Scope


class Under(NamedTuple):
    """A model, "" where none was named, and the first message that was said under it; None: nobody knows which."""

    first_seq: int
    model: str | None


def due_number(last: Record | None, scope: Scope | None) -> int | None:
    """Return the number of the record to store with the next messages; None where the newest one, `last`, says it.

    `scope` None is as it was before: nothing is stored. Nobody's messages need no record where there was none.

    Raises:
        DamagedStoreError: the newest record is no scope.
    """
    if scope is None or scope == (_since(last).scope if last else NOBODY):
        return None
    return last.number + 1 if last else 0


def due_model(last: Record | None, model: str, first_seq: int) -> tuple[Record, ...]:
    """Return the record to store with messages from `first_seq` on; nothing where the newest one, `last`, says it.

    Where no model was ever named there is no record.

    Raises:
        DamagedStoreError: the newest record is no model.
    """
    if model == (_under(last).model if last else ""):
        return ()
    body = json.dumps([first_seq, model], separators=(",", ":"))
    return (Record(MODEL, last.number + 1 if last else 0, body),)


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


def models_of(transcripts: TranscriptStore, session_id: str) -> tuple[Under, ...]:
    """Return the models that a session's messages were said under, oldest first; the first one begins at message 0.

    Messages from before models were recorded were said under that of the leases, where all name the same.

    Raises:
        DamagedStoreError: a record is no model, or no lease.
        StoreError: the store failed.
    """
    found = tuple(map(_under, transcripts.records(session_id, MODEL)))
    if found and found[0].first_seq == 0:
        return found
    named = {lease_of(one).model for one in transcripts.records(session_id, LEASE)} or {""}
    return (Under(0, named.pop() if len(named) == 1 else None), *found)


def scope_at(scopes: Sequence[Since], seq: int) -> Scope | None:
    """Return whose a message is; None where that is not known: it came before anybody's scope was recorded.

    In a session that never had a scope all are nobody's.
    """
    held = [one.scope for one in scopes if one.first_seq <= seq]
    if held:
        return held[-1]
    return None if scopes else NOBODY


def model_at(models: Sequence[Under], seq: int) -> str | None:
    """Return the model that a message was said under, "" where none was named; None where nobody knows."""
    held = [one.model for one in models if one.first_seq <= seq]
    return held[-1] if held else None


def _since(record: Record) -> Since:
    try:
        first_seq, *parts = json.loads(record.body)
        return Since(_seq(first_seq), Scope(*map(_text, parts)))
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"scope {record.number} can't be read: {error}") from error


def _under(record: Record) -> Under:
    try:
        first_seq, model = json.loads(record.body)
        return Under(_seq(first_seq), _text(model))
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"model {record.number} can't be read: {error}") from error


def _seq(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!a:.40} is no message")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!a:.40} is no text")
    return value
