"""squidbot in agents of the OpenAI Agents SDK that are tools of others: which conversation is whose."""

# ruff: noqa: ANN401  # mypy reads no types of the host

from __future__ import annotations

import asyncio
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    OutputGuardrail,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunState,
    SQLiteSession,
    function_tool,
    handoff,
)
from agents.testing import ScriptedModel, assistant_message, function_call
from agents.tool_context import ToolContext  # noqa: TC002  # the SDK reads it from the signature

from squidbot import Scope
from squidbot.core.transcript.scopes import MOST_ID_CHARS, SCOPE
from squidbot.core.transcript.windows import WINDOW
from squidbot.plugins.openai_agents import Squidbot
from squidbot.testing.hosts import CHAT, LONG, TOKEN_BYTES, Model, Request, ScriptedCall, ScriptedStep, said, text_of

from .program_openai_agents import UNTRACED, Fake

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

WAYS = pytest.mark.parametrize("way", ["run", "stream"])


class Family:
    """Agents on one store, and what it holds of them."""

    def __init__(self, path: Path) -> None:
        """Open the store."""
        self.path, self.squidbot = path, Squidbot(path, budget=4_000, on_error="raise")
        self.models: dict[str, Model] = {}

    def agent(self, name: str, *tools: Any, asks: str = "", times: int = 1, **more: Any) -> Agent[Any]:
        """Make an agent: it asks a tool some times for each of the user's messages, and then says its name."""
        mind = self.models[name] = Model(4_000)
        mind.script = partial(self._answer, name, asks, times)
        return Agent(name, model=Fake(mind), tools=[*tools, *self.squidbot.tools], **more)

    def _answer(self, name: str, asks: str, times: int, request: Request) -> ScriptedStep:
        if not asks or request.results:
            return ScriptedStep(f"{name}{request.number}")
        given = [{"input": f"{name}-{at}"} for at in range(times)]
        ids = [f"{name}{request.number}.{at}" for at in range(times)]
        return ScriptedStep(calls=tuple(ScriptedCall(asks, *each) for each in zip(given, ids, strict=True)))

    async def ask(self, agent: Agent[Any], given: Any, way: str = "run", **more: Any) -> Any:
        """Run a turn, and return its result."""
        options = {**self.squidbot.options(CHAT, run_config=UNTRACED), **more}
        if way == "run":
            return await Runner.run(agent, given, **options)
        result = Runner.run_streamed(agent, given, **options)
        assert [event async for event in result.stream_events()]
        return result

    def held(self) -> dict[str, list[str]]:
        """Return what is recorded of each conversation by its id: texts, and the ids of calls and results."""
        store: Any = self.squidbot.hosted.engine.wired.store
        return {
            each: [text for _, text in said(self.path, each)] for each in sorted(name for name, _ in store.sessions())
        }

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


def tool_of(agent: Agent[Any], name: str = "", **more: Any) -> Any:
    """Return an agent as a tool by its name."""
    return agent.as_tool(name or agent.name, "It knows.", **more)


STREAMS = pytest.mark.parametrize("on_stream", [None, lambda _event: None], ids=["inner run", "inner stream"])


@STREAMS
@WAYS
def test_each_call_of_an_agent_has_a_conversation_of_its_own(way: str, on_stream: Any, family: Family) -> None:
    """Beside its caller's, whose call stays open; it sees nothing of what was said there, nor of earlier calls."""
    sub = family.agent("sub")
    main = family.agent("main", tool_of(sub, on_stream=on_stream), asks="sub")

    async def turns() -> None:
        await family.ask(main, "a secret", way)
        await family.ask(main, "b", way)

    asyncio.run(turns())
    assert family.held() == {
        CHAT: ["a secret", "main1.0", "main1.0", "main2", "b", "main3.0", "main3.0", "main4"],
        f"{CHAT}/sub/main1.0": ["main-0", "sub1"],
        f"{CHAT}/sub/main3.0": ["main-0", "sub2"],
    }
    assert family.seen("sub") == [["main-0"], ["main-0"]]
    assert family.seen("main")[1][-1] == "sub1", "its caller gets the answer"


