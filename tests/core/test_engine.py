"""The sequence of a turn: other writers, failing stores, reported usage, what an observer is told."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import ContextEngine, Inputs
from squidbot.core.errors import BudgetError, BusyError, DamagedStoreError, StoreError
from squidbot.core.last_request import LastRequest
from squidbot.core.messages import Record, StoredMessage, Usage
from squidbot.core.tokens.counters import REQUEST_TOKENS

from .promises.driver import CODEC, Heard, Host, Meddled, Setup, assistant, held, opened, user
from .promises.histories import tame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.core.engine import CoreSession
    from squidbot.core.transcript.records import Claimed

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


def test_session_reads_and_writes_nothing_when_it_is_opened(store: InMemoryStore) -> None:
    """An id is just a name until something is said."""
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
    assert [record.body for record in store.records("s", "pin")] == ['{"seq":0}']


def test_event_makes_way_for_another_writer() -> None:
    """The request is made again, with what the other one said in it."""
    store = Raced()
    opened(store, Setup(131_072)).record(*tame(30, 60))
    store.others = 1
    made = opened(store, SMALL).assemble([user("and now?")])
    assert made.event is not None
    assert made.incoming[0].seq == 121
    assert any("another" in payload for payload in made.payloads)


def _shared(store: Raced, claimed: Claimed | None = None) -> CoreSession:
    """Return a session that has seen another writer's message."""
    engine = ContextEngine(store, store, {CODEC.tag: CODEC}, claimed=claimed)
    session = engine.session("s", SMALL.window, SMALL.meter, SMALL.settings)
    session.record(user("hello"), assistant("hi"))
    store.others = 1
    session.record(user("mine"))
    session.assemble()
    return session


def test_plan_of_a_shared_session_stands_behind_what_others_say() -> None:
    """It is made once, and holds for what they said: whoever opens the session then sends the same."""
    store = Raced()
    session = _shared(store)
    session.record(*tame(30, 60))
    before = store.head("s")[0]
    store.others = 3
    made = session.assemble([user("and now?")])
    assert made.event is not None
    assert made.incoming[0].seq == before
    assert store.head("s")[0] == before + 3
    rows = session.record(user("and now?"), assistant("so"))
    assert rows[0].seq == before + 3
    requests = [one.assemble([user("and then?")]).payloads for one in (session, opened(store, SMALL))]
    assert requests[0] == requests[1]
    assert sum("another" in payload for payload in requests[0]) >= 3


class Claims:
    """Who makes the next plan: another writer, for so many looks; then it does what it does, and ends."""

    def __init__(self, then: Callable[[], object] = bool) -> None:
        self.looks, self.open, self._then = 0, 0, then

    @contextmanager
    def __call__(self, _session_id: str) -> Iterator[Callable[[], bool]]:
        """Open a claim."""
        self.open += 1
        yield self._is_taken
        self.open -= 1

    def _is_taken(self) -> bool:
        if not self.looks:
            return True
        self.looks -= 1
        if not self.looks:
            self._then()
        return False


def test_plan_that_can_wait_is_left_to_the_writer_that_makes_one() -> None:
    """Above the high-water mark the request still fits; once nobody else has the claim, the plan is made."""
    claims = Claims()
    session = _shared(Raced(), claims)
    said = iter(tame(40, 20))
    while session.preview().event is None:
        session.record(*islice(said, 4), user("what else?"))
    claims.looks = 1
    made = session.assemble([user("and now?")])
    assert made.event is None
    assert made.cost.bound <= made.limit.bound
    assert not claims.open
    assert session.assemble([user("and now?")]).event is not None
    assert not claims.open


def test_plan_that_cannot_wait_is_waited_for() -> None:
    """The request is made under the other writer's plan."""
    store = Raced()
    claims = Claims(lambda: opened(store, SMALL).assemble([user("what else?")]))
    session = _shared(store, claims)
    session.record(*tame(30, 60))
    claims.looks = 3
    made = session.assemble([user("and now?")])
    assert (made.event, claims.looks, claims.open) == (None, 0, 0)
    assert made.plan is not None
    assert len(store.records("s", "plan")) == 1


