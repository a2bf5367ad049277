"""What can be told of a conversation at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import squidbot
from squidbot.core.view.current import SessionContext
from squidbot.core.view.renderer import Renderer
from squidbot.plugins.host import overview

if TYPE_CHECKING:
    from pathlib import Path

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.mark.parametrize("shown", [False, True])
def test_overview_counts_what_is_behind_the_scenes(tmp_path: Path, *, shown: bool) -> None:
    """Tool output and context of the newest messages, unless people want to see them (P-05)."""
    settings = {"store": {"path": str(tmp_path / "s.db")}, "ui": {"show_context_messages": shown}}
    with squidbot.load(settings) as engine:
        session, store = engine.session("s"), engine.wired.store
        session.record({"role": "user", "content": "Look."}, {"role": "assistant", "content": "", "tool_calls": [CALL]})
        session.record({"role": "tool", "tool_call_id": "c1", "content": "3 files"})
        session.record({"role": "system", "content": "It rains."}, "There are three.")
        text = overview(SessionContext("s", store, store, Renderer(session.meter, engine.wired.codecs)), session, 1_000)
    assert ("3 files" in text, "It rains." in text) == (shown, shown)
    assert ("[2 of these are system text, context or tool output, not shown]" in text) is not shown
    assert "m4 assistant: There are three." in text
