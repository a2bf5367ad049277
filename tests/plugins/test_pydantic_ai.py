"""squidbot in pydantic-ai: the real package, its own agent loop, a model that answers offline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from squidbot.testing import check_host_plugin
from squidbot.testing.hosts.opened import CHAT, opened
from squidbot.testing.hosts.stores import rows

from .points import POINTS
from .program_pydantic_ai import HOST, KEEPING

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts import Host


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("host", [HOST, KEEPING], ids=["bare", "message_history"])
def test_the_plugin_conforms(host: Host, point: str, tmp_path: Path) -> None:
    """Whether the conversation is known by its id alone, or its messages are handed over each time, too."""
    check_host_plugin(host, tmp_path, point)


def test_every_message_goes_there_and_back(tmp_path: Path) -> None:
    """Codec: what the package writes is stored to the letter, and read by it as it was."""
    with opened(HOST, tmp_path / "mem.db") as run:
        run.say("Hello!")
        run.say("RECALL it.")
        stored = [row.payload for row, _ in rows(run.path, CHAT)]
    assert len(stored) == 6
    for payload in stored:
        (message,) = ModelMessagesTypeAdapter.validate_json(f"[{payload}]")
        assert json.loads(ModelMessagesTypeAdapter.dump_json([message]))[0] == json.loads(payload)
