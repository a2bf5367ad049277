"""What stays raw at every event: the newest turns, messages and tokens (B-15, C16); and the ceiling of pins."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import Ladder
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError
from squidbot.core.messages import Cost
from squidbot.core.settings import HistorySettings

from .driver import BY_MARKS, Host, Setup, assistant, causes, changed, opened, requests, result, user
from .histories import effort, histories, tame
from .test_promise_8_larger_window import larger_loses, window_pairs

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

MARKS = Setup(8192, None, BY_MARKS)
HALF = Setup(4096, None, BY_MARKS)


def raw(one: CoreAssembly) -> set[int]:
    """Return the messages that a request sends behind its notes."""
    return {row.seq for step in one.view.tail.steps for row in step.messages}


def turns_before(one: CoreAssembly, count: int) -> int:
    """Return where the newest complete turns of a plain conversation of four messages a turn begin."""
    return max(0, one.view.turn - 4 * count)


@pytest.mark.parametrize("turns", [0, 1, 3, 8])
def test_newest_complete_turns_stay_raw_at_every_event(turns: int) -> None:
    """B-15: blocks give way oldest first, and the last N turns stay as they were said, beside the one in flight."""
    host = Host(InMemoryStore(), changed(MARKS, floor_turns=turns, low_fraction=0.1), watch=False)
    host.run(tame(45, 80))
    events = [request for request in requests(host.calls) if request.event]
    assert len(events) > 2
    assert all(set(range(turns_before(event, turns), event.view.messages)) <= raw(event) for event in events)
    least = min(len(raw(event)) for event in events)
    assert (least >= 4 * turns + 1) if turns else (least < 13)


def test_number_of_turns_shrinks_to_the_newest_complete_one_where_it_does_not_fit() -> None:
    """And to what is in flight, where that does not fit either (C16): a small window makes its request."""
    host = Host(InMemoryStore(), Setup(131_072), watch=False)
    host.run(tame(20, 120))
    kept = {}
    for window_tokens in (1024, 2048, 4096, 32_768):
        one = opened(host.store, changed(Setup(window_tokens), floor_turns=6)).assemble([user("and now?")])
        kept[window_tokens] = {turns: set(range(80 - 4 * turns, 81)) <= raw(one) for turns in (0, 1, 6)}
    assert kept[1024] == {0: True, 1: False, 6: False}
    assert kept[2048] == {0: True, 1: True, 6: False}
    assert kept[32_768] == {0: True, 1: True, 6: True}


@pytest.mark.parametrize(("settings", "least"), [({"min_recent_messages": 9}, 9), ({"keep_recent_tokens": 900}, 10)])
def test_newest_messages_and_tokens_stay_raw_at_every_event(settings: dict[str, int], least: int) -> None:
    """Whatever share of the room `keep_fraction` is."""
    host = Host(InMemoryStore(), changed(HALF, keep_fraction=0.0, low_fraction=0.02, **settings), watch=False)
    host.run(tame(25, 60))
    events = [request for request in requests(host.calls) if request.event]
    assert len(events) > 2
    assert all(len(raw(event)) >= least for event in events)
    assert fewest_raw() < least


@cache
def fewest_raw() -> int:
    """Return how many messages such an event leaves raw where no number is set."""
    plain = Host(InMemoryStore(), changed(HALF, keep_fraction=0.0, low_fraction=0.02), watch=False)
    plain.run(tame(25, 60))
    return min(len(raw(request)) for request in requests(plain.calls) if request.event)


def test_a_hundred_messages_are_cut_to_eighty_in_one_batch() -> None:
    """C28: where a low water in messages is set, an event by their number leaves just so many; the next one is far."""
    ladder = Ladder(compact_at_messages=100, low_water_messages=80)
    setup = changed(Setup(131_072), ladder=ladder, patience=0.0, min_saving_fraction=0.0)
    host = Host(InMemoryStore(), setup, watch=False)
    said = [one for number in range(130) for one in (user(f"q{number} " * 9), assistant(f"a{number} " * 9))]
    calls = requests(host.run(said))
    at = [place for place, cause in enumerate(causes(host)) if cause]
    assert [len(raw(calls[place])) for place in at] == [80] * len(at)
    assert {later - earlier for earlier, later in pairwise(at)} == {10}


def test_mark_beside_summaries_is_a_share_of_what_they_leave() -> None:
    """O-06, V2, V3: usage above 80 % of size - system - summaries, anew after each event: notes bring none."""
    marks = {}
    for beside in (True, False):
        setup = changed(Setup(8192), beside_summaries=beside, patience=0.0, high_fraction=0.8, low_fraction=0.4)
        host = Host(InMemoryStore(), changed(setup, min_saving_fraction=0.0), watch=False)
        calls = requests(host.run(tame(60, 60)))
        marks[beside] = causes(host).count("high-water")
        for call in calls:
            told = call.view.summaries if beside else Cost(0, 0)
            free, used = call.limit.less(call.view.fixed).less(told), call.view.history.less(told)
            if call.view.at_turn and call.event is None:
                assert max(used.bound / free.bound, used.estimate / free.estimate) <= 0.8
    assert marks[False] > marks[True] > 2


@effort(40)
@given(
    history=histories(2000),
    windows=window_pairs(),
    floors=st.tuples(st.integers(0, 4), st.integers(0, 900), st.integers(0, 9)),
)
def test_larger_window_shows_all_that_a_smaller_one_shows_under_floors(
    history: list[Message], windows: tuple[int, int], floors: tuple[int, int, int]
) -> None:
    """Promise 8: a floor never takes away in a larger window what a smaller one keeps."""
    turns, tokens, messages = floors
    settings = HistorySettings(floor_turns=turns, keep_recent_tokens=tokens, min_recent_messages=messages)
    host = Host(InMemoryStore(), Setup(2048, None, settings), watch=False)
    host.run(history)
    assert larger_loses(host.store, host.setup, Inputs(), windows) == set()


def test_pins_above_their_ceiling_are_named() -> None:
    """O-05: messages and texts together; taking one away makes room again."""
    host = Host(InMemoryStore(), changed(Setup(8192), pinned_fraction=0.1), watch=False)
    host.run([user("go"), assistant("", ("a", "f", "{}")), result("a", "data " * 300), assistant("done")])
    session = opened(host.store, host.setup)
    session.pin(2)
    assert session.assemble([user("and?")])
    session.pin_text("style", "short " * 500)
    with pytest.raises(BudgetError, match=r"^pinned are style, m2; take some away .* of 819 tokens; .*pinned_fraction"):
        session.assemble([user("and?")])
    session.pin(2, on=False)
    assert session.assemble([user("and?")])
