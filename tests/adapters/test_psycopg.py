"""PostgreSQL: the promises of every store's ports on a real server, its faults, and several processes at once."""

from __future__ import annotations

import json
import socket
import threading
import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

import squidbot
from benchmarks.wire import Wire
from squidbot.adapters.psycopg import PostgresqlStore, connections, server
from squidbot.adapters.psycopg.search import TermDigests
from squidbot.adapters.psycopg.server import NEWEST
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import DamagedStoreError, NotFoundError, StoreError
from squidbot.core.messages import Cost, Erasure, Record, StoredMessage
from squidbot.memory import sessions_of
from squidbot.services import forget
from squidbot.testing import check_claims, check_finds, check_search_across, check_summary_store, check_transcript_store
from squidbot.testing.transcripts import made_tombstone
from squidbot.testing.values import made_message, made_summary
from tests.postgresql import address, connected, new_schema, one_schema, opened, relay, shared_pool, wheels_server

from .answers import SameAnswers
from .test_sqlite3_names import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg import Connection

    from squidbot.engine import Engine


@pytest.mark.parametrize(
    "check", [check_transcript_store, check_summary_store, check_claims, check_finds, check_search_across]
)
def test_postgresql_keeps_the_promises_of_its_ports(
    postgresql: str, check: Callable[[Callable[[], Any]], None]
) -> None:
    """Those that any store keeps."""
    check(lambda: opened(postgresql))


