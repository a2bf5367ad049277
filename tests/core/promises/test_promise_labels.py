"""Labels in front of messages keep every promise: counted, frozen, the same bytes in any process (Q-03)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.budget import PolicyCaps
from squidbot.core.messages import Labels
from squidbot.core.settings import HistorySettings

from .acting import Act, acts
from .driver import CODEC, Host, Setup, changed, requests
from .histories import WORDS, effort, histories, schedules, setups
from .rules import breaks_at
from .test_promise_6_same_bytes import outcome
from .test_promise_13_undo import acting, talks

if TYPE_CHECKING:
    from squidbot.core.engine import Inputs
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

LABELS = Labels("telegram", "4711", frozenset({"4711"}))
SPEAKERS = {"user": "[telegram / owner]\n", "assistant": "[telegram / assistant]\n"}


def counted(one: CoreAssembly, setup: Setup) -> None:
    """Check that a request costs what is sent, labels included, and fits."""
    assert one.cost.bound <= one.limit.bound
    for part, payload in zip(one.parts, one.payloads, strict=True):
        sent = CODEC.decode(payload)
        assert setup.meter.said(sent).estimate <= part.cost.estimate or part.drop_thinking
        assert setup.meter.said(sent).bound <= part.cost.bound


@effort(40)
@given(history=histories(), setup=setups(), given=schedules(), restarts=st.frozensets(st.integers(0, 14)))
def test_labels_are_counted_and_frozen(
    history: list[Message], setup: Setup, given: list[Inputs], restarts: frozenset[int]
) -> None:
    """Within the budget, only growing between events, the same bytes in another process; what is stored is as said."""
    labelled = changed(setup, labels=LABELS)
    host = Host(InMemoryStore(), labelled, inputs=lambda number: given[number % len(given)], watch=False)
    calls = host.run(history)
    for one in requests(calls):
        counted(one, setup)
    for old, new in pairwise(requests(calls)):
        assert new.event is not None or breaks_at(old, new) is None
    again = Host(InMemoryStore(), labelled, inputs=host.inputs, watch=False, restarts=restarts).run(history)
    assert list(map(outcome, again)) == list(map(outcome, calls))
    rows = host.store.read("s", 0, 10_000)
    assert [row.payload for row in rows] == [one.payload for one in history[: len(rows)]]
    for row in rows:
        said = SPEAKERS.get(row.role, "") if CODEC.text(row.payload) else ""
        assert row.label == said.rstrip("\n")


@effort(15)
@given(history=talks(), given=acts())
def test_undo_and_restore_send_labels_as_they_were(history: list[Message], given: dict[int, list[Act]]) -> None:
    """Whatever is done to the view, in a process started anew at each step."""
    settings = HistorySettings(labels=LABELS)
    hosts = [acting(history, given, settings, restless=restless) for restless in (False, True)]
    first, second = (list(map(outcome, host.calls)) for host in hosts)
    assert first == second
    for request in requests(hosts[0].calls):
        for part, payload in zip(request.parts, request.payloads, strict=True):
            if part.label:
                assert CODEC.text(payload).startswith(SPEAKERS[part.role])


@effort(30)
@given(history=histories(1500), total=st.integers(60, 400))
def test_labels_count_under_the_caps(history: list[Message], total: int) -> None:
    """Three words each, in a cap in words (Q-03 before Q-06)."""
    cap = PolicyCaps(history=total, total=total, summary=60).left(0, 0, reduces=True)
    setup = Setup(131_072, None, HistorySettings(cap=cap, patience=0.0, labels=LABELS), WORDS)
    calls = Host(InMemoryStore(), setup, watch=False).run(history)
    for request in requests(calls):
        counted(request, setup)
    bare = Host(InMemoryStore(), changed(setup, labels=None), watch=False).run(history)
    assert [call.assembly is None for call in calls] == [call.assembly is None for call in bare]
