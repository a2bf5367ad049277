"""What search finds by, held against the rows: damage that nobody notices who searches is found by `doctor`."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.sqlite3 import SqliteStore
from squidbot.adapters.sqlite3.doctor import check, repair
from squidbot.adapters.sqlite3.memory import SqliteMemoryStore
from squidbot.adapters.sqlite3.memory.rows import readable
from squidbot.core.errors import StoreError
from squidbot.core.memories import Scope, Source
from squidbot.core.messages import Erasure
from squidbot.testing import made_memory, made_message
from squidbot.testing.memories import SEEN
from squidbot.testing.transcripts import made_tombstone

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.core.memories import Memory

COUNT = 60
MEMORIES = [made_memory(f"tea own{number}", time=float(number)) for number in range(COUNT)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store's file with messages and memories that each have a word of their own and one in common."""
    path = tmp_path_factory.mktemp("whole") / "s.db"
    with SqliteStore(path) as store:
        store.append("s", 0, [made_message(seq, f"tea own{seq}") for seq in range(COUNT)])
        assert len(store.search("s", "tea", 1000)) == COUNT
    with SqliteMemoryStore(path) as memories:
        memories.add(MEMORIES)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(whole, tmp_path / "s.db"))


def words_of(connection: sqlite3.Connection, begin: str) -> str:
    """Return the name of a table of words."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master ORDER BY length(name)")]
    return next(str(name) for name in names if name.startswith(begin))


def changed(path: Path, begin: str, change: Callable[[sqlite3.Connection, str], None]) -> Path:
    """Change a table of words behind the store's back."""
    with closing(sqlite3.connect(path)) as connection:
        with connection:
            change(connection, words_of(connection, begin))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def flipped(seed: int) -> Callable[[sqlite3.Connection, str], None]:
    """Return what changes one bit of the words."""
    noise = random.Random(seed)  # noqa: S311  # damage, no secret

    def change(connection: sqlite3.Connection, words: str) -> None:
        blocks = connection.execute(f"SELECT id, block FROM {words}_data WHERE id > 10").fetchall()  # noqa: S608  # our own
        key, block = noise.choice(blocks)
        damaged = bytearray(block)
        damaged[noise.randrange(len(damaged))] ^= 1 << noise.randrange(8)
        connection.execute(f"UPDATE {words}_data SET block = ? WHERE id = ?", (bytes(damaged), key))  # noqa: S608

    return change


def hides_messages(path: Path) -> bool:
    """Say whether a message is not found by its words, or by others'; what is noticed is made anew before."""
    with SqliteStore(path) as store:
        found = [[hit.seq for hit in store.search("s", f"own{seq}", 9)] for seq in range(COUNT)]
        return found != [[seq] for seq in range(COUNT)] or len(store.search("s", "tea", 999)) != COUNT


def hides_memories(path: Path) -> bool:
    """Say so of memories."""
    with SqliteMemoryStore(path) as store:
        found = [store.search(each.text.split()[1], SEEN, now=0.0, limit=999) for each in MEMORIES]
        whole = all(each.memory_id in {hit.key for hit in hits} for each, hits in zip(MEMORIES, found, strict=True))
        return not whole or len(store.search("tea", SEEN, now=0.0, limit=999)) != COUNT


@pytest.mark.parametrize(("begin", "hides"), [("words_", hides_messages), ("memory_words_", hides_memories)])
def test_bit_that_hides_a_word_is_found_by_the_doctor(
    whole: Path, tmp_path: Path, begin: str, hides: Callable[[Path], bool]
) -> None:
    """Whatever is not found any more without anybody noticing: 8 bits, of which some do so."""
    hidden = 0
    for seed in range(8):
        path = changed(Path(shutil.copy(whole, tmp_path / f"{seed}.db")), begin, flipped(seed))
        health = check(path, proves_words=True)
        assert check(path).whole
        if hides(path):
            hidden += 1
            assert not health.whole, f"seed {seed}"
            assert (
                f"the search index of {'messages' if begin == 'words_' else 'facts'} is damaged" in health.problems[0]
            )
    assert hidden >= 2


@pytest.mark.parametrize(
    ("begin", "said"),
    [("words_", "the messages are intact. --repair rebuilds it"), ("memory_words_", "squidbot memory reindex --anew")],
)
def test_index_that_is_whole_and_says_something_else_is_found_by_the_doctor(copy: Path, begin: str, said: str) -> None:
    """A word that was taken out, and one that was put in: FTS5 sees nothing wrong with either."""

    def other(connection: sqlite3.Connection, words: str) -> None:
        connection.execute(f"INSERT INTO {words}(rowid, terms) VALUES(7, 'walrus')")

    (problem,) = check(changed(copy, begin, other), proves_words=True).problems
    assert said in problem


def test_repair_makes_what_search_finds_by_anew(copy: Path, tmp_path: Path) -> None:
    """Nothing of it is copied."""

    def without(connection: sqlite3.Connection, words: str) -> None:
        connection.execute(f"INSERT INTO {words}({words}, rowid, terms) VALUES('delete', 65, 'own1 tea')")

    ill = changed(changed(copy, "words_", without), "memory_words_", flipped(3))
    assert not check(ill, proves_words=True).whole
    repair(ill, tmp_path / "t.db")
    assert not hides_messages(tmp_path / "t.db")
    assert not hides_memories(tmp_path / "t.db")
    assert check(tmp_path / "t.db", proves_words=True).whole


