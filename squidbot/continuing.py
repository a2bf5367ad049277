"""A session that goes on another one's context: by hand, since that one was long, or for a sub-agent (P-03, P-04)."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core import events
from squidbot.core.contexts import Document
from squidbot.core.descent import CONTINUED, KIND, ROTATED, SUB_AGENT, Descent, children_of, parent_of
from squidbot.core.errors import ConfigError, NotFoundError, StoreError
from squidbot.core.events import Event
from squidbot.core.leases import newest_lease
from squidbot.core.memories import Scope
from squidbot.core.scopes import scopes_of
from squidbot.core.trying import Writing
from squidbot.inheriting import WINDOW, inherited_from, transition
from squidbot.waiting import wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from squidbot.bootstrap import Wired
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.sessions import Session

    Open = Callable[..., Session]

__all__ = ["Agent", "Going", "Means", "begin", "continued", "go_on", "newest_of", "rotated", "sub_agent"]

MOST_ID_CHARS: Final = 1_024


class Going(NamedTuple):
    """How one session goes on from another: in which way, from which one, when; and a text to tell beside the rest."""

    way: str
    source: Session
    at: float
    told: tuple[Document, ...] = ()


def continued(going: Going, made: Session) -> Session:
    """Let a session that has nothing yet go on from another one, durably, and return it.

    It takes over goals, pinned texts and messages, decisions, documents, and the messages that are system text or
    context; of the conversation nothing but a mark that says where it is.

    Raises:
        NotFoundError: nothing was said in the other one.
        ConfigError: something was said in it, or it is the same one.
        StoreError: the store failed; it goes on, and the other one may not say so, or nothing was written.
    """
    store, source_id, session_id = made.wired.store, going.source.session_id, made.session_id
    messages = store.head(source_id)[0]
    if source_id == session_id:
        raise ConfigError(f"{session_id!a:.80} can't go on from itself; give the new session an id of its own")
    if store.head(source_id) == (0, 0) and going.way != SUB_AGENT:
        raise NotFoundError(f"nothing is stored of {source_id!a:.80}: there is nothing to go on from")
    descent = Descent(source_id, going.way, messages, at=going.at)
    if store.head(session_id) == (0, 0):
        _write(going, made, descent)
    known = parent_of(store, session_id)
    if known is None or (known.other, known.way) != (source_id, going.way):
        raise ConfigError(f"there is a session {session_id!a:.80} already; give the new one another id")
    _tell_parent(store, source_id, descent.seen_from(source_id, session_id, as_child=False))
    return made


def _write(going: Going, made: Session, descent: Descent) -> None:
    """Write what a session takes over, unless another process has let it go on in the meantime."""
    store, source_id = made.wired.store, descent.other
    mark = [] if going.way == SUB_AGENT else [transition(store, source_id, descent.messages)]
    inherited = inherited_from(store, made.wired.codecs, source_id, (*mark, *going.told))
    try:
        store.append(made.session_id, 0, inherited.lead, [*inherited.records, descent.record(0)])
    except StoreError:
        if parent_of(store, made.session_id) is None:
            raise


def newest_of(transcripts: TranscriptStore, session_id: str, most_messages: int) -> tuple[str, str | None]:
    """Return which session a long one goes on in, and the id of the next one where that is to be begun, or None.

    It is begun where the newest one has so many messages, and its newest turn is over.

    Raises:
        StoreError: the store failed.
    """
    first, seen = session_id, {session_id}
    while rotated := [one.other for one in children_of(transcripts, session_id) if one.way == ROTATED]:
        if rotated[-1] in seen:
            break
        session_id = rotated[-1]
        seen.add(session_id)
    messages = transcripts.head(session_id)[0] if 1 <= len(session_id) <= MOST_ID_CHARS else 0
    if not 0 < most_messages <= messages or not _is_over(transcripts.read(session_id, messages - 1, messages - 1)):
        return session_id, None
    return session_id, next(f"{first}~{number}" for number in count(len(seen) + 1))


def sub_agent(going: Going, made: Session, clamped: bool) -> Session:  # noqa: FBT001  # told by one caller
    """Let a sub-agent's session take over its parent's context, told how large its window is where it is clamped.

    A session that it had before goes on as it is.

    Raises:
        ConfigError: there is another session of that id.
        StoreError: the store failed.
    """
    source, lease = going.source, made.lease
    if clamped:
        was, tokens = source.lease.window_tokens, lease.window_tokens
        cause = f"the sub-agent has {tokens:,} of the {was:,} tokens of {source.session_id}"
        told = Event(events.CW_CLAMP_NOTICE, made.session_id, cause, lease.lease_id, -1, was, tokens)
        made.wired.relay.notify(replace(told, model=lease.model, scope=made.scope))
        said = f"The context window of this agent has {tokens:,} tokens, its parent's {was:,}: keep to what is asked."
        going = going._replace(told=(Document(WINDOW, said),))
    return made if made.session_id == source.session_id else continued(going, made)


def _tell_parent(store: TranscriptStore, source_id: str, descent: Descent) -> None:
    """Write into the earlier session that another one goes on from it; once."""

    def act(head: tuple[int, int]) -> None:
        known = children_of(store, source_id)
        if not any(one.other == descent.other for one in known):
            number = len(store.records(source_id, KIND))
            store.append(source_id, head[0], (), [descent.record(number)])

    Writing(store, source_id, "it does not say which session goes on from it", wait).tried(act)


def _is_over(newest: list[StoredMessage]) -> bool:
    """Return whether a turn is over: the assistant has spoken last, and called no tool."""
    return bool(newest) and newest[-1].role == "assistant" and not newest[-1].call_ids


# -- how sessions are opened for it -----------------------------------------------------------------------------------


class Means(NamedTuple):
    """What a new session is opened with; None: as the one that it goes on from."""

    model: str | None
    window_tokens: int | str | None
    form: str | None
    scope: Scope | None
    mode: str | None


def go_on(open_one: Open, wired: Wired, session_id: str, new_id: str, means: Means) -> Session:
    """Do what `Engine.continued` says; `open_one` is `Engine.session`."""
    lease, scope = newest_lease(wired.store, session_id), _scope_of(wired.store, session_id, means.scope)
    known = (lease.model, lease.window_tokens) if lease else ("", None)
    model = known[0] if means.model is None else means.model
    window = known[1] if means.window_tokens is None and model == known[0] else means.window_tokens
    form = means.form or "openai.chat"
    source = open_one(session_id, model=model, window_tokens=window, form=form, scope=scope)
    made = open_one(
        new_id, model=model, window_tokens=window, form=form, scope=scope, mode=means.mode or _mode_of(source)
    )
    return continued(Going(CONTINUED, source, time.time()), made)


def _scope_of(store: TranscriptStore, session_id: str, wanted: Scope | None) -> Scope:
    """Return whose the new session is to be: as the newest messages of the other one, unless another is wanted.

    Raises:
        ConfigError: that is another user's, or another tenant's.
    """
    scopes = scopes_of(store, session_id) if session_id else ()
    if not scopes:
        return wanted or Scope()
    scope = scopes[-1].scope
    if wanted is not None and (wanted.tenant, wanted.user) != (scope.tenant, scope.user):
        raise ConfigError(f"{session_id!a:.80} is another user's; go on from it in the scope of its own")
    return wanted or scope


def _mode_of(session: Session) -> str | None:
    return None if session.mode == "off" else session.mode


def rotated(opened: Callable[..., Session], session_id: str, most_messages: int) -> Session:
    """Return the session in which a long one goes on; begun where it is due. `opened` opens one by its id."""
    source = opened(session_id)
    newest, following = newest_of(source.wired.store, session_id, most_messages)
    source = source if newest == session_id else opened(newest)
    if following is None:
        return source
    return continued(Going(ROTATED, source, time.time()), opened(following, source.mode))


class Agent(NamedTuple):
    """A sub-agent as somebody wants it: `window` is whether it shares that of its parent, and what it has at most."""

    name: str
    shares: bool
    window: tuple[bool, int | None]
    session_id: str | None
    model: str | None
    mode: str | None


def begin(open_one: Open, parent: Session, agent: Agent) -> Session:
    """Do what `Engine.sub_agent` says; `open_one` is `Engine.session`."""
    _check(parent, agent)
    model = parent.lease.model if agent.model is None else agent.model
    own, tokens = _window(parent, agent, model)
    made = open_one(
        parent.session_id if agent.shares else agent.session_id or f"{parent.session_id}/{agent.name}",
        model=model,
        window_tokens=tokens,
        form=parent.codec.tag,
        scope=parent.scope._replace(agent=agent.name),
        mode=agent.mode,
    )
    return sub_agent(Going(SUB_AGENT, parent, time.time()), made, clamped=tokens < own)


def _check(parent: Session, agent: Agent) -> None:
    """Check what somebody wants of a sub-agent.

    Raises:
        ConfigError: it contradicts itself, or the window is too small.
    """
    shares_window, clamp = agent.window
    if not agent.name.strip():
        raise ConfigError("the sub-agent has no name; it is what its scope calls it")
    if agent.shares and agent.session_id not in {None, parent.session_id}:
        raise ConfigError(f"a session that is shared is {parent.session_id!a:.80}; leave session_id out")
    if clamp is None:
        return
    if shares_window:
        raise ConfigError("a window that is shared can't be clamped; leave clamp_tokens or share_context_window out")
    least = parent.wired.loaded.settings.window.min
    if clamp < least:
        raise ConfigError(f"clamp_tokens is {clamp:,}; a window has at least {least:,} tokens (window.min)")


def _window(parent: Session, agent: Agent, model: str) -> tuple[int, int]:
    """Return the window that an agent would have, and the one that it gets, in tokens."""
    shares_window, clamp = agent.window
    own = parent.lease.window_tokens
    if model != parent.lease.model and not shares_window:
        own = parent.wired.lease(model, None).window_tokens
    return own, own if clamp is None else min(own, clamp)
