"""Promise 6: same inputs, same bytes, whatever process makes the request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.compaction.turn import Inputs
from squidbot.core.messages import Message, Usage
from squidbot.core.settings import strategy

from .driver import Call, Host, Setup, assistant, result, user
from .histories import WORDS, Remembering, effort, histories, schedules, setups

if TYPE_CHECKING:
    from squidbot.core.view.assembly import CoreAssembly


def outcome(call: Call) -> tuple[tuple[str, ...], object, str]:
    """Return what a host gets of a call: the payloads, the cause of an event, the error."""
    if call.assembly is None:
        return (), None, str(call.error)
    return call.assembly.payloads, call.assembly.event and call.assembly.event.cause, ""


@effort(12)
@given(history=histories(), setup=setups(), given=schedules())
def test_two_stores_give_the_same_bytes(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """Two sessions that never met."""
    runs = [
        Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)]).run(history) for _ in range(2)
    ]
    assert list(map(outcome, runs[0])) == list(map(outcome, runs[1]))


@effort(40)
@given(history=histories(), setup=setups(), given=schedules(), restarts=st.frozensets(st.integers(0, 14)))
def test_restarted_process_gives_the_same_bytes(
    history: list[Message], setup: Setup, given: list[Inputs], restarts: frozenset[int]
) -> None:
    """A process that ends at any point between two calls, and another one that goes on."""
    store, other = InMemoryStore(), InMemoryStore()
    calls = Host(store, setup, inputs=lambda number: given[number % len(given)], watch=False).run(history)
    again = Host(other, setup, inputs=lambda number: given[number % len(given)], watch=False, restarts=restarts)
    assert list(map(outcome, again.run(history))) == list(map(outcome, calls))


@effort(20)
@given(
    history=histories(),
    setup=setups(),
    percent=st.lists(st.sampled_from([60, 90, 110, 150]), min_size=1, max_size=4),
    restarts=st.frozensets(st.integers(0, 14)),
)
def test_restarted_process_gives_the_same_bytes_when_usage_is_reported(
    history: list[Message], setup: Setup, percent: list[int], restarts: frozenset[int]
) -> None:
    """What reported usage has taught outlives the process."""

    def usage(assembly: CoreAssembly) -> Usage:
        return Usage(assembly.cost.bound * percent[len(assembly.parts) % len(percent)] // 100)

    calls = Host(InMemoryStore(), setup, usage=usage, watch=False).run(history)
    again = Host(InMemoryStore(), setup, usage=usage, watch=False, restarts=restarts).run(history)
    assert list(map(outcome, again)) == list(map(outcome, calls))


@effort(20)
@given(history=histories(), setup=setups(), given=schedules())
def test_assembling_again_gives_the_same_bytes(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """A host that tries again after its provider failed sends what it sent, and makes no event for it."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for one in history:
        if one.role != "assistant":
            host.pending.append(one)
            continue
        first, second = host.call(), host.call()
        if first.assembly is not None:
            assert second.request.payloads == first.assembly.payloads
            assert second.request.event is None
        host.reply(one)


def test_second_try_cuts_outputs_as_the_first_did_although_its_event_brought_facts() -> None:
    """An output gets the room that it has without what memory says, which its own call may bring into the head."""
    setup = Setup(2048, None, replace(strategy("coherence", 1536), policy_limit=400), WORDS)
    inputs = Inputs(unprompted=Remembering(("Likes tea.",)))
    host = Host(InMemoryStore(), setup, inputs=lambda _: inputs, watch=False)
    host.reply(assistant("", *[("a", "read", "")] * 4))
    dense = "0000000\x80\x80\x80" + 5 * "\U00010000"
    host.pending.extend(result("a", text) for text in ("", "", "", 3 * dense))
    first, second = host.call(), host.call()
    assert first.request.event is not None
    assert second.request.payloads == first.request.payloads


def test_second_try_says_the_facts_that_the_first_said_although_its_event_put_them_in_the_head() -> None:
    """What is told behind the first words does not depend on the head of a plan that this very call has made."""
    setup = Setup(2048, 0, replace(strategy("balanced", 1536), policy_limit=100), WORDS)
    inputs = Inputs(unprompted=Remembering(("Likes tea.",)))
    host = Host(InMemoryStore(), setup, inputs=lambda _: inputs, watch=False)
    host.reply(assistant(""))
    host.pending.append(user(""))
    first, second = host.call(), host.call()
    assert first.request.event is not None
    assert second.request.payloads == first.request.payloads


def test_second_try_cuts_outputs_as_the_first_did_although_its_event_took_the_question_away() -> None:
    """Results are cut by what the message costs that opened their turn, sent or not."""
    setup = Setup(2048, None, replace(strategy("coherence", 1536), policy_limit=400), WORDS)
    host = Host(InMemoryStore(), setup, watch=False)
    host.pending.append(user("\x00" * 1310))
    host.reply(assistant("", *[("a", "read", "")] * 4))
    host.pending.extend([*(result("a", text) for text in ("", "", "", "-" * 945)), user("")])
    first, second = host.call(), host.call()
    assert first.request.event is not None
    assert second.request.event is None
    assert second.request.payloads == first.request.payloads


def test_second_try_cuts_outputs_as_the_first_did_although_its_event_took_the_first_step_away() -> None:
    """A step that opens the transcript, and has lost its result, asks for nothing: neither sent nor told in notes."""
    host = Host(InMemoryStore(), Setup(2048), watch=False)
    events = 0
    host.reply(assistant("x " * 300, ("a", "read", "{}")))
    for number in range(30):
        host.reply(assistant("", (f"t{number}", "read", "{}")))
        host.pending.append(result(f"t{number}", "word data " * 400))
        first = host.call()
        host.restart()
        second = host.call()
        assert second.request.event is None
        assert second.request.payloads == first.request.payloads
        events += first.request.event is not None
    assert events > 2
