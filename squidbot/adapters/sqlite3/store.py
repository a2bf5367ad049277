"""`SqliteStore`: transcripts, records and summaries in one file that several processes may write."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from squidbot.adapters.common.cells import DamagedRowError, plain
from squidbot.adapters.common.transcripts import refuse_gap, refuse_other_writer
from squidbot.adapters.sqlite3 import files, index, rows
from squidbot.adapters.sqlite3.files import LOG_BYTES, StoreFile, Value, copy, shrink_log
from squidbot.adapters.sqlite3.index import OF_MESSAGES, DamagedIndexError
from squidbot.core.errors import StoreError
from squidbot.core.recall.across import search_each
from squidbot.core.recall.search import read_query

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Callable, Iterable, Sequence

    from squidbot.adapters.sqlite3.rows import SessionRow
    from squidbot.core.messages import Erasure, Opening, Record, SearchMatch, SessionMatch, StoredMessage, Summary
    from squidbot.core.recall.search import SearchQuery


# How often a search indexes the backlog: others may append or rebuild the index meanwhile.
MOST_CATCHES = 3


class SqliteStore(StoreFile):
    """TranscriptStore, SummaryStore and Claims in one SQLite file, created if it is missing.

    An append is one transaction with one sync of the disk (write-ahead log, synchronous = FULL). Any number of
    processes may use the file; a writer waits up to `busy_seconds` for another. Threads may share one store: a lock
    lets them use its one connection in turn. After a fork, the child opens its own store.

    Each row has a checksum: the ports' methods raise DamagedStoreError for a row that is missing or does not match it;
    `read_intact` returns the others. Every method may also raise StoreError: the session's id is invalid, the disk
    failed, the store is closed, the wait for the lock exceeded `busy_seconds`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_seconds: float = 30.0,
        create: bool = True,
        read_only: bool = False,
        follows: bool = False,
    ) -> None:
        """Open the file, or (if `create`) create a missing or empty one.

        `read_only`: change nothing, not even a log that a crash has left. With `follows` it sees what others write from
        now on, and may leave SQLite's files for that beside the file.

        Raises:
            DamagedStoreError: the file is not a store, or is damaged, or existed and is gone; it is unchanged.
            StoreError: the file can't be opened, or a newer squidbot wrote it, or there is none to open.
        """
        super().__init__(
            path, OF_MESSAGES, busy_seconds=busy_seconds, create=create, read_only=read_only, follows=follows
        )
        if not read_only:
            self._scrub_left()

    def head(self, session_id: str) -> tuple[int, int]:
        """Return (messages, records of all kinds) of a session; (0, 0) for an unknown one. One indexed lookup."""
        with self._reading as connection:
            session = rows.find(connection, session_id)
            return session.messages, sum(session.record_counts.values())

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        """Return the counts of `head`, and the newest record of each kind, from one snapshot.

        Raises:
            DamagedStoreError: a record does not match its checksum.
        """
        return self._read(session_id, lambda connection, session: rows.opening(connection, session, kinds))

    def append(
        self,
        session_id: str,
        expected_seq: int,
        messages: Sequence[StoredMessage],
        records: Sequence[Record] = (),
    ) -> None:
        """Store messages after the last one, in order, and records, in one transaction; durable on return.

        Raises:
            StoreError: nothing was written: another writer came first, a seq or a record's number is not the next
                one, a value can't be stored.
        """
        refuse_gap(messages, expected_seq)
        if _chars(messages) <= LOG_BYTES:
            self._append(session_id, expected_seq, messages, records)
            return
        # A prepared statement keeps its bound values until its next use, and the log keeps its length: with its own
        # connection, a huge message slows no later append.
        self.head(session_id)
        with SqliteStore(self._path, busy_seconds=self._busy_seconds) as once:
            once._append(session_id, expected_seq, messages, records)
        # Already stored: a failure only leaves a long log, which is no error.
        with suppress(StoreError), self._reading as connection:
            shrink_log(connection, self._busy_seconds)
            # Another connection has written: this one's cached pages are stale, so read them again here.
            rows.warm(connection, session_id)

    def _append(
        self,
        session_id: str,
        expected_seq: int,
        messages: Sequence[StoredMessage],
        records: Sequence[Record],
        *,
        indexes: bool = True,
    ) -> None:
        try:
            with self._writing as connection:
                session = rows.find(connection, session_id)
                refuse_other_writer(session_id, session.messages, expected_seq)
                if messages or records:
                    grown = rows.append(connection, rows.add(connection, session), messages, records)
                    if indexes:
                        index.keep_up(connection, expected_seq, grown, _chars(messages))
        except DamagedIndexError:  # search rebuilds it
            self._append(session_id, expected_seq, messages, records, indexes=False)

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return the messages first_seq..last_seq, both included, in order of seq; fewer if the transcript ends.

        Raises:
            DamagedStoreError: a row is missing or does not match its checksum.
        """
        return self._read(
            session_id, lambda connection, session: rows.messages(connection, session, first_seq, last_seq)
        )

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the named messages in order of seq, each once; skip unknown ones.

        Raises:
            DamagedStoreError: a row is missing or does not match its checksum.
        """
        wanted = [*seqs]
        return self._read(session_id, lambda connection, session: rows.picked(connection, session, wanted))

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        """Return the newest messages, in order of seq, back to and including the first that exceeds the budget.

        Add up the bounds before reading any body: a body that is not returned is never loaded.

        Raises:
            DamagedStoreError: a row is missing or does not match its checksum.
        """

        def newest(connection: sqlite3.Connection, session: SessionRow) -> list[StoredMessage]:
            first_seq = rows.first_past(connection, session, budget_tokens)
            return rows.messages(connection, session, first_seq, session.messages - 1)

        return self._read(session_id, newest)

    def last_record(self, session_id: str, kind: str) -> Record | None:
        """Return the newest record of a kind, or `None`.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """
        return self._read(session_id, lambda connection, session: rows.last_record(connection, session, kind))

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        """Return the records of a kind from `first_number` on, in order of number.

        Raises:
            DamagedStoreError: one is missing or does not match its checksum.
        """
        return self._read(session_id, lambda connection, session: rows.records(connection, session, kind, first_number))

    def _read(self, session_id: str, read: Callable[[sqlite3.Connection, SessionRow], Value]) -> Value:
        """Return what is read of a session; read again where its row changed meanwhile: another process removed it."""
        with self._reading as connection:
            session = rows.find(connection, session_id)
            while True:
                try:
                    return read(connection, session)
                except DamagedRowError:
                    before, session = session, rows.find(connection, session_id)
                    if session == before:
                        raise

    def kinds(self, session_id: str) -> dict[str, int]:
        """Return how many records of each kind a session has."""
        with self._reading as connection:
            return dict(rows.find(connection, session_id).record_counts)

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages that answer a query, best first, ties newest first: at most `limit`, after `after`.

        Index the appends' backlog first, which writes to the file. Rebuild a damaged index. A store that is read only
        looks through the newest messages of the backlog instead; see `left_out`.

        Raises:
            ValueError: the query has no letter or digit.
            DamagedStoreError: the index is damaged and can't be rebuilt.
        """
        wanted = read_query(query)
        if self._is_read_only:
            with self._reading as connection:
                return index.search_unchanged(connection, rows.find(connection, session_id), wanted, limit, after)
        return self._indexed(lambda: self._search(session_id, wanted, limit, after))

    def left_out(self, session_id: str) -> int:
        """Return how many messages a search does not look through: old ones that no index has, if it is read only."""
        if not self._is_read_only:
            return 0
        return self._read(session_id, index.left_out)

    def _search(self, session_id: str, query: SearchQuery, limit: int, after: SearchMatch | None) -> list[SearchMatch]:
        attempts = MOST_CATCHES
        while True:
            while self.catch_up(session_id):
                pass
            attempts -= 1
            with self._reading as connection:
                session = rows.find(connection, session_id)
                # Another process's first search may have begun its own index meanwhile.
                if not attempts or not index.pending(connection, session, 0).left:
                    return index.search(connection, session, query, limit, after)

    def search_across(
        self, session_ids: Sequence[str], query: str, limit: int, after: SessionMatch | None = None
    ) -> list[SessionMatch]:
        """Return the messages of several sessions that answer a query, as `search` those of one that had them all.

        Index the backlog of these sessions first. A store that is read only searches one session after the other.

        Raises:
            ValueError: the query has no letter or digit.
            DamagedStoreError: the index is damaged and can't be rebuilt.
        """
        wanted = read_query(query)
        if self._is_read_only:
            return search_each(self, session_ids, query, limit, after)

        def search() -> list[SessionMatch]:
            with self._reading as connection:
                return index.search_across(connection, rows.find_several(connection, session_ids), wanted, limit, after)

        for _ in range(MOST_CATCHES):
            if not self._indexed(lambda: self._catch_up_all(session_ids)):
                break
        return self._indexed(search)

    def _catch_up_all(self, session_ids: Sequence[str]) -> bool:
        """Index the next messages of each of these sessions; return whether some are left."""
        with self._reading as connection:
            behind = index.unfinished(connection)
            sessions = [each for each in rows.find_several(connection, session_ids) if each.no in behind]
        for session in sessions:
            while self.catch_up(session.session_id):
                pass
        return bool(sessions)

    def catch_up(self, session_id: str) -> int:
        """Index the next messages, and return how many remain.

        Search does this, too; a host may do it at a quiet time, a million messages in one to two minutes.

        Raises:
            DamagedStoreError: the file is damaged.
        """

        def index_some() -> int:
            with self._reading as connection:
                batch = index.pending(connection, rows.find(connection, session_id))
            if batch.first < batch.last:
                with self._writing as connection:
                    index.add(connection, rows.find(connection, session_id), batch)
            return batch.left

        return self._indexed(index_some)

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Replace messages with tombstones, and replace, add and remove what the erasure names; durable on return.

        Then overwrite the old bytes: see `scrub`. If that can't finish now, nothing reads them any more, and
        `is_scrubbed` returns False. Backups are separate files, and keep their content.

        Raises:
            StoreError: nothing was changed: the session's messages or records have other numbers than expected, or
                something to replace is missing, or a tombstone has another category than FORGOTTEN.
        """

        def forget(connection: sqlite3.Connection, indexes: bool) -> None:  # noqa: FBT001
            files.forget(connection, rows.find(connection, session_id), erasure, indexed=indexes)

        self._written(forget)
        self._scrub_after()

    def drop(self, session_id: str) -> None:
        """Remove a session with all its data, for good, including its bytes (`forget`); ignore unknown ones.

        Raises:
            StoreError: nothing was removed.
        """

        def drop(connection: sqlite3.Connection, indexes: bool) -> None:  # noqa: FBT001
            files.drop(connection, rows.find(connection, session_id), indexed=indexes)

        self._written(drop)
        self._scrub_after()

    def older_than(self, time: float) -> list[tuple[str, float]]:
        """Return (id, time of the newest message) of the sessions whose newest message is older, oldest first."""
        found: list[tuple[float, int, bytes]] = []
        after = 0
        while True:
            with self._reading as connection:  # others come in between
                some = rows.written_times(connection, after)
            if not some:
                return [(plain(name), written) for written, _, name in sorted(found)]
            found += [(written, no, name) for no, name, written in some if written is not None and written < time]
            after = some[-1][0]

    def drop_if_older(self, session_id: str, time: float) -> bool:
        """Do as `drop` if the newest message of a session is older, but for its bytes: see `scrub`.

        Raises:
            DamagedStoreError: nothing was removed: the newest message is damaged.
        """

        def drop(connection: sqlite3.Connection, indexes: bool) -> bool:  # noqa: FBT001
            session = rows.find(connection, session_id)
            written = rows.written(connection, session)
            if written is None or written >= time:
                return False
            files.drop(connection, session, indexed=indexes)
            return True

        return self._written(drop)

    def put(self, *summaries: Summary) -> None:
        """Store summaries in one transaction; durable on return. Storing an equal one again does nothing.

        Raises:
            StoreError: nothing was written: another text has an id, or a value can't be stored.
        """
        if not summaries:
            return
        with self._writing as connection:
            for summary in summaries:
                rows.add_summary(connection, summary)

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        """Remove summaries for good, including their bytes, as `forget` does; ignore unknown ids.

        Raises:
            StoreError: nothing was removed.
        """
        with self._writing as connection:
            files.remove_summaries(connection, rows.find(connection, session_id), summary_ids)
        self._scrub_after()

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        """Return the named summaries in the order asked for; skip unknown ones.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        with self._reading as connection:
            return rows.by_id(connection, rows.find(connection, session_id), summary_ids)

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the session's summaries that are wholly inside first_seq..last_seq, by first seq, then id.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        with self._reading as connection:
            return rows.in_range(connection, rows.find(connection, session_id), first_seq, last_seq)

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Claim one kind of work on a session, or renew the claim; return whether it is held.

        It lasts from `now`, in seconds since 1970, for `ttl_seconds`, unless it is renewed or released.
        """
        with self._writing as connection:
            place = files.claim_cells(connection, session_id, kind, holder)
            if connection.execute(files.OTHER_CLAIM, (*place, now)).fetchone():
                return False
            connection.execute(files.TAKE_CLAIM, (*place, now + ttl_seconds))
            return True

    def release(self, session_id: str, kind: str, holder: str) -> None:
        """End a claim of that holder; do nothing if it has none."""
        with self._writing as connection:
            connection.execute(files.END_CLAIM, files.claim_cells(connection, session_id, kind, holder))

    def read_intact(self, session_id: str, first_seq: int, last_seq: int) -> tuple[list[StoredMessage], list[int]]:
        """Return the undamaged messages of `read`, and the seqs of the others. For a damaged file only."""
        with self._reading as connection:
            return rows.intact_messages(connection, rows.find_damaged(connection, session_id), first_seq, last_seq)

    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first."""
        with self._reading as connection:
            return [(plain(session_id), stored) for session_id, stored in connection.execute(rows.SESSIONS)]

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with one of these words in the body of a record of a kind, oldest first."""
        with self._reading as connection:
            return index.sessions_with(connection, kind, words)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store, while it is in use, to a new file that is itself a store.

        Other ways of copying the file miss the content of its write-ahead log.

        Raises:
            StoreError: `path` exists, or can't be written; no file is left under that name.
        """
        copy(self._path, str(Path(path).absolute()), self._busy_seconds)


def _chars(messages: Sequence[StoredMessage]) -> int:
    return sum([len(message.payload) for message in messages])
