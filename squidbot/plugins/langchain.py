"""squidbot in LangChain and LangGraph: one middleware of an agent.

    agent = create_agent("openai:gpt-6-sol", tools=[...], middleware=[Squidbot("mem.db")])
    agent.invoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": "chat-1"}})

In a graph of your own, call the model with `Squidbot("mem.db").ask(model, state["messages"])`.

The agent's own state stays as it is. squidbot decides before each call what the model sees, inside tool loops, too.
"""

from __future__ import annotations

import json
import operator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from squidbot.adapters.common.packages import missing

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.agents.structured_output import AutoStrategy, ToolStrategy
    from langchain.tools import ToolRuntime  # noqa: TC002  # the host reads it from the signature
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.exceptions import ContextOverflowError
    from langchain_core.messages import AIMessage, BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.runnables.config import merge_configs, var_child_runnable_config
    from langchain_core.tools import BaseTool, StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
except ImportError as error:
    raise ImportError(f"squidbot.plugins.langchain: {error}; {missing('langchain')}") from error

from squidbot.core.messages import Usage
from squidbot.core.transcript.scopes import short_id
from squidbot.plugins.host import REPLY, REQUEST, HostRuntime, server_held
from squidbot.plugins.lists import digest
from squidbot.plugins.scopes import USER_ID, OpenCall, child_id, scope_in
from squidbot.wiring.calls import in_thread, to_end

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from langchain.agents.middleware import ToolCallRequest
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import Command

    from squidbot.core.memories import Scope
    from squidbot.plugins.host import HostConversation, HostRequest
    from squidbot.plugins.scopes import GivenScope
    from squidbot.tools.tool import Tool as OwnTool

__all__ = ["GraphContext", "Squidbot", "SquidbotMiddleware"]

NO_THREAD: Final = "no thread_id, so squidbot stores nothing: pass {'configurable': {'thread_id': ...}}"
# Other middleware that shortens messages: the attribute and key that reveal it, and what to do about it.
RIVALS: Final = (
    ("additional_kwargs", "lc_source", "SummarizationMiddleware", "it deletes from the state: remove it"),
    ("response_metadata", "context_editing", "ContextEditingMiddleware", "put squidbot in front, or remove it"),
)
# They begin with the oldest messages.
RIVALS_AT: Final = 200
SERVER_HELD: Final = ("previous_response_id", "conversation")
# Where LangGraph's server puts the id of an authenticated user.
SIGNED_IN: Final = "langgraph_auth_user_id"


class GraphContext(NamedTuple):
    """The argument of a function that you pass as `scope`.

    Attributes:
        configurable: that of the run's configuration.
        context: that of the run.
    """

    configurable: Mapping[str, Any]
    context: Any


class SquidbotMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps requests within a budget and all messages in a file, and gives the model tools to search them.

    The thread_id names the conversation. Without one, squidbot stores nothing, and a warning says so once.

    Args:
        path: the store, a file; None takes the store of `settings`.
        budget: the limit of a request and its answer, in tokens (8000 or "8k") or as a fraction of the model's window
            (0.5); None for the model's window.
        settings: a squidbot.toml, or a mapping of its form; None takes ./squidbot.toml, if there is one.
        scope: whose durable facts to use: a `Scope`, `SHARED` for everyone's, or a function that gets each call's
            `GraphContext` and returns a `Scope`, a user's id, or None. Without it, `user_id` in `configurable` or in
            the context names the user. Where nobody is named, facts belong to the conversation alone.
        on_error: if squidbot fails, "pass" sends the request unchanged and logs why, and "raise" stops the run.
        on_remove: what to do with messages that `RemoveMessage` removes from the state. The model no longer sees them;
            "hide" keeps them stored, "forget" erases them.

    Attributes:
        tools: squidbot's tools, as the host has tools.
        hosted: the runtime, with its `engine`; close it at the end of a long-lived program.

    Raises:
        ConfigError: an argument or a setting is wrong, or an option makes the provider keep the messages.
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
        super().__init__()
        self.hosted = HostRuntime(
            path,
            host="langchain",
            form="lc/1",
            key=_key,
            id_of=_id_of,
            dump=message_to_dict,
            load=_load,
            mark=_mark,
            budget=budget,
            settings=settings,
            scope=scope,
            on_error=on_error,
            on_remove=on_remove,
        )
        self.hosted.open()
        self.tools: Sequence[BaseTool] = [self._tool(tool) for tool in self.hosted.tools]
        # The last response format and its schemas: building them takes milliseconds.
        self._schemas: tuple[object, list[dict[str, object]]] = None, []

    def sub_agent(self, thread_id: str, agent: str, child_id: str | None = None) -> str:
        """Give an agent that a tool calls its caller's context, and return the id of its own conversation.

        That begins with the caller's goals, decisions, documents and pins, without what was said. Its id is `child_id`,
        or THREAD/AGENT; a conversation that has begun like that goes on as it is. Pass it as the `thread_id` of the
        agent's run.

        Raises:
            SquidbotError: it cannot have the context, and `on_error` is "raise".
        """
        return self.hosted.sub_agent(thread_id, agent, child_id)

    def ask(
        self,
        model: BaseChatModel,
        messages: Sequence[BaseMessage],
        *,
        system: str = "",
        tools: Sequence[BaseTool | dict[str, Any]] = (),
    ) -> BaseMessage:
        """Call a model in a node of your own graph, with what fits of the state's messages, and return its reply.

        The model gets `system` in front, and `tools`: yours, and squidbot's (`tools`) if a `ToolNode` runs them.

        Raises:
            ConfigError: an option makes the provider keep the messages.
            RuntimeError: this is no node of a graph that runs.
            Exception: what the model raises.
        """
        made = self.wrap_model_call(_request(model, messages, system, tools), _called)
        return made.result[0]

    async def aask(
        self,
        model: BaseChatModel,
        messages: Sequence[BaseMessage],
        *,
        system: str = "",
        tools: Sequence[BaseTool | dict[str, Any]] = (),
    ) -> BaseMessage:
        """Do as `ask`, in an async node."""
        made = await self.awrap_model_call(_request(model, messages, system, tools), _acalled)
        return made.result[0]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Record new messages, send what fits, and record the reply."""
        asked, sent = self._before(request)
        with _heard() as chunks:
            try:
                try:
                    response = handler(sent)
                except ContextOverflowError:
                    if (shorter := self._shorter(asked)) is None:
                        raise
                    asked, sent = shorter, sent.override(messages=shorter.messages)
                    response = handler(sent)
            except BaseException:
                self._cut(asked, chunks)
                raise
        self._after(asked, response)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same for async agents."""
        asked, sent = await in_thread(self._before, request)
        with _heard() as chunks:
            try:
                try:
                    response = await handler(sent)
                except ContextOverflowError:
                    if (shorter := await in_thread(self._shorter, asked)) is None:
                        raise
                    asked, sent = shorter, sent.override(messages=shorter.messages)
                    response = await handler(sent)
            except BaseException:
                await to_end(self._cut, asked, chunks)
                raise
        await to_end(self._after, asked, response)
        return response

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Run a tool; agents that it runs belong to this agent's user."""
        with self._calling(request):
            return handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """The same for async agents."""
        with self._calling(request):
            return await handler(request)

    @contextmanager
    def _calling(self, request: ToolCallRequest) -> Iterator[None]:
        """Keep a tool call known to the agents within it."""
        made = self.hosted.safely("tell agents apart", "", lambda: self._open_call(request), None, passes=True)
        token = CURRENT_CALL.set(made or CURRENT_CALL.get())
        try:
            yield
        finally:
            if made:
                made.is_open = False
            CURRENT_CALL.reset(token)

    def _open_call(self, request: ToolCallRequest) -> AgentCall:
        config, context, call = request.runtime.config, request.runtime.context, request.tool_call
        configurable = config.get("configurable", {})
        around, thread = _call_around(configurable), str(configurable.get(THREAD) or "")
        conversation = self._thread(config, request.state)
        return AgentCall(
            child_id(conversation, call["name"], call["id"] or ""),
            _graph(configurable),
            frozenset({*((thread,) if thread else ()), *(around.busy if around else ())}),
            around,
            partial(self._scope, conversation, config, context, around),
            root=_root(configurable),
            thread=self._root_thread(configurable),
        )

    def _before(self, request: ModelRequest[Any]) -> tuple[HostRequest | None, ModelRequest[Any]]:
        """Return squidbot's request, None if it has no part in the call, and the request to send."""
        for key in SERVER_HELD:
            if request.model_settings.get(key):
                raise server_held(f"model_settings[{key!r}]")
        if getattr(request.model, "use_previous_response_id", False):
            raise server_held("use_previous_response_id")
        thread = self._thread(get_config(), request.state)
        if not thread:
            self.hosted.warn_once(NO_THREAD)
            return None, request
        asked = self.hosted.safely(REQUEST, thread, lambda: self._asked(thread, request))
        # A reply is recorded behind its own request only.
        return asked, request if asked is None else request.override(messages=asked.messages)

    def _asked(self, thread: str, request: ModelRequest[Any]) -> HostRequest:
        for message in request.messages[:RIVALS_AT]:  # the host shows no middleware its neighbours
            for where, key, name, advice in RIVALS:
                if key in getattr(message, where):
                    text = f"{name} removes messages before squidbot sees them; {advice}"
                    self.hosted.warn_once(text)
        tools = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in request.tools]
        if request.response_format is not self._schemas[0]:
            self._schemas = request.response_format, _schemas(request.response_format)
        conversation = self._conversation(thread, request)
        asked = conversation.before(
            _as_kept(request.messages, request.state.get("messages") or ()),
            system=request.system_prompt or "",
            tools=[*tools, *self._schemas[1]],
            is_kept=self.hosted.safely(
                "see what LangGraph keeps", thread, lambda: _is_kept(get_config()), None, passes=True
            ),
        )
        # It reads what LangGraph keeps to itself, as `_thread` does.
        self.hosted.safely("record an agent's call", thread, lambda: _record_caller(conversation), None, passes=True)
        return asked

    def _shorter(self, asked: HostRequest | None) -> HostRequest | None:
        return asked and self.hosted.safely("shorten a request", asked.session_id, asked.shorter)

    def _after(self, asked: HostRequest | None, response: ModelResponse[Any]) -> None:
        # A structured answer is a call; the host's result comes with it.
        place = next((at for at, message in enumerate(response.result) if isinstance(message, AIMessage)), None)
        if asked is not None and place is not None:
            reply, *further = response.result[place:]
            self.hosted.safely(REPLY, asked.session_id, lambda: asked.after(reply, _usage(reply), further))

    def _cut(self, asked: HostRequest | None, chunks: Sequence[str]) -> None:
        """Record what came of a reply that was cut."""
        if asked is not None and (text := "".join(chunks)):
            self.hosted.safely(REPLY, asked.session_id, lambda: asked.after(_incomplete(text)))

    def _conversation(self, thread: str, request: ModelRequest[Any]) -> HostConversation:
        """Return the conversation with the model of a request: one thread may use several models at once."""
        model = request.model
        name = getattr(model, "model_name", None) or getattr(model, "model", None) or type(model).__name__
        profile = getattr(model, "profile", None) or {}
        config, context = get_config(), getattr(request.runtime, "context", None)
        scope = self._scope(thread, config, context, _call_around(config.get("configurable", {})))
        return self.hosted.conversation(thread, str(name), profile.get("max_input_tokens"), scope)

    def _scope(self, thread: str, config: Mapping[str, Any], context: object, call: OpenCall | None) -> Scope:
        """Return whose facts an agent uses that runs in a tool call, if in any."""
        configurable = config.get("configurable", {})
        scope = self.hosted.scope(
            thread,
            GraphContext(configurable, context),
            signed_in={USER_ID: configurable.get(SIGNED_IN)},
            configurable=configurable,
            context=context,
        )
        return scope_in(call.scope(), thread, scope) if call else scope

    def _root_thread(self, configurable: Mapping[str, Any]) -> str:
        """Return the thread_id of a run, or the id that it has instead in a tool call of the same thread."""
        call, thread = _call_around(configurable), str(configurable.get(THREAD) or "")
        if call is None or thread not in call.busy:
            return thread
        root = _root(configurable)
        if root is call.root:
            return call.thread
        if not call.is_open and root not in call.children:
            return thread
        return call.child(root, self.hosted.is_stored)

    def _thread(self, config: RunnableConfig, state: object) -> str:
        """Return the id of the conversation that an agent runs in; "" without a thread_id."""
        configurable = config.get("configurable", {})
        listed = state.get("messages") if isinstance(state, dict) else None
        thread = str(configurable.get(THREAD) or "")
        # It reads what LangGraph keeps to itself: another version of it must not stop a program.
        return thread and self.hosted.safely(
            "tell agents apart",
            thread,
            lambda: conversation_id(configurable, listed or (), self._root_thread(configurable)),
            thread,
            passes=True,
        )

    def _tool(self, tool: OwnTool) -> BaseTool:
        def call(runtime: ToolRuntime, **arguments: object) -> str:
            thread = self._thread(runtime.config, runtime.state)
            if not thread:
                return f"<{NO_THREAD}>"
            call = _call_around(runtime.config.get("configurable", {}))
            scope = partial(self._scope, thread, runtime.config, runtime.context, call)
            return self.hosted.answer(tool.name, thread, arguments, scope)

        async def acall(runtime: ToolRuntime, **arguments: object) -> str:
            return await in_thread(call, runtime, **arguments)

        schema = json.loads(json.dumps(tool.schema))
        return StructuredTool.from_function(
            call, acall, name=tool.name, description=tool.description, args_schema=schema
        )


