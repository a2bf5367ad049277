"""squidbot in the OpenAI Agents SDK: options for a run, and tools for its agents.

    squid = Squidbot("mem.db", budget=16_000)
    agent = Agent("a", model="gpt-6-sol", tools=[*mine, *squid.tools])
    await Runner.run(agent, "hi", **squid.options("chat-1"))

The options are a session, which records what is said, and a run configuration, by which each call of the model sees
what fits, inside of tool loops, too. A run's own list begins with its input.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Mapping
from contextlib import aclosing, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar

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
from squidbot.core.view.marks import refused
from squidbot.plugins.host import REQUEST, HostRuntime, is_too_long, server_held

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from agents import AgentOutputSchemaBase, Handoff, ModelSettings, ModelTracing, Tool, TResponseInputItem
    from agents.items import TResponseStreamEvent
    from agents.run import CallModelData, ModelInputData
    from openai.types.responses import ResponseUsage

    from squidbot.core.memories import Scope
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import Codec
    from squidbot.plugins.host import Conversation
    from squidbot.tools.tool import Tool as OwnTool


# What the host's own objects say, as values: items, tools, usage, and settings that go against
# squidbot.

Item = dict[str, Any]
FORM: Final = "openai.responses"
CODEC: Final = OpenAIResponses()
SERVER_HELD: Final = ("conversation", "conversation_id", "previous_response_id")
# What else makes histories shorter, or other than they were.
RIVALS: Final = {
    "session_settings": "session_settings.limit has no effect: squidbot's budget says what is sent",
    "session_input_callback": "session_input_callback gets no history: squidbot adds it to each request",
    "handoff_input_filter": "handoff_input_filter has no effect: squidbot sends what fits of all that was said",
    "nest_handoff_history": "nest_handoff_history has no effect: squidbot sends what fits of all that was said",
    "truncation": "truncation='auto' has the provider drop messages that squidbot has sent: leave it out",
    "context_management": "context_management has the provider rewrite what squidbot has sent: leave it out",
}


def refuse_held(settings: ModelSettings | None, further: Mapping[str, object] | None = None) -> None:
    """Pass settings of a model, and what a call of it is given besides, by which all messages are sent.

    Raises:
        ConfigError: the provider is to add some that it holds; the text names the switch (V10).
    """
    held = [key for key in SERVER_HELD if (further or {}).get(key)]
    for place in ("extra_args", "extra_body"):
        given = getattr(settings, place, None)
        held += [f"{place}[{key!r}]" for key in SERVER_HELD if isinstance(given, dict) and given.get(key)]
    if held:
        raise server_held(held[0])


def rivals(given: RunConfig | ModelSettings) -> list[str]:
    """Return what is to be said of what else changes what is sent, by a run's configuration or a model's settings."""
    found = [key for key in RIVALS if getattr(given, key, None)]
    if "session_settings" in found and given.session_settings.limit is None:
        found.remove("session_settings")
    if "truncation" in found and given.truncation != "auto":
        found.remove("truncation")
    return [RIVALS[key] for key in found]


def tools_of(
    tools: Iterable[Tool], handoffs: Iterable[Handoff] = (), schema: AgentOutputSchemaBase | None = None
) -> list[Item]:
    """Return what is sent beside the messages: tools, handoffs, and the form that the answer is to have."""
    made: list[Item] = [
        {"name": each.name, "description": each.description, "parameters": each.params_json_schema}
        if hasattr(each, "params_json_schema")
        else {"type": each.name}
        for each in tools
    ]
    made += [
        {"name": each.tool_name, "description": each.tool_description, "parameters": each.input_json_schema}
        for each in handoffs
    ]
    if schema is not None and not schema.is_plain_text():
        made.append({"name": schema.name(), "parameters": schema.json_schema()})
    return made


def usage_of(reported: Usage | ResponseUsage | None) -> messages.Usage | None:
    """Return what the provider reported; None where it reported nothing."""
    if reported is None or not reported.input_tokens:
        return None
    cached = getattr(reported.input_tokens_details, "cached_tokens", None)
    return messages.Usage(reported.input_tokens, reported.output_tokens, cached or 0)


def telling(payload: Mapping[str, object]) -> object:
    """Return what was said: ids and states are the provider's, and reasoning goes with what it led to."""
    items = payload.get("output")
    listed = items if isinstance(items, list) and "call_id" not in payload else [payload]
    return [told(each) for each in listed if each.get("type") != "reasoning"]


