"""A pool of connections to PostgreSQL, its schema, and which errors another attempt mends."""

from __future__ import annotations

import os
import random
import time
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import sql
from psycopg_pool import ConnectionPool, PoolTimeout

from squidbot.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from psycopg import Connection

T = TypeVar("T")

# The number of the newest migration in this folder.
NEWEST = 1
# Any number that nobody else locks: one process at a time makes or changes the tables.
MIGRATING = 7_341_902_655_118_463
IS_THERE = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'migrations'"
# Waits between two attempts, in seconds: from the first one, doubled up to the last, each times a random share.
FIRST_WAIT_SECONDS, LAST_WAIT_SECONDS = 0.02, 1.0
# Errors that another attempt may mend: serialization failure, deadlock, too many connections, the server shuts down,
# has crashed, is starting, or is a standby.
PASSING = frozenset({"40001", "40P01", "53300", "57P01", "57P02", "57P03", "25006"})


class Server:
    """One database, by a pool of connections that threads share; a child process opens its own."""

    def __init__(
        self,
        url: str,
        *,
        schema: str = "squidbot",
        patience_seconds: float = 30.0,
        pool: ConnectionPool[Any] | None = None,
        most_connections: int = 8,
    ) -> None:
        """Take the address, as libpq reads it, or a pool of the caller's, which stays open.

        `patience_seconds`: how long to try again where the server is away, or another transaction came first.
        """
        self._url, self.schema, self._patience = url, schema, patience_seconds
        self._most, self._given = most_connections, pool
        self._pool, self._process = pool, os.getpid()

    def close(self) -> None:
        """Close the pool, unless the caller gave it."""
        if self._pool is not None and self._pool is not self._given and self._process == os.getpid():
            self._pool.close()
        self._pool, self._most = None, 0

    def named(self, text: str) -> sql.Composed:
        """Return a statement with the schema in the place of `{schema}`: no connection needs a search path."""
        return sql.SQL(text).format(schema=sql.Identifier(self.schema))  # type: ignore[arg-type]  # our own constants

    def run(self, act: Callable[[Connection[Any]], T]) -> T:
        """Return what `act` returns on a connection; where the connection is lost, or another came first, repeat it.

        Raises:
            StoreError: the server refused, or was away for too long.
        """
        until, wait = time.monotonic() + self._patience, FIRST_WAIT_SECONDS
        while True:
            try:
                with self._connection(until) as connection:
                    return act(connection)
            except (psycopg.Error, PoolTimeout) as error:
                if not _may_pass(error) or time.monotonic() + wait >= until:
                    raise StoreError(f"PostgreSQL: {_told(error)}") from error
            time.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
            wait = min(2 * wait, LAST_WAIT_SECONDS)

    @contextmanager
    def _connection(self, until: float) -> Iterator[Connection[Any]]:
        if self._most == 0:
            raise StoreError("the store is closed")
        if self._pool is None or self._process != os.getpid():
            self._process = os.getpid()
            self._pool = ConnectionPool(
                self._url, kwargs={"autocommit": True}, min_size=1, max_size=self._most, open=True, name="squidbot"
            )
        with self._pool.connection(timeout=max(0.1, until - time.monotonic())) as connection:
            yield connection

    def version(self) -> int:
        """Return the number of the newest migration that the database has; 0 for none."""
        return self.run(self._version)

    def _version(self, connection: Connection[Any]) -> int:
        # `to_regclass` may answer from a cache that does not know yet what another transaction has just made.
        if not connection.execute(IS_THERE, (self.schema,)).fetchone():
            return 0
        newest = connection.execute(self.named("SELECT max(number) FROM {schema}.migrations")).fetchone()
        return int(newest[0] or 0) if newest else 0

    def migrate(self) -> int:
        """Bring the tables to this version; return how many migrations were applied.

        Raises:
            StoreError: a newer squidbot made them, or the rights are missing.
        """
        return self.run(self._migrate)

    def _migrate(self, connection: Connection[Any]) -> int:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
            before = self._version(connection)
            self.refuse_newer(before)
            if not before:
                connection.execute(self.named("CREATE SCHEMA IF NOT EXISTS {schema}"))
                connection.execute(
                    self.named(
                        "CREATE TABLE {schema}.migrations(number integer PRIMARY KEY, at timestamptz DEFAULT now())"
                    )
                )
            for number in range(before + 1, NEWEST + 1):
                connection.execute(self.named(migration(number)))
                connection.execute(self.named("INSERT INTO {schema}.migrations(number) VALUES(%s)"), (number,))
        return NEWEST - before

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


def migration(number: int) -> str:
    """Return the statements of a migration, `{schema}` in the place of the schema."""
    return files(__package__).joinpath(f"{number:04}.sql").read_text(encoding="utf-8")


def _may_pass(error: Exception) -> bool:
    """Return whether another attempt may succeed: the connection is lost or not to be had, or another came first."""
    state = getattr(error, "sqlstate", None)
    if state is not None:
        return state in PASSING or state.startswith("08")
    return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout))


def _told(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