Squidbot = SquidbotMiddleware


# Calls of a model without an agent.


def _request(
    model: BaseChatModel, messages: Sequence[BaseMessage], system: str, tools: Sequence[BaseTool | dict[str, Any]]
) -> ModelRequest[Any]:
    state: Any = {LIST: [*messages]}
    return ModelRequest(
        model=model, messages=state[LIST], system_prompt=system or None, tools=[*tools], state=state, runtime=None
    )


def _called(request: ModelRequest[Any]) -> ModelResponse[Any]:
    model, messages = _bound(request)
    return ModelResponse(result=[model.invoke(messages)])


async def _acalled(request: ModelRequest[Any]) -> ModelResponse[Any]:
    model, messages = _bound(request)
    return ModelResponse(result=[await model.ainvoke(messages)])


def _bound(request: ModelRequest[Any]) -> tuple[Any, list[BaseMessage]]:
    """Return the model with the tools of a request, and its messages behind the system text."""
    model: Any = request.model.bind_tools(request.tools) if request.tools else request.model
    system = [request.system_message] if request.system_message else []
    return model, [*system, *request.messages]


# What comes of a streamed reply: it is kept if the stream is cut.


class ReplyListener(BaseCallbackHandler):
    """Keeps the text of the newest reply of a model as it comes; only streamed replies come in pieces."""

    run_inline = True  # no thread for each piece

    def __init__(self) -> None:
        """Nothing has come yet."""
        self.pieces: list[str] = []

    def on_chat_model_start(self, *_: object, **__: object) -> None:
        """Begin a reply: what came of another one was not sent to the end."""
        self.pieces.clear()

    def on_llm_new_token(self, token: object, **_: object) -> None:
        """Take a piece."""
        if isinstance(token, str):
            self.pieces.append(token)


