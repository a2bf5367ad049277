"""squidbot in LangChain beside middleware that shortens the messages, too."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver

from squidbot.plugins.langchain import Squidbot
from tests.plugins.test_langchain import Fake, Program, calling, look, told

if TYPE_CHECKING:
    from pathlib import Path

FILLER = "Tell me about sorting. " * 20


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what the log says of others."""
    return [text for record in caplog.records if "beside squidbot" in (text := record.getMessage())]


def test_a_summarizer_is_told_once_and_all_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """C16: LangChain shows no middleware its neighbours, so it is told when its first summary is seen."""
    summarizer = SummarizationMiddleware(
        FakeListChatModel(responses=["They spoke."]), trigger=("messages", 8), keep=("messages", 4)
    )
    ours = Squidbot(tmp_path / "mem.db", budget=4_000)
    agent: Any = create_agent(Fake(seen=[]), middleware=[ours, summarizer], checkpointer=InMemorySaver())
    with caplog.at_level(logging.WARNING, "squidbot"):
        for number in range(3):
            agent.invoke({"messages": [("user", f"{number}: hello")]}, told("chat-1"))
        assert warned(caplog) == []
        for number in range(3, 9):
            result = agent.invoke({"messages": [("user", f"{number}: hello")]}, told("chat-1"))["messages"]
    assert len(result) < 18, "it has deleted from the state"
    assert len(warned(caplog)) == 1
    assert "SummarizationMiddleware" in warned(caplog)[0]
    assert ours.hosted.engine.wired.store.head("chat-1")[0] == 18
    assert "They spoke." not in str(ours.hosted.engine.wired.store.read("chat-1", 0, 99))


def test_what_clears_results_in_front_of_squidbot_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """C16: what it hands on is no longer what was said; behind squidbot it does no harm, and is not seen."""
    clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=200, keep=1)])
    for order, expected in (("behind", 0), ("in front", 1)):
        program = Program(tmp_path / f"{order}.db", keeps=True)
        both = [program.squidbot, clearing] if order == "behind" else [clearing, program.squidbot]
        program.agent = create_agent(program.fake, tools=[look], middleware=both, checkpointer=InMemorySaver())
        program.fake.answers = lambda text, number: calling("look", f"c{number}", at=number) if text else None
        caplog.clear()
        with caplog.at_level(logging.WARNING, "squidbot"):
            for number in range(5):
                program.run(f"{number}: {FILLER}")
        assert len(warned(caplog)) == expected
        assert len(program.texts()) == 20, order
        if expected:
            assert "ContextEditingMiddleware" in warned(caplog)[0]
