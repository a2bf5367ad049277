"""What a client sends under a key is recorded once, whoever sends it again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record
from squidbot.core.transcript.bookkeeping import KEY, Keys

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = {"memory": {"enabled": False}}


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(("", "a", "b", "\ud800")), st.integers(0, 3)), max_size=9))
def test_what_is_sent_again_under_a_key_is_recorded_once(sent: list[tuple[int, str, int]]) -> None:
    """By sessions that are open at once; without a key all is recorded, and no messages take no key."""
    with squidbot.load(PLAIN) as engine:
        opened = [engine.session("s") for _ in range(3)]
        known: dict[str, tuple[int, ...]] = {}
        due = 0
        for which, key, count in sent:
            rows = opened[which].record([f"m{number}" for number in range(count)], key=key)
            expected = known.get(key, tuple(range(due, due + count)))
            assert tuple(row.seq for row in rows) == expected
            if expected == tuple(range(due, due + count)):
                due += count
            if key and count:
                known.setdefault(key, expected)
        assert engine.wired.store.head("s")[0] == due


def test_writers_at_once_record_one_of_them(tmp_path: Path) -> None:
    """Each has a store of its own open; the key is stored with the messages, or neither is."""

    def send(_: int) -> list[int]:
        with squidbot.load({**PLAIN, "store": {"path": str(tmp_path / "mem.db")}}) as engine:
            return [row.seq for row in engine.session("s").record(["one", "two"], key="a")]

    with squidbot.load({**PLAIN, "store": {"path": str(tmp_path / "mem.db")}}) as engine:
        with ThreadPoolExecutor(6) as threads:
            assert list(threads.map(send, range(6))) == [[0, 1]] * 6
        assert engine.wired.store.head("s")[0] == 2


def test_a_key_is_stored_without_its_words() -> None:
    """It outlasts what is forgotten."""
    with squidbot.load(PLAIN) as engine:
        session = engine.session("s")
        session.record("The code is 4711.", key="the code 4711")
        session.forget(0)
        assert "4711" not in "".join(record.body for record in engine.wired.store.records("s", KEY.name))
        (row,) = session.record("The code is 4711.", key="the code 4711")
        assert "4711" not in row.payload
        assert engine.wired.store.head("s")[0] == 1


def test_a_damaged_record_of_a_key_is_named() -> None:
    """Nothing is recorded twice instead."""
    store = InMemoryStore()
    store.append("s", 0, [], [Record(KEY.name, 0, "[1]")])
    with pytest.raises(DamagedStoreError, match="key 0 can't be read"):
        Keys(store, "s").find("a")
