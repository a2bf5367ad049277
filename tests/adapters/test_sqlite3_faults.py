"""The stores in one SQLite file when something goes wrong: kills, rivals, damage, full disks, foreign files."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.sqlite3 import SqliteStore, rows
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.messages import Cost, Record
from squidbot.testing import made_message, made_summary
from squidbot.testing.values import at_once

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Appends exchanges of two messages; says each one's first seq when it is acknowledged.
WRITER = """
import sys
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.core.errors import StoreError
from squidbot.core.messages import Record
from squidbot.testing import made_message

path, name, exchanges = sys.argv[1], sys.argv[2], int(sys.argv[3])
with SqliteStore(path) as store:
    done = 0
    while done < exchanges:
        seq, number = store.head("s")
        text = f"{name} {done}"
        try:
            said = [made_message(seq, text), made_message(seq + 1, text, role="assistant")]
            store.append("s", seq, said, [Record("request", number, text)])
        except StoreError as error:
            assert "another writer" in str(error) and "nothing was written" in str(error), error
            continue
        done += 1
        print(seq, flush=True)
"""


def writer(path: Path, name: str, exchanges: int) -> subprocess.Popen[str]:
    """Start a process that appends."""
    command = [sys.executable, "-c", WRITER, str(path), name, str(exchanges)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def overwrite(path: Path, offset: int, data: bytes) -> None:
    """Change bytes of a file in place."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def filled(path: Path, messages: int = 400) -> Path:
    """Make a store with one session "s" of messages of 1 KB, and close it."""
    with SqliteStore(path) as store:
        store.append("s", 0, [made_message(seq, f"{seq:04d}" * 250) for seq in range(messages)])
    return path


def test_two_processes_lose_nothing_when_they_write_one_session(tmp_path: Path) -> None:
    """100 exchanges each, with a retry after each conflict: all are kept, in order, none is split."""
    path = tmp_path / "s.db"
    writers = [writer(path, name, 100) for name in ("a", "b")]
    assert [process.wait(120) for process in writers] == [0, 0]
    acknowledged = sorted(int(line) for process in writers if process.stdout for line in process.stdout)
    for process in writers:
        process.communicate()
    with SqliteStore(path) as store:
        kept = store.read("s", 0, 10_000)
        notes = store.records("s", "request")
    assert [message.seq for message in kept] == list(range(400))
    assert acknowledged == list(range(0, 400, 2))
    said = [message.payload for message in kept]
    for name in ("a", "b"):
        assert [text for text in said[::2] if f'"{name} ' in text] == [
            made_message(0, f"{name} {n}").payload for n in range(100)
        ]
    assert all(
        asked.replace("user", "assistant") == answered for asked, answered in zip(said[::2], said[1::2], strict=True)
    )
    assert len(notes) == 200


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    """Killed at five random moments, the same file goes on; an exchange is there as a whole or not at all."""
    path, chance = tmp_path / "s.db", random.Random(7)  # noqa: S311  # repeatable
    for _ in range(5):
        with writer(path, "w", 10**9) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(chance.randint(1, 5))]
            time.sleep(chance.random() * 0.02)
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.readlines()
        acknowledged = [int(line) for line in lines if line.endswith("\n")]
        with SqliteStore(path) as store:
            messages, records = store.head("s")
            kept = store.read("s", 0, messages)
        assert messages >= acknowledged[-1] + 2
        assert messages == 2 * records == len(kept)
        assert [message.role for message in kept] == ["user", "assistant"] * records


def test_one_store_is_made_when_processes_open_a_missing_file_at_once(tmp_path: Path) -> None:
    """Creation is a transaction too: the first makes the tables, the others find them."""
    path = tmp_path / "s.db"
    writers = [writer(path, str(number), 1) for number in range(4)]
    assert [process.wait(120) for process in writers] == [0] * 4
    for process in writers:
        process.communicate()
    with SqliteStore(path) as store:
        assert store.head("s") == (8, 4)


def test_threads_share_a_store_when_they_write_at_once(tmp_path: Path) -> None:
    """They take turns: every append of every thread is kept."""

    def say(number: int) -> None:
        for seq in range(20):
            store.append("abcd"[number], seq, [made_message(seq, "abcd"[number])])

    with SqliteStore(tmp_path / "s.db") as store:
        at_once(4, say, "every append is taken")
        assert [store.head(name) for name in "abcd"] == [(20, 0)] * 4


