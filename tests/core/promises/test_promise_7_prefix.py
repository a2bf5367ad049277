"""Promise 7: between plan changes requests only grow at the end, and every break has its event."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.plan import CAUSES

from .driver import Host, Setup, requests
from .histories import effort, histories, schedules, setups
from .rules import breaks_at

if TYPE_CHECKING:
    from squidbot.core.engine import Inputs
    from squidbot.core.messages import Message


@effort(40)
@given(history=histories(), setup=setups(), given=schedules())
def test_request_extends_the_one_before_unless_the_plan_changed(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """Payloads and parts; an event has its cause, position and price."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for old, new in pairwise(requests(host.run(history))):
        if new.event is None:
            assert breaks_at(old, new) is None
        else:
            assert new.event.cause in CAUSES
            assert new.event.first_changed is not None
            assert new.event.price is not None


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_event_names_the_place_that_moved(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """The position counts messages of the request as it is sent, and the tokens in front of it are those sent."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    made = [call for call in host.run(history) if call.assembly is not None]
    for old, new in pairwise(made):
        place, event = breaks_at(old.request, new.request), new.request.event
        if event is None or place is None:
            continue
        told = event.first_changed
        assert told is not None
        # Tools and system text stand in front of all messages: where they change, everything does.
        outside = (old.given.tools, old.given.system) != (new.given.tools, new.given.system)
        assert told.index == place or (outside and told.index == 0)
        assert told.token_offset == sum(part.cost.bound for part in new.request.parts[: told.index])


@effort(20)
@given(history=histories())
def test_no_event_comes_while_everything_fits(history: list[Message]) -> None:
    """A large window and constant inputs: the first request is a prefix of the last one."""
    made = requests(Host(InMemoryStore(), Setup(131_072), watch=False).run(history))
    assert [one.event and one.event.cause for one in made if one.event] == []
    assert all(breaks_at(old, new) is None for old, new in pairwise(made))
