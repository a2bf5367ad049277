"""Records that hosts and jobs add beside a session, without its words: keys, imports, journal marks, broken answers.

A client's key says which messages it has sent already, an import which file they are from, a mark how far a journal
goes.
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


KEY = RecordKind("key", fields(KeyedRun), tuple, until=lambda run: run.last_seq + 1)


class Keys:
    """The keys of one session, read from its store at first need; later calls read only new ones."""

    def __init__(self, transcripts: TranscriptStore, session_id: str) -> None:
        """Read nothing yet."""
        self._transcripts = transcripts
        self._session_id = session_id
        self._runs: dict[str, KeyedRun] = {}
        self._read = 0

    def find(self, key: str) -> KeyedRun | None:
        """Return the messages recorded under a key, by any process; None if there are none.

        Raises:
            DamagedStoreError: a record is no key.
            StoreError: the store failed.
        """
        new = KEY.all(self._transcripts, self._session_id, self._read)
        for run in new:
            self._runs.setdefault(run.digest, run)
        self._read += len(new)
        return self._runs.get(_digest(key))

    def record(self, key: str, rows: Sequence[StoredMessage]) -> Record | None:
        """Return the record that messages are stored under a key, which `find` did not find; None without messages."""
        return KEY.record(self._read, KeyedRun(_digest(key), rows[0].seq, rows[-1].seq)) if rows else None


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


# -- imported files: where messages are from, and what a message can't hold --------------------------------------------


class ImportedPiece(NamedTuple):
    """One imported exchange or summary.

    Attributes:
        seq: its first message.
        digest: tells it from others of its file.
        list_name: for a summary, the list that it stood in; "" for an exchange.
        details: its figures, as the file had them.
        skip: for a summary, how many characters of the message stand in front of it.
    """

    seq: int
    digest: str
    list_name: str = ""
    details: Mapping[str, object] = {}
    skip: int = 0


class ImportedHead(NamedTuple):
    """The metadata of an imported file, as far as its exchanges do not say it.

    Attributes:
        model: the model of the file.
        created, last_updated: in ISO 8601, as the file has them; "" if unknown.
        exchanges, tokens: how many the file counts beyond those in the session; below 0 if it counts fewer.
        window_tokens: the model's window; `None` if unknown.
    """

    model: str
    created: str = ""
    last_updated: str = ""
    exchanges: int = 0
    tokens: int = 0
    window_tokens: int | None = None


class ImportBatch(NamedTuple):
    """One import of a file.

    Attributes:
        file: its absolute path.
        messages: how many messages it has, from `first_seq` on.
        undone: the numbers of batches that this one takes back; it has no pieces then.
        number: the number of its record in the session.
        head: the file's metadata, behind its messages; it has no messages then, and `first_seq` is the next one.
    """

    file: str
    first_seq: int
    messages: int
    pieces: tuple[ImportedPiece, ...] = ()
    undone: tuple[int, ...] = ()
    number: int = 0
    head: ImportedHead | None = None


def _not_undone(batches: Sequence[ImportBatch]) -> tuple[ImportBatch, ...]:
    """Return the batches that were not taken back, oldest first."""
    undone = {number for batch in batches for number in batch.undone}
    numbered = (batch._replace(number=number) for number, batch in enumerate(batches))
    return tuple(batch for batch in numbered if batch.number not in undone and not batch.undone)


def _with_pieces(batch: ImportBatch) -> ImportBatch:
    head = batch.head and ImportedHead(*batch.head)
    return batch._replace(pieces=tuple(ImportedPiece(*piece) for piece in batch.pieces), head=head)


BROUGHT = RecordKind("brought", fields(ImportBatch, _with_pieces), _not_undone)


def pieces_of(batches: Sequence[ImportBatch]) -> dict[int, ImportedPiece]:
    """Return the imported pieces by their first messages."""
    return {piece.seq: piece for batch in batches for piece in batch.pieces}


def heads_of(batches: Sequence[ImportBatch]) -> dict[str, tuple[int, ImportedHead]]:
    """Return the newest imported metadata by model, each with the first message behind it."""
    return {batch.head.model: (batch.first_seq, batch.head) for batch in batches if batch.head}


def known(batches: Sequence[ImportBatch]) -> Counter[str]:
    """Return how often each digest was imported."""
    return Counter(piece.digest for batch in batches for piece in batch.pieces)


# -- journals: how far their entries go --------------------------------------------------------------------------------


class JournalMark(NamedTuple):
    """An entry covers the messages before `until_seq`; it was made at `time`, in seconds since 1970."""

    until_seq: int
    time: float


class JournalProgress(NamedTuple):
    """How much of a session journal entries cover.

    Attributes:
        until_seq: the first message that no entry covers.
        time: when the newest entry was made, in seconds since 1970; None if there is none.
        entries: how many there are.
    """

    until_seq: int = 0
    time: float | None = None
    entries: int = 0


def _progress(marks: Sequence[JournalMark]) -> JournalProgress:
    return JournalProgress(*marks[-1], len(marks)) if marks else JournalProgress()


JOURNALED = RecordKind("journaled", fields(JournalMark), _progress)


def note_journaled(
    transcripts: TranscriptStore, session_id: str, until_seq: int, time: float, wait: Wait | None = None
) -> None:
    """Record, durably, that entries cover the messages before one; `wait`: how to wait for other writers.

    Raises:
        StoreError: nothing was noted.
    """
    mark = JournalMark(until_seq, time)
    append(transcripts, session_id, JOURNALED, lambda: mark, "nothing was noted of the journal", wait=wait)


# -- answers that broke off -------------------------------------------------------------------------------------------


class BrokenAnswer(NamedTuple):
    """An answer that broke off: the message with its beginning, and the reason."""

    seq: int
    why: str

    @property
    def notice(self) -> str:
        """The notice for the model behind the next message of the user."""
        return f"[the answer above broke off: {self.why}]"


CUT = RecordKind("cut", fields(BrokenAnswer), tuple, title="cut answer")