def test_a_store_goes_on_when_its_file_is_opened_and_closed_beside_it(tmp_path: Path) -> None:
    """Closing a file drops all locks of a process on it: were that done past SQLite, the log would go."""
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        store.append("s", 0, [made_message(0), made_message(1)], [Record("request", 0, "")])
        SqliteStore(path).close()
        with writer(path, "w", 1) as process:
            process.communicate()
        assert path.with_name("s.db-wal").exists()
        store.append("s", 4, [made_message(4)])
        with SqliteStore(path) as other:
            assert other.head("s") == (5, 2)


def test_append_gives_up_when_another_process_holds_the_lock(tmp_path: Path) -> None:
    """After `busy_seconds` a typed error says that nothing was written; reading goes on meanwhile."""
    path = filled(tmp_path / "s.db", 3)
    with SqliteStore(path, busy_seconds=0.2) as store, closing(sqlite3.connect(path, isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(StoreError, match=r"lock.*nothing was written") as caught:
            store.append("s", 3, [made_message(3)])
        assert 0.1 < time.monotonic() - started < 20
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        assert not isinstance(caught.value, DamagedStoreError)
        assert len(store.read("s", 0, 9)) == 3
        with SqliteStore(path, busy_seconds=0.2) as other:
            assert other.head("s") == (3, 0)
        rival.execute("ROLLBACK")
        store.append("s", 3, [made_message(3)])
        assert store.head("s") == (4, 0)


def test_append_gives_up_when_another_thread_holds_the_store(tmp_path: Path) -> None:
    """The wait for another thread has the same limit."""
    with SqliteStore(tmp_path / "s.db", busy_seconds=0.1) as store:
        store._lock.acquire()
        with pytest.raises(StoreError, match=r"another thread.*nothing was written"):
            store.append("s", 0, [made_message(0)])
        store._lock.release()
        assert store.head("s") == (0, 0)


def test_append_leaves_the_old_data_readable_when_the_disk_is_full(tmp_path: Path) -> None:
    """A typed error, nothing half-written, and it works again when there is room."""
    with SqliteStore(filled(tmp_path / "s.db")) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(StoreError, match=r"disk is full.*nothing was written") as caught:
            store.append("s", 400, [made_message(400), made_message(401, "x" * 100_000)], [Record("plan", 0, "{}")])
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        assert store.head("s") == (400, 0)
        assert len(store.read("s", 0, 500)) == 400
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
        store.append("s", 400, [made_message(400), made_message(401, "x" * 100_000)])
        assert store.head("s") == (402, 0)


@pytest.mark.parametrize(
    "message",
    [
        replace(made_message(0), turn=2**63),
        replace(made_message(0), cost=Cost(-(2**64), 0)),
        replace(made_message(0), time=10**400),
    ],
)
def test_append_refuses_a_number_when_sqlite_cannot_hold_it(message: object, tmp_path: Path) -> None:
    """A StoreError and nothing written, not an OverflowError half-way."""
    with SqliteStore(tmp_path / "s.db") as store:
        with pytest.raises(StoreError, match="nothing was written"):
            store.append("s", 0, [message])  # type: ignore[list-item]
        assert store.head("s") == (0, 0)
        assert store.sessions() == []


def test_put_and_records_refuse_a_number_when_sqlite_cannot_hold_it(tmp_path: Path) -> None:
    """The same for summaries."""
    with SqliteStore(tmp_path / "s.db") as store:
        with pytest.raises(StoreError, match="nothing was written"):
            store.put(made_summary("a", 0, 2**63))
        assert store.sessions() == []


def test_read_notices_when_one_byte_of_a_payload_has_changed(tmp_path: Path) -> None:
    """The error names session and message; the others are served, and the rest of the file works."""
    path = filled(tmp_path / "s.db")
    overwrite(path, path.read_bytes().index(b"0123" * 100) + 57, b"9")
    with SqliteStore(path) as store:
        promise = pytest.raises(DamagedStoreError, match=r"s\.db: message 123 of session 's'.*checksum")
        with promise:
            store.read("s", 100, 150)
        with promise:
            store.pick("s", [7, 123])
        with promise:
            store.newest("s", 10**9)
        kept, damaged = store.read_intact("s", -5, 10**6)
        assert damaged == [123]
        assert [message.seq for message in kept] == [seq for seq in range(400) if seq != 123]
        assert len(store.read("s", 124, 399)) == 276
        store.append("s", 400, [made_message(400)])


def test_a_changed_byte_is_noticed_when_it_hits_any_part_of_a_row(tmp_path: Path) -> None:
    """Not one flipped bit in a row of a message, record or summary goes unnoticed or leaves as a raw error."""
    path, chance = tmp_path / "s.db", random.Random(3)  # noqa: S311  # repeatable
    said = [
        replace(
            made_message(0, "abc", call_ids=("call_1",), result_ids=("call_2",)), sent_text="d", notice="n", time=1.5
        )
    ]
    with SqliteStore(path) as store:
        store.append("s", 0, said, [Record("plan", 0, '{"blocks": []}')])
        store.put(made_summary("sum", 0, 0, session_id="s", text="They chose SQLite."))
    whole = path.read_bytes()
    answers = (said, [Record("plan", 0, '{"blocks": []}')], [made_summary("sum", 0, 0, text="They chose SQLite.")])
    for marker in (b'"abc"', b'{"blocks', b"They chose", b'{"plan"'):
        place = whole.index(marker)
        end = -(-place // 4096) * 4096
        start = max(place - 120, whole.rindex(b"\0\0\0\0\0\0\0\0", 0, place) + 8)
        for offset in sorted(chance.sample(range(start, end), min(40, end - start))):
            path.write_bytes(whole)
            overwrite(path, offset, bytes([whole[offset] ^ (1 << chance.randrange(8))]))
            try:
                with SqliteStore(path) as store:
                    got = (store.read("s", 0, 0), store.records("s", "plan"), store.for_range("s", 0, 0))
            except DamagedStoreError:
                continue
            assert got == answers, f"a bit at {offset} changed an answer"


def test_nearly_all_messages_are_served_when_a_page_is_noise(tmp_path: Path) -> None:
    """4 KB of noise in the middle costs the messages on that page and no others; they are named."""
    path = filled(tmp_path / "s.db", 2000)
    pages = path.stat().st_size // 4096
    overwrite(path, pages // 2 * 4096, random.Random(1).randbytes(4096))  # noqa: S311  # repeatable
    with SqliteStore(path) as store:
        with pytest.raises(DamagedStoreError, match="read_intact"):
            store.read("s", 0, 1999)
        kept, damaged = store.read_intact("s", 0, 1999)
    assert 1 <= len(damaged) <= 20
    assert sorted([*damaged, *(message.seq for message in kept)]) == list(range(2000))
    assert all(message.payload == made_message(0, f"{message.seq:04d}" * 250).payload for message in kept)


def test_read_notices_when_a_row_is_missing(tmp_path: Path) -> None:
    """A row that another tool deleted is damage, not a shorter history."""
    path = filled(tmp_path / "s.db", 10)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM messages WHERE key & 4294967295 IN (4, 9)")
    with SqliteStore(path) as store:
        with pytest.raises(DamagedStoreError, match="message 4 of session 's'"):
            store.read("s", 0, 9)
        with pytest.raises(DamagedStoreError, match="message 9"):
            store.newest("s", 5)
        assert store.read_intact("s", 0, 9)[1] == [4, 9]


def foreign_sqlite(path: Path) -> None:
    """Write another program's database, in WAL mode, with its log left behind as after a crash."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE other(x)")
        log = path.with_name(path.name + "-wal").read_bytes()
    path.with_name(path.name + "-wal").write_bytes(log)


@pytest.mark.parametrize("kind", ["text", "sqlite", "half", "header", "short", "shorter", "version", "no version"])
def test_a_file_is_refused_and_left_alone_when_it_is_no_whole_store(kind: str, tmp_path: Path) -> None:
    """A clear error names the file and what to do; not a byte of it changes, nor of a log beside it."""
    path = tmp_path / "s.db"
    if kind == "text":
        path.write_text("Dear diary, " * 1000)
    elif kind == "sqlite":
        foreign_sqlite(path)
    else:
        filled(path)
    size = path.stat().st_size
    if kind in {"half", "short", "shorter"}:
        os.truncate(path, {"half": size // 2, "short": 700, "shorter": 50}[kind])
    elif kind == "header":
        overwrite(path, 0, bytes(100))
    elif "version" in kind:
        overwrite(path, 60, (3 if kind == "version" else 0).to_bytes(4, "big"))
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    expected = StoreError if kind == "version" else DamagedStoreError
    with pytest.raises(expected, match=r"s\.db: .*(put a backup|name another file|update squidbot)") as caught:
        SqliteStore(path)
    assert type(caught.value) is expected
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir() if not each.name.endswith("-shm")} == before


def test_an_empty_file_becomes_a_store_when_it_has_no_log(tmp_path: Path) -> None:
    """As a temporary file that a program has just made."""
    (tmp_path / "s.db").touch()
    with SqliteStore(tmp_path / "s.db") as store:
        store.append("s", 0, [made_message(0)])
    with SqliteStore(tmp_path / "s.db") as store:
        assert store.head("s") == (1, 0)


@pytest.mark.parametrize("kind", ["empty", "missing"])
def test_an_empty_file_is_refused_when_its_log_shows_that_it_was_a_store(kind: str, tmp_path: Path) -> None:
    """Somebody emptied or removed it while it was in use: that is not a new conversation."""
    path, crashed = tmp_path / "s.db", tmp_path / "copy.db"
    with SqliteStore(path) as store:
        store.append("s", 0, [made_message(0)])
        crashed.with_name("copy.db-wal").write_bytes(path.with_name("s.db-wal").read_bytes())
    if kind == "empty":
        crashed.touch()
    with pytest.raises(DamagedStoreError, match=r"copy\.db: missing or empty.*backup"):
        SqliteStore(crashed)
    assert crashed.with_name("copy.db-wal").stat().st_size > 0


@pytest.mark.parametrize("place", ["no folder", "a folder"])
def test_opening_says_what_to_check_when_the_path_cannot_hold_a_file(place: str, tmp_path: Path) -> None:
    """A StoreError about the path, not about damage."""
    path = tmp_path if place == "a folder" else tmp_path / "nowhere" / "s.db"
    with pytest.raises(StoreError, match="check") as caught:
        SqliteStore(path)
    assert type(caught.value) is StoreError


def test_backup_is_a_whole_store_when_it_is_made_in_use(tmp_path: Path) -> None:
    """Also what stands in the log only is in it; an existing file is never replaced."""
    with SqliteStore(tmp_path / "s.db") as store:
        for seq in range(0, 40, 2):
            store.append("s", seq, [made_message(seq), made_message(seq + 1)], [Record("plan", seq // 2, "{}")])
        store.put(made_summary("a", 0, 9))
        store.backup(tmp_path / "copy.db")
        store.append("s", 40, [made_message(40)])
        with pytest.raises(StoreError, match="exists"):
            store.backup(tmp_path / "copy.db")
        with pytest.raises(StoreError, match="no backup was made"):
            store.backup(tmp_path / "nowhere" / "copy.db")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "s.db", "s.db-known"]
    with SqliteStore(tmp_path / "copy.db") as copied:
        assert copied.head("s") == (40, 20)
        assert copied.read("s", 0, 99) == [made_message(seq) for seq in range(40)]
        assert copied.for_range("s", 0, 9) == [made_summary("a", 0, 9)]
        copied.append("s", 40, [made_message(40)])


def test_every_call_says_so_when_the_store_is_closed(tmp_path: Path) -> None:
    """StoreError, not SQLite's own."""
    store = SqliteStore(tmp_path / "s.db")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.head("s")
    with pytest.raises(StoreError, match=r"closed.*nothing was written"):
        store.append("s", 0, [made_message(0)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_store_is_refused_when_the_process_was_forked(tmp_path: Path) -> None:
    """SQLite connections don't survive a fork; the parent's goes on working."""
    with SqliteStore(tmp_path / "s.db") as store:
        store.append("s", 0, [made_message(0)])
        child = os.fork()
        if child == 0:
            try:
                store.close()
                store.append("s", 1, [made_message(1)])
            except StoreError as error:
                os._exit(0 if "fork" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store.append("s", 1, [made_message(1)])
        assert store.head("s") == (2, 0)


READS: list[tuple[Callable[[SqliteStore], object], object]] = [
    (lambda store: store.read("s", 0, 9), []),
    (lambda store: store.pick("s", [1]), []),
    (lambda store: store.newest("s", 9_999), []),
    (lambda store: store.records("s", "x"), []),
    (lambda store: store.last_record("s", "x"), None),
    (lambda store: store.opening("s", ["x"]), (0, 0, {})),
]


@pytest.mark.parametrize(("read", "left"), READS)
def test_session_that_another_process_removes_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[SqliteStore], object], left: object
) -> None:
    """Between the lookup of its row and that of what it has."""
    with SqliteStore(tmp_path / "s.db") as store, SqliteStore(tmp_path / "s.db") as other:
        store.append("s", 0, [made_message(seq) for seq in range(3)], [Record("x", 0, "")])
        true, drops = rows.find, [1]

        def find(connection: sqlite3.Connection, session_id: str) -> rows.SessionRow:
            found = true(connection, session_id)
            if drops:
                drops.pop()
                other.drop("s")
            return found

        monkeypatch.setattr(rows, "find", find)
        assert read(store) == left
