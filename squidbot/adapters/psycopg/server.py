"""A database in PostgreSQL, its schema, and which errors another attempt mends."""

from __future__ import annotations

import logging
import os
import random
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout

from squidbot.adapters.psycopg.connections import SharedConnections, is_lost, is_pooled
from squidbot.adapters.psycopg.vectors import fill_nearest
from squidbot.core.errors import StoreError, UnconfirmedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from psycopg import Connection
    from psycopg_pool import ConnectionPool

T = TypeVar("T")
_LOG = logging.getLogger("squidbot")

# The number of the newest migration in this folder.
NEWEST = 3
# Any number that nobody else locks: one process at a time makes or changes the tables.
MIGRATING = 7_341_902_655_118_463
IS_THERE = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'migrations'"
# All statements of such a transaction read the same.
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Waits between two attempts, in seconds: from the first one, doubled up to the last, each times a random share.
FIRST_WAIT_SECONDS, LAST_WAIT_SECONDS = 0.02, 0.5
# A pool of the caller's that had no connection waits twice as long before each further attempt, up to minutes: after so
# many seconds it is asked anew, and begins with short waits again.
RECONNECT_SECONDS = 2.0
# How long whoever waits for a lock sleeps between two looks.
LOCK_WAIT_SECONDS = 0.2
# For how long the version of the tables is not asked again: a program that is long at work notices an update.
TOGETHER_SECONDS = 1.0
# Errors that another attempt may mend: serialization failure, deadlock, lock timeout, too many connections, the server
# shuts down, has crashed, is starting, or is a standby, an idle transaction was ended.
PASSING = frozenset({"40001", "40P01", "55P03", "53300", "57P01", "57P02", "57P03", "25006", "25P03"})
# A server that is gone without a word is noticed after half a minute, not after two hours; seconds, and milliseconds.
LIVENESS = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 30_000,
}
# No code comes with a connection that was refused: what a server says that may accept one later.
LATER = ("the database system is", "too many", "remaining connection slots")
# What to do about the others that an operator sees, by their code or its class.
REMEDIES = {
    "53100": "the server's disk is full: free space on it",
    "57014": "raise statement_timeout for this user, or look for what holds the locks",
    "42501": "grant the rights that docs/postgresql.md lists",
}
AWAY = "check store.url, and whether the server runs"
IN_USE = "the server is away, or all connections are in use (store.connections)"
REFUSED = "check address, user and password (PGPASSWORD, ~/.pgpass), and whether the database is there"


HEALTH = (
    "SELECT count(*), coalesce(sum(messages), 0)::bigint, (SELECT sum(pg_total_relation_size(oid))::bigint "
    "FROM pg_class WHERE relnamespace = {schema_text}::regnamespace AND relkind = 'r') "
    "FROM {schema}.sessions WHERE tenant = {schema}.tenant()"
)
# A piece of a file has a scope of eight parts, between the last two of which stands the seventh separator.
FACTS = (
    "SELECT count(*) FILTER (WHERE holds), count(*) FILTER (WHERE NOT holds) + (SELECT count(*) "
    "FROM {schema}.forgotten_memories WHERE tenant = {schema}.tenant()) FROM {schema}.memories "
    """WHERE tenant = {schema}.tenant() AND scope NOT LIKE '%%","%%","%%","%%","%%","%%","%%","%%'::bytea"""
)


# The connections of this process by address, their number and process, and how many use each.
_SHARED = dict[tuple[str, int, int], SharedConnections]()
_USERS = Counter[SharedConnections]()
# The version of each schema's tables, and until when it is taken as said, by the connections that asked.
_VERSIONS = WeakKeyDictionary["ConnectionPool[Any] | SharedConnections", dict[str, tuple[int, float]]]()
_OPENING = Lock()


def _begin_anew() -> None:
    """Leave a lock that a thread of the parent may have held."""
    global _OPENING  # noqa: PLW0603  # in a child process
    _OPENING = Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_begin_anew)


