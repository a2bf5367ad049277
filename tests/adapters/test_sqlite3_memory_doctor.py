"""A damaged store with memories: what `check` says of it, and what `repair` saves; nothing forgotten comes back."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common.memories import encode, grave_checksum
from squidbot.adapters.sqlite3 import SqliteStore, files
from squidbot.adapters.sqlite3.doctor import Salvage, check, repair
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore, rows
from squidbot.core.errors import StoreError
from squidbot.core.memories import Mark
from squidbot.testing import made_memory, made_message
from squidbot.testing.memories import SEEN

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.memories import Memory

PAGE_BYTES = 4096
MEMORIES = [
    made_memory(f"number{number} " * (600 if number % 40 == 0 else 20), time=number + 0.0) for number in range(150)
]
NEW = made_memory("new", supersedes=MEMORIES[1].memory_id, time=999.0)
GONE = MEMORIES[2].memory_id


def every(store: SqliteMemoryStore) -> dict[str, Memory]:
    """Return all memories of a store, by id."""
    return {memory.memory_id: memory for memory in rows.readable(store._connection, 0, 999).values() if memory}


def filled(path: Path) -> dict[str, Memory]:
    """Make a store with memories, one superseded, one forgotten; return those that are left, by id."""
    with SqliteMemoryStore(path) as store:
        store.add(MEMORIES)
        store.put_vectors("mini", 2, {MEMORIES[0].memory_id: (1.0, 2.0)})
        store.add([NEW])
        store.forget([GONE], "asked for")
        return every(store)


def left_in(path: Path) -> dict[str, Memory]:
    """Return the memories in a store, having checked that it goes on."""
    with SqliteMemoryStore(path) as store:
        later = made_memory("walrus later")
        store.add([later])
        assert [hit.key for hit in store.search("walrus", SEEN, now=0.0)] == [later.memory_id]
        found = {name: memory for name, memory in every(store).items() if memory != later}
        assert GONE not in found
        for name in list(found)[:20]:
            word = found[name].text.split()[0]
            hits = {hit.key for hit in store.search(word, SEEN, now=0.0, past=True)}
            assert name in hits
        return found


@pytest.mark.parametrize("has_session", [False, True])
def test_check_counts_memories_and_repair_copies_them_when_the_store_is_whole(
    has_session: bool,  # noqa: FBT001  # a parameter of the test
    tmp_path: Path,
) -> None:
    """Beside sessions, and without any; what was forgotten is known as forgotten in the copy."""
    path, target = tmp_path / "s.db", tmp_path / "t.db"
    if has_session:
        with SqliteStore(path) as sessions:
            sessions.append("s", 0, [made_message(0, "tea")])
    kept = filled(path)
    health = check(path)
    assert (health.whole, health.memories, health.damaged_memories) == (True, 150, ())
    done = repair(path, target)
    assert (done.memories, len(done.sessions)) == (150, has_session)
    assert left_in(target) == kept
    with SqliteMemoryStore(target) as store:
        assert store.forgotten([GONE]) == {GONE: "asked for"}
        assert store.models() == {}
    assert check(target, proves_words=True).whole


def test_repair_keeps_how_far_sessions_were_read(tmp_path: Path) -> None:
    """What was read, and forgotten since, is not read again; a mark that was changed is left out."""
    path, target = tmp_path / "s.db", tmp_path / "t.db"
    marks = [Mark(name, reader, 7, "1", "stamp") for name in ("s", "o\ud800dd") for reader in ("rules", "model")]
    with SqliteMemoryStore(path) as store, SqliteStore(path) as sessions:
        for mark in marks:
            store.add([], mark._replace(next_seq=3))
            store.add([], mark, mark._replace(next_seq=3))
        store.add([MEMORIES[0]], Mark("bad", "rules", 1))
        sessions.claim("s", "facts", "somebody", 5.0, 9.0)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memory_marks SET mark = '[9,\"\",\"\"]' WHERE session = 'bad'")
    repair(path, target)
    with SqliteMemoryStore(target) as copy:
        assert [copy.mark(mark.session_id, mark.reader) for mark in marks] == marks
        assert copy.mark("bad", "rules") is None
        copy.add([], marks[0]._replace(next_seq=8), marks[0])


def test_repair_saves_all_but_the_damaged_memories_when_rows_were_changed(tmp_path: Path) -> None:
    """`check` names their keys."""
    path, target = tmp_path / "s.db", tmp_path / "t.db"
    kept = filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE memories SET text = 'other' WHERE key IN (5, 7)")
    health = check(path)
    assert (health.whole, health.memories, health.damaged_memories) == (False, 150, (5, 7))
    assert repair(path, target).memories == 148
    gone = {MEMORIES[number - 1].memory_id for number in (5, 7)}
    assert left_in(target) == {name: memory for name, memory in kept.items() if name not in gone}


def test_repair_saves_nearly_all_when_noise_hits_any_page(tmp_path: Path) -> None:
    """Whatever it hits: at most the memories of that page are lost, none is changed, none forgotten is back."""
    kept = filled(tmp_path / "s.db")
    data = (tmp_path / "s.db").read_bytes()
    chance = random.Random(3)  # noqa: S311  # repeatable
    for number in range(6):
        path, target = tmp_path / f"{number}.db", tmp_path / f"{number}-copy.db"
        at = chance.randrange(1, len(data) // PAGE_BYTES) * PAGE_BYTES
        path.write_bytes(data[:at] + chance.randbytes(PAGE_BYTES) + data[at + PAGE_BYTES :])
        done = repair(path, target)
        found = left_in(target)
        assert done.memories == len(found) >= 150 - 15, at
        assert found.items() <= kept.items()


def in_page(cells: tuple[object, ...]) -> tuple[object, ...]:
    """Return the cells of a row as its page has them."""
    return None, *(cell.encode() if isinstance(cell, str) else cell for cell in cells[1:])


@pytest.mark.parametrize("first", ["as it is", "as it was"])
def test_memory_stays_history_when_an_older_copy_of_its_row_is_found(first: str, tmp_path: Path) -> None:
    """Whichever is found first; and what is known as forgotten is left out, though its row is found."""
    path, live = tmp_path / "s.db", MEMORIES[1]
    history = replace(live, superseded_by="f-new")
    with closing(files.open_file(str(path), 1.0)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        salvage = Salvage(connection)
        for memory in (history, live) if first == "as it is" else (live, history):
            salvage.take(2, in_page(encode(2, memory)))
        salvage.take(3, in_page(encode(3, MEMORIES[2])))
        number = grave_checksum(3, 1, 2.0, 5.0, GONE.encode(), b"asked for")
        salvage.take(3, in_page((3, GONE, 1, 2.0, number, 5.0, "asked for")))
        assert salvage.finish_memories() == 1
        connection.execute("COMMIT")
    with SqliteMemoryStore(path) as store:
        assert store.get([live.memory_id, GONE]) == [history]
        assert store.forgotten([GONE]) == {GONE: "asked for"}


def test_repair_brings_nothing_back_when_forgotten_bytes_were_never_overwritten(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Free pages may still hold the row, and what is left of it says that it was forgotten."""
    path, target = tmp_path / "s.db", tmp_path / "t.db"

    def fails(_path: str, _busy_seconds: float) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(files, "scrub", fails)
    monkeypatch.setattr(files, "SETTINGS", ("PRAGMA secure_delete = OFF",))
    kept = filled(path)
    with SqliteMemoryStore(path) as store:  # so many in a row that whole pages are free
        assert store.forget([memory.memory_id for memory in MEMORIES[50:100]]) == 50
    left = {name: memory for name, memory in kept.items() if memory not in MEMORIES[50:100]}
    held = path.read_bytes()
    assert sum(memory.text.encode() in held for memory in MEMORIES[50:100]) > 25
    assert repair(path, target).memories == len(left) == 100
    assert left_in(target) == left
