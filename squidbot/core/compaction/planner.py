"""When the plan changes, and to what: only here does a request stop extending the one before it."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.budget import EMERGENCY
from squidbot.core.cached import cached_property
from squidbot.core.compaction.limits import Floors, newest_cut, outputs_first, reduced, still_limited
from squidbot.core.compaction.pressure import (
    Compaction,
    CompactionInput,
    Outlook,
    by_bound,
    by_estimate,
    capped,
    fullness,
    is_over,
    lighter,
    marked_fraction,
    noted_as,
    pays,
    pressure_fraction,
    reductions,
    retelling,
    room_of,
    saves_enough,
    still_sent,
    too_much,
)
from squidbot.core.messages import Cost, Kind
from squidbot.core.notes.texts import writing_of
from squidbot.core.plan import FirstChanged, PlanRecord, Representation, Segment, price_of
from squidbot.core.settings import LEAST_CUT_FRACTION, LEVEL_TOKENS
from squidbot.core.view.current import Pieces, PlanBlock, Tail, view_of
from squidbot.core.view.renderer import is_user_part, raw_part, shown, spent, unanswerable
from squidbot.core.view.steps import Step, open_step, session_blocks, steps_of, total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.core.budget import Ladder
    from squidbot.core.compaction.pressure import CallContext, CapLimits, NoteTaker, Reduction
    from squidbot.core.messages import Part, StoredMessage, Summary, Usage
    from squidbot.core.plan import NoteBlock, Section
    from squidbot.core.ports import CallExtensions
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.current import CurrentView, SessionContext
    from squidbot.core.view.renderer import Renderer


class NewPlan(NamedTuple):
    """A new plan, the view under it, and the compaction with its new summaries, which are stored before the plan."""

    record: PlanRecord
    view: CurrentView
    batch: Compaction


def due(view: CurrentView, call: CallContext, settings: HistorySettings, room: Cost | None = None) -> str | None:
    """Return why the plan must change before this call; `None` if it need not. `room`: what history may cost."""
    room = room or room_of(view, call)
    pressure = pressure_fraction(view.history, room)
    if pressure > 1:
        return "overflow"
    if call.changed is not None:
        return call.changed
    if call.new_turn and _beyond(view, call, settings):
        return "rollover"
    if not call.new_turn or call.paused:
        return None
    cause = _at_turn(view, call, settings, _marked_pressure(view, call, settings, room))
    # A restored plan has no mark.
    return cause if math.isinf(settings.high_fraction) else call.verdict(cause, pressure)


def _beyond(view: CurrentView, call: CallContext, settings: HistorySettings) -> bool:
    """Return whether the view has more than the scope of history allows, at a new turn, beside the new messages."""
    if call.again:
        return False  # it is sent as it was
    behind = min(view.turn, call.stored)
    raw = settings.only_in_flight and any(step.last_seq < behind for step in view.tail.steps)
    return raw or (not settings.takes_notes and any(block.segment.summary_id for block in view.blocks))


def _at_turn(view: CurrentView, call: CallContext, settings: HistorySettings, pressure: float) -> str | None:
    """Return why the plan changes before a new turn although it need not yet; `None` if it stays."""
    if pressure > settings.high_fraction or pays(view, call, settings):
        return "high-water"
    # A session that still fits whole is sent whole, whatever the cache does (promise 9).
    middle = (settings.high_fraction + settings.low_fraction) / 2
    return "cold-cache" if call.cold and view.blocks and pressure > middle else None


def _marked_pressure(
    view: CurrentView, call: CallContext, settings: HistorySettings, room: Cost | None = None
) -> float:
    """Return history's share of the room whose high-water mark comes first; infinity with too many messages.

    The same predicate triggers a compaction and tells when it has done enough.
    """
    ladder = settings.ladder
    if _too_many(view, ladder):
        return math.inf
    if settings.cap is not None and is_over(view, min(view.turn, call.stored), settings.cap):
        return math.inf
    return marked_fraction(view, room or room_of(view, call), settings)


def _too_many(view: CurrentView, ladder: Ladder) -> bool:
    """Return whether there are so many messages that their number triggers a compaction."""
    return 0 < ladder.compact_at_messages <= view.tail.messages


# Causes from the size of history, or from somebody who wants it smaller.
PRESSING = frozenset({"overflow", "high-water", "cold-cache", "manual", "tool-answer", "rollover"})
# Of these, the ones that a mark triggers: they have done enough when it would not trigger again.
MARKED = frozenset({"high-water", "cold-cache"})


@dataclass(frozen=True, slots=True)
class PlanBuilder:
    """Makes a new plan for the view before a call.

    Attributes:
        context: where the session's data stand, rendered as the plan of `before` sends them.
        notes, settings: the note taker, and the settings.
        before, call: the view with what came with the call, and the call's context.
        sections: the head to freeze.
        pinned: the pinned messages.
        retells: a summary in the view must go, so everything behind it is summarized anew.
        cuts: outputs of the newest steps are cut to what has room: nothing else makes the request fit.
    """

    context: SessionContext
    notes: NoteTaker
    settings: HistorySettings
    before: CurrentView
    call: CallContext
    sections: tuple[Section, ...]
    pinned: frozenset[int]
    retells: bool = False
    cuts: bool = False

    def new_plan(self, cause: str) -> NewPlan | None:
        """Return the new plan for a cause; `None` where it may change nothing.

        A cause that does not come from pressure compacts only where history is above the high-water mark.

        Raises:
            BudgetError: the request does not fit, and nothing makes it fit.
        """
        head = tuple(self.context.renderer.section(section) for section in self.sections)
        pieces = Pieces(self.before.lead, head, self.before.blocks, self.before.tail)
        base = view_of(self.before.plan, pieces, self.before)
        pressure = pressure_fraction(base.history, room_of(base, self.call))
        if cause not in PRESSING and not self._is_marked(base) and not self._must:
            return self.same(cause, base)
        return self._lightened(cause, base) or self.shortened(cause, base, pressure)

    def _lightened(self, cause: str, base: CurrentView) -> NewPlan | None:
        """Return the plan that sends less of single messages, and compacts history where that is not enough.

        Pictures and long answers give way before anything else does. `None` where none has to.
        """
        renderer = reduced(
            base,
            lambda: self._parted(base)[1],
            self.context.renderer,
            self.settings,
            self.pinned,
            room_of(base, self.call),
        )
        if self.cuts:
            renderer = self._cutting(base, renderer or self.context.renderer)
        if renderer is None:
            return None
        fewer = replace(self, context=self.context._replace(renderer=renderer))
        made = fewer.applied(base, _as_it_is(base)._replace(kept_blocks=0))
        pressure = pressure_fraction(made.history, room_of(made, self.call))
        if cause == "rollover" or self._must or pressure > min(1.0, self.settings.low_fraction):
            return fewer.shortened(cause, made, pressure) or fewer.same(cause, made)
        return fewer.same(cause, made)

    def _cutting(self, base: CurrentView, renderer: Renderer) -> Renderer:
        cut = dict(newest_cut(self._scene(base, room_of(base, self.call)), self.settings, renderer))
        return renderer._replace(limits=tuple(sorted((dict(renderer.limits) | cut).items())))

    def shortened(self, cause: str, base: CurrentView, pressure: float) -> NewPlan | None:
        """Return the plan that compacts history; `None` where nothing may be done.

        Raises:
            BudgetError: nothing makes the request fit.
        """
        made, smallest = self._tried(cause, base, room_of(base, self.call))
        if made is not None:
            return self._worth_it(self._recorded(*made), base, pressure)
        if pressure > 1:
            outside = self.call.outside(smallest)
            raise too_much(smallest, self.call, smallest.fixed.plus(smallest.history).plus(outside))
        return None if cause in PRESSING else self.same(cause, base)

    @property
    def _must(self) -> bool:
        """Whether history is compacted at any size: summarized anew, too long to read back whole, or out of scope.

        Otherwise a window that reads less back would show more of it raw than a larger one, which has to compact.
        """
        unread = self.before.opened and bool(self.before.blocks)
        return self.retells or unread or (self.call.new_turn and _beyond(self.before, self.call, self.settings))

    def _tried(
        self, cause: str, base: CurrentView, room: Cost
    ) -> tuple[tuple[str, CurrentView, Compaction] | None, CurrentView]:
        """Return the attempt to make, as (cause, view, compaction), and the view of the last one that was tried.

        To get below a mark, levels are lowered and notes are merged; they are cut only where nothing else fits. Where
        nothing gets below it, the gentlest attempt that fits is made, in an emergency the smallest.
        """
        found, smallest = None, base
        mark, emergency = self._mark(cause, base)
        settings = self.settings
        batch_of = self._batches(base, settings.ladder.marked_room(room, settings.high_fraction))
        for reduction in self._reductions:
            if found is not None and reduction.notes_fraction < settings.notes_fraction:
                break
            batch = batch_of(reduction)
            if batch is None:
                continue
            smallest = self.applied(base, batch)
            if pressure_fraction(smallest.history, room_of(smallest, self.call)) > 1:
                continue
            made = batch.cause(cause), smallest, batch
            if found is None or (emergency and smallest.history.bound < found[1].history.bound):
                found = made
            if _marked_pressure(smallest, self.call, settings) <= mark:
                return made, smallest
        return found, smallest

    def _mark(self, cause: str, base: CurrentView) -> tuple[float, bool]:
        """Return the pressure at which a compaction has done enough, and whether there is an emergency.

        A compaction that a mark in tokens or messages triggers goes on until the mark would not trigger again; in an
        emergency, until it is below the first rung. Otherwise what fits and saves is enough: where notes and the user's
        words fill the room up to the mark, summarizing them anew each time to get below it cost a fifth more than
        leaving them (benchmarks, talk at 32K). The same holds before the first notes, and for a new window, which shows
        all that a smaller one shows.
        """
        if cause not in MARKED or not base.blocks or base.opened:
            return math.inf, False
        mark, ladder = self.settings.high_fraction, self.settings.ladder
        # Where the mark itself is as high, every compaction is an emergency; it is then an ordinary one.
        rungs = ladder.told(fullness(base, room_of(base, self.call))) if mark < ladder.emergency_fraction else ()
        emergency = EMERGENCY in rungs
        if emergency:
            return min(mark, ladder.warn_fraction or mark), True
        return (mark if ladder.compact_at_tokens or ladder.compact_at_messages else math.inf), False

    def _is_marked(self, one: CurrentView) -> bool:
        """Return whether history is above the mark that triggers a compaction."""
        return _marked_pressure(one, self.call, self.settings) > self.settings.high_fraction

    def _worth_it(self, change: NewPlan, base: CurrentView, pressure: float) -> NewPlan:
        """Return the plan, or one that leaves history alone where nobody asked for less and this one saves little."""
        needed = pressure > 1 or change.record.cause in PRESSING or self._must
        return change if needed or saves_enough(change.record, self.settings) else self.same(change.record.cause, base)

    @property
    def _reductions(self) -> list[Reduction]:
        """The attempts to make, gentlest first."""
        return [*(retelling(self.settings) if self.retells else ()), *reductions(self.settings)]

    def _batches(self, base: CurrentView, room: Cost) -> Callable[[Reduction], Compaction | None]:
        """Return what makes the compaction of each attempt; `None` where that may move nothing."""
        notes = ExtendedNotes(self.notes, self.context, self.call.extended)
        by_estimate = _by_estimate(base.history, room)
        source = self._scene(base, room)
        compactor = Compactor(source, self.settings, notes, by_estimate)
        blocks, kept, made = renewed(compactor, notes)
        compactor = replace(compactor, source=source._replace(blocks=blocks))

        def batch_of(reduction: Reduction) -> Compaction | None:
            batch = compactor.batch(reduction)
            if batch is None:
                return None
            told = {segment.summary_id for segment in batch.segments}
            summaries = (*(one for one in made if one.summary_id in told), *batch.summaries)
            return batch._replace(kept_blocks=min(batch.kept_blocks, kept), summaries=summaries)

        return batch_of

    def _scene(self, base: CurrentView, room: Cost) -> CompactionInput:
        blocks, slimmed = self._parted(base)
        noted = range(blocks[0].segment.first_seq, blocks[-1].segment.last_seq + 1) if blocks else range(0)
        kept = self.context.steps_with(seq for seq in self.pinned if seq in noted)
        answered = self.context.steps_with([base.turn] if base.turn in noted else ())
        ladder, cap = self.settings.ladder, self.settings.cap
        pinned = frozenset(row.seq for row in kept) | self._pinned_in((*slimmed, *base.tail.steps))
        behind = min(base.turn, self.call.stored)
        return CompactionInput(
            room=room,
            blocks=blocks,
            slimmed=lighter(slimmed, self.context.renderer),
            tail=lighter(base.tail.steps, self.context.renderer),
            stored=self.call.stored,
            pinned=pinned,
            held=(*kept, *answered, *self._unsent(blocks)),
            in_flight_seq=base.turn,
            marked=lambda *run: self.context.renderer.marked(base.markers.between(*run)),
            raw_messages=self._raw_messages(),
            kept=capped((*slimmed, *base.tail.steps), behind, cap, pinned, noted=bool(blocks)),
            cut_by_number=bool(ladder.low_water_messages) and _too_many(base, ladder),
            beside=(spent((*self.call.system, *base.lead)).plus(self.call.tools).bound, spent(base.head).bound),
            unread=self.before.opened
            and any(block.segment.representation is Representation.ABSENT for block in blocks),
        )

    def _parted(self, base: CurrentView) -> tuple[tuple[PlanBlock, ...], tuple[Step, ...]]:
        """Return the blocks before the slimmed ones, and the steps of these."""
        cut = [block.segment for block in base.blocks if block.segment.representation is Representation.SLIMMED]
        steps = tuple(steps_of(self.context.read(cut[0].first_seq, cut[-1].last_seq))) if cut else ()
        return base.blocks[: len(base.blocks) - len(cut)], steps

    def _unsent(self, blocks: Sequence[PlanBlock]) -> list[StoredMessage]:
        """Return the user's messages that must be sent and are not: these blocks were noted while they might go."""
        if not blocks or not self.settings.strict:
            return []
        sent = {part.first_seq for block in blocks for part in block.parts if is_user_part(part)}
        rows = self.context.read(blocks[0].segment.first_seq, blocks[-1].segment.last_seq)
        return [row for row in rows if row.seq not in sent and is_user_part(raw_part(row))]

    def _raw_messages(self) -> int | None:
        """Return how many messages stay raw where their number triggers a compaction; `None` where it does not."""
        settings = self.settings
        most, left = settings.ladder.compact_at_messages, settings.ladder.low_water_messages
        return min(most - 1, left or int(most * settings.low_fraction / settings.high_fraction)) if most else None

    def _pinned_in(self, steps: Sequence[Step]) -> frozenset[int]:
        """Return the seqs of the steps in which a pinned message stands."""
        if not self.pinned:
            return frozenset()
        found = (step for step in steps if any(row.seq in self.pinned for row in step.messages))
        return frozenset(row.seq for step in found for row in step.messages)

    def applied(self, base: CurrentView, batch: Compaction) -> CurrentView:
        """Return the view after a compaction."""
        kept = base.blocks[: batch.kept_blocks]
        segments = batch.segments[batch.kept_blocks :]
        slim = self.settings.slim_tokens(self.call.limit.bound)
        held = [row for step in base.tail.steps for row in step.messages]
        blocks = (*kept, *self.context.blocks(segments, slim, base.markers, batch.summaries, kept, held))
        rows = [row for row in held if row.seq >= batch.tail_from_seq]
        behind = Tail(after_assistant=bool(blocks) and unanswerable(blocks[-1].parts[-1]))
        tail = behind.extended(rows, self.context.renderer, self._dropped_before(rows))
        return view_of(base.plan, Pieces(base.lead, base.head, blocks, tail), base)

    def _dropped_before(self, rows: Sequence[StoredMessage]) -> int:
        """Return the seq before which reasoning goes: all but the open step, which providers want unchanged (R3)."""
        loop = open_step(rows)
        return self.before.messages if loop is None else loop

    def same(self, cause: str, base: CurrentView) -> NewPlan:
        """Return the plan that leaves history as it is: the tail is rendered anew, without stale reasoning."""
        batch = _as_it_is(base)
        return self._recorded(cause, self.applied(base, batch), batch)

    def _as_sent(self, old: Sequence[Part]) -> Sequence[Part]:
        """Return what is known to have been sent before: only system text and head where a window is opened."""
        known = len(self.call.system) + self.before.lead_count + len(self.before.head)
        return old[:known] if self.before.opened else old

    def _recorded(self, cause: str, made: CurrentView, batch: Compaction) -> NewPlan:
        parent = self.before.plan
        old = self.before.parts(self.call.system, self.context.renderer)
        new = made.parts(self.call.system, self.context.renderer)
        outside = self.call.outside_changed
        changed = FirstChanged(0, new[0].first_seq, 0) if outside else first_changed(self._as_sent(old), new)
        whole_before, whole_after = spent(old).plus(self.call.tools), spent(new).plus(self.call.tools)
        unchanged = 0 if outside else changed.token_offset + self.call.tools.bound
        settings = self.settings
        record = PlanRecord(
            plan_id=parent.plan_id + 1 if parent else 0,
            parent_plan_id=parent.plan_id if parent else None,
            window_id="",
            created_at=self.call.now,
            cause=cause,
            segments=batch.segments,
            tail_from_seq=batch.tail_from_seq,
            sections=self.sections,
            slim_tokens=settings.slim_tokens(self.call.limit.bound),
            imageless=still_sent(made, self.context.renderer),
            limits=still_limited(made, self.context.renderer),
            thinking_dropped_before_seq=self._dropped_before(
                [row for step in made.tail.steps for row in step.messages]
            ),
            tokens_before=whole_before.bound,
            tokens_after=whole_after.bound,
            certificate=self.context.renderer.meter.certificate,
            first_changed=changed,
            price=price_of(whole_before, whole_after, unchanged, settings.prices, cold=self.call.cold).with_summaries(
                settings.prices.asked(self._written(parent, batch))
            ),
        )
        return NewPlan(record, made._replace(plan=record, opened=False), batch)

    def _written(self, parent: PlanRecord | None, batch: Compaction) -> Usage:
        """Return what a model took for the summaries that are shown and were not by the plan before."""
        return writing_of(self.context, parent.segments if parent else (), batch.segments, batch.summaries)


