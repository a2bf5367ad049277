"""`PostgresqlStore`: transcripts, records, summaries and claims in PostgreSQL, for any number of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from squidbot.adapters.common.cells import (
    DamagedRowError,
    decode,
    decode_record,
    decode_summary,
    encode,
    encode_record,
    encode_summary,
    plain,
    plain_small,
    stored_text,
)
from squidbot.adapters.common.transcripts import refuse_gap, refuse_id, refuse_misfit, refuse_other_writer, shown_id
from squidbot.adapters.psycopg.search import Postings, TermDigests
from squidbot.adapters.psycopg.server import NEWEST, Server
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.messages import Opening, Record, StoredMessage
from squidbot.core.recall.search import best, read_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from squidbot.core.messages import Erasure, SearchMatch, Summary

    Act = Callable[[Connection[Any]], Any]

T = TypeVar("T")

_OF = "FROM {schema}.sessions s WHERE sha256(s.id) = sha256(%s) AND s.id = %s"
_COLUMNS = "m.seq, m.bound, m.estimate, m.turn, m.checksum, m.time, m.form, m.call_ids, m.result_ids, m.frozen, m.payload"
HEAD = f"SELECT s.no, s.messages, s.records {_OF}"  # noqa: S608  # our own constants
HELD = f"{HEAD} FOR UPDATE"
RANGE, PICKED, SINCE = (
    f"SELECT s.messages, {_COLUMNS} FROM (SELECT s.no, s.messages {_OF}) s "  # noqa: S608
    f"LEFT JOIN {{schema}}.messages m ON m.session = s.no AND {place} ORDER BY m.seq"
    for place in ("m.seq BETWEEN %s AND %s", "m.seq = ANY(%s)", "m.seq >= {schema}.first_past(s.no, %s)")
)
RECORDS = (
    f"SELECT r.number, r.checksum, r.body FROM (SELECT s.no {_OF}) s "  # noqa: S608
    "JOIN {schema}.records r ON r.session = s.no WHERE r.kind = %s AND r.number >= %s ORDER BY r.number"
)
OPENING = (
    f"SELECT s.messages, s.records, r.kind, r.number, r.checksum, r.body FROM (SELECT s.no, s.messages, s.records {_OF}) s "  # noqa: S608
    "LEFT JOIN LATERAL unnest(%s::bytea[]) AS asked(kind) ON true LEFT JOIN LATERAL ("
    "SELECT * FROM {schema}.records r WHERE r.session = s.no AND r.kind = asked.kind ORDER BY r.number DESC LIMIT 1"
    ") r ON true"
)
APPEND = (
    "SELECT * FROM {schema}.append(%s, %s::bigint, "
    "%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::double precision[], %s::bytea[], %s::bytea[], "
    "%s::bytea[], %s::bytea[], %s::bytea[], %s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::bytea[])"
)
COUNTS = "SELECT kind, max(number) + 1 FROM {schema}.records WHERE session = %s GROUP BY kind"
REPLACE_MESSAGE = (
    "UPDATE {schema}.messages SET bound = %s, estimate = %s, turn = %s, checksum = %s, time = %s, form = %s, "
    "call_ids = %s, result_ids = %s, frozen = %s, payload = %s WHERE session = %s AND seq = %s"
)
REPLACE_RECORD = "UPDATE {schema}.records SET checksum = %s, body = %s WHERE session = %s AND kind = %s AND number = %s"
UNINDEX = "DELETE FROM {schema}.words WHERE session = %s AND seq = ANY(%s)"
_SUMMARY = "u.id, u.first_seq, u.last_seq, u.estimate, u.bound, u.checksum, u.level, u.counter, u.source_digest, u.made_by, u.text"
_SUMMARIES = f"SELECT {_SUMMARY} FROM (SELECT s.no {_OF}) s JOIN {{schema}}.summaries u ON u.session = s.no WHERE "  # noqa: S608
NAMED = f"{_SUMMARIES} u.id = ANY(%s)"
INSIDE = f"{_SUMMARIES} u.first_seq BETWEEN %s AND %s AND u.last_seq <= %s"
ADD_SESSION = "INSERT INTO {schema}.sessions(id) VALUES(%s) ON CONFLICT DO NOTHING"
ADD_SUMMARY = (
    f"INSERT INTO {{schema}}.summaries SELECT s.no, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s {_OF} "  # noqa: S608
    "ON CONFLICT DO NOTHING"
)
REMOVE_SUMMARIES = "DELETE FROM {schema}.summaries WHERE session = %s AND id = ANY(%s)"
CLAIM = (
    "INSERT INTO {schema}.claims AS held(session, kind, holder, until) VALUES(%s, %s, %s, %s) "
    "ON CONFLICT (sha256(session), sha256(kind)) DO UPDATE SET holder = excluded.holder, until = excluded.until "
    "WHERE held.holder = excluded.holder OR held.until <= %s RETURNING 1"
)
RELEASE = "DELETE FROM {schema}.claims WHERE session = %s AND kind = %s AND holder = %s"
SESSIONS = "SELECT id, messages FROM {schema}.sessions ORDER BY no"
WITH_RECORDS = (
    "SELECT s.no, s.id, r.body FROM {schema}.sessions s JOIN {schema}.records r ON r.session = s.no "
    "WHERE r.kind = %s ORDER BY s.no"
)
TABLES = "messages", "records", "summaries", "words"


class _Session(NamedTuple):
    """A session's row: its number, and its messages and records of all kinds; `no` is 0 for an unknown one."""

    no: int = 0
    messages: int = 0
    records: int = 0


