"""What of history is sent, case by case: raw messages and notes, either, or neither (`history.scope`, C11)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.messages import Kind
from squidbot.core.settings import HistorySettings

from .driver import BY_MARKS, Host, Setup, assistant, changed, opened, requests, result, user
from .histories import tame
from .rules import rendered, sent

if TYPE_CHECKING:
    from squidbot.core.view.assembly import CoreAssembly

MARKS = Setup(8192, None, BY_MARKS)


def kinds(one: CoreAssembly) -> set[Kind]:
    """Return the kinds of the parts of a request."""
    return {part.kind for part in one.parts}


def said(one: CoreAssembly) -> list[int]:
    """Return the messages that stand as they were said."""
    return [part.first_seq for part in one.parts if part.payload is not None]


@pytest.mark.parametrize("scope", ["inline+summaries", "inline", "summaries", "none"])
def test_request_has_what_the_scope_of_history_says(scope: str) -> None:
    """V18: the message in flight is there in each; in all but the first something is not."""
    host = Host(InMemoryStore(), changed(MARKS, scope=scope), watch=False)
    calls = requests(host.run(tame(15, 120)))
    assert len(calls) == 30
    turns = [call for call in calls if call.view.at_turn]
    assert all(call.view.turn in said(call) for call in calls)
    has_notes = any(Kind.SUMMARY in kinds(call) for call in calls)
    has_raw = any(min(said(turn)) < turn.view.turn for turn in turns)
    assert (has_notes, has_raw) == ("summaries" in scope, "inline" in scope)


def test_pointer_stands_for_what_no_longer_fits_where_no_notes_are_taken() -> None:
    """One for all, with the handle that brings it back; what the user said stays beside it while it fits."""
    host = Host(InMemoryStore(), changed(MARKS, scope="inline"), watch=False)
    last = requests(host.run(tame(30, 120)))[-1]
    pointers = [part for part in last.parts if part.kind is Kind.NOTICE and "recall m0-m" in (part.text or "")]
    assert len(pointers) == 1
    assert host.store.for_range("s", 0, 120) == []


def test_notes_tell_what_the_user_said_where_it_does_not_stand_beside_them() -> None:
    """Under "summaries" nothing else does; his words are looked for as those of the assistant are."""
    host = Host(InMemoryStore(), changed(MARKS, scope="summaries"), watch=False)
    host.run([user("Our port is 48211, in conf/net.toml."), assistant("Noted."), user("And the name?")])
    host.run([assistant("Which one?"), *tame(12, 60)])
    for request in requests(host.calls)[2:]:
        whole = "\n".join(map(rendered, sent(request)))
        assert "48211" in whole
        assert "conf/net.toml" in whole


def test_request_extends_the_one_before_within_a_turn_where_only_notes_are_sent() -> None:
    """Promise 7: a turn's steps stand behind it as they were said; what was said before it is noted once."""
    host = Host(InMemoryStore(), changed(MARKS, scope="summaries"), watch=False)
    host.run(tame(4, 60))
    host.run(
        [user("go"), *[one for n in range(5) for one in (assistant("", (f"c{n}", "f", "{}")), result(f"c{n}", "x"))]]
    )
    calls = requests(host.calls)[-5:]
    for before, after in pairwise(calls):
        assert after.payloads[: len(before.payloads)] == before.payloads


@pytest.mark.parametrize(
    ("before", "after"), [("inline+summaries", "inline"), ("inline", "summaries"), ("none", "inline")]
)
def test_session_takes_another_scope_at_its_next_turn(before: str, after: str) -> None:
    """What the new one does not have is gone at once."""
    host = Host(InMemoryStore(), changed(MARKS, scope=before), watch=False)
    host.run(tame(20, 120))
    settings = changed(MARKS, scope=after)
    one = opened(host.store, settings).assemble([user("and now?")])
    assert (Kind.SUMMARY in kinds(one)) == ("summaries" in after)
    if "inline" not in after:
        assert said(one) == [80]
    assert opened(host.store, settings).assemble([user("and now?")]).payloads == one.payloads


def test_held_plan_is_sent_whatever_the_scope() -> None:
    """Somebody brought it back by hand."""
    setup = Setup(16_384, None, HistorySettings(scope="summaries"))
    host = Host(InMemoryStore(), setup, watch=False)
    host.run(tame(3, 60))
    session = opened(host.store, setup)
    session.undo()
    assert said(session.assemble([user("and now?")]))[0] < 11
