"""Durable facts that are not to be told any more are taken out of what a session has told of them, for good.

What was told unasked, and what the tool `memory` answered, stands in requests that were sent. Records of the kind
"told" say where, so that nothing has to be searched for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Category, Erasure, Record
from squidbot.core.plan import PlanRecord
from squidbot.core.trying import Writing
from squidbot.core.view.marks import memories_in, tells, tells_memories, without_memories

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.messages import StoredMessage
    from squidbot.core.view.standing import Shelf, Standing

__all__ = [
    "TOLD",
    "WITHDRAWN",
    "Facts",
    "Finds",
    "Withdrawn",
    "newly_told",
    "standing_facts",
    "told_facts",
    "withdraw",
    "withdrawn_since",
]

TOLD, WITHDRAWN, PLAN, REQUEST = "told", "withdrawn", "plan", "request"
# No message behind these opens a conversation (`unasked.COLD_MESSAGES`).
FIRST_MESSAGES = 3


@runtime_checkable
class Finds(Protocol):
    """What a store may have beside `TranscriptStore`: sessions found by what their records say, none of them opened."""

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with a record of a kind in whose body one of these texts stands, oldest first.

        Raises:
            StoreError: the disk failed.
        """


class Facts(NamedTuple):
    """Durable facts that are not to be told any more.

    Attributes:
        memories: their ids.
        quoting: ids of others whose lines in answers of the tool may quote them, since they took their places.
        reason: why; it must not repeat them.
        now: in seconds since 1970; None where unknown.
    """

    memories: frozenset[str]
    quoting: frozenset[str] = frozenset()
    reason: str = ""
    now: float | None = None


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What was taken out of a session, as its record keeps it: never a word of it.

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

    def record(self, number: int) -> Record:
        """Return the record of that number."""
        body = {name: getattr(self, name) for name in self.__slots__}
        return Record(WITHDRAWN, number, json.dumps(body, separators=(",", ":")))

    @classmethod
    def of(cls, record: Record) -> Withdrawn:
        """Return what a record keeps.

        Raises:
            DamagedStoreError: it can't be read.
        """
        try:
            raw = json.loads(record.body)
            lists = {name: tuple(raw[name]) for name in ("memories", "rows", "plans")}
            return cls(**{**raw, **lists})
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedStoreError(f"withdrawal {record.number} can't be read: {error}") from error

    def is_missed(self, standing: Standing) -> bool:
        """Return whether what stands is no longer what was sent, and no plan has been made since."""
        plan_id = standing.plan.plan_id if standing.plan else -1
        if plan_id > self.plan_id:
            return False
        return plan_id in self.plans or any(part.first_seq in self.rows for part in standing.sent)


def newly_told(shelf: Shelf, rows: Sequence[StoredMessage], plan: PlanRecord | None = None) -> list[Record]:
    """Return the record that says which of these messages, and whether this plan, tell facts; none where none does."""
    seqs = [row.seq for row in rows if _said_by(shelf, row)]
    head = [each for section in plan.sections for each in section.memories] if plan else []
    if not seqs and not head:
        return []
    last = shelf.transcripts.last_record(shelf.session_id, TOLD)
    plans = [plan.plan_id] if plan and head else []
    # By their ids the sessions are found that were told of one (`Finds`).
    memories = sorted({*head, *told_facts(shelf, rows)})
    body = json.dumps({"rows": seqs, "plans": plans, "memories": memories}, separators=(",", ":"))
    return [Record(TOLD, last.number + 1 if last else 0, body)]


def told_facts(shelf: Shelf, rows: Iterable[StoredMessage]) -> frozenset[str]:
    """Return the ids of the facts that messages tell, in their notices or as answers of the tool."""
    return frozenset(each for row in rows if (said := _said_by(shelf, row)) for each in memories_in(said))


def standing_facts(standing: Standing) -> frozenset[str]:
    """Return the ids of the facts that stand unasked: in the head, and behind the first messages."""
    head = standing.plan.remembered if standing.plan else ()
    return frozenset({*(each for one in head for each in one.memories), *_begun(standing)})


def _begun(standing: Standing) -> Iterator[str]:
    last = standing.lead_count + FIRST_MESSAGES
    for part in standing.sent:
        if part.first_seq > last:
            return
        if part.notice and tells_memories(part.notice):
            yield from memories_in(part.notice)


def _said_by(shelf: Shelf, row: StoredMessage) -> str:
    """Return the text in which a message tells facts; "" where it tells none."""
    said = row.notice or ""
    if row.category is Category.RECALLED:
        said = shelf.renderer.text_of(row)
    return said if said and tells(said) else ""


