"""An agent program of LangChain for the check of hosts: the real package, its own agent loop, a model offline."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage, ToolCallChunk, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from squidbot.plugins.langchain import Squidbot
from squidbot.testing.hosts import (
    Exemption,
    HostDriver,
    Request,
    RequestMessage,
    ScriptedStep,
    Setting,
    SignedReply,
    ToolFailed,
    broken_off,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig

    from squidbot.core.messages import Role, Usage
    from squidbot.testing.hosts import Model

ROLES: dict[str, Role] = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


KIND = "You are kind."


def sent(message: BaseMessage) -> RequestMessage:
    """Return a message as a neutral one."""
    role = ROLES[message.type.removesuffix("MessageChunk").lower()]
    calls = [(call["id"] or "", call["name"], call["args"]) for call in getattr(message, "tool_calls", [])]
    results = (message.tool_call_id,) if isinstance(message, ToolMessage) else ()
    wire = to_json([role, message.content, calls, results])
    return RequestMessage(role, message.text, tuple(each[0] for each in calls), results, wire, _opaque(message))


def _opaque(message: BaseMessage) -> str:
    blocks = message.content if isinstance(message.content, list) else []
    thoughts = [each for each in blocks if isinstance(each, dict) and each.get("type") != "text"]
    return to_json(thoughts).decode() if thoughts else ""


class OfflineModel(BaseChatModel):
    """A model that takes any tools."""

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Sequence[Any], **_: object) -> BaseChatModel:
        """Take the tools."""
        del tools
        return self


class Fake(OfflineModel):
    """A model that does what it is told."""

    mind: Any
    tools: bytes = b""
    use_previous_response_id: bool = False

    def bind_tools(self, tools: Sequence[Any], **_: object) -> Fake:
        """Take the tools."""
        return self.model_copy(update={"tools": to_json([convert_to_openai_tool(each) for each in tools])})

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        step = self._step(messages)
        if step.is_held:
            self.mind.hold()
        return ChatResult(generations=[ChatGeneration(message=_reply(step))])

    async def _agenerate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        step = self._step(messages)
        if step.is_held:
            await self.mind.ahold()
        return ChatResult(generations=[ChatGeneration(message=_reply(step))])

    def _stream(self, messages: list[BaseMessage], *_: object, **__: object) -> Iterator[ChatGenerationChunk]:
        step = self._step(messages)
        yield from _chunks(step)

    async def _astream(
        self, messages: list[BaseMessage], *_: object, **__: object
    ) -> AsyncIterator[ChatGenerationChunk]:
        step = self._step(messages)
        for each in _chunks(step):
            yield each
        if step.is_held:
            await self.mind.ahold()

    def _step(self, messages: list[BaseMessage]) -> ScriptedStep:
        system = "\n".join(each.text for each in messages if isinstance(each, SystemMessage))
        said = tuple(sent(each) for each in messages if not isinstance(each, SystemMessage))
        step: ScriptedStep = self.mind.hear(Request(said, system, self.tools))
        return step


def _reply(step: ScriptedStep) -> AIMessage:
    _fail(step)
    if isinstance(step.native, AIMessage):
        return step.native.model_copy()  # LangChain gives each reply an id, in place
    calls: Any = [{"name": call.name, "args": dict(call.arguments), "id": call.call_id} for call in step.calls]
    return AIMessage(step.text, tool_calls=calls, usage_metadata=_usage(step.usage))


def _chunks(step: ScriptedStep) -> Iterator[ChatGenerationChunk]:
    def chunk(**told: Any) -> ChatGenerationChunk:  # noqa: ANN401  # fields of a chunk
        return ChatGenerationChunk(message=AIMessageChunk(**{"content": "", **told}))

    for each in step.chunks():
        yield chunk(content=each)
    if step.is_held:
        return
    _fail(step)
    for number, call in enumerate(step.calls):
        made = ToolCallChunk(name=call.name, args=json.dumps(call.arguments), id=call.call_id, index=number)
        yield chunk(tool_call_chunks=[made])
    yield chunk(usage_metadata=_usage(step.usage))


def _usage(used: Usage | None) -> UsageMetadata | None:
    if used is None:
        return None
    return UsageMetadata(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.input_tokens + used.output_tokens,
        input_token_details={"cache_read": used.cached_tokens},
    )


def _fail(step: ScriptedStep) -> None:
    if step.error:
        raise ContextOverflowError("too long") if step.error == "too_long" else ConnectionError("fake")


class Settings(AgentMiddleware[Any, Any, Any]):
    """What a user has calls of the model made with."""

    def __init__(self, settings: dict[str, object]) -> None:
        """Take them."""
        super().__init__()
        self.settings = settings

    def wrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401  # of the host
        """Set them."""
        return handler(request.override(model_settings={**request.model_settings, **self.settings}))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401  # of the host
        """Set them, awaited."""
        return await handler(request.override(model_settings={**request.model_settings, **self.settings}))


class Program:
    """An agent with squidbot in it; with `keeps` a checkpointer has its messages, too."""

    def __init__(
        self,
        setting: Setting,
        *,
        keeps: bool = False,
        beside: Sequence[Any] = (),
        settings: dict[str, object] | None = None,
    ) -> None:
        """Make the agent; `beside` is other middleware, `settings` are of the model's calls."""
        self.mind: Model = setting.model
        self.lists: dict[str, list[BaseMessage]] = {}
        self.squidbot = (
            Squidbot(setting.path, budget=setting.budget, settings=setting.settings) if setting.has_squidbot else None
        )
        self.fake = Fake(mind=self.mind)
        look = StructuredTool.from_function(
            self.look, self.alook, name="look", description="Look at something.", handle_tool_error=True
        )
        self.agent: Any = create_agent(
            self.fake,
            tools=[look],
            system_prompt=KIND,
            middleware=[Settings(settings or {}), *([self.squidbot] if self.squidbot else []), *beside],
            checkpointer=InMemorySaver() if keeps else None,
        )

    def look(self, at: int = 0) -> str:
        """Look at something."""
        try:
            return self.mind.look(at)
        except ToolFailed as error:
            raise ToolException(str(error)) from error

    async def alook(self, at: int = 0) -> str:
        """Look at something, awaited."""
        try:
            return await self.mind.alook(at)
        except ToolFailed as error:
            raise ToolException(str(error)) from error

    def run(self, text: str, conversation_id: str, history: object = None) -> str:
        """Run a turn."""
        before = history if isinstance(history, list) else []
        made = self.agent.invoke({"messages": [*before, ("user", text)]}, told(conversation_id))
        return self._kept(conversation_id, made)

    async def arun(self, text: str, conversation_id: str) -> str:
        """Run a turn, awaited."""
        made = await self.agent.ainvoke({"messages": [("user", text)]}, told(conversation_id))
        return self._kept(conversation_id, made)

    def stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        """Run a turn as a stream."""
        return asyncio.run(self._stream(text, conversation_id, pieces))

    async def _stream(self, text: str, conversation_id: str, pieces: int | None) -> str:
        said: list[str] = []
        asked = {"messages": [("user", text)]}
        stream = self.agent.astream(asked, told(conversation_id), stream_mode="messages")
        async for chunk, _ in stream:
            if isinstance(chunk, AIMessageChunk) and chunk.text:
                said.append(chunk.text)
            if len(said) == pieces:
                break
        await stream.aclose()
        return "".join(said)

    def cancel(self, text: str, conversation_id: str, *, streams: bool = False) -> None:
        """Cancel the task of a turn."""
        run = self._stream(text, conversation_id, None) if streams else self.arun(text, conversation_id)
        asyncio.run(broken_off(run, self.mind))

    def history(self, conversation_id: str) -> object:
        """Return the state's messages."""
        return self.lists.get(conversation_id, [])

    def listed(self, conversation_id: str) -> Sequence[RequestMessage]:
        """Return the same, neutral."""
        return [sent(each) for each in self.lists.get(conversation_id, [])]

    def close(self) -> None:
        """Close the store."""
        if self.squidbot is not None:
            self.squidbot.hosted.close()

    def _kept(self, conversation_id: str, made: dict[str, list[BaseMessage]]) -> str:
        self.lists[conversation_id] = made["messages"]
        return str(made["messages"][-1].text)


