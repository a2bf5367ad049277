"""PostgreSQL fails in every way that a network and a server can: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool

import squidbot
from squidbot.adapters.psycopg import server as psycopg_server
from squidbot.adapters.psycopg import store as psycopg_store
from squidbot.core.errors import StoreError, UnconfirmedError
from squidbot.core.messages import Erasure, Record
from squidbot.core.transcript.records import retry
from squidbot.testing.transcripts import made_tombstone
from squidbot.testing.values import made_message, made_summary
from tests.postgresql import DatabaseServer, connected, new_schema, opened, relay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from psycopg import Connection

    from squidbot.adapters.psycopg.connections import SharedConnections


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(min_value=300, max_value=1_500), max_size=5))
def test_nothing_is_lost_or_doubled_wherever_the_connection_is_cut(postgresql: str, cuts: list[int]) -> None:
    """A call whose answer was lost is repeated; what it had written is found, and not written again."""
    said = [made_message(seq, f"tea {seq} " + "walrus " * 20) for seq in range(6)]
    note = made_summary("n", 0, 1)
    with relay(postgresql, list(cuts)) as cut, opened(cut, most_connections=1) as store:
        for at in range(0, 6, 2):
            store.append("s", at, said[at : at + 2], [Record("request", at // 2, f"at {at}")])
        store.put(note)
        store.add_task("a task")
        grave = made_tombstone(said[1])
        store.forget("s", Erasure((6, 3), (grave,), (), (Record("forgotten", 0, "1"),)))
        assert store.read("s", 0, 9) == [said[0], grave, *said[2:]]
        assert [record.body for record in store.records("s", "request")] == ["at 0", "at 2", "at 4"]
        assert store.head("s") == (6, 4)
        assert [found.seq for found in store.search("s", "walrus", 9)] == [5, 4, 3, 2, 0]
        assert store.by_id("s", ["n"]) == [note]
        assert store.tasks() == ["a task"]


def test_a_write_whose_end_nobody_knows_is_an_error_of_its_own(postgresql: str) -> None:
    """Where the connection ends at each attempt, it may be stored or not; nobody stores it again for that."""
    with opened(postgresql, patience_seconds=0.5) as store:

        def lost(connection: Connection[Any], _again: bool) -> None:  # noqa: FBT001
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

        with pytest.raises(UnconfirmedError, match="it may be stored or not"):
            store._server.write(lost)
        tries = list[int]()

        def act(head: tuple[int, int]) -> None:
            tries.append(head[0])
            store.append("s", head[0], [made_message(head[0])])
            raise UnconfirmedError("the answer was lost")

        with pytest.raises(UnconfirmedError):
            retry(store, "s", act, "nothing was said")
        assert tries == [0]


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("consuming input failed: FATAL:  terminating connection due to unexpected postmaster exit", True),
        (
            'connection to server at "db", port 5432 failed: FATAL:  the database system is starting up',
            True,
        ),
        (
            'connection to server at "d", port 1 failed: FATAL:  the database system is not yet accepting connections',
            True,
        ),
        ('connection failed: connection to server at "db", port 5432 failed: Connection refused', True),
        ('connection failed: connection to server at "db", port 5432 failed: FATAL:  role "x" does not exist', False),
        ('connection failed: connection to server at "db", port 5432 failed: fe_sendauth: no password supplied', False),
    ],
)
def test_what_is_tried_again_is_told_by_its_text_where_no_code_comes(text: str, again: bool) -> None:  # noqa: FBT001
    """A connection that ended says "FATAL", as a refused login does."""
    assert psycopg_server._may_pass(psycopg.OperationalError(text)) == again


def test_an_address_where_nobody_answers_is_an_error_that_says_what_to_check() -> None:
    """Neither its user nor its password: the server did not see these."""
    away = psycopg_server.Server("postgresql://127.0.0.1:1/agents", patience_seconds=0.0)
    with (
        closing(away),
        pytest.raises(StoreError, match=r"Connection refused.*; check store\.url, and whether the server runs$"),
    ):
        away.run(lambda connection: connection.execute("SELECT 1"))


@pytest.fixture
def server() -> Iterator[DatabaseServer]:
    """Return a server of this test's alone."""
    with closing(DatabaseServer()) as made:
        yield made


