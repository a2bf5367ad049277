"""An earlier plan brought back: the one before, or that of a restore point, made by hand or unasked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.compaction.turn import back as brought
from squidbot.core.compaction.undo import RAW, to_plan, to_the_one_before
from squidbot.core.errors import SquidbotError
from squidbot.core.transcript.pins import PIN, Pins
from squidbot.core.transcript.snapshots import SNAPSHOT, Snapshot, SnapshotIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.compaction.planner import Change
    from squidbot.core.compaction.turn import Inputs, Turn
    from squidbot.core.compaction.undo import Return
    from squidbot.core.messages import Record
    from squidbot.core.plan import PlanRecord
    from squidbot.core.state import State
    from squidbot.core.transcript.snapshots import Retention
    from squidbot.core.view.current import CurrentView

__all__ = ["RestorePoints", "undone"]


class RestorePoints:
    """The snapshots of one session. Times are in seconds since 1970; None is that of the newest message."""

    def __init__(self, state: State, retention: Retention) -> None:
        """Use what a session holds, and keep as many as `retention` says."""
        self._state = state
        self._retention = retention

    def read(self) -> SnapshotIndex:
        """Return the snapshots that are kept.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        return SNAPSHOT.state(self._state.shelf.transcripts, self._state.shelf.session_id)

    def saved(self, stored: CurrentView, cause: str, name: str, now: float | None) -> Snapshot:
        """Return a snapshot of what stands, to be stored; one without a name is made unasked.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        plan_id = stored.plan.plan_id if stored.plan else RAW
        time = stored.newest_time if now is None else now
        counts = stored.messages, stored.pins.count
        made = Snapshot(name, not name, cause, plan_id, self._state.window.window_id, *counts, created_at=time)
        return self.read().placed(made, self._retention)

    def automatic(self, stored: CurrentView, cause: str, now: float | None) -> Snapshot | None:
        """Return a snapshot made unasked; None where that fails, which never fails the turn."""
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

    def restore(
        self, name: str, turn: Turn, stored: CurrentView, inputs: Inputs | None, now: float | None
    ) -> PlanRecord:
        """Make plan and pins what they were at a snapshot, and return the plan that does so, which is stored.

        The state now is kept as a snapshot first. Without `inputs` the head stays as the plan has it.

        Raises:
            NotFoundError: there is no snapshot of that name, or what it was made of is no longer stored.
            BudgetError: what it would bring back does not fit; nothing was changed.
            StoreError: nothing was changed.
        """
        state = self._state
        wanted = self.read().named(name)
        back = to_plan(state.shelf, "restore", wanted.plan_id)
        saved = self.saved(stored, "restore", "", now)
        then = Pins.of(PIN.all(state.shelf.transcripts, state.shelf.session_id)[: wanted.pins])
        beside = saved.record, *PIN.records(stored.pins.back_to(then), stored.pins.count)
        change = brought(turn, stored, inputs or turn.as_before(stored, now), back)
        plan = _stands_again(state, stored, change, back, beside)
        self.tell(saved)
        state.changed(events.SNAPSHOT_RESTORED, plan)
        return plan


def undone(state: State, turn: Turn, stored: CurrentView, inputs: Inputs | None, now: float | None) -> PlanRecord:
    """Make the plan before the newest one stand again, and return the plan that does so, which is stored.

    Without `inputs` the head stays as the plan has it; `now` is in seconds since 1970.

    Raises:
        NotFoundError: there is nothing to undo, or what would stand again is no longer stored.
        BudgetError: that does not fit any more; nothing was changed.
        StoreError: nothing was changed.
    """
    back = to_the_one_before(state.shelf, stored.plan)
    change = brought(turn, stored, inputs or turn.as_before(stored, now), back)
    plan = _stands_again(state, stored, change, back)
    state.changed(events.PLAN_UNDONE, plan)
    return plan


def _stands_again(
    state: State, stored: CurrentView, change: Change, back: Return, extra: Sequence[Record] = ()
) -> PlanRecord:
    """Store the change that brings a plan back, with the notes as they were under it, and return its plan."""
    from squidbot.core.notes.notebook import counts_behind, rewound  # noqa: PLC0415  # no other turn needs it

    records = rewound(state.notes, back.target.notes, back.target.merged_through)
    plan = state.write(stored, change, (records, counts_behind(state.notes, records)), extra)
    state.reopen_notes()
    return plan
