"""squidbot in pydantic-ai: the real package, its own agent loop, a model that answers offline."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.exceptions import ModelContextWindowExceededError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from squidbot.codecs.pydantic_ai import PydanticAI
from squidbot.core.errors import ConfigError
from squidbot.hosting import toolkit
from squidbot.hosting.conversations import Conversation
from squidbot.hosting.hosted import Hosted
from squidbot.plugins.pydantic_ai import Squidbot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pydantic_ai.settings import ModelSettings

BUDGET = 4_000
FACT = "The walrus at the harbour is called Brunhilde."
FILLER = "Tell me about sorting. " + "It need not be short. " * 12
SAID = "Sorting puts things in order. " * 12


def tokens(messages: list[ModelMessage], info: AgentInfo) -> int:
    """Return what a request costs, from above enough: four letters a token, all of it."""
    sent = b"".join(part for each in messages for part in map(_shown, each.parts))
    tools = "".join(
        f"{tool.name}{tool.description}{json.dumps(tool.parameters_json_schema)}" for tool in info.function_tools
    )
    return (len(sent) + len(tools) + len(info.instructions or "")) // 4


def _shown(part: object) -> bytes:
    """Return what a provider gets of a part."""
    if isinstance(part, ToolCallPart):
        return f"{part.tool_name}{part.args_as_json_str()}{part.tool_call_id}".encode()
    if isinstance(part, ToolReturnPart):
        return f"{part.tool_call_id}{part.model_response_str()}".encode()
    return str(getattr(part, "content", "")).encode()


def wire(message: ModelMessage) -> bytes:
    """Return what tells one message of a request from others for a provider's cache."""
    return type(message).__name__.encode() + b"\0".join(map(_shown, message.parts))


def refuse_broken(messages: list[ModelMessage]) -> None:
    """Refuse what a provider would: a call without its result right behind, a result without its call, a bad end."""
    said = [each for each in messages if not all(isinstance(part, SystemPromptPart) for part in each.parts)]
    assert isinstance(said[0], ModelRequest), "the first is not the user's"
    assert isinstance(said[-1], ModelRequest), "the last is the model's own"
    open_calls: set[str] = set()
    for each in said:
        results = {part.tool_call_id for part in each.parts if isinstance(part, ToolReturnPart)}
        assert results <= open_calls, f"results of no call: {results - open_calls}"
        if isinstance(each, ModelResponse):
            assert not open_calls, f"calls without results: {open_calls}"
            open_calls = {part.tool_call_id for part in each.parts if isinstance(part, ToolCallPart)}
        else:
            open_calls -= results
    assert not open_calls


@dataclass
class Fake:
    """A model that follows a script in what it is told, and holds every request to the rules."""

    budget: int = BUDGET
    requests: list[list[bytes]] = field(default_factory=list)
    seen: list[list[ModelMessage]] = field(default_factory=list)
    answers: Callable[[str, int], ModelResponse | None] = lambda _text, _number: None

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Answer a request."""
        refuse_broken(messages)
        assert tokens(messages, info) <= self.budget, f"{tokens(messages, info)} of {self.budget} tokens"
        self.requests.append([wire(each) for each in messages])
        self.seen.append(messages)
        last = messages[-1].parts
        results = [part for part in last if isinstance(part, ToolReturnPart)]
        text = "\n".join(str(part.content) for part in last if isinstance(part, UserPromptPart))
        if (made := self.answers(text, len(self.requests))) is not None:
            return made
        if results and not text:
            return ModelResponse([TextPart("It says: " + " ".join(part.model_response_str() for part in results))])
        if "RECALL" in text:
            return ModelResponse([ToolCallPart("memory_search", '{"query":"walrus harbour called"}', "call-r")])
        return ModelResponse([TextPart(SAID)])

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        """Answer a request in pieces."""
        for part in self(messages, info).parts:
            if isinstance(part, TextPart):
                for first in range(0, len(part.content), 40):
                    yield part.content[first : first + 40]
            elif isinstance(part, ToolCallPart):
                yield {0: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}

    @property
    def model(self) -> FunctionModel:
        """The model for an agent."""
        return FunctionModel(self, stream_function=self.stream)


@dataclass
class Program:
    """An agent program with squidbot in it."""

    path: Path
    fake: Fake = field(default_factory=Fake)

    def __post_init__(self) -> None:
        self.squidbot = Squidbot(self.path, budget=self.fake.budget)
        self.agent: Agent[None, str] = Agent(
            self.fake.model, system_prompt="You are kind.", instructions="Be short.", capabilities=[self.squidbot]
        )

    def run(
        self,
        text: str,
        conversation_id: str = "chat-1",
        *,
        message_history: list[ModelMessage] | None = None,
        model_settings: ModelSettings | None = None,
    ) -> str:
        """Run a turn."""
        run = self.agent.run(
            text, conversation_id=conversation_id, message_history=message_history, model_settings=model_settings
        )
        return asyncio.run(run).output

    def texts(self, conversation_id: str = "chat-1") -> list[str]:
        """Return all that is recorded."""
        rows = self.squidbot.hosted.engine.wired.store.read(conversation_id, 0, 10_000)
        return [PydanticAI().text(row.payload) for row in rows]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a new program."""
    return Program(tmp_path / "mem.db")


