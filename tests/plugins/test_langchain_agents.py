"""squidbot in LangGraph's agents within agents: which conversation is whose, with the real package."""

from __future__ import annotations

import asyncio
import operator
import re
from collections import Counter
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from pydantic import Field

from squidbot.core.errors import ConfigError
from squidbot.core.transcript.lineage import CALLER
from squidbot.core.transcript.scopes import SCOPE
from squidbot.plugins import langchain
from squidbot.plugins.host import CANCELLED
from squidbot.plugins.langchain import Squidbot
from squidbot.testing.hosts import rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from squidbot import Scope

THREAD = {"configurable": {"thread_id": "t"}}
_TASK = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Scripted(BaseChatModel):
    """A model that asks a tool once for each of the user's messages, if it is told one, and then says its name."""

    says: str
    asks: str = ""
    times: int = 1
    seen: list[list[str]] = []  # noqa: RUF012  # pydantic copies it
    numbers: Any = Field(default_factory=partial(count, 1))  # agents in threads share a model

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Sequence[Any], **_: object) -> Scripted:
        """Take any."""
        del tools
        return self

    def _reply(self, messages: list[BaseMessage]) -> dict[str, Any]:
        self.seen.append([message.text for message in messages])
        number = next(self.numbers)
        if not self.asks or isinstance(messages[-1], ToolMessage):
            return {"content": f"{self.says}{number}"}
        calls = [
            {"name": self.asks, "args": {"q": f"{self.says}-{at}"}, "id": f"{self.says}{number}.{at}"}
            for at in range(self.times)
        ]
        return {"content": "", "tool_calls": calls}

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(**self._reply(messages)))])

    def _stream(self, messages: list[BaseMessage], *_: object, **__: object) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk(**self._reply(messages)))


class Family:
    """Agents on one store, and what it holds of them."""

    def __init__(self, path: Path, on_error: Literal["pass", "raise"] = "raise") -> None:
        """Open the store."""
        self.path, self.squidbot = path, Squidbot(path, budget=8_000, on_error=on_error)
        self.models: dict[str, Scripted] = {}

    def agent(self, says: str, *tools: Any, asks: str = "", times: int = 1, saved: Any = None) -> Any:  # noqa: ANN401  # compiled
        """Make an agent."""
        self.models[says] = Scripted(says=says, asks=asks, times=times)
        return create_agent(self.models[says], tools, middleware=[self.squidbot], checkpointer=saved, name=says)

    def held(self) -> dict[str, list[str]]:
        """Return the texts of each conversation by its id, with task ids in the order of their names as 1, 2, ..."""
        store: Any = self.squidbot.hosted.engine.wired.store
        ids = sorted(each for each, _ in store.sessions())
        names: dict[str, str] = {}
        for each in _TASK.findall(" ".join(ids)):
            names.setdefault(each, f"TASK{len(names) + 1}")
        texts = {each: [text for _, text in rows(self.path, each)] for each in ids}
        return {_TASK.sub(lambda found: names[found[0]], each): texts[each] for each in ids}


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    """Make one."""
    made = Family(tmp_path / "mem.db")
    yield made
    made.squidbot.hosted.close()


def chained(saved: Any = None, **nodes: Any) -> Any:  # noqa: ANN401  # a compiled graph
    """Return a graph that runs nodes one after the other, on one list."""
    graph = StateGraph(MessagesState)
    before = START
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    return graph.compile(checkpointer=saved)


def ask(graph: Any, *texts: str) -> None:  # noqa: ANN401  # a compiled graph
    """Run a turn for each text."""
    for text in texts:
        graph.invoke({"messages": [("user", text)]}, THREAD)


def delegate(*agents: Any, given: Callable[[str], str] = str) -> Any:  # noqa: ANN401  # a tool
    """Return a tool that calls agents with a list of their own."""

    @tool
    def research(q: str) -> str:
        """Research."""
        made = [each.invoke({"messages": [("user", given(q))]}) for each in agents]
        return str(made[-1]["messages"][-1].text)

    return research


# The rows of the table in `conversation_id`.


@pytest.mark.parametrize("saved", [True, False])
def test_an_agent_on_its_own_has_the_thread(saved: bool, family: Family) -> None:  # noqa: FBT001  # both
    """With a checkpointer and without, as in stores from before."""
    ask(family.agent("main", saved=InMemorySaver() if saved else None), "a", "b")
    assert family.held() == {"t": ["a", "main1", "b", "main2"]}


