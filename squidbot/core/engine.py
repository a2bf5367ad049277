"""The sequence of one turn: assemble before the model call, record after it. What is decided, others decide."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.birth import Births
from squidbot.core.errors import BudgetError, StoreError
from squidbot.core.event import Ask, Change, Makers, Moment, due, make_change, saves_enough
from squidbot.core.events import Event
from squidbot.core.messages import Cost, Record
from squidbot.core.notebook import Notebook
from squidbot.core.pins import KIND as PIN
from squidbot.core.pins import Pins
from squidbot.core.request import (
    Call,
    Inputs,
    Sent,
    announcement,
    build,
    check_fixed,
    head_digest,
    pin_record,
    request_record,
    sections_for,
)
from squidbot.core.standing import Shelf, load
from squidbot.core.tokens import Calibration
from squidbot.core.view import Renderer
from squidbot.core.window import input_limit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.assembly import Assembly
    from squidbot.core.messages import Lease, Message, StoredMessage, Usage
    from squidbot.core.meter import Meter
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.ports import Codec, Observer, SummaryStore, TranscriptStore
    from squidbot.core.settings import HistorySettings
    from squidbot.core.standing import Standing

__all__ = ["ContextEngine", "Inputs", "Session"]

# How often a call makes way for another writer before it gives up; each try reads what the other one wrote.
MOST_TRIES = 1000
# A provider that reports less than this share of the estimate has cut the prompt: estimates are rarely twice too high.
SILENT_CUT_FRACTION = 0.5
# Events in a row that saved too little, after which compaction rests (decisions.md section 5, 11).
MOST_SKIPS = 2
# Room for the short notices that keep a request valid: one in front, one behind.
NOTICE_TOKENS = 40


class ContextEngine:
    """Opens sessions over one pair of stores."""

    def __init__(
        self,
        transcripts: TranscriptStore,
        summaries: SummaryStore,
        codecs: Mapping[str, Codec],
        observer: Observer | None = None,
    ) -> None:
        """Take the ports. `codecs` by tag; `observer` is told what happens and must not raise."""
        self._transcripts = transcripts
        self._summaries = summaries
        self._codecs = codecs
        self._observer = observer

    def session(self, session_id: str, lease: Lease, meter: Meter, settings: HistorySettings) -> Session:
        """Return a session. Nothing is read before its first call, nothing is written before `record` or an event."""
        shelf = Shelf(session_id, self._transcripts, self._summaries, Renderer(meter, self._codecs))
        return Session(shelf, lease, settings, self._observer)


class Session:
    """One conversation under one lease. Not for two threads at once; several processes may hold the same session."""

    def __init__(self, shelf: Shelf, lease: Lease, settings: HistorySettings, observer: Observer | None) -> None:
        """Use `ContextEngine.session` instead."""
        self.lease = lease
        self.settings = settings
        self._shelf = shelf
        self._observer = observer
        self._notes = Notebook(shelf.session_id, shelf.renderer, shelf.transcripts)
        self._makers = Makers(shelf, self._notes, settings)
        self._standing: Standing | None = None
        self._sent: Sent | None = None
        self._calibration = Calibration()
        self._skipped = 0
        self._rests_until: float | None = None
        self._requests = 0
        self._notes_at = 0
        self._pins = Pins()
        self._outside = Cost(0, 0)

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self._shelf.session_id

    def assemble(self, incoming: Sequence[Message] = (), inputs: Inputs | None = None) -> Assembly:
        """Return the request to send for one model call, with `incoming` behind what is stored.

        Nothing is written but the plan, where this call changes it. Pass `Assembly.incoming` to `record` with the
        reply; messages that are recorded already need not be passed.

        Raises:
            BudgetError: no request with system text, tools, pins and the turn in flight fits the window.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        given = inputs or Inputs()
        for _ in range(MOST_TRIES):
            stored = self._current()
            try:
                return self._assembled(stored, incoming, given)
            except StoreError:
                self._standing = None
                if self._shelf.transcripts.head(self.session_id) == (stored.messages, stored.records):
                    raise
        raise StoreError(f"{MOST_TRIES} other writers came first; no request was made for {self.session_id!r}")

    def record(
        self,
        *messages: Message | StoredMessage,
        usage: Usage | None = None,
        now: float | None = None,
    ) -> tuple[StoredMessage, ...]:
        """Store messages behind the transcript, durably, in one transaction, and return them as stored.

        Take `Assembly.incoming` as it came, then the reply. `usage` is what the provider reported for the newest
        assembled request: it calibrates the counter and shows a prompt that was cut silently. `now`, in seconds since
        1970, is the time of messages that bring none.

        Raises:
            StoreError: nothing was stored.
        """
        for _ in range(MOST_TRIES):
            stored = self._current()
            rows = self._births(stored, self._outside).placed(messages, stored, now)
            records = self._request_records(stored, usage) if rows else ()
            try:
                self._shelf.transcripts.append(self.session_id, stored.messages, rows, records)
            except StoreError:
                self._standing = None
                if self._shelf.transcripts.head(self.session_id) == (stored.messages, stored.records):
                    raise
                continue
            grown = stored.extended(rows, self._shelf.renderer)
            self._standing = replace(grown, records=stored.records + len(records))
            self._notes_at = self._standing.records
            self._requests += len(records)
            if self._sent and records:
                self._sent = replace(self._sent, recorded=True)
            self._learn(usage)
            return rows
        raise StoreError(f"{MOST_TRIES} other writers came first; nothing was written to {self.session_id!r}")

    def pin(self, seq: int, *, on: bool = True) -> None:
        """Keep a message verbatim whatever happens, with its tool results, or (`on` false) no longer; durable.

        Raises:
            StoreError: nothing was stored.
        """
        self._add_pin({"seq": seq, "on": on})

    def pin_text(self, name: str, text: str) -> None:
        """Put a text (a goal, a locked decision) into the head of every request from the next event on; durable.

        An empty text takes the one of that name away.

        Raises:
            StoreError: nothing was stored.
        """
        self._add_pin({"name": name, "text": text})

    def compact(self, inputs: Inputs | None = None) -> PlanRecord | None:
        """Make an event now, whatever the pressure, and return its plan; None where there is nothing to compact.

        Raises:
            StoreError: nothing was changed.
        """
        given = inputs or Inputs()
        stored = self._current()
        moment = self._moment(stored, stored, given)
        sections = sections_for(self._pins, given)
        change = make_change(self._makers, stored, moment, Ask("manual", sections, self._pins.seqs))
        if change is None or change.record.tokens_after >= change.record.tokens_before:
            return None
        return self._written((stored.messages, stored.records), change)

    # -- reading ----------------------------------------------------------------------------------------------

    def _current(self) -> Standing:
        """Return what is stored; read anew where another process, or an event, has changed it."""
        transcripts = self._shelf.transcripts
        head = transcripts.head(self.session_id)
        if self._standing is None or (self._standing.messages, self._standing.records) != head:
            if head[1] != self._notes_at:
                self._notes.reopen()
            self._notes_at = head[1]
            self._standing = load(self._shelf, self.lease.window_tokens, self.lease.lease_id)
            known = self._standing.records > 0
            self._pins = Pins.of(transcripts.records(self.session_id, PIN)) if known else Pins()
            last = transcripts.last_record(self.session_id, "request") if known else None
            self._requests = last.number + 1 if last else 0
            self._sent = self._sent or (Sent.of(last) if last else None)
        return self._standing

    @property
    def _limit(self) -> Cost:
        """What a whole request may cost; smaller where reported usage has shown that the counter is under."""
        lease = self.lease
        policy = self.settings.policy_limit
        if policy is None:
            policy = input_limit(lease.window_tokens, 0, lease.safety_fraction)
        physical = lease.window_tokens - lease.reserved_output_tokens
        return Cost(policy, int(physical / self._calibration.bound_ratio))

    def _births(self, stored: Standing, outside: Cost) -> Births:
        return Births.within(self._shelf.renderer, self.settings, self._limit.bound - outside.bound, stored)

    def _announced(self, stored: Standing, wanted: tuple[Section, ...]) -> str | None:
        """Return what to tell the model about a head that has changed, once; the first plan of a session freezes it."""
        told = self._sent.head if self._sent else ""
        if not stored.messages or told == head_digest(wanted):
            return None
        return announcement(stored.plan.sections if stored.plan else (), wanted)

    def _moment(self, stored: Standing, trial: Standing, given: Inputs) -> Moment:
        renderer = self._shelf.renderer
        self._outside = given.outside(renderer.meter)
        now = given.now if given.now is not None else trial.newest_time
        idle = now - stored.newest_time if now is not None and stored.newest_time is not None else 0.0
        return Moment(
            limit=self._limit,
            outside=self._outside.plus(Cost(0, NOTICE_TOKENS)),
            new_turn=trial.at_turn,
            cold=idle > self.settings.cache_ttl_seconds,
            stored=stored.messages,
            changed=self._changed(stored, given),
            now=now,
            paused=self._rests_until is not None and (now or 0.0) < self._rests_until,
        )

    def _changed(self, stored: Standing, given: Inputs) -> str | None:
        """Return the cause that lies outside the history, or None."""
        if stored.opened:
            return "opened"
        if self._sent is None or not stored.messages:
            return None
        if self._sent.tools != given.tools_digest:
            return "tools-changed"
        return "system-changed" if self._sent.system != given.system_digest else None

    # -- deciding ---------------------------------------------------------------------------------------------

    def _assembled(self, stored: Standing, incoming: Sequence[Message], given: Inputs) -> Assembly:
        wanted = sections_for(self._pins, given)
        notice = given.notice_with(self._announced(stored, wanted))
        births = self._births(stored, given.outside(self._shelf.renderer.meter))
        born = births.placed(incoming, stored, given.now, notice)
        trial = stored.extended(born, self._shelf.renderer)
        moment = self._moment(stored, trial, given)
        check_fixed(trial, moment, given, self._shelf.renderer.meter)
        cause = due(trial, moment, self.settings)
        if cause is None and wanted and not stored.messages:
            cause = "opened"
        event = None
        if cause is not None:
            trial, event = self._changed_to(trial, moment, cause, wanted)
        assembly = build(self._shelf, Call(self.lease, given, moment, born), trial, event)
        if event is None and self._breaks(assembly):
            trial, event = self._changed_to(trial, moment, "repaired", wanted)
            assembly = build(self._shelf, Call(self.lease, given, moment, born), trial, event)
        self._sent = Sent.from_assembly(assembly, given, wanted)
        self._notify(events.CONTEXT_ASSEMBLED, "", trial.plan, assembly.cost, assembly.cost)
        return assembly

    def _breaks(self, assembly: Assembly) -> bool:
        """Return whether a request does not extend the one before it although nothing has changed the plan."""
        before = self._sent.parts if self._sent else ()
        return assembly.parts[: len(before)] != before

    def _changed_to(
        self,
        trial: Standing,
        moment: Moment,
        cause: str,
        sections: tuple[Section, ...],
    ) -> tuple[Standing, PlanRecord | None]:
        """Return what stands after an event, and its plan; the same and None where it was skipped.

        Raises:
            BudgetError: nothing makes the request fit.
            StoreError: nothing was changed.
        """
        renewed = self._notes.restart() if trial.opened else ()
        change = make_change(self._makers, trial, moment, Ask(cause, sections, self._pins.seqs))
        if change is None:
            self._notes.reopen()
            if cause == "high-water":
                return trial, None
            raise self._too_much(trial, moment)
        record = change.record
        if cause == "high-water" and not saves_enough(record, self.settings):
            self._skip(record, moment)
            return trial, None
        self._skipped = 0
        self._rests_until = None
        plan = self._written((moment.stored, trial.records), change, renewed)
        return replace(change.standing, plan=plan), plan

    def _written(self, head: tuple[int, int], change: Change, renewed: tuple[Record, ...] = ()) -> PlanRecord:
        """Store an event: its summaries, then the plan that shows them. Returns the plan as stored."""
        plan = replace(change.record, lease_id=self.lease.lease_id)
        batch = change.batch
        for summary in batch.summaries:
            self._shelf.summaries.put(summary)
        notes = (*renewed, *self._notes.settle(batch.merged_through, batch.runs))
        record = Record("plan", plan.plan_id, plan.to_json())
        try:
            self._shelf.transcripts.append(self.session_id, head[0], (), (*notes, record))
        except StoreError:
            self._notes.reopen()
            raise
        self._standing = None
        self._notes_at = head[1] + len(notes) + 1
        costs = Cost(0, plan.tokens_before), Cost(0, plan.tokens_after)
        self._notify(events.VIEW_PLAN_CHANGED, plan.cause, plan, *costs)
        if batch.summaries:
            self._notify(events.COMPRESSED, plan.cause, plan, *costs)
        return plan

    def _skip(self, record: PlanRecord, moment: Moment) -> None:
        """Remember an event that would not pay; after two in a row compaction rests, with one warning."""
        self._skipped += 1
        costs = Cost(0, record.tokens_before), Cost(0, record.tokens_after)
        self._notify(events.COMPRESSION_SKIPPED, record.cause, record, *costs)
        if self._skipped >= MOST_SKIPS:
            self._rests_until = (moment.now or 0.0) + self.settings.backoff_seconds
            self._skipped = 0
            self._notify(events.COMPACTION_PAUSED, record.cause, record, *costs)

    def _too_much(self, trial: Standing, moment: Moment) -> BudgetError:
        need = trial.fixed.bound + moment.outside.bound + trial.in_flight.bound
        culprit = "the turn in flight, with system text, tools and pins,"
        return BudgetError(culprit, cost=need, budget=moment.limit.bound, unit="tokens", key="window.default")

    # -- writing ----------------------------------------------------------------------------------------------

    def _request_records(self, stored: Standing, usage: Usage | None) -> tuple[Record, ...]:
        """Return the record of the request that these messages answer, if one was made since the last."""
        sent = self._sent
        if sent is None or sent.recorded:
            return ()
        return (request_record(self._requests, sent, stored, usage),)

    def _learn(self, usage: Usage | None) -> None:
        sent = self._sent
        if usage is None or sent is None:
            return
        self._calibration = self._calibration.learn(sent.cost, usage.input_tokens)
        if usage.input_tokens < SILENT_CUT_FRACTION * sent.cost.estimate:
            cut = Cost(0, usage.input_tokens)
            self._notify(events.SILENT_TRUNCATION, "the provider reports far less than was sent", None, sent.cost, cut)

    def _add_pin(self, body: Mapping[str, object]) -> None:
        for _ in range(MOST_TRIES):
            stored = self._current()
            record = pin_record(self._pins.count, body)
            try:
                self._shelf.transcripts.append(self.session_id, stored.messages, (), (record,))
            except StoreError:
                self._standing = None
                if self._shelf.transcripts.head(self.session_id) == (stored.messages, stored.records):
                    raise
                continue
            self._standing = None
            return
        raise StoreError(f"{MOST_TRIES} other writers came first; nothing was pinned in {self.session_id!r}")

    def _notify(self, name: str, cause: str, plan: PlanRecord | None, before: Cost, after: Cost) -> None:
        if self._observer is not None:
            plan_id = plan.plan_id if plan else -1
            told = Event(name, self.session_id, cause, self.lease.lease_id, plan_id, before.bound, after.bound)
            self._observer.notify(told)
