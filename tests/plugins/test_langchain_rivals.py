"""squidbot in LangChain beside middleware that shortens the messages, too."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from squidbot.plugins.langchain import Squidbot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from langgraph.pregel import Pregel

TURNS = 9


class Looking(BaseChatModel):
    """A model that looks once in each turn, if it may."""

    looks: bool = True

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Sequence[Any], **_: object) -> Looking:
        """Take any."""
        del tools
        return self

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        call = {"name": "look", "args": {}, "id": f"c{len(messages)}"}
        may = self.looks and isinstance(messages[-1], HumanMessage)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Yes.", tool_calls=[call] if may else []))])


@tool
def look() -> str:
    """Look at something."""
    return "of a look at the shelf " * 20


def run(agent: Pregel[Any, Any, Any, Any], turns: int) -> list[BaseMessage]:
    """Run some turns, and return the state's messages."""
    found: list[BaseMessage] = []
    for number in range(turns):
        found = agent.invoke({"messages": [("user", f"{number}: hello")]}, {"configurable": {"thread_id": "chat-1"}})[
            "messages"
        ]
    return found


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what the log says of others."""
    return [text for record in caplog.records if "before squidbot sees" in (text := record.getMessage())]


def test_a_summarizer_is_told_once_and_all_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """C16: LangChain shows no middleware its neighbours, so it is told when its first summary is seen."""
    summarizer = SummarizationMiddleware(
        FakeListChatModel(responses=["They spoke."]), trigger=("messages", 8), keep=("messages", 4)
    )
    ours = Squidbot(tmp_path / "mem.db", budget=4_000)
    agent = create_agent(Looking(looks=False), middleware=[ours, summarizer], checkpointer=InMemorySaver())
    with caplog.at_level(logging.WARNING, "squidbot"):
        run(agent, 3)
        assert warned(caplog) == []
        state = run(agent, TURNS)
    assert len(state) < 2 * TURNS, "it has deleted from the state"
    assert len(warned(caplog)) == 1
    assert "SummarizationMiddleware" in warned(caplog)[0]
    store = ours.hosted.engine.wired.store
    assert store.head("chat-1")[0] == 2 * (3 + TURNS)
    assert "They spoke." not in str(store.read("chat-1", 0, 99))


@pytest.mark.parametrize("is_first", [True, False])
def test_what_clears_results_in_front_of_squidbot_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_first: bool
) -> None:
    """C16: what it hands on is no longer what was said; behind squidbot it does no harm, and is not seen."""
    clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=200, keep=1)])
    ours = Squidbot(tmp_path / "mem.db", budget=4_000)
    both = [ours, clearing] if is_first else [clearing, ours]
    agent = create_agent(Looking(), tools=[look], middleware=both, checkpointer=InMemorySaver())
    with caplog.at_level(logging.WARNING, "squidbot"):
        run(agent, TURNS)
    assert ours.hosted.engine.wired.store.head("chat-1")[0] == 4 * TURNS
    told = [] if is_first else ["ContextEditingMiddleware removes messages before squidbot sees them"]
    assert [text.partition(";")[0] for text in warned(caplog)] == told
