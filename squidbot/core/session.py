"""One conversation: what it sends before each model call, what it records after, and what somebody asks of it.

What is decided, `core.compaction.turn` decides. Here it is written, in one transaction, and observers hear of it.
"""

from __future__ import annotations

from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from squidbot.core import events
from squidbot.core.budget import LEAST_FRACTION, reliability
from squidbot.core.compaction.bounds import bill_of, is_too_little, is_too_much, limit_as_before
from squidbot.core.compaction.turn import Inputs, Planner, Room, arrival, decide, inputs_as_before
from squidbot.core.compaction.undo import RAW, request_again, to_plan, to_the_one_before
from squidbot.core.errors import DamagedStoreError, SquidbotError, StoreError
from squidbot.core.event_builders import aged, broken, closed, opened, overrun, shortened
from squidbot.core.events import Event
from squidbot.core.forgetting import (
    FactRetraction,
    SessionWithout,
    injected_facts,
    injection_record,
    named_goals,
    remove_facts,
    remove_goals,
    unprompted_facts,
)
from squidbot.core.last_request import REQUEST, LastRequest
from squidbot.core.messages import Category, Cost, Record
from squidbot.core.plan import PlanRecord
from squidbot.core.tokens.calibration import UsageCalibration
from squidbot.core.transcript.bookkeeping import Keys
from squidbot.core.transcript.goals import GOAL
from squidbot.core.transcript.markers import MARKED
from squidbot.core.transcript.pins import PIN, Pin, Pins
from squidbot.core.transcript.records import retry
from squidbot.core.transcript.removals import ForgetRecord
from squidbot.core.transcript.scopes import MODEL, SCOPE, due_model, due_scope
from squidbot.core.transcript.snapshots import SNAPSHOT, Retention, Snapshot, SnapshotIndex, check_name
from squidbot.core.transcript.windows import LEARNED, WINDOW, LearnedWindow
from squidbot.core.view.current import EVERYTHING, PLAN, READ_BACK_WINDOWS, STOOD_WITH, load, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.compaction.planner import NewPlan
    from squidbot.core.compaction.turn import Decision, UnpromptedContext
    from squidbot.core.compaction.undo import Return
    from squidbot.core.forgetting import ForgetResult
    from squidbot.core.messages import ContextWindow, Message, StoredMessage, Usage
    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.ports import Observer
    from squidbot.core.settings import HistorySettings
    from squidbot.core.transcript.removals import Retraction
    from squidbot.core.view.assembly import CoreAssembly
    from squidbot.core.view.current import CurrentView, SessionContext

# Makes a record of messages as they are stored.
RecordOf: TypeAlias = "Callable[[Sequence[StoredMessage]], Record]"
Done = TypeVar("Done")

__all__ = ["CoreSession", "RestorePoints", "SessionState"]

RETENTION = Retention()
NO_PIN = "nothing was pinned"
NO_LONGER = "a fact in the requests was forgotten, or belongs to somebody else"
NOTHING = Cost(0, 0)
# The kinds of records whose newest one a session is opened with.
OPENED_WITH = (*STOOD_WITH, WINDOW.name, LEARNED.name, REQUEST, SCOPE.name, MODEL.name)
# Why a report is not believed, and why what reports have taught is forgotten.
TOO_MUCH = "the report says more than the request can have cost, as a sum over several calls does: it is not believed"
NO_ROOM = "what was reported before would leave no room for any request: it is forgotten"


