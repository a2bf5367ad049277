"""Promise 3: assembling writes nothing but the plan and its summaries, and recording stores what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from squidbot.adapters.stdlib import InMemoryStore

from .driver import Host, Setup
from .histories import effort, histories, schedules, setups

if TYPE_CHECKING:
    from squidbot.core.engine import Inputs
    from squidbot.core.messages import Message


@effort(20)
@given(history=histories(), setup=setups(), given=schedules())
def test_assembling_adds_at_most_one_plan_and_only_with_an_event(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """Messages are what they were; summaries, window, snapshot, told facts come with a plan only (B-10)."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)])
    for call in host.run(history):
        plans = call.after.records["plan"]
        added = plans[len(call.before.records["plan"]) :]
        assert call.after.messages == call.before.messages
        with_plans = dict.fromkeys(("plan", "window", "snapshot", "told"), ())
        beside = [{**held.records, **with_plans} for held in (call.before, call.after)]
        assert beside[0] == beside[1]
        assert plans[: len(plans) - len(added)] == call.before.records["plan"]
        if call.assembly is not None and call.assembly.event is not None:
            assert [record.body for record in added] == [call.assembly.event.to_json()]
        else:
            assert added == ()
            assert call.after.records == call.before.records
            assert call.after.summaries == call.before.summaries
