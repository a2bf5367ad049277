"""Promise 7, case by case: one event for one change, and what it says."""

from __future__ import annotations

from itertools import pairwise

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.plan import FirstChanged
from squidbot.core.settings import HistorySettings

from .driver import BY_MARKS, Host, Setup, assistant, causes, message, requests, result, user
from .histories import WORDS, tame
from .rules import breaks_at

SMALL = Setup(4096)


def test_tools_change_makes_one_event_and_no_more() -> None:
    """Later requests extend the one that the event made."""
    host = Host(InMemoryStore(), SMALL, inputs=lambda step: Inputs(tools="[]" if step < 3 else "[1]"))
    host.run(tame(5, 4))
    assert [cause for cause in causes(host) if cause] == ["tools-changed"]


def test_event_names_the_system_text_where_history_was_too_long_to_be_read_back_too() -> None:
    """A message that fits nowhere is stored and the session read anew; its next request opens with another text."""
    setup = Setup(2048, None, HistorySettings(policy_limit=100), WORDS)
    systems = ("", "", "You are helpful.")
    host = Host(InMemoryStore(), setup, inputs=lambda step: Inputs(system=systems[step]))
    host.run([user("[DECISION] a"), assistant("")])
    host.run([user("\0" * 2657), *(message("system", "\U0001f7ff" * size) for size in (426, 1301)), assistant("")])
    host.run([user("")])
    event = host.calls[-1].request.event
    assert event is not None
    assert event.outside_changed
    assert event.first_changed == FirstChanged(0, -1, 0)
    assert event.price is not None
    assert event.price.written_tokens == setup.settings.prices.anew(event.tokens_after, 0)


def test_tools_change_drops_reasoning_in_the_request_as_in_the_plan() -> None:
    """A restarted process, which renders by the plan, sends the same bytes."""
    host = Host(InMemoryStore(), SMALL, inputs=lambda step: Inputs(tools="[]" if step < 3 else "[1]"))
    for turn in range(4):
        host.pending.append(user(f"q{turn}"))
        host.reply(message("assistant", f"a{turn}", reasoning_content="hm"))
    host.pending.append(user("last"))
    call = host.call()
    again = Host(host.store, host.setup, inputs=lambda _step: Inputs(tools="[1]"))
    again.pending.append(user("last"))
    assert again.call().request.payloads == call.request.payloads


def test_manual_compaction_is_the_only_event_of_its_change() -> None:
    """The request after `compact` needs no repair."""
    host = Host(InMemoryStore(), Setup(16_000))
    host.run(tame(20, 120))
    assert host.session.compact() is not None
    host.pending[:] = [user("next")]
    assert host.call().request.event is None


def test_repair_has_its_event_after_a_restart() -> None:
    """A late result completes a step that was told as text: the prefix breaks, and the event says so."""
    for restarts in (False, True):
        host = Host(InMemoryStore(), SMALL)
        host.run([user("look"), assistant("", ("a", "f", "{}"), ("b", "f", "{}")), result("a", "data")])
        before = host.calls[-1].request
        host.session.record(*before.incoming)
        if restarts:
            host.restart()
        host.pending[:] = [result("b", "data")]
        after = host.call().request
        assert breaks_at(before, after) is not None
        assert after.event is not None
        assert after.event.cause == "repaired"


def test_first_changed_counts_the_messages_that_are_sent() -> None:
    """The host's system text and the opening notice are counted too."""
    host = Host(InMemoryStore(), SMALL, inputs=lambda _step: Inputs(system="be good"))
    host.run(tame(20, 60))
    changes = [(old, new) for old, new in pairwise(requests(host.calls)) if new.event]
    assert changes
    for old, new in changes:
        assert new.event is not None
        assert new.event.first_changed is not None
        assert new.event.first_changed.index == breaks_at(old, new)


def test_event_of_another_process_is_not_repaired() -> None:
    """A session that comes back to a plan that somebody else has changed takes it as it is."""
    store, setup = InMemoryStore(), Setup(4096, settings=BY_MARKS)
    host, other = Host(store, setup), Host(store, setup)
    host.run(tame(4, 60))
    other.run(tame(12, 60, start=4))
    assert any(causes(other))
    host.pending[:] = [user("next")]
    assert host.call().request.event is None
