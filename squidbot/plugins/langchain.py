"""squidbot in LangChain and LangGraph: one middleware of an agent.

    agent = create_agent("openai:gpt-6-sol", tools=[...], middleware=[Squidbot("mem.db")])
    agent.invoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": "chat-1"}})

The agent's own state stays as it is: what the model sees of it is decided before each call, inside of tool loops, too.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from squidbot.adapters.common.packages import missing

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.agents.structured_output import AutoStrategy, ToolStrategy
    from langchain.tools import ToolRuntime  # noqa: TC002  # the host reads it from the signature
    from langchain_core.exceptions import ContextOverflowError
    from langchain_core.messages import AIMessage, BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.tools import BaseTool, StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
except ImportError as error:
    raise ImportError(f"squidbot.plugins.langchain: {error}; {missing('langchain')}") from error

from squidbot.core.messages import Usage
from squidbot.plugins.host import REQUEST, HostRuntime, Made, server_held

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from squidbot.core.memories import Scope
    from squidbot.plugins.host import Conversation
    from squidbot.tools.tool import Tool as OwnTool

__all__ = ["Squidbot"]

Value = TypeVar("Value")

_LOG: Final = logging.getLogger("squidbot")
FORM: Final = "lc/1"
NO_THREAD: Final = "squidbot has no thread_id to keep a conversation by: pass {'configurable': {'thread_id': ...}}"
# Other middleware that shortens messages, too: the attribute and the key by which it shows, and what to do about it.
RIVALS: Final = {
    "additional_kwargs": ("lc_source", "SummarizationMiddleware", "it deletes from the state: leave it out"),
    "response_metadata": (
        "context_editing",
        "ContextEditingMiddleware",
        "put squidbot in front, or leave it out",
    ),
}
# They begin with the oldest messages.
RIVALS_AT: Final = 200
SERVER_HELD: Final = ("previous_response_id", "conversation")


class Squidbot(AgentMiddleware[Any, Any, Any]):
    """Keeps requests within a budget, all that was said in a file, and gives the model tools to find it again.

    `path` is the file; None: as `settings` say, a squidbot.toml or a mapping of its form. `budget` is the largest
    request and its answer in tokens (8000 or "8k"), or a share of the model's window below 1 (0.5). `scope` says
    whose durable facts are found. The conversation is the thread; without a thread_id nothing is kept, which is
    said once. `on_error="raise"` stops a run where
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
        super().__init__()
        self.hosted = HostRuntime(
            path,
            host="langchain",
            form=FORM,
            telling=_telling,
            budget=budget,
            settings=settings,
            scope=scope,
            on_error=on_error,
        )
        self.hosted.open()
        offered = self.hosted.offer_tools()
        self.tools: Sequence[BaseTool] = [self._tool(each) for each in offered]
        self._told: set[str] = set()
        # The form that answers were to have last, and what the model is sent of it: made anew, it takes milliseconds.
        self._asked: tuple[object, list[dict[str, object]]] = None, []

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Record what is new, have the model see what fits, and record its reply."""
        thread, sent = self._before(request)
        try:
            response = handler(sent)
        except ContextOverflowError:
            if (shorter := self._shorter(thread, request, sent)) is None:
                raise
            response = handler(shorter)
        self._after(thread, request, response)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do as `wrap_model_call`, where the host awaits."""
        thread, sent = self._before(request)
        try:
            response = await handler(sent)
        except ContextOverflowError:
            if (shorter := self._shorter(thread, request, sent)) is None:
                raise
            response = await handler(shorter)
        self._after(thread, request, response)
        return response

    def _before(self, request: ModelRequest[Any]) -> tuple[str, ModelRequest[Any]]:
        _refuse_server_held(request)
        thread = self._thread()
        if not thread:
            return "", request
        seen = self.hosted.safely(REQUEST, thread, lambda: self._seen(thread, request), None)
        return thread, request if seen is None else request.override(messages=seen)  # type: ignore[arg-type]

    def _seen(self, thread: str, request: ModelRequest[Any]) -> list[BaseMessage]:
        self._tell_of_rivals(request.messages[:RIVALS_AT])
        talk = self._talk(thread, request)
        listed = request.messages
        tools = [each if isinstance(each, dict) else convert_to_openai_tool(each) for each in request.tools]
        asked = self._asked
        if request.response_format is not asked[0]:
            asked = self._asked = request.response_format, _schemas(request.response_format)
        made = talk.before(
            Made(len(listed), lambda place: message_to_dict(listed[place])),
            system=request.system_prompt or "",
            tools=[*tools, *asked[1]],
        )
        return messages_from_dict(made)

    def _shorter(self, thread: str, request: ModelRequest[Any], sent: ModelRequest[Any]) -> ModelRequest[Any] | None:
        if not thread:
            return None
        made = self.hosted.safely("shorten a request", thread, lambda: self._talk(thread, request).shorter(), None)
        return None if made is None else sent.override(messages=messages_from_dict(made))  # type: ignore[arg-type]

    def _after(self, thread: str, request: ModelRequest[Any], response: ModelResponse[Any]) -> None:
        place = next((at for at, each in enumerate(response.result) if isinstance(each, AIMessage)), None)
        if thread and place is not None:
            reply = cast("AIMessage", response.result[place])
            # A structured answer is a call, and the host's answer to it comes with it.
            further = [message_to_dict(each) for each in response.result[place + 1 :]]
            used = reply.usage_metadata
            read = (used.get("input_token_details") or {}).get("cache_read", 0) if used else 0
            usage = Usage(used["input_tokens"], used["output_tokens"], read) if used and used["input_tokens"] else None
            self.hosted.safely(
                "record a reply",
                thread,
                lambda: self._talk(thread, request).after(message_to_dict(reply), usage, further),
                None,
            )

    def _thread(self) -> str:
        thread = get_config().get("configurable", {}).get("thread_id")
        if not thread:
            self._tell_once(NO_THREAD)
        return str(thread or "")

    def _tell_of_rivals(self, messages: Sequence[BaseMessage]) -> None:
        """Say that other middleware shortens the messages, too: what it does is all that shows of it."""
        for where, (mark, name, advice) in RIVALS.items():
            if any(mark in getattr(each, where) for each in messages):
                self._tell_once(f"{name} is active beside squidbot, which then sees less than was said; {advice}")

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            _LOG.warning("%s", text)

    def _talk(self, thread: str, request: ModelRequest[Any]) -> Conversation:
        """Return the conversation with the model of a request: another may be asked in the same thread meanwhile."""
        profile = getattr(request.model, "profile", None) or {}
        return self.hosted.conversation(thread, _model_name(request.model), profile.get("max_input_tokens"))

    def _tool(self, tool: OwnTool) -> BaseTool:
        def call(runtime: ToolRuntime, **arguments: object) -> str:
            thread = str(runtime.config.get("configurable", {}).get("thread_id") or "")
            if not thread:
                return f"<{NO_THREAD}>"
            return self.hosted.answer(tool.name, thread, lambda: self.hosted.conversation(thread), arguments)

        return StructuredTool.from_function(
            call, name=tool.name, description=tool.description, args_schema=json.loads(json.dumps(tool.schema))
        )


