"""An agent program as a stranger writes one: lists of messages, a loop, and a place for a plugin."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    Message = dict[str, Any]

__all__ = ["Agent", "ModelFailedError", "Plugin", "TooLongError", "Tool"]


class ModelFailedError(Exception):
    """The server of the model has failed."""


class TooLongError(Exception):
    """The server of the model says that the request was too long."""


class Tool(Protocol):
    """A tool: its schema, and what it does."""

    schema: Message

    async def call(self, conversation_id: str, arguments: Mapping[str, Any]) -> str:
        """Return its result."""


class Plugin(Protocol):
    """What has a say in what the model sees."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What the model may call besides."""

    def started(self, conversation_id: str, *, keeps: int | None, **switches: object) -> None:
        """A turn begins."""

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Return what to send in place of the list."""

    async def shorter(self, conversation_id: str) -> list[Message] | None:
        """Return less to send; None for no more attempt."""

    async def after(self, conversation_id: str, reply: Message, usage: Mapping[str, int]) -> None:
        """Take the reply."""


class Agent:
    """Leads conversations. `ask` is the model: it yields pieces of text, and the whole reply with its usage last."""

    def __init__(
        self,
        ask: Callable[[list[Message], list[Message]], AsyncIterator[Any]],
        tools: Sequence[Tool],
        plugin: Plugin | None = None,
        keeps: int | None = None,
    ) -> None:
        """Hold no conversation yet; of each only the newest `keeps` messages are held, or all."""
        self.ask, self.plugin, self.keeps = ask, plugin, keeps
        self.tools: dict[str, Tool] = {
            each.schema["function"]["name"]: each for each in (*tools, *(plugin.tools if plugin else ()))
        }
        self.lists: dict[str, list[Message]] = {}

    async def turn(self, text: str, conversation_id: str = "", **switches: object) -> AsyncIterator[str]:
        """Run a turn; yields what the model says, in pieces."""
        if self.plugin:
            self.plugin.started(conversation_id, keeps=self.keeps, **switches)
        listed = self.lists.setdefault(conversation_id, [])
        listed.append({"role": "user", "content": text})
        calls: list[Message] = []
        is_first = True
        while calls or is_first:
            is_first = False
            async for piece in self._step(conversation_id, listed):
                yield piece
            calls = listed[-1].get("tool_calls", [])
            results = await asyncio.gather(*(self._called(conversation_id, each) for each in calls))
            listed += results
        if self.keeps:
            del listed[: -self.keeps]

    async def answer(self, text: str, conversation_id: str = "", **switches: object) -> str:
        """Run a turn and return its last words."""
        async for _ in self.turn(text, conversation_id, **switches):
            pass
        return str(self.lists[conversation_id][-1]["content"])

    async def _step(self, conversation_id: str, listed: list[Message]) -> AsyncIterator[str]:
        schemas = [each.schema for each in self.tools.values()]
        sent: list[Message] | None = listed
        if self.plugin:
            sent = await self.plugin.before(conversation_id, listed, schemas)
        reply: Message = {}
        usage: Mapping[str, int] = {}
        pieces: list[str] = []
        try:
            while not reply:
                try:
                    async for each in self.ask(list(sent or []), schemas):
                        if isinstance(each, str):
                            pieces.append(each)
                            yield each
                        else:
                            reply, usage = each
                except TooLongError:
                    sent = await self.plugin.shorter(conversation_id) if self.plugin else None
                    if sent is None:
                        raise
        finally:
            if not reply and pieces:
                reply = {"role": "assistant", "content": "".join(pieces), "finish_reason": "incomplete"}
            if reply:
                listed.append(reply)
                if self.plugin:
                    await self.plugin.after(conversation_id, reply, usage)

    async def _called(self, conversation_id: str, call: Message) -> Message:
        tool = self.tools[call["function"]["name"]]
        try:
            told = await tool.call(conversation_id, json.loads(call["function"]["arguments"]))
        except Exception as error:  # noqa: BLE001  # the model is told
            told = f"failed: {error}"
        return {"role": "tool", "tool_call_id": call["id"], "content": told}
