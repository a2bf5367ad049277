"""squidbot in the toy agent, as a stranger writes a plugin: some eighty lines over squidbot.plugins.host."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

try:
    from . import toy_agent  # noqa: F401  # a host that is not installed is said
except ImportError as error:
    raise ImportError(f"squidbot in toy: {error}; pip install '.[toy]'") from error

from squidbot.core.errors import ConfigError
from squidbot.core.messages import Usage
from squidbot.plugins.host import HostRuntime, call_tool
from squidbot.tools.table import HOST_DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from squidbot.plugins.host import HostConversation
    from squidbot.tools.tool import Tool

    Message = dict[str, Any]

LOG = logging.getLogger("squidbot")


class ToyTool:
    """One of squidbot's tools, in the form of the host."""

    def __init__(self, hosted: HostRuntime, tool: Tool) -> None:
        """Take what it is made of."""
        self.hosted, self.name, self.here = hosted, tool.name, ""
        self.schema = {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
        }

    async def call(self, conversation_id: str, arguments: Mapping[str, Any]) -> str:
        """Return its result."""
        where = self.here or conversation_id
        return self.hosted.safely(
            self.name,
            where,
            lambda: call_tool(self.hosted.conversation(where).session, self.name, arguments),
            f"<{self.name} failed; continue without it>",
        )


class ToySquid:
    """squidbot in the toy agent."""

    def __init__(self, path: Path, budget: int | None = None, settings: Mapping[str, object] | None = None) -> None:
        """Nothing is opened yet."""
        self.hosted = HostRuntime(path, host="toy", form="openai.chat", budget=budget, settings=settings)
        self.tools: Sequence[ToyTool] = [ToyTool(self.hosted, each) for each in HOST_DEFAULTS]
        self.warned: set[str] = set()

    def beside(self, keeps: int | None) -> None:
        """Say that the host's own limit of messages is on."""
        if keeps:
            self.warn(f"toy itself forgets what is older than {keeps} messages: leave `keeps` out")

    def started(self, conversation_id: str, **switches: object) -> None:
        """Refuse what nobody could bound."""
        if switches.get("thread"):
            raise ConfigError("thread makes the provider keep the conversation, so squidbot can't limit requests")
        if not conversation_id:
            self.warn("squidbot has no conversation_id to keep a conversation by")

    def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Record what is new, and return what fits."""
        if not conversation_id:
            return listed

        def act() -> list[Message]:
            return list(self.talk(conversation_id).before(listed, tools=schemas).messages)

        return self.hosted.safely("a request", conversation_id, act, listed)

    def shorter(self, conversation_id: str) -> list[Message] | None:
        """Return less to send."""
        if not conversation_id:
            return None

        def act() -> list[Message] | None:
            made = self.talk(conversation_id).shorter()
            return made.messages if made else None

        return self.hosted.safely("a shorter request", conversation_id, act, None)

    def after(self, conversation_id: str, reply: Message, usage: Mapping[str, int]) -> None:
        """Record the reply."""
        if not conversation_id:
            return
        used = Usage(usage["in"], usage["out"], usage["cached"]) if usage else None
        self.hosted.safely(
            "recording a reply", conversation_id, lambda: self.talk(conversation_id).after(reply, used), None
        )

    def talk(self, conversation_id: str) -> HostConversation:
        """Return the conversation."""
        return self.hosted.conversation(conversation_id)

    def warn(self, text: str) -> None:
        """Say something once."""
        if text not in self.warned:
            self.warned.add(text)
            LOG.warning("%s", text)
