"""squidbot in the OpenAI Agents SDK: options for a run, and tools for its agents.

    squid = Squidbot("mem.db", budget=16_000)
    agent = Agent("a", model="gpt-6-sol", tools=[*mine, *squid.tools])
    await Runner.run(agent, "hi", **squid.options("chat-1"))

The options are a session, which records the run, and a run configuration, which sends each model call what fits,
inside tool loops, too. A run's own list begins with its input.

An agent that is another's tool has a conversation of its own for each call: `PARENT/TOOL/CALL_ID`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping
from contextlib import aclosing, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, partial, wraps
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, TypeVar
from uuid import UUID

from squidbot.adapters.common.packages import missing

try:
    from agents import FunctionTool, ModelProvider, ModelResponse, RunConfig, Usage
    from agents.models.interface import Model
except ImportError as error:
    raise ImportError(f"squidbot.plugins.openai_agents: {error}; {missing('openai-agents')}") from error

from squidbot.codecs.fields import adopted
from squidbot.codecs.openai_responses import OpenAIResponses
from squidbot.core import messages
from squidbot.core.errors import ConfigError
from squidbot.core.messages import Category
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.scopes import SCOPE
from squidbot.core.view.marks import refused
from squidbot.plugins.host import REPLY, REQUEST, HostRuntime, is_too_long, server_held
from squidbot.plugins.scopes import child_id, numbered, scope_in
from squidbot.wiring.calls import in_thread, to_end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence
    from pathlib import Path

    from agents import ModelSettings
    from agents.items import TResponseStreamEvent
    from agents.run import CallModelData, ModelInputData
    from agents.tool_context import ToolContext
    from openai.types.responses import ResponseUsage

    from squidbot.core.memories import Scope
    from squidbot.core.messages import StoredMessage
    from squidbot.plugins.host import HostConversation, HostRequest
    from squidbot.plugins.scopes import GivenScope
    from squidbot.tools.tool import Tool as OwnTool

__all__ = ["RunOptions", "Squidbot", "StoredSession"]

Item = dict[str, Any]
WaitingItems: TypeAlias = "dict[tuple[str, Scope], list[Item]]"
Value = TypeVar("Value")
CODEC: Final = OpenAIResponses()
SERVER_HELD: Final = ("conversation", "conversation_id", "previous_response_id")
# Other things that shorten or change histories.
RIVALS: Final = {
    "session_settings": "session_settings.limit has no effect: squidbot's budget decides what is sent",
    "session_input_callback": "session_input_callback gets no history: squidbot adds it to each request",
    "handoff_input_filter": "handoff_input_filter has no effect: squidbot sends what fits of the whole conversation",
    "nest_handoff_history": "nest_handoff_history has no effect: squidbot sends what fits of the whole conversation",
    "truncation": "truncation='auto' makes the provider drop messages: remove it",
    "context_management": "context_management makes the provider rewrite what squidbot sends: remove it",
}
CLEARED: Final = "something in this run tried to clear the session; squidbot keeps all messages and sends what fits"
NO_CONFIG: Final = "squidbot's run configuration is missing, so requests are not limited: pass **squid.options(...)"
NO_RUN: Final = "squidbot has no conversation here: run the agent with **squid.options(conversation_id)"
ONE_SESSION: Final = (
    "a run has only one session, and squidbot provides it: remove session={}. Read all messages with "
    "squid.session(conversation_id).get_items()"
)
OTHER_SESSION: Final = "squidbot's run configuration came without its session: pass both, **squid.options(...)"
# How often a too long request is sent, shorter each time.
MOST_ATTEMPTS: Final = 3
# How many messages are read at once.
READ_MESSAGES: Final = 1_000


# The host's own objects as values.


def refuse_held(settings: ModelSettings | None, further: Mapping[str, object] | None = None) -> None:
    """Check that no model setting or call argument makes the provider keep the conversation.

    Raises:
        ConfigError: one does; the text names it.
    """
    held = [key for key in SERVER_HELD if (further or {}).get(key)]
    for place in ("extra_args", "extra_body"):
        given = getattr(settings, place, None)
        held += [f"{place}[{key!r}]" for key in SERVER_HELD if isinstance(given, dict) and given.get(key)]
    if held:
        raise server_held(held[0])


def rivals(given: RunConfig | ModelSettings) -> list[str]:
    """Return warnings of run configuration or model settings that also change requests."""
    found = [key for key in RIVALS if getattr(given, key, None)]
    if "session_settings" in found and given.session_settings.limit is None:
        found.remove("session_settings")
    if "truncation" in found and given.truncation != "auto":
        found.remove("truncation")
    return [RIVALS[key] for key in found]


def tools_of(call: Mapping[str, Any]) -> list[Item]:
    """Return the tools, handoffs and answer schema of a call, which it sends beside the messages."""
    found: list[Item] = [
        {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
        if hasattr(tool, "params_json_schema")
        else {"type": tool.name}
        for tool in call["tools"]
    ]
    found += [
        {"name": handoff.tool_name, "description": handoff.tool_description, "parameters": handoff.input_json_schema}
        for handoff in call["handoffs"]
    ]
    schema = call["output_schema"]
    if schema is not None and not schema.is_plain_text():
        found.append({"name": schema.name(), "parameters": schema.json_schema()})
    return found


def usage_of(reported: Usage | ResponseUsage | None) -> messages.Usage | None:
    """Return the reported usage; None for none."""
    if reported is None or not reported.input_tokens:
        return None
    cached = getattr(reported.input_tokens_details, "cached_tokens", None)
    return messages.Usage(reported.input_tokens, reported.output_tokens, cached or 0)


def message_key(payload: Mapping[str, object]) -> object:
    """Return the text, calls and results. Ids and states are the provider's; reasoning comes with the rest."""
    items = payload.get("output")
    listed = items if isinstance(items, list) and "call_id" not in payload else [payload]
    return [item_key(item) for item in listed if item.get("type") != "reasoning"]


