"""`PostgresqlStore`: transcripts, records, summaries and claims in PostgreSQL, for any number of machines."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from threading import Lock, Thread
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from squidbot.adapters.common.cells import (
    DamagedRowError,
    decode_record,
    decode_summary,
    encode_record,
    encode_summary,
    plain,
    plain_small,
    stored_text,
)
from squidbot.adapters.common.transcripts import refuse_gap, refuse_id, refuse_misfit, refuse_other_writer, shown_id
from squidbot.adapters.psycopg.rows import as_bytes, decoded, encoded
from squidbot.adapters.psycopg.search import (
    BLOCK,
    LOCK_WORDS,
    UNINDEX,
    SessionWords,
    TermDigests,
    add_blocks,
    block_of,
    terms_of,
)
from squidbot.adapters.psycopg.server import SNAPSHOT, ServerStore
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.messages import Opening, Record, StoredMessage
from squidbot.core.recall.across import JoinedPostings, SessionRanges
from squidbot.core.recall.search import best, read_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from psycopg import Connection

    from squidbot.core.messages import Erasure, SearchMatch, SessionMatch, Summary

    Act = Callable[[Connection[Any]], Any]

T = TypeVar("T")

# Statements name a session by its key; `%s` alone is a value, and no name of a column is of the data.
_OF = "FROM {schema}.sessions s WHERE s.tenant = {schema}.tenant() AND s.key = %s"
_COLUMNS = (
    "m.seq, m.bound, m.estimate, m.turn, m.checksum, m.time, m.form, m.call_ids, m.result_ids, m.frozen, m.payload"
)
HEAD = f"SELECT s.no, s.messages, s.records {_OF}"
HELD = f"{HEAD} FOR UPDATE"
RANGE, PICKED, SINCE = (
    f"SELECT s.messages, {_COLUMNS} FROM (SELECT s.no, s.messages {_OF}) s "  # noqa: S608  # our own constants
    f"LEFT JOIN {{schema}}.messages m ON m.session = s.no AND {place} ORDER BY m.seq"
    for place in ("m.seq BETWEEN %s AND %s", "m.seq = ANY(%s)", "m.seq >= {schema}.first_past(s.no, %s)")
)
RECORDS = (
    f"SELECT r.number, r.checksum, r.body FROM (SELECT s.no {_OF}) s "  # noqa: S608
    "JOIN {schema}.records r ON r.session = s.no WHERE r.kind = %s AND r.number >= %s ORDER BY r.number"
)
OPENING = (
    "SELECT s.messages, s.records, r.kind, r.number, r.checksum, r.body "  # noqa: S608
    f"FROM (SELECT s.no, s.messages, s.records {_OF}) s "
    "LEFT JOIN LATERAL unnest(%s::bytea[]) AS asked(kind) ON true LEFT JOIN LATERAL ("
    "SELECT * FROM {schema}.records r WHERE r.session = s.no AND r.kind = asked.kind ORDER BY r.number DESC LIMIT 1"
    ") r ON true"
)
# Lists of bytes in binary form: as text they would be twice as long.
APPEND = (
    "SELECT * FROM {schema}.append(%s, %s, %s::bigint, "
    "%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::double precision[], %b::bytea[], %b::bytea[], "
    "%b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[], %s::bigint[], %s::bigint[], %b::bytea[])"
)
COUNTS = "SELECT kind, max(number) + 1 FROM {schema}.records WHERE session = %s GROUP BY kind"
# No index has `written`, so that an append changes none: a sweep reads the table of the sessions.
OLDER = (
    "SELECT id, extract(epoch FROM written)::double precision FROM {schema}.sessions "
    "WHERE tenant = {schema}.tenant() AND written < to_timestamp(%s) ORDER BY written, no"
)
HELD_IF_OLDER = f"{HEAD} AND s.written < to_timestamp(%s) FOR UPDATE"
DATE_BACK = (
    "UPDATE {schema}.sessions SET written = to_timestamp(%s) "
    "WHERE tenant = {schema}.tenant() AND key = %s AND written > to_timestamp(%s)"
)
REPLACE_MESSAGE = (
    "UPDATE {schema}.messages SET bound = %s, estimate = %s, turn = %s, checksum = %s, time = %s, form = %s, "
    "call_ids = %s, result_ids = %s, frozen = %s, payload = %s WHERE session = %s AND seq = %s"
)
REPLACE_RECORD = "UPDATE {schema}.records SET checksum = %s, body = %s WHERE session = %s AND kind = %s AND number = %s"
_SUMMARY = (
    "u.id, u.first_seq, u.last_seq, u.estimate, u.bound, u.checksum, u.level, u.counter, u.source_digest, u.made_by, "
    "u.text"
)
_SUMMARIES = f"SELECT {_SUMMARY} FROM (SELECT s.no {_OF}) s JOIN {{schema}}.summaries u ON u.session = s.no WHERE "  # noqa: S608
NAMED = f"{_SUMMARIES} u.key = ANY(%s)"
INSIDE = f"{_SUMMARIES} u.first_seq BETWEEN %s AND %s AND u.last_seq <= %s"
PUT = (
    "SELECT {schema}.put(a, b, c, d, e, f, g, h, i, j, k, l, m, n) FROM unnest(%b::bytea[], %b::bytea[], %s::bigint[], "
    "%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[], "
    "%b::bytea[], %b::bytea[], %b::bytea[]) WITH ORDINALITY AS each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, place) "
    "ORDER BY place"
)
REMOVE = (
    "DELETE FROM {schema}.summaries WHERE key = ANY(%s) AND session = "
    "(SELECT no FROM {schema}.sessions s WHERE s.tenant = {schema}.tenant() AND s.key = %s)"
)
REMOVE_SUMMARIES = "DELETE FROM {schema}.summaries WHERE session = %s AND key = ANY(%s)"
CLAIM = (
    "INSERT INTO {schema}.claims AS held(place, kind, holder, until) VALUES(%s, %s, %s, %s + {schema}.ahead(%s)) "
    "ON CONFLICT (tenant, place, kind) DO UPDATE SET holder = excluded.holder, until = excluded.until "
    "WHERE held.holder = excluded.holder OR held.until <= %s + {schema}.ahead(%s) RETURNING 1"
)
RELEASE = "DELETE FROM {schema}.claims WHERE tenant = {schema}.tenant() AND place = %s AND kind = %s AND holder = %s"
SESSIONS = "SELECT id, messages FROM {schema}.sessions WHERE tenant = {schema}.tenant() ORDER BY no"
WITH_RECORDS = (
    "SELECT s.no, s.id, r.body FROM {schema}.sessions s JOIN {schema}.records r ON r.session = s.no "
    "WHERE s.tenant = {schema}.tenant() AND r.kind = %s ORDER BY s.no"
)
DROP_CLAIMS = "DELETE FROM {schema}.claims WHERE tenant = {schema}.tenant() AND place = %s"
DROP = (
    *(
        f"DELETE FROM {{schema}}.{table} WHERE session = %s"  # noqa: S608
        for table in ("messages", "records", "summaries", "words")
    ),
    "DELETE FROM {schema}.sessions WHERE no = %s",
)
HEADS = (
    "SELECT s.id, s.messages, s.records FROM {schema}.sessions s WHERE s.tenant = {schema}.tenant() AND s.key = ANY(%s)"
)
SEVERAL = (
    "SELECT s.id, s.no, s.messages FROM {schema}.sessions s "
    "WHERE s.tenant = {schema}.tenant() AND s.key = ANY(%s) AND s.messages > 0 ORDER BY s.no"
)
KINDS = (
    f"SELECT r.kind, count(*) FROM (SELECT s.no {_OF}) s JOIN {{schema}}.records r ON r.session = s.no "  # noqa: S608
    "GROUP BY r.kind ORDER BY r.kind"
)
BLOCKS = (
    f"SELECT w.block, w.terms, w.masks FROM (SELECT s.no {_OF}) s JOIN {{schema}}.words w ON w.session = s.no "  # noqa: S608
    "ORDER BY w.block"
)
TELL = "SELECT pg_notify(%s, %s)"
NAMES = "SELECT id FROM {schema}.sessions s WHERE s.tenant = {schema}.tenant() AND s.key = ANY(%s) ORDER BY s.no"
# A transaction that began earlier may be written later: the next moment is a minute before this one.
CHANGED = (
    "SELECT s.id, extract(epoch FROM now() - interval '1 minute')::double precision FROM (SELECT 1) AS one "
    "LEFT JOIN {schema}.sessions s ON s.tenant = {schema}.tenant() AND s.written >= to_timestamp(%s) ORDER BY s.no"
)
TASKS = "SELECT body FROM {schema}.tasks WHERE tenant = {schema}.tenant() ORDER BY no"
ADD_TASK = "INSERT INTO {schema}.tasks(key, body) VALUES(%s, %s) ON CONFLICT DO NOTHING"
END_TASK = "DELETE FROM {schema}.tasks WHERE tenant = {schema}.tenant() AND key = %s"


class _Session(NamedTuple):
    """A session's row: its number, and its messages and records of all kinds; `no` is 0 for an unknown one."""

    no: int = 0
    messages: int = 0
    records: int = 0


