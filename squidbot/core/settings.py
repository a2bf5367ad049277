"""How history is kept within its room: the settings of the core, as values with their sources."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from squidbot.core.budget import (
    CALIBRATED_FRACTION,
    LEVEL_BASE_TOKENS,
    LEVEL_LEAST_TOKENS,
    MERGED_TOKENS,
    Ladder,
    input_limit,
    laid_out,
    tier_of,
)
from squidbot.core.errors import ConfigError
from squidbot.core.plan import Prices, Representation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from squidbot.core.budget import HistoryCaps, Layout
    from squidbot.core.messages import ContextWindow, Labels


# Tokens of a summary by level at an input limit of LEVEL_BASE_TOKENS (a 16K window), scaled with the limit.
LEVEL_TOKENS = {
    Representation.DETAILED: 1200,
    Representation.MODERATE: 600,
    Representation.COMPACT: 300,
    Representation.MERGED: MERGED_TOKENS,
}
LADDER = Ladder()
# The largest session block, in tokens: a quarter of the input limit, at most this.
BLOCK_MOST_TOKENS = 8192

# Low water lies at least this far below the high-water mark.
LEAST_CUT_FRACTION = 0.1

# Where a cached token is free, a long request costs no more than a short one, and only what a compaction rewrites is
# paid for: early ones cost and gain nothing. On a recorded coding session with a local model's prices, waiting until
# .80 of the room cost 858 instead of 931 a call ("speed") and 926 instead of 957 ("balanced") at 128K, both with more
# recall at each age; until .95 it cost more again, as more compactions come inside of a tool loop.
FREE_READ_HIGH = 0.8


# What words of notes must be worth for each token. On 28 sessions at 32K .015, .005 and .002 cost 2,688, 2,760 and
# 2,820 tokens' worth a call, with a recall beyond 8,000 tokens of .898, .913 and .912.
LEAST_WORTH = 0.005
# By a factor of e in so many tokens of conversation, what was used long ago loses worth in notes.
FADING_TOKENS = 82_500


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """Settings that decide when history gives way, and how much.

    Fractions are of the room that history has: the input limit less system text, tools and head.

    Attributes:
        high_fraction: above it, the next user turn brings a compaction; inside a tool loop, only what does not fit.
        patience: below the high-water mark a compaction comes as soon as there is so much to take out of the request, 1
            being where compactions cost least in the long run (`pressure.pays`); 0 to wait for the mark.
        low_fraction: where a compaction ends, if its notes and user messages leave that much room.
        slim_fraction: what messages with cut tool outputs may take between the notes and the raw ones.
        keep_fraction: raw messages that a compaction always leaves, if they fit at all.
        notes_fraction: what all notes together may take.
        note_rate: tokens of notes for one token of what was said.
        chain: whether notes are added behind notes until their room is full; else each compaction makes one on all.
        fold_fraction: what one note on everything takes of `notes_fraction` when the chain of notes is full.
        detailed_blocks, moderate_blocks, compact_blocks: how many of the newest blocks keep notes of their own at each
            level when the chain of notes is full; older ones are merged.
        level_fraction: what these notes may take of the room for all.
        max_summary_tokens: no summary is larger, whatever the room; None: as large as its level has it.
        full_fraction: what notes and messages may fill where everything is summarized anew; the rest is to grow into.
        least_worth: words that are worth less for each token are left out of notes even if there is room.
        fading_tokens: by a factor of e in so many tokens of conversation, what was used long ago loses worth in notes.
        min_note_tokens: a note smaller than this helps nobody; a pointer stands there instead.
        user_verbatim_fraction: user messages stay verbatim while all of them cost no more.
        user_low_fraction: the share of that down to which they give way when they cost more, long and old ones first.
        output_fraction: a tool output above it is cut before it is first sent.
        step_fraction: the same for a step of the assistant with its outputs, arguments included.
        assistant_fraction: a compaction cuts each text of the model's above it, before all but pictures; 0: none.
        min_recent_messages: a compaction always leaves this many newest messages raw, if they fit.
        floor_turns: so do the newest complete turns, this many; keep_recent_tokens: and the newest messages of so many
            tokens together.
        beside_summaries: whether marks are shares of what summaries leave of the room, and not of all of it.
        pinned_fraction: the share of the window that what is pinned may take; 0 for any.
        gap_seconds: a pause that closes a session block.
        min_saving_fraction: a high-water compaction that saves less of the request is skipped.
        backoff_seconds: how long compaction rests after two compactions in a row that saved too little.
        cache_ttl_seconds: the provider forgets a cached prefix after this pause; infinite: never.
        read_price, write_price: of a cached and of a newly written input token; 1 is an uncached one.
        output_price: of a token that a model writes.
        least_cached_tokens: of a request shorter than this nothing is cached.
        policy_limit: what a request may cost by the policy's counter, in its unit; None: by the window.
        calibrated_fraction: the share of the window that an estimate may fill once usage was reported; at most
            that of the window where it is smaller.
        user_messages: "graceful": the user's messages give way last; "strict": never, what does not fit with all of
            them is refused.
        cap: what the policy caps leave for history; `None` if there are none.
        says_notes: whether a line in front of the first notes asks the model to say when it answers from them.
        one_user: whether a session belongs to its first user alone.
        scope: what is sent of history: "inline+summaries"; "inline", for what no longer fits a pointer stands;
            "summaries", of what was said before the current turn notes alone; "none", nothing but that turn.
        most_images: a compaction leaves so many of the newest pictures, and texts in the place of older ones.
        category_weights: of system text, context, dialogue, output: what has more than its share gives way first, in
            this order; None: no category has a share.
        categories_by_words: whether words tell what a system text behind others is for.
        layout: what each part of a request is given, by tier; None if no part has a share.
        labels: by what messages are labelled where and by whom they were said; None: they are not.
        ladder: who is told as history grows, and the marks that are numbers of tokens or messages.
    """

    high_fraction: float = 0.7
    low_fraction: float = 0.1
    patience: float = 0.7
    slim_fraction: float = 0.0
    keep_fraction: float = 0.1
    notes_fraction: float = 0.6
    note_rate: float = 0.15
    chain: bool = True
    fold_fraction: float = 0.6
    detailed_blocks: int = 5
    moderate_blocks: int = 5
    compact_blocks: int = 5
    level_fraction: float = 0.3
    max_summary_tokens: int | None = None
    full_fraction: float = 0.8
    least_worth: float = LEAST_WORTH
    fading_tokens: int = FADING_TOKENS
    min_note_tokens: int = 48
    user_verbatim_fraction: float = 0.5
    user_low_fraction: float = 0.3
    output_fraction: float = 0.25
    step_fraction: float = 0.5
    assistant_fraction: float = 0.0
    min_recent_messages: int = 0
    floor_turns: int = 0
    keep_recent_tokens: int = 0
    beside_summaries: bool = False
    pinned_fraction: float = 0.0
    gap_seconds: float = 3600.0
    min_saving_fraction: float = 0.1
    backoff_seconds: float = 300.0
    cache_ttl_seconds: float = 300.0
    read_price: float = 0.1
    write_price: float = 1.25
    output_price: float = 5.0
    least_cached_tokens: int = 0
    policy_limit: int | None = None
    calibrated_fraction: float = CALIBRATED_FRACTION
    user_messages: str = "graceful"
    cap: HistoryCaps | None = None
    says_notes: bool = False
    one_user: bool = False
    scope: str = "inline+summaries"
    most_images: int = 5
    categories_by_words: bool = False
    category_weights: tuple[int, int, int, int] | None = None
    layout: Layout | None = None
    labels: Labels | None = None
    ladder: Ladder = LADDER

    @property
    def strict(self) -> bool:
        """Whether no message of the user's gives way, where more than the current turn is sent at all."""
        return self.user_messages == "strict" and not self.only_in_flight

    @property
    def only_in_flight(self) -> bool:
        """Whether only the current turn and pinned messages are sent verbatim."""
        return self.scope in {"none", "summaries"}

    @property
    def keeps_users(self) -> bool:
        """Whether the user's messages stand verbatim behind notes: caps leave out older ones."""
        return self.strict or (self.cap is None and not self.only_in_flight)

    @property
    def takes_notes(self) -> bool:
        """Whether notes stand for messages that are not sent."""
        return self.scope in {"inline+summaries", "summaries"}

    @property
    def prices(self) -> Prices:
        """The prices of tokens."""
        return Prices(self.read_price, self.write_price, self.output_price, self.least_cached_tokens)

    def resolved(
        self,
        own: Mapping[str, object],
        window: ContextWindow | None = None,
        *,
        tiers: bool = False,
        layout: bool = False,
    ) -> HistorySettings:
        """Return the settings with a user's own: these go before the layout, that before the tier of the window.

        Args:
            own: fields with their values.
            window: the window; it may be left out where neither tier nor layout counts.
            tiers: whether low water and the ceiling of pinned messages are those of the tier.
            layout: whether notes are as large and as many as the layout of the tier has them.
        """
        high = self.high_fraction if own.get("read_price", self.read_price) else max(self.high_fraction, FREE_READ_HIGH)
        high = own.get("high_fraction", high)  # type: ignore[assignment]  # a float, under its own name
        changes: dict[str, object] = {"high_fraction": high}
        if window is not None and tiers:
            changes |= _of_tier(window.window_tokens, high)
        if window is not None and layout:
            changes |= _of_layout(window)
        return replace(self, **{**changes, **own})  # type: ignore[arg-type]  # whoever sets them has checked each

    def block_max_tokens(self, room_tokens: int) -> int:
        """Return the size that closes a session block, in tokens."""
        return max(1, min(BLOCK_MOST_TOKENS, room_tokens // 4))

    def raw_tokens(self, share: float, room: float, beside: float) -> float:
        """Return how much of a room may stay raw, in its unit: a share of it less `beside`, at least the floor."""
        return max(share * room - beside, self.keep_fraction * room)

    def level_tokens(self, level: Representation, room_tokens: int) -> int:
        """Return the largest summary of a level, in tokens."""
        most = self.layout.single(level.level) if self.layout else None
        if most is None:
            most = max(LEVEL_LEAST_TOKENS, LEVEL_TOKENS[level] * room_tokens // LEVEL_BASE_TOKENS)
        return most if self.max_summary_tokens is None else min(most, self.max_summary_tokens)

    def merged_tokens(self, left_tokens: int) -> int:
        """Return the room for one note on everything older, of the room that other notes leave, in tokens.

        A layout bounds it, and so does the largest summary. Without them it takes all: no other note is on those
        messages.
        """
        most = left_tokens if self.layout is None else min(left_tokens, self.layout.merged)
        return (
            most if self.max_summary_tokens is None else min(most, max(self.min_note_tokens, self.max_summary_tokens))
        )

    @property
    def tells_in_one(self) -> bool:
        """Whether each compaction makes one note on everything, of a size that no layout sets."""
        return not self.chain and self.layout is None

    def ranks(self) -> tuple[Representation, ...]:
        """Return the levels of the newest blocks, newest first."""
        detailed = (Representation.DETAILED,) * self.detailed_blocks
        moderate = (Representation.MODERATE,) * self.moderate_blocks
        return detailed + moderate + (Representation.COMPACT,) * self.compact_blocks

    def slim_tokens(self, room_tokens: int) -> int:
        """Return the size above which a tool output in a slimmed segment is cut, in tokens."""
        return max(32, min(1500, room_tokens // 16))


def _of_tier(window_tokens: int, high_fraction: float) -> dict[str, object]:
    """Return low water and the ceiling of pinned messages of a tier.

    Low water lies at least .10 below the high-water mark: the target of the second tier equals its trigger.
    """
    of = tier_of(window_tokens)
    low = min(of.target_fraction or 1.0, high_fraction - LEAST_CUT_FRACTION)
    return {"low_fraction": max(0.0, low), "pinned_fraction": of.pinned_fraction}


def _of_layout(window: ContextWindow) -> dict[str, object]:
    """Return notes as large and as many as the layout of a tier has them.

    Each compaction writes all notes anew, so no level has more than its share; what they leave is for recent messages.
    """
    size = window.window_tokens
    limit = input_limit(size, window.reserved_output_tokens, window.safety_fraction)
    layout, (detailed, moderate, compact) = laid_out(size, limit), tier_of(size).summaries
    return {
        "layout": layout,
        "chain": False,
        "fold_fraction": 1.0,
        "notes_fraction": layout.notes / limit,
        "level_fraction": layout.levels / max(1, layout.notes),
        "detailed_blocks": detailed,
        "moderate_blocks": moderate,
        "compact_blocks": compact,
    }


# Three points on the front of cost and recall, chosen on 29 sessions of five agents: input tokens' worth a call, names
# kept that were last seen more than 8,000 and 32,000 tokens ago (median, worst tenth). "coherence" and "speed" at 128K,
# and what follows, were measured before notes told of the user's messages, of patches and of lists.
#
#                 32K                                    128K
#   coherence     2,886  1.000/.913 1.000/.835
#   balanced      2,373   .970/.881  .957/.737           5,699  1.000/.951  1.000/.879
#   speed         2,325   .970/.802  .909/.579           4,353  1.000/.946  1.000/.885
#
# What costs little and keeps much: richer notes, shorter outputs. With .15 tokens of notes a token, .6 of the room
# for them and .15 for an output, "balanced" cost 2,412 at 32K with .967/.814 and .909/.557; more notes alone (.25, .75,
# folded to .8) 2,431 with .975/.867 and .957/.709. It breaks the prompt cache more often then, 268 times for 225 in
# eight sessions of Codex, nearly always behind the notes: a mark of .85 instead of .7 without patience brings 225, for
# 2,567 with .672 in the worst tenth beyond 32,000 tokens. "speed" cost 2,433 with .929/.794 and .870/.466.
# Deep batches are cheap ones: down to .3 of the room instead of .1 cost 18 % more at 128K, with as much recall.
# "coherence" fills its room with notes, and tells all that has room. With .25 tokens of notes a token, folded to .7,
# "balanced" cost 2,343 at 32K with .973/.888 and .962/.724, but reused less of the cache in a talk of 400 turns: .889
# of its input, at .228 of a token's price, for .895 and .221 (exact counter). In rooms below 16,000 tokens it needs
# that rate: with .18 it kept .885 of the names of more than 8,000 tokens ago at 16K for .909.
STRATEGIES: dict[str, HistorySettings] = {
    "coherence": HistorySettings(
        high_fraction=0.95,
        low_fraction=0.55,
        patience=0.0,
        keep_fraction=0.02,
        note_rate=0.4,
        notes_fraction=0.9,
        fold_fraction=0.9,
        output_fraction=0.12,
        full_fraction=0.95,
        least_worth=0.002,
        fading_tokens=350_000,
    ),
    "balanced": HistorySettings(
        keep_fraction=0.02,
        note_rate=0.18,
        notes_fraction=0.75,
        fold_fraction=0.65,
        output_fraction=0.12,
        fading_tokens=200_000,
    ),
    "speed": HistorySettings(
        high_fraction=0.4,
        patience=0.5,
        keep_fraction=0.02,
        note_rate=0.25,
        notes_fraction=0.45,
        output_fraction=0.12,
        step_fraction=0.2,
    ),
}
# What is needed again was used the further back the more room there is: notes in a small one tell more of what is new.
# What a strategy has is for the room of a 32K window and all larger ones, where notes only grow with it; below, it
# follows the room by (5,000 + room) to (5,000 + 28,000). At 8K, on 20 sessions, 120,000 kept .864 (median; mean .862)
# of the names of more than 2,000 tokens ago, and .661 of those of more than 32,000; 40,000 .899 (.882) and .576, 30,000
# .910 (.883) and .559, 20,000 .895 (.872) and .450. At 32K 60,000 and 140,000 are alike; "coherence" kept .894 and .753
# in the worst tenth beyond 8,000 and 32,000 tokens with 140,000, .908 and .792 with 250,000, .903 and .805 with
# 350,000.
FADING_ROOM_TOKENS, FADING_LEAST_TOKENS = 28_000, 5_000
# Rooms below these can't hold a chain of notes, or a compaction's notes, beside a working set: what waiting saves is
# nothing there, and what is forgotten is much.
SMALL_ROOM_TOKENS, MIDDLE_ROOM_TOKENS = 8_000, 16_000
# Below this, notes and the step in flight need the room: with a quarter of it for the user's words instead of 15 %,
# recall beyond 2,000 tokens fell from .65 to .56 on a recorded coding session at a room of 3,900.
TINY_ROOM_TOKENS = 4_500
# Below the middle an output may take so much of the room. At 8K a fifth (a quarter in tiny rooms) cost 1,818 a call and
# kept .947 of the names of more than 2,000 tokens ago, this costs 1,828 with .952, with larger notes beside it; in a
# room of 3,900 tokens 1,447 with .840 and 1,442 with .872, and 1.0 of the user's messages (median) for .80.
SMALL_OUTPUT_FRACTION = 0.15
# Answers of squidbot's own tools need so many tokens, at most a quarter of a tiny room.
TINY_OUTPUT_TOKENS, TINY_OUTPUT_FRACTION = 600, 0.25
# The same for a step with its outputs, in small rooms and in those that are not large. With half of these, too,
# "balanced" cost 2,437 for 2,399 on 29 sessions at 32K, with 421 breaks for 398, and kept no more: .965 for .963 beyond
# 2,000 tokens (mean), .938 for .937 beyond 8,000. At 8K half of the room cost 1,796 on 22 sessions and kept .693 of the
# names of more than 32,000 tokens ago, this 1,774 and .720.
SMALL_STEP_FRACTION, STEP_FRACTION = 0.35, 0.3
# Between the rooms of a 32K and of a 64K window.
LARGE_ROOM_TOKENS = 40_000

# How many of the newest blocks keep notes of their own, detailed, moderate and compact, below so many tokens of room:
# Figures for windows of 4K, 8K, 16K, 32K and more, each less what is reserved for the answer.
LEVEL_BLOCKS: tuple[tuple[float, tuple[int, int, int]], ...] = (
    (TINY_ROOM_TOKENS, (0, 0, 0)),
    (SMALL_ROOM_TOKENS, (1, 0, 0)),
    (MIDDLE_ROOM_TOKENS, (1, 1, 1)),
    (LARGE_ROOM_TOKENS, (4, 3, 3)),
    (float("inf"), (5, 5, 5)),
)


@lru_cache(maxsize=64)  # a host opens session after session with few settings
def strategy(name: str, room_tokens: int) -> HistorySettings:
    """Return the settings of a named strategy for a history room of `room_tokens`.

    Raises:
        ConfigError: there is no such strategy; the text lists those there are.
    """
    try:
        chosen = STRATEGIES[name]
    except KeyError:
        raise ConfigError(f"unknown strategy {name!r}; known: {', '.join(STRATEGIES)}") from None
    detailed, moderate, compact = next(counts for below_tokens, counts in LEVEL_BLOCKS if room_tokens < below_tokens)
    chosen = replace(chosen, detailed_blocks=detailed, moderate_blocks=moderate, compact_blocks=compact)
    return (_in_small_room if room_tokens < SMALL_ROOM_TOKENS else _in_room)(chosen, room_tokens)


def _in_room(chosen: HistorySettings, room_tokens: int) -> HistorySettings:
    """Return a strategy's settings for a room that is not small.

    The marks never fall in tokens where the room grows: a larger window shows no less than a smaller one.
    """
    middle = min(1.0, MIDDLE_ROOM_TOKENS / room_tokens)
    small = SMALL_STEP_FRACTION * SMALL_ROOM_TOKENS / room_tokens
    return replace(
        chosen,
        high_fraction=max(chosen.high_fraction, 0.95 * middle),
        low_fraction=max(chosen.low_fraction, 0.4 * middle, 0.5 * SMALL_ROOM_TOKENS / room_tokens),
        note_rate=max(chosen.note_rate, 0.25 * middle),
        notes_fraction=max(chosen.notes_fraction, 0.5 * middle),
        output_fraction=max(chosen.output_fraction, SMALL_OUTPUT_FRACTION * middle),
        fading_tokens=_fading_tokens(chosen, room_tokens),
        step_fraction=chosen.step_fraction if room_tokens >= LARGE_ROOM_TOKENS else max(STEP_FRACTION, small),
    )


def _in_small_room(chosen: HistorySettings, room_tokens: int) -> HistorySettings:
    """Return a strategy's settings for a room that can't hold a chain of notes."""
    output_fraction = max(SMALL_OUTPUT_FRACTION, min(TINY_OUTPUT_FRACTION, TINY_OUTPUT_TOKENS / max(1, room_tokens)))
    return replace(
        chosen,
        high_fraction=0.95,
        low_fraction=0.5,
        keep_fraction=0.05,
        notes_fraction=0.65,
        step_fraction=max(SMALL_STEP_FRACTION, 2 * output_fraction),
        output_fraction=output_fraction,
        # .75, .80 and .85 cost 1,376, 1,546 and 1,707 a call on a recorded coding session at 8K, with .61, .63 and .64.
        full_fraction=0.81,
        # One note on everything gets its share of the room whatever was said; only what stays raw depends on the rate.
        note_rate=0.08,
        fading_tokens=_fading_tokens(HistorySettings(), room_tokens),
        chain=False,
        fold_fraction=1.0,
        user_verbatim_fraction=0.15 if room_tokens < TINY_ROOM_TOKENS else 0.3,
        # Every compaction tells everything anew here, so one that cuts deeper saves no later one.
        user_low_fraction=0.3 if room_tokens < TINY_ROOM_TOKENS else 0.7,
    )


def _fading_tokens(settings: HistorySettings, room_tokens: int) -> int:
    room = max(0, min(room_tokens, FADING_ROOM_TOKENS)) + FADING_LEAST_TOKENS
    return settings.fading_tokens * room // (FADING_ROOM_TOKENS + FADING_LEAST_TOKENS)
