"""squidbot in agents of pydantic-ai that others delegate to: which conversation is whose, with the real package."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, TextOutput, ToolOutput
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import RunContext, Tool

from squidbot import Scope
from squidbot.core.errors import ConfigError
from squidbot.core.transcript.scopes import MOST_ID_CHARS, SCOPE
from squidbot.core.transcript.windows import WINDOW
from squidbot.plugins.pydantic_ai import Squidbot
from squidbot.testing.hosts import (
    CHAT,
    LONG,
    TOKEN_BYTES,
    Model,
    Request,
    ScriptedCall,
    ScriptedStep,
    listening,
    said,
    text_of,
)

from .program_pydantic_ai import Fake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAYS = pytest.mark.parametrize("way", ["run", "stream", "iter"])


class Family:
    """Agents on one store, and what it holds of them."""

    def __init__(self, path: Path, **settings: Any) -> None:  # noqa: ANN401  # of squidbot
        """Open the store."""
        self.path = path
        self.squidbot = Squidbot(path, **(settings or {"budget": 4_000}), on_error="raise")
        self.models: dict[str, Model] = {}

    def agent(self, name: str, *tools: Any, asks: str = "", times: int = 1, **more: Any) -> Agent[Any, Any]:  # noqa: ANN401  # of the host
        """Make an agent: it asks a tool some times for each of the user's messages, and then says its name."""
        mind = self.models[name] = Model(4_000)
        mind.script = partial(self._answer, name, asks, times)
        fake = Fake(mind)
        model = FunctionModel(fake.answer, stream_function=fake.stream, model_name=name)
        return Agent(model, **{"tools": tools, "capabilities": [self.squidbot], "deps_type": object, **more})

    def _answer(self, name: str, asks: str, times: int, request: Request) -> ScriptedStep:
        if not asks or request.results:
            return ScriptedStep(f"{name}{request.number}")
        calls = ((asks, {"q": f"{name}-{at}"}, f"{name}{request.number}.{at}") for at in range(times))
        return ScriptedStep(calls=tuple(ScriptedCall(*each) for each in calls))

    def held(self) -> dict[str, list[str]]:
        """Return what is recorded of each conversation by its id: texts, and the ids of calls and results."""
        store: Any = self.squidbot.hosted.engine.wired.store
        return {
            each: [text for _, text in said(self.path, each)] for each in sorted(name for name, _ in store.sessions())
        }

    def users(self) -> dict[str, Scope]:
        """Return whose each conversation is."""
        store: Any = self.squidbot.hosted.engine.wired.store
        found = {name: SCOPE.newest(store, name) for name, _ in store.sessions()}
        return {name: change.scope for name, change in found.items() if change}

    def seen(self, name: str) -> list[list[str]]:
        """Return the texts of each request of an agent."""
        return [[each.text for each in request.messages] for request in self.models[name].requests]

    def close(self) -> None:
        """Close the store, and check that every request was valid, and within its budget."""
        self.squidbot.hosted.close()
        assert [fault for mind in self.models.values() for fault in mind.faults] == []


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    """Make one."""
    made = Family(tmp_path / "mem.db")
    yield made
    made.close()


async def ask(agent: Agent[Any, Any], text: str | None, way: str = "run", **more: Any) -> Any:  # noqa: ANN401  # of the host
    """Run a turn, and return its output."""
    if way == "run":
        return (await agent.run(text, **more)).output
    if way == "stream":
        async with agent.run_stream(text, **more) as streamed:
            return await streamed.get_output()
    async with agent.iter(text, **more) as nodes:
        async for _ in nodes:
            pass
    assert nodes.result is not None
    return nodes.result.output


def delegate(*agents: Agent[Any, Any], way: str = "run", **more: Any) -> Callable[..., Any]:  # noqa: ANN401  # of the host
    """Return a tool that calls agents one after the other, as the documentation of pydantic-ai shows it."""

    async def research(ctx: RunContext[Any], q: str) -> str:
        return [str(await ask(each, q, way, usage=ctx.usage, **more)) for each in agents][-1]

    return research