@WAYS
def test_parallel_calls_of_one_agent_and_calls_within_them_share_nothing(way: str, family: Family) -> None:
    """Three calls at once; each calls an agent, too."""
    sub = family.agent("sub", tool_of(family.agent("leaf")), asks="leaf")
    asyncio.run(family.ask(family.agent("main", tool_of(sub), asks="sub", times=3), "a", way))
    held = family.held()
    calls = [f"main1.{at}" for at in range(3)]
    assert held.pop(CHAT) == ["a", *calls, *calls, "main2"]
    leaves = {key: texts for key, texts in held.items() if "/leaf/" in key}
    assert sorted({key.rpartition("/leaf/")[0] for key in leaves}) == [f"{CHAT}/sub/{call}" for call in calls]
    assert sorted(held.keys() - leaves.keys()) == [f"{CHAT}/sub/{call}" for call in calls]
    for at, call in enumerate(calls):
        asked, inner, answered, _ = held[f"{CHAT}/sub/{call}"]
        assert (asked, answered) == (f"main-{at}", inner)
        assert held[f"{CHAT}/sub/{call}/leaf/{inner}"][0] == "sub-0"


@WAYS
def test_requests_of_an_agent_keep_within_the_budget_of_its_own_model(way: str, family: Family) -> None:
    """A call gives it more than fits, and its tool answers much: the fake model checks each request."""

    def look(place: str) -> str:
        return f"{place} {LONG * 2}"

    sub = family.agent("sub", function_tool(look))
    family.models["sub"].script = lambda request: (
        ScriptedStep(calls=(ScriptedCall("look", {"place": "x"}, f"look{request.number}"),))
        if request.number < 8
        else None
    )
    asyncio.run(family.ask(family.agent("main", tool_of(sub), asks="sub"), "a", way))
    assert len(family.models["sub"].requests) == 8
    whole = text_of(family.path, f"{CHAT}/sub/main1.0")
    assert len(whole) > 4_000 * TOKEN_BYTES, "all of it is recorded, and does not fit"


def test_the_window_of_an_agent_is_that_of_its_own_model(tmp_path: Path) -> None:
    """Not of its caller's model."""
    models = {"small": {"context_window": 3_000}, "large": {"context_window": 100_000}}
    family = Family(tmp_path / "mem.db")
    family.squidbot = Squidbot(settings={"store": {"path": str(family.path)}, "models": models}, on_error="raise")
    sub = family.agent("sub")
    sub.model.model = "small"
    main = family.agent("main", tool_of(sub), asks="sub")
    main.model.model = "large"
    family.models["main"].budget, family.models["sub"].budget = 100_000, 3_000
    asyncio.run(family.ask(main, "a"))
    store: Any = family.squidbot.hosted.engine.wired.store
    windows = [WINDOW.newest(store, each) for each in family.held()]
    assert [(each.model, each.window_tokens) for each in windows if each] == [("large", 100_000), ("small", 3_000)]
    family.close()


@WAYS
def test_a_handoff_goes_on_in_the_same_conversation(way: str, family: Family) -> None:
    """In the main run, and in an agent that is a tool."""
    inner = family.agent("inner")
    sub = family.agent("sub", asks="transfer_to_inner", handoffs=[inner])
    main = family.agent("main", tool_of(sub), asks="sub", handoffs=[family.agent("other")])
    asyncio.run(family.ask(main, "a", way))
    held = family.held()
    assert sorted(held) == [CHAT, f"{CHAT}/sub/main1.0"]
    assert held[f"{CHAT}/sub/main1.0"] == ["main-0", "sub1.0", "sub1.0", "inner1"]
    family.models["main"].script = lambda request: (
        ScriptedStep(calls=(ScriptedCall("transfer_to_other", {}, "h1"),)) if not request.results else None
    )
    asyncio.run(family.ask(main, "b", way))
    assert family.held()[CHAT][-4:] == ["b", "h1", "h1", "other1"]
    assert "a" in family.seen("other")[0]


