"""Why answers break off on this terminal, and where that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from squidbot.core.transcript.bookkeeping import CUT, Cut
from squidbot.core.transcript.records import append
from squidbot.wiring.streams import wait

if TYPE_CHECKING:
    from squidbot.core.ports import TranscriptStore

__all__ = ["BY_DEATH", "BY_USER", "Cut", "keep_cut", "newest_cut"]

BY_USER: Final = "the user stopped it"
BY_DEATH: Final = "the program ended before it did"
WHY_CHARS: Final = 300


def keep_cut(store: TranscriptStore, session_id: str, cut: Cut) -> None:
    """Store that an answer broke off.

    Raises:
        StoreError: it was not stored.
    """
    kept = cut._replace(why=cut.why[:WHY_CHARS])
    append(store, session_id, CUT, lambda: kept, "it does not say that the answer broke off", wait=wait)


def newest_cut(store: TranscriptStore, session_id: str) -> Cut | None:
    """Return the newest answer that broke off; None where none did.

    Raises:
        DamagedStoreError: its record can't be read.
    """
    return CUT.newest(store, session_id)
