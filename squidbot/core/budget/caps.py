"""What each section of a request may cost, in words or tokens, and what is kept where that is not enough.

These are the policy caps (section 5 of the design). The physical guard in `window` holds in tokens, with or without
them. Amounts without a unit in their name are in the unit of the caps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

from squidbot.core.errors import BudgetError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Capped",
    "Caps",
    "Count",
    "HistoryItem",
    "Measure",
    "TrimRule",
    "Trimmed",
    "Unit",
    "available_tokens",
    "cap_history",
    "compact_at_tokens",
    "count_words",
    "enforce_total",
    "measure_for",
    "truncate_newest",
]

Unit = Literal["words", "tokens"]

# The line that stands for messages that are left out: its words, and about its tokens.
POINTER_WORDS, POINTER_TOKENS = 10, 32

# What a text costs in the unit of the caps.
Count = Callable[[str], int]

# "ladder": in the newest messages what the user did not write is reduced before the documents are. "squidbot-v2": the
# newest messages stay whole, as in document 001.
TrimRule = Literal["ladder", "squidbot-v2"]


@dataclass(frozen=True, slots=True)
class Caps:
    """The policy caps of one agent. Defaults: Q-01; limits: Q-02.

    In the configuration of an agent they are `context_memory_max_words`, `context_summary_max_words`,
    `context_history_max_words`, `context_total_max_words`, `context_min_recent_messages`, `context_budget_mode` (the
    unit) and `context_dedupe_summary_against_memory`; the names keep "words" in either unit.

    Attributes:
        memory, summary, history: what the section may cost, in `unit`.
        total: what the three may cost together, in `unit`.
        min_recent_messages: newest messages that are kept whatever they cost.
        unit: what is counted.
        dedupe: whether summary lines that the memory document has are left out.

    Raises:
        ConfigError: a cap is not above 0, the total is below the history's cap, or the unit is unknown.
    """

    memory: int = 300
    summary: int = 500
    history: int = 2500
    total: int = 4500
    min_recent_messages: int = 2
    unit: Unit = "words"
    dedupe: bool = True

    def __post_init__(self) -> None:
        """Refuse what Q-02 names, with the key as the user wrote it."""
        for key, value in (
            ("context_memory_max_words", self.memory),
            ("context_summary_max_words", self.summary),
            ("context_history_max_words", self.history),
            ("context_total_max_words", self.total),
            ("context_min_recent_messages", self.min_recent_messages),
        ):
            if value <= 0:
                raise ConfigError(f"agents.{key} must be > 0, not {value}")
        if self.unit not in ("words", "tokens"):
            raise ConfigError(f"agents.context_budget_mode must be 'words' or 'tokens', not {self.unit!r}")
        if self.total < self.history:
            raise ConfigError(
                f"agents.context_total_max_words must be >= agents.context_history_max_words, "
                f"not {self.total} < {self.history}"
            )

    def left(self, memory: int, summary: int, *, reduces: bool) -> Capped:
        """Return what documents of these sizes leave for history, in the unit of the caps."""
        notes = max(0, self.summary - summary)
        left = self.total - memory - summary
        pointer = POINTER_WORDS if self.unit == "words" else POINTER_TOKENS
        return Capped(self.history, left, notes, self.min_recent_messages, reduces, pointer)


class Capped(NamedTuple):
    """What of the caps is left for the history of one call, in their unit.

    Attributes:
        history: what is sent raw of what was said before the current turn may cost.
        total: what that and notes may cost together: what the documents leave of the total.
        notes: what notes may cost.
        min_recent_messages: newest messages that are kept whatever they cost.
        reduces: whether of these what the user did not write is cut before the total is passed.
        pointer: what stands in any case for what is left out costs.
    """

    history: int
    total: int
    notes: int
    min_recent_messages: int
    reduces: bool
    pointer: int = 0

    def kept(self, items: Sequence[HistoryItem], *, noted: bool = False) -> tuple[int | None, ...]:
        """Return for each item, oldest first, what it may cost; None: it is left out.

        `noted` says that something stands for older ones already.
        """
        left = self._kept(items, self.total)
        return self._kept(items, self.total - self.pointer) if noted or None in left else left

    def _kept(self, items: Sequence[HistoryItem], total: int) -> tuple[int | None, ...]:
        total = max(1, total)
        caps = Caps(history=min(self.history, total), total=total, min_recent_messages=self.min_recent_messages)
        kept = cap_history(items, caps)
        rule: TrimRule = "ladder" if self.reduces else "squidbot-v2"
        costs = dict(zip(kept, enforce_total([items[one] for one in kept], 0, 0, caps, rule).history, strict=True))
        return tuple(costs.get(place) for place in range(len(items)))


class Measure(NamedTuple):
    """How caps are counted: the unit in force, its counter, and a warning to give once where it isn't the one asked."""

    unit: Unit
    count: Count
    warning: str | None


class HistoryItem(NamedTuple):
    """One atom of the history.

    Attributes:
        cost: what it costs as it is, in the unit of the caps.
        messages: how many messages it has.
        floor: whether a floor of the configuration (turns, tokens; C16) keeps it whatever it costs.
        least: what it costs when cut as far as it may be; None: never cut, as a user's text (C2).
    """

    cost: int
    messages: int = 1
    floor: bool = False
    least: int | None = None


class Trimmed(NamedTuple):
    """What each part may cost after the total was enforced, in the unit of the caps.

    Attributes:
        history: for each item in the order given what it may cost; None: it is left out.
        summary, memory: what is left of each.
        overrun: by how much the total is still exceeded; 0 where it is kept.
    """

    history: tuple[int | None, ...]
    summary: int
    memory: int
    overrun: int


def count_words(text: str) -> int:
    """Return the number of words: runs of characters that are no whitespace (C3)."""
    return len(text.split())


