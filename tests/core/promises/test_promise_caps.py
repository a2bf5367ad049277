"""The caps of document 001 on history: filled newest to oldest, exact, whatever is said (Q-06, Q-07, V13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import PolicyCaps
from squidbot.core.compaction.pressure import LEAST_UNITS, history_of
from squidbot.core.messages import Kind
from squidbot.core.settings import HistorySettings

from .driver import Host, Setup, Talk, assistant, opened, requests, user
from .histories import WORDS, effort, histories, tame

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

LADDER, WHOLE = True, False


def capped(caps: PolicyCaps, *, reduces: bool = LADDER, window_tokens: int = 131_072) -> Setup:
    """Return a setup under caps, without documents."""
    settings = HistorySettings(cap=caps.left(0, 0, reduces=reduces), patience=0.0)
    return Setup(window_tokens, None, settings, WORDS)


def talk(sizes: list[int]) -> Talk:
    """Return a conversation of messages of so many words, users and assistants in turn."""
    texts = [f"m{place} " * size for place, size in enumerate(sizes)]
    return Talk(user(text) if place % 2 == 0 else assistant(text) for place, text in enumerate(texts))


def raw(one: CoreAssembly) -> list[int]:
    """Return the messages before the question that a request sends, whole or cut."""
    return [part.first_seq for part in one.parts if part.kind in {Kind.MESSAGE, Kind.SLIMMED}][:-1]


def words(one: CoreAssembly) -> int:
    """Return the words of a request but for those of its question."""
    return one.cost.estimate - one.view.in_flight.estimate


@effort(60)
@given(sizes=st.lists(st.integers(0, 90), min_size=1, max_size=60), cap=st.integers(20, 600))
def test_history_is_filled_newest_to_oldest_up_to_its_cap(sizes: list[int], cap: int) -> None:
    """Q-06: what is older is left out, the result is in order, the newest two messages are there in any case."""
    sizes = sizes[: len(sizes) // 2 * 2]
    store = InMemoryStore()
    session = opened(store, capped(PolicyCaps(history=cap, total=10_000)))
    session.record(*talk(sizes), now=0.0)
    one = session.assemble([user("and now?")])
    kept, used = 0, 0
    for place, size in enumerate(reversed(sizes)):
        if used + size > cap and place >= 2:
            break
        kept, used = place + 1, used + size
    assert raw(one) == list(range(len(sizes) - kept, len(sizes)))
    assert one.view.summaries.estimate <= 500


@effort(60)
@given(history=histories(1500), total=st.integers(60, 400), reduces=st.booleans())
def test_total_holds_at_each_new_turn_but_for_what_must_stay(
    history: list[Message], total: int, *, reduces: bool
) -> None:
    """Q-07: notes count; above it are at most the newest two messages, and what came with the call."""
    caps = PolicyCaps(history=total, total=total, summary=60)
    host = Host(InMemoryStore(), capped(caps, reduces=reduces), watch=False)
    host.run(history)
    for request in requests(host.calls):
        if not request.view.at_turn or request.view.turn < request.view.messages - 1:
            continue
        stored = request.view.messages - len(request.incoming)
        earlier = [step for step in request.view.tail.steps if step.last_seq < stored]
        said = sum(step.sent_cost.estimate for step in earlier)
        if said + request.view.summaries.estimate > total:
            assert sum(len(step.messages) for step in earlier[1:]) < 2


@pytest.mark.parametrize("unit_total", [4500])
def test_two_newest_messages_above_the_total(unit_total: int) -> None:
    """V13: by the rule "ladder" the message that is not the user's is cut first; the others stay whole."""
    store = InMemoryStore()
    session = opened(store, capped(PolicyCaps(total=unit_total)))
    session.record(*talk([40, 40, 3000, 3000]), now=0.0)
    one = session.assemble([user("and now?")])
    assert raw(one) == [2, 3]
    assert words(one) <= unit_total
    question, answer = (next(part for part in one.parts if part.first_seq == seq) for seq in (2, 3))
    assert (question.text, question.cost.estimate) == (None, 3000)
    assert unit_total - 3000 - 40 <= answer.cost.estimate <= unit_total - 3000
    assert "recall m3" in (answer.text or "")
    whole = opened(InMemoryStore(), capped(PolicyCaps(total=unit_total), reduces=WHOLE))
    whole.record(*talk([40, 40, 3000, 3000]), now=0.0)
    assert history_of(whole.assemble([user("and now?")]).view) == 6000


def test_two_messages_of_the_user_are_sent_whole_above_the_total() -> None:
    """V13: nothing cuts them."""
    session = opened(InMemoryStore(), capped(PolicyCaps()))
    session.record(user("old " * 40), assistant("ok"), user("first " * 3000), user("second " * 3000), now=0.0)
    one = session.assemble([user("and now?")])
    assert history_of(one.view) == 6000
    assert raw(one) == [2, 3]


def test_message_is_cut_no_further_than_to_its_least() -> None:
    """Where the user's words fill the total alone."""
    session = opened(InMemoryStore(), capped(PolicyCaps()))
    session.record(*talk([40, 40, 4600, 3000]), now=0.0)
    one = session.assemble([user("and now?")])
    answer = next(part for part in one.parts if part.first_seq == 3)
    assert 13 <= answer.cost.estimate <= LEAST_UNITS


@pytest.mark.parametrize("reduces", [LADDER, WHOLE])
def test_cut_message_is_the_same_in_another_process_and_after_undo(*, reduces: bool) -> None:
    """The plan says how far it is cut; a later request extends the one before byte for byte within the turn."""
    setup = capped(PolicyCaps(), reduces=reduces)
    host = Host(InMemoryStore(), setup)
    host.run(talk([40, 40, 3000, 3000]))
    host.pending = [user("and now?")]
    first = host.call().request
    assert opened(host.store, setup).assemble([user("and now?")]).payloads == first.payloads
    host.reply(assistant("", ("c", "f", "{}")))
    again = opened(host.store, setup).preview()
    assert again.payloads[: len(first.payloads)] == first.payloads
    session = opened(host.store, setup)
    session.record(assistant("done"), *tame(20, 60))
    assert session.assemble([user("and then?")]).event is not None
    session.undo()
    shown = session.preview().payloads
    assert shown[: len(first.payloads)] == first.payloads


def test_caps_wait_inside_of_a_tool_loop() -> None:
    """V28: an event there would break the prefix of a request that fits the window."""
    host = Host(InMemoryStore(), capped(PolicyCaps(history=200, total=400)), watch=False)
    host.run(tame(20, 40))
    inside = [request for request in requests(host.calls) if not request.view.at_turn]
    assert len(inside) == 20
    assert all(one.event is None for one in inside)


def test_window_binds_where_it_is_smaller_than_the_caps() -> None:
    """Its own marks hold below it: caps of 100,000 words make no event wait until nothing fits."""
    caps = PolicyCaps(history=100_000, total=100_000, summary=100_000)
    host = Host(InMemoryStore(), capped(caps, window_tokens=4096), watch=False)
    calls = requests(host.run(tame(30, 120)))
    assert {call.event.cause for call in calls if call.event} == {"high-water"}
    assert all(call.cost.bound <= call.limit.bound for call in calls)
