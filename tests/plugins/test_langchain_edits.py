"""squidbot in LangGraph where people edit, fork, remove and go back: the model sees what the state has."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, RetryPolicy, interrupt

from squidbot.core.view.renderer import CONTINUE
from squidbot.plugins.langchain import Squidbot

from .test_langchain_agents import THREAD, Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages import BaseMessage

SAVERS = ["memory", "sqlite"]


@tool
def look(q: str) -> str:
    """Look."""
    return f"saw {q}"


class Program:
    """A program with one agent, whose model must always see what the state has."""

    def __init__(self, folder: Path, saved: Any, *beside: Any, asks: str = "") -> None:  # noqa: ANN401  # any saver
        self.folder, self.saved, self.beside = folder, saved, beside
        self.model = Scripted(says="A", asks=asks)
        self.serial = itertools.count()
        self.other: tuple[Squidbot, Any] | None = None
        self.start()

    def start(self) -> None:
        """Begin in a new process, as far as squidbot can tell."""
        self.start_with(look)

    def start_with(self, *tools: Any) -> None:  # noqa: ANN401  # any tool
        """The same, with other tools."""
        self.squidbot = Squidbot(self.folder / "mem.db", budget=64_000, on_error="raise")
        middleware = [self.squidbot, *self.beside]
        self.agent: Any = create_agent(self.model, [*tools], middleware=middleware, checkpointer=self.saved)

    def restart(self) -> None:
        """Close the store, and begin anew."""
        self.squidbot.hosted.close()
        self.start()

    def change(self) -> None:
        """Have another process go on, which begins with its first turn."""
        others, self.other = self.other, (self.squidbot, self.agent)
        if others is None:
            self.start()
        else:
            self.squidbot, self.agent = others

    def close(self) -> None:
        """Close the stores."""
        for each in (self.squidbot, *(self.other or ())[:1]):
            each.hosted.close()

    @property
    def state(self) -> list[BaseMessage]:
        """The messages of the state."""
        return list(self.agent.get_state(THREAD).values.get("messages", ()))

    def ask(self, given: Any, config: Any = THREAD) -> None:  # noqa: ANN401  # what a graph takes
        """Run a turn; the last request had the words of the state in front of the reply."""
        self.agent.invoke(given, config)
        self.check()

    def check(self) -> None:
        """Compare the last request with the state."""
        sent = [text for text in self.model.seen[-1] if text != CONTINUE]
        assert sent == [message.text for message in self.state[:-1]]

    def say(self, *texts: str) -> None:
        """Say something, with the state that is the newest."""
        for text in texts:
            self.ask({"messages": [HumanMessage(text)]})

    def said(self) -> list[Any]:
        """Return the checkpoints behind which a turn was over, the newest first."""
        return [each for each in self.agent.get_state_history(THREAD) if not each.next and each.values.get("messages")]

    def put(self, *messages: BaseMessage) -> None:
        """Change the state by hand."""
        self.agent.update_state(THREAD, {"messages": [*messages]})


@contextmanager
def running(saver: str, *beside: AgentMiddleware[Any, Any, Any], asks: str = "") -> Iterator[Program]:
    """Run a program in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        if saver == "memory":
            program = Program(path, InMemorySaver(), *beside, asks=asks)
            yield program
        else:
            with SqliteSaver.from_conn_string(str(path / "state.db")) as saved:
                program = Program(path, saved, *beside, asks=asks)
                yield program
        program.close()


