"""Whose the messages of a session are stands beside them, once for each change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import squidbot
from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import DamagedStoreError
from squidbot.core.memories import Scope
from squidbot.core.messages import Record
from squidbot.core.transcript.scopes import SCOPE, scope_at

ANN, BEN, NOBODY = Scope("t", "ann", collection="x"), Scope(user="ben", bot="b"), Scope()


@given(st.lists(st.tuples(st.sampled_from((ANN, BEN, NOBODY)), st.integers(1, 3)), max_size=6))
def test_each_message_is_of_the_scope_that_it_was_recorded_under(turns: list[tuple[Scope, int]]) -> None:
    """By sessions that are open at once, and hold on to what they know; nobody's need no record before others'."""
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        opened = {scope: engine.session("s", scope=scope) for scope in (ANN, BEN, NOBODY)}
        due: list[Scope] = []
        for scope, count in turns:
            opened[scope].record([f"m{number}" for number in range(count)])
            due += [scope] * count
        scopes = SCOPE.state(engine.wired.store, "s")
        known = [scope_at(scopes, seq) for seq in range(len(due))]
        first = next((seq for seq, scope in enumerate(due) if scope != NOBODY), len(due))
        assert known[first:] == due[first:]
        assert set(known[:first]) <= {None if first < len(due) else NOBODY}
        changes = sum(one != other for one, other in zip([NOBODY, *due], due, strict=False))
        assert len(scopes) == changes


def test_command_that_adds_to_a_session_leaves_it_to_whom_it_was() -> None:
    """The core's session without a scope records as before."""
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        session = engine.session("s", scope=ANN)
        session.record("one")
        wired = engine.wired
        core = wired.engine.session("s", session.window, session.meter, wired.history(session.window))
        core.record(wired.codecs["openai.chat"].decode('{"role": "assistant", "content": "two"}'))
        assert [one.scope for one in SCOPE.state(wired.store, "s")] == [ANN]


@pytest.mark.parametrize(
    "body",
    [
        "{",
        '"ab"',
        "{}",
        '{"first_seq": "0"}',
        '{"first_seq": true}',
        '{"first_seq": -1}',
        '{"first_seq": 0, "user": 5}',
        '{"first_seq": 0, "collection": null}',
        '{"first_seq": 0, "boat": "red"}',
    ],
)
def test_damaged_record_is_named(body: str) -> None:
    """Nothing is learned for somebody else."""
    store = InMemoryStore()
    store.append("s", 0, [], [Record(SCOPE.name, 0, body)])
    with pytest.raises(DamagedStoreError, match="scope 0 can't be read"):
        SCOPE.state(store, "s")
