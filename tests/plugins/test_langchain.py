"""squidbot in LangChain: the real package, its own agent loop, a model that answers offline."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCallChunk,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver

from squidbot.codecs.langchain import LangChain
from squidbot.core.errors import ConfigError
from squidbot.hosting import toolkit
from squidbot.hosting.conversations import Conversation
from squidbot.hosting.hosted import Hosted
from squidbot.plugins.langchain import Squidbot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.runnables import RunnableConfig

BUDGET = 4_000
FACT = "The walrus at the harbour is called Brunhilde."
FILLER = "Tell me about sorting. " + "It need not be short. " * 12
SAID = "Sorting puts things in order. " * 12


def wire(message: BaseMessage) -> bytes:
    """Return what a provider gets of a message."""
    calls = [(call["name"], call["args"], call["id"]) for call in getattr(message, "tool_calls", [])]
    answered = getattr(message, "tool_call_id", "")
    return json.dumps([message.type.removesuffix("MessageChunk").lower(), message.content, calls, answered]).encode()


def refuse_broken(messages: Sequence[BaseMessage]) -> None:
    """Refuse what a provider would: a call without its results right behind, a result without its call, a bad end."""
    said = [each for each in messages if not isinstance(each, SystemMessage)]
    assert isinstance(said[0], HumanMessage), "the first is not the user's"
    assert isinstance(said[-1], HumanMessage | ToolMessage), "the last is the model's own"
    open_calls: set[str | None] = set()
    for each in said:
        if isinstance(each, ToolMessage):
            assert each.tool_call_id in open_calls, f"a result of no call: {each.tool_call_id}"
            open_calls.discard(each.tool_call_id)
            continue
        assert not open_calls, f"calls without results: {open_calls}"
        open_calls = {call["id"] for call in getattr(each, "tool_calls", [])}
    assert not open_calls


class Fake(BaseChatModel):
    """A model that follows a script in what it is told, and holds every request to the rules."""

    budget: int = BUDGET
    tools: int = 0
    seen: list[list[BaseMessage]] = []  # noqa: RUF012  # pydantic copies it
    answers: Any = None

    @property
    def _llm_type(self) -> str:
        return "fake"

    @property
    def requests(self) -> list[list[bytes]]:
        """What was sent."""
        return [[wire(each) for each in messages] for messages in self.seen]

    def bind_tools(self, tools: Sequence[Any], **_: object) -> Fake:
        """Count the tools, too."""
        self.tools = len(json.dumps([convert_to_openai_tool(each) for each in tools])) // 4
        return self

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _stream(self, messages: list[BaseMessage], *_: object, **__: object) -> Iterator[ChatGenerationChunk]:
        made = self._answer(messages)
        text = str(made.content)
        for first in range(0, len(text), 40):
            yield ChatGenerationChunk(
                message=AIMessageChunk(content=text[first : first + 40], id=f"run-{len(self.seen)}")
            )
        for number, call in enumerate(made.tool_calls):
            chunk = ToolCallChunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=number)
            yield ChatGenerationChunk(
                message=AIMessageChunk(content="", tool_call_chunks=[chunk], id=f"run-{len(self.seen)}")
            )

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        refuse_broken(messages)
        cost = self.tools + sum(map(len, map(wire, messages))) // 4
        assert cost <= self.budget, f"{cost} of {self.budget} tokens"
        self.seen.append(messages)
        last = messages[-1]
        text = "" if isinstance(last, ToolMessage) else last.text
        if self.answers is not None and (made := self.answers(text, len(self.seen))) is not None:
            return made  # type: ignore[no-any-return]
        if isinstance(last, ToolMessage):
            return AIMessage(f"It says: {last.text}")
        if "RECALL" in text:
            return calling("memory_search", query="walrus harbour called")
        return AIMessage(SAID)


def calling(name: str, identifier: str = "call-r", **args: object) -> AIMessage:
    """Return a step that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": identifier}])