@pytest.mark.parametrize("inner", ["run", "stream", "iter"])
@WAYS
def test_each_call_of_an_agent_has_a_conversation_of_its_own(way: str, inner: str, family: Family) -> None:
    """Beside its caller's, whose call stays open; it sees nothing of what was said there, nor of earlier calls."""
    sub, other = family.agent("sub"), family.agent("other")
    main = family.agent("main", delegate(sub, other, way=inner), asks="research")

    async def turns() -> None:
        await ask(main, "a secret", way, conversation_id=CHAT)
        await ask(main, "b", way, conversation_id=CHAT)

    with listening() as told:
        asyncio.run(turns())
    assert told.lines == [], "no run lacks an id"
    assert family.held() == {
        CHAT: ["a secret", "main1.0", "main1.0", "main2", "b", "main3.0", "main3.0", "main4"],
        f"{CHAT}/research/main1.0": ["main-0", "sub1"],
        f"{CHAT}/research/main1.0/1": ["main-0", "other1"],
        f"{CHAT}/research/main3.0": ["main-0", "sub2"],
        f"{CHAT}/research/main3.0/1": ["main-0", "other2"],
    }
    assert [len(texts) for texts in family.seen("sub")] == [1, 1]
    assert family.seen("main")[1][-1] == "other1", "its caller gets the answer"


@WAYS
def test_parallel_calls_of_one_agent_and_calls_within_them_share_nothing(way: str, family: Family) -> None:
    """Three calls at once; each calls an agent, too, and some of them at once."""
    leaf = family.agent("leaf")

    async def both(ctx: RunContext[Any], q: str) -> str:
        return str(await asyncio.gather(*(ask(leaf, q, usage=ctx.usage) for _ in range(2))))

    sub = family.agent("sub", both, asks="both")
    main = family.agent("main", delegate(sub), asks="research", times=3)
    asyncio.run(ask(main, "a", way, conversation_id=CHAT))
    held = family.held()
    calls = [f"main1.{at}" for at in range(3)]
    assert held.pop(CHAT) == ["a", *calls, *calls, "main2"]
    for at, call in enumerate(calls):
        asked, inner, answered, _ = held.pop(f"{CHAT}/research/{call}")
        assert (asked, answered) == (f"main-{at}", inner)
        leaves = [held.pop(f"{CHAT}/research/{call}/both/{inner}{end}") for end in ("", "/1")]
        assert [len(texts) for texts in leaves] == [2, 2]
    assert held == {}


def test_tools_that_are_functions_run_agents_in_threads(family: Family) -> None:
    """pydantic-ai carries what is known of the run there; it forbids `run_sync` in them."""
    sub = family.agent("sub")

    def research(q: str) -> str:
        return str(asyncio.run(sub.run(q)).output)

    asyncio.run(ask(family.agent("main", research, asks="research", times=2), "a", conversation_id=CHAT))
    assert sorted(family.held()) == [CHAT, f"{CHAT}/research/main1.0", f"{CHAT}/research/main1.1"]


def test_a_capability_of_the_run_and_a_second_one_on_the_same_store_do_the_same(tmp_path: Path) -> None:
    """As one for all."""
    family, second = Family(tmp_path / "mem.db"), Family(tmp_path / "mem.db")
    sub = second.agent("sub")
    main = family.agent("main", delegate(sub), asks="research", capabilities=[])
    asyncio.run(ask(main, "a", conversation_id=CHAT, capabilities=[family.squidbot]))
    assert sorted(family.held()) == [CHAT, f"{CHAT}/research/main1.0"]
    second.close()
    family.close()


def test_requests_of_an_agent_keep_within_the_budget(family: Family) -> None:
    """Its tool answers much: the fake model checks each request."""

    def look(q: str) -> str:
        return f"{q} {LONG * 2}"

    sub = family.agent("sub", look)
    family.models["sub"].script = lambda request: (
        ScriptedStep(calls=(ScriptedCall("look", {"q": "x"}, f"look{request.number}"),)) if request.number < 8 else None
    )
    asyncio.run(ask(family.agent("main", delegate(sub), asks="research"), "a", conversation_id=CHAT))
    assert len(family.models["sub"].requests) == 8
    assert len(text_of(family.path, f"{CHAT}/research/main1.0")) > 4_000 * TOKEN_BYTES


def test_the_window_of_an_agent_is_that_of_its_own_model(tmp_path: Path) -> None:
    """Not of its caller's model."""
    models = {"sub": {"context_window": 3_000}, "main": {"context_window": 100_000}}
    family = Family(tmp_path / "mem.db")
    family.squidbot = Squidbot(settings={"store": {"path": str(family.path)}, "models": models}, on_error="raise")
    main = family.agent("main", delegate(family.agent("sub")), asks="research")
    asyncio.run(ask(main, "a", conversation_id=CHAT))
    store: Any = family.squidbot.hosted.engine.wired.store
    windows = [WINDOW.newest(store, each) for each in family.held()]
    assert [(each.model, each.window_tokens) for each in windows if each] == [("main", 100_000), ("sub", 3_000)]
    family.close()


