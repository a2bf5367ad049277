"""The first page's line for each host, as it is written, with the real package: squidbot takes part in the program."""

from __future__ import annotations

import asyncio
import importlib
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agents
import llm
import pytest
from agents.testing import ModelStep, ScriptedModel, assistant_message
from click.testing import CliRunner
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

import squidbot
from squidbot.cli.status import HOSTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import click

START = (Path(__file__).parents[2] / "docs" / "start.md").read_text("utf-8")
ROWS = {
    extra: (host, line)
    for host, extra, line in re.findall(r"^\| (.+) \| `'\.\[([\w-]+),view]'` \| `(.+)` \|$", START, re.MULTILINE)
}
FACT = "My boat is called Heron."


class Answering(FakeListChatModel):
    """A model of LangChain that takes tools."""

    def bind_tools(self, *_: object, **__: object) -> Answering:
        """Take any."""
        return self


def test_first_page_names_every_host() -> None:
    """That which a plugin is there for; clients of MCP have a block of their own."""
    assert {*ROWS, "mcp"} == {host.extra for host in HOSTS}


def executed(line: str, module: str, **names: object) -> dict[str, Any]:
    """Run a line of Python as it is written, and return what it has made."""
    names["Squidbot"] = importlib.import_module(f"squidbot.plugins.{module}").Squidbot
    exec(line, names)  # noqa: S102  # what is written is what is tested
    return names


def in_langchain(line: str) -> None:
    """Run an agent."""
    model = Answering(responses=["Aye."])
    agent = executed(line, "langchain", create_agent=create_agent, model=model, tools=[])["agent"]
    agent.invoke({"messages": [("user", FACT)]}, {"configurable": {"thread_id": "chat-1"}})


def in_pydantic_ai(line: str) -> None:
    """Run an agent."""
    agent = executed(line, "pydantic_ai", Agent=Agent, model=TestModel(call_tools=[]))["agent"]
    # As run_sync does, which leaves a loop behind.
    asyncio.run(agent.run(FACT, conversation_id="chat-1"))


def in_llm(line: str) -> None:
    """Run the command, and a prompt of a model that is there then."""
    command, *arguments = shlex.split(line)
    assert command == "llm"

    class Aye(llm.Model):
        model_id = "aye"

        def execute(self, *_: object, **__: object) -> Iterator[str]:
            yield "Aye."

    class Brings:
        __name__ = "brings"

        @llm.hookimpl
        def register_models(self, register: Callable[[object], None]) -> None:
            register(Aye())

    cli: click.Command = importlib.import_module("llm.cli").cli
    llm.plugins.pm.register(brings := Brings())
    try:
        done = CliRunner().invoke(cli, [*arguments, "--store", "mem.db"])
        assert done.exit_code == 0, done.output
        talk = llm.get_model("aye").conversation()
        talk.id = "chat-1"
        assert talk.prompt(FACT).text() == "Aye."
    finally:
        llm.plugins.pm.unregister(brings)


def in_openai_agents(line: str) -> None:
    """Run an agent."""
    agents.set_tracing_disabled(disabled=True)
    agent = agents.Agent("captain", model=ScriptedModel([ModelStep([assistant_message("Aye.")])]))

    def act() -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        executed(line, "openai_agents", Runner=agents.Runner, agent=agent, text=FACT)
        loop.close()

    # The SDK ends all that the thread's own loop has to do, which other hosts would use again.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(act).result()


RUNS: dict[str, Callable[[str], None]] = {
    "langchain": in_langchain,
    "llm": in_llm,
    "openai-agents": in_openai_agents,
    "pydantic-ai": in_pydantic_ai,
}


@pytest.mark.parametrize("extra", sorted(RUNS))
def test_the_line_of_a_host_brings_squidbot_into_it(
    extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn is in the store then, under the program's own id."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    RUNS[extra](ROWS[extra][1])
    with squidbot.load({"store": {"path": "mem.db"}}) as engine:
        rows = engine.wired.store.read("chat-1", 0, 9)
    assert len(rows) == 2
    assert FACT in rows[0].payload