def recorded(program: Program) -> list[str]:
    """Return the texts that squidbot has stored, on any line."""
    store: Any = program.squidbot.hosted.engine.wired.store
    return [row.payload for row in store.read("t", 0, store.head("t")[0] - 1)]


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("how", ["invoke", "stream", "ainvoke"])
def test_a_fork_is_sent_without_the_branch_that_was_left(how: str, saver: str) -> None:
    """From a checkpoint in the middle; the branch that was left is there again when the program goes back to it."""
    if (how, saver) == ("ainvoke", "sqlite"):
        saver = "memory"  # that saver has no asyncio
    with running(saver, asks="look") as program:
        program.say(*(f"turn {number}" for number in range(12)))
        left = program.said()[0].config
        forked = {"messages": [HumanMessage("turn 6 edited")]}, program.said()[6].config
        if how == "invoke":
            program.agent.invoke(*forked)
        elif how == "stream":
            [*program.agent.stream(*forked)]
        else:
            asyncio.run(program.agent.ainvoke(*forked))
        program.check()
        assert len(program.state) == 7 * 4
        assert "turn 6" not in program.model.seen[-1]
        program.say("and on")
        found = program.squidbot.hosted.answer("history", "t", {"id": "m0-m99"})
        assert "turn 6 edited" in found
        assert "turn 7" not in found
        back = {"messages": [HumanMessage("turn 12")]}, left
        program.ask(*back)
        assert program.model.seen[-1].count("turn 6") == 1
        assert "turn 6 edited" not in program.model.seen[-1]
        assert sum("turn 6" in text for text in recorded(program)) == 2  # each was stored once


@pytest.mark.parametrize("saver", SAVERS)
def test_an_edited_first_message_begins_again(saver: str) -> None:
    """From the checkpoint before anything was said."""
    with running(saver) as program:
        program.say("draft", "more")
        before = [*program.agent.get_state_history(THREAD)][-1].config
        program.ask({"messages": [HumanMessage("final")]}, before)
        assert program.model.seen[-1] == ["final"]
        program.say("more")


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("at", [0, 2, 4])
def test_other_words_in_the_place_of_a_message(at: int, restarts: bool, saver: str) -> None:  # noqa: FBT001  # both
    """With the same id; what follows stays."""
    with running(saver) as program:
        program.say("my name is Ann", "I live in Rome", "I like tea")
        program.put(HumanMessage("[removed]", id=program.state[at].id))
        if restarts:
            program.restart()
        program.say("and now?")
        assert program.model.seen[-1][at] == "[removed]"


@pytest.mark.parametrize("saver", SAVERS)
def test_removed_messages_are_not_sent(saver: str) -> None:
    """One turn, the newest turn, or all of them: and they don't come back."""
    with running(saver) as program:
        program.say("one", "my password is hunter2", "three")
        program.put(*(RemoveMessage(id=str(message.id)) for message in program.state[2:4]))
        program.say("four")
        assert not any("hunter2" in text for text in program.model.seen[-1])
        program.put(*(RemoveMessage(id=str(message.id)) for message in program.state[-2:]))
        program.say("five")
        assert "four" not in program.model.seen[-1]
        program.put(RemoveMessage(id=REMOVE_ALL_MESSAGES))
        program.say("six")
        assert program.model.seen[-1] == ["six"]
        program.put(RemoveMessage(id=REMOVE_ALL_MESSAGES))
        program.restart()
        program.say("seven")
        assert program.model.seen[-1] == ["seven"]
        assert sum("hunter2" in text for text in recorded(program)) == 1
        assert len(program.squidbot.hosted.conversation("t").session.lines()) == 5


def test_removed_messages_are_erased_if_the_program_wants_that() -> None:
    """Those from the middle, and all of them; a fork erases nothing."""
    with running("memory") as program:
        program.say("one", "my password is hunter2", "three")
        program.squidbot.hosted.close()
        program.squidbot = Squidbot(program.folder / "mem.db", budget=64_000, on_error="raise", on_remove="forget")
        program.agent = create_agent(program.model, [], middleware=[program.squidbot], checkpointer=program.saved)
        program.say("four")
        program.put(*(RemoveMessage(id=str(message.id)) for message in program.state[2:4]))
        program.say("five")
        assert "hunter2" not in str(recorded(program))
        program.ask({"messages": [HumanMessage("fork")]}, program.said()[1].config)
        assert "five" in str(recorded(program))
        before = program.said()[-1].config, program.said()[-2].config
        program.agent.invoke({"messages": [HumanMessage("again")]}, before[1])
        assert "hunter2" in str(program.state)
        assert "hunter2" not in str(program.model.seen[-1])
        assert [text for text in program.model.seen[-1] if text in {"one", "three", "fork", "again"}] == [
            "one",
            "again",
        ]
        program.put(RemoveMessage(id=REMOVE_ALL_MESSAGES))
        program.say("six")
        assert "again" not in str(recorded(program))


