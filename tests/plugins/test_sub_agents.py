"""An agent that a tool calls gets its caller's context on purpose: `sub_agent` in each host, with the real package."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llm
import pytest
from agents import Agent, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from click.testing import CliRunner
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from llm.plugins import load_plugins, pm
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from squidbot.cli import main
from squidbot.core.last_request import REQUEST, LastRequest
from squidbot.core.transcript.documents import DOCUMENT, DocumentChange
from squidbot.core.transcript.lineage import parent_of
from squidbot.core.transcript.records import append
from squidbot.core.transcript.windows import WINDOW
from squidbot.plugins import langchain, openai_agents, pydantic_ai
from squidbot.plugins import llm as plugin
from squidbot.plugins.host import CANCELLED
from squidbot.testing.hosts import rows

from .program_langchain import OfflineModel
from .program_openai_agents import UNTRACED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.engine import Engine
    from squidbot.plugins.host import HostRuntime

SMALL_TOKENS = 4_000
TALK, TASK, DONE = "The walrus sleeps at the harbour.", "Find the lexer's tests.", "They are in tests/lexer."


class ChatModel(OfflineModel):
    """LangChain's: it calls the tool for the user's message if it has one."""

    model_name: str
    seen: list[str] = []  # noqa: RUF012  # pydantic copies it

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        self.seen.append(str([message.content for message in messages]))
        calls = self.model_name == "large" and not isinstance(messages[-1], ToolMessage)
        call: Any = [{"name": "research", "args": {"task": TASK}, "id": f"c{len(messages)}"}] if calls else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if calls else DONE, tool_calls=call))])


class LLMModel(llm.Model):
    """llm's: the same."""

    can_stream = False
    supports_tools = True

    def __init__(self, model_id: str) -> None:
        self.model_id, self.seen = model_id, list[str]()

    def execute(self, prompt: llm.Prompt, stream: object, response: Any, conversation: object) -> Iterator[str]:  # noqa: ANN401  # llm's
        """Answer."""
        del stream, conversation
        self.seen.append(str([message.to_dict() for message in prompt.messages]))
        if self.model_id == "large" and prompt.messages[-1].role != "tool":
            response.add_tool_call(llm.ToolCall("research", {"task": TASK}, f"c{len(self.seen)}"))
            yield ""
        else:
            yield DONE


def in_langchain(settings: dict[str, Any], child_id: str | None) -> tuple[HostRuntime, Callable[[], list[str]]]:
    """Return the runtime, and what runs a turn and returns the sub-agent's requests."""
    squid = langchain.Squidbot(settings=settings, on_error="raise")
    small, large = (ChatModel(model_name=name, seen=[]) for name in ("small", "large"))
    researcher: Any = create_agent(small, [], middleware=[squid])

    @tool
    def research(task: str) -> str:
        """Ask the researcher."""
        thread = {"configurable": {"thread_id": squid.sub_agent("chat-1", "researcher", child_id)}}
        return str(researcher.invoke({"messages": [("user", task)]}, thread)["messages"][-1].text)

    agent: Any = create_agent(large, [research], middleware=[squid])

    def turn() -> list[str]:
        agent.invoke({"messages": [("user", TALK)]}, {"configurable": {"thread_id": "chat-1"}})
        return small.seen

    return squid.hosted, turn


