"""Promise 1, case by case: what a request costs, and what an error says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError
from squidbot.core.settings import STRATEGIES, HistorySettings
from squidbot.core.tokens.counters import REQUEST_TOKENS, Meter, builtin_counter
from squidbot.core.view.renderer import BEGINS, CONTINUE

from .driver import Host, Setup, assistant, causes, changed, opened, result, user
from .histories import WORDS, tame

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
