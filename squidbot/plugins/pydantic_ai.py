"""squidbot in pydantic-ai: one capability of an agent, or of a run.

    agent = Agent("anthropic:claude-opus-5-5", capabilities=[Squidbot("mem.db", budget=0.5)])
    await agent.run("hi", conversation_id="chat-1")

The agent's own list of messages stays as it is: what the model sees of it is decided before each call, inside of tool
loops, too.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from uuid import UUID

from squidbot.adapters.common.packages import missing

try:
    from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
    from pydantic_ai.exceptions import ModelContextWindowExceededError, RetryModelRequest
    from pydantic_ai.messages import (
        ModelMessage,
        ModelMessagesTypeAdapter,
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        ToolCallPart,
        ToolReturnPart,
    )
    from pydantic_ai.tools import RunContext, Tool
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise ImportError(f"squidbot.plugins.pydantic_ai: {error}; {missing('pydantic-ai')}") from error

from squidbot.core.messages import Usage
from squidbot.plugins.host import REQUEST, HostRuntime, Made, server_held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult

    from squidbot.core.memories import Scope
    from squidbot.plugins.host import Conversation
    from squidbot.tools.tool import Tool as OwnTool

__all__ = ["Squidbot"]

Value = TypeVar("Value")

_LOG: Final = logging.getLogger("squidbot")
FORM: Final = "pydantic_ai/2"
VOLATILE: Final = ("identifier", "metadata", "timestamp")
SERVER_HELD: Final = ("openai_conversation_id", "openai_previous_response_id")
# The version of the ids that pydantic-ai makes up for runs without one.
MADE_UP: Final = 7
NO_ID: Final = (
    "squidbot keeps each run by itself: pydantic-ai makes up an id for each, as long as no conversation_id is passed"
)
RIVAL: Final = "squidbot records, and has the model see, what {} leaves of the messages of a run: leave that out"
# What pydantic-ai answers to the call that a structured answer is.
FINAL: Final = "Final result processed."
# So often a request that is too long is made shorter.
MOST_ATTEMPTS: Final = 3


@dataclass(init=False)
class Squidbot(AbstractCapability[Any]):
    """Keeps requests within a budget, all that was said in a file, and gives the model tools to find it again.

    `path` is the file; None: as `settings` say, a squidbot.toml or a mapping of its form. `budget` is the largest
    request and its answer in tokens (8000 or "8k"), or a share of the model's window below 1 (0.5). `scope` says
    whose durable facts are found. The conversation is the run's `conversation_id`. `on_error="raise"` stops a run where
    squidbot fails; "pass" sends the request as the program made it, and the log says why.

    Raises:
        ConfigError: an argument or a setting is wrong; a run would leave its messages with the provider.
        StoreError: the store can't be opened.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        budget: float | str | None = None,
        settings: str | Path | Mapping[str, object] | None = None,
        scope: Scope | None = None,
        on_error: Literal["pass", "raise"] = "pass",
    ) -> None:
        """Read the settings and open the store."""
        # The capability is a dataclass of keywords, and has these whether they are set or not.
        self.id, self.description, self.defer_loading = "squidbot", None, False
        self.hosted = HostRuntime(
            path,
            host="pydantic-ai",
            form=FORM,
            telling=_telling,
            volatile=VOLATILE,
            budget=budget,
            settings=settings,
            scope=scope,
            on_error=on_error,
        )
        self.hosted.open()
        self._made_up: set[str] = set()
        self._has_warned: set[str] = set()

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the tools for the model."""
        offered = self.hosted.offer_tools()
        return FunctionToolset([self._tool(each) for each in offered], id="squidbot")

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Record what is new, and have the model see what fits; the list of the run stays as it is."""
        _refuse_server_held(request_context)
        self._safely("warn", ctx, lambda: self._warn(ctx, request_context.messages), None)
        told = self._safely(REQUEST, ctx, lambda: self._seen(ctx, request_context), None)
        return request_context if told is None else replace(request_context, messages=told)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Have the model see less where the attempt before was too long."""
        if request_context.attempt < 2:
            return request_context
        shorter = self._safely("shorten a request", ctx, lambda: self._conversation(ctx).shorter(), None)
        if shorter is None:
            return request_context
        return replace(request_context, messages=_natives(shorter, _system(request_context.messages)))

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Ask again with less where the provider says that the request was too long."""
        del ctx
        if isinstance(error, ModelContextWindowExceededError) and request_context.attempt < MOST_ATTEMPTS:
            raise RetryModelRequest from error
        raise error

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record the reply, with what the provider reported."""
        del request_context
        used = response.usage
        usage = Usage(used.input_tokens, used.output_tokens, used.cache_read_tokens) if used.input_tokens else None
        self._safely("record a reply", ctx, lambda: self._conversation(ctx).after(_payload(response), usage), None)
        return response

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Record what became of the calls that ended the run: a structured answer is one, and no request follows it."""
        ended = [_payload(each) for each in _ended(result)]
        if ended:
            self._safely("record the end of a run", ctx, lambda: self._conversation(ctx).said(ended), None)
        return result

    def _seen(self, ctx: RunContext[Any], asked: ModelRequestContext) -> list[ModelMessage]:
        system, said = _system(asked.messages), _without_system(asked.messages)
        parameters = asked.model_request_parameters
        instructions = [part.content for part in parameters.instruction_parts or ()]
        texts = [*(part.content for part in system), *instructions]
        tools: list[dict[str, object]] = [
            {"name": each.name, "description": each.description or "", "parameters": each.parameters_json_schema}
            for each in (*parameters.function_tools, *parameters.output_tools)
        ]
        if parameters.output_object is not None:
            tools.append({"name": "output", "parameters": parameters.output_object.json_schema})
        listed = Made(len(said), lambda place: _payload(said[place]))
        made = self._conversation(ctx).before(listed, system="\n\n".join(texts), tools=tools)
        return _natives(made, system)

    def _warn(self, ctx: RunContext[Any], said: Sequence[ModelMessage]) -> None:
        """Say once what keeps squidbot from its work: runs without an id, and what else shortens their messages."""
        if _is_made_up(str(ctx.conversation_id)) and all(each.run_id == ctx.run_id for each in said):
            self._made_up.add(str(ctx.conversation_id))
        warnings = [RIVAL.format(name) for name in _rivals(ctx.root_capability)]
        # The first one may be all that there is of a conversation, or be handed on with its messages.
        for text in [*warnings, *([NO_ID] if len(self._made_up) > 1 else [])]:
            if text not in self._has_warned:
                self._has_warned.add(text)
                _LOG.warning("%s", text)

    def _conversation(self, ctx: RunContext[Any]) -> Conversation:
        return self.hosted.conversation(str(ctx.conversation_id), ctx.model.model_name, ctx.model.context_window)

    def _safely(self, what: str, ctx: RunContext[Any], act: Callable[[], Value], otherwise: Value) -> Value:
        return self.hosted.safely(what, str(ctx.conversation_id), act, otherwise)

    def _tool(self, tool: OwnTool) -> Tool[Any]:
        async def call(ctx: RunContext[Any], **arguments: object) -> str:
            return self.hosted.answer(tool.name, str(ctx.conversation_id), lambda: self._conversation(ctx), arguments)

        return Tool.from_schema(
            call, name=tool.name, description=tool.description, json_schema=dict(tool.schema), takes_ctx=True
        )


