"""The windows of a session as records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import WindowSettings, open_window
from squidbot.core.engine import ContextEngine
from squidbot.core.messages import Record
from squidbot.core.transcript.windows import LEARNED, WINDOW, LearnedWindow, learned_tokens

from ..promises.driver import CODEC, Heard, Setup, assistant, opened, user
from ..promises.histories import tame

if TYPE_CHECKING:
    from squidbot.core.session import CoreSession


def test_first_write_under_a_lease_records_it() -> None:
    """Once for each change of window, with a message, a pin or an event; other calls write none."""
    store = InMemoryStore()
    heard = Heard()
    small, large = Setup(4096), Setup(8192)
    session = opened(store, small, observer=heard)
    assert store.head("s") == (0, 0)
    session.record(user("one"))
    session.record(user("two"))
    opened(store, small).record(user("three"))
    assert WINDOW.newest(store, "s") == small.window
    opened(store, large).pin(0)
    assert WINDOW.newest(store, "s") == large.window
    opened(store, large).record(*tame(30, 60))
    assert len(store.records("s", WINDOW.name)) == 2
    opened(store, small).assemble([user("?")])
    assert WINDOW.newest(store, "s") == small.window
    assert [record.number for record in store.records("s", WINDOW.name)] == [0, 1, 2]
    assert heard.names() == ["lease-opened"]


def test_any_process_goes_on_under_the_lease_there_was() -> None:
    """The engine tells it; none for a session that nobody wrote to."""
    store = InMemoryStore()
    engine = ContextEngine(store, store, {CODEC.tag: CODEC})
    assert engine.window("s") is None
    opened(store, Setup(4096)).record(user("one"))
    assert engine.window("s") == Setup(4096).window
    assert engine.window("t") is None


def test_window_is_stored_once_for_each_change() -> None:
    """The window of a session that was opened before is not written again."""
    store = InMemoryStore()
    for window_tokens in (4096, 8192):
        opened(store, Setup(window_tokens)).record(user("x"))
    assert WINDOW.all(store, "s") == [Setup(4096).window, Setup(8192).window]
    assert WINDOW.due(store.last_record("s", WINDOW.name), Setup(8192).window) == []
    (due,) = WINDOW.due(store.last_record("s", WINDOW.name), Setup(4096).window)
    assert (due.kind, due.number) == ("window", 2)


def test_lease_that_differs_in_its_detail_alone_is_the_same() -> None:
    """How a size came about names free bytes, which differ from day to day: no new window, but the first one tells."""
    told = [
        open_window(WindowSettings(4096, source="auto-vram", detail=said), "classes", "measured")
        for said in ("6.1 GiB free", "6.2 GiB free")
    ]
    assert told[0] == told[1]
    assert told[0].window_id == told[1].window_id
    (due,) = WINDOW.due(None, told[0])
    assert WINDOW.read(due).detail == "6.1 GiB free"
    assert WINDOW.due(due, told[1]) == []
    assert WINDOW.read(Record(WINDOW.name, 0, due.body.replace(',"detail":"6.1 GiB free"', ""))).detail == ""


def test_event_of_a_lease_tells_how_its_window_came_about() -> None:
    """The source, and behind it the sentences; a source alone where there are none (B-08)."""
    for detail, cause in (("71,680 fit", "auto-vram: 71,680 fit"), ("", "auto-vram")):
        heard, store, setup = Heard(), InMemoryStore(), Setup(4096)
        window = replace(setup.window, source="auto-vram", detail=detail)
        engine = ContextEngine(store, store, {CODEC.tag: CODEC}, heard)
        engine.session("s", window, setup.meter, setup.settings).record(user("one"))
        assert [event.cause for event in heard.events if event.name == "lease-opened"] == [cause]


def test_window_that_a_refusal_has_shown_is_kept_with_the_first_answer_in_it() -> None:
    """Once: neither with the user's words, nor with an event, nor again."""
    store, setup = InMemoryStore(), Setup(4096)
    window = replace(setup.window, source="overflow", learned_for="big@api 8192")
    engine = ContextEngine(store, store, {CODEC.tag: CODEC})

    def session() -> CoreSession:
        return engine.session("s", window, setup.meter, setup.settings)

    held = session()
    made = held.assemble([user("hello")])
    held.record(*made.incoming)
    assert store.records("s", LEARNED.name) == []
    held.record(assistant("hello"))
    session().record(assistant("again"))
    (kept,) = store.records("s", LEARNED.name)
    assert learned_tokens([LEARNED.read(kept)], "big@api 8192") == 4096
    assert learned_tokens([LEARNED.read(kept)], "big@api 16384") is None
    assert LEARNED.due(kept, LearnedWindow("big@api 8192", 4096)) == []
    (smaller,) = LEARNED.due(kept, LearnedWindow("big@api 8192", 2048))
    assert (smaller.number, learned_tokens(map(LEARNED.read, [smaller, kept]), "big@api 8192")) == (1, 2048)
