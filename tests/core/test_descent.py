"""Which session goes on from which, from records in both (P-03)."""

from __future__ import annotations

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.descent import CONTINUED, KIND, Descent, ancestors, children_of, parent_of, shown
from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record


def goes_on(store: InMemoryStore, parent_id: str, child_id: str) -> None:
    """Write that one session goes on from another."""
    descent = Descent(parent_id, CONTINUED, 7, at=1.0)
    for session_id, as_child in ((child_id, True), (parent_id, False)):
        number = len(store.records(session_id, KIND))
        store.append(session_id, 0, (), [descent.seen_from(parent_id, child_id, as_child=as_child).record(number)])


def test_sessions_are_found_from_each_other() -> None:
    """All that came before, the nearest first; all that came of one."""
    store = InMemoryStore()
    goes_on(store, "a", "b")
    goes_on(store, "b", "c")
    goes_on(store, "a", "d")
    assert list(ancestors(store, "c")) == ["b", "a"]
    assert [one.other for one in children_of(store, "a")] == ["b", "d"]
    assert parent_of(store, "a") is None
    found = parent_of(store, "c")
    assert found is not None
    assert (found.other, found.way, found.messages, found.at) == ("b", "continued", 7, 1.0)


def test_circle_of_sessions_ends() -> None:
    """Nobody makes one; a store may have been written to by hand."""
    store = InMemoryStore()
    goes_on(store, "a", "b")
    goes_on(store, "b", "a")
    assert list(ancestors(store, "a")) == ["b"]


@pytest.mark.parametrize("body", ["", "[]", '{"other": "a"}', '{"other":"a","way":"b","messages":1,"more":2}'])
def test_record_that_is_none_is_damage(body: str) -> None:
    """Named by its number."""
    store = InMemoryStore()
    store.append("s", 0, (), [Record(KIND, 0, body)])
    with pytest.raises(DamagedStoreError, match="descent 0 can't be read"):
        parent_of(store, "s")


def test_id_is_told_on_one_line() -> None:
    """Without what would end it, and not at any length."""
    assert shown("support/42") == "support/42"
    assert shown("a\x1b[31m\n<b>") == "a[31mb"
    assert len(shown("x" * 1_000)) == 201
