"""Connections to PostgreSQL that the threads of a process share, and which errors end one."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg_pool import PoolTimeout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from psycopg import Connection

# So old a connection is closed: after a burst few are needed, and a server process grows with what it has looked up.
LIFETIME_SECONDS = 600.0
# Errors that end the connection: the server shuts down, has crashed, an idle transaction was ended.
ENDING = frozenset({"57P01", "57P02", "25P03"})


class SharedConnections:
    """At most so many connections to one address; each is opened by the call that needs it.

    psycopg's pool opens them in threads of its own, which wait for seconds after a failure: whoever asks hears neither
    that the server is back, nor why it was away. Here each call tries itself.
    """

    def __init__(self, options: Mapping[str, Any], most: int) -> None:
        """Take how to connect, with `autocommit`; nothing is opened yet."""
        self._options, self._most = options, most
        self._idle = list[tuple["Connection[Any]", float]]()  # and when they were opened, the last used at the end
        # Whoever has a connection, or opens one, has one of these.
        self._room = BoundedSemaphore(most)
        self._lock, self._closed = Lock(), False

    def close(self) -> None:
        """Close all that nobody uses; the others follow as soon as they come back."""
        with self._lock:
            self._closed, gone, self._idle = True, self._idle, []
        for connection, _ in gone:
            connection.close()

    @contextmanager
    def connection(self, timeout: float) -> Iterator[Connection[Any]]:
        """Yield a connection; a transaction that is open at the end is rolled back.

        Raises:
            PoolTimeout: all were in use for `timeout` seconds.
            psycopg.Error: there was none, and the server is away or refused one.
        """
        if not self._room.acquire(timeout=timeout):
            raise PoolTimeout(
                f"all connections were in use for {timeout:.1f} s: raise store.connections ({self._most})"
            )
        try:
            connection, opened = self._taken()
            try:
                yield connection
            except psycopg.Error as error:
                if is_lost(error):
                    connection.close()
                raise
            finally:
                self._give_back(connection, opened)
        finally:
            self._room.release()

    def _taken(self) -> tuple[Connection[Any], float]:
        now = time.monotonic()
        with self._lock:
            old = [each for each in self._idle if each[1] < now - LIFETIME_SECONDS]
            self._idle = [each for each in self._idle if each not in old] if old else self._idle
            found = self._idle.pop() if self._idle else None
        for connection, _ in old:
            connection.close()
        return found or (self._opened(), now)

    def _opened(self) -> Connection[Any]:
        connection = psycopg.connect("", **self._options)
        try:
            if is_pooled(connection):
                connection.prepare_threshold = None  # the next transaction may be on another server process
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: Connection[Any], opened: float) -> None:
        try:
            connection.rollback()
        except psycopg.Error:
            connection.close()
        with self._lock:
            gone = list[tuple["Connection[Any]", float]]()
            self._idle.append((connection, opened))
            # A server that is lost has ended the idle ones, too: each would cost a call an attempt.
            if self._closed or connection.closed:
                gone, self._idle = self._idle, []
        for each, _ in gone:
            each.close()


def is_pooled(connection: Connection[Any]) -> bool:
    """Return whether a pooler is in between: the process that answers is another one than it was said to be."""
    (process,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    return bool(process != connection.info.backend_pid)


def is_lost(error: Exception) -> bool:
    """Return whether the connection ended, and nobody knows what the server did."""
    state = getattr(error, "sqlstate", None)
    if state is not None:
        return state in ENDING or state.startswith("08")
    return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
