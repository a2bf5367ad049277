"""Requests that were sent, made once more; and the next one, looked at."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.errors import InvalidRequestError, NotFoundError
from squidbot.core.messages import Usage
from squidbot.core.plan import Section
from squidbot.core.tokens.counters import Meter, builtin_counter

from .promises.driver import CODEC, Host, Setup, assistant, changed, copied, held, opened, requests, user
from .promises.histories import tame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.codecs.openai_chat import OpenAIChat
    from squidbot.core.messages import Part, Summary

SMALL = Setup(4096)


def run(setup: Setup = SMALL, **fields: object) -> Host:
    """Return a host that has been through several events."""
    host = Host(InMemoryStore(), setup, **fields)  # type: ignore[arg-type]  # a test names them
    host.run(tame(10, 120))
    return host


def test_newest_request_is_made_again_where_no_number_is_given() -> None:
    """And each one by its number; cost and limit as they were then, whatever usage has taught since."""
    host = run(usage=lambda made: Usage(made.cost.bound * 3 // 2))
    made = requests(host.calls)
    session = opened(host.store, SMALL)
    assert session.request().payloads == made[-1].payloads
    assert [session.request(number).payloads for number in range(len(made))] == [one.payloads for one in made]
    assert [session.request(number).limit for number in range(len(made))] == [one.limit for one in made]
    assert len({one.limit for one in made}) > 1


def test_what_is_sent_as_before_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the answer and the question that have come; and what is written is what anyone would write."""
    session = opened(InMemoryStore(), Setup(32_768))
    written: list[Part] = []
    encode = type(CODEC).encode

    def counted(codec: OpenAIChat, part: Part) -> str:
        written.append(part)
        return encode(codec, part)

    monkeypatch.setattr(type(CODEC), "encode", counted)
    for number in range(40):
        made = session.assemble([user(f"Tell me of tank {number}.")])
        assert len(made.payloads) == 2 * number + 1
        assert len(written) <= 3
        assert list(made.payloads) == [encode(CODEC, part) for part in made.parts]
        session.record(*made.incoming, assistant("It is full."))
        written.clear()


def test_number_that_was_never_recorded_is_not_found() -> None:
    """Below 0, behind the newest, in an unknown session."""
    session = run().session
    for number in (-1, 41, 10**9):
        with pytest.raises(NotFoundError, match=rf"^no request {number} of 's' is recorded$"):
            session.request(number)
    with pytest.raises(NotFoundError, match=r"^no request  ?of 't' is recorded$"):
        opened(InMemoryStore(), SMALL, "t").request()


def test_request_whose_messages_were_recorded_otherwise_is_not_made_up() -> None:
    """The host recorded another question than it asked, or none at all."""
    for said in ([user("another")], []):
        session = opened(InMemoryStore(), SMALL)
        session.assemble([user("hello")])
        session.record(*said, assistant("hi"))
        with pytest.raises(NotFoundError, match=r"^request 0 can't be rebuilt: what came with it was not recorded"):
            session.request(0)


def test_request_whose_messages_the_host_recorded_itself_is_made_again() -> None:
    """The same message, another object: what counts is what was sent."""
    session = opened(InMemoryStore(), SMALL)
    made = session.assemble([user("hello")])
    session.record(user("hello"), assistant("hi"), now=7.0)
    assert session.request(0).payloads == made.payloads


def test_two_processes_that_ask_at_once_both_record_their_requests(store: InMemoryStore) -> None:
    """The second one's question stands behind the first one's answer: its request can't be made again, and says so."""
    one, two = (opened(store, SMALL) for _ in range(2))
    made = one.assemble([user("from one")])
    other = two.assemble([user("from two")])
    one.record(*made.incoming, assistant("to one"))
    two.record(*other.incoming, assistant("to two"))
    assert [record.number for record in store.records("s", "request")] == [0, 1]
    assert one.request(0).payloads == made.payloads
    with pytest.raises(NotFoundError, match="request 1 can't be rebuilt"):
        one.request(1)
    assert [row.payload for row in held(store).messages] == [
        one.payload for one in (user("from one"), assistant("to one"), user("from two"), assistant("to two"))
    ]


def test_request_without_its_summary_or_plan_is_not_made_up() -> None:
    """A pointer in the place of a summary would not be what was sent."""

    class Lost(InMemoryStore):
        def by_id(self, session_id: str, summary_ids: Sequence[str]) -> list[Summary]:
            assert session_id
            return super().by_id(session_id, summary_ids[:0])

    host = run()
    lost = Lost()
    source = host.store
    rows = held(source).messages
    kinds = ("window", "plan", "request", "fragment", "ledger")
    lost.append("s", 0, list(rows), [record for kind in kinds for record in source.records("s", kind)])
    with pytest.raises(NotFoundError, match=r"^summary s\d+-\d+\.\w+ is no longer stored"):
        opened(lost, SMALL).request()
    bare = InMemoryStore()
    bare.append("s", 0, list(rows), source.records("s", "request"))
    with pytest.raises(NotFoundError, match=r"^plan \d+ of 's' is not stored$"):
        opened(bare, SMALL).request()


