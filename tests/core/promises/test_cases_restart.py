"""Single cases: budgets, plans and restarts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError, InvalidRequestError
from squidbot.core.messages import Usage
from squidbot.core.plan import FirstChanged, Section
from squidbot.core.settings import STRATEGIES, HistorySettings
from squidbot.core.tokens.counters import REQUEST_TOKENS, Meter, builtin_counter
from squidbot.core.view.renderer import BEGINS, CONTINUE

from .driver import BY_MARKS, Host, Setup, assistant, causes, changed, held, message, opened, requests, result, user
from .histories import WORDS, tame
from .rules import breaks_at

# -- promise 1, case by case: what a request costs, and what an error says of it --------------------------------------

SMALL = Setup(4096)


def test_session_goes_on_under_another_counter() -> None:
    """Notes counted by another counter have an id of their own."""
    host = Host(InMemoryStore(), Setup(8000, meter=Meter(builtin_counter("words"))))
    host.run(tame(10, 60))
    again = Host(host.store, Setup(8000, meter=WORDS))
    again.run([user("next")])
    assert again.calls[-1].error is None


def test_stored_counts_of_another_counter_are_not_taken_for_bounds() -> None:
    """They are counted anew: what "classes" measured proves nothing."""
    host = Host(InMemoryStore(), Setup(16_000))
    host.run(tame(4, 60))
    again = Host(host.store, Setup(16_000, meter=Meter(builtin_counter("bytes"))))
    again.run([user("next")])
    call = again.calls[-1].request
    assert sum(len(payload) for payload in call.payloads) * 2 // 3 <= call.cost.bound


def test_budget_error_is_in_the_unit_that_binds() -> None:
    """200 of 100 words, where the window has room in tokens."""
    setup = changed(Setup(4096, meter=WORDS), policy_limit=100)
    for text, system in (("w " * 200, ""), ("w", "w " * 200)):
        with pytest.raises(BudgetError) as raised:
            opened(InMemoryStore(), setup).assemble([user(text)], Inputs(system=system))
        assert (raised.value.unit, raised.value.budget) == ("words", 100)
        assert raised.value.cost == 200
        assert raised.value.key.startswith("window.safety_fraction")


def test_budget_error_names_pins_when_pins_take_the_room() -> None:
    """Pinned messages are summed up, and the whole is more than the budget."""
    host = Host(InMemoryStore(), SMALL)
    host.run(tame(10, 60))
    for seq in range(40):
        host.session.pin(seq)
    host.run([user("more " * 1800)])
    error = host.calls[-1].error
    assert isinstance(error, BudgetError)
    assert error.culprit == "pins"
    assert error.cost > error.budget


def test_budget_error_counts_all_that_came_with_the_call() -> None:
    """Two messages came; the error counts both."""
    with pytest.raises(BudgetError) as raised:
        opened(InMemoryStore(), Setup(2048)).assemble([user("a b c " * 20), user("\ud800" * 490)])
    assert raised.value.cost > raised.value.budget


def test_opening_notice_has_its_room_with_every_counter() -> None:
    """The notices' room is exact: a request is refused only where it does not fit with them."""
    setup = Setup(2048, 0, HistorySettings(high_fraction=1.0), Meter(builtin_counter("bytes")))
    front, behind = (len(text) + 4 for text in (BEGINS, CONTINUE))
    beside = front + len("hi") + 4 + 4 + len("ok") + 4 + behind + REQUEST_TOKENS
    for size in range(2048 - beside - 8, 2048 - beside + 9):
        host = Host(InMemoryStore(), setup)
        host.run([assistant("hi"), user("x" * size), assistant("ok")])
        whole = beside + size
        assert (host.call().error is None) == (whole <= 2048)


def test_notice_is_counted_with_its_fence_by_bytes() -> None:
    """21 bytes of fence cost 21."""
    host = Host(
        InMemoryStore(), Setup(2048, meter=Meter(builtin_counter("bytes"))), inputs=lambda _step: Inputs(notice="x")
    )
    host.pending.append(user("y"))
    assert host.call().request.cost.bound >= len("y\n\n<notice>\nx\n</notice>") + 4


def test_change_of_tools_is_no_budget_error_when_the_request_fits() -> None:
    """Above the high-water mark, with nothing to move, an event that need not compact makes its request."""
    session = opened(InMemoryStore(), SMALL)
    made = session.assemble([user("word " * 2700)], Inputs(tools="[]"))
    session.record(*made.incoming)
    assert session.assemble([], Inputs(tools="[1]")).cost.bound <= made.limit.bound


def test_policy_of_words_makes_room_when_a_message_has_no_words() -> None:
    """Messages of 0 words can be slimmed for nothing; the event goes on."""
    settings = replace(STRATEGIES["coherence"], policy_limit=100)
    host = Host(InMemoryStore(), Setup(2048, None, settings, WORDS), inputs=lambda _step: Inputs("Be brief. " * 30))
    calls = [("a", "read", "")] * 3
    results = [result("a", ""), result("a", "</squidbot memory>"), result("a", "\ud800" * 117)]
    host.run([user(""), assistant("", *calls), *results, user("")])
    assert host.calls[-1].error is None or isinstance(host.calls[-1].error, BudgetError)


def test_time_beyond_the_calendar_does_not_break_an_event() -> None:
    """Seconds that no date stands for, on both sides."""
    for time in (253_402_300_800.0, -1e11):
        host = Host(InMemoryStore(), SMALL)
        host.run([replace(one, time=time) for one in tame(10, 120)])
        assert any(causes(host))


# -- promise 7, case by case: one event for one change, and what it says ----------------------------------------------


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
    other.run(tame(11, 60, start=4))  # with one more the next turn has an event of its own
    assert any(causes(other))
    host.pending[:] = [user("next")]
    assert host.call().request.event is None


# -- promises 3 and 6, case by case: a restarted process, a call that is tried again ----------------------------------

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
        runs.append([request.payloads for request in requests(host.calls)])
    assert runs[0] == runs[1]


def test_restart_keeps_what_usage_has_taught() -> None:
    """The calibration is stored with the request."""
    runs = []
    for restarts in (frozenset[int](), frozenset({6})):
        host = Host(InMemoryStore(), SMALL, restarts=restarts, usage=lambda one: Usage(one.cost.bound * 3 // 2))
        host.run(tame(6, 60))
        runs.append(
            (
                [request.limit for request in requests(host.calls)],
                [request.payloads for request in requests(host.calls)],
            )
        )
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


def test_nothing_is_written_when_there_is_nothing_to_answer(store: InMemoryStore) -> None:
    """No plan stays behind an error."""
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
        for request in requests(host.calls):
            assert ("assistant", "assistant") not in pairwise(part.role for part in request.parts), pinned
