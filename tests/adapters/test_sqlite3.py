"""The stores in one SQLite file: the promises of the ports, how a file is laid out, what a call costs it."""

from __future__ import annotations

import gc
import re
import sqlite3
import tempfile
import threading
import time
import tracemalloc
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from squidbot.adapters.sqlite3 import SqliteStore, rows
from squidbot.adapters.sqlite3.index import DamagedIndexError, SearchIndex
from squidbot.core.messages import Category, Cost, Record, StoredMessage
from squidbot.testing import (
    check_claims,
    check_finds,
    check_search_across,
    check_summary_store,
    check_transcript_store,
    made_message,
    made_summary,
)

from .answers import SameAnswers

if TYPE_CHECKING:
    from collections.abc import Callable


def stores_in(folder: Path) -> Callable[[], SqliteStore]:
    """Return a factory of fresh stores."""
    numbers = count()
    return lambda: SqliteStore(folder / f"{next(numbers)}.db")


@pytest.mark.parametrize(
    "check", [check_transcript_store, check_summary_store, check_claims, check_finds, check_search_across]
)
def test_sqlite_store_keeps_the_promises_of_its_ports(check: Callable[..., None], tmp_path: Path) -> None:
    """The public checks of the ports pass."""
    check(stores_in(tmp_path))


