"""`history.user_messages = "strict"`: what the user said is sent verbatim, or the request is refused (O-07)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from squidbot.adapters.stdlib import InMemoryStore
from squidbot.core.errors import BudgetError
from squidbot.core.settings import HistorySettings

from ..promises.driver import BY_MARKS, Setup, assistant, opened, user

if TYPE_CHECKING:
    from squidbot.core.view.assembly import CoreAssembly

STRICT = Setup(2048, 256, replace(BY_MARKS, user_messages="strict"))
GRACEFUL = Setup(2048, 256, BY_MARKS)


def verbatim(assembly: CoreAssembly) -> str:
    """Return what a request says, message by message."""
    return "\n".join(part.text or assembly.payloads[place] for place, part in enumerate(assembly.parts))


TURNS = st.lists(st.tuples(st.integers(1, 120), st.integers(1, 300), st.booleans()), min_size=1, max_size=14)


@given(TURNS)
@settings(max_examples=40, deadline=None)
def test_every_message_of_the_user_is_sent_verbatim_or_the_request_is_refused(
    turns: list[tuple[int, int, bool]],
) -> None:
    """Whatever is said, compacted and read anew by another process; what others said gives way (O-07)."""
    store = InMemoryStore()
    session = opened(store, STRICT)
    said: list[str] = []
    for number, (words, answer, again) in enumerate(turns):
        text = f"q{number} " + "ask " * words + f"end{number}"
        try:
            made = session.assemble([user(text)])
        except BudgetError:
            return
        said.append(text)
        assert made.cost.bound <= made.limit.bound
        shown = [part.text for part in made.parts if part.role == "user" and part.text]
        assert all(any(one in each for each in (*shown, verbatim(made))) for one in said)
        session.record(*made.incoming, assistant(f"a{number} " + "tell " * answer))
        session = opened(store, STRICT) if again else session


def test_graceful_session_tells_them_in_notes_and_a_strict_one_brings_them_back() -> None:
    """A setting that is changed holds from the next event on, in a session that is too long to be read back, too."""
    store = InMemoryStore()
    session = opened(store, GRACEFUL)
    said = [f"q{number} " + "ask " * 24 + f"end{number}" for number in range(30)]
    for text in said:
        made = session.assemble([user(text)])
        session.record(*made.incoming, assistant("tell " * 120))
    assert said[0] not in verbatim(session.preview())
    strict = opened(store, STRICT)
    strict.compact()
    assert all(one in verbatim(strict.preview()) for one in said)


def test_error_names_the_user_s_messages_and_both_ways_out() -> None:
    """A larger window, or the other setting."""
    session = opened(InMemoryStore(), STRICT)
    for number in range(30):
        session.record(user(f"q{number} " + "ask " * 100), assistant("tell " * 10))
    with pytest.raises(BudgetError, match=r"user messages: .* or set history.user_messages to graceful") as raised:
        session.assemble([user("And now?")])
    assert raised.value.culprit == "user messages"


def test_nothing_but_the_turn_in_flight_is_sent_where_the_scope_says_so() -> None:
    """The scope goes before."""
    assert not HistorySettings(user_messages="strict", scope="none").strict
    assert HistorySettings(user_messages="strict").strict