def item_key(item: Mapping[str, object]) -> object:
    """Return the text, the call or the result of one item."""
    if (item.get("type") or "message") != "message":
        return {
            key: value for key, value in item.items() if key not in {"id", "status", "created_by"} and value is not None
        }
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return item.get("role", "assistant"), [part.get("text") or part for part in parts]


def model_name(model: object) -> str:
    """Return the name of a model; "" if it has none."""
    return model if isinstance(model, str) else str(getattr(model, "model", None) or "")


def id_of(given: object) -> str:
    """Return a conversation's id as text.

    Raises:
        ConfigError: it is empty, or no text, whole number or UUID.
    """
    if isinstance(given, (int, UUID)) and not isinstance(given, bool):
        return str(given)
    if not isinstance(given, str):
        raise ConfigError(f"conversation_id = {given!a:.60}: pass text, a whole number or a UUID")
    if not given:
        raise ConfigError("conversation_id must not be empty")
    return given


# A call of the model in a run.


class RunCall:
    """One call of the model. It stays open until an answer arrives: the host may try again."""

    def __init__(self, session: RunSession, data: CallModelData, config: RunConfig, *, is_open: bool) -> None:
        """Take the arguments of the host's filter, the program's own run configuration, and what `takes` says."""
        self.session, self._data = session, data
        self._filter = config.call_model_input_filter
        # Whether guardrails may block the last answer.
        self._waits = bool(data.agent.output_guardrails or config.output_guardrails)
        self.is_open = is_open
        # The run has squidbot's configuration, but another session.
        self.is_astray = not session.has_begun

    def asks(self, listed: object) -> bool:
        """Return whether a model request with one of the host's lists belongs to this call."""
        # The host sends the list of the filter's result; the same object when it tries again.
        return self.is_open and self._data.model_data.input is listed

    async def request(self, call: Mapping[str, Any], model: object) -> ModelInputData:
        """Return the messages to send: what fits, or the host's own list if squidbot fails."""
        system = call["system_instructions"]
        self.session.handoffs = {handoff.tool_name: handoff.agent_name for handoff in call["handoffs"]}
        self._data = replace(self._data, model_data=replace(self._data.model_data, instructions=system))
        items = await in_thread(
            self.session.safely,
            REQUEST,
            lambda: self.session.request(system or "", tools_of(call), model, self._data.context),
        )
        return await self._sent(call["input"] if items is None else items)

    async def shorter(self, error: Exception) -> ModelInputData | None:
        """Return a shorter request; None for other errors, or if it can't be shorter."""
        if not self.session.safely("shorten a request", lambda: is_too_long(error)):
            return None
        items = await in_thread(self.session.safely, "shorten a request", self.session.shorter)
        return None if items is None else await self._sent(items)

    async def record(self, response: ModelResponse, reported: object) -> None:
        """Record the reply, with the reported usage."""
        self.is_open = False
        items, usage = response.to_input_items(), usage_of(reported)
        await to_end(self.session.safely, REPLY, lambda: self.session.record(items, usage, waits=self._waits))

    async def record_partial(self, text: str) -> None:
        """End the run, and record an interrupted reply, unless guardrails should have seen it."""
        self.failed()
        if text and not self._waits:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item: Item = {"type": "message", "role": "assistant", "status": "incomplete", "content": content}
            await to_end(self.session.safely, REPLY, lambda: self.session.record([item], None, waits=False))

    def failed(self) -> None:
        """End the run: its model has."""
        self.session.is_working = False

    async def filtered(self, data: ModelInputData) -> ModelInputData:
        """Return a request after the program's own filter."""
        if self._filter is None:
            return data
        found = self._filter(replace(self._data, model_data=data))
        return await found if inspect.isawaitable(found) else found

    async def _sent(self, items: object) -> ModelInputData:
        return await self.filtered(replace(self._data.model_data, input=items))


# The newest call of the model in this task, which may be over: models know theirs by its list, tools by their run.
CURRENT_CALL: Final[ContextVar[RunCall | None]] = ContextVar("squidbot_call", default=None)


# Makes a program's models ask squidbot for their requests.

# An attribute of the classes that are made here.
MARK: Final = "_squidbot_asks"
# The first arguments of a model's methods, by place.
PLACES: Final = ("system_instructions", "input", "model_settings", "tools", "output_schema", "handoffs", "tracing")


class ManagedProvider(ModelProvider):  # type: ignore[misc]  # mypy reads no types of the host
    """A program's models by their names, each managed by squidbot."""

    def __init__(self, provider: ModelProvider, warn: Callable[[str], None]) -> None:
        self._provider, self._warn = provider, warn

    def get_model(self, model_name: str | None) -> Model:
        """Return a model by its name."""
        model = self._provider.get_model(model_name)
        manage(model, self._warn)
        return model

    async def aclose(self) -> None:
        """Close the program's provider."""
        await self._provider.aclose()


