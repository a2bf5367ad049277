"""squidbot in pydantic-ai: one capability of an agent, or of a run.

    agent = Agent("anthropic:claude-opus-5-5", capabilities=[Squidbot("mem.db", budget=0.5)])
    await agent.run("hi", conversation_id="chat-1")

The agent's own list of messages stays as it is: squidbot decides before each call what the model sees, inside tool
loops, too. A run without an id in a tool of another run has a conversation of its own: `PARENT/TOOL/TOOL_CALL_ID`.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal
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
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.tools import RunContext, Tool
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise ImportError(f"squidbot.plugins.pydantic_ai: {error}; {missing('pydantic-ai')}") from error

from squidbot.core.messages import Usage
from squidbot.plugins.host import REPLY, REQUEST, HostRuntime, server_held
from squidbot.plugins.lists import digest
from squidbot.plugins.scopes import OpenCall, child_id, scope_in
from squidbot.wiring.calls import in_thread, to_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic_ai.capabilities import (
        AgentNode,
        NodeResult,
        ValidatedToolArgs,
        WrapNodeRunHandler,
        WrapOutputProcessHandler,
        WrapRunHandler,
        WrapToolExecuteHandler,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.output import OutputContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import ToolDefinition

    from squidbot.core.memories import Scope
    from squidbot.plugins.host import HostConversation, HostRequest
    from squidbot.plugins.scopes import GivenScope
    from squidbot.tools.tool import Tool as OwnTool

__all__ = ["Squidbot", "SquidbotCapability"]

# Keys whose values the host changes each time.
VOLATILE: Final = ("identifier", "metadata", "timestamp")
SERVER_HELD: Final = ("openai_conversation_id", "openai_previous_response_id")
# The UUID version of pydantic-ai's own ids, for runs without one.
MADE_UP: Final = 7
NO_ID: Final = "each run is a conversation of its own: pass conversation_id to continue one"
RIVAL: Final = "{} shortens messages before squidbot sees them: remove it"
# pydantic-ai's result for the call of a structured answer.
FINAL: Final = "Final result processed."
# What stands in the ids of agents that run in output functions and validators without a tool call, and elsewhere.
OUTPUT: Final = "output"
STEP: Final = "step"
# pydantic-ai's models for tests: they report numbers of words as usage.
GUESSING: Final = ("pydantic_ai.models.function", "pydantic_ai.models.test")
# How often a too long request is made shorter.
MOST_ATTEMPTS: Final = 3


# The tool call, or other work of a run, that goes on now.
CURRENT_CALL: Final[ContextVar[OpenCall | None]] = ContextVar("squidbot_call", default=None)


@dataclass(init=False)
class SquidbotCapability(AbstractCapability[Any]):
    """Keeps requests within a budget and all messages in a file, and gives the model tools to search them.

    The run's `conversation_id` names the conversation.

    Args:
        path: the store, a file; None takes the store of `settings`.
        budget: the limit of a request and its answer, in tokens (8000 or "8k") or as a fraction of the model's window
            (0.5); None for the model's window.
        settings: a squidbot.toml, or a mapping of its form; None takes ./squidbot.toml, if there is one.
        scope: whose durable facts to use: a `Scope`, `SHARED` for everyone's, or a function that gets the `deps` of
            each run and returns a `Scope`, a user's id, or None. Without it, `user_id` in `deps` names the user. Where
            nobody is named, facts belong to the conversation alone.
        on_error: if squidbot fails, "pass" sends the request unchanged and logs why, and "raise" stops the run.

    Attributes:
        hosted: the runtime, with its `engine`; close it at the end of a long-lived program.

    Raises:
        ConfigError: an argument or a setting is wrong, or an option makes the provider keep the messages.
        StoreError: the store can't be opened.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        budget: float | str | None = None,
        settings: str | Path | Mapping[str, object] | None = None,
        scope: GivenScope = None,
        on_error: Literal["pass", "raise"] = "pass",
    ) -> None:
        """Read the settings and open the store."""
        # The base is a dataclass of keywords; it needs these fields.
        self.id, self.description, self.defer_loading = "squidbot", None, False
        self.hosted = HostRuntime(
            path,
            host="pydantic-ai",
            form="pydantic_ai/2",
            key=_key,
            dump=_dump,
            load=_load,
            mark=_mark,
            budget=budget,
            settings=settings,
            scope=scope,
            on_error=on_error,
        )
        self.hosted.open()
        self._made_up: set[str] = set()
        # The newest request of each run, and the run's own list. A request that has a reply, or that squidbot did not
        # prepare, is not here.
        self._asked: dict[str | None, tuple[HostRequest, Sequence[ModelMessage]]] = {}

    def sub_agent(self, conversation_id: str, agent: str, child_id: str | None = None) -> str:
        """Give an agent that a tool calls its caller's context, and return the id of its own conversation.

        That begins with the caller's goals, decisions, documents and pins, without what was said. Its id is `child_id`,
        or CONVERSATION/AGENT; a conversation that has begun like that goes on as it is. Pass it as the
        `conversation_id` of the agent's run.

        Raises:
            SquidbotError: it cannot have the context, and `on_error` is "raise".
        """
        return self.hosted.sub_agent(conversation_id, agent, child_id)

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the tools for the model."""
        return FunctionToolset([self._tool(tool) for tool in self.hosted.tools], id="squidbot")

    def get_default_conversation_id(self, run_id: str) -> str | None:
        """Return the id for a run in a tool call, if it has none; None for others: pydantic-ai makes one up."""
        call = CURRENT_CALL.get()
        if call is None or not call.is_open:
            return None

        def child() -> str:
            return call.child(run_id, self.hosted.is_stored)

        return self.hosted.safely("tell agents apart", call.named, child, None, passes=True)

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Leave the id that a run in a tool call could have to the next one, if it has its own."""
        call = self._caller(ctx)
        if call is not None and ctx.conversation_id not in {*call.busy, call.children.get(ctx.run_id)}:
            call.children.pop(ctx.run_id, None)

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Keep what came of a reply that was cut."""
        try:
            return await handler()
        finally:
            asked, listed = self._asked.pop(ctx.run_id, (None, ()))
            newest = listed[-1] if listed else None
            if asked is not None and isinstance(newest, ModelResponse) and newest.parts:
                await to_end(self.hosted.safely, REPLY, asked.session_id, lambda: asked.after(_incomplete(newest)))

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: ValidatedToolArgs,
        handler: WrapToolExecuteHandler,
    ) -> Any:  # noqa: ANN401  # of any tool
        """Run a tool; runs within it are children of this one."""
        del tool_def
        with self._working(ctx, call.tool_name, call.tool_call_id):
            return await handler(args)

    async def wrap_output_process(
        self,
        ctx: RunContext[Any],
        *,
        output_context: OutputContext,
        output: Any,  # noqa: ANN401  # of any type
        handler: WrapOutputProcessHandler,
    ) -> Any:  # noqa: ANN401  # of any type
        """Run output functions and validators; runs within them are children of this one."""
        call = output_context.tool_call
        with self._working(ctx, *((call.tool_name, call.tool_call_id) if call else (OUTPUT,))):
            return await handler(output)

    async def wrap_node_run(
        self, ctx: RunContext[Any], *, node: AgentNode[Any], handler: WrapNodeRunHandler[Any]
    ) -> NodeResult[Any]:
        """Run a step; runs within it, such as in functions for instructions, are children of this one."""
        with self._working(ctx, STEP):
            return await handler(node)

    @contextmanager
    def _working(self, ctx: RunContext[Any], *parts: str) -> Iterator[None]:
        """Keep work of a run known to the runs within it; `parts` are behind its id in theirs."""
        around = self._caller(ctx)
        made = OpenCall(
            child_id(self._session_id(ctx), *parts),
            ctx.run_id,
            frozenset({str(ctx.conversation_id), *(around.busy if around else ())}),
            around,
            partial(self._scope_within, ctx, around),
        )
        token = CURRENT_CALL.set(made)
        try:
            yield
        finally:
            made.is_open = False
            CURRENT_CALL.reset(token)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Record new messages, and send the model what fits; the run's own list stays as it is."""
        settings: Mapping[str, object] = request_context.model_settings or {}
        for key in SERVER_HELD:
            if settings.get(key):
                raise server_held(f"model_settings[{key!r}]")
        session_id = self._session_id(ctx)
        self.hosted.safely("warn", session_id, lambda: self._warn(ctx, request_context.messages))
        self._asked.pop(ctx.run_id, None)
        asked = await in_thread(self.hosted.safely, REQUEST, session_id, lambda: self._request(ctx, request_context))
        return request_context if asked is None else self._sent(ctx, request_context, asked)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Send the model less if the previous attempt was too long."""
        asked, _ = self._asked.get(ctx.run_id, (None, ()))
        if request_context.attempt < 2 or asked is None:
            return request_context
        shorter = await in_thread(self.hosted.safely, "shorten a request", asked.session_id, asked.shorter)
        return request_context if shorter is None else self._sent(ctx, request_context, shorter)

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Ask again with less if the provider says that the request was too long."""
        del ctx
        if isinstance(error, ModelContextWindowExceededError) and request_context.attempt < MOST_ATTEMPTS:
            raise RetryModelRequest from error
        raise error

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record the reply, with the reported usage."""
        del request_context
        asked, _ = self._asked.pop(ctx.run_id, (None, ()))
        if asked is not None:
            used = response.usage
            is_known = used.input_tokens and not _guesses(ctx.model)
            usage = Usage(used.input_tokens, used.output_tokens, used.cache_read_tokens) if is_known else None
            await to_end(self.hosted.safely, REPLY, asked.session_id, lambda: asked.after(response, usage))
        return response

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Record the results of calls that ended the run, such as a structured answer: no request follows them."""

        def record() -> None:
            self._conversation(ctx).said(ended)

        if ended := _ended(result):
            await to_end(self.hosted.safely, "record the end of a run", self._session_id(ctx), record)
        return result

    def _sent(self, ctx: RunContext[Any], context: ModelRequestContext, asked: HostRequest) -> ModelRequestContext:
        """Return a request with squidbot's messages, behind the run's system prompts."""
        self._asked[ctx.run_id] = asked, ctx.messages
        return replace(context, messages=[*_in_front(_system(context.messages)), *asked.messages])

    def _request(self, ctx: RunContext[Any], request: ModelRequestContext) -> HostRequest:
        system, parameters = _system(request.messages), request.model_request_parameters
        texts = [part.content for part in (*system, *(parameters.instruction_parts or ()))]
        tools: list[dict[str, object]] = [
            {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
            for tool in (*parameters.function_tools, *parameters.output_tools)
        ]
        if parameters.output_object is not None:
            tools.append({"name": "output", "parameters": parameters.output_object.json_schema})
        listed = _without_system(request.messages)
        return self._conversation(ctx).before(listed, system="\n\n".join(texts), tools=tools)

    def _warn(self, ctx: RunContext[Any], messages: Sequence[ModelMessage]) -> None:
        """Warn of runs without an id, and of other capabilities that shorten messages."""
        session_id = self._session_id(ctx)
        if _is_made_up(session_id) and all(message.run_id == ctx.run_id for message in messages):
            self._made_up.add(session_id)
        for name in _rivals(ctx.root_capability):
            self.hosted.warn_once(RIVAL.format(name))
        # One made-up id is fine: the conversation may be one run long, or a program passes the id on.
        if len(self._made_up) > 1:
            self.hosted.warn_once(NO_ID)

    def _conversation(self, ctx: RunContext[Any]) -> HostConversation:
        session_id, model = self._session_id(ctx), ctx.model
        return self.hosted.conversation(session_id, model.model_name, model.context_window, self._scope(ctx))

    def _scope(self, ctx: RunContext[Any]) -> Scope:
        return self._scope_within(ctx, self._caller(ctx))

    def _scope_within(self, ctx: RunContext[Any], call: OpenCall | None) -> Scope:
        """Return whose a run is that began in a tool call, if in any."""
        session_id = _session_id(ctx, call)
        scope = self.hosted.scope(session_id, ctx.deps, deps=ctx.deps)
        return scope_in(call.scope(), session_id, scope) if call else scope

    def _caller(self, ctx: RunContext[Any]) -> OpenCall | None:
        """Return the tool call in which a run began; None for a run by itself."""
        call = CURRENT_CALL.get()
        return call.around if call is not None and call.run == ctx.run_id else call

    def _session_id(self, ctx: RunContext[Any]) -> str:
        return _session_id(ctx, self._caller(ctx))

    def _tool(self, tool: OwnTool) -> Tool[Any]:
        async def call(ctx: RunContext[Any], **arguments: object) -> str:
            return await in_thread(
                self.hosted.answer, tool.name, self._session_id(ctx), arguments, lambda: self._scope(ctx)
            )

        return Tool.from_schema(
            call, name=tool.name, description=tool.description, json_schema=dict(tool.schema), takes_ctx=True
        )


Squidbot = SquidbotCapability


def _session_id(ctx: RunContext[Any], call: OpenCall | None) -> str:
    """Return the id of a run's conversation; `call` is the one in which it began."""
    session_id = str(ctx.conversation_id)
    return call.children.get(ctx.run_id, session_id) if call and session_id in call.busy else session_id


def _is_made_up(conversation_id: str) -> bool:
    try:
        return UUID(conversation_id).version == MADE_UP
    except ValueError:
        return False


def _rivals(capability: object) -> list[str]:
    """Return the names of other capabilities that shorten messages, in the package or its harness."""
    inner = getattr(capability, "capabilities", None)
    if inner is not None:
        return [name for each in inner for name in _rivals(each)]
    kind = type(capability)
    is_rival = isinstance(capability, ProcessHistory) or (
        kind.__module__.startswith("pydantic_ai_harness") and "compact" in f"{kind.__module__}.{kind.__name__}".lower()
    )
    return [kind.__name__] if is_rival else []


def _guesses(model: object) -> bool:
    """Return whether a model, perhaps a wrapped one, only guesses what a request costs."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return type(model).__module__ in GUESSING


def _system(messages: Iterable[ModelMessage]) -> list[SystemPromptPart]:
    return [part for each in messages for part in each.parts if isinstance(part, SystemPromptPart)]


def _without_system(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return messages without system prompts: every request begins with these, outside the conversation."""
    found: list[ModelMessage] = []
    for message in messages:
        parts = [part for part in message.parts if not isinstance(part, SystemPromptPart)]
        if len(parts) == len(message.parts):
            found.append(message)
        elif parts:
            found.append(replace(message, parts=parts))  # type: ignore[arg-type]  # of the same kind
    return found


def _in_front(system: Sequence[SystemPromptPart]) -> list[ModelMessage]:
    return [ModelRequest(parts=[*system])] if system else []


def _incomplete(reply: ModelResponse) -> ModelResponse:
    """Return what came of a reply, marked, without calls that nothing answers."""
    parts = [part for part in reply.parts if not isinstance(part, ToolCallPart)]
    return replace(reply, parts=parts, state="interrupted", provider_details={"finish_reason": "incomplete"})


def _ended(result: AgentRunResult[Any]) -> list[ModelMessage]:
    """Return the messages of a run after the model's last reply: results of the calls that ended it.

    A stream does not list them, so the structured answer comes from the reply.
    """
    listed = result.all_messages()
    place = next((at for at in range(len(listed), 0, -1) if isinstance(listed[at - 1], ModelResponse)), 0)
    if not place or listed[place:]:
        return _without_system(listed[place:]) if place else []
    # Public as "output_tool_name" in a result's JSON; without it, the call is settled like any other.
    name = getattr(result, "_output_tool_name", None)
    calls = [part for part in listed[-1].parts if isinstance(part, ToolCallPart) and part.tool_name == name]
    return [ModelRequest([ToolReturnPart(name, FINAL, calls[0].tool_call_id)])] if name and calls else []


def _key(payload: Mapping[str, object]) -> object:
    """Return the kind and the parts; the rest belongs to the run and the provider's answer."""
    return payload.get("kind"), _lasting(payload.get("parts"))


def _lasting(value: object) -> object:
    if isinstance(value, dict):
        return {key: _lasting(inner) for key, inner in value.items() if inner is not None and key not in VOLATILE}
    return [_lasting(inner) for inner in value] if isinstance(value, list) else value


def _mark(message: ModelMessage) -> int:
    """Return a number that changes with the words of a message, or with its calls."""
    parts = ((part.part_kind, getattr(part, "content", None), getattr(part, "args", None)) for part in message.parts)
    return digest(*parts)


def _dump(message: ModelMessage) -> dict[str, object]:
    return json.loads(ModelMessagesTypeAdapter.dump_json([message]))[0]  # type: ignore[no-any-return]


def _load(payload: str) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(payload if payload.startswith("[") else f"[{payload}]")
