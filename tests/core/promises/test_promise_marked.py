"""Marked goals and decisions stand word for word in every request, for ever; or an error names them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs
from squidbot.core.errors import BudgetError, NotFoundError
from squidbot.core.messages import Kind
from squidbot.core.settings import STRATEGIES
from squidbot.core.transcript.markers import counted_lines

from .driver import Host, Setup, Talk, assistant, copied, message, opened, requests, result, user
from .histories import WORDS, effort, histories, setups, tame, texts
from .rules import rendered, sent
from .test_promise_8_larger_window import larger_loses, window_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

LASTING = {"GOAL", "DECISION"}
TIGHT = Setup(2048)


def words_of(assembly: CoreAssembly) -> str:
    """Return all that a model reads of a request."""
    return "\n".join(map(rendered, sent(assembly)))


def marked(said: Sequence[Message]) -> list[str]:
    """Return the goals and decisions that were marked so far, of a user's message those in his own words."""
    lines = (line for one in said if one.role in {"user", "assistant"} for line in counted_lines(one.role, one.text))
    return [line.line for line in lines if line.marker in LASTING]


@st.composite
def marking(draw: st.DrawFn, most: int = 3000) -> str:
    """Draw a text with lines that are marked, among others that are not; each line is one of its own."""
    lines = []
    for number in range(draw(st.integers(1, 4))):
        before = draw(st.sampled_from(["", "- ", "  > ", "## ", "x ", "1. "]))
        marker = draw(st.sampled_from(["GOAL", "DECISION", "NEXT", "ARTIFACT"]))
        thing = draw(st.sampled_from(["ship src/a.py", "use the cache", "\u4f60\u597d", "\N{FIRE} it", "a" * 70]))
        lines.append(f"{before}[{marker}] {thing} {draw(st.integers(0, 99))}.{number}")
    long = draw(texts(most)).replace("`", "'").replace("~", "-")
    return "\n".join(draw(st.permutations([*lines, long])))


@st.composite
def marked_histories(draw: st.DrawFn) -> Talk:
    """Draw a history in which users and assistants mark lines, in answers and beside calls of tools."""
    plain = draw(histories(3000, 10))
    made = Talk()
    for number, one in enumerate(plain):
        made.append(one)
        if one.role in {"user", "system"} and draw(st.booleans()):
            made.append(user(draw(marking())))
        if one.role == "assistant" and not one.calls and draw(st.booleans()):
            made += [assistant(draw(marking()), (f"k{number}", "read", "{}")), result(f"k{number}", draw(marking()))]
            made.append(assistant(draw(marking())))
    return made


@effort(60)
@given(history=marked_histories(), setup=setups(), restarts=st.frozensets(st.integers(0, 14)))
def test_every_marked_line_stands_in_every_request(
    history: list[Message], setup: Setup, restarts: frozenset[int]
) -> None:
    """Raw or noted, in any process; where that is too much, an error names what takes the room."""
    host = Host(InMemoryStore(), setup, watch=False, restarts=restarts)
    for place, one in enumerate(history):
        if one.role != "assistant":
            host.pending.append(one)
            continue
        host.reply(one)
        call = host.calls[-1]
        if call.assembly is not None:
            text = words_of(call.assembly)
            assert [line for line in marked(history[:place]) if line not in text] == []
        else:
            assert call.error is not None


@effort(20)
@given(history=marked_histories(), setup=setups(), large=st.sampled_from([4096, 16_384]))
def test_marked_lines_stand_in_another_lease_and_after_undo(history: list[Message], setup: Setup, large: int) -> None:
    """A window of another size, what was shortened by hand, and a plan that is brought back."""
    host = Host(InMemoryStore(), setup, watch=False)
    host.run(history)
    for window_tokens in (2048, large):
        session = opened(copied(host.store), replace(setup, window_tokens=window_tokens, reserve=None))
        for act in (session.compact, session.undo, lambda: None):
            try:
                act()
                text = words_of(session.assemble([user("and now?")]))
            except (BudgetError, NotFoundError):
                continue
            said = marked(session_said(host, history))
            assert [line for line in said if line not in text] == []


def session_said(host: Host, history: Sequence[Message]) -> Sequence[Message]:
    """Return the part of a history that is stored."""
    return history[: host.store.head("s")[0]]


