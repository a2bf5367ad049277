"""Case by case: pins, the head and its announcements, who speaks first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError
from squidbot.core.plan import Section

from .driver import Host, Setup, assistant, causes, changed, message, opened, requests, result, user
from .histories import WORDS, effort, histories, setups, tame
from .rules import rendered, sent

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

SMALL = Setup(4096)


def rendered_whole(assembly: CoreAssembly) -> str:
    """Return all that a model reads of a request."""
    return "\n".join(map(rendered, sent(assembly)))


def test_pinned_message_is_sent_when_it_is_older_than_what_is_read_back() -> None:
    """Under another window, four windows back and more."""
    host = Host(InMemoryStore(), Setup(131_072))
    host.run(tame(1, 4))
    host.session.pin(0)
    for turn in range(1, 60):
        host.session.record(*tame(1, 80, start=turn))
    again = Host(host.store, Setup(2048))
    again.pending.append(user("next"))
    assert any(part.first_seq == 0 and part.payload for part in again.call().request.parts)


def test_user_message_in_flight_is_sent_when_it_is_older_than_what_is_read_back() -> None:
    """A long tool loop under another window: the task itself stays."""
    host = Host(InMemoryStore(), Setup(131_072))
    host.pending.append(user("THE TASK"))
    for number in range(60):
        host.reply(assistant("", (f"c{number}", "f", "{}")))
        host.pending.append(result(f"c{number}", "some data " * 100))
    again = Host(host.store, Setup(2048))
    again.pending[:] = host.pending
    assert any("THE TASK" in payload for payload in again.call().request.payloads)


@effort(40)
@given(sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=5), window=st.sampled_from([2048, 4096]))
def test_results_of_the_open_step_are_cut_again_where_the_window_has_shrunk(sizes: list[int], window: int) -> None:
    """They were sent whole under a larger one; each keeps its ends, and says how to get the rest."""
    store = InMemoryStore()
    told = [f"BEGIN{number} {f'word{number} ' * size}END{number}" for number, size in enumerate(sizes)]
    calls = [(f"c{number}", "f", "{}") for number in range(len(sizes))]
    answers = [result(f"c{number}", text) for number, text in enumerate(told)]
    opened(store, Setup(131_072)).record(user("THE TASK"), assistant("I look.", *calls), *answers)
    request = opened(store, Setup(window)).assemble()
    assert request.cost.bound <= request.limit.bound
    shown = rendered_whole(request)
    assert all(f"BEGIN{number}" in shown and f"END{number}" in shown for number in range(len(sizes)))
    assert "THE TASK" in shown
    assert ("recall m" in shown) == any(text not in shown for text in told)
    # It is sent so again.
    assert opened(store, Setup(window)).assemble().payloads == request.payloads


@pytest.mark.parametrize("word", ["\u8def\u5f84\u6587\u4ef6", "\u0434\u0430\u043d\u043d\u044b\u0435 ", "x7#q9! "])
@pytest.mark.parametrize("pinned", [False, True])
def test_results_of_any_script_are_cut_again_beside_what_must_stay(word: str, *, pinned: bool) -> None:
    """Their bound is far from their estimate; so is that of a long question, and of a pinned message before it."""
    store = InMemoryStore()
    large = opened(store, Setup(131_072))
    large.record(user("KEPT " + "remember " * 300), assistant("Yes."), user("THE TASK " + "please " * 300))
    large.record(assistant("I look.", ("c0", "f", "{}")), result("c0", f"BEGIN {word * 4000}END"))
    if pinned:
        large.pin(0)
    request = opened(store, Setup(4096)).assemble()
    assert request.cost.bound <= request.limit.bound
    shown = rendered_whole(request)
    assert "BEGIN" in shown
    assert "END" in shown
    assert "THE TASK" in shown
    assert not pinned or "KEPT" in shown


def test_newest_text_of_a_program_is_cut_again_to_what_has_room() -> None:
    """It is the question as well: it does not stand beside itself."""
    store = InMemoryStore()
    note = f"<task-notification>BEGIN {'word ' * 4000}END</task-notification>"
    opened(store, Setup(131_072)).record(user("Go."), assistant("Yes."), user(note))
    request = opened(store, Setup(4096)).assemble()
    shown = rendered_whole(request)
    assert "BEGIN" in shown
    assert "END</task-notification>" in shown
    assert request.limit.bound / 2 < request.cost.bound <= request.limit.bound


def test_what_a_program_wrote_to_the_model_is_cut_like_a_result() -> None:
    """In the user's role, and newest; a person's own words of that size are refused."""
    host = Host(InMemoryStore(), Setup(4096))
    host.pending.append(user(f"<task-notification>BEGIN {'word ' * 9000}END</task-notification>"))
    shown = rendered_whole(host.call().request)
    assert "BEGIN" in shown
    assert "END</task-notification>" in shown
    assert "recall m0" in shown
    with pytest.raises(BudgetError, match="current turn"):
        opened(InMemoryStore(), Setup(4096)).assemble([user(f"BEGIN {'word ' * 9000}END")])


def test_message_that_is_pinned_after_it_was_summarized_comes_back_at_the_next_event() -> None:
    """It is taken from the transcript, not from the view."""
    host = Host(InMemoryStore(), SMALL)
    host.run(tame(12, 60))
    assert 1 not in {part.first_seq for part in host.calls[-1].request.parts if part.payload}
    host.session.pin(3)
    host.session.compact()
    host.pending[:] = [user("next")]
    assert 3 in {part.first_seq for part in host.call().request.parts if part.payload}


def test_unpinned_message_gives_way_at_the_next_fold() -> None:
    """A step that was pinned once is history like any other."""
    host = Host(InMemoryStore(), changed(SMALL, notes_fraction=0.1))
    host.run(tame(1, 30))
    host.session.pin(3)
    host.run(tame(15, 120, start=1))
    assert 3 in {part.first_seq for part in host.calls[-1].request.parts if part.payload}
    host.session.pin(3, on=False)
    host.run(tame(30, 120, start=16))
    assert 3 not in {part.first_seq for part in host.calls[-1].request.parts if part.payload}


def test_pinned_result_without_its_call_survives_a_fold() -> None:
    """It is sent as text, since it has no pair, and stays so."""
    host = Host(InMemoryStore(), changed(SMALL, notes_fraction=0.1))
    host.run([user("look"), result("x", "PINNED DATA"), assistant("ok")])
    host.session.pin(1)
    host.run(tame(15, 120))
    assert sum(cause is not None for cause in causes(host)) > 2
    assert any("PINNED DATA" in payload for payload in host.calls[-1].request.payloads)


@pytest.mark.parametrize(("words", "policy_limit"), [(9000, None), (300, 1500)])
def test_document_is_sent_once_where_its_first_call_makes_an_event(words: int, policy_limit: int | None) -> None:
    """The event's head says it: it was announced behind the question as well, and stayed there for good."""
    setup = replace(changed(Setup(16_384), policy_limit=policy_limit), meter=WORDS)
    host = Host(InMemoryStore(), setup)
    opened(host.store, Setup(131_072)).record(*[user("word " * words), assistant("yes " * 300)] * 3)
    document = Section("memory", "Alice likes green tea.")
    host.inputs = lambda _number: Inputs(sections=(document,))
    host.pending = [user("and now?")]
    first = host.call().request
    assert first.event is not None
    assert rendered_whole(first).count(document.text) == 1
    assert host.call().request.payloads == first.payloads
    host.reply(assistant("tea"))
    host.pending = [user("more?")]
    assert rendered_whole(host.call().request).count(document.text) == 1