def told(item: Mapping[str, object]) -> object:
    """Return what one item says."""
    kind = item.get("type") or "message"
    if kind != "message":
        return {key: item[key] for key in item if key not in {"id", "status", "created_by"}}
    content = item.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return item.get("role", "assistant"), [part.get("text") or part for part in parts]


def items_of(row: StoredMessage, codecs: Mapping[str, Codec]) -> list[Item]:
    """Return the items of a message; what another host has said as items of this one."""
    if row.codec == FORM:
        return CODEC.to_items(CODEC.decode(row.payload))
    return adopted(CODEC, codecs[row.codec].portable(row.payload))


def model_name(model: object) -> str:
    """Return what a model is called; "" where it does not say."""
    return model if isinstance(model, str) else str(getattr(model, "model", None) or "")


# A call of the model in a run: what it is asked, again where that was too long, and what it answers.


class Call:
    """One call of the model. It stays open until it is answered: the host may try again."""

    def __init__(self, session: RunSession, data: CallModelData, config: RunConfig) -> None:
        """Take what the host's filter is told, and the program's own configuration of the run."""
        self.session, self._data = session, data
        self._theirs = config.call_model_input_filter
        # Whether guardrails may keep the last answer back.
        self._waits = bool(data.agent.output_guardrails or config.output_guardrails)
        self.is_open = session.takes(data.model_data.input)
        # The run has squidbot's configuration, and not its session.
        self.is_astray = not session.has_begun
        # The host's own list: it is the same one when the host tries again.
        self._listed: object = None

    def asks(self, listed: object) -> bool:
        """Say whether a model that is asked with a list of the host's is asked by this call."""
        self._listed = self._listed or listed
        return self.is_open and self._listed is listed

    async def request(
        self, listed: str | Sequence[Item], system: str | None, tools: Callable[[], list[Item]], model: object
    ) -> ModelInputData:
        """Return what the model is sent: what fits, or what the host would send where squidbot fails."""
        self._data = replace(self._data, model_data=replace(self._data.model_data, instructions=system))
        seen = self.session.safely(REQUEST, lambda: self.session.seen(system or "", tools(), model), None)
        return await self._sent(listed if seen is None else seen)

    async def shorter(self, error: Exception) -> ModelInputData | None:
        """Return what to ask again with; None where the error says nothing of the length, or nothing is shorter."""
        act = self.session.shorter
        made = self.session.safely("shorten a request", lambda: act() if is_too_long(error) else None, None)
        return None if made is None else await self._sent(made)

    def replied(self, response: ModelResponse, reported: object) -> None:
        """Record the reply, with the tokens that were reported."""
        self.is_open = False

        def act() -> None:
            self.session.replied(response.to_input_items(), usage_of(reported), waits=self._waits)

        self.session.safely("record a reply", act, None)

    def broke_off(self, text: str) -> None:
        """Record what came of a reply that did not come to its end; what guardrails have not seen is nobody's word."""
        if text and not self._waits:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            said: Item = {"type": "message", "role": "assistant", "status": "incomplete", "content": content}
            self.session.safely("record a reply", lambda: self.session.replied([said], None, waits=False), None)

    async def filtered(self, made: ModelInputData) -> ModelInputData:
        """Return what the program's own filter makes of a request."""
        if self._theirs is None:
            return made
        found = self._theirs(replace(self._data, model_data=made))
        return await found if inspect.isawaitable(found) else found

    async def _sent(self, items: str | Sequence[Item]) -> ModelInputData:
        return await self.filtered(replace(self._data.model_data, input=items))


# The call that is made, where it is made; tools find their conversation by it.
MADE: Final[ContextVar[Call | None]] = ContextVar("squidbot_call", default=None)


# A program's models, whose requests are what squidbot makes of them where a run has its options.

if TYPE_CHECKING:
    Input = str | list[TResponseInputItem]


# So often a request that is too long is made shorter.
MOST_ATTEMPTS: Final = 3
# What the classes have that are made here.
MARK: Final = "_squidbot_asks"


class Models(ModelProvider):  # type: ignore[misc]  # mypy reads no types of the host
    """A program's models by their names; squidbot takes care of each."""

    def __init__(self, theirs: ModelProvider, warn: Callable[..., None]) -> None:
        self._theirs, self._warn = theirs, warn

    def get_model(self, model_name: str | None) -> Model:
        """Return a model by its name."""
        model = self._theirs.get_model(model_name)
        manage(model, self._warn)
        return model

    async def aclose(self) -> None:
        """Release what the program's provider holds."""
        await self._theirs.aclose()


