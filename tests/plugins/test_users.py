"""Many users in one program: whose facts are told, found and kept is decided in each call of the host."""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from agents import Agent, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import squidbot
from squidbot import SHARED, ConfigError, Scope
from squidbot.core.memory.view import NewMemory
from squidbot.plugins import langchain, openai_agents, pydantic_ai

from .program_langchain import OfflineModel
from .program_openai_agents import UNTRACED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from squidbot.plugins.host import HostRuntime

ZEBRA = "zebra-77 is the password hint of the first user, who lives in Bern."
ADD = {"text": ZEBRA, "category": "core"}
SEARCH = {"query": "zebra password hint of the first user"}


# How many talk at once.
USERS = 12


@dataclass
class Deps:
    """A program's own dependencies."""

    user_id: object = None
    account: str = ""


def _asked(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the call that a model makes for a user's text."""
    return {"Remember it.": ("memory_add", ADD), "What do you know?": ("memory_search", SEARCH)}.get(text)


class Graph(OfflineModel):
    """LangChain's model: it calls what it is asked for, and keeps what it was sent."""

    seen: list[Any] = []  # noqa: RUF012  # pydantic copies it

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        self.seen.append(str([message.content for message in messages]))
        last = messages[-1]
        # The text of a fact may stand behind the user's words.
        call = _asked(str(last.content).split("\n")[0]) if isinstance(last, HumanMessage) else None
        calls: Any = [{"name": call[0], "args": call[1], "id": f"c{len(messages)}"}] if call else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage("" if calls else "Fine.", tool_calls=calls))])


class LangChain:
    """An agent of LangChain; users are in `configurable`."""

    def __init__(self, path: Path, **options: Any) -> None:  # noqa: ANN401  # of the plugin
        self.squidbot = langchain.Squidbot(path, budget=8_000, **options)
        self.model = Graph(seen=[])
        made: Any = create_agent(self.model, [], middleware=[self.squidbot], checkpointer=InMemorySaver())
        self.agent = made

    def say(self, text: str, thread: str, user: object = None, **more: Any) -> str:  # noqa: ANN401  # of the host
        """Return all that the model was sent in a turn."""
        self.model.seen.clear()
        named = {} if user is None else {"user_id": user}
        self.agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread, **named}}, **more)
        return "\n".join(self.model.seen)


