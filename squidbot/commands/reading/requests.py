"""Recorded requests: what each cost, under which plan, what its provider reported, and which message answered it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from squidbot.core.errors import DamagedStoreError
from squidbot.core.messages import Usage
from squidbot.core.past import REQUEST, Past
from squidbot.core.plan import PlanRecord

if TYPE_CHECKING:
    from squidbot.commands.reading.opened import Opened
    from squidbot.core.messages import Cost, Record

__all__ = ["Sent", "plan_json", "plans", "sent_for"]


@dataclass(frozen=True, slots=True)
class Sent:
    """One recorded request.

    Attributes:
        number: it counts a session's requests from 0.
        cost: of the whole request; outside: of system text, tools and head in it; in tokens.
        plan_id: the plan it was made under; -1 for none.
        parts: how many messages it had; messages: how many of the transcript it ended with, -1 where unknown.
        limit: what it might have cost.
        usage: what its provider reported; None where that was not recorded.
        event: the plan, where it is another one than that of the request before; else None.
    """

    number: int
    cost: Cost
    outside: Cost
    plan_id: int
    parts: int
    messages: int
    limit: Cost
    usage: Usage | None = None
    event: PlanRecord | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        usage = self.usage
        return {
            "number": self.number,
            "tokens": self.cost.estimate,
            "bound": self.cost.bound,
            "limit": self.limit.bound,
            "outside_tokens": self.outside.estimate,
            "outside_bound": self.outside.bound,
            "parts": self.parts,
            "plan": self.plan_id if self.plan_id >= 0 else None,
            "event": plan_json(self.event) if self.event else None,
            "usage": {
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cached_tokens": usage.cached_tokens,
            }
            if usage
            else None,
        }


def plans(place: Opened, session_id: str) -> list[PlanRecord]:
    """Return every plan of a session, oldest first.

    Raises:
        DamagedStoreError: one can't be read.
    """
    return [PlanRecord.from_json(record.body) for record in place.store.records(session_id, "plan")]


def plan_json(plan: PlanRecord) -> dict[str, object]:
    """Return what happened at an event as values that JSON holds."""
    place, price = plan.first_changed, plan.price
    return {
        "plan": plan.plan_id,
        "cause": plan.cause,
        "time": plan.created_at,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "kept_tokens": place.token_offset if place else None,
        "first_changed": place.seq if place and place.seq >= 0 else None,
        "price": price.written_tokens if price else None,
        "summary_price": price.summary_tokens if price else None,
        "pays_after_requests": price.break_even_requests if price else None,
    }


def sent_for(place: Opened, session_id: str, first_seq: int) -> dict[int, Sent]:
    """Return the recorded requests by the seqs of the messages that answered them, from `first_seq` on.

    Left out are those that were not recorded as they were sent: nothing tells where they stood.

    Raises:
        DamagedStoreError: a record can't be read.
    """
    newest = place.store.last_record(session_id, REQUEST)
    if newest is None:
        return {}
    # Each is stored with one message at least, so no older one was answered from there on; one before tells the plan.
    first = max(0, newest.number - (place.length(session_id) - first_seq))
    found = [_sent(record) for record in place.store.records(session_id, REQUEST, first)]
    events = {plan.plan_id: plan for plan in plans(place, session_id)}
    told: dict[int, Sent] = {}
    plan_id = found[0].plan_id if first else -1
    for sent in found[1 if first else 0 :]:
        event = events.get(sent.plan_id) if sent.plan_id != plan_id else None
        plan_id = sent.plan_id
        if sent.messages >= 0:
            told[sent.messages] = _after(told.get(sent.messages), sent, event)
    return told


def _after(before: Sent | None, sent: Sent, event: PlanRecord | None) -> Sent:
    """Return a request with its event; one that was recorded before it was answered is there again, with its usage."""
    return replace(sent, event=event or (before.event if before else None))


def _sent(record: Record) -> Sent:
    past = Past.of(record)
    try:
        reported = json.loads(record.body).get("usage")
        usage = Usage(*map(int, reported)) if reported else None
    except (ValueError, AttributeError, TypeError) as error:
        raise DamagedStoreError(f"request {record.number} can't be read: {error}") from error
    return Sent(record.number, past.cost, past.outside, past.plan_id, past.parts, past.messages, past.limit, usage)