def manage(model: object, warn: Callable[..., None]) -> None:
    """Have a model ask squidbot first; in runs without squidbot's options it is as before. Names are none.

    Its class is exchanged, since agents hold models that their programs made, and the host asks those.
    """
    kind: type = type(model)
    if not isinstance(model, Model) or hasattr(kind, MARK):
        return
    try:
        model.__class__ = _managed(kind)
        why = "" if hasattr(type(model), MARK) else "it can't be exchanged"
    except Exception as error:  # noqa: BLE001  # a model without squidbot is better than none
        why = f"{type(error).__name__}: {error}"
    if why:
        warn(f"squidbot can't take care of models of the class {kind.__name__}: {why}")


@cache
def _managed(kind: type) -> type:
    """Return a class of models like another one, by the same name, whose requests squidbot makes."""
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__, MARK: True}
    asks = {"get_response": _get_response(kind), "stream_response": _stream_response(kind)}
    return type(kind)(kind.__name__, (kind,), {**named, **asks})


def _get_response(kind: Any) -> Callable[..., object]:  # noqa: ANN401  # a class of models
    async def get_response(  # noqa: PLR0913, PLR0917  # the host's
        self: Model,
        system_instructions: str | None,
        input: Input,  # noqa: A002  # the host's
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        **further: object,
    ) -> ModelResponse:
        """Ask the model; again with less where it refuses a request as too long."""
        beside = {"output_schema": output_schema, "handoffs": handoffs, "tracing": tracing, **further}
        rest = {"model_settings": model_settings, "tools": tools, **beside}
        call = _open_call(input, model_settings, further)
        if call is None:
            return await kind.get_response(self, system_instructions=system_instructions, input=input, **rest)
        sent = await call.request(input, system_instructions, lambda: tools_of(tools, handoffs, output_schema), self)
        for attempt in range(MOST_ATTEMPTS):
            try:
                response = await kind.get_response(
                    self, system_instructions=sent.instructions, input=sent.input, **rest
                )
                break
            except Exception as error:
                less = await call.shorter(error) if attempt + 1 < MOST_ATTEMPTS else None
                if less is None:
                    raise
                sent = less
        call.replied(response, response.usage)
        return response

    return get_response


