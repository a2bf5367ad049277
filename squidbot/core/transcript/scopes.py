"""The scope and the model of messages, and the transcript that a session has under an isolation policy.

What a policy separates stands in transcripts of its own. So nothing crosses: neither messages nor what is made of them
(notes, plans, snapshots, what search finds).
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import ConfigError
from squidbot.core.memories import NOBODY, Scope
from squidbot.core.transcript.records import RecordKind, as_fields, fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from squidbot.core.memories import HistoryIsolation
    from squidbot.core.messages import Record
    from squidbot.core.ports import TranscriptStore


# Ids of sessions may be this long (`ports.TranscriptStore`).
MOST_ID_CHARS: Final = 1024


class ScopeChange(NamedTuple):
    """A scope, and its first message."""

    first_seq: int
    scope: Scope


class ModelChange(NamedTuple):
    """A model, "" for none, and the first message that was said under it."""

    first_seq: int
    model: str


def _seq(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!a:.40} is no message")
    return value


_scope: Final = fields(Scope)


def _scope_change(text: str) -> ScopeChange:
    body = json.loads(text)
    return ScopeChange(_seq(body.pop("first_seq")), _scope(json.dumps(body)))


def _model_change(change: ModelChange) -> ModelChange:
    return change._replace(first_seq=_seq(change.first_seq))


SCOPE = RecordKind(
    "scope", _scope_change, tuple, lambda change: {"first_seq": change.first_seq, **as_fields(change.scope)}
)
MODEL = RecordKind("model", fields(ModelChange, _model_change), tuple)


def due_scope(newest: Record | None, scope: Scope | None, first_seq: int) -> list[Record]:
    """Return the record to store with messages from `first_seq` on; none if the newest one says the same.

    `scope` None keeps the previous scope. Messages of nobody need no record if there was none.

    Raises:
        DamagedStoreError: the newest record is no scope.
    """
    if scope is None or scope == (SCOPE.read(newest).scope if newest else NOBODY):
        return []
    return [SCOPE.behind(newest, ScopeChange(first_seq, scope))]


def due_model(newest: Record | None, model: str, first_seq: int) -> list[Record]:
    """Return the record to store with messages from `first_seq` on; none if the newest one says the same.

    If no model was ever named there is no record.

    Raises:
        DamagedStoreError: the newest record is no model.
    """
    if model == (MODEL.read(newest).model if newest else ""):
        return []
    return [MODEL.behind(newest, ModelChange(first_seq, model))]


def scope_at(scopes: Sequence[ScopeChange], seq: int) -> Scope | None:
    """Return the scope of a message; None if it is unknown: it came before the first scope was recorded.

    In a session that never had a scope all messages are nobody's.
    """
    unknown = None if scopes else NOBODY
    return next((change.scope for change in reversed(scopes) if change.first_seq <= seq), unknown)


def model_at(models: Sequence[ModelChange], seq: int) -> str:
    """Return the model that a message was said under, "" if none was named."""
    return next((change.model for change in reversed(models) if change.first_seq <= seq), "")


def check_user(session_id: str, known: Scope, wanted: Scope) -> None:
    """Check that a session of a `known` scope is not another user's than that of the `wanted` one.

    A session of nobody becomes that of the first user who goes on with it. `NOBODY` is the program itself, which may
    read each session.

    Raises:
        ConfigError: it is another user's or tenant's.
    """
    owner = known.tenant, known.user
    if wanted != NOBODY and any(owner) and owner != (wanted.tenant, wanted.user):
        raise ConfigError(
            f"conversation {session_id!a:.80} belongs to another user: give each user's conversations ids of their "
            'own; for a conversation of several users, set history.isolation = "global"'
        )


class SessionOwner(NamedTuple):
    """Who opens a session, with which model, and what separates transcripts: `HistoryTable.isolation`."""

    scope: Scope
    model: str = ""
    isolation: HistoryIsolation = "user"

    @property
    def has_transcripts(self) -> bool:
        """Whether the policy gives each part a transcript of its own."""
        return self.isolation not in {"user", "global"}

    @property
    def part(self) -> str:
        """What the policy looks at, "" if it was not named."""
        if self.isolation == "model":
            return self.model or self.scope.model
        return str(getattr(self.scope, self.isolation)) if self.has_transcripts else ""


def transcript_id(transcripts: TranscriptStore, session_id: str, owner: SessionOwner) -> str:
    """Return the id of the transcript that a session has for its owner.

    It is the session's own id if the owner names nothing that the policy looks at, or if all its messages are of the
    same bot (agent, tenant) or model, from before there was a policy. Otherwise the part stands behind it:
    `support/42@model:qwen2.5:7b`. It follows from what is stored before anything new is, so that two processes never
    begin one transcript for two.

    Raises:
        ConfigError: it is another user's; see `check_user`.
        DamagedStoreError: a record of a scope or a model can't be read.
        StoreError: the store failed.
    """
    own = _transcript_id(transcripts, session_id, owner)
    if owner.isolation != "global" and owner.scope != NOBODY and (known := SCOPE.newest(transcripts, own)):
        check_user(session_id, known.scope, owner.scope)
    return own


def _transcript_id(transcripts: TranscriptStore, session_id: str, owner: SessionOwner) -> str:
    is_named = bool(owner.scope.tenant or owner.part)
    if not owner.has_transcripts or not (is_named or owner.isolation == "model"):
        return session_id
    if not 1 <= len(session_id) <= MOST_ID_CHARS:
        return session_id  # which the store refuses
    messages = transcripts.head(session_id)[0]
    if _is_own(transcripts, session_id, owner) if messages else not is_named:
        return session_id
    return _named(session_id, owner)


def _named(session_id: str, owner: SessionOwner) -> str:
    tenant, part = spelled(owner.scope.tenant), spelled(owner.part)
    return short_id(f"{session_id}@{owner.isolation}:{f'{tenant}/{part}' if tenant else part}")


def short_id(named: str) -> str:
    """Return an id of at most `MOST_ID_CHARS`: a digest stands for the end of a longer one."""
    if len(named) <= MOST_ID_CHARS:
        return named
    digest = sha256(named.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{named[: MOST_ID_CHARS - len(digest) - 1]}~{digest}"


def spelled(part: str) -> str:
    """Return a part of an id so that no other part, and no two of them, are spelled alike."""
    return part.replace("%", "%25").replace("/", "%2F").replace("@", "%40")


def _is_own(transcripts: TranscriptStore, session_id: str, owner: SessionOwner) -> bool:
    """Return whether all messages of a session are of the owner's tenant and part.

    The bot of messages from before it was recorded is taken from later records: it was one conversation then. The
    model is not: messages under another model must never be shown.
    """
    scopes = [change.scope for change in SCOPE.state(transcripts, session_id)]
    tenants = {scope.tenant for scope in scopes} or {""}
    if owner.isolation == "model":
        models = MODEL.state(transcripts, session_id)
        parts = {*(change.model for change in models), model_at(models, 0)}
    else:
        parts = {SessionOwner(scope, "", owner.isolation).part for scope in scopes} or {""}
    return tenants == {owner.scope.tenant} and parts == {owner.part}