def test_agents_called_in_a_tool_have_a_conversation_for_each_call(family: Family) -> None:
    """The agent that calls them keeps its call open; they see nothing of it, nor of each other."""
    sub, other = family.agent("sub"), family.agent("other")
    main = family.agent("main", delegate(sub, other), asks="research", saved=InMemorySaver())
    ask(main, "a", "b")
    held = family.held()
    assert held.pop("t") == ["a", "", "other1", "main2", "b", "", "other2", "main4"]
    assert sorted(held) == ["t/tools/TASK1", "t/tools/TASK1/1", "t/tools/TASK2", "t/tools/TASK2/1"]
    assert sorted(map(len, held.values())) == [2, 2, 2, 2]
    assert family.models["sub"].seen == [["main-0"], ["main-0"]]


def test_parallel_calls_of_one_agent_share_nothing(family: Family) -> None:
    """Each of them calls a tool itself, too."""
    leaf = family.agent("leaf")
    sub = family.agent("sub", delegate(leaf), asks="research")
    ask(family.agent("main", delegate(sub), asks="research", times=3, saved=InMemorySaver()), "a")
    held = family.held()
    assert len(held.pop("t")) == 6
    assert sorted(len(texts) for texts in held.values()) == [2, 2, 2, 4, 4, 4]
    assert sorted(each.count("/tools/TASK") for each in held) == [1, 1, 1, 2, 2, 2]
    assert {texts[0] for texts in held.values()} == {"main-0", "main-1", "main-2", "sub-0"}
    assert CANCELLED not in [text for texts in held.values() for text in texts]