def _as_it_is(base: CurrentView) -> Compaction:
    """Return what is sent as it is."""
    tail_from = base.tail.steps[0].first_seq if base.tail.steps else base.messages
    return Compaction(tuple(block.segment for block in base.blocks), (), tail_from, len(base.blocks))


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


# Everything summarized anew: the newest blocks in notes of their own, by level, behind one note on all
# older ones.

# Room for what stands between notes and messages, a pointer, a notice that keeps the request valid: at most this share.
MARKS_TOKENS, MARKS_FRACTION = 64, 0.05
# What heads a note, its id, how many messages it is on and how to see them, costs 34 to 44 tokens by the default
# counter; with one line beside it even a note on two turns says which file they touched.
HEADER_TOKENS = 64
NOTHING = Cost(0, 0)
_SAID = frozenset({Kind.MESSAGE, Kind.SLIMMED, Kind.SYSTEM, Kind.AUTOMATED})


def filled(room: float, settings: HistorySettings) -> float:
    """Return how much of a room notes and messages may fill where everything is summarized anew; grows with it."""
    return settings.full_fraction * room - marks(room)


def marks(room: float) -> float:
    """Return the room for what stands between notes and messages."""
    return min(MARKS_TOKENS, MARKS_FRACTION * room)


class _Ranked(NamedTuple):
    """A block that keeps notes of its own, their level, and the room for them."""

    run: NoteBlock
    level: Representation
    limit_tokens: int