def test_writer_that_waits_in_vain_makes_the_plan() -> None:
    """A process that has died with its claim keeps nobody from a request."""
    claims = Claims()
    session = _shared(Raced(), claims)
    session.record(*tame(30, 60))
    claims.looks = 1_000_000
    assert session.assemble([user("and now?")]).event is not None
    assert not claims.open


def test_writer_gives_up_where_others_never_stop() -> None:
    """With a typed error that says what was not done."""
    store = Raced(others=10**9)
    opened(InMemoryStore(), SMALL)
    with pytest.raises(BusyError, match=r"^gave up after 12 s: .* session 's'; nothing was written, try"):
        opened(store, SMALL).record(user("hello"))
    with pytest.raises(BusyError, match="; nothing was pinned, try"):
        opened(store, SMALL).pin(0)
    store.others = 0
    opened(store, Setup(131_072)).record(*tame(8, 240))
    store.others = 10**9
    with pytest.raises(BusyError, match="; no request was made, try"):
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


def test_recording_nothing_writes_nothing(store: InMemoryStore) -> None:
    """Not even the request that was assembled."""
    session = opened(store, SMALL)
    session.assemble([user("hello")])
    assert session.record() == ()
    assert store.head("s") == (0, 0)


def test_compaction_by_hand_finds_nothing_in_a_short_session(store: InMemoryStore) -> None:
    """None, and nothing is written."""
    session = opened(store, SMALL)
    assert session.compact() is None
    session.record(user("hello"))
    assert session.compact() is None
    assert store.head("s") == (1, 1)


def test_compaction_by_hand_makes_the_next_request_smaller() -> None:
    """Its plan says by how much, and is in force (O-08)."""
    host = Host(InMemoryStore(), Setup(16_384), watch=False)
    host.run([*tame(10, 60), user("?")])
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
            assert [LastRequest.of(record).messages for record in store.records("s", "request")] == [1, 1]
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
    room, window = session.room(), session.window
    billed = room.used_tokens - room.overcounted_tokens
    assert made.cost.bound * 6 // 10 < billed < room.used_tokens
    assert billed + room.whole.bound == window.window_tokens - window.reserved_output_tokens


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
    """Names, cause, window and tokens."""
    host = Host(InMemoryStore(), SMALL, watch=False)
    host.run(tame(30, 60))
    names = host.observer.names()
    assert names.count(events.CONTEXT_ASSEMBLED) == len(host.calls)
    changed = [event for event in host.observer.events if event.name == events.VIEW_PLAN_CHANGED]
    plans = [call.assembly.event for call in host.calls if call.assembly is not None and call.assembly.event]
    assert [(event.cause, event.plan_id, event.tokens_before, event.tokens_after) for event in changed] == [
        (plan.cause, plan.plan_id, plan.tokens_before, plan.tokens_after) for plan in plans
    ]
    assert {event.window_id for event in changed} == {SMALL.window.window_id}


def test_message_of_no_known_time_takes_the_time_of_its_recording() -> None:
    """Its own time wins."""
    rows = opened(InMemoryStore(), SMALL).record(user("a"), user("b", time=5.0), now=9.0)
    assert [row.time for row in rows] == [9.0, 5.0]


@pytest.mark.parametrize("kind", ["plan", "request", "pin"])
def test_damaged_record_is_told_and_not_sent(kind: str, store: InMemoryStore) -> None:
    """A typed error, whatever record it is."""
    opened(store, SMALL).record(user("hello"))
    store.append("s", 1, [], [Record(kind, 0, "{")])
    with pytest.raises(DamagedStoreError):
        opened(store, SMALL).assemble([user("?")], Inputs())


@pytest.mark.parametrize("reported", [5000, 40_000, 10**30])
def test_report_of_more_than_was_sent_is_told_and_teaches_nothing(reported: int) -> None:
    """A sum over several calls, above the window or within it: what is sent next is as if nothing had been reported."""
    limits = []
    for tokens in (None, reported):
        heard, store = Heard(), InMemoryStore()
        session = opened(store, Setup(32_768), "s", heard)
        for number, usage in enumerate((Usage(20), Usage(tokens) if tokens else None)):
            made = session.assemble([user(f"question {number}")])
            session.record(*made.incoming, assistant("ok"), usage=usage)
        told = [event.tokens_after for event in heard.events if event.name == events.USAGE_DROPPED]
        assert told == ([tokens] if tokens else [])
        limits.append([one.assemble([user("more")]).limit for one in (session, opened(store, Setup(32_768)))])
    assert limits[0] == limits[1]