def measure_for(unit: Unit, token_count: Count | None) -> Measure:
    """Return what counts the caps: tokens only where there is a counter, else words and one warning (Q-08).

    The counter is used where it is given: tokens never mean words in silence. The warning is for the caller to tell
    once.
    """
    if unit == "words":
        return Measure("words", count_words, None)
    if token_count is not None:
        return Measure("tokens", token_count, None)
    return Measure(
        "words", count_words, "the budget is set in tokens, but there is no token counter: words are counted"
    )


def available_tokens(input_limit_tokens: int, fixed_tokens: int, summary_tokens: Sequence[int] = ()) -> int:
    """Return what the history may cost: input limit - fixed part - summaries (B-13, O-06); 0 where nothing is left.

    The fixed part is system, tools and head.

    Raises:
        BudgetError: the fixed part alone leaves no room.
    """
    if fixed_tokens >= input_limit_tokens:
        raise BudgetError(
            "system and tools",
            cost=fixed_tokens,
            budget=input_limit_tokens,
            unit="tokens",
            key="models.<alias>.context_window",
        )
    return max(0, input_limit_tokens - fixed_tokens - sum(summary_tokens))


def compact_at_tokens(available: int, compact_at_fraction: float = 0.8) -> int:
    """Return the smallest cost of the history, in tokens, at which an event is due: that share of `available`, or more.

    The default is O-06's 80 %; `available` is in tokens.
    """
    return math.ceil(Fraction(str(compact_at_fraction)) * available)


def truncate_newest(text: str, limit: int, count: Count) -> str:
    """Return the end of `text` that costs at most `limit`: its newest lines whole, one cut in the oldest one (C15).

    In words the result has exactly `limit` of them if the text has more. The cut is before a word; only where the
    newest word alone is too much it is inside. What is returned is an end of `text`, its line breaks unchanged, and
    has been counted as a whole; "" where nothing fits. `limit` and `count` are in the same unit.
    """
    if count(text) <= limit:
        return text

    def fits(start: int) -> bool:
        return count(text[start:]) <= limit

    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    line = _earliest(line_starts[1:], fits)
    start, end = [*line_starts, len(text)][line : line + 2]
    word_starts = [match.start() for match in re.compile(r"\S+").finditer(text, start, end)]
    word = _earliest(word_starts, fits)
    if word < len(word_starts):
        return text[word_starts[word] :]
    if text[end:].strip():
        return text[end:]
    letters = range(word_starts[-1], len(text[:end].rstrip())) if word_starts else range(0)
    letter = _earliest(letters, fits)
    return text[letters[letter] :] if letter < len(letters) else ""


def cap_history(items: Sequence[HistoryItem], caps: Caps) -> tuple[int, ...]:
    """Return the positions of the items that are kept, oldest first (Q-06).

    From newest to oldest while they fit `caps.history`; from the first that does not, older ones are left out. The
    newest item, those with the newest `caps.min_recent_messages` messages, and floor items are kept in any case and
    count as the others do.
    """
    floor = _floor(items, caps)
    kept: list[int] = []
    spent, open_ = 0, True
    for position in reversed(range(len(items))):
        open_ = open_ and spent + items[position].cost <= caps.history
        if open_ or position in floor:
            kept.append(position)
            spent += items[position].cost
    return tuple(reversed(kept))


def enforce_total(
    history: Sequence[HistoryItem], summary: int, memory: int, caps: Caps, rule: TrimRule = "ladder"
) -> Trimmed:
    """Return what each part may cost so that all together cost at most `caps.total`: history, summary, memory (Q-07).

    History goes first, the oldest item first and whole, down to the floor of `cap_history`. By the rule "ladder" the
    floor's items are then cut to their `least`, oldest first, and by no more than needed; and where the history alone
    exceeds the total, summary and memory are spared, as emptying them would not help. By "squidbot-v2" floor items
    stay whole and the documents are emptied (V13). An overrun is a value, for the event `budget-overrun`.
    """
    floor = _floor(history, caps)
    over = sum(item.cost for item in history) + summary + memory - caps.total
    left: list[int | None] = [item.cost for item in history]
    for position, item in enumerate(history):
        if over > 0 and position not in floor:
            left[position] = None
            over -= item.cost
    if rule == "ladder":
        for position in sorted(floor):
            cut = _cuttable(history[position], over)
            left[position] = history[position].cost - cut
            over -= cut
        if over > summary + memory:
            return Trimmed(tuple(left), summary, memory, over)
    from_summary = max(0, min(summary, over))
    from_memory = max(0, min(memory, over - from_summary))
    overrun = max(0, over - from_summary - from_memory)
    return Trimmed(tuple(left), summary - from_summary, memory - from_memory, overrun)


def _cuttable(item: HistoryItem, wanted: int) -> int:
    least = item.cost if item.least is None else item.least
    return max(0, min(item.cost - least, wanted))


def _floor(items: Sequence[HistoryItem], caps: Caps) -> set[int]:
    floor = {position for position, item in enumerate(items) if item.floor}
    messages = 0
    for position in reversed(range(len(items))):
        if messages >= caps.min_recent_messages:
            break
        floor.add(position)
        messages += items[position].messages
    return floor


def _earliest(starts: Sequence[int], fits: Callable[[int], bool]) -> int:
    """Return the index of the first start that fits, if each one after it does; len(starts) where the last does not.

    It goes back from the end in growing steps, so that no more than about twice the starts that fit are ever counted.
    """
    good, bad, step = len(starts), -1, 1
    while good - bad > 1:
        probe = max(good - step, (good + bad) // 2)
        if fits(starts[probe]):
            good, step = probe, 2 * step
        else:
            bad = probe
    return good
