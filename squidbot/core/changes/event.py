"""When the plan changes, and to what: the only place where a request stops extending the one before it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget.ladder import EMERGENCY, pressure_of
from squidbot.core.changes.capping import capped, is_over
from squidbot.core.changes.images import lighter, still_sent
from squidbot.core.changes.limiting import reduced, still_limited
from squidbot.core.changes.moment import fullness, pressure_fraction, room_of, too_much
from squidbot.core.changes.pricing import saves_enough
from squidbot.core.changes.scene import Batch, Ground, Scene, retelling, steps
from squidbot.core.changes.upkeep import pays
from squidbot.core.plan import FirstChanged, PlanRecord, Representation, price_of
from squidbot.core.view.atoms import atoms_of, open_step
from squidbot.core.view.renderer import born, is_user_part, spent, unanswerable
from squidbot.core.view.standing import Pieces, standing
from squidbot.core.view.tail import Tail

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.core.budget.ladder import Ladder
    from squidbot.core.changes.moment import Moment
    from squidbot.core.changes.scene import NoteTaker, Step
    from squidbot.core.messages import Cost, Part, StoredMessage, Usage
    from squidbot.core.plan import Section
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.atoms import Atom
    from squidbot.core.view.standing import Block, Shelf, Standing

__all__ = [
    "Ask",
    "Change",
    "Makers",
    "due",
    "make_change",
]


class Change(NamedTuple):
    """A new plan, what stands under it, the summaries to store before it, and what it notes for the first time."""

    record: PlanRecord
    standing: Standing
    batch: Batch


def due(standing: Standing, moment: Moment, settings: HistorySettings) -> str | None:
    """Return why the plan must change before this call, or None where it need not."""
    pressure = pressure_fraction(standing.history, room_of(standing, moment))
    if pressure > 1:
        return "overflow"
    if moment.changed is not None:
        return moment.changed
    if moment.new_turn and _beyond(standing, moment, settings):
        return "rollover"
    if not moment.new_turn or moment.paused:
        return None
    cause = _at_turn(standing, moment, settings, _marked_pressure(standing, moment, settings))
    # A plan that somebody brought back has no mark.
    return cause if math.isinf(settings.high_fraction) else moment.verdict(cause, pressure)


def _beyond(standing: Standing, moment: Moment, settings: HistorySettings) -> bool:
    """Return whether more stands than the scope of history has, at a new turn, beside what came with the call."""
    if moment.again:
        return False  # it is sent as it was
    behind = min(standing.turn, moment.stored)
    raw = settings.only_in_flight and any(atom.last_seq < behind for atom in standing.tail.atoms)
    return raw or (not settings.takes_notes and any(one.segment.summary_id for one in standing.blocks))


def _at_turn(standing: Standing, moment: Moment, settings: HistorySettings, pressure: float) -> str | None:
    """Return why the plan changes before a new turn although it need not yet, or None."""
    if pressure > settings.high_fraction or pays(standing, moment, settings):
        return "high-water"
    # A session that still fits whole is sent whole, whatever the cache does (promise 9).
    middle = (settings.high_fraction + settings.low_fraction) / 2
    return "cold-cache" if moment.cold and standing.blocks and pressure > middle else None


def _marked_pressure(standing: Standing, moment: Moment, settings: HistorySettings) -> float:
    """Return history's share of the room whose high-water mark comes first; above it where there are too many messages.

    The same predicate fires an event and tells when it has done enough (C4).
    """
    ladder = settings.ladder
    if _too_many(standing, ladder):
        return math.inf
    if settings.cap is not None and is_over(standing, min(standing.turn, moment.stored), settings.cap):
        return math.inf
    room = ladder.marked_room(room_of(standing, moment), settings.high_fraction)
    if settings.beside_summaries:
        return pressure_of(standing.history, standing.summaries, room)
    return pressure_fraction(standing.history, room)


def _too_many(standing: Standing, ladder: Ladder) -> bool:
    """Return whether there are as many messages as fire an event by their number."""
    return 0 < ladder.compact_at_messages <= standing.tail.messages


# Causes that come from the history's size, or from somebody who wants it smaller.
PRESSING = frozenset({"overflow", "high-water", "cold-cache", "manual", "rollover"})
# Of these, the ones that a mark fires: they have done enough when it would not fire again.
_MARKED = frozenset({"high-water", "cold-cache"})


class Makers(NamedTuple):
    """What a change is made with: where the session's data stand, and who takes notes."""

    shelf: Shelf
    notes: NoteTaker
    settings: HistorySettings


