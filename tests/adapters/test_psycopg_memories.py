"""Facts in PostgreSQL: the port's promises under separated tenants, lost connections, several processes, vectors."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial, reduce
from itertools import count
from multiprocessing import get_context
from operator import xor
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import settings as examples_of
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from psycopg.conninfo import make_conninfo
from psycopg_pool import ConnectionPool

import squidbot
from squidbot.adapters.common import postings
from squidbot.adapters.psycopg import PostgresqlMemoryStore, nearest, server, words
from squidbot.adapters.psycopg.memories import CHANGE
from squidbot.adapters.psycopg.server import Server
from squidbot.adapters.psycopg.vectors import VectorTables
from squidbot.adapters.sqlite3.memory import InMemoryMemoryStore
from squidbot.adapters.stdlib import ExactIndex
from squidbot.config import load_settings
from squidbot.core import events
from squidbot.core.errors import ConfigError, DamagedStoreError, NotFoundError, StoreError
from squidbot.core.memories import Mark, Memory, Scope, Source, View
from squidbot.core.memory.semantic import SemanticStore
from squidbot.core.vectors import VectorSearch, VectorStamp, unpacked
from squidbot.memory import provider_of
from squidbot.testing import HashedWords, check_memory_store, made_memory
from squidbot.testing.memories import ANN, SEEN
from tests.listeners import Heard
from tests.postgresql import connected, new_schema, relay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection as Pipe
    from pathlib import Path

    from squidbot.core.ports import MemoryStore
    from squidbot.hookspecs import Register
    from tests.postgresql import FactTenants

BOB = Scope(user="bob", bot="squid")
OTHER_BOT = ANN._replace(bot="cuttle")
NOW = 2e9
TABLES = (
    "memories", "forgotten_memories", "memory_marks", "memory_words", "memory_views", "memory_changes", "memory_rules",
    "memory_models", "memory_vectors", "memory_nearest",
)  # fmt: skip


@pytest.fixture
def store(tenants: FactTenants) -> Iterator[PostgresqlMemoryStore]:
    """Open a store of a new tenant."""
    with tenants.opened() as made:
        yield made


@pytest.fixture
def again(tenants: FactTenants, store: PostgresqlMemoryStore) -> Iterator[PostgresqlMemoryStore]:
    """Open another store on the same rows, as another process does."""
    with tenants.opened(_tenant(store)) as made:
        yield made


@pytest.fixture
def everybody(tenants: FactTenants) -> Iterator[psycopg.Connection[Any]]:
    """Connect as somebody whom no policy holds."""
    with connected(tenants.superuser, tenants.schema) as connection:
        yield connection


def _tenant(store: PostgresqlMemoryStore) -> str:
    return store._server.tenant or ""


def found(store: MemoryStore, query: str, view: View = SEEN, *, past: bool = False) -> list[str]:
    """Return the ids of what a search finds."""
    return [hit.key for hit in store.search(query, view, limit=100, now=NOW, past=past)]


def test_facts_in_postgresql_keep_the_promises_of_memories(postgresql: str) -> None:
    """As any store does; opened again, all is as it was."""
    schema, numbers = new_schema(), count()

    def reopened(store: MemoryStore) -> MemoryStore:
        assert isinstance(store, PostgresqlMemoryStore)
        store.close()
        return PostgresqlMemoryStore(postgresql, schema=schema, tenant=store._server.tenant)

    check_memory_store(lambda: PostgresqlMemoryStore(postgresql, schema=schema, tenant=f"t{next(numbers)}"), reopened)


@pytest.mark.slow
def test_they_do_with_vectors_that_the_server_compares_and_with_policies(tenants: FactTenants) -> None:
    """The promises are those of a store without any; no index is made beside it."""

    def index(*_: object) -> ExactIndex:
        raise AssertionError("the server compares the vectors")

    check_memory_store(lambda: SemanticStore(tenants.opened(), lambda: HashedWords(16), index))


# -- whatever is done -------------------------------------------------------------------------------------------------

NAMES = [f"m{number}" for number in range(8)]
NAME = st.sampled_from(NAMES)
# One that is there, by its place among them; "" where there is none.
STORED = st.integers(0, 7)
WORDS = st.lists(st.sampled_from(["tea", "cup", "walrus", "walruses", "sea", "ocean", "7"]), min_size=1, max_size=4)
SCOPES = st.sampled_from([ANN, ANN, ANN, OTHER_BOT, BOB])
SOURCES = st.lists(st.builds(Source, st.sampled_from(["s", "t"]), st.integers(0, 3), st.integers(3, 5)), max_size=2)
MEMORIES = st.builds(
    lambda name, said, scope, time, sources: Memory(
        name, " ".join(said), "background", scope, float(time), sources=tuple(sources)
    ),
    NAME, WORDS, SCOPES, st.integers(0, 5), SOURCES,
)  # fmt: skip
VIEWS = [View(ANN, "bot"), View(ANN, "global"), View(BOB, "bot"), View(BOB, "global")]
DIMENSIONS = 4
VECTORS = st.lists(st.integers(1, 5).map(float), min_size=DIMENSIONS, max_size=DIMENSIONS)
VECTORS_OF_ALL = st.fixed_dictionaries(dict.fromkeys(NAMES, VECTORS))


class SameMemories(RuleBasedStateMachine):
    """Whatever is done in whatever order, PostgreSQL answers as the memory does, scores included."""

    tenants: FactTenants

    def __init__(self) -> None:
        super().__init__()
        self.server, self.memory = self.tenants.opened(), InMemoryMemoryStore()
        self.truth = self.server.vectors_of("m", DIMENSIONS)

    def teardown(self) -> None:
        """Compare all that is stored, and close."""
        self.same(lambda store: store.forgotten(NAMES))
        self.same(lambda store: store.mark("s", "rules"))
        for session in "st":
            self.same(partial(_from_session, session=session))
        lists, views = self.derived()
        self.server.reindex()
        assert self.derived() == (lists, views), "what is derived from the rows is as if it were made anew"
        self.server.close()
        self.memory.close()

    def derived(self) -> tuple[dict[int, list[int]], object]:
        """Return the lists of words and the counts of views; check the vectors that the server compares."""
        read = self.server._server.rows
        lists: dict[int, list[int]] = {}
        for word, keys in read("SELECT word, keys FROM {schema}.memory_words ORDER BY word, first"):
            lists.setdefault(word, []).extend(words.unpacked_keys(keys))
            assert 0 < len(keys) <= 8 * words.KEYS
        assert read("SELECT key, place, owner, bot, holds FROM {schema}.memory_nearest ORDER BY key") == read(
            "SELECT m.key, v.place, m.owner, m.bot, m.holds FROM {schema}.memory_vectors v "
            "JOIN {schema}.memories m ON m.key = v.key ORDER BY m.key"
        )
        return lists, read("SELECT * FROM {schema}.memory_views WHERE live + past > 0 ORDER BY view")

    def same(self, ask: Callable[[PostgresqlMemoryStore | InMemoryMemoryStore], object]) -> None:
        """Ask both, errors included."""
        answers: list[object] = []
        for store in (self.server, self.memory):
            try:
                answers.append(ask(store))
            except (NotFoundError, StoreError) as error:
                answers.append(type(error))
        assert answers[0] == answers[1]

    def stored(self, place: int) -> str:
        """Return the id of a memory that is there."""
        names = [each.memory_id for each in self.memory.get(NAMES)]
        return names[place % len(names)] if names else ""

    @initialize(said=st.lists(WORDS, min_size=len(NAMES), max_size=len(NAMES)), vectors=VECTORS_OF_ALL)
    def begin(self, said: list[list[str]], vectors: dict[str, list[float]]) -> None:
        """Begin with all of them, of three scopes, with vectors."""
        scopes = [ANN, ANN, ANN, OTHER_BOT, BOB]
        new = [
            made_memory(" ".join(words), scopes[number % 5], memory_id=name, time=float(number))
            for number, (name, words) in enumerate(zip(NAMES, said, strict=True))
        ]
        self.same(lambda store: store.add(new))
        self.same(lambda store: store.put_vectors("m", DIMENSIONS, vectors))

    @rule(new=st.lists(MEMORIES, max_size=5), seq=st.integers(0, 9), said=STORED)
    def add(self, new: list[Memory], seq: int, said: int) -> None:
        """Add some; move a mark, add a source."""
        was, name = self.memory.mark("s", "rules"), self.stored(said)
        mark = Mark("s", "rules", seq, "1") if seq < 8 else None
        sources = {name: (Source("s", seq, seq),)} if name else {}
        self.same(lambda store: store.add(new, mark, was if seq else None, sources))
        self.same(lambda store: store.get(NAMES))

    @rule(new=MEMORIES, old=STORED)
    def add_over(self, new: Memory, old: int) -> None:
        """Add one in the place of another."""
        over = replace(new, supersedes=self.stored(old))
        self.same(lambda store: store.add([over]))

    @rule(places=st.dictionaries(STORED, STORED | st.none(), min_size=1, max_size=2))
    def supersede(self, places: dict[int, int | None]) -> None:
        """Replace some with others, or have them hold again."""
        named = {self.stored(one): "" if other is None else self.stored(other) for one, other in places.items()}
        self.same(lambda store: store.supersede(named))
        self.same(lambda store: store.get(NAMES))

    @rule(gone=st.lists(STORED, max_size=3), new=st.lists(MEMORIES, max_size=3), wrong=st.integers(0, 9))
    def exchange(self, gone: list[int], new: list[Memory], wrong: int) -> None:
        """Forget some and add others."""
        names = [*map(self.stored, gone), *(["nobody"] if not wrong else [])]
        self.same(lambda store: store.exchange(names, new, "other"))
        self.same(lambda store: store.get(NAMES))

    @rule(
        gone=st.lists(STORED, max_size=1), session=st.sampled_from("st"), seqs=st.lists(st.integers(0, 5), max_size=1)
    )
    def forget(self, gone: list[int], session: str, seqs: list[int]) -> None:
        """Forget some, and messages."""
        self.same(lambda store: store.forget([*map(self.stored, gone), "nobody"], "asked"))
        self.same(lambda store: sorted(store.forget_messages(session, seqs, "with")))

    @rule(of=VECTORS_OF_ALL, drops=st.integers(0, 9))
    def embed(self, of: dict[str, list[float]], drops: int) -> None:
        """Store vectors, now and then without those of before."""
        if not drops:
            self.same(lambda store: store.drop_vectors("m"))
        self.same(lambda store: store.put_vectors("m", DIMENSIONS, of))

    @rule(asked=VECTORS, view=st.sampled_from(VIEWS), past=st.booleans())
    def near(self, asked: list[float], view: View, past: bool) -> None:  # noqa: FBT001
        """The server finds the same ones near as an index of all does."""
        self.same(lambda store: store.models())
        self.same(lambda store: (store.waiting("m"), store.newest_without("m", 3), store.without_vectors("m", limit=2)))
        self.same(lambda store: store.vectors_of("m", DIMENSIONS).stamp().vectors)
        entries = self.truth.behind(0, 99)
        assert self.truth.stamp().digest == reduce(xor, (entry.mark for entry in entries), 0)
        search, index = self.server.nearest("m", DIMENSIONS), VectorSearch(ExactIndex("m", DIMENSIONS), self.truth)
        assert search is not None
        assert search.search(asked, view, past=past) == index.search(asked, view, past=past)

    @rule(said=WORDS, view=st.sampled_from(VIEWS), past=st.booleans(), limit=st.integers(1, 9))
    def look(self, said: list[str], view: View, past: bool, limit: int) -> None:  # noqa: FBT001
        """Search and list; the second page, too."""
        query = " ".join(said)
        self.same(lambda store: store.search(query, view, limit=limit, now=NOW, past=past))
        self.same(lambda store: store.listed(view, limit=limit, past=past))
        after = [each.memory_id for each in self.memory.listed(view, limit=2, past=past)][-1:] or ["m1"]
        self.same(lambda store: store.listed(view, "background", limit=limit, after=after[0], past=past))


def _from_session(store: MemoryStore, session: str) -> list[str]:
    return sorted(map(repr, store.from_session(session)))


@pytest.mark.parametrize("examples", [5, pytest.param(80, marks=pytest.mark.slow)])
def test_postgresql_answers_as_the_memory_does(
    examples: int, tenants: FactTenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists are in many rows, and have more than is read at once, though few memories are compared."""
    monkeypatch.setattr(words, "KEYS", 2)
    monkeypatch.setattr(words, "rows_for", lambda _: 1)
    monkeypatch.setattr(postings, "PROBED", 4)
    monkeypatch.setattr(postings, "PAIRED", 3)
    monkeypatch.setattr(SameMemories, "tenants", tenants, raising=False)
    run_state_machine_as_test(
        SameMemories, settings=examples_of(max_examples=examples, stateful_step_count=20, deadline=None)
    )


