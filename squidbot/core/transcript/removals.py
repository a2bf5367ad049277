"""Records of what was removed from a session, and of the messages and plans with facts; none quotes a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Collection

    from squidbot.core.ports import TranscriptStore


class ForgetRecord(NamedTuple):
    """Messages that were forgotten.

    Attributes:
        asked, copies: the named messages, and those in which `history` had brought them back.
        summaries: ids of the summaries of them.
        reason: as it was given.
        requests: how many requests had been recorded.
        at: in seconds since 1970; None if unknown.
    """

    asked: tuple[int, ...]
    copies: tuple[int, ...]
    summaries: tuple[str, ...]
    reason: str
    requests: int
    at: float | None


class InjectionRecord(NamedTuple):
    """Messages and plans that contain facts, and the ids of these: the sessions with a fact are found by them."""

    rows: tuple[int, ...]
    plans: tuple[int, ...]
    memories: tuple[str, ...] = ()


class Retraction(NamedTuple):
    """Facts, goals or documents that were removed from a session.

    Attributes:
        memories: the ids of the facts.
        rows: messages that lost their notice of them, or that were an answer about them and are a tombstone now.
        plans: plans whose head lost sections about them.
        requests: how many requests had been recorded.
        plan_id: the newest plan then; -1 for none.
        reason, at: as they were given; seconds since 1970.
    """

    memories: tuple[str, ...]
    rows: tuple[int, ...]
    plans: tuple[int, ...]
    requests: int
    plan_id: int = -1
    reason: str = ""
    at: float | None = None

    def is_missed(self, plan_id: int, sent: Collection[int]) -> bool:
        """Return whether the plan or the messages of a request have changed, and no plan was made since."""
        return plan_id <= self.plan_id and (plan_id in self.plans or not set(self.rows).isdisjoint(sent))


FORGOTTEN = RecordKind("forgotten", fields(ForgetRecord), tuple, title="record of forgotten messages")
INJECTION = RecordKind("told", fields(InjectionRecord), tuple, title="record of what was told")
RETRACTION = RecordKind("withdrawn", fields(Retraction), tuple, title="withdrawal")


def forgotten_since(transcripts: TranscriptStore, session_id: str, request: int) -> frozenset[int]:
    """Return the messages that were forgotten after the request of this number had been recorded."""
    since = [record for record in FORGOTTEN.all(transcripts, session_id) if request < record.requests]
    return frozenset(seq for record in since for seq in (*record.asked, *record.copies))


def retracted_since(
    transcripts: TranscriptStore, session_id: str, request: int, messages: int, plan_id: int
) -> tuple[str, ...]:
    """Return the facts that were removed since from a request of so many messages under a plan; () for none."""
    for retraction in RETRACTION.all(transcripts, session_id):
        if request < retraction.requests and (
            plan_id in retraction.plans or any(seq < messages for seq in retraction.rows)
        ):
            return retraction.memories
    return ()
