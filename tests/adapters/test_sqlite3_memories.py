"""Memories in one SQLite file: the port's check, upgrades, the index, damage, vectors."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.common import memories, postings
from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.doctor import check
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore, index, rows
from squidbot.core.errors import DamagedStoreError, StoreError
from squidbot.core.memories import Scope, View
from squidbot.core.vectors import packed
from squidbot.testing import check_memory_store, made_memory, made_message
from squidbot.testing.memories import ANN, SEEN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from squidbot.core.ports import MemoryStore


def changed(path: Path, *statements: str, cells: Sequence[object] = ()) -> None:
    """Run statements on a file behind the store's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement, cells)


def found(store: SqliteMemoryStore, query: str) -> list[str]:
    """Return the ids of Ann's memories that answer a query."""
    return [hit.key for hit in store.search(query, SEEN, now=0.0)]


def test_sqlite_memory_store_keeps_the_promises_of_memories(tmp_path: Path) -> None:
    """The public check of the port passes, in a file for each of its parts, opened again in between."""
    made: list[Path] = []

    def fresh() -> SqliteMemoryStore:
        made.append(tmp_path / f"{len(made)}.db")
        return SqliteMemoryStore(made[-1])

    def reopened(store: MemoryStore) -> SqliteMemoryStore:
        assert isinstance(store, SqliteMemoryStore)
        store.close()
        return SqliteMemoryStore(made[-1])

    check_memory_store(fresh, reopened)


# -- the file ---------------------------------------------------------------------------------------------------------


def test_file_of_before_gets_memories_beside_its_sessions_when_it_is_opened_for_them(tmp_path: Path) -> None:
    """Neither store disturbs the other: both are read, searched and checked as alone."""
    path, memory, message = tmp_path / "s.db", made_memory("Ann keeps bees."), made_message(0, "tea")
    with SqliteStore(path) as sessions:
        sessions.append("s", 0, [message])
        with SqliteMemoryStore(path) as store:
            store.add([memory])
            assert found(store, "bees") == [memory.memory_id]
        assert [each.seq for each in sessions.search("s", "tea", 9)] == [0]
        assert sessions.search("s", "bees", 9) == []
    with SqliteMemoryStore(path) as store:
        assert store.get([memory.memory_id]) == [memory]
        assert found(store, "tea") == []
    assert check(path).whole


def test_file_without_a_store_is_refused_when_none_may_be_made(tmp_path: Path) -> None:
    """As with sessions: a path that is wrong makes no new, empty file."""
    with pytest.raises(StoreError, match="there is no store"):
        SqliteMemoryStore(tmp_path / "s.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("statement", "error", "says"),
    [
        ("UPDATE memory_layout SET version = 3", StoreError, "layout 3, newer than this squidbot's 2; update squidbot"),
        ("UPDATE memory_layout SET version = 'x'", DamagedStoreError, "unknown layout"),
        ("DELETE FROM memory_layout", DamagedStoreError, "unknown layout"),
    ],
)
def test_file_is_refused_when_its_memories_are_of_another_layout(
    statement: str, error: type[StoreError], says: str, tmp_path: Path
) -> None:
    """One clear line; sessions in the same file are read all the same."""
    path = tmp_path / "s.db"
    SqliteMemoryStore(path).close()
    changed(path, statement)
    with pytest.raises(error, match=says):
        SqliteMemoryStore(path)
    with SqliteStore(path) as sessions:
        assert sessions.head("s") == (0, 0)


def test_key_is_not_used_again_when_the_newest_memory_is_forgotten(tmp_path: Path) -> None:
    """What other views hold by key can't come to mean another memory."""
    with SqliteMemoryStore(tmp_path / "s.db") as store:
        store.add([made_memory("red"), made_memory("green")])
        store.forget([made_memory("green").memory_id])
        store.add([made_memory("blue"), made_memory("green")])
        found = rows.readable(store._connection, 0, 9)
        assert {key: memory and memory.text for key, memory in found.items()} == {1: "red", 3: "blue", 4: "green"}
        assert list(rows.readable(store._connection, 1, 1)) == [3]


# -- the index --------------------------------------------------------------------------------------------------------


def an_index(path: Path) -> str:
    """Return the numbers of the one index of memories in a file."""
    with closing(sqlite3.connect(path)) as connection:
        ((name,),) = connection.execute("SELECT name FROM sqlite_master WHERE name GLOB 'memory_last_*'").fetchall()
    return str(name).removeprefix("memory_last_")


