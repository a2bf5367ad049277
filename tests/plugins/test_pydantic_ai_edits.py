"""squidbot in pydantic-ai where a program hands over a history that it has changed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
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


def redacted(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Return messages without a password, as a program's own processor makes them for each request."""
    every: list[Any] = [*messages]
    found: list[ModelMessage] = []
    for each in every:
        parts = [
            replace(part, content=str(part.content).replace("hunter2", "***"))
            if isinstance(part, UserPromptPart)
            else part
            for part in each.parts
        ]
        found.append(replace(each, parts=parts))
    return found


def newest(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Return the newest three messages, as a program that trims does."""
    return messages[-3:]


@pytest.mark.parametrize("is_first", [False, True])
def test_a_processor_of_the_program_s_own_has_its_way(program: Program, is_first: bool) -> None:  # noqa: FBT001  # both
    """What it takes out of a message is not sent; what it leaves off of the oldest is history."""
    both = [program.squidbot, ProcessHistory(redacted)]
    program.agent = Agent(program.agent.model, capabilities=both[::-1] if is_first else both)
    history = program.run("my password is hunter2").all_messages()
    for text in ("two", "three", "four"):
        history = program.run(text, message_history=history).all_messages()
    assert program.seen[-1][::2] == ["my password is ***", "two", "three", "four"]
    program.agent = Agent(
        program.agent.model, capabilities=[ProcessHistory(newest), program.squidbot] if is_first else both
    )
    program.run("five", message_history=history)
    assert program.seen[-1][::2] == ["my password is ***", "two", "three", "four", "five"]


def test_a_run_that_was_cancelled_is_asked_again(program: Program) -> None:
    """The question is sent once, with the same history, and with another question in its place."""
    history = program.say("one", None)
    model = program.agent.model

    async def cancelled(text: str) -> None:
        waits = asyncio.Event()

        async def never(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            program.seen.append(texts(messages))
            waits.set()
            await asyncio.sleep(60)
            raise AssertionError

        agent = Agent(FunctionModel(never), capabilities=[program.squidbot])
        task = asyncio.create_task(agent.run(text, conversation_id="chat", message_history=history))
        await waits.wait()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    for _ in range(2):
        asyncio.run(cancelled("two"))
        assert program.seen[-1] == ["one", "answer 1", "two"]
    program.agent = Agent(model, capabilities=[program.squidbot])
    program.say("two", history)
    asyncio.run(cancelled("three"))
    program.say("three instead", history)
