"""Summaries that are due of a language model, of one session or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from squidbot.commands.reading.terms import seen_of
from squidbot.core.errors import SquidbotError

if TYPE_CHECKING:
    from squidbot.commands.reading.opened import Opened
    from squidbot.commands.reading.terms import Seen
    from squidbot.core.messages import Job
    from squidbot.services.background import Jobs

__all__ = ["Due", "due_of"]


class Due(NamedTuple):
    """What is due of the sessions that were asked for.

    Attributes:
        sessions: those that could be looked at, by id.
        jobs: at most as many as were asked for, those that save most first; every: how many there are.
        failed: what is wrong with the other sessions, by id.
    """

    sessions: dict[str, Seen]
    jobs: list[Job]
    every: int
    failed: dict[str, SquidbotError]


def due_of(place: Opened, made: Jobs, session_id: str | None, reason: str, limit: int) -> Due:
    """Return what is due of a session, or (None) of all that can be looked at.

    Raises:
        SquidbotError: there is no such session, or it can't be looked at; the store can't list its sessions.
    """
    sessions: dict[str, Seen] = {}
    found: list[Job] = []
    failed: dict[str, SquidbotError] = {}
    for name in [place.find(session_id)] if session_id else [name for name, _ in place.sessions()]:
        try:
            seen = seen_of(place, name)
            found += made.due(seen, reason=reason)
            sessions[name] = seen
        except SquidbotError as error:
            if session_id:
                raise
            failed[name] = error
    found.sort(key=lambda job: -job.saves_tokens)
    return Due(sessions, found[:limit], len(found), failed)
