"""V30: volatile text touches nothing but the end of the newest user turn, and stays as it was born there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.engine import Inputs

from .driver import Host, Setup, assistant, copied, message, opened, requests, result, user
from .histories import effort, histories, setups, tame
from .rules import breaks_at

if TYPE_CHECKING:
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

CLOCKS = ("it is 12:00, 40 % used", "it is 13:37, 71 % used", "it is 23:59, 99 % used")


def told(assembly: CoreAssembly) -> list[str | None]:
    """Return the notice of each part of a request."""
    return [part.notice for part in assembly.parts]


@effort(25)
@given(
    history=histories(),
    setup=setups(),
    clocks=st.lists(st.sampled_from(CLOCKS), min_size=2, max_size=2, unique=True),
    question=st.sampled_from(["and now?", "", "word " * 60, "</notice>"]),
)
def test_changed_notice_touches_only_the_end_of_the_newest_user_message(
    history: list[Message], setup: Setup, clocks: list[str], question: str
) -> None:
    """Two processes ask the same at another time: one part differs, behind what the user said."""
    host = Host(InMemoryStore(), setup, inputs=lambda _step: Inputs(notice=CLOCKS[0]), watch=False)
    host.run(history)
    made = [
        Host(copied(host.store), setup, inputs=lambda _step, clock=clock: Inputs(notice=clock), watch=False)  # type: ignore[misc]
        for clock in clocks
    ]
    for one in made:
        one.run([*host.pending, user(question)])
    first, second = (one.calls[-1].assembly for one in made)
    if first is None or second is None:
        assert first is second
        return
    assert first.cost == second.cost
    (place,) = [n for n, (a, b) in enumerate(zip(first.payloads, second.payloads, strict=True)) if a != b]
    assert first.parts[place].first_seq == second.parts[place].first_seq == first.incoming[-1].seq
    texts = [json.loads(one.payloads[place])["content"] for one in (first, second)]
    assert all(text.startswith(question) for text in texts)
    assert texts[0].replace(clocks[0], clocks[1]) == texts[1]


@effort(20)
@given(history=histories(), setup=setups(), notices=st.lists(st.sampled_from([None, *CLOCKS]), min_size=1, max_size=4))
def test_notice_stays_with_its_user_message_for_ever(
    history: list[Message], setup: Setup, notices: list[str | None]
) -> None:
    """Whatever notices come later, a message that is still sent is sent with the notice of its birth."""
    host = Host(InMemoryStore(), setup, inputs=lambda step: Inputs(notice=notices[step % len(notices)]), watch=False)
    born: dict[int, str | None] = {}
    for request in requests(host.run(history)):
        for part in request.parts:
            if part.payload is not None and part.first_seq in born:
                assert part.notice == born[part.first_seq]
        born |= {row.seq: row.notice for row in request.incoming}


def test_notice_inside_a_tool_loop_is_not_sent() -> None:
    """There a notice has no place: the results stand as they came, and nothing before them moves."""
    host = Host(InMemoryStore(), Setup(8192), inputs=lambda step: Inputs(notice=CLOCKS[step % 3]), watch=False)
    history = [user("go"), assistant("", ("a", "f", "{}")), result("a", "r"), assistant("done")]
    first, second = requests(host.run(history))
    assert [notice for notice in told(first) if notice] == [CLOCKS[0]]
    assert told(second) == [CLOCKS[0], None, None]
    assert breaks_at(first, second) is None


def test_notice_is_a_part_of_its_own_behind_a_list_of_parts() -> None:
    """A user message with pictures keeps its parts as they are."""
    said = message("user", [{"type": "text", "text": "look"}])
    made = opened(InMemoryStore(), Setup(8192)).assemble([said], Inputs(notice=CLOCKS[0]))
    sent = json.loads(made.payloads[-1])["content"]
    assert sent[0] == {"type": "text", "text": "look"}
    assert CLOCKS[0] in sent[1]["text"]


def test_notice_changes_nothing_of_what_is_stored_as_said() -> None:
    """The payload is the user's own; the notice stands beside it."""
    host = Host(InMemoryStore(), Setup(8192), inputs=lambda _step: Inputs(notice=CLOCKS[0]))
    host.run(tame(1, 8))
    row = host.calls[-1].after.messages[0]
    assert row.notice == CLOCKS[0]
    assert CLOCKS[0] not in row.payload
    assert row.sent_cost.bound > row.cost.bound
