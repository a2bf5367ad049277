"""Under which lease a session ran, so that looking at it opens it as it was."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from squidbot.core.errors import BudgetError, DamagedStoreError
from squidbot.core.messages import Lease
from squidbot.core.plan import PlanRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from squidbot.commands.reading.opened import Opened
    from squidbot.core.messages import Record

__all__ = ["Terms", "terms_of"]

LEASE = "lease"
_FIELDS = frozenset(field.name for field in fields(Lease))


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
    recorded = place.store.last_record(session_id, LEASE)
    if recorded is not None:
        return Terms(_lease(recorded), "recorded")
    stored = place.store.last_record(session_id, "plan")
    wanted = PlanRecord.from_json(stored.body).lease_id if stored else None
    for lease in _leases(place):
        if lease.lease_id == wanted:
            return Terms(lease, "settings")
    return Terms(place.wired.lease(), "assumed")


def _lease(record: Record) -> Lease:
    try:
        body = json.loads(record.body)
        return Lease(**{name: value for name, value in body.items() if name in _FIELDS})
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedStoreError(f"lease {record.number} can't be read: {error}") from error


def _leases(place: Opened) -> Iterator[Lease]:
    """Yield the leases that the settings of now make, one for each model."""
    for alias in ("", *place.wired.loaded.settings.models):
        try:
            yield place.wired.lease(alias)
        except BudgetError:
            continue
