"""What a store holds, session by session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.commands.reading.terms import terms_of
from squidbot.core.errors import DamagedStoreError
from squidbot.core.past import REQUEST, Past
from squidbot.core.plan import PlanRecord
from squidbot.core.transcript.lineage import parent_of

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
        parent, way: the session that it goes on from, and how ("continued", "rotated", "sub-agent"); None for none.
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
    parent: str | None = None
    way: str | None = None

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
            "parent": self.parent,
            "way": self.way,
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
    first, last = _times(place, session_id, messages)
    requests, request_tokens = _requests(place, session_id)
    stored = place.store.last_record(session_id, "plan")
    plan = PlanRecord.from_json(stored.body) if stored else None
    terms = terms_of(place, session_id)
    lease = terms.lease if terms.source != "assumed" else None
    descent = parent_of(place.store, session_id)
    return Listed(
        session_id,
        messages,
        first_time=first,
        last_time=last,
        requests=requests,
        request_tokens=request_tokens,
        plan=plan.plan_id if plan else None,
        cause=plan.cause if plan else None,
        model=lease.model if lease else None,
        window_tokens=lease.window_tokens if lease else None,
        parent=descent.other if descent else None,
        way=descent.way if descent else None,
    )


def _times(place: Opened, session_id: str, messages: int) -> tuple[float | None, float | None]:
    ends = place.store.pick(session_id, {0, messages - 1}) if messages else []
    return (ends[0].time, ends[-1].time) if ends else (None, None)


def _requests(place: Opened, session_id: str) -> tuple[int, int | None]:
    """Return how many requests are recorded, and what the newest cost."""
    newest = place.store.last_record(session_id, REQUEST)
    if newest is None:
        return 0, None
    past = Past.of(newest)
    return past.requests, past.cost.bound
