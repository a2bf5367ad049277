"""What breaking a prompt cache costs, and what it brings, in tokens weighed by their price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from squidbot.core.plan import PlanRecord
    from squidbot.core.settings import HistorySettings
    from squidbot.core.view.standing import Standing

__all__ = ["Outlook", "pays_by_hand", "saves_enough"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected after an event: requests grow by `growth_tokens` each until they reach `high_tokens`.

    `read_price` and `write_price` are those of a cached and of a newly written input token, 1 being an uncached one
    (decisions.md section 13).
    """

    high_tokens: float
    growth_tokens: float
    read_price: float
    write_price: float

    def cost_per_request(self, *, after: float, written: float) -> float:
        """Return the mean price of a request from an event to the next one, the event's own rewriting shared out.

        `after` is what history costs after the event, `written` the part of it that is written anew. An event that
        leaves no room to grow into pays its rewriting on every request.
        """
        requests = max(1.0, (self.high_tokens - after) / max(1.0, self.growth_tokens))
        rewriting = (self.write_price - self.read_price) * written / requests
        return self.read_price * (after + self.high_tokens) / 2 + rewriting


def saves_enough(record: PlanRecord, settings: HistorySettings) -> bool:
    """Return whether an event makes the request smaller by the share that is worth a break of the prefix."""
    return record.tokens_before - record.tokens_after >= settings.min_saving_fraction * record.tokens_before


def pays_by_hand(record: PlanRecord, before: Standing) -> bool:
    """Return whether an event that somebody asked for does anything: smaller, or with something verbatim again."""
    sent = {part.first_seq for part in before.sent if part.payload is not None}
    back = any(seq not in sent for segment in record.segments for seq in segment.verbatim)
    return back or record.tokens_after < record.tokens_before
