"""One conversation: it assembles each request, records what was said, and undoes, pins and forgets on demand.

`core.compaction.turn` decides; this file writes the decision in one transaction and notifies observers.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from squidbot.core import events
from squidbot.core.budget import LEAST_FRACTION, reliability
from squidbot.core.compaction.bounds import bill_of, is_too_little, is_too_much, limit_as_before
from squidbot.core.compaction.turn import Inputs, Planner, Room, arrival, decide, inputs_as_before
from squidbot.core.compaction.undo import RAW, request_again, to_line, to_plan, to_the_one_before
from squidbot.core.errors import (
    BusyError,
    DamagedStoreError,
    NotFoundError,
    SquidbotError,
    StoreError,
    UnconfirmedError,
)
from squidbot.core.event_builders import aged, broken, closed, opened, overrun, shortened
from squidbot.core.events import Event
from squidbot.core.forgetting import (
    FactRetraction,
    SessionWithout,
    injected_facts,
    injection_record,
    merged,
    named_goals,
    remove_facts,
    remove_goals,
    unprompted_facts,
)
from squidbot.core.last_request import REQUEST, LastRequest, begins_as_sent
from squidbot.core.memories import NOBODY
from squidbot.core.messages import Category, Cost, Record
from squidbot.core.plan import PlanRecord
from squidbot.core.tokens.calibration import UsageCalibration
from squidbot.core.transcript.bookkeeping import Keys
from squidbot.core.transcript.goals import GOAL
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.markers import MARKED
from squidbot.core.transcript.pins import PIN, Pin, Pins
from squidbot.core.transcript.records import MOST_SECONDS, PAGE_MESSAGES, pauses, retry
from squidbot.core.transcript.removals import ForgetRecord
from squidbot.core.transcript.scopes import MODEL, SCOPE, due_model, due_scope
from squidbot.core.transcript.snapshots import SNAPSHOT, Retention, Snapshot, SnapshotIndex, check_name
from squidbot.core.transcript.windows import LEARNED, WINDOW, LearnedWindow
from squidbot.core.view.current import EVERYTHING, PLAN, VIEW_KINDS, load, read_back_tokens, view_after

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.compaction.planner import NewPlan
    from squidbot.core.compaction.turn import Decision, UnpromptedContext
    from squidbot.core.compaction.undo import Return
    from squidbot.core.forgetting import ForgetResult
    from squidbot.core.messages import ContextWindow, Message, Opening, StoredMessage, Usage
    from squidbot.core.notes.notebook import Notebook
    from squidbot.core.ports import Observer
    from squidbot.core.settings import HistorySettings
    from squidbot.core.transcript.lines import Lines, Run
    from squidbot.core.transcript.removals import Retraction
    from squidbot.core.view.assembly import CoreAssembly, WrittenParts
    from squidbot.core.view.current import CurrentView, SessionContext

# Makes a record of messages as they are stored.
RecordOf: TypeAlias = "Callable[[Sequence[StoredMessage]], Record]"
# Makes records of the view in front of which they are stored.
Extra: TypeAlias = "Callable[[CurrentView], Sequence[Record]]"
Done = TypeVar("Done")

__all__ = ["CoreSession", "RestorePoints", "SessionState"]

RETENTION = Retention()
NO_PIN = "nothing was pinned"
NO_LONGER = "a fact in the requests was forgotten, or belongs to somebody else"
NOTHING = Cost(0, 0)
# The kinds of records whose newest one a session is opened with.
OPENED_WITH = (*VIEW_KINDS, WINDOW.name, LEARNED.name, REQUEST, SCOPE.name, MODEL.name, SNAPSHOT.name)
# A plan is made within some hundredths of a second: who waits for it looks as often.
LOOK_SECONDS = 0.03
# Why a usage report is dropped, and why the calibration is.
TOO_MUCH = "the report says more than the request can have cost, as a sum over several calls does: it is not believed"
NO_ROOM = "what was reported before would leave no room for any request: it is forgotten"


class CoreSession:
    """One conversation under one window. Not thread-safe; several processes may open the same session."""

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
        self._state = SessionState(context._replace(history=settings), window, observer, reads_all=settings.strict)
        self._points = RestorePoints(self._state, retention)
        # Whether the newest request has reached the mark for an automatic snapshot; recording it makes one.
        self._snapshot_due = False
        # The unprompted context of the newest call.
        self._unprompted: UnpromptedContext | None = None
        # The new messages of the newest request, the view before them, and with them (None: a plan changed it).
        self._sent: tuple[StoredMessage, ...] = ()
        self._found: CurrentView | None = None
        self._sent_view: CurrentView | None = None
        # What the newest request's parts are sent as: writing them is half of a call with many messages.
        self._written: WrittenParts = {}

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self._state.context.session_id

    @property
    def context(self) -> SessionContext:
        """Where its data are, and how they are rendered."""
        return self._state.context

    def assemble(self, incoming: Sequence[Message] = (), inputs: Inputs | None = None) -> CoreAssembly:
        """Return the request for one model call: what is stored, then `incoming`.

        Only a new plan is written. Pass the request's `incoming` to `record` together with the reply; leave out
        messages that are recorded already.

        Raises:
            BudgetError: no request with system text, tools, pins and the current turn fits the window.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        given, state = inputs or Inputs(), self._state
        try:
            return state.tried(lambda stored: self._assembled(stored, incoming, given), "no request was made")
        finally:
            state.claim.close()

    def preview(self, inputs: Inputs | None = None) -> CoreAssembly:
        """Return the request that `assemble` would return without new messages.

        Nothing is written, and no observer is notified. Without `inputs`, the head is the plan's, and system text and
        tools cost what they did in the newest request.

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
        """Rebuild a recorded request as it was sent: number `number`, counted from 0; `None`: the newest.

        The host's system text is not stored: pass it in `inputs`, or get the messages behind it only. Of the other
        fields, cost, limit, window and report are those of that time.

        Raises:
            NotFoundError: there is no such request, or it can't be rebuilt; the text says why.
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
        """Append messages in one durable transaction, and return them as stored.

        Pass the request's `incoming` and then the reply, in one call or in two: one before and one after the model
        call. `usage` is what the provider reported for the newest request: it calibrates the counter and reveals a
        prompt that was silently truncated. `now`, in seconds since 1970, is the time of messages without one. `key` is
        an idempotency key: if any process has recorded messages under it, those are returned and nothing is stored.
        `beside` makes a record, from the messages as stored, to store with them.

        Raises:
            StoreError: nothing was stored.
        """
        given = (key, beside)
        return self._state.tried(
            lambda stored: self._recorded(stored, messages, usage, now, given), "nothing was written", looks=False
        )

    def pin(self, seq: int, *, on: bool = True) -> None:
        """Pin a message: it stays verbatim, with its tool results, whatever happens; `on=False` unpins it. Durable.

        Raises:
            StoreError: nothing was stored.
        """
        self._state.tried(lambda stored: self._pinned(stored, Pin(seq, on)), NO_PIN)

    def pin_text(self, name: str, text: str) -> None:
        """Put a text, such as a goal, into the head of every request from the next compaction on. Durable.

        An empty text removes the one of that name.

        Raises:
            StoreError: nothing was stored.
        """
        self._state.tried(lambda stored: self._pinned(stored, Pin(name=name, text=text)), NO_PIN)

    def compact(
        self, inputs: Inputs | None = None, *, now: float | None = None, for_tool: bool = False
    ) -> PlanRecord | None:
        """Compact now, whatever the pressure, and return the new plan; `None` if there is nothing to compact.

        Without `inputs`, the head stays the plan's, but for pinned texts, and system text and tools cost what they did
        in the newest request. `now` is in seconds since 1970; `for_tool`: as in `Session.compact`.

        Raises:
            BudgetError: what must always be sent does not fit.
            StoreError: nothing was changed.
        """
        cause = "tool-answer" if for_tool else "manual"
        return self._state.tried(lambda stored: self._compacted(stored, inputs, now, cause), "nothing was changed")

    def undo(self, inputs: Inputs | None = None, *, now: float | None = None) -> PlanRecord:
        """Undo the newest compaction: return to the plan before it; `inputs` as in `compact`.

        The next request is the former one byte for byte, followed by what was said since; steps from under the undone
        plan are sent without their reasoning. The plan then stays until a request does not fit, the window changes, or
        you call `compact`. Undo again to go further back, at last to everything raw. To go forward, restore a snapshot
        or `compact`. Pins stay.

        Raises:
            NotFoundError: there is nothing to undo, or something that it would send is no longer stored.
            BudgetError: the former request no longer fits; nothing was changed.
            StoreError: nothing was changed.
        """
        return self._state.tried(
            lambda stored: self._points.undo(self._sane_planner(stored, inputs, now)), "nothing was undone"
        )

    def snapshot(self, name: str, *, now: float | None = None) -> Snapshot:
        """Save plan and pins under a name, durably; `now` is in seconds since 1970.

        A snapshot replaces one of the same name. `Retention` says how many are kept.

        Raises:
            ValueError: the name is empty, too long, or looks like an automatic one.
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
        """Restore plan and pins from a snapshot, and return the new plan; `inputs` as in `compact`.

        The present state is saved as a snapshot first. What was said since follows raw, as after `undo`, and the plan
        stays as long as there. `undo` takes the restore back, but leaves the pins.

        Raises:
            NotFoundError: there is no snapshot of that name, or something that it would send is no longer stored.
            BudgetError: the restored request does not fit; nothing was changed.
            StoreError: nothing was changed.
        """
        return self._state.tried(
            lambda stored: self._points.restore(name, self._sane_planner(stored, inputs, now), now),
            "nothing was restored",
        )

    def forget(
        self, *seqs: int, reason: str = "", inputs: Inputs | None = None, now: float | None = None
    ) -> ForgetResult:
        """Remove messages for good: payloads, notes about them, copies that `history` made, and index entries.

        A tombstone takes the place of each, so that tool calls keep their results and other messages their ids. A goal
        goes with the call or the marked line that set it. What was said about them later stays. They are forgotten on
        each line of the conversation that has them, one line after the other. `reason` is stored with the ids; it must
        not repeat what is to be forgotten. `inputs` and `now` as in `compact`.

        Raises:
            NotFoundError: a message does not exist; nothing was forgotten.
            BudgetError: what must always be sent does not fit; nothing was forgotten.
            StoreError: no message was forgotten.
        """
        on = self.current_line()
        if not on.lines.made:
            return self._forget(seqs, reason, inputs, now)
        # Each line has notes and plans of its own. What is on no line is refused by this one.
        lines = {line: LineStore(on.store, self.session_id, line) for line in range(len(on.lines.made) + 1)}
        theirs = {line: tuple(seq for seq in seqs if store.has(seq)) for line, store in lines.items()}
        unknown = set(seqs).difference(*theirs.values())
        done = [self._forget((*unknown, *theirs[on.line]), reason, inputs, now)] if unknown or theirs[on.line] else []
        for line, found in theirs.items():
            if found and line != on.line:
                done.append(self._beside(lines[line])._forget(found, reason, None, now))  # noqa: SLF001  # of this class
        return merged(done)

    def _beside(self, line: LineStore) -> CoreSession:
        """Return another line of the conversation as a session."""
        context = self._state.context._replace(transcripts=line)
        return CoreSession(context, self.window, self.settings, None, self.retention)

    def _forget(self, seqs: tuple[int, ...], reason: str, inputs: Inputs | None, now: float | None) -> ForgetResult:
        """Forget messages of the line that the session is on."""
        self._unset(seqs, reason, now)
        return self._state.tried(
            lambda stored: self._forgotten(stored, seqs, reason, inputs, now), "nothing was forgotten"
        )

    @property
    def lines(self) -> Lines:
        """The lines of the conversation, and which of them is talked on."""
        return self.current_line().lines

    def branch(
        self,
        seq: int,
        without: Sequence[Run] = (),
        *,
        line: int | None = None,
        shortened: Sequence[int] = (),
        now: float | None = None,
    ) -> int:
        """Leave the conversation in front of a message, and return the number of the new line. Durable.

        What is said from now on stands on that line, behind the messages before `seq`, a number of the line or the next
        one, but for the runs `without`. The line that was left, `line` or by default the one that is talked on, keeps
        what it has, and `switch` goes back to it. `shortened` are messages that will be said again in fewer words:
        `history` still finds what they said. `now` is in seconds since 1970.

        Raises:
            NotFoundError: the line has no such message; nothing was changed.
            StoreError: nothing was changed.
        """
        from squidbot.core.kinds import branch  # noqa: PLC0415  # no turn needs every kind of record

        on = self.current_line()
        on = on if line in {None, on.line} else on.on(line or 0)
        if not on.has(seq) and seq != on.head(self.session_id)[0]:
            raise NotFoundError(f"m{seq} is not on line {on.line} of {self.session_id!a:.80}; nothing was changed")
        left, old = self._state.current(follows=False), self._state.context._replace(transcripts=on.on(on.line))
        wait = self._state.context.wait
        number = branch(on, seq, tuple(without), shortened=tuple(shortened), at=now, wait=wait)
        self._state.go(number)
        gone = min((first for first, _ in without), default=None)

        def begin(stored: CurrentView) -> None:
            if stored.messages and (stored.plan != left.plan or gone is not None):
                back = to_line(old, stored.plan, gone)
                self._points.begin_line(self._sane_planner(stored, None, now), back, left)

        self._state.tried(begin, "the new line has no plan of its own", looks=False)
        return number

    def switch(self, line: int) -> None:
        """Go on along a line. Its next request extends its last one. Durable.

        Raises:
            NotFoundError: there is no such line; nothing was changed.
            StoreError: nothing was changed.
        """
        from squidbot.core.kinds import switch  # noqa: PLC0415  # as above

        switch(self.current_line(), line, wait=self._state.context.wait)
        self._state.go(line)
        self._state.current(follows=False)

    @property
    def line(self) -> LineStore:
        """The store as the line shows it that the session is on; it follows when the session is used next."""
        store = self._state.context.transcripts
        return store if isinstance(store, LineStore) else LineStore(store, self.session_id)

    def current_line(self) -> LineStore:
        """Return the store as the line shows it that is talked on now: the session goes there.

        Raises:
            StoreError: the store failed.
        """
        self._state.follow()
        return self.line

    def stay(self) -> None:
        """Go to the line that is talked on only where you ask for it: by `current_line`, `branch` and `switch`."""
        self._state.stays = True

    def room(self) -> Room:
        """Return how much room the next request has, after what is stored and what came with the newest one."""
        stored = self._state.current()
        return self._planner(stored, self._inputs_as_before(stored)).room(self._state.waiting)

    # -- one try each -------------------------------------------------------------------------------------------------

    def _planner(
        self, stored: CurrentView, inputs: Inputs, leaves_plan: Callable[[bool], bool] | None = None
    ) -> Planner:
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
            leaves_plan=leaves_plan,
        )

    def _inputs_as_before(self, stored: CurrentView, now: float | None = None) -> Inputs:
        return inputs_as_before(self._state.context, self.window, self._state.last_request, stored, now)

    def _sane_planner(self, stored: CurrentView, inputs: Inputs | None, now: float | None) -> Planner:
        """Return the planner for changes made by hand: no usage report may prevent a compaction or a removal."""
        return self._planner(stored, inputs or self._inputs_as_before(stored, now)).sane()

    def _assembled(self, stored: CurrentView, incoming: Sequence[Message], given: Inputs) -> CoreAssembly:
        state, self._unprompted = self._state, given.unprompted
        if self._unprompted and self._withdrawn(unprompted_facts(stored), given.now):
            stored = state.current()
        state.notify_again(stored)
        decision = decide(self._planner(stored, given, state.leaves_plan), incoming)
        state.notify_decision(decision)
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
        return replace(assembly, written=self._written)

    def _withdrawn(self, facts: frozenset[str], now: float | None) -> bool:
        """Remove facts from the view that must not be sent any more, and return whether there was one."""
        gone = self._unprompted.withdrawn(facts) if self._unprompted and facts else frozenset[str]()
        return bool(gone) and self._state.remove_facts(FactRetraction(gone, reason=NO_LONGER, now=now)) is not None

    def _stored_plan(self, stored: CurrentView, decision: Decision, change: NewPlan) -> PlanRecord:
        """Store a new plan; where history has reached the mark, with a snapshot of the view before it."""
        saved: Snapshot | None = None

        def save(before: CurrentView) -> tuple[Record, ...]:
            nonlocal saved
            saved = self._points.automatic(before, "pressure", change.record.created_at) if decision.pressing else None
            return (saved.record,) if saved else ()

        plan = self._write(stored, change, decision.renewed, save)
        self._points.notify_saved(saved)
        return plan

    def _write(
        self, stored: CurrentView, change: NewPlan, renewed: tuple[Record, ...], extra: Extra | None = None
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
        self._points.notify_saved(saved)
        if answered:
            state.settle(answered, rows, usage)
            self._snapshot_due = False
        if self._unprompted:  # what was said in it may have been forgotten since it was asked for
            self._withdrawn(injected_facts(state.context, rows), now)
        return rows

    def _grown(self, stored: CurrentView, rows: Sequence[StoredMessage]) -> CurrentView:
        """Return the view with messages behind it; those of the newest request were rendered for it."""
        sent, view, renderer = len(self._sent), self._sent_view, self._state.context.renderer
        if view is None or stored is not self._found or not all(map(is_, self._sent, rows)) or len(rows) < sent:
            return stored.extended(rows, renderer)
        return view.extended(rows[sent:], renderer)

    def _compacted(
        self, stored: CurrentView, inputs: Inputs | None, now: float | None, cause: str
    ) -> PlanRecord | None:
        # Else what another window had noted would be noted twice.
        renewed = self._state.open_notes().restart() if stored.opened else ()
        change = self._sane_planner(stored, inputs, now).compacted(cause)
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
        """Remove the goals that messages set, before the messages go: they alone name the goals."""
        context, store = self._state.context, self._state.context.transcripts
        messages = store.head(self.session_id)[0]
        if all(0 <= seq < messages for seq in seqs) and store.last_record(self.session_id, GOAL.name):
            remove_goals(context, named_goals(context.renderer, store.pick(self.session_id, set(seqs))), reason, now)

    def _pinned(self, stored: CurrentView, pin: Pin) -> None:
        self._state.append(stored, (), [PIN.record(stored.pins.count, pin)])
        # Nothing that is sent changes before the next compaction.
        made = PIN.state(self._state.context.transcripts, self.session_id)
        pins = replace(made, goals=stored.pins.goals, documents=stored.pins.documents)
        self._state.hold(stored._replace(pins=pins))


class SessionState:
    """What one session holds of its store.

    Attributes:
        context, window: where its data are, and the window it is open under.
        keys: the idempotency keys of its clients.
        last_request: the newest recorded request; waiting: the newest assembled one, until it is recorded; else None.
        unreported: whether the newest request was recorded before it was answered.
        is_shared: whether others have been seen to write to the session.
        claim: keeps others from making a plan, until it is closed.
    """

    def __init__(
        self, context: SessionContext, window: ContextWindow, observer: Observer | None, *, reads_all: bool = False
    ) -> None:
        """Hold nothing yet. `reads_all`: without a plan, history is read back whole, however long it is."""
        self._reads_all = reads_all
        self.context = context
        self.window = window
        self._observer = observer
        self._notes: Notebook | None = None
        self.is_shared = False
        # The claim to the next plan, and whether this session has it.
        self.claim, self._has_claim = ExitStack(), False
        # Whether it goes to the line that is talked on only where it is asked to.
        self.stays = False
        self._begin()

    def _begin(self) -> None:
        """Hold nothing, as of a line of which nothing is read yet."""
        self.keys = Keys(self.context.transcripts, self.context.session_id)
        self.last_request = LastRequest()
        self.waiting: LastRequest | None = None
        self.unreported = False
        # The newest recorded request, before its usage was reported.
        self._unbilled: LastRequest | None = None
        self.reopen_notes()
        self._view: CurrentView | None = None
        # How many records the store held when the notes were read: a different number means that they are stale.
        self._notes_at = 0
        # The newest records of the kinds that a session is opened with; whether they say all that `_due` has to.
        self._newest: dict[str, Record] = {}
        self._says_due = False
        # The newest plan of which this process has notified observers; -1 for none.
        self._notified_plan = -1

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
            self._notes = Notebook(context.session_id, context.renderer, *stores, context.history, context.pause)
        return self._notes

    def leaves_plan(self, can_wait: bool) -> bool:  # noqa: FBT001  # as the planner asks
        """Return whether another writer makes the next plan, or has made it.

        A plan is dear to make, and of many that are made at once, the store takes one. False: nobody else makes one
        until `claim` is closed, or others did not end in time. `can_wait`: whether the request does without the plan;
        if not, another writer's is waited for.

        Raises:
            StoreError: that one is stored now.
        """
        context = self.context
        if context.claimed is None or not self.is_shared or self._has_claim:
            return False
        for _ in pauses(context.wait, LOOK_SECONDS):
            renew = self.claim.enter_context(context.claimed(context.session_id))
            self._has_claim = renew is not None and renew()
            self.claim.callback(self._end_claim)
            is_there = context.transcripts.last_record(context.session_id, PLAN) != self._newest.get(PLAN)
            if self._has_claim and not is_there:
                return False
            self.claim.close()
            if can_wait:
                return True
            if is_there:
                raise StoreError("another writer has stored a plan; nothing was written")
        return False

    def _end_claim(self) -> None:
        self._has_claim = False

    def reopen_notes(self) -> None:
        """Forget what is held of the notes, so that it is read from the store again."""
        if self._notes is not None:
            self._notes.reopen()

    def follow(self) -> None:
        """Go to the line that is talked on."""
        self.current()
        on = self.context.transcripts
        if isinstance(on, LineStore) and on.follow():
            self._begin()
            self.current()

    def go(self, line: int) -> None:
        """Go to a line; a session that does not stay leaves it with the next look."""
        if isinstance(self.context.transcripts, LineStore):
            self.context.transcripts.go(line)
            self._begin()
            self._view = None

    def current(self, *, follows: bool = True, looks: bool = True) -> CurrentView:
        """Return the view of what is stored, read anew where another process or a new plan has changed it.

        If another line is talked on since, it is that line's; without `follows`, that of the same line as before.
        Without `looks`, it is known that something has changed.
        """
        context, held = self.context, self._view
        if held is not None and looks and self._is_whole(held):
            head = context.transcripts.head(context.session_id)
            if (held.messages, held.records) == head:
                return held
        opening = context.transcripts.opening(context.session_id, OPENED_WITH)
        if follows and not self.stays and isinstance(context.transcripts, LineStore) and context.transcripts.follow():
            self._begin()
            held, opening = None, context.transcripts.opening(context.session_id, OPENED_WITH)
        context.check_user(opening.newest.get(SCOPE.name))
        if opening.records != self._notes_at:
            self.reopen_notes()
        self._notes_at = opening.records
        self._view = self._followed(held, opening) or load(
            context, self.window.window_tokens, self.window.window_id, opening, reads_all=self._reads_all
        )
        self._take(opening)
        return self._view

    def _take(self, opening: Opening) -> None:
        """Hold the newest records of a session as it was opened."""
        self._newest, self._says_due = dict(opening.newest), False
        last = opening.newest.get(REQUEST)
        if last and last.number != self.last_request.number:
            self.last_request = LastRequest.of(last)
            if self.last_request.bills.source != self._source:  # of another model or counter they say nothing
                self.last_request = self.last_request._replace(bills=UsageCalibration())

    def _followed(self, held: CurrentView | None, opening: Opening) -> CurrentView | None:
        """Return a held view with the few messages that others have recorded since; `None` where they did more."""
        context, before, after = self.context, self._newest, opening.newest
        self.is_shared = self.is_shared or (held is not None and opening.messages > held.messages)
        if held is None or not 0 <= opening.messages - held.messages <= PAGE_MESSAGES or not self._is_whole(held):
            return None
        # Each new record is of a kind that no view is made of; another one may say that messages are forgotten.
        known = all(before.get(kind) == after.get(kind) for kind in VIEW_KINDS)
        counted = sum(
            record.number - before[kind].number if kind in before else record.number + 1
            for kind, record in after.items()
        )
        on_line = isinstance(context.transcripts, LineStore) and context.transcripts.lines.made
        if not known or counted != opening.records - held.records or on_line:
            return None
        rows = context.read(held.messages, opening.messages - 1) if opening.messages > held.messages else ()
        grown = held.extended(rows, context.renderer)._replace(records=opening.records)
        return grown if self._is_whole(grown) else None

    def _is_whole(self, held: CurrentView) -> bool:
        """Return whether a new process would hold as much: before the first compaction it reads only so far back."""
        most_tokens = EVERYTHING if self._reads_all else read_back_tokens(self.window.window_tokens)
        near = bool(held.blocks) or held.tail.cost.bound <= most_tokens
        return near and not held.opened

    def tried(self, act: Callable[[CurrentView], Done], undone: str, *, looks: bool = True) -> Done:
        """Return what `act` returns for the stored view, and try again where another writer came first.

        Without `looks`, the first try trusts the view that is held, unless others write, too: the store refuses an
        append behind other messages.

        Raises:
            BusyError: other processes never stopped writing; `undone` says what was not done.
            StoreError: the store failed.
            SquidbotError: `act` raised it; the notes are read again the next time.
        """
        held, is_first = None if looks or self.is_shared else self._view, True
        stored = held if held is not None and self._is_whole(held) else None

        def look() -> tuple[int, int]:
            nonlocal stored, is_first
            stored = stored or self.current(follows=looks, looks=is_first)
            is_first = False
            return stored.messages, stored.records

        def attempt(_head: tuple[int, int]) -> Done:
            nonlocal stored
            try:
                return act(stored or self.current(follows=looks))
            except SquidbotError as error:
                self.reopen_notes()
                if isinstance(error, StoreError):
                    stored = None
                raise

        context = self.context
        return retry(context.transcripts, context.session_id, attempt, undone, wait=context.wait, look=look)

    def append(self, stored: CurrentView, rows: Sequence[StoredMessage], records: Sequence[Record]) -> None:
        """Append messages and records in one transaction; the view is read anew the next time.

        Raises:
            StoreError: nothing was stored.
        """
        newest = self._newest
        due = self._due(stored, speaks=bool(rows)) if rows or records else []
        before = newest.get(WINDOW.name)
        self.context.transcripts.append(self.context.session_id, stored.messages, rows, (*due, *records))
        self._view = None
        self._notes_at = stored.records + len(due) + len(records)
        newest.update({record.kind: record for record in (*due, *records)})
        self._says_due = self._says_due or bool(rows)
        if newest.get(WINDOW.name) is not before:
            self._notify_window(before)

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
        """Append messages with the request that they answer, their marks and other records, and hold the view.

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
        """Hold the view after the last append, so that it is not read anew."""
        self._view = grown._replace(records=self._notes_at)

    def write(
        self,
        stored: CurrentView,
        change: NewPlan,
        notes: tuple[tuple[Record, ...], tuple[int, int]],
        extra: Extra | None = None,
        *,
        by_category: bool = False,
    ) -> PlanRecord:
        """Store a new plan and return it: its summaries first, then the plan with the records of its notes.

        `notes` are the records of notes, and how many there are behind them; `extra` returns what is stored with them,
        for the view in front of the plan.

        Raises:
            StoreError: the plan was not stored.
        """
        records, counts = notes
        self.context.summaries.put(*change.batch.summaries)
        plan = replace(change.record, made_at_seq=stored.messages, notes=counts)
        injected = injection_record(self.context, (), plan)
        written = Record(PLAN, plan.plan_id, plan.to_json())
        said = self._append_behind(stored, (*records, *injected, written), extra)
        if stored.messages and plan.repeats is None and plan.cause != "restore":
            # The view is held, so that a huge message behind the notes is not read again.
            self.hold(view_after(self.context, plan, stored, change.view).extended(said, self.context.renderer))
        self._notify_stored(stored.plan, plan)
        self._notify_notes(plan, is_shorter=bool(change.batch.summaries))
        for event in shortened(stored, change.view, plan) if by_category else ():
            self._notify_event(event)
        self._notify_unreliable(stored, change.view, plan)
        return plan

    def _append_behind(
        self, stored: CurrentView, records: Sequence[Record], extra: Extra | None
    ) -> list[StoredMessage]:
        """Append records, and return what others have said in front of them; the view is read anew the next time.

        A plan holds for what follows it, too, and is dear to make: where many speak, each plan would come too late. Of
        a session that only this process has written to, the request is rather made again, with what was said.

        Raises:
            StoreError: nothing was stored; others did more than to speak.
        """
        context, behind = self.context, stored
        for _ in pauses(context.wait):
            try:
                self.append(behind, (), (*(extra(behind) if extra else ()), *records))
            except UnconfirmedError:
                raise
            except StoreError:
                if not self.is_shared:
                    raise
                opening = context.transcripts.opening(context.session_id, OPENED_WITH)
                grown = self._followed(behind, opening)
                if grown is None or grown.messages == behind.messages:
                    raise
                behind = grown
                self._take(opening)
            else:
                rows = [row for step in behind.tail.steps for row in step.messages]
                return [row for row in rows if row.seq >= stored.messages] if behind is not stored else []
        raise BusyError(context.session_id, MOST_SECONDS, "no plan was stored")

    def _notify_unreliable(self, before: CurrentView, after: CurrentView, plan: PlanRecord) -> None:
        """Notify where a plan leaves too little that the model can be relied on to use."""
        size, generations = self.window.parameters_billion, after.generations
        left = reliability(generations, size)
        if left < LEAST_FRACTION and generations > before.generations:
            cause = f"reliability {left:.0%}: a new conversation is better"
            self._notify_event(Event(events.RELIABILITY_LOW, "", cause, plan_id=plan.plan_id, fraction=left))

    def erase(
        self, stored: CurrentView, forgetting: SessionWithout, change: NewPlan | None, removal: ForgetRecord
    ) -> PlanRecord | None:
        """Remove messages for good, in one transaction with the plan that goes on without them; return that plan.

        Raises:
            StoreError: nothing was forgotten.
        """
        context = self.context
        plan = replace(change.record, made_at_seq=stored.messages, notes=forgetting.counts) if change else None
        if change:
            context.summaries.put(*change.batch.summaries)
        record = (*injection_record(context, (), plan), Record("plan", plan.plan_id, plan.to_json())) if plan else ()
        before = self._newest.get(WINDOW.name)
        due = WINDOW.due(before, self.window)
        erasure = forgetting.erasure(removal, (*due, *record))
        context.transcripts.forget(context.session_id, erasure)
        if due:
            self._notify_window(before)
        self._view, self.waiting = None, None
        self.reopen_notes()
        # Summaries in a store of their own go last: no plan shows them any more by then.
        context.summaries.remove(context.session_id, erasure.summaries)
        self.notify(events.FORGOTTEN, removal.reason, plan)
        if plan:
            self._notify_stored(stored.plan, plan)
        return plan

    def remove_facts(self, facts: FactRetraction) -> Retraction | None:
        """Remove facts from everything that was injected; `None` where none of them was.

        Raises:
            StoreError: nothing was removed.
        """
        gone = remove_facts(self.context, facts)
        if gone is not None:
            self._view = None
            self.notify(events.FORGOTTEN, facts.reason)
        return gone

    def answered(
        self, sent: Sequence[StoredMessage], rows: Sequence[StoredMessage], usage: Usage | None
    ) -> LastRequest | None:
        """Return the newest request as it is recorded, with what its usage taught; `None` where `rows` answer none.

        `sent` are its new messages, `rows` are recorded now. A request that was recorded before its answer is recorded
        once more, with its usage.
        """
        # What was recalled between two turns answers no request; what the request itself brought is part of it.
        brought = self.waiting is not None and sent and begins_as_sent(rows, sent)
        if not brought and all(row.category is Category.RECALLED for row in rows):
            return None
        if self.waiting is None:
            return self._reported(rows, usage) if self.unreported and usage is not None else None
        # Another process may have recorded a request since this one was assembled.
        left, number, again = self.waiting.recorded(sent, rows), self.last_request.number + 1, self.last_request.again
        if left.number != number:
            left = left._replace(number=number, again=again, added=None)
        elif left.again != again:
            left = left._replace(again=again)
        self._unbilled = left
        return left._replace(bills=self._bills(left, rows, usage), added=None)

    def _reported(self, rows: Sequence[StoredMessage], usage: Usage) -> LastRequest:
        """Return the newest request, which is recorded already, with what was reported since."""
        known = (
            self._unbilled
            if self._unbilled and self._unbilled.number == self.last_request.number
            else self.last_request
        )
        number, again = self.last_request.number + 1, self.last_request.again + 1
        bills = self._bills(known, rows, usage)
        return known._replace(bills=bills, number=number, again=again, added=None)

    def _bills(self, left: LastRequest, rows: Sequence[StoredMessage], usage: Usage | None) -> UsageCalibration:
        """Return the calibration after a request: as it was, where there is no credible report."""
        window_tokens = self.window.window_tokens
        if usage is None or is_too_little(usage, left) or is_too_much(usage, left, window_tokens):
            return left.bills.unreported()
        # An answer can't come back as more input than the window holds.
        usage = usage._replace(output_tokens=min(usage.output_tokens, window_tokens))
        return left.bills._replace(source=self._source).learn(bill_of(left, rows, usage))

    def settle(self, answered: LastRequest, rows: Sequence[StoredMessage], usage: Usage | None) -> None:
        """Take a request that was recorded with `rows` as the newest, and notify what its usage shows."""
        if usage is not None:
            self._check_reported(answered, usage)
        self.last_request, self.waiting = answered, None
        self.unreported = usage is None and all(row.role != "assistant" for row in rows)

    def _check_reported(self, answered: LastRequest, usage: Usage) -> None:
        """Notify where a report is not credible: so little that the provider truncated the request, or too much."""
        if not is_too_little(usage, answered):
            if not answered.bills.reported_tokens:  # it has taught nothing
                self.notify(events.USAGE_DROPPED, TOO_MUCH, None, answered.cost, Cost(0, usage.input_tokens))
            return
        cause = "the provider reports far less than was sent"
        if not is_too_little(usage._replace(input_tokens=usage.input_tokens + usage.cached_tokens), answered):
            cause = "what is reported leaves out what the provider's cache held: it is not believed"
        self.notify(events.SILENT_TRUNCATION, cause, None, answered.cost, Cost(0, usage.input_tokens))

    def notify_decision(self, decision: Decision) -> None:
        """Notify what a call has decided beside its plan: new rungs, its mode, skipped compactions, dropped reports.

        Of a request that waits and was never recorded, the rungs have been notified.
        """
        known = self.waiting.rungs if self.waiting else ()
        cost, plan = decision.assembly.cost, None if decision.change else decision.assembly.plan
        for rung in decision.rungs:
            if rung not in known:
                plan_id, size = plan.plan_id if plan else -1, cost.bound
                self._notify_event(Event(events.CONTEXT_PRESSURE, "", rung, "", plan_id, size, size, decision.fullness))
        for name, skipped in decision.skipped:
            self.notify_plan(name, skipped)
        if self.last_request.bills.reports and not decision.leaves.bills.reports:
            self.notify(events.USAGE_DROPPED, NO_ROOM, plan, cost)
        before = self.waiting or self.last_request
        if before.known and before.mode != decision.leaves.mode:
            self.notify(events.MODE_CHANGED, f"{before.mode_name} -> {decision.leaves.mode_name}", plan)

    def _notify_window(self, newest: Record | None) -> None:
        """Notify that a window has been opened, and that the one before it is closed."""
        before = WINDOW.read(newest) if newest else None
        if before is not None:
            self._notify_event(closed(before))
        for event in opened(before, self.window):
            self._notify_event(event)

    def _notify_stored(self, before: PlanRecord | None, plan: PlanRecord) -> None:
        """Notify that a plan was stored: what it breaks of the newest request, and which summaries have aged."""
        self._notified_plan = plan.plan_id
        self.notify_plan(events.VIEW_PLAN_CHANGED, plan)
        if (event := broken(self.last_request, plan)) is not None:
            self._notify_event(event)
        tokens = self.context.renderer.meter.text
        for event in (*aged(before, plan), *overrun(before, plan, self.window, lambda text: tokens(text).bound)):
            self._notify_event(event)

    def _notify_notes(self, plan: PlanRecord, *, is_shorter: bool) -> None:
        """Notify new notes in a plan, and a plan that leaves no room for any."""
        if is_shorter:
            self.notify_plan(events.COMPRESSED, plan)
        if plan.cause == "rollover":
            self.notify_plan(events.ROLLOVER_COMPLETE, plan)

    def notify_again(self, stored: CurrentView) -> None:
        """Notify the plan in force, where this process has not, and no request under it is recorded.

        The process that stored it may have been killed before it notified anybody: better twice than never.
        """
        plan = stored.plan
        if plan is None or plan.plan_id <= self._notified_plan or not self.last_request.is_before(plan):
            return
        before = self._parent_of(plan)
        self._notify_stored(before, plan)
        known = {segment.summary_id for segment in before.segments} if before else set()
        self._notify_notes(
            plan, is_shorter=any(segment.summary_id and segment.summary_id not in known for segment in plan.segments)
        )

    def _parent_of(self, plan: PlanRecord) -> PlanRecord | None:
        if plan.parent_plan_id is None:
            return None
        try:
            records = self.context.transcripts.records(self.context.session_id, PLAN, plan.parent_plan_id)
            return next(
                (PlanRecord.from_json(record.body) for record in records if record.number == plan.parent_plan_id), None
            )
        except DamagedStoreError:  # the event says less; no turn fails, and `doctor` names the damage
            return None

    def notify_plan(self, name: str, plan: PlanRecord) -> None:
        """Notify an event about a plan, with its cause and what a request costs before and after it."""
        self.notify(name, plan.cause, plan, Cost(0, plan.tokens_before), Cost(0, plan.tokens_after))

    def notify(
        self,
        name: str,
        cause: str,
        plan: PlanRecord | None = None,
        before: Cost = NOTHING,
        after: Cost = NOTHING,
    ) -> None:
        """Notify the observer."""
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
                scope=self.context.scope or NOBODY,
            )
            self._observer.notify(event)

    def _notify_event(self, event: Event) -> None:
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
    """The snapshots of one session. Times are in seconds since 1970; `None`: the time of the newest message."""

    def __init__(self, state: SessionState, retention: Retention) -> None:
        """Take the state of a session; `retention` says how many snapshots are kept."""
        self._state = state
        self._retention = retention

    def read(self) -> SnapshotIndex:
        """Return the snapshots that are kept.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return SNAPSHOT.state(self._state.context.transcripts, self._state.context.session_id)

    def saved(self, stored: CurrentView, cause: str, name: str, now: float | None) -> Snapshot:
        """Return a snapshot of plan and pins, to be stored; one without a name is automatic.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        plan_id = stored.plan.plan_id if stored.plan else RAW
        time = stored.newest_time if now is None else now
        counts = stored.messages, stored.pins.count
        made = Snapshot(name, not name, cause, plan_id, self._state.window.window_id, *counts, created_at=time)
        return self.read().placed(made, self._retention)

    def automatic(self, stored: CurrentView, cause: str, now: float | None) -> Snapshot | None:
        """Return an automatic snapshot; `None` where that fails, which never fails the turn."""
        try:
            return self.saved(stored, cause, "", now)
        except SquidbotError as error:
            self._state.notify(events.SNAPSHOT_ERROR, str(error), stored.plan)
            return None

    def notify_saved(self, saved: Snapshot | None) -> None:
        """Notify that a snapshot was stored; `None`: there is none."""
        if saved is not None:
            name = events.AUTO_SNAPSHOT_CREATED if saved.automatic else events.SNAPSHOT_CREATED
            self._state.notify(name, saved.name)

    def make(self, stored: CurrentView, name: str, now: float | None) -> Snapshot:
        """Store a snapshot under a name, and return it.

        Raises:
            StoreError: nothing was stored.
        """
        saved = self.saved(stored, "manual", name, now)
        self._state.append(stored, (), (saved.record,))
        self.notify_saved(saved)
        return saved

    def restore(self, name: str, planner: Planner, now: float | None) -> PlanRecord:
        """Restore plan and pins from a snapshot, and return the new plan, which is stored.

        The present state is saved as a snapshot first.

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
        plan = self._write(planner, back, lambda _: beside)
        self.notify_saved(saved)
        self._state.notify_plan(events.SNAPSHOT_RESTORED, plan)
        return plan

    def undo(self, planner: Planner) -> PlanRecord:
        """Return to the plan before the newest one, and return the new plan that does so, which is stored.

        Raises:
            NotFoundError: there is nothing to undo, or what would stand again is no longer stored.
            BudgetError: that does not fit any more; nothing was changed.
            StoreError: nothing was changed.
        """
        plan = self._write(planner, to_the_one_before(self._state.context, planner.stored.plan))
        self._state.notify_plan(events.PLAN_UNDONE, plan)
        return plan

    def begin_line(self, planner: Planner, back: Return, left: CurrentView) -> None:
        """Store the plan that a new line begins with, if what it sends differs from what was sent: from `left`.

        Raises:
            StoreError: nothing was stored.
        """
        change = planner.branched(back, left)
        if change is not None:
            self._store(planner, back, change)

    def _write(self, planner: Planner, back: Return, extra: Extra | None = None) -> PlanRecord:
        """Store the plan that returns to another one."""
        return self._store(planner, back, planner.restored(back), extra)

    def _store(self, planner: Planner, back: Return, change: NewPlan, extra: Extra | None = None) -> PlanRecord:
        """Store a plan with the notes as they were under the one that it returns to."""
        from squidbot.core.notes.notebook import counts_behind, rewound  # noqa: PLC0415  # no other turn needs it

        notes = self._state.open_notes()
        records = rewound(notes, back.target.notes, back.target.merged_through)
        plan = self._state.write(planner.stored, change, (records, counts_behind(notes, records)), extra)
        self._state.reopen_notes()
        return plan