class CoreSession:
    """One conversation under one window. Not for two threads at once; several processes may hold the same session."""

    def __init__(
        self,
        context: SessionContext,
        window: ContextWindow,
        settings: HistorySettings,
        observer: Observer | None,
        retention: Retention = RETENTION,
    ) -> None:
        """Use `ContextEngine.session` instead."""
        self.window = window
        self.settings = settings
        self.retention = retention
        context = context._replace(tells_users=not settings.keeps_users, says_notes=settings.says_notes)
        self._state = SessionState(context, window, observer, reads_all=settings.strict)
        self._points = RestorePoints(self._state, retention)
        # Whether history has reached the mark with the newest assembled request: then it is recorded with a snapshot.
        self._snapshot_due = False
        # What memory says unprompted, as the newest call gave it.
        self._unprompted: UnpromptedContext | None = None
        # What came with that request, what stood before, and (None: not with it) what stands with it.
        self._sent: tuple[StoredMessage, ...] = ()
        self._found: CurrentView | None = None
        self._sent_view: CurrentView | None = None

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self._state.context.session_id

    def assemble(self, incoming: Sequence[Message] = (), inputs: Inputs | None = None) -> CoreAssembly:
        """Return the request to send for one model call, with `incoming` behind what is stored.

        Nothing is written but the plan, where this call changes it. Pass its `incoming` to `record` with the
        reply; messages that are recorded already need not be passed.

        Raises:
            BudgetError: no request with system text, tools, pins and the current turn fits the window.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        given = inputs or Inputs()
        return self._state.tried(lambda stored: self._assembled(stored, incoming, given), "no request was made")

    def preview(self, inputs: Inputs | None = None) -> CoreAssembly:
        """Return the request that `assemble` would return if nothing new had been said.

        Nothing is written or told. Without `inputs` the head is the plan's, system text and tools cost what they did.

        Raises:
            BudgetError: nothing makes it fit.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        stored = self._state.current()
        try:
            return decide(self._planner(stored, inputs or self._inputs_as_before(stored)), ()).assembly
        finally:
            self._state.reopen_notes()

    def request(self, number: int | None = None, inputs: Inputs | None = None) -> CoreAssembly:
        """Return a request as it was sent and recorded, made once more: the one of a number from 0, None: the newest.

        `inputs` bring its system text, which is the host's and is not stored; without it the messages behind it are
        returned. No more is promised of other fields than cost, limit, window and report of then.

        Raises:
            NotFoundError: there is no such request, or it can't be made again; the text says why.
            StoreError: the store failed.
        """
        return request_again(self._state.context, self.window, number, inputs or Inputs())

    def record(
        self,
        *messages: Message | StoredMessage,
        usage: Usage | None = None,
        now: float | None = None,
        key: str = "",
        beside: RecordOf | None = None,
    ) -> tuple[StoredMessage, ...]:
        """Store messages behind the transcript, durably, in one transaction, and return them as stored.

        Take its `incoming` as it came, then the reply; in one call, or what came before the model is called and
        the reply behind it (M7). `usage` is what the provider reported for the newest assembled request: it calibrates
        the counter and shows a prompt that was cut silently. `now`, in seconds since 1970, is the time of messages
        that bring none. `key` is what a client calls them: what is recorded under it already, by any process, is
        returned, and nothing is stored. `beside` makes the record that is stored with them, of what they are stored as.

        Raises:
            StoreError: nothing was stored.
        """
        given = (key, beside)
        return self._state.tried(
            lambda stored: self._recorded(stored, messages, usage, now, given), "nothing was written", looks=False
        )

    def pin(self, seq: int, *, on: bool = True) -> None:
        """Keep a message verbatim whatever happens, with its tool results, or (`on` false) no longer; durable.

        Raises:
            StoreError: nothing was stored.
        """
        self._state.tried(lambda stored: self._pinned(stored, Pin(seq, on)), NO_PIN)

    def pin_text(self, name: str, text: str) -> None:
        """Put a text (a goal, a locked decision) into the head of every request from the next event on; durable.

        An empty text takes the one of that name away.

        Raises:
            StoreError: nothing was stored.
        """
        self._state.tried(lambda stored: self._pinned(stored, Pin(name=name, text=text)), NO_PIN)

    def compact(self, inputs: Inputs | None = None, *, now: float | None = None) -> PlanRecord | None:
        """Make an event now, whatever the pressure, and return its plan; None where there is nothing to compact.

        Without `inputs` the head stays as the plan has it, but for pinned texts, and system text and tools cost what
        they did in the newest recorded request; `now` is in seconds since 1970.

        Raises:
            BudgetError: what must be sent in any case does not fit.
            StoreError: nothing was changed.
        """
        return self._state.tried(lambda stored: self._compacted(stored, inputs, now), "nothing was changed")

    def undo(self, inputs: Inputs | None = None, *, now: float | None = None) -> PlanRecord:
        """Make the plan before the newest one stand again, and return the plan that does so; `inputs` as in `compact`.

        The next request is the former one byte for byte, and what was said since behind it; steps that were said under
        the plan that is undone are sent without their reasoning. From then on only a request that does not fit,
        `compact` or another window changes it. Undoing again goes further back, in front of the first plan to
        everything
        raw; to come forward again, restore a snapshot made before, or `compact`. Pins stay as they are.

        Raises:
            NotFoundError: there is nothing to undo, or what would stand again is no longer stored.
            BudgetError: that does not fit any more; nothing was changed.
            StoreError: nothing was changed.
        """
        return self._state.tried(
            lambda stored: self._points.undo(self._sane_planner(stored, inputs, now)), "nothing was undone"
        )

    def snapshot(self, name: str, *, now: float | None = None) -> Snapshot:
        """Keep plan and pins as they are under a name, durably; `now` is in seconds since 1970.

        A name that is given again takes the place of the one before. `Retention` says how many are kept.

        Raises:
            ValueError: the name is empty, too long, or of the form of automatic ones.
            StoreError: nothing was stored.
        """
        check_name(name)
        return self._state.tried(lambda stored: self._points.make(stored, name, now), "no snapshot was made")

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Return the snapshots that are kept, oldest first.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return self._points.read().kept

    def restore(self, name: str, inputs: Inputs | None = None, *, now: float | None = None) -> PlanRecord:
        """Make plan and pins what they were at a snapshot, and return the plan that does so; `inputs` as in `compact`.

        The state now is kept as a snapshot first. What was said since stands raw behind what is brought back, as after
        `undo`, and is held as there; `undo` brings back the plan before, and leaves the pins.

        Raises:
            NotFoundError: there is no snapshot of that name, or what it was made of is no longer stored.
            BudgetError: what it would bring back does not fit; nothing was changed.
            StoreError: nothing was changed.
        """
        return self._state.tried(
            lambda stored: self._points.restore(name, self._sane_planner(stored, inputs, now), now),
            "nothing was restored",
        )

    def forget(
        self, *seqs: int, reason: str = "", inputs: Inputs | None = None, now: float | None = None
    ) -> ForgetResult:
        """Remove messages for good: payloads, notes that tell of them, copies that `history` made, what search knows.

        A mark stands in the place of each from then on, so that tool calls keep their results and every other message
        its id. Goals go with the call or the marked line that set them. What others said of it later stays. `reason`
        is kept beside the ids in a record of the request; it must not repeat what is to be forgotten. `inputs` and
        `now` as in `compact`.

        Raises:
            NotFoundError: a message is not there; nothing was forgotten.
            BudgetError: what must be sent in any case does not fit; nothing was forgotten.
            StoreError: no message was forgotten.
        """
        self._unset(seqs, reason, now)
        return self._state.tried(
            lambda stored: self._forgotten(stored, seqs, reason, inputs, now), "nothing was forgotten"
        )

    def room(self) -> Room:
        """Return what the next request has free behind what is stored, and behind what came with the newest one."""
        stored = self._state.current()
        return self._planner(stored, self._inputs_as_before(stored)).room(self._state.waiting)

    # -- one try each -------------------------------------------------------------------------------------------------

    def _planner(self, stored: CurrentView, inputs: Inputs) -> Planner:
        state = self._state
        return Planner(
            state.context,
            self.window,
            self.settings,
            stored,
            inputs,
            last_request=state.last_request,
            notes=state.open_notes,
            auto_fraction=self.retention.auto_fraction,
        )

    def _inputs_as_before(self, stored: CurrentView, now: float | None = None) -> Inputs:
        return inputs_as_before(self._state.context, self.window, self._state.last_request, stored, now)

    def _sane_planner(self, stored: CurrentView, inputs: Inputs | None, now: float | None) -> Planner:
        """Return what decides what is done by hand: no report ever keeps somebody from shortening or forgetting."""
        return self._planner(stored, inputs or self._inputs_as_before(stored, now)).sane()

    def _assembled(self, stored: CurrentView, incoming: Sequence[Message], given: Inputs) -> CoreAssembly:
        state, self._unprompted = self._state, given.unprompted
        if self._unprompted and self._withdrawn(unprompted_facts(stored), given.now):
            stored = state.current()
        state.tell_again(stored)
        decision = decide(self._planner(stored, given), incoming)
        state.tell_decision(decision)
        assembly = decision.assembly
        if decision.change is not None:
            plan = self._stored_plan(stored, decision, decision.change)
            facts = frozenset(memory_id for section in plan.remembered for memory_id in section.memories)
            if self._withdrawn(facts, given.now):
                # Forgotten while the plan was made.
                return self._assembled(state.current(), incoming, given)
            assembly = replace(assembly, event=plan, view=assembly.view._replace(plan=plan))
        state.waiting, self._sent = decision.leaves, assembly.incoming
        self._found, self._sent_view = stored, None if decision.change or stored.opened else assembly.view
        self._snapshot_due = decision.pressing and decision.change is None
        state.notify(events.CONTEXT_ASSEMBLED, "", assembly.plan, assembly.cost, assembly.cost)
        return assembly

    def _withdrawn(self, facts: frozenset[str], now: float | None) -> bool:
        """Take out of what stands the facts that must not be sent any more, and return whether there was one."""
        gone = self._unprompted.withdrawn(facts) if self._unprompted and facts else frozenset[str]()
        return bool(gone) and self._state.remove_facts(FactRetraction(gone, reason=NO_LONGER, now=now)) is not None

    def _stored_plan(self, stored: CurrentView, decision: Decision, change: NewPlan) -> PlanRecord:
        """Store a new plan; where history has reached the mark, with a snapshot of what stood before it."""
        saved = self._points.automatic(stored, "pressure", change.record.created_at) if decision.pressing else None
        plan = self._write(stored, change, decision.renewed, (saved.record,) if saved else ())
        self._points.tell(saved)
        return plan

    def _write(
        self, stored: CurrentView, change: NewPlan, renewed: tuple[Record, ...], extra: Sequence[Record] = ()
    ) -> PlanRecord:
        """Store a new plan with the notes that it shows."""
        notes = self._state.open_notes()
        records = (*renewed, *notes.settle(change.batch.merged_through, change.batch.runs))
        shared = self.settings.category_weights is not None
        return self._state.write(stored, change, (records, notes.counts()), extra, by_category=shared)

    def _recorded(
        self,
        stored: CurrentView,
        messages: Sequence[Message | StoredMessage],
        usage: Usage | None,
        now: float | None,
        given: tuple[str, RecordOf | None],
    ) -> tuple[StoredMessage, ...]:
        state, (key, beside) = self._state, given
        if key and (known := state.keys.find(key)):
            return tuple(state.context.read(known.first_seq, known.last_seq))
        limit, outside = limit_as_before(self.window, self.settings, state.last_request), state.last_request.outside
        rows = arrival(state.context.renderer, self.settings, stored, limit, outside).placed(messages, stored, now)
        answered = state.answered(self._sent, rows, usage)
        due = answered is not None and self._snapshot_due
        saved = self._points.automatic(stored, "pressure", rows[-1].time) if due else None
        keyed = state.keys.record(key, rows) if key else None
        made = beside(rows) if beside else None
        others = saved.record if saved else None, keyed, made
        state.record(stored, self._grown(stored, rows), rows, answered and answered.record(usage), *others)
        self._points.tell(saved)
        if answered:
            state.settle(answered, rows, usage)
            self._snapshot_due = False
        if self._unprompted:  # what was said in it may have been forgotten since it was asked for
            self._withdrawn(injected_facts(state.context, rows), now)
        return rows

    def _grown(self, stored: CurrentView, rows: Sequence[StoredMessage]) -> CurrentView:
        """Return what stands with messages behind it; what came with the newest request was rendered for that."""
        sent, view, renderer = len(self._sent), self._sent_view, self._state.context.renderer
        if view is None or stored is not self._found or not all(map(is_, self._sent, rows)) or len(rows) < sent:
            return stored.extended(rows, renderer)
        return view.extended(rows[sent:], renderer)

    def _compacted(self, stored: CurrentView, inputs: Inputs | None, now: float | None) -> PlanRecord | None:
        # Else what another window had noted would be noted twice.
        renewed = self._state.open_notes().restart() if stored.opened else ()
        change = self._sane_planner(stored, inputs, now).compacted()
        if change is None:
            self._state.reopen_notes()
            return None
        return self._write(stored, change, renewed)

    def _forgotten(
        self, stored: CurrentView, seqs: tuple[int, ...], reason: str, inputs: Inputs | None, now: float | None
    ) -> ForgetResult:
        state = self._state
        forgetting = SessionWithout(state.context, stored, seqs)
        change = self._sane_planner(stored, inputs, now).without(forgetting)
        gone = forgetting.forgotten
        record = ForgetRecord(gone.asked, gone.copies, gone.summaries, reason, state.last_request.number + 1, now)
        return replace(gone, plan=state.erase(stored, forgetting, change, record))

    def _unset(self, seqs: tuple[int, ...], reason: str, now: float | None) -> None:
        """Take out the goals that messages set; what they named is known only while they are there."""
        context, store = self._state.context, self._state.context.transcripts
        messages = store.head(self.session_id)[0]
        if all(0 <= seq < messages for seq in seqs) and store.last_record(self.session_id, GOAL.name):
            remove_goals(context, named_goals(context.renderer, store.pick(self.session_id, set(seqs))), reason, now)

    def _pinned(self, stored: CurrentView, pin: Pin) -> None:
        self._state.append(stored, (), [PIN.record(stored.pins.count, pin)])
        # Nothing that is sent changes before the next event.
        made = PIN.state(self._state.context.transcripts, self.session_id)
        pins = replace(made, goals=stored.pins.goals, documents=stored.pins.documents)
        self._state.hold(stored._replace(pins=pins))


