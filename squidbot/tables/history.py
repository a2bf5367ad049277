"""`[pressure]`, `[history]`, `[summary]` and `[snapshots]`: when history gives way, to what, and how to get back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from squidbot.checks import (
    Amount,
    Isolated,
    Minutes,
    Mode,
    Names,
    Portion,
    Scheduler,
    Scope,
    Share,
    Size,
    Strategy,
    Tokens,
    UserMessages,
    Whole,
)
from squidbot.core.messages import Labels
from squidbot.core.transcript.snapshots import Retention

if TYPE_CHECKING:
    from squidbot.core.memories import Scope as Whose

__all__ = ["History", "Images", "Pressure", "Snapshots", "Summary"]

STRATEGY = Strategy("balanced")
USER_MESSAGES = UserMessages("graceful")
SCOPE = Scope("inline+summaries")
# Facts are a bot's own unless that is said otherwise (C6); a session's id is its host's word for one conversation.
ISOLATION = Isolated("global")
# B-40: every 15 to 30 minutes.
INTERVAL_MINUTES = Minutes(30)
SCHEDULER = Scheduler("thread")
# The core's own (decisions.md, section 11).
KEEPING = Retention()
SNAPSHOTS_MAX, SNAPSHOTS_NTH = Whole(KEEPING.most_named), Whole(KEEPING.keep_every_nth)
SNAPSHOTS_AUTO = Portion(KEEPING.auto_fraction)
SNAPSHOTS_HOURS, SNAPSHOTS_DAYS = Amount(KEEPING.keep_all_hours), Amount(KEEPING.most_days)


@attrs.frozen
class Pressure:
    """`[pressure]`: when history gives way, and how far."""

    strategy: Strategy = STRATEGY
    compact_at_fraction: Share | None = None
    low_water_fraction: Portion | None = None
    patience: Amount | None = None
    min_saving_fraction: Portion | None = None
    backoff_seconds: Amount | None = None
    warn_fraction: Portion | None = None
    journal_fraction: Portion | None = None
    critical_fraction: Portion | None = None
    emergency_fraction: Portion | None = None
    notice: bool | None = None
    compact_at_tokens: Size | None = None
    compact_at_messages: Whole | None = None
    low_water_messages: Whole | None = None
    beside_summaries: bool | None = None
    tier_targets: bool | None = None


@attrs.frozen
class History:
    """`[history]`: what stays verbatim."""

    scope: Scope = SCOPE
    user_messages: UserMessages = USER_MESSAGES
    categories_by_words: bool = False
    labels: bool = False
    owner_aliases: dict[str, Names] = attrs.Factory(dict)
    isolation: Isolated = ISOLATION
    floor_turns: Whole | None = None
    min_recent_messages: Whole | None = None
    keep_recent_tokens: Size | None = None
    pinned_fraction: Portion | None = None
    keep_fraction: Portion | None = None
    slim_fraction: Portion | None = None
    user_verbatim_fraction: Portion | None = None
    user_low_fraction: Portion | None = None
    birth_fraction: Portion | None = None
    step_fraction: Portion | None = None
    assistant_fraction: Portion | None = None

    def labels_of(self, whose: Whose) -> Labels | None:
        """Return what messages of a scope are labelled by; None where they are not."""
        return Labels.of(whose.channel, whose.user, self.owner_aliases) if self.labels else None


@attrs.frozen
class Images:
    """`[images]`: pictures that are sent; None as the core has it."""

    max: Whole | None = None


@attrs.frozen
class Summary:
    """`[summary]`: where session blocks end, how much of the room notes take, and which model writes summaries."""

    gap_seconds: Amount | None = None
    notes_fraction: Portion | None = None
    note_rate: Portion | None = None
    chain: bool | None = None
    fold_fraction: Portion | None = None
    detailed_blocks: Whole | None = None
    moderate_blocks: Whole | None = None
    compact_blocks: Whole | None = None
    level_fraction: Portion | None = None
    max_tokens: Tokens | None = None
    min_note_tokens: Size | None = None
    llm: str | None = None
    mode: Mode | None = None
    min_messages: Whole | None = None
    min_input_tokens: Size | None = None
    source_tokens: Tokens | None = None
    backoff_seconds: Amount | None = None
    scheduler: Scheduler = SCHEDULER
    interval_minutes: Minutes = INTERVAL_MINUTES


@attrs.frozen
class Snapshots:
    """`[snapshots]`: when a restore point is made unasked, and which are kept."""

    max: Whole = SNAPSHOTS_MAX
    auto_fraction: Portion = SNAPSHOTS_AUTO
    keep_all_hours: Amount = SNAPSHOTS_HOURS
    keep_every_nth: Whole = SNAPSHOTS_NTH
    max_age_days: Amount = SNAPSHOTS_DAYS

    @property
    def retention(self) -> Retention:
        """The same as the core takes it."""
        return Retention(self.max, self.auto_fraction, self.keep_all_hours, self.keep_every_nth, self.max_age_days)