@pytest.mark.parametrize("restarts", [False, True])
@WAYS
def test_an_agent_that_waits_for_approval_goes_on_in_its_conversation(
    way: str,
    restarts: bool,  # noqa: FBT001  # both
    tmp_path: Path,
) -> None:
    """Three deep, two at once, and in another process: from a state that was written."""

    def agents(family: Family) -> Agent[Any]:
        def look(input: str) -> str:  # noqa: A002  # as for agents
            return f"saw {input}"

        leaf = family.agent("leaf", function_tool(look, needs_approval=True), asks="look")
        sub = family.agent("sub", tool_of(leaf), asks="leaf")
        return family.agent("main", tool_of(sub), asks="sub", times=2)

    async def both() -> None:
        family = Family(tmp_path / "mem.db")
        main = agents(family)
        result = await family.ask(main, "a", way)
        before = family.held()
        assert [len(texts) for texts in before.values()] == [3, 2, 2, 2, 2]
        state = result.to_state()
        if restarts:
            family.close()
            family = Family(tmp_path / "mem.db")
            main = agents(family)
            for mind in family.models.values():
                mind.requests += [Request(())] * 2
            state = await RunState.from_string(main, state.to_string())
        for waiting in state.get_interruptions():
            state.approve(waiting)
        assert (await family.ask(main, state, way)).final_output.startswith("main")
        held = family.held()
        assert list(held) == list(before), "nothing new began"
        assert [len(texts) for texts in held.values()] == [6, 4, 4, 4, 4]
        assert all(held[each][: len(texts)] == texts for each, texts in before.items())
        family.close()

    asyncio.run(both())


@pytest.mark.parametrize("output", ["A secret.", "All is well."])
@WAYS
def test_an_answer_that_an_agents_guardrails_block_is_not_recorded(way: str, output: str, family: Family) -> None:
    """One that passes is."""

    async def silent(_context: Any, _agent: Any, text: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered="secret" in str(text))

    sub = family.agent("sub", output_guardrails=[OutputGuardrail(silent)])
    family.models["sub"].script = lambda _request: ScriptedStep(output)
    asyncio.run(family.ask(family.agent("main", tool_of(sub), asks="sub"), "a", way))
    assert family.held()[f"{CHAT}/sub/main1.0"] == ["main-0", *([] if "secret" in output else [output])]
    assert family.held()[CHAT][-1] == "main2"


def test_options_of_a_tools_own_run_win(family: Family) -> None:
    """Squidbot's for another conversation, a configuration without squidbot, and a session of the program's own."""
    own = family.agent("own")

    async def ask(input: str) -> str:  # noqa: A002  # the SDK's
        result = await Runner.run(own, input, **family.squidbot.options("expert", run_config=UNTRACED))
        return str(result.final_output)

    main = family.agent("main", function_tool(ask), asks="ask")
    asyncio.run(family.ask(main, "a"))
    assert family.held() == {CHAT: ["a", "main1.0", "main1.0", "main2"], "expert": ["main-0", "own1"]}
    bare = tool_of(family.agent("bare"), run_config=RunConfig(tracing_disabled=True))
    asyncio.run(family.ask(family.agent("next", bare, asks="bare"), "b"))
    assert sorted(family.held()) == [CHAT, "expert"]
    assert family.seen("bare") == [["next-0"]]

    async def remember() -> None:
        with closing(SQLiteSession("kept")) as theirs:
            kept = tool_of(family.agent("kept"), session=theirs)
            last = family.agent("last", kept, asks="kept")
            for text in ("c", "d"):
                await family.ask(last, text)

    asyncio.run(remember())
    assert family.seen("kept")[1] == ["last-0", "kept1", "last-0"], "the program's session has what was said"


def test_a_run_within_a_tool_that_passes_the_configuration_on_is_a_child(family: Family) -> None:
    """As the SDK's own tools do."""
    own = family.agent("own")

    async def ask(context: ToolContext[Any], input: str) -> str:  # noqa: A002  # the SDK's
        return str((await Runner.run(own, input, run_config=context.run_config)).final_output)

    asyncio.run(family.ask(family.agent("main", function_tool(ask), asks="ask"), "a"))
    assert family.held()[f"{CHAT}/ask/main1.0"] == ["main-0", "own1"]


def test_a_run_within_a_tool_with_the_options_of_its_caller_is_a_child(family: Family) -> None:
    """One conversation can't hold what is said within an open call: its caller's goes on as it was."""
    own, options = family.agent("own"), family.squidbot.options(CHAT, run_config=UNTRACED)

    async def ask(input: str) -> str:  # noqa: A002  # the SDK's
        return str((await Runner.run(own, input, **options)).final_output)

    main = family.agent("main", function_tool(ask), asks="ask")
    asyncio.run(family.ask(main, "a", **options))
    assert family.held() == {
        CHAT: ["a", "main1.0", "main1.0", "main2"],
        f"{CHAT}/ask/main1.0": ["main-0", "own1"],
    }


