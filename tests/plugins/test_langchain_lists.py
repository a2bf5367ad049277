"""squidbot in LangGraph where agents run side by side on one list, and where lists are not simply extended."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, RetryPolicy, Send, interrupt

from squidbot.core.view.renderer import CONTINUE
from squidbot.plugins.host import CANCELLED

from .test_langchain_agents import THREAD, Family, Scripted, ask, chained, delegate, family, run

__all__ = ["family"]

HOWS = ["invoke", "stream", "ainvoke", "astream"]


class Strict(Scripted):
    """A scripted model that refuses what providers refuse: a call without its results, a result without its call."""

    def _reply(self, messages: list[BaseMessage]) -> dict[str, Any]:
        open_calls: set[str | None] = set()
        for message in messages:
            if isinstance(message, ToolMessage):
                open_calls.remove(message.tool_call_id)
                continue
            assert not open_calls
            open_calls = {call["id"] for call in getattr(message, "tool_calls", [])}
        assert not open_calls
        return super()._reply(messages)


def strict(family: Family, says: str, *tools: Any, asks: str = "", times: int = 1, beside: Any = ()) -> Any:  # noqa: ANN401  # compiled
    """Make an agent with a strict model; `beside` is middleware in front of squidbot."""
    family.models[says] = Strict(says=says, asks=asks, times=times)
    return create_agent(family.models[says], tools, middleware=[*beside, family.squidbot], name=says)


@tool
def look(q: str) -> str:
    """Look."""
    return f"saw {q}"


@tool
async def alook(q: str) -> str:
    """Look."""
    await asyncio.sleep(0.001)
    return f"saw {q}"


def fanned(saved: Any, join: Any, **nodes: Any) -> Any:  # noqa: ANN401  # a compiled graph
    """Return a graph that runs nodes side by side, and then one on the merged list."""
    graph = StateGraph(MessagesState)
    graph.add_node("join", join)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
        graph.add_edge(name, "join")
    return graph.compile(checkpointer=saved)


def ids(family: Family) -> dict[str, list[str]]:
    """Return the ids of the messages of each conversation; no id stands twice, and no call was closed."""
    store: Any = family.squidbot.hosted.engine.wired.store
    held = {each: store.read(each, 0, store.head(each)[0] - 1) for each, _ in store.sessions()}
    assert CANCELLED not in [row.payload for rows in held.values() for row in rows]
    found = {each: [json.loads(row.payload)["data"]["id"] for row in rows] for each, rows in held.items()}
    assert {each: len(set(theirs)) for each, theirs in found.items()} == {e: len(t) for e, t in found.items()}
    return found


def requests(family: Family, says: str) -> list[list[str]]:
    """Return the texts of each request of a model, without what squidbot puts between replies."""
    return [[text for text in each if text != CONTINUE] for each in family.models[says].seen]


# Side by side.


@pytest.mark.parametrize("how", HOWS)
def test_agents_side_by_side_share_nothing_and_the_join_sees_all_of_them_once(how: str, family: Family) -> None:
    """Three with a tool loop each; then a node on the merged list, and further turns."""
    seeing = alook if how.startswith("a") else look
    nodes = {name: strict(family, name, seeing, asks=seeing.name, times=2) for name in "ABC"}
    graph = fanned(InMemorySaver(), strict(family, "J"), **nodes)
    for turn in range(3):
        run(how, graph, f"turn {turn}")
    whole = graph.get_state(THREAD).values["messages"]
    held = ids(family)
    assert held.pop("t") == [message.id for message in whole]
    assert sorted(held) == ["t/A", "t/B", "t/C"]
    texts = [message.text for message in whole]
    start = texts.index("turn 2")
    for name in "ABC":
        # What the others said in the newest turn is not on its list yet.
        unseen = {each.id for each in whole[start + 1 :] if name not in (each.name, each.text[4:5])}
        assert set(held[f"t/{name}"]) == {message.id for message in whole} - unseen
        assert [len(request) for request in requests(family, name)] == [1, 4, 15, 18, 29, 32]
        assert {request[-1] for request in requests(family, name)[::2]} == {"turn 0", "turn 1", "turn 2"}
    assert requests(family, "J") == [texts[:13], texts[:27], texts[:41]]


def test_agents_sent_to_one_node_have_a_conversation_each(family: Family) -> None:
    """By their number, so that they remember."""
    graph = StateGraph(MessagesState)
    graph.add_node("plan", strict(family, "P"))
    graph.add_node("work", strict(family, "W", look, asks="look"))
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda state: [Send("work", state)] * 2, ["work"])
    ask(graph.compile(checkpointer=InMemorySaver()), "a", "b")
    assert {each: len(theirs) for each, theirs in ids(family).items()} == {"t": 10, "t/work/0": 13, "t/work/1": 13}


@pytest.mark.parametrize("is_task", [True, False])
def test_agents_that_one_node_calls_side_by_side_share_nothing(is_task: bool, family: Family) -> None:  # noqa: FBT001  # both
    """The first one has the graph's conversation, in a `@task`, too."""
    agents = [strict(family, name, alook, asks="alook") for name in "AB"]

    @task
    async def called(at: int, messages: list[BaseMessage]) -> Any:  # noqa: ANN401  # the agent's
        return await agents[at].ainvoke({"messages": messages})

    async def node(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        given = state["messages"]
        runs = (called(at, given) if is_task else agents[at].ainvoke(state) for at in (0, 1))
        made = await asyncio.gather(*runs)
        return {"messages": [message for each in made for message in each["messages"]]}

    graph = chained(InMemorySaver(), node=node)
    for text in ("a", "b"):
        run("ainvoke", graph, text)
    held = ids(family)
    assert {each: len(theirs) for each, theirs in held.items()} == {
        "t": 11,
        "t/called/1" if is_task else "t/node/1": 11,
    }
    assert (
        [len(each) for each in requests(family, "A")] == [len(each) for each in requests(family, "B")] == [1, 3, 8, 10]
    )


def test_a_graph_beside_another_has_one_conversation_for_its_agents(family: Family) -> None:
    """Those that it runs one after the other."""
    within = chained(one=strict(family, "A"), two=strict(family, "B"))
    graph = fanned(InMemorySaver(), strict(family, "J"), within=within, beside=strict(family, "C"))
    ask(graph, "a", "b")
    assert {each: len(theirs) for each, theirs in ids(family).items()} == {"t": 10, "t/within": 8, "t/beside": 7}


def test_agents_side_by_side_may_say_the_same(family: Family) -> None:
    """The words of two messages are alike, and each is sent."""
    nodes = {name: strict(family, name) for name in "AB"}
    for model in family.models.values():
        model.says = "LGTM"
    ask(fanned(InMemorySaver(), strict(family, "J"), **nodes), "a", "b")
    for name in "AB":
        assert requests(family, name)[-1][-1] == "b"
        assert sorted(requests(family, name)[-1]) == ["J1", "LGTM1", "LGTM1", "a", "b"]


# Lists that are not simply extended.


@pytest.mark.parametrize("is_returned", [True, False])
def test_messages_that_a_graph_does_not_keep_are_recorded_once(is_returned: bool, family: Family) -> None:  # noqa: FBT001  # both
    """A node adds one to the list; the graph keeps the last message of its agent, or none."""
    agent = strict(family, "A", look, asks="look")

    def node(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        made = agent.invoke({"messages": [*state["messages"], HumanMessage("briefly")]})
        return {"messages": made["messages"][-1:] if is_returned else []}

    ask(chained(InMemorySaver(), node=node), "a", "b", "c")
    (held,) = ids(family).values()
    assert len(held) == 3 * 5
    assert [each[-2:] for each in requests(family, "A")[::2]] == [["a", "briefly"], ["b", "briefly"], ["c", "briefly"]]


def test_a_message_that_a_node_adds_again_comes_last_again(family: Family) -> None:
    """It is the same object in each turn, which LangGraph gives one id."""
    agent, added = strict(family, "A"), HumanMessage("briefly", id="added")

    def node(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        agent.invoke({"messages": [*state["messages"], added]})
        return {}

    ask(chained(InMemorySaver(), node=node), "a", "b")
    assert requests(family, "A") == [["a", "briefly"], ["a", "briefly", "A1", "b", "briefly"]]


class Trim(AgentMiddleware[Any, Any, Any]):
    """Removes messages before squidbot sees them."""

    def __init__(self, first: int, last: int) -> None:
        """Take the places, from the end, between which it removes them."""
        super().__init__()
        self.removed = slice(first, last)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401  # of the host
        """Remove them."""
        kept = [*request.messages]
        del kept[self.removed]
        return handler(request.override(messages=kept))


@pytest.mark.parametrize("removed", [(0, -5), (2, -5), (-9, -5)])
def test_a_trimmed_list_records_nothing_twice(removed: tuple[int, int], family: Family) -> None:
    """The oldest are removed, or those in the middle, by middleware; the model still has all of them."""
    agent = strict(family, "A", look, asks="look", beside=[Trim(*removed)])
    graph = chained(InMemorySaver(), node=agent)
    ask(graph, *"abcdef")
    whole = graph.get_state(THREAD).values["messages"]
    assert ids(family) == {"t": [message.id for message in whole]}
    assert requests(family, "A")[-1] == [message.text for message in whole[:-1]]


@pytest.mark.parametrize("removed", [slice(0, 3), slice(2, 5)])
def test_a_graph_that_removes_messages_records_nothing_twice(removed: slice, family: Family) -> None:
    """From its state, so that no later list has them."""

    def trim(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        gone = state["messages"][removed] if len(state["messages"]) > 6 else []
        return {"messages": [RemoveMessage(id=message.id) for message in gone]}

    ask(chained(InMemorySaver(), trim=trim, node=strict(family, "A", look, asks="look")), *"abcdef")
    assert [len(theirs) for theirs in ids(family).values()] == [6 * 4]


@pytest.mark.parametrize("removed", [slice(0, 2), slice(1, 2)])
def test_a_list_that_a_node_trims_has_a_conversation_of_its_own(removed: slice, family: Family) -> None:
    """As any that is only some of the graph's: its model is sent what the list has."""
    agent = strict(family, "A")

    def node(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        kept = [*state["messages"]]
        del kept[removed]
        return {"messages": agent.invoke({"messages": kept or state["messages"]})["messages"][-1:]}

    ask(chained(InMemorySaver(), node=node), *"abc")
    assert len(ids(family)) == 3
    assert requests(family, "A")[-1] == (["b", "A2", "c"] if removed.start == 0 else ["a", "b", "A2", "c"])


def test_a_forgotten_message_that_is_listed_again_is_not_recorded_again(family: Family) -> None:
    """Where a list has to be compared by ids."""
    agent = strict(family, "A")

    def node(state: Any) -> dict[str, Any]:  # noqa: ANN401  # the graph's
        agent.invoke({"messages": [*state["messages"], HumanMessage("briefly")]})
        return {}

    graph = chained(InMemorySaver(), node=node)
    ask(graph, "secret", "b")
    family.squidbot.hosted.conversation("t").session.forget(0)
    ask(graph, "c")
    assert "secret" not in str(family.held())
    assert [len(theirs) for theirs in ids(family).values()] == [9]


# Interrupts and retries.


def failing(agent: Any, times: int = 1) -> Any:  # noqa: ANN401  # a node
    """Return a node that fails behind its agent, so many times."""
    left = [*range(times)]

    def node(state: Any) -> Any:  # noqa: ANN401  # the graph's
        made = agent.invoke(state)
        if left:
            left.pop()
            raise TimeoutError
        return made

    return node


def test_a_node_that_is_tried_again_records_nothing_twice(family: Family) -> None:
    """Each try has a conversation of its own; the graph's has the answer of the last one, too."""
    graph = StateGraph(MessagesState)
    policy = RetryPolicy(initial_interval=0.001, retry_on=TimeoutError)
    graph.add_node("node", failing(strict(family, "A", look, asks="look"), 2), retry_policy=policy)
    graph.add_node("next", strict(family, "B"))
    graph.add_edge(START, "node")
    graph.add_edge("node", "next")
    ask(graph.compile(checkpointer=InMemorySaver()), "a", "b")
    assert sorted(ids(family)) == ["t", "t/node/1", "t/node/2"]
    assert requests(family, "A")[:6:2] == [["a"]] * 3
    discarded = ["a", "", "saw A-0", "A2"]
    assert family.held()["t"] == [*discarded, "", "saw A-0", "A6", "B1", "b", "", "saw A-0", "A8", "B2"]


def test_a_model_that_is_asked_again_is_not_sent_its_discarded_answer(family: Family) -> None:
    """It failed behind the answer, and nothing is recorded twice."""

    class Fail(AgentMiddleware[Any, Any, Any]):
        times = 0

        def wrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401  # of the host
            """Have the model asked twice."""
            handler(request)
            return handler(request)

    ask(chained(InMemorySaver(), node=strict(family, "A", beside=[Fail()])), "a", "b")
    assert family.models["A"].seen[:2] == [["a"], ["a"]]
    assert family.held() == {"t": ["a", "A1", "A2", "b", "A3", "A4"]}
    assert family.models["A"].seen[2][-1] == family.models["A"].seen[3][-1] == "b"


def test_a_call_stays_open_while_the_agent_in_its_tool_waits_and_is_tried_again(family: Family) -> None:
    """It waits for a person; then its tool fails behind it, and is tried again."""
    left = [TimeoutError()]

    @tool
    def approve(q: str) -> str:
        """Ask the user."""
        return f"{q} {interrupt('may I?')}"

    sub = strict(family, "sub", approve, asks="approve")

    @tool
    def research(q: str) -> str:
        """Research."""
        made = sub.invoke({"messages": [("user", q)]})
        if left:
            raise left.pop()
        return str(made["messages"][-1].text)

    again = ToolRetryMiddleware(retry_on=(TimeoutError,), initial_delay=0.001, jitter=False)
    graph = chained(InMemorySaver(), main=strict(family, "main", research, asks="research", beside=[again]))
    ask(graph, "a")
    graph.invoke(Command(resume="yes"), THREAD)
    while graph.get_state(THREAD).interrupts:  # of the second try
        assert [len(theirs) for each, theirs in ids(family).items() if each == "t"] == [2]
        graph.invoke(Command(resume="yes"), THREAD)
    held = ids(family)
    assert held.pop("t") == [message.id for message in graph.get_state(THREAD).values["messages"]]
    assert len(held) == 2
    assert not left


def test_an_agent_in_a_tool_whose_calls_a_person_approves_continues(family: Family) -> None:
    """With the middleware for it."""
    gate = HumanInTheLoopMiddleware({"look": True})
    sub = strict(family, "sub", look, asks="look", beside=[gate])
    main = strict(family, "main", delegate(sub), asks="research")
    graph = chained(InMemorySaver(), main=main)
    ask(graph, "a")
    graph.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    held = ids(family)
    assert sorted(map(len, held.values())) == [4, 4]
    assert held["t"] == [message.id for message in graph.get_state(THREAD).values["messages"]]
