"""The leases of a session as records."""

from __future__ import annotations

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import ContextEngine
from squidbot.core.errors import DamagedStoreError
from squidbot.core.leases import LEASE, due_lease, lease_named, newest_lease
from squidbot.core.messages import Record

from .promises.driver import CODEC, Heard, Setup, opened, user
from .promises.histories import tame


def test_first_write_under_a_lease_records_it() -> None:
    """Once for each change of lease, with a message, a pin or an event; other calls write none."""
    store = InMemoryStore()
    heard = Heard()
    small, large = Setup(4096), Setup(8192)
    session = opened(store, small, observer=heard)
    assert store.head("s") == (0, 0)
    session.record(user("one"))
    session.record(user("two"))
    opened(store, small).record(user("three"))
    assert newest_lease(store, "s") == small.lease
    opened(store, large).pin(0)
    assert newest_lease(store, "s") == large.lease
    opened(store, large).record(*tame(30, 60))
    assert len(store.records("s", "lease")) == 2
    opened(store, small).assemble([user("?")])
    assert newest_lease(store, "s") == small.lease
    assert [record.number for record in store.records("s", "lease")] == [0, 1, 2]
    assert heard.names() == ["lease-opened"]


def test_any_process_goes_on_under_the_lease_there_was() -> None:
    """The engine tells it; none for a session that nobody wrote to."""
    store = InMemoryStore()
    engine = ContextEngine(store, store, {CODEC.tag: CODEC})
    assert engine.lease("s") is None
    opened(store, Setup(4096)).record(user("one"))
    assert engine.lease("s") == Setup(4096).lease
    assert engine.lease("t") is None


def test_lease_is_found_by_its_id() -> None:
    """Of all that a session has had."""
    store = InMemoryStore()
    for window in (4096, 8192):
        opened(store, Setup(window)).record(user("x"))
    assert lease_named(store, "s", Setup(4096).lease.lease_id) == Setup(4096).lease
    assert lease_named(store, "s", "lease-x") is None
    assert due_lease(store.last_record("s", LEASE), Setup(8192).lease) == ()
    (due,) = due_lease(store.last_record("s", LEASE), Setup(4096).lease)
    assert (due.kind, due.number) == ("lease", 2)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"colour": "red"}'])
def test_record_that_is_no_lease_is_damage(body: str) -> None:
    """Named by its number."""
    store = InMemoryStore()
    store.append("s", 0, [], [Record("lease", 0, body)])
    with pytest.raises(DamagedStoreError, match=r"^lease 0 can't be read: "):
        newest_lease(store, "s")