LOST = {
    "its words are gone": ["DROP TABLE memory_words_{0}"],
    "its counts are gone": ["DROP TABLE memory_seen_{0}"],
    "it does not say how far it goes": ["DELETE FROM memory_last_{0}"],
    "all of it is gone": ["DROP TABLE memory_words_{0}", "DROP TABLE memory_seen_{0}", "DROP TABLE memory_last_{0}"],
    "its pages are overwritten": ["UPDATE memory_words_{0}_data SET block = x'00ff00ff00ff' WHERE id > 10"],
    "other rules made it": [
        "ALTER TABLE memory_words_{0} RENAME TO memory_words_0_7",
        "ALTER TABLE memory_seen_{0} RENAME TO memory_seen_0_7",
        "ALTER TABLE memory_last_{0} RENAME TO memory_last_0_7",
    ],
    "it is behind": [
        "UPDATE memory_last_{0} SET key = 0",
        "INSERT INTO memory_words_{0}(memory_words_{0}) VALUES('delete-all')",
    ],
}


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("first", ["search", "add", "supersede", "forget"])
def test_index_is_made_anew_when_it_is_lost_or_damaged(lost: str, first: str, tmp_path: Path) -> None:
    """Whatever is called first, all is found afterwards, and nothing that is not there."""
    path = tmp_path / "s.db"
    old, gone, other = made_memory("Ann drinks tea."), made_memory("Ann keeps a walrus."), made_memory("Ann has bees.")
    with SqliteMemoryStore(path) as store:
        store.add([old, gone, other])
    name = an_index(path)
    changed(path, *(statement.format(name) for statement in LOST[lost]))
    new = made_memory("Ann owns a violin.", supersedes=old.memory_id if first == "supersede" else "")
    with SqliteMemoryStore(path) as store:
        if first in {"add", "supersede"}:
            store.add([new])
        elif first == "forget":
            assert store.forget([gone.memory_id]) == 1
        assert found(store, "bees") == [other.memory_id]
        assert found(store, "walrus") == ([] if first == "forget" else [gone.memory_id])
        assert found(store, "tea") == ([] if first == "supersede" else [old.memory_id])
        assert found(store, "violin") == ([new.memory_id] if first in {"add", "supersede"} else [])
    an_index(path)


def test_view_is_searched_in_its_own_lists_when_others_have_the_same_words(tmp_path: Path) -> None:
    """How much another user has does not change what a search costs: no row, and no entry, of theirs is looked at."""
    bob = Scope(user="bob", bot="squid")
    with SqliteMemoryStore(tmp_path / "s.db") as store:
        store.add([made_memory(f"tea {number}", bob) for number in range(1000)])
        store.add([made_memory("tea own", ANN)])
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        costs = []
        for view in (SEEN, View(bob)):
            found(store, "tea")
            store._connection.set_progress_handler(count, 1)
            steps = 0
            store.search("tea", view, now=0.0)
            costs.append(steps)
            store._connection.set_progress_handler(None, 0)
        assert costs[0] < costs[1] / 5, f"instructions of SQLite: {costs}"


def test_rare_words_decide_when_common_ones_have_more_memories_than_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In 3,000 memories with the same words the old one with all of them is found, and so is that with the rare one."""
    monkeypatch.setattr(postings, "PROBED", 128)
    with SqliteMemoryStore(tmp_path / "s.db") as store:
        rare, both = made_memory("walrus alone", time=1.0), made_memory("red green blue", time=2.0)
        store.add([rare, both])
        words = ("red", "green", "blue", "grey")
        store.add([made_memory(f"{words[number % 4]} number{number}", time=9.0 + number) for number in range(3000)])
        assert found(store, "red green blue")[0] == both.memory_id
        assert found(store, "red walrus")[0] == rare.memory_id
        assert len(store.search("grey", SEEN, limit=700, now=0.0)) >= 500


def test_history_does_not_crowd_out_what_holds_when_there_is_more_of_it_than_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An old memory that still holds is found behind a thousand newer ones that do not."""
    monkeypatch.setattr(postings, "PROBED", 128)
    with SqliteMemoryStore(tmp_path / "s.db") as store:
        old = made_memory("tea own", time=1.0)
        store.add([old, *(made_memory(f"tea {number}", memory_id=f"m{number}") for number in range(700))])
        store.add([made_memory(f"milk {number}", supersedes=f"m{number}") for number in range(700)])
        (hit,) = store.search("tea", SEEN, now=0.0)
        assert hit.key == old.memory_id
        assert hit.score > 0.9
        assert len(store.search("tea", SEEN, limit=600, now=0.0, past=True)) == 600


