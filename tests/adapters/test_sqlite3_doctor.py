"""A damaged store: what `check` says of it, what `repair` saves, and that the session goes on in the copy."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.doctor import REPAIR, SessionHealth, check, repair
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.messages import Category, Record
from squidbot.testing import made_message, made_summary

if TYPE_CHECKING:
    from pathlib import Path

PAGE_BYTES = 4096
# The full effort (SQUIDBOT_FULL_EFFORT=1) takes minutes; the usual one is a sample of it.
FULL = bool(os.environ.get("SQUIDBOT_FULL_EFFORT"))
MESSAGES = 500
SESSIONS = ("a", "b/\N{LATIN SMALL LETTER E WITH ACUTE}", "odd \ud800\0")


def said(name: str, seq: int) -> str:
    """Return what a message says: most are short, some flow over to other pages."""
    text = f"{name!a}{seq:05d}"
    return text * (400 if seq % 50 == 0 else 60)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store's file with three sessions that took turns."""
    path = tmp_path_factory.mktemp("whole") / "s.db"
    with SqliteStore(path) as store:
        store._connection.execute("PRAGMA synchronous = OFF")
        for seq in range(0, MESSAGES, 20):
            for name in SESSIONS:
                rows = [made_message(each, said(name, each)) for each in range(seq, seq + 20)]
                records = [
                    Record("plan", seq // 20, f'{{"plan": {seq}}}' * 99),
                    Record("pin", seq // 20, f"[{seq}]" * 9),
                ]
                store.append(name, seq, rows, records)
                store.put(made_summary(f"s{seq}", seq, seq + 19, session_id=name))
    return path.read_bytes()


def with_noise(whole: bytes, offset: int, seed: int, length: int = PAGE_BYTES) -> bytes:
    """Return the file with noise in it."""
    length = min(length, len(whole) - offset)
    return whole[:offset] + random.Random(seed).randbytes(length) + whole[offset + length :]  # noqa: S311  # repeatable


def trees(whole: bytes) -> list[int]:
    """Return the offsets of the pages that hold no rows: interior pages of trees."""
    return [at for at in range(PAGE_BYTES, len(whole), PAGE_BYTES) if whole[at] in {2, 5}]


def assert_saved(path: Path, target: Path, original: bytes) -> float:
    """Repair a damaged file; check all there is to check of the copy; return the share of messages that it holds."""
    path.write_bytes(original)
    ill = check(path)
    mended = repair(path, target)
    assert path.read_bytes() == original
    lost = {session.session_id: session.damaged for session in mended.sessions}
    assert {session.session_id: session.damaged for session in ill.sessions} == lost
    assert not ill.whole
    with SqliteStore(target) as store:
        assert sorted(name for name, _ in store.sessions()) == sorted(SESSIONS)
        for name in SESSIONS:
            kept = store.read(name, 0, 10**6)
            assert [row.seq for row in kept] == list(range(len(kept)))
            gone = [row.seq for row in kept if row.category == Category.INTERNAL]
            assert tuple(gone) == lost[name]
            for row in kept:
                if row.category != Category.INTERNAL:
                    assert row == made_message(row.seq, said(name, row.seq))
            assert all(f"[m{seq} was lost" in store.read(name, seq, seq)[0].payload for seq in gone)
            assert [record.number for record in store.records(name, "pin")] == list(range(MESSAGES // 20))
            number = len(store.records(name, "plan"))
            store.append(name, len(kept), [made_message(len(kept))], [Record("plan", number, "{}")])
            for summary in store.for_range(name, 0, MESSAGES):
                assert summary == made_summary(summary.summary_id, summary.first_seq, summary.last_seq, session_id=name)
    assert check(target, proves_words=True).whole
    return 1 - mended.damaged / (len(SESSIONS) * MESSAGES)


def test_check_says_that_a_store_is_whole_when_it_is(whole: bytes, tmp_path: Path) -> None:
    """Nothing is found and nothing is left behind; in use or not."""
    path = tmp_path / "s.db"
    path.write_bytes(whole)
    health = check(path, proves_words=True)
    assert health.whole
    assert health.sessions == tuple(SessionHealth(name, MESSAGES) for name in SESSIONS)
    assert (health.messages, health.damaged, health.problems) == (3 * MESSAGES, 0, ())
    assert (health.file_bytes, health.log_bytes) == (len(whole), 0)
    assert path.read_bytes() == whole
    assert [each.name for each in tmp_path.iterdir()] == ["s.db"]
    with SqliteStore(path) as store:
        store.append("a", MESSAGES, [made_message(MESSAGES)])
        in_use = check(path)
        assert in_use.whole
        assert in_use.messages == 3 * MESSAGES + 1
        assert in_use.log_bytes > 0


@pytest.mark.parametrize("place", ["header", "schema", "sessions", "names", "records", "summaries", "end"])
def test_repair_saves_nearly_all_when_noise_hits_a_page_that_all_depends_on(
    place: str, whole: bytes, tmp_path: Path
) -> None:
    """The header, the schema, the page of the sessions or of an index: 99 % of the messages are saved all the same."""
    pages = {"header": 0, "schema": 0.4, "sessions": 1, "names": 2, "records": 5.5, "summaries": 7}
    offset = len(whole) - PAGE_BYTES if place == "end" else int(pages[place] * PAGE_BYTES)
    assert assert_saved(tmp_path / "s.db", tmp_path / "t.db", with_noise(whole, offset, 1)) >= 0.99


def test_repair_saves_nearly_all_when_noise_hits_the_inside_of_a_tree(whole: bytes, tmp_path: Path) -> None:
    """Pages that lead to hundreds of others: not a message is lost, each page is found without them."""
    inside = trees(whole)
    assert len(inside) >= 3
    for number, offset in enumerate(inside if FULL else inside[:1]):
        ill = with_noise(whole, offset, number)
        assert assert_saved(tmp_path / f"{number}.db", tmp_path / f"{number}-t.db", ill) == 1.0


def test_repair_saves_nearly_all_when_noise_hits_any_place(whole: bytes, tmp_path: Path) -> None:
    """4 KB anywhere, across the borders of pages too: at least 99 % of the messages are saved, each time."""
    chance = random.Random(11)  # noqa: S311  # repeatable
    for number in range(400 if FULL else 3):
        ill = with_noise(whole, chance.randrange(len(whole) - PAGE_BYTES), number)
        path, target = tmp_path / f"{number}.db", tmp_path / f"{number}-t.db"
        assert assert_saved(path, target, ill) >= 0.99
        path.unlink()
        target.unlink()


def test_repair_saves_what_is_left_when_the_file_was_cut(whole: bytes, tmp_path: Path) -> None:
    """Half a file holds half of the messages; what follows the last one that was found can't be known by number."""
    path = tmp_path / "s.db"
    path.write_bytes(whole[: len(whole) // 2])
    mended = repair(path, tmp_path / "t.db")
    assert mended.messages >= 3 * MESSAGES * 0.45
    with SqliteStore(tmp_path / "t.db") as store:
        assert store.head("a")[0] == MESSAGES
        store.append("a", MESSAGES, [made_message(MESSAGES)])


def test_repair_finds_what_stands_in_a_log_when_its_middle_is_noise(tmp_path: Path) -> None:
    """SQLite ends at the first broken frame and says nothing; the frames behind it are proved by themselves."""
    path, ill = tmp_path / "s.db", tmp_path / "ill.db"
    with SqliteStore(path) as store:
        for seq in range(80):
            store.append("a", seq, [made_message(seq, said("a", seq))])
        ill.write_bytes(path.read_bytes())
        log = path.with_name("s.db-wal").read_bytes()
    middle = len(log) // 2
    ill.with_name("ill.db-wal").write_bytes(with_noise(log, middle, 1))
    health = check(ill)
    assert not health.whole
    assert any("write-ahead log" in problem for problem in health.problems)
    mended = repair(ill, tmp_path / "t.db")
    assert mended.messages >= 78
    with SqliteStore(tmp_path / "t.db") as store:
        assert store.head("a")[0] == 80


def test_a_session_goes_on_when_its_store_was_repaired(tmp_path: Path) -> None:
    """Requests are made all the same, and show the places of what was lost.

    Lost are tool calls without their results, results without their calls, the turns of a user, plans, summaries.
    """
    path, target = tmp_path / "s.db", tmp_path / "t.db"
    with squidbot.load({"store": {"path": str(path)}}) as engine:
        session = engine.session("s", window_tokens=4096)
        for number in range(30):
            call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            made = session.assemble(f"Question {number}: " + "why? " * 30)
            session.record(*made.incoming, {"role": "assistant", "content": None, "tool_calls": [call]})
            session.record({"role": "tool", "tool_call_id": f"c{number}", "content": "so " * 40})
            made = session.assemble()
            session.record(*made.incoming, f"Answer {number}.")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM messages WHERE (key & 4294967295) % 7 = 3 OR (key & 4294967295) >= 117")
        connection.execute("DELETE FROM records WHERE number % 2 = 1")
        connection.execute("DELETE FROM summaries WHERE rowid % 2 = 1")
    ill = check(path)
    assert ill.damaged == len([seq for seq in range(120) if seq % 7 == 3 or seq >= 117])
    repair(path, target)
    for _ in range(2):
        with squidbot.load({"store": {"path": str(target)}}) as engine:
            session = engine.session("s", window_tokens=4096)
            for number in range(12):
                made = session.assemble(f"And {number}? " + "why? " * 30)
                assert made.report.cost.bound <= made.report.limit.bound
                if number == 0 and _ == 0:
                    assert "[m119 was lost" in str(made.messages)
                session.record(*made.incoming, "It goes on.")
            session.pin_text("goal", "Go on.")
            session.compact()
    with SqliteStore(target) as store:
        (told,) = store.records("s", REPAIR)
        assert '"messages":[3,10,' in told.body


def test_repair_leaves_all_as_it_is_when_it_cannot_write(whole: bytes, tmp_path: Path) -> None:
    """An existing file is never replaced, nor is half a copy left."""
    path = tmp_path / "s.db"
    path.write_bytes(whole)
    (tmp_path / "t.db").write_text("mine")
    with pytest.raises(StoreError, match="exists"):
        repair(path, tmp_path / "t.db")
    with pytest.raises(StoreError, match="no copy was made"):
        repair(path, tmp_path / "nowhere" / "t.db")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["s.db", "t.db"]
    assert path.read_bytes() == whole


def test_check_and_repair_refuse_what_is_no_store(tmp_path: Path) -> None:
    """A missing, an empty, another program's file: an error that says so, and no sessions."""
    text, sqlite, empty = tmp_path / "diary", tmp_path / "o.db", tmp_path / "empty.db"
    text.write_text("Dear diary, " * 2000)
    empty.touch()
    with closing(sqlite3.connect(sqlite)) as connection, connection:
        connection.execute("CREATE TABLE other(x)")
        connection.executemany("INSERT INTO other VALUES(?)", [("x" * 50,)] * 100)
    for path in (text, sqlite, empty):
        with pytest.raises(DamagedStoreError):
            check(path)
        with pytest.raises(DamagedStoreError, match="nothing to recover"):
            repair(path, tmp_path / "t.db")
    with pytest.raises(StoreError, match="no such file"):
        check(tmp_path / "nowhere.db")
    assert not (tmp_path / "t.db").exists()


def test_a_lost_store_is_no_new_one_when_it_was_removed_or_emptied(tmp_path: Path) -> None:
    """After a clean end nothing but the mark beside it tells: that is enough, and the text says how to start anew."""
    path = tmp_path / "s.db"
    SqliteStore(path).close()
    os.truncate(path, 0)
    with pytest.raises(DamagedStoreError, match=r"s\.db: missing or empty.*s\.db-known.*start anew"):
        SqliteStore(path)
    path.unlink()
    with pytest.raises(DamagedStoreError, match=r"missing or empty"):
        SqliteStore(path)
    path.with_name("s.db-known").unlink()
    SqliteStore(path).close()
    assert path.stat().st_size > 0


def test_no_store_is_made_when_none_may_be(tmp_path: Path) -> None:
    """A misspelt path is an error for those who ask for a store that is there."""
    with pytest.raises(StoreError, match="there is no store"):
        SqliteStore(tmp_path / "s.db", create=False)
    assert list(tmp_path.iterdir()) == []
    SqliteStore(tmp_path / "s.db").close()
    with SqliteStore(tmp_path / "s.db", create=False) as store:
        assert store.sessions() == []


def test_a_removed_row_leaves_no_words_in_the_file(tmp_path: Path) -> None:
    """Freed space is overwritten: in a page that others share, in one of its own, in those that a long text fills."""
    path = tmp_path / "s.db"
    with SqliteStore(path) as store:
        said = [made_message(seq, f"word{seq} " * (4000 if seq % 3 else 20)) for seq in range(9)]
        store.append("s", 0, said)
        store._connection.execute("DELETE FROM messages WHERE (key & 4294967295) BETWEEN 2 AND 7")
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    assert [b"word%d " % seq in data for seq in range(9)] == [seq < 2 or seq > 7 for seq in range(9)]