class GraphProgram(Program):
    """The same without an agent: a graph of nodes of one's own."""

    def __init__(self, setting: Setting, *, keeps: bool = False) -> None:
        """Make the graph."""
        super().__init__(setting)
        look = StructuredTool.from_function(
            self.look, self.alook, name="look", description="Look at something.", handle_tool_error=True
        )
        tools: list[Any] = [look, *(self.squidbot.tools if self.squidbot else ())]

        def think(state: MessagesState) -> dict[str, list[BaseMessage]]:
            if self.squidbot is None:
                return {"messages": [self.fake.bind_tools(tools).invoke([SystemMessage(KIND), *state["messages"]])]}
            return {"messages": [self.squidbot.ask(self.fake, state["messages"], system=KIND, tools=tools)]}

        async def athink(state: MessagesState) -> dict[str, list[BaseMessage]]:
            if self.squidbot is None:
                asked = [SystemMessage(KIND), *state["messages"]]
                return {"messages": [await self.fake.bind_tools(tools).ainvoke(asked)]}
            return {"messages": [await self.squidbot.aask(self.fake, state["messages"], system=KIND, tools=tools)]}

        graph: Any = StateGraph(MessagesState)
        graph.add_node("think", RunnableLambda(think, athink))
        graph.add_node("tools", ToolNode(tools, handle_tool_errors=True))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        self.agent = graph.compile(checkpointer=InMemorySaver() if keeps else None)