def test_an_agent_with_an_id_of_its_own_keeps_it(family: Family) -> None:
    """It remembers; a run behind it, without one, is the first child of its call."""
    expert, sub = family.agent("expert"), family.agent("sub")

    async def research(q: str) -> str:
        await expert.run(q, conversation_id="expert")
        return str((await sub.run(q)).output)

    main = family.agent("main", research, asks="research")
    for text in ("a", "b"):
        asyncio.run(ask(main, text, conversation_id=CHAT))
    held = family.held()
    assert held["expert"] == ["main-0", "expert1", "main-0", "expert2"]
    assert sorted(held) == [CHAT, f"{CHAT}/research/main1.0", f"{CHAT}/research/main3.0", "expert"]


@pytest.mark.parametrize("history", [False, True])
@WAYS
def test_an_agent_with_the_id_of_its_caller_leaves_the_open_call_alone(
    way: str,
    history: bool,  # noqa: FBT001  # both
    family: Family,
) -> None:
    """One conversation can't hold what is said within an open call: it gets one of its own, with the given messages."""
    deep = family.agent("deep")

    async def again(ctx: RunContext[Any], q: str) -> str:
        return str((await deep.run(q, conversation_id=CHAT, usage=ctx.usage)).output)

    sub = family.agent("sub", again, asks="again")

    async def research(ctx: RunContext[Any], q: str) -> str:
        given = ctx.messages[:-1] if history else None
        return str(await ask(sub, q, way, conversation_id=ctx.conversation_id, message_history=given))

    main = family.agent("main", research, asks="research")
    asyncio.run(ask(main, "a", way, conversation_id=CHAT))
    assert family.held() == {
        CHAT: ["a", "main1.0", "main1.0", "main2"],
        f"{CHAT}/research/main1.0": [*(["a"] if history else []), "main-0", "sub1.0", "sub1.0", "sub2"],
        f"{CHAT}/research/main1.0/again/sub1.0": ["sub-0", "deep1"],
    }


@WAYS
def test_a_call_that_waits_for_approval_has_its_agent_as_a_child(way: str, family: Family) -> None:
    """Its run goes on with what was approved, before it asks the model anything."""
    tool = Tool(delegate(family.agent("sub")), requires_approval=True)
    main = family.agent("main", tool, asks="research", output_type=[str, DeferredToolRequests])

    async def both() -> None:
        result = await main.run("a", conversation_id=CHAT)
        assert isinstance(result.output, DeferredToolRequests)
        approved = DeferredToolResults(approvals={each.tool_call_id: True for each in result.output.approvals})
        history = result.all_messages()
        await ask(main, None, way, message_history=history, deferred_tool_results=approved)

    asyncio.run(both())
    assert family.held() == {
        CHAT: ["a", "main1.0", "main1.0", "main2"],
        f"{CHAT}/research/main1.0": ["main-0", "sub1"],
    }


def test_an_agent_that_waits_for_approval_goes_on_in_its_conversation(family: Family) -> None:
    """A program carries its messages on; pydantic-ai finds the id there."""
    tool = Tool(lambda q: f"saw {q}", name="look", requires_approval=True)
    sub = family.agent("sub", tool, asks="look", output_type=[str, DeferredToolRequests])

    async def research(q: str) -> str:
        first = await sub.run(q)
        approved = DeferredToolResults(approvals={each.tool_call_id: True for each in first.output.approvals})
        second = await sub.run(message_history=first.all_messages(), deferred_tool_results=approved)
        return str(second.output)

    asyncio.run(ask(family.agent("main", research, asks="research"), "a", conversation_id=CHAT))
    assert sorted(family.held()) == [CHAT, f"{CHAT}/research/main1.0"]
    assert family.held()[f"{CHAT}/research/main1.0"] == ["main-0", "sub1.0", "sub1.0", "sub2"]


def test_tools_of_squidbot_search_the_conversation_of_their_agent(family: Family) -> None:
    """Not that of its caller."""
    sub = family.agent("sub")
    family.models["sub"].script = lambda request: (
        None if request.results else ScriptedStep(calls=(ScriptedCall("history", {"id": "m0"}, f"h{request.number}"),))
    )
    main = family.agent("main", delegate(sub), asks="research")
    asyncio.run(ask(main, "a secret", conversation_id=CHAT))
    assert "main-0" in family.seen("sub")[-1][-1]
    assert "secret" not in str(family.seen("sub"))


