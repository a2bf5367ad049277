"""Every kind of record that a session can have, in one table: `doctor` reads them all, `forget` goes through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from squidbot.core.compaction.planner import SUMMARY
from squidbot.core.errors import DamagedStoreError
from squidbot.core.last_request import REQUESTS
from squidbot.core.notes.notebook import FRAGMENT, LEDGER
from squidbot.core.plan import PlanRecord
from squidbot.core.transcript.bookkeeping import BROUGHT, CUT, JOURNALED, KEY
from squidbot.core.transcript.documents import DOCUMENT
from squidbot.core.transcript.goals import GOAL
from squidbot.core.transcript.lineage import CALLER, LINEAGE
from squidbot.core.transcript.markers import MARKED
from squidbot.core.transcript.pins import PIN
from squidbot.core.transcript.records import RecordKind
from squidbot.core.transcript.removals import FORGOTTEN, INJECTION, RETRACTION
from squidbot.core.transcript.scopes import MODEL, SCOPE
from squidbot.core.transcript.snapshots import SNAPSHOT
from squidbot.core.transcript.windows import LEARNED, WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from squidbot.core.messages import Record
    from squidbot.core.ports import TranscriptStore


class AnyKind(Protocol):
    """A kind of records, whatever its values are."""

    @property
    def name(self) -> str:
        """Its name in the store."""

    def read(self, record: Record) -> object:
        """Return the value that a record holds."""

    def without_messages(self, store: TranscriptStore, session_id: str, seqs: AbstractSet[int]) -> Iterator[Record]:
        """Yield the replacements of the records of a session that quote these messages."""


PLAN = RecordKind("plan", PlanRecord.from_json, tuple)
KINDS: Final[tuple[AnyKind, ...]] = (
    PLAN,
    REQUESTS,
    WINDOW,
    LEARNED,
    SCOPE,
    MODEL,
    PIN,
    GOAL,
    MARKED,
    DOCUMENT,
    SNAPSHOT,
    LINEAGE,
    CALLER,
    KEY,
    FRAGMENT,
    LEDGER,
    SUMMARY,
    JOURNALED,
    BROUGHT,
    CUT,
    INJECTION,
    RETRACTION,
    FORGOTTEN,
)


def unreadable(store: TranscriptStore, session_id: str) -> Iterator[str]:
    """Yield a sentence for each record that the engine cannot read; nothing is written.

    Raises:
        StoreError: the store failed.
    """
    for kind in KINDS:
        for record in store.records(session_id, kind.name):
            try:
                kind.read(record)
            except DamagedStoreError as error:
                yield str(error)
