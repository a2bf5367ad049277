"""squidbot keeps an agent's context window within budget, and what falls out of it recallable.

Importing it imports nothing else: each name is fetched when it is first used, so that the core runs bare.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from squidbot.config.loading import Origin
    from squidbot.core.budget import ContextUsage
    from squidbot.core.errors import (
        ArgumentError,
        BudgetError,
        BusyError,
        ConfigError,
        ContextOverflowError,
        DamagedStoreError,
        InvalidRequestError,
        JournalFullError,
        LLMError,
        ModelFileError,
        ModelLoadError,
        NotFoundError,
        RecallError,
        SizingError,
        SquidbotError,
        StaleThinkingError,
        StoreError,
        TranscriptError,
        UnconfirmedError,
    )
    from squidbot.core.events import Event
    from squidbot.core.forgetting import ForgetResult
    from squidbot.core.journal import AppendedEntry, Journal, JournalEntry, JournalPage
    from squidbot.core.memories import NOBODY, SHARED, Memory, Scope
    from squidbot.core.memory.learning import LearningResult
    from squidbot.core.memory.text import MemoryPage
    from squidbot.core.memory.view import Memories, MemoryQuery, NewMemory
    from squidbot.core.messages import Completion, ContextWindow, Cost, Message, StoredMessage, Usage
    from squidbot.core.plan import PlanRecord
    from squidbot.core.recall.history import HistoryHit, HitPage, Page, PageExcerpt
    from squidbot.core.sizing.header import Loading
    from squidbot.core.summaries import SummarySettings, TaskResult
    from squidbot.core.transcript.documents import Document, SessionDocuments
    from squidbot.core.transcript.goals import Goal, GoalBook, GoalItem, Goals
    from squidbot.core.transcript.lines import LineState
    from squidbot.core.transcript.snapshots import Snapshot
    from squidbot.core.view.assembly import Report, Span
    from squidbot.engine import Engine, aload, load
    from squidbot.hookspecs import hookimpl
    from squidbot.replay.runner import PolicyRow, ReplayOutcome, Results, replay_files
    from squidbot.services.background import IndexOutcome, JournalOutcome, TaskOutcome
    from squidbot.services.documents import DocumentSources
    from squidbot.services.exchange import ExportedFile, FileReport, ImportedFile, RemovedImport
    from squidbot.services.forget import ForgetReport
    from squidbot.services.indexing import FileChange, IndexReport
    from squidbot.services.retention import SweepOutcome, SweptSession
    from squidbot.services.summaries import SummaryWorker
    from squidbot.session import Assembly, Reported, Said, Session
    from squidbot.tools.table import history_tool, memory_tool
    from squidbot.tools.tool import Answer, Tool
    from squidbot.wiring.calls import in_thread, to_end

__all__ = [
    "NOBODY",
    "SHARED",
    "Answer",
    "AppendedEntry",
    "ArgumentError",
    "Assembly",
    "BudgetError",
    "BusyError",
    "Completion",
    "ConfigError",
    "ContextOverflowError",
    "ContextUsage",
    "ContextWindow",
    "Cost",
    "DamagedStoreError",
    "Document",
    "DocumentSources",
    "Engine",
    "Event",
    "ExportedFile",
    "FileChange",
    "FileReport",
    "ForgetReport",
    "ForgetResult",
    "Goal",
    "GoalBook",
    "GoalItem",
    "Goals",
    "HistoryHit",
    "HitPage",
    "ImportedFile",
    "IndexOutcome",
    "IndexReport",
    "InvalidRequestError",
    "Journal",
    "JournalEntry",
    "JournalFullError",
    "JournalOutcome",
    "JournalPage",
    "LLMError",
    "LearningResult",
    "LineState",
    "Loading",
    "Memories",
    "Memory",
    "MemoryPage",
    "MemoryQuery",
    "Message",
    "ModelFileError",
    "ModelLoadError",
    "NewMemory",
    "NotFoundError",
    "Origin",
    "Page",
    "PageExcerpt",
    "PlanRecord",
    "PolicyRow",
    "RecallError",
    "RemovedImport",
    "ReplayOutcome",
    "Report",
    "Reported",
    "Results",
    "Said",
    "Scope",
    "Session",
    "SessionDocuments",
    "SizingError",
    "Snapshot",
    "Span",
    "SquidbotError",
    "StaleThinkingError",
    "StoreError",
    "StoredMessage",
    "SummarySettings",
    "SummaryWorker",
    "SweepOutcome",
    "SweptSession",
    "TaskOutcome",
    "TaskResult",
    "Tool",
    "TranscriptError",
    "UnconfirmedError",
    "Usage",
    "aload",
    "history_tool",
    "hookimpl",
    "in_thread",
    "load",
    "memory_tool",
    "replay_files",
    "to_end",
]

_HOMES = {
    "squidbot.core.errors": [name for name in __all__ if name.endswith("Error")],
    "squidbot.config.loading": ["Origin"],
    "squidbot.core.budget": ["ContextUsage"],
    "squidbot.core.events": ["Event"],
    "squidbot.core.forgetting": ["ForgetResult"],
    "squidbot.core.journal": ["AppendedEntry", "Journal", "JournalEntry", "JournalPage"],
    "squidbot.core.memories": ["NOBODY", "SHARED", "Memory", "Scope"],
    "squidbot.core.memory.learning": ["LearningResult"],
    "squidbot.core.memory.text": ["MemoryPage"],
    "squidbot.core.memory.view": ["Memories", "MemoryQuery", "NewMemory"],
    "squidbot.core.messages": ["Completion", "ContextWindow", "Cost", "Message", "StoredMessage", "Usage"],
    "squidbot.core.plan": ["PlanRecord"],
    "squidbot.core.recall.history": ["HistoryHit", "HitPage", "Page", "PageExcerpt"],
    "squidbot.core.sizing.header": ["Loading"],
    "squidbot.core.summaries": ["SummarySettings", "TaskResult"],
    "squidbot.core.transcript.documents": ["Document", "SessionDocuments"],
    "squidbot.core.transcript.goals": ["Goal", "GoalBook", "GoalItem", "Goals"],
    "squidbot.core.transcript.lines": ["LineState"],
    "squidbot.core.transcript.snapshots": ["Snapshot"],
    "squidbot.core.view.assembly": ["Report", "Span"],
    "squidbot.engine": ["Engine", "aload", "load"],
    "squidbot.hookspecs": ["hookimpl"],
    "squidbot.replay.runner": ["PolicyRow", "ReplayOutcome", "Results", "replay_files"],
    "squidbot.services.background": ["IndexOutcome", "JournalOutcome", "TaskOutcome"],
    "squidbot.services.documents": ["DocumentSources"],
    "squidbot.services.exchange": ["ExportedFile", "FileReport", "ImportedFile", "RemovedImport"],
    "squidbot.services.forget": ["ForgetReport"],
    "squidbot.services.indexing": ["FileChange", "IndexReport"],
    "squidbot.services.retention": ["SweepOutcome", "SweptSession"],
    "squidbot.services.summaries": ["SummaryWorker"],
    "squidbot.session": ["Assembly", "Reported", "Said", "Session"],
    "squidbot.tools.table": ["history_tool", "memory_tool"],
    "squidbot.tools.tool": ["Answer", "Tool"],
    "squidbot.wiring.calls": ["in_thread", "to_end"],
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