@tool
def look(at: int = 0) -> str:
    """Look at something."""
    return f"result {at} " + "of a look at the shelf " * (3 * BUDGET // 5 if at == 20 else 10)


@dataclass
class Program:
    """An agent program with squidbot in it; with a checkpointer it keeps its messages itself, too."""

    path: Path
    fake: Fake = field(default_factory=lambda: Fake(seen=[]))
    keeps: bool = False

    def __post_init__(self) -> None:
        self.squidbot = Squidbot(self.path, budget=self.fake.budget)
        saver = InMemorySaver() if self.keeps else None
        self.agent: Any = create_agent(
            self.fake, tools=[look], system_prompt="You are kind.", middleware=[self.squidbot], checkpointer=saver
        )

    def run(self, text: str, thread: str = "chat-1") -> str:
        """Run a turn."""
        return str(self.turn(text, thread)[-1].text)

    def turn(self, text: str, thread: str = "chat-1") -> list[BaseMessage]:
        """Run a turn, and return the host's own list."""
        made: list[BaseMessage] = self.agent.invoke({"messages": [("user", text)]}, told(thread))["messages"]
        return made

    def texts(self, thread: str = "chat-1") -> list[str]:
        """Return all that is recorded."""
        rows = self.squidbot.hosted.engine.wired.store.read(thread, 0, 10_000)
        return [LangChain().text(row.payload) for row in rows]


def told(thread: str) -> RunnableConfig:
    """Return what names the thread to the host."""
    return {"configurable": {"thread_id": thread}, "recursion_limit": 200}


@pytest.fixture(params=[False, True], ids=["bare", "checkpointer"])
def program(tmp_path: Path, request: pytest.FixtureRequest) -> Program:
    """Return a new program."""
    return Program(tmp_path / "mem.db", keeps=request.param)


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
    happened: list[str] = []
    program.squidbot.hosted.engine.wired.relay._on_event = (("test", lambda event: happened.append(event.name)),)
    talk(program, 20)
    breaks = sum(new[: len(old)] != old for old, new in pairwise(program.fake.requests))
    assert 0 < breaks <= happened.count("view-plan-changed")


def test_a_long_turn_of_tools_stays_within_budget(program: Program) -> None:
    """C2, C3: twenty steps of two calls each, and one result of three times the window."""

    def step(_text: str, number: int) -> AIMessage | None:
        if number >= 34:
            return None
        made = calling("look", f"c{number}", at=number)
        made.tool_calls += calling("look", f"d{number}", at=number).tool_calls
        return made

    talk(program)
    program.fake.answers = step
    program.run("Look at everything.")
    assert len(program.fake.requests) == 34
    said = "\n".join(program.texts())
    assert all(said.count(f"result {number} ") == 2 for number in range(14, 33))
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
from tests.plugins.test_langchain import *
program = Program(Path(sys.argv[1]))
program.run(FACT)
def step(text, number):
    if number == 2:
        return calling("look", "c1", at=7)
    os._exit(9)
program.fake.answers = step
program.run("Look!")
"""
    folder = str(Path(__file__).parents[2])
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path / "mem.db"), folder], check=False, timeout=100)
    assert ended.returncode == 9
    program = Program(tmp_path / "mem.db")
    assert program.run("What now?") == SAID
    texts = program.texts()
    assert texts[:4] == [FACT, SAID, "Look!", ""]
    assert texts[4].startswith("result 7")


def test_streams_and_asynchronous_runs_are_recorded_alike(tmp_path: Path) -> None:
    """C6, C7: streamed, asynchronous and synchronous runs leave the same."""

    def synchronous(program: Program, text: str) -> None:
        program.run(text)

    def asynchronous(program: Program, text: str) -> None:
        asyncio.run(program.agent.ainvoke({"messages": [("user", text)]}, told("chat-1")))

    def streamed(program: Program, text: str) -> None:
        for _ in program.agent.stream({"messages": [("user", text)]}, told("chat-1"), stream_mode="messages"):
            pass

    found = []
    for number, act in enumerate((synchronous, asynchronous, streamed)):
        program = Program(tmp_path / f"{number}.db", keeps=True)
        for text in (FACT, FILLER, "RECALL what the walrus is called."):
            act(program, text)
        found.append((program.texts()[:6], [len(each) for each in program.fake.requests], program.fake.requests[2]))
    assert found[0] == found[1] == found[2]
    assert len(found[0][1]) == 4


@pytest.mark.parametrize("at", [1, 2])
def test_a_failed_run_keeps_what_was_said_and_done(program: Program, at: int) -> None:
    """C9: the provider fails on the first call, or behind a tool's result; the next run is valid."""

    def step(_text: str, number: int) -> AIMessage | None:
        if number == at:
            raise ConnectionError("fake")
        return calling("look", "c1", at=7) if number < at else None

    program.fake.answers = step
    with pytest.raises(ConnectionError):
        program.run("Look!")
    program.fake.answers = None
    assert len(program.texts()) == (1 if at == 1 else 3)
    assert program.run("What now?") == SAID
    assert "Look!" in str(program.fake.seen[-1])


def test_a_cancelled_run_leaves_a_valid_conversation(tmp_path: Path) -> None:
    """C3, C9: a tool is cancelled in its midst: its call gets a result that says so, and the next run goes on."""
    waits = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        waits.set()
        await asyncio.sleep(60)
        return "never"

    program = Program(tmp_path / "mem.db")
    program.agent = create_agent(program.fake, tools=[wait], middleware=[program.squidbot])
    program.fake.answers = lambda _text, number: calling("wait", "c1") if number == 1 else None

    async def cancelled() -> None:
        run = asyncio.ensure_future(program.agent.ainvoke({"messages": [("user", "Wait!")]}, told("chat-1")))
        await waits.wait()
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run

    asyncio.run(cancelled())
    assert program.run("What now?") == SAID
    assert "cancelled" in str(program.fake.seen[-1])


def test_threads_don_t_mix(program: Program) -> None:
    """C10: eight at once, in turns: no word of another is in a request, or found."""

    async def turn(number: int, text: str) -> str:
        result = await program.agent.ainvoke({"messages": [("user", text)]}, told(f"chat-{number}"))
        return str(result["messages"][-1].text)

    async def all_of_them() -> list[str]:
        for round_ in range(3):
            await asyncio.gather(*(turn(number, f"walrus{number} {round_} {FILLER}") for number in range(8)))
        return [await turn(number, f"RECALL walrus{number}") for number in range(8)]

    answers = asyncio.run(all_of_them())
    for number, answer in enumerate(answers):
        assert not any(f"walrus{other}" in answer for other in range(8) if other != number)
    for request in program.fake.requests:
        whole = b"".join(request)
        assert sum(f"walrus{number}".encode() in whole for number in range(8)) == 1


def test_server_held_state_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    """C11: by the name of the switch."""

    class Holding(Fake):
        use_previous_response_id: bool = True

    program = Program(tmp_path / "mem.db", Holding(seen=[]))
    with pytest.raises(ConfigError, match="use_previous_response_id"):
        program.run("Hi")
    assert program.fake.seen == []


def test_the_hosts_own_state_is_as_without_squidbot(tmp_path: Path) -> None:
    """C12: long after the first event."""
    program = Program(tmp_path / "mem.db", keeps=True)
    bare: Any = create_agent(
        Fake(budget=10**9, seen=[]), tools=[look], system_prompt="You are kind.", checkpointer=InMemorySaver()
    )
    for number in range(12):
        text = f"{number}: {FILLER}"
        ours = program.turn(text)
        theirs = bare.invoke({"messages": [("user", text)]}, told("chat-1"))["messages"]
    assert [wire(each) for each in ours] == [wire(each) for each in theirs]
    assert len(program.texts()) == 24
    other = Program(tmp_path / "other.db")
    other.agent.invoke({"messages": [*ours, ("user", "And now?")]}, told("chat-9"))
    assert other.texts("chat-9")[:24] == program.texts()
    assert len(other.texts("chat-9")) == 26


def test_a_request_that_is_too_long_is_made_shorter(program: Program) -> None:
    """C13: refused once by the provider: asked again with less in the same step, and nothing else is recorded."""
    talk(program, 4)
    refused: list[int] = []

    def step(text: str, _number: int) -> AIMessage | None:
        if text == "Once more." and not refused:
            refused.append(sum(map(len, program.fake.requests[-1])))
            raise ContextOverflowError("too long")
        return None

    program.fake.answers = step
    assert program.run("Once more.") == SAID
    assert sum(map(len, program.fake.requests[-1])) < refused[0]
    assert program.texts()[-2:] == ["Once more.", SAID]


def test_signatures_come_back_as_they_were(program: Program, tmp_path: Path) -> None:
    """C14: signed thinking and unknown blocks are sent again byte for byte, after a restart, too."""
    content: list[str | dict[str, Any]] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk", "index": 0},
        {"type": "text", "text": "Yes.", "citations": None},
        {"type": "strange", "x": [1, None]},
    ]
    made = AIMessage(content, response_metadata={"z": 1.5})
    program.fake.answers = lambda _text, number: made if number == 1 else None
    program.run(FACT)
    other = Program(tmp_path / "mem.db")
    other.run("And?")
    sent = next(each for each in other.fake.seen[-1] if isinstance(each, AIMessage))
    assert (sent.content, sent.response_metadata) == (content, made.response_metadata)


