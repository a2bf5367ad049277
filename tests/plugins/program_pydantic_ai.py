"""An agent program of pydantic-ai for the check of hosts: the real package, its own agent loop, a model offline."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent, ModelHTTPError, ModelRetry
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.exceptions import ModelContextWindowExceededError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage, UsageLimits

from squidbot.plugins.pydantic_ai import Squidbot
from squidbot.testing.hosts import (
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
    from collections.abc import AsyncIterator, Sequence

    from pydantic_ai.settings import ModelSettings

    from squidbot.core.messages import Role
    from squidbot.testing.hosts import Model

UNBOUNDED = UsageLimits(request_limit=None)


def sent(message: ModelMessage) -> list[RequestMessage]:
    """Return a message as neutral ones: system prompts, results, and what the user says behind them."""
    if isinstance(message, ModelResponse):
        calls = tuple(part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart))
        return [_one("assistant", message.parts, calls=calls, opaque=_opaque(message))]
    system = [part for part in message.parts if isinstance(part, SystemPromptPart)]
    results = [part for part in message.parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
    rest = [part for part in message.parts if part not in system and part not in results]
    made = [_one("system", [part]) for part in system]
    made += [_one("tool", [part], results=(part.tool_call_id,)) for part in results]
    return [*made, *([_one("user", rest)] if rest else [])]


def _one(
    role: Role, parts: Sequence[object], calls: tuple[str, ...] = (), results: tuple[str, ...] = (), opaque: str = ""
) -> RequestMessage:
    text = "\n".join(filter(None, map(_text, parts)))
    return RequestMessage(role, text, calls, results, to_json([role, *map(_shown, parts)]), opaque)


def _text(part: object) -> str:
    if isinstance(part, ToolReturnPart | RetryPromptPart):
        return part.model_response_str() if isinstance(part, ToolReturnPart) else part.model_response()
    return str(part.content) if hasattr(part, "content") and not isinstance(part, ThinkingPart) else ""


def _shown(part: object) -> object:
    """Return what a provider gets of a part."""
    if isinstance(part, ToolCallPart):
        return [part.tool_name, part.args_as_json_str(), part.tool_call_id]
    return [_text(part), getattr(part, "tool_call_id", ""), getattr(part, "signature", "")]


def _opaque(message: ModelMessage) -> str:
    if not isinstance(message, ModelResponse):
        return ""
    thoughts = [part for part in message.parts if isinstance(part, ThinkingPart)]
    return to_json([thoughts, message.provider_details]).decode() if thoughts else ""


class ReportingModel(FunctionModel):
    """A model of a program: squidbot takes its usage as a provider's, and that of `FunctionModel` as a guess."""


@dataclass
class Fake:
    """A model that does what it is told."""

    mind: Model

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Answer a request."""
        return _reply(self._step(messages, info, is_streamed=False))

    async def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Answer a request, where it is awaited."""
        step = self._step(messages, info, is_streamed=False)
        if step.is_held:
            await self.mind.ahold()
        return _reply(step)

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        """Answer a request in pieces."""
        step = self._step(messages, info, is_streamed=True)
        for chunk in step.chunks():
            yield chunk
        if step.is_held:
            await self.mind.ahold()
        _fail(step)
        for number, call in enumerate(step.calls):
            yield {number: DeltaToolCall(call.name, to_json(call.arguments).decode(), tool_call_id=call.call_id)}

    def _step(self, messages: list[ModelMessage], info: AgentInfo, *, is_streamed: bool) -> ScriptedStep:
        tools = [[each.name, each.description, each.parameters_json_schema] for each in info.function_tools]
        said = tuple(each for message in messages for each in sent(message))
        return self.mind.hear(Request(said, info.instructions or "", to_json(tools), is_streamed=is_streamed))


def _reply(step: ScriptedStep) -> ModelResponse:
    _fail(step)
    if isinstance(step.native, ModelResponse):
        return step.native
    calls = [ToolCallPart(call.name, dict(call.arguments), call.call_id) for call in step.calls]
    made = ModelResponse([*([TextPart(step.text)] if step.text else []), *calls])
    if step.usage is None:
        return made
    used = step.usage
    return replace(
        made,
        usage=RequestUsage(
            input_tokens=used.input_tokens, output_tokens=used.output_tokens, cache_read_tokens=used.cached_tokens
        ),
    )


def _fail(step: ScriptedStep) -> None:
    if step.error == "too_long":
        raise ModelContextWindowExceededError("fake", "too long")
    if step.error:
        raise ModelHTTPError(500, "fake")