@pytest.mark.parametrize("act", ["restart", pytest.param("crash", marks=pytest.mark.slow)])
def test_a_host_goes_on_when_the_server_is_stopped_under_it(server: DatabaseServer, act: str) -> None:
    """What it recorded before, meanwhile and after is there, once, in order."""
    schema, stop, said = new_schema(), threading.Event(), list[str]()

    def talk() -> None:
        with squidbot.load({"store": {"url": server.url, "schema": schema}}) as engine:
            session = engine.session("s")
            while not stop.is_set():
                text = f"question {len(said)}"
                made = session.assemble(text)
                session.record(made.incoming, [{"role": "assistant", "content": "answer"}])
                said.append(text)

    host = threading.Thread(target=talk)
    host.start()
    for _ in range(2):
        before = len(said)
        _until(lambda before=before: len(said) > before + 5)  # type: ignore[misc]
        if act == "crash":
            server.crash()
            server.start()
        else:
            server.restart()
    before = len(said)
    _until(lambda: len(said) > before + 5)
    stop.set()
    host.join()
    with opened(server.url, schema=schema) as store:
        asked = [row.payload for row in store.read("s", 0, 10**9) if row.role == "user"]
    assert len(asked) == len(said)
    assert all(text in payload for text, payload in zip(said, asked, strict=True))


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not go on")


