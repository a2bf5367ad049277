"""Every tool, for each kind of reader: a session's own model, a host's, and programs without conversations of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from squidbot.core.arguments import flag
from squidbot.core.view.marks import HINTS, Hints, refused
from squidbot.tools.context import CONTEXT
from squidbot.tools.goals import GOAL
from squidbot.tools.history import HISTORY, HOST_HISTORY
from squidbot.tools.journal import ADD_ENTRY, JOURNAL_STATUS, LIST_ENTRIES
from squidbot.tools.memory import HOST_ADD, HOST_SEARCH, MEMORY, REINDEX
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

_MORE: Final = (REINDEX, GOAL, ADD_ENTRY, LIST_ENTRIES, JOURNAL_STATUS, CONTEXT)
FOR_SESSIONS: Final[tuple[Tool, ...]] = (HISTORY, *MEMORY, *_MORE)
# With plain arguments: hosts show each tool as a function.
FOR_HOSTS: Final[tuple[Tool, ...]] = tuple(
    one._replace(closed=True) for one in (HOST_SEARCH, HOST_ADD, HOST_HISTORY, *_MORE)
)
# Hosts have no tool that shows a further page of a search, lists facts or forgets one.
HOST_HINTS: Final[Hints] = HINTS._replace(found="", facts="", listed="", forget="", search="")


# Where no settings, or wrong ones, say more.
HOST_DEFAULTS: Final = FOR_HOSTS[:3]


def named(tools: tuple[Tool, ...], name: str, settings: Settings) -> Tool | None:
    """Return the tool of a name, as settings offer it, if they do; None where there is none."""
    found = [tool for tool in tools if tool.name == name]
    return next(iter(offered(tuple(found), settings)), found[0] if found else None)


def offered(tools: tuple[Tool, ...], settings: Settings) -> tuple[Tool, ...]:
    """Return those of the tools that settings offer."""
    return tuple(tool for tool in tools if tool.offered(settings))


def call(session: SessionTools, name: str, arguments: Mapping[str, object] | str, now: float) -> Answer:
    """Answer a call of a tool by a session's own model, by the tool's name; `now` is in seconds since 1970."""
    tool = named(FOR_SESSIONS, name, session.wired.loaded.settings)
    if tool is None:
        names = ", ".join(dict.fromkeys(one.name for one in FOR_SESSIONS))
        return Answer(refused(f"there is no tool {name[:60]!a}; there are {names}"), is_error=True)
    return session.answer(tool, arguments, now)


def history_tool(form: str = "openai.chat") -> Any:  # noqa: ANN401  # as any SDK types it
    """Return the definition of the tool `history` as a host sends it, in the form of its messages.

    Forms are "openai.chat", "anthropic.messages" and "openai.responses".

    Raises:
        ConfigError: the form is not known.
    """
    return definition(HISTORY, form)


def memory_tool(form: str = "openai.chat", *, write: bool = False, journal: bool = False) -> Any:  # noqa: ANN401  # as any SDK types it
    """Return the definition of the tool `memory` as a host sends it; without `write` it can only search.

    With `journal`, entries of journals are a category to search in.

    Raises:
        ArgumentError: an argument is not as it is described.
        ConfigError: the form is not known.
    """
    return definition(MEMORY[2 * flag("write", write) + flag("journal", journal)], form)