def test_version_of_the_tables_is_asked_once_by_all_that_begin_together(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second store of a schema, as that of facts, does not ask again; on other connections it does."""
    monkeypatch.setattr(server, "TOGETHER_SECONDS", 100.0)
    asked: list[str] = []
    version = server.Server._version

    def noted(on: server.Server, connection: Connection[Any]) -> int:
        asked.append(on.schema)
        return version(on, connection)

    monkeypatch.setattr(server.Server, "_version", noted)
    schema = new_schema()
    with opened(postgresql, schema=schema), opened(postgresql, schema=schema):
        asked.clear()
        with opened(postgresql, schema=schema), opened(postgresql, schema=schema, tenant="ann"):
            assert not asked
    with opened(postgresql, schema=schema):
        assert asked


def test_turn_with_a_new_plan_waits_for_the_server_at_most_six_times() -> None:
    """Its facts are one read, its notes one write, and nothing is read that is held: a usual one takes five trips."""
    url = wheels_server()
    counted: list[int] = []
    with Wire(f"{conninfo_to_dict(url)['host']}/.s.PGSQL.5432") as wire:
        store = {"url": f"postgresql://postgres@127.0.0.1:{wire.port}/postgres", "schema": new_schema()}
        with squidbot.load({"store": store}) as engine:
            session = engine.session("s", window_tokens=4_096)
            for number in range(40):
                before = wire.trips
                made = session.assemble(f"question {number} about walrus {number * 7} " * 12)
                if made.event:
                    counted.append(wire.trips - before)
                session.record(*made.incoming, {"role": "assistant", "content": f"answer {number} " * 20})
    assert len(counted) >= 5
    # The first reads and writes more, and so do those that put several notes together.
    assert median(counted) <= 6, counted


class OnPostgresql(SameAnswers):
    """A tenant of a schema."""

    def __init__(self) -> None:
        self.tenant = uuid.uuid4().hex
        super().__init__()

    def opened(self) -> PostgresqlStore:
        """Open the tenant's part of the schema."""
        return opened("", schema=one_schema(), tenant=self.tenant, pool=shared_pool(address()))


TestSameAnswers = OnPostgresql.TestCase
TestSameAnswers.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of what programs keep on this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "squidbot"


def said_in(settings: dict[str, Any], pool: object = None) -> Engine:
    """Return an engine in whose session "s" something was said."""
    engine = squidbot.load({"store": settings}, pool=pool)
    session = engine.session("s")
    session.record([{"role": "user", "content": "Where is the walrus?"}])
    session.assemble()
    return engine


def test_two_lines_of_settings_are_enough(postgresql: str, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address; or the variable, where the settings name no store, and then it may hold a password."""
    where = {"schema": new_schema()}
    said_in({"url": postgresql, **where}).close()
    monkeypatch.setenv("SQUIDBOT_STORE_URL", postgresql.replace("postgres@", "postgres:secret@"))
    with squidbot.load({"store": where}) as other:
        assert other.session("s").search("walrus").hits
        assert "secret" not in other.wired.loaded.store_place
        assert "secret" not in (state / Path(other.wired.place).name).read_text(encoding="utf-8")
    with squidbot.load({"store": {"adapter": "stdlib"}}) as other:
        assert not other.wired.store.head("s")[0]


@pytest.mark.usefixtures("state")
def test_each_tenant_has_sessions_of_its_own(postgresql: str) -> None:
    """The same name is another session; a pool of the caller's serves them all."""
    where = {"schema": new_schema()}
    with (
        ConnectionPool(
            postgresql, kwargs={"autocommit": True, "prepare_threshold": None}, min_size=1, max_size=2
        ) as pool,
        said_in({"adapter": "psycopg", "tenant": "a", **where}, pool) as one,
    ):
        for tenant in ({"tenant": "b"}, {}):
            with squidbot.load({"store": {"adapter": "psycopg", **tenant, **where}}, pool=pool) as other:
                assert sessions_of(other.wired.store) == []
                assert not other.session("s").search("walrus").hits
                with pytest.raises(NotFoundError):
                    other.forget_session("s")
        assert one.session("s").search("walrus").hits


@pytest.mark.usefixtures("state")
def test_an_interrupted_forget_is_ended_by_the_next_process(postgresql: str) -> None:
    """What was begun stands in the database; one process at a time works on it."""
    schema = new_schema()
    settings = {"url": postgresql, "schema": schema}
    said_in(settings).close()
    task = forget._task_text(forget._PendingForget("s", (0,), reason="asked"))
    with PostgresqlStore(postgresql, schema=schema) as store:
        store.add_task(task)
        squidbot.load({"store": settings}).close()
        assert store.tasks() == []
        assert not store.search("s", "walrus", 9)
        with store.task_lock(waits=True) as is_held:
            assert is_held
            store.add_task(task)
            squidbot.load({"store": settings}).close()  # it leaves the task to who has the lock
            assert store.tasks() == [task]


def test_each_name_is_a_session_of_its_own(postgresql: str) -> None:
    """However odd it is, and however much it is like another one."""
    with opened(postgresql) as store:
        for name in NAMES:
            store.append(name, 0, [made_message(0, f"tea {name}")], [Record(name, 0, name)])
        assert [name for name, _ in store.sessions()] == NAMES
        for name in NAMES:
            assert store.read(name, 0, 9) == [made_message(0, f"tea {name}")]
            assert store.last_record(name, name) == Record(name, 0, name)
            assert store.sessions_with(name, [name]) == [name]


@pytest.mark.parametrize(
    "message",
    [
        replace(made_message(0), turn=2**63),
        replace(made_message(0), cost=Cost(-(2**64), 0)),
        replace(made_message(0), time=10**400),
    ],
)
def test_a_number_that_no_row_holds_is_refused(postgresql: str, message: StoredMessage) -> None:
    """A StoreError and nothing written; the same for summaries."""
    with opened(postgresql) as store:
        with pytest.raises(StoreError, match="nothing was written"):
            store.append("s", 0, [message])
        with pytest.raises(StoreError, match="nothing was written"):
            store.put(made_summary("a", 0, 2**63))
        assert store.sessions() == []


def test_one_of_several_stores_gets_a_claim_when_they_ask_at_once(postgresql: str) -> None:
    """Whoever is first; it passes on when it has run out."""
    schema, now, got = new_schema(), time.time(), list[bool]()
    stores = [opened(postgresql, schema=schema) for _ in range(4)]

    def ask(number: int) -> None:
        got.append(stores[number].claim("s", "work", str(number), now, 60.0))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False, False, False, True]
    assert not stores[0].claim("s", "work", "late", now + 59.0, 60.0)
    assert stores[0].claim("s", "work", "late", now + 60.0, 60.0)
    for store in stores:
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.append("s", 0, [made_message(0)])


def test_what_one_process_stored_another_reads(postgresql: str) -> None:
    """Everything is in the database: another store on the same schema finds it, sessions in their order."""
    with opened(postgresql) as store:
        schema = store._server.schema
        store.append("b", 0, [made_message(0, "tea")], [Record("plan", 0, "x")])
        store.append("a", 0, [made_message(0, "tea")])
        store.put(made_summary("n", 0, 0, session_id="b"))
    with PostgresqlStore(postgresql, schema=schema, create=False) as other:
        assert other.sessions() == [("b", 1), ("a", 1)]
        assert other.read("b", 0, 0) == [made_message(0, "tea")]
        assert other.for_range("b", 0, 9) == [made_summary("n", 0, 0, session_id="b")]
        assert [found.seq for found in other.search("b", "tea", 9)] == [0]


def test_a_schema_of_another_version_is_refused_with_what_to_do(postgresql: str) -> None:
    """A missing or older one names the command, a newer one the update; nothing is changed."""
    with pytest.raises(StoreError, match=f"'missing' has migration 0.*needs {NEWEST}: run `squidbot store migrate`"):
        PostgresqlStore(postgresql, schema="missing", create=False)
    with opened(postgresql) as store:
        schema = store._server.schema
        with connected(postgresql, schema) as operator:
            operator.execute("INSERT INTO migrations(number) VALUES(%s)", (NEWEST + 1,))
        with pytest.raises(StoreError, match=f"newer squidbot.*migration {NEWEST + 1}.*update squidbot"):
            PostgresqlStore(postgresql, schema=schema)


def test_a_program_of_the_version_before_goes_on_while_the_tables_are_updated(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rolling update: it had opened the store before; opened anew, it refuses tables that it does not know."""
    schema, stop, done = new_schema(), threading.Event(), list[int]()
    monkeypatch.setattr(server, "NEWEST", 1)
    with opened(postgresql, schema=schema) as older:

        def talk() -> None:
            while not stop.is_set():
                older.append("s", len(done), [made_message(len(done), f"tea {len(done)}")])
                done.append(len(older.search("s", "tea", 9)))

        program = threading.Thread(target=talk)
        program.start()
        try:
            monkeypatch.undo()
            with pytest.raises(StoreError, match=f"migration 1, this squidbot needs {NEWEST}"):
                opened(postgresql, schema=schema)
            before = len(done)
            assert older._server.migrate() == NEWEST - 1
            with opened(postgresql, schema=schema) as newer:
                newer.append("other", 0, [made_message(0)])
                while len(done) < before + 10 and program.is_alive():
                    time.sleep(0.01)
                assert newer.head("s")[0] >= before + 10
            monkeypatch.setattr(server, "NEWEST", 1)
            with pytest.raises(StoreError, match="newer squidbot"):
                opened(postgresql, schema=schema)
        finally:
            stop.set()
            program.join()
        assert min(done) >= 1


def test_nobody_waits_for_another_session_and_no_reader_for_a_writer(postgresql: str) -> None:
    """While somebody holds a session, others are written and all are read."""
    with opened(postgresql, patience_seconds=60) as store:
        for name in "ab":
            store.append(name, 0, [made_message(0, "tea")])
        with connected(postgresql, store._server.schema) as holder, holder.transaction():
            holder.execute("SELECT * FROM sessions WHERE id = 'a' FOR UPDATE")
            began = time.monotonic()
            store.append("b", 1, [made_message(1, "tea")])
            store.append("new", 0, [made_message(0)])
            assert store.head("a") == (1, 0)
            assert store.read("a", 0, 9) == [made_message(0, "tea")]
            assert len(store.search("a", "tea", 9)) == 1
            assert time.monotonic() - began < 30
            waiting = threading.Thread(target=store.append, args=("a", 1, [made_message(1)]))
            waiting.start()
            waiting.join(0.3)
            assert waiting.is_alive()
        waiting.join()
        assert store.head("a") == (2, 0)


def test_a_second_server_is_used_where_the_first_is_gone(direct: str) -> None:
    """As libpq has it: an address of several hosts."""
    with relay(direct) as alive, socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
        gone.close()
        login, _, rest = alive.rpartition("@")
        host, _, path = rest.partition("/")
        with opened(f"{login}@127.0.0.1:{port},{host}/{path}") as store:
            store.append("s", 0, [made_message(0)])
            assert store.head("s") == (1, 0)


def test_stores_that_open_at_once_make_the_tables_once(postgresql: str) -> None:
    """One migrates, the others wait for it."""
    schema, errors = new_schema(), []

    def open_one() -> None:
        try:
            PostgresqlStore(postgresql, schema=schema).close()
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_stores_of_one_address_share_their_connections(direct: str) -> None:
    """However many tenants and threads a program has; who finds none free waits; the last store closes them."""
    schema, name, most = new_schema(), uuid.uuid4().hex, list[int]()
    own = make_conninfo(direct, application_name=name)
    stores = [opened(own, schema=schema, tenant=str(number)) for number in range(20)]

    def count(operator: Connection[Any]) -> int:
        counted = operator.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (name,))
        return int(counted.fetchall()[0][0])

    def work(store: PostgresqlStore) -> None:
        store.append("s", 0, [made_message(0)])
        store._server.rows("SELECT pg_sleep(0.05)")

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    with connected(direct) as operator:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            most.append(count(operator))
            time.sleep(0.005)
        most.append(count(operator))  # they stay open; before, this thread may have come too late to look
        assert 1 < max(most) <= 8
        for store in stores[1:]:
            store.close()
        assert stores[0].head("s") == (1, 0)
        stores[0].close()
        ended = time.monotonic() + 60
        while count(operator) and time.monotonic() < ended:
            time.sleep(0.01)
        assert count(operator) == 0


def test_all_connections_in_use_are_an_error_that_names_the_setting(postgresql: str) -> None:
    """After as long as it may take; nothing is said of a server that is away."""
    with (
        opened(postgresql, most_connections=1, patience_seconds=0.3) as store,
        store._server._connection(time.monotonic() + 60),
        pytest.raises(StoreError, match=r"all connections were in use for 0\.[123] s: raise store.connections \(1\)$"),
    ):
        store.head("s")


def test_old_connections_are_closed(direct: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as another call needs one."""
    with opened(direct) as store:
        (first,) = store._server.rows("SELECT pg_backend_pid()")
        assert store._server.rows("SELECT pg_backend_pid()") == [first]
        monkeypatch.setattr(connections, "LIFETIME_SECONDS", -1.0)
        (second,) = store._server.rows("SELECT pg_backend_pid()")
        assert second != first


def test_a_pool_of_the_callers_is_used_as_it_is_and_stays_open(postgresql: str) -> None:
    """Its settings are the caller's business."""
    with ConnectionPool(
        postgresql, kwargs={"autocommit": True, "prepare_threshold": None}, min_size=1, max_size=1
    ) as pool:
        with opened("", pool=pool) as store:
            store.append("s", 0, [made_message(0)])
        assert pool.connection().__enter__().execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(StoreError, match="closed"):
            store.head("s")


def test_a_damaged_row_is_an_error_and_no_message(postgresql: str) -> None:
    """Whoever changed it; a row that is gone is one, too."""
    with opened(postgresql) as store:
        store.append("s", 0, [made_message(seq) for seq in range(3)], [Record("plan", 0, "a"), Record("plan", 1, "b")])
        with connected(postgresql, store._server.schema) as connection:
            connection.execute("UPDATE messages SET payload = 'x' WHERE seq = 1")
            connection.execute("DELETE FROM records WHERE number = 0")
            with pytest.raises(DamagedStoreError, match="message 1 of session 's'"):
                store.read("s", 0, 2)
            connection.execute("DELETE FROM messages WHERE seq = 1")
        with pytest.raises(DamagedStoreError, match="message 1 of session 's'"):
            store.read("s", 0, 2)
        with pytest.raises(DamagedStoreError, match="record 0 of kind 'plan'"):
            store.records("s", "plan")
        assert store.read("s", 2, 2) == [made_message(2)]


def test_a_long_message_stands_compressed(postgresql: str) -> None:
    """It comes back as it was, and is found; what is damaged is an error."""
    said = json.dumps({"role": "user", "content": "Where is the walrus? \ud800 " * 99})
    message = replace(made_message(0), payload=said)
    with opened(postgresql) as store:
        store.append("s", 0, [message, made_message(1)])
        assert store.read("s", 0, 0) == [message]
        assert [match.seq for match in store.search("s", '"the walrus"', 9)] == [0]
        with connected(postgresql, store._server.schema) as connection:
            length = connection.execute("SELECT length(payload) FROM messages WHERE seq = 0").fetchone()
            assert length
            assert length[0] * 9 < len(said)
            connection.execute("UPDATE messages SET payload = substr(payload, 1, 40) WHERE seq = 0")
        with pytest.raises(DamagedStoreError, match="message 0 of session 's'"):
            store.read("s", 0, 1)
        assert list(store.damage("s")) == ["message 0 does not match its checksum"]


def test_no_word_of_a_message_stands_in_the_index() -> None:
    """Another session has other digests of the same words."""
    one, other = TermDigests("s"), TermDigests("t")
    assert one.of("walrus") == TermDigests("s").of("walrus") != other.of("walrus")


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_what_is_found_does_not_depend_on_what_is_indexed(postgresql: str, data: st.DataObject) -> None:
    """PostgreSQL finds as memory does: behind the last block, within blocks, and what was forgotten nowhere."""
    words = st.lists(st.sampled_from(["red", "tea", "cup", "walrus", "sea", "7"]), min_size=1, max_size=5).map(" ".join)
    texts = data.draw(st.lists(words, min_size=60, max_size=200))
    gone = data.draw(st.sets(st.integers(0, len(texts) - 1), max_size=5))
    said = [made_message(seq, text) for seq, text in enumerate(texts)]
    with opened(postgresql) as store:
        memory, first = InMemoryStore(), 0
        while first < len(said):
            some = said[first : first + data.draw(st.integers(1, 100))]
            for each in (store, memory):
                each.append("s", first, some)
            first += len(some)
        if data.draw(st.booleans()):
            store.wait()
        erasure = Erasure((len(said), 0), tuple(made_tombstone(said[seq]) for seq in sorted(gone)), (), ())
        for each in (store, memory):
            each.forget("s", erasure)
        for query in ("red", "tea cup", '"sea 7"', "walrus red blue", data.draw(words)):
            assert store.search("s", query, 10) == memory.search("s", query, 10)


def _turns(given: tuple[str, str, int, int]) -> int:
    """Append exchanges to one session behind whatever others have appended; return how many were refused on the way."""
    url, schema, who, turns = given
    refused = 0
    with PostgresqlStore(url, schema=schema) as store:
        for turn in range(turns):
            while True:
                seq, records = store.head("s")
                said = [made_message(seq + at, f"{who} {turn} {part}") for at, part in enumerate(("asked", "answered"))]
                try:
                    store.append("s", seq, said, [Record("request", records, f"{who} {turn}")])
                    break
                except StoreError:
                    refused += 1
    return refused


def test_exchanges_of_four_processes_are_whole_and_in_one_order(postgresql: str) -> None:
    """Each is there once, its two messages and its record together."""
    with opened(postgresql) as store:
        work = [(postgresql, store._server.schema, who, 25) for who in range(4)]
        with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
            list(pool.map(_turns, work))
        said = [message.payload for message in store.read("s", 0, 10**6)]
        noted = [record.body for record in store.records("s", "request")]
    assert len(said) == 200
    assert [text.replace("answered", "asked") for text in said[1::2]] == said[::2]
    assert all(f"{body} asked" in text for body, text in zip(noted, said[::2], strict=True))
    assert len(set(noted)) == 100


def test_session_is_dated_back_only(postgresql: str) -> None:
    """A copy is as old as what it was made from, and gets no younger by being copied again."""
    with opened(postgresql) as store:
        store.append("s", 0, [made_message(0)])
        for days in (100, 1, 0):
            store.date_back("s", time.time() - days * 86_400)
        assert [name for name, _ in store.older_than(time.time() - 99 * 86_400)] == ["s"]
