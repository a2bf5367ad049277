"""Agent programs of hosts, each with a model that answers at once: bare, with squidbot, or with what the host ships."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from squidbot.core.memories import NOBODY
from squidbot.wiring.person import machine_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from squidbot.core.memories import Scope

__all__ = ["BUDGET", "HOSTS", "SAID", "TALK", "Agent", "Seen", "langchain", "openai_agents", "pydantic_ai"]

BUDGET = 8_000
TALK = "benchmark"
SAID = "Done: the price index is rebuilt, and the cache holds it for ten minutes. " * 12


class Seen:
    """What a model is sent: the newest request and, if `keeps`, how long the longest one was, in characters.

    `asked` is what it looks for, once, by the first of its tools that searches; "": it calls no tool. `hands` is what a
    bare program hands over in front of the next turn.
    """

    def __init__(self) -> None:
        """Nothing has been sent yet."""
        self.newest: Sequence[Any] = ()
        self.longest_chars = 0
        self.keeps = False
        self.asked = ""
        self.hands: Sequence[Any] = ()

    def note(self, request: Sequence[Any]) -> None:
        """Take a request."""
        self.newest = request
        if self.keeps:
            self.longest_chars = max(self.longest_chars, len(self.text))

    def searching(self, tools: Iterable[str]) -> tuple[str, dict[str, Any]] | None:
        """Return the call of a tool that looks for what is asked; None where nothing is, or none of these does that."""
        query, self.asked = self.asked, ""
        found = next((name for name in tools if "search" in name), "")
        return (found, {"query": query}) if query and found else None

    @property
    def text(self) -> str:
        """The newest request as text."""
        return "\n".join(map(_text, self.newest))


class Agent(NamedTuple):
    """A program: what runs a turn, what its model has seen, and what ends it."""

    turn: Callable[[str], object]
    seen: Seen
    close: Callable[[], object] = lambda: None


def langchain(path: Path | None, *, lists_all: bool = False, others: Sequence[Any] = ()) -> Agent:
    """Return an agent of LangChain; one that lists all has a checkpointer. `others`: more middleware."""
    from langchain.agents import create_agent  # noqa: PLC0415  # a host is imported where it is measured
    from langchain_core.language_models import BaseChatModel  # noqa: PLC0415
    from langchain_core.messages import AIMessage  # noqa: PLC0415
    from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415
    from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

    from squidbot.plugins.langchain import Squidbot  # noqa: PLC0415

    seen = Seen()

    class Answering(BaseChatModel):
        _llm_type = "answering"
        tools: tuple[str, ...] = ()

        def bind_tools(self, tools: Sequence[Any], **_: object) -> Answering:
            return Answering(tools=tuple(each.name for each in tools))

        def _generate(self, messages: list[Any], *_: object, **__: object) -> ChatResult:
            seen.note(messages)
            name, arguments = seen.searching(self.tools) or ("", {})
            calls = [{"name": name, "args": arguments, "id": "c1"}] if name else []
            said = AIMessage("" if calls else SAID, tool_calls=calls)
            return ChatResult(generations=[ChatGeneration(message=said)])

    ours: list[Any] = [Squidbot(path, budget=BUDGET)] if path else []
    agent = create_agent(
        Answering(), middleware=[*ours, *others], checkpointer=InMemorySaver() if lists_all or others else None
    )
    run: Any = agent.invoke
    thread = {"configurable": {"thread_id": TALK}}

    def turn(text: str) -> object:
        return run({"messages": [*seen.hands, ("user", text)]}, thread)["messages"]

    return Agent(turn, seen, _closing(ours))


def pydantic_ai(path: Path | None, *, lists_all: bool = False, others: Sequence[Any] = ()) -> Agent:
    """Return an agent of pydantic-ai; to one that lists all its caller hands what was said. `others`: capabilities."""
    import pydantic_ai as host  # noqa: PLC0415
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart  # noqa: PLC0415
    from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: PLC0415

    seen = Seen()

    async def answer(messages: list[ModelMessage], told: AgentInfo) -> ModelResponse:
        seen.note(messages)
        call = seen.searching(each.name for each in told.function_tools)
        return ModelResponse([ToolCallPart(*call, "c1") if call else TextPart(SAID)])

    ours: list[Any] = []
    if path:
        from squidbot.plugins.pydantic_ai import Squidbot  # noqa: PLC0415

        ours = [Squidbot(path, budget=BUDGET)]
    agent: Any = host.Agent(FunctionModel(answer), capabilities=[*ours, *others])
    past: list[ModelMessage] = []

    def turn(text: str) -> object:
        handed = past if lists_all or others else seen.hands
        run = agent.run_sync(text, conversation_id=TALK, message_history=[*handed] or None)
        if lists_all or others:
            past[:] = run.all_messages()
        return run

    return Agent(turn, seen, _closing(ours))


def llm(path: Path | None, *, lists_all: bool = False) -> Agent:
    """Return a conversation of llm, which lists all that it knows; one that does not begins anew with each turn."""
    import llm as host  # noqa: PLC0415

    seen = Seen()

    class Answering(host.Model):
        model_id = "answering"

        def execute(self, prompt: Any, *_: object, **__: object) -> Any:  # noqa: ANN401  # as the host has it
            seen.note(prompt.messages)
            yield SAID

    model: Any = Answering()
    if path:
        from squidbot.plugins import llm as plugin  # noqa: PLC0415

        # The switch is read when models are registered, so it need not be the user's own.
        os.environ["LLM_USER_PATH"] = str(path.parent)
        plugin.write(path.parent / plugin.SWITCH, plugin.Switch(str(path), BUDGET))
        plugin.register_models(None, [host.models.ModelWithAliases(model, None, set())])  # type: ignore[arg-type]
    talk = model.conversation()
    talk.id = TALK

    def turn(text: str) -> object:
        if not lists_all:
            talk.responses.clear()
        return talk.prompt(text).text()

    return Agent(turn, seen)


def openai_agents(path: Path | None, *, lists_all: bool = False, session: object = None) -> Agent:
    """Return an agent of the OpenAI Agents SDK; one that lists all has the host's own session, in memory or given."""
    import agents as host  # noqa: PLC0415
    from agents.models.interface import Model  # noqa: PLC0415
    from agents.testing import assistant_message, function_call  # noqa: PLC0415

    from squidbot.plugins.openai_agents import Squidbot  # noqa: PLC0415

    host.set_tracing_disabled(disabled=True)
    seen = Seen()

    class Answering(Model):  # type: ignore[misc]  # mypy reads no types of the host
        async def get_response(self, *_: object, **told: Any) -> Any:  # noqa: ANN401
            given = told["input"]
            seen.note([given] if isinstance(given, str) else given)
            call = seen.searching(each.name for each in told["tools"])
            said = function_call(call[0], call[1], call_id="c1") if call else assistant_message(SAID)
            return host.ModelResponse([said], host.Usage(), None)

        def stream_response(self, *_: object, **__: object) -> Any:  # noqa: ANN401
            raise NotImplementedError

    squid = Squidbot(path, budget=BUDGET) if path else None
    agent = host.Agent("a", model=Answering(), tools=[*squid.tools] if squid else [])
    kept = session or (host.SQLiteSession(TALK) if lists_all and not squid else None)

    def turn(text: str) -> object:
        if squid:
            return host.Runner.run_sync(agent, text, **squid.options(TALK))
        if kept:
            return host.Runner.run_sync(agent, text, session=kept)
        return host.Runner.run_sync(agent, [*seen.hands, {"role": "user", "content": text}])

    return Agent(turn, seen, _closing([squid] if squid else []))


class Driver(NamedTuple):
    """How an agent of a host is made, which package that takes, the form of its messages, and whose talk it is."""

    make: Callable[..., Agent]
    package: str
    form: str
    scope: Scope = NOBODY

    @property
    def is_here(self) -> bool:
        """Whether the host is installed."""
        return find_spec(self.package) is not None


HOSTS = {
    "LangChain": Driver(langchain, "langchain", "lc/1"),
    "llm": Driver(llm, "llm", "llm/1", machine_user()),
    "OpenAI Agents SDK": Driver(openai_agents, "agents", "openai.responses"),
    "pydantic-ai": Driver(pydantic_ai, "pydantic_ai", "pydantic_ai/2"),
}


def _closing(ours: Sequence[Any]) -> Callable[[], object]:
    return lambda: [each.hosted.close() for each in ours]


def _text(message: object) -> str:
    if isinstance(message, dict):
        return str(message.get("content") or message)
    parts = getattr(message, "parts", None)
    if parts is not None:
        return "\n".join(str(getattr(part, "content", getattr(part, "text", ""))) for part in parts)
    return str(getattr(message, "content", message))
