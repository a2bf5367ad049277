"""Which messages become a summary, which stay: one batch, from the high-water mark down to the low one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from squidbot.core.atoms import Atom, session_blocks, total
from squidbot.core.messages import Cost, Summary
from squidbot.core.plan import Representation, Segment
from squidbot.core.view import born, is_user_part, shown, spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Part
    from squidbot.core.settings import HistorySettings

__all__ = ["Batch", "Block", "NoteTaker", "Scene", "batches"]


@dataclass(frozen=True, slots=True)
class Block:
    """A segment of the plan as it is sent now."""

    segment: Segment
    parts: tuple[Part, ...]

    @property
    def cost(self) -> Cost:
        """Tokens of all that is sent for it."""
        return spent(self.parts)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a batch is chosen from.

    Attributes:
        room: what history may cost: the input limit less the fixed parts.
        blocks: the plan's segments as they are sent, oldest first.
        tail: the atoms behind them, oldest first, all sent raw; what is in flight is at their end.
        stored: how many messages the store holds; later ones came with this call and must stay raw.
        pinned: seqs of pinned messages.
        in_flight_seq: the user message that is being answered; None where no user has spoken.
    """

    room: Cost
    blocks: tuple[Block, ...]
    tail: tuple[Atom, ...]
    stored: int
    pinned: frozenset[int] = frozenset()
    in_flight_seq: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one event would send: the segments, the summaries made for them, and where the raw tail begins."""

    segments: tuple[Segment, ...]
    summaries: tuple[Summary, ...]
    tail_from_seq: int
    kept_blocks: int


class NoteTaker(Protocol):
    """Makes the rule-made notes that stand for messages until a language model has summarized them."""

    def added(self, atoms: Sequence[Atom], blocks: Sequence[Block], limit_tokens: int) -> Summary:
        """Return notes on atoms that follow `blocks`; what stands in those already is not said again."""

    def folded(self, first_seq: int, last_seq: int, verbatim: Sequence[Part], limit_tokens: int) -> Summary:
        """Return one note on all messages of the range; `verbatim` of them are sent beside it."""


@dataclass(frozen=True, slots=True)
class Step:
    """How hard a batch tries: shares of the room for kept raw messages, user messages and notes."""

    fold: bool
    keep_fraction: float
    user_fraction: float
    notes_fraction: float


def batches(settings: HistorySettings, low_fraction: float) -> list[Step]:
    """Return the attempts of one event, gentlest first; the next one is made only if the one before did not fit."""
    mild = Step(False, low_fraction, settings.user_verbatim_fraction, settings.notes_fraction)
    return [
        mild,
        replace(mild, fold=True),
        replace(mild, fold=True, keep_fraction=0.0),
        Step(True, 0.0, settings.user_verbatim_fraction / 4, settings.notes_fraction / 2),
        Step(True, 0.0, 0.0, settings.notes_fraction / 6),
        Step(True, 0.0, 0.0, 0.0),
    ]


@dataclass(frozen=True, slots=True)
class Compactor:
    """Makes batches for one scene."""

    scene: Scene
    settings: HistorySettings
    notes: NoteTaker
    #: True where the policy's unit binds before the window's does: the batch is measured in that unit then.
    by_estimate: bool

    def size(self, cost: Cost) -> int:
        """Return a cost in the unit that binds."""
        return cost.estimate if self.by_estimate else cost.bound

    @property
    def room(self) -> int:
        """What history may cost, in the unit that binds."""
        return self.size(self.scene.room)

    def batch(self, step: Step) -> Batch | None:
        """Return what an event of this step would send, or None where there is nothing it may move."""
        kept = self._kept_atoms(step)
        moved = self.scene.tail[: len(self.scene.tail) - kept]
        if not moved and not (step.fold and self.scene.blocks):
            return None
        if not step.fold and self._may_append(moved, step):
            return self._append(moved)
        return self._fold(moved, step)

    def _kept_atoms(self, step: Step) -> int:
        """Return how many of the newest atoms stay raw: what the low-water mark leaves, at least the floor."""
        prefix = self.size(total(block.cost for block in self.scene.blocks))
        tail = self.size(total(atom.sent_cost for atom in self.scene.tail))
        notes = min(tail * self.settings.note_rate, self.settings.notes_fraction * self.room)
        budget = step.keep_fraction * self.room - prefix - notes
        budget = max(budget, self.settings.keep_fraction * self.room * (step.keep_fraction > 0))
        kept = used = 0
        for atom in reversed(self.scene.tail):
            used += self.size(atom.sent_cost)
            if kept and used > budget:
                break
            kept += 1
        return max(kept, self._floor(step))

    def _floor(self, step: Step) -> int:
        """Return how many atoms stay whatever they cost: the open one; the configured floor while it fits (C16)."""
        floor = max(1, sum(atom.last_seq >= self.scene.stored for atom in self.scene.tail))
        if step.keep_fraction > 0:
            used = seen = 0
            for count, atom in enumerate(reversed(self.scene.tail), 1):
                used += self.size(atom.sent_cost)
                if used > self.settings.keep_fraction * self.room:
                    break
                floor = count
                seen += len(atom.messages)
                if seen >= self.settings.min_recent_messages:
                    break
        return min(floor, len(self.scene.tail))

    def _may_append(self, moved: Sequence[Atom], step: Step) -> bool:
        """Return whether notes on the moved atoms still fit beside those that stand already."""
        notes = sum(block.segment.note_tokens for block in self.scene.blocks)
        added = sum(self._note_tokens(block) for block in self._blocks(moved))
        users = sum(self.size(part.cost) for block in self.scene.blocks for part in block.parts if is_user_part(part))
        users += sum(self.size(atom.sent_cost) for atom in moved if atom.is_user)
        room = self.scene.room.bound
        return notes + added <= step.notes_fraction * room and users <= step.user_fraction * self.room

    def _blocks(self, moved: Sequence[Atom]) -> list[list[Atom]]:
        return session_blocks(
            moved,
            gap_seconds=self.settings.gap_seconds,
            max_tokens=self.settings.block_max_tokens(self.scene.room.bound),
        )

    def _note_tokens(self, block: Sequence[Atom]) -> int:
        """Return the room for the notes on a block: a share of it, between the smallest useful note and the cap."""
        said = sum(atom.cost.bound for atom in block)
        most = self.settings.level_tokens(Representation.DETAILED, self.scene.room.bound)
        return max(self.settings.min_note_tokens, min(most, round(said * self.settings.note_rate)))

    def _append(self, moved: Sequence[Atom]) -> Batch:
        segments = [block.segment for block in self.scene.blocks]
        summaries = []
        blocks = list(self.scene.blocks)
        for run in self._blocks(moved):
            summary = self.notes.added(run, blocks, self._note_tokens(run))
            verbatim = tuple(message.seq for atom in run if self._stays(atom) for message in atom.messages)
            segment = _standing(summary, Representation.SUMMARY_USER, verbatim)
            blocks.append(Block(segment, (shown(summary),)))
            segments.append(segment)
            summaries.append(summary)
        return Batch(tuple(segments), tuple(summaries), moved[-1].last_seq + 1, len(self.scene.blocks))

    def _stays(self, atom: Atom) -> bool:
        return atom.is_user or any(message.seq in self.scene.pinned for message in atom.messages)

    def _fold(self, moved: Sequence[Atom], step: Step) -> Batch:
        standing = [part for block in self.scene.blocks for part in block.parts if part.summary_id is None]
        sent = [part for part in standing if part.payload is not None] + [
            born(message) for atom in moved if self._stays(atom) for message in atom.messages
        ]
        kept = self._verbatim(sent, step)
        first = self.scene.blocks[0].segment.first_seq if self.scene.blocks else moved[0].first_seq
        last = moved[-1].last_seq if moved else self.scene.blocks[-1].segment.last_seq
        limit = round(step.notes_fraction * self.scene.room.bound * self.settings.fold_fraction)
        if limit < self.settings.min_note_tokens:
            absent = Segment(first, last, Representation.ABSENT, None, tuple(part.first_seq for part in kept))
            return Batch((absent,), (), last + 1, 0)
        summary = self.notes.folded(first, last, kept, limit)
        verbatim = tuple(part.first_seq for part in kept)
        segment = _standing(summary, Representation.MERGED, verbatim)
        return Batch((segment,), (summary,), last + 1, 0)

    def _verbatim(self, sent: Sequence[Part], step: Step) -> list[Part]:
        """Return the user messages that stay verbatim beside a fold: the newest that fit, and what must stay."""
        budget = step.user_fraction * self.room
        kept: list[Part] = []
        used = 0
        full = False
        for part in reversed(sent):
            must = part.first_seq == self.scene.in_flight_seq or part.first_seq in self.scene.pinned
            must = must or not is_user_part(part)
            if not must:
                full = full or used + self.size(part.cost) > budget
                used += self.size(part.cost)
            if must or not full:
                kept.append(part)
        return kept[::-1]


def _standing(summary: Summary, representation: Representation, verbatim: tuple[int, ...]) -> Segment:
    return Segment(
        summary.first_seq,
        summary.last_seq,
        representation,
        summary.summary_id,
        verbatim,
        summary.cost.bound,
    )
