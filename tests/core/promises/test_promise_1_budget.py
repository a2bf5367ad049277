"""Promise 1: cost and reserve fit the window, by the real tokenizer too, or a typed error says what takes the room."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BudgetError
from squidbot.core.tokens.counters import Meter, builtin_counter

from .driver import Host, Setup, held, opened, requests, user
from .histories import effort, histories, schedules, setups
from .rules import rendered, sent

if TYPE_CHECKING:
    from squidbot.core.engine import Inputs
    from squidbot.core.messages import Message

RANKS = Path(__file__).resolve().parents[4] / "shared" / "data" / "tokenizers"


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_request_fits_its_window_or_a_typed_error_says_why(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """Both checks of C12, and an error whose numbers tell the same as its being raised."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for call in host.run(history):
        if call.assembly is not None:
            cost, limit = call.assembly.cost, call.assembly.limit
            assert cost.bound + setup.window.reserved_output_tokens <= setup.window_tokens
            assert cost.estimate <= limit.estimate
            assert call.assembly.parts
        elif isinstance(call.error, BudgetError):
            assert call.error.cost >= call.error.budget
            assert call.error.culprit
            assert call.error.key
            assert call.error.unit in {"tokens", "words"}


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_bound_is_at_least_the_bound_of_every_message_sent(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """The cost that was enforced is that of the payloads themselves: text, calls, notices, 4 tokens a message."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    count = setup.meter.physical.upper_bound
    for call in host.run(history):
        if call.assembly is not None:
            spent = sum(count(rendered(one)) + 4 for one in sent(call.assembly))
            assert spent + count(call.given.tools) <= call.assembly.cost.bound


@pytest.mark.parametrize(
    "name", ["o200k_base", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cl100k_base", "qwen"))]
)
def test_real_tokens_stay_below_the_bound_when_the_default_counter_enforced_it(name: str) -> None:
    """Hostile histories counted with published vocabularies."""
    ranks = RANKS / f"{name}.tiktoken"
    if not ranks.exists():
        pytest.skip(f"no token ranks at {ranks}")
    tiktoken = pytest.importorskip("squidbot.adapters.tiktoken")
    counter = tiktoken.TiktokenCounter(ranks)

    @effort(7)
    @given(history=histories(), given=schedules())
    def check(history: list[Message], given: list[Inputs]) -> None:
        host = Host(InMemoryStore(), Setup(), inputs=lambda number: given[number % len(given)], watch=False)
        for assembly in requests(host.run(history)):
            assert sum(counter.count(rendered(one)) + 4 for one in sent(assembly)) <= assembly.cost.bound

    check()


def test_exact_counter_leaves_room_for_the_tokens_that_prime_the_answer() -> None:
    """A conversation of any length, its answer and what opens that are within the window together."""
    setup = Setup(2049, 512, meter=Meter(builtin_counter("bytes")))
    made = 0
    for size in range(1500, 1540):
        try:
            assembly = opened(InMemoryStore(), setup).assemble([user("x" * size)])
        except BudgetError:
            continue
        made += 1
        real = sum(len(rendered(one)) + 4 for one in sent(assembly)) + 3  # OpenAI's cookbook: each reply is primed so
        assert real + 512 <= 2049, size
    assert 0 < made < 40


@pytest.mark.parametrize("name", ["words", "chars4", "chars3", "bytes", "classes"])
def test_every_built_in_counter_keeps_the_window(name: str) -> None:
    """As the physical counter; words and characters have the bytes for their bound."""
    setup = Setup(2048, meter=Meter(builtin_counter(name)))

    @effort(5)
    @given(history=histories(largest=8))
    def check(history: list[Message]) -> None:
        for assembly in requests(Host(InMemoryStore(), setup, watch=False).run(history)):
            assert assembly.cost.bound + setup.window.reserved_output_tokens <= setup.window_tokens
            assert (
                sum(setup.meter.physical.upper_bound(rendered(one)) + 4 for one in sent(assembly))
                <= assembly.cost.bound
            )

    check()


@effort(15)
@given(history=histories(most=9000), setup=setups(), given=schedules())
def test_store_is_as_it_was_when_no_request_can_be_made(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """An error leaves nothing behind: no plan, no summary."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)])
    for call in host.run(history):
        if call.error is not None:
            assert call.after == call.before


@effort(12)
@given(history=histories(most=9000), setup=setups())
def test_small_message_is_answered_after_an_impossible_one(history: list[Message], setup: Setup) -> None:
    """A session is never dead: with nothing else in the way, a short question always gets its request."""
    host = Host(InMemoryStore(), setup, watch=False)
    host.run([*history, *([user("and now?")] if not host.pending else [])])
    host.pending[:] = [user("and now?")]
    call = host.call()
    lead = sum(row.cost.bound for row in held(host.store).messages if row.role == "system")
    if lead < setup.window_tokens // 8:
        assert call.assembly is not None, str(call.error)