@pytest.mark.parametrize("call_id", ["a/b", "a%2Fb", "x" * 2_000])
def test_ids_of_calls_are_spelled_so_that_conversations_stay_apart(call_id: str, family: Family) -> None:
    """Providers make them; a long one ends in a digest."""
    main = family.agent("main", tool_of(family.agent("sub")))
    family.models["main"].script = lambda request: (
        ScriptedStep("Done.")
        if request.results
        else ScriptedStep(calls=(ScriptedCall("sub", {"input": "x"}, call_id),))
    )
    asyncio.run(family.ask(main, "a"))
    _, child = family.held()
    assert child.startswith(f"{CHAT}/sub/")
    assert "/" not in child.removeprefix(f"{CHAT}/sub/")
    assert len(child) <= MOST_ID_CHARS


def test_an_id_that_a_provider_uses_again_begins_a_new_conversation(family: Family) -> None:
    """Some count the calls of each answer."""
    main = family.agent("main", tool_of(family.agent("sub")))
    calls = (ScriptedCall("sub", {"input": "x"}, "c0"),)
    family.models["main"].script = lambda request: ScriptedStep("Done.", () if request.results else calls)
    for text in ("a", "b"):
        asyncio.run(family.ask(main, text))
    assert family.seen("sub") == [["x"], ["x"]]
    assert list(family.held()) == [CHAT, f"{CHAT}/sub/c0", f"{CHAT}/sub/c0/1"]


def test_a_sub_agent_is_its_callers_users(family: Family) -> None:
    """Also where the tool's own run names nobody."""
    own = family.agent("own")

    async def ask(context: ToolContext[Any], input: str) -> str:  # noqa: A002  # the SDK's
        return str((await Runner.run(own, input, run_config=context.run_config)).final_output)

    tools: Sequence[Any] = [function_tool(ask), tool_of(family.agent("sub"))]
    main = family.agent("main", *tools)
    family.models["main"].script = lambda request: (
        ScriptedStep("Done.")
        if request.results
        else ScriptedStep(calls=(ScriptedCall("sub", {"input": "x"}, "c0"), ScriptedCall("ask", {"input": "x"}, "c1")))
    )
    asyncio.run(family.ask(main, "a", context={"user_id": "ann"}))
    store: Any = family.squidbot.hosted.engine.wired.store
    assert len(family.held()) == 3
    scopes = [SCOPE.newest(store, each) for each in family.held()]
    assert {each and each.scope for each in scopes} == {Scope(user="ann")}


def test_a_tool_is_free_of_a_run_that_has_ended(family: Family) -> None:
    """A run without squidbot's options, with the same agents: nothing is recorded, and nothing fails."""
    main = family.agent("main", tool_of(family.agent("sub")), asks="sub")

    async def both() -> None:
        await family.ask(main, "a")
        await Runner.run(main, "b", run_config=UNTRACED)

    asyncio.run(both())
    assert sorted(family.held()) == [CHAT, f"{CHAT}/sub/main1.0"]
    assert family.held()[CHAT][0] == "a"
    assert len(family.held()[CHAT]) == 4


def users(family: Family) -> dict[str, str]:
    """Return the users of all conversations."""
    store: Any = family.squidbot.hosted.engine.wired.store
    known = {each: SCOPE.newest(store, each) for each in family.held()}
    return {each: change.scope.user if change else "" for each, change in known.items()}


