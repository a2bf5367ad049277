"""What was taken out of a session on request, and where facts were told: never a word of what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Collection

    from squidbot.core.ports import TranscriptStore


class ForgetRecord(NamedTuple):
    """Messages were forgotten.

    Attributes:
        asked, copies: the messages that were named, and those in which `history` had brought them back.
        summaries: ids of the summaries that told of them.
        reason: as it was given.
        requests: how many requests had been recorded.
        at: in seconds since 1970; None where unknown.
    """

    asked: tuple[int, ...]
    copies: tuple[int, ...]
    summaries: tuple[str, ...]
    reason: str
    requests: int
    at: float | None


class InjectionRecord(NamedTuple):
    """Messages and plans that tell facts, and the ids of these: by them sessions are found that were told of one."""

    rows: tuple[int, ...]
    plans: tuple[int, ...]
    memories: tuple[str, ...] = ()


class Retraction(NamedTuple):
    """Facts, goals or documents were taken out of what was told.

    Attributes:
        memories: the ids of the facts.
        rows: messages whose notice lost them, or that were an answer about them and are a tombstone now.
        plans: plans whose head lost the sections that told them.
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
        """Return whether what stands (a plan, messages) is no longer what was sent, and no plan was made since."""
        if plan_id > self.plan_id:
            return False
        return plan_id in self.plans or not set(self.rows).isdisjoint(sent)


FORGOTTEN = RecordKind("forgotten", fields(ForgetRecord), tuple, title="record of forgotten messages")
INJECTION = RecordKind("told", fields(InjectionRecord), tuple, title="record of what was told")
RETRACTION = RecordKind("withdrawn", fields(Retraction), tuple, title="withdrawal")


def forgotten_since(transcripts: TranscriptStore, session_id: str, request: int) -> frozenset[int]:
    """Return the messages that were forgotten after the request of this number had been recorded."""
    since = [one for one in FORGOTTEN.all(transcripts, session_id) if request < one.requests]
    return frozenset(seq for one in since for seq in (*one.asked, *one.copies))


def retracted_since(
    transcripts: TranscriptStore, session_id: str, request: int, messages: int, plan_id: int
) -> tuple[str, ...]:
    """Return the facts that are gone since from a request of so many messages under a plan; () for none."""
    for one in RETRACTION.all(transcripts, session_id):
        if request < one.requests and (plan_id in one.plans or any(seq < messages for seq in one.rows)):
            return one.memories
    return ()
