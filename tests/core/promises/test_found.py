"""Found by reading and by the properties beside this file: each the smallest case of one fault."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core import events
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError, InvalidRequestError
from squidbot.core.messages import Usage
from squidbot.core.meter import Meter
from squidbot.core.plan import Section
from squidbot.core.settings import STRATEGIES, HistorySettings
from squidbot.core.tokens import builtin_counter
from squidbot.core.view import BEGINS, CONTINUE

from .driver import Host, Setup, assistant, changed, held, message, opened, requests, result, user
from .histories import WORDS, tame
from .rules import breaks_at

SMALL = Setup(4096)
FILLER = "some words about it. " * 40


def causes(host: Host) -> list[str | None]:
    """Return the cause of each request's event."""
    return [one.event.cause if one.event else None for one in requests(host.calls)]


def test_tools_change_makes_one_event_and_no_more() -> None:
    """B1: every later request is "repaired"."""
    host = Host(InMemoryStore(), SMALL, inputs=lambda step: Inputs(tools="[]" if step < 3 else "[1]"))
    host.run(tame(5, 4))
    assert [cause for cause in causes(host) if cause] == ["tools-changed"]


def test_tools_change_drops_reasoning_in_the_request_as_in_the_plan() -> None:
    """B1: the request sent still has the reasoning that its plan says is dropped."""
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
    """B2: the next request is "repaired" although `compact` has written the plan."""
    host = Host(InMemoryStore(), Setup(16_000))
    host.run(tame(40, 60))
    assert host.session is not None
    assert host.session.compact() is not None
    host.pending[:] = [user("next")]
    assert host.call().request.event is None


def test_restart_without_a_plan_reads_outputs_that_were_cut_at_birth() -> None:
    """B3: `newest` counts what was said, not what is sent, so the user's message falls out."""
    runs = []
    for restarts in (frozenset[int](), frozenset({2})):
        host = Host(InMemoryStore(), SMALL, restarts=restarts)
        host.run(
            [user("look"), assistant("", ("a", "f", "{}")), result("a", "data " * 40_000), assistant("ok"), user("?")]
        )
        runs.append([one.payloads for one in requests(host.calls)])
    assert runs[0] == runs[1]


