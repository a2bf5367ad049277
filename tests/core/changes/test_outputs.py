"""Tool output that has more than its share gives way first; a user interface is told of which category less is sent."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.errors import ConfigError
from squidbot.core.plan import Representation

from ..promises.driver import Host, Setup, assistant, changed, message, requests, result
from ..promises.rules import breaks_at

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.core.events import Event
    from squidbot.core.messages import Message

WEIGHTS = (10, 30, 40, 20)
SETUP = changed(Setup(8192), low_fraction=0.5, high_fraction=0.7, patience=0.0, category_weights=WEIGHTS)


def talk(turns: int, words: int, output: int) -> list[Message]:
    """Return turns with one call each: words of a question and an answer, words of output."""
    said: list[Message] = []
    for turn in range(turns):
        said += [
            message("user", f"question {turn} " + "word " * words),
            assistant("", (f"t{turn}", "read", "{}")),
            result(f"t{turn}", f"output {turn} " + "line " * output),
            assistant(f"answer {turn} " + "so " * words),
        ]
    return said


def run(setup: Setup, said: list[Message], *, restarts: frozenset[int] = frozenset()) -> Host:
    """Return a host that has had a talk."""
    host = Host(InMemoryStore(), setup, restarts=restarts)
    host.run(said)
    return host


def first_event(host: Host) -> list[Representation]:
    """Return how the first event sends what gave way."""
    event = next(request.event for request in requests(host.calls) if request.event is not None)
    return [segment.representation for segment in event.segments]


def test_output_above_its_share_is_cut_before_anything_else_is() -> None:
    """Not where categories have no shares, and not where it is dialogue that is too much (P-08, P-09, V12)."""
    loud = talk(10, 8, 800)
    assert first_event(run(SETUP, loud)) == [Representation.SLIMMED]
    assert Representation.SLIMMED not in first_event(run(changed(SETUP, category_weights=None), loud))
    assert Representation.SLIMMED not in first_event(run(SETUP, talk(14, 300, 8)))


def test_nothing_gives_way_while_all_fits() -> None:
    """However it is shared: caps are soft (P-08, V11)."""
    host = run(changed(SETUP, category_weights=(1, 97, 1, 1)), talk(4, 60, 60))
    assert all(request.event is None for request in requests(host.calls))


@given(
    turns=st.integers(4, 10),
    words=st.sampled_from([4, 60]),
    output=st.sampled_from([10, 120, 800]),
    weights=st.tuples(*[st.integers(0, 50)] * 4).filter(any),
    restarts=st.frozensets(st.integers(0, 28)),
)
def test_requests_with_shares_keep_what_all_requests_keep(
    turns: int, words: int, output: int, weights: tuple[int, int, int, int], restarts: frozenset[int]
) -> None:
    """Never over budget, extended between events, the same bytes after a restart (P-08)."""
    setup, said = changed(SETUP, category_weights=weights), talk(turns, words, output)
    sent = requests(run(setup, said).calls)
    assert [one.payloads for one in sent] == [
        request.payloads for request in requests(run(setup, said, restarts=restarts).calls)
    ]
    for before, after in pairwise(sent):
        assert after.cost.bound <= after.limit.bound
        assert after.event is not None or breaks_at(before, after) is None


def test_user_interface_is_told_of_which_category_less_is_sent(tmp_path: Path) -> None:
    """One event for each category and plan, with what it had and has (P-09)."""
    told: list[Event] = []

    class Screen:
        @squidbot.hookimpl
        def on_event(self, event: Event) -> None:
            told.append(event)

    settings = {"store": {"path": str(tmp_path / "s.db")}, "allocation": {"by_category": True}}
    with squidbot.load(settings, extensions=[Screen()]) as engine:
        session = engine.session("s", window_tokens=8192)
        for each in talk(12, 8, 1600):
            if each.role == "assistant":
                session.assemble()
            session.record(each)
    cut = [one for one in told if one.name == events.CATEGORY_TRUNCATED]
    assert {one.cause.split(":")[0] for one in cut} >= {"output"}
    assert all(one.tokens_after < one.tokens_before for one in cut)
    assert len({(one.plan_id, one.cause.split(":")[0]) for one in cut}) == len(cut)
    assert {one.plan_id for one in cut} <= {one.plan_id for one in told if one.name == events.VIEW_PLAN_CHANGED}


def test_shares_without_any_weight_are_a_wrong_setting() -> None:
    """Nobody would have a share (P-08)."""
    weights = dict.fromkeys((f"{name}_weight" for name in ("system", "context", "dialog", "output")), 0)
    with pytest.raises(ConfigError, match=r"^no category has a weight; set one of the four above 0 @ argument\.alloc"):
        squidbot.load({"allocation": {"by_category": True, **weights}})
    squidbot.load({"allocation": weights})
