"""Pinned messages stay verbatim, with their step, in every later request; pinned texts stand in the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.compaction.planner import PRESSING
from squidbot.core.errors import BudgetError
from squidbot.core.messages import Kind
from squidbot.core.view.steps import steps_of

from .driver import Host, Setup, held, opened, requests, user
from .histories import effort, histories, setups, tame
from .rules import is_said

if TYPE_CHECKING:
    from squidbot.core.messages import Message, StoredMessage


def seqs_beside(rows: tuple[StoredMessage, ...], pinned: set[int]) -> set[int]:
    """Return the seqs of all messages that stand in one step with a pinned one."""
    found = (step for step in steps_of(rows) if any(row.seq in pinned for row in step.messages))
    return {row.seq for step in found for row in step.messages}


@effort(30)
@given(
    history=histories(),
    setup=setups(),
    pins=st.dictionaries(st.integers(1, 10), st.lists(st.integers(0, 25), min_size=1, max_size=3), max_size=4),
    restarts=st.frozensets(st.integers(0, 14)),
)
def test_pinned_message_is_sent_from_the_next_event_on(
    history: list[Message], setup: Setup, pins: dict[int, list[int]], restarts: frozenset[int]
) -> None:
    """While it stands in the view it stays there; what was summarized before it was pinned comes back at an event."""
    host = Host(InMemoryStore(), setup, restarts=restarts, watch=False)
    pinned: set[int] = set()
    seen: set[int] = set()
    for one in history:
        if one.role != "assistant":
            host.pending.append(one)
            continue
        host.reply(one)
        made = host.calls[-1].assembly
        if made is not None:
            rows = held(host.store).messages
            parts = {part.first_seq: part for part in made.parts if is_said(part)}
            wanted = seqs_beside(rows[: made.standing.messages], pinned)
            sent = parts.keys()
            if made.event is not None and made.event.cause in PRESSING:
                assert wanted <= sent
            assert seen & wanted <= sent
            for seq in wanted & sent:
                assert parts[seq].payload is None or parts[seq].text == rows[seq].sent_text
            seen = set(sent)
        for seq in pins.get(host.replies, ()):
            host.session.pin(seq)
            pinned.add(seq)


@effort(20)
@given(
    history=histories(),
    setup=setups(),
    texts=st.dictionaries(
        st.integers(1, 10), st.tuples(st.sampled_from(["goal", "plan"]), st.sampled_from(["", "win", "</x> \ud800"]))
    ),
)
def test_pinned_text_stands_in_the_head_from_the_next_event_on(
    history: list[Message], setup: Setup, texts: dict[int, tuple[str, str]]
) -> None:
    """An event freezes the texts as they are then; between events the head stays as it is."""
    host = Host(InMemoryStore(), setup, watch=False)
    now: dict[str, str] = {}
    frozen: list[str] = []
    for one in history:
        if one.role != "assistant":
            host.pending.append(one)
            continue
        host.reply(one)
        made = host.calls[-1].assembly
        if made is not None:
            if made.event is not None:
                frozen = [text for text in now.values() if text]
            head = [part.text or "" for part in made.parts if part.kind is Kind.PIN]
            assert len(head) == len(frozen)
            assert all(text in part for text, part in zip(frozen, head, strict=True))
        if host.replies in texts:
            name, text = texts[host.replies]
            host.session.pin_text(name, text)
            now[name] = text


def test_text_that_is_pinned_again_replaces_the_one_of_its_name() -> None:
    """The newest text wins in its first place; an empty one takes it away."""
    host = Host(InMemoryStore(), Setup(4096), watch=False)
    host.run(tame(2, 4))
    for name, text in (("goal", "first"), ("plan", "steps"), ("goal", "second")):
        host.session.pin_text(name, text)
    host.run(tame(8, 150, start=2))
    assert [one.text for one in (host.calls[-1].request.plan or pytest.fail("no plan")).sections] == ["second", "steps"]
    host.session.pin_text("goal", "")
    host.run(tame(8, 150, start=10))
    assert [one.text for one in (host.calls[-1].request.plan or pytest.fail("no plan")).sections] == ["steps"]


def test_pin_of_a_result_keeps_its_call_and_the_other_results() -> None:
    """An step is kept whole."""
    host = Host(InMemoryStore(), Setup(4096), watch=False)
    host.run(tame(1, 20))
    host.session.pin(2)
    host.run(tame(12, 150, start=1))
    last = requests(host.calls)[-1]
    assert {1, 2} <= {part.first_seq for part in last.parts if part.payload}
    assert last.standing.blocks


def test_pins_that_fill_the_window_are_named_with_what_they_cost() -> None:
    """A pinned text of 20,000 words in a window of 4,096 tokens."""
    session = opened(InMemoryStore(), Setup(4096))
    session.pin_text("goal", "word " * 20_000)
    session.record(user("hello"), now=0.0)
    with pytest.raises(
        BudgetError, match=r"^pins: \d+; with all that must stand beside it the request costs"
    ) as raised:
        session.compact()
    assert raised.value.culprit == "pins"
