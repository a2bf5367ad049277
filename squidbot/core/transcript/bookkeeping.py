"""What hosts and jobs note beside a session, never a word of it: keys, imports, journal entries, answers cut short.

A client's key says which messages it has sent already, an import which file they are from, a journal how far it tells.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.transcript.records import RecordKind, append, fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from squidbot.core.messages import Record, StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.transcript.records import Wait


# -- clients: a message that is sent once more is recorded once -------------------------------------------------------


class KeyedRun(NamedTuple):
    """The messages that were recorded under a key, both ends included.

    `digest` is the SHA-256 of the key, and no word of it: it outlasts what is forgotten.
    """

    digest: str
    first_seq: int
    last_seq: int


KEY = RecordKind("key", fields(KeyedRun), tuple)


class Keys:
    """The keys of one session, read from its store at first need, and then what is new."""

    def __init__(self, transcripts: TranscriptStore, session_id: str) -> None:
        """Read nothing yet."""
        self._transcripts = transcripts
        self._session_id = session_id
        self._runs: dict[str, KeyedRun] = {}
        self._read = 0

    def find(self, key: str) -> KeyedRun | None:
        """Return what is recorded under a key, by anybody; None for nothing.

        Raises:
            DamagedStoreError: a record is no key.
            StoreError: the store failed.
        """
        found = KEY.all(self._transcripts, self._session_id, self._read)
        for run in found:
            self._runs.setdefault(run.digest, run)
        self._read += len(found)
        return self._runs.get(_digest(key))

    def record(self, key: str, rows: Sequence[StoredMessage]) -> Record | None:
        """Return the record that messages are stored under a key, which `find` did not find; None without messages."""
        return KEY.record(self._read, KeyedRun(_digest(key), rows[0].seq, rows[-1].seq)) if rows else None


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


# -- files that were brought into a session: from where, and what a message can't hold --------------------------------


class ImportedPiece(NamedTuple):
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


class ImportBatch(NamedTuple):
    """What was brought at once.

    Attributes:
        file: from where, as an absolute path.
        messages: how many messages it has, from `first_seq` on.
        undone: the numbers of batches that were taken back; it has no pieces then.
        number: of its record, as the session has it.
    """

    file: str
    first_seq: int
    messages: int
    pieces: tuple[ImportedPiece, ...] = ()
    undone: tuple[int, ...] = ()
    number: int = 0


def _standing(batches: Sequence[ImportBatch]) -> tuple[ImportBatch, ...]:
    """Return what was brought and not taken back, oldest first."""
    undone = {number for batch in batches for number in batch.undone}
    numbered = (batch._replace(number=number) for number, batch in enumerate(batches))
    return tuple(batch for batch in numbered if batch.number not in undone and not batch.undone)


def _batch(text: str) -> ImportBatch:
    batch = fields(ImportBatch)(text)
    return batch._replace(pieces=tuple(ImportedPiece(*one) for one in batch.pieces))


BROUGHT = RecordKind("brought", _batch, _standing)


def pieces_of(batches: Sequence[ImportBatch]) -> dict[int, ImportedPiece]:
    """Return what was brought by the first message of each."""
    return {piece.seq: piece for batch in batches for piece in batch.pieces}


def known(batches: Sequence[ImportBatch]) -> Counter[str]:
    """Return how often each digest was brought."""
    return Counter(piece.digest for batch in batches for piece in batch.pieces)


# -- entries of a journal: how far they tell of it --------------------------------------------------------------------


class JournalMark(NamedTuple):
    """An entry tells of the messages in front of `until_seq`; it was made at `time`, in seconds since 1970."""

    until_seq: int
    time: float


class JournalProgress(NamedTuple):
    """How far entries tell of a session.

    Attributes:
        until_seq: the first message that none tells of.
        time: when the newest was made, in seconds since 1970; None where there is none.
        entries: how many there are.
    """

    until_seq: int = 0
    time: float | None = None
    entries: int = 0


def _progress(noted: Sequence[JournalMark]) -> JournalProgress:
    return JournalProgress(*noted[-1], len(noted)) if noted else JournalProgress()


JOURNALED = RecordKind("journaled", fields(JournalMark), _progress)


def note_journaled(
    transcripts: TranscriptStore, session_id: str, until_seq: int, time: float, wait: Wait | None = None
) -> None:
    """Note, durably, that entries tell of the messages in front of one; `wait`: how to wait for others who write.

    Raises:
        StoreError: nothing was noted.
    """
    made = JournalMark(until_seq, time)
    append(transcripts, session_id, JOURNALED, lambda: made, "nothing was noted of the journal", wait=wait)


# -- answers that broke off -------------------------------------------------------------------------------------------


class BrokenAnswer(NamedTuple):
    """An answer that broke off: the message with what was said of it, and why."""

    seq: int
    why: str

    @property
    def notice(self) -> str:
        """What the model is told of it behind the next message of the user."""
        return f"[the answer above broke off: {self.why}]"


CUT = RecordKind("cut", fields(BrokenAnswer), tuple, title="cut answer")
