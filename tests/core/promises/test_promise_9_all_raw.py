"""Promise 9: if all raw fits under the high-water mark, all raw is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.view.renderer import Renderer, spent
from squidbot.core.view.steps import steps_of

from .driver import CODEC, Call, Host, Setup, held, opened, user
from .histories import effort, histories, inputs, setups, unmarked
from .rules import is_said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Message, StoredMessage
    from squidbot.core.view.assembly import CoreAssembly

PAUSES = st.lists(st.sampled_from([0.0, 10.0, 299.0, 301.0, 4000.0]), min_size=1, max_size=5)


def raw_pressure(setup: Setup, given: Inputs, assembly: CoreAssembly, rows: Sequence[StoredMessage]) -> float:
    """Return what all rows, sent as they were born, would take of history's room in the unit that binds."""
    renderer = Renderer(setup.meter, {CODEC.tag: CODEC})
    counted = [renderer.counted(row) for row in rows]
    lead = next((place for place, row in enumerate(rows) if row.role != "system"), len(rows))
    said = renderer.raw(steps_of(counted[lead:]))
    history = spent(said)
    head = assembly.view.head  # with what durable memory says in it
    outside = spent([*given.system_parts(setup.meter), *head, *renderer.opening(said), *renderer.closing(said)])
    outside = outside.plus(given.tools_cost(setup.meter)).plus(spent(renderer.raw(steps_of(counted[:lead]))))
    bound = assembly.limit.bound - outside.bound
    estimate = assembly.limit.estimate - outside.estimate
    return max(history.bound / max(1, bound), history.estimate / max(1, estimate))


def check_event(setup: Setup, call: Call) -> None:
    """Check that an event that hides or cuts something came above the high-water mark only."""
    if call.assembly is None or call.assembly.event is None or not call.assembly.event.segments:
        return
    rows = (*call.before.messages, *call.assembly.incoming)
    assert raw_pressure(setup, call.given, call.assembly, rows) > setup.settings.high_fraction


@effort(30)
@given(history=histories(), setup=setups().map(unmarked), given=inputs(), pauses=PAUSES)
def test_nothing_is_hidden_while_everything_is_under_the_mark(
    history: list[Message], setup: Setup, given: Inputs, pauses: list[float]
) -> None:
    """Every event that takes something away, also after pauses that leave the provider's cache cold (B-14)."""
    clock = [1_700_000_000.0 + sum((pauses * 20)[:step]) for step in range(30)]
    host = Host(InMemoryStore(), setup, inputs=lambda step: replace(given, now=clock[step]))
    for call in host.run([replace(one, time=None) for one in history]):
        check_event(setup, call)


@effort(25)
@given(
    history=histories(),
    setup=setups().map(unmarked),
    window_tokens=st.sampled_from([2048, 4096, 8192, 16_384]),
    pauses=PAUSES,
)
def test_everything_is_sent_under_another_lease_where_it_fits_under_the_mark(
    history: list[Message], setup: Setup, window_tokens: int, pauses: list[float]
) -> None:
    """What an event hid comes back; what was cut at birth stays cut."""
    host = Host(InMemoryStore(), setup, inputs=lambda step: Inputs(now=1000.0 + sum((pauses * 20)[:step])), watch=False)
    host.run(history)
    other = replace(setup, window_tokens=window_tokens, reserve=None)
    again = Host(host.store, other, watch=False)
    again.pending.append(user("and now?"))
    call = again.call()
    if call.assembly is None:
        return
    rows = (*held(host.store).messages, *call.assembly.incoming)
    if other.window.window_id != setup.window.window_id and (
        raw_pressure(other, Inputs(), call.assembly, rows) <= other.settings.high_fraction
    ):
        said = {part.first_seq for part in call.assembly.parts if is_said(part)}
        assert said == set(range(len(rows)))
        assert not call.assembly.view.blocks


def test_session_comes_back_whole_when_its_window_grows() -> None:
    """V23: 128K and 8K windows over one transcript: all raw, swapped, all raw; the transcript is unchanged."""
    store = InMemoryStore()
    large, small = Setup(131_072), Setup(8192)
    opened(store, large).record(*(user(f"question {n} " + "words " * 300) for n in range(40)))
    rows = held(store).messages
    whole = opened(store, large).assemble([user("?")])
    assert [part.first_seq for part in whole.parts] == list(range(41))
    swapped = opened(store, small).assemble([user("?")])
    assert swapped.view.blocks
    again = opened(store, large).assemble([user("?")])
    assert again.payloads == whole.payloads
    assert held(store).messages == rows