def test_a_sub_agent_is_its_callers_users_where_it_names_nobody(family: Family) -> None:
    """Its words are that user's; whom it names itself wins, also for the agents that it calls."""
    leaf = family.agent("leaf")
    own = family.agent("own", delegate(leaf), asks="research")
    sub = family.agent("sub", delegate(own, deps={"user_id": "ben"}), asks="research")
    main = family.agent("main", delegate(sub), asks="research")
    asyncio.run(ask(main, "a", conversation_id=CHAT, deps={"user_id": "ann"}))
    assert [scope.user for _, scope in sorted(family.users().items())] == ["ann", "ann", "ben", "ben"]
    assert {scope.thread for scope in family.users().values()} == {""}


def test_a_sub_agent_that_names_nobody_has_its_callers_whole_scope(tmp_path: Path) -> None:
    """Also the bot whose facts its caller uses."""
    family = Family(tmp_path / "mem.db")
    whose = Scope(tenant="acme", user="ann", bot="helper")
    family.squidbot = Squidbot(family.path, budget=4_000, scope=lambda deps: whose if deps else None)
    main = family.agent("main", delegate(family.agent("sub")), asks="research")
    asyncio.run(ask(main, "a", conversation_id=CHAT, deps="any"))
    assert family.users() == dict.fromkeys((CHAT, f"{CHAT}/research/main1.0"), whose)
    family.close()


@pytest.mark.parametrize("is_own_id", [True, False])
@WAYS
def test_an_agent_in_an_output_function_is_below_its_caller(way: str, is_own_id: bool, family: Family) -> None:  # noqa: FBT001  # both
    """For the call of a tool, for text, and in a validator; its caller's call stays open."""
    sub = family.agent("sub")

    async def check(ctx: RunContext[Any], q: str) -> str:
        if not ctx.partial_output:
            more: dict[str, Any] = {"conversation_id": ctx.conversation_id} if is_own_id else {}
            await sub.run(q, **more)
        return q

    def agent(name: str, output: Any, asks: str = "") -> Agent[Any, Any]:  # noqa: ANN401  # of the host
        return family.agent(name, asks=asks, output_type=output)

    valid = agent("valid", str)
    valid.output_validator(check)
    called = agent("called", ToolOutput(check, name="finish"), asks="finish")
    with listening() as told:
        for each in (called, agent("text", TextOutput(check)), valid):
            asyncio.run(ask(each, "a secret", way, conversation_id=CHAT, deps={"user_id": "ann"}))
    held = family.held()
    assert held.pop(CHAT)[:3] == ["a secret", "called1.0", "called1.0"]
    assert held == {
        f"{CHAT}/finish/called1.0": ["called-0", "sub1"],
        f"{CHAT}/output": ["text1", "sub2"],
        f"{CHAT}/output/1": ["valid1", "sub3"],
    }
    assert {scope.user for scope in family.users().values()} == {"ann"}
    assert told.lines == []


@pytest.mark.parametrize("is_own_id", [True, False])
@pytest.mark.parametrize("way", ["run", "iter"])
def test_an_agent_in_a_function_for_instructions_is_below_its_caller(
    way: str,
    is_own_id: bool,  # noqa: FBT001  # both
    family: Family,
) -> None:
    """Its caller's request follows."""
    sub, main = family.agent("sub"), family.agent("main")

    @main.instructions
    async def note(ctx: RunContext[Any]) -> str:
        more: dict[str, Any] = {"conversation_id": ctx.conversation_id} if is_own_id else {}
        return str((await sub.run("sum up", **more)).output)

    with listening() as told:
        for text in ("a", "b"):
            asyncio.run(ask(main, text, way, conversation_id=CHAT, deps={"user_id": "ann"}))
    assert family.held() == {
        CHAT: ["a", "main1", "b", "main2"],
        f"{CHAT}/step": ["sum up", "sub1"],
        f"{CHAT}/step/1": ["sum up", "sub2"],
    }
    assert {scope.user for scope in family.users().values()} == {"ann"}
    assert told.lines == []


