"""Promise 11: compaction terminates: one event a call, a rest after two that would not pay, a session that goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError

from .driver import Host, Setup, changed, copied, opened, user
from .histories import effort, histories, schedules, setups, tame

if TYPE_CHECKING:
    from squidbot.core.messages import Message

START = 1_700_000_000.0
GAPS = st.lists(st.sampled_from([0.0, 1.0, 100.0, 150.0, 299.0, 300.0, 301.0]), min_size=1, max_size=6)


def clocked(setup: Setup, gaps: list[float], restarts: frozenset[int] = frozenset()) -> Host:
    """Return a host whose clock makes these steps over and over, in seconds, one before each call."""
    return Host(
        InMemoryStore(),
        setup,
        inputs=lambda step: Inputs(now=START + sum((gaps * 60)[:step])),
        restarts=restarts,
        watch=False,
    )


def told_by_call(host: Host, history: list[Message]) -> list[tuple[float, list[str]]]:
    """Return for each answered call its time and what was told of compaction in it."""
    told: list[tuple[float, list[str]]] = []
    for one in history:
        if one.role != "assistant":
            host.pending.append(one)
            continue
        seen = len(host.observer.events)
        now = host.inputs(host.replies).now or 0.0
        host.reply(one)
        names = [event.name for event in host.observer.events[seen:] if event.cause == "high-water"]
        told.append((now, [name for name in names if name not in {events.COMPRESSED, events.PREFIX_BROKEN}]))
    return told


@effort(20)
@given(
    history=st.builds(tame, st.integers(3, 14), st.sampled_from([4, 20, 40])),
    gaps=GAPS,
    saving=st.sampled_from([0.1, 0.3, 0.6, 0.9]),
    high=st.sampled_from([0.1, 0.2, 0.5]),
    restarts=st.frozensets(st.integers(0, 28)),
)
def test_compaction_rests_after_two_events_in_a_row_that_would_save_too_little(
    history: list[Message], gaps: list[float], saving: float, high: float, restarts: frozenset[int]
) -> None:
    """One warning, and no high-water event for 300 seconds of the times given; restarts change nothing."""
    setup = changed(Setup(4096), min_saving_fraction=saving, high_fraction=high, low_fraction=high / 2)
    skipped, rests_until = 0, 0.0
    for now, names in told_by_call(clocked(setup, gaps, restarts), history):
        if now < rests_until:
            assert names == []
        elif names == [events.VIEW_PLAN_CHANGED]:
            skipped = 0
        elif names:
            skipped += 1
            paused = [events.COMPACTION_PAUSED] if skipped == 2 else []
            assert names == [events.COMPRESSION_SKIPPED, *paused]
            if paused:
                skipped, rests_until = 0, now + setup.settings.backoff_seconds


def test_compaction_tries_again_when_its_rest_is_over() -> None:
    """Two questions at 0 s pause it; one at 299 s asks for nothing, one at 300 s is skipped again."""
    setup = changed(Setup(4096), min_saving_fraction=0.99, high_fraction=0.02, low_fraction=0.01)
    times = [0.0] * 6 + [299.0] * 2 + [300.0] * 2
    host = Host(InMemoryStore(), setup, inputs=lambda step: Inputs(now=times[step]), watch=False)
    skipped, paused = events.COMPRESSION_SKIPPED, events.COMPACTION_PAUSED
    told = told_by_call(host, tame(5, 40))
    assert [names for _, names in told] == [[], [], [skipped], [], [skipped, paused], [], [], [], [skipped], []]


@effort(20)
@given(history=histories(), setup=setups(), given=schedules())
def test_call_changes_the_plan_at_most_once(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """One `view-plan-changed` for a call, and never a skipped event beside it."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for one in history:
        if one.role != "assistant":
            host.pending.append(one)
            continue
        seen = len(host.observer.events)
        call = host.call()
        names = [event.name for event in host.observer.events[seen:]]
        made = names.count(events.VIEW_PLAN_CHANGED)
        assert made == (call.assembly is not None and call.assembly.event is not None)
        assert names.count(events.COMPRESSION_SKIPPED) + made <= 1
        host.reply(one)


@effort(15)
@given(history=histories(most=9000), setup=setups(), size=st.integers(4_000, 40_000))
def test_call_that_is_refused_leaves_no_trace_in_the_next_one(history: list[Message], setup: Setup, size: int) -> None:
    """Another question gets the request that it would have had."""
    host = Host(InMemoryStore(), setup, watch=False)
    host.run(history)
    said = [*host.pending, user("and now?")]
    session, other = (opened(store, setup) for store in (host.store, copied(host.store)))
    try:
        session.assemble([*host.pending, user("word " * size)], Inputs(now=START))
    except BudgetError:
        outcomes = []
        for one in (session, other):
            try:
                outcomes.append(one.assemble(said, Inputs(now=START)).payloads)
            except BudgetError as error:
                outcomes.append((str(error),))
        assert outcomes[0] == outcomes[1]


def test_session_pays_for_its_events_only_a_few_times_in_a_long_tool_loop() -> None:
    """Every event frees room for several steps, so 80 steps of a small window make far fewer events than steps."""
    host = Host(InMemoryStore(), Setup(4096), watch=False)
    host.run(tame(40, 80))
    made = [call for call in host.calls if call.assembly is not None and call.assembly.event is not None]
    assert all(call.error is None for call in host.calls)
    assert 1 <= len(made) <= len(host.calls) // 4
