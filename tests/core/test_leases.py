"""The leases of a session as records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import WindowSettings, open_lease
from squidbot.core.engine import ContextEngine
from squidbot.core.errors import DamagedStoreError
from squidbot.core.leases import (
    LEARNED,
    LEASE,
    due_learned,
    due_lease,
    learned_tokens,
    lease_named,
    lease_of,
    newest_lease,
)
from squidbot.core.messages import Record

from .promises.driver import CODEC, Heard, Setup, assistant, opened, user
from .promises.histories import tame

if TYPE_CHECKING:
    from squidbot.core.session import Session


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


def test_lease_that_differs_in_its_detail_alone_is_the_same() -> None:
    """How a size came about names free bytes, which differ from day to day: no new lease, but the first one tells."""
    told = [
        open_lease(WindowSettings(4096, source="auto-vram", detail=said), "classes", "measured")
        for said in ("6.1 GiB free", "6.2 GiB free")
    ]
    assert told[0] == told[1]
    assert told[0].lease_id == told[1].lease_id
    (due,) = due_lease(None, told[0])
    assert lease_of(due).detail == "6.1 GiB free"
    assert due_lease(due, told[1]) == ()
    assert lease_of(Record(LEASE, 0, due.body.replace(',"detail":"6.1 GiB free"', ""))).detail == ""


def test_event_of_a_lease_tells_how_its_window_came_about() -> None:
    """The source, and behind it the sentences; a source alone where there are none (B-08)."""
    for detail, cause in (("71,680 fit", "auto-vram: 71,680 fit"), ("", "auto-vram")):
        heard, store, setup = Heard(), InMemoryStore(), Setup(4096)
        lease = replace(setup.lease, source="auto-vram", detail=detail)
        engine = ContextEngine(store, store, {CODEC.tag: CODEC}, heard)
        engine.session("s", lease, setup.meter, setup.settings).record(user("one"))
        assert [event.cause for event in heard.events if event.name == "lease-opened"] == [cause]


def test_window_that_a_refusal_has_shown_is_kept_with_the_first_answer_in_it() -> None:
    """Once: neither with the user's words, nor with an event, nor again."""
    store, setup = InMemoryStore(), Setup(4096)
    lease = replace(setup.lease, source="overflow", learned_for="big@api 8192")
    engine = ContextEngine(store, store, {CODEC.tag: CODEC})

    def session() -> Session:
        return engine.session("s", lease, setup.meter, setup.settings)

    held = session()
    made = held.assemble([user("hello")])
    held.record(*made.incoming)
    assert store.records("s", LEARNED) == []
    held.record(assistant("hello"))
    session().record(assistant("again"))
    (kept,) = store.records("s", LEARNED)
    assert learned_tokens([kept], "big@api 8192") == 4096
    assert learned_tokens([kept], "big@api 16384") is None
    assert due_learned(kept, lease) == ()
    (smaller,) = due_learned(kept, replace(lease, window_tokens=2048))
    assert (smaller.number, learned_tokens([smaller, kept], "big@api 8192")) == (1, 2048)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"for": "a"}', '{"for": "a", "window_tokens": "x"}'])
def test_record_that_is_no_learned_window_is_damage(body: str) -> None:
    """Named by its number."""
    with pytest.raises(DamagedStoreError, match=r"^learned window 3 can't be read: "):
        learned_tokens([Record(LEARNED, 3, body)], "a")