def test_long_lists_are_read_as_far_as_a_search_needs(
    store: PostgresqlMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among 1,200 with a common word the oldest one that has both words is found, in a view of a part of them, too."""
    monkeypatch.setattr(words, "rows_for", lambda _: 1)
    first = made_memory("walrus tea", ANN, time=0.0)
    many = [
        made_memory(f"tea number{number}", ANN if number % 3 else OTHER_BOT, time=float(number))
        for number in range(1, 1_200)
    ]
    others = [made_memory(f"walrus sea{number}", ANN, time=2000.0 + number) for number in range(400)]
    memory = InMemoryMemoryStore()
    for each in (store, memory):
        for batch in ([first], many[:500], many[500:], others):
            each.add(batch)
    for query in ("walrus tea", "tea", "number7 tea sea3"):
        for view in VIEWS[:2]:
            asked: dict[str, Any] = {"limit": 100, "now": NOW}
            assert store.search(query, view, **asked) == memory.search(query, view, **asked)
    assert found(store, "walrus tea")[0] == first.memory_id
    store.forget([each.memory_id for each in many[::2]])
    memory.forget([each.memory_id for each in many[::2]])
    assert store.search("walrus tea", SEEN, now=NOW) == memory.search("walrus tea", SEEN, now=NOW)
    memory.close()


# -- tenants ----------------------------------------------------------------------------------------------------------


def _filled(store: PostgresqlMemoryStore) -> None:
    store.add([made_memory("tea", memory_id="m"), made_memory("gone", memory_id="g")], Mark("s", "rules", 3))
    store.forget(["g"])
    store.put_vectors("m", 2, {"m": (1.0, 2.0)})


def test_a_connection_of_one_tenant_reads_nothing_of_another_whatever_it_asks(
    tenants: FactTenants, store: PostgresqlMemoryStore, everybody: psycopg.Connection[Any]
) -> None:
    """No statement's filter is needed for that, in any table; and none writes for another."""
    _filled(store)
    with tenants.opened() as other:
        assert other.get(["m"]) == []
        assert (other.mark("s", "rules"), other.models(), found(other, "tea")) == (None, {}, [])
        _filled(other)
        for table in TABLES:
            assert everybody.execute(f"SELECT count(DISTINCT tenant) > 1 FROM {table}").fetchone() == (True,), table  # noqa: S608
            assert {tenant for (tenant,) in other._server.rows(f"SELECT tenant FROM {{schema}}.{table}")} == {  # noqa: S608
                other._server.tenant
            }, table
            other._server.rows(f"DELETE FROM {{schema}}.{table}")  # noqa: S608
        with pytest.raises(StoreError, match="row-level security"):
            other._server.rows("INSERT INTO {schema}.memory_rules VALUES('another', 1)")
    assert found(store, "tea") == ["m"]
    assert store.forgotten(["g"]) == {"g": ""}
    assert store.vectors_of("m", 2).stamp().vectors == 1


# -- lost connections -------------------------------------------------------------------------------------------------


@examples_of(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(min_value=300, max_value=6_000), max_size=5))
def test_nothing_is_lost_or_doubled_wherever_the_connection_is_cut(tenants: FactTenants, cuts: list[int]) -> None:
    """A call whose answer was lost is repeated, unless it was done."""
    with relay(tenants.url, list(cuts)) as cut, tenants.opened(url=cut) as store:
        facts = [made_memory(f"tea number{number}", memory_id=f"m{number}") for number in range(6)]
        marks = [None, *(Mark("s", "rules", number) for number in range(1, 4))]
        for number in range(3):
            store.add(facts[2 * number : 2 * number + 2], marks[number + 1], marks[number])
        store.supersede({"m0": "m1"})
        store.put_vectors("m", 2, {"m2": (1.0, 2.0), "m3": (2.0, 1.0)})
        assert store.forget(["m2", "m3", "nobody"], "asked") == 2
        store.exchange(["m4"], [made_memory("harbour", memory_id="m6")], "other")
        assert [each.memory_id for each in store.listed(SEEN)] == ["m6", "m5", "m1"]
        assert sorted(found(store, "tea", past=True)) == ["m0", "m1", "m5"]
        assert store.forgotten(["m2", "m3", "m4"]) == {"m2": "asked", "m3": "asked", "m4": "other"}
        assert (store.mark("s", "rules"), store.vectors_of("m", 2).stamp()) == (marks[3], VectorStamp("m", 2))