def test_restart_keeps_what_usage_has_taught() -> None:
    """B4: the calibration lives in memory only."""
    runs = []
    for restarts in (frozenset[int](), frozenset({6})):
        host = Host(InMemoryStore(), SMALL, restarts=restarts, usage=lambda one: Usage(one.cost.bound * 3 // 2))
        host.run(tame(6, 60))
        runs.append(([one.limit for one in requests(host.calls)], [one.payloads for one in requests(host.calls)]))
    assert runs[0] == runs[1]


def test_restart_keeps_compaction_paused() -> None:
    """B5: skipped events and the rest are in memory only."""
    setup = changed(SMALL, min_saving_fraction=0.9, high_fraction=0.2)
    told = []
    for restarts in (frozenset[int](), frozenset(range(40))):
        host = Host(InMemoryStore(), setup, restarts=restarts, inputs=lambda step: Inputs(now=1000.0 + step))
        host.run(tame(8, 20))
        told.append([name for name in host.observer.names() if name != events.CONTEXT_ASSEMBLED])
    assert told[0] == [events.COMPRESSION_SKIPPED, events.COMPRESSION_SKIPPED, events.COMPACTION_PAUSED]
    assert told[1] == told[0]


def test_repair_has_its_event_after_a_restart() -> None:
    """B6: a late result completes a step that was told as text; the prefix breaks without an event."""
    for restarts in (False, True):
        host = Host(InMemoryStore(), SMALL)
        host.run([user("look"), assistant("", ("a", "f", "{}"), ("b", "f", "{}")), result("a", "data")])
        assert host.session is not None
        before = host.calls[-1].request
        host.session.record(*before.incoming)
        if restarts:
            host.session = None
        host.pending[:] = [result("b", "data")]
        after = host.call().request
        assert breaks_at(before, after) is not None
        assert after.event is not None
        assert after.event.cause == "repaired"


def test_announcement_is_sent_again_when_the_call_is_tried_again() -> None:
    """B7: what was announced counts as told before the request was recorded."""
    host = Host(InMemoryStore(), SMALL)
    host.run(tame(2, 4))
    assert host.session is not None
    host.session.pin_text("goal", "win")
    host.pending[:] = [user("next")]
    first, second = host.call().request, host.call().request
    assert "win" in first.payloads[-1]
    assert second.payloads == first.payloads
    assert second.event is None


def test_announcement_waits_for_the_next_user_message() -> None:
    """B8: inside a tool loop there is no place for it, and it is lost for good."""
    host = Host(InMemoryStore(), SMALL)
    host.run([user("go"), assistant("", ("a", "f", "{}"))])
    assert host.session is not None
    host.session.pin_text("goal", "win")
    host.pending[:] = [result("a", "r")]
    host.reply(assistant("done"))
    host.pending.append(user("next"))
    assert any("win" in payload for payload in host.call().request.payloads)


def test_announcement_says_that_a_section_is_what_it_was() -> None:
    """B9: A, then B, then A again: the model still believes B."""
    host = Host(
        InMemoryStore(), SMALL, inputs=lambda step: Inputs(sections=(Section("goal", ["AA", "BB", "AA", "AA"][step]),))
    )
    for turn in range(3):
        host.pending.append(user(f"u{turn}"))
        if turn < 2:
            host.reply(assistant("k"))
    assert "AA" in host.call().request.payloads[-1]


def test_pinned_message_is_sent_when_it_is_older_than_what_is_read_back() -> None:
    """B10: another lease, 4 windows back: the pin is absent."""
    host = Host(InMemoryStore(), Setup(131_072))
    host.run(tame(1, 4))
    assert host.session is not None
    host.session.pin(0)
    for turn in range(1, 60):
        host.session.record(*tame(1, 80, start=turn))
    again = Host(host.store, Setup(2048))
    again.pending.append(user("next"))
    assert any(part.first_seq == 0 and part.payload for part in again.call().request.parts)


def test_user_message_in_flight_is_sent_when_it_is_older_than_what_is_read_back() -> None:
    """B11: a long tool loop, another lease: the task itself is absent."""
    host = Host(InMemoryStore(), Setup(131_072))
    host.pending.append(user("THE TASK"))
    for number in range(60):
        host.reply(assistant("", (f"c{number}", "f", "{}")))
        host.pending.append(result(f"c{number}", "some data " * 100))
    again = Host(host.store, Setup(2048))
    again.pending[:] = host.pending
    assert any("THE TASK" in payload for payload in again.call().request.payloads)


def test_message_that_is_pinned_after_it_was_summarized_comes_back_at_the_next_event() -> None:
    """B12: only what still stands in the view is kept."""
    host = Host(InMemoryStore(), SMALL)
    host.run(tame(12, 60))
    assert host.session is not None
    assert 1 not in {part.first_seq for part in host.calls[-1].request.parts if part.payload}
    host.session.pin(3)
    host.session.compact()
    host.pending[:] = [user("next")]
    assert 3 in {part.first_seq for part in host.call().request.parts if part.payload}


def test_unpinned_message_gives_way_at_the_next_fold() -> None:
    """B13: a step that was pinned once is taken for something that must stay."""
    host = Host(InMemoryStore(), changed(SMALL, notes_fraction=0.1))
    host.run(tame(1, 30))
    assert host.session is not None
    host.session.pin(3)
    host.run(tame(30, 60, start=1))
    assert 3 in {part.first_seq for part in host.calls[-1].request.parts if part.payload}
    host.session.pin(3, on=False)
    host.run(tame(60, 60, start=31))
    assert 3 not in {part.first_seq for part in host.calls[-1].request.parts if part.payload}


def test_pinned_result_without_its_call_survives_a_fold() -> None:
    """B14: it is sent as text, so it has no payload, so the second event drops it."""
    host = Host(InMemoryStore(), changed(SMALL, notes_fraction=0.1))
    host.run([user("look"), result("x", "PINNED DATA"), assistant("ok")])
    assert host.session is not None
    host.session.pin(1)
    host.run(tame(30, 60))
    assert sum(cause is not None for cause in causes(host)) > 2
    assert any("PINNED DATA" in payload for payload in host.calls[-1].request.payloads)


def test_assistant_behind_a_pinned_one_has_its_notice_after_a_reload() -> None:
    """B15: `load` forgets that the last segment ends with the assistant: two assistants in a row, other bytes."""
    for pinned in range(1, 16):
        host = Host(InMemoryStore(), SMALL)
        host.run([user("start"), *(assistant(f"step {n} " + FILLER) for n in range(4))])
        assert host.session is not None
        host.session.pin(pinned)
        for number in range(4, 20):
            host.reply(assistant(f"step {number} " + FILLER))
        for one in requests(host.calls):
            assert ("assistant", "assistant") not in pairwise(part.role for part in one.parts), pinned


def test_first_changed_counts_the_messages_that_are_sent() -> None:
    """B16: the host's system text and the opening notice are left out of the count."""
    host = Host(InMemoryStore(), SMALL, inputs=lambda _step: Inputs(system="be good"))
    host.run(tame(20, 60))
    changes = [(old, new) for old, new in pairwise(requests(host.calls)) if new.event]
    assert changes
    for old, new in changes:
        assert new.event is not None
        assert new.event.first_changed is not None
        assert new.event.first_changed.index == breaks_at(old, new)


def test_time_beyond_the_calendar_does_not_break_an_event() -> None:
    """B17: the codec lets 253402300800 and -1e11 through, `datetime` does not."""
    for time in (253_402_300_800.0, -1e11):
        host = Host(InMemoryStore(), SMALL)
        host.run([replace(one, time=time) for one in tame(20, 60)])
        assert any(causes(host))


def test_session_goes_on_under_another_counter() -> None:
    """B18: one summary id for two texts: StoreError for ever."""
    host = Host(InMemoryStore(), Setup(8000, meter=Meter(builtin_counter("words"))))
    host.run(tame(10, 60))
    again = Host(host.store, Setup(8000, meter=WORDS))
    again.run([user("next")])
    assert again.calls[-1].error is None


def test_stored_counts_of_another_counter_are_not_taken_for_bounds() -> None:
    """B19: a transcript counted by "classes" is sent as if "bytes" had counted it; the certificate says "proved"."""
    host = Host(InMemoryStore(), Setup(16_000))
    host.run(tame(4, 60))
    again = Host(host.store, Setup(16_000, meter=Meter(builtin_counter("bytes"))))
    again.run([user("next")])
    call = again.calls[-1].request
    assert sum(len(payload) for payload in call.payloads) * 2 // 3 <= call.cost.bound


def test_budget_error_is_in_the_unit_that_binds() -> None:
    """B20: "cost 251 of 3072 tokens" where 200 of 100 words were too many."""
    setup = changed(Setup(4096, meter=WORDS), policy_limit=100)
    for text, system in (("w " * 200, ""), ("w", "w " * 200)):
        with pytest.raises(BudgetError) as raised:
            opened(InMemoryStore(), setup).assemble([user(text)], Inputs(system=system))
        assert (raised.value.unit, raised.value.budget) == ("words", 100)
        assert raised.value.cost > 100


def test_budget_error_names_pins_when_pins_take_the_room() -> None:
    """B20: pinned messages are not in the sum, so the error names the turn and a cost below the budget."""
    host = Host(InMemoryStore(), SMALL)
    host.run(tame(10, 60))
    assert host.session is not None
    for seq in range(40):
        host.session.pin(seq)
    host.run([user("more " * 1800)])
    error = host.calls[-1].error
    assert isinstance(error, BudgetError)
    assert error.culprit == "pins"
    assert error.cost > error.budget


def test_nothing_is_written_when_there_is_nothing_to_answer() -> None:
    """B21: the first plan is stored, then InvalidRequestError."""
    store = InMemoryStore()
    with pytest.raises(InvalidRequestError, match="nothing has been said"):
        opened(store, SMALL).assemble([], Inputs(sections=(Section("memory", "x"),)))
    assert store.head("s") == (0, 0)


def test_agent_that_speaks_first_gets_a_user_message_to_answer() -> None:
    """A request is never system text alone, and a host's reminder behind the user's message is no reason to refuse."""
    parts = opened(InMemoryStore(), SMALL).assemble([message("system", "greet them")]).parts
    assert [part.role for part in parts] == ["system", "user"]
    parts = opened(InMemoryStore(), SMALL).assemble([user("x"), message("system", "y")]).parts
    assert [part.role for part in parts] == ["user", "system", "user"]


def test_first_call_tried_again_opens_no_second_plan() -> None:
    """B22: "opened" as long as no message is stored."""
    host = Host(InMemoryStore(), SMALL, inputs=lambda _step: Inputs(sections=(Section("memory", "x"),)))
    host.pending.append(user("x"))
    host.call()
    host.call()
    assert len(held(host.store).records["plan"]) == 1


def test_reminder_of_the_host_behind_the_user_message_is_sent() -> None:
    """B23: [user, system] is refused as "nothing to answer" although a user message waits for its answer."""
    host = Host(InMemoryStore(), SMALL)
    host.run([user("do it"), message("system", "reminder: be brief")])
    assert host.calls[-1].error is None


def test_opening_notice_has_its_room_with_every_counter() -> None:
    """B24: the notices' room is exact, so that a request is refused only where it does not fit with them."""
    setup = Setup(2048, 0, HistorySettings(high_fraction=1.0), Meter(builtin_counter("bytes")))
    front, behind = (len(text) + 4 for text in (BEGINS, CONTINUE))
    for size in range(1940, 1999):
        host = Host(InMemoryStore(), setup)
        host.run([assistant("hi"), user("x" * size), assistant("ok")])
        whole = front + len("hi") + 4 + size + 4 + len("ok") + 4 + behind
        assert (host.call().error is None) == (whole <= 2048)


def test_notice_is_counted_with_its_fence_by_bytes() -> None:
    """B25: NOTICE_TOKENS of birth.py is 16, the fence has 21 bytes."""
    host = Host(
        InMemoryStore(), Setup(2048, meter=Meter(builtin_counter("bytes"))), inputs=lambda _step: Inputs(notice="x")
    )
    host.pending.append(user("y"))
    assert host.call().request.cost.bound >= len("y\n\n<notice>\nx\n</notice>") + 4


def test_turn_is_known_after_a_crash_behind_an_event_that_kept_only_what_came() -> None:
    """B26: no stored message stands in the tail, so turn and time are those of the lead."""
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


def test_change_of_tools_is_no_budget_error_when_the_request_fits() -> None:
    """B28: above the high-water mark with nothing to move, an event that need not compact is refused."""
    session = opened(InMemoryStore(), SMALL)
    made = session.assemble([user("word " * 2700)], Inputs(tools="[]"))
    session.record(*made.incoming)
    assert session.assemble([], Inputs(tools="[1]")).cost.bound <= made.limit.bound


def test_memory_document_is_sent_when_the_first_message_is_above_the_high_water_mark() -> None:
    """B29: the cause is then "high-water", not "opened"; nothing can be moved, and the head is lost silently."""
    session = opened(InMemoryStore(), SMALL)
    made = session.assemble([user("word " * 2700)], Inputs(sections=(Section("memory", "likes tea"),)))
    assert any("likes tea" in payload for payload in made.payloads)


def test_event_of_another_process_is_not_repaired() -> None:
    """B2 again: a session that comes back to a plan that somebody else has changed writes one more."""
    store = InMemoryStore()
    host, other = Host(store, SMALL), Host(store, SMALL)
    host.run(tame(4, 60))
    other.run(tame(12, 60, start=4))
    assert any(causes(other))
    host.pending[:] = [user("next")]
    assert host.call().request.event is None


def test_policy_of_words_makes_room_when_a_message_has_no_words() -> None:
    """B30: an atom of 0 words counts as slimmed, then `_fold(())` finds neither notes nor blocks: IndexError."""
    settings = replace(STRATEGIES["coherence"], policy_limit=100)
    host = Host(InMemoryStore(), Setup(2048, None, settings, WORDS), inputs=lambda _step: Inputs("Be brief. " * 30))
    calls = [("a", "read", "")] * 3
    results = [result("a", ""), result("a", "</squidbot memory>"), result("a", "\ud800" * 117)]
    host.run([user(""), assistant("", *calls), *results, user("")])
    assert host.calls[-1].error is None or isinstance(host.calls[-1].error, BudgetError)


def test_budget_error_counts_all_that_came_with_the_call() -> None:
    """B20 again: "cost 1532 of 1536 tokens": two messages came, the error counts the newest."""
    with pytest.raises(BudgetError) as raised:
        opened(InMemoryStore(), Setup(2048)).assemble([user("a b c " * 20), user("\ud800" * 490)])
    assert raised.value.cost > raised.value.budget