def talk(program: Program, turns: int = 12) -> None:
    """Tell a fact, and then of other things for long."""
    program.run(FACT)
    for number in range(turns):
        program.run(f"{number}: {FILLER}")


def test_what_fell_out_of_view_is_recalled_by_the_model(program: Program) -> None:
    """C5, C2: the fact is in no request any more when it is asked for, and the answer is taken from what is stored."""
    talk(program)
    answer = program.run("RECALL what the walrus is called.")
    assert FACT.encode() not in b"".join(program.fake.requests[-2])
    assert "Brunhilde" in answer
    assert len(program.texts()) == 2 * 13 + 4


def test_requests_extend_each_other_between_events(program: Program) -> None:
    """C4: a request is the beginning of the next, but where a plan says otherwise."""
    events = []
    program.squidbot.hosted.engine.wired.relay._on_event = (("test", lambda event: events.append(event.name)),)
    talk(program, 20)
    breaks = sum(new[: len(old)] != old for old, new in pairwise(program.fake.requests))
    assert 0 < breaks <= events.count("view-plan-changed")


def test_a_long_turn_of_tools_stays_within_budget(program: Program) -> None:
    """C2: twenty steps, and one result of three times the window."""

    def step(text: str, number: int) -> ModelResponse | None:
        del text
        return ModelResponse([ToolCallPart("look", {"at": number}, f"c{number}")]) if number < 34 else None

    talk(program)
    program.fake.answers = step

    @program.agent.tool_plain
    def look(at: int) -> str:
        return f"result {at} " + "of a look at the shelf " * (3 * BUDGET // 5 if at == 20 else 10)

    program.run("Look at everything.")
    assert len(program.fake.requests) == 34
    said = "\n".join(program.texts())
    assert all(f"result {number} " in said for number in range(14, 34))
    assert len(said) > 3 * 4 * BUDGET, "what was cut is stored whole"


def test_a_restarted_program_goes_on(program: Program, tmp_path: Path) -> None:
    """C1: what another process has recorded is in the requests of the next, the same prefix."""
    program.run(FACT)
    program.run("And the seal?")
    other = Program(tmp_path / "mem.db")
    other.run("And the cat?")
    before = program.fake.requests[-1]
    assert other.fake.requests[-1][: len(before)] == before
    assert len(other.texts()) == 6


def test_a_killed_program_goes_on(tmp_path: Path) -> None:
    """C1, M7: killed between call and answer: prompt, call and result are there, and the next run is valid."""
    code = """
import os, sys
sys.path.insert(0, sys.argv[2])
from tests.plugins.test_pydantic_ai import *
from pathlib import Path
program = Program(Path(sys.argv[1]))
program.run(FACT)
@program.agent.tool_plain
def look() -> str:
    return "a seal"
def step(text, number):
    if number == 2:
        return ModelResponse([ToolCallPart("look", {}, "c1")])
    os._exit(9)
program.fake.answers = step
program.run("Look!")
"""
    folder = str(Path(__file__).parents[2])
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path / "mem.db"), folder], check=False, timeout=100)
    assert ended.returncode == 9
    program = Program(tmp_path / "mem.db")
    assert program.run("What now?") == SAID
    assert program.texts()[:2] == [FACT, SAID]
    assert program.texts()[2:5] == ["Look!", "", "a seal"]