@contextmanager
def _heard() -> Iterator[list[str]]:
    """Yield the pieces of the reply that comes within the block."""
    listener = ReplyListener()
    token = var_child_runnable_config.set(merge_configs(get_config(), {"callbacks": [listener]}))
    try:
        yield listener.pieces
    finally:
        var_child_runnable_config.reset(token)


# Agents within agents. LangGraph names the graph that runs, and keeps what leads to the graph around it, under these
# keys of a configuration. `tests/plugins/test_langchain_agents.py` finds out if another version of it does not.
THREAD: Final = "thread_id"
CHECKPOINTER: Final = "__pregel_checkpointer"
NAMESPACE: Final = "checkpoint_ns"
CALL: Final = "__pregel_call"
TASK: Final = "__pregel_task_id"
# The list that an agent runs on; what only a function of the functional API has.
LIST: Final = "messages"
PREVIOUS: Final = "__previous__"


@dataclass(eq=False)
class AgentCall(OpenCall):
    """A tool call of an agent. LangGraph's runs of graphs are told apart: `run` is that of the agent.

    Attributes:
        root: the run of the graph around all others, on its thread.
        thread: the id that its conversations begin with.
    """

    root: object = None
    thread: str = ""


# The tool call that runs now. A thread_id of an agent's own makes LangGraph forget what is around it.
CURRENT_CALL: Final[ContextVar[AgentCall | None]] = ContextVar("squidbot_langchain_call", default=None)