def manage(model: object, warn: Callable[[str], None]) -> None:
    """Make a model ask squidbot first; runs without squidbot's options stay as they were. Names of models are ignored.

    This changes the class of the object: agents hold models that programs made, and the host calls those.
    """
    kind: type = type(model)
    if not isinstance(model, Model) or hasattr(kind, MARK):
        return
    try:
        model.__class__ = _managed(kind)
        why = "" if hasattr(type(model), MARK) else "its class cannot be replaced"
    except Exception as error:  # noqa: BLE001  # an unmanaged model is better than none
        why = f"{type(error).__name__}: {error}"
    if why:
        warn(f"squidbot cannot limit requests of models of class {kind.__name__}: {why}")


@cache
def _managed(kind: type) -> type:
    """Return a subclass of a model's class, with the same name, whose requests squidbot makes."""
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__, MARK: True}
    asks = {"get_response": _get_response(kind), "stream_response": _stream_response(kind)}
    return type(kind)(kind.__name__, (kind,), {**named, **asks})


# Where the host keeps what a function tool does, behind its handling of errors.
INVOKED: Final = "_invoke_tool_impl"
# The method by which the host makes a context without the run's configuration.
LESS: Final = "_fork_with_tool_input"


def manage_tool(tool: object) -> None:
    """Give each call of a tool a conversation, for the agents that it runs; without squidbot's options it stays as is.

    This changes the object, as `manage` does. Methods stay as they are: the host binds them again for copies.
    """
    invoked = getattr(tool, "on_invoke_tool", None)
    place, name = (invoked, INVOKED) if hasattr(invoked, INVOKED) else (tool, "on_invoke_tool")
    act: Any = getattr(place, name, None)
    if act is None or hasattr(act, MARK) or inspect.ismethod(act):
        return

    is_narrow = place is tool and _wants_less(act)

    @wraps(act)
    async def invoke(context: Any, arguments: str) -> object:  # noqa: ANN401  # the host's
        given = filter_of(context)
        call = given.tool_call(context) if given else None
        wanted = getattr(context, LESS)(context.tool_input) if is_narrow and hasattr(context, LESS) else context
        if call is None:
            return await act(wanted, arguments)
        token = CURRENT_TOOL.set(call)
        try:
            made = await act(wanted, arguments)
        finally:
            CURRENT_TOOL.reset(token)
        await call.passed()
        return made

    # The host's context has the run's configuration, unless an annotation asks for less.
    del invoke.__wrapped__
    invoke.__annotations__ = {}
    setattr(invoke, MARK, True)
    setattr(place, name, invoke)


def _wants_less(act: Callable[..., object]) -> bool:
    """Return whether the host gives a tool's function a context without the run's configuration."""
    try:
        annotation = str(next(iter(inspect.signature(act).parameters.values())).annotation)
    except (StopIteration, TypeError, ValueError):
        return False
    return "RunContextWrapper" in annotation and "ToolContext" not in annotation


def _with_input(sent: ModelInputData, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], Item]:
    """Return the arguments of a call with new input, positional or by name as before."""
    call = {**_named(args, kwargs), "system_instructions": sent.instructions, "input": sent.input}
    return [call.pop(name) for name in PLACES[: len(args)]], call


