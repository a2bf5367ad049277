"""Promises 1, 6 and 7 where each turn has its own room for answers, and some another mode."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import most_reserved_tokens, reserve_for
from squidbot.core.engine import Inputs
from squidbot.core.last_request import Mode

from .driver import Host, Setup, requests, user
from .histories import effort, histories, setups
from .rules import breaks_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Message

    from .driver import Call

MODES = ("", "developer", "debugger")


@dataclass
class Turning(Host):
    """A host each of whose turns has a score and a mode, in order, over and over."""

    turns: Sequence[tuple[float, str]] = ((0.5, ""),)
    turn: int = -1
    opened_at: list[bool] = field(default_factory=list)

    def call(self) -> Call:
        """Open a turn where the user speaks last, or nobody has spoken before."""
        opens = self.turn < 0 or (bool(self.pending) and self.pending[-1].role == "user")
        self.turn += opens
        self.opened_at.append(opens)
        score, mode = self.turns[self.turn % len(self.turns)]
        made = Inputs(
            system=f"You are in mode {mode}. {'Be brief. ' * 9}" if mode else "",
            mode=Mode(mode, label=f"mode {mode}" if mode else ""),
            reserve=reserve_for(score, window_tokens=self.setup.window_tokens, tools_mode=True),
        )
        self.inputs = lambda _number: made
        return super().call()


def turns() -> st.SearchStrategy[list[tuple[float, str]]]:
    """Return scores in thousandths with modes."""
    scores = st.integers(0, 1000).map(lambda score: score / 1000)
    return st.lists(st.tuples(scores, st.sampled_from(MODES)), min_size=1, max_size=4)


def with_most(setup: Setup) -> Setup:
    """Return a setup whose window reserves the most that a turn may get, as the wiring opens it."""
    return replace(setup, reserve=most_reserved_tokens(setup.window_tokens, "balanced"))


@effort(30)
@given(history=histories(), setup=setups(), turned=turns())
def test_request_leaves_the_room_of_its_turn_and_breaks_the_prefix_at_events_alone(
    history: list[Message], setup: Setup, turned: list[tuple[float, str]]
) -> None:
    """Never over, whatever the turn before had; a mode changes where a turn opens, with an event as its cause."""
    host = Turning(InMemoryStore(), with_most(setup), watch=False, turns=turned)
    host.run(history)
    for call in host.calls:
        if call.assembly is not None:
            assert call.given.reserve is not None
            assert call.assembly.cost.bound + call.given.reserve.tokens <= setup.window_tokens
            assert call.assembly.max_output_tokens == call.given.reserve.tokens
    for old, new in pairwise(requests(host.calls)):
        assert new.event is not None or breaks_at(old, new) is None
    changed = [
        opens
        for opens, call in zip(host.opened_at, host.calls, strict=True)
        if call.assembly and call.assembly.event and call.assembly.event.cause == "mode-changed"
    ]
    assert all(changed)


@effort(20)
@given(
    history=histories(),
    setup=setups(),
    turned=turns(),
    restarts=st.frozensets(st.integers(1, 12), min_size=1, max_size=4),
)
def test_restart_gives_the_same_bytes_where_turns_differ(
    history: list[Message], setup: Setup, turned: list[tuple[float, str]], restarts: frozenset[int]
) -> None:
    """Room and mode of the newest request are stored with it: another process goes on as this one would have."""
    plain = Turning(InMemoryStore(), with_most(setup), watch=False, turns=turned)
    anew = Turning(InMemoryStore(), with_most(setup), watch=False, turns=turned, restarts=restarts)
    assert [one.payloads for one in requests(plain.run(history))] == [
        one.payloads for one in requests(anew.run(history))
    ]
    assert [str(one.error) for one in plain.calls] == [str(one.error) for one in anew.calls]


@effort(20)
@given(history=histories(), setup=setups(), score=st.integers(0, 1000).map(lambda score: score / 1000))
def test_turn_has_the_limit_of_a_lease_that_reserves_as_much(
    history: list[Message], setup: Setup, score: float
) -> None:
    """A turn's room for answers stands in place of the window's, and changes no other cost."""
    setup = with_most(setup)
    reserve = reserve_for(score, window_tokens=setup.window_tokens, tools_mode=True)
    turned = Turning(InMemoryStore(), setup, watch=False, turns=[(score, "")])
    fixed = Host(InMemoryStore(), replace(setup, reserve=reserve.tokens), watch=False)
    limits = {one.limit for one in requests(turned.run([user("Go."), *history]))}
    assert limits <= {one.limit for one in requests(fixed.run([user("Go.")]))}
