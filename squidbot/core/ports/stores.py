"""What keeps sessions: transcripts, records, summaries, and who works on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.messages import Erasure, Found, Opening, Record, StoredMessage, Summary

__all__ = ["Claims", "Drops", "SummaryStore", "TranscriptStore"]


class TranscriptStore(Protocol):
    """Append-only transcripts, and the numbered records beside them: plans, leases, pins, requests.

    A session id is any str of 1 to 1,024 characters; each is its own session; any other id is refused with a
    StoreError before anything is written. Appending is all or nothing, and durable when it returns.
    """

    def head(self, session_id: str) -> tuple[int, int]:
        """Return (messages, records of all kinds) of a session; (0, 0) for an unknown one. Cheap at any length."""

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        """Return in one look how much there is, as `head` does, and the newest record of each kind that has any."""

    def append(
        self,
        session_id: str,
        expected_seq: int,
        messages: Sequence[StoredMessage],
        records: Sequence[Record] = (),
    ) -> None:
        """Store messages behind the last one, in order, and records, in one transaction.

        Raises:
            StoreError: nothing was written: `expected_seq` is not the number of messages stored (another writer
                came first), `messages[i].seq` is not `expected_seq + i`, a record's number is not the number of
                records of its kind, the id is refused, or the disk failed.
        """

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return the messages first_seq..last_seq, both included, in order of seq; fewer where the transcript ends.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the named messages in order of seq, each once; unknown ones are left out.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        """Return the newest messages, in order of seq, up to and with the first whose bounds sum past the budget.

        Counted is `cost.bound`, newest first. Bodies of messages that are not returned are not read.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """

    def last_record(self, session_id: str, kind: str) -> Record | None:
        """Return the newest record of a kind, or None where there is none."""

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        """Return the records of a kind from `first_number` on, in order of number."""

    def search(self, session_id: str, query: str, limit: int, after: Found | None = None) -> list[Found]:
        """Return the messages that answer a query, best first, ties newest first: at most `limit`, behind `after`.

        All that was appended is searched, whatever its role, but copies (`Category.RECALLED`). A query is words (all
        are preferred, any is enough) and "quoted phrases" (which must occur); nothing else in it has a meaning. See
        `core.finding`: what a word is, and what the order. With the last one of a page as `after` comes the next page:
        while nothing is appended, pages share no message and skip none.

        Raises:
            ValueError: there is no letter or digit in the query to look for.
        """

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Put tombstones where messages stand, for good; the only way in which anything is ever taken out.

        In one transaction: rows and records are replaced, records appended, what search knows of tombstones' rows
        removed; a store that keeps summaries, too, removes those that are named. What was there can't be read back from
        its files afterwards. A search finds tombstones by no word, and rows without their notices as before.

        Raises:
            StoreError: nothing was changed: the session has other numbers of messages or records than `expected`, a
                seq or a record to be replaced is not there, more than a notice would change of a row, or the disk
                failed.
        """


class SummaryStore(Protocol):
    """Summaries by id. Nothing is ever overwritten by a different text."""

    def put(self, summary: Summary) -> None:
        """Store a summary; durable on return. Storing an equal one again does nothing.

        Raises:
            StoreError: nothing was written: another text is stored under that id, or the disk failed.
        """

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        """Return the named summaries in the order asked for; unknown ones are left out."""

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the session's summaries that lie wholly inside first_seq..last_seq, by first seq, then id."""

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        """Remove summaries for good, because what they tell of was forgotten; unknown ids are passed over.

        Raises:
            StoreError: nothing was removed: the disk failed.
        """


@runtime_checkable
class Drops(Protocol):
    """What a store may have beside its port: whole sessions are removed for good, because they are to be forgotten."""

    def drop(self, session_id: str) -> None:
        """Remove a session with all that it has, for good: no list has it any more, its id is as if it was never used.

        What was there can't be read back from the store's files afterwards. An unknown one is passed over.

        Raises:
            StoreError: nothing was removed: the id is refused, or the disk failed.
        """


@runtime_checkable
class Claims(Protocol):
    """What a store may have beside its port: of all who share it, in any process, one at a time does some work.

    A claim is no lock on the session: whoever records and asks for requests needs none. Clocks are the holders' own:
    they should agree to within a fraction of the times that are claimed.
    """

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Claim one kind of work on a session, or renew one's claim, and return whether one has it.

        It lasts from `now`, in seconds since 1970, for `ttl_seconds`, unless it is renewed or released; who dies holds
        it no longer. Another holder gets it where nobody's lasts at `now`. Durable, and seen by all, on return.

        Raises:
            StoreError: nothing was claimed: the id is refused, or the disk failed.
        """

    def release(self, session_id: str, kind: str, holder: str) -> None:
        """End a claim of that holder; nothing is done where another has it, or nobody.

        Raises:
            StoreError: it was not ended: the id is refused, or the disk failed.
        """
