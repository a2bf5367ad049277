"""When the plan changes, and to what: the only place where a request stops extending the one before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.atoms import atoms_of
from squidbot.core.compaction import Batch, Compactor, Scene, steps
from squidbot.core.messages import Cost
from squidbot.core.plan import FirstChanged, PlanRecord, Representation, price_of
from squidbot.core.standing import Pieces, standing
from squidbot.core.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.compaction import NoteTaker
    from squidbot.core.messages import Part, StoredMessage
    from squidbot.core.plan import Section
    from squidbot.core.settings import HistorySettings
    from squidbot.core.standing import Shelf, Standing

__all__ = ["Ask", "Change", "Makers", "Moment", "due", "make_change", "saves_enough"]


@dataclass(frozen=True, slots=True)
class Moment:
    """The circumstances of one call.

    Attributes:
        limit: what the whole request may cost.
        outside: what tools and the host's system text cost.
        new_turn: whether the newest message opens a turn.
        cold: whether the provider has forgotten the cached prefix.
        stored: how many messages are in the store; later ones came with this call and stay raw.
        changed: the cause that the host has given already ("tools-changed", ...), None where it gave none.
        now: seconds since 1970, None where unknown.
        paused: whether compaction rests, having saved too little.
    """

    limit: Cost
    outside: Cost
    new_turn: bool
    cold: bool
    stored: int
    changed: str | None
    now: float | None
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A new plan, what stands under it, the summaries to store before it, and what it notes for the first time."""

    record: PlanRecord
    standing: Standing
    batch: Batch


def room_of(standing: Standing, moment: Moment) -> Cost:
    """Return what history may cost: the limit less system text, tools and head; below 0 where these don't fit."""
    fixed = standing.fixed.plus(moment.outside)
    return Cost(moment.limit.estimate - fixed.estimate, moment.limit.bound - fixed.bound)


def pressure_fraction(history: Cost, room: Cost) -> float:
    """Return history's share of its room, in the unit that binds; above 1 where it does not fit."""
    if room.bound <= 0 or room.estimate <= 0:
        return float("inf") if history.bound or history.estimate else 0.0
    return max(history.bound / room.bound, history.estimate / room.estimate)


def due(standing: Standing, moment: Moment, settings: HistorySettings) -> str | None:
    """Return why the plan must change before this call, or None where it need not."""
    pressure = pressure_fraction(standing.history, room_of(standing, moment))
    if pressure > 1:
        return "overflow"
    if moment.changed is not None:
        return moment.changed
    if settings.scope == "none" and moment.new_turn and len(standing.tail.atoms) > 1:
        return "rollover"
    if not moment.new_turn or moment.paused:
        return None
    if pressure > settings.high_fraction:
        return "high-water"
    # A session that still fits whole is sent whole, whatever the cache does (promise 9).
    middle = (settings.high_fraction + settings.low_fraction) / 2
    return "cold-cache" if moment.cold and standing.blocks and pressure > middle else None


class Makers(NamedTuple):
    """What a change is made with: where the session's data stand, and who takes notes."""

    shelf: Shelf
    notes: NoteTaker
    settings: HistorySettings


class Ask(NamedTuple):
    """What a change is asked for: its cause, the head to freeze, the pinned messages."""

    cause: str
    sections: tuple[Section, ...]
    pinned: frozenset[int]


def make_change(makers: Makers, before: Standing, moment: Moment, ask: Ask) -> Change | None:
    """Return the change that an event of this cause makes, or None where nothing it may do makes the request fit.

    A cause that does not come from pressure compacts only where the history is above the high-water mark.
    """
    shelf, notes, settings = makers
    return _Maker(shelf, notes, settings, before, moment, ask.sections, ask.pinned).change(ask.cause)