def _stream_response(kind: Any) -> Callable[..., object]:  # noqa: ANN401  # a class of models
    async def stream_response(  # noqa: PLR0913, PLR0917  # the host's
        self: Model,
        system_instructions: str | None,
        input: Input,  # noqa: A002  # the host's
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff],
        tracing: ModelTracing,
        **further: object,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Do as `get_response`, in pieces; what came of an answer that breaks off is recorded as such."""
        rest = model_settings, tools, output_schema, handoffs, tracing
        call = _open_call(input, model_settings, further)
        if call is None:
            async for event in kind.stream_response(self, system_instructions, input, *rest, **further):
                yield event
            return
        sent = await call.request(input, system_instructions, lambda: tools_of(tools, handoffs, output_schema), self)
        heard = _Heard()
        try:
            for attempt in range(MOST_ATTEMPTS):
                try:
                    events = kind.stream_response(self, sent.instructions, sent.input, *rest, **further)
                    async with aclosing(events) if hasattr(events, "aclose") else nullcontext():
                        async for event in events:
                            heard.take(event)
                            yield event
                    break
                except Exception as error:
                    again = not heard.events and attempt + 1 < MOST_ATTEMPTS
                    less = await call.shorter(error) if again else None
                    if less is None:
                        raise
                    sent = less
        finally:
            heard.end(call)

    return stream_response


class _Heard:
    """What came of a streamed answer."""

    def __init__(self) -> None:
        self.events = 0
        self._items: list[object] = []
        self._text: list[str] = []
        self._end: TResponseStreamEvent | None = None

    def take(self, event: TResponseStreamEvent) -> None:
        """Take in an event."""
        self.events += 1
        kind = getattr(event, "type", None)
        if kind == "response.output_item.done":
            self._items.append(event.item)
        elif kind == "response.output_text.delta":
            self._text.append(event.delta)
        elif kind == "response.completed":
            self._end = event

    def end(self, call: Call) -> None:
        """Record what came."""
        if self._end is None:
            call.broke_off("".join(self._text))
            return
        whole = self._end.response
        # Some providers end with an answer that is empty: what came is what the host goes on with, too.
        made = ModelResponse(output=whole.output or self._items, usage=Usage(), response_id=None)
        call.replied(made, whole.usage)


def _open_call(listed: Input, settings: ModelSettings, further: Mapping[str, object]) -> Call | None:
    """Return the call that is being made, if it is of a run with squidbot's options and not answered yet.

    Raises:
        ConfigError: the provider is to add messages that it holds.
    """
    call = MADE.get()
    if call is None or not (call.is_astray or call.asks(listed)):
        return None
    refuse_held(settings, further)
    return None if call.is_astray else call


# A conversation as it is stored: what a program reads of it, and takes back.

# How many messages are read at once.
READ_MESSAGES: Final = 1_000
NO_CONFIG: Final = (
    "squidbot's session came without its run configuration, nothing is bounded: pass **squid.options(...)"
)


class StoredSession:
    """The host's `Session` for a program: all that was said. Runs have one of their own, by `Squidbot.options`."""

    def __init__(self, hosted: HostRuntime, conversation_id: str, warn: Callable[..., None]) -> None:
        """Take the conversation's id; nothing is opened yet."""
        self.session_id, self.session_settings = conversation_id, None
        self._hosted, self._warn = hosted, warn

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return what was said, oldest first, or the newest `limit` items of it.

        Raises:
            StoreError: it can't be read.
        """
        return stored(self._hosted, self.session_id, limit)

    async def add_items(self, items: Sequence[Item]) -> None:
        """Record what was said, durably.

        Raises:
            ValueError: an item is none.
            StoreError: nothing was stored.
        """
        self._warn(NO_CONFIG)
        self._hosted.conversation(self.session_id).said(CODEC.steps(dict(each) for each in items))

    async def pop_item(self) -> Item | None:
        """Forget the newest message for good, a step of the model whole, and return its last item; None for none.

        Raises:
            StoreError: it was not forgotten.
        """
        row = next(_backwards(self._hosted, self.session_id), None)
        if row is None:
            return None
        self._hosted.forget(self.session_id, [row.seq], "pop_item")
        return items_of(row, self._hosted.engine.wired.codecs)[-1]

    async def clear_session(self) -> None:
        """Forget all that was said, for good.

        Raises:
            StoreError: it was not forgotten.
        """
        seqs = [row.seq for row in _backwards(self._hosted, self.session_id)]
        self._hosted.forget(self.session_id, seqs, "clear_session")


def stored(hosted: HostRuntime, session_id: str, limit: int | None) -> list[Item]:
    """Return the items of a conversation, oldest first, or the newest `limit` of them; without what was forgotten.

    Raises:
        StoreError: they can't be read.
    """
    found: list[Item] = []
    for row in _backwards(hosted, session_id):
        if limit is not None and len(found) >= limit:
            break
        found += reversed(items_of(row, hosted.engine.wired.codecs))
    return found[:limit][::-1]


def _backwards(hosted: HostRuntime, session_id: str) -> Iterator[StoredMessage]:
    """Yield what was said and is not forgotten, newest first: the last ones alone are read for a few."""
    store, most = hosted.engine.wired.store, 1
    end = store.head(session_id)[0]
    while end > 0:
        first = max(0, end - most)
        rows = store.read(session_id, first, end - 1)
        yield from (row for row in reversed(rows) if row.category is not Category.FORGOTTEN)
        end, most = first, READ_MESSAGES


# A conversation as a run has it: what it has said is recorded, and what a call of its model is to see
# comes back.

Value = TypeVar("Value")

CLEARED: Final = (
    "something in this run clears its session, to write less instead: squidbot keeps what was said, and sends what fits"
)


class RunSession:
    """The host's `Session` for a run, and behind it what calls of its model go through.

    A run's own list begins with its input: what was said before is added to each request. None of what the host calls
    raises. `waiting` is what could not be recorded yet, by conversation, which all of a program's runs share.
    """

    def __init__(
        self,
        hosted: HostRuntime,
        conversation_id: str,
        model: object,
        waiting: dict[str, list[Item]],
        warn: Callable[..., None],
    ) -> None:
        """Take the conversation's id, and the run's model, if that is known; nothing is opened yet."""
        self.session_id, self.session_settings = conversation_id, None
        self._hosted, self._model = hosted, model_name(model)
        self._waiting, self._warn = waiting, warn
        # Whether the run goes through this session; has not called the model yet; has recorded what came of its calls.
        self._has_begun = self._begins = False
        self._is_due = True
        # The newest reply is recorded; or waits for the guardrails, with what the provider reported for it.
        self._has_replied = False
        # Something wants to write something shorter in the place of what was said.
        self._is_cleared = False
        self._reported: list[messages.Usage | None] = []

    # -- what the host calls, and a program

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return nothing, to a run that begins: what was said is added to each of its requests."""
        del limit
        self._has_begun = self._begins = self._is_due = True
        self._has_replied = self._is_cleared = False
        self._reported = []
        return []

    async def add_items(self, items: Sequence[Any]) -> None:
        """Record what a run has said and done, durably; what it begins with is recorded with its first request."""
        self._has_begun = self._is_due = True
        if not self._is_cleared:
            self.safely("record", lambda: self._add([dict(each) for each in items]), None)

    async def pop_item(self) -> None:
        """Return None: what was said stays; a program takes it back by `Squidbot.session`."""

    async def clear_session(self) -> None:
        """Leave what was said as it is, and out what a run would write in its place."""
        self._is_cleared = True
        self._warn(CLEARED)

    # -- what calls of the model go through

    def takes(self, listed: Sequence[Mapping[str, object]]) -> bool:
        """Say whether a call of the model is of this run; those of agents that are its tools have its configuration.

        Between two calls of a run what came of the first is recorded; while its tools work nothing is.
        """
        is_due, self._is_due = self._is_due, False
        if is_due and not self._has_begun and listed:
            # A run that was interrupted goes on without reading its session; what it was told last is recorded.
            newest: list[Item] = self.safely("read", lambda: stored(self._hosted, self.session_id, 1), [])
            self._has_begun = bool(newest) and told(listed[-1]) == told(newest[-1])
        return is_due and self._has_begun

    @property
    def has_begun(self) -> bool:
        """Whether the run goes through this session."""
        return self._has_begun

    def seen(self, system: str, tools: Sequence[Mapping[str, object]], model: object) -> list[Item]:
        """Record what waited, and return what the model is to see.

        Raises:
            BudgetError: nothing makes the request fit.
            ValueError: an item is none.
            StoreError: the store failed.
        """
        # Streams record what a run begins with behind `takes`.
        self._is_due = False
        self._model = self._model or model_name(model)
        made = self._conversation().before(self._waiting.get(self.session_id, []), system=system, tools=tools)
        self._waiting.pop(self.session_id, None)
        self._begins = False
        return made

    def shorter(self) -> list[Item] | None:
        """Return less for a request that was refused as too long; None where nothing is less."""
        return self._conversation().shorter()

    def replied(self, items: Sequence[Item], usage: messages.Usage | None, *, waits: bool) -> None:
        """Record a reply, with what the provider reported; a last one, if it `waits` for guardrails, once it is passed.

        Raises:
            ValueError: an item is none.
            StoreError: nothing was stored.
        """
        step: Item = {"output": list(items)}
        if waits and not CODEC.to_message(step).calls:
            self._reported = [usage]
            return
        self._conversation().after(step, usage)
        self._has_replied = True

    def answer(self, tool: str, arguments: str) -> str:
        """Return what a call of one of the tools answers."""
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            return refused(f"the arguments of {tool} are not JSON; call it again")
        return self._hosted.answer(tool, self.session_id, self._conversation, given if isinstance(given, dict) else {})

    def safely(self, what: str, act: Callable[[], Value], otherwise: Value) -> Value:
        """Return what comes of an act of ours, or `otherwise` where it fails."""
        return self._hosted.safely(what, self.session_id, act, otherwise)

    def _add(self, items: list[Item]) -> None:
        steps = CODEC.steps(each for each in items if not (self._has_replied and CODEC.is_made(each)))
        self._has_replied = False
        if self._reported and steps and _is_step(steps[0]):
            self._conversation().after(steps.pop(0), self._reported.pop())
        waiting = self._waiting.setdefault(self.session_id, [])
        waiting += steps
        # Input waits for the first request, which knows the model, and so the window.
        if not self._begins:
            self._conversation().said(waiting)
            self._waiting.pop(self.session_id, None)

    def _conversation(self) -> Conversation:
        return self._hosted.conversation(self.session_id, self._model)


