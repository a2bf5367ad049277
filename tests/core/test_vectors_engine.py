"""Acceptance vectors of the engine with their numbers; V1-V10, V13-V15 and V26 are with the modules they belong to."""

from __future__ import annotations

from itertools import pairwise

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError
from squidbot.core.messages import Kind
from squidbot.core.settings import HistorySettings

from .promises.driver import Host, Setup, assistant, causes, changed, held, opened, requests, result, user
from .promises.histories import tame
from .promises.rules import breaks_at


def test_dialogue_of_60k_in_100k_is_sent_whole() -> None:
    """V11: nothing trimmed."""
    host = Host(InMemoryStore(), Setup(100_000), watch=False)
    for number in range(60):
        host.session.record(user(f"{number} " + "word " * 490), assistant("because " * 490))
    host.run([user("and?")])
    made = host.calls[-1].request
    assert 55_000 < made.cost.estimate < 65_000
    assert [span.how for span in made.report.spans] == ["verbatim"]
    assert made.event is None


def test_40k_of_system_text_and_87k_of_dialogue_in_100k_fit_or_are_refused_by_name() -> None:
    """V12: the system text is whole, the dialogue gives way."""
    store, setup = InMemoryStore(), Setup(100_000)
    opened(store, setup).record(
        *(one for n in range(87) for one in (user(f"{n} " + "word " * 490), assistant("yes " * 490)))
    )
    system = "rule " * 40_000
    made = opened(store, setup).assemble([user("and?")], Inputs(system=system))
    assert made.parts[0].text == system
    assert made.cost.bound + setup.window.reserved_output_tokens <= 100_000
    assert made.event is not None
    with pytest.raises(BudgetError) as raised:
        opened(store, setup).assemble([user("and?")], Inputs(system="rule " * 100_000))
    assert raised.value.culprit == "system text"


def test_15_turns_leave_at_least_two_summaries() -> None:
    """V16: with room for about 4 messages."""
    host = Host(InMemoryStore(), changed(Setup(2048), gap_seconds=60.0), watch=False)
    for number in range(15):
        host.run([user(f"question {number} " + "word " * 90), assistant(f"answer {number} " + "because " * 90)])
    assert len(host.store.for_range("s", 0, 30)) >= 2


@pytest.mark.parametrize("budget", ["window", "policy"])
def test_result_of_8_kilobytes_in_a_budget_of_1000_is_slimmed(budget: str) -> None:
    """V17: told by its kind, not by its heading."""
    text = "[Tool Results @ 12:00]\n" + "line of the output\n" * 430
    assert len(text) > 8 * 1024
    setup = Setup(1333, 333) if budget == "window" else changed(Setup(4096), policy_limit=1000)
    host = Host(InMemoryStore(), setup)
    host.run([user("look"), assistant("", ("a", "read", "{}")), result("a", text)])
    made = host.calls[-1].request
    assert made.cost.bound <= 1000 or budget == "policy"
    assert made.cost.estimate <= 1000
    assert [part.kind for part in made.parts] == [Kind.MESSAGE, Kind.MESSAGE, Kind.SLIMMED]
    assert (made.parts[-1].text or "").startswith("[Tool Results @ 12:00]")
    assert text in host.calls[-1].request.incoming[-1].payload.replace("\\n", "\n")


def test_only_the_turn_in_flight_is_sent_when_the_scope_is_none() -> None:
    """B-20, V18: the question, then the question with its tool loop; a pointer stands for what is older."""
    host = Host(InMemoryStore(), Setup(8192, settings=HistorySettings(scope="none")))
    host.run([*tame(3, 8), user("THE QUESTION"), assistant("", ("z", "f", "{}")), result("z", "found")])
    asked, answered = (call.request for call in host.calls[-2:])
    said = [part.first_seq for part in asked.parts if part.kind is Kind.MESSAGE]
    assert said == [12]
    assert "THE QUESTION" in asked.payloads[-1]
    (pointer,) = [part for part in asked.parts if part.kind is Kind.NOTICE]
    assert (pointer.first_seq, pointer.last_seq) == (0, 11)
    assert pointer.text == "[12 earlier messages are stored, not shown; recall m0-m11]"
    assert [part.first_seq for part in answered.parts if part.kind is Kind.MESSAGE] == [12, 13, 14]
    assert breaks_at(asked, answered) is None
    assert [(span.first_seq, span.last_seq, span.how) for span in answered.report.spans] == [
        (0, 11, "absent"),
        (12, 14, "verbatim"),
    ]