def test_a_reply_is_recorded_behind_its_own_request_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not behind that of a run whose model failed."""
    family = Family(tmp_path / "mem.db")
    family.squidbot = Squidbot(family.path, budget=4_000)
    main, whose = family.agent("main"), family.squidbot.hosted.scope
    asyncio.run(ask(main, "a", conversation_id=CHAT))
    script = family.models["main"].script
    family.models["main"].script = lambda _request: ScriptedStep(str(int("net")))
    with pytest.raises(ValueError, match="net"):
        asyncio.run(ask(main, "b", conversation_id=CHAT))
    family.models["main"].script = script
    asked: list[str] = []

    def scope(session_id: str, *context: Any, **places: Any) -> Scope:  # noqa: ANN401  # of the host
        asked.append(session_id)
        if len(asked) == 1:
            raise ConfigError("the users are out of reach")
        return whose(session_id, *context, **places)

    monkeypatch.setattr(family.squidbot.hosted, "scope", scope)
    for text in ("c", "d"):
        asyncio.run(ask(main, text, conversation_id=CHAT))
    assert family.held()[CHAT][:4] == ["a", "main1", "b", "d"]
    family.squidbot.hosted.close()


def test_without_a_user_each_conversation_has_facts_of_its_own(family: Family) -> None:
    """As everywhere."""
    main = family.agent("main", delegate(family.agent("sub")), asks="research")
    asyncio.run(ask(main, "a", conversation_id=CHAT))
    assert family.users() == {each: Scope(thread=each) for each in family.held()}


@pytest.mark.parametrize("other", [{"user_id": "ben"}, None])
def test_nobody_sees_what_another_user_told_an_agent_with_an_id_of_its_own(
    other: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An id for all users, and no `deps` for the agent: the user of the run decides."""
    family = Family(tmp_path / "mem.db")
    family.squidbot = Squidbot(family.path, budget=4_000)
    sub = family.agent("sub")
    main = family.agent("main", delegate(sub, conversation_id="expert"), asks="research")
    asyncio.run(ask(main, "a", conversation_id="one", deps={"user_id": "ann"}))
    family.models["sub"].script = lambda _request: ScriptedStep("fine")
    asyncio.run(ask(main, "b", conversation_id="two", deps=other))
    assert family.held()["expert"] == ["main-0", "sub1"]
    assert family.seen("sub")[-1] == ["main-0"]
    assert "belongs to another user" in caplog.text
    family.close()


def test_an_id_that_a_provider_uses_again_begins_a_new_conversation(family: Family) -> None:
    """Some count the calls of each answer; a long one ends in a digest, and `/` is spelled otherwise."""
    main = family.agent("main", delegate(family.agent("sub")))
    for text, call_id in (("a", "c0"), ("b", "c0"), ("c", "x/y"), ("d", "y" * 2_000), ("e", "y" * 2_000)):
        calls = (ScriptedCall("research", {"q": "x"}, call_id),)
        family.models["main"].script = lambda request, calls=calls: ScriptedStep(  # type: ignore[misc]  # as each is
            "Done.", () if request.results else calls
        )
        asyncio.run(ask(main, text, conversation_id=CHAT))
    ids = [each.removeprefix(f"{CHAT}/research/") for each in family.held()]
    assert ids[:4] == [CHAT, "c0", "c0/1", "x%2Fy"]
    assert [len(f"{CHAT}/research/{each}") for each in ids[4:]] == [MOST_ID_CHARS] * 2
    assert family.seen("sub") == [["x"]] * 5


def test_a_run_without_an_id_has_its_agents_below_the_id_that_is_made_up(family: Family) -> None:
    """One such run is fine, whatever it delegates."""
    main = family.agent("main", delegate(family.agent("sub")), asks="research", times=2)
    with listening() as told:
        asyncio.run(ask(main, "a"))
    root, *children = sorted(family.held(), key=len)
    assert UUID(root).version == 7
    assert children == [f"{root}/research/main1.0", f"{root}/research/main1.1"]
    assert told.lines == []


def test_what_a_tool_leaves_behind_is_not_its_child(family: Family) -> None:
    """A task that goes on after its call may continue the conversation."""
    sub, later = family.agent("sub"), []

    async def research(q: str) -> str:
        later.append(asyncio.create_task(after(q)))
        return "soon"

    async def after(q: str) -> None:
        await done.wait()
        await sub.run(q, conversation_id=CHAT)

    async def turn() -> None:
        await ask(family.agent("main", research, asks="research"), "a", conversation_id=CHAT)
        done.set()
        await later[0]

    done = asyncio.Event()
    asyncio.run(turn())
    assert family.held() == {CHAT: ["a", "main1.0", "main1.0", "main2", "main-0", "sub1"]}
