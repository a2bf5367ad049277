"""The lineage of sessions: a record in parent and child, so that either is found from the other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.ports import TranscriptStore


# How a session comes from another: continued by hand, rotated because that one was long, or as a sub-agent's.
CONTINUED, ROTATED, SUB_AGENT = "continued", "rotated", "sub-agent"
# It has nothing of the other one, but an id below that one's: an agent within an agent.
BELOW: Final = "below"
# What `history.isolation` puts behind an id.
_PART: Final = re.compile(r"@[a-z]+:[^@]*\Z")
# Longer ids are cut; unsafe characters would end a line, or some providers refuse them.
_SHOWN_CHARS: Final = 200
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f<>\ud800-\udfff]")
PARENT, CHILD = "parent", "child"


class Lineage(NamedTuple):
    """One session goes on from another.

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
    side: str = PARENT
    at: float | None = None


class Caller(NamedTuple):
    """The tool call of the session above that a session works for.

    Attributes:
        call_id: the id of the call.
        at: when the session began to work for it, in seconds since 1970; None where unknown.
    """

    call_id: str
    at: float | None = None


LINEAGE = RecordKind("lineage", fields(Lineage), tuple)
CALLER = RecordKind("caller", fields(Caller), tuple)


def above(session_id: str, is_stored: Callable[[str], bool]) -> str | None:
    """Return the nearest stored session that an id is below: `pier` for `pier/tools/4f`; None if there is none."""
    part = found[0] if (found := _PART.search(session_id)) else ""
    place = session_id.removesuffix(part).rfind("/")
    while place > 0:
        for name in dict.fromkeys((f"{session_id[:place]}{part}", session_id[:place])):
            if is_stored(name):
                return name
        place = session_id.rfind("/", 0, place)
    return None


def parent_of(transcripts: TranscriptStore, session_id: str) -> Lineage | None:
    """Return the session that a session goes on from; None if it began by itself.

    Raises:
        DamagedStoreError: a record can't be read.
        StoreError: the store failed.
    """
    return next((link for link in LINEAGE.state(transcripts, session_id) if link.side == PARENT), None)


def children_of(transcripts: TranscriptStore, session_id: str) -> tuple[Lineage, ...]:
    """Return the sessions that go on from one, oldest first; raises as `parent_of`."""
    return tuple(link for link in LINEAGE.state(transcripts, session_id) if link.side == CHILD)


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
    """Return a session's id as a model sees it, on one line."""
    safe = _UNSAFE.sub("", session_id)
    return safe if len(safe) <= _SHOWN_CHARS else f"{safe[:_SHOWN_CHARS]}\u2026"