def test_report_may_be_as_large_as_the_bytes_of_what_was_sent() -> None:
    """And what nobody told of beside them, a little; not a token more."""
    text, told = "TWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsuCg" * 50, []
    for more in (0, 2):
        session = opened(InMemoryStore(), Setup(32_768), "s", heard := Heard())
        made = session.assemble([user(text)])
        # What stands around all messages has no bytes of its own: three times its bound, as of tools.
        most_tokens = sum(max(len(part.payload or ""), part.cost.bound) for part in made.parts) + 3 * REQUEST_TOKENS
        assert most_tokens < 3 * made.cost.bound
        session.record(*made.incoming, assistant("ok"), usage=Usage(most_tokens + 2047 + more))
        told.append(events.USAGE_DROPPED in heard.names())
    assert told == [False, True]


def test_report_that_was_too_large_is_forgotten_once_another_is_smaller() -> None:
    """What it seemed to hide would come with each request: one that costs little has none of it."""
    session = opened(InMemoryStore(), Setup(8192))
    limits = []
    for usage in (Usage(1900), Usage(400), Usage(700)):
        made = session.assemble([user("word " * 330)])
        session.record(*made.incoming, assistant("ok"), usage=usage)
        limits.append(made.limit.bound)
    made = session.assemble([user("?")])
    assert made.limit.bound >= limits[0]


def _poisoned(hidden: int, slack: int = 0) -> InMemoryStore:
    """Return a store in which reports have taught that a request has so much hidden, and texts so much above."""
    store = InMemoryStore()
    session = opened(store, SMALL)
    for number in range(5):
        made = session.assemble([user(f"question {number}")])
        session.record(*made.incoming, assistant("ok"), usage=Usage(made.cost.bound))
    last = store.records("s", "request")[-1]
    last_request = LastRequest.of(last)
    texts = last_request.bills.texts._replace(slacks=(slack,) * 17)
    bills = last_request.bills.unreported()._replace(hidden_tokens=hidden, foot_tokens=hidden + 50, texts=texts)
    store.append("s", 10, [], [last_request._replace(bills=bills, number=last.number + 1).record(None)])
    return store


@pytest.mark.parametrize(("hidden", "slack"), [(2990, 0), (3100, 0), (10**9, 0), (0, 3100), (0, 10**9)])
def test_nothing_learned_makes_every_request_impossible(hidden: int, slack: int) -> None:
    """What is stored already included: the request is made, an event says why, and it is forgotten for good."""
    store, heard = _poisoned(hidden, slack), Heard()
    session = opened(store, SMALL, "s", heard)
    assert session.compact() is None
    made = session.assemble([user("and what else is there to say of it?")], Inputs(system="Be brief. " * 13))
    assert [event.name for event in heard.events].count(events.USAGE_DROPPED) == 1
    session.record(*made.incoming, assistant("nothing"))
    again = opened(store, SMALL, "s", heard)
    assert again.assemble([user("?")]).limit.bound == again.window.window_tokens - again.window.reserved_output_tokens
    assert [event.name for event in heard.events].count(events.USAGE_DROPPED) == 1


def test_what_leaves_room_is_obeyed() -> None:
    """A third of the room, and not more, is left by what a host hides: a turn above it stays an error."""
    session = opened(_poisoned(2000), SMALL, "s", heard := Heard())
    assert session.assemble([user("short")]).certified_tokens > 2000
    with pytest.raises(BudgetError, match=r"current turn: \d+; .* of 1072 tokens"):
        session.assemble([user("word " * 1500)])
    assert events.USAGE_DROPPED not in heard.names()


def test_answer_that_is_reported_as_endless_teaches_of_a_window_at_most(store: InMemoryStore) -> None:
    """No answer that comes back is larger than the window that it comes back in."""
    session = opened(store, SMALL)
    made = session.assemble([user("question")])
    session.record(*made.incoming, assistant("ok"), usage=Usage(made.cost.bound, 10**12))
    bills = LastRequest.of(store.records("s", "request")[-1]).bills
    assert 4000 < bills.surplus_tokens <= max(bills.answers.slacks) <= 4096
