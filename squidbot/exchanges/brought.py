"""What was brought into a session from files, as records beside it: from where, and what a message can't hold.

Records have figures, names and digests, and nothing that was said: what is forgotten of a session stands nowhere else.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.ports import TranscriptStore

__all__ = ["BROUGHT", "Batch", "Piece", "batches_of", "known", "pieces_of"]

BROUGHT = "brought"


class Piece(NamedTuple):
    """One exchange, or one summary, that was brought.

    Attributes:
        seq: its first message.
        digest: what tells it from others of its file.
        shelf: of a summary the list that it stood in; "" for an exchange.
        details: its figures, as the file had them.
        skip: of a summary: so many characters of the message stand in front of it.
    """

    seq: int
    digest: str
    shelf: str = ""
    details: Mapping[str, object] = {}
    skip: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """What was brought at once.

    Attributes:
        number: of its record.
        file: from where, as an absolute path.
        messages: how many messages it has, from `first_seq` on.
        undone: the numbers of batches that were taken back; it has no pieces then.
    """

    number: int
    file: str
    first_seq: int
    messages: int
    pieces: tuple[Piece, ...] = ()
    undone: tuple[int, ...] = field(default=())

    @property
    def record(self) -> Record:
        """The record that keeps it."""
        body = {
            "file": self.file,
            "first": self.first_seq,
            "messages": self.messages,
            "pieces": [list(one) for one in self.pieces],
            "undone": list(self.undone),
        }
        return Record(BROUGHT, self.number, json.dumps(body, separators=(",", ":")))


def batches_of(transcripts: TranscriptStore, session_id: str) -> tuple[Batch, ...]:
    """Return what was brought into a session and not taken back, oldest first.

    Raises:
        DamagedStoreError: a record can't be read.
        StoreError: the store failed.
    """
    batches = [_batch(record) for record in transcripts.records(session_id, BROUGHT)]
    undone = {number for batch in batches for number in batch.undone}
    return tuple(batch for batch in batches if batch.number not in undone and not batch.undone)


def pieces_of(batches: Sequence[Batch]) -> dict[int, Piece]:
    """Return what was brought by the first message of each."""
    return {piece.seq: piece for batch in batches for piece in batch.pieces}


def known(batches: Sequence[Batch]) -> Counter[str]:
    """Return how often each digest was brought."""
    return Counter(piece.digest for batch in batches for piece in batch.pieces)


def _batch(record: Record) -> Batch:
    try:
        body = json.loads(record.body)
        pieces = tuple(Piece(*piece) for piece in body["pieces"])
        return Batch(record.number, body["file"], body["first"], body["messages"], pieces, tuple(body["undone"]))
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedStoreError(f"brought {record.number} can't be read: {error}") from error