def test_a_write_goes_on_at_once_where_the_server_is_back(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits asks at least twice a second, and opens a connection."""
    place, away = server.data / ".s.PGSQL.5432", server.data / "away"
    done, waits = threading.Event(), list[tuple[float, float]]()

    def sleep(seconds: float) -> None:
        waits.append((time.monotonic(), seconds))
        time.sleep(seconds)

    with opened(server.url, patience_seconds=60) as store:
        monkeypatch.setattr(psycopg_server, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))

        def write() -> None:
            store.append("s", 0, [made_message(0)])
            done.set()

        with connected(server.url) as operator:
            place.rename(away)
            operator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename <> ''"
            )
        writer = threading.Thread(target=write)
        writer.start()
        time.sleep(1.15)
        assert not done.is_set()
        away.rename(place)
        back = time.monotonic()
        writer.join()
        assert done.is_set()
        assert 0 < max(seconds for _, seconds in waits) <= 0.5
        # An attempt that began before may have failed behind it; the next one finds the server.
        assert sum(at >= back for at, _ in waits) <= 1
        assert store.head("s") == (1, 0)


def test_a_login_that_is_refused_for_a_while_is_asked_again(direct: str) -> None:
    """It had worked: a pooler says so, too, where the server behind it is away."""
    user = f"{new_schema()}_user"
    with connected(direct) as operator:
        operator.execute(f"CREATE ROLE {user} LOGIN".encode())
        operator.execute(f"GRANT CREATE ON DATABASE {operator.info.dbname} TO {user}".encode())
        with opened(make_conninfo(direct, user=user), most_connections=1) as store:
            operator.execute(f"ALTER ROLE {user} NOLOGIN".encode())
            operator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (user,))
            later = threading.Timer(0.3, lambda: operator.execute(f"ALTER ROLE {user} LOGIN".encode()))
            later.start()
            store.append("s", 0, [made_message(0)])
            later.join()


def test_locks_and_limits_of_the_server_are_told(direct: str) -> None:
    """A statement's timeout, a lock that is held, a pool that is used up, a read-only server: nothing was written."""
    schema = new_schema()
    with opened(direct, schema=schema) as store:
        store.append("s", 0, [made_message(0)])
    more = "&" if "?" in direct else "?"

    def refused(options: str, match: str) -> None:
        address = f"{direct}{more}options={options}"
        with opened(address, schema=schema, patience_seconds=1.0) as limited, pytest.raises(StoreError, match=match):
            limited.append("s", 1, [made_message(1)])

    with connected(direct, schema) as operator, operator.transaction():
        operator.execute("SELECT * FROM sessions FOR UPDATE")
        refused("-c%20statement_timeout%3D1000", "statement timeout; raise statement_timeout")
        refused("-c%20lock_timeout%3D100", "lock timeout")
    refused("-c%20default_transaction_read_only%3Don", "read-only transaction")
    with (
        ConnectionPool(direct, kwargs={"autocommit": True, "prepare_threshold": None}, min_size=1, max_size=1) as pool,
        pool.connection(),
        pytest.raises(StoreError, match=r"the server is away, or all connections are in use \(store\.connections\)"),
    ):
        opened("", schema=schema, pool=pool, patience_seconds=0.3)
    with opened(direct, schema=schema) as store:
        assert store.head("s") == (1, 0)


def test_appends_that_the_server_lets_fail_are_tried_again(direct: str) -> None:
    """Where all transactions are serializable, one of two fails by design; each is done in the end."""
    schema, more = new_schema(), "&" if "?" in direct else "?"
    address = f"{direct}{more}options=-c%20default_transaction_isolation%3Dserializable"
    opened(direct, schema=schema).close()

    def add(name: str) -> None:
        with opened(address, schema=schema, patience_seconds=60) as store:
            done = 0
            while done < 20:
                seq = store.head("s")[0]
                try:
                    store.append("s", seq, [made_message(seq, f"{name} {done}")])
                    done += 1
                except StoreError as error:
                    assert "another writer came first" in str(error)  # noqa: PT017

    threads = [threading.Thread(target=add, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with opened(direct, schema=schema) as store:
        said = [row.payload for row in store.read("s", 0, 10**9)]
    assert len(said) == len(set(said)) == 80


def test_a_clock_that_is_an_hour_ahead_takes_no_work_from_others(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claims run out by the server's clock; that of a machine may say what it will."""
    with opened(postgresql) as store:
        now = time.time()
        assert store.claim("s", "summary", "one", now, 60)
        ahead = now + 3600
        monkeypatch.setattr(psycopg_store, "time", lambda: ahead)
        assert not store.claim("s", "summary", "two", ahead, 60)
        assert store.claim("s", "journal", "two", ahead, 60)
        monkeypatch.undo()
        assert not store.claim("s", "journal", "one", now + 30, 60)
        assert store.claim("s", "journal", "one", now + 90, 60)


def test_a_server_that_stays_away_is_an_error_that_names_it(tmp_path: Path) -> None:
    """After as long as it may take; never with the password."""
    with pytest.raises(StoreError, match=r"PostgreSQL: ") as caught:
        opened(f"postgresql://postgres:swordfish@/postgres?host={tmp_path}", patience_seconds=0.3)
    assert "swordfish" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["/no_such_database?", "/postgres?no_such_option=1&"])
def test_a_wrong_address_is_an_error_at_once(postgresql: str, wrong: str) -> None:
    """It says what the server said, and what to look at; nobody waits for what stays wrong."""
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"no_such_.*; check address, user and password \(PGPASSWORD, ~/.pgpass\)"):
        opened(re.sub(r"/[^/?]*(\?|$)", wrong, postgresql, count=1), patience_seconds=60)
    assert time.monotonic() - began < 30


def test_a_connection_that_may_not_listen_is_closed(direct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server refuses to listen where it only follows another one; here, for a channel without a name."""
    made, connect = list[psycopg.Connection[Any]](), psycopg.connect

    def connected_to(*given: Any, **options: Any) -> psycopg.Connection[Any]:  # noqa: ANN401  # as it has them
        made.append(connect(*given, **options))
        return made[-1]

    with closing(psycopg_server.Server(direct)) as server, server.listening("") as told:
        monkeypatch.setattr(psycopg, "connect", connected_to)
        assert told(0.01) == told(0.01) == []
    assert [one.closed for one in made] == [True, True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are started anew here")
def test_a_call_that_comes_while_the_store_closes_opens_nothing(direct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has just seen the store open would make connections that nobody closes."""
    connections, shared = psycopg_server.Server._connections, dict(psycopg_server._SHARED)

    def closed_before(one: psycopg_server.Server) -> SharedConnections:
        one.close()  # as another thread does
        return connections(one)

    monkeypatch.setattr(psycopg_server.Server, "_connections", closed_before)
    with pytest.raises(StoreError, match="the store is closed"):
        psycopg_server.Server(direct, patience_seconds=0.1).rows("SELECT 1")
    assert shared == psycopg_server._SHARED


def test_a_forked_process_opens_connections_of_its_own(postgresql: str) -> None:
    """Neither disturbs the other."""
    with opened(postgresql) as store:
        store.append("s", 0, [made_message(0)])
        child = os.fork()
        if not child:
            done = 1
            try:
                store.append("s", 1, [made_message(1)])
                done = 0
            finally:
                os._exit(done)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.append("s", 2, [made_message(2)])
        assert store.head("s") == (3, 0)
        with store._server._connection(time.monotonic() + 5) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
