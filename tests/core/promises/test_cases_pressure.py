"""The ladder of pressure, case by case: who is told, when, how often, and what an event does on each rung."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.budget import Ladder, pressure_of
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError
from squidbot.core.settings import HistorySettings

from .driver import BY_MARKS, Heard, Host, Setup, assistant, causes, changed, opened, requests, result, user
from .histories import effort, tame

if TYPE_CHECKING:
    from squidbot.core.view.assembly import CoreAssembly

RUNGS = ["warn", "journal", "critical", "emergency"]
# No mark fires an event before history is full.
LATE = Setup(4096, None, HistorySettings(high_fraction=1.0, low_fraction=0.5))


def told(observer: Heard, name: str = events.CONTEXT_PRESSURE) -> list[str]:
    """Return the causes of the events of a name."""
    return [event.cause for event in observer.events if event.name == name]


def fullness(one: CoreAssembly) -> float:
    """Return how full the room of a request is beside its notes."""
    # What its history leaves of it is system text, tools, head, and what is around them: all of it counts.
    beside = one.cost.less(one.view.history)
    return pressure_of(one.view.history, one.view.summaries, one.limit.less(beside))


def warned(one: CoreAssembly) -> list[str]:
    """Return the notices of a request that tell of the room."""
    return [part.notice for part in one.parts if part.notice and "% full" in part.notice]


@effort(15)
@given(turns=st.integers(5, 25), words=st.sampled_from([20, 40, 90]), restarts=st.frozensets(st.integers(0, 50)))
@example(turns=24, words=20, restarts=frozenset())
def test_rung_is_told_once_a_crossing_whoever_holds_the_session(
    turns: int, words: int, restarts: frozenset[int]
) -> None:
    """As often as requests, before any event, pass its mark from below; restarts change nothing."""
    host = Host(InMemoryStore(), LATE, restarts=restarts, watch=False)
    host.run(tame(turns, words))
    marks = LATE.settings.ladder
    crossed: list[str] = []
    before = 0.0
    heard = [event for event in host.observer.events if event.name == events.CONTEXT_PRESSURE]
    for request in requests(host.calls):
        # An event takes it down: what was reached without the event is what was told.
        now = (
            fullness(request)
            if request.event is None
            else max([fullness(request), *(e.fraction for e in heard[len(crossed) :][:1])])
        )
        crossed += [rung for rung in marks.told(now) if rung not in marks.told(before)]
        before = fullness(request)
    assert [event.cause for event in heard] == crossed


def test_pressure_says_which_rung_and_how_full() -> None:
    """Lowest first, each with the share that it reached; the second engine over the store tells nothing again."""
    host = Host(InMemoryStore(), LATE, watch=False)
    turns = 0
    while len(told(host.observer)) < 2:
        host.run(tame(1, 40, start=turns))
        turns += 1
    heard = [event for event in host.observer.events if event.name == events.CONTEXT_PRESSURE]
    assert [event.cause for event in heard] == RUNGS[: len(heard)]
    assert causes(host) == [None] * len(host.calls)
    for event in heard:
        assert 0.7 <= event.fraction <= 1
        assert event.tokens_before == event.tokens_after > 0
        assert (event.session_id, event.window_id) == ("s", LATE.window.window_id)
    second = Heard()
    opened(host.store, LATE, observer=second).assemble([user("?")])
    assert set(told(second)).isdisjoint(event.cause for event in heard)


def test_pressure_is_told_once_when_a_call_is_tried_again() -> None:
    """The host's provider failed twice; nothing was recorded between."""
    host = Host(InMemoryStore(), changed(LATE, ladder=Ladder(warn_fraction=0.05, journal_fraction=0.0)), watch=False)
    host.pending.append(user("please " * 200))
    first, second, third = host.call(), host.call(), host.call()
    assert first.request.payloads == second.request.payloads == third.request.payloads
    assert told(host.observer) == ["warn"]


def test_model_is_told_once_a_crossing_at_the_tail_of_a_users_message() -> None:
    """Behind what the user said, frozen there; again only after an event took history below the rung."""
    host = Host(InMemoryStore(), LATE, restarts=frozenset(range(0, 200, 3)))
    calls = requests(host.run(tame(20, 80)))
    lines = {row.seq: row.notice for call in host.calls for row in call.after.messages if row.notice}
    made = [call for call in calls if call.event is not None]
    assert made
    assert 1 <= len(lines) <= len(made) + 1
    for seq, line in lines.items():
        assert host.calls[-1].after.messages[seq].role == "user"
        assert "% full" in line
    for earlier, later in pairwise(calls):
        if later.event is None:
            assert later.parts[: len(earlier.parts)] == earlier.parts


def test_model_is_told_nothing_inside_a_tool_loop_or_where_it_is_switched_off() -> None:
    """There the event alone; the line comes with the next thing that the user says."""
    loop = [
        user("go"),
        *(one for n in range(6) for one in (assistant("", (f"c{n}", "f", "{}")), result(f"c{n}", "data " * 370))),
    ]
    for notice in (True, False):
        host = Host(InMemoryStore(), changed(LATE, ladder=Ladder(notice=notice)), watch=False)
        inside = requests(host.run(loop))
        assert told(host.observer)
        assert warned(inside[-1]) == []
        host.reply(assistant("done"))
        host.pending.append(user("and now?"))
        assert len(warned(host.call().request)) == notice


def test_number_of_messages_fires_an_event_and_holds_no_more_after_it() -> None:
    """At the next turn; the exit test is the same predicate (C4)."""
    setup = changed(Setup(32_768), ladder=Ladder(compact_at_messages=20))
    host = Host(InMemoryStore(), setup, watch=False)
    calls = requests(host.run(tame(20, 40)))
    assert set(causes(host)) == {None, "high-water"}
    for call in calls:
        if call.event is not None:
            assert call.view.tail.messages < 20
        if call.view.at_turn:
            assert call.view.tail.messages < 20