def test_tools_and_fences_mark_nothing() -> None:
    """Nor does what was brought back: it would stand although nobody decided it."""
    said = [
        user("Look at it."),
        assistant("```\n[GOAL] in a fence\n```", ("a", "read", '{"text": "[GOAL] an argument"}')),
        result("a", "[DECISION] a file says so"),
        assistant("I see."),
    ]
    host = Host(InMemoryStore(), TIGHT, watch=False)
    host.run([*said, *tame(6, 120)])
    assert not host.store.records("s", "marked")
    assert requests(host.calls)[-1].standing.blocks
    assert not any(part.kind is Kind.MARKED for part in requests(host.calls)[-1].parts)


def test_notes_do_not_tell_marked_lines_again() -> None:
    """They stand in front of the notes, once."""
    said = [
        user("Which store?"),
        assistant("- [DECISION] SQLite it is - LOCKED\nIt is one file, so it is easy to move."),
    ]
    host = Host(InMemoryStore(), TIGHT, watch=False)
    host.run([*said, *said, *tame(10, 120)])
    last = requests(host.calls)[-1]
    assert words_of(last).count("SQLite it is") == 1
    notes = next(place for place, part in enumerate(last.parts) if part.kind is Kind.SUMMARY)
    assert last.parts[notes - 1].text == (
        "[marked lines, word for word; data only]\n- [DECISION] SQLite it is - LOCKED"
    )


def test_line_in_the_middle_of_an_answer_that_is_cut_stands_behind_it() -> None:
    """An answer of 20,000 words is cut before it is ever sent."""
    said = f"{'word ' * 10_000}\n[DECISION] keep it\n{'word ' * 10_000}"
    host = Host(InMemoryStore(), TIGHT, watch=False)
    host.run([user("Go."), assistant(said), user("And?")])
    assert "\n[DECISION] keep it" in words_of(requests(host.calls)[-1])


def test_marked_lines_that_fill_the_window_are_named_with_what_they_cost() -> None:
    """A hundred decisions of forty words in a window of 2,048 tokens; forgetting them makes room again."""
    store = InMemoryStore()
    session = opened(store, TIGHT)
    for number in range(100):
        session.record(user("?"), assistant(f"[DECISION] number {number}: " + "word " * 40), now=0.0)
    with pytest.raises(
        BudgetError, match=r"^marked lines: \d+ \(100 goals and decisions; .*.* of \d+ tokens"
    ) as raised:
        session.assemble([user("and now?")])
    assert raised.value.culprit == "marked lines"
    assert "forget" in str(raised.value)
    session.forget(*range(1, 161, 2))
    text = words_of(session.assemble([user("and now?")]))
    assert "number 79:" not in text
    assert all(f"number {number}:" in text for number in range(80, 100))


def test_forgotten_message_takes_its_marked_lines_along() -> None:
    """Said twice, the line stands where it was said the second time."""
    host = Host(InMemoryStore(), TIGHT, watch=False)
    said = [user("a?"), assistant("[GOAL] one\n[DECISION] two"), user("b?"), assistant("[DECISION] two\n[GOAL] three")]
    host.run([*said, *tame(10, 120)])
    session = opened(host.store, TIGHT)
    session.forget(1)
    text = words_of(session.assemble([user("and now?")]))
    assert ("[GOAL] one" in text, text.count("[DECISION] two"), text.count("[GOAL] three")) == (False, 1, 1)
    assert "one" not in host.store.records("s", "marked")[0].body
    again = words_of(opened(host.store, TIGHT).assemble([user("and now?")]))
    assert again == text


def test_completed_goal_leaves_at_the_next_event() -> None:
    """Its checkpoint says so in its place."""
    host = Host(InMemoryStore(), TIGHT, watch=False)
    host.run([user("a?"), assistant("[GOAL] Ship it\n[GOAL] Keep it"), *tame(6, 120)])
    assert "[GOAL] Ship it" in words_of(requests(host.calls)[-1])
    host.run([user("b?"), assistant("[CHECKPOINT] Ship it - COMPLETED"), *tame(6, 120, start=6)])
    text = words_of(requests(host.calls)[-1])
    assert ("[GOAL] Ship it" in text, "[GOAL] Keep it" in text) == (False, True)
    assert "[CHECKPOINT] Ship it - COMPLETED" in text


def test_only_the_newest_next_steps_stand() -> None:
    """Of twelve, three; the others were overtaken."""
    host = Host(InMemoryStore(), TIGHT, watch=False)
    plan = [one for number in range(12) for one in (user("?"), assistant(f"[NEXT] step {number} comes"))]
    host.run([*plan, *tame(10, 120)])
    text = words_of(requests(host.calls)[-1])
    assert [number for number in range(12) if f"[NEXT] step {number} comes" in text] == [9, 10, 11]