def _call_around(configurable: Mapping[str, Any]) -> AgentCall | None:
    """Return the tool call in which an agent runs; None if it runs in none."""
    call = CURRENT_CALL.get()
    if call is None or CALL not in configurable or call.run is not _graph(configurable):
        return call
    return call.around  # type: ignore[return-value]  # of the same kind


def _root(configurable: Mapping[str, Any]) -> object:
    """Return the run of the graph around all others, on one thread."""
    graph = _graph(configurable)
    while CALL in (node := graph.config["configurable"]):
        graph = _graph(node)
    return graph


def conversation_id(configurable: Mapping[str, Any], listed: Sequence[BaseMessage], thread: str) -> str:
    """Return the id of the conversation that an agent runs in, from its configuration and the messages of its state.

    `thread` is the thread_id, or the id that stands for it in a tool call of the same thread.

    An agent that gets the whole list of the graph around it continues that graph's conversation. Any other agent
    within a graph has one of its own, for as long as LangGraph keeps its namespace.

    | agent | its namespace | its conversation |
    |---|---|---|
    | on its own | `model:ID` | the thread |
    | called in a tool | `tools:TASK|model:ID` | `thread/tools/TASK`, new for each call |
    | the second one that a tool or a node calls | `tools:TASK|1|model:ID` | `thread/tools/TASK/1` |
    | in a tool of an agent in a tool | `tools:TASK|tools:TASK|model:ID` | `thread/tools/TASK/tools/TASK` |
    | a node, or called in one, with the graph's list, and perhaps more | `node:TASK|model:ID` | the graph's |
    | the same, beside other nodes | `node:TASK|model:ID` | `thread/node` |
    | the same, several times by `Send` | `node:TASK|model:ID` | `thread/node/0`, `thread/node/1`, ... |
    | the second one on that list that a node calls, or that a retry starts | `node:TASK|1|model:ID` | `thread/node/1` |
    | the same, where the graph keeps the list under another key | `node:TASK|model:ID` | `thread/key` |
    | called in a node with other messages, or with some of the list | `node:TASK|model:ID` | `thread/node/TASK` |
    | compiled with `checkpointer=True`: it has a list of its own | `node|model:ID` | `thread/node` |
    | called in an `@entrypoint` or its tasks, which have no list | `name:TASK|model:ID` | the entrypoint's |
    | called with a thread_id of its own | `tools:TASK|model:ID`, `model:ID` | that thread |
    | called in a tool with the thread_id of its caller, given again | `model:ID` | `thread/TOOL/CALL_ID` |

    An agent that continues after an interrupt keeps its task, and so its conversation. Agents beside each other do not
    see each other's messages: those come with the graph's list, to the agents behind them and in the next turn.
    """
    graph, key = _graph(configurable), LIST
    below: list[str] = []
    while key == LIST and CALL in (node := graph.config["configurable"]):
        around = _graph(node)
        if around.config["configurable"].get(THREAD) != configurable.get(THREAD):
            return thread
        parts = node[NAMESPACE].split("|")
        # Numbers count the agents of a node; a node's own name may be a number, too.
        if ":" not in next((part for part in reversed(parts) if not part.isdigit()), parts[0]):
            break
        if PREVIOUS not in around.channels:
            key, listed = _shared(around.channels, listed)
            below = [*(_apart(around.tasks, node[NAMESPACE]) if key else ()), *below]
        graph = around if key else graph
    outer = (graph.config["configurable"].get(NAMESPACE) or "").replace(":", "|").split("|")
    named = "/".join(part for part in (thread, *outer, key if key != LIST else "", *below) if part)
    return named if named == thread else short_id(named)