def withdrawn_since(shelf: Shelf, request: int, messages: int, plan_id: int) -> tuple[str, ...]:
    """Return the facts that are gone since from a request of so many messages under a plan; () for none."""
    records = shelf.transcripts.records(shelf.session_id, WITHDRAWN)
    for one in map(Withdrawn.of, records):
        if request < one.requests and (plan_id in one.plans or any(seq < messages for seq in one.rows)):
            return one.memories
    return ()


def withdraw(shelf: Shelf, facts: Facts) -> Withdrawn | None:
    """Take facts out of all that a session has told of them, durably and for good; None where it told none of them.

    Messages of the conversation itself stay as they were said. The next request is made under a new plan where what
    stands has changed by it.

    Raises:
        StoreError: nothing was taken out.
    """

    def act(head: tuple[int, int]) -> Withdrawn | None:
        last = shelf.transcripts.last_record(shelf.session_id, TOLD)
        found = _found(shelf, facts) if last else None
        if found is None:
            return None
        gone, erasure = found
        shelf.transcripts.forget(shelf.session_id, replace(erasure, expected=head))
        return gone

    return Writing(shelf.transcripts, shelf.session_id, "nothing was taken out", shelf.wait).tried(act)


def _found(shelf: Shelf, facts: Facts) -> tuple[Withdrawn, Erasure] | None:
    seqs, plan_ids = _places(shelf)
    graves, unnoticed = _rows_without(shelf, seqs, facts)
    plans = list(_plans_without(shelf, plan_ids, facts.memories))
    if not graves and not unnoticed and not plans:
        return None
    last = {kind: shelf.transcripts.last_record(shelf.session_id, kind) for kind in (REQUEST, PLAN, WITHDRAWN)}
    numbers = {kind: record.number if record else -1 for kind, record in last.items()}
    gone = Withdrawn(
        memories=tuple(sorted(facts.memories)),
        rows=tuple(sorted(row.seq for row in (*graves, *unnoticed))),
        plans=tuple(record.number for record in plans),
        requests=numbers[REQUEST] + 1,
        plan_id=numbers[PLAN],
        reason=facts.reason,
        at=facts.now,
    )
    records = (gone.record(numbers[WITHDRAWN] + 1),)
    return gone, Erasure((0, 0), tuple(graves), tuple(plans), records, unnoticed=tuple(unnoticed))


def places_in(record: Record) -> tuple[list[int], list[int]]:
    """Return the messages and the plans that tell facts, as one record of the kind "told" has them.

    Raises:
        DamagedStoreError: it can't be read.
    """
    try:
        body = json.loads(record.body)
        return [*body["rows"]], [*body["plans"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedStoreError(f"record {record.number} of what was told can't be read: {error}") from error


def _places(shelf: Shelf) -> tuple[list[int], frozenset[int]]:
    """Return the messages and the plans that tell facts.

    Raises:
        DamagedStoreError: a record of them can't be read.
    """
    seqs: set[int] = set()
    plans: set[int] = set()
    for record in shelf.transcripts.records(shelf.session_id, TOLD):
        rows, told = places_in(record)
        seqs.update(rows)
        plans.update(told)
    return sorted(seqs), frozenset(plans)


def _rows_without(shelf: Shelf, seqs: Sequence[int], facts: Facts) -> tuple[list[StoredMessage], list[StoredMessage]]:
    """Return tombstones for answers that told these facts, and messages without the notices that did."""
    from squidbot.core.forgetting import tombstone  # noqa: PLC0415  # with it come all notes, and no turn needs them

    graves: list[StoredMessage] = []
    unnoticed: list[StoredMessage] = []
    for row in shelf.transcripts.pick(shelf.session_id, seqs):
        if row.category is Category.RECALLED:
            if (facts.memories | facts.quoting).intersection(memories_in(_said_by(shelf, row))):
                graves.append(tombstone(shelf.renderer, row))
        elif row.notice is not None and (left := without_memories(row.notice, facts.memories)) != row.notice:
            unnoticed.append(with_notice(shelf, row, left or None))
    return graves, unnoticed


def with_notice(shelf: Shelf, row: StoredMessage, notice: str | None) -> StoredMessage:
    """Return a stored message with another notice behind it, or none, and what it costs with that."""
    bare = replace(row, notice=notice, counter="")  # counted anew, whoever counted it
    return shelf.renderer.counted(bare)


def _plans_without(shelf: Shelf, plan_ids: frozenset[int], memory_ids: frozenset[str]) -> Iterator[Record]:
    """Yield the records of plans without the sections that told these facts."""
    if not plan_ids:
        return
    for record in shelf.transcripts.records(shelf.session_id, PLAN, min(plan_ids)):
        plan = PlanRecord.from_json(record.body) if record.number in plan_ids else None
        if plan is not None and any(memory_ids.intersection(one.memories) for one in plan.sections):
            left = tuple(one for one in plan.sections if not memory_ids.intersection(one.memories))
            yield Record(PLAN, record.number, replace(plan, sections=left).to_json())