def test_counts_of_views_that_are_wrong_are_found_by_the_doctor_and_mended_by_indexing_anew(copy: Path) -> None:
    """They say whether a view has all that its owner has."""

    def fewer(connection: sqlite3.Connection, words: str) -> None:
        connection.execute(f"UPDATE {words.replace('words', 'seen')} SET live = live - 1")  # noqa: S608

    assert not check(changed(copy, "memory_words_", fewer), proves_words=True).whole
    with SqliteMemoryStore(copy) as store:
        store.reindex()
    assert check(copy, proves_words=True).whole


def test_index_that_is_missing_or_not_up_to_its_rows_is_not_wrong(copy: Path) -> None:
    """Who searches makes it, or what of it is missing."""
    with SqliteStore(copy) as store, SqliteMemoryStore(copy) as memories:
        store.append("s", COUNT, [made_message(COUNT, "tea")])
        memories.add([made_memory("later")])
    assert check(copy, proves_words=True).whole
    with closing(sqlite3.connect(copy)) as connection, connection:
        for begin in ("words_", "indexed_"):
            connection.execute(f"DROP TABLE {words_of(connection, begin)}")
        connection.execute(f"UPDATE {words_of(connection, 'memory_last_')} SET key = 9")  # noqa: S608
        connection.execute(f"DROP TABLE {words_of(connection, 'memory_words_')}")
    (problem,) = check(copy, proves_words=True).problems
    assert "facts" in problem, "an index half of which is gone is damaged"


def test_copy_that_finds_no_room_is_told_and_is_no_damage(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to do."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(StoreError, match=r"nowhere: cannot copy the search index .*; set TMPDIR"):
        check(copy, proves_words=True)


TEXTS = st.sampled_from(("tea", "tea and milk", "the teas of 1999", "\u7f13\u5b58", "\ud800", "\0 x", ""))
OTHERS = (Scope(user="ann", bot="squid"), Scope(user="ann", bot="crab"), Scope(user="ben", collection="files"))
ACTS = st.one_of(
    st.tuples(st.just("append"), st.lists(TEXTS, min_size=1, max_size=70), st.just(0)),
    st.tuples(st.just("forget message"), st.just([""]), st.integers(0, 200)),
    st.tuples(st.just("add"), st.lists(TEXTS, min_size=1, max_size=4), st.integers(0, 2)),
    st.tuples(st.just("supersede"), st.lists(TEXTS, min_size=1, max_size=1), st.integers(0, 9)),
    st.tuples(st.just("forget"), st.just([""]), st.integers(0, 9)),
    st.tuples(st.just("exchange"), st.lists(TEXTS, min_size=1, max_size=2), st.integers(0, 9)),
    st.tuples(st.just("unsay"), st.just([""]), st.integers(0, 9)),
    st.tuples(st.just("search"), st.just(["tea"]), st.integers(0, 2)),
)


class Acting:
    """Sessions and memories in one file, to which things happen."""

    def __init__(self, path: Path) -> None:
        self.sessions = SqliteStore(path)
        self.memories = SqliteMemoryStore(path)
        self.number = 0

    def close(self) -> None:
        """Close both."""
        self.sessions.close()
        self.memories.close()

    def act(self, name: str, texts: list[str], number: int) -> None:
        """Let something happen."""
        there = [memory.memory_id for memory in readable(self.memories._connection, 0, 999).values() if memory]
        chosen = there[number % len(there)] if there else ""
        if name == "append":
            first = self.sessions.head("s")[0]
            self.sessions.append("s", first, [made_message(seq, text) for seq, text in enumerate(texts, first)])
        elif name == "forget message":
            self.forget_message(number)
        elif name == "search":
            self.sessions.search("s", texts[0], 5)
            self.memories.search(texts[0], SEEN, now=0.0)
        elif name == "add":
            self.memories.add(self.made(texts, OTHERS[number]))
        elif name == "supersede" and chosen:
            (new,) = self.made(texts, self.memories.get([chosen])[0].scope)
            self.memories.add([new])
            self.memories.supersede({chosen: new.memory_id})
        elif name == "forget":
            self.memories.forget([chosen])
        elif name == "exchange":
            self.memories.exchange([chosen] if chosen else [], self.made(texts, OTHERS[number % 3]))
        elif name == "unsay":
            self.memories.forget_messages("s", [number])

    def made(self, texts: list[str], scope: Scope) -> list[Memory]:
        """Return new memories."""
        self.number += 1
        return [
            made_memory(text, scope, sources=(Source("s", at, at), Source(path="a.md", first_seq=self.number)))
            for at, text in enumerate(texts)
        ]

    def forget_message(self, number: int) -> None:
        """Forget a message, if there is any."""
        messages, records = self.sessions.head("s")
        if messages:
            (message,) = self.sessions.pick("s", [number % messages])
            self.sessions.forget("s", Erasure((messages, records), (made_tombstone(message),)))


@given(st.lists(ACTS, max_size=12))
@settings(max_examples=40, deadline=None)
def test_what_search_finds_by_says_what_the_rows_say_whatever_happened(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, list[str], int]]
) -> None:
    """Messages and memories added, replaced, taken out: nothing is wrong with either index at any time."""
    path = tmp_path_factory.mktemp("acts") / "s.db"
    acting = Acting(path)
    try:
        for name, texts, number in acts:
            with suppress(StoreError):  # what has a place taken already is replaced
                acting.act(name, texts, number)
        assert check(path, proves_words=True).problems == ()
    finally:
        acting.close()