class Server:
    """One database, by connections that threads share; a child process opens its own."""

    def __init__(  # noqa: PLR0913  # as the settings have it
        self,
        url: str,
        *,
        schema: str = "squidbot",
        tenant: str | None = None,
        direct_url: str = "",
        patience_seconds: float = 30.0,
        pool: ConnectionPool[Any] | None = None,
        most_connections: int = 8,
    ) -> None:
        """Take the address, as libpq reads it, or a pool of the caller's, which stays open.

        `tenant`: whose rows are read and written; `None`: those of the connection's `squidbot.tenant`, or of no tenant.
        `patience_seconds`: how long to try again where the server is away, or another transaction came first.
        """
        self._url, self.schema, self.tenant, self._patience = url, schema, tenant, patience_seconds
        self._most, self._given, self._direct = most_connections, pool, direct_url
        self._shared: SharedConnections | None = None
        self._process, self._has_worked = os.getpid(), False
        self._named = dict[str, bytes]()
        self.newest = NEWEST

    def close(self) -> None:
        """Close the connections, unless the caller gave the pool, or others use them, too."""
        unused: SharedConnections | None = None
        with _OPENING:
            if self._shared is not None and self._process == os.getpid():
                _USERS[self._shared] -= 1
                if not _USERS[self._shared]:
                    unused = _SHARED.pop(self._shared_key)
                    del _USERS[unused]
            self._shared, self._most = None, 0
        if unused is not None:
            unused.close()

    def named(self, text: str) -> bytes:
        """Return a statement with the schema in the place of `{schema}`: no connection needs a search path."""
        named = self._named.get(text)
        if named is None:
            parts = {"schema": sql.Identifier(self.schema), "schema_text": sql.Literal(self.schema)}
            named = self._named[text] = sql.SQL(text).format(**parts).as_bytes(None)
        return named

    def rows(self, statement: str, cells: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement that reads, or does the same when it is repeated."""
        return self.run(lambda connection: self.trip(connection, statement, cells))

    def trip(self, connection: Connection[Any], statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, a transaction of its own, in one round trip."""
        if self.tenant is None:
            return self.execute(connection, statement, cells)
        with connection.pipeline():
            self._begin(connection, "BEGIN")
            cursor = connection.execute(self.named(statement), cells, binary=True)
            connection.execute(b"COMMIT")
        return cursor.fetchall() if cursor.description else []

    def execute(self, connection: Connection[Any], statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        """Return the rows of a statement in a connection's transaction."""
        cursor = connection.execute(self.named(statement), cells, binary=True)
        return cursor.fetchall() if cursor.description else []

    @contextmanager
    def transaction(self, connection: Connection[Any], begin: str = "BEGIN") -> Iterator[None]:
        """Run statements as the tenant, all of them or none; on the disk at the end."""
        with connection.pipeline():
            self._begin(connection, begin)
        try:
            yield
        except BaseException:
            if not connection.closed:
                connection.rollback()
            raise
        connection.execute(b"COMMIT")

    def _begin(self, connection: Connection[Any], begin: str) -> None:
        connection.execute(begin.encode())
        connection.execute(self.named("SELECT {schema}.enter(%s)"), (self.tenant,))

    def run(self, act: Callable[[Connection[Any]], T]) -> T:
        """Return what `act` returns on a connection; where the connection is lost, or another came first, repeat it.

        Raises:
            StoreError: the server refused, or was away for too long.
        """
        return self.write(lambda connection, _: act(connection))

    def write(self, act: Callable[[Connection[Any], bool], T]) -> T:
        """Do as `run`; `act` gets whether an earlier attempt may have been done: its answer was lost.

        Raises:
            StoreError: the server refused, or was away for too long; UnconfirmedError if it is unknown what was done.
        """
        until, wait, in_doubt = time.monotonic() + self._patience, FIRST_WAIT_SECONDS, False
        while True:
            reached = False
            try:
                with self._connection(until) as connection:
                    reached = self._has_worked = True
                    return act(connection, in_doubt)
            except (psycopg.Error, PoolTimeout) as error:
                in_doubt = in_doubt or (reached and is_lost(error))
                # What refuses a connection that was given before may be a pooler whose server is away.
                passes = _may_pass(error) or (self._has_worked and not reached)
                if not passes or time.monotonic() + wait >= until:
                    told = f"PostgreSQL: {self._told(error)}"
                    raise (
                        UnconfirmedError(f"{told}; it may be stored or not") if in_doubt else StoreError(told)
                    ) from error
                if wait == FIRST_WAIT_SECONDS and not reached:
                    _LOG.warning("PostgreSQL is away, trying for %g s: %s", self._patience, self._told(error))
            time.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
            wait = min(2 * wait, LAST_WAIT_SECONDS)

    def _connection(self, until: float) -> AbstractContextManager[Connection[Any]]:
        self._refuse_closed()
        left = max(0.1, until - time.monotonic())
        if self._given is None:
            return self._connections().connection(left)
        if self._process != os.getpid():
            raise StoreError("the pool is another process's: after a fork, pass one of this process")
        return self._given.connection(min(left, RECONNECT_SECONDS))

    def _refuse_closed(self) -> None:
        if self._most == 0:
            raise StoreError("the store is closed; open it again")

    @property
    def _shared_key(self) -> tuple[str, int, int]:
        return self._url, self._most, os.getpid()

    def _connections(self) -> SharedConnections:
        """Return those of all that use this address in this process: sessions, facts, the engines of many tenants."""
        if self._shared is not None and self._process == os.getpid():
            return self._shared
        with _OPENING:
            self._refuse_closed()  # by another thread, meanwhile
            if self._shared is None or self._process != os.getpid():  # no other thread was faster
                found = _SHARED.get(self._shared_key)
                if found is None:
                    found = _SHARED[self._shared_key] = SharedConnections(self._options, self._most)
                _USERS[found] += 1
                self._shared, self._process = found, os.getpid()
            return self._shared

    @contextmanager
    def lock(self, name: str, *, waits: bool) -> Iterator[bool]:
        """Hold a lock by its name while the context is open; yield whether it is held.

        An open transaction has it, so it ends with this process, and a pooler keeps the connection for it. Without a
        pool of the caller's, that is one beside the pool.
        """
        key = int.from_bytes(
            sha256(f"{self.schema} {self.tenant or ''} {name}".encode()).digest()[:8], "big", signed=True
        )
        opened = self._given.connection if self._given is not None else self._alone
        try:
            with opened() as connection, connection.transaction():
                while not (held := self._tried_lock(connection, key)) and waits:
                    time.sleep(LOCK_WAIT_SECONDS)
                yield held
        except (psycopg.Error, PoolTimeout) as error:
            raise StoreError(f"PostgreSQL: {self._told(error)}") from error

    def _tried_lock(self, connection: Connection[Any], key: int) -> bool:
        found = connection.execute("SELECT pg_try_advisory_xact_lock(%s::bigint)", (key,)).fetchone()
        return bool(found and found[0])

    def _alone(self) -> AbstractContextManager[Connection[Any]]:
        return closing(psycopg.connect("", **self._options))

    @contextmanager
    def listening(self, channel: str) -> Iterator[Callable[[float], list[str]]]:
        """Yield a function that waits for what is told on a channel, at most so many seconds, and returns it.

        Its connection is made anew where it is lost; meanwhile, and through a pooler, it only waits.
        """
        connection: Connection[Any] | None = None

        def told(seconds: float) -> list[str]:
            nonlocal connection
            until = time.monotonic() + seconds
            try:
                connection = connection or self._listener(channel)
                if connection is not None:
                    first = [one.payload for one in connection.notifies(timeout=max(0.0, seconds), stop_after=1)]
                    return first + [one.payload for one in connection.notifies(timeout=0.0)] if first else []
            except psycopg.Error:
                if connection is not None:
                    connection.close()
                connection = None
            time.sleep(max(0.0, until - time.monotonic()))
            return []

        try:
            yield told
        finally:
            if connection is not None:
                connection.close()

    def _listener(self, channel: str) -> Connection[Any] | None:
        """Return a connection that listens; `None` through a pooler, which gives it to others, too."""
        if not (self._direct or self._url):
            return None
        options: dict[str, Any] = {**LIVENESS, **conninfo_to_dict(self._direct or self._url), "autocommit": True}
        with ExitStack() as opened:
            connection = opened.enter_context(closing(psycopg.connect("", **options)))
            if is_pooled(connection):
                return None
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            opened.pop_all()  # whoever listens closes it
            return connection

    def ready(self, *, create: bool) -> None:
        """Check that the tables are of this version; if `create`, make them where there are none.

        Raises:
            StoreError: they are missing, or of another version.
        """
        version = self.version()
        self.refuse_newer(version)
        if not version and create:
            self.migrate()
        elif version < NEWEST:
            raise StoreError(
                f"PostgreSQL: schema {self.schema!r} has migration {version}, this squidbot needs {NEWEST}: "
                "run `squidbot store migrate` as the role that the schema belongs to"
            )

    def version(self) -> int:
        """Return the number of the newest migration that the database has; 0 for none.

        Sessions, facts and commands that begin together on the same connections ask it once.
        """

        def asked(connection: Connection[Any]) -> int:
            seen, now = _VERSIONS.setdefault(self._given or self._connections(), {}), time.monotonic()
            found, until = seen.get(self.schema, (0, now))
            if now >= until:
                found = self._version(connection)
                if found == NEWEST:  # another one is about to change
                    seen[self.schema] = found, now + TOGETHER_SECONDS
            return found

        return self.run(asked)

    def _version(self, connection: Connection[Any]) -> int:
        # `to_regclass` may answer from a cache that does not know yet what another transaction has just made.
        if not connection.execute(IS_THERE, (self.schema,)).fetchone():
            return 0
        newest = connection.execute(self.named("SELECT max(number) FROM {schema}.migrations")).fetchone()
        return int(newest[0] or 0) if newest else 0

    def health(self) -> tuple[int, int, int]:
        """Return how many sessions and messages of the tenant there are, and the bytes of the whole schema on disk."""
        sessions, messages, size_bytes = self.rows(HEALTH)[0]
        return sessions, messages, size_bytes

    def facts(self) -> tuple[int, int]:
        """Return how many facts of the tenant hold, and how many were replaced or forgotten; no pieces of files."""
        holding, past = self.rows(FACTS)[0]
        return holding, past

    def tenants(self) -> list[str]:
        """Return all tenants that have sessions, by name; "" are the rows of no tenant.

        Raises:
            StoreError: the tables are missing, of another version, or show this role the rows of one tenant only.
        """
        self.ready(create=False)
        if self.rows(SEES_ONE) == [(True,)]:
            raise StoreError(
                "PostgreSQL: row level security shows this role the rows of one tenant: use a role with BYPASSRLS"
            )
        return [name for (name,) in self.rows(TENANTS)]

    def migrate(self) -> int:
        """Bring the tables to this version; return how many migrations were applied. An extension pgvector is used.

        Raises:
            StoreError: a newer squidbot made them, or the rights are missing.
        """
        return self.run(self._migrate)

    def _migrate(self, connection: Connection[Any]) -> int:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
            before = self._version(connection)
            self.refuse_newer(before)
            for statement in self._due(connection, before):
                connection.execute(statement)
            are_separate = connection.execute(self.named(ARE_SEPARATE)).fetchone() == (True,)
            is_unused = self._has_unused_pgvector(connection)
            if is_unused:
                connection.execute(self.named("SELECT {schema}.use_pgvector()"))
                for table in ("memories", "memory_models", "memory_vectors") if are_separate else ():
                    connection.execute(self.named(f"ALTER TABLE {{schema}}.{table} NO FORCE ROW LEVEL SECURITY"))
                fill_nearest(self, connection)
            if are_separate and (before < NEWEST or is_unused):
                connection.execute(self.named("SELECT {schema}.separate_tenants()"))  # new tables, too
        return NEWEST - before

    def has_unused_pgvector(self) -> bool:
        """Return whether the extension came after the tables, so that the server compares no vectors: migrate."""
        return self.run(self._has_unused_pgvector)

    def _has_unused_pgvector(self, connection: Connection[Any]) -> bool:
        return connection.execute(self.named(UNUSED)).fetchone() == (True,)

    def due(self, version: int) -> list[bytes]:
        """Return the statements that bring the tables of a version to this one."""
        return self.run(lambda connection: self._due(connection, version))

    def _due(self, connection: Connection[Any], version: int) -> list[bytes]:
        begin = [] if version else [TABLE_OF_MIGRATIONS]
        if not connection.execute(
            "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s", (self.schema,)
        ).fetchone():
            begin.insert(0, "CREATE SCHEMA {schema}")  # even with IF NOT EXISTS it asks for rights to the database
        for number in range(version + 1, NEWEST + 1):
            begin += [migration(number), f"INSERT INTO {{schema}}.migrations(number) VALUES({number})"]
        return [self.named(text) for text in begin]

    def refuse_newer(self, version: int) -> None:
        """Check that this program knows the tables.

        Raises:
            StoreError: a newer one made them.
        """
        if version > NEWEST:
            raise StoreError(
                f"PostgreSQL: schema {self.schema!r} is of a newer squidbot (migration {version}, this one knows "
                f"{NEWEST}): update squidbot"
            )

    def _told(self, error: Exception) -> str:
        """Return an error in one line, with what to do, without the password."""
        first = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        told = " ".join((first or str(error)).split()) or type(error).__name__
        for secret in self._secrets:
            told = told.replace(secret, "***")
        state = getattr(error, "sqlstate", None) or ""
        in_use = IN_USE if self._given is not None and isinstance(error, PoolTimeout) else None
        remedy = REFUSED if _is_refused(error) else in_use or REMEDIES.get(state)
        if remedy is None and told.startswith("connection failed"):
            remedy = AWAY
        return f"{told}; {remedy}" if remedy else told

    @property
    def _options(self) -> dict[str, Any]:
        return {**LIVENESS, **conninfo_to_dict(self._url), "autocommit": True}

    @cached_property
    def _secrets(self) -> list[str]:
        return secrets_of(self._url)


UNUSED = (
    "SELECT EXISTS(SELECT 1 FROM pg_extension WHERE extname = 'vector') AND ARRAY['memory_vectors'] = ARRAY("
    "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = {schema_text} "
    "AND tablename IN ('memory_vectors', 'memory_nearest'))"
)
ARE_SEPARATE = "SELECT relrowsecurity FROM pg_catalog.pg_class WHERE oid = '{schema}.sessions'::regclass"
SEES_ONE = "SELECT row_security_active('{schema}.sessions'::regclass)"
TENANTS = "SELECT DISTINCT tenant FROM {schema}.sessions ORDER BY tenant"
TABLE_OF_MIGRATIONS = (
    "CREATE TABLE {schema}.migrations(number integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
)


def migration(number: int) -> str:
    """Return the statements of a migration, `{schema}` in the place of the schema."""
    return files(__package__).joinpath(f"{number:04}.sql").read_text(encoding="utf-8")


def secrets_of(url: str) -> list[str]:
    """Return the forms in which the password of an address may be shown."""
    try:
        said = conninfo_to_dict(url).get("password")
    except psycopg.Error:
        said = urlsplit(url).password
    return [str(said), unquote(str(said))] if said else []


def _may_pass(error: Exception) -> bool:
    """Return whether another attempt may succeed: the connection is lost or not to be had, or another came first."""
    state = getattr(error, "sqlstate", None)
    if _is_refused(error):
        return False
    return is_lost(error) or isinstance(error, PoolTimeout) or state in PASSING


def _is_refused(error: Exception) -> bool:
    """Return whether the server, or libpq, refused to connect for a reason that stays."""
    if getattr(error, "sqlstate", None) is not None:
        return False
    text = str(error)
    # A connection that is ended says "FATAL:", too, and may come without a code.
    refuses = "connection to server" in text and ("FATAL:" in text or "no password supplied" in text)
    return isinstance(error, psycopg.ProgrammingError) or (refuses and not any(each in text for each in LATER))


class ServerStore:
    """What stands in the tables of one schema: opened with them, closed with its connections."""

    def __init__(  # noqa: PLR0913  # as the settings have it
        self,
        url: str = "",
        *,
        schema: str = "squidbot",
        tenant: str | None = None,
        direct_url: str = "",
        patience_seconds: float = 30.0,
        pool: ConnectionPool[Any] | None = None,
        most_connections: int = 8,
        create: bool = True,
    ) -> None:
        """Connect; if `create`, make the tables where there are none.

        `url` as libpq reads it: an empty one means the environment's (PGHOST, ...). `pool` is one of the caller's, with
        `autocommit`, and stays open. `direct_url`: the server's own address for `news`, where `url` is a pooler's.

        Raises:
            StoreError: no connection, or the tables are missing, or of another version.
        """
        self._server = Server(
            url,
            schema=schema,
            tenant=tenant,
            direct_url=direct_url,
            patience_seconds=patience_seconds,
            pool=pool,
            most_connections=most_connections,
        )
        try:
            self._server.ready(create=create)
            self._begin()
        except BaseException:
            self._server.close()
            raise

    def _begin(self) -> None:
        """Set up what else the store needs, once its tables are there."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, unless the pool is the caller's; later calls are refused."""
        self._server.close()
