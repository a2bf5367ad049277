"""Transcripts, summaries and claims in memory, for tests and for hosts without storage."""

from __future__ import annotations

import threading
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from squidbot.adapters.common.transcripts import grown_counts, refuse_gap, refuse_id, refuse_misfit, refuse_other_writer
from squidbot.core.errors import StoreError
from squidbot.core.messages import Erasure, Opening
from squidbot.core.recall.across import JoinedPostings, SessionRanges
from squidbot.core.recall.search import UNSEARCHED, best, payload_terms, read_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from squidbot.core.messages import Record, SearchMatch, SessionMatch, StoredMessage, Summary
    from squidbot.core.recall.search import Word

__all__ = ["InMemoryStore"]


class SessionData(NamedTuple):
    messages: list[StoredMessage]
    records: dict[str, list[Record]]
    summaries: dict[str, Summary]
    terms: TermIndex

    @property
    def record_counts(self) -> dict[str, int]:
        return {kind: len(records) for kind, records in self.records.items()}

    @property
    def written(self) -> float | None:
        return next((message.time for message in reversed(self.messages) if message.time is not None), None)


class TermIndex:
    """The seqs of one session's messages by their terms, built at its search: `core.recall.search.Postings`."""

    def __init__(self) -> None:
        self._messages: list[StoredMessage] = []
        self._seqs: dict[str, list[int]] = {}

    def catch_up(self, messages: Sequence[StoredMessage]) -> None:
        """Add the messages that came since."""
        for message in messages[len(self._messages) :]:
            is_searched = message.category not in UNSEARCHED
            for term in payload_terms(message.payload) if is_searched else ():
                self._seqs.setdefault(term, []).append(message.seq)
            self._messages.append(message)

    @property
    def messages(self) -> int:
        """Number of messages."""
        return len(self._messages)

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` seqs below `below` of messages that have all the words, newest first."""
        rarest, *others = sorted(map(self._having, words), key=len)
        seqs = rarest.intersection(*others)
        return list(islice((seq for seq in sorted(seqs, reverse=True) if seq < below), limit))

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the order asked for."""
        return [self._messages[seq].cost.estimate for seq in seqs]

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the payloads of messages, in the order asked for."""
        return [self._messages[seq].payload for seq in seqs]

    def _having(self, word: Word) -> set[int]:
        alternatives = (set.intersection(*(set(self._seqs.get(term, ())) for term in each)) for each in word)
        return set[int]().union(*alternatives)


class InMemoryStore:
    """TranscriptStore, SummaryStore and Claims that end with the process; threads may share one.

    Every method raises StoreError for a session id that is not 1 to 1,024 characters long.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, SessionData] = {}
        self._claims: dict[tuple[str, str], tuple[str, float]] = {}
        self._lock = threading.RLock()

    def head(self, session_id: str) -> tuple[int, int]:
        """Return (messages, records of all kinds) of a session; (0, 0) for an unknown one."""
        with self._lock:
            session = self._find(session_id)
            return len(session.messages), sum(map(len, session.records.values()))

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        """Return the counts of `head`, and the newest record of each kind, at one time."""
        with self._lock:
            session = self._find(session_id)
            newest = {kind: session.records[kind][-1] for kind in kinds if session.records.get(kind)}
            return Opening(len(session.messages), sum(map(len, session.records.values())), newest)

    def append(
        self,
        session_id: str,
        expected_seq: int,
        messages: Sequence[StoredMessage],
        records: Sequence[Record] = (),
    ) -> None:
        """Store messages after the last one, in order, and records, all or nothing.

        Raises:
            StoreError: nothing was written: another writer came first, a seq or a record's number is not the next
                one.
        """
        refuse_gap(messages, expected_seq)
        with self._lock:
            session = self._find(session_id)
            refuse_other_writer(session_id, len(session.messages), expected_seq)
            grown_counts(session.record_counts, records)
            if messages or records:
                session.messages.extend(messages)
                for record in records:
                    session.records.setdefault(record.kind, []).append(record)
                self._sessions[session_id] = session

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return the messages first_seq..last_seq, both included, in order of seq; fewer if the transcript ends."""
        with self._lock:
            return self._find(session_id).messages[max(first_seq, 0) : max(last_seq + 1, 0)]

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the named messages in order of seq, each once; skip unknown ones."""
        with self._lock:
            messages = self._find(session_id).messages
            return [messages[seq] for seq in sorted(set(seqs)) if 0 <= seq < len(messages)]

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        """Return the newest messages, in order of seq, back to and including the first that exceeds the budget."""
        with self._lock:
            messages = self._find(session_id).messages[:]
        spent, first_seq = 0, len(messages)
        for message in reversed(messages):
            first_seq = message.seq
            spent += message.cost.bound
            if spent > budget_tokens:
                break
        return messages[first_seq:]

    def last_record(self, session_id: str, kind: str) -> Record | None:
        """Return the newest record of a kind, or `None`."""
        with self._lock:
            found = self._find(session_id).records.get(kind)
            return found[-1] if found else None

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        """Return the records of a kind from `first_number` on, in order of number."""
        with self._lock:
            return self._find(session_id).records.get(kind, [])[max(first_number, 0) :]

    def kinds(self, session_id: str) -> dict[str, int]:
        """Return how many records of each kind a session has."""
        with self._lock:
            return self._find(session_id).record_counts

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages that answer a query, best first, ties newest first: at most `limit`, after `after`.

        Raises:
            ValueError: the query has no letter or digit.
        """
        wanted = read_query(query)
        with self._lock:
            session = self._find(session_id)
            session.terms.catch_up(session.messages)
            return best(wanted, session.terms, limit, after)

    def search_across(
        self, session_ids: Sequence[str], query: str, limit: int, after: SessionMatch | None = None
    ) -> list[SessionMatch]:
        """Return the messages of several sessions that answer a query, as `search` those of one that had them all.

        Raises:
            ValueError: the query has no letter or digit.
        """
        wanted, asked = read_query(query), {*session_ids}
        with self._lock:
            found = {name: session for name, session in self._sessions.items() if name in asked and session.messages}
            for session in found.values():
                session.terms.catch_up(session.messages)
            ranges = SessionRanges({name: len(session.messages) for name, session in found.items()})
            postings = JoinedPostings([session.terms for session in found.values()], ranges)
            return ranges.best(wanted, postings, limit, after)

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Replace messages with tombstones, and replace, add and remove what the erasure names, all or nothing.

        Raises:
            StoreError: nothing was changed: the session's messages or records have other numbers than expected, or
                something to replace is missing, or a tombstone has another category than FORGOTTEN.
        """
        with self._lock:
            session = self._find(session_id)
            messages, counts = session.messages[:], session.record_counts
            refuse_misfit(session_id, erasure, len(messages), counts, lambda seqs: self.pick(session_id, seqs))
            grown_counts(counts, erasure.appended)
            kinds = {kind: records[:] for kind, records in session.records.items()}
            for record in erasure.replaced:
                kinds[record.kind][record.number] = record
            for record in erasure.appended:
                kinds.setdefault(record.kind, []).append(record)
            for row in (*erasure.unnoticed, *erasure.tombstones):
                messages[row.seq] = row
            if erasure != Erasure(erasure.expected, ()):
                summaries = _without(session.summaries, erasure.summaries)
                self._sessions[session_id] = SessionData(messages, kinds, summaries, TermIndex())

    def drop(self, session_id: str) -> None:
        """Remove a session with all its data; ignore an unknown one."""
        with self._lock:
            self._sessions.pop(session_id, None)

    def older_than(self, time: float) -> list[tuple[str, float]]:
        """Return (id, time of the newest message) of the sessions whose newest message is older, oldest first."""
        with self._lock:
            times = [(session.written, name) for name, session in self._sessions.items()]
        found = [(written, name) for written, name in times if written is not None and written < time]
        return [(name, written) for written, name in sorted(found, key=itemgetter(0))]

    def drop_if_older(self, session_id: str, time: float) -> bool:
        """Do as `drop` if the newest message of a session is older."""
        with self._lock:
            written = self._find(session_id).written
            if written is None or written >= time:
                return False
            self.drop(session_id)
            return True

    def put(self, *summaries: Summary) -> None:
        """Store summaries, up to one that is refused. Storing an equal one again does nothing.

        Raises:
            StoreError: another text has an id.
        """
        with self._lock:
            for summary in summaries:
                session = self._find(summary.session_id)
                if session.summaries.setdefault(summary.summary_id, summary) != summary:
                    raise StoreError(
                        f"summary {summary.summary_id!a} of session {summary.session_id!a:.80} is there with another "
                        "text; it was not written"
                    )
                self._sessions[summary.session_id] = session

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        """Remove summaries for good; ignore unknown ids."""
        with self._lock:
            session = self._find(session_id)
            if session_id in self._sessions:
                self._sessions[session_id] = session._replace(summaries=_without(session.summaries, summary_ids))

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        """Return the named summaries in the order asked for; skip unknown ones."""
        with self._lock:
            summaries = self._find(session_id).summaries
            return [summaries[summary_id] for summary_id in summary_ids if summary_id in summaries]

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the session's summaries that are wholly inside first_seq..last_seq, by first seq, then id."""
        with self._lock:
            summaries = list(self._find(session_id).summaries.values())
        inside = [each for each in summaries if first_seq <= each.first_seq <= last_seq and each.last_seq <= last_seq]
        return sorted(inside, key=lambda summary: (summary.first_seq, summary.summary_id))

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Claim one kind of work on a session, or renew the claim; return whether it is held.

        It lasts from `now`, in seconds since 1970, for `ttl_seconds`, unless it is renewed or released.
        """
        with self._lock:
            self._find(session_id)
            other, until = self._claims.get((session_id, kind), (holder, now))
            if other != holder and until > now:
                return False
            self._claims[session_id, kind] = holder, now + ttl_seconds
            return True

    def release(self, session_id: str, kind: str, holder: str) -> None:
        """End a claim of that holder; do nothing if it has none."""
        with self._lock:
            self._find(session_id)
            if self._claims.get((session_id, kind), ("", 0.0))[0] == holder:
                del self._claims[session_id, kind]

    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first."""
        with self._lock:
            return [(session_id, len(session.messages)) for session_id, session in self._sessions.items()]

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with one of these words in the body of a record of a kind, oldest first."""
        with self._lock:
            bodies = {name: [one.body for one in each.records.get(kind, ())] for name, each in self._sessions.items()}
        return [name for name, each in bodies.items() if any(word in body for body in each for word in words)]

    def _find(self, session_id: str) -> SessionData:
        refuse_id(session_id)
        return self._sessions.get(session_id) or SessionData([], {}, {}, TermIndex())


def _without(summaries: dict[str, Summary], summary_ids: Sequence[str]) -> dict[str, Summary]:
    gone = set(summary_ids)
    return {name: summary for name, summary in summaries.items() if name not in gone}