@pytest.mark.parametrize("form", ["function", "plain"])
def test_an_agent_with_an_id_of_its_own_is_its_callers_users(form: str, family: Family) -> None:
    """If its run names nobody, the first user's has it: the second one's is sent nothing of what was said there."""
    family.squidbot.hosted._on_error = "pass"  # a refusal is no error of the program
    own, asked = family.agent("own"), [""]

    async def ask(input: str) -> str:  # noqa: A002  # the SDK's
        del input
        options = family.squidbot.options("expert", run_config=UNTRACED)
        return str((await Runner.run(own, asked[0], **options)).final_output)

    async def invoke(_: RunContextWrapper[Any], arguments: str) -> str:
        return await ask(arguments)

    tool = function_tool(ask) if form == "function" else FunctionTool("ask", "It knows.", {"type": "object"}, invoke)
    main = family.agent("main", tool, asks="ask")

    async def turns() -> None:
        for user in ("ann", "bob", "ann"):
            asked[0] = f"the secret of {user}"
            options = family.squidbot.options(f"chat of {user}", run_config=UNTRACED)
            await family.ask(main, "a", context={"user_id": user}, **options)

    asyncio.run(turns())
    assert users(family) == {"chat of ann": "ann", "chat of bob": "bob", "expert": "ann"}
    first, second, third = family.seen("own")
    assert (first, second) == (["the secret of ann"], ["the secret of bob"])
    assert third == ["the secret of ann", "own1", "the secret of ann"]
    assert "the secret of bob" not in family.held()["expert"]


def spy(family: Family) -> tuple[ScriptedModel, Agent[Any]]:
    """Return an agent that calls all of squidbot's tools, and its model."""
    calls = [
        function_call("memory_search", {"query": "secret"}, call_id="s1"),
        function_call("history", {"id": "m0-m3"}, call_id="s2"),
        function_call("memory_add", {"text": "The other one likes tea."}, call_id="s3"),
    ]
    model = ScriptedModel([calls, [assistant_message("spied")]])
    return model, Agent("spy", model=model, tools=[*family.squidbot.tools])


@pytest.mark.parametrize("place", ["after", "within", "as a tool"])
def test_tools_of_a_run_without_options_have_no_conversation(place: str, family: Family) -> None:
    """Not that of the run before, nor of the one around it."""
    model, agent = spy(family)

    async def ask(input: str) -> str:  # noqa: A002  # the SDK's
        return str((await Runner.run(agent, input, run_config=UNTRACED)).final_output)

    def look(input: str) -> str:  # noqa: A002  # the SDK's
        return input

    tools = {
        "after": function_tool(look, name_override="ask"),
        "within": function_tool(ask),
        "as a tool": tool_of(agent, "ask", run_config=UNTRACED),
    }

    async def turns() -> None:
        await family.ask(family.agent("main", tools[place], asks="ask"), "my secret is walrus")
        if place == "after":
            await ask("What is it?")

    asyncio.run(turns())
    results = [item for item in model.calls[-1].input if item.get("type") == "function_call_output"]
    assert len(results) == 3
    assert all("no conversation here" in str(item["output"]) for item in results)
    assert list(family.held()) == [CHAT]


def test_an_agent_in_a_tool_that_was_approved_is_its_callers_users(family: Family) -> None:
    """Before the run that continues has asked anything."""
    own = family.agent("own")

    async def ask(context: ToolContext[Any], input: str) -> str:  # noqa: A002  # the SDK's
        return str((await Runner.run(own, input, run_config=context.run_config)).final_output)

    main = family.agent("main", function_tool(ask, needs_approval=True), asks="ask")

    async def turns() -> None:
        state = (await family.ask(main, "a", context={"user_id": "ann"})).to_state()
        for waiting in state.get_interruptions():
            state.approve(waiting)
        await family.ask(main, state)

    asyncio.run(turns())
    assert users(family) == {CHAT: "ann", f"{CHAT}/ask/main1.0": "ann"}


@WAYS
def test_a_run_within_a_tool_with_its_callers_id_is_a_child(way: str, family: Family) -> None:
    """With options of its own, too; and in a tool of an agent in a tool: the callers' calls stay open."""
    leaf = family.agent("leaf")

    async def ask(input: str) -> str:  # noqa: A002  # the SDK's
        return str((await family.ask(leaf, input, way)).final_output)

    main = family.agent("main", function_tool(ask), tool_of(family.agent("sub", function_tool(ask), asks="ask")))
    family.models["main"].script = lambda request: (
        ScriptedStep("Done.")
        if request.results
        else ScriptedStep(calls=(ScriptedCall("ask", {"input": "x"}, "c0"), ScriptedCall("sub", {"input": "y"}, "c1")))
    )
    asyncio.run(family.ask(main, "a secret", way))
    held = family.held()
    assert held.pop(CHAT) == ["a secret", "c0", "c1", "c0", "c1", "Done."]
    assert held.pop(f"{CHAT}/ask/c0")[0] == "x"
    assert held.pop(f"{CHAT}/sub/c1") == ["y", "sub1.0", "sub1.0", "sub2"]
    assert held.pop(f"{CHAT}/sub/c1/ask/sub1.0")[0] == "sub-0"
    assert held == {}
    assert sorted(family.seen("leaf")) == [["sub-0"], ["x"]]


