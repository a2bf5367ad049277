"""What is wrong with settings is found when a program is made, and what is wrong with squidbot stops no run.

`llm`, which loads plugins for each command, goes on with wrong settings, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from squidbot.config import StoreTable, load_settings
from squidbot.core.errors import ConfigError, StoreError
from squidbot.plugins import host as runtime
from squidbot.plugins.host import HostConversation
from squidbot.testing.hosts import FACT, SAID, home, listening, opened

from . import program_langchain, program_llm, program_openai_agents, program_pydantic_ai

if TYPE_CHECKING:
    from pathlib import Path

    from squidbot.testing.hosts import HostDriver

HOSTS = [program_langchain.HOST, program_openai_agents.HOST, program_pydantic_ai.HOST]


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_wrong_settings_and_stores_are_found_at_the_start(host: HostDriver, tmp_path: Path) -> None:
    """Not in the log of the first turn: a key that there is none of, and a file that is no store."""
    path = home(tmp_path, "one")
    with pytest.raises(ConfigError, match="countre"), opened(host, path, settings={"budget": {"countre": "bytes"}}):
        pass
    path.write_text("this is no database, and never was" * 99)
    with pytest.raises(StoreError, match=path.name), opened(host, path):
        pass


@pytest.mark.parametrize("url", [None, "postgresql://agents@db/agents"], ids=["file", "address"])
def test_settings_beside_a_store_keep_all_but_its_place(url: str | None) -> None:
    """A tenant, a schema and days; the same store may be named twice, another one may not, as in a file."""
    table = {"tenant": "acme", "schema": "ours", "retention_days": 9.0}
    store, key = url or "mem.db", "url" if url else "path"
    for named in ({}, {key: store}):
        made = runtime._with_store({"store": {**table, **named}}, store)
        assert load_settings(made).settings.store == StoreTable(**{**table, key: store})  # type: ignore[arg-type]
    for other in ({"path": "other.db"}, {"url": "postgresql://agents@db/others"}):
        with pytest.raises(ConfigError, match=f"pass a store or settings with store.{next(iter(other))}, not both"):
            runtime._with_store({"store": other}, store)
    with pytest.raises(ConfigError, match="must be a table"):
        load_settings(runtime._with_store({"store": 5}, store))


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


@pytest.mark.parametrize("host", [*HOSTS, program_llm.HOST], ids=lambda host: host.name)
def test_a_bug_of_ours_is_said_and_stops_no_run(host: HostDriver, tmp_path: Path) -> None:
    """One of those of the point C8, which is slow: the host's own list goes out, and behind a time all is recorded."""
    with opened(host, home(tmp_path, "one")) as run:
        assert run.say(FACT) == SAID
        run.model.budget = None
        with patch.object(HostConversation, "before", side_effect=RuntimeError("a bug of ours")), listening() as told:
            assert [run.say("Hello!"), run.say("Hello again!")] == [SAID, SAID]
        assert any("squidbot" in line for line in told.lines)
        assert told.causes
        assert run.say("Last.") == SAID
        assert run.said()[-2:] == [("user", "Last."), ("assistant", SAID)]