@dataclass(frozen=True, slots=True)
class _Maker:
    shelf: Shelf
    notes: NoteTaker
    settings: HistorySettings
    before: Standing
    moment: Moment
    sections: tuple[Section, ...]
    pinned: frozenset[int]

    def change(self, cause: str) -> Change | None:
        head = tuple(self.shelf.renderer.section(section) for section in self.sections)
        pieces = Pieces(self.before.lead, head, self.before.blocks, self.before.tail)
        base = standing(self.before.plan, pieces, self.before)
        room = room_of(base, self.moment)
        pressure = pressure_fraction(base.history, room)
        pressing = cause in {"overflow", "high-water", "cold-cache", "manual", "rollover"}
        if not pressing and pressure <= self.settings.high_fraction:
            return self._same(cause, base)
        compactor = Compactor(self._scene(base, room), self.settings, self.notes, _by_estimate(base.history, room))
        for step in steps(self.settings):
            batch = compactor.batch(step)
            made = self._applied(base, batch) if batch else None
            if made and batch and pressure_fraction(made.history, room) <= 1:
                return self._recorded(cause, made, batch)
        return None

    def _scene(self, base: Standing, room: Cost) -> Scene:
        slimmed = [block.segment for block in base.blocks if block.segment.representation is Representation.SLIMMED]
        rows: list[StoredMessage] = []
        if slimmed:
            rows = self.shelf.read(slimmed[0].first_seq, slimmed[-1].last_seq)
        blocks = base.blocks[: len(base.blocks) - len(slimmed)]
        stored, atoms = self.moment.stored, tuple(atoms_of(rows))
        return Scene(room, blocks, atoms, base.tail.atoms, stored, self.pinned, base.turn)

    def _applied(self, base: Standing, batch: Batch) -> Standing:
        kept = base.blocks[: batch.kept_blocks]
        segments = batch.segments[batch.kept_blocks :]
        slim = self.settings.slim_tokens(self.moment.limit.bound)
        blocks = (*kept, *self.shelf.blocks(segments, slim, batch.summaries))
        rows = [row for atom in base.tail.atoms for row in atom.messages if row.seq >= batch.tail_from_seq]
        sent = [part for block in blocks for part in block.parts]
        behind = Tail(after_assistant=bool(sent) and sent[-1].role == "assistant")
        tail = behind.extended(rows, self.shelf.renderer, self._dropped_before(rows))
        return standing(base.plan, Pieces(base.lead, base.head, blocks, tail), base)

    def _dropped_before(self, rows: Sequence[StoredMessage]) -> int:
        """Return the seq before which reasoning goes: all but the open step, which providers want unchanged (R3)."""
        steps = [row.seq for row in rows if row.role == "assistant"]
        return steps[-1] if steps else self.before.messages

    def _same(self, cause: str, base: Standing) -> Change:
        tail_from = base.tail.atoms[0].first_seq if base.tail.atoms else base.messages
        segments = tuple(block.segment for block in base.blocks)
        batch = Batch(segments, (), tail_from, len(base.blocks))
        return self._recorded(cause, base, batch)

    def _recorded(self, cause: str, made: Standing, batch: Batch) -> Change:
        before = self.before
        parent = before.plan
        old = (*before.prefix, *before.tail.parts)
        new = (*made.prefix, *made.tail.parts)
        changed = first_changed(old, new)
        whole_before = before.fixed.plus(before.history).plus(self.moment.outside)
        whole_after = made.fixed.plus(made.history).plus(self.moment.outside)
        unchanged = changed.token_offset + self.moment.outside.bound
        settings = self.settings
        record = PlanRecord(
            plan_id=parent.plan_id + 1 if parent else 0,
            parent_plan_id=parent.plan_id if parent else None,
            lease_id="",
            created_at=self.moment.now,
            cause=cause,
            segments=batch.segments,
            tail_from_seq=batch.tail_from_seq,
            sections=self.sections,
            slim_tokens=settings.slim_tokens(self.moment.limit.bound),
            thinking_dropped_before_seq=self._dropped_before(
                [row for atom in made.tail.atoms for row in atom.messages]
            ),
            tokens_before=whole_before.bound,
            tokens_after=whole_after.bound,
            certificate=self.shelf.renderer.meter.certificate,
            first_changed=changed,
            price=price_of(
                whole_before,
                whole_after,
                unchanged,
                (settings.read_price, settings.write_price),
                cold=self.moment.cold,
            ),
        )
        return Change(record, replace(made, plan=record, opened=False), batch)


def saves_enough(record: PlanRecord, settings: HistorySettings) -> bool:
    """Return whether an event makes the request smaller by the share that is worth a break of the prefix."""
    return record.tokens_before - record.tokens_after >= settings.min_saving_fraction * record.tokens_before


def first_changed(old: Sequence[Part], new: Sequence[Part]) -> FirstChanged:
    """Return where `new` stops being `old`; the offset is in tokens, as a bound."""
    offset = 0
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if before is not after and before != after:
            return FirstChanged(index, after.first_seq, offset)
        offset += after.cost.bound
    index = min(len(old), len(new))
    return FirstChanged(index, new[index].first_seq if index < len(new) else -1, offset)


def _by_estimate(history: Cost, room: Cost) -> bool:
    if room.bound <= 0 or room.estimate <= 0:
        return False
    return history.estimate / room.estimate > history.bound / room.bound
