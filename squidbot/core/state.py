"""What a session holds in memory of its store: read anew where others wrote, written in one transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from squidbot.core import events
from squidbot.core.budget import LEAST_FRACTION, reliability
from squidbot.core.compaction.bounds import bill_of, is_too_little, is_too_much
from squidbot.core.compaction.turn import aged, broken, closed, opened, overrun, shortened
from squidbot.core.errors import DamagedStoreError, SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.forgetting import injection_record, remove_facts
from squidbot.core.last_request import REQUEST, LastRequest
from squidbot.core.messages import Category, Cost, Record
from squidbot.core.plan import PlanRecord
from squidbot.core.tokens.calibration import UsageCalibration
from squidbot.core.transcript.bookkeeping import Keys
from squidbot.core.transcript.markers import MARKED
from squidbot.core.transcript.records import retry
from squidbot.core.transcript.scopes import MODEL, SCOPE, due_model, due_scope
from squidbot.core.transcript.windows import LEARNED, WINDOW, LearnedWindow
from squidbot.core.view.current import EVERYTHING, PLAN, READ_BACK_WINDOWS, STOOD_WITH, load, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.compaction.planner import Change
    from squidbot.core.compaction.turn import Outcome
    from squidbot.core.forgetting import FactRetraction, SessionWithout
    from squidbot.core.messages import ContextWindow, StoredMessage, Usage
    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.ports import Observer
    from squidbot.core.transcript.removals import ForgetRecord, Retraction
    from squidbot.core.view.current import CurrentView, SessionContext

__all__ = ["State"]

NOTHING = Cost(0, 0)
# The kinds of records whose newest one a session is opened with.
OPENED_WITH = (*STOOD_WITH, WINDOW.name, LEARNED.name, REQUEST, SCOPE.name, MODEL.name)
# Why a report is not believed, and why what reports have taught is forgotten.
TOO_MUCH = "the report says more than the request can have cost, as a sum over several calls does: it is not believed"
NO_ROOM = "what was reported before would leave no room for any request: it is forgotten"
Done = TypeVar("Done")


class State:
    """What one session knows of its store.

    Attributes:
        shelf, window: where its data stand, and the window it is open under.
        keys: what clients called what they sent.
        past: what the newest recorded request left; waiting: what the newest assembled one will leave once it is
            recorded, None where none waits.
        unreported: whether the newest recorded request was recorded before it was answered.
    """

    def __init__(
        self, shelf: SessionContext, window: ContextWindow, observer: Observer | None, *, reads_all: bool = False
    ) -> None:
        """Hold nothing yet. `reads_all`: what no plan stands for is read back whole, however long it is."""
        self._reads_all = reads_all
        self.shelf = shelf
        self.window = window
        self.keys = Keys(shelf.transcripts, shelf.session_id)
        self.last_request = LastRequest()
        self.waiting: LastRequest | None = None
        self.unreported = False
        # The newest recorded request, as it stood to be billed.
        self._unbilled: LastRequest | None = None
        self._observer = observer
        self._notes: Notebook | None = None
        self._standing: CurrentView | None = None
        # How many records the store held when the notes were read: a different number means that they are stale.
        self._notes_at = 0
        # The newest records of the kinds that a session is opened with; whether they say all that `_due` has to.
        self._newest: dict[str, Record] = {}
        self._says_due = False
        # The newest plan that this process has told of; -1 for none.
        self._told_plan = -1

    @property
    def _source(self) -> str:
        """The model and the counter that reports are of."""
        return f"{self.window.model}/{self.shelf.renderer.meter.name}"

    @property
    def notes(self) -> Notebook:
        """The session's notes."""
        if self._notes is None:
            # The rooms that make notes are a quarter of the core, and most calls need none.
            from squidbot.core.notes.notebook import Notebook  # noqa: PLC0415

            shelf = self.shelf
            stores = shelf.transcripts, shelf.summaries
            self._notes = Notebook(shelf.session_id, shelf.renderer, *stores, shelf.tells_users)
        return self._notes

    def reopen_notes(self) -> None:
        """Forget what is held of the notes, so that it is read from the store again."""
        if self._notes is not None:
            self._notes.reopen()

    def current(self) -> CurrentView:
        """Return what is stored; read anew where another process, or an event, has changed it."""
        shelf, held = self.shelf, self._standing
        if held is not None and self._is_whole(held):
            head = shelf.transcripts.head(shelf.session_id)
            if (held.messages, held.records) == head:
                return held
        opening = shelf.transcripts.opening(shelf.session_id, OPENED_WITH)
        if opening.records != self._notes_at:
            self.reopen_notes()
        self._notes_at = opening.records
        self._standing = load(
            shelf, self.window.window_tokens, self.window.window_id, opening, reads_all=self._reads_all
        )
        self._newest, self._says_due = dict(opening.newest), False
        last = opening.newest.get(REQUEST)
        if last and last.number != self.last_request.number:
            self.last_request = LastRequest.of(last)
            if self.last_request.bills.source != self._source:  # of another model or counter they say nothing
                self.last_request = self.last_request._replace(bills=UsageCalibration())
        return self._standing

    def _is_whole(self, held: CurrentView) -> bool:
        """Return whether a new process would hold as much: without a compaction it reads only so far back."""
        most_tokens = EVERYTHING if self._reads_all else READ_BACK_WINDOWS * self.window.window_tokens
        near = bool(held.blocks) or held.tail.cost.bound <= most_tokens
        return near and not held.opened

    def tried(self, act: Callable[[CurrentView], Done], undone: str, *, looks: bool = True) -> Done:
        """Return what `act` returns for what is stored; it is tried again where another writer came first.

        Without `looks` what is held is taken for what is stored at first: the store refuses messages behind others.

        Raises:
            BusyError: others never stopped; `undone` says what was not done.
            StoreError: the store failed.
            SquidbotError: what `act` raises; what was held of the notes is forgotten.
        """
        held = None if looks else self._standing
        stored = held if held is not None and self._is_whole(held) else None

        def look() -> tuple[int, int]:
            nonlocal stored
            stored = stored or self.current()
            return stored.messages, stored.records

        def attempt(_head: tuple[int, int]) -> Done:
            nonlocal stored
            try:
                return act(stored or self.current())
            except SquidbotError as error:
                self.reopen_notes()
                if isinstance(error, StoreError):
                    self._standing = stored = None
                raise

        shelf = self.shelf
        return retry(shelf.transcripts, shelf.session_id, attempt, undone, wait=shelf.wait, look=look)

    def append(self, stored: CurrentView, rows: Sequence[StoredMessage], records: Sequence[Record]) -> None:
        """Store messages and records behind what is stored, in one transaction; what is held is read anew.

        Raises:
            StoreError: nothing was stored.
        """
        newest = self._newest
        due = self._due(stored, speaks=bool(rows)) if rows or records else []
        before = newest.get(WINDOW.name)
        self.shelf.transcripts.append(self.shelf.session_id, stored.messages, rows, (*due, *records))
        self._standing = None
        self._notes_at = stored.records + len(due) + len(records)
        newest.update({one.kind: one for one in (*due, *records)})
        self._says_due = self._says_due or bool(rows)
        if newest.get(WINDOW.name) is not before:
            self._opened(before)

    def _due(self, stored: CurrentView, *, speaks: bool) -> list[Record]:
        """Return the records to store first: the window, and (`speaks`) whose messages come and under which model."""
        if self._says_due:
            return []
        newest, scope = self._newest, self.shelf.scope
        due = WINDOW.due(newest.get(WINDOW.name), self.window)
        if not speaks:
            return due
        model = self.window.model or (scope.model if scope else "")
        scoped = due_scope(newest.get(SCOPE.name), scope, stored.messages)
        return [*due, *scoped, *due_model(newest.get(MODEL.name), model, stored.messages)]

    def record(
        self,
        stored: CurrentView,
        rows: Sequence[StoredMessage],
        request: Record | None,
        *others: Record | None,
    ) -> None:
        """Store messages with the request that they answer, what they mark and tell, and other records; hold all that.

        Raises:
            StoreError: nothing was stored.
        """
        marked = [said for said in map(self.shelf.renderer.said_by, rows) if said]
        marks = MARKED.records(marked, stored.markers.count)
        # A window that a refusal has made smaller is kept with the first answer: it then does fit.
        made = LearnedWindow(self.window.learned_for, self.window.window_tokens)
        answers = self.window.learned_for and any(row.role == "assistant" for row in rows)
        learned = LEARNED.due(self._newest.get(LEARNED.name), made) if answers else ()
        records = (request, *marks, *injection_record(self.shelf, rows), *others, *learned)
        self.append(stored, rows, [record for record in records if record])
        grown = stored.extended(rows, self.shelf.renderer)
        if not marked or stored.pins.goals is None:  # else they may say something else now, and are read anew
            self.hold(grown._replace(markers=stored.markers.taking(marked)))

    def hold(self, grown: CurrentView) -> None:
        """Hold what stands behind what was appended last, so that it is not read anew."""
        self._standing = grown._replace(records=self._notes_at)

    def write(
        self,
        stored: CurrentView,
        change: Change,
        notes: tuple[tuple[Record, ...], tuple[int, int]],
        extra: Sequence[Record] = (),
        *,
        by_category: bool = False,
    ) -> PlanRecord:
        """Store an event and return its plan: its summaries, then the plan that shows them, with what they are made of.

        `notes` are the records of notes, and how many there are behind them; `extra` are stored with them.

        Raises:
            StoreError: the plan was not stored.
        """
        records, counts = notes
        for summary in change.batch.summaries:
            self.shelf.summaries.put(summary)
        plan = replace(change.record, made_at_seq=stored.messages, notes=counts)
        told = injection_record(self.shelf, (), plan)
        self.append(stored, (), (*extra, *records, *told, Record("plan", plan.plan_id, plan.to_json())))
        if stored.messages and plan.repeats is None and plan.cause != "restore":
            # Held on to, so that a huge message behind the notes is not read again.
            self.hold(settled(self.shelf, plan, stored, change.standing))
        self._planned(stored.plan, plan)
        self._compressed(plan, is_shorter=bool(change.batch.summaries))
        for event in shortened(stored, change.standing, plan) if by_category else ():
            self._tell(event)
        self._doubt(stored, change.standing, plan)
        return plan

    def _doubt(self, before: CurrentView, after: CurrentView, plan: PlanRecord) -> None:
        """Tell where a plan takes from what a model can be relied on to go by, and leaves too little (O-17)."""
        size, generations = self.window.parameters_billion, after.generations
        left = reliability(generations, size)
        if left < LEAST_FRACTION and generations > before.generations:
            cause = f"reliability {left:.0%}: a new conversation is better"
            self._tell(Event(events.RELIABILITY_LOW, "", cause, plan_id=plan.plan_id, fraction=left))

    def erase(
        self, stored: CurrentView, forgetting: SessionWithout, change: Change | None, told: ForgetRecord
    ) -> PlanRecord | None:
        """Forget messages for good, in one transaction with the plan that goes on without them; return that plan.

        Raises:
            StoreError: nothing was forgotten.
        """
        shelf = self.shelf
        plan = replace(change.record, made_at_seq=stored.messages, notes=forgetting.counts) if change else None
        for summary in change.batch.summaries if change else ():
            shelf.summaries.put(summary)
        record = (*injection_record(shelf, (), plan), Record("plan", plan.plan_id, plan.to_json())) if plan else ()
        before = self._newest.get(WINDOW.name)
        due = WINDOW.due(before, self.window)
        erasure = forgetting.erasure(told, (*due, *record))
        shelf.transcripts.forget(shelf.session_id, erasure)
        if due:
            self._opened(before)
        self._standing, self.waiting = None, None
        self.reopen_notes()
        # Where summaries stand in a store of their own they go last: until then no plan shows them any more.
        shelf.summaries.remove(shelf.session_id, erasure.summaries)
        self.notify(events.FORGOTTEN, told.reason, plan)
        if plan:
            self._planned(stored.plan, plan)
        return plan

    def remove_facts(self, facts: FactRetraction) -> Retraction | None:
        """Take facts out of all that was told of them; None where nothing was.

        Raises:
            StoreError: nothing was taken out.
        """
        gone = remove_facts(self.shelf, facts)
        if gone is not None:
            self._standing = None
            self.notify(events.FORGOTTEN, facts.reason)
        return gone

    def answered(
        self, sent: Sequence[StoredMessage], rows: Sequence[StoredMessage], usage: Usage | None
    ) -> LastRequest | None:
        """Return what the newest request leaves, with what its usage taught; None where `rows` answer none.

        `sent` came with it, `rows` are recorded now. One that was recorded before it was answered is recorded once
        more with its usage.
        """
        # What was recalled between two turns answers no request.
        if all(row.category is Category.RECALLED for row in rows):
            return None
        if self.waiting is None:
            return self._reported(rows, usage) if self.unreported and usage is not None else None
        # Another writer may have recorded a request since this one was made.
        last_request = self.last_request
        left = self.waiting.recorded(sent, rows)._replace(number=last_request.number + 1, again=last_request.again)
        left = left if self.waiting.number == left.number else left._replace(added=None)
        self._unbilled = left
        return self._billed(left, rows, usage)._replace(added=None, sent=())

    def _reported(self, rows: Sequence[StoredMessage], usage: Usage) -> LastRequest:
        """Return what the newest request leaves, recorded already, with what was reported since."""
        known = (
            self._unbilled
            if self._unbilled and self._unbilled.number == self.last_request.number
            else self.last_request
        )
        number, again = self.last_request.number + 1, self.last_request.again + 1
        return self._billed(known, rows, usage)._replace(number=number, again=again, added=None, sent=())

    def _billed(self, left: LastRequest, rows: Sequence[StoredMessage], usage: Usage | None) -> LastRequest:
        """Return a past with what its usage has taught; nothing stands by it where there is none to believe."""
        window_tokens = self.window.window_tokens
        if usage is None or is_too_little(usage, left) or is_too_much(usage, left, window_tokens):
            return left._replace(bills=left.bills.unreported())
        # More than the window holds of an answer can't come back as input.
        usage = usage._replace(output_tokens=min(usage.output_tokens, window_tokens))
        return left._replace(bills=left.bills._replace(source=self._source).learn(bill_of(left, rows, usage)))

    def settle(self, answered: LastRequest, rows: Sequence[StoredMessage], usage: Usage | None) -> None:
        """Take what a request leaves, recorded now with `rows`, for the newest, and tell what its usage shows."""
        if usage is not None:
            self._check_reported(answered, usage)
        self.last_request, self.waiting = answered, None
        self.unreported = usage is None and all(row.role != "assistant" for row in rows)

    def _check_reported(self, answered: LastRequest, usage: Usage) -> None:
        """Tell where a report is not believed: so little that the provider must have cut the request, or too much."""
        if not is_too_little(usage, answered):
            if not answered.bills.reported_tokens:  # it has taught nothing
                self.notify(events.USAGE_DROPPED, TOO_MUCH, None, answered.cost, Cost(0, usage.input_tokens))
            return
        cause = "the provider reports far less than was sent"
        if not is_too_little(usage._replace(input_tokens=usage.input_tokens + usage.cached_tokens), answered):
            cause = "what is reported leaves out what the provider's cache held: it is not believed"
        self.notify(events.SILENT_TRUNCATION, cause, None, answered.cost, Cost(0, usage.input_tokens))

    def decided(self, outcome: Outcome) -> None:
        """Tell what a call has decided but its event: new rungs, its mode, events skipped, bills dropped.

        Where a request waits that was never recorded, its rungs have been told of.
        """
        known = self.waiting.rungs if self.waiting else ()
        cost, plan = outcome.assembly.cost, None if outcome.change else outcome.assembly.plan
        for rung in outcome.rungs:
            if rung not in known:
                plan_id, size = plan.plan_id if plan else -1, cost.bound
                self._tell(Event(events.CONTEXT_PRESSURE, "", rung, "", plan_id, size, size, outcome.fullness))
        for name, skipped in outcome.skipped:
            self.changed(name, skipped)
        if self.last_request.bills.reports and not outcome.leaves.bills.reports:
            self.notify(events.USAGE_DROPPED, NO_ROOM, plan, cost)
        before = self.waiting or self.last_request
        if before.known and before.mode != outcome.leaves.mode:
            self.notify(events.MODE_CHANGED, f"{before.mode_name} -> {outcome.leaves.mode_name}", plan)

    def _opened(self, newest: Record | None) -> None:
        """Tell of the window that has been written, and of the one whose place it takes."""
        before = WINDOW.read(newest) if newest else None
        if before is not None:
            self._tell(closed(before))
        for event in opened(before, self.window):
            self._tell(event)

    def _planned(self, before: PlanRecord | None, plan: PlanRecord) -> None:
        """Tell of a plan that has been written: what it breaks of the newest request, and which summaries have aged."""
        self._told_plan = plan.plan_id
        self.changed(events.VIEW_PLAN_CHANGED, plan)
        if (told := broken(self.last_request, plan)) is not None:
            self._tell(told)
        tokens = self.shelf.renderer.meter.text
        for event in (*aged(before, plan), *overrun(before, plan, self.window, lambda text: tokens(text).bound)):
            self._tell(event)

    def _compressed(self, plan: PlanRecord, *, is_shorter: bool) -> None:
        """Tell of the new notes in a plan, and where it leaves no room for any."""
        if is_shorter:
            self.changed(events.COMPRESSED, plan)
        if plan.cause == "rollover":
            self.changed(events.ROLLOVER_COMPLETE, plan)

    def tell_again(self, stored: CurrentView) -> None:
        """Tell of the plan that stands, where this process has not, and no request under it is recorded.

        Whoever stored it may have been killed before anybody heard of it: it is told once more rather than never.
        """
        plan = stored.plan
        if plan is None or plan.plan_id <= self._told_plan or not self.last_request.is_before(plan):
            return
        before = self._parent_of(plan)
        self._planned(before, plan)
        known = {one.summary_id for one in before.segments} if before else set()
        self._compressed(plan, is_shorter=any(one.summary_id and one.summary_id not in known for one in plan.segments))

    def _parent_of(self, plan: PlanRecord) -> PlanRecord | None:
        if plan.parent_plan_id is None:
            return None
        try:
            records = self.shelf.transcripts.records(self.shelf.session_id, PLAN, plan.parent_plan_id)
            return next((PlanRecord.from_json(one.body) for one in records if one.number == plan.parent_plan_id), None)
        except DamagedStoreError:  # what is told of it is less; that fails no turn, and `doctor` names what is damaged
            return None

    def changed(self, name: str, plan: PlanRecord) -> None:
        """Tell of a plan, with its cause and what a request costs on both sides of it."""
        self.notify(name, plan.cause, plan, Cost(0, plan.tokens_before), Cost(0, plan.tokens_after))

    def notify(
        self,
        name: str,
        cause: str,
        plan: PlanRecord | None = None,
        before: Cost = NOTHING,
        after: Cost = NOTHING,
    ) -> None:
        """Tell the observer what happened."""
        if self._observer is not None:
            told = Event(
                name,
                self.shelf.session_id,
                cause,
                self.window.window_id,
                plan.plan_id if plan else -1,
                before.bound,
                after.bound,
                model=self.window.model,
                scope=self.shelf.scope or events.NOBODY,
            )
            self._observer.notify(told)

    def _tell(self, event: Event) -> None:
        if self._observer is not None:
            told = replace(
                event,
                session_id=self.shelf.session_id,
                window_id=event.window_id or self.window.window_id,
                model=event.model or self.window.model,
                scope=self.shelf.scope or event.scope,
            )
            self._observer.notify(told)
