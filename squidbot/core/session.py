"""The sequence of one turn: assemble before the model call, record after it. What is decided, others decide."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from squidbot.core import events
from squidbot.core.compaction.turn import Inputs, Room, Turn, believing, by_hand, decided, without
from squidbot.core.forgetting import (
    FactRetraction,
    SessionWithout,
    injected_facts,
    named_goals,
    remove_goals,
    unprompted_facts,
)
from squidbot.core.messages import Cost
from squidbot.core.restoring import RestorePoints, undone
from squidbot.core.state import State
from squidbot.core.transcript.goals import GOAL
from squidbot.core.transcript.pins import PIN, Pin
from squidbot.core.transcript.removals import ForgetRecord
from squidbot.core.transcript.snapshots import Retention, check_name
from squidbot.core.view.renderer import spent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from squidbot.core.compaction.planner import Change
    from squidbot.core.compaction.turn import Outcome, Unasked
    from squidbot.core.forgetting import ForgetResult
    from squidbot.core.messages import ContextWindow, Message, Record, StoredMessage, Usage
    from squidbot.core.plan import PlanRecord
    from squidbot.core.ports import Observer
    from squidbot.core.settings import HistorySettings
    from squidbot.core.transcript.snapshots import Snapshot
    from squidbot.core.view.assembly import Assembly
    from squidbot.core.view.current import CurrentView, SessionContext

# Makes a record of messages as they are stored.
Beside: TypeAlias = "Callable[[Sequence[StoredMessage]], Record]"

__all__ = ["Session"]

RETENTION = Retention()
NO_PIN = "nothing was pinned"
NO_LONGER = "a fact that was told was forgotten, or is another one's"


class Session:
    """One conversation under one window. Not for two threads at once; several processes may hold the same session."""

    def __init__(
        self,
        shelf: SessionContext,
        window: ContextWindow,
        settings: HistorySettings,
        observer: Observer | None,
        retention: Retention = RETENTION,
    ) -> None:
        """Use `ContextEngine.session` instead."""
        self.window = window
        self.settings = settings
        self.retention = retention
        shelf = shelf._replace(tells_users=not settings.keeps_users, says_notes=settings.says_notes)
        self._state = State(shelf, window, observer, reads_all=settings.strict)
        self._points = RestorePoints(self._state, retention)
        # Whether history has reached the mark with the newest assembled request: then it is recorded with a snapshot.
        self._snapshot_due = False
        # What memory says unasked, as the newest call gave it.
        self._unasked: Unasked | None = None
        # What came with that request.
        self._sent: tuple[StoredMessage, ...] = ()

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self._state.shelf.session_id

    def assemble(self, incoming: Sequence[Message] = (), inputs: Inputs | None = None) -> Assembly:
        """Return the request to send for one model call, with `incoming` behind what is stored.

        Nothing is written but the plan, where this call changes it. Pass `Assembly.incoming` to `record` with the
        reply; messages that are recorded already need not be passed.

        Raises:
            BudgetError: no request with system text, tools, pins and the current turn fits the window.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        given = inputs or Inputs()
        return self._state.tried(lambda stored: self._assembled(stored, incoming, given), "no request was made")

    def preview(self, inputs: Inputs | None = None) -> Assembly:
        """Return the request that `assemble` would return if nothing new had been said.

        Nothing is written or told. Without `inputs` the head is the plan's, system text and tools cost what they did.

        Raises:
            BudgetError: nothing makes it fit.
            InvalidRequestError: there is nothing to answer.
            StoreError: the store failed.
        """
        stored, turn = self._state.current(), self._turn
        try:
            given = inputs or turn.as_before(stored)
            return decided(turn.reserving(given.reserve), stored, (), given).assembly
        finally:
            self._state.reopen_notes()

    def request(self, number: int | None = None, inputs: Inputs | None = None) -> Assembly:
        """Return a request as it was sent and recorded, made once more: the one of a number from 0, None: the newest.

        `inputs` bring its system text, which is the host's and is not stored; without it the messages behind it are
        returned. No more is promised of other fields than cost, limit, window and report of then.

        Raises:
            NotFoundError: there is no such request, or it can't be made again; the text says why.
            StoreError: the store failed.
        """
        from squidbot.core.compaction.turn import sent  # noqa: PLC0415  # as those below: a call that changes nothing needs none

        return sent(self._state.shelf, self.window, number, inputs or Inputs())

    def record(
        self,
        *messages: Message | StoredMessage,
        usage: Usage | None = None,
        now: float | None = None,
        key: str = "",
        beside: Beside | None = None,
    ) -> tuple[StoredMessage, ...]:
        """Store messages behind the transcript, durably, in one transaction, and return them as stored.

        Take `Assembly.incoming` as it came, then the reply; in one call, or what came before the model is called and
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
            lambda stored: undone(self._state, self._sane_turn, stored, inputs, now), "nothing was undone"
        )

    def snapshot(self, name: str, *, now: float | None = None) -> Snapshot:
        """Keep plan and pins as they are under a name, durably; `now` is in seconds since 1970.

        A name that is given again takes the place of the one before. `Retention` says how many are kept.

        Raises:
            ValueError: the name is empty, too long, or of the form of those made unasked.
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
            lambda stored: self._points.restore(name, self._sane_turn, stored, inputs, now), "nothing was restored"
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
        stored, turn = self._state.current(), self._turn
        newest = self._state.waiting or self._state.last_request
        used = spent(stored.lead).plus(newest.outside).plus(stored.history)
        came = newest.cost.less(used) if self._state.waiting else Cost(0, 0)
        birth = turn.births(stored, newest.outside.plus(came)).birth
        limits = believing(turn, stored, turn.as_before(stored)).limit, turn.room_tokens
        return Room.behind(stored, (newest, came), limits, birth, self.settings.high_fraction)

    # -- one try each -----------------------------------------------------------------------------------------

    @property
    def _turn(self) -> Turn:
        state, mark = self._state, self.retention.auto_fraction
        return Turn(state.shelf, self.window, self.settings, lambda: state.notes, state.last_request, mark)

    @property
    def _sane_turn(self) -> Turn:
        """The same for what is done by hand: no report ever keeps somebody from shortening or forgetting."""
        return self._turn.sane(self._state.last_request.outside.bound)

    def _assembled(self, stored: CurrentView, incoming: Sequence[Message], given: Inputs) -> Assembly:
        state, self._unasked = self._state, given.unasked
        if self._untold(unprompted_facts(stored), given.now):
            stored = state.current()
        state.tell_again(stored)
        outcome = decided(self._turn.reserving(given.reserve), stored, incoming, given)
        state.decided(outcome)
        assembly = outcome.assembly
        if outcome.change is not None:
            plan = self._evented(stored, outcome, outcome.change)
            if self._untold(frozenset(each for one in plan.remembered for each in one.memories), given.now):
                # Forgotten while the plan was made.
                return self._assembled(state.current(), incoming, given)
            assembly = replace(assembly, event=plan, standing=assembly.standing._replace(plan=plan))
        state.waiting, self._sent = outcome.leaves, assembly.incoming
        self._snapshot_due = outcome.pressing and outcome.change is None
        state.notify(events.CONTEXT_ASSEMBLED, "", assembly.plan, assembly.cost, assembly.cost)
        return assembly

    def _untold(self, told: frozenset[str], now: float | None) -> bool:
        """Take out what must not be told any more of what stands, and return whether there was any."""
        gone = self._unasked.untold(told) if self._unasked and told else frozenset[str]()
        return bool(gone) and self._state.remove_facts(FactRetraction(gone, reason=NO_LONGER, now=now)) is not None

    def _evented(self, stored: CurrentView, outcome: Outcome, change: Change) -> PlanRecord:
        """Store an event; where history has reached the mark, with a snapshot of what stood before it."""
        notes = self._state.notes
        saved = self._points.automatic(stored, "pressure", change.record.created_at) if outcome.pressing else None
        records = (*outcome.renewed, *notes.settle(change.batch.merged_through, change.batch.runs))
        extra = (saved.record,) if saved else ()
        shared = self.settings.category_weights is not None
        plan = self._state.write(stored, change, (records, notes.counts()), extra, by_category=shared)
        self._points.tell(saved)
        return plan

    def _recorded(
        self,
        stored: CurrentView,
        messages: Sequence[Message | StoredMessage],
        usage: Usage | None,
        now: float | None,
        given: tuple[str, Beside | None],
    ) -> tuple[StoredMessage, ...]:
        state, (key, beside) = self._state, given
        if key and (known := state.keys.find(key)):
            return tuple(state.shelf.read(known.first_seq, known.last_seq))
        rows = self._turn.births(stored, state.last_request.outside).placed(messages, stored, now)
        answered = state.answered(self._sent, rows, usage)
        due = answered is not None and self._snapshot_due
        saved = self._points.automatic(stored, "pressure", rows[-1].time) if due else None
        keyed = state.keys.record(key, rows) if key else None
        made = beside(rows) if beside else None
        state.record(stored, rows, answered and answered.record(usage), saved.record if saved else None, keyed, made)
        self._points.tell(saved)
        if answered:
            state.settle(answered, rows, usage)
            self._snapshot_due = False
        # What was told in it may have been forgotten since it was asked for.
        self._untold(injected_facts(state.shelf, rows), now)
        return rows

    def _compacted(self, stored: CurrentView, inputs: Inputs | None, now: float | None) -> PlanRecord | None:
        state, turn = self._state, self._sane_turn
        renewed = state.notes.restart() if stored.opened else ()  # else what another window had noted is told twice
        if (change := by_hand(turn, stored, inputs or turn.as_before(stored, now))) is None:
            state.reopen_notes()
            return None
        records = *renewed, *state.notes.settle(change.batch.merged_through, change.batch.runs)
        shared = self.settings.category_weights is not None
        return state.write(stored, change, (records, state.notes.counts()), by_category=shared)

    def _forgotten(
        self, stored: CurrentView, seqs: tuple[int, ...], reason: str, inputs: Inputs | None, now: float | None
    ) -> ForgetResult:
        state, turn = self._state, self._sane_turn
        forgetting = SessionWithout(state.shelf, stored, seqs)
        change = without(turn, stored, inputs or turn.as_before(stored, now), forgetting)
        gone = forgetting.forgotten
        told = ForgetRecord(gone.asked, gone.copies, gone.summaries, reason, state.last_request.number + 1, now)
        return replace(gone, plan=state.erase(stored, forgetting, change, told))

    def _unset(self, seqs: tuple[int, ...], reason: str, now: float | None) -> None:
        """Take out the goals that messages set; what they named is known only while they are there."""
        shelf, store = self._state.shelf, self._state.shelf.transcripts
        messages = store.head(self.session_id)[0]
        if all(0 <= seq < messages for seq in seqs) and store.last_record(self.session_id, GOAL.name):
            remove_goals(shelf, named_goals(shelf.renderer, store.pick(self.session_id, set(seqs))), reason, now)

    def _pinned(self, stored: CurrentView, pin: Pin) -> None:
        self._state.append(stored, (), [PIN.record(stored.pins.count, pin)])
        # Nothing that is sent changes before the next event.
        made = PIN.state(self._state.shelf.transcripts, self.session_id)
        pins = replace(made, goals=stored.pins.goals, documents=stored.pins.documents)
        self._state.hold(stored._replace(pins=pins))
