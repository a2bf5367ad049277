"""What is wrong with settings is found when a program is made; `llm`, which loads plugins for each command, goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from squidbot.core.errors import ConfigError, StoreError
from squidbot.testing.hosts import FACT, SAID
from squidbot.testing.hosts.listening import listening
from squidbot.testing.hosts.opened import home, opened

from . import program_langchain, program_llm, program_openai_agents, program_pydantic_ai

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts import Host

HOSTS = [program_langchain.HOST, program_openai_agents.HOST, program_pydantic_ai.HOST]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_wrong_settings_and_stores_are_found_at_the_start(host: Host, tmp_path: Path) -> None:
    """Not in the log of the first turn: a key that there is none of, and a file that is no store."""
    path = home(tmp_path, "one")
    with pytest.raises(ConfigError, match="countre"), opened(host, path, settings={"budget": {"countre": "bytes"}}):
        pass
    path.write_text("this is no database, and never was" * 99)
    with pytest.raises(StoreError, match=path.name), opened(host, path):
        pass


def test_wrong_settings_are_said_and_stop_no_command(tmp_path: Path) -> None:
    """And then the same file with settings that are right."""
    host, path = program_llm.HOST, home(tmp_path, "one")
    with opened(host, path, settings={"budget": {"countre": "bytes"}}) as run:
        run.model.budget = None
        with listening() as told:
            assert [run.say("Hello!"), run.say("Hello again!")] == [SAID, SAID]
        assert any("countre" in line for line in told.lines)
        assert len(told.lines) == len(set(told.lines))
    with opened(host, path, settings={"budget": {"counter": "bytes", "reserved_output_tokens": 64}}) as run:
        assert run.say(FACT) == SAID
        assert run.said() == [("user", FACT), ("assistant", SAID)]
