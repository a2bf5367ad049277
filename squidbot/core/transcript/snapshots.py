"""Named restore points of a session: the plan and the pins of that time, and how long snapshots are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ArgumentError, NotFoundError
from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.messages import Record


# The names of automatic snapshots begin so.
AUTOMATIC = "auto-"
MOST_NAME_CHARS = 200
HOUR_SECONDS = 3600.0
DAY_SECONDS = 24 * HOUR_SECONDS


@dataclass(frozen=True, slots=True)
class Retention:
    """When automatic snapshots are made, and which snapshots are kept.

    Named snapshots: the newest `most_named`, whatever their age. Automatic ones: all of the last `keep_all_hours`, and
    of older ones each `keep_every_nth`, up to `most_days` old; 0 keeps none of these. A name that is given again
    replaces the one before. Only the entry of the index is dropped: plans and pins stay.

    Attributes:
        auto_fraction: the share of its room that history has to reach for an automatic snapshot, one each time it does;
            0 for never.
    """

    most_named: int = 5
    auto_fraction: float = 0.85
    keep_all_hours: float = 24.0
    keep_every_nth: int = 10
    most_days: float = 30.0

    def dropped(self, snapshots: Iterable[Snapshot], now: float | None) -> Iterator[Snapshot]:
        """Yield the snapshots that are not kept any more at `now`, in seconds since 1970; None: none is too old."""
        named = 0
        for snapshot in sorted(snapshots, key=lambda snapshot: snapshot.number, reverse=True):
            named += not snapshot.automatic
            if self._is_old(snapshot, now) if snapshot.automatic else named > self.most_named:
                yield snapshot

    def _is_old(self, snapshot: Snapshot, now: float | None) -> bool:
        age = now - snapshot.created_at if now is not None and snapshot.created_at is not None else 0.0
        if age <= self.keep_all_hours * HOUR_SECONDS:
            return False
        stays = self.keep_every_nth and snapshot.place % self.keep_every_nth == 0
        return not stays or age > self.most_days * DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One restore point.

    Attributes:
        name: its name.
        automatic: whether squidbot made it by itself.
        cause: "manual", "pressure", or "restore" for the state before one.
        plan_id: the plan in force; -1 while everything was sent as it was said.
        window_id: the context window of the session.
        messages: how many messages there were.
        pins: how many records of pins there were, which say what was pinned.
        created_at: seconds since 1970 as the caller gave them; None if unknown.
        dropped: the numbers of the snapshots that are not kept any more since it was made.
        number: the number of its record.
        place: how many automatic ones came before it.
    """

    name: str
    automatic: bool
    cause: str
    plan_id: int
    window_id: str
    messages: int
    pins: int
    created_at: float | None = None
    dropped: tuple[int, ...] = ()
    number: int = 0
    place: int = 0

    @property
    def record(self) -> Record:
        """The record that keeps it."""
        return SNAPSHOT.record(self.number, self)


class SnapshotIndex(NamedTuple):
    """The snapshots of a session that are kept, oldest first; how many there ever were, and how many automatic ones."""

    kept: tuple[Snapshot, ...] = ()
    ever: int = 0
    automatic: int = 0

    @classmethod
    def of(cls, snapshots: Sequence[Snapshot]) -> SnapshotIndex:
        """Return the index of all snapshots that a session ever had, in the order in which they were made."""
        dropped = {number for snapshot in snapshots for number in snapshot.dropped}
        kept, automatic = [], 0
        for number, snapshot in enumerate(snapshots):
            if number not in dropped:
                kept.append(replace(snapshot, number=number, place=automatic))
            automatic += snapshot.automatic
        return cls(tuple(kept), len(snapshots), automatic)

    def named(self, name: str) -> Snapshot:
        """Return the snapshot of a name.

        Raises:
            NotFoundError: there is none; the text lists those there are.
        """
        by_name = {snapshot.name: snapshot for snapshot in self.kept}
        if name not in by_name:
            raise NotFoundError(f"no snapshot {name!r:.80}; there are: {', '.join(by_name) or 'none'}")
        return by_name[name]

    def placed(self, new: Snapshot, retention: Retention) -> Snapshot:
        """Return a new snapshot with its name, number and place, which drops those no longer kept."""
        name = f"{AUTOMATIC}{self.ever}" if new.automatic else new.name
        named = replace(new, name=name, number=self.ever, place=self.automatic)
        others = [snapshot for snapshot in self.kept if snapshot.name != name]
        stay = {*others} - {*retention.dropped([*others, named], new.created_at)}
        return replace(named, dropped=tuple(snapshot.number for snapshot in self.kept if snapshot not in stay))


SNAPSHOT = RecordKind("snapshot", fields(Snapshot), SnapshotIndex.of, until=lambda snapshot: snapshot.messages)


def check_name(name: str) -> None:
    """Check that somebody may give a snapshot this name.

    Raises:
        ArgumentError: it is empty, longer than 200 characters, or of the form of automatic ones.
    """
    if not 1 <= len(name) <= MOST_NAME_CHARS or name.startswith(AUTOMATIC):
        raise ArgumentError(
            f"a snapshot's name has 1 to {MOST_NAME_CHARS} characters and does not begin with {AUTOMATIC}, "
            f"unlike {name!r:.80}"
        )