def test_streams_are_recorded_like_other_runs(tmp_path: Path) -> None:
    """C6, C7: streamed, asynchronous and synchronous runs leave the same."""

    async def streamed(program: Program, text: str) -> None:
        async with program.agent.run_stream(text, conversation_id="chat-1") as result:
            async for _ in result.stream_text():
                pass

    def synchronous(program: Program, text: str) -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        program.agent.run_sync(text, conversation_id="chat-1")
        loop.close()
        asyncio.set_event_loop(None)

    def asynchronous(program: Program, text: str) -> None:
        asyncio.run(program.agent.run(text, conversation_id="chat-1"))

    def in_pieces(program: Program, text: str) -> None:
        asyncio.run(streamed(program, text))

    found = []
    for number, act in enumerate((synchronous, asynchronous, in_pieces)):
        program = Program(tmp_path / f"{number}.db")
        for text in (FACT, FILLER, "RECALL what the walrus is called."):
            act(program, text)
        clock = re.compile(rb"\d\d:\d\d:\d\d")
        requests = [[clock.sub(b"then", each) for each in request] for request in program.fake.requests]
        found.append((program.texts()[:6], requests))
    assert found[0] == found[1] == found[2]


def test_an_abandoned_stream_keeps_the_prompt_and_what_came(program: Program) -> None:
    """C6: left after the first words."""

    async def leave() -> None:
        async with program.agent.run_stream(FACT, conversation_id="chat-1") as result:
            async for _ in result.stream_text(debounce_by=None):
                break

    asyncio.run(leave())
    assert program.texts()[0] == FACT
    assert program.run("Again?") == SAID


@pytest.mark.parametrize("at", [1, 2])
def test_a_failed_run_keeps_what_was_said_and_done(program: Program, at: int) -> None:
    """C9: the provider fails on the first call, or behind a tool's result; the next run is valid."""

    @program.agent.tool_plain
    def look() -> str:
        return "a seal"

    def step(text: str, number: int) -> ModelResponse | None:
        del text
        if number == at:
            raise ModelHTTPError(500, "fake")
        return ModelResponse([ToolCallPart("look", {}, "c1")]) if number < at else None

    program.fake.answers = step
    with pytest.raises(ModelHTTPError):
        program.run("Look!")
    program.fake.answers = lambda _text, _number: None
    assert program.texts() == (["Look!"] if at == 1 else ["Look!", "", "a seal"])
    assert program.run("What now?") == SAID
    assert "Look!" in str(program.fake.seen[-1])


def test_a_cancelled_run_leaves_a_valid_conversation(program: Program) -> None:
    """C3, C9: a tool is cancelled in its midst: its call gets a result that says so, and the next run goes on."""
    waits = asyncio.Event()

    @program.agent.tool_plain
    async def wait() -> str:
        waits.set()
        await asyncio.sleep(60)
        return "never"

    program.fake.answers = lambda _text, number: (
        ModelResponse([ToolCallPart("wait", {}, "c1"), ToolCallPart("wait", {}, "c2")]) if number == 1 else None
    )

    async def cancelled() -> None:
        run = asyncio.ensure_future(program.agent.run("Wait!", conversation_id="chat-1"))
        await waits.wait()
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    assert program.run("What now?") == SAID
    assert "cancelled" in str(program.fake.seen[-1])


def test_conversations_don_t_mix(program: Program) -> None:
    """C10: eight at once, in turns: no word of another is in a request, or found."""

    async def turn(number: int, text: str) -> str:
        result = await program.agent.run(text, conversation_id=f"chat-{number}")
        return result.output

    async def all_of_them() -> list[str]:
        for round_ in range(3):
            await asyncio.gather(*(turn(number, f"walrus{number} {round_} {FILLER}") for number in range(8)))
        return [await turn(number, f"RECALL walrus{number}") for number in range(8)]

    answers = asyncio.run(all_of_them())
    for number, answer in enumerate(answers):
        others = [f"walrus{other}" for other in range(8) if other != number]
        assert not any(other in answer for other in others)
    for request in program.fake.requests:
        whole = b"".join(request)
        assert sum(f"walrus{number}".encode() in whole for number in range(8)) == 1


@pytest.mark.parametrize("key", ["openai_previous_response_id", "openai_conversation_id"])
def test_server_held_state_is_refused_before_anything_is_sent(program: Program, key: str) -> None:
    """C11: by the name of the switch."""
    with pytest.raises(ConfigError, match=key):
        program.run("Hi", model_settings={key: "x"})  # type: ignore[arg-type]  # of one provider
    assert program.fake.requests == []


def test_the_hosts_own_list_is_as_without_squidbot(program: Program) -> None:
    """C12: long after the first event; and history that a caller hands over is taken in once."""
    bare: Agent[None, str] = Agent(Fake(10**9).model, system_prompt="You are kind.", instructions="Be short.")
    ours: list[ModelMessage] = []
    theirs: list[ModelMessage] = []
    for number in range(12):
        text = f"{number}: {FILLER}"
        ours = asyncio.run(program.agent.run(text, message_history=ours, conversation_id="chat-1")).all_messages()
        theirs = asyncio.run(bare.run(text, message_history=theirs, conversation_id="chat-1")).all_messages()
    assert [wire(each) for each in ours] == [wire(each) for each in theirs]
    assert len(program.texts()) == 24
    other = Program(program.path.with_name("other.db"))
    other.run("And now?", "chat-9", message_history=ours)
    assert len(other.texts("chat-9")) == 26
    assert other.texts("chat-9")[:24] == program.texts()