@contextmanager
def _unheard(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> Iterator[None]:
    """Have the answer to the next commit of a write be lost; `then` happens before the call is repeated."""
    whole, left = Server.transaction, [None]

    @contextmanager
    def losing(self: Server, connection: psycopg.Connection[Any], begin: str = "BEGIN") -> Iterator[None]:
        with whole(self, connection, begin):
            yield
        if begin == CHANGE and left:
            left.clear()
            then()
            raise psycopg.OperationalError("the connection is lost")

    with monkeypatch.context() as patched:
        patched.setattr(Server, "transaction", losing)
        yield
    assert not left


def test_a_repeated_call_does_not_undo_what_others_did_meanwhile(
    store: PostgresqlMemoryStore, again: PostgresqlMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was done once, and tells what it did then."""
    source = (Source("s", 1, 1),)
    one, two, three = (made_memory(text, memory_id=text, sources=source) for text in ("one", "two", "three"))
    mark, next_mark = Mark("s", "rules", 1), Mark("s", "rules", 2)
    with _unheard(monkeypatch, lambda: again.forget(["one"])):
        store.add([one, two], mark)
    assert store.get(["one", "two"]) == [two], "what was forgotten meanwhile does not come back"
    with _unheard(monkeypatch, lambda: again.add([], next_mark, mark)):
        store.add([three], mark, mark)
    assert store.mark("s", "rules") == next_mark
    with _unheard(monkeypatch, lambda: again.supersede({"two": ""})):
        store.supersede({"two": "three"})
    assert store.get(["two"])[0].superseded_by == "", "nor what was taken back"
    with _unheard(monkeypatch, lambda: again.add([three])):
        assert store.forget(["three", "nobody"]) == 1
    assert store.get(["three"]) == [three]
    with _unheard(monkeypatch, lambda: None):
        store.exchange(["three"], [one])
    with _unheard(monkeypatch, lambda: again.add([three])):
        assert sorted(store.forget_messages("s", [1])) == ["one", "two"]
    assert store.get(["one", "two", "three"]) == [three]
    with _unheard(monkeypatch, lambda: again.drop_vectors("m")):
        assert store.put_vectors("m", 2, {"three": (1.0, 1.0), "one": (1.0, 1.0)}) == 1
    assert store.models() == {}


# -- several processes ------------------------------------------------------------------------------------------------


def _adds(where: tuple[str, str, str], name: str, pairs: int, told: Pipe | None = None) -> None:
    """Add pairs: a fact that stays, and one whose place the next pair's takes."""
    url, schema, tenant = where
    with PostgresqlMemoryStore(url, schema=schema, tenant=tenant) as store:
        before = ""
        for number in range(pairs):
            stays = made_memory(f"stays {name} {number}", memory_id=f"{name}-{number}")
            newest = made_memory(f"newest {name} {number}", supersedes=before, memory_id=f"{name}-newest-{number}")
            store.add([stays, newest])
            store.put_vectors("m", 2, {stays.memory_id: (1.0, float(number))})
            before = newest.memory_id
            if told is not None:
                told.send(number)


def _pairs_in(store: PostgresqlMemoryStore) -> dict[str, int]:
    """Return how many pairs of each writer there are, having checked that they are whole, found, and in one order."""
    kept = {each.memory_id: each for each in store.listed(SEEN, limit=10_000, past=True)}
    counts: dict[str, int] = {}
    for each in kept.values():
        kind, name, _ = each.text.split()
        counts[name] = counts.get(name, 0) + (kind == "stays")
    for name, pairs in counts.items():
        for number in range(pairs):
            due = f"{name}-newest-{number + 1}" if number + 1 < pairs else ""
            assert kept[f"{name}-newest-{number}"].superseded_by == due
            assert found(store, f"stays {name} {number}")[0] == f"{name}-{number}"
    assert len(kept) == 2 * sum(counts.values()), "half a pair"
    truth = store.vectors_of("m", 2)
    entries = truth.behind(0, 10_000)
    assert truth.stamp() == VectorStamp("m", 2, len(entries), reduce(xor, (entry.mark for entry in entries), 0))
    return counts


def _where(tenants: FactTenants, store: PostgresqlMemoryStore) -> tuple[str, str, str]:
    return tenants.url, tenants.schema, _tenant(store)


@pytest.mark.slow
def test_four_processes_that_add_at_once_lose_nothing_and_every_key_is_behind_those_that_were_seen(
    tenants: FactTenants, store: PostgresqlMemoryStore
) -> None:
    """A reader that goes on from the last vector it knows misses none."""
    context = get_context("spawn")
    work = [(_where(tenants, store), f"w{number}", 15) for number in range(4)]
    writers = [context.Process(target=_adds, args=each) for each in work]
    for writer in writers:
        writer.start()
    truth, last, seen = store.vectors_of("m", 2), 0, 0
    while any(writer.is_alive() for writer in writers):
        for entry in truth.behind(last, 100):
            last, seen = entry.place, seen + 1
    seen += len(truth.behind(last, 100))
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert _pairs_in(store) == {f"w{number}": 15 for number in range(4)}
    assert seen == 60


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_one_who_adds_is_killed(
    tenants: FactTenants, store: PostgresqlMemoryStore
) -> None:
    """At random moments; the next one goes on."""
    chance, context, acked = Random(5), get_context("spawn"), dict[str, int]()  # noqa: S311  # repeatable
    for kill in range(3):
        listens, tells = context.Pipe(duplex=False)
        writer = context.Process(target=_adds, args=(_where(tenants, store), f"w{kill}", 10_000, tells))
        writer.start()
        tells.close()
        listens.recv()
        writer.join(chance.uniform(0.02, 0.2))
        writer.kill()
        writer.join()
        told = 1
        with suppress(EOFError):
            while True:
                told = listens.recv() + 1
        kept = _pairs_in(store)
        # Stored, and killed before it could be told: at most the last pair.
        assert kept.pop(f"w{kill}") in {told, told + 1}
        assert kept == acked
        acked = _pairs_in(store)


def test_a_reader_sees_an_exchange_wholly_or_not_at_all(store: PostgresqlMemoryStore) -> None:
    """Searching and listing while others exchange everything: always as many."""
    versions = [[made_memory(f"tea cup{number} v{version}") for number in range(6)] for version in range(2)]
    store.add(versions[0])
    done = threading.Event()

    def exchanging() -> None:
        for turn in count():
            if done.is_set():
                break
            gone, new = versions[turn % 2], versions[1 - turn % 2]
            store.exchange([each.memory_id for each in gone], new)

    writer = threading.Thread(target=exchanging)
    writer.start()
    try:
        for _ in range(60):
            assert len(found(store, "tea")) == len(store.listed(SEEN)) == 6
    finally:
        done.set()
        writer.join()


# -- what may be wrong in a database ----------------------------------------------------------------------------------


def test_a_damaged_row_is_an_error_and_no_memory_and_can_be_forgotten(
    store: PostgresqlMemoryStore, everybody: psycopg.Connection[Any]
) -> None:
    """No search finds it; forgotten, none of its words is left; the others are as they were."""
    store.add([made_memory(text, memory_id=text) for text in ("tea", "cup of tea")])
    store.put_vectors("m", 2, {"tea": (1.0, 2.0)})
    tenant = [_tenant(store)]
    everybody.execute("UPDATE memories SET text = 'coffee' WHERE tenant = %s AND key = 1", tenant)
    with pytest.raises(DamagedStoreError, match="memory 1 does not match its checksum: forget it"):
        store.get(["tea"])
    with pytest.raises(DamagedStoreError):
        store.listed(SEEN)
    assert found(store, "tea") == ["cup of tea"]
    assert store.forget(["tea"]) == 1
    keys = everybody.execute("SELECT DISTINCT keys FROM memory_words WHERE tenant = %s", tenant).fetchall()
    assert keys == [(words.packed_keys([2]),)]
    assert everybody.execute("SELECT sum(live) FROM memory_views WHERE tenant = %s", tenant).fetchone() == (4,)
    everybody.execute("UPDATE memory_marks SET mark = '[9]' WHERE tenant = %s", tenant)
    assert [each.memory_id for each in store.listed(SEEN)] == ["cup of tea"]
    assert store.vectors_of("m", 2).stamp() == VectorStamp("m", 2)


def test_lists_of_other_rules_are_made_anew_by_whoever_searches_or_writes_next(
    store: PostgresqlMemoryStore, everybody: psycopg.Connection[Any]
) -> None:
    """As after an update that knows other words; on request, too."""
    store.add([made_memory("tea", memory_id="m")])
    for search in (lambda: found(store, "tea"), lambda: store.add([made_memory("cup")])):
        tenant = [_tenant(store)]
        everybody.execute("UPDATE memory_rules SET number = 7 WHERE tenant = %s", tenant)
        everybody.execute("UPDATE memory_words SET word = word + 1 WHERE tenant = %s", tenant)
        search()
        assert found(store, "tea") == ["m"]
    everybody.execute("DELETE FROM memory_words WHERE tenant = %s", tenant)
    assert found(store, "tea") == []
    assert store.reindex() == 2
    assert found(store, "tea") == ["m"]


# -- vectors by the server --------------------------------------------------------------------------------------------


def test_without_pgvector_an_index_beside_the_store_finds_the_nearest(
    tenants: FactTenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its absence fails no migration."""
    text = server.migration
    monkeypatch.setattr(server, "migration", lambda number: text(number).replace("EXISTS vector", "EXISTS none_such"))
    store = PostgresqlMemoryStore(tenants.url, schema=new_schema())
    assert store.nearest("m", 2) is None
    meaning = SemanticStore(store, lambda: HashedWords(16), ExactIndex)
    meaning.add([made_memory(f"{word} here", memory_id=word) for word in ("walrus", "tea", "cup")])
    assert meaning.embed()
    assert meaning.search("walrus", SEEN, now=NOW)[0].key == "walrus"
    meaning.forget(["walrus"])
    store.supersede({"tea": "cup"})
    meaning.reembed()
    assert isinstance(meaning.opened().nearest, VectorSearch)
    meaning.close()


def test_the_index_of_the_server_finds_nearly_all_of_the_nearest(
    store: PostgresqlMemoryStore, everybody: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a view that sees a part of them; those that are history only where they are asked for; none of others."""
    monkeypatch.setattr(nearest, "EXACT_MEMORIES", 0)
    monkeypatch.setattr(nearest, "COMPARED_FOR_ONE", 0)
    chance = Random(3)  # noqa: S311  # repeatable
    scopes = [ANN, ANN, OTHER_BOT, BOB]
    facts = [made_memory(f"fact {number}", scopes[number % 4], memory_id=f"m{number}") for number in range(600)]
    store.add(facts)
    store.put_vectors("h", 8, {each.memory_id: [chance.gauss(0, 1) for _ in range(8)] for each in facts})
    store.supersede({"m0": "m1", "m4": "m1"})
    place = {entry.memory_id: entry for entry in store.vectors_of("h", 8).behind(0, 1_000)}
    search = store.nearest("h", 8)
    assert search is not None
    exact = VectorSearch(ExactIndex("h", 8), store.vectors_of("h", 8))
    explained = list[str]()
    read = VectorTables.read

    def explaining(self: VectorTables, statement: str, cells: Sequence[object]) -> list[tuple[Any, ...]]:
        if statement.startswith("SELECT place, vector::"):
            explained.append(str(read(self, f"EXPLAIN {statement}", cells)))
        return read(self, statement, cells)

    monkeypatch.setattr(VectorTables, "read", explaining)
    for name, sees in (("m0", None), ("m5", VIEWS[0]), ("m2", VIEWS[1]), ("m3", VIEWS[2])):  # whose vector it is
        for view in VIEWS:
            (first,) = search.search(unpacked(place[name].vector), view, limit=1)
            assert (first == name) == (
                sees is not None and view.key[1] == sees.key[1] and (name != "m2" or view == sees)
            )
    hits = 0
    for view in (*VIEWS, View(ANN, "agent")):
        for past in (False, True):
            asked = [chance.gauss(0, 1) for _ in range(8)]
            due = exact.search(asked, view, limit=10, past=past)
            got = search.search(asked, view, limit=10, past=past)
            assert len(got) == 10
            hits += len(due.keys() & got.keys())
    assert hits >= 95
    assert all(search._name in each for each in explained)
    assert len(explained) == 26
    assert search.fault == ""
    everybody.execute(f"DROP INDEX {search._name}".encode())
    assert "have no index on the server" in search.fault


def test_a_view_of_a_part_has_all_compared_where_the_index_would_look_at_many_others(
    store: PostgresqlMemoryStore, everybody: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what each costs: of a part in ten thousand, the index would have found nearly none."""
    monkeypatch.setattr(nearest, "EXACT_MEMORIES", 0)
    monkeypatch.setattr(nearest, "MOST_LOOKED", 1)
    chance = Random(3)  # noqa: S311  # repeatable
    facts = [
        made_memory(f"fact {number}", BOB if number % 100 else ANN, memory_id=f"m{number}") for number in range(900)
    ]
    vectors = {each.memory_id: [chance.gauss(0, 1) for _ in range(9)] for each in facts}
    store.add(facts)
    store.put_vectors("part", 9, vectors)
    everybody.execute("ANALYZE memory_nearest")
    search = store.nearest("part", 9)
    assert search is not None
    exact = VectorSearch(ExactIndex("part", 9), store.vectors_of("part", 9))
    for name in ("m0", "m1", "m300"):
        assert [*search.search(vectors[name], SEEN, limit=9)] == [*exact.search(vectors[name], SEEN, limit=9)]


def test_a_role_that_may_only_read_and_write_rows_has_the_index_too(
    tenants: FactTenants, everybody: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made with the rights of whom the tables belong to; all else needs no more than rows."""
    monkeypatch.setattr(nearest, "EXACT_MEMORIES", 0)
    user = f"agents{os.getpid()}"
    everybody.execute(f"CREATE ROLE {user} LOGIN".encode())
    everybody.execute(f"GRANT USAGE ON SCHEMA {tenants.schema} TO {user}".encode())
    everybody.execute(
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {tenants.schema} TO {user}".encode()
    )
    with tenants.opened(url=make_conninfo(tenants.superuser, user=user)) as store:
        store.add([made_memory("tea", memory_id="m"), made_memory("cup", memory_id="n")])
        store.put_vectors("rows", 3, {"m": (1.0, 2.0, 3.0), "n": (3.0, 2.0, 1.0)})
        store.put_vectors("rows", 3, {"m": (1.0, 2.0, 4.0)})
        search = store.nearest("rows", 3)
        assert search is not None
        assert search.fault == ""
        assert [*search.search((1.0, 2.0, 3.0), SEEN)] == ["m", "n"]
        assert store.forget(["m", "n"]) == 2


def test_a_vector_that_fits_no_search_is_refused(store: PostgresqlMemoryStore) -> None:
    """Before the server is asked."""
    search = store.nearest("m", 2)
    assert search is not None
    for vector in ((1.0, 2.0, 3.0), (0.0, 0.0)):
        with pytest.raises(ValueError, match="a vector of"):
            search.places(vector, SEEN, limit=3)
    assert search.places((1.0, 2.0), SEEN, limit=3) == []
    with pytest.raises(NotFoundError):
        store.exchange(["nobody"], [])


# -- by the settings -------------------------------------------------------------------------------------------


class Offering(Heard):
    """An extension that offers an embedder without a model, and hears what is told."""

    @squidbot.hookimpl
    def register_adapters(self, register: Register) -> None:
        """Offer it."""
        register.embedder("mine", lambda _: HashedWords())


def test_facts_are_where_the_sessions_are(postgresql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one engine learns another finds, by meaning, too; with a pool of the caller's; forgotten, nobody does."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    schema, heard = new_schema(), Offering()
    settings = {
        "store": {"url": postgresql, "schema": schema},
        "memory": {"embedder": "mine", "index": "stdlib"},
        "summary": {"scheduler": "none"},  # else a thread may begin what `run_jobs` then passes over
    }
    with squidbot.load(settings, extensions=[heard]) as engine:
        session = engine.session("s", scope=ANN)
        session.record(session.assemble("I live in Lisbon.").incoming, "Noted.")
        engine.run_jobs()
    pooled = {"store": {"adapter": "psycopg", "schema": schema}, "memory": settings["memory"]}
    kwargs = {"autocommit": True, "prepare_threshold": None}
    with (
        ConnectionPool(postgresql, kwargs=kwargs, min_size=1, max_size=2) as pool,
        squidbot.load(pooled, extensions=[heard], pool=pool) as other,
    ):
        assert provider_of(other.wired.loaded) == ("psycopg", "")
        session = other.session("t", scope=ANN)
        asked = {"action": "search", "query": "user lives Lisbon"}
        assert "The user: I live in Lisbon." in session.memory(asked).text
        assert len(other.forget_user("ann").facts) == 1
        assert "The user: I live in Lisbon." not in session.memory(asked).text
    assert [event for event in heard.events if event.name == events.DEGRADED] == []


def test_facts_may_stand_in_a_file_beside_sessions_in_a_database(postgresql: str, tmp_path: Path) -> None:
    """A file that is named comes first."""
    settings = {"store": {"url": postgresql}, "memory": {"path": str(tmp_path / "facts.db")}}
    assert provider_of(load_settings(settings)) == ("sqlite3", str(tmp_path / "facts.db"))
    with pytest.raises(ConfigError, match=r"store psycopg needs a server; set store\.url"):
        squidbot.load({"memory": {"provider": "psycopg"}}).memories(ANN)
