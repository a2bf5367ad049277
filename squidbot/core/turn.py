"""One call decided: the request, the change it is made under, what it leaves behind. Nothing is written here."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core import events
from squidbot.core.budget.ladder import WARN
from squidbot.core.certified import certain, plain_limit
from squidbot.core.changes.event import Ask, Change, Makers, due
from squidbot.core.changes.moment import Moment, check_fixed, fullness, pressure_fraction, room_of
from squidbot.core.changes.pricing import saves_enough
from squidbot.core.counting.bills import MOST_FACTOR, Bills
from squidbot.core.messages import Cost
from squidbot.core.past import SEALED_PARTS, Past, seal
from squidbot.core.request import Call, Inputs, Met, Outcome, Telling, Unseen, Wanted, build, change_for
from squidbot.core.unasked import is_noticed, joined, remembered_of, share_of, without_remembered
from squidbot.core.view.birth import Births
from squidbot.core.view.loading import released
from squidbot.core.view.renderer import spent
from squidbot.core.withdrawing import Withdrawn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.budget.window import Reserve
    from squidbot.core.certified import Limits
    from squidbot.core.messages import Lease, Message, StoredMessage
    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.assembly import Assembly
    from squidbot.core.view.standing import Shelf, Standing

__all__ = ["Turn"]

# Events in a row that saved too little, after which compaction rests (decisions.md section 5, 11).
MOST_SKIPS = 2
NOTHING = Cost(0, 0)
# Causes of plans that no call for a request has made.
BY_HAND = frozenset({"manual", "undo", "restore", "forget"})
# Causes that leave a plan held that somebody brought back: nobody asked for less.
_KEEPING = frozenset({"tools-changed", "system-changed", "mode-changed", "repaired", "forget"})


class Turn(NamedTuple):
    """What a call is decided from: where the session's data stand, its lease, and what the newest request left.

    Attributes:
        notes: gives the session's notes, which an event alone needs.
        auto_fraction: history's share of its room at which a snapshot is made unasked; 0 for never.
        reserved_tokens: the room for the answer; None: as the newest request had it.
        limits: what a request may cost by what was billed; None: by the counter alone.
    """

    shelf: Shelf
    lease: Lease
    settings: HistorySettings
    notes: Callable[[], Notebook]
    past: Past
    auto_fraction: float = 0.0
    reserved_tokens: int | None = None
    limits: Limits | None = None

    @property
    def plain(self) -> Cost:
        """What a whole request may cost; smaller where reported usage has shown that the counter is under."""
        return plain_limit(self.lease, self.settings, self.past.bills, self.room_tokens)

    @property
    def unbilled(self) -> Turn:
        """The same by the counter alone: what was billed is forgotten."""
        return self._replace(past=self.past._replace(bills=Bills()), limits=None)

    def sane(self, fixed_tokens: int) -> Turn:
        """Return the same; by the counter alone where what was billed leaves hardly a room for a conversation.

        Beside what is sent in any case, `fixed_tokens` as a bound, texts have a third of the room that the counter
        leaves them, at least: no text costs more than three times its bound.
        """
        left_tokens = max(0, self.room_tokens - fixed_tokens)
        enough = self.plain.bound - fixed_tokens >= left_tokens // MOST_FACTOR
        return self if enough or not self.past.bills.reports else self.unbilled

    def fixed(self, stored: Standing, given: Inputs) -> int:
        """Return the bound of what a request sends in any case: system text, tools, the head that is wanted."""
        return self._outside(given, self.wanted(stored, given).told).plus(spent(stored.lead)).bound

    @property
    def room_tokens(self) -> int:
        """What the window leaves for input beside the room for the answer."""
        turn = self if self.reserved_tokens is not None else self.reserving(self.past.reserve_under(self.lease))
        return self.lease.window_tokens - (turn.reserved_tokens or 0)

    @property
    def limit(self) -> Cost:
        """What a request may cost that makes no event: larger than `plain` where it is known what the last one cost."""
        return self.limits.extends if self.limits else self.plain

    def reserving(self, reserve: Reserve | None) -> Turn:
        """Return the same with that room for the answer; None: as the lease has it."""
        return self._replace(reserved_tokens=reserve.tokens if reserve else self.lease.reserved_output_tokens)

    def births(self, stored: Standing, outside: Cost) -> Births:
        """Return what places messages behind what stands, beside which `outside` is sent."""
        # Nothing counts more words, or more tokens by estimate, than its bound: the smaller limit holds in both units.
        limit = self.plain
        kept = self.shelf.renderer.marked_cost(stored.markers)
        room = min(limit.bound - outside.bound - kept.bound, limit.estimate - outside.estimate - kept.estimate)
        return Births.within(self.shelf.renderer, self.settings, room, stored)

    def as_before(self, stored: Standing, now: float | None = None) -> Inputs:
        """Return the inputs of the newest request as far as they are known; its system text and tools are counted."""
        reserve = self.past.reserve_under(self.lease)
        given = replace(Inputs.as_before(stored.plan), mode=self.past.in_its_mode, reserve=reserve)
        last = self.last_made(stored)
        if last is None:
            return replace(given, now=now)
        sections = (*given.head(stored.pins), *remembered_of(stored.plan))
        head = spent(map(self.shelf.renderer.section, sections))
        unseen = Unseen(self.past.outside.less(head), last.system, last.tools)
        return replace(given, now=now, unseen=unseen)

    def outcome(
        self, stored: Standing, incoming: Sequence[Message], given: Inputs, started: str | None = None
    ) -> Outcome:
        """Return the request with `incoming` behind what is stored, and all that has to be written with it.

        `started` is what memory says unasked, frozen behind the newest of the user's messages where that fires no
        event. Under `limits` the request has to be checked: `billed.decided` does.

        Raises:
            BudgetError: nothing makes the request fit.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        wanted = self.wanted(stored, given)
        known = self.past.told_by(stored.plan)
        news = known.news(wanted.told) if stored.messages else None
        made = self._made(stored, incoming, given, Telling(wanted, known, started, news))
        # Behind a message a document is outside of the caps.
        anew = self.settings.cap is not None and is_noticed(made.assembly.incoming, news)
        if news is None or (made.change is None and not anew):
            return made
        # The head of the event says it: behind the message it would be said twice, for good.
        self.notes().reopen()
        cause = made.change.record.cause if made.change else "system-changed"
        return self._made(stored, incoming, given, Telling(wanted, known, started, None, cause))

    def _made(self, stored: Standing, incoming: Sequence[Message], given: Inputs, telling: Telling) -> Outcome:
        wanted, known, started, news, cause = telling
        # Without what memory says: it gives way, and an event of this call may bring it. Tried again behind that, the
        # call has to cut what comes with it as before.
        outside = self._outside(given, wanted.told)
        given = replace(given, notice=joined(given.notice, news, label := known.labelled(given.mode)))
        met = self._met(stored, incoming, given, outside, started)
        born, trial, moment, notice = met
        renewed = self.notes().restart() if trial.opened else ()
        past = known._replace(system=given.system_digest, tools=given.tools_digest)
        call = Call(self.lease, moment, born, wanted, given.reserve)
        change, past, skipped = self._decided(trial, call, past, cause)
        assembly, change = self._built(trial, call, change, past)
        told = change is not None or is_noticed(born, news)
        full, pressed = fullness(trial, moment), self._pressed(trial, moment)
        outside = self._outside(given, (*wanted.told, *remembered_of(assembly.plan)))
        past = past._replace(outside=outside, reserve=given.reserve)
        past = past.in_mode(given.mode, told=is_noticed(born, label))
        leaves, assembly = self._leaving(assembly, past.told_of(wanted.told) if told else past)
        rungs = self.settings.ladder.told(full if change is None else fullness(assembly.standing, moment))
        heard = WARN in rungs and (self.past.noticed or notice is not None)
        return Outcome(
            assembly=assembly,
            change=change,
            renewed=renewed,
            leaves=leaves._replace(messages=trial.messages, pressed=pressed, rungs=rungs, noticed=heard),
            skipped=skipped,
            pressing=pressed and not self.past.pressed and not self.past.is_before(stored.plan),
            fullness=full,
            rungs=self.settings.ladder.crossed(full, self.past.rungs),
        )

    def _met(
        self, stored: Standing, incoming: Sequence[Message], given: Inputs, outside: Cost, started: str | None
    ) -> Met:
        """Return what a call meets, the model told of the ladder's first rung where that is due, and of `started`.

        Raises:
            BudgetError: what is sent in any case leaves no room for a conversation.
        """
        met = self._met_with(given.notice, stored, incoming, given, outside)
        check_fixed(without_remembered(met.trial, self.shelf.renderer), met.moment, self.shelf.renderer)
        line = self._line(met, stored)
        # What would itself fire an event is not worth it.
        if line is not None:
            warned = self._met_with(joined(given.notice, line), stored, incoming, given, outside)
            met = warned._replace(notice=line) if is_noticed(warned.born, line) and not self._due(warned) else met
        if started is not None:
            begun = self._met_with(joined(given.notice, met.notice, started), stored, incoming, given, outside)
            met = begun._replace(notice=met.notice) if self._due(begun) == self._due(met) else met
        return met

    def _met_with(
        self, notice: str | None, stored: Standing, incoming: Sequence[Message], given: Inputs, outside: Cost
    ) -> Met:
        born = self.births(stored, outside).placed(incoming, stored, given.now, notice)
        trial = self._trial(stored, born)
        return Met(born, trial, self.moment(stored, trial, given))

    def _line(self, met: Met, stored: Standing) -> str | None:
        """Return what to tell the model of the room, at a new turn that brings no event; None where nothing is due."""
        opens = met.trial.at_turn and met.trial.turn >= stored.messages
        # A call that brought an event was sent without a line, and is when it is tried again.
        if self.past.noticed or not opens or self.past.is_before(stored.plan):
            return None
        line = self.settings.ladder.first_notice(fullness(met.trial, met.moment))
        return None if line is None or self._due(met) else line

    def _due(self, met: Met) -> str | None:
        return due(met.trial, met.moment, self._patience(met.trial))

    def _trial(self, stored: Standing, born: Sequence[StoredMessage]) -> Standing:
        """Return what would stand with these messages behind what is stored."""
        trial = stored.extended(born, self.shelf.renderer)
        return released(self.shelf, trial, stored.turn) if stored.opened else trial

    # -- when and why -----------------------------------------------------------------------------------------

    def moment(self, stored: Standing, trial: Standing, given: Inputs) -> Moment:
        """Return the circumstances of a call that finds `stored`, `trial` being what would stand with its messages."""
        renderer = self.shelf.renderer
        now = given.now if given.now is not None else trial.newest_time
        idle = now - stored.newest_time if now is not None and stored.newest_time is not None else 0.0
        rests_until = self.past.rests_until
        rests = rests_until is not None and now is not None and now < rests_until
        return Moment(
            limit=self.limit,
            system=given.system_parts(renderer.meter),
            tools=given.tools_cost(renderer.meter),
            notices=renderer.notices,
            new_turn=trial.at_turn,
            cold=idle > self.settings.cache_ttl_seconds,
            stored=stored.messages,
            changed=self.changed(stored, given),
            now=now,
            paused=rests or self.past.is_before(stored.plan),
            unit="tokens" if self.settings.policy_limit is None else "words",
            outside_changed=self._outside_changed(stored, given),
            extended=given.extended,
            strict=self.settings.strict,
            most_pinned=int(self.settings.pinned_fraction * self.lease.window_tokens),
            again=stored.plan is not None and self.past.is_before(stored.plan) and stored.plan.cause not in BY_HAND,
        )

    def changed(self, stored: Standing, given: Inputs) -> str | None:
        """Return the cause that lies outside the history, or None."""
        if stored.opened or self._opens(stored, given):
            return "opened"
        if stored.withdrawn is not None and Withdrawn.of(stored.withdrawn).is_missed(stored):
            return "forget"
        last = self.last_made(stored)
        if last is None or not self._outside_changed(stored, given):
            return None
        system = "system-changed" if self.past.mode == given.mode.name else "mode-changed"
        return "tools-changed" if last.tools != given.tools_digest else system

    def _opens(self, stored: Standing, given: Inputs) -> bool:
        """Return whether a head is made for the first request of all, or under another window: nothing is cached."""
        if stored.plan is not None or self.past.lease_id == self.lease.lease_id:
            return False
        wanted = self.wanted(stored, given)
        return bool((wanted.told and stored.messages <= stored.lead_count) or wanted.remembered())

    def _outside_changed(self, stored: Standing, given: Inputs) -> bool:
        """Return whether system text or tools are others than in the newest request, where there has been one."""
        last = self.last_made(stored)
        return last is not None and (last.tools, last.system) != (given.tools_digest, given.system_digest)

    def last_made(self, stored: Standing) -> PlanRecord | Past | None:
        """Return what knows system text and tools of the newest request; None where there has been none.

        A plan that is younger than the newest recorded request was made for one that is being tried again.
        """
        if self.past.is_before(stored.plan):
            return stored.plan
        return self.past if self.past.known else None

    def wanted(self, stored: Standing, given: Inputs) -> Wanted:
        """Return the head that an event makes; without `given.unasked` what memory says stays as the plan has it."""
        unasked = given.unasked
        limit_tokens = share_of(self.plain)
        stands = remembered_of(stored.plan)
        return Wanted(given.head(stored.pins), lambda: unasked.head(limit_tokens) if unasked else stands)

    def _outside(self, given: Inputs, head: tuple[Section, ...]) -> Cost:
        """Return what is sent beside lead and history: system text, tools, and the head that is wanted."""
        meter = self.shelf.renderer.meter
        sections = map(self.shelf.renderer.section, head)
        return spent((*given.system_parts(meter), *sections)).plus(given.tools_cost(meter))

    def _pressed(self, trial: Standing, moment: Moment) -> bool:
        mark = self.auto_fraction
        return mark > 0 and pressure_fraction(trial.history, room_of(trial, moment)) >= mark

    # -- what is decided --------------------------------------------------------------------------------------

    def _built(self, trial: Standing, call: Call, change: Change | None, past: Past) -> tuple[Assembly, Change | None]:
        """Return the request, checked, and the change it is made under: one more where it would break the prefix."""
        if change is None:
            assembly = build(self.shelf, call, trial, None)
            if not self._breaks(assembly, hidden=bool(past.system and not call.moment.system)):
                return assembly, None
            change = self._asked(trial, call, "repaired")
        if change is None:
            return build(self.shelf, call, trial, None), None
        change = self.signed(change, trial, past)
        call = call._replace(moment=self._changing(call.moment))
        return build(self.shelf, call, change.standing, change.record), change

    def _breaks(self, assembly: Assembly, *, hidden: bool) -> bool:
        """Return whether a request breaks the prefix; `hidden`: the system text in front of it is not at hand."""
        parts, plan_id = assembly.parts, assembly.plan.plan_id if assembly.plan else -1
        if not hidden:
            return self.past.broken_by(parts, plan_id)
        # Any part will do in its place: the seal of a longer request does not reach it.
        return self.past.parts > SEALED_PARTS and self.past.broken_by((parts[0], *parts), plan_id)

    def _leaving(self, assembly: Assembly, past: Past) -> tuple[Past, Assembly]:
        """Return what a request leaves behind once it is recorded, and the request with what it costs at most."""
        left = past._replace(
            number=self.past.number + 1,
            cost=assembly.cost,
            limit=assembly.limit,
            lease_id=self.lease.lease_id,
            plan_id=assembly.plan.plan_id if assembly.plan else -1,
            parts=len(assembly.parts),
            seal=seal(assembly.parts),
            certified=0,
            certificate="",
        )
        return certain(left, assembly, self.past, self.shelf.renderer.meter.certificate)

    def _decided(
        self, trial: Standing, call: Call, past: Past, known_cause: str | None
    ) -> tuple[Change | None, Past, tuple[tuple[str, PlanRecord], ...]]:
        """Return the change that is due, None where none is or it would not pay, what to remember, what to tell.

        With a `known_cause` it is due by that and pays.

        Raises:
            BudgetError: nothing makes the request fit.
        """
        cause = known_cause or due(trial, call.moment, self._patience(trial))
        change = self._asked(trial, call, cause) if cause else None
        if change is None:
            return None, past, ()
        asked = known_cause or self.settings.cap
        if cause == "high-water" and not asked and not saves_enough(change.record, self.settings):
            self.notes().reopen()
            past, told = self._skipping(call.moment, past)
            return None, past, tuple((name, change.record) for name in told)
        return change, past._replace(skipped=0, rests_until=None), ()

    def _asked(self, trial: Standing, call: Call, cause: str) -> Change | None:
        settings = self.settings if cause in {"overflow", "opened", "rollover"} else self._patience(trial)
        ask = Ask(cause, call.head.told, trial.pins.seqs)
        return change_for(self.makers(settings), trial, self._changing(call.moment), ask, call.head)

    def _changing(self, moment: Moment) -> Moment:
        """Return the circumstances of a call that makes an event: less is known of what that sends."""
        return moment._replace(limit=self.limits.changes) if self.limits else moment

    def makers(self, settings: HistorySettings) -> Makers:
        """Return what a change is made with under these settings."""
        return Makers(self.shelf, self.notes(), settings)

    def _patience(self, trial: Standing) -> HistorySettings:
        """Return the settings; where somebody brought a plan back, those under which no mark changes it."""
        if not _is_held(trial):
            return self.settings
        ladder = self.settings.ladder.without_marks()
        return replace(self.settings, high_fraction=math.inf, patience=0.0, scope="inline+summaries", ladder=ladder)

    def signed(
        self, change: Change, stored: Standing, outside: PlanRecord | Past | None, *, held: bool = False
    ) -> Change:
        """Return a change whose plan names the lease, the system text and the tools that it is made for.

        A plan that somebody brought back is held on where it had to change for what lies outside the history.
        """
        last = self.last_made(stored)
        system, tools = (outside.system, outside.tools) if outside else ("", "")
        keeps = _is_held(stored) and change.record.cause in _KEEPING
        plan = replace(
            change.record,
            lease_id=self.lease.lease_id,
            system=system,
            tools=tools,
            held=held or keeps,
            outside_changed=last is not None and (last.system, last.tools) != (system, tools),
        )
        return change._replace(record=plan, standing=change.standing._replace(plan=plan))

    def _skipping(self, moment: Moment, past: Past) -> tuple[Past, tuple[str, ...]]:
        """Return the past with an event skipped that would not pay, and what to tell; after two compaction rests."""
        if past.skipped + 1 < MOST_SKIPS or moment.now is None:
            return past._replace(skipped=past.skipped + 1), (events.COMPRESSION_SKIPPED,)
        rested = past._replace(skipped=0, rests_until=moment.now + self.settings.backoff_seconds)
        return rested, (events.COMPRESSION_SKIPPED, events.COMPACTION_PAUSED)


def _is_held(standing: Standing) -> bool:
    return standing.plan is not None and standing.plan.held and not standing.opened
