"""squidbot in an agent program of your own: copy this, and change what your program has in another way.

The program calls a plugin before and after each call of its model; `agent.py` is such a program. Check yours with
`squidbot.testing.hosts.check_host_plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from . import agent  # noqa: F401  # your program
except ImportError as error:
    raise ImportError(f"squidbot in own_agent: {error}; pip install 'your-plugin[own_agent]'") from error

from squidbot import Usage, in_thread, to_end
from squidbot.plugins.host import REPLY, REQUEST, HostRuntime, server_held

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from squidbot import Tool
    from squidbot.plugins.host import HostConversation

    Message = dict[str, Any]

NO_ID = "no conversation_id, so squidbot stores nothing: pass one"
FORGETS = "own_agent itself forgets what is older than {} messages: leave `keeps` out"


class OwnTool:
    """One of squidbot's tools, as the program has its tools."""

    def __init__(self, hosted: HostRuntime, tool: Tool) -> None:
        self.hosted, self.name = hosted, tool.name
        function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        self.schema = {"type": "function", "function": function}

    async def call(self, conversation_id: str, arguments: Mapping[str, Any]) -> str:
        """Return its result for the model; a failure is one, too."""
        return await in_thread(self.hosted.answer, self.name, conversation_id, arguments)


class Squidbot:
    """Keeps requests within a budget and all messages in a file."""

    def __init__(self, path: Path, budget: int | None = None, settings: Mapping[str, object] | None = None) -> None:
        self.hosted = HostRuntime(path, host="own_agent", form="openai.chat", budget=budget, settings=settings)
        self.tools = [OwnTool(self.hosted, tool) for tool in self.hosted.tools]

    def started(self, conversation_id: str, *, keeps: int | None = None, **switches: object) -> None:
        """Refuse what makes the provider keep the conversation, and warn of what is in the way."""
        if switches.get("thread"):
            raise server_held("thread")
        for text in (*([] if conversation_id else [NO_ID]), *([FORGETS.format(keeps)] if keeps else [])):
            self.hosted.warn_once(text)

    async def before(self, conversation_id: str, listed: list[Message], schemas: list[Message]) -> list[Message]:
        """Record what is new, and return what to send."""
        if not conversation_id:
            return listed

        def messages() -> list[Message]:
            return self.talk(conversation_id).before(listed, tools=schemas).messages

        return await in_thread(self.hosted.safely, REQUEST, conversation_id, messages, listed)

    async def shorter(self, conversation_id: str) -> list[Message] | None:
        """Return less to send, if the provider said that the request was too long."""

        def messages() -> list[Message] | None:
            made = self.talk(conversation_id).shorter() if conversation_id else None
            return made.messages if made else None

        return await in_thread(self.hosted.safely, "shorten a request", conversation_id, messages)

    async def after(self, conversation_id: str, reply: Message, usage: Mapping[str, int]) -> None:
        """Record the reply, even if the task is cancelled."""
        used = Usage(usage["in"], usage["out"], usage["cached"]) if usage else None
        if conversation_id:
            record = lambda: self.talk(conversation_id).after(reply, used)  # noqa: E731
            await to_end(self.hosted.safely, REPLY, conversation_id, record)

    def talk(self, conversation_id: str) -> HostConversation:
        """Return a conversation."""
        return self.hosted.conversation(conversation_id)