class PostgresqlStore(ServerStore):
    """TranscriptStore, SummaryStore and Claims in one schema of a database.

    An append is one call of a function in the database, which locks the session's row: appends of one session wait for
    each other, those of others don't, and no reader waits. Where the connection is lost, the call is repeated; if the
    lost one was written after all, what is stored is compared, so that nothing is stored twice.

    Each row has a checksum: the ports' methods raise DamagedStoreError for a row that does not match it. Every method
    may also raise StoreError: the session's id is invalid, or the server refuses or is away for longer than
    `patience_seconds`.
    """

    def _begin(self) -> None:
        self._indexing: Thread | None = None
        self._telling: Thread | None = None
        self._untold, self._lock = set[str](), Lock()

    def close(self) -> None:
        """Close the connections, unless the pool is the caller's; later calls are refused."""
        self.wait()
        super().close()

    def wait(self) -> None:
        """Wait for what runs behind the turns."""
        for thread in (self._indexing, self._telling):
            if thread is not None:
                thread.join()

    def head(self, session_id: str) -> tuple[int, int]:
        """Return (messages, records of all kinds) of a session; (0, 0) for an unknown one."""
        found = self._server.rows(HEAD, (_key(session_id),))
        return found[0][1:] if found else (0, 0)

    def heads(self, session_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return (messages, records of all kinds) of each of these sessions that is there, in one statement."""
        found = self._server.rows(HEADS, ([_key(one) for one in session_ids],)) if session_ids else []
        return {plain(name): (messages, records) for name, messages, records in found}

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        """Return the counts of `head`, and the newest record of each kind, in one statement.

        Raises:
            DamagedStoreError: a record does not match its checksum.
        """
        found = self._server.rows(OPENING, (_key(session_id), _texts(kinds)))
        messages, records = found[0][:2] if found else (0, 0)
        newest = {plain(kind): _record(plain(kind), row) for _, _, kind, *row in found if kind is not None}
        return Opening(messages, records, newest)

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
                one, a value can't be stored. Where the server went away, it may have been written: read `head`.
        """
        refuse_gap(messages, expected_seq)
        key = _key(session_id)
        cells = _text(session_id), key, expected_seq, *_appended(messages, records)

        def append(connection: Connection[Any], again: bool) -> None:  # noqa: FBT001
            outcome, due, kind = self._server.trip(connection, APPEND, cells)[0]
            if outcome == "written" or (again and self._is_there(connection, session_id, messages, records)):
                return
            if outcome == "record":
                raise StoreError(f"a record of kind {plain(kind)!r} is not the next one, {due}; nothing was written")
            refuse_other_writer(session_id, due, expected_seq)

        self._server.write(append)
        if (expected_seq + len(messages)) // BLOCK > expected_seq // BLOCK:
            self._index(session_id)

    def _index(self, session_id: str) -> None:
        """Index the full blocks of a session, behind the turn; searches find their messages before, too."""

        def add(connection: Connection[Any]) -> None:
            with self._server.transaction(connection):
                session = self._session(connection, HEAD, _key(session_id))
                add_blocks(self._server, connection, session_id, session.no)

        def index() -> None:
            with suppress(StoreError):  # the next full block takes these along
                self._server.run(add)

        if self._indexing is None or not self._indexing.is_alive():
            self._indexing = Thread(target=index, name="squidbot-words", daemon=True)
            self._indexing.start()

    def _is_there(
        self,
        connection: Connection[Any],
        session_id: str,
        messages: Sequence[StoredMessage],
        records: Sequence[Record],
    ) -> bool:
        """Return whether just these messages and records stand in their places: a lost call was written after all."""
        if messages:
            cells = (_key(session_id), messages[0].seq, messages[-1].seq)
            if self._messages(self._server.trip(connection, RANGE, cells), session_id) != list(messages):
                return False
        for record in records:
            noted = (_key(session_id), _text(record.kind), record.number)
            found = self._server.trip(connection, f"{RECORDS} LIMIT 1", noted)
            if [_record(record.kind, row) for row in found] != [record]:
                return False
        return bool(messages or records)

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return the messages first_seq..last_seq, both included, in order of seq; fewer if the transcript ends.

        Raises:
            DamagedStoreError: a row is missing or does not match its checksum.
        """
        found = self._server.rows(RANGE, (_key(session_id), first_seq, last_seq))
        read = self._messages(found, session_id)
        stored = found[0][0] if found else 0
        due = max(0, min(last_seq, stored - 1) - max(first_seq, 0) + 1)
        if len(read) != due:
            there = {message.seq for message in read}
            missing = next(seq for seq in range(max(first_seq, 0), stored) if seq not in there)
            raise DamagedStoreError(f"message {missing} of session {shown_id(session_id)} is missing; restore a backup")
        return read

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the named messages in order of seq, each once; skip unknown ones.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        found = self._server.rows(PICKED, (_key(session_id), list(seqs)))
        return self._messages(found, session_id)

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        """Return the newest messages, in order of seq, back to and including the first that exceeds the budget.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        return self._messages(self._server.rows(SINCE, (_key(session_id), budget_tokens)), session_id)

    def last_record(self, session_id: str, kind: str) -> Record | None:
        """Return the newest record of a kind, or `None`.

        Raises:
            DamagedStoreError: it does not match its checksum.
        """
        return self.opening(session_id, [kind]).newest.get(kind)

    def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
        """Return the records of a kind from `first_number` on, in order of number.

        Raises:
            DamagedStoreError: one is missing or does not match its checksum.
        """
        first_number = max(0, first_number)
        found = self._server.rows(RECORDS, (_key(session_id), _text(kind), first_number))
        read = [_record(kind, row) for row in found]
        for number, record in enumerate(read, first_number):
            if record.number != number:
                raise DamagedStoreError(
                    f"record {number} of kind {kind!r} of session {shown_id(session_id)} is missing; restore a backup"
                )
        return read

    def kinds(self, session_id: str) -> dict[str, int]:
        """Return how many records of each kind a session has."""
        return {plain(kind): count for kind, count in self._server.rows(KINDS, (_key(session_id),))}

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages that answer a query, best first, ties newest first: at most `limit`, after `after`.

        Raises:
            ValueError: the query has no letter or digit.
        """
        wanted, key = read_query(query), _key(session_id)

        behind = 0

        def search(connection: Connection[Any]) -> list[SearchMatch]:
            nonlocal behind
            with self._server.transaction(connection, SNAPSHOT):
                session = self._session(connection, HEAD, key)
                if not session.messages:
                    return []
                postings = SessionWords(self._server, connection, session_id, session.no, session.messages)
                behind = len(postings.behind)
                return best(wanted, postings, limit, after)

        found = self._server.run(search)
        if behind >= 2 * BLOCK:  # whoever should have indexed them ended before
            self._index(session_id)
        return found

    def search_across(
        self, session_ids: Sequence[str], query: str, limit: int, after: SessionMatch | None = None
    ) -> list[SessionMatch]:
        """Return the messages of several sessions that answer a query, as `search` those of one that had them all.

        It reads the messages behind the last full block of each: about 0.1 ms a message.

        Raises:
            ValueError: the query has no letter or digit.
        """
        wanted, keys = read_query(query), [_key(one) for one in session_ids]

        def search(connection: Connection[Any]) -> list[SessionMatch]:
            with self._server.transaction(connection, SNAPSHOT):
                rows = self._server.execute(connection, SEVERAL, (keys,))
                sessions = [(plain(name), no, messages) for name, no, messages in rows]
                ranges = SessionRanges({name: messages for name, _, messages in sessions})
                parts = [SessionWords(self._server, connection, *session) for session in sessions]
                return ranges.best(wanted, JoinedPostings(parts, ranges), limit, after)

        return self._server.run(search) if keys else []

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Replace messages with tombstones, and replace, add and remove what the erasure names, in one transaction.

        Nothing reads the old content from then on. Its bytes stay in the database's files until PostgreSQL has cleaned
        them up, and in its log and in backups as long as these are kept.

        Raises:
            StoreError: nothing was changed: the session's messages or records have other numbers than expected, or
                something to replace is missing, or a tombstone has another category than FORGOTTEN.
        """
        key, name = _key(session_id), _text(session_id)

        def forget(connection: Connection[Any], again: bool) -> None:  # noqa: FBT001
            with self._server.transaction(connection):
                session = self._session(connection, HELD, key)
                self._server.execute(connection, LOCK_WORDS, (session.no,))
                if again and self._is_erased(connection, session_id, session, erasure):
                    return
                counted = self._server.execute(connection, COUNTS, (session.no,))
                counts = {plain(kind): count for kind, count in counted}
                picked = partial(self._picked, connection, session_id)
                refuse_misfit(session_id, erasure, session.messages, counts, picked)
                self._erase(connection, session, erasure)
                cells = name, key, session.messages, *_appended((), erasure.appended)
                outcome, due, kind = self._server.execute(connection, APPEND, cells)[0]
                if outcome != "written":
                    raise StoreError(
                        f"a record of kind {plain(kind)!r} is not the next one, {due}; nothing was changed"
                    )

        self._server.write(forget)

    def _erase(self, connection: Connection[Any], session: _Session, erasure: Erasure) -> None:
        for row in (*erasure.unnoticed, *erasure.tombstones):
            cells = *encoded(row), session.no, row.seq
            self._server.execute(connection, REPLACE_MESSAGE, cells)
        for record in erasure.replaced:
            _, kind, number, check, body = as_bytes(encode_record(0, record))
            self._server.execute(connection, REPLACE_RECORD, (check, body, session.no, kind, number))
        if erasure.tombstones:
            self._server.execute(connection, UNINDEX, (session.no, [row.seq for row in erasure.tombstones]))
        if erasure.summaries:
            self._server.execute(connection, REMOVE_SUMMARIES, (session.no, _keys(erasure.summaries)))

    def _is_erased(self, connection: Connection[Any], session_id: str, session: _Session, erasure: Erasure) -> bool:
        """Return whether an erasure stands: a lost call was done after all."""
        changed = sorted((*erasure.unnoticed, *erasure.tombstones), key=lambda row: row.seq)
        grown = erasure.expected[0], erasure.expected[1] + len(erasure.appended)
        return (
            (session.messages, session.records) == grown
            and self._picked(connection, session_id, [row.seq for row in changed]) == changed
            and self._is_there(connection, session_id, (), (*erasure.replaced, *erasure.appended))
        )

    def drop(self, session_id: str) -> None:
        """Remove a session with all its data, for good; ignore unknown ones. See `forget` for its bytes.

        Raises:
            StoreError: nothing was removed.
        """
        key = _key(session_id)
        self._server.run(lambda connection: self._drop(connection, key, HELD, key))

    def _drop(self, connection: Connection[Any], key: bytes, held: str, *cells: object) -> bool:
        """Remove the session that a statement finds and locks; return whether there was one."""
        with self._server.transaction(connection):
            found = self._server.execute(connection, held, cells)
            for no, *_ in found:
                self._server.execute(connection, LOCK_WORDS, (no,))
                self._server.execute(connection, DROP_CLAIMS, (key,))
                for statement in DROP:
                    self._server.execute(connection, statement, (no,))
        return bool(found)

    def older_than(self, time: float) -> list[tuple[str, float]]:
        """Return (id, time last written to) of the sessions at rest since before `time`, by the server's clock."""
        return [(plain(name), written) for name, written in self._server.rows(OLDER, (time,))]

    def drop_if_older(self, session_id: str, time: float) -> bool:
        """Do as `drop` if the session is at rest since before `time`, by the server's clock.

        Raises:
            StoreError: nothing was removed.
        """
        key = _key(session_id)

        def drop(connection: Connection[Any], again: bool) -> bool:  # noqa: FBT001
            # Where a lost call had removed it, nothing is left to find.
            is_gone = again and not self._session(connection, HEAD, key).no
            return is_gone or self._drop(connection, key, HELD_IF_OLDER, key, time)

        return self._server.write(drop)

    def date_back(self, session_id: str, time: float) -> None:
        """Count a session as last written to at `time`, if that is earlier: it is the copy of one."""
        self._server.rows(DATE_BACK, (time, _key(session_id), time))

    def put(self, *summaries: Summary) -> None:
        """Store summaries, all but refused ones; durable on return. Storing an equal one again does nothing.

        Raises:
            StoreError: another text has an id, or nothing was written: a value can't be stored.
        """
        cells = []
        for summary in summaries:
            id_, first, last, estimate, bound, check, *texts = as_bytes(encode_summary(0, summary))[1:]
            session = _text(summary.session_id), _key(summary.session_id)
            cells.append((*session, first, last, estimate, bound, check, sha256(id_).digest(), id_, *texts))
        put = self._server.rows(PUT, _columns(cells, 14)) if cells else []
        for summary, (is_there,) in zip(summaries, put, strict=True):
            if not is_there:
                raise StoreError(
                    f"summary {summary.summary_id!r} of session {shown_id(summary.session_id)} is there with another "
                    "text; it was not written"
                )

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        """Remove summaries for good; ignore unknown ids. See `forget` for their bytes."""
        self._server.rows(REMOVE, (_keys(summary_ids), _key(session_id)))

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        """Return the named summaries in the order asked for; skip unknown ones.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        found = self._server.rows(NAMED, (_key(session_id), _keys(summary_ids)))
        by_id = {summary.summary_id: summary for summary in (_summary(session_id, row) for row in found)}
        return [by_id[name] for name in summary_ids if name in by_id]

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the session's summaries that are wholly inside first_seq..last_seq, by first seq, then id.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        found = self._server.rows(INSIDE, (_key(session_id), first_seq, last_seq, last_seq))
        return sorted((_summary(session_id, row) for row in found), key=lambda one: (one.first_seq, one.summary_id))

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Claim one kind of work on a session, or renew the claim; return whether it is held.

        It lasts from `now`, in seconds since 1970, for `ttl_seconds`, unless it is renewed or released.
        """
        refuse_id(session_id)
        here = time()
        cells = *_keys((session_id, kind, holder)), now + ttl_seconds, here, now, here
        return bool(self._server.rows(CLAIM, cells))

    def release(self, session_id: str, kind: str, holder: str) -> None:
        """End a claim of that holder; do nothing if it has none."""
        refuse_id(session_id)
        self._server.rows(RELEASE, _keys((session_id, kind, holder)))

    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first."""
        return [(plain(name), messages) for name, messages in self._server.rows(SESSIONS)]

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with one of these words in the body of a record of a kind, oldest first."""
        found = self._server.rows(WITH_RECORDS, (_text(kind),)) if words else []
        there = (name for _, name, body in found if any(word in plain_small(body) for word in words))
        return list(dict.fromkeys(map(plain, there)))

    def damage(self, session_id: str) -> Iterator[str]:
        """Yield what is wrong with a session's rows: missing and changed ones, and words that the index lacks."""
        key, due = _key(session_id), self.head(session_id)
        for first in range(0, due[0], BLOCK):
            found = self._server.rows(RANGE, (key, first, first + BLOCK - 1))
            rows = {row[1]: row[1:] for row in found if row[1] is not None}
            for seq in range(first, min(first + BLOCK, due[0])):
                try:
                    decoded([rows[seq]])
                except KeyError:
                    yield f"message {seq} is missing"
                except DamagedRowError as error:
                    yield f"{error} does not match its checksum"
        counted = 0
        for kind, check in self._server.rows(KINDS, (key,)):
            counted += check
            try:
                self.records(session_id, plain(kind))
            except DamagedStoreError as error:
                yield str(error)
        if counted != due[1]:
            yield f"records are missing: {due[1] - counted}"
        yield from (
            f"the search index of messages {first} to {first + BLOCK - 1} is wrong"
            for first in self._unfound(session_id)
        )

    def _unfound(self, session_id: str) -> Iterator[int]:
        """Yield the first seqs of blocks whose index is not that of their messages."""
        key, digests = _key(session_id), TermDigests(session_id)
        for block, terms, masks in self._server.rows(BLOCKS, (key,)):
            found = self._server.rows(RANGE, (key, block * BLOCK, block * BLOCK + BLOCK - 1))
            if block_of(digests, dict(terms_of(row[1:] for row in found))) != (terms, masks):
                yield block * BLOCK

    def tell(self, session_id: str) -> None:
        """Tell all who listen that a session has something new; returns at once, and may be lost.

        Never within the transaction of a turn: PostgreSQL commits those that notify one after the other.
        """
        with self._lock:
            self._untold.add(session_id)
            if self._telling is None or not self._telling.is_alive():
                self._telling = Thread(target=self._tell, name="squidbot-news", daemon=True)
                self._telling.start()

    def _tell(self) -> None:
        with suppress(StoreError):  # who listens looks for itself, now and then
            while True:
                with self._lock:
                    if not self._untold:
                        self._telling = None
                        return
                    session_id = self._untold.pop()
                self._server.rows(TELL, (self._channel, _key(session_id).hex()))

    @contextmanager
    def news(self) -> Iterator[Callable[[float], list[str]]]:
        """Listen while the context is open: it yields a function that returns the sessions told since its last call.

        It waits for at most so many seconds. Behind a pooler nothing is told, unless `direct_url` goes past it.
        """
        with self._server.listening(self._channel) as told:

            def wait(seconds: float) -> list[str]:
                keys = [bytes.fromhex(text) for text in dict.fromkeys(told(seconds))]
                return [plain(name) for (name,) in self._server.rows(NAMES, (keys,))] if keys else []

            yield wait

    def changed_since(self, moment: float) -> tuple[list[str], float]:
        """Return the sessions written to since a moment of the server's, and the moment to ask for the next time."""
        found = self._server.rows(CHANGED, (moment,))
        return [plain(name) for name, _ in found if name is not None], found[0][1]

    @property
    def _channel(self) -> str:
        whose = f"{self._server.schema} {self._server.tenant or ''}".encode("utf-8", "surrogatepass")
        return f"squidbot_{sha256(whose).hexdigest()[:16]}"

    def task_lock(self, *, waits: bool) -> AbstractContextManager[bool]:
        """Return a context in which nobody else works on tasks; it yields whether it is held."""
        return self._server.lock("tasks", waits=waits)

    def tasks(self) -> list[str]:
        """Return the tasks that were begun and not ended, oldest first."""
        return [plain(body) for (body,) in self._server.rows(TASKS)]

    def add_task(self, task: str) -> None:
        """Note a task before it begins; durable on return."""
        self._server.rows(ADD_TASK, (*_keys([task]), _text(task)))

    def end_task(self, task: str) -> None:
        """Remove a task; ignore an unknown one."""
        self._server.rows(END_TASK, _keys([task]))

    def _session(self, connection: Connection[Any], statement: str, key: bytes) -> _Session:
        found = self._server.execute(connection, statement, (key,))
        return _Session(*found[0]) if found else _Session()

    def _picked(self, connection: Connection[Any], session_id: str, seqs: Sequence[int]) -> list[StoredMessage]:
        return self._messages(self._server.execute(connection, PICKED, (_key(session_id), list(seqs))), session_id)

    def _messages(self, found: Sequence[tuple[Any, ...]], session_id: str) -> list[StoredMessage]:
        """Return the messages in rows behind their session's number of messages."""
        try:
            return decoded(row[1:] for row in found if row[1] is not None)
        except DamagedRowError as error:
            raise _damaged(f"{error} of session {shown_id(session_id)}") from error


def _damaged(what: str) -> DamagedStoreError:
    return DamagedStoreError(f"PostgreSQL: {what} does not match its checksum: restore a backup")


def _key(session_id: str) -> bytes:
    """Return what finds a session.

    Raises:
        StoreError: the id is not a str of 1 to 1,024 characters.
    """
    refuse_id(session_id)
    return sha256(_text(session_id)).digest()


def _keys(texts: Iterable[str]) -> list[bytes]:
    return [sha256(text).digest() for text in _texts(texts)]


def _texts(texts: Iterable[str]) -> list[bytes]:
    return [*map(_text, texts)]


def _text(text: str) -> bytes:
    return stored_text(text)[1]


def _appended(messages: Sequence[StoredMessage], records: Sequence[Record]) -> list[list[Any]]:
    """Return the columns that the function `append` takes, one list each.

    Raises:
        StoreError: a number is not a 64-bit integer.
    """
    rows = [encoded(message) for message in messages]
    noted = [as_bytes(encode_record(0, record))[1:] for record in records]
    return [*_columns(rows, 10), *_columns(noted, 4)]


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


def _record(kind: str, row: Sequence[Any]) -> Record:
    number, check, body = row
    try:
        return decode_record(0, kind, (number, check, body))
    except DamagedRowError as error:
        raise _damaged(str(error)) from error


def _summary(session_id: str, row: Any) -> Summary:  # noqa: ANN401  # a row of the driver
    try:
        return decode_summary(0, session_id, row)
    except DamagedRowError as error:
        raise _damaged(f"{error} of session {shown_id(session_id)}") from error
