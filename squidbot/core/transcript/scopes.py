"""Whose the messages of a session are, which model they were said under, and which transcript that makes of it.

What a policy parts stands in transcripts of their own. So nothing crosses: neither messages nor what is made of them
(notes, plans, snapshots, what search finds).
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.memories import Scope
from squidbot.core.transcript.records import RecordKind, as_fields, fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import Isolation
    from squidbot.core.messages import Record
    from squidbot.core.ports import TranscriptStore


NOBODY: Final = Scope()
# Ids of sessions may be this long (`ports.TranscriptStore`).
MOST_ID_CHARS: Final = 1024


class ScopeChange(NamedTuple):
    """A scope, and the first message that is of it."""

    first_seq: int
    scope: Scope


class ModelChange(NamedTuple):
    """A model, "" where none was named, and the first message that was said under it."""

    first_seq: int
    model: str


def _seq(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!a:.40} is no message")
    return value


def _scope_change(text: str) -> ScopeChange:
    body = json.loads(text)
    return ScopeChange(_seq(body.pop("first_seq")), fields(Scope)(json.dumps(body)))


def _model_change(text: str) -> ModelChange:
    made = fields(ModelChange)(text)
    return made._replace(first_seq=_seq(made.first_seq))


SCOPE = RecordKind(
    "scope",
    _scope_change,
    tuple,
    lambda one: {"first_seq": one.first_seq, **as_fields(one.scope)},
)
MODEL = RecordKind("model", _model_change, tuple)


def due_scope(newest: Record | None, scope: Scope | None, first_seq: int) -> list[Record]:
    """Return the record to store with messages from `first_seq` on; none where the newest one says it.

    `scope` None is as it was before. Nobody's messages need no record where there was none.

    Raises:
        DamagedStoreError: the newest record is no scope.
    """
    if scope is None or scope == (SCOPE.read(newest).scope if newest else NOBODY):
        return []
    return [SCOPE.behind(newest, ScopeChange(first_seq, scope))]


def due_model(newest: Record | None, model: str, first_seq: int) -> list[Record]:
    """Return the record to store with messages from `first_seq` on; none where the newest one says it.

    Where no model was ever named there is no record.

    Raises:
        DamagedStoreError: the newest record is no model.
    """
    if model == (MODEL.read(newest).model if newest else ""):
        return []
    return [MODEL.behind(newest, ModelChange(first_seq, model))]


def scope_at(scopes: Sequence[ScopeChange], seq: int) -> Scope | None:
    """Return whose a message is; None where that is not known: it came before anybody's scope was recorded.

    In a session that never had a scope all are nobody's.
    """
    held = [one.scope for one in scopes if one.first_seq <= seq]
    if held:
        return held[-1]
    return None if scopes else NOBODY


def model_at(models: Sequence[ModelChange], seq: int) -> str:
    """Return the model that a message was said under, "" where none was named."""
    return next((one.model for one in reversed(models) if one.first_seq <= seq), "")


class SessionOwner(NamedTuple):
    """Who opens a session, with which model, and what parts transcripts: "global" nothing, else the tenant does, too.

    A session may have several users, as a group's conversation has: they part facts, and never what was said.
    """

    scope: Scope
    model: str = ""
    isolation: Isolation = "global"

    @property
    def part(self) -> str:
        """What the policy looks at, "" where it was not named."""
        if self.isolation == "model":
            return self.model or self.scope.model
        return "" if self.isolation == "global" else str(getattr(self.scope, self.isolation))


def transcript_id(transcripts: TranscriptStore, session_id: str, owner: SessionOwner) -> str:
    """Return the id of the transcript that a session is for those who open it.

    It is the session's own where nothing is named that the policy looks at, and where all that was said in it was said
    by the same bot (agent, tenant), or under the same model, before there was a policy. Else the part stands behind
    it: `support/42@model:qwen2.5:7b`. Which one it is follows from what is stored before anything new is, so that two
    processes never begin one transcript for two.

    Raises:
        DamagedStoreError: what says whose its messages are can't be read.
        StoreError: the store failed.
    """
    is_named = bool(owner.scope.tenant or owner.part)
    if owner.isolation == "global" or not (is_named or owner.isolation == "model"):
        return session_id
    if not 1 <= len(session_id) <= MOST_ID_CHARS:
        return session_id  # which the store refuses
    messages = transcripts.head(session_id)[0]
    if _is_own(transcripts, session_id, owner) if messages else not is_named:
        return session_id
    return _named(session_id, owner)


def _named(session_id: str, owner: SessionOwner) -> str:
    tenant, part = _spelled(owner.scope.tenant), _spelled(owner.part)
    named = f"{session_id}@{owner.isolation}:{f'{tenant}/{part}' if tenant else part}"
    if len(named) <= MOST_ID_CHARS:
        return named
    digest = sha256(named.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{named[: MOST_ID_CHARS - len(digest) - 1]}~{digest}"


def _spelled(part: str) -> str:
    """Return a part so that no other part, and no tenant with one, is spelled alike."""
    return part.replace("%", "%25").replace("/", "%2F").replace("@", "%40")


def _is_own(transcripts: TranscriptStore, session_id: str, owner: SessionOwner) -> bool:
    """Return whether all that was said in a session is of one tenant and part, those of who opens it.

    Which bot something was said by before that was recorded is taken from what was recorded since: it was one
    conversation then. Which model is not: what was said under another one must never be shown.
    """
    scopes = [one.scope for one in SCOPE.state(transcripts, session_id)]
    tenants = {scope.tenant for scope in scopes} or {""}
    if owner.isolation == "model":
        models = MODEL.state(transcripts, session_id)
        parts = {*(one.model for one in models), model_at(models, 0)}
    else:
        parts = {SessionOwner(scope, "", owner.isolation).part for scope in scopes} or {""}
    return tenants == {owner.scope.tenant} and parts == {owner.part}
