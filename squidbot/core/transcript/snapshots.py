"""Named restore points of a session: which plan stood, which pins there were, and how long they are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ArgumentError, NotFoundError
from squidbot.core.transcript.records import RecordKind, fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from squidbot.core.messages import Record


# Names of this form are given to the snapshots that are made unasked.
AUTOMATIC = "auto-"
MOST_NAME_CHARS = 200
HOUR_SECONDS = 3600.0
DAY_SECONDS = 24 * HOUR_SECONDS


@dataclass(frozen=True, slots=True)
class Retention:
    """When snapshots are made unasked, and which are kept.

    Those that somebody named: the newest `most_named`, whatever their age. Those made unasked: all of the last
    `keep_all_hours`; of older ones each `keep_every_nth`, up to `most_days` old; 0 keeps none of them. A name that is
    given again takes the place of the one before. What is dropped is an entry of the index: plans and pins stay.

    Attributes:
        auto_fraction: history's share of its room at which a snapshot is made unasked, once each time it is reached;
            0 for never.
    """

    most_named: int = 5
    auto_fraction: float = 0.85
    keep_all_hours: float = 24.0
    keep_every_nth: int = 10
    most_days: float = 30.0

    def dropped(self, held: Iterable[Snapshot], now: float | None) -> Iterator[Snapshot]:
        """Yield the snapshots that are not kept any more at `now`, in seconds since 1970; None: none is too old."""
        named = 0
        for one in sorted(held, key=lambda one: one.number, reverse=True):
            named += not one.automatic
            if self._is_old(one, now) if one.automatic else named > self.most_named:
                yield one

    def _is_old(self, one: Snapshot, now: float | None) -> bool:
        age = now - one.created_at if now is not None and one.created_at is not None else 0.0
        if age <= self.keep_all_hours * HOUR_SECONDS:
            return False
        stays = self.keep_every_nth and one.place % self.keep_every_nth == 0
        return not stays or age > self.most_days * DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One restore point.

    Attributes:
        name: what it is called.
        automatic: whether it was made unasked.
        cause: why: "manual", "pressure", or "restore" for the state in front of one.
        plan_id: the plan that stood; -1 while everything was sent as it was said.
        lease_id: the context window that the session was open under.
        messages: how many messages there were.
        pins: how many records of pins there were: what they left is what was pinned.
        created_at: seconds since 1970 as the caller gave them; None where unknown.
        dropped: the numbers of those that are not kept any more since it was made.
        number: of its record. place: how many were made unasked before it. Both follow from where the record stands.
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
    """The snapshots of a session that are kept, oldest first; how many there ever were, and how many unasked."""

    kept: tuple[Snapshot, ...] = ()
    ever: int = 0
    automatic: int = 0

    @classmethod
    def of(cls, made: Sequence[Snapshot]) -> SnapshotIndex:
        """Return what all snapshots of a session leave, in the order in which they were made."""
        dropped = {number for one in made for number in one.dropped}
        numbered, automatic = [], 0
        for number, one in enumerate(made):
            numbered.append(replace(one, number=number, place=automatic))
            automatic += one.automatic
        return cls(tuple(one for one in numbered if one.number not in dropped), len(made), automatic)

    def named(self, name: str) -> Snapshot:
        """Return the snapshot of a name.

        Raises:
            NotFoundError: there is none; the text lists those there are.
        """
        found = next((one for one in self.kept if one.name == name), None)
        if found is None:
            names = ", ".join(one.name for one in self.kept) or "none"
            raise NotFoundError(f"no snapshot {name!r:.80}; there are: {names}")
        return found

    def placed(self, made: Snapshot, retention: Retention) -> Snapshot:
        """Return a snapshot with its name, number and place, which drops those no longer kept."""
        name = f"{AUTOMATIC}{self.ever}" if made.automatic else made.name
        named = replace(made, name=name, number=self.ever, place=self.automatic)
        others = [one for one in self.kept if one.name != name]
        stay = {*others} - {*retention.dropped([*others, named], made.created_at)}
        return replace(named, dropped=tuple(one.number for one in self.kept if one not in stay))


SNAPSHOT = RecordKind("snapshot", fields(Snapshot), SnapshotIndex.of)


def check_name(name: str) -> None:
    """Check that somebody may give a snapshot this name.

    Raises:
        ArgumentError: it is empty, longer than 200 characters, or of the form of those made unasked.
    """
    if not 1 <= len(name) <= MOST_NAME_CHARS or name.startswith(AUTOMATIC):
        raise ArgumentError(
            f"a snapshot's name has 1 to {MOST_NAME_CHARS} characters and does not begin with {AUTOMATIC}, "
            f"unlike {name!r:.80}"
        )
