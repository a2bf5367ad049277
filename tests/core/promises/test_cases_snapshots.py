"""Snapshots of a session, case by case: plan and pins come back, and nothing that goes wrong with them fails a turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import ContextEngine
from squidbot.core.errors import BudgetError, NotFoundError
from squidbot.core.messages import Record
from squidbot.core.transcript.snapshots import SNAPSHOT, Retention

from .driver import CODEC, Heard, Host, Meddled, Setup, assistant, held, opened, requests, result, user
from .histories import tame
from .rules import breaks_at, is_said

if TYPE_CHECKING:
    from collections.abc import Sequence


SETUP = Setup(8192)


def talked(setup: Setup = SETUP, turns: int = 6) -> Host:
    """Return a host that has talked, without an event."""
    host = Host(InMemoryStore(), setup)
    host.run(tame(turns, 60))
    assert all(request.event is None for request in requests(host.calls))
    return host


def test_restored_plan_and_pins_are_those_of_the_snapshot() -> None:
    """Everything raw, one pin and one text; after an event and other pins the former bytes come back."""
    host = talked()
    session = host.session
    session.pin(2)
    session.pin_text("goal", "win")
    session.pin_text("plan", "first steps")
    made = session.snapshot("before", now=5.0)
    former = requests(host.calls)[-1]
    session.pin(2, on=False)
    session.pin(4)
    session.pin_text("goal", "draw")
    session.pin_text("plan", "")
    session.pin_text("other", "x")
    session.compact()
    plan = session.restore("before", now=9.0)
    assert (plan.cause, plan.held, plan.repeats, plan.segments) == ("restore", True, None, ())
    host.pending.append(user("and now?"))
    again = host.call().request
    assert again.event is None
    assert breaks_at(former, again) is None
    pins = again.view.pins
    assert pins.seqs == {2}
    assert [(text.name, text.text) for text in pins.texts] == [("pin goal", "win"), ("pin plan", "first steps")]
    assert session.snapshots()[0] == made
    assert (made.name, made.plan_id, made.messages, made.pins, made.created_at) == ("before", -1, 24, 3, 5.0)


def test_state_before_a_restore_is_kept_as_a_snapshot() -> None:
    """So a restore can be taken back: by its own snapshot with the pins, by an undo without them."""
    host = talked()
    session = host.session
    session.snapshot("before")
    session.pin(4)
    compacted = session.compact()
    assert compacted is not None
    session.restore("before", now=9.0)
    saved = session.snapshots()[-1]
    assert (saved.automatic, saved.cause, saved.plan_id, saved.created_at) == (True, "restore", compacted.plan_id, 9.0)
    back = session.restore(saved.name)
    assert back.segments == compacted.segments
    assert session.preview().view.pins.seqs == {4}
    session.restore("before")
    undone = session.undo()
    assert undone.segments == compacted.segments
    assert session.preview().view.pins.seqs == set()


def test_observers_are_told_of_snapshots() -> None:
    """Made, made unasked, restored."""
    host = talked()
    session = host.session
    host.observer.events.clear()
    session.snapshot("before")
    session.compact()
    session.restore("before")
    assert host.observer.names() == [
        events.SNAPSHOT_CREATED,
        events.VIEW_PLAN_CHANGED,
        events.PREFIX_BROKEN,
        events.COMPRESSED,
        events.VIEW_PLAN_CHANGED,
        events.AUTO_SNAPSHOT_CREATED,
        events.SNAPSHOT_RESTORED,
    ]
    assert [event.cause for event in host.observer.events if "snapshot" in event.name] == [
        "before",
        "auto-1",
        "restore",
    ]


def test_unknown_snapshot_is_not_found_and_nothing_is_written() -> None:
    """The text lists those there are."""
    host = talked()
    session = host.session
    session.snapshot("one")
    before = host.store.head("s")
    with pytest.raises(NotFoundError, match=r"^no snapshot 'two'; there are: one$"):
        session.restore("two")
    with pytest.raises(ValueError, match="name"):
        session.snapshot("auto-1")
    assert host.store.head("s") == before


def test_snapshot_that_does_not_fit_is_not_restored() -> None:
    """Neither plan nor pins are changed, and no snapshot is made."""
    host = talked(Setup(65_536), turns=40)
    host.session.snapshot("all")
    small = opened(host.store, Setup(4096))
    small.pin(3)
    small.assemble([user("?")])
    before = host.store.head("s")
    with pytest.raises(BudgetError):
        small.restore("all")
    assert host.store.head("s") == before
    assert 3 in small.preview().view.pins.seqs


def test_snapshot_is_restored_by_another_process_under_another_lease() -> None:
    """What fits a larger window comes back there."""
    host = talked()
    host.session.snapshot("all")
    host.session.compact()
    opened(host.store, Setup(4096)).assemble([user("?")])
    large = opened(host.store, Setup(32_768))
    large.restore("all")
    assert {span.how for span in large.preview().report.spans} == {"verbatim"}


def loop(host: Host, steps: int, first: int = 0) -> None:
    """Go on in one tool loop."""
    for step in range(first, first + steps):
        host.run([assistant(f"step {step}", (f"c{step}", "read", "{}")), result(f"c{step}", "data " * 420)])


def unasked(host: Host) -> list[str]:
    """Return why snapshots were made unasked."""
    return [one.cause for one in SNAPSHOT.state(host.store, "s").kept if one.automatic]


def test_snapshot_is_made_unasked_once_each_time_the_mark_is_reached() -> None:
    """In a tool loop, where no event comes yet: with the request that reaches it, and with no later one."""
    host = talked(turns=2)
    host.pending.append(user("go"))
    marks = []
    for step in range(14):
        loop(host, 1, step)
        pressed = host.calls[-2].request.report.pressure_fraction >= 0.85 if len(host.calls) > 1 else False
        marks.append((pressed, len(unasked(host))))
    reached = next(place for place, (pressed, _) in enumerate(marks) if pressed)
    assert [count for _, count in marks[:reached]] == [0] * reached
    assert marks[reached][1] == 1
    assert unasked(host) == ["pressure"] * len(unasked(host))
    events_made = [request.event for request in requests(host.calls) if request.event]
    assert len(unasked(host)) <= 1 + len(events_made)
    assert host.observer.names().count(events.AUTO_SNAPSHOT_CREATED) == len(unasked(host))


def test_mark_that_an_event_answers_leaves_a_snapshot_of_what_stood_before() -> None:
    """One long question: the mark is passed and the event comes at once; the snapshot brings back what was."""
    host = talked(turns=12)
    former = requests(host.calls)[-1]
    host.run([user("a question " + "word " * 2800)])
    event = host.calls[-1].request.event
    assert event is not None
    (saved,) = SNAPSHOT.state(host.store, "s").kept
    assert (saved.cause, saved.plan_id, saved.messages) == ("pressure", -1, 48)
    host.reply(assistant("this"))
    assert SNAPSHOT.state(host.store, "s").kept == (saved,)
    host.pending.append(user("and now?"))
    host.session.restore(saved.name)
    assert breaks_at(former, host.call().request) is None


def test_same_snapshots_are_made_by_one_process_and_by_many() -> None:
    """Whether the mark was reached before is stored with the request."""
    made = []
    for restarts in (frozenset[int](), frozenset(range(60))):
        host = Host(InMemoryStore(), SETUP, restarts=restarts)
        host.run([*tame(2, 60), user("go")])
        loop(host, 14)
        made.append(held(host.store).records["snapshot"])
    assert made[0] == made[1]
    assert made[0]


def test_no_snapshot_is_made_unasked_where_that_is_switched_off(store: InMemoryStore) -> None:
    """`auto_fraction` 0."""
    engine = ContextEngine(store, store, {CODEC.tag: CODEC}, None, Retention(auto_fraction=0.0))
    session = engine.session("s", SETUP.window, SETUP.meter, SETUP.settings)
    for number in range(40):
        made = session.assemble([user(f"{number} " + "word " * 200)])
        session.record(*made.incoming, assistant("because " * 100))
    assert store.records("s", "plan")
    assert store.records("s", "snapshot") == []


def test_turn_goes_on_where_a_snapshot_cannot_be_made() -> None:
    """A record that can't be read: `snapshot-error` says so, request and reply are stored."""
    for crossing in ("record", "event"):
        host = talked(turns=2 if crossing == "record" else 12)
        host.store.append("s", host.store.head("s")[0], [], [Record("snapshot", 0, "{")])
        if crossing == "record":
            host.pending.append(user("go"))
            loop(host, 12)
        else:
            host.run([user("a question " + "word " * 2800), assistant("yes")])
            assert host.calls[-1].request.event is not None
        told = [event for event in host.observer.events if event.name == events.SNAPSHOT_ERROR]
        assert told
        assert all(one.cause.startswith("snapshot 0 can't be read") for one in told)
        assert all(call.error is None for call in host.calls)
        assert len(host.store.records("s", "snapshot")) == 1