def test_request_that_comes_out_other_than_it_was_sent_is_not_shown() -> None:
    """The record knows how many parts there were, and a hash of the last ones."""
    host = run()
    rows, records = held(host.store).messages, host.store.records("s", "request")
    for change in ({"parts": 70}, {"seal": "beef"}):
        body = json.dumps({**json.loads(records[3].body), **change})
        store = InMemoryStore()
        store.append("s", 0, list(rows), [*records[:3], records[3]._replace(body=body)])
        with pytest.raises(NotFoundError, match=r"^request 3 can't be rebuilt: what it was made of is not stored any"):
            opened(store, SMALL).request(3)


def test_system_text_stands_in_front_where_it_is_given_again() -> None:
    """It is the host's and is not stored."""
    host = run(inputs=lambda _step: Inputs(system="Be brief.", tools='[{"name": "read"}]'))
    made = requests(host.calls)[-1]
    session = opened(host.store, SMALL)
    assert session.request(inputs=Inputs(system="Be brief.")).payloads == made.payloads
    assert session.request().payloads == made.payloads[1:]
    assert session.request().cost == made.cost


def test_outputs_that_were_cut_by_another_counter_are_not_cut_anew() -> None:
    """Slimmed segments depend on the counter of then: under another one there is an error, no other bytes."""
    setup = changed(Setup(8192), slim_fraction=0.2)
    host = Host(InMemoryStore(), setup)
    host.run(tame(24, 160))
    slimmed = [
        number
        for number, made in enumerate(requests(host.calls))
        if made.plan and any(segment.representation == "slimmed" for segment in made.plan.segments)
    ]
    assert slimmed
    other = replace(setup, meter=Meter(builtin_counter("bytes")))
    with pytest.raises(NotFoundError, match=r"was counted by classes: open the session in its window"):
        opened(host.store, other).request(slimmed[-1])
    assert opened(host.store, setup).request(slimmed[-1]).payloads == requests(host.calls)[slimmed[-1]].payloads


# -- preview ----------------------------------------------------------------------------------------------------


def test_preview_is_the_next_request_and_leaves_no_trace() -> None:
    """With an event where there would be one; nothing is written, nobody is told."""
    host = run(Setup(8192))
    given = Inputs(now=1e9)
    host.reply(assistant("done"))
    session = opened(host.store, host.setup, observer=host.observer)
    session.record(user("a question " + "word " * 3000))
    before, told = copied(host.store), len(host.observer.events)
    seen = session.preview(given)
    assert held(host.store) == held(before)
    assert len(host.observer.events) == told
    assert seen.event is not None
    made = session.assemble([], given)
    assert made.payloads == seen.payloads
    assert made.report == seen.report
    assert made.event is not None
    assert made.event.segments == seen.event.segments


def test_preview_without_inputs_counts_what_the_host_sends_beside_it() -> None:
    """System text and tools are not at hand: they cost what they did, and no event comes of their absence."""
    full = Inputs(system="rule " * 300, tools='[{"name": "read"}]', sections=(Section("memory", "likes tea"),))
    host = run(Setup(8192), inputs=lambda _step: full)
    host.reply(assistant("done"))
    with_all = opened(host.store, host.setup).preview(full)
    without = opened(host.store, host.setup).preview()
    assert without.event is None
    assert without.payloads == with_all.payloads[1:]
    assert without.cost == with_all.cost
    assert without.limit == with_all.limit


def test_preview_of_nothing_is_refused() -> None:
    """As `assemble` does."""
    with pytest.raises(InvalidRequestError):
        opened(InMemoryStore(), SMALL).preview()


def test_preview_between_a_request_and_its_reply_changes_neither() -> None:
    """The request waits to be recorded as before."""
    host = run(Setup(8192))
    host.pending.append(user("and now?"))
    made = host.call().request
    host.session.preview()
    host.session.record(*made.incoming, assistant("this"))
    assert host.session.request().payloads == made.payloads


def test_preview_under_another_lease_begins_no_notes_anew() -> None:
    """The event that it shows is made later, as if nobody had looked."""
    looked, unlooked = run(), run()
    other = Setup(6144)
    made = []
    for host in (looked, unlooked):
        session = opened(host.store, other)
        if host is looked:
            assert session.preview().event is not None
        made.append(session.assemble([user("and now?")]))
    assert made[0].payloads == made[1].payloads
    assert held(looked.store) == held(unlooked.store)


def test_compaction_by_hand_counts_what_the_host_sends_beside_it() -> None:
    """Its tokens are those of the whole request, and the next one makes no event for tools that stayed."""
    full = Inputs(system="rule " * 300, tools='[{"name": "read"}]')
    host = run(Setup(8192), inputs=lambda _step: full)
    plan = opened(host.store, host.setup).compact(now=8.0)
    assert plan is not None
    assert plan.created_at == 8.0
    assert plan.tokens_before > full.tools_cost(host.setup.meter).bound + 300
    host.restart()
    host.pending.append(user("and now?"))
    made = host.call().request
    assert made.event is None
    assert made.cost.bound < plan.tokens_before
