"""Tables of tools: for the model of a session, and for the models of hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from squidbot.core.arguments import flag
from squidbot.core.view.marks import HINTS, Hints, refused
from squidbot.tools.context import CONTEXT
from squidbot.tools.goals import GOAL
from squidbot.tools.history import HISTORY, HOST_HISTORY
from squidbot.tools.journal import ADD_ENTRY, ADD_SUMMARY_NOTE, JOURNAL_STATUS, LIST_ENTRIES
from squidbot.tools.memory import ADD_DECLARATIVE_NOTE, HOST_ADD, HOST_SEARCH, MEMORY, REINDEX
from squidbot.tools.tool import Answer, definition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.config import Settings
    from squidbot.tools.session import SessionTools
    from squidbot.tools.tool import Tool

__all__ = [
    "FOR_HOSTS",
    "FOR_SESSIONS",
    "HOST_DEFAULTS",
    "HOST_HINTS",
    "call",
    "history_tool",
    "memory_tool",
    "named",
    "offered",
]

_NOTES: Final = (ADD_DECLARATIVE_NOTE, ADD_SUMMARY_NOTE)
_MORE: Final = (REINDEX, *_NOTES, GOAL, ADD_ENTRY, LIST_ENTRIES, JOURNAL_STATUS, CONTEXT)
FOR_SESSIONS: Final[tuple[Tool, ...]] = (HISTORY, *MEMORY, *_MORE)
# Hosts show each tool as a function with plain arguments.
FOR_HOSTS: Final[tuple[Tool, ...]] = tuple(
    tool._replace(closed=True) for tool in (HOST_SEARCH, HOST_ADD, HOST_HISTORY, *_MORE)
)
# Hosts have no tools for further pages, lists of facts, or forgetting.
HOST_HINTS: Final[Hints] = HINTS._replace(found="", facts="", listed="", forget="", search="", past="")


# Without settings, or with wrong ones.
HOST_DEFAULTS: Final = FOR_HOSTS[:3]


def named(tools: tuple[Tool, ...], name: str, settings: Settings, bot: str = "") -> Tool | None:
    """Return the tool of a name, if possible the variant that settings offer a bot; `None` if there is none."""
    found = [tool for tool in tools if tool.name == name]
    return next(iter(offered(tuple(found), settings, bot)), found[0] if found else None)


def offered(tools: tuple[Tool, ...], settings: Settings, bot: str = "") -> tuple[Tool, ...]:
    """Return the tools that settings offer a bot; one that uses no tools gets those that read."""
    own = replace(settings, memory=settings.memory_of(bot)) if bot else settings
    may_write = not bot or settings.bot(bot).uses_tools
    return tuple(tool for tool in tools if tool.offered(own) and (may_write or tool.effect == "reads"))


def call(session: SessionTools, name: str, arguments: Mapping[str, object] | str, now: float) -> Answer:
    """Answer a tool call of a session's own model; `now` is in seconds since 1970."""
    tool = named(FOR_SESSIONS, name, session.wired.loaded.settings, session.scope.bot)
    if tool is None:
        names = ", ".join(dict.fromkeys(known.name for known in FOR_SESSIONS))
        return Answer(refused(f"unknown tool {name[:60]!a}; known: {names}"), is_error=True)
    return session.answer(tool, arguments, now)


def history_tool(form: str = "openai.chat") -> Any:  # noqa: ANN401  # as any SDK types it
    """Return the definition of the tool `history`, to send to your model. `Session.call` answers its calls.

    `form` is "openai.chat", "anthropic.messages" or "openai.responses".

    Raises:
        ConfigError: the form is unknown.
    """
    return definition(HISTORY, form)


def memory_tool(form: str = "openai.chat", *, write: bool = False, journal: bool = False) -> Any:  # noqa: ANN401  # as any SDK types it
    """Return the definition of the tool `memory`, to send to your model. `Session.call` answers its calls.

    `form` is as in `history_tool`. With `write`, the model may add facts; otherwise it only searches. With `journal`,
    it can search the journal, too.

    Raises:
        ArgumentError: an argument has the wrong type.
        ConfigError: the form is unknown.
    """
    return definition(MEMORY[2 * flag("write", write) + flag("journal", journal)], form)
