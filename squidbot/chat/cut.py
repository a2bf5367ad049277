"""Answers that broke off: what was said of them is in the transcript, and that it is not all of it stands beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from squidbot.core.ports import TranscriptStore

__all__ = ["BY_DEATH", "BY_USER", "Cut", "keep_cut", "newest_cut"]

# The kind of its records.
KIND: Final = "cut"
BY_USER: Final = "the user stopped it"
BY_DEATH: Final = "the program ended before it did"
WHY_CHARS: Final = 300


class Cut(NamedTuple):
    """An answer that broke off: the message with what was said of it, and why."""

    seq: int
    why: str

    @property
    def notice(self) -> str:
        """What the model is told of it behind the next message of the user."""
        return f"[the answer above broke off ({self.why}); it is not whole]"


def keep_cut(store: TranscriptStore, session_id: str, cut: Cut) -> None:
    """Store that an answer broke off.

    Raises:
        StoreError: it was not stored.
    """
    last = store.last_record(session_id, KIND)
    body = json.dumps([cut.seq, cut.why[:WHY_CHARS]], ensure_ascii=False, separators=(",", ":"))
    number = last.number + 1 if last else 0
    store.append(session_id, store.head(session_id)[0], (), (Record(KIND, number, body),))


def newest_cut(store: TranscriptStore, session_id: str) -> Cut | None:
    """Return the newest answer that broke off; None where none did.

    Raises:
        DamagedStoreError: its record can't be read.
    """
    last = store.last_record(session_id, KIND)
    if last is None:
        return None
    try:
        seq, why = json.loads(last.body)
        return Cut(int(seq), str(why))
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"the record {last.number} of a cut answer can't be read: {error}") from error