def in_pydantic_ai(settings: dict[str, Any], child_id: str | None) -> tuple[HostRuntime, Callable[[], list[str]]]:
    """The same."""
    squid, seen = pydantic_ai.Squidbot(settings=settings, on_error="raise"), list[str]()

    def small(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        seen.append(str(messages))
        return ModelResponse([TextPart(DONE)])

    def large(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1].part_kind
        call = ToolCallPart("research", {"task": TASK}, tool_call_id=f"c{len(messages)}")
        return ModelResponse([TextPart(DONE) if last == "tool-return" else call])

    researcher = PydanticAgent(FunctionModel(small, model_name="small"), capabilities=[squid])
    agent = PydanticAgent(FunctionModel(large, model_name="large"), capabilities=[squid])

    @agent.tool
    async def research(ctx: RunContext[None], task: str) -> str:
        child = squid.sub_agent(str(ctx.conversation_id), "researcher", child_id)
        return (await researcher.run(task, conversation_id=child)).output

    def turn() -> list[str]:
        asyncio.run(agent.run(TALK, conversation_id="chat-1"))
        return seen

    return squid.hosted, turn


def in_openai_agents(settings: dict[str, Any], child_id: str | None) -> tuple[HostRuntime, Callable[[], list[str]]]:
    """The same."""
    squid, seen = openai_agents.Squidbot(settings=settings, on_error="raise"), list[str]()

    async def research(task: str) -> str:
        """Ask the researcher."""
        model = ScriptedModel([[assistant_message(DONE)]])
        model.model = "small"
        options = squid.options(squid.sub_agent("chat-1", "researcher", child_id), run_config=UNTRACED)
        made = await Runner.run(Agent("researcher", model=model), task, **options)
        seen.extend(str(call.input) for call in model.calls)
        return str(made.final_output)

    def turn() -> list[str]:
        call = function_call("research", {"task": TASK}, call_id=f"c{len(seen)}")
        model = ScriptedModel([[call], [assistant_message(DONE)]])
        agent: Any = Agent("main", model=model, tools=[function_tool(research)])
        asyncio.run(Runner.run(agent, TALK, **squid.options("chat-1", run_config=UNTRACED)))
        return seen

    return squid.hosted, turn


def in_llm(settings: dict[str, Any], child_id: str | None) -> tuple[HostRuntime, Callable[[], list[str]]]:
    """The same; squidbot is on for all models of llm."""
    path = Path(settings["store"]["path"])
    toml = path.with_name("squidbot.toml")
    toml.write_text(f'[store]\npath = "{path}"\n[models.small]\ncontext_window = {SMALL_TOKENS}\n', "utf-8")
    switch = plugin.Switch("", None, str(toml))
    plugin.write(path.with_name(plugin.SWITCH), switch)
    small, large = LLMModel("small"), LLMModel("large")
    load_plugins()  # type: ignore[no-untyped-call]  # as it is

    class Models:
        @llm.hookimpl
        def register_models(self, register: Callable[..., None]) -> None:
            register(small)
            register(large)

    for each in (plugin, Models()):
        if not pm.is_registered(each):
            pm.register(each)

    def research(task: str) -> str:
        """Ask the researcher."""
        talk = llm.get_model("small").conversation()
        talk.id = plugin.sub_agent("chat-1", "researcher", child_id)
        return str(talk.prompt(task).text())

    def turn() -> list[str]:
        talk = llm.get_model("large").conversation(tools=[llm.Tool.function(research)])  # type: ignore[no-untyped-call]  # as it is
        talk.id = "chat-1"
        talk.chain(TALK).text()
        return small.seen

    return plugin.opened(switch), turn


PROGRAMS = {"LangChain": in_langchain, "pydantic-ai": in_pydantic_ai, "OpenAI Agents": in_openai_agents, "llm": in_llm}


@pytest.fixture(autouse=True)
def own_llm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give llm a folder of its own, and take the models away again."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    plugin.opened.cache_clear()
    known = pm.get_plugins()
    yield
    plugin.opened.cache_clear()
    for each in pm.get_plugins() - known:
        pm.unregister(each)


def give_context(engine: Engine) -> None:
    """Let the caller have a goal, a decision, and a document."""
    session = engine.session("chat-1")
    for action, text in (("set", "Ship the parser"), ("lock", "No threads")):
        session.goals.change(action, text)
    for name, text in (("rules.md", "Tests stand beside the code."), ("long.md", "All that is known. " * 1_200)):
        change = DocumentChange(name, text)
        append(engine.wired.store, "chat-1", DOCUMENT, lambda change=change: change, "nothing")  # type: ignore[misc]


def json_of(*words: str | Path) -> dict[str, Any]:
    """Return what a command of `session` prints as JSON; the store is the last word."""
    result = CliRunner().invoke(main, ["session", *map(str, words[:-1]), "--store", str(words[-1]), "--json"])
    made: dict[str, Any] = json.loads(result.output)
    return made


@pytest.mark.parametrize("host", PROGRAMS)
def test_a_sub_agent_has_its_callers_context_and_its_own_models_window(host: str, tmp_path: Path) -> None:
    """Goals, decisions, documents, not the talk; the caller's call stays open, its conversation as it was (P-04)."""
    path = tmp_path / "mem.db"
    settings = {"store": {"path": str(path)}, "models": {"small": {"context_window": SMALL_TOKENS}}}
    hosted, turn = PROGRAMS[host](settings, None)
    give_context(hosted.engine)
    (request,) = turn()
    for text in ("Ship the parser", "No threads", "Tests stand beside the code.", TASK):
        assert text in request
    assert TALK not in request
    store = hosted.engine.wired.store
    known = parent_of(store, "chat-1/researcher")
    assert known is not None
    assert (known.other, known.way) == ("chat-1", "sub-agent")
    window, record = WINDOW.newest(store, "chat-1/researcher"), store.last_record("chat-1/researcher", REQUEST)
    assert window is not None
    assert record is not None
    assert (window.model, window.window_tokens) == ("small", SMALL_TOKENS)
    assert LastRequest.of(record).cost.bound + window.reserved_output_tokens <= SMALL_TOKENS
    texts = [text for _, text in rows(path, "chat-1")]
    assert [bool(row.call_ids) for row, _ in rows(path, "chat-1")] == [False, True, False, False]
    assert (texts[0], texts[2], texts[3]) == (TALK, DONE, DONE)
    assert CANCELLED not in texts
    assert [text for _, text in rows(path, "chat-1/researcher")] == [TASK, DONE]
    first, second = (json_of(*words, path) for words in (("show", "chat-1/researcher"), ("explain", "chat-1", "m1")))
    # The time tells.
    assert (first["parent"], first["call"]) == ("chat-1", {"message": "m1", "id": None})
    assert second["message"]["children"] == [{"session": "chat-1/researcher", "call": None}]
    assert len(turn()) == 2
    assert [text for _, text in rows(path, "chat-1/researcher")] == [TASK, DONE] * 2, "it remembers"
    hosted.close()


def test_a_sub_agent_with_the_id_of_a_call_leads_to_it(tmp_path: Path) -> None:
    """As the page says how to have a conversation for each call."""
    settings = {"store": {"path": str(tmp_path / "mem.db")}}
    hosted, turn = in_openai_agents(settings, "chat-1/researcher/c0")
    turn()
    made = json_of("explain", "chat-1", "m1", tmp_path / "mem.db")["message"]
    assert made["children"] == [{"session": "chat-1/researcher/c0", "call": "c0"}]
    hosted.close()


@pytest.mark.parametrize("host", PROGRAMS)
def test_a_sub_agent_that_cannot_have_the_context_runs_without_it(
    host: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its conversation has begun before; the log says so, and the program goes on."""
    settings = {"store": {"path": str(tmp_path / "mem.db")}}
    hosted, turn = PROGRAMS[host](settings, "taken")
    hosted._on_error = "pass"
    hosted.engine.session("taken").record("Hello.")
    give_context(hosted.engine)
    with caplog.at_level(logging.WARNING, "squidbot"):
        (request,) = turn()
    assert "Ship the parser" not in request
    assert "squidbot could not give a sub-agent its caller's context" in caplog.text
    assert "a session 'taken' already exists" in caplog.text
    hosted.close()


def test_a_users_sub_agent_is_that_users(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """From its beginning, in any process: neither another user nor nobody gets the context."""
    settings = {"store": {"path": str(tmp_path / "mem.db")}}
    squid = pydantic_ai.Squidbot(settings=settings)
    seen = list[str]()

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        seen.append(str(messages))
        return ModelResponse([TextPart(DONE)])

    def ask(squid: pydantic_ai.Squidbot, conversation_id: str, user: str | None) -> str:
        agent = PydanticAgent(FunctionModel(answer), capabilities=[squid], deps_type=object)
        deps = {"user_id": user} if user else None
        asyncio.run(agent.run(TASK, conversation_id=conversation_id, deps=deps))
        return seen[-1]

    ask(squid, "chat-1", "ann")
    give_context(squid.hosted.engine)
    squid.hosted.close()
    squid = pydantic_ai.Squidbot(settings=settings)
    child = squid.sub_agent("chat-1", "researcher")
    with caplog.at_level(logging.WARNING, "squidbot"):
        for user in ("ben", None):
            assert "Ship the parser" not in ask(squid, child, user)
    assert "belongs to another user" in caplog.text
    assert "Ship the parser" in ask(squid, child, "ann")
