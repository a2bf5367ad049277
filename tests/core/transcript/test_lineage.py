"""Which session goes on from which, from records in both (P-03)."""

from __future__ import annotations

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.transcript.lineage import (
    CHILD,
    CONTINUED,
    LINEAGE,
    Lineage,
    ancestors,
    children_of,
    parent_of,
    shown,
)
from squidbot.core.transcript.records import append


def goes_on(store: InMemoryStore, parent_id: str, child_id: str) -> None:
    """Write that one session goes on from another."""
    descent = Lineage(parent_id, CONTINUED, 7, at=1.0)
    for session_id, one in ((child_id, descent), (parent_id, descent._replace(other=child_id, side=CHILD))):
        append(store, session_id, LINEAGE, lambda one=one: one, "nothing")  # type: ignore[misc]


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


def test_id_is_told_on_one_line() -> None:
    """Without what would end it, and not at any length."""
    assert shown("support/42") == "support/42"
    assert shown("a\x1b[31m\n<b>") == "a[31mb"
    assert len(shown("x" * 1_000)) == 201
