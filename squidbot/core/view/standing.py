"""What a session sends right now, in memory: bounded by what is sent, and the same whoever loads it."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import NotFoundError
from squidbot.core.markers import Markers
from squidbot.core.messages import Cost
from squidbot.core.pins import Pins
from squidbot.core.plan import PlanRecord, Representation, Segment
from squidbot.core.view.atoms import atoms_of
from squidbot.core.view.renderer import born, is_note, spent, unanswerable
from squidbot.core.view.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.memories import Scope
    from squidbot.core.messages import Part, Record, StoredMessage, Summary
    from squidbot.core.ports import SummaryStore, TranscriptStore
    from squidbot.core.trying import Wait
    from squidbot.core.view.renderer import Renderer

__all__ = [
    "NOTHING",
    "NO_MARKERS",
    "NO_PINS",
    "READ_BACK_MESSAGES",
    "Block",
    "Pieces",
    "Shelf",
    "Standing",
    "bare",
    "standing",
]

# How many messages are read at once where it is not known how many are needed.
READ_BACK_MESSAGES = 64
NO_PINS = Pins()
NO_MARKERS = Markers()
NOTHING = Cost(0, 0)


class Block(NamedTuple):
    """A segment of the plan as it is sent now."""

    segment: Segment
    parts: tuple[Part, ...]

    @property
    def cost(self) -> Cost:
        """Tokens of all that is sent for it."""
        return spent(self.parts)


class Standing(NamedTuple):
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
        pins: what is pinned.
        markers: the goals and decisions that messages in the store mark.
        opened: whether a plan has to be made before the next request: another lease, or too long to be read whole.
        asked: what the message that opened the newest turn costs, where it is not sent.
        withdrawn: the newest record of facts that were taken out of what was told; None where none ever was.
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
    pins: Pins = NO_PINS
    markers: Markers = NO_MARKERS
    asked: Cost = NOTHING
    withdrawn: Record | None = None

    def parts(self, system: Sequence[Part], renderer: Renderer) -> tuple[Part, ...]:
        """Return the whole request: the host's system text, what stands, and the notices that keep it valid."""
        said = self.prefix[self.lead_count :] + self.tail.parts
        return (*system, *self.lead, *renderer.opening(said), *said, *renderer.closing(said))

    @property
    def summaries(self) -> Cost:
        """Tokens of what stands for messages that are not sent: notes and pointers."""
        return spent(part for part in self.prefix[self.lead_count + len(self.head) :] if is_note(part))

    @property
    def generations(self) -> int:
        """How often what stands for messages was told anew: 1 for notes, made from what was said; 0 for none."""
        whole = {Representation.RAW, Representation.SLIMMED}
        return int(any(block.segment.representation not in whole for block in self.blocks))

    @property
    def needs_notices(self) -> tuple[bool, bool]:
        """Whether a request of these parts needs a notice in front, and one behind, to be valid (R5)."""
        prefix, parts, lead = self.prefix, self.tail.parts, len(self.lead)
        if len(prefix) == lead and not parts:
            return True, False
        first, last = prefix[lead] if len(prefix) > lead else parts[0], parts[-1] if parts else prefix[-1]
        return unanswerable(first), unanswerable(last)

    @property
    def sent(self) -> tuple[Part, ...]:
        """What stands, in order, without the host's system text and without notices."""
        return (*self.prefix, *self.tail.parts)

    @property
    def at_turn(self) -> bool:
        """Whether the newest message opens a turn."""
        return bool(self.tail.atoms) and self.tail.atoms[-1].is_user

    @property
    def in_flight(self) -> Cost:
        """Tokens of the message that opened the newest turn, sent or not: what comes behind it is cut by them."""
        for part in chain(reversed(self.tail.parts), reversed(self.prefix[self.lead_count :])):
            if part.first_seq == self.turn and part.payload is not None:
                return part.cost
        return self.asked

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
        opening = 0 if self.blocks or self.tail.atoms else _opening(messages)
        dropped = self.plan.thinking_dropped if self.plan else ()
        # The newest atom is rendered again, and the plan may cut it.
        renderer = renderer.showing(self.plan)
        tail = self.tail.extended(messages[opening:], renderer, self.dropped_before, dropped)
        added = Cost(tail.cost.estimate - self.tail.cost.estimate, tail.cost.bound - self.tail.cost.bound)
        last, history = messages[-1], self.history.plus(added)
        grown = self._replace(tail=tail, turn=last.turn, messages=last.seq + 1, newest_time=last.time, history=history)
        if self.asked != NOTHING and last.turn != self.turn:
            grown = grown._replace(asked=NOTHING)
        if not opening:
            return grown
        lead = (*self.lead, *(born(message) for message in messages[:opening]))
        return standing(grown.plan, Pieces(lead, self.head, self.blocks, tail), grown)


def _opening(messages: Sequence[StoredMessage]) -> int:
    """Return how many messages open a transcript as system text."""
    return next((place for place, message in enumerate(messages) if message.role != "system"), len(messages))


class Pieces(NamedTuple):
    """What a standing is made of, in the order in which it is sent."""

    lead: tuple[Part, ...]
    head: tuple[Part, ...]
    blocks: tuple[Block, ...]
    tail: Tail


