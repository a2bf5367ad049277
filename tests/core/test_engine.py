"""The sequence of a turn: other writers, failing stores, reported usage, what an observer is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core import state as state_module
from squidbot.core.engine import Inputs
from squidbot.core.errors import DamagedStoreError, InvalidRequestError, StoreError
from squidbot.core.messages import Record, StoredMessage, Usage
from squidbot.core.past import Past

from .promises.driver import Heard, Host, Meddled, Setup, assistant, held, opened, user
from .promises.histories import tame

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL = Setup(4096)


class Raced(Meddled):
    """A store into which somebody else writes right before each of the next `others` appends."""

    def before(self, session_id: str, records: Sequence[Record]) -> None:  # noqa: ARG002  # whatever they are
        """Let the other one write first."""
        if self.others:
            self.others -= 1
            count = self.head(session_id)[0]
            other = opened(InMemoryStore(), SMALL).record(user("another"))[0]
            InMemoryStore.append(self, session_id, count, [_at(other, count)])


class Full(Meddled):
    """A store that refuses to append while it is full."""

    full = False

    def before(self, session_id: str, records: Sequence[Record]) -> None:  # noqa: ARG002  # whatever it is
        """Refuse, or let it be."""
        if self.full:
            raise StoreError("the disk is full; nothing was written")


def _at(row: StoredMessage, seq: int) -> StoredMessage:
    fields = {name: getattr(row, name) for name in StoredMessage.__dataclass_fields__}
    return StoredMessage(**{**fields, "seq": seq, "turn": seq})


def test_session_reads_and_writes_nothing_when_it_is_opened() -> None:
    """An id is just a name until something is said."""
    store = InMemoryStore()
    session = opened(store, SMALL, "somebody")
    assert session.session_id == "somebody"
    assert store.head("somebody") == (0, 0)
    assert store.sessions() == []


def test_record_makes_way_for_another_writer() -> None:
    """It reads what the other one wrote, and stands behind it."""
    store = Raced(others=2)
    rows = opened(store, SMALL).record(user("hello"), assistant("hi"))
    assert [row.seq for row in rows] == [2, 3]
    assert [row.turn for row in rows] == [2, 2]
    assert store.head("s") == (4, 1)


def test_pin_makes_way_for_another_writer() -> None:
    """It is stored once."""
    store = Raced(others=1)
    session = opened(store, SMALL)
    session.pin(0)
    assert [record.body for record in store.records("s", "pin")] == ['{"seq":0,"on":true}']


def test_event_makes_way_for_another_writer() -> None:
    """The request is made again, with what the other one said in it."""
    store = Raced()
    opened(store, Setup(131_072)).record(*tame(30, 60))
    store.others = 1
    made = opened(store, SMALL).assemble([user("and now?")])
    assert made.event is not None
    assert made.incoming[0].seq == 121
    assert any("another" in payload for payload in made.payloads)


def test_writer_gives_up_where_others_never_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a typed error that says what was not done."""
    monkeypatch.setattr(state_module, "MOST_TRIES", 3)
    store = Raced(others=10**9)
    opened(InMemoryStore(), SMALL)
    with pytest.raises(StoreError, match=r"^3 other writers came first; nothing was written to 's'$"):
        opened(store, SMALL).record(user("hello"))
    with pytest.raises(StoreError, match=r"^3 other writers came first; nothing was pinned in 's'$"):
        opened(store, SMALL).pin(0)
    store.others = 0
    opened(store, Setup(131_072)).record(*tame(30, 60))
    store.others = 10**9
    with pytest.raises(StoreError, match=r"^3 other writers came first; no request was made for 's'$"):
        opened(store, SMALL).assemble([user("and now?")])


def test_failing_store_is_told_and_the_session_goes_on() -> None:
    """Recording, pinning and events: the error once, nothing written, then as if nothing had been."""
    store = Full()
    opened(store, Setup(131_072)).record(*tame(30, 60))
    session = opened(store, SMALL)
    before, store.full = held(store), True
    for act in (lambda: session.record(user("x")), lambda: session.pin(0), lambda: session.assemble([user("?")])):
        with pytest.raises(StoreError, match="the disk is full"):
            act()
    assert held(store).messages == before.messages
    store.full = False
    assert session.assemble([user("?")]).event is not None
    assert session.record(user("?"))[0].seq == 120


def test_recording_nothing_writes_nothing() -> None:
    """Not even the request that was assembled."""
    store = InMemoryStore()
    session = opened(store, SMALL)
    session.assemble([user("hello")])
    assert session.record() == ()
    assert store.head("s") == (0, 0)


def test_nothing_to_answer_is_refused() -> None:
    """R5, with what to do."""
    with pytest.raises(InvalidRequestError, match=r"^R5: nothing has been said; give the user's message"):
        opened(InMemoryStore(), SMALL).assemble()


def test_compaction_by_hand_finds_nothing_in_a_short_session() -> None:
    """None, and nothing is written."""
    store = InMemoryStore()
    session = opened(store, SMALL)
    assert session.compact() is None
    session.record(user("hello"))
    assert session.compact() is None
    assert store.head("s") == (1, 1)