class _Noted(NamedTuple):
    """A summary, its level, and the parts that are sent verbatim behind it."""

    summary: Summary
    level: Representation
    beside: list[Part]

    @property
    def segment(self) -> Segment:
        """The segment of the plan."""
        return noted_as(self.summary, self.level, tuple([part.first_seq for part in self.beside]))


def _reaches_over(text: Summary, run: NoteBlock) -> bool:
    """Return whether a summary is on messages of a run and on others."""
    return text.first_seq < run.first_seq <= text.last_seq or text.first_seq <= run.last_seq < text.last_seq


def _absent(first_seq: int, last_seq: int, kept: Iterable[Part]) -> Segment:
    verbatim = tuple(part.first_seq for part in kept if part.first_seq <= last_seq)
    return Segment(first_seq, last_seq, Representation.ABSENT, None, verbatim)


# Which messages become a summary, and which stay: one compaction, from the high-water mark down to
# the low one.


class Zones(NamedTuple):
    """The movable steps, oldest first, by what a compaction does with them."""

    noted: tuple[Step, ...]
    slimmed: tuple[Step, ...]
    raw: tuple[Step, ...]
    limits: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Compactor:
    """Makes compactions of one history: new notes behind those there are, or one note on everything.

    Whatever has to fit is measured in both units: what binds a long history need not bind what a new plan makes of it.
    `by_estimate`: the policy's unit binds before the window does, and prices are in it.
    """

    source: CompactionInput
    settings: HistorySettings
    notes: NoteTaker
    by_estimate: bool

    def size(self, cost: Cost) -> int:
        """Return a cost in the unit that binds."""
        return cost.estimate if self.by_estimate else cost.bound

    @property
    def room(self) -> int:
        """What history may cost, in the unit that binds."""
        return self.size(self.source.room)

    @property
    def least_room(self) -> int:
        """The smaller of what history may cost in either unit: no text counts more words than it has tokens."""
        return min(self.source.room)

    def blocks_of(self, moved: Sequence[Step]) -> list[list[Step]]:
        """Return steps as session blocks."""
        most = self.settings.block_max_tokens(self.source.room.bound)
        return session_blocks(moved, gap_seconds=self.settings.gap_seconds, max_tokens=most)

    def level_tokens(self, said_tokens: int, level: Representation) -> int:
        """Return the room for notes of a level: a share of what was said beside what heads a note, up to the cap."""
        most = self.settings.level_tokens(level, self.source.room.bound)
        share = self.settings.note_rate * LEVEL_TOKENS[level] / LEVEL_TOKENS[Representation.DETAILED]
        return max(self.settings.min_note_tokens, min(most, HEADER_TOKENS + round(said_tokens * share)))

    def fold_tokens(self, reduction: Reduction) -> int:
        """Return the room for all notes where everything is summarized anew."""
        tokens = round(reduction.notes_fraction * self.least_room * self.settings.fold_fraction)
        return tokens if self.source.kept is None else min(tokens, self.source.kept.notes)

    def stays(self, step: Step) -> bool:
        """Return whether a step is sent verbatim behind its notes."""
        said = step.is_own and self.settings.keeps_users
        said = said or (step.is_user and step.first_seq == self.source.in_flight_seq)
        return said or any(message.seq in self.source.pinned for message in step.messages)

    def user_share(self, reduction: Reduction, said: Cost, size: Callable[[Cost], int]) -> float:
        """Return what the user's messages may cost behind notes in one unit, if `said` was: by high and low water.

        Cut to the high one, the next turn would cut them again. Where not all was read back, a larger window, which
        reads more, may have to cut; so the low one holds (promise 8).
        """
        if self.settings.strict:
            return math.inf
        if not self.settings.keeps_users:
            return 0.0
        share = reduction.user_fraction * size(self.source.room)
        return share * self.settings.user_low_fraction if size(said) > share or self.source.unread else share

    @property
    def foldable(self) -> list[PlanBlock]:
        """The blocks that show a summary or messages."""
        return [block for block in self.source.blocks if block.segment.representation is not Representation.ABSENT]

    # -- one compaction ------------------------------------------------------------------------------------------------

    def batch(self, reduction: Reduction) -> Compaction | None:
        """Return the compaction of one attempt; `None` where it may move nothing."""
        if (first := self._outputs_first(reduction)) is not None:
            return first
        zones = self._zones(reduction)
        if zones.noted:
            appends = reduction.gentle and self._append_pays(zones, reduction)
            made = self._append(zones.noted) if appends else self._folded(zones, reduction)
            return self._slimmed_behind(made, zones)
        if self.foldable and (self._lost() or not reduction.gentle):
            return self._slimmed_behind(self._folded(zones, reduction), zones)
        if len(zones.slimmed) > len(self.source.slimmed) or zones.limits:
            return self._slimmed_behind(self._append(()), zones)
        return None

    def _outputs_first(self, reduction: Reduction) -> Compaction | None:
        """Return the compaction that cuts tool outputs alone, at the gentlest attempt, where they pass their share."""
        if not reduction.gentle or self.settings.category_weights is None or self._lost():
            return None
        return outputs_first(self.source, self.settings, self._least_raw, self._slim_cost)

    def _folded(self, zones: Zones, reduction: Reduction) -> Compaction:
        """Return the fold of these zones; attempts that differ in nothing that it depends on share one."""
        (_, bound), (_, estimate) = self._shares(reduction, by_bound), self._shares(reduction, by_estimate)
        sizes = len(zones.noted), len(zones.slimmed), reduction.user_fraction, reduction.notes_fraction, bound, estimate
        if sizes not in self._folds:
            behind = total((*map(self._slim_cost, zones.slimmed), *[step.sent_cost for step in zones.raw]))
            self._folds[sizes] = self._fold(zones.noted, reduction, behind, (bound, estimate))
        return self._folds[sizes]

    @cached_property
    def _folds(self) -> dict[tuple[float, ...], Compaction]:
        """The folds that were made so far, by what they depend on."""
        return {}

    # -- what stays raw, what is slimmed, what is noted -------------------------------------------------------

    def _zones(self, reduction: Reduction) -> Zones:
        """Return how the movable steps are dealt with: raw to the low-water mark, then slimmed, the rest noted."""
        movable = (*self.source.slimmed, *self.source.tail)
        if self.source.kept is not None:
            return self._capped(movable, self.source.kept, reduction)
        raw = self._raw_count(reduction)
        slimmed, used = 0, Cost(0, 0)
        for step in reversed(movable[: len(movable) - raw]) if reduction.slim_fraction else ():
            used = used.plus(self._slim_cost(step))
            if any(size(used) > reduction.slim_fraction * size(self.source.room) for size in (by_bound, by_estimate)):
                break
            slimmed += 1
        cut = len(movable) - raw - slimmed
        return Zones(movable[:cut], movable[cut : cut + slimmed], movable[cut + slimmed :])

    def _capped(self, movable: tuple[Step, ...], kept: CapLimits, reduction: Reduction) -> Zones:
        """Return what the caps leave, if the window has room for it, else no more of it than its own marks leave."""
        count = kept.steps
        whole = total([step.sent_cost for step in movable]).plus(self._blocks_cost)
        if whole.bound > self.settings.high_fraction * self.source.room.bound or not self._stays_raw(movable[-count:]):
            count = max(self._floors.always(), min(count, self._raw_count(reduction)))
        cut = len(movable) - count
        limited = {seq for seq, _ in kept.limits}
        stays = [any(row.seq in limited for row in step.messages) for step in movable]
        ends = [place + 1 for place in range(cut, len(movable)) if place < len(self.source.slimmed) or stays[place]]
        behind = max(ends, default=cut)
        return Zones(movable[:cut], movable[cut:behind], movable[behind:], kept.limits)

    def _slim_cost(self, step: Step) -> Cost:
        """Return what a step costs with its tool outputs cut."""
        if self.source.kept is not None:
            return step.sent_cost
        most = self.settings.slim_tokens(self.source.room.bound)
        costs = ((message.sent_cost, message.result_ids) for message in step.messages)
        return total(Cost(min(one.estimate, most), min(one.bound, most)) if cut else one for one, cut in costs)

    def _raw_count(self, reduction: Reduction) -> int:
        """Return how many of the newest steps stay raw: what the low-water mark leaves, at least the floor.

        Both units must leave it, whichever binds: else a larger window could show less than a smaller one.
        """
        least = self._least_raw
        if not reduction.keep_fraction:
            return least
        raw = max(1, min(self._raw_by(reduction, by_bound), self._raw_by(reduction, by_estimate)))
        if self.source.raw_messages is not None:
            raw = self._by_number(reduction, raw, self._floors.by_number(self.source.raw_messages))
        return max(least, raw)

    def _by_number(self, reduction: Reduction, raw: int, number: int) -> int:
        """Return how many of the newest steps stay, by size (`raw`) and by number of messages (`number`).

        The smaller count; but just `number` where it has a low-water mark of its own, triggered this, and fits well.
        """
        if reduction.keep_fraction < self.settings.low_fraction or not self.source.cut_by_number or number <= raw:
            return min(raw, number)
        cost = total([step.sent_cost for step in self.source.tail[len(self.source.tail) - number :]])
        share = max(self.settings.low_fraction, self.settings.high_fraction - LEAST_CUT_FRACTION)
        fits = all(size(cost) <= share * size(self.source.room) for size in (by_bound, by_estimate))
        return number if fits else raw

    @cached_property
    def _floors(self) -> Floors:
        return Floors(self.source.tail, self.source.stored, self.source.in_flight_seq, self.settings)

    @cached_property
    def _least_raw(self) -> int:
        """How many of the newest steps stay raw in each attempt of this compaction."""
        return self._floors.fitting(self._stays_raw)

    @cached_property
    def _blocks_cost(self) -> Cost:
        return total([block.cost for block in self.source.blocks])

    @cached_property
    def _tail_cost(self) -> Cost:
        return total([step.sent_cost for step in self.source.tail])

    def _stays_raw(self, steps: Sequence[Step]) -> bool:
        """Return whether steps may stay as a floor: beside what must be sent, and the user's words in front of them.

        It is the same for each attempt: if the user's words gave way for it in a small window, a larger window, whose
        first attempt keeps them, would not have it (promise 8).
        """
        settings, said = self.settings, self._said_in_all
        cost = total([step.sent_cost for step in steps])
        for size in (by_bound, by_estimate):
            room = size(self.source.room)
            beside = settings.slim_fraction * room + size(self._held) + marks(room)
            share = room if settings.strict else settings.user_verbatim_fraction * room * settings.keeps_users
            if size(cost) > room - beside - min(size(said), share):
                return False
        return True

    def _raw_by(self, reduction: Reduction, size: Callable[[Cost], int]) -> int:
        """Return how many of the newest steps the low-water mark leaves in one unit."""
        budget, _ = self._shares(reduction, size)
        kept = used = 0
        for step in reversed(self.source.tail):
            used += size(step.sent_cost)
            if kept and used > budget:
                break
            kept += 1
        return kept

    def _shares(self, reduction: Reduction, size: Callable[[Cost], int]) -> tuple[float, float]:
        """Return what raw messages, and the user's messages in front of them, may cost in one unit.

        Both grow with the room, so that a larger room never shows less. What cannot give way comes first, then the
        user's share, then half the room for notes, then raw messages up to the low-water mark.
        """
        room, settings = size(self.source.room), self.settings
        prefix, tail = size(self._blocks_cost), size(self._tail_cost)
        notes = min(tail * settings.note_rate, reduction.notes_fraction * room)
        raw = settings.raw_tokens(reduction.keep_fraction - reduction.slim_fraction, room, prefix + notes)
        least_notes = reduction.notes_fraction * settings.fold_fraction * room / 2
        beside = reduction.slim_fraction * room + size(self._held)
        everything = size(self._said_in_all)
        said = everything if settings.strict else reduction.user_fraction * room
        raw = (
            min(raw, filled(room, settings) - least_notes - beside - min(everything, said))
            if reduction.keep_fraction
            else 0.0
        )
        least = self._least_raw
        newest = size(total([step.sent_cost for step in self.source.tail[len(self.source.tail) - least :]]))
        behind = max(raw, newest, settings.keep_fraction * room)
        return raw, min(said, room - marks(room) - beside - behind)

    @cached_property
    def _held(self) -> Cost:
        """What must be sent in front of what stays raw: pinned steps, the question in flight, marked lines."""
        pinned = [row for step in self.source.tail for row in step.messages if row.seq in self.source.pinned]
        marked = self.source.marked(0, self.source.stored, ())
        return total([row.sent_cost for row in (*self.source.held, *pinned)]).plus(spent(marked))

    @cached_property
    def _said_in_all(self) -> Cost:
        """What the user's messages cost, those of all movable steps with them."""
        return self._said((*self.source.slimmed, *self.source.tail))

    def _said(self, steps: Sequence[Step]) -> Cost:
        """Return what the user's messages cost that stand verbatim behind notes, with those of these steps."""
        words = [part.cost for block in self.source.blocks for part in block.parts if is_user_part(part)]
        return total([*words, *[step.sent_cost for step in steps if step.is_own]])

    # -- a new note behind the ones that stand ----------------------------------------------------------------

    def _append_pays(self, zones: Zones, reduction: Reduction) -> bool:
        """Return whether another note fits beside those that stand, and is cheaper than one note on everything."""
        kept_tokens = sum(block.segment.note_tokens for block in self.source.blocks)
        added = sum(self._note_tokens(block) for block in self.blocks_of(zones.noted))
        most = reduction.notes_fraction * self.least_room if self.source.kept is None else self.source.kept.notes
        if not self._chains(zones.noted, reduction) or kept_tokens + added > most:
            return False
        prefix = self.size(self._blocks_cost)
        raw = self.size(total([step.sent_cost for step in (*zones.slimmed, *zones.raw)]))
        raw += self.size(spent(self.source.marked(zones.noted[0].first_seq, zones.noted[-1].last_seq, ())))
        folded = min(self.fold_tokens(reduction), kept_tokens + added)
        outlook = self._outlook()
        appended = outlook.cost_per_request(after=prefix + added + raw, written=added + raw)
        after = prefix - kept_tokens + folded + raw
        return appended <= outlook.cost_per_request(after=after, written=after)

    def _chains(self, noted: Sequence[Step], reduction: Reduction) -> bool:
        """Return whether notes are added to those there are at all, and the user's words fit beside them."""
        if not (self.settings.chain and self.settings.takes_notes) or self._lost():
            return False
        said = self._said(noted if self.settings.keeps_users else ())
        return all(size(said) <= self.user_share(reduction, said, size) for size in (by_bound, by_estimate))

    def _lost(self) -> bool:
        """Return whether something that must be verbatim is not: it was pinned after it had been summarized."""
        sent = {part.first_seq for block in self.source.blocks for part in block.parts if part.payload is not None}
        return any(row.seq not in sent for row in self.source.held)

    def _outlook(self) -> Outlook:
        tail = self.source.tail
        growth = self.size(self._tail_cost) / max(1, len(tail))
        settings = self.settings
        return Outlook(settings.high_fraction * self.room, growth, settings.read_price, settings.write_price)

    def _note_tokens(self, block: Sequence[Step]) -> int:
        """Return the room for the notes on a block."""
        return self.level_tokens(sum(step.cost.bound for step in block), Representation.DETAILED)

    def _append(self, noted: Sequence[Step]) -> Compaction:
        segments = [block.segment for block in self.source.blocks]
        before = [part for block in self.source.blocks for part in block.parts]
        summaries = []
        for run in self.blocks_of(noted):
            kept = [message for step in run if self.stays(step) for message in step.messages]
            verbatim = tuple(message.seq for message in kept)
            beside = [*self.source.marked(run[0].first_seq, run[-1].last_seq, verbatim), *map(raw_part, kept)]
            summary = self.notes.note(self.notes.read_block(run), [*before, *beside], self._note_tokens(run))
            before += [shown(summary), *beside]
            segments.append(noted_as(summary, Representation.SUMMARY_USER, verbatim))
            summaries.append(summary)
        tail_from = noted[-1].last_seq + 1 if noted else self._movable_from()
        runs = tuple((made.first_seq, made.last_seq) for made in summaries)
        return Compaction(tuple(segments), tuple(summaries), tail_from, len(self.source.blocks), runs)

    def _movable_from(self) -> int:
        return (*self.source.slimmed, *self.source.tail)[0].first_seq

    def _slimmed_behind(self, batch: Compaction, zones: Zones) -> Compaction:
        if not zones.slimmed:
            return batch
        first, last = zones.slimmed[0].first_seq, zones.slimmed[-1].last_seq
        limits = tuple((seq, most) for seq, most in zones.limits if first <= seq <= last)
        cut = {seq for seq, _ in limits}
        stays = [step for step in zones.slimmed if self.source.kept is not None or self.stays(step)]
        whole = tuple(row.seq for step in stays for row in step.messages if row.seq not in cut)
        segment = Segment(first, last, Representation.SLIMMED, None, whole, limits=limits)
        return batch._replace(segments=(*batch.segments, segment), tail_from_seq=last + 1)

    # -- one note on everything, the newest blocks in notes of their own -----------------------------------------------

    def _fold(
        self, noted: Sequence[Step], reduction: Reduction, behind: Cost, users: tuple[float, float]
    ) -> Compaction:
        """Return the compaction that summarizes everything anew; `noted` are the newest steps of it.

        The user's messages may cost `users`, as (bound, estimate). Notes get what these, and what stays `behind` them,
        leave of their room, less a part to grow into.
        """
        first, told_from, last = self._fold_range(noted)
        kept = self._verbatim(self._sayable(noted), reduction, users)
        marked = self._marked(first, last, kept)
        limit = min(self.fold_tokens(reduction), self._left(behind.plus(spent((*marked, *kept)))))
        if limit < self.settings.min_note_tokens:
            return Compaction((_absent(first, last, kept),), (), last + 1, 0)
        new = [self.notes.read_block(block) for block in self.blocks_of(noted)] if noted else []
        reach = min(last + 1, self.notes.reach(first, told_from))
        unreached = (_absent(first, reach - 1, kept),) if reach > first else ()
        if reach > last:
            return Compaction(unreached, (), last + 1, 0)
        made = self._told([part for part in kept if part.first_seq >= reach], (reach, last), new, limit)
        segments = (*unreached, *(one.segment for one in made))
        summaries = tuple(one.summary for one in made)
        return Compaction(segments, summaries, last + 1, 0, tuple((run.first_seq, run.last_seq) for run in new))

    def _left(self, beside: Cost) -> int:
        """Return the room for notes `beside` other parts, in the tighter unit, less a part to grow into."""
        return min(
            int(filled(size(self.source.room), self.settings)) - size(beside) for size in (by_bound, by_estimate)
        )

    def _told(self, kept: Sequence[Part], span: tuple[int, int], new: Sequence[NoteBlock], limit: int) -> list[_Noted]:
        """Return the notes on a span of messages: the newest blocks at their levels behind one note on the rest."""
        first, last = span
        runs = (*self.notes.runs(self._merged_through()), *new)
        ranked = self._ranked([run for run in runs if first <= run.first_seq], last, limit)
        merged_through = ranked[0].run.first_seq - 1 if ranked else last
        made: list[_Noted] = []
        before: list[Part] = []
        if merged_through >= first:
            beside = [part for part in kept if part.first_seq <= merged_through]
            own_tokens = sum(one.limit_tokens for one in ranked)
            before = [*self._marked(first, merged_through, beside), *beside]
            most = self.settings.merged_tokens(limit - own_tokens)
            summary = self.notes.merged_note(first, merged_through, new, before, most)
            made.append(_Noted(summary, Representation.MERGED, beside))
            before += [shown(summary)]
        for run, level, limit_tokens in ranked:
            beside = [part for part in kept if run.first_seq <= part.first_seq <= run.last_seq]
            sent = [*self._marked(run.first_seq, run.last_seq, beside), *beside]
            summary = self.notes.note(run, [*before, *sent], limit_tokens, level)
            made.append(_Noted(summary, level, beside))
            before += [shown(summary), *sent]
        return made

    def _marked(self, first_seq: int, last_seq: int, kept: Iterable[Part]) -> Sequence[Part]:
        """Return the parts that say what these messages mark, but for those that are kept verbatim."""
        return self.source.marked(first_seq, last_seq, frozenset([part.first_seq for part in kept]))

    def _merged_through(self) -> int:
        """Return the last message that a note on many blocks covers, or no note at all; -1 where there is none."""
        blocks = [block.segment for block in self.source.blocks]
        whole = {Representation.MERGED, Representation.ABSENT}
        return max((block.last_seq for block in blocks if block.representation in whole), default=-1)

    def _ranked(self, runs: Sequence[NoteBlock], last_seq: int, limit: int) -> list[_Ranked]:
        """Return the blocks that keep notes of their own, oldest first: the newest by rank, while they fit.

        All of them together take at most `level_fraction` of the room for notes; what is older is merged. They follow
        each other without a hole up to the last message, and to a language model's summary that is on more than one:
        only the note on many could use that.
        """
        ranked: list[_Ranked] = []
        texts = self.notes.texts_on(runs[0].first_seq, last_seq) if runs else []
        left = limit * self.settings.level_fraction
        for run, level in zip(reversed(runs), self.settings.ranks(), strict=False):
            tokens = self.level_tokens(run.tokens, level)
            left -= tokens
            if left < 0 or run.last_seq != last_seq or any(_reaches_over(text, run) for text in texts):
                break
            ranked.append(_Ranked(run, level, tokens))
            last_seq = run.first_seq - 1
        return ranked[::-1]

    def _fold_range(self, noted: Sequence[Step]) -> tuple[int, int, int]:
        """Return the first message of all, the first one that a note may cover, and the last one."""
        blocks = self.foldable
        told_from = blocks[0].segment.first_seq if blocks else noted[0].first_seq
        last = noted[-1].last_seq if noted else blocks[-1].segment.last_seq
        first = self.source.blocks[0].segment.first_seq if self.source.blocks else told_from
        return first, told_from, last

    def _sayable(self, noted: Sequence[Step]) -> list[Part]:
        """Return what could stand verbatim beside a fold, in order: what does so now, and what must from now on."""
        said = [part for block in self.source.blocks for part in block.parts if part.kind in _SAID]
        new = [message for step in noted if self.stays(step) for message in step.messages]
        parts = {part.first_seq: part for part in (*said, *map(raw_part, (*self.source.held, *new)))}
        return [parts[seq] for seq in sorted(parts)]

    def _verbatim(self, sent: Sequence[Part], reduction: Reduction, users: tuple[float, float]) -> list[Part]:
        """Return what stays verbatim beside a fold: pins, the message being answered, and of the user's what fits.

        A long one does not make all older ones give way. The order does not depend on the room: more room only adds.
        """
        said = [part for part in sent if is_user_part(part)]
        cost = total([part.cost for part in said])
        most_bound = min(self.user_share(reduction, cost, by_bound), users[0])
        most_estimate = min(self.user_share(reduction, cost, by_estimate), users[1])
        kept = {part.first_seq for part in sent if self._must(part)}
        used = NOTHING
        for part in self._short_and_new_first(said):
            if part.first_seq not in kept:
                used = used.plus(part.cost)
                if used.bound > most_bound or used.estimate > most_estimate:
                    break
                kept.add(part.first_seq)
        return [part for part in sent if part.first_seq in kept]

    def _short_and_new_first(self, said: Iterable[Part]) -> list[Part]:
        """Return messages of the user's by their cost times the number of the user's messages from there on."""
        own = {step.first_seq for step in (*self.source.slimmed, *self.source.tail) if step.is_own}
        ranks = {seq: rank for rank, seq in enumerate(sorted(own.union(part.first_seq for part in said))[::-1], 1)}
        return sorted(said, key=lambda part: (part.cost.bound * ranks[part.first_seq], ranks[part.first_seq]))

    def _must(self, part: Part) -> bool:
        pinned = part.first_seq in self.source.pinned or part.first_seq == self.source.in_flight_seq
        return pinned or (self.settings.strict and is_user_part(part))


