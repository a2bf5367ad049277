"""What a session sends right now, in memory: bounded by what is sent, and the same whoever loads it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.compaction import Block
from squidbot.core.messages import Cost
from squidbot.core.plan import PlanRecord, Representation, Segment
from squidbot.core.tail import Tail
from squidbot.core.view import born, spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Part, StoredMessage, Summary
    from squidbot.core.ports import SummaryStore, TranscriptStore
    from squidbot.core.view import Renderer

__all__ = ["Standing", "load"]

# A session that has messages but no plan (imported, or never assembled) is read back this many windows far for its
# first notes; what is older is absent, with a pointer.
READ_BACK_WINDOWS = 4


@dataclass(frozen=True, slots=True)
class Standing:
    """The parts of a session's next request that are stored already.

    Attributes:
        plan: the plan in force; None while there is none.
        lead: the system messages that open the transcript, verbatim.
        head: the plan's frozen sections.
        blocks: the plan's segments.
        tail: everything behind them.
        prefix: lead, head and blocks as parts, in order.
        fixed: what lead and head cost; history: what blocks and tail cost; in tokens.
        messages, records: how many the store holds.
        turn: the seq that opened the newest turn.
        newest_time: when the newest message was said, in seconds since 1970; None where unknown.
        opened: whether a plan has to be made before the next request: another lease, or too long to be read whole.
    """

    plan: PlanRecord | None
    lead: tuple[Part, ...]
    head: tuple[Part, ...]
    blocks: tuple[Block, ...]
    tail: Tail
    prefix: tuple[Part, ...]
    fixed: Cost
    history: Cost
    messages: int
    records: int
    turn: int
    newest_time: float | None = None
    opened: bool = False

    @property
    def at_turn(self) -> bool:
        """Whether the newest message opens a turn."""
        return bool(self.tail.atoms) and self.tail.atoms[-1].is_user

    @property
    def in_flight(self) -> Cost:
        """Tokens of the user message that is being answered; nothing where no user has spoken."""
        for part in reversed((*self.prefix[self.lead_count :], *self.tail.parts)):
            if part.first_seq == self.turn and part.payload is not None:
                return part.cost
        return Cost(0, 0)

    @property
    def dropped_before(self) -> int:
        """Steps before this seq are sent without their reasoning."""
        return self.plan.thinking_dropped_before_seq if self.plan else 0

    @property
    def lead_count(self) -> int:
        """How many messages of the transcript open it as system text."""
        return len(self.lead)

    def extended(self, messages: Sequence[StoredMessage], renderer: Renderer) -> Standing:
        """Return what stands with messages behind it, stored or about to be."""
        if not messages:
            return self
        opening = 0
        if not self.blocks and not self.tail.atoms:
            while opening < len(messages) and messages[opening].role == "system":
                opening += 1
        lead = (*self.lead, *(born(message) for message in messages[:opening]))
        tail = self.tail.extended(messages[opening:], renderer, self.dropped_before)
        last = messages[-1]
        grown = replace(self, tail=tail, turn=last.turn, messages=last.seq + 1, newest_time=last.time)
        if not opening:
            added = Cost(tail.cost.estimate - self.tail.cost.estimate, tail.cost.bound - self.tail.cost.bound)
            return replace(grown, history=self.history.plus(added))
        return standing(grown.plan, Pieces(lead, self.head, self.blocks, tail), grown)


class Pieces(NamedTuple):
    """What a standing is made of, in the order in which it is sent."""

    lead: tuple[Part, ...]
    head: tuple[Part, ...]
    blocks: tuple[Block, ...]
    tail: Tail


def standing(plan: PlanRecord | None, pieces: Pieces, counts: Standing | None = None) -> Standing:
    """Return the standing of these pieces; counts, turn and time are those of `counts`."""
    lead, head, blocks, tail = pieces
    sent = tuple(part for block in blocks for part in block.parts)
    made = Standing(
        plan=plan,
        lead=lead,
        head=head,
        blocks=blocks,
        tail=tail,
        prefix=(*lead, *head, *sent),
        fixed=spent((*lead, *head)),
        history=spent(sent).plus(tail.cost),
        messages=0,
        records=0,
        turn=0,
    )
    if counts is None:
        return made
    return replace(
        made,
        messages=counts.messages,
        records=counts.records,
        turn=counts.turn,
        newest_time=counts.newest_time,
        opened=counts.opened,
    )


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where a session's data stand, and how they are rendered."""

    session_id: str
    transcripts: TranscriptStore
    summaries: SummaryStore
    renderer: Renderer

    def read(self, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return messages first_seq..last_seq with their costs by this session's counter."""
        rows = self.transcripts.read(self.session_id, first_seq, last_seq)
        return [self.renderer.counted(row) for row in rows]

    def blocks(self, segments: Sequence[Segment], slim_tokens: int, made: Sequence[Summary] = ()) -> list[Block]:
        """Return segments as they are sent; summaries that are not stored yet are taken from `made`."""
        texts = {summary.summary_id: summary for summary in made}
        wanted = [one.summary_id for one in segments if one.summary_id and one.summary_id not in texts]
        if wanted:
            texts |= {one.summary_id: one for one in self.summaries.by_id(self.session_id, wanted)}
        picked = {seq for segment in segments for seq in segment.verbatim}
        found = self.transcripts.pick(self.session_id, sorted(picked)) if picked else []
        rows = {row.seq: self.renderer.counted(row) for row in found}
        blocks = []
        for segment in segments:
            summary = texts.get(segment.summary_id) if segment.summary_id else None
            messages = self._rows(segment, rows)
            blocks.append(Block(segment, tuple(self.renderer.segment(segment, summary, messages, slim_tokens))))
        return blocks

    def _rows(self, segment: Segment, rows: dict[int, StoredMessage]) -> list[StoredMessage]:
        if segment.representation in {Representation.RAW, Representation.SLIMMED}:
            return self.read(segment.first_seq, segment.last_seq)
        return [rows[seq] for seq in segment.verbatim if seq in rows]

    def lead(self, before_seq: int | None) -> list[StoredMessage]:
        """Return the system messages that open the transcript; at most those before `before_seq` where it is given."""
        found: list[StoredMessage] = []
        while before_seq is None or len(found) < before_seq:
            row = self.read(len(found), len(found))
            if not row or row[0].role != "system":
                break
            found.extend(row)
        return found


def load(shelf: Shelf, window_tokens: int, lease_id: str) -> Standing:
    """Return what stands for a session as its store has it; `window_tokens` bounds what is read without a plan.

    A plan made under another lease is not in force: detail may come back in a larger window.
    """
    messages, records = shelf.transcripts.head(shelf.session_id)
    stored = shelf.transcripts.last_record(shelf.session_id, "plan") if records else None
    plan = PlanRecord.from_json(stored.body) if stored else None
    valid = plan if plan and plan.lease_id == lease_id else None
    lead = shelf.lead(valid.segments[0].first_seq if valid and valid.segments else None) if messages else []
    blocks = shelf.blocks(valid.segments, valid.slim_tokens) if valid else []
    head = [shelf.renderer.section(section) for section in valid.sections] if valid else []
    rows = _tail_rows(shelf, valid, len(lead), messages, window_tokens)
    unread = bool(rows) and not blocks and rows[0].seq > len(lead)
    if unread:
        blocks = shelf.blocks([Segment(len(lead), rows[0].seq - 1, Representation.ABSENT)], 0)
    opening = tuple(born(row) for row in lead)
    base = standing(plan, Pieces(opening, tuple(head), tuple(blocks), Tail()))
    opened = unread or (plan is not None and valid is None)
    last = (rows or lead)[-1] if rows or lead else None
    turn, time = (last.turn, last.time) if last else (0, None)
    grown = base.extended(rows, shelf.renderer)
    return replace(grown, messages=messages, records=records, turn=turn, newest_time=time, opened=opened)


def _tail_rows(
    shelf: Shelf, plan: PlanRecord | None, lead: int, messages: int, window_tokens: int
) -> list[StoredMessage]:
    if plan and plan.segments:
        return shelf.read(plan.tail_from_seq, messages - 1)
    rows = shelf.transcripts.newest(shelf.session_id, READ_BACK_WINDOWS * window_tokens) if messages else []
    rows = [shelf.renderer.counted(row) for row in rows if row.seq >= lead]
    if rows and rows[0].seq > lead:
        # The oldest rows read may stand inside an atom whose beginning was not: start at a message that opens one.
        opening = next((place for place, row in enumerate(rows) if not row.result_ids), len(rows) - 1)
        rows = rows[opening:]
    return rows
