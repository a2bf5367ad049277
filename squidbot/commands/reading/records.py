"""Whether the records of a session say something: each is read as the engine reads it, whatever its checksum says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.core.contexts import KIND as DOCUMENT
from squidbot.core.contexts import documents_of
from squidbot.core.descent import children_of, parent_of
from squidbot.core.errors import DamagedStoreError
from squidbot.core.forgetting import TOLD, WITHDRAWN, Withdrawn, places_in
from squidbot.core.goals.records import GOAL, goals_of
from squidbot.core.journal import told_of
from squidbot.core.keys import Keys
from squidbot.core.leases import LEARNED, LEASE, learned_tokens, lease_of
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Said
from squidbot.core.notes.notebook import FRAGMENT, LEDGER, Fragment, Ledger
from squidbot.core.past import REQUEST, Past
from squidbot.core.pins import KIND as PIN
from squidbot.core.pins import Pins
from squidbot.core.plan import PlanRecord
from squidbot.core.scopes import models_of, scopes_of
from squidbot.core.snapshots import SNAPSHOT, Snapshots
from squidbot.services.exchange import batches_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.messages import Record
    from squidbot.core.ports import TranscriptStore

__all__ = ["unreadable"]

PLAN: Final = "plan"
# How one record of a kind is read.
_EACH: Final[dict[str, Callable[[Record], object]]] = {
    PIN: lambda record: Pins.of([record]),
    PLAN: lambda record: PlanRecord.from_json(record.body),
    REQUEST: Past.of,
    LEASE: lease_of,
    LEARNED: lambda record: learned_tokens([record], ""),
    GOAL: lambda record: goals_of([record]),
    MARKED: Said.from_record,
    DOCUMENT: lambda record: documents_of([record]),
    TOLD: places_in,
    WITHDRAWN: Withdrawn.of,
    FRAGMENT: lambda record: Fragment.from_json(record.body),
    LEDGER: lambda record: Ledger.from_json(record.body),
}
# What is read of a session by all records of a kind.
_ALL: Final[tuple[Callable[[TranscriptStore, str], object], ...]] = (
    lambda store, session_id: Snapshots.of(store.records(session_id, SNAPSHOT)),
    lambda store, session_id: Keys(store, session_id).find(""),
    parent_of,
    children_of,
    scopes_of,
    models_of,
    told_of,
    batches_of,
)


def unreadable(store: TranscriptStore, session_id: str) -> Iterator[str]:
    """Yield what each record that the engine can't read says of itself; nothing is written.

    Raises:
        StoreError: the store failed.
    """
    for kind, read in _EACH.items():
        for record in store.records(session_id, kind):
            try:
                read(record)
            except DamagedStoreError as error:
                yield str(error)
    for look in _ALL:
        try:
            look(store, session_id)
        except DamagedStoreError as error:
            yield str(error)
