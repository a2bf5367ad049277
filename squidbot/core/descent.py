"""Which session goes on from which: a record in both, so that either is found from the other (P-03, P-04)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.core.ports import TranscriptStore

__all__ = ["CONTINUED", "KIND", "ROTATED", "SUB_AGENT", "Descent", "ancestors", "children_of", "parent_of", "shown"]

KIND: Final = "descent"
# The ways in which a session comes from another: by hand, since that one was long, as an agent's own.
CONTINUED, ROTATED, SUB_AGENT = "continued", "rotated", "sub-agent"
# Longer ids are told by their beginning; what is left out would end a line, or some providers refuse it.
_SHOWN_CHARS: Final = 200
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f<>\ud800-\udfff]")
_PARENT, _CHILD = "parent", "child"


class Descent(NamedTuple):
    """That one session goes on from another.

    Attributes:
        other: the id of the other session: the one that this goes on from, or that goes on from it.
        way: "continued", "rotated" or "sub-agent".
        messages: how many messages the earlier one had.
        side: "parent" where `other` is the earlier one, else "child".
        at: when, in seconds since 1970; None where unknown.
    """

    other: str
    way: str
    messages: int
    side: str = _PARENT
    at: float | None = None

    def record(self, number: int) -> Record:
        """Return the record of this number."""
        return Record(KIND, number, json.dumps(self._asdict(), separators=(",", ":"), ensure_ascii=False))

    def seen_from(self, parent_id: str, child_id: str, *, as_child: bool) -> Descent:
        """Return the same as the record of the child has it, or (not `as_child`) that of the parent."""
        return self._replace(other=parent_id if as_child else child_id, side=_PARENT if as_child else _CHILD)


def parent_of(transcripts: TranscriptStore, session_id: str) -> Descent | None:
    """Return where a session goes on from; None where it began by itself.

    Raises:
        DamagedStoreError: a record can't be read.
        StoreError: the store failed.
    """
    return next((one for one in _all(transcripts, session_id) if one.side == _PARENT), None)


def children_of(transcripts: TranscriptStore, session_id: str) -> tuple[Descent, ...]:
    """Return the sessions that go on from one, oldest first.

    Raises:
        DamagedStoreError: a record can't be read.
        StoreError: the store failed.
    """
    return tuple(one for one in _all(transcripts, session_id) if one.side == _CHILD)


def ancestors(transcripts: TranscriptStore, session_id: str) -> Iterator[str]:
    """Yield the ids of the sessions that a session goes on from, the nearest first, each once.

    Raises:
        DamagedStoreError: a record can't be read.
        StoreError: the store failed.
    """
    seen = {session_id}
    found = parent_of(transcripts, session_id)
    while found is not None and found.other not in seen:
        seen.add(found.other)
        yield found.other
        found = parent_of(transcripts, found.other)


def shown(session_id: str) -> str:
    """Return a session's id as it is told to a model, on one line."""
    safe = _UNSAFE.sub("", session_id)
    return safe if len(safe) <= _SHOWN_CHARS else f"{safe[:_SHOWN_CHARS]}\u2026"


def _all(transcripts: TranscriptStore, session_id: str) -> list[Descent]:
    return [_read(record) for record in transcripts.records(session_id, KIND)]


def _read(record: Record) -> Descent:
    try:
        return Descent(**json.loads(record.body))
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"descent {record.number} can't be read: {error}") from error
