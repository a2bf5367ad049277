"""How full the context is, as a ladder of rungs, each of which asks for something else (decisions.md section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.messages import Cost

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["CRITICAL", "EMERGENCY", "WARN", "ContextUsage", "Ladder", "pressure_of"]

# The names of the rungs that somebody is told of. Between and above them stand the strategy's high-water mark, which
# fires an event at the next turn, and 1, which forces one.
WARN, JOURNAL, CRITICAL, EMERGENCY = "warn", "journal", "critical", "emergency"
NOTICE = "[the context is {percent} % full: before it is full, older messages will be told in notes]"


class ContextUsage(NamedTuple):
    """How much of a context is used, in tokens (O-14)."""

    current_tokens: int
    max_tokens: int

    @property
    def percentage(self) -> int:
        """The used share in percent, rounded down; 100 where there is no room at all."""
        return 100 * self.current_tokens // self.max_tokens if self.max_tokens > 0 else 100

    @property
    def available_tokens(self) -> int:
        """What is free; 0 where more is used than there is."""
        return max(0, self.max_tokens - self.current_tokens)


class Ladder(NamedTuple):
    """The rungs, as shares of what summaries leave of the room for history, and what they do.

    Attributes:
        warn_fraction: user and model are warned; 0 for never, as for the others.
        journal_fraction: whoever keeps a journal is to write.
        critical_fraction: the user is warned again.
        emergency_fraction: that again, and an event before the next turn tells everything anew.
        notice: whether the model is told at the first rung, behind the message that opens a turn.
        compact_at_tokens: history of so many tokens fires an event like the high-water mark does; 0 for never.
        compact_at_messages: so many messages that are sent as they were said do, too; 0 for never.
        low_water_messages: so many of these an event by their number leaves, while they fit; 0: the low mark's share.
    """

    warn_fraction: float = 0.70
    journal_fraction: float = 0.75
    critical_fraction: float = 0.85
    emergency_fraction: float = 0.95
    notice: bool = True
    compact_at_tokens: int = 0
    compact_at_messages: int = 0
    low_water_messages: int = 0

    def told(self, pressure: float) -> tuple[str, ...]:
        """Return the rungs that a pressure has reached and that somebody is told of, lowest first."""
        marks = {
            WARN: self.warn_fraction,
            JOURNAL: self.journal_fraction,
            CRITICAL: self.critical_fraction,
            EMERGENCY: self.emergency_fraction,
        }
        return tuple(rung for rung, mark in marks.items() if 0 < mark <= pressure)

    def crossed(self, pressure: float, before: Collection[str]) -> tuple[str, ...]:
        """Return the rungs that a pressure has reached and that are not among those reached `before`, lowest first."""
        return tuple(rung for rung in self.told(pressure) if rung not in before)

    def first_notice(self, pressure: float) -> str | None:
        """Return the line that tells the model of its first rung; None where it has not been reached."""
        if not self.notice or WARN not in self.told(pressure):
            return None
        return NOTICE.format(percent=int(100 * min(1.0, pressure)))

    def marked_room(self, room: Cost, high_fraction: float) -> Cost:
        """Return the room whose high-water mark comes first: history's own, or the one that `compact_at_tokens` says.

        All shares that an event goes by are of this room, so the mark that fires is also the one that it falls below.
        """
        if not self.compact_at_tokens:
            return room
        tokens = int(self.compact_at_tokens / high_fraction)
        return Cost(min(room.estimate, tokens), min(room.bound, tokens))

    def without_marks(self) -> Ladder:
        """Return the ladder on which no number of tokens or messages fires an event."""
        return self._replace(compact_at_tokens=0, compact_at_messages=0, low_water_messages=0)


def pressure_of(history: Cost, summaries: Cost, room: Cost) -> float:
    """Return how full the room beside the summaries is, in the unit that binds; above 1 where history does not fit.

    `history` includes the summaries. "Usage > 80 % of available" (O-06) is a pressure above .8.
    """
    said, free = history.less(summaries), room.less(summaries)
    return max(_share(said.bound, free.bound), _share(said.estimate, free.estimate))


def _share(used: int, room: int) -> float:
    if room > 0:
        return used / room
    return float("inf") if used > 0 else 0.0
