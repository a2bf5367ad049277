"""The names of all events, and what an event holds. docs/events.md says when each is sent."""

from __future__ import annotations

from dataclasses import dataclass

from squidbot.core.memories import NOBODY, Scope

STARTED = "started"
STOPPED = "stopped"
CONFIG_UPDATED = "config-updated"
COMPRESSED = "compressed"
COMPRESSION_ERROR = "compression-error"
COMPRESSION_SKIPPED = "compression-skipped"
COMPACTION_PAUSED = "compaction-paused"
CHECKPOINT_CREATED = "checkpoint-created"
CHECKPOINT_AGED = "checkpoint-aged"
VIEW_PLAN_CHANGED = "view-plan-changed"
PREFIX_BROKEN = "prefix-broken"
PLAN_UNDONE = "plan-undone"
SNAPSHOT_CREATED = "snapshot-created"
AUTO_SNAPSHOT_CREATED = "auto-snapshot-created"
SNAPSHOT_RESTORED = "snapshot-restored"
SNAPSHOT_ERROR = "snapshot-error"
CONTEXT_ASSEMBLED = "context-assembled"
CONTEXT_PRESSURE = "context-pressure"
RELIABILITY_LOW = "reliability-low"
ROLLOVER_COMPLETE = "rollover-complete"
CATEGORY_TRUNCATED = "category-truncated"
BUDGET_OVERRUN = "budget-overrun"
BUDGET_FALLBACK = "budget-fallback"
SILENT_TRUNCATION = "silent-truncation"
USAGE_DROPPED = "usage-dropped"
RECALL_REQUESTED = "recall-requested"
BLOCK_RECALLED = "block-recalled"
FORGOTTEN = "forgotten"
FACTS_LEARNED = "facts-learned"
TRAIT_LEARNED = "trait-learned"
FACTS_ERROR = "facts-error"
FACTS_MERGED = "facts-merged"
FACTS_FORGOTTEN = "facts-forgotten"
MODE_CHANGED = "mode-changed"
LEASE_OPENED = "lease-opened"
LEASE_CLOSED = "lease-closed"
CONTEXT_RECALCULATED = "context-recalculated"
CONTEXT_DISCOVERED = "context-discovered"
TIER_CHANGED = "tier-changed"
CW_CLAMP_NOTICE = "cw_clamp_notice"
JOURNAL_HEARTBEAT = "journal-heartbeat"
LOW_MEMORY = "low-memory"
MEMORY_WARNING = "memory-warning"
MEMORY_CRITICAL = "memory-critical"
MEMORY_EMERGENCY = "memory-emergency"
SIZING_DIFFERS = "sizing-differs"
JOURNAL_ENTRY_CREATED = "journal-entry-created"
DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    Attributes:
        name: one of this module's constants.
        session_id: the session; "" if it happened in none.
        cause: the cause of a plan change, or a sentence.
        window_id, plan_id: the window and the plan in force; "" and -1 if there was none.
        tokens_before, tokens_after: the cost of the request before and after a change, in tokens, as upper bounds;
            equal if nothing changed. For windows (`lease-opened`, `context-recalculated`, ...) their sizes.
        fraction: how full the room for history is (`context-pressure`; 1 is full), how full the GPU is (`low-memory`,
            ...), or how reliable the model (`reliability-low`); else 0.
        model: the model, as settings call it; "" if unknown.
        scope: whose session it is; `NOBODY` if unknown.
    """

    name: str
    session_id: str
    cause: str
    window_id: str = ""
    plan_id: int = -1
    tokens_before: int = 0
    tokens_after: int = 0
    fraction: float = 0.0
    model: str = ""
    scope: Scope = NOBODY
