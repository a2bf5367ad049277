"""A session's messages as exchanges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Record
from squidbot.core.transcript.bookkeeping import BROUGHT
from squidbot.services.exchange import exchanges_of

if TYPE_CHECKING:
    from squidbot.services.exchange import SessionExchanges

CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}


def spoken(*messages: dict[str, object], model: str = "m") -> SessionExchanges:
    """Return what these messages of a session are."""
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        engine.session("s", model=model).record(*messages, now=10.0)
        return exchanges_of(engine.wired.store, engine.wired.codecs, "s")


def test_what_a_user_says_and_all_that_is_answered_is_an_exchange() -> None:
    """W-04: steps are joined; calls, results and pictures have no place, and are counted."""
    found = spoken(
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Look."}, PICTURE]},
        {"role": "assistant", "content": "One moment.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "assistant", "content": "It says 1."},
        {"role": "user", "content": "Thanks."},
    )
    assert [(model, one.user, one.assistant, one.time) for model, one in found.exchanges] == [
        ("m", "Look.", "One moment.\n\nIt says 1.", 10.0),
        ("m", "Thanks.", "", 10.0),
    ]
    assert [one.details["mode"] for _, one in found.exchanges] == ["tools", "chat"]
    assert found.left == {
        "system messages": 1,
        "pictures and documents": 1,
        "tool calls": 1,
        "tool results": 1,
        "breaks between steps": 1,
    }


def test_what_was_recalled_or_forgotten_is_no_exchange() -> None:
    """W-04: a copy would be said twice, and what was forgotten nowhere."""
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        session = engine.session("s")
        session.record({"role": "user", "content": "The key is 4711."}, "Kept.", now=1.0)
        session.recall("m0", now=2.0)
        session.forget(1)
        found = exchanges_of(engine.wired.store, engine.wired.codecs, "s")
    assert [(one.user, one.assistant) for _, one in found.exchanges] == [("The key is 4711.", "")]
    assert found.left == {"copies of what was recalled": 1, "messages that were forgotten": 1}


def test_form_that_nobody_reads_is_counted() -> None:
    """W-04: its extension is not loaded."""
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        engine.session("s").record({"role": "user", "content": "x"}, now=1.0)
        found = exchanges_of(engine.wired.store, {}, "s")
    assert found.left == {"messages of the form openai.chat": 1, "empty messages": 1}


@pytest.mark.parametrize("body", ["{", "{}", '{"file": "", "first": 0, "messages": 0, "pieces": [[]], "undone": []}'])
def test_damaged_record_of_what_was_brought_is_named(body: str) -> None:
    """W-17: nothing is brought twice for it."""
    with squidbot.load({"memory": {"enabled": False}}) as engine:
        store = engine.wired.store
        store.append("s", 0, [], [Record(BROUGHT.name, 0, body)])
        with pytest.raises(DamagedStoreError, match="brought 0 can't be read"):
            BROUGHT.state(store, "s")
    assert json.dumps(body)