class OnSqlite(SameAnswers):
    """A file."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        super().__init__()

    def opened(self) -> SqliteStore:
        """Open the file."""
        return SqliteStore(Path(self.folder.name) / "store.db")

    def teardown(self) -> None:
        """Remove the file."""
        super().teardown()
        self.folder.cleanup()


TestSameAnswers = OnSqlite.TestCase
TestSameAnswers.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)


def test_every_field_of_a_message_is_stored_when_the_message_has_a_new_one(tmp_path: Path) -> None:
    """A field that is added to StoredMessage and forgotten here comes back different."""
    odd = {
        "seq": 0, "turn": 7, "role": "tool", "category": Category.ERROR, "codec": "c", "payload": "p",
        "call_ids": ("x",), "result_ids": ("y",), "cost": Cost(1, 2), "sent_cost": Cost(3, 4), "counter": "n",
        "time": 5.5, "sent_text": "s", "sent_arguments": ("z",), "notice": "t",
            "sender": "v", "label": "w",
    }  # fmt: skip
    assert list(odd) == [field.name for field in fields(StoredMessage)]
    message = StoredMessage(**odd)  # type: ignore[arg-type]
    with SqliteStore(tmp_path / "s.db") as store:
        store.append("s", 0, [message])
        (got,) = store.read("s", 0, 0)
    assert got == message
    assert type(got) is StoredMessage
    assert hash(got) == hash(message)
    with pytest.raises(AttributeError):
        got.seq = 1  # type: ignore[misc]


def test_notes_take_less_room_than_their_text_when_they_are_long(tmp_path: Path) -> None:
    """Long records and summaries are compressed and come back as they were; short ones can be read in the file."""
    long = [" ".join(f"src/part{number}.py \ud800" for number in range(2000)), "\xff" * 600, "x" * 512]
    said = [*long, "\xff", "", "short \ud800"]
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        store.append("s", 0, [], [Record("plan", number, text) for number, text in enumerate(said)])
        for number, text in enumerate(said):
            store.put(made_summary(f"s{number}", number, number, text=text))
        assert [record.body for record in store.records("s", "plan")] == said
        assert [summary.text for summary in store.for_range("s", 0, 9)] == said
        stored = [bytes(body) for (body,) in store._connection.execute("SELECT body FROM records ORDER BY number")]
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in said]
    assert all(len(body) < size / 3 for body, size in zip(stored[:3], sizes[:3], strict=True))
    assert [len(body) for body in stored[3:]] == sizes[3:]


def test_payload_is_never_compressed_when_what_is_sent_instead_is(tmp_path: Path) -> None:
    """Any SQLite tool shows what was said; a digest frozen beside it takes a fraction of its text."""
    output = "\n".join(f"line {number}: nothing to see" for number in range(3000))
    digest = output[:20_000]
    message = replace(made_message(0, output), sent_text=digest, notice="\ud800")
    with SqliteStore(tmp_path / "s.db") as store:
        store.append("s", 0, [message])
        assert store.read("s", 0, 0) == [message]
        payload, frozen = store._connection.execute("SELECT payload, frozen FROM transcript").fetchone()
    assert payload == message.payload.encode()
    assert len(frozen) < len(digest) / 4


def test_an_append_is_one_commit_with_one_sync_when_records_come_with_it(tmp_path: Path) -> None:
    """WAL and synchronous = FULL: one transaction, one COMMIT, and the settings that make it durable."""
    with SqliteStore(tmp_path / "s.db") as store:
        statements: list[str] = []
        store._connection.set_trace_callback(statements.append)
        store.append("s", 0, [made_message(0), made_message(1)], [Record("plan", 0, "{}"), Record("request", 0, "{}")])
        store._connection.set_trace_callback(None)
        assert [s for s in statements if re.match("BEGIN|COMMIT|ROLLBACK", s)] == ["BEGIN IMMEDIATE", "COMMIT"]
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == (b"wal",)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)


REQUEST_PATH = (
    rows.FIND,
    rows.RANGE,
    rows.BOUNDS,
    rows.RECORDS,
    rows.SUMMARIES,
    rows.NAMED,
)


@pytest.mark.parametrize("statement", REQUEST_PATH)
def test_a_statement_searches_by_index_when_it_is_on_the_request_path(statement: str, tmp_path: Path) -> None:
    """No scan, no count, no sort: the cost of a turn does not follow the length of the history (B-11)."""
    with SqliteStore(tmp_path / "s.db") as store:
        plan = store._connection.execute(f"EXPLAIN QUERY PLAN {statement}", (1,) * statement.count("?")).fetchall()
    steps = [row[3].decode() for row in plan]
    assert steps
    assert all(step.startswith("SEARCH") for step in steps), steps


@pytest.mark.parametrize("count", [1, 2, 3, 256, 257, 600])
def test_by_id_answers_in_the_order_asked_for_when_many_are_named(count: int, tmp_path: Path) -> None:
    """As often as they are named, unknown ones left out, however many are asked for at once."""
    with SqliteStore(tmp_path / "s.db") as store:
        for number in range(5):
            store.put(made_summary(f"s{number}\ud800", number, number))
        names = [f"s{number * 3 % 7}\ud800" for number in range(count)]
        found = [summary.summary_id for summary in store.by_id("s", names)]
    assert found == [name for name in names if int(name[1]) < 5]


def test_newest_loads_no_body_when_it_does_not_return_it(tmp_path: Path) -> None:
    """A huge message behind the one that passes the budget costs its count, not its bytes."""
    with SqliteStore(tmp_path / "s.db") as store:
        store.append(
            "s", 0, [made_message(0, "x" * 8_000_000, bound=1), made_message(1, "y" * 30), made_message(2, "z" * 30)]
        )
        store.newest("s", 40)
        tracemalloc.start()
        found = store.newest("s", 40)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        statements: list[str] = []
        store._connection.set_trace_callback(statements.append)
        assert [message.seq for message in store.newest("s", 40)] == [1, 2] == [message.seq for message in found]
    assert peak_bytes < 200_000
    counts, bodies = statements[1:]
    assert "payload" not in counts
    first_key, last_key = map(int, re.findall(r"\b\d{9,}\b", bodies))
    assert last_key - first_key == 1


def test_the_log_stays_small_when_a_huge_message_was_stored(tmp_path: Path) -> None:
    """The write-ahead log goes back to 4 MB: neither the disk nor the next opening pays for it."""
    with SqliteStore(tmp_path / "s.db") as store:
        store.append("s", 0, [made_message(0, "x" * 20_000_000)])
        assert (tmp_path / "s.db-wal").stat().st_size <= 4 * 2**20
        for seq in range(1, 4):
            store.append("s", seq, [made_message(seq)])
        assert (tmp_path / "s.db-wal").stat().st_size <= 4 * 2**20
        assert store.head("s") == (4, 0)


def test_the_file_can_be_read_when_there_is_only_a_sqlite_tool(tmp_path: Path) -> None:
    """The view `transcript` names session, place and role, and plain texts are TEXT."""
    with SqliteStore(tmp_path / "s.db") as store:
        store.append("chat", 0, [made_message(0, "hi"), made_message(1, "\ud800", role="assistant")])
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        rows = connection.execute("SELECT session, seq, role, typeof(payload) FROM transcript ORDER BY seq").fetchall()
        (body,) = connection.execute("SELECT payload FROM transcript WHERE seq = 0").fetchone()
    assert rows == [("chat", 0, "user", "text"), ("chat", 1, "assistant", "blob")]
    assert body == '{"role": "user", "content": "hi"}'


def test_payload_is_stored_once_when_messages_have_a_kilobyte(tmp_path: Path) -> None:
    """The file takes at most 1.3 times the payload (P6), for one session and for many that take turns."""
    for sessions in (1, 20):
        path = tmp_path / f"{sessions}.db"
        payload_bytes = 0
        with SqliteStore(path) as store:
            store._connection.execute("PRAGMA synchronous = OFF")  # the layout is measured, not the disk
            for seq in range(0, 2000 // sessions, 2):
                for session in range(sessions):
                    said = [made_message(seq, "x" * 900), made_message(seq + 1, "y" * 1300)]
                    payload_bytes += sum(len(message.payload) for message in said)
                    store.append(str(session), seq, said)
        assert path.stat().st_size <= 1.3 * payload_bytes


def test_a_search_finds_all_while_another_one_makes_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two first searches at once: the second begins an index of its own when the first is done with its."""
    others = [1]
    catch_up = SqliteStore.catch_up

    def beside(store: SqliteStore, session_id: str) -> int:
        left = catch_up(store, session_id)
        if others and not left:
            store._renewed(lambda _: None)
            others.pop()
        return left

    monkeypatch.setattr(SqliteStore, "catch_up", beside)
    with SqliteStore(tmp_path / "s.db") as store:
        store.append("s", 0, [made_message(seq, f"tea own{seq}") for seq in range(20)])
        assert [found.seq for found in store.search("s", "own7", 5)] == [7]
    assert not others