def test_memories_of_others_stay_unseen_when_the_index_confuses_all_views(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two digests in nine quintillions are equal; what is found or listed is looked at again, by its own scope."""
    for module in (index, rows, memories, postings):
        monkeypatch.setattr(module, "view_digests", lambda _scope: (1, 1, 1, 1))
        monkeypatch.setattr(module, "view_digest", lambda _view: 1, raising=module is not postings)
    mine, bobs = made_memory("tea"), made_memory("tea", Scope(user="bob"))
    with SqliteMemoryStore(tmp_path / "s.db") as store:
        store.add([mine, bobs])
        assert found(store, "tea") == [mine.memory_id]
        assert store.listed(SEEN) == [mine]
        assert store.listed(View(Scope(user="bob"), "global")) == [bobs]


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cell",
    [
        "text = 'Bob keeps bees.'",
        "scope = replace(scope, 'ann', 'bob')",
        "bot = bot + 1",
        "time = 'x'",
        "reason = NULL",
    ],
)
def test_damaged_memory_is_told_and_never_found_when_a_cell_was_changed(cell: str, tmp_path: Path) -> None:
    """The others are served, and it can be forgotten."""
    path, bees, tea = tmp_path / "s.db", made_memory("Ann keeps bees."), made_memory("Ann drinks tea.")
    with SqliteMemoryStore(path) as store:
        store.add([bees, tea])
    changed(
        path, "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'reason TEXT NOT NULL', 'reason TEXT') WHERE name = 'memories'",
    )  # fmt: skip
    changed(path, f"UPDATE memories SET {cell} WHERE key = 1")  # noqa: S608  # one of those above
    with SqliteMemoryStore(path) as store:
        with pytest.raises(DamagedStoreError, match=r"memory 1 .*forget it, or restore a backup"):
            store.get([bees.memory_id])
        assert found(store, "bees keeps") == []
        assert found(store, "tea") == [tea.memory_id]
        assert store.get([tea.memory_id]) == [tea]
        assert store.forget([bees.memory_id]) == 1
        assert store.listed(SEEN) == [tea]
        assert found(store, "tea keeps") == [tea.memory_id]


# -- vectors ----------------------------------------------------------------------------------------------------------


def test_vectors_come_back_by_model_when_they_were_kept(tmp_path: Path) -> None:
    """Models are never mixed; what has no vector yet is told; what is forgotten has none any more."""
    memories = [made_memory(f"number {number}") for number in range(5)]
    ids = [memory.memory_id for memory in memories]
    with SqliteMemoryStore(tmp_path / "s.db") as store:
        store.add(memories)
        assert store.without_vectors("mini", limit=2) == memories[:2]
        assert store.put_vectors("mini", 2, {name: (0.5, number) for number, name in enumerate(ids[:4])}) == 4
        assert store.put_vectors("maxi", 3, {ids[4]: (1.0, 2.0, 3.0), "nobody": (1.0, 2.0, 3.0)}) == 1
        assert store.models() == {"mini": 2, "maxi": 3}
        assert store.without_vectors("mini") == memories[4:]
        assert store.without_vectors("maxi", after=ids[1]) == memories[2:4]
        mini, maxi = store.vectors_of("mini", 2), store.vectors_of("maxi", 3)
        kept = mini.behind(0, 9)
        assert [(each.memory_id, each.vector) for each in kept] == [
            (name, packed((0.5, number))) for number, name in enumerate(ids[:4])
        ]
        assert mini.behind(kept[1].place, 1) == kept[2:3]
        assert store.vectors_of("other", 2).behind(0, 9) == []
        with pytest.raises(StoreError, match="3 dimensions in this store, not 2; nothing was written"):
            store.put_vectors("maxi", 2, {ids[0]: (1.0, 2.0)})
        with pytest.raises(StoreError, match=r"a vector of 2 numbers.*has 3.*nothing was written"):
            store.put_vectors("maxi", 3, {ids[0]: (1.0, 2.0, 3.0), ids[1]: (1.0, 2.0)})
        assert [each.memory_id for each in maxi.behind(0, 9)] == ids[4:]
        store.forget([ids[1], ids[4]])
        assert [each.memory_id for each in mini.behind(0, 9)] == [ids[0], *ids[2:4]]
        assert maxi.behind(0, 9) == []
        store.drop_vectors("mini")
        store.drop_vectors("other")
        assert store.models() == {"maxi": 3}
        assert mini.behind(0, 9) == []


@pytest.mark.parametrize("wrong", [(float("nan"), 1.0), (0.0, 0.0), (float("inf"), 1.0)])
def test_vector_without_a_direction_is_refused_with_all_that_came_with_it(
    wrong: tuple[float, float], tmp_path: Path
) -> None:
    """It would be near to nothing, or to everything."""
    memories = [made_memory(f"number {number}") for number in range(2)]
    with SqliteMemoryStore(tmp_path / "s.db") as store:
        store.add(memories)
        with pytest.raises(StoreError, match=r"has no direction; nothing was written"):
            store.put_vectors("m", 2, {memories[0].memory_id: (1.0, 0.0), memories[1].memory_id: wrong})
        assert store.models() == {}
        assert store.newest_without("m", 5) == memories
        assert store.waiting("m") == 2