@pytest.mark.parametrize("saver", SAVERS)
def test_an_answer_is_made_again(saver: str) -> None:
    """The one before it is not sent, also later."""
    with running(saver) as program:
        program.say("one", "two")
        program.put(RemoveMessage(id=str(program.state[-1].id)))
        program.ask({"messages": []})
        assert program.model.seen[-1] == ["one", "A1", "two"]
        program.say("three")
        assert program.model.seen[-1] == ["one", "A1", "two", "A3", "three"]


@pytest.mark.parametrize("decision", ["approve", "edit", "reject"])
def test_a_person_decides_about_a_call(decision: str) -> None:
    """The model sees what the person made of its call, and its result."""
    asks = HumanInTheLoopMiddleware(interrupt_on={"look": True})
    with running("memory", asks, asks="look") as program:
        program.agent.invoke({"messages": [HumanMessage("one")]}, THREAD)
        made: dict[str, Any] = {"type": decision}
        if decision == "edit":
            made["edited_action"] = {"name": "look", "args": {"q": "Rome"}}
        program.ask(Command(resume={"decisions": [made]}))
        shown = program.squidbot.hosted.conversation("t").session.preview().messages
        calls = [each["data"]["tool_calls"] for each in shown if each["data"].get("tool_calls")]
        kept = [
            message.tool_calls for message in program.state if isinstance(message, AIMessage) and message.tool_calls
        ]
        assert [call["args"] for call in calls[0]] == [call["args"] for call in kept[0]]


@pytest.mark.parametrize("saver", SAVERS)
def test_another_worker_follows_an_edit(saver: str) -> None:
    """Two processes serve one thread, as web servers do: the state is the conversation for both."""
    with running(saver) as program:
        program.say("one")
        program.change()
        program.say("two")
        before = program.said()[1].config
        program.change()
        program.ask({"messages": [HumanMessage("two instead")]}, before)
        assert program.model.seen[-1] == ["one", "A1", "two instead"]


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("restarts", [False, True])
def test_messages_that_are_put_in_or_moved_stand_where_the_state_has_them(saver: str, restarts: bool) -> None:  # noqa: FBT001  # both
    """The state is written anew, with one exchange more, and then in another order."""
    with running(saver) as program:
        program.say("one", "two", "three")
        put_in = [HumanMessage("between"), AIMessage("indeed")]
        program.put(RemoveMessage(id=REMOVE_ALL_MESSAGES), *program.state[:2], *put_in, *program.state[2:])
        if restarts:
            program.restart()
        program.say("four")
        state = program.state
        program.put(RemoveMessage(id=REMOVE_ALL_MESSAGES), *state[:2], *state[4:6], *state[2:4], *state[6:])
        program.say("five")
        assert program.model.seen[-1][:6] == ["one", "A1", "two", "A2", "between", "indeed"]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_result_that_the_state_has_in_fewer_words_is_still_found(restarts: bool) -> None:  # noqa: FBT001  # both
    """The program cuts what a tool has returned; the model can look it up."""
    with running("memory", asks="look") as program:
        program.say("one", "two", "three")
        (result,) = [message for message in program.state[:4] if message.type == "tool"]
        cut = result.model_copy(update={"content": "[cut]"})
        program.put(cut)
        if restarts:
            program.restart()
        program.say("four")
        assert program.model.seen[-1][2] == "[cut]"
        assert "saw A-0" in program.squidbot.hosted.answer("history", "t", {"id": "m2"})


