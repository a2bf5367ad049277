"""Named restore points of a session: which plan stood, which pins there were, and how long they are kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import ArgumentError, DamagedStoreError, NotFoundError
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["SNAPSHOT", "Retention", "Saved", "Snapshot", "Snapshots", "check_name"]

SNAPSHOT = "snapshot"
# Names of this form are given to the snapshots that are made unasked.
AUTOMATIC = "auto-"
MOST_NAME_CHARS = 200
HOUR_SECONDS = 3600.0
DAY_SECONDS = 24 * HOUR_SECONDS


@dataclass(frozen=True, slots=True)
class Retention:
    """When snapshots are made unasked, and which are kept (decisions.md section 11).

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
        lease_id: the lease that the session was open under.
        messages: how many messages there were.
        pins: how many records of pins there were: what they left is what was pinned.
        created_at: seconds since 1970 as the caller gave them; None where unknown.
        number: of its record. place: how many were made unasked before it.
    """

    name: str
    automatic: bool
    cause: str
    plan_id: int
    lease_id: str
    messages: int
    pins: int
    created_at: float | None = None
    number: int = 0
    place: int = 0


class Saved(NamedTuple):
    """A snapshot, and the record that keeps it."""

    snapshot: Snapshot
    record: Record


class Snapshots(NamedTuple):
    """The snapshots of a session that are kept, oldest first; how many there ever were, and how many unasked."""

    kept: tuple[Snapshot, ...] = ()
    ever: int = 0
    automatic: int = 0

    @classmethod
    def of(cls, records: Iterable[Record]) -> Snapshots:
        """Return what records of the kind "snapshot" leave.

        Raises:
            DamagedStoreError: a record is no snapshot.
        """
        kept: dict[int, Snapshot] = {}
        ever = automatic = 0
        for record in records:
            try:
                body = json.loads(record.body)
                for number in body.pop("dropped"):
                    kept.pop(number, None)
                made = Snapshot(**body, number=record.number, place=automatic)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DamagedStoreError(f"snapshot {record.number} can't be read: {error}") from error
            kept[record.number] = made
            ever = record.number + 1
            automatic += made.automatic
        return cls(tuple(kept.values()), ever, automatic)

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

    def saved(self, made: Snapshot, retention: Retention) -> Saved:
        """Return a snapshot with its name, number and place, and its record, which drops those no longer kept."""
        name = f"{AUTOMATIC}{self.ever}" if made.automatic else made.name
        named = replace(made, name=name, number=self.ever, place=self.automatic)
        others = [one for one in self.kept if one.name != name]
        stay = {one.number for one in others} - {
            one.number for one in retention.dropped([*others, named], made.created_at)
        }
        body: dict[str, object] = {
            "name": name,
            "automatic": made.automatic,
            "cause": made.cause,
            "plan_id": made.plan_id,
            "lease_id": made.lease_id,
            "messages": made.messages,
            "pins": made.pins,
            "created_at": made.created_at,
            "dropped": [one.number for one in self.kept if one.number not in stay],
        }
        return Saved(named, Record(SNAPSHOT, self.ever, json.dumps(body, separators=(",", ":"))))


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