class PostgresqlStore:
    """TranscriptStore, SummaryStore and Claims in one schema of a database.

    An append is one call of a function in the database, which locks the session's row: appends of one session wait for
    each other, those of others don't, and no reader waits. Where the connection is lost, the call is repeated; if the
    lost one was written after all, what is stored is compared, so that nothing is stored twice.

    Each row has a checksum: the ports' methods raise DamagedStoreError for a row that does not match it. Every method
    may also raise StoreError: the session's id is invalid, or the server refuses or is away for longer than
    `patience_seconds`.
    """

    def __init__(
        self,
        url: str = "",
        *,
        schema: str = "squidbot",
        patience_seconds: float = 30.0,
        pool: ConnectionPool[Any] | None = None,
        most_connections: int = 8,
        create: bool = True,
    ) -> None:
        """Connect; if `create`, make the tables where there are none.

        `url` as libpq reads it: an empty one means the environment's (PGHOST, ...). `pool` is one of the caller's, with
        `autocommit`, and stays open.

        Raises:
            StoreError: no connection, or the tables are missing, or of another version.
        """
        self._server = Server(
            url, schema=schema, patience_seconds=patience_seconds, pool=pool, most_connections=most_connections
        )
        try:
            self._check(create=create)
        except BaseException:
            self._server.close()
            raise

    def _check(self, *, create: bool) -> None:
        version = self._server.version()
        self._server.refuse_newer(version)
        if not version and create:
            self._server.migrate()
        elif version < NEWEST:
            raise StoreError(
                f"PostgreSQL: schema {self._server.schema!r} has migration {version}, this squidbot needs {NEWEST}: "
                "run `squidbot store migrate`"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, unless the pool is the caller's; later calls are refused."""
        self._server.close()

    def head(self, session_id: str) -> tuple[int, int]:
        """Return (messages, records of all kinds) of a session; (0, 0) for an unknown one."""
        found = self._rows(HEAD, _name(session_id))
        return found[0][1:] if found else (0, 0)

    def opening(self, session_id: str, kinds: Sequence[str]) -> Opening:
        """Return the counts of `head`, and the newest record of each kind, in one statement.

        Raises:
            DamagedStoreError: a record does not match its checksum.
        """
        found = self._rows(OPENING, (*_name(session_id), [stored_text(kind)[1] for kind in kinds]))
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
        name, _ = _name(session_id)
        cells = _appended(TermDigests(session_id), messages, records)
        in_doubt = False

        def append(connection: Connection[Any]) -> None:
            nonlocal in_doubt
            again, in_doubt = in_doubt, True
            outcome, due, kind, _ = self._execute(connection, APPEND, (name, expected_seq, *cells))[0]
            if outcome == "written" or (again and self._is_there(connection, session_id, messages, records)):
                return
            if outcome == "record":
                raise StoreError(f"a record of kind {plain(kind)!r} is not the next one, {due}; nothing was written")
            refuse_other_writer(session_id, due, expected_seq)

        self._server.run(append)

    def _is_there(
        self,
        connection: Connection[Any],
        session_id: str,
        messages: Sequence[StoredMessage],
        records: Sequence[Record],
    ) -> bool:
        """Return whether just these messages and records stand in their places: a lost call was written after all."""
        if messages:
            cells = (*_name(session_id), messages[0].seq, messages[-1].seq)
            if self._messages(self._execute(connection, RANGE, cells), session_id) != list(messages):
                return False
        for record in records:
            cells = (*_name(session_id), stored_text(record.kind)[1], record.number)
            found = self._execute(connection, f"{RECORDS} LIMIT 1", cells)
            if [_record(record.kind, row) for row in found] != [record]:
                return False
        return bool(messages or records)

    def read(self, session_id: str, first_seq: int, last_seq: int) -> list[StoredMessage]:
        """Return the messages first_seq..last_seq, both included, in order of seq; fewer if the transcript ends.

        Raises:
            DamagedStoreError: a row is missing or does not match its checksum.
        """
        found = self._rows(RANGE, (*_name(session_id), first_seq, last_seq))
        read = self._messages(found, session_id)
        stored = found[0][0] if found else 0
        due = max(0, min(last_seq, stored - 1) - max(first_seq, 0) + 1)
        if len(read) != due:
            there = {message.seq for message in read}
            missing = next(seq for seq in range(max(first_seq, 0), stored) if seq not in there)
            raise DamagedStoreError(f"message {missing} of session {shown_id(session_id)} is missing")
        return read

    def pick(self, session_id: str, seqs: Iterable[int]) -> list[StoredMessage]:
        """Return the named messages in order of seq, each once; skip unknown ones.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        found = self._rows(PICKED, (*_name(session_id), list(seqs)))
        return self._messages(found, session_id)

    def newest(self, session_id: str, budget_tokens: int) -> list[StoredMessage]:
        """Return the newest messages, in order of seq, back to and including the first that exceeds the budget.

        Raises:
            DamagedStoreError: a row does not match its checksum.
        """
        return self._messages(self._rows(SINCE, (*_name(session_id), budget_tokens)), session_id)

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
        found = self._rows(RECORDS, (*_name(session_id), stored_text(kind)[1], first_number))
        read = [_record(kind, row) for row in found]
        for number, record in enumerate(read, first_number):
            if record.number != number:
                raise DamagedStoreError(f"record {number} of kind {kind!r} of session {shown_id(session_id)} is missing")
        return read

    def search(self, session_id: str, query: str, limit: int, after: SearchMatch | None = None) -> list[SearchMatch]:
        """Return the messages that answer a query, best first, ties newest first: at most `limit`, after `after`.

        Raises:
            ValueError: the query has no letter or digit.
        """
        wanted, name = read_query(query), _name(session_id)

        def search(connection: Connection[Any]) -> list[SearchMatch]:
            with connection.transaction():  # all its statements read one snapshot
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                session = self._session(connection, HEAD, name)
                if not session.messages:
                    return []
                postings = Postings(self._server, connection, session_id, session.no, session.messages)
                return best(wanted, postings, limit, after)

        return self._server.run(search)

    def forget(self, session_id: str, erasure: Erasure) -> None:
        """Replace messages with tombstones, and replace, add and remove what the erasure names, in one transaction.

        Nothing reads the old content from then on. Its bytes stay in the database's files until PostgreSQL has cleaned
        them up, and in its log and in backups as long as these are kept.

        Raises:
            StoreError: nothing was changed: the session's messages or records have other numbers than expected, or
                something to replace is missing, or a tombstone has another category than FORGOTTEN.
        """
        name, in_doubt = _name(session_id), False

        def forget(connection: Connection[Any]) -> None:
            nonlocal in_doubt
            again, in_doubt = in_doubt, True
            with connection.transaction():
                session = self._session(connection, HELD, name)
                changed = (*erasure.unnoticed, *erasure.tombstones)
                if again and self._is_erased(connection, session_id, session, erasure):
                    return
                counts = {
                    plain(kind): count for kind, count in self._execute(connection, COUNTS, (session.no,))
                }  # fmt: skip
                refuse_misfit(
                    session_id, erasure, session.messages, counts, lambda seqs: self._picked(connection, session_id, seqs)
                )
                for row in changed:
                    self._change(connection, REPLACE_MESSAGE, (*_bytes(encode(row.seq, row))[1:], session.no, row.seq))
                for record in erasure.replaced:
                    _, kind, number, check, body = _bytes(encode_record(0, record))
                    self._change(connection, REPLACE_RECORD, (check, body, session.no, kind, number))
                self._change(connection, UNINDEX, (session.no, [row.seq for row in erasure.tombstones]))
                self._change(connection, REMOVE_SUMMARIES, (session.no, _names(erasure.summaries)))
                cells = _appended(TermDigests(session_id), (), erasure.appended)
                outcome, due, kind, _ = self._execute(connection, APPEND, (name[0], session.messages, *cells))[0]
                if outcome != "written":
                    raise StoreError(f"a record of kind {plain(kind)!r} is not the next one, {due}; nothing was changed")

        self._server.run(forget)

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
        name = _name(session_id)

        def drop(connection: Connection[Any]) -> None:
            with connection.transaction():
                session = self._session(connection, HELD, name)
                self._change(connection, "DELETE FROM {schema}.claims WHERE session = %s", name[:1])
                for table in TABLES:
                    self._change(connection, f"DELETE FROM {{schema}}.{table} WHERE session = %s", (session.no,))  # noqa: S608
                self._change(connection, "DELETE FROM {schema}.sessions WHERE no = %s", (session.no,))

        self._server.run(drop)

    def put(self, summary: Summary) -> None:
        """Store a summary; durable on return. Storing an equal one again does nothing.

        Raises:
            StoreError: nothing was written: another text has that id, or a value can't be stored.
        """
        name, cells = _name(summary.session_id), _bytes(encode_summary(0, summary))[1:]

        def put(connection: Connection[Any]) -> None:
            with connection.transaction():
                self._change(connection, ADD_SESSION, name[:1])
                self._change(connection, ADD_SUMMARY, (*cells, *name))
                found = self._execute(connection, NAMED, (*name, [cells[0]]))
                if [_summary(summary.session_id, row) for row in found] != [summary]:
                    raise StoreError(
                        f"summary {summary.summary_id!r} of session {shown_id(summary.session_id)} is there with "
                        "another text; nothing was written"
                    )

        self._server.run(put)

    def remove(self, session_id: str, summary_ids: Sequence[str]) -> None:
        """Remove summaries for good; ignore unknown ids. See `forget` for their bytes."""
        name = _name(session_id)

        def remove(connection: Connection[Any]) -> None:
            session = self._session(connection, HEAD, name)
            self._change(connection, REMOVE_SUMMARIES, (session.no, _names(summary_ids)))

        self._server.run(remove)

    def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
        """Return the named summaries in the order asked for; skip unknown ones.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        found = self._rows(NAMED, (*_name(session_id), _names(summary_ids)))
        by_id = {summary.summary_id: summary for summary in (_summary(session_id, row) for row in found)}
        return [by_id[name] for name in summary_ids if name in by_id]

    def for_range(self, session_id: str, first_seq: int, last_seq: int) -> list[Summary]:
        """Return the session's summaries that are wholly inside first_seq..last_seq, by first seq, then id.

        Raises:
            DamagedStoreError: one does not match its checksum.
        """
        found = self._rows(INSIDE, (*_name(session_id), first_seq, last_seq, last_seq))
        return sorted((_summary(session_id, row) for row in found), key=lambda one: (one.first_seq, one.summary_id))

    def claim(self, session_id: str, kind: str, holder: str, now: float, ttl_seconds: float) -> bool:
        """Claim one kind of work on a session, or renew the claim; return whether it is held.

        It lasts from `now`, in seconds since 1970, for `ttl_seconds`, unless it is renewed or released.
        """
        place = (_name(session_id)[0], *_names((kind, holder)))
        return bool(self._rows(CLAIM, (*place, now + ttl_seconds, now)))

    def release(self, session_id: str, kind: str, holder: str) -> None:
        """End a claim of that holder; do nothing if it has none."""
        place = (_name(session_id)[0], *_names((kind, holder)))
        self._server.run(lambda connection: self._change(connection, RELEASE, place))

    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first."""
        return [(plain(name), messages) for name, messages in self._rows(SESSIONS, ())]

    def sessions_with(self, kind: str, words: Sequence[str]) -> list[str]:
        """Return the sessions with one of these words in the body of a record of a kind, oldest first."""
        found = self._rows(WITH_RECORDS, (stored_text(kind)[1],)) if words else []
        there = (name for _, name, body in found if any(word in plain_small(body) for word in words))
        return list(dict.fromkeys(map(plain, there)))

    def _rows(self, statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._server.run(lambda connection: self._execute(connection, statement, cells))

    def _execute(self, connection: Connection[Any], statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        return connection.execute(self._server.named(statement), cells, binary=True).fetchall()

    def _change(self, connection: Connection[Any], statement: str, cells: Sequence[object]) -> None:
        connection.execute(self._server.named(statement), cells)

    def _session(self, connection: Connection[Any], statement: str, name: tuple[bytes, bytes]) -> _Session:
        found = self._execute(connection, statement, name)
        return _Session(*found[0]) if found else _Session()

    def _picked(self, connection: Connection[Any], session_id: str, seqs: Sequence[int]) -> list[StoredMessage]:
        return self._messages(self._execute(connection, PICKED, (*_name(session_id), list(seqs))), session_id)

    def _messages(self, found: Sequence[tuple[Any, ...]], session_id: str) -> list[StoredMessage]:
        """Return the messages in rows behind their session's number of messages."""
        try:
            return decode([row[1:] for row in found if row[1] is not None], 0)
        except DamagedRowError as error:
            raise _damaged(f"{error} of session {shown_id(session_id)}") from error


def _damaged(what: str) -> DamagedStoreError:
    return DamagedStoreError(f"PostgreSQL: {what} does not match its checksum: restore a backup")


def _name(session_id: str) -> tuple[bytes, bytes]:
    """Return the cells that find a session.

    Raises:
        StoreError: the id is not a str of 1 to 1,024 characters.
    """
    refuse_id(session_id)
    _, data = stored_text(session_id)
    return data, data


def _names(texts: Iterable[str]) -> list[bytes]:
    return [stored_text(text)[1] for text in texts]


def _bytes(cells: Iterable[Any]) -> tuple[Any, ...]:
    """Return cells with all texts as bytes."""
    return tuple(stored_text(each)[1] if isinstance(each, str) else each for each in cells)


def _appended(digests: TermDigests, messages: Sequence[StoredMessage], records: Sequence[Record]) -> list[list[Any]]:
    """Return the columns that the function `append` takes, one list each.

    Raises:
        StoreError: a number is not a 64-bit integer.
    """
    rows = [(*_bytes(encode(message.seq, message))[1:], digests.cell(message)) for message in messages]
    noted = [_bytes(encode_record(0, record))[1:] for record in records]
    return [*_columns(rows, 11), *_columns(noted, 4)]


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
