"""Under which lease a session ran, so that looking at it opens it as it was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from squidbot.core.errors import BudgetError, ConfigError
from squidbot.core.plan import PlanRecord
from squidbot.core.tokens.counters import Meter, builtin_counter
from squidbot.core.transcript.windows import WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.bootstrap import Wired
    from squidbot.commands.reading.opened import Opened
    from squidbot.core.messages import Lease
    from squidbot.core.recall.history import History
    from squidbot.core.session import Session

__all__ = ["Seen", "Terms", "history_of", "seen_of", "session_of", "terms_of"]


@dataclass(frozen=True, slots=True)
class Terms:
    """A session's lease, and how it is known.

    `source`: "recorded", "settings" (those of now, which make the very lease of its newest plan), or "assumed" (those
    of now, and nothing tells whether they were its own).
    """

    lease: Lease
    source: str


def terms_of(place: Opened, session_id: str) -> Terms:
    """Return the lease that a session ran under.

    Raises:
        DamagedStoreError: its record can't be read.
        BudgetError: it has none, and the settings leave no token for input.
    """
    recorded = WINDOW.newest(place.store, session_id)
    if recorded is not None:
        return Terms(recorded, "recorded")
    stored = place.store.last_record(session_id, "plan")
    wanted = PlanRecord.from_json(stored.body).lease_id if stored else None
    for lease in _leases(place):
        if lease.lease_id == wanted:
            return Terms(lease, "settings")
    assumed = place.wired.lease()
    # A plan made under another lease would not be in force: what stands is to be shown, not what a new lease would do.
    return Terms(assumed if wanted is None else replace(assumed, lease_id=wanted), "assumed")


def session_of(place: Opened, session_id: str) -> Session:
    """Return the engine's session under its own lease, counted as it was counted.

    Raises:
        DamagedStoreError: its lease can't be read.
        BudgetError: it has none, and the settings leave no token for input.
    """
    return _pair(place, session_id)[0]


@dataclass(frozen=True, slots=True)
class Seen:
    """A session under its own lease, with what its texts are counted by: `working.Worked`."""

    wired: Wired
    core: Session
    meter: Meter


def seen_of(place: Opened, session_id: str) -> Seen:
    """Return a session as its jobs need it; raises as `session_of`."""
    return Seen(place.wired, *_pair(place, session_id))


def history_of(place: Opened, session_id: str) -> History:
    """Return what brings back what was said in a session under its own lease; raises as `session_of`."""
    session, meter = _pair(place, session_id)
    return place.wired.engine.history(session, meter)


def _pair(place: Opened, session_id: str) -> tuple[Session, Meter]:
    lease = terms_of(place, session_id).lease
    meter = _meter(place, lease)
    return place.wired.engine.session(session_id, lease, meter, place.wired.history(lease)), meter


def _meter(place: Opened, lease: Lease) -> Meter:
    """Return the meter that the lease names, if its counter can be had by that name; else that of the settings."""
    meter = place.wired.meter(lease.model)
    if meter.name == lease.counter:
        return meter
    policy, _, physical = lease.counter.rpartition("/")
    try:
        return Meter(place.wired.counter(physical), builtin_counter(policy) if policy else None)
    except ConfigError:
        return meter


def _leases(place: Opened) -> Iterator[Lease]:
    """Yield the leases that the settings of now make, one for each model."""
    for alias in ("", *place.wired.loaded.settings.models):
        try:
            yield place.wired.lease(alias)
        except BudgetError:
            continue
