"""squidbot keeps an agent's context window within budget, and what falls out of it recallable.

Importing it imports nothing else: each name is fetched when it is first used, so that the core runs bare.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from squidbot.core.errors import (
        ArgumentError,
        BudgetError,
        BusyError,
        ConfigError,
        ContextOverflowError,
        DamagedStoreError,
        InvalidRequestError,
        LLMError,
        ModelFileError,
        ModelLoadError,
        NotFoundError,
        RecallError,
        SizingError,
        SquidbotError,
        StoreError,
        TranscriptError,
    )
    from squidbot.core.events import Event
    from squidbot.core.memories import SHARED, Memory, Scope
    from squidbot.core.messages import Completion, Message, Usage
    from squidbot.core.summaries import SummarySettings
    from squidbot.engine import Engine, aload, load
    from squidbot.hookspecs import hookimpl
    from squidbot.replay.runner import replay_files
    from squidbot.services.summaries import SummaryWorker
    from squidbot.session import Assembly, Session
    from squidbot.tools.table import history_tool, memory_tool
    from squidbot.tools.tool import Answer
    from squidbot.wiring.calls import in_thread

__all__ = [
    "SHARED",
    "Answer",
    "ArgumentError",
    "Assembly",
    "BudgetError",
    "BusyError",
    "Completion",
    "ConfigError",
    "ContextOverflowError",
    "DamagedStoreError",
    "Engine",
    "Event",
    "InvalidRequestError",
    "LLMError",
    "Memory",
    "Message",
    "ModelFileError",
    "ModelLoadError",
    "NotFoundError",
    "RecallError",
    "Scope",
    "Session",
    "SizingError",
    "SquidbotError",
    "StoreError",
    "SummarySettings",
    "SummaryWorker",
    "TranscriptError",
    "Usage",
    "aload",
    "history_tool",
    "hookimpl",
    "in_thread",
    "load",
    "memory_tool",
    "replay_files",
]

_HOMES = {
    "squidbot.core.errors": [name for name in __all__ if name.endswith("Error")],
    "squidbot.core.events": ["Event"],
    "squidbot.core.summaries": ["SummarySettings"],
    "squidbot.core.memories": ["SHARED", "Memory", "Scope"],
    "squidbot.core.messages": ["Completion", "Message", "Usage"],
    "squidbot.engine": ["Engine", "aload", "load"],
    "squidbot.hookspecs": ["hookimpl"],
    "squidbot.replay.runner": ["replay_files"],
    "squidbot.services.summaries": ["SummaryWorker"],
    "squidbot.session": ["Assembly", "Session"],
    "squidbot.tools.table": ["history_tool", "memory_tool"],
    "squidbot.tools.tool": ["Answer"],
    "squidbot.wiring.calls": ["in_thread"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker knows the names above, and so finds a misspelt one

    def __getattr__(name: str) -> object:
        """Return a public name from the module where it is at home (PEP 562)."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return [*globals(), *__all__]
