"""Search in many sessions at once, as if they were one long session."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import SearchMatch, SessionMatch
from squidbot.core.ports import SupportsSearchAcross
from squidbot.core.recall.search import best

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.recall.search import Postings, SearchQuery, Word

# No session has so many messages.
MOST_MESSAGES: Final = 1 << 31
SESSION_BITS: Final = 32


# For stores: the messages of several sessions under one row of numbers, without gaps, as `best` wants them.


class SessionRanges:
    """The numbers that messages of several sessions have together: those of the first session, then of the next one."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """Take the sessions in order, each with how many messages it has."""
        self.names = [*sizes]
        self.starts = [0, *accumulate(sizes.values())]
        self.messages = self.starts.pop()
        self._places = dict(zip(self.names, self.starts, strict=True))

    def place(self, number: int) -> tuple[int, int]:
        """Return which session has a number, counted from 0, and the message's place in it."""
        at = bisect_right(self.starts, number) - 1
        return at, number - self.starts[at]

    def best(
        self, query: SearchQuery, postings: Postings, limit: int, after: SessionMatch | None
    ) -> list[SessionMatch]:
        """Return the messages that answer a query, best first, as `core.recall.search.best` does."""
        behind = None
        if after is not None:
            behind = SearchMatch(self._places.get(after.session_id, self.messages) + after.seq, after.score)
        found = []
        for number, score in best(query, postings, limit, behind):
            at, seq = self.place(number)
            found.append(SessionMatch(self.names[at], seq, score))
        return found


class JoinedPostings:
    """The postings of several sessions as those of one: `core.recall.search.Postings`."""

    def __init__(self, parts: Sequence[Postings], ranges: SessionRanges) -> None:
        """Take the postings of each session, and the numbers of their messages."""
        self._parts, self._ranges = parts, ranges
        self.messages = ranges.messages

    def newest(self, words: Sequence[Word], below: int, limit: int) -> list[int]:
        """Return at most `limit` numbers below `below` of messages that have all the words, newest first."""
        found: list[int] = []
        starts = self._ranges.starts
        for at in range(bisect_right(starts, below - 1) - 1, -1, -1):
            part = self._parts[at]
            seqs = part.newest(words, min(below - starts[at], part.messages), limit - len(found))
            found += [starts[at] + seq for seq in seqs]
            if len(found) >= limit:
                break
        return found

    def sizes(self, seqs: Sequence[int]) -> list[int]:
        """Return the tokens of messages, in the order asked for."""
        return [self._parts[at].sizes([seq])[0] for at, seq in map(self._ranges.place, seqs)]

    def payloads(self, seqs: Sequence[int]) -> list[str]:
        """Return the payloads of messages, in the order asked for."""
        return [self._parts[at].payloads([seq])[0] for at, seq in map(self._ranges.place, seqs)]


def search_each(
    store: TranscriptStore, session_ids: Iterable[str], query: str, limit: int, after: SessionMatch | None = None
) -> list[SessionMatch]:
    """Do what `SupportsSearchAcross.search_across` does with any store: search one session after the other.

    Raises:
        ValueError: the query has no letter or digit.
        StoreError: the store failed.
    """
    found: list[tuple[float, int, int, str]] = []
    names = [*dict.fromkeys(session_ids)]
    last = names.index(after.session_id) if after and after.session_id in names else len(names)
    for at, name in enumerate(names):
        behind = None
        if after is not None:
            # Of equals, those of later sessions came before it, those of earlier ones come behind it.
            behind = SearchMatch(after.seq if at == last else MOST_MESSAGES - 1 if at < last else -1, after.score)
        try:
            found += ((-score, -at, -seq, name) for seq, score in store.search(name, query, limit, behind))
        except DamagedStoreError:
            continue
    return [SessionMatch(name, -seq, -score) for score, _, seq, name in sorted(found)[:limit]]


# For searchers: several sessions as one.


class JoinedSessions:
    """Several sessions of a store as one, to search in. Its messages are numbered, with gaps between the sessions.

    Attributes:
        damaged: the sessions of which messages could not be read; they are left out.
    """

    def __init__(self, store: TranscriptStore, sizes: Mapping[str, int]) -> None:
        """Take the sessions, the one that was talked in last at the end, each with how many messages it has."""
        self._store, self._names = store, [*sizes]
        self._places = {name: at for at, name in enumerate(self._names)}
        self._messages = sum(sizes.values())
        self.damaged: set[str] = set()

    def place(self, number: int) -> tuple[str, int]:
        """Return the session of a message, and its place in it."""
        at, seq = divmod(number, 1 << SESSION_BITS)
        return self._names[at], seq

    def head(self, session_id: str) -> tuple[int, int]:
        """Return how many messages all have, and no records."""
        del session_id
        return self._messages, 0

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages that match a query, best first, as `TranscriptStore.search`.

        Raises:
            ValueError: the query has no letter or digit.
            StoreError: the store failed.
        """
        del session_id
        behind = None if after is None else SessionMatch(*self.place(after.seq), after.score)
        if isinstance(self._store, SupportsSearchAcross):
            found = self._store.search_across(self._names, query, limit, behind)
        else:
            found = search_each(self._store, self._names, query, limit, behind)
        return [SearchMatch((self._places[name] << SESSION_BITS) + seq, score) for name, seq, score in found]

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the named messages under their numbers here, in order, each once; unknown ones are left out.

        Raises:
            StoreError: the store failed.
        """
        del session_id
        wanted: dict[int, list[int]] = {}
        for number in sorted({*seqs}):
            at, seq = divmod(number, 1 << SESSION_BITS)
            # Behind the end of a session, or before its beginning, a neighbour is of another one.
            if 0 <= at < len(self._names) and seq < MOST_MESSAGES:
                wanted.setdefault(at, []).append(seq)
        return [row for at, some in wanted.items() for row in self._picked(at, some)]

    def _picked(self, at: int, seqs: Sequence[int]) -> Iterator[StoredMessage]:
        try:
            rows = self._store.pick(self._names[at], seqs)
        except DamagedStoreError:
            self.damaged.add(self._names[at])
            return
        yield from (replace(row, seq=(at << SESSION_BITS) + row.seq) for row in rows)
