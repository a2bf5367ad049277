"""What a store holds, session by session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.commands.reading.terms import terms_of
from squidbot.core.errors import DamagedStoreError
from squidbot.core.past import REQUEST, Past
from squidbot.core.plan import PlanRecord

if TYPE_CHECKING:
    from squidbot.commands.reading.opened import Opened

__all__ = ["Listed", "listed"]

# A session takes about a third of a millisecond.
MOST_LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True)
class Listed:
    """One session: what can be told of it without reading it.

    Attributes:
        messages: how many it has.
        first_time, last_time: of its first and its newest message, in seconds since 1970; None where unknown.
        requests: how many are recorded.
        request_tokens: the newest recorded request as a bound; None for none.
        plan, cause: the number of the plan in force and why it was made; None for none.
        model, window_tokens: of its lease; None where that is not known.
        damaged: what is wrong where its rows can't be read; None where nothing is.
    """

    session_id: str
    messages: int
    first_time: float | None = None
    last_time: float | None = None
    requests: int = 0
    request_tokens: int | None = None
    plan: int | None = None
    cause: str | None = None
    model: str | None = None
    window_tokens: int | None = None
    damaged: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as values that JSON holds."""
        return {
            "session": self.session_id,
            "messages": self.messages,
            "first_time": self.first_time,
            "last_time": self.last_time,
            "requests": self.requests,
            "request_tokens": self.request_tokens,
            "plan": self.plan,
            "cause": self.cause,
            "model": self.model,
            "window": self.window_tokens,
            "damaged": self.damaged,
        }


def listed(place: Opened, limit: int) -> tuple[list[Listed], int]:
    """Return the sessions in which something was said last, newest first, and how many sessions there are.

    Of a store with very many only those that were made last are looked at.
    """
    every = place.sessions()
    found = [_listed(place, *one) for one in reversed(every[-max(limit, MOST_LOOKED_AT) :])]
    found.sort(key=lambda one: -(one.last_time or 0.0))
    return found[:limit], len(every)


def _listed(place: Opened, session_id: str, messages: int) -> Listed:
    try:
        return _whole(place, session_id, messages)
    except DamagedStoreError as error:
        return Listed(session_id, messages, damaged=str(error))


def _whole(place: Opened, session_id: str, messages: int) -> Listed:
    store = place.store
    ends = store.pick(session_id, {0, messages - 1}) if messages else []
    plan = store.last_record(session_id, "plan")
    record = PlanRecord.from_json(plan.body) if plan else None
    request = store.last_record(session_id, REQUEST)
    past = Past.of(request) if request else None
    terms = terms_of(place, session_id)
    known = terms.lease if terms.source != "assumed" else None
    return Listed(
        session_id,
        messages,
        first_time=ends[0].time if ends else None,
        last_time=ends[-1].time if ends else None,
        requests=past.number + 1 if past else 0,
        request_tokens=past.cost.bound if past else None,
        plan=record.plan_id if record else None,
        cause=record.cause if record else None,
        model=known.model if known else None,
        window_tokens=known.window_tokens if known else None,
    )