def calling(configurable: Mapping[str, Any]) -> str:
    """Return the id of the tool call that an agent runs in; "" if it runs in none, or in a node that answers several.

    The task of a node has the calls that the node answers.
    """
    node = _graph(configurable).config["configurable"]
    while CALL in node:
        around = _graph(node)
        if calls := _tool_calls(around.tasks[node[TASK]].input):
            return str(calls[0]["id"] or "") if len(calls) == 1 else ""
        node = around.config["configurable"]
    return ""


def _tool_calls(given: Any) -> Sequence[Mapping[str, Any]]:  # noqa: ANN401  # the input of any node
    """Return the tool calls that a node answers, by its input: these calls, or a list that ends with them."""
    if isinstance(given, dict) and "tool_call" in given:
        return [given["tool_call"]]
    listed = given.get(LIST) if isinstance(given, dict) else given
    if not isinstance(listed, list) or not listed:
        return ()
    last = listed[-1]
    if isinstance(last, dict) and last.get("type") == "tool_call":
        return listed
    return getattr(last, "tool_calls", None) or ()


def _record_caller(conversation: HostConversation) -> None:
    if call_id := calling(get_config().get("configurable", {})):
        conversation.works_for(call_id)


def _graph(configurable: Mapping[str, Any]) -> Any:  # noqa: ANN401  # LangGraph keeps its type to itself
    """Return the run of the graph that a node belongs to: its `config` comes from the node around it."""
    return configurable[CALL].keywords["schedule_task"].__self__


def _apart(tasks: Mapping[str, Any], namespace: str) -> list[str]:
    """Return what tells an agent from those that a graph runs beside it on one list; nothing if there are none.

    `tasks` are those of the graph's current step. A node beside others has its name, and its number if it was sent.
    So has an agent that is not the first one that its node calls, itself or in a `@task`.
    """
    found: list[str] = []
    label: list[str] = []
    is_apart = False
    nodes = sum(not isinstance(task.path[1], tuple) for task in tasks.values())
    for part in namespace.split("|"):
        name, _, task_id = part.rpartition(":")
        if task := tasks.get(task_id):
            # A node's path is its name or, for a `Send`, a number; a `@task` has its node's path and a number.
            label = [name, *(str(each) for each in task.path[1:3] if type(each) is int)]
            is_apart = task.path[2] > 0 if isinstance(task.path[1], tuple) else nodes > 1
            found += label if is_apart else []
        elif label:
            found += [part] if is_apart else [*label, part]
    return found


