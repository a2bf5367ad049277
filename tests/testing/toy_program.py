"""A program of the toy agent for the check of hosts: what a stranger's test supplies."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.own_agent.agent import Agent, ModelFailedError, TooLongError
from examples.own_agent.plugin import Squidbot as ToySquid
from squidbot.testing.hosts import (
    HostDriver,
    Request,
    RequestMessage,
    Setting,
    SignedReply,
    ToolFailed,
    broken_off,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from squidbot.testing.hosts import HostProgram, Model

    Message = dict[str, Any]


def sent(message: Message) -> RequestMessage:
    """Return a message as a neutral one."""
    calls = tuple(each["id"] for each in message.get("tool_calls", ()))
    results = (message["tool_call_id"],) if message["role"] == "tool" else ()
    content = message.get("content") or ""
    opaque = to_json(message["reasoning_details"]).decode() if "reasoning_details" in message else ""
    return RequestMessage(message["role"], content, calls, results, to_json(message), opaque)


class Look:
    """The tool of the check."""

    schema: Message = {  # noqa: RUF012  # nobody writes to it
        "type": "function",
        "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}},
    }

    def __init__(self, mind: Model) -> None:
        """Take who knows what is seen."""
        self.mind = mind

    async def call(self, conversation_id: str, arguments: Mapping[str, Any]) -> str:
        """Look."""
        del conversation_id
        try:
            return await self.mind.alook(int(arguments["at"]))
        except ToolFailed as error:
            return f"failed: {error}"


class Program:
    """The toy agent with squidbot in it."""

    def __init__(self, setting: Setting, squid: type[ToySquid] = ToySquid, keeps: int | None = None) -> None:
        """Make the agent."""
        self.mind = setting.model
        self.squid = squid(setting.path, setting.budget, setting.settings) if setting.has_squidbot else None
        self.agent = Agent(self.ask, [Look(self.mind)], self.squid, keeps)

    async def ask(self, messages: list[Message], schemas: list[Message]) -> AsyncIterator[Any]:
        """Be the model."""
        step = self.mind.hear(Request(tuple(map(sent, messages)), tools=to_json(schemas)))
        for chunk in step.chunks():
            yield chunk
        if step.is_held:
            await self.mind.ahold()
        if step.error:
            raise TooLongError("too long") if step.error == "too_long" else ModelFailedError("fake")
        reply: Message = (
            dict(step.native) if isinstance(step.native, dict) else {"role": "assistant", "content": step.text}
        )
        if step.calls:
            reply["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in step.calls
            ]
        used = step.usage
        yield reply, {"in": used.input_tokens, "out": used.output_tokens, "cached": used.cached_tokens} if used else {}

    def run(self, text: str, conversation_id: str, history: object = None) -> str:
        """Run a turn."""
        if isinstance(history, list):
            self.agent.lists[conversation_id] = list(history)
        return asyncio.run(self.agent.answer(text, conversation_id))

    async def arun(self, text: str, conversation_id: str) -> str:
        """Run a turn, awaited."""
        return await self.agent.answer(text, conversation_id)

    def stream(self, text: str, conversation_id: str, pieces: int | None = None) -> str:
        """Run a turn as a stream."""
        return asyncio.run(self._stream(text, conversation_id, pieces))

    async def _stream(self, text: str, conversation_id: str, pieces: int | None) -> str:
        said: list[str] = []
        async for piece in self.agent.turn(text, conversation_id):
            said.append(piece)
            if len(said) == pieces:
                break
        return "".join(said)

    def cancel(self, text: str, conversation_id: str, *, streams: bool = False) -> None:
        """Cancel the task of a turn."""
        run = self._stream(text, conversation_id, None) if streams else self.arun(text, conversation_id)
        asyncio.run(broken_off(run, self.mind))

    def history(self, conversation_id: str) -> object:
        """Return the agent's list."""
        return list(self.agent.lists.get(conversation_id, []))

    def listed(self, conversation_id: str) -> Sequence[RequestMessage]:
        """Return the same, neutral."""
        return [sent(each) for each in self.agent.lists.get(conversation_id, [])]

    def close(self) -> None:
        """Close the store."""
        if self.squid:
            self.squid.hosted.close()


def held(program: HostProgram) -> object:
    """Have the provider keep the conversation."""
    return asyncio.run(program.agent.answer("Hi", "chat-1", thread="x"))  # type: ignore[attr-defined]  # it is ours


def without_id(setting: Setting, squid: type[ToySquid] = ToySquid) -> object:
    """Run turns of no conversation."""
    agent = Program(setting, squid).agent
    return [asyncio.run(agent.answer("Hi")) for _ in range(2)]


def with_limit(setting: Setting, squid: type[ToySquid] = ToySquid) -> object:
    """Have the host forget by itself."""
    return Program(setting, squid, keeps=4).run("Hi", "chat-1")


THOUGHT = [{"type": "reasoning.encrypted", "data": "c2lnbmVk", "x": [1, None]}]
REPLY = {"role": "assistant", "content": "Yes.", "reasoning_details": THOUGHT}
ROOT = Path(__file__).parents[2]


def host_of(squid: type[ToySquid], origin: str) -> HostDriver:
    """Return what is known of the toy, with one plugin or another."""
    return HostDriver(
        name=f"toy with {squid.__name__}",
        make=partial(Program, squid=squid),
        origin=origin,
        root=ROOT,
        plugin="examples.own_agent.plugin",
        package="examples.own_agent.agent",
        extra="own_agent",
        server_held={"thread": held},
        rivals={"keeps": partial(with_limit, squid=squid)},
        inactive={"no conversation_id": partial(without_id, squid=squid)},
        signed=SignedReply(REPLY, to_json(THOUGHT).decode()),
    )


HOST = host_of(ToySquid, "tests.testing.toy_program:HOST")