class Ask(NamedTuple):
    """What a change is asked for: its cause, the head to freeze, the pinned messages.

    `retells`: a summary that is shown is no longer to be, so everything behind it is told anew.
    """

    cause: str
    sections: tuple[Section, ...]
    pinned: frozenset[int]
    retells: bool = False


def make_change(makers: Makers, before: Standing, moment: Moment, ask: Ask) -> Change | None:
    """Return the change that an event of this cause makes, or None where there is nothing it may do.

    A cause that does not come from pressure compacts only where the history is above the high-water mark.

    Raises:
        BudgetError: the request does not fit, and nothing makes it fit.
    """
    shelf = makers.shelf.showing(before.plan)
    return _Maker(shelf, *makers[1:], before, moment, ask.sections, ask.pinned, ask.retells).change(ask.cause)


class _Maker(NamedTuple):
    shelf: Shelf
    notes: NoteTaker
    settings: HistorySettings
    before: Standing
    moment: Moment
    sections: tuple[Section, ...]
    pinned: frozenset[int]
    retells: bool

    def change(self, cause: str) -> Change | None:
        head = tuple(self.shelf.renderer.section(section) for section in self.sections)
        pieces = Pieces(self.before.lead, head, self.before.blocks, self.before.tail)
        base = standing(self.before.plan, pieces, self.before)
        room = room_of(base, self.moment)
        pressure = pressure_fraction(base.history, room)
        if cause not in PRESSING and not self._is_marked(base) and not self._must:
            return self.same(cause, base)
        return self._lightened(cause, base) or self.shortened(cause, base, pressure)

    def _lightened(self, cause: str, base: Standing) -> Change | None:
        """Return the change that sends less of single messages, and shortens history where that is not enough.

        Pictures and long answers give way before anything else does (decisions.md 6, C17). None where none has to.
        """
        renderer = reduced(base, lambda: self._parted(base)[1], self, room_of(base, self.moment))
        if renderer is None:
            return None
        fewer = self._replace(shelf=self.shelf._replace(renderer=renderer))
        made = fewer.applied(base, _as_it_is(base)._replace(kept_blocks=0))
        pressure = pressure_fraction(made.history, room_of(made, self.moment))
        if cause == "rollover" or self._must or pressure > min(1.0, self.settings.low_fraction):
            return fewer.shortened(cause, made, pressure) or fewer.same(cause, made)
        return fewer.same(cause, made)

    def shortened(self, cause: str, base: Standing, pressure: float) -> Change | None:
        """Return the change that makes history shorter, or None where nothing may be done.

        Raises:
            BudgetError: nothing makes the request fit.
        """
        made, smallest = self._tried(cause, base, room_of(base, self.moment))
        if made is not None:
            return self._worth_it(self._recorded(*made), base, pressure)
        if pressure > 1:
            outside = self.moment.outside(smallest)
            raise too_much(smallest, self.moment, smallest.fixed.plus(smallest.history).plus(outside))
        return None if cause in PRESSING else self.same(cause, base)

    @property
    def _must(self) -> bool:
        """Whether history is compacted whatever its size: told anew, too long to be read back whole, or not in scope.

        A window that reads less back would else show more of it raw than a larger one, which has to compact.
        """
        unread = self.before.opened and bool(self.before.blocks)
        return self.retells or unread or (self.moment.new_turn and _beyond(self.before, self.moment, self.settings))

    def _tried(self, cause: str, base: Standing, room: Cost) -> tuple[tuple[str, Standing, Batch] | None, Standing]:
        """Return the attempt to make, as its cause, what would stand and the batch; and the last one that was tried.

        To fall below a mark, levels are lowered and notes are merged; they are cut only where nothing else fits. Where
        nothing falls below it, the gentlest that fits will do, in an emergency the smallest.
        """
        found, smallest = None, base
        mark, emergency = self._mark(cause, base)
        for step, batch in self._batches(base, self.settings.ladder.marked_room(room, self.settings.high_fraction)):
            if found is not None and step.notes_fraction < self.settings.notes_fraction:
                break
            smallest = self.applied(base, batch)
            if pressure_fraction(smallest.history, room_of(smallest, self.moment)) > 1:
                continue
            made = batch.cause(cause), smallest, batch
            if found is None or (emergency and smallest.history.bound < found[1].history.bound):
                found = made
            if _marked_pressure(smallest, self.moment, self.settings) <= mark:
                return made, smallest
        return found, smallest

    def _mark(self, cause: str, base: Standing) -> tuple[float, bool]:
        """Return the pressure at which an event has done enough, and whether there is an emergency.

        What a mark in tokens or messages has fired goes on until it would not fire again, and an emergency below the
        first rung. Elsewhere what fits and saves is enough: where notes and the user's words fill the room up to the
        mark, telling them anew each time to get below it cost a fifth more than leaving them (benchmarks, talk at 32K).
        So it is where no notes stand yet, and for a new lease, which shows all that a smaller one shows.
        """
        if cause not in _MARKED or not base.blocks or base.opened:
            return math.inf, False
        mark, ladder = self.settings.high_fraction, self.settings.ladder
        # Where the mark itself lies as high, every event is one, and jobs write the summaries of an ordinary one.
        emergency = mark < ladder.emergency_fraction and EMERGENCY in ladder.told(fullness(base, self.moment))
        if emergency:
            return min(mark, ladder.warn_fraction or mark), True
        return (mark if ladder.compact_at_tokens or ladder.compact_at_messages else math.inf), False

    def _is_marked(self, one: Standing) -> bool:
        """Return whether history is above the mark that fires an event."""
        return _marked_pressure(one, self.moment, self.settings) > self.settings.high_fraction

    def _worth_it(self, change: Change, base: Standing, pressure: float) -> Change:
        """Return a change, or the one that leaves history alone where nobody asked for less and this saves little."""
        needed = pressure > 1 or change.record.cause in PRESSING or self._must
        return change if needed or saves_enough(change.record, self.settings) else self.same(change.record.cause, base)

    def _batches(self, base: Standing, room: Cost) -> Iterator[tuple[Step, Batch]]:
        """Yield what the attempts of this event would send, gentlest first."""
        from squidbot.core.changes.better import Better, renewed  # noqa: PLC0415  # most calls change nothing
        from squidbot.core.changes.compaction import Compactor  # noqa: PLC0415

        notes = Better(self.notes, self.shelf, self.moment.extended)
        by_estimate = _by_estimate(base.history, room)
        scene = self._scene(base, room)
        blocks, kept = renewed(Ground(scene, self.settings, notes, by_estimate), notes)
        compactor = Compactor(scene._replace(blocks=blocks), self.settings, notes, by_estimate)
        for step in (*(retelling(self.settings) if self.retells else ()), *steps(self.settings)):
            batch = compactor.batch(step)
            if batch is not None:
                yield step, batch._replace(kept_blocks=min(batch.kept_blocks, kept))

    def _scene(self, base: Standing, room: Cost) -> Scene:
        blocks, slimmed = self._parted(base)
        noted = range(blocks[0].segment.first_seq, blocks[-1].segment.last_seq + 1) if blocks else range(0)
        kept = self.shelf.steps_with(seq for seq in self.pinned if seq in noted)
        answered = self.shelf.steps_with([base.turn] if base.turn in noted else ())
        ladder, cap = self.settings.ladder, self.settings.cap
        pinned = frozenset(row.seq for row in kept) | self._pinned_in((*slimmed, *base.tail.atoms))
        behind = min(base.turn, self.moment.stored)
        return Scene(
            room=room,
            blocks=blocks,
            slimmed=lighter(slimmed, self.shelf.renderer),
            tail=lighter(base.tail.atoms, self.shelf.renderer),
            stored=self.moment.stored,
            pinned=pinned,
            held=(*kept, *answered, *self._unsent(blocks)),
            in_flight_seq=base.turn,
            marked=lambda *run: self.shelf.renderer.marked(base.markers.between(*run)),
            raw_messages=self._raw_messages(),
            kept=capped((*slimmed, *base.tail.atoms), behind, cap, pinned, noted=bool(blocks)),
            cut_by_number=bool(ladder.low_water_messages) and _too_many(base, ladder),
            beside=(spent((*self.moment.system, *base.lead)).plus(self.moment.tools).bound, spent(base.head).bound),
            unread=self.before.opened and any(one.segment.representation is Representation.ABSENT for one in blocks),
        )

    def _parted(self, base: Standing) -> tuple[tuple[Block, ...], tuple[Atom, ...]]:
        """Return the blocks before the slimmed ones, and the atoms of these."""
        cut = [block.segment for block in base.blocks if block.segment.representation is Representation.SLIMMED]
        atoms = tuple(atoms_of(self.shelf.read(cut[0].first_seq, cut[-1].last_seq))) if cut else ()
        return base.blocks[: len(base.blocks) - len(cut)], atoms

    def _unsent(self, blocks: Sequence[Block]) -> list[StoredMessage]:
        """Return the user's messages that have to be sent and are not: these blocks were told while they might go."""
        if not blocks or not self.settings.strict:
            return []
        sent = {part.first_seq for block in blocks for part in block.parts if is_user_part(part)}
        rows = self.shelf.read(blocks[0].segment.first_seq, blocks[-1].segment.last_seq)
        return [row for row in rows if row.seq not in sent and is_user_part(born(row))]

    def _raw_messages(self) -> int | None:
        """Return how many messages an event leaves raw where a number of them fires it; else the low mark's share."""
        settings = self.settings
        most, left = settings.ladder.compact_at_messages, settings.ladder.low_water_messages
        return min(most - 1, left or int(most * settings.low_fraction / settings.high_fraction)) if most else None

    def _pinned_in(self, atoms: Sequence[Atom]) -> frozenset[int]:
        """Return the seqs of the atoms in which a pinned message stands."""
        found = (atom for atom in atoms if any(row.seq in self.pinned for row in atom.messages))
        return frozenset(row.seq for atom in found for row in atom.messages)

    def applied(self, base: Standing, batch: Batch) -> Standing:
        kept = base.blocks[: batch.kept_blocks]
        segments = batch.segments[batch.kept_blocks :]
        slim = self.settings.slim_tokens(self.moment.limit.bound)
        blocks = (*kept, *self.shelf.blocks(segments, slim, base.markers, batch.summaries, kept))
        rows = [row for atom in base.tail.atoms for row in atom.messages if row.seq >= batch.tail_from_seq]
        behind = Tail(after_assistant=bool(blocks) and unanswerable(blocks[-1].parts[-1]))
        tail = behind.extended(rows, self.shelf.renderer, self._dropped_before(rows))
        return standing(base.plan, Pieces(base.lead, base.head, blocks, tail), base)

    def _dropped_before(self, rows: Sequence[StoredMessage]) -> int:
        """Return the seq before which reasoning goes: all but the open step, which providers want unchanged (R3)."""
        loop = open_step(rows)
        return self.before.messages if loop is None else loop

    def same(self, cause: str, base: Standing) -> Change:
        """Return the change that leaves history as it is: the tail is rendered anew, without stale reasoning."""
        batch = _as_it_is(base)
        return self._recorded(cause, self.applied(base, batch), batch)

    def _as_sent(self, old: Sequence[Part]) -> Sequence[Part]:
        """Return what is known to have been sent before: no more than system text and head where one is opened."""
        known = len(self.moment.system) + self.before.lead_count + len(self.before.head)
        return old[:known] if self.before.opened else old

    def _recorded(self, cause: str, made: Standing, batch: Batch) -> Change:
        parent = self.before.plan
        old = self.before.parts(self.moment.system, self.shelf.renderer)
        new = made.parts(self.moment.system, self.shelf.renderer)
        outside = self.moment.outside_changed
        changed = FirstChanged(0, new[0].first_seq, 0) if outside else first_changed(self._as_sent(old), new)
        whole_before, whole_after = spent(old).plus(self.moment.tools), spent(new).plus(self.moment.tools)
        unchanged = 0 if outside else changed.token_offset + self.moment.tools.bound
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
            imageless=still_sent(made, self.shelf.renderer),
            limits=still_limited(made, self.shelf.renderer),
            thinking_dropped_before_seq=self._dropped_before(
                [row for atom in made.tail.atoms for row in atom.messages]
            ),
            tokens_before=whole_before.bound,
            tokens_after=whole_after.bound,
            certificate=self.shelf.renderer.meter.certificate,
            first_changed=changed,
            price=price_of(whole_before, whole_after, unchanged, settings.prices, cold=self.moment.cold).with_summaries(
                settings.prices.asked(self._written(parent, batch))
            ),
        )
        return Change(record, made._replace(plan=record, opened=False), batch)

    def _written(self, parent: PlanRecord | None, batch: Batch) -> Usage:
        """Return what a model took for the summaries that are shown and were not by the plan before."""
        from squidbot.core.changes.better import writing_of  # noqa: PLC0415  # most calls change nothing

        return writing_of(self.shelf, parent.segments if parent else (), batch.segments, batch.summaries)


def _as_it_is(base: Standing) -> Batch:
    """Return what is sent as it is."""
    tail_from = base.tail.atoms[0].first_seq if base.tail.atoms else base.messages
    return Batch(tuple(block.segment for block in base.blocks), (), tail_from, len(base.blocks))


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
