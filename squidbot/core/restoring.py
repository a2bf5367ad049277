"""A session's restore points: made by hand and unasked, kept beside its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core import events
from squidbot.core.changes.undo import RAW
from squidbot.core.errors import SquidbotError
from squidbot.core.snapshots import SNAPSHOT, Saved, Snapshot, Snapshots

if TYPE_CHECKING:
    from squidbot.core.snapshots import Retention
    from squidbot.core.state import State
    from squidbot.core.view.standing import Standing

__all__ = ["RestorePoints"]


class RestorePoints:
    """The snapshots of one session. Times are in seconds since 1970; None is that of the newest message."""

    def __init__(self, state: State, retention: Retention) -> None:
        """Use what a session holds, and keep as many as `retention` says."""
        self._state = state
        self._retention = retention

    def read(self) -> Snapshots:
        """Return the snapshots that are kept.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        shelf = self._state.shelf
        return Snapshots.of(shelf.transcripts.records(shelf.session_id, SNAPSHOT))

    def saved(self, stored: Standing, cause: str, name: str, now: float | None) -> Saved:
        """Return a snapshot of what stands, and the record to store; one without a name is made unasked.

        Raises:
            DamagedStoreError: what is stored can't be read.
        """
        plan_id = stored.plan.plan_id if stored.plan else RAW
        time = stored.newest_time if now is None else now
        counts = stored.messages, stored.pins.count
        made = Snapshot(name, not name, cause, plan_id, self._state.lease.lease_id, *counts, created_at=time)
        return self.read().saved(made, self._retention)

    def automatic(self, stored: Standing, cause: str, now: float | None) -> Saved | None:
        """Return a snapshot made unasked; None where that fails, which never fails the turn."""
        try:
            return self.saved(stored, cause, "", now)
        except SquidbotError as error:
            self._state.notify(events.SNAPSHOT_ERROR, str(error), stored.plan)
            return None

    def tell(self, saved: Saved | None) -> None:
        """Tell of a snapshot that is stored by now; None is none."""
        if saved is not None:
            name = events.AUTO_SNAPSHOT_CREATED if saved.snapshot.automatic else events.SNAPSHOT_CREATED
            self._state.notify(name, saved.snapshot.name)

    def make(self, stored: Standing, name: str, now: float | None) -> Snapshot:
        """Store a snapshot of what stands under a name, and return it.

        Raises:
            StoreError: nothing was stored.
        """
        saved = self.saved(stored, "manual", name, now)
        self._state.append(stored, (), (saved.record,))
        self.tell(saved)
        return saved.snapshot