def test_a_request_that_is_too_long_is_made_shorter(program: Program) -> None:
    """C13: refused once by the provider: asked again with less in the same step, and nothing else is recorded."""
    talk(program, 4)
    refused: list[int] = []
    whole = program.fake.answers

    def step(text: str, number: int) -> ModelResponse | None:
        if text == "Once more." and not refused:
            refused.append(sum(map(len, program.fake.requests[-1])))
            raise ModelContextWindowExceededError("fake", "too long")
        return whole(text, number)

    program.fake.answers = step
    assert program.run("Once more.") == SAID
    assert sum(map(len, program.fake.requests[-1])) < refused[0]
    assert program.texts()[-2:] == ["Once more.", SAID]


def test_signatures_come_back_as_they_were(program: Program, tmp_path: Path) -> None:
    """C14: signed thinking and unknown details are sent again byte for byte, after a restart, too."""
    thought = ThinkingPart("Hm.", id="t1", signature="c2lnbmVk", provider_name="anthropic", provider_details={"x": [1]})
    made = ModelResponse([thought, TextPart("Yes.", provider_details={"y": None})], provider_details={"z": 1.5})
    program.fake.answers = lambda _text, number: made if number == 1 else None
    program.run(FACT)
    other = Program(tmp_path / "mem.db")
    other.run("And?")
    sent = next(each for each in other.fake.seen[-1] if isinstance(each, ModelResponse))
    assert sent.parts == made.parts
    assert sent.provider_details == made.provider_details


def test_every_message_goes_there_and_back(program: Program) -> None:
    """Codec: what the package writes is stored to the letter, and read by it as it was."""
    talk(program, 2)
    rows = program.squidbot.hosted.engine.wired.store.read("chat-1", 0, 99)
    for row in rows:
        (message,) = ModelMessagesTypeAdapter.validate_json(f"[{row.payload}]")
        assert json.loads(ModelMessagesTypeAdapter.dump_json([message]))[0] == json.loads(row.payload)


def broken(*_: object, **__: object) -> None:
    """Fail."""
    raise RuntimeError("a bug of ours")


@pytest.mark.parametrize("where", ["before", "after", "shorter", "engine", "tool"])
def test_the_run_goes_on_when_squidbot_fails(
    program: Program, where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """C8: whatever fails inside, output and list are those of a run without it; one line in the log says so."""
    program.run("First.")
    if where == "tool":
        monkeypatch.setattr(toolkit, "call", broken)
    elif where == "engine":
        monkeypatch.setattr(Hosted, "conversation", broken)
    else:
        monkeypatch.setattr(Conversation, where, broken)
    bare: Agent[None, str] = Agent(Fake(10**9).model, system_prompt="You are kind.", instructions="Be short.")
    with caplog.at_level(logging.WARNING, "squidbot"):
        told = asyncio.run(program.agent.run(FACT, conversation_id="chat-2"))
        plain = asyncio.run(bare.run(FACT))
        assert told.output == plain.output
        assert [wire(each) for each in told.all_messages()] == [wire(each) for each in plain.all_messages()]
        program.run("RECALL the walrus.", "chat-2")
    logged = [record.getMessage() for record in caplog.records if "squidbot failed" in record.getMessage()]
    assert len(logged) == len(set(logged))
    assert bool(logged) == (where != "shorter")
    monkeypatch.undo()
    program.run("Last.", "chat-2")
    assert program.texts("chat-2")[-2:] == ["Last.", SAID]


def test_a_store_that_can_t_be_opened_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """C8: no folder, no file, no database."""
    (tmp_path / "mem.db").write_text("this is no database, and never was" * 99)
    program = Program(tmp_path / "mem.db")
    assert program.run(FACT) == SAID
    assert "which goes on without it" in caplog.text


def test_a_plugin_without_its_host_names_the_extra() -> None:
    """C18: and squidbot itself imports no host."""
    code = "import sys; sys.modules['pydantic_ai'] = None\nimport squidbot\nimport squidbot.plugins.pydantic_ai"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert "squidbot[pydantic_ai]" in ended.stderr
    code = "import squidbot, sys; print([name for name in sys.modules if 'pydantic' in name])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert ended.stdout.strip() == "[]"