def test_nodes_on_the_list_of_their_graph_share_its_conversation(family: Family) -> None:
    """Agents as nodes, agents called in one with all of the list, and graphs within graphs."""
    late = family.agent("late")

    def called(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        return {"messages": late.invoke(state)["messages"]}

    within = chained(one=family.agent("first"), two=family.agent("second"))
    ask(chained(InMemorySaver(), within=within, called=called), "a", "b")
    assert family.held() == {"t": ["a", "first1", "second1", "late1", "b", "first2", "second2", "late2"]}


def test_a_graph_without_a_checkpointer_remembers_by_its_thread(family: Family) -> None:
    """Its memory is squidbot alone."""
    ask(chained(one=family.agent("first"), two=family.agent("second")), "a", "b")
    assert family.held() == {"t": ["a", "first1", "second1", "b", "first2", "second2"]}


class Chat(TypedDict):
    """A state whose list has another name; its messages have no ids."""

    chat: Annotated[list[BaseMessage], operator.add]


def test_a_list_under_another_key_has_a_conversation_by_that_key(family: Family) -> None:
    """Two such lists of one graph are two conversations."""
    sub = family.agent("sub")
    graph = StateGraph(Chat)
    graph.add_node("node", lambda state: {"chat": sub.invoke({"messages": state["chat"]})["messages"][-1:]})
    graph.add_edge(START, "node")
    kept: Any = graph.compile(checkpointer=InMemorySaver())
    for text in ("a", "b"):
        kept.invoke({"chat": [HumanMessage(text)]}, THREAD)
    assert family.held() == {"t/chat": ["a", "sub1", "b", "sub2"]}


def test_an_agent_called_in_a_node_with_its_own_list_has_its_own_conversation(family: Family) -> None:
    """It is called before the main agent and behind it, with messages of its own and with some of the graph's."""
    sub = family.agent("sub")

    def classify(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        made = sub.invoke({"messages": [("user", f"classify {state['messages'][-1].text}")]})
        return {"messages": [("ai", f"label {made['messages'][-1].text}")]}

    def check(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        sub.invoke({"messages": state["messages"][-1:]})
        return {}

    ask(chained(InMemorySaver(), classify=classify, main=family.agent("main"), check=check), "a", "b")
    held = family.held()
    assert held.pop("t") == ["a", "label sub1", "main1", "b", "label sub3", "main2"]
    assert sorted(texts for texts in held.values()) == [
        ["classify a", "sub1"],
        ["classify b", "sub3"],
        ["main1", "sub2"],
        ["main2", "sub4"],
    ]
    assert sorted(each.rpartition("/")[0] for each in held) == ["t/check"] * 2 + ["t/classify"] * 2
    seen = [text for texts in family.models["sub"].seen for text in texts if not text.startswith("[")]
    assert seen == ["classify a", "main1", "classify b", "main2"]


def test_an_agent_with_a_list_of_its_own_keeps_its_conversation(family: Family) -> None:
    """`checkpointer=True`: LangGraph drops the ids of tasks, in a node and in a tool."""
    sub, aide = family.agent("sub", saved=True), family.agent("aide", saved=True)

    def node(_: object) -> dict[str, Any]:
        return {"messages": sub.invoke({"messages": [("user", "sort")]})["messages"][-1:]}

    main = family.agent("main", delegate(aide), asks="research")
    ask(chained(InMemorySaver(), node=node, main=main), "a", "b")
    held = family.held()
    assert sorted(held) == ["t", "t/main/tools", "t/node"]
    assert held["t/node"] == ["sort", "sub1", "sort", "sub2"]
    assert held["t/main/tools"] == ["main-0", "aide1", "main-0", "aide2"]
    assert len(held["t"]) == 10


def test_the_name_of_a_node_may_be_a_number(family: Family) -> None:
    """LangGraph counts the agents of a node by numbers."""
    kept, called = family.agent("kept", saved=True), family.agent("called")

    def node(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        called.invoke({"messages": [("user", "x")]})
        return {"messages": called.invoke(state)["messages"][-1:]}

    ask(chained(InMemorySaver(), **{"1": kept, "2": node}), "a")
    held = family.held()
    assert {each: len(texts) for each, texts in held.items()} == {"t/1": 2, "t/2/1": 3, "t/2/TASK1": 2}


def test_agents_of_the_functional_api_have_the_thread(family: Family) -> None:
    """As before: an entrypoint has no list that tells them apart."""
    main = family.agent("main")

    @task
    def asked(text: str) -> str:
        return str(main.invoke({"messages": [("user", text)]})["messages"][-1].text)

    def flow(text: str) -> str:
        asked(text).result()
        return str(main.invoke({"messages": [("user", f"{text}!")]})["messages"][-1].text)

    graph: Any = entrypoint(checkpointer=InMemorySaver())(flow)
    graph.invoke("a", THREAD)
    assert family.held() == {"t": ["a", "main1", "a!", "main2"]}


@pytest.mark.parametrize("saved", [True, False])
def test_an_agent_with_a_thread_of_its_own_has_that_thread(saved: bool, family: Family) -> None:  # noqa: FBT001  # both
    """The way to give an agent in a tool a memory."""
    sub = family.agent("sub", saved=InMemorySaver() if saved else None)

    @tool
    def research(q: str) -> str:
        """Research."""
        made = sub.invoke({"messages": [("user", q)]}, {"configurable": {"thread_id": "library"}})
        return str(made["messages"][-1].text)

    ask(family.agent("main", research, asks="research", saved=InMemorySaver()), "a", "b")
    held = family.held()
    assert sorted(held) == ["library", "t"]
    assert held["library"] == ["main-0", "sub1", "main-0", "sub2"]


# Agents with a thread_id of their own in a tool: LangGraph tells nothing of their caller.


def expert_in(agent: Any, thread: str = "expert", user: str = "", how: str = "invoke") -> Any:  # noqa: ANN401  # compiled
    """Return a tool that calls an agent with a thread_id, and perhaps a user."""
    config = {"configurable": {"thread_id": thread, **({"user_id": user} if user else {})}}

    def called(q: str) -> str:
        """Ask the expert."""
        return str(agent.invoke({"messages": [("user", q)]}, config)["messages"][-1].text)

    async def acalled(q: str) -> str:
        """Ask the expert."""
        return str((await agent.ainvoke({"messages": [("user", q)]}, config))["messages"][-1].text)

    return tool("research")(acalled if how == "ainvoke" else called)


def converse(graph: Any, text: str, how: str, **configurable: str) -> None:  # noqa: ANN401  # a compiled graph
    """Run a turn in a thread, for a user if there is one."""
    given, config = {"messages": [("user", text)]}, {"configurable": configurable}
    if how == "invoke":
        graph.invoke(given, config)
    else:
        asyncio.run(graph.ainvoke(given, config))


def users(family: Family) -> dict[str, str]:
    """Return whose each conversation is; "" if it is nobody's."""
    store: Any = family.squidbot.hosted.engine.wired.store
    found = {each: SCOPE.newest(store, each) for each, _ in store.sessions()}
    return {each: change.scope.user for each, change in found.items() if change}


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("second", [{"user_id": "bob"}, {}])
def test_nobody_sees_what_another_user_told_an_agent_with_a_thread_of_its_own(
    second: dict[str, str], how: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A thread for all users, and a tool that names none: the user of the agent that calls it decides."""
    family = Family(tmp_path / "mem.db", on_error="pass")
    expert = family.agent("expert")
    main = family.agent("main", expert_in(expert, how=how), asks="research", times=2)
    converse(main, "a secret", how, thread_id="one", user_id="ann")
    told = family.held()["expert"]
    family.models["expert"].seen.clear()
    converse(main, "b", how, thread_id="two", **second)
    assert family.held()["expert"] == told
    assert users(family)["expert"] == "ann"
    assert sorted(family.models["expert"].seen) == [["main-0"], ["main-1"]], "nothing of another's"
    assert "belongs to another user" in caplog.text
    family.squidbot.hosted.close()


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_an_agent_in_a_tool_is_its_callers_users_where_it_names_nobody(how: str, family: Family) -> None:
    """Whom it names itself wins, also for the agents that it calls; so it is in a sync tool of an async agent."""
    leaf = family.agent("leaf")
    own = family.agent("own", expert_in(leaf, "leaf"), asks="research")
    sub = family.agent("sub", expert_in(own, "own", user="ben"), asks="research")
    main = family.agent("main", expert_in(sub, "sub"), asks="research")
    converse(main, "a", how, thread_id="t", user_id="ann")
    assert users(family) == {"t": "ann", "sub": "ann", "own": "ben", "leaf": "ben"}
    main = family.agent("main", expert_in(sub, "other"), asks="research")
    converse(main, "a", how, thread_id="nobody")
    assert users(family)["other"] == ""


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_an_agent_with_the_thread_of_its_caller_leaves_the_open_call_alone(
    how: str,
    saved: bool,  # noqa: FBT001  # both
    family: Family,
) -> None:
    """One conversation can't hold what is said within an open call: each such run has one of its own."""
    deep = family.agent("deep")
    sub = family.agent("sub", expert_in(deep, "t", how=how), asks="research")
    main = family.agent(
        "main", expert_in(sub, "t", how=how), asks="research", times=2, saved=InMemorySaver() if saved else None
    )
    for text in ("a secret", "b"):
        converse(main, text, how, thread_id="t")
    held = family.held()
    one, _, *answers, last = held.pop("t")[:5]
    assert (one, last) == ("a secret", "main2")
    assert all(answer.startswith("sub") for answer in answers)
    calls = [f"t/research/main{turn}.{at}" for turn in (1, 3) for at in (0, 1)]
    assert sorted(len(held[call]) for call in calls) == [4] * 4
    assert sorted(len(texts) for each, texts in held.items() if each not in calls) == [2] * 4
    assert all(each.startswith(tuple(f"{call}/research/sub" for call in calls)) for each in held if each not in calls)
    assert CANCELLED not in [text for seen in family.models["main"].seen for text in seen]
    assert "secret" not in str(family.models["sub"].seen)


def test_a_call_may_run_several_agents_in_its_callers_thread(family: Family) -> None:
    """And a graph of several: they share its list, and so its conversation."""
    sub, both = family.agent("sub"), chained(one=family.agent("one"), two=family.agent("two"))

    @tool
    def research(q: str) -> str:
        """Research."""
        for each in (sub, both, sub):
            made = each.invoke({"messages": [("user", q)]}, THREAD)
        return str(made["messages"][-1].text)

    ask(family.agent("main", research, asks="research"), "a")
    assert family.held() == {
        "t": ["a", "", "sub2", "main2"],
        "t/research/main1.0": ["main-0", "sub1"],
        "t/research/main1.0/1": ["main-0", "one1", "two1"],
        "t/research/main1.0/2": ["main-0", "sub2"],
    }


def test_what_a_tool_leaves_behind_is_not_its_child(family: Family) -> None:
    """A task that goes on after its call may continue the conversation."""
    sub, later = family.agent("sub"), []

    @tool
    async def research(q: str) -> str:
        """Research."""
        later.append(asyncio.create_task(after(q)))
        return "soon"

    async def after(q: str) -> None:
        await done.wait()
        await sub.ainvoke({"messages": [("user", q)]}, THREAD)

    async def turn() -> None:
        await family.agent("main", research, asks="research").ainvoke({"messages": [("user", "a")]}, THREAD)
        done.set()
        await later[0]

    done = asyncio.Event()
    asyncio.run(turn())
    assert family.held() == {"t": ["a", "", "soon", "main2", "main-0", "sub1"]}


# Which call an agent works for.


def callers(family: Family) -> list[tuple[str, list[str]]]:
    """Return the text that each conversation begins with, and the calls that it worked for."""
    store: Any = family.squidbot.hosted.engine.wired.store
    ids = [each for each, _ in store.sessions()]
    return sorted((rows(family.path, each)[0][1], [one.call_id for one in CALLER.all(store, each)]) for each in ids)


def test_agents_in_a_tool_know_their_call(family: Family) -> None:
    """Each of those that run in parallel, and those in them, once for all requests of a conversation."""
    leaf = family.agent("leaf")
    sub = family.agent("sub", delegate(leaf, given="leaf for {}".format), asks="research")
    ask(family.agent("main", delegate(sub), asks="research", times=3, saved=InMemorySaver()), "a")
    first, *found = callers(family)
    leaves, subs = found[:3], found[3:]
    assert first == ("a", [])
    assert subs == [(f"main-{at}", [f"main1.{at}"]) for at in range(3)]
    # The subs ask in any order.
    assert [(text, len(calls)) for text, calls in leaves] == [("leaf for sub-0", 1)] * 3
    assert len({calls[0] for _, calls in leaves if calls[0].startswith("sub")}) == 3


def test_an_agent_that_remembers_knows_each_call(family: Family) -> None:
    """With a list, and with a thread of its own; one record for each call, however many requests it takes."""
    aide = family.agent("aide", saved=True)
    ask(family.agent("main", delegate(aide), asks="research", saved=InMemorySaver()), "a", "b")
    assert callers(family) == [("a", []), ("main-0", ["main1.0", "main3.0"])]


def test_an_agent_in_a_node_of_several_calls_knows_none(family: Family) -> None:
    """A graph of one's own may answer all calls of a message in one task, or each call in a task."""
    sub = family.agent("sub")

    for times in (1, 2):
        model = Scripted(says=f"m{times}", asks="research", times=times)
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state, model=model: {"messages": [model.invoke(state["messages"])]})
        graph.add_node("tools", ToolNode([delegate(sub)]))
        graph.add_edge(START, "model")
        graph.add_edge("model", "tools")
        ask(graph.compile(checkpointer=InMemorySaver()), "a")
    assert callers(family) == [("m1-0", ["m11.0"]), ("m2-0", []), ("m2-1", [])]


# However a graph is run.


@pytest.mark.parametrize("is_tool", [True, False])
def test_an_interrupted_agent_continues_its_conversation(is_tool: bool, family: Family) -> None:  # noqa: FBT001  # both
    """In a tool and in a node."""

    @tool
    def approve(q: str) -> str:
        """Ask the user."""
        return f"{q} {interrupt('may I?')}"

    saved = InMemorySaver()
    sub = family.agent("sub", approve, asks="approve")
    main = family.agent("main", delegate(sub), asks="research", saved=saved) if is_tool else chained(saved, sub=sub)
    ask(main, "a")
    main.invoke(Command(resume="yes"), THREAD)
    held = family.held()
    assert list(held.values())[-1][-2:] == ["sub-0 yes", "sub2"]
    assert sorted(map(len, held.values())) == ([4, 4] if is_tool else [4])
    assert CANCELLED not in [text for texts in held.values() for text in texts]


def run(how: str, graph: Any, text: str) -> None:  # noqa: ANN401  # a compiled graph
    """Run a turn in one of the ways that the package has."""
    given = {"messages": [("user", text)]}

    async def streamed() -> None:
        async for _ in graph.astream(given, THREAD, stream_mode="messages", subgraphs=True):
            pass

    if how == "invoke":
        graph.invoke(given, THREAD)
    elif how == "stream":
        assert list(graph.stream(given, THREAD, stream_mode=["messages", "updates"], subgraphs=True))
    else:
        asyncio.run(graph.ainvoke(given, THREAD) if how == "ainvoke" else streamed())


@pytest.mark.parametrize("how", ["invoke", "stream", "ainvoke", "astream"])
def test_no_message_is_recorded_twice_however_a_graph_runs(how: str, family: Family) -> None:
    """A long conversation of a graph with an agent in a node, one on the list, and one in a tool."""
    sub, leaf = family.agent("sub"), family.agent("leaf")

    @tool
    async def aresearch(q: str) -> str:
        """Research."""
        return str((await leaf.ainvoke({"messages": [("user", q)]}))["messages"][-1].text)

    async def aclassify(_: object) -> dict[str, Any]:
        return {"messages": (await sub.ainvoke({"messages": [("user", "sort")]}))["messages"][-1:]}

    def classify(_: object) -> dict[str, Any]:
        return {"messages": sub.invoke({"messages": [("user", "sort")]})["messages"][-1:]}

    is_async = how.startswith("a")
    research = aresearch if is_async else delegate(leaf)
    main = family.agent("main", research, asks=research.name, times=2)
    graph = chained(InMemorySaver(), classify=aclassify if is_async else classify, main=main)
    for turn in range(5):
        run(how, graph, f"turn {turn}")
    held = family.held()
    assert len(held.pop("t")) == 5 * 6
    assert sorted(map(len, held.values())) == [2] * 5 * 3
    assert Counter(each.split("/")[1] for each in held) == {"main": 10, "classify": 5}
    assert CANCELLED not in [text for seen in family.models["main"].seen for text in seen]
    assert all(text.startswith(("main", "sort")) for name in ("sub", "leaf") for [text] in family.models[name].seen)


def test_the_tools_of_an_agent_search_its_own_conversation(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not its graph's, nor that of the agent that called it."""
    sub = family.agent("sub", asks="memory_search")
    main = family.agent("main", delegate(sub, given="heron {}".format), asks="research", saved=InMemorySaver())
    answered: list[str] = []

    def answer(_: str, thread: str, *_more: object) -> str:
        answered.append(thread)
        return ""

    monkeypatch.setattr(family.squidbot.hosted, "answer", answer)
    ask(main, "a")
    assert [_TASK.sub("TASK", each) for each in answered] == ["t/tools/TASK"]


def test_another_version_that_keeps_nothing_around_a_graph_has_one_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As before, and the log says so."""
    monkeypatch.setattr(langchain, "CALL", "gone")
    family = Family(tmp_path / "mem.db", on_error="pass")
    ask(family.agent("main", saved=InMemorySaver()), "a", "b")
    assert family.held() == {"t": ["a", "main1", "b", "main2"]}
    assert "could not tell agents apart" in caplog.text
    family.squidbot.hosted.close()


def test_ids_are_never_longer_than_the_store_takes(family: Family) -> None:
    """And never alike."""
    thread = "t" * 1_000
    main = family.agent("main", delegate(family.agent("sub")), asks="research", times=2)
    main.invoke({"messages": [("user", "a")]}, {"configurable": {"thread_id": thread}})
    own, *others = sorted(family.held(), key=len)
    assert own == thread
    assert [len(each) for each in others] == [1_024, 1_024]


def test_a_reply_is_recorded_behind_its_own_request_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not behind that of a call whose model failed."""
    family = Family(tmp_path / "mem.db", on_error="pass")
    main = family.agent("main")
    whose = family.squidbot.hosted.scope
    ask(main, "a")
    with monkeypatch.context() as patched:
        patched.delattr(Scripted, "_reply")
        with pytest.raises(AttributeError):
            ask(main, "b")
    asked: list[str] = []

    def scope(thread: str, *context: Any, **places: Any) -> Scope:  # noqa: ANN401  # of the host
        asked.append(thread)
        if len(asked) == 1:
            raise ConfigError("the users are out of reach")
        return whose(thread, *context, **places)

    monkeypatch.setattr(family.squidbot.hosted, "scope", scope)
    ask(main, "c", "d")
    assert family.held() == {"t": ["a", "main1", "b", "d", "main3"]}
    family.squidbot.hosted.close()