def _is_step(payload: Item) -> bool:
    return "output" in payload and "call_id" not in payload


# What a program has of squidbot: options for its runs, tools for its agents, models that can be asked
# again.

_LOG: Final = logging.getLogger("squidbot")
OTHER_SESSION: Final = "squidbot's run configuration came without its session: pass both, **squid.options(...)"
ONE_SESSION: Final = (
    "session = {}: a run has one session, and here squidbot is it; leave yours out: "
    "squid.session(conversation_id).get_items() reads all that was said"
)
NO_RUN: Final = "squidbot has no conversation here: run the agent with **squid.options(conversation_id)"


class Options(TypedDict):
    """What `Runner.run`, `run_sync` and `run_streamed` are given."""

    session: RunSession
    run_config: RunConfig


class Squidbot:
    """Keeps requests within a budget, all that was said in a file, and gives the model tools to find it again.

    `path` is the file; None: as `settings` say, a squidbot.toml or a mapping of its form. `budget` is the largest
    request and its answer in tokens (8000 or "8k"), or a share of the model's window below 1 (0.5). `scope` says
    whose durable facts are found. `on_error="raise"` stops a run where
    squidbot fails; "pass" sends the request as the program made it, and the log says why.

    Raises:
        ConfigError: an argument or a setting is wrong.
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
        self.hosted = HostRuntime(
            path,
            host="openai-agents",
            form=FORM,
            telling=telling,
            budget=budget,
            settings=settings,
            scope=scope,
            on_error=on_error,
        )
        self.hosted.open()
        offered = self.hosted.offer_tools()
        self.tools: list[FunctionTool] = [_tool(self, each) for each in offered]
        # What could not be recorded, by conversation: it is with the next attempt.
        self._waiting: dict[str, list[Item]] = {}
        self._told: set[str] = set()

    def options(
        self,
        conversation_id: str,
        *,
        run_config: RunConfig | Mapping[str, object] | None = None,
        session: object = None,
    ) -> Options:
        """Return what a run of the conversation is given; `run_config` is the program's own.

        Raises:
            ConfigError: the id is empty; there is a `session` beside ours; the configuration would leave the
                conversation with the provider.
        """
        if not conversation_id:
            raise ConfigError("conversation_id is empty: it is what a conversation is kept by")
        if session is not None:
            raise ConfigError(ONE_SESSION.format(type(session).__name__))
        given = RunConfig(**run_config) if isinstance(run_config, Mapping) else run_config or RunConfig()
        refuse_held(given.model_settings)
        self.warn(*rivals(given))
        session = RunSession(self.hosted, conversation_id, given.model, self._waiting, self.warn)
        manage(given.model, self.warn)
        config = replace(
            given,
            model_provider=Models(given.model_provider, self.warn),
            call_model_input_filter=_filter(self, session, given),
        )
        return {"session": session, "run_config": config}

    def session(self, conversation_id: str) -> StoredSession:
        """Return a conversation for the program to read, and to take back what was said last."""
        return StoredSession(self.hosted, conversation_id, self.warn)

    def warn(self, *texts: str) -> None:
        """Say what is wrong, once each."""
        for text in texts:
            if text not in self._told:
                self._told.add(text)
                _LOG.warning("%s", text)


def _filter(
    squid: Squidbot, session: RunSession, config: RunConfig
) -> Callable[[CallModelData], Awaitable[ModelInputData]]:
    """Return what the host calls in front of each call of a model, which asks squidbot for its request."""

    async def begin(data: CallModelData) -> ModelInputData:
        settings = data.agent.model_settings.resolve(config.model_settings)
        refuse_held(settings)
        squid.warn(*rivals(settings))
        call = Call(session, data, config)
        MADE.set(call)
        manage(data.agent.model, squid.warn)
        if call.is_open:
            return data.model_data
        squid.warn(*([OTHER_SESSION] if call.is_astray else []))
        return await call.filtered(data.model_data)

    return begin


def _tool(squid: Squidbot, tool: OwnTool) -> FunctionTool:
    async def call(_context: object, arguments: str) -> str:
        made = MADE.get()
        if made is None:
            squid.warn(NO_RUN)
            return f"<{NO_RUN}>"
        return made.session.answer(tool.name, arguments)

    schema = json.loads(json.dumps(tool.schema))
    return FunctionTool(tool.name, tool.description, schema, call, strict_json_schema=False)
