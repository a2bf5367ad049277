"""An event as one sentence: which plan, why, what it cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from squidbot.commands.texts import count

if TYPE_CHECKING:
    from squidbot.core.plan import PlanRecord

__all__ = ["event_line"]


def event_line(plan: PlanRecord) -> str:
    """Return what happened at an event, as one sentence."""
    place, price = plan.first_changed, plan.price
    said = f"plan {plan.plan_id}, {plan.cause}: {plan.tokens_before:,} -> {plan.tokens_after:,} tokens"
    if place is not None:
        said += f", {place.token_offset:,} in front unchanged"
    if price is not None and price.tokens:
        pays = price.break_even_requests
        after = f"pays after {count(math.ceil(pays), 'request')}" if pays is not None else "never pays by the cache"
        told = f" ({price.summary_tokens:,.0f} for summaries)" if price.summary_tokens else ""
        said += f"; costs {price.tokens:,.0f} input tokens{told}, {after}"
    return said
