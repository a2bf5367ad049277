"""squidbot in LangChain: the real package, its own agent loop, a model that answers offline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from langchain_core.messages import message_to_dict, messages_from_dict

from squidbot.core.errors import ConfigError
from squidbot.testing import check_host_plugin
from squidbot.testing.hosts import Model, Setting
from squidbot.testing.hosts.opened import CHAT, opened
from squidbot.testing.hosts.stores import rows

from .points import POINTS
from .program_langchain import HOST, KEEPING, Program

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts import Host


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("host", [HOST, KEEPING], ids=["bare", "checkpointer"])
def test_the_plugin_conforms(host: Host, point: str, tmp_path: Path) -> None:
    """Whether the graph keeps its messages itself, too, or the thread is all that is known."""
    check_host_plugin(host, tmp_path, point)


def test_every_message_goes_there_and_back(tmp_path: Path) -> None:
    """Codec: what the package writes is stored to the letter, and read by it as it was."""
    with opened(HOST, tmp_path / "mem.db") as run:
        run.say("Hello!")
        run.say("RECALL it.")
        stored = [row.payload for row, _ in rows(run.path, CHAT)]
    assert len(stored) == 6
    for payload in stored:
        (message,) = messages_from_dict([json.loads(payload)])
        assert message_to_dict(message) == json.loads(payload)


def test_tools_say_that_there_is_no_thread(tmp_path: Path) -> None:
    """C17, M11: to the model, too, which would believe that nothing was ever said."""
    program = Program(Setting(tmp_path / "mem.db", Model(None)))
    made = program.agent.invoke({"messages": [("user", "RECALL it.")]})["messages"]
    assert "thread_id" in made[-1].text
    program.close()


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_settings_that_have_the_provider_hold_the_conversation_are_refused(key: str, tmp_path: Path) -> None:
    """C11: those of a call; that of a model is in the check."""
    program = Program(Setting(tmp_path / "mem.db", Model(None)), settings={key: "x"})
    with pytest.raises(ConfigError, match=key):
        program.run("Hi", CHAT)
    assert program.mind.requests == []
    program.close()