class PydanticAI:
    """An agent of pydantic-ai; users are in `deps`."""

    def __init__(self, path: Path, **options: Any) -> None:  # noqa: ANN401  # of the plugin
        self.squidbot = pydantic_ai.Squidbot(path, budget=8_000, **options)
        self.seen: list[str] = []
        self.agent = PydanticAgent(FunctionModel(self.answer), capabilities=[self.squidbot], deps_type=object)

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Answer offline."""
        del info
        self.seen.append(str(messages))
        last = messages[-1].parts[-1]
        text = getattr(last, "content", "")
        call = _asked(str(text).split("\n")[0]) if last.part_kind == "user-prompt" else None
        return ModelResponse([ToolCallPart(*call, tool_call_id=f"c{len(messages)}") if call else TextPart("Fine.")])

    def say(self, text: str, thread: str, user: object = None) -> str:
        """Return all that the model was sent in a turn."""
        self.seen.clear()
        deps = user if isinstance(user, Deps) else None if user is None else {"user_id": user}
        asyncio.run(self.agent.run(text, conversation_id=thread, deps=deps))
        return "\n".join(self.seen)


class OpenAIAgents:
    """An agent of OpenAI's SDK; users are in the run's context."""

    def __init__(self, path: Path, **options: Any) -> None:  # noqa: ANN401  # of the plugin
        self.squidbot = openai_agents.Squidbot(path, budget=8_000, **options)

    def say(self, text: str, thread: str, user: object = None) -> str:
        """Return all that the model was sent in a turn."""
        call = _asked(text)
        steps: Any = [[function_call(call[0], call[1], call_id=f"c{thread}")]] if call else []
        model = ScriptedModel([*steps, [assistant_message("Fine.")]])
        agent: Any = Agent("a", model=model, tools=[*self.squidbot.tools])
        context = user if isinstance(user, Deps) else None if user is None else {"user_id": user}
        options = self.squidbot.options(thread, run_config=UNTRACED)
        asyncio.run(Runner.run(agent, text, context=context, **options))
        return "\n".join(str(each.input) for each in model.calls)


HOSTS = pytest.mark.parametrize("host", [LangChain, PydanticAI, OpenAIAgents])


@HOSTS
def test_nothing_of_one_user_is_told_to_another(host: type[LangChain], tmp_path: Path) -> None:
    """A.1: neither unasked nor in the answer of the search; the user finds it in another thread."""
    program = host(tmp_path / "mem.db")
    assert "Its id is" in program.say("Remember it.", "u1-1", "u1")
    for number, text in enumerate(("What do you know?", "Hello.")):
        assert "zebra-77" not in program.say(text, f"u2-{number}", "u2")
        assert "zebra-77" in program.say(text, f"u1-{number + 2}", "u1")
    program.squidbot.hosted.close()


@HOSTS
def test_without_a_user_facts_belong_to_the_conversation(host: type[LangChain], tmp_path: Path) -> None:
    """A.1: no other conversation finds them, nor a user, nor the scope that all share; this one does."""
    program = host(tmp_path / "mem.db")
    program.say("Remember it.", "one")
    assert "zebra-77" in program.say("What do you know?", "one")
    for text in ("What do you know?", "Hello."):
        assert "zebra-77" not in program.say(text, f"two {text}")
        assert "zebra-77" not in program.say(text, f"three {text}", "u1")
    engine = program.squidbot.hosted.engine
    one = Scope(thread="one")
    assert [each.scope for each in engine.memories(one).store.listed(engine.memories(one).view)] == [one]
    assert engine.memories(SHARED).store.listed(engine.memories(SHARED).view) == []
    program.squidbot.hosted.close()


@pytest.mark.parametrize("host", [PydanticAI, OpenAIAgents])
@pytest.mark.parametrize("other", ["u2", None])
def test_a_conversation_s_words_are_one_user_s(
    host: type[LangChain], other: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A.2: an id that two users share shows neither what the other one said; a group's conversation is asked for."""
    program = host(tmp_path / "mem.db")
    program.say(ZEBRA, "chat", "u1")
    assert "zebra-77" in program.say("And?", "chat", "u1")
    with caplog.at_level(logging.WARNING, "squidbot"):
        for text in ("Hello.", "What do you know?"):
            assert "zebra-77" not in program.say(text, "chat", other)
    assert "belongs to another user" in caplog.text
    assert "zebra-77" in program.say("And now?", "chat", "u1")
    assert program.squidbot.hosted.engine.wired.store.head("chat")[0] == 6, "nothing of the other one is recorded"
    program.squidbot.hosted.close()
    shared = {"store": {"path": str(tmp_path / "group.db")}, "history": {"isolation": "global"}}
    program = host(None, settings=shared)  # type: ignore[arg-type]  # the store is the settings'
    program.say(ZEBRA, "chat", "u1")
    assert "zebra-77" in program.say("Hello.", "chat", other)
    program.squidbot.hosted.close()


@HOSTS
def test_facts_are_shared_by_all_if_that_is_asked_for(host: type[LangChain], tmp_path: Path) -> None:
    """A.1: with SHARED alone."""
    program = host(tmp_path / "mem.db", scope=SHARED)
    program.say("Remember it.", "one", "u1")
    assert "zebra-77" in program.say("What do you know?", "two", "u2")
    assert "zebra-77" in program.say("Hello.", "three")
    program.squidbot.hosted.close()


@HOSTS
def test_a_scope_without_a_user_gets_the_calls_user(host: type[LangChain], tmp_path: Path) -> None:
    """A bot's name alone shares nothing; a user's name is kept."""
    program = host(tmp_path / "mem.db", scope=Scope(bot="helper"))
    program.say("Remember it.", "one", "u1")
    assert "zebra-77" not in program.say("What do you know?", "two", "u2")
    assert "zebra-77" in program.say("What do you know?", "three", "u1")
    program.squidbot.hosted.close()
    program = host(tmp_path / "team.db", scope=Scope(user="team"))
    program.say("Remember it.", "one", "u1")
    assert "zebra-77" in program.say("What do you know?", "two", "u2")
    program.squidbot.hosted.close()