@effort(30)
@given(
    history=histories(), setup=setups(), documents=st.lists(st.sampled_from(["", "one", "two"]), min_size=4, max_size=4)
)
def test_document_is_never_sent_twice_as_it_is_now(history: list[Message], setup: Setup, documents: list[str]) -> None:
    """In the head or announced since, whatever it was before; tried again, a call says the same."""
    texts = [f"The document says {document} of all things." for document in documents]
    host = Host(InMemoryStore(), setup, watch=False)
    host.inputs = lambda number: Inputs(sections=(Section("profile", texts[number * len(texts) // 8 % len(texts)]),))
    for one in history:
        if one.role != "assistant":
            host.pending.append(one)
            continue
        call = host.call()
        if call.assembly is not None and call.assembly.event is not None:
            now = call.given.sections[0].text
            assert rendered_whole(call.assembly).count(f"is now:]\n{now}") <= announced(host, now)
            assert host.call().request.payloads == call.assembly.payloads
        host.reply(one)


def announced(host: Host, text: str) -> int:
    """Return how often requests before the newest one announced a text."""
    return max((rendered_whole(request).count(f"is now:]\n{text}") for request in requests(host.calls[:-1])), default=0)


def test_announcement_waits_for_the_next_user_message() -> None:
    """Inside a tool loop there is no place for it."""
    host = Host(InMemoryStore(), SMALL)
    host.run([user("go"), assistant("", ("a", "f", "{}"))])
    host.session.pin_text("goal", "win")
    host.pending[:] = [result("a", "r")]
    host.reply(assistant("done"))
    host.pending.append(user("next"))
    assert any("win" in payload for payload in host.call().request.payloads)


def test_announcement_says_that_a_section_is_what_it_was() -> None:
    """A, then B, then A again: the model is told A."""
    host = Host(
        InMemoryStore(), SMALL, inputs=lambda step: Inputs(sections=(Section("goal", ["AA", "BB", "AA", "AA"][step]),))
    )
    for turn in range(3):
        host.pending.append(user(f"u{turn}"))
        if turn < 2:
            host.reply(assistant("k"))
    assert "AA" in host.call().request.payloads[-1]


def test_memory_document_is_sent_when_the_first_message_is_above_the_high_water_mark() -> None:
    """The head is frozen, whatever else is due."""
    session = opened(InMemoryStore(), SMALL)
    made = session.assemble([user("word " * 2700)], Inputs(sections=(Section("memory", "likes tea"),)))
    assert any("likes tea" in payload for payload in made.payloads)


def test_agent_that_speaks_first_gets_a_user_message_to_answer() -> None:
    """A request is never system text alone, and a host's reminder behind the user's message is no reason to refuse."""
    parts = opened(InMemoryStore(), SMALL).assemble([message("system", "greet them")]).parts
    assert [part.role for part in parts] == ["system", "user"]
    parts = opened(InMemoryStore(), SMALL).assemble([user("x"), message("system", "y")]).parts
    assert [part.role for part in parts] == ["user", "system", "user"]


def test_reminder_of_the_host_behind_the_user_message_is_sent() -> None:
    """[user, system]: the user's message waits for its answer."""
    host = Host(InMemoryStore(), SMALL)
    host.run([user("do it"), message("system", "reminder: be brief")])
    assert host.calls[-1].error is None
