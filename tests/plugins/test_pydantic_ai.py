"""squidbot in pydantic-ai: the real package, its own agent loop, a model that answers offline."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel

from squidbot.cli import main as commands
from squidbot.core.last_request import usage_of
from squidbot.plugins.pydantic_ai import Squidbot, _key
from squidbot.testing import check_host_plugin
from squidbot.testing.hosts import CHAT, opened, rows

from .points import points_of
from .program_pydantic_ai import HOST, KEEPING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model
    from pydantic_ai.models.function import AgentInfo

    from squidbot.testing.hosts import HostDriver


@pytest.mark.parametrize(("host", "point"), points_of(bare=HOST, message_history=KEEPING))
def test_the_plugin_conforms(host: HostDriver, point: str, tmp_path: Path) -> None:
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


def test_what_the_host_writes_anew_tells_nothing() -> None:
    """Times and ids at any depth, and what is null beside what is missing."""
    one = {"parts": [{"content": "hi", "timestamp": 1, "id": None}], "run": "a"}
    other = {"run": "b", "parts": [{"content": "hi", "timestamp": 2}]}
    assert _key(one) == _key(other)
    assert _key(one) != _key({"parts": [{"content": "ho"}]})


ANSWER = {"city": "Bern", "weather": "sun"}


class City(BaseModel):
    """What the agent is to return."""

    city: str


class Report(City):
    """What the agent is to return, with much to be said of it."""

    weather: str = Field(description="sun and rain " * 1_300)


class Structured:
    """An agent with an output type, whose model answers by the tool for it."""

    def __init__(self, path: Path, output: type = City) -> None:
        self.seen: list[list[ModelMessage]] = []
        model = FunctionModel(self.answer, stream_function=self.stream)
        self.squidbot = Squidbot(path, budget=8_000)
        self.agent = Agent(model, output_type=output, capabilities=[self.squidbot])

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Answer a request."""
        self.seen.append(messages)
        if not info.output_tools:
            return ModelResponse([TextPart("Bern")])
        return ModelResponse([ToolCallPart(info.output_tools[0].name, ANSWER)])

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[dict[int, DeltaToolCall]]:
        """Answer a request in one piece."""
        self.seen.append(messages)
        yield {0: DeltaToolCall(info.output_tools[0].name, json.dumps(ANSWER), tool_call_id=f"c{len(self.seen)}")}

    async def run(self, way: str, text: str = "where?") -> None:
        """Run a turn."""
        if way == "run":
            await self.agent.run(text, conversation_id="o")
        elif way == "stream":
            async with self.agent.run_stream(text, conversation_id="o") as streamed:
                await streamed.get_output()
        else:
            async with self.agent.iter(text, conversation_id="o") as nodes:
                async for _ in nodes:
                    pass


@pytest.mark.parametrize("way", ["run", "stream", "iter"])
def test_a_structured_answer_is_a_finished_call(way: str, tmp_path: Path) -> None:
    """Without message_history the model sees of earlier answers what pydantic-ai says of them, not "cancelled"."""
    program = Structured(tmp_path / "mem.db")
    for _ in range(3):
        asyncio.run(program.run(way))
    program.squidbot.hosted.close()
    returned = [part.content for each in program.seen[-1] for part in each.parts if isinstance(part, ToolReturnPart)]
    assert returned == ["Final result processed."] * 2


def test_the_schema_of_the_output_is_counted(tmp_path: Path) -> None:
    """A provider is sent the form of the output, too: it takes room from what was said."""
    winds, fitting = "wind " * 1_000, {}
    for output in (str, Report):
        program = Structured(tmp_path / f"{output.__name__}.db", output)
        for text in (winds, "And in spring?" + " rain" * 1_000):
            asyncio.run(program.run("run", text))
        program.squidbot.hosted.close()
        fitting[output] = any(winds in str(part) for each in program.seen[-1] for part in each.parts)
    assert fitting == {str: True, Report: False}


def test_requests_after_squidbots_own_tool_are_known(tmp_path: Path) -> None:
    """`squidbot session log` shows each request beside its answer, with its budget."""
    squid = Squidbot(tmp_path / "mem.db", budget=2_000)
    agent = Agent(TestModel(call_tools=["memory_search"]), capabilities=[squid])
    asyncio.run(agent.run("Which paint?", conversation_id=CHAT))
    squid.hosted.close()
    ran = CliRunner().invoke(commands, ["session", "log", CHAT, "--store", str(tmp_path / "mem.db"), "--json"])
    (turn,) = json.loads(ran.output)["turns"]
    assert [one["answer"] for one in turn["requests"]] == ["m1", "m3"]
    assert turn["budget"]["window"] == 2_000


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_guesses_of_test_models_are_no_usage(tmp_path: Path, *, is_wrapped: bool) -> None:
    """They count words: as usage they would seem to say that more fits, or that the prompt was cut."""
    model: Model = TestModel()
    squid = Squidbot(tmp_path / "mem.db", budget=2_000)
    agent = Agent(WrapperModel(model) if is_wrapped else model, capabilities=[squid])
    for number in range(3):
        asyncio.run(agent.run(f"Part {number}: " + "I do not go. " * 30, conversation_id=CHAT))
    recorded = squid.hosted.engine.wired.store.records(CHAT, "request")
    assert recorded
    assert not any(map(usage_of, recorded))
    squid.hosted.close()