class SessionState:
    """What one session knows of its store.

    Attributes:
        context, window: where its data stand, and the window it is open under.
        keys: what clients called what they sent.
        past: what the newest recorded request left; waiting: what the newest assembled one will leave once it is
            recorded, None where none waits.
        unreported: whether the newest recorded request was recorded before it was answered.
    """

    def __init__(
        self, context: SessionContext, window: ContextWindow, observer: Observer | None, *, reads_all: bool = False
    ) -> None:
        """Hold nothing yet. `reads_all`: what no plan stands for is read back whole, however long it is."""
        self._reads_all = reads_all
        self.context = context
        self.window = window
        self.keys = Keys(context.transcripts, context.session_id)
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
        return f"{self.window.model}/{self.context.renderer.meter.name}"

    def open_notes(self) -> Notebook:
        """Return the session's notes."""
        if self._notes is None:
            # The rooms that make notes are a quarter of the core, and most calls need none.
            from squidbot.core.notes.notebook import Notebook  # noqa: PLC0415

            context = self.context
            stores = context.transcripts, context.summaries
            self._notes = Notebook(context.session_id, context.renderer, *stores, context.tells_users)
        return self._notes

    def reopen_notes(self) -> None:
        """Forget what is held of the notes, so that it is read from the store again."""
        if self._notes is not None:
            self._notes.reopen()

    def current(self) -> CurrentView:
        """Return what is stored; read anew where another process, or an event, has changed it."""
        context, held = self.context, self._standing
        if held is not None and self._is_whole(held):
            head = context.transcripts.head(context.session_id)
            if (held.messages, held.records) == head:
                return held
        opening = context.transcripts.opening(context.session_id, OPENED_WITH)
        if opening.records != self._notes_at:
            self.reopen_notes()
        self._notes_at = opening.records
        self._standing = load(
            context, self.window.window_tokens, self.window.window_id, opening, reads_all=self._reads_all
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

        context = self.context
        return retry(context.transcripts, context.session_id, attempt, undone, wait=context.wait, look=look)

    def append(self, stored: CurrentView, rows: Sequence[StoredMessage], records: Sequence[Record]) -> None:
        """Store messages and records behind what is stored, in one transaction; what is held is read anew.

        Raises:
            StoreError: nothing was stored.
        """
        newest = self._newest
        due = self._due(stored, speaks=bool(rows)) if rows or records else []
        before = newest.get(WINDOW.name)
        self.context.transcripts.append(self.context.session_id, stored.messages, rows, (*due, *records))
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
        newest, scope = self._newest, self.context.scope
        due = WINDOW.due(newest.get(WINDOW.name), self.window)
        if not speaks:
            return due
        model = self.window.model or (scope.model if scope else "")
        scoped = due_scope(newest.get(SCOPE.name), scope, stored.messages)
        return [*due, *scoped, *due_model(newest.get(MODEL.name), model, stored.messages)]

    def record(
        self,
        stored: CurrentView,
        grown: CurrentView,
        rows: Sequence[StoredMessage],
        request: Record | None,
        *others: Record | None,
    ) -> None:
        """Store messages with the request that they answer, what they mark and tell, and other records; hold all that.

        Raises:
            StoreError: nothing was stored.
        """
        marked = [said for said in map(self.context.renderer.said_by, rows) if said]
        marks = MARKED.records(marked, stored.markers.count)
        # A window that a refusal has made smaller is kept with the first answer: it then does fit.
        made = LearnedWindow(self.window.learned_for, self.window.window_tokens)
        answers = self.window.learned_for and any(row.role == "assistant" for row in rows)
        learned = LEARNED.due(self._newest.get(LEARNED.name), made) if answers else ()
        records = (request, *marks, *injection_record(self.context, rows), *others, *learned)
        self.append(stored, rows, [record for record in records if record])
        if not marked or stored.pins.goals is None:  # else they may say something else now, and are read anew
            self.hold(grown._replace(markers=stored.markers.taking(marked)))

    def hold(self, grown: CurrentView) -> None:
        """Hold what stands behind what was appended last, so that it is not read anew."""
        self._standing = grown._replace(records=self._notes_at)

    def write(
        self,
        stored: CurrentView,
        change: NewPlan,
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
            self.context.summaries.put(summary)
        plan = replace(change.record, made_at_seq=stored.messages, notes=counts)
        told = injection_record(self.context, (), plan)
        self.append(stored, (), (*extra, *records, *told, Record("plan", plan.plan_id, plan.to_json())))
        if stored.messages and plan.repeats is None and plan.cause != "restore":
            # Held on to, so that a huge message behind the notes is not read again.
            self.hold(settled(self.context, plan, stored, change.view))
        self._planned(stored.plan, plan)
        self._compressed(plan, is_shorter=bool(change.batch.summaries))
        for event in shortened(stored, change.view, plan) if by_category else ():
            self._tell(event)
        self._doubt(stored, change.view, plan)
        return plan

    def _doubt(self, before: CurrentView, after: CurrentView, plan: PlanRecord) -> None:
        """Tell where a plan takes from what a model can be relied on to go by, and leaves too little."""
        size, generations = self.window.parameters_billion, after.generations
        left = reliability(generations, size)
        if left < LEAST_FRACTION and generations > before.generations:
            cause = f"reliability {left:.0%}: a new conversation is better"
            self._tell(Event(events.RELIABILITY_LOW, "", cause, plan_id=plan.plan_id, fraction=left))

    def erase(
        self, stored: CurrentView, forgetting: SessionWithout, change: NewPlan | None, told: ForgetRecord
    ) -> PlanRecord | None:
        """Forget messages for good, in one transaction with the plan that goes on without them; return that plan.

        Raises:
            StoreError: nothing was forgotten.
        """
        context = self.context
        plan = replace(change.record, made_at_seq=stored.messages, notes=forgetting.counts) if change else None
        for summary in change.batch.summaries if change else ():
            context.summaries.put(summary)
        record = (*injection_record(context, (), plan), Record("plan", plan.plan_id, plan.to_json())) if plan else ()
        before = self._newest.get(WINDOW.name)
        due = WINDOW.due(before, self.window)
        erasure = forgetting.erasure(told, (*due, *record))
        context.transcripts.forget(context.session_id, erasure)
        if due:
            self._opened(before)
        self._standing, self.waiting = None, None
        self.reopen_notes()
        # Where summaries stand in a store of their own they go last: until then no plan shows them any more.
        context.summaries.remove(context.session_id, erasure.summaries)
        self.notify(events.FORGOTTEN, told.reason, plan)
        if plan:
            self._planned(stored.plan, plan)
        return plan

    def remove_facts(self, facts: FactRetraction) -> Retraction | None:
        """Take facts out of all that was told of them; None where nothing was.

        Raises:
            StoreError: nothing was taken out.
        """
        gone = remove_facts(self.context, facts)
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
        left, number, again = self.waiting.recorded(sent, rows), self.last_request.number + 1, self.last_request.again
        if left.number != number:
            left = left._replace(number=number, again=again, added=None)
        elif left.again != again:
            left = left._replace(again=again)
        self._unbilled = left
        return left._replace(bills=self._bills(left, rows, usage), added=None)

    def _reported(self, rows: Sequence[StoredMessage], usage: Usage) -> LastRequest:
        """Return what the newest request leaves, recorded already, with what was reported since."""
        known = (
            self._unbilled
            if self._unbilled and self._unbilled.number == self.last_request.number
            else self.last_request
        )
        number, again = self.last_request.number + 1, self.last_request.again + 1
        bills = self._bills(known, rows, usage)
        return known._replace(bills=bills, number=number, again=again, added=None)

    def _bills(self, left: LastRequest, rows: Sequence[StoredMessage], usage: Usage | None) -> UsageCalibration:
        """Return what the usage of a request has taught; nothing stands by it where there is none to believe."""
        window_tokens = self.window.window_tokens
        if usage is None or is_too_little(usage, left) or is_too_much(usage, left, window_tokens):
            return left.bills.unreported()
        # More than the window holds of an answer can't come back as input.
        usage = usage._replace(output_tokens=min(usage.output_tokens, window_tokens))
        return left.bills._replace(source=self._source).learn(bill_of(left, rows, usage))

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

    def tell_decision(self, decision: Decision) -> None:
        """Tell what a call has decided but its event: new rungs, its mode, events skipped, bills dropped.

        Where a request waits that was never recorded, its rungs have been told of.
        """
        known = self.waiting.rungs if self.waiting else ()
        cost, plan = decision.assembly.cost, None if decision.change else decision.assembly.plan
        for rung in decision.rungs:
            if rung not in known:
                plan_id, size = plan.plan_id if plan else -1, cost.bound
                self._tell(Event(events.CONTEXT_PRESSURE, "", rung, "", plan_id, size, size, decision.fullness))
        for name, skipped in decision.skipped:
            self.changed(name, skipped)
        if self.last_request.bills.reports and not decision.leaves.bills.reports:
            self.notify(events.USAGE_DROPPED, NO_ROOM, plan, cost)
        before = self.waiting or self.last_request
        if before.known and before.mode != decision.leaves.mode:
            self.notify(events.MODE_CHANGED, f"{before.mode_name} -> {decision.leaves.mode_name}", plan)

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
        if (event := broken(self.last_request, plan)) is not None:
            self._tell(event)
        tokens = self.context.renderer.meter.text
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
            records = self.context.transcripts.records(self.context.session_id, PLAN, plan.parent_plan_id)
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
            event = Event(
                name,
                self.context.session_id,
                cause,
                self.window.window_id,
                plan.plan_id if plan else -1,
                before.bound,
                after.bound,
                model=self.window.model,
                scope=self.context.scope or events.NOBODY,
            )
            self._observer.notify(event)

    def _tell(self, event: Event) -> None:
        if self._observer is not None:
            named = replace(
                event,
                session_id=self.context.session_id,
                window_id=event.window_id or self.window.window_id,
                model=event.model or self.window.model,
                scope=self.context.scope or event.scope,
            )
            self._observer.notify(named)


class RestorePoints:
    """The snapshots of one session. Times are in seconds since 1970; None is that of the newest message."""

    def __init__(self, state: SessionState, retention: Retention) -> None:
        """Use what a session holds, and keep as many as `retention` says."""
        self._state = state
        self._retention = retention

    def read(self) -> SnapshotIndex:
        """Return the snapshots that are kept.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return SNAPSHOT.state(self._state.context.transcripts, self._state.context.session_id)

    def saved(self, stored: CurrentView, cause: str, name: str, now: float | None) -> Snapshot:
        """Return a snapshot of what stands, to be stored; one without a name is automatic.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        plan_id = stored.plan.plan_id if stored.plan else RAW
        time = stored.newest_time if now is None else now
        counts = stored.messages, stored.pins.count
        made = Snapshot(name, not name, cause, plan_id, self._state.window.window_id, *counts, created_at=time)
        return self.read().placed(made, self._retention)

    def automatic(self, stored: CurrentView, cause: str, now: float | None) -> Snapshot | None:
        """Return an automatic snapshot; None where that fails, which never fails the turn."""
        try:
            return self.saved(stored, cause, "", now)
        except SquidbotError as error:
            self._state.notify(events.SNAPSHOT_ERROR, str(error), stored.plan)
            return None

    def tell(self, saved: Snapshot | None) -> None:
        """Tell of a snapshot that is stored by now; None is none."""
        if saved is not None:
            name = events.AUTO_SNAPSHOT_CREATED if saved.automatic else events.SNAPSHOT_CREATED
            self._state.notify(name, saved.name)

    def make(self, stored: CurrentView, name: str, now: float | None) -> Snapshot:
        """Store a snapshot of what stands under a name, and return it.

        Raises:
            StoreError: nothing was stored.
        """
        saved = self.saved(stored, "manual", name, now)
        self._state.append(stored, (), (saved.record,))
        self.tell(saved)
        return saved

    def restore(self, name: str, planner: Planner, now: float | None) -> PlanRecord:
        """Make plan and pins what they were at a snapshot, and return the plan that does so, which is stored.

        The state now is kept as a snapshot first.

        Raises:
            NotFoundError: there is no snapshot of that name, or what it was made of is no longer stored.
            BudgetError: what it would bring back does not fit; nothing was changed.
            StoreError: nothing was changed.
        """
        context, stored = self._state.context, planner.stored
        wanted = self.read().named(name)
        back = to_plan(context, "restore", wanted.plan_id)
        saved = self.saved(stored, "restore", "", now)
        then = Pins.of(PIN.all(context.transcripts, context.session_id)[: wanted.pins])
        beside = saved.record, *PIN.records(stored.pins.back_to(then), stored.pins.count)
        plan = self._write(planner, back, beside)
        self.tell(saved)
        self._state.changed(events.SNAPSHOT_RESTORED, plan)
        return plan

    def undo(self, planner: Planner) -> PlanRecord:
        """Make the plan before the newest one stand again, and return the plan that does so, which is stored.

        Raises:
            NotFoundError: there is nothing to undo, or what would stand again is no longer stored.
            BudgetError: that does not fit any more; nothing was changed.
            StoreError: nothing was changed.
        """
        plan = self._write(planner, to_the_one_before(self._state.context, planner.stored.plan))
        self._state.changed(events.PLAN_UNDONE, plan)
        return plan

    def _write(self, planner: Planner, back: Return, extra: Sequence[Record] = ()) -> PlanRecord:
        """Store the plan that brings another one back, with the notes as they were under it."""
        from squidbot.core.notes.notebook import counts_behind, rewound  # noqa: PLC0415  # no other turn needs it

        notes = self._state.open_notes()
        change = planner.restored(back)
        records = rewound(notes, back.target.notes, back.target.merged_through)
        plan = self._state.write(planner.stored, change, (records, counts_behind(notes, records)), extra)
        self._state.reopen_notes()
        return plan