def _refuse_server_held(asked: ModelRequestContext) -> None:
    """Pass a request whose messages are all sent.

    Raises:
        ConfigError: the provider is to add some that it holds; the text names the switch (V10).
    """
    settings: Mapping[str, object] = asked.model_settings or {}
    for key in SERVER_HELD:
        if settings.get(key):
            raise server_held(f"model_settings[{key!r}]")


def _is_made_up(conversation_id: str) -> bool:
    try:
        return UUID(conversation_id).version == MADE_UP
    except ValueError:
        return False


def _rivals(capability: object) -> list[str]:
    """Return what else shortens the messages of a run: of the package itself, or of its harness."""
    inner = getattr(capability, "capabilities", None)
    if inner is not None:
        return [name for each in inner for name in _rivals(each)]
    kind = type(capability)
    is_rival = isinstance(capability, ProcessHistory) or (
        kind.__module__.startswith("pydantic_ai_harness") and "compact" in f"{kind.__module__}.{kind.__name__}".lower()
    )
    return [kind.__name__] if is_rival else []


def _telling(payload: Mapping[str, object]) -> object:
    """Return what was said: the rest is of the run, and of the provider's answer."""
    return payload.get("kind"), payload.get("parts")


def _system(messages: Iterable[ModelMessage]) -> list[SystemPromptPart]:
    return [part for each in messages for part in each.parts if isinstance(part, SystemPromptPart)]


def _without_system(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return what was said without system prompts: these stand in front of every request, and are nobody's words."""
    left: list[ModelMessage] = []
    for each in messages:
        said = [part for part in each.parts if not isinstance(part, SystemPromptPart)]
        if len(said) == len(each.parts):
            left.append(each)
        elif said:
            left.append(replace(each, parts=said))  # type: ignore[arg-type]  # of the same kind
    return left


def _ended(result: AgentRunResult[Any]) -> list[ModelMessage]:
    """Return what a run has said behind the model's last reply: results of the calls that ended it.

    A stream keeps them to the list that its caller gets, so that its structured answer is taken from the reply.
    """
    listed = result.all_messages()
    place = next((at for at in range(len(listed), 0, -1) if isinstance(listed[at - 1], ModelResponse)), 0)
    if not place or listed[place:]:
        return _without_system(listed[place:]) if place else []
    # Public as "output_tool_name" where a result is written as JSON; without it the call is settled as any other.
    name = getattr(result, "_output_tool_name", None)
    calls = [part for part in listed[-1].parts if isinstance(part, ToolCallPart) and part.tool_name == name]
    return [ModelRequest([ToolReturnPart(name, FINAL, calls[0].tool_call_id)])] if name and calls else []


def _payload(message: ModelMessage) -> dict[str, object]:
    return json.loads(ModelMessagesTypeAdapter.dump_json([message]))[0]  # type: ignore[no-any-return]


def _natives(payloads: list[dict[str, object]], system: Sequence[SystemPromptPart]) -> list[ModelMessage]:
    messages = ModelMessagesTypeAdapter.validate_python(payloads)
    return [ModelRequest(parts=[*system]), *messages] if system else messages
