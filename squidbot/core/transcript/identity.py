"""What tells a session from another one that had its id before: it was forgotten, and begun again.

Whoever remembers something of a session compares its identity. Numbers of messages and records alone may be the same.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.transcript.scopes import SCOPE

if TYPE_CHECKING:
    from squidbot.core.ports import TranscriptStore

_DAMAGED: Final = "damaged"
_DIGEST_BYTES: Final = 16


class SessionIdentity(NamedTuple):
    """A session as it is now.

    Attributes:
        messages, records: how many it has, as `TranscriptStore.head` counts.
        beginning: stays while the session grows, and differs once its first message is another one; "" without any.
        scope: its newest scope; "" for none.
    """

    messages: int = 0
    records: int = 0
    beginning: str = ""
    scope: str = ""

    def continues(self, earlier: SessionIdentity) -> bool:
        """Return whether this is still the session that had an earlier identity: nothing is ever removed from one."""
        has_all = self.messages >= earlier.messages and self.records >= earlier.records
        return self.beginning == earlier.beginning and has_all


def identity_of(store: TranscriptStore, session_id: str) -> SessionIdentity:
    """Return the identity of a session, in two small reads; damaged rows count as such, and are no error.

    Raises:
        StoreError: the store failed.
    """
    try:
        opening = store.opening(session_id, [SCOPE.name])
        newest = opening.newest.get(SCOPE.name)
        messages, records, scope = opening.messages, opening.records, f"{newest.number} {newest.body}" if newest else ""
    except DamagedStoreError:
        (messages, records), scope = store.head(session_id), _DAMAGED
    return SessionIdentity(messages, records, _beginning(store, session_id) if messages else "", scope)


def _beginning(store: TranscriptStore, session_id: str) -> str:
    try:
        found = store.pick(session_id, {0})
    except DamagedStoreError:
        return _DAMAGED
    if not found:
        return ""
    first = found[0]
    said = f"{first.time} {first.codec} {first.payload}".encode("utf-8", "surrogatepass")
    return blake2b(said, digest_size=_DIGEST_BYTES).hexdigest()