def test_runs_at_once_in_one_call_have_conversations_of_their_own(family: Family) -> None:
    """Each asks twice, and one tool takes longer; a later run goes on with that of the one that began first."""

    async def look(place: str) -> str:
        await asyncio.sleep(0.1 if place == "Bern" else 0)
        return f"saw {place}"

    own = family.agent("own", function_tool(look))
    family.models["own"].script = lambda request: (
        ScriptedStep(f"told {request.messages[0].text}")
        if request.results or request.text == "again"
        else ScriptedStep(calls=(ScriptedCall("look", {"place": request.text}, f"look {request.text}"),))
    )

    async def ask(context: ToolContext[Any], input: str) -> str:  # noqa: A002  # the SDK's
        del input
        config = context.run_config
        await asyncio.gather(*(Runner.run(own, place, run_config=config) for place in ("Bern", "Porto")))
        return str((await Runner.run(own, "again", run_config=config)).final_output)

    asyncio.run(family.ask(family.agent("main", function_tool(ask), asks="ask"), "a"))
    held = family.held()
    child = f"{CHAT}/ask/main1.0"
    assert sorted(held) == [CHAT, child, f"{child}/1"]
    first, second = held[child][0], held[f"{child}/1"][0]
    assert {first, second} == {"Bern", "Porto"}  # on a busy machine either begins first
    assert held[child] == [first, f"look {first}", f"look {first}", f"told {first}", "again", f"told {first}"]
    assert held[f"{child}/1"] == [second, f"look {second}", f"look {second}", f"told {second}"]


def test_a_run_in_a_tool_that_is_tried_again_goes_on(family: Family) -> None:
    """Its model failed: it has ended."""
    own = family.agent("own")
    family.models["own"].script = lambda request: ScriptedStep(error="failed") if request.number == 1 else None

    async def ask(context: ToolContext[Any], input: str) -> str:  # noqa: A002  # the SDK's
        with pytest.raises(Exception, match="fake"):
            await Runner.run(own, input, run_config=context.run_config)
        return str((await Runner.run(own, input, run_config=context.run_config)).final_output)

    asyncio.run(family.ask(family.agent("main", function_tool(ask), asks="ask"), "a"))
    assert list(family.held()) == [CHAT, f"{CHAT}/ask/main1.0"]


def test_a_handoff_whose_list_is_rewritten_goes_on_in_the_same_conversation(family: Family) -> None:
    """In an agent that is a tool."""
    inner = family.agent("inner")
    own = handoff(inner, input_filter=lambda data: data.clone(input_history="rewritten", pre_handoff_items=()))
    sub = family.agent("sub", asks="transfer_to_inner", handoffs=[own])
    asyncio.run(family.ask(family.agent("main", tool_of(sub), asks="sub"), "a"))
    assert list(family.held()) == [CHAT, f"{CHAT}/sub/main1.0"]


def test_a_run_within_tools_of_two_conversations_is_a_child_of_the_nearest_call(family: Family) -> None:
    """The agent of another conversation asks one with the id of the first, whose call is still open."""
    leaf = family.agent("leaf")

    def asks(agent: Agent[Any], session_id: str) -> Any:
        def ask(input: str) -> str:  # noqa: A002  # the SDK's
            options = family.squidbot.options(session_id, run_config=UNTRACED)
            return str(asyncio.run(Runner.run(agent, input, **options)).final_output)  # in a thread

        return function_tool(ask)

    expert = family.agent("expert", asks(leaf, CHAT), asks="ask")
    asyncio.run(family.ask(family.agent("main", asks(expert, "other"), asks="ask"), "a", context={"user_id": "ann"}))
    child = "other/ask/expert1.0"
    assert family.held()[CHAT] == ["a", "main1.0", "main1.0", "main2"]
    assert family.held()[child] == ["expert-0", "leaf1"]
    assert users(family) == {CHAT: "ann", "other": "ann", child: "ann"}