def told(conversation_id: str) -> RunnableConfig:
    """Return what names the thread to the host."""
    return {"configurable": {"thread_id": conversation_id}, "recursion_limit": 1_000}


def holding(program: Any) -> object:  # noqa: ANN401  # of this module
    """Have the provider keep the conversation, as langchain-openai can be told."""
    program.fake.use_previous_response_id = True
    return program.run("Hi", "chat-1")


def with_rival(setting: Setting) -> object:
    """Run turns beside a summarizer of LangChain's own."""
    made = SummarizationMiddleware(
        FakeListChatModel(responses=["It was short."]), trigger=("messages", 4), keep=("messages", 2)
    )
    program = Program(setting, keeps=True, beside=[made])
    try:
        return [program.run(f"{number}: hello", "chat-1") for number in range(6)]
    finally:
        program.close()


def without_id(setting: Setting, make: Callable[[Setting], Program] = Program) -> object:
    """Run turns of no thread; the tools say so, too."""
    program = make(setting)
    try:
        return [program.agent.invoke({"messages": [("user", "RECALL it.")]}) for _ in range(2)]
    finally:
        program.close()


REPLY = AIMessage(
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk", "index": 0},
        {"type": "text", "text": "Yes.", "citations": None},
        {"type": "strange", "x": [1, None]},
    ],
    response_metadata={"z": 1.5},
)

HOST = HostDriver(
    name="LangChain",
    make=Program,
    origin="tests.plugins.program_langchain:HOST",
    root=Path(__file__).parents[2],
    plugin="squidbot.plugins.langchain",
    package="langchain",
    extra="langchain",
    server_held={"use_previous_response_id": holding},
    rivals={"SummarizationMiddleware": with_rival},
    inactive={"no thread_id": without_id},
    signed=SignedReply(REPLY, _opaque(REPLY), to_json(REPLY.content[2:]).decode()),
)
KEEPING = replace(
    HOST,
    name="LangChain with a checkpointer",
    make=partial(Program, keeps=True),
    origin="tests.plugins.program_langchain:KEEPING",
)
# Middleware is an agent's.
GRAPH = replace(
    HOST,
    name="LangGraph without an agent",
    make=GraphProgram,
    origin="tests.plugins.program_langchain:GRAPH",
    otherwise={"C16 rivals": Exemption("a graph of one's own has no middleware")},
    inactive={"no thread_id": partial(without_id, make=GraphProgram)},
)
KEEPING_GRAPH = replace(
    GRAPH,
    name="LangGraph without an agent, with a checkpointer",
    make=partial(GraphProgram, keeps=True),
    origin="tests.plugins.program_langchain:KEEPING_GRAPH",
)