def standing(plan: PlanRecord | None, pieces: Pieces, counts: Standing | None = None) -> Standing:
    """Return the standing of these pieces; counts, turn and time are those of `counts`."""
    counts = counts or bare(plan)
    lead, head, blocks, tail = pieces
    sent = tuple(part for block in blocks for part in block.parts)
    return Standing(
        plan=plan,
        lead=lead,
        head=head,
        blocks=blocks,
        tail=tail,
        prefix=(*lead, *head, *sent),
        fixed=spent((*lead, *head)),
        history=spent(sent).plus(tail.cost),
        messages=counts.messages,
        records=counts.records,
        turn=counts.turn,
        newest_time=counts.newest_time,
        opened=counts.opened,
        pins=counts.pins,
        markers=counts.markers,
        asked=counts.asked,
        withdrawn=counts.withdrawn,
    )


def bare(plan: PlanRecord | None) -> Standing:
    """Return the standing of a session in which nothing has been said; `plan` is the one in force."""
    return Standing(plan, (), (), (), Tail(), (), NOTHING, NOTHING, messages=0, records=0, turn=0)


class Shelf(NamedTuple):
    """Where a session's data stand, how they are rendered, and whose its next messages are; None: as those before.

    `tells_users` says that notes tell of the user's messages, too; `says_notes`, that the model is asked to say when it
    answers from them; `wait`, how to wait for others who write, None: not at all.
    """

    session_id: str
    transcripts: TranscriptStore
    summaries: SummaryStore
    renderer: Renderer
    scope: Scope | None = None
    tells_users: bool = False
    says_notes: bool = False
    wait: Wait | None = None

    def showing(self, plan: PlanRecord | None) -> Shelf:
        """Return the shelf whose messages are rendered as a plan sends them; None: without one."""
        renderer = self.renderer.showing(plan)
        return self if renderer is self.renderer else self._replace(renderer=renderer)

    def read(self, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return messages first_seq..last_seq with their costs by this session's counter."""
        rows = self.transcripts.read(self.session_id, first_seq, last_seq)
        return [self.renderer.counted(row) for row in rows]

    def blocks(
        self,
        segments: Sequence[Segment],
        slim_tokens: int,
        markers: Markers,
        made: Sequence[Summary] = (),
        kept: Sequence[Block] = (),
    ) -> list[Block]:
        """Return segments as they are sent behind `kept` blocks, whose last part may be one that nobody can answer.

        Summaries that are not stored yet are taken from `made`. What their messages mark stands with them.
        """
        texts = self._texts(segments, made)
        rows = self._picked(segments)
        blocks: list[Block] = []
        told = any(one.segment.summary_id for one in kept)
        after = bool(kept) and unanswerable(kept[-1].parts[-1])
        for segment in segments:
            said = self._rows(segment, rows)
            summary = texts.get(segment.summary_id or "")
            parts = self.renderer.segment(segment, summary, said, slim_tokens, after_assistant=after)
            line = [self.renderer.saying] if self.says_notes and summary is not None and not told else []
            told = told or summary is not None
            blocks.append(Block(segment, (*line, *self.marked(segment, markers), *parts)))
            after = unanswerable(parts[-1])
        return blocks

    def marked(self, segment: Segment, markers: Markers) -> list[Part]:
        """Return the parts that say what the messages of a segment mark that are not sent."""
        if not markers.said or segment.representation in {Representation.RAW, Representation.SLIMMED}:
            return []
        lines = markers.between(segment.first_seq, segment.last_seq, frozenset(segment.verbatim))
        return self.renderer.marked(lines)

    def check_summaries(self, segments: Sequence[Segment]) -> None:
        """Check that the summaries of segments are stored.

        Raises:
            NotFoundError: one is not; the text names it.
        """
        wanted = [one.summary_id for one in segments if one.summary_id]
        found = {one.summary_id for one in self.summaries.by_id(self.session_id, wanted)} if wanted else set()
        for summary_id in wanted:
            if summary_id not in found:
                raise NotFoundError(f"summary {summary_id} is no longer stored: what showed it can't be rebuilt")

    def _texts(self, segments: Sequence[Segment], made: Sequence[Summary]) -> dict[str, Summary]:
        texts = {summary.summary_id: summary for summary in made}
        wanted = [one.summary_id for one in segments if one.summary_id and one.summary_id not in texts]
        stored = self.summaries.by_id(self.session_id, wanted) if wanted else []
        return texts | {one.summary_id: one for one in stored}

    def _picked(self, segments: Sequence[Segment]) -> dict[int, StoredMessage]:
        seqs = sorted({seq for segment in segments for seq in segment.verbatim})
        found = self.transcripts.pick(self.session_id, seqs) if seqs else []
        return {row.seq: self.renderer.counted(row) for row in found}

    def steps_with(self, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the messages of the atoms in which the named ones stand, in order, each once."""
        wanted = sorted(seqs)
        found = self._alone(wanted) if wanted else {}
        for seq in wanted:
            if seq not in found:
                near = self.read(max(0, seq - READ_BACK_MESSAGES), seq + READ_BACK_MESSAGES)
                step = next((atom for atom in atoms_of(near) if atom.first_seq <= seq <= atom.last_seq), None)
                found.update({row.seq: row for row in (step.messages if step else ())})
        return [found[seq] for seq in sorted(found)]

    def _alone(self, seqs: Sequence[int]) -> dict[int, StoredMessage]:
        """Return those of these messages that are steps of their own: they neither call a tool nor answer one."""
        named = self.transcripts.pick(self.session_id, seqs)
        return {row.seq: self.renderer.counted(row) for row in named if not row.call_ids and not row.result_ids}

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