def test_first_message_is_sent_when_the_scope_is_none() -> None:
    """V18: nothing is older, so no pointer stands there and no event comes."""
    made = opened(InMemoryStore(), Setup(8192, settings=HistorySettings(scope="none"))).assemble([user("hello")])
    assert [part.first_seq for part in made.parts] == [0]
    assert made.event is None


def test_larger_and_smaller_lease_show_one_transcript_each_in_its_way(store: InMemoryStore) -> None:
    """B-10, V23: 128K all raw, 8K swapped, the transcript unchanged."""
    opened(store, Setup(131_072)).record(*tame(60, 60))
    rows = held(store).messages
    large = opened(store, Setup(131_072)).assemble([user("?")])
    small = opened(store, Setup(8192)).assemble([user("?")])
    assert {span.how for span in large.report.spans} == {"verbatim"}
    assert {span.how for span in small.report.spans} == {"verbatim", "summary"}
    assert held(store).messages == rows


@pytest.mark.parametrize("restarts", [frozenset[int](), frozenset({25}), frozenset(range(51))])
def test_50_steps_without_an_event_are_each_a_prefix_of_the_next(restarts: frozenset[int]) -> None:
    """V27: also where the process is restarted in the middle, or after every step."""
    host = Host(InMemoryStore(), Setup(32_768), restarts=restarts)
    history = [user("go")]
    for step in range(50):
        history += [assistant(f"step {step}", (f"c{step}", "read", "{}")), result(f"c{step}", "data " * 20)]
    made = requests(host.run(history))
    assert len(made) == 51
    assert causes(host) == [None] * 51
    assert all(breaks_at(old, new) is None for old, new in pairwise(made))
    assert [len(one.parts) for one in made] == [1 + 2 * step for step in range(51)]


def test_crossing_inside_a_tool_loop_waits_for_the_next_user_turn() -> None:
    """V28: above the high-water mark and still fitting: no event; the next question has it."""
    setup = Setup(8192)
    host = Host(InMemoryStore(), setup)
    history = [*tame(4, 60), user("go")]
    for step in range(12):
        history += [assistant(f"step {step}", (f"c{step}", "read", "{}")), result(f"c{step}", "data " * 270)]
    host.run([*history, assistant("done"), user("and now?")])
    loop, question = host.calls[8:-1], host.calls[-1]
    assert max(call.request.report.pressure_fraction for call in loop) > setup.settings.high_fraction
    assert [call.request.event for call in loop] == [None] * len(loop)
    assert question.request.event is not None
    assert question.request.event.cause == "high-water"


def test_overflow_inside_a_tool_loop_makes_its_event_at_once() -> None:
    """The other half of V28: what would not fit can't wait."""
    host = Host(InMemoryStore(), Setup(4096))
    history = [*tame(4, 60), user("go")]
    for step in range(12):
        history += [assistant(f"step {step}", (f"c{step}", "read", "{}")), result(f"c{step}", "data " * 260)]
    host.run(history)
    assert "overflow" in causes(host)
    assert all(call.error is None for call in host.calls)


def test_undo_of_an_event_gives_the_former_bytes_and_what_came_since() -> None:
    """V29: a restart in between changes nothing."""
    host = Host(InMemoryStore(), Setup(8192))
    host.run(tame(11, 140))
    event = next(place for place, call in enumerate(host.calls) if call.request.event)
    former, undone = host.calls[event - 1].request, host.store.head("s")[0]
    opened(host.store, host.setup).undo()
    host.restart()
    host.run([user("and now?")])
    made = host.calls[-1].request
    assert breaks_at(former, made) is None
    assert [part.first_seq for part in made.parts[len(former.parts) :]] == list(range(len(former.parts), undone + 1))
    assert {span.how for span in made.report.spans} == {"verbatim"}


@pytest.mark.parametrize("changed_text", ["it is 12:01", "71 % used!", "tea, facts."])
def test_changed_volatile_text_moves_only_the_tail_of_the_newest_turn(changed_text: str) -> None:
    """V30: clock, percent used, a recalled fact."""
    sent = []
    for notice in ("it is 12:00", changed_text):
        host = Host(InMemoryStore(), Setup(8192), watch=False)
        host.run(tame(3, 20))
        sent.append(host.session.assemble([user("and now?")], Inputs(notice=notice)))
    first, second = sent
    assert breaks_at(first, second) == len(first.parts) - 1 == len(second.parts) - 1
    assert second.payloads[-1] == first.payloads[-1].replace("it is 12:00", changed_text)