def _named(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Item:
    return {**dict(zip(PLACES, args, strict=False)), **kwargs}


def _get_response(kind: Any) -> Callable[..., object]:  # noqa: ANN401  # a class of models
    async def get_response(self: Model, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: ANN401  # the host's
        """Ask the model; again with less if it refuses a request as too long."""
        given = _named(args, kwargs)
        call = _open_call(given)
        if call is None:
            return await kind.get_response(self, *args, **kwargs)
        sent = await call.request(given, self)
        for attempt in range(1, MOST_ATTEMPTS + 1):
            places, named = _with_input(sent, args, kwargs)
            try:
                response = await kind.get_response(self, *places, **named)
                break
            except Exception as error:
                less = await call.shorter(error) if attempt < MOST_ATTEMPTS else None
                if less is None:
                    call.failed()
                    raise
                sent = less
        await call.record(response, response.usage)
        return response

    return get_response


def _stream_response(kind: Any) -> Callable[..., object]:  # noqa: ANN401  # a class of models
    async def stream_response(self: Model, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:  # noqa: ANN401  # the host's
        """The same as a stream; of an interrupted answer, record what arrived."""
        given = _named(args, kwargs)
        call = _open_call(given)
        if call is None:
            async for event in kind.stream_response(self, *args, **kwargs):
                yield event
            return
        sent = await call.request(given, self)
        reply = StreamedReply()
        try:
            for attempt in range(1, MOST_ATTEMPTS + 1):
                places, named = _with_input(sent, args, kwargs)
                try:
                    events = kind.stream_response(self, *places, **named)
                    async with aclosing(events) if hasattr(events, "aclose") else nullcontext():
                        async for event in events:
                            reply.add(event)
                            yield event
                    break
                except Exception as error:
                    again = not reply.has_begun and attempt < MOST_ATTEMPTS
                    less = await call.shorter(error) if again else None
                    if less is None:
                        raise
                    sent = less
        finally:
            await reply.record(call)

    return stream_response


class StreamedReply:
    """A streamed answer, collected."""

    def __init__(self) -> None:
        self.has_begun = False
        self._items: list[object] = []
        self._text: list[str] = []
        self._end: TResponseStreamEvent | None = None

    def add(self, event: TResponseStreamEvent) -> None:
        """Add an event."""
        self.has_begun = True
        kind = getattr(event, "type", None)
        if kind == "response.output_item.done":
            self._items.append(event.item)
        elif kind == "response.output_text.delta":
            self._text.append(event.delta)
        elif kind == "response.completed":
            self._end = event

    async def record(self, call: RunCall) -> None:
        """Record the answer, or the part that arrived."""
        if self._end is None:
            await call.record_partial("".join(self._text))
            return
        whole = self._end.response
        # Some providers end with an empty answer: the host, too, then continues with the items that arrived.
        response = ModelResponse(output=whole.output or self._items, usage=Usage(), response_id=None)
        await call.record(response, whole.usage)


def _open_call(given: Mapping[str, Any]) -> RunCall | None:
    """Return the current call, if it belongs to a run with squidbot's options and has no answer yet.

    Raises:
        ConfigError: an option makes the provider add messages that it keeps.
    """
    call = CURRENT_CALL.get()
    if call is None or not (call.is_astray or call.asks(given["input"])):
        return None
    refuse_held(given["model_settings"], given)
    return None if call.is_astray else call


# The host's `Session`, for programs and for runs.


class StoredSession:
    """The host's `Session` for a program: the whole conversation. Runs get theirs from `Squidbot.options`."""

    def __init__(self, hosted: HostRuntime, conversation_id: str) -> None:
        """Take the conversation's id; nothing is opened yet."""
        self.session_id, self.session_settings = conversation_id, None
        self._hosted = hosted

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return the items, oldest first, or the newest `limit` of them, without removed or forgotten ones.

        Raises:
            StoreError: they can't be read.
        """
        return await in_thread(self.items, limit)

    async def add_items(self, items: Sequence[Item]) -> None:
        """Record items, durably.

        Raises:
            ValueError: one is not an item.
            StoreError: nothing was stored.
        """
        self._hosted.warn_once(NO_CONFIG)
        steps = CODEC.steps(dict(item) for item in items)
        await to_end(lambda: self._hosted.conversation(self.session_id, scope=self.scope()).said(steps))

    async def pop_item(self) -> Item | None:
        """Remove the newest message, with its whole step, and return its last item; None if empty.

        The model no longer sees it; it stays stored, unless `on_remove` is "forget".

        Raises:
            StoreError: it was not removed.
        """
        return await to_end(self._pop)

    async def clear_session(self) -> None:
        """Remove everything, as `pop_item` does.

        Raises:
            StoreError: it was not removed.
        """
        await to_end(self._clear)

    def _pop(self) -> Item | None:
        row = next(self._backwards(), None)
        if row is None:
            return None
        self._hosted.remove(self.session_id, [row.seq], "pop_item", self.scope())
        return self._items_of(row)[-1]

    def _clear(self) -> None:
        self._hosted.remove(self.session_id, [row.seq for row in self._backwards()], "clear_session", self.scope())

    def scope(self) -> Scope | None:
        """Return the conversation's own scope; None if it has none yet."""
        known = SCOPE.newest(self._hosted.engine.wired.store, self.session_id)
        return known.scope if known else None

    def items(self, limit: int | None) -> list[Item]:
        """Return the items, as `get_items` does."""
        found: list[Item] = []
        for row in self._backwards():
            if limit is not None and len(found) >= limit:
                break
            found += reversed(self._items_of(row))
        return found[:limit][::-1]

    def open_calls(self) -> list[tuple[str, str]]:
        """Return the name and the id of each call that has no result, of the newest message with calls."""
        answered: set[str] = set()
        for row in self._backwards():
            answered.update(row.result_ids)
            if row.call_ids:
                calls = [item for item in self._items_of(row) if item.get("call_id") in {*row.call_ids} - answered]
                return [(str(item.get("name")), item["call_id"]) for item in calls]
        return []

    def _items_of(self, row: StoredMessage) -> list[Item]:
        """Return the items of a message, even if another host recorded it."""
        if row.codec == CODEC.tag:
            return CODEC.to_items(CODEC.decode(row.payload))
        return adopted(CODEC, self._hosted.engine.wired.codecs[row.codec].portable(row.payload))

    def _backwards(self) -> Iterator[StoredMessage]:
        """Yield the messages that the model can see, and that are not forgotten, newest first."""
        line, most = LineStore(self._hosted.engine.wired.store, self.session_id), 1
        end = line.count_between(0, line.last_seq)
        while end > 0:
            first = max(0, end - most)
            rows = line.pick(self.session_id, line.seqs(first, end - 1))
            yield from (row for row in reversed(rows) if row.category is not Category.FORGOTTEN)
            end, most = first, READ_MESSAGES


class RunSession:
    """The host's `Session` for a run; it also prepares the run's model calls.

    A run's own list begins with its input: squidbot adds earlier messages to each request. The methods for the host
    never raise. `waiting` holds items that could not be recorded yet; all runs of a program share it.
    """

    def __init__(self, hosted: HostRuntime, conversation_id: str, model: object, waiting: WaitingItems) -> None:
        """Take the conversation's id, and the run's model, if that is known; nothing is opened yet."""
        self.session_id, self.session_settings = conversation_id, None
        self._hosted, self._model, self._waiting = hosted, model_name(model), waiting
        # Whose facts the run uses: its first request knows. Its items before that.
        self._scope: Scope | None = None
        self._items: list[Item] = []
        # Whether the run uses this session, and has not called the model yet.
        self.has_begun = self._begins = False
        # Whether the next model call is this run's, not that of an agent that is its tool.
        self._is_due = True
        # The run's request that has no reply yet; None if squidbot could not prepare it.
        self._request: HostRequest | None = None
        # Whether the run has not ended, as far as is known; the agents that it may be handed to, by tools.
        self.is_working, self.handoffs = False, dict[object, object]()
        # Why the conversation is not this user's, if it is not: nothing of the run is recorded.
        self._refusal: ConfigError | None = None
        # Whether the newest reply is recorded; while it waits for guardrails, `_reported` has its usage.
        self._has_replied = False
        self._reported: list[messages.Usage | None] = []
        # Whether something wants to write a shorter conversation.
        self.is_cleared = False
        # The newest run of these options, if another one than this.
        self._latest: RunSession = self

    # -- for the host

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Begin a run, and return nothing: squidbot adds earlier messages to each of its requests."""
        del limit
        if not self._is_calling:
            # A program may use its options again, for another user, and at once.
            self._latest = RunSession(self._hosted, self.session_id, self._model, self._waiting)
            self._latest.has_begun = self._latest._begins = True  # noqa: SLF001  # of this class
            CURRENT_RUN.set((self, self._latest))
        return []

    async def add_items(self, items: Sequence[Any]) -> None:
        """Record items of a run, durably; the first request records its input."""
        if not self._is_calling:
            await to_end(self.current().adds, items)

    async def pop_item(self) -> None:
        """Return None and keep everything; programs remove messages with `Squidbot.session`."""

    async def clear_session(self) -> None:
        """Keep everything, and drop what the run would write in its place."""
        self.current().is_cleared = True
        self._hosted.warn_once(CLEARED)

    # -- for calls of the model

    def current(self) -> RunSession:
        """Return the run of these options that works now."""
        options, run = CURRENT_RUN.get()
        return run if run is not None and options is self else self._latest

    def adds(self, items: Sequence[Any]) -> None:
        """Record items of this run, as `add_items` does."""
        self.has_begun = self._is_due = True
        if not self.is_cleared:
            self.safely("record", lambda: self._add([dict(item) for item in items]))

    async def takes(self, listed: Sequence[Mapping[str, object]]) -> bool:
        """Return whether a model call belongs to this run; agents that are its tools share its configuration.

        Between two calls of a run, the host records the result of the first; while tools work, it records nothing.
        """
        is_due, self._is_due = self._is_due, False
        if is_due and not self.has_begun and listed:
            # An interrupted run continues without reading its session; its last message is recorded.
            stored = StoredSession(self._hosted, self.session_id)
            newest = await in_thread(self.safely, "read", lambda: stored.items(1))
            self.has_begun = newest is not None and [item_key(item) for item in newest] == [item_key(listed[-1])]
        return is_due and self.has_begun

    def request(self, system: str, tools: Sequence[Mapping[str, object]], model: object, context: object) -> list[Item]:
        """Record waiting items, and return the items to send; `context` is the run's.

        Raises:
            ConfigError: the context does not say whose facts to use.
            BudgetError: the request can't be made to fit.
            ValueError: one is not an item.
            StoreError: the store failed.
        """
        # Streams record the input after `takes`.
        self._is_due, self._request = False, None
        self._model = self._model or model_name(model)
        scope = self.whose(context, CURRENT_TOOL.get())
        if self._scope != scope:
            self._moves_to(scope)
        if self._refusal is not None:
            raise self._refusal
        try:
            asked = self._conversation().before(self._waits(scope), system=system, tools=tools)
        except ConfigError as error:
            self._drop(scope)  # the conversation is another user's
            self._refusal = error
            raise
        self._drop(scope)
        self._begins, self._request = False, asked
        return asked.messages

    def shorter(self) -> list[Item] | None:
        """Return a shorter request after a refusal as too long; None if it can't be shorter."""
        self._request = self._request and self._request.shorter()
        return self._request.messages if self._request else None

    def record(self, items: Sequence[Item], usage: messages.Usage | None, *, waits: bool) -> None:
        """Record a reply with its usage. If it ends the run and `waits` for guardrails, record it once they pass.

        Raises:
            ValueError: one is not an item.
            StoreError: nothing was stored.
        """
        step: Item = {"output": list(items)}
        if waits and not CODEC.to_message(step).calls:
            self._reported = [usage]
            return
        self._has_replied = self._replied(step, usage)

    def answer(self, tool: str, arguments: str, context: object) -> str:
        """Answer a call of one of our tools; `context` is the run's."""
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            return refused(f"the arguments of {tool} are not JSON; call it again")
        given = given if isinstance(given, dict) else {}
        around = CURRENT_TOOL.get()
        return self._hosted.answer(tool, self.session_id, given, lambda: self.whose(context, around))

    def whose(self, context: object, around: AgentToolCall | None) -> Scope:
        """Return whose facts the run uses; `around` is the tool call in which it runs, if any.

        Raises:
            ConfigError: the context does not say it.
        """
        scope = self._hosted.scope(self.session_id, context, context=context)
        return scope_in(around.scope(), self.session_id, scope) if around else scope

    def waits_for(self, call: AgentToolCall) -> bool:
        """Return whether a conversation of this id waits for a tool call, or for one around it."""
        around: AgentToolCall | None = call
        while around and (around.caller.hosted is not self.hosted or around.caller.session_id != self.session_id):
            around = around.around
        return around is not None

    def safely(self, what: str, act: Callable[[], Value]) -> Value | None:
        """Return the result of `act`; None if it fails."""
        return self._hosted.safely(what, self.session_id, act)

    @property
    def hosted(self) -> HostRuntime:
        """The runtime that has the run's store."""
        return self._hosted

    @property
    def _is_calling(self) -> bool:
        """Whether this is asked by an agent in one of its tools, whose run has options of the same conversation."""
        call = CURRENT_TOOL.get()
        return call is not None and self.waits_for(call)

    def _add(self, items: list[Item]) -> None:
        if self._refusal is not None:
            return
        steps = CODEC.steps(item for item in items if not (self._has_replied and CODEC.is_made(item)))
        self._has_replied = False
        if self._reported and steps and "output" in steps[0] and "call_id" not in steps[0]:
            steps = steps[self._replied(steps[0], self._reported.pop()) :]
        self._items += steps
        if self._scope is None and not self._begins:
            # An interrupted run continues, and has not asked yet: its items belong to the conversation.
            self._scope, self._begins = StoredSession(self._hosted, self.session_id).scope(), True
        if self._scope is None:
            return
        waiting = self._waits(self._scope)
        # Input waits for the first request: it knows the model, and so the window, and the user.
        if waiting and not self._begins:
            self._conversation().said(waiting)
            self._drop(self._scope)

    def _moves_to(self, scope: Scope) -> None:
        """Take the run's user, or another one: a run has one for all that it has not recorded before it asks."""
        if self._begins and self._scope is not None:
            self._items = [*self._waiting.pop((self.session_id, self._scope), []), *self._items]
        self._scope, self._refusal = scope, None

    def _replied(self, step: Item, usage: messages.Usage | None) -> bool:
        """Record a reply to this run's request; without one return False: the host's items are recorded then."""
        asked, self._request = self._request, None
        if asked is None:
            return False
        asked.after(step, usage)
        return True

    def _waits(self, scope: Scope) -> list[Item]:
        """Return all items that wait to be recorded for the run's user, oldest first."""
        waiting = [*self._waiting.pop((self.session_id, scope), []), *self._items]
        self._items = []
        if waiting:
            self._waiting[self.session_id, scope] = waiting
        return waiting

    def _drop(self, scope: Scope) -> None:
        self._waiting.pop((self.session_id, scope), None)

    def _conversation(self) -> HostConversation:
        return self._hosted.conversation(self.session_id, self._model, scope=self._scope)


# The options that began a run in this task, and that run.
CURRENT_RUN: Final[ContextVar[tuple[RunSession | None, RunSession | None]]] = ContextVar(
    "squidbot_run", default=(None, None)
)


class AgentToolCall:
    """A call of a tool, and the runs of agents within it.

    Attributes:
        caller: the run that called the tool.
        session_id: the id of the conversation of the first run within it.
        around: the tool call in which the caller runs; None for a run by itself.
        runs: the runs whose conversations are below the caller's.
    """

    def __init__(self, caller: RunSession, session_id: str, context: object, around: AgentToolCall | None) -> None:
        """Take the caller with its run's `context`; nothing is opened yet."""
        self.caller, self.session_id, self.around = caller, session_id, around
        self._context = context
        self.runs: list[ChildRun] = []

    @classmethod
    def resumed(cls, root: RunSession, listed: Sequence[Mapping[str, object]], context: object) -> AgentToolCall | None:
        """Return the call whose agent's run a list with results of its open calls continues, found in the store.

        The host runs interrupted tools before it asks anything else.
        """
        answered = {item.get("call_id") for item in listed if str(item.get("type")).endswith("_output")}
        hosted, waiting = root.hosted, [root.session_id]
        for session_id in waiting if answered else ():
            calls = StoredSession(hosted, session_id).open_calls()
            if session_id != root.session_id and not answered.isdisjoint(call_id for _, call_id in calls):
                return cls(root, session_id, context, CURRENT_TOOL.get())
            for call in calls:
                waiting += takewhile(hosted.is_stored, numbered(child_id(session_id, *call)))
        return None

    def scope(self) -> Scope:
        """Return whose facts the caller uses.

        Raises:
            ConfigError: its context does not say it.
        """
        return self.caller.whose(self._context, self.around)

    def run(self, data: CallModelData) -> ChildRun:
        """Return the run that calls the model; one that begins while all others work is a new one."""
        task, listed, agent = asyncio.current_task(), data.model_data.input, data.agent.name
        for is_it in (
            lambda run: run.task is task,
            lambda run: run.goes_on_with(listed) or agent in run.handed_to,
            lambda run: not run.is_working,
        ):
            found = next(filter(is_it, self.runs), None)
            if found is not None:
                break
        else:
            found = ChildRun(self)
            self.runs.append(found)
        found.task = task
        return found

    async def passed(self) -> None:
        """Record the last replies that wait: the call has a result, so guardrails did not block them."""
        for run in self.runs:
            if run.has_waiting:
                await to_end(run.safely, REPLY, run.passed)


class ChildRun(RunSession):
    """The run of an agent in a tool call of another one: the host gives it no session, and lists all of it each time.

    It continues if its call is continued after an interruption. Runs that follow each other in one call share it.
    """

    def __init__(self, call: AgentToolCall) -> None:
        """Take the tool call; nothing is opened yet."""
        super().__init__(call.caller.hosted, call.session_id, None, {})
        self.call, self.has_begun = call, True
        # The task that asked last.
        self.task: object = None
        # The agents that the newest reply hands the run to: filters may rewrite what they are listed.
        self.handed_to: set[object] = set()
        # Whether `session_id` is certain: a provider may use the id of a call again.
        self.is_placed = False
        self._listed: Sequence[Mapping[str, object]] = ()
        # The newest reply, which may wait for guardrails.
        self._reply: Sequence[Item] = ()

    def goes_on_with(self, listed: Sequence[Mapping[str, object]]) -> bool:
        """Return whether a list continues the last one, which has been answered."""
        known = len(self._listed)
        return known < len(listed) and [*map(item_key, listed[:known])] == [*map(item_key, self._listed)]

    @property
    def has_waiting(self) -> bool:
        """Whether its last reply waits for guardrails."""
        return bool(self._reported)

    async def takes(self, listed: Sequence[Mapping[str, object]]) -> bool:
        """Take all that the host lists; each of its calls belongs to this run."""
        self._listed, self.is_working = [*listed], True
        return True

    def request(self, system: str, tools: Sequence[Mapping[str, object]], model: object, context: object) -> list[Item]:
        """Record new items, and return the items to send; raises as the base."""
        if not self.is_placed:
            keys = [item_key(item) for item in self._listed]
            taken = {run.session_id for run in self.call.runs if run.is_placed}
            free = (named for named in numbered(self.call.session_id) if named not in taken)
            self.session_id = next(named for named in free if self._fits(named, keys))
            self.is_placed = True
        return super().request(system, tools, model, context)

    def record(self, items: Sequence[Item], usage: messages.Usage | None, *, waits: bool) -> None:
        """Record a reply; a last one that `waits` for guardrails is recorded by `passed`. Raises as the base."""
        self._reply, self.is_working = items, bool(CODEC.to_message({"output": list(items)}).calls)
        self.handed_to = {self.handoffs[item["name"]] for item in items if item.get("name") in self.handoffs}
        super().record(items, usage, waits=waits)

    def passed(self) -> None:
        """Record the last reply if it waits."""
        if self.has_waiting:
            super().record(self._reply, self._reported.pop(), waits=False)

    def whose(self, context: object, around: AgentToolCall | None) -> Scope:
        """Return whose facts the run uses, within its caller's; raises as the base."""
        del around
        return super().whose(context, self.call)

    def _fits(self, session_id: str, keys: Sequence[object]) -> bool:
        newest = StoredSession(self._hosted, session_id).items(1)
        return not newest or item_key(newest[0]) in keys

    def _waits(self, scope: Scope) -> list[Item]:
        del scope
        return CODEC.steps(dict(item) for item in self._listed)


# The tool call that runs now.
CURRENT_TOOL: Final[ContextVar[AgentToolCall | None]] = ContextVar("squidbot_tool", default=None)


class RunFilter:
    """The filter that the host runs before each model call of a run, and of the agents that are its tools."""

    def __init__(self, run: RunSession, config: RunConfig, hosted: HostRuntime) -> None:
        """Take the run's session, and the program's own configuration."""
        self._run, self._config, self._hosted = run, config, hosted

    async def __call__(self, data: CallModelData) -> ModelInputData:
        """Begin a call of the model, in the conversation of the agent that calls it."""
        settings = data.agent.model_settings.resolve(self._config.model_settings)
        refuse_held(settings)
        for text in rivals(settings):
            self._hosted.warn_once(text)
        around = self._around()
        call = await self._call(around.run(data) if around else self._run.current(), data)
        if not call.is_open and (resumed := await self._resumed(data)):
            CURRENT_TOOL.set(resumed)
            call = await self._call(resumed.run(data), data)
        CURRENT_CALL.set(call)
        manage(data.agent.model, self._hosted.warn_once)
        for tool in data.agent.tools:
            call.session.safely("tell agents apart", partial(manage_tool, tool))
        if call.is_open:
            return data.model_data
        if call.is_astray:
            self._hosted.warn_once(OTHER_SESSION)
        return await call.filtered(data.model_data)

    async def _call(self, run: RunSession, data: CallModelData) -> RunCall:
        return RunCall(run, data, self._config, is_open=await run.takes(data.model_data.input))

    def tool_call(self, context: Any) -> AgentToolCall | None:  # noqa: ANN401  # the host's
        """Return a tool call of the run for the agents in it; None if squidbot can't tell them apart."""

        def made() -> AgentToolCall:
            caller = self.session
            session_id = child_id(caller.session_id, context.tool_name, context.tool_call_id)
            return AgentToolCall(caller, session_id, context.context, CURRENT_TOOL.get())

        return self._hosted.safely("tell agents apart", self._run.session_id, made, None, passes=True)

    @property
    def session(self) -> RunSession:
        """The run whose tool works now, or of which a tool is called now."""
        around, newest = self._around(), CURRENT_CALL.get()
        if around is None:
            return self._run.current()
        known = newest.session if newest else None
        return next((run for run in around.runs if run is known), None) or ChildRun(around)

    def _around(self) -> AgentToolCall | None:
        """Return the tool call that has this run: the conversation of its options waits for that."""
        call = CURRENT_TOOL.get()
        return call if call is not None and self._run.waits_for(call) else None

    async def _resumed(self, data: CallModelData) -> AgentToolCall | None:
        listed = data.model_data.input
        find = partial(AgentToolCall.resumed, self._run, listed, data.context)
        return await in_thread(self._run.safely, "find a conversation", find)


def filter_of(context: object) -> RunFilter | None:
    """Return squidbot's filter of the run that a tool's context belongs to; None for a run without squidbot."""
    found = getattr(getattr(context, "run_config", None), "call_model_input_filter", None)
    return found if isinstance(found, RunFilter) else None


class RunOptions(TypedDict):
    """Keyword arguments for `Runner.run`, `run_sync` and `run_streamed`."""

    session: RunSession
    run_config: RunConfig


class Squidbot:
    """Keeps requests within a budget and all messages in a file, and gives the model tools to search them.

    Args:
        path: the store, a file; None takes the store of `settings`.
        budget: the limit of a request and its answer, in tokens (8000 or "8k") or as a fraction of the model's window
            (0.5); None for the model's window.
        settings: a squidbot.toml, or a mapping of its form; None takes ./squidbot.toml, if there is one.
        scope: whose durable facts to use: a `Scope`, `SHARED` for everyone's, or a function that gets the `context` of
            each run and returns a `Scope`, a user's id, or None. Without it, `user_id` in the context names the user.
            Where nobody is named, facts belong to the conversation alone.
        on_error: if squidbot fails, "pass" sends the request unchanged and logs why, and "raise" stops the run.
        on_remove: what to do with items that `pop_item` or `clear_session` removes. The model no longer sees them;
            "hide" keeps them stored, "forget" erases them.

    Attributes:
        tools: squidbot's tools, as the host has tools.
        hosted: the runtime, with its `engine`; close it at the end of a long-lived program.

    Raises:
        ConfigError: an argument or a setting is wrong.
        StoreError: the store can't be opened.
    """

    def __init__(  # noqa: PLR0913  # what a user may say
        self,
        path: str | Path | None = None,
        *,
        budget: float | str | None = None,
        settings: str | Path | Mapping[str, object] | None = None,
        scope: GivenScope = None,
        on_error: Literal["pass", "raise"] = "pass",
        on_remove: Literal["hide", "forget"] = "hide",
    ) -> None:
        """Read the settings and open the store."""
        self.hosted = HostRuntime(
            path,
            host="openai-agents",
            form=CODEC.tag,
            key=message_key,
            budget=budget,
            settings=settings,
            scope=scope,
            on_error=on_error,
            on_remove=on_remove,
        )
        self.hosted.open()
        self.tools: list[FunctionTool] = [self._tool(tool) for tool in self.hosted.tools]
        # Items that could not be recorded, by conversation and user: the next attempt records them.
        self._waiting: WaitingItems = {}

    def options(
        self,
        conversation_id: str | int | UUID,
        *,
        run_config: RunConfig | Mapping[str, object] | None = None,
        session: object = None,
    ) -> RunOptions:
        """Return the options for a run of the conversation; `run_config` is the program's own.

        Raises:
            ConfigError: the id is empty or no id, there is another `session`, or the configuration makes the provider
                keep the conversation.
        """
        named = id_of(conversation_id)
        if session is not None:
            raise ConfigError(ONE_SESSION.format(type(session).__name__))
        given = RunConfig(**run_config) if isinstance(run_config, Mapping) else run_config or RunConfig()
        refuse_held(given.model_settings)
        for text in rivals(given):
            self.hosted.warn_once(text)
        run = RunSession(self.hosted, named, given.model, self._waiting)
        manage(given.model, self.hosted.warn_once)
        config = replace(
            given,
            model_provider=ManagedProvider(given.model_provider, self.hosted.warn_once),
            call_model_input_filter=RunFilter(run, given, self.hosted),
        )
        return {"session": run, "run_config": config}

    def sub_agent(self, conversation_id: str | int | UUID, agent: str, child_id: str | None = None) -> str:
        """Give an agent that a tool calls its caller's context, and return the id of its own conversation.

        That begins with the caller's goals, decisions, documents and pins, without what was said. Its id is `child_id`,
        or CONVERSATION/AGENT; a conversation that has begun like that goes on as it is. Pass it to `options` for the
        agent's run.

        Raises:
            ConfigError: the id is empty or no id.
            SquidbotError: it cannot have the context, and `on_error` is "raise".
        """
        return self.hosted.sub_agent(id_of(conversation_id), agent, child_id)

    def session(self, conversation_id: str | int | UUID) -> StoredSession:
        """Return a conversation for the program, to read it or to remove its last messages.

        Raises:
            ConfigError: the id is empty or no id.
        """
        return StoredSession(self.hosted, id_of(conversation_id))

    def _tool(self, tool: OwnTool) -> FunctionTool:
        # By this annotation, the host's context has the run's configuration.
        async def call(wrapped: ToolContext[Any], arguments: str) -> str:
            given = filter_of(wrapped)
            if given is None:
                self.hosted.warn_once(NO_RUN)
                return f"<{NO_RUN}>"
            return await in_thread(given.session.answer, tool.name, arguments, wrapped.context)

        setattr(call, MARK, True)  # no agent runs in it
        schema = json.loads(json.dumps(tool.schema))
        return FunctionTool(tool.name, tool.description, schema, call, strict_json_schema=False)
