"""The sequence of one turn: assemble before the model call, record after it. What is decided, others decide."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.budget.window import input_limit
from squidbot.core.changes.event import (
    Ask,
    Change,
    Makers,
    Moment,
    check_fixed,
    due,
    make_change,
    pays_by_hand,
    saves_enough,
)
from squidbot.core.errors import SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.messages import Category, Cost, Record
from squidbot.core.notes.notebook import Notebook
from squidbot.core.past import REQUEST, Past, seal
from squidbot.core.pins import KIND as PIN
from squidbot.core.request import Call, Inputs, Room, build, change_for
from squidbot.core.view.birth import Births
from squidbot.core.view.renderer import spent
from squidbot.core.view.standing import READ_BACK_WINDOWS, Shelf, load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Lease, Message, StoredMessage, Usage
    from squidbot.core.plan import PlanRecord, Section
    from squidbot.core.ports import Observer
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.assembly import Assembly
    from squidbot.core.view.standing import Standing

__all__ = ["Session"]

# How often a call makes way for another writer before it gives up; each try reads what the other one wrote.
MOST_TRIES = 1000
# A provider that reports less than this share of the estimate has cut the prompt: estimates are rarely twice too high.
SILENT_CUT_FRACTION = 0.5
# Events in a row that saved too little, after which compaction rests (decisions.md section 5, 11).
MOST_SKIPS = 2


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
        # How many records the store held when the notes were read: a different number means that they are stale.
        self._notes_at = 0
        # What the newest recorded request left, and what the newest assembled one will leave once it is recorded.
        self._past = Past()
        self._next: Past | None = None

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
            except StoreError as error:
                self._make_way(stored, error)
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
            rows = self._births(stored, self._past.outside).placed(messages, stored, now)
            # What was recalled between two turns answers no request.
            answers = any(row.category is not Category.RECALLED for row in rows)
            answered = self._answered(usage) if answers else None
            records = (answered.record(usage),) if answered else ()
            try:
                self._shelf.transcripts.append(self.session_id, stored.messages, rows, records)
            except StoreError as error:
                self._make_way(stored, error)
                continue
            grown = stored.extended(rows, self._shelf.renderer)
            self._standing = replace(grown, records=stored.records + len(records))
            self._notes_at = self._standing.records
            if answered:
                self._check_reported(answered, usage)
                self._past, self._next = answered, None
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

        Without `inputs` the head stays as the plan has it, but for pinned texts.

        Raises:
            BudgetError: what must be sent in any case does not fit.
            StoreError: nothing was changed.
        """
        stored = self._current()
        given = inputs or Inputs.as_before(stored.plan)
        moment = self._moment(stored, stored, given)
        try:
            change = make_change(self._makers, stored, moment, Ask("manual", given.head(stored.pins), stored.pins.seqs))
            change = self._signed(change, self._past)
            if change is not None and pays_by_hand(change.record, stored):
                self._write(stored, change, ())
                return change.record
        except SquidbotError:
            self._standing = None
            self._notes.reopen()
            raise
        self._notes.reopen()
        return None

    def room(self) -> Room:
        """Return what the next request has free behind what is stored, and behind what came with the newest one."""
        stored = self._current()
        newest = self._next or self._past
        used = spent(stored.lead).plus(newest.outside).plus(stored.history)
        came = newest.cost.less(used) if self._next else Cost(0, 0)
        birth = self._births(stored, newest.outside.plus(came)).birth
        return Room.behind(stored, (newest.outside, came), self._limit, birth, self.settings.high_fraction)

    def _current(self) -> Standing:
        """Return what is stored; read anew where another process, or an event, has changed it."""
        transcripts = self._shelf.transcripts
        head = transcripts.head(self.session_id)
        # A session that was never compacted is held whole only as far as a new process would read it back.
        whole = self._standing is None or self._standing.blocks or self._standing.tail.cost.bound <= self._read_back
        if self._standing is None or not whole or (self._standing.messages, self._standing.records) != head:
            if head[1] != self._notes_at:
                self._notes.reopen()
            self._notes_at = head[1]
            self._standing = load(self._shelf, self.lease.window_tokens, self.lease.lease_id)
            last = transcripts.last_record(self.session_id, REQUEST) if head[1] else None
            if last and last.number != self._past.number:
                self._past = Past.of(last)
        return self._standing

    def _make_way(self, stored: Standing, error: StoreError) -> None:
        """Forget what is held where another writer has changed the store; raise the error where none has."""
        self._standing = None
        if self._shelf.transcripts.head(self.session_id) == (stored.messages, stored.records):
            raise error

    @property
    def _read_back(self) -> int:
        return READ_BACK_WINDOWS * self.lease.window_tokens

    @property
    def _limit(self) -> Cost:
        """What a whole request may cost; smaller where reported usage has shown that the counter is under."""
        lease = self.lease
        policy = self.settings.policy_limit
        if policy is None:
            policy = input_limit(lease.window_tokens, 0, lease.safety_fraction)
        physical = lease.window_tokens - lease.reserved_output_tokens
        return Cost(policy, int(physical / self._past.calibration.bound_ratio))

    def _births(self, stored: Standing, outside: Cost) -> Births:
        # Nothing counts more words, or more tokens by estimate, than its bound: the smaller limit holds in both units.
        room = min(self._limit.bound - outside.bound, self._limit.estimate - outside.estimate)
        return Births.within(self._shelf.renderer, self.settings, room, stored)

    def _moment(self, stored: Standing, trial: Standing, given: Inputs) -> Moment:
        renderer = self._shelf.renderer
        now = given.now if given.now is not None else trial.newest_time
        idle = now - stored.newest_time if now is not None and stored.newest_time is not None else 0.0
        rests_until = self._past.rests_until
        # A plan younger than the newest recorded request: that call is being tried again, and keeps the plan it made.
        again = stored.plan is not None and stored.plan.plan_id > self._past.plan_id
        return Moment(
            limit=self._limit,
            system=given.system_parts(renderer.meter),
            tools=given.tools_cost(renderer.meter),
            notices=renderer.notices,
            new_turn=trial.at_turn,
            cold=idle > self.settings.cache_ttl_seconds,
            stored=stored.messages,
            changed=self._changed(stored, given),
            now=now,
            paused=again or (rests_until is not None and now is not None and now < rests_until),
            unit="tokens" if self.settings.policy_limit is None else "words",
        )

    def _changed(self, stored: Standing, given: Inputs) -> str | None:
        """Return the cause that lies outside the history, or None."""
        if stored.opened or (stored.plan is None and not stored.messages and given.head(stored.pins)):
            return "opened"
        last = self._last_made(stored)
        if last is None or (last.tools, last.system) == (given.tools_digest, given.system_digest):
            return None
        return "tools-changed" if last.tools != given.tools_digest else "system-changed"

    def _last_made(self, stored: Standing) -> PlanRecord | Past | None:
        """Return what knows system text and tools of the newest request; None where there has been none.

        A plan that is younger than the newest recorded request was made for one that is being tried again.
        """
        if stored.plan is not None and stored.plan.plan_id > self._past.plan_id:
            return stored.plan
        return self._past if self._past.known else None

    def _assembled(self, stored: Standing, incoming: Sequence[Message], given: Inputs) -> Assembly:
        head = given.head(stored.pins)
        news = self._past.news(head) if stored.messages else None
        outside = self._outside(given, head)
        notice = "\n".join(filter(None, (given.notice, news))) or None
        born = self._births(stored, outside).placed(incoming, stored, given.now, notice)
        trial = stored.extended(born, self._shelf.renderer)
        moment = self._moment(stored, trial, given)
        check_fixed(trial, moment)
        past = replace(self._past, outside=outside, system=given.system_digest, tools=given.tools_digest)
        renewed = self._notes.restart() if trial.opened else ()
        try:
            change, past = self._decided(trial, moment, head, past)
            assembly, change = self._built(trial, Call(self.lease, moment, born, head), change, past)
            if change is not None:
                self._write(stored, change, renewed)
        except SquidbotError:
            self._notes.reopen()
            raise
        told = change is not None or (news is not None and any(row.notice for row in born))
        self._next = self._leaving(assembly, past.told_of(head) if told else past)
        self._notify(events.CONTEXT_ASSEMBLED, "", assembly.plan, assembly.cost, assembly.cost)
        return assembly

    def _outside(self, given: Inputs, head: tuple[Section, ...]) -> Cost:
        """Return what is sent beside lead and history: system text, tools, and the head that is wanted."""
        meter = self._shelf.renderer.meter
        sections = map(self._shelf.renderer.section, head)
        return spent((*given.system_parts(meter), *sections)).plus(given.tools_cost(meter))

    def _built(self, trial: Standing, call: Call, change: Change | None, past: Past) -> tuple[Assembly, Change | None]:
        """Return the request, checked, and the change it is made under: one more where it would break the prefix."""
        change = self._signed(change, past)
        if change is None:
            assembly = build(self._shelf, call, trial, None)
            if not self._past.broken_by(assembly.parts, trial.plan.plan_id if trial.plan else -1):
                return assembly, None
            change = self._signed(self._asked(trial, call.moment, "repaired", call.head), past)
        if change is None:
            return build(self._shelf, call, trial, None), None
        return build(self._shelf, call, change.standing, change.record), change

    def _leaving(self, assembly: Assembly, past: Past) -> Past:
        """Return what a request leaves behind once it is recorded."""
        return replace(
            past,
            number=self._past.number + 1,
            cost=assembly.cost,
            plan_id=assembly.plan.plan_id if assembly.plan else -1,
            parts=len(assembly.parts),
            seal=seal(assembly.parts),
        )

    def _decided(
        self, trial: Standing, moment: Moment, head: tuple[Section, ...], past: Past
    ) -> tuple[Change | None, Past]:
        """Return the change that is due, None where none is or it would not pay, and what to remember of it.

        Raises:
            BudgetError: nothing makes the request fit.
        """
        cause = due(trial, moment, self.settings)
        change = self._asked(trial, moment, cause, head) if cause else None
        if change is None:
            return None, past
        if cause == "high-water" and not saves_enough(change.record, self.settings):
            self._notes.reopen()
            return None, self._skipping(change.record, moment, past)
        return change, replace(past, skipped=0, rests_until=None)

    def _asked(self, trial: Standing, moment: Moment, cause: str, head: tuple[Section, ...]) -> Change | None:
        return change_for(self._makers, trial, moment, Ask(cause, head, trial.pins.seqs))

    def _signed(self, change: Change | None, past: Past) -> Change | None:
        """Return a change whose plan names the lease, the system text and the tools that it is made for."""
        if change is None:
            return None
        plan = replace(change.record, lease_id=self.lease.lease_id, system=past.system, tools=past.tools)
        return replace(change, record=plan, standing=replace(change.standing, plan=plan))

    def _skipping(self, record: PlanRecord, moment: Moment, past: Past) -> Past:
        """Return the past with an event skipped that would not pay; after two in a row compaction rests."""
        costs = Cost(0, record.tokens_before), Cost(0, record.tokens_after)
        self._notify(events.COMPRESSION_SKIPPED, record.cause, record, *costs)
        if past.skipped + 1 < MOST_SKIPS or moment.now is None:
            return replace(past, skipped=past.skipped + 1)
        self._notify(events.COMPACTION_PAUSED, record.cause, record, *costs)
        return replace(past, skipped=0, rests_until=moment.now + self.settings.backoff_seconds)

    def _write(self, stored: Standing, change: Change, renewed: tuple[Record, ...]) -> None:
        """Store an event: its summaries, then the plan that shows them, with what its notes are made from."""
        plan, batch = change.record, change.batch
        for summary in batch.summaries:
            self._shelf.summaries.put(summary)
        notes = (*renewed, *self._notes.settle(batch.merged_through, batch.runs))
        record = Record("plan", plan.plan_id, plan.to_json())
        self._shelf.transcripts.append(self.session_id, stored.messages, (), (*notes, record))
        self._standing = None
        self._notes_at = stored.records + len(notes) + 1
        costs = Cost(0, plan.tokens_before), Cost(0, plan.tokens_after)
        self._notify(events.VIEW_PLAN_CHANGED, plan.cause, plan, *costs)
        if batch.summaries:
            self._notify(events.COMPRESSED, plan.cause, plan, *costs)

    def _answered(self, usage: Usage | None) -> Past | None:
        """Return what the newest request leaves, with what its usage taught; None where none waits to be recorded."""
        if self._next is None or usage is None:
            return self._next
        return replace(self._next, calibration=self._past.calibration.learn(self._next.cost, usage.input_tokens))

    def _check_reported(self, answered: Past, usage: Usage | None) -> None:
        if usage is None or usage.input_tokens >= SILENT_CUT_FRACTION * answered.cost.estimate:
            return
        cut = Cost(0, usage.input_tokens)
        self._notify(events.SILENT_TRUNCATION, "the provider reports far less than was sent", None, answered.cost, cut)

    def _add_pin(self, body: Mapping[str, object]) -> None:
        for _ in range(MOST_TRIES):
            stored = self._current()
            record = Record(PIN, stored.pins.count, json.dumps(body, separators=(",", ":")))
            try:
                self._shelf.transcripts.append(self.session_id, stored.messages, (), (record,))
            except StoreError as error:
                self._make_way(stored, error)
                continue
            self._standing = None
            self._notes_at += 1
            return
        raise StoreError(f"{MOST_TRIES} other writers came first; nothing was pinned in {self.session_id!r}")

    def _notify(self, name: str, cause: str, plan: PlanRecord | None, before: Cost, after: Cost) -> None:
        if self._observer is not None:
            plan_id = plan.plan_id if plan else -1
            told = Event(name, self.session_id, cause, self.lease.lease_id, plan_id, before.bound, after.bound)
            self._observer.notify(told)
