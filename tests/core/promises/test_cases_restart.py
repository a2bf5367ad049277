"""Promises 3 and 6, case by case: a restarted process, a call that is tried again."""

from __future__ import annotations

from itertools import pairwise

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import Inputs
from squidbot.core.errors import InvalidRequestError
from squidbot.core.messages import Usage
from squidbot.core.plan import Section

from .driver import Host, Setup, assistant, changed, held, message, opened, requests, result, user
from .histories import tame

SMALL = Setup(4096)
ORDINARY = {events.CONTEXT_ASSEMBLED, events.LEASE_OPENED}
FILLER = "some words about it. " * 40


def test_restart_without_a_plan_reads_outputs_that_were_cut_at_birth() -> None:
    """What is read back is measured by what is sent, so that the user message does not fall out."""
    runs = []
    for restarts in (frozenset[int](), frozenset({2})):
        host = Host(InMemoryStore(), SMALL, restarts=restarts)
        host.run(
            [user("look"), assistant("", ("a", "f", "{}")), result("a", "data " * 40_000), assistant("ok"), user("?")]
        )
        runs.append([one.payloads for one in requests(host.calls)])
    assert runs[0] == runs[1]


def test_restart_keeps_what_usage_has_taught() -> None:
    """The calibration is stored with the request."""
    runs = []
    for restarts in (frozenset[int](), frozenset({6})):
        host = Host(InMemoryStore(), SMALL, restarts=restarts, usage=lambda one: Usage(one.cost.bound * 3 // 2))
        host.run(tame(6, 60))
        runs.append(([one.limit for one in requests(host.calls)], [one.payloads for one in requests(host.calls)]))
    assert runs[0] == runs[1]


def test_restart_keeps_compaction_paused() -> None:
    """Skipped events and the rest are stored with the request."""
    setup = changed(SMALL, min_saving_fraction=0.9, high_fraction=0.2)
    told = []
    for restarts in (frozenset[int](), frozenset(range(40))):
        host = Host(InMemoryStore(), setup, restarts=restarts, inputs=lambda step: Inputs(now=1000.0 + step))
        host.run(tame(8, 20))
        told.append([name for name in host.observer.names() if name not in ORDINARY])
    assert told[0] == [events.COMPRESSION_SKIPPED, events.COMPRESSION_SKIPPED, events.COMPACTION_PAUSED]
    assert told[1] == told[0]


def test_announcement_is_sent_again_when_the_call_is_tried_again() -> None:
    """Nothing counts as told before its request is recorded."""
    host = Host(InMemoryStore(), SMALL)
    host.run(tame(2, 4))
    host.session.pin_text("goal", "win")
    host.pending[:] = [user("next")]
    first, second = host.call().request, host.call().request
    assert "win" in first.payloads[-1]
    assert second.payloads == first.payloads
    assert second.event is None


def test_nothing_is_written_when_there_is_nothing_to_answer() -> None:
    """No plan stays behind an error."""
    store = InMemoryStore()
    with pytest.raises(InvalidRequestError, match=r"^nothing has been said; give the user's message"):
        opened(store, SMALL).assemble([], Inputs(sections=(Section("memory", "x"),)))
    assert store.head("s") == (0, 0)


def test_first_call_tried_again_opens_no_second_plan() -> None:
    """The session is opened once, though no message is stored yet."""
    host = Host(InMemoryStore(), SMALL, inputs=lambda _step: Inputs(sections=(Section("memory", "x"),)))
    host.pending.append(user("x"))
    host.call()
    host.call()
    assert len(held(host.store).records["plan"]) == 1


def test_turn_is_known_after_a_crash_behind_an_event_that_kept_only_what_came() -> None:
    """No stored message stands in the tail: the turn is read from the newest stored one."""
    setup = changed(SMALL, low_fraction=0.0, keep_fraction=0.0)
    host = Host(InMemoryStore(), setup)
    host.run([message("system", "s"), user("THE TASK")])
    session = opened(host.store, setup)
    session.record(*host.calls[-1].request.incoming)
    for number in range(60):
        said = assistant(f"step {number} " + FILLER)
        made = session.assemble([said])
        if made.event is not None and made.event.tail_from_seq == made.incoming[0].seq:
            assert made.incoming[0].turn == 1
            assert opened(host.store, setup).record(said)[0].turn == 1
            return
        session.record(*made.incoming)
    pytest.fail("no event kept only what came")


def test_assistant_behind_a_pinned_one_has_its_notice_after_a_reload() -> None:
    """A segment may end with the assistant: a notice stands before the next one, whoever loads it."""
    for pinned in range(1, 16):
        host = Host(InMemoryStore(), SMALL, watch=False)
        host.run([user("start"), *(assistant(f"step {n} " + FILLER) for n in range(4))])
        host.session.pin(pinned)
        for number in range(4, 20):
            host.reply(assistant(f"step {number} " + FILLER))
        for one in requests(host.calls):
            assert ("assistant", "assistant") not in pairwise(part.role for part in one.parts), pinned