# Notes with what language models and extensions say.

# The maker of a text that an extension put in the place of another.
MADE_BY = "extension"
# The level of the notes on a block in each representation that shows notes of its own.
LEVELS = {
    Representation.SUMMARY_USER: Representation.DETAILED,
    Representation.DETAILED: Representation.DETAILED,
    Representation.MODERATE: Representation.MODERATE,
    Representation.COMPACT: Representation.COMPACT,
}
# Better notes enter only as far in front as this share of what stands behind all notes: what they move is written to
# the prompt cache anew, and a compaction always writes its own notes and the raw messages.
RENEWED_FRACTION = 0.5


class ExtendedNotes:
    """A note taker that shows an extension's text in place of a note, for one compaction."""

    def __init__(self, notes: NoteTaker, context: SessionContext, extended: CallExtensions | None = None) -> None:
        """Take the maker of notes, and the extensions."""
        self._notes = notes
        self._context = context
        self._extended = extended

    def reach(self, first_seq: int, new_seq: int) -> int:
        """Return the oldest seq, `first_seq` or later, that one note on everything tells of; `new_seq` for none."""
        return self._notes.reach(first_seq, new_seq)

    def runs(self, after_seq: int) -> tuple[NoteBlock, ...]:
        """Return the blocks behind `after_seq`, oldest first: what is kept of each makes a note of its own."""
        return self._notes.runs(after_seq)

    def read_block(self, steps: Sequence[Step]) -> NoteBlock:
        """Read steps as a block that is noted for the first time."""
        return self._notes.read_block(steps)

    def note(
        self,
        run: NoteBlock,
        before: Sequence[Part],
        limit_tokens: int,
        level: Representation = Representation.DETAILED,
    ) -> Summary:
        """Return notes on a block, or an extension's text in their place."""
        return self._represented(self._notes.note(run, before, limit_tokens, level), limit_tokens)

    def merged_note(
        self, first_seq: int, last_seq: int, new: Sequence[NoteBlock], before: Sequence[Part], limit_tokens: int
    ) -> Summary:
        """Return one note on all messages from `first_seq` to `last_seq`, or an extension's text in its place."""
        return self._represented(self._notes.merged_note(first_seq, last_seq, new, before, limit_tokens), limit_tokens)

    def texts_on(self, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the language models' summaries that notes on these messages take sentences from, oldest first."""
        return self._notes.texts_on(first_seq, last_seq)

    def has_more(self, segment: Segment, run: NoteBlock) -> bool:
        """Return whether language models wrote of a block what its notes in the plan were made without.

        Raises:
            StoreError: the store failed.
        """
        texts = self.texts_on(run.first_seq, run.last_seq)
        if not texts or segment.summary_id is None or segment.representation not in LEVELS:
            return False
        found = self._context.summaries.by_id(self._context.session_id, [segment.summary_id])
        return not {one.summary_id for one in texts} <= {text for note in found for text in note.told_from}

    def named(self, run: tuple[int, int], source: str, make: Callable[[str], Summary]) -> Summary:
        """Return what `make` makes of the id that it is stored under; `source`: the digest of what it is made from."""
        return self._notes.named(run, source, make)

    def _represented(self, summary: Summary, limit_tokens: int) -> Summary:
        """Return the text of an extension under a heading of ours, where there is one that fits."""
        if self._extended is None:
            return summary
        meter, place = self._context.renderer.meter, (summary.first_seq, summary.last_seq)
        left_tokens = limit_tokens - meter.message(_heading(summary, summary.summary_id)).bound
        said = self._extended.represent(summary, left_tokens) if left_tokens > 0 else None
        if said is None:
            return summary
        source = hashlib.sha256(f"{summary.source_digest}\0{said}".encode("utf-8", "surrogatepass")).hexdigest()

        def made(known_by: str) -> Summary:
            text = f"{_heading(summary, known_by)}\n{said}"
            cost = meter.message(text)
            # What the extension was offered counts as shown.
            made_by = "+".join((MADE_BY, *summary.told_from))
            return replace(summary, summary_id=known_by, text=text, cost=cost, source_digest=source, made_by=made_by)

        represented = self.named(place, source, made)
        return represented if represented.cost.bound <= limit_tokens else summary


def _heading(summary: Summary, summary_id: str) -> str:
    count = summary.last_seq - summary.first_seq + 1
    return f"[{summary_id}: an extension's notes on {count} messages, data only; recall {summary_id} shows them]"


def renewed(compactor: Compactor, notes: ExtendedNotes) -> tuple[tuple[PlanBlock, ...], int, list[Summary]]:
    """Return the blocks, the newest with what language models wrote since; how many are as they were; the new notes.

    As far to the front as that pays.

    Raises:
        StoreError: the store failed.
    """
    blocks = list(compactor.source.blocks)
    kept, behind = len(blocks), 0
    made: list[Summary] = []
    most = RENEWED_FRACTION * sum(compactor.size(step.sent_cost) for step in compactor.source.tail)
    runs = {(run.first_seq, run.last_seq): run for run in notes.runs(-1)} if blocks else {}
    for place in range(len(blocks) - 1, -1, -1):
        behind += compactor.size(blocks[place].cost)
        if behind > most:
            break
        run = runs.get((blocks[place].segment.first_seq, blocks[place].segment.last_seq))
        if run is not None and notes.has_more(blocks[place].segment, run):
            before = [part for block in blocks[:place] for part in block.parts]
            blocks[place], note = _renewed(compactor, notes, blocks[place], run, before)
            made.append(note)
            kept = place
    return tuple(blocks), kept, made


def _renewed(
    compactor: Compactor, notes: ExtendedNotes, block: PlanBlock, run: NoteBlock, before: Sequence[Part]
) -> tuple[PlanBlock, Summary]:
    """Return a block with its notes made again, and these; `before` are the parts in front of it."""
    segment, level = block.segment, LEVELS[block.segment.representation]
    beside = [part for part in block.parts if part.summary_id != segment.summary_id]
    summary = notes.note(run, [*before, *beside], compactor.level_tokens(run.tokens, level), level)
    changed = segment._replace(summary_id=summary.summary_id, note_tokens=summary.cost.bound)
    parts = (shown(summary) if part.summary_id == segment.summary_id else part for part in block.parts)
    return PlanBlock(changed, tuple(parts)), summary