def test_made_file_is_on_the_trail() -> None:
    """Beside those that tools were called on; the last that was done with each."""
    host = Host(InMemoryStore(), TIGHT, watch=False)
    said = [user("a?"), assistant("[ARTIFACT] Created `docs/plan.md`, the plan"), *tame(6, 120)]
    host.run(said)
    text = words_of(requests(host.calls)[-1])
    assert "Created `docs/plan.md`" in text


def test_fold_keeps_what_stands_before_the_newest_lines() -> None:
    """Decisions stand in front of the notes: an event that tells everything anew breaks the prefix behind them."""
    host = Host(InMemoryStore(), TIGHT, watch=False)
    host.run([one for number in range(40) for one in (user("?"), assistant(f"[DECISION] number {number}"))])
    host.run(tame(20, 120))
    events = [one.event for one in requests(host.calls) if one.event]
    moved = [event.first_changed for event in events[-3:]]
    assert all(place is not None and place.index >= 2 for place in moved)


def test_request_with_marked_lines_is_made_once_more() -> None:
    """As it was sent, although more was marked since, and goals were completed."""
    host = Host(InMemoryStore(), TIGHT, watch=False)
    said = [one for number in range(6) for one in (user("?"), assistant(f"[GOAL] number {number}"), *tame(2, 120))]
    done = [user("?"), assistant("[CHECKPOINT] number 1 - COMPLETED\n[GOAL] another")]
    host.run([*said, *done, *said])
    asked = requests(host.calls)
    marking = [place for place, one in enumerate(asked) if any(part.kind is Kind.MARKED for part in one.parts)]
    assert len(marking) > 12
    session = opened(host.store, TIGHT)
    for place in marking[:-1]:
        assert session.request(place).payloads == asked[place].payloads


def test_undo_gives_the_former_bytes_with_marked_lines() -> None:
    """And what was marked since stands raw behind them."""
    host = Host(InMemoryStore(), Setup(16_384), watch=False)
    host.run([user("a?"), assistant("[DECISION] one"), *tame(4, 60), user("b?")])
    before = requests(host.calls)[-1].payloads
    session = opened(host.store, Setup(16_384))
    session.record(user("b?"), assistant("[DECISION] two"))
    assert session.compact() is not None
    assert any(part.kind is Kind.MARKED for part in session.assemble([user("c?")]).parts)
    session.undo()
    after = session.assemble([user("c?")]).payloads
    assert after[: len(before)] == before
    assert "[DECISION] two" in after[len(before)]


@effort(20)
@given(history=marked_histories(), setup=setups(), windows=window_pairs())
def test_larger_window_shows_all_that_a_smaller_one_shows_beside_marked_lines(
    history: list[Message], setup: Setup, windows: tuple[int, int]
) -> None:
    """Promise 8 where lines are marked: their room is taken off first in both."""
    host = Host(InMemoryStore(), setup, watch=False)
    host.run(history)
    assert larger_loses(host.store, setup, Inputs(), windows) == set()


def test_notes_fit_the_words_of_the_policy_where_tokens_bind_what_is_raw() -> None:
    """One system message of 4,200 tokens is one word: a larger window made notes of more words than there was room."""
    coherence = STRATEGIES["coherence"]
    setup = Setup(settings=replace(coherence, policy_limit=100), meter=WORDS)
    said = [
        user(""),
        user("[GOAL] ship src/a.py 0.0\n[GOAL] ship src/a.py 0.1\n"),
        assistant(""),
        assistant("[GOAL] ship src/a.py 0.0\n[GOAL] ship src/a.py 1.1\n", ("k1", "read", "{}")),
        result("k1", "[GOAL] ship src/a.py 0.0\n[GOAL] ship src/a.py 0.1\n" + "Error: file not found" * 8),
        assistant("".join(f"- [GOAL] use the cache 0.{number}\n" for number in range(4))),
        *[user("")] * 6,
        message("system", "\u4f60\u597d\u4e16\u754c" * 587),
        assistant("", ("a", "read", '{"path": "a/b.py", "n": 1}')),
        result("a", ""),
    ]
    host = Host(InMemoryStore(), setup, watch=False)
    host.run(said)
    assert [larger_loses(host.store, setup, Inputs(), pair) for pair in ((2056, 5008), (3008, 5008))] == [set(), set()]
