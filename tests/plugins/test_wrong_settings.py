"""Settings that are wrong stop nothing in any host: they are said, and what is right goes on to be recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.testing.hosts import FACT, SAID
from squidbot.testing.hosts.listening import listening
from squidbot.testing.hosts.opened import home, opened

from . import program_langchain, program_llm, program_openai_agents, program_pydantic_ai

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts import Host

HOSTS = [program_langchain.HOST, program_llm.HOST, program_openai_agents.HOST, program_pydantic_ai.HOST]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_wrong_settings_are_said_and_stop_nothing(host: Host, tmp_path: Path) -> None:
    """C8, C17: a key that there is none of, and then the same file with settings that are right."""
    path = home(tmp_path, "one")
    with opened(host, path, settings={"budget": {"countre": "bytes"}}) as run:
        run.model.budget = None
        with listening() as told:
            assert [run.say("Hello!"), run.say("Hello again!")] == [SAID, SAID]
        assert any("countre" in line for line in told.lines)
        assert len(told.lines) == len(set(told.lines))
    with opened(host, path, settings={"budget": {"counter": "bytes", "reserved_output_tokens": 64}}) as run:
        assert run.say(FACT) == SAID
        assert run.said() == [("user", FACT), ("assistant", SAID)]