def test_number_of_tokens_fires_an_event_and_is_held_after_it() -> None:
    """Where the room's own mark is far away; inside a tool loop it waits."""
    setup = changed(Setup(32_768), ladder=Ladder(compact_at_tokens=3950), min_saving_fraction=0.0)
    host = Host(InMemoryStore(), setup, watch=False)
    calls = requests(host.run(tame(15, 120)))
    assert set(causes(host)) == {None, "high-water"}
    assert all(call.view.history.bound <= 3950 for call in calls if call.view.at_turn)
    assert any(call.view.history.bound > 3950 for call in calls)


def test_emergency_lowers_levels_and_merges_where_an_event_would_add_one_more_note() -> None:
    """A turn that jumps from below the mark to the emergency; the rung switched off, the notes before it stay."""
    long = [one for n in range(3) for one in (assistant("", (f"c{n}", "f", "{}")), result(f"c{n}", "data " * 680))]
    made = []
    for emergency in (0.95, 0.0):
        settings = replace(BY_MARKS, low_fraction=0.5, ladder=Ladder(emergency_fraction=emergency, notice=False))
        host = Host(InMemoryStore(), Setup(8192, None, settings), watch=False)
        host.run([*tame(40, 60), user("go"), *long, assistant("done"), user("next " * 1230)])
        assert causes(host)[-1] == "high-water"
        made.append(requests(host.calls)[-1])
    emergency_made, ordinary = made
    assert len(emergency_made.view.blocks) < len(ordinary.view.blocks)
    assert emergency_made.view.summaries.bound < ordinary.view.summaries.bound
    assert fullness(emergency_made) < fullness(ordinary)


def test_rollover_comes_before_an_error_and_is_told() -> None:
    """A question that leaves no room for notes: the user's newest words stay, and a pointer."""
    host = Host(InMemoryStore(), Setup(4096), watch=False)
    host.run([*tame(15, 80), user("word " * 2500)])
    made = host.calls[-1].request
    assert made.event is not None
    assert made.event.cause == "rollover"
    assert told(host.observer, events.ROLLOVER_COMPLETE) == ["rollover"]
    assert sum(part.role == "user" and part.payload is not None for part in made.parts) > 1
    assert {span.how for span in made.report.spans} == {"verbatim", "absent"}


@effort(25)
@given(
    turns=st.integers(0, 30),
    words=st.sampled_from([4, 40, 90]),
    size=st.integers(1500, 3200),
    system=st.sampled_from(["", "Be brief. " * 30]),
    notices=st.booleans(),
)
def test_budget_error_comes_only_where_the_turn_in_flight_does_not_fit_alone(
    turns: int,
    words: int,
    size: int,
    system: str,
    notices: bool,  # noqa: FBT001  # drawn
) -> None:
    """With system text, tools and room for one pointer: whatever was said before gives way."""
    inputs = Inputs(system=system, tools='[{"name": "read"}]')
    setup = changed(Setup(4096), ladder=Ladder(notice=notices))
    question = user("word " * size)
    host = Host(InMemoryStore(), setup, inputs=lambda _step: inputs, watch=False)
    host.run([*tame(turns, words), question])
    try:
        alone = opened(InMemoryStore(), setup).assemble([question], inputs)
    except BudgetError:
        assert isinstance(host.calls[-1].error, BudgetError)
        return
    free = min(alone.limit.bound - alone.cost.bound, alone.limit.estimate - alone.cost.estimate)
    if free >= 64:
        assert host.calls[-1].error is None


def test_overflow_forces_an_event_while_compaction_rests() -> None:
    """Two events that saved too little, then one that must be."""
    setup = changed(Setup(4096), min_saving_fraction=0.99, high_fraction=0.02, low_fraction=0.01)
    host = Host(InMemoryStore(), setup, inputs=lambda _step: Inputs(now=1000.0), watch=False)
    host.run(tame(20, 80))
    assert "high-water" in told(host.observer, events.COMPACTION_PAUSED)
    assert set(causes(host)) == {None, "overflow"}
    assert all(call.error is None for call in host.calls)


@pytest.mark.parametrize(("billion", "expected"), [(3.0, 0.255), (7.0, 0.425), (70.0, 0.8075), (None, 0.85)])
def test_reliability_is_reported_and_told_where_it_is_poor(billion: float | None, expected: float) -> None:
    """When notes first stand for messages, and not again; the report has it with every request."""
    host = Host(InMemoryStore(), Setup(4096), watch=False)
    window = replace(host.setup.window, parameters_billion=billion)
    host.restart()
    host.session.window = window
    host.session._state.window = window  # a window of a model whose size is known
    calls = requests(host.run(tame(20, 80)))
    assert sum(call.event is not None for call in calls) > 1
    assert calls[-1].report.reliability == pytest.approx(expected)
    heard = [event for event in host.observer.events if event.name == events.RELIABILITY_LOW]
    assert len(heard) == (expected < 0.4)
    assert all("new conversation" in event.cause and event.fraction == calls[-1].report.reliability for event in heard)


def test_report_tells_how_much_is_used() -> None:
    """Of what the request may cost, as bounds (O-14)."""
    made = opened(InMemoryStore(), Setup(4096)).assemble([user("word " * 500)])
    usage = made.report.usage
    assert (usage.current_tokens, usage.max_tokens) == (made.cost.bound, made.limit.bound)
    assert usage.percentage == 100 * made.cost.bound // made.limit.bound