def _refuse_server_held(request: ModelRequest[Any]) -> None:
    """Pass a request whose messages are all sent.

    Raises:
        ConfigError: the provider is to add some that it holds; the text names the switch (V10).
    """
    held = [f"model_settings[{key!r}]" for key in SERVER_HELD if request.model_settings.get(key)]
    if getattr(request.model, "use_previous_response_id", False):
        held.append("use_previous_response_id")
    if held:
        raise server_held(held[0])


def _schemas(form: object) -> list[dict[str, object]]:
    """Return what the model is sent of the form that its answer is to have: a tool, or a schema, for each."""
    if isinstance(form, AutoStrategy):
        form = ToolStrategy(form.schema)
    specs = getattr(form, "schema_specs", None) or [getattr(form, "schema_spec", None)]
    return [
        {"name": each.name, "description": each.description or "", "parameters": each.json_schema}
        for each in specs
        if each is not None
    ]


def _telling(payload: Mapping[str, object]) -> object:
    """Return what was said: whose it is, the words, the calls, and which call it answers."""
    data = payload.get("data")
    data = data if isinstance(data, dict) else {}
    what = str(payload.get("type")).removesuffix("MessageChunk").lower()
    return what, data.get("content"), data.get("tool_calls") or [], data.get("tool_call_id")


def _model_name(model: object) -> str:
    return str(getattr(model, "model_name", None) or getattr(model, "model", None) or type(model).__name__)
