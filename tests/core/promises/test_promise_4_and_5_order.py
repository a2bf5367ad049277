"""Promises 4 and 5: calls and results stay together; chronology is kept; what was said is never rewritten."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import given

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.messages import Kind, Message
from squidbot.core.view.steps import opens_turn

from .driver import Host, Setup
from .histories import effort, histories, schedules, setups
from .rules import is_said, pairs_broken, sent, transcript_of

if TYPE_CHECKING:
    from squidbot.core.engine import Inputs


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_calls_and_results_stay_together(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """R1 on the payloads as sent, and R5: the user speaks first, the assistant never last nor twice in a row."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for call in host.run(history):
        if call.assembly is not None:
            messages = sent(call.assembly)
            assert pairs_broken(messages) is None
            roles = [one["role"] for one in messages if one["role"] != "system"]
            assert roles[0] == "user"
            assert messages[-1]["role"] != "assistant"
            # Models refuse or merge such neighbours: a notice stands between them.
            assert ("assistant", "assistant") not in itertools.pairwise(one["role"] for one in messages)


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_chronology_is_kept(history: list[Message], setup: Setup, given: list[Inputs]) -> None:
    """Messages stand in order of seq, and a summary in front of its own messages and of what follows them."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)], watch=False)
    for call in host.run(history):
        if call.assembly is None:
            continue
        last_said = last_covered = -1
        for part in call.assembly.parts:
            if is_said(part):
                assert part.first_seq == part.last_seq > last_said
                last_said = part.first_seq
            elif part.first_seq >= 0:
                assert part.first_seq > max(last_said, last_covered)
                last_covered = part.last_seq


@effort(30)
@given(history=histories(), setup=setups(), given=schedules())
def test_user_text_is_verbatim_or_absent_and_roles_are_kept(
    history: list[Message], setup: Setup, given: list[Inputs]
) -> None:
    """Invariant 4: the newest user message among them, whatever has to give way for it."""
    host = Host(InMemoryStore(), setup, inputs=lambda number: given[number % len(given)])
    for call in host.run(history):
        if call.assembly is None:
            continue
        rows = transcript_of(call)
        shown = {part.first_seq: part for part in call.assembly.parts if is_said(part)}
        for seq, part in shown.items():
            row = rows[seq]
            assert part.payload in {None, row.payload}
            assert part.payload is None or part.role == row.role
            if opens_turn(row) or row.role == "system":
                assert part.kind in {Kind.MESSAGE, Kind.SYSTEM}
                assert (part.payload, part.text) == (row.payload, None)
        turns = [row.seq for row in rows if opens_turn(row)]
        assert not turns or turns[-1] in shown