def test_turns_below_the_mark_read_no_snapshots() -> None:
    """They cost nothing: no record of that kind is asked for."""

    class Watched(InMemoryStore):
        asked: list[str] = []  # noqa: RUF012  # one store in this test

        def records(self, session_id: str, kind: str, first_number: int = 0) -> list[Record]:
            self.asked.append(kind)
            return super().records(session_id, kind, first_number)

    store = Watched()
    session = opened(store, SETUP)
    for number in range(6):
        made = session.assemble([user(f"question {number}")])
        session.record(*made.incoming, assistant("answer"))
    assert "snapshot" not in store.asked


def test_pinned_message_that_the_snapshot_has_pinned_is_verbatim_at_the_next_event() -> None:
    """Pins come back as pins: an event made later keeps them."""
    host = talked()
    session = host.session
    session.pin(2)
    session.snapshot("pinned")
    session.pin(2, on=False)
    session.restore("pinned")
    plan = session.compact()
    assert plan is not None
    assert {1, 2} <= {part.first_seq for part in session.preview().parts if is_said(part)}


def test_snapshot_makes_way_for_another_writer() -> None:
    """Two make one at the same time: both are kept."""

    class Raced(Meddled):
        def before(self, session_id: str, records: Sequence[Record]) -> None:  # noqa: ARG002  # there is one
            if self.others and records and records[-1].kind == "snapshot":
                self.others -= 1
                opened(self, SETUP).snapshot("theirs")

    store = Raced(others=1)
    heard = Heard()
    session = opened(store, replace(SETUP), observer=heard)
    session.record(user("hello"))
    session.snapshot("mine")
    assert [snapshot.name for snapshot in session.snapshots()] == ["theirs", "mine"]
    assert heard.names() == [events.LEASE_OPENED, events.SNAPSHOT_CREATED]
