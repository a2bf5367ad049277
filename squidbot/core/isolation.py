"""Which transcript a session is, for whom: what a policy parts stands in transcripts of their own (C6, W-07).

So nothing crosses: neither messages nor what is made of them (notes, plans, snapshots, what search finds).
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from squidbot.core.scopes import models_of, scopes_of

if TYPE_CHECKING:
    from squidbot.core.memories import Isolation, Scope
    from squidbot.core.ports import TranscriptStore

__all__ = ["Whose", "transcript_id"]

# Ids of sessions may be this long (`ports.TranscriptStore`).
MOST_ID_CHARS = 1024


class Whose(NamedTuple):
    """Who opens a session, with which model, and what parts transcripts: "global" nothing, else the tenant does, too.

    A session may have several users, as a group's conversation has: they part facts, and never what was said.
    """

    scope: Scope
    model: str = ""
    isolation: Isolation = "global"

    @property
    def is_named(self) -> bool:
        """Whether there is anything that parts it from what nobody is named for."""
        return bool(self.scope.tenant or self.part)

    @property
    def part(self) -> str:
        """What the policy looks at, "" where it was not named."""
        if self.isolation == "model":
            return self.model or self.scope.model
        return "" if self.isolation == "global" else str(getattr(self.scope, self.isolation))


def transcript_id(transcripts: TranscriptStore, session_id: str, whose: Whose) -> str:
    """Return the id of the transcript that a session is for those who open it.

    It is the session's own where nothing is named that the policy looks at, and where all that was said in it was said
    by the same bot (agent, tenant), or under the same model, before there was a policy. Else the part stands behind
    it: `support/42@model:qwen2.5:7b`. Which one it is follows from what is stored before anything new is, so that two
    processes never begin one transcript for two.

    Raises:
        DamagedStoreError: what says whose its messages are can't be read.
        StoreError: the store failed.
    """
    if whose.isolation == "global" or not (whose.is_named or whose.isolation == "model"):
        return session_id
    if not 1 <= len(session_id) <= MOST_ID_CHARS:
        return session_id  # which the store refuses
    messages = transcripts.head(session_id)[0]
    if _is_own(transcripts, session_id, whose) if messages else not whose.is_named:
        return session_id
    return _named(session_id, whose)


def _named(session_id: str, whose: Whose) -> str:
    tenant, part = _spelled(whose.scope.tenant), _spelled(whose.part)
    named = f"{session_id}@{whose.isolation}:{f'{tenant}/{part}' if tenant else part}"
    if len(named) <= MOST_ID_CHARS:
        return named
    digest = sha256(named.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{named[: MOST_ID_CHARS - len(digest) - 1]}~{digest}"


def _spelled(part: str) -> str:
    """Return a part so that no other part, and no tenant with one, is spelled alike."""
    return part.replace("%", "%25").replace("/", "%2F").replace("@", "%40")


def _is_own(transcripts: TranscriptStore, session_id: str, whose: Whose) -> bool:
    """Return whether all that was said in a session is of one tenant and part, those of who opens it.

    Which bot something was said by before that was recorded is taken from what was recorded since: it was one
    conversation then. Which model is not: what was said under another one must never be shown.
    """
    scopes = [one.scope for one in scopes_of(transcripts, session_id)]
    tenants = {scope.tenant for scope in scopes} or {""}
    if whose.isolation == "model":
        parts: set[str | None] = {one.model for one in models_of(transcripts, session_id)}
    else:
        parts = {Whose(scope, "", whose.isolation).part for scope in scopes} or {""}
    return tenants == {whose.scope.tenant} and parts == {whose.part}