@pytest.mark.parametrize("saver", SAVERS)
def test_an_agent_that_is_a_node_of_a_graph_follows_the_graph_s_state(saver: str) -> None:
    """Removals, other words, a fork, and a state that was emptied."""
    with running(saver) as program:
        graph = StateGraph(MessagesState)
        graph.add_node("agent", create_agent(program.model, [], middleware=[program.squidbot]))
        graph.add_edge(START, "agent")
        program.agent = graph.compile(checkpointer=program.saved)
        program.say("one", "two", "three")
        program.put(*(RemoveMessage(id=str(message.id)) for message in program.state[2:4]))
        program.say("four")
        program.put(HumanMessage("[removed]", id=program.state[0].id))
        program.say("five")
        program.ask({"messages": [HumanMessage("forked")]}, program.said()[2].config)
        program.put(RemoveMessage(id=REMOVE_ALL_MESSAGES))
        program.say("six", "seven")
        assert len(program.model.seen[-1]) == 3


def test_a_node_that_fails_is_tried_again() -> None:
    """The model gets the same list, once each time, and nothing is recorded twice."""

    class Fails(Scripted):
        """A model that is not there the first time."""

        def _reply(self, messages: list[BaseMessage]) -> dict[str, Any]:
            made = super()._reply(messages)
            if len(self.seen) % 2:
                raise TimeoutError
            return made

    with running("memory") as program:
        program.model = Fails(says="A")
        agent = create_agent(program.model, [], middleware=[program.squidbot])
        graph = StateGraph(MessagesState)
        graph.add_node("agent", agent, retry_policy=RetryPolicy(initial_interval=0.01, retry_on=TimeoutError))
        graph.add_edge(START, "agent")
        program.agent = graph.compile(checkpointer=program.saved)
        program.say("one", "two", "three")
        assert [len(request) for request in program.model.seen] == [1, 1, 3, 3, 5, 5]
        assert len(recorded(program)) == 5  # the last reply is recorded with what follows it
        assert len(program.squidbot.hosted.conversation("t").session.lines()) == 1


def test_a_run_that_was_interrupted_goes_on() -> None:
    """By `Command(resume=...)`, in a new process, as far as squidbot can tell."""

    @tool
    def confirm(q: str) -> str:
        """Ask a person."""
        return f"{q} is {interrupt('sure?')}"

    with running("memory", asks="confirm") as program:
        program.start_with(confirm)
        program.agent.invoke({"messages": [HumanMessage("one")]}, THREAD)
        program.squidbot.hosted.close()
        program.start_with(confirm)
        program.ask(Command(resume="fine"))
        assert program.model.seen[-1][-1] == "A-0 is fine"
        program.say("two")
        assert len(program.squidbot.hosted.conversation("t").session.lines()) == 1


ACTS = ["say", "say", "fork", "words", "remove", "again", "insert", "restart", "other"]


@pytest.mark.parametrize("saver", SAVERS)
@given(acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9), st.sampled_from(["yes", "no"])), max_size=12))
@settings(deadline=None, max_examples=15)
def test_the_model_sees_what_the_state_has(saver: str, acts: list[tuple[str, int, str]]) -> None:
    """Whatever is done to the state, in any order."""
    with running(saver) as program:
        program.say("one", "two")
        for what, place, text in acts:
            state = program.state
            if what == "say":
                program.say(text)
            elif what == "fork":
                said = program.said()
                program.ask({"messages": [HumanMessage(f"{text} instead")]}, said[place % len(said)].config)
            elif what == "words":
                at = 2 * (place % (len(state) // 2))
                program.put(HumanMessage(f"{text} {next(program.serial)}", id=state[at].id))
                program.say(text)
            elif what == "remove" and len(state) > 2:  # of the oldest, it would shorten the list only
                at = 2 * (1 + place % (len(state) // 2 - 1))
                program.put(*(RemoveMessage(id=str(message.id)) for message in state[at : at + 2]))
                program.say(text)
            elif what == "insert" and len(state) > 2:
                at = 2 * (1 + place % (len(state) // 2 - 1))
                put_in = [HumanMessage(f"{text} {next(program.serial)}"), AIMessage("indeed")]
                program.put(RemoveMessage(id=REMOVE_ALL_MESSAGES), *state[:at], *put_in, *state[at:])
                program.say(text)
            elif what == "again":
                program.put(RemoveMessage(id=str(state[-1].id)))
                program.ask({"messages": []})
            elif what == "restart":
                program.restart()
            elif what == "other":
                program.change()
        program.say("the end")