def _shared(channels: Mapping[str, Any], listed: Sequence[BaseMessage]) -> tuple[str, Sequence[BaseMessage]]:
    """Return the list of a graph's state that is part of an agent's list, and its key; "" if there is none.

    A graph whose list ends with open calls waits for its tools: their agents do not continue it.
    """
    for key, channel in sorted(channels.items(), key=lambda each: each[0] != LIST):
        whole = channel.get() if channel.is_available() else None
        if not isinstance(whole, list) or not whole or getattr(whole[-1], "tool_calls", None):
            continue
        first, last = (getattr(whole[at], "id", None) for at in (0, -1))
        starts = range(len(listed) - len(whole) + 1)
        at = next((at for at in starts if first and listed[at].id == first), None)
        if at is not None and listed[at + len(whole) - 1].id == last:
            return key, whole
    return "", ()


def _schemas(form: object) -> list[dict[str, object]]:
    """Return a tool or a schema for each type of a response format, as the model gets them."""
    if isinstance(form, AutoStrategy):
        form = ToolStrategy(form.schema)
    specs = getattr(form, "schema_specs", None) or [getattr(form, "schema_spec", None)]
    return [
        {"name": spec.name, "description": spec.description or "", "parameters": spec.json_schema}
        for spec in specs
        if spec is not None
    ]


def _is_kept(config: RunnableConfig) -> bool | None:
    """Return whether LangGraph has kept the list of an agent for longer than this call; None: it keeps none."""
    configurable = config.get("configurable", {})
    if not configurable.get(CHECKPOINTER) or "|" in str(configurable.get("checkpoint_ns")):
        return None
    # A new thread reaches the model after at most one step of each node.
    nodes = getattr(_graph(configurable), "nodes", ())
    return int((config.get("metadata") or {}).get("langgraph_step") or 0) > len(nodes) > 0


def _as_kept(listed: Sequence[BaseMessage], kept: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return the messages of a request as the state keeps them, and those that middleware has put between.

    What middleware clears or removes in a request is no edit: the state still has it.
    """
    if listed is kept or (len(listed) >= len(kept) and all(map(operator.is_, listed, kept))):
        return listed
    places = {message.id: place for place, message in enumerate(kept) if message.id}
    found: list[BaseMessage] = []
    behind = 0
    for message in listed:
        place = places.get(message.id or "", behind - 1)
        found += kept[behind : place + 1] if place >= behind else [message] if message.id not in places else []
        behind = max(behind, place + 1)
    return [*found, *kept[behind:]]


def _incomplete(text: str) -> AIMessage:
    return AIMessage(text, response_metadata={"finish_reason": "incomplete"})


def _usage(reply: BaseMessage) -> Usage | None:
    used = getattr(reply, "usage_metadata", None)
    if not used or not used["input_tokens"]:
        return None
    cached = (used.get("input_token_details") or {}).get("cache_read", 0)
    return Usage(used["input_tokens"], used["output_tokens"], cached)


def _key(payload: Mapping[str, object]) -> object:
    """Return the type, the content, the calls, and the call that a message answers."""
    data = payload.get("data")
    data = data if isinstance(data, dict) else {}
    kind = str(payload.get("type")).removesuffix("MessageChunk").lower()
    return kind, data.get("content"), data.get("tool_calls") or [], data.get("tool_call_id")


def _mark(message: BaseMessage) -> int:
    """Return a number that changes with the words of a message, or with its calls."""
    return digest(message.content, getattr(message, "tool_calls", None))


def _id_of(message: BaseMessage | dict[str, Any]) -> str:
    """Return the id of a message, or of its payload: LangGraph gives one to each message of a state."""
    return (message["data"].get("id") if isinstance(message, dict) else message.id) or ""


def _load(payload: str) -> list[BaseMessage]:
    made = json.loads(payload)
    return messages_from_dict(made if isinstance(made, list) else [made])