class Program:
    """An agent with squidbot in it; with `keeps` its caller hands over what was said before, too."""

    def __init__(self, setting: Setting, *, keeps: bool = False, beside: Sequence[Any] = ()) -> None:
        """Make the agent; `beside` are its other capabilities."""
        self.mind, self.keeps = setting.model, keeps
        self.lists: dict[str, list[ModelMessage]] = {}
        fake = Fake(self.mind)
        self.squidbot = (
            Squidbot(setting.path, budget=setting.budget, settings=setting.settings) if setting.has_squidbot else None
        )
        self.agent: Agent[None, str] = Agent(
            ReportingModel(fake.answer, stream_function=fake.stream),
            system_prompt="You are kind.",
            instructions="Be short.",
            capabilities=[*([self.squidbot] if self.squidbot else []), *beside],
        )
        self.agent.tool_plain(self.look)

    async def look(self, at: int = 0) -> str:
        """Look at something."""
        try:
            return await self.mind.alook(at)
        except ToolFailed as error:
            raise ModelRetry(str(error)) from error

    def run(
        self, text: str, conversation_id: str, history: object = None, *, model_settings: ModelSettings | None = None
    ) -> str:
        """Run a turn."""
        given: Any = history or self._kept(conversation_id)
        run = self.agent.run(
            text,
            conversation_id=conversation_id,
            message_history=given,
            model_settings=model_settings,
            usage_limits=UNBOUNDED,
        )
        result = asyncio.run(run)
        self.lists[conversation_id] = result.all_messages()
        return result.output

    async def arun(self, text: str, conversation_id: str) -> str:
        """Run a turn, awaited."""
        result = await self.agent.run(
            text,
            conversation_id=conversation_id,
            message_history=self._kept(conversation_id),
            usage_limits=UNBOUNDED,
        )
        self.lists[conversation_id] = result.all_messages()
        return result.output

    def stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        """Run a turn as a stream."""
        return asyncio.run(self._stream(text, conversation_id, pieces))

    async def _stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        said: list[str] = []
        async with self.agent.run_stream(
            text,
            conversation_id=conversation_id,
            message_history=self._kept(conversation_id),
            usage_limits=UNBOUNDED,
        ) as result:
            async for chunk in result.stream_text(delta=True, debounce_by=None):
                said.append(chunk)
                if len(said) == pieces:
                    break
            if pieces is None:
                self.lists[conversation_id] = result.all_messages()
        return "".join(said)

    def cancel(self, text: str, conversation_id: str, *, streams: bool = False) -> None:
        """Cancel the task of a turn."""
        run = self._stream(text, conversation_id) if streams else self.arun(text, conversation_id)
        asyncio.run(broken_off(run, self.mind))

    def history(self, conversation_id: str) -> object:
        """Return what the run returned."""
        return self.lists.get(conversation_id, [])

    def listed(self, conversation_id: str) -> Sequence[RequestMessage]:
        """Return the same, neutral."""
        return [each for message in self.lists.get(conversation_id, []) for each in sent(message)]

    def close(self) -> None:
        """Close the store."""
        if self.squidbot is not None:
            self.squidbot.hosted.close()

    def _kept(self, conversation_id: str) -> list[ModelMessage] | None:
        return self.lists.get(conversation_id) if self.keeps else None


def held_by(key: str) -> Any:  # noqa: ANN401  # a runner of a turn
    """Return what runs a turn with a switch of the model's settings."""

    def run(program: Any) -> object:  # noqa: ANN401  # of this module
        settings: Any = {key: "x"}
        return program.run("Hi", "chat-1", model_settings=settings)

    return run


def with_rival(setting: Setting) -> object:
    """Run two turns beside what shortens the messages of runs."""
    program = Program(setting, beside=[ProcessHistory(lambda messages: messages[-4:])])
    try:
        return [program.run("Hi", "chat-1") for _ in range(2)]
    finally:
        program.close()


def without_id(setting: Setting) -> object:
    """Run turns that pydantic-ai makes up ids for."""
    program = Program(setting)
    try:
        return [asyncio.run(program.agent.run("Hi")).output for _ in range(4)]
    finally:
        program.close()


THOUGHT = ThinkingPart("Hm.", id="t1", signature="c2lnbmVk", provider_name="anthropic", provider_details={"x": [1]})
REPLY = ModelResponse([THOUGHT, TextPart("Yes.", provider_details={"y": None})], provider_details={"z": 1.5})

HOST = HostDriver(
    name="pydantic-ai",
    make=Program,
    origin="tests.plugins.program_pydantic_ai:HOST",
    root=Path(__file__).parents[2],
    plugin="squidbot.plugins.pydantic_ai",
    package="pydantic_ai",
    extra="pydantic-ai",
    server_held={f"'{key}'": held_by(key) for key in ("openai_previous_response_id", "openai_conversation_id")},
    rivals={"ProcessHistory": with_rival},
    inactive={"pass conversation_id to continue one": without_id},
    signed=SignedReply(REPLY, _opaque(REPLY)),
)
KEEPING = replace(
    HOST,
    name="pydantic-ai with message_history",
    make=partial(Program, keeps=True),
    origin="tests.plugins.program_pydantic_ai:KEEPING",
)