def test_every_message_goes_there_and_back(program: Program) -> None:
    """Codec: what the package writes is stored to the letter, and read by it as it was."""
    talk(program, 2)
    program.run("RECALL it.")
    for row in program.squidbot.hosted.engine.wired.store.read("chat-1", 0, 99):
        (message,) = messages_from_dict([json.loads(row.payload)])
        assert message_to_dict(message) == json.loads(row.payload)


def broken(*_: object, **__: object) -> None:
    """Fail."""
    raise RuntimeError("a bug of ours")


@pytest.mark.parametrize("where", ["before", "after", "engine", "tool"])
def test_the_run_goes_on_when_squidbot_fails(
    program: Program, where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """C8: whatever fails inside, output and list are those of a run without it; one line in the log says so."""
    program.run("First.")
    owner: Any = {"tool": toolkit, "engine": Hosted}.get(where, Conversation)
    monkeypatch.setattr(owner, {"tool": "call", "engine": "conversation"}.get(where, where), broken)
    bare: Any = create_agent(Fake(budget=10**9, seen=[]), tools=[look], system_prompt="You are kind.")
    with caplog.at_level(logging.WARNING, "squidbot"):
        ours = program.turn(FACT, "chat-2")
        theirs = bare.invoke({"messages": [("user", FACT)]})["messages"]
        assert [wire(each) for each in ours] == [wire(each) for each in theirs]
        program.run("RECALL the walrus.", "chat-2")
    logged = [record.getMessage() for record in caplog.records if "squidbot failed" in record.getMessage()]
    assert logged
    assert len(logged) == len(set(logged))
    monkeypatch.undo()
    program.run("Last.", "chat-2")
    assert program.texts("chat-2")[-2:] == ["Last.", SAID]


def test_without_a_thread_nothing_is_kept_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """C17, M11: a missing id would be silent amnesia; the tools say so, too."""
    program = Program(tmp_path / "mem.db")
    with caplog.at_level(logging.WARNING, "squidbot"):
        for _ in range(2):
            made = program.agent.invoke({"messages": [("user", "RECALL it.")]})["messages"]
            assert "thread_id" in made[-1].text
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "squidbot has no thread_id to keep a conversation by"
    ]


def test_a_plugin_without_its_host_names_the_extra() -> None:
    """C18."""
    code = "import sys; sys.modules['langchain'] = None\nimport squidbot.plugins.langchain"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert "squidbot[langchain]" in ended.stderr