@pytest.mark.parametrize("across", [False, True])
def test_first_searches_at_once_leave_each_other_their_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, across: bool
) -> None:
    """Both miss it; what one of them makes is not dropped by the other while the first reads its name."""
    newest, both, begun = SearchIndex.newest, threading.Barrier(2), set[str]()

    def slowly(kind: SearchIndex, connection: sqlite3.Connection) -> str:
        thread = threading.current_thread().name
        try:
            name = newest(kind, connection)
        except DamagedIndexError:
            if thread not in begun:
                begun.add(thread)
                both.wait(60)
            raise
        if f"{thread} reads" not in begun:
            begun.add(f"{thread} reads")
            time.sleep(0.2)  # the other has the time to do what it shall not
        return name

    monkeypatch.setattr(SearchIndex, "newest", slowly)
    with SqliteStore(tmp_path / "s.db") as one, SqliteStore(tmp_path / "s.db") as two:
        one.append("s", 0, [made_message(seq, f"tea own{seq}") for seq in range(20)])

        def found(store: SqliteStore) -> list[int]:
            if across:
                return [each.seq for each in store.search_across(["s"], "own7", 5)]
            return [each.seq for each in store.search("s", "own7", 5)]

        with ThreadPoolExecutor(2) as threads:
            assert list(threads.map(found, (one, two))) == [[7], [7]]
    assert len(begun) == 4


@pytest.mark.parametrize("body", [b"\xff\x00\x11", b"\xfe", 7])
def test_a_damaged_record_keeps_no_other_session_from_being_found(tmp_path: Path, body: object) -> None:
    """Its own session can't read it either."""
    path = tmp_path / "a.db"
    with SqliteStore(path) as store:
        for name in ("damaged", "whole"):
            store.append(name, 0, [], [Record("told", 0, f'["own7"{", 0" * 900}]')])
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE records SET body = ? WHERE session = 1", (body,))
    with SqliteStore(path) as store:
        assert store.sessions_with("told", ['"own7"']) == ["whole"]


def test_a_store_that_is_dropped_closes_its_file(tmp_path: Path) -> None:
    """Whoever keeps an engine to the end of a program need not close it: since Python 3.13 that would warn."""
    store = SqliteStore(tmp_path / "a.db")
    store.append("s", 0, [made_message(0)])
    dropped = weakref.ref(store)
    gc.collect()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        del store
        gc.collect()
    assert dropped() is None
    assert warned == []