def _by_host(host: type) -> Callable[[Any], object]:
    """Return a function of the host's context that names an account."""
    if host is LangChain:
        return lambda context: f"account of {context.configurable['user_id']}"
    return lambda context: Scope(user=f"account of {context['user_id']}", bot="helper")


@HOSTS
def test_a_function_decides_whose_facts_a_call_uses(host: type[LangChain], tmp_path: Path) -> None:
    """A.1: it gets the host's own context, and returns a user's id or a scope."""
    program = host(tmp_path / "mem.db", scope=_by_host(host))
    program.say("Remember it.", "one", "u1")
    assert "zebra-77" not in program.say("What do you know?", "two", "u2")
    assert "zebra-77" in program.say("What do you know?", "three", "u1")
    engine = program.squidbot.hosted.engine
    found = engine.memories(Scope(user="account of u1", bot="" if host is LangChain else "helper"))
    assert len(found.store.listed(found.view)) == 1
    program.squidbot.hosted.close()


def _fails(_: object) -> str:
    raise KeyError("account")


@HOSTS
@pytest.mark.parametrize("function", [_fails, lambda _: 3, lambda _: b"u1", lambda _: Scope(user=3)])  # type: ignore[arg-type]  # wrong
def test_a_function_that_names_nobody_rightly_is_reported(
    host: type[LangChain], function: Callable[[object], object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A.1: as other failures: the request is sent unchanged, or the run ends; nobody's facts are used."""
    program = host(tmp_path / "mem.db", scope=function)
    with caplog.at_level(logging.WARNING, "squidbot"):
        assert "Hello." in program.say("Hello.", "one", "u1")
        assert "failed; continue without it" in program.say("What do you know?", "one", "u1")
    assert "scope: your function" in caplog.text
    program.squidbot.hosted.close()
    program = host(tmp_path / "raise.db", scope=function, on_error="raise")
    with pytest.raises(ConfigError, match="scope: your function"):
        program.say("Hello.", "one", "u1")
    program.squidbot.hosted.close()


@HOSTS
@pytest.mark.parametrize("user", [3.5, True, ["u1"], "x" * 1_025])
def test_a_user_id_that_is_none_is_reported(host: type[LangChain], user: object, tmp_path: Path) -> None:
    """A wrong type is a mistake of the program: nobody's facts would be worse."""
    program = host(tmp_path / "mem.db", on_error="raise")
    with pytest.raises(ConfigError, match=r"scope: user_id in \w+ is .* whole number or a UUID"):
        program.say("Hello.", "one", user)
    program.squidbot.hosted.close()


@HOSTS
def test_hostile_user_ids_are_apart(host: type[LangChain], tmp_path: Path) -> None:
    """Whatever its characters, an id is one user's; a number and its text are the same."""
    program = host(tmp_path / "mem.db")
    users = ["one", '","', "u1\x00", "\ud800", "../..", "</squidbot>", " ", 7, UUID(int=7)]
    for number, user in enumerate(users):
        program.say("Remember it.", f"{number}", user)
        assert "zebra-77" not in program.say("What do you know?", f"other {number}", f"{user}2")
    for number, user in enumerate(users):
        assert "zebra-77" in program.say("Hello.", f"again {number}", user)
    assert "zebra-77" in program.say("Hello.", "as text", "7")
    assert "zebra-77" not in program.say("Hello.", "nobody")
    program.squidbot.hosted.close()


def test_the_context_of_a_graph_names_the_user(tmp_path: Path) -> None:
    """A.1: behind `configurable`; a dict, or an object with an attribute; a signed-in user of a server comes first."""
    program = LangChain(tmp_path / "mem.db")
    program.say("Remember it.", "one", "u1")
    assert "zebra-77" in program.say("Hello.", "two", context={"user_id": "u1"})
    assert "zebra-77" in program.say("Hello.", "three", context=Deps("u1"))
    assert "zebra-77" not in program.say("Hello.", "four", "u2", context=Deps("u1"))
    config = {"configurable": {"thread_id": "five", "user_id": "u1", "langgraph_auth_user_id": "u2"}}
    program.model.seen.clear()
    program.agent.invoke({"messages": [("user", "Hello.")]}, config)
    assert "zebra-77" not in str(program.model.seen)
    program.squidbot.hosted.close()


@pytest.mark.parametrize("host", [PydanticAI, OpenAIAgents])
def test_an_attribute_names_the_user(host: type[PydanticAI], tmp_path: Path) -> None:
    """A.1: `deps.user_id`, and that of a run's context."""
    program = host(tmp_path / "mem.db")
    program.say("Remember it.", "one", Deps("u1"))
    assert "zebra-77" in program.say("What do you know?", "two", "u1")
    assert "zebra-77" not in program.say("What do you know?", "three", Deps("u2"))
    assert "zebra-77" not in program.say("What do you know?", "four", Deps())
    program.squidbot.hosted.close()


@HOSTS
def test_facts_are_learned_and_told_where_a_user_is_known(
    host: type[LangChain], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A.1: by rules, without a setting, and the log says so once; without a user nothing is learned."""
    program = host(tmp_path / "mem.db")
    with caplog.at_level(logging.INFO, "squidbot"):
        for number, user in enumerate(("u1", "u2", None)):
            program.say(f"I live in {('Porto', 'Bern', 'Oslo')[number]}.", f"{number}", user)
    program.squidbot.hosted.engine.run_jobs()
    told = [record.getMessage() for record in caplog.records if "are learned" in record.getMessage()]
    assert len(told) == 1
    assert "'u1'" in told[0]
    assert 'memory.extract = "off"' in told[0]
    sent = program.say("Hello.", "later", "u1")
    assert "Porto" in sent
    assert "Bern" not in sent
    assert "Oslo" not in program.say("Hello.", "even later")
    program.squidbot.hosted.close()


@HOSTS
def test_nothing_is_learned_if_that_is_turned_off(
    host: type[LangChain], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A.1: one key."""
    program = host(tmp_path / "mem.db", settings={"memory": {"extract": "off"}})
    with caplog.at_level(logging.INFO, "squidbot"):
        program.say("I live in Porto.", "one", "u1")
    assert "are learned" not in caplog.text
    assert "Porto" not in program.say("Hello.", "two", "u1")
    program.squidbot.hosted.close()


@pytest.mark.parametrize("given", ["u1", 3, Scope, (1, 2), Scope(user=3)])  # type: ignore[arg-type]  # wrong
def test_a_scope_that_is_none_is_refused_at_once(given: Any, tmp_path: Path) -> None:  # noqa: ANN401  # wrong on purpose
    """Not in the log of the first turn."""
    why = r"^scope\.user must be a string, not 3$" if isinstance(given, Scope) else r"^scope = .*SHARED, or a function"
    with pytest.raises(ConfigError, match=why):
        LangChain(tmp_path / "mem.db", scope=given)


@HOSTS
def test_users_of_one_thread_have_their_own_facts(host: type[LangChain], tmp_path: Path) -> None:
    """They read the same messages, and facts are told and found for the user who asks."""
    program = host(tmp_path / "mem.db")
    with squidbot.load({"store": {"path": str(tmp_path / "mem.db")}}) as engine:
        for user, bird in (("u1", "heron"), ("u2", "stork")):
            engine.memories(Scope(user=user)).add(NewMemory(f"The bird is a {bird}.", "core", trust="user"), now=0.0)
    assert "heron" in program.say("Hello.", "one", "u1")
    second = program.say("Hello again.", "one", "u2")
    assert "heron" not in second
    assert "heron" in program.say("And again.", "one", "u1")
    program.squidbot.hosted.close()


def test_a_request_of_json_holds_no_scope(tmp_path: Path) -> None:
    """The user's id itself is never sent."""
    program = LangChain(tmp_path / "mem.db")
    assert "user-4711" not in json.dumps(program.say("Hello.", "one", "user-4711"))
    program.squidbot.hosted.close()


@HOSTS
def test_many_users_at_once_find_their_own(host: type[LangChain], tmp_path: Path) -> None:
    """A.1: one process serves many users, in threads."""
    seen: list[str] = []

    def talk(number: int) -> None:
        program = host(tmp_path / "mem.db")
        program.squidbot.hosted.close()
        program.squidbot.hosted = shared
        for turn in range(2):
            shared.answer("memory_add", f"{number}-{turn}", {"text": f"walrus{number} is here."}, _of(shared, number))
        sent = program.say("Hello.", f"{number}-new", f"user {number}")
        seen.append(",".join(str(other) for other in range(USERS) if f"walrus{other} " in sent) or f"none in {sent}")

    first = host(tmp_path / "mem.db")
    shared = first.squidbot.hosted
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(talk, range(USERS)))
    assert sorted(seen) == sorted(str(number) for number in range(USERS))
    shared.close()


def _of(hosted: HostRuntime, number: int) -> Callable[[], Scope]:
    return lambda: hosted.scope("any", None, context={"user_id": f"user {number}"})


@pytest.mark.parametrize("users", [("ann", "bob", "ann"), (None, "ann", "ann")])
def test_options_that_are_used_again_are_the_next_users(users: Sequence[str | None], tmp_path: Path) -> None:
    """OpenAI's: nothing of a refused user waits for another one; a user who signs in is heard at once."""
    squid = openai_agents.Squidbot(tmp_path / "mem.db", budget=8_000)
    model = ScriptedModel([[assistant_message(f"reply {at}")] for at in range(3)])
    agent: Any = Agent("a", model=model)
    options = squid.options("chat", run_config=UNTRACED)

    async def turns() -> None:
        for at, user in enumerate(users):
            await Runner.run(agent, f"words {at}", context={"user_id": user} if user else None, **options)

    asyncio.run(turns())
    sent = [str(call.input) for call in model.calls]
    assert [f"words {at}" in text for at, text in enumerate(sent)] == [True] * 3
    is_refused = users[1] == "bob"
    assert ("words 0" in sent[1]) is not is_refused
    assert ("words 1" in sent[2] or "reply 1" in sent[2]) is not is_refused
    assert squid.hosted.engine.wired.store.head("chat")[0] == (4 if is_refused else 6)
    squid.hosted.close()


def test_items_of_a_refused_run_are_dropped(tmp_path: Path) -> None:
    """OpenAI's, after a call of a tool, too: its user's next try has none of them, nor has the conversation's user."""
    squid = openai_agents.Squidbot(tmp_path / "mem.db", budget=8_000)
    steps = [function_call("memory_search", {"query": "x"}, call_id="c1")], [assistant_message("Fine.")]
    for user in ("ann", "bob", "bob", "ann"):
        model = ScriptedModel([*steps])
        agent: Any = Agent("a", model=model, tools=[*squid.tools])
        options = squid.options("chat", run_config=UNTRACED)
        asyncio.run(Runner.run(agent, f"words of {user}", context={"user_id": user}, **options))
        sent = str(model.calls[-1].input)
        assert f"words of {user}" in sent
        assert ("bob" in sent) is (user == "bob")
        assert sent.count("words of bob") == (user == "bob")
    squid.hosted.close()


def test_a_reply_is_recorded_with_its_own_runs_request(tmp_path: Path) -> None:
    """OpenAI's: one whose scope is unknown does not answer another user's failed request, nor shorten it."""
    failing: set[str] = set()

    def scope(context: Any) -> str:  # noqa: ANN401  # the program's
        if context["user_id"] in failing:
            raise KeyError("accounts are down")
        return str(context["user_id"])

    squid = openai_agents.Squidbot(tmp_path / "mem.db", budget=8_000, scope=scope)
    too_long = ValueError("context_length_exceeded")
    models = {}
    for user, step in (("ann", RuntimeError("net")), ("bob", [assistant_message("for bob")]), ("eve", too_long)):
        failing |= {user} - {"ann"}
        models[user] = ScriptedModel([step])
        agent: Any = Agent("a", model=models[user])
        options = squid.options("chat", run_config=UNTRACED)
        with suppress(RuntimeError, ValueError):
            asyncio.run(Runner.run(agent, f"words of {user}", context={"user_id": user}, **options))
    assert [len(model.calls) for model in models.values()] == [1, 1, 1]
    items = asyncio.run(squid.session("chat").get_items())
    assert [item["content"] for item in items] == ["words of ann"]
    squid.hosted.close()


def test_a_program_removes_messages_of_a_users_conversation(tmp_path: Path) -> None:
    """OpenAI's `session`, in another process: it is the program's own access."""
    program = OpenAIAgents(tmp_path / "mem.db")
    program.say("Hello.", "chat", "ann")
    program.squidbot.hosted.close()

    async def changed() -> list[Any]:
        session = OpenAIAgents(tmp_path / "mem.db").squidbot.session("chat")
        popped = await session.pop_item()
        await session.add_items([{"role": "user", "content": "added"}])
        before = await session.get_items()
        await session.clear_session()
        session._hosted.close()  # of the test
        return [popped and popped["role"], [item["content"] for item in before], await session.get_items()]

    assert asyncio.run(changed()) == ["assistant", ["Hello.", "added"], []]
    program = OpenAIAgents(tmp_path / "mem.db")
    assert "Hello." not in program.say("And?", "chat", "ann")
    assert "And?" not in program.say("Who?", "chat", "bob"), "it is ann's still"
    program.squidbot.hosted.close()


def test_options_may_be_used_at_once(tmp_path: Path) -> None:
    """OpenAI's: by two users of one conversation, whose runs overlap; the second one is refused."""
    squid = openai_agents.Squidbot(tmp_path / "mem.db", budget=8_000)
    options = squid.options("chat", run_config=UNTRACED)
    sent = {}

    async def run(user: str) -> None:
        model = ScriptedModel([[assistant_message(f"for {user}")]])
        agent: Any = Agent("a", model=model, instructions=instructions)
        await Runner.run(agent, f"words of {user}", context={"user_id": user}, **options)
        sent[user] = str(model.calls[-1].input)

    async def instructions(_context: object, _agent: object) -> str:
        await asyncio.sleep(0.05)  # both have said their words by then
        return "Be kind."

    async def both() -> None:
        await run("ann")
        await asyncio.gather(run("ann"), run("bob"))

    asyncio.run(both())
    assert "bob" not in sent["ann"]
    assert sent["ann"].count("words of ann") == 2
    assert "ann" not in sent["bob"]
    assert "words of bob" in sent["bob"]
    items = asyncio.run(squid.session("chat").get_items())
    assert "bob" not in str(items)
    assert len(items) == 4
    squid.hosted.close()


def test_a_result_that_ends_a_continued_run_waits_for_its_user(tmp_path: Path) -> None:
    """OpenAI's, after an approval: no request follows it; another user's, which is refused, does not take it."""
    squid = openai_agents.Squidbot(tmp_path / "mem.db", budget=8_000)

    def look(place: str) -> str:
        return f"saw {place}"

    calls = [function_call("look", {"place": "x"}, call_id="c1")]
    model = ScriptedModel([calls, *([assistant_message("Fine.")] for _ in range(2))])
    tool = function_tool(look, needs_approval=True)
    agent: Any = Agent("a", model=model, tools=[tool], tool_use_behavior="stop_on_first_tool")

    async def turn(given: Any, user: str | None) -> Any:  # noqa: ANN401  # of the host
        context = {"user_id": user} if user else None
        return await Runner.run(agent, given, context=context, **squid.options("chat", run_config=UNTRACED))

    async def turns() -> None:
        state = (await turn("Look!", "ann")).to_state()
        for waiting in state.get_interruptions():
            state.approve(waiting)
        assert (await turn(state, None)).final_output == "saw x"
        for user in ("bob", "ann"):
            await turn("And?", user)
            assert ("saw x" in str(model.calls[-1].input)) is (user == "ann")

    asyncio.run(turns())
    squid.hosted.close()