def test_compaction_by_hand_makes_the_next_request_smaller() -> None:
    """Its plan says by how much, and is in force (O-08)."""
    host = Host(InMemoryStore(), Setup(16_384), watch=False)
    host.run([*tame(10, 60), user("?")])
    assert host.session is not None
    plan = host.session.compact()
    assert plan is not None
    assert plan.cause == "manual"
    assert plan.tokens_after < plan.tokens_before
    assert host.call().request.plan == plan


@pytest.mark.parametrize(("reported", "told"), [(10, True), (0, True), (300, False)])
def test_prompt_that_was_cut_by_the_server_is_told(reported: int, *, told: bool) -> None:
    """The provider reports less than half of what was sent."""
    heard = Heard()
    session = opened(InMemoryStore(), SMALL, "s", heard)
    made = session.assemble([user("word " * 300)])
    session.record(*made.incoming, assistant("ok"), usage=Usage(reported))
    assert (events.SILENT_TRUNCATION in heard.names()) is told


def test_prompt_that_is_recorded_before_the_model_is_called_loses_no_usage() -> None:
    """It is kept whatever happens to the call; the answer behind it brings usage as it does in one call."""
    limits = []
    for ahead in (False, True):
        store = InMemoryStore()
        session = opened(store, SMALL)
        made = session.assemble([user("hello")])
        usage = Usage(made.cost.bound * 3 // 2, 5)
        if ahead:
            session.record(*made.incoming)
            session.record(assistant("hi"), usage=usage)
            assert [Past.of(one).messages for one in store.records("s", "request")] == [1, 1]
        else:
            session.record(*made.incoming, assistant("hi"), usage=usage)
        assert session.request().payloads == made.payloads
        assert '"usage":[' in store.records("s", "request")[-1].body
        limits.append([one.assemble([user("more")]).limit for one in (session, opened(store, SMALL))])
    assert limits[0] == limits[1]


def test_report_without_cached_tokens_is_told_as_such_and_not_believed() -> None:
    """The next request is bounded by the counter, not by a size that leaves most of it out."""
    heard = Heard()
    session = opened(InMemoryStore(), SMALL, "s", heard)
    made = session.assemble([user("word " * 300)])
    session.record(*made.incoming, assistant("ok"), usage=Usage(12, 3, 330))
    told = [event.cause for event in heard.events if event.name == events.SILENT_TRUNCATION]
    assert told == ["what is reported leaves out what the provider's cache held: it is not believed"]
    assert session.assemble([user("?")]).certified_tokens == 0


def test_room_says_how_much_of_its_bounds_the_provider_does_not_bill() -> None:
    """What is used and what is free are as counted; both together may then be more than the window holds."""
    session = opened(InMemoryStore(), SMALL)
    made = session.assemble([user("word " * 300)])
    session.record(*made.incoming, assistant("ok"), usage=Usage(made.cost.bound * 6 // 10))
    room, lease = session.room(), session.lease
    billed = room.used_tokens - room.overcounted_tokens
    assert made.cost.bound * 6 // 10 < billed < room.used_tokens
    assert billed + room.whole.bound == lease.window_tokens - lease.reserved_output_tokens


def test_usage_above_the_bound_lowers_what_a_request_may_cost() -> None:
    """1,100 reported for a bound of 1,000 lowers the limit by a tenth, and it stays so."""
    session = opened(InMemoryStore(), SMALL)
    made = session.assemble([user("word " * 900)])
    session.record(*made.incoming, assistant("ok"), usage=Usage(made.cost.bound * 11 // 10))
    after = session.assemble([user("?")])
    assert after.limit.bound < made.limit.bound * 10 // 11 + 1
    session.record(*after.incoming, assistant("ok"), usage=Usage(1))
    assert session.assemble([user("?")]).limit.bound < made.limit.bound * 10 // 11 + 1


def test_observer_is_told_of_requests_and_events() -> None:
    """Names, cause, lease and tokens."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    host.run(tame(30, 60))
    names = host.observer.names()
    assert names.count(events.CONTEXT_ASSEMBLED) == len(host.calls)
    changed = [event for event in host.observer.events if event.name == events.VIEW_PLAN_CHANGED]
    plans = [call.assembly.event for call in host.calls if call.assembly is not None and call.assembly.event]
    assert [(event.cause, event.plan_id, event.tokens_before, event.tokens_after) for event in changed] == [
        (plan.cause, plan.plan_id, plan.tokens_before, plan.tokens_after) for plan in plans
    ]
    assert {event.lease_id for event in changed} == {SMALL.lease.lease_id}


def test_message_of_no_known_time_takes_the_time_of_its_recording() -> None:
    """Its own time wins."""
    rows = opened(InMemoryStore(), SMALL).record(user("a"), user("b", time=5.0), now=9.0)
    assert [row.time for row in rows] == [9.0, 5.0]


@pytest.mark.parametrize("kind", ["plan", "request", "pin"])
def test_damaged_record_is_told_and_not_sent(kind: str) -> None:
    """A typed error, whatever record it is."""
    store = InMemoryStore()
    opened(store, SMALL).record(user("hello"))
    store.append("s", 1, [], [Record(kind, 0, "{")])
    with pytest.raises(DamagedStoreError):
        opened(store, SMALL).assemble([user("?")], Inputs())
