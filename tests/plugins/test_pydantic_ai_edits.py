"""squidbot in pydantic-ai where a program hands over a history that it has changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from squidbot.core.view.renderer import CONTINUE
from squidbot.plugins.pydantic_ai import Squidbot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def texts(messages: list[ModelMessage]) -> list[str]:
    """Return what is said in messages."""
    said = [
        str(part.content) for each in messages for part in each.parts if isinstance(part, UserPromptPart | TextPart)
    ]
    return [text for text in said if text != CONTINUE]


class Program:
    """A program with an agent, whose model must see the history that is handed over."""

    def __init__(self, path: Path) -> None:
        self.seen: list[list[str]] = []
        self.squidbot = Squidbot(path, budget=64_000, on_error="raise")

        def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            self.seen.append(texts(messages))
            return ModelResponse(parts=[TextPart(f"answer {len(self.seen)}")])

        self.agent: Any = Agent(FunctionModel(answer), capabilities=[self.squidbot])

    def run(self, text: str, **given: object) -> Any:  # noqa: ANN401  # a result of any type
        """Run a turn."""
        return asyncio.run(self.agent.run(text, conversation_id="chat", **given))

    def say(self, text: str, history: list[ModelMessage] | None) -> list[ModelMessage]:
        """Run a turn behind a history, and return the whole of it."""
        made = self.run(text, message_history=history)
        if history is not None:
            assert self.seen[-1] == [*texts(history), text]
        return list(made.all_messages())


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Make one."""
    made = Program(tmp_path / "mem.db")
    yield made
    made.squidbot.hosted.close()


def test_a_history_that_ends_earlier_is_followed(program: Program) -> None:
    """`history[:-2]`, with the same question and with another one; and the former history again."""
    history = program.say("one", None)
    for text in ("two", "three", "four"):
        history = program.say(text, history)
    again = program.say("four", history[:-2])
    program.say("four instead", history[:-2])
    program.say("three instead", history[:-4])
    program.say("five", history)
    program.say("five again", again)
    lines = program.squidbot.hosted.conversation("chat").session.lines()
    assert len(lines) == 4, "what was left is kept, and taken up again"


def test_a_history_with_other_words_is_followed(program: Program) -> None:
    """In a question, in an answer, and where messages in the middle are gone."""
    history = program.say("one", None)
    for text in ("two", "three", "four"):
        history = program.say(text, history)
    history[2] = ModelRequest(parts=[UserPromptPart("[removed]")])
    history = program.say("five", history)
    history[5] = ModelResponse(parts=[TextPart("short")])
    history = program.say("six", history)
    del history[2:4]
    history = program.say("seven", history)
    assert not any(text in program.seen[-1] for text in ("two", "[removed]", "answer 3"))


def test_new_messages_alone_are_a_continuation(program: Program) -> None:
    """A program that hands over no history, or that of the newest run, leaves the past to squidbot."""
    program.say("one", None)
    made = program.run("two")
    assert program.seen[-1] == ["one", "answer 1", "two"]
    program.run("three", message_history=made.new_messages())
    assert program.seen[-1] == ["one", "answer 1", "two", "answer 2", "three"]
