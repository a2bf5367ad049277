"""Several sessions of one conversation, as on several machines: each sends what a new one sends, and reads the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

import squidbot

if TYPE_CHECKING:
    import pytest

WINDOW = 2_048
WHAT = st.sampled_from(["say", "say", "say", "tool", "pin", "goal", "compact", "forget", "undo", "key"])


def act(session: squidbot.Session, what: str, number: int) -> None:
    """Do one thing in a session, if it can be done."""
    text = f"{number} " + "what stands in src/part.py, and why? " * 9
    try:
        if what == "say":
            made = session.assemble(text, now=float(number))
            session.record(made.incoming, f"because {number}", now=float(number))
        elif what == "tool":
            function = {"name": "read", "arguments": "{}"}
            call = {"id": f"c{number}", "type": "function", "function": function}
            session.record({"role": "assistant", "content": "", "tool_calls": [call]})
            session.record({"role": "tool", "content": text, "tool_call_id": f"c{number}"})
        elif what == "pin":
            session.pin(0)
        elif what == "goal":
            session.pin_text("goal", text)
        elif what == "compact":
            session.compact()
        elif what == "forget":
            session.forget(1)
        elif what == "undo":
            session.undo()
        else:
            session.record(text, key=f"k{number % 3}")
    except squidbot.SquidbotError:
        pass


@given(st.lists(st.tuples(st.integers(0, 2), WHAT, st.integers(0, 2)), max_size=25))
def test_a_session_that_others_write_to_sends_what_a_new_one_sends(steps: list[tuple[int, str, int]]) -> None:
    """Whatever they did: spoke, pinned, compacted, forgot."""
    with squidbot.load({"store": {"adapter": "stdlib"}}) as engine:
        sessions = [engine.session("s", window_tokens=WINDOW) for _ in range(3)]
        for number, (who, what, asked) in enumerate(steps):
            act(sessions[who], what, number)
            engine.session("s", window_tokens=WINDOW).record({"role": "user", "content": f"and {number}?"})
            fresh = engine.session("s", window_tokens=WINDOW)
            assert sessions[asked].preview().messages == fresh.preview().messages


def test_what_others_say_is_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that is held reads their messages, not the conversation."""
    with squidbot.load({"store": {"adapter": "stdlib"}}) as engine:
        one, other = (engine.session("s", window_tokens=8_192) for _ in range(2))
        for number in range(10):
            act(one, "say", number)
        other.assemble("?")
        store = engine.wired.store
        read: list[int] = []
        for name in ("read", "newest", "pick"):
            plain = getattr(store, name)

            def noted(*args: object, plain: object = plain) -> object:
                found = plain(*args)  # type: ignore[operator]
                read.extend(row.seq for row in found)
                return found

            monkeypatch.setattr(store, name, noted)
        one.record({"role": "user", "content": "Are you there?"})
        made = other.assemble()
        assert made.messages[-1]["content"] == "Are you there?"
        assert read == [20]
