"""A session that goes on another one's context: what it takes over, and how it is told (P-03, P-04)."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core import events
from squidbot.core.contexts import KIND as CONTEXT
from squidbot.core.contexts import Document, documents_of, record_of
from squidbot.core.descent import CONTINUED, KIND, ROTATED, SUB_AGENT, Descent, children_of, parent_of, shown
from squidbot.core.errors import ConfigError, NotFoundError, StoreError
from squidbot.core.events import Event
from squidbot.core.goals.records import GOAL, as_record, goals_of
from squidbot.core.goals.values import Change
from squidbot.core.history.when import stamp
from squidbot.core.leases import newest_lease
from squidbot.core.markers import KIND as MARKED
from squidbot.core.markers import Markers
from squidbot.core.memories import Scope
from squidbot.core.messages import Category
from squidbot.core.pins import KIND as PIN
from squidbot.core.pins import Pins
from squidbot.core.scopes import scopes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from squidbot.bootstrap import Wired
    from squidbot.core.goals.values import Goals
    from squidbot.core.messages import Record, StoredMessage
    from squidbot.core.ports import Codec, TranscriptStore
    from squidbot.sessions import Session

    Open = Callable[..., Session]

__all__ = ["Agent", "Going", "Means", "begin", "continued", "go_on", "newest_of", "rotated", "sub_agent"]

# The document that says where a session goes on from, and the one that says how large a sub-agent's window is.
TRANSITION: Final = "[transition]"
WINDOW: Final = "[window]"
_OWN: Final = frozenset({TRANSITION, WINDOW})
PAGE_ROWS: Final = 1_000
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
    if store.head(session_id) != (0, 0):
        known = parent_of(store, session_id)
        if known is None or (known.other, known.way) != (source_id, going.way):
            raise ConfigError(f"there is a session {session_id!a:.80} already; give the new one another id")
    else:
        rows, records = _taken(going, made, messages)
        try:
            store.append(session_id, 0, rows, [*records, descent.record(0)])
        except StoreError:
            # Another process may have let it go on in the meantime.
            if parent_of(store, session_id) is None:
                raise
    _tell_parent(store, source_id, descent.seen_from(source_id, session_id, as_child=False))
    return made


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


def _taken(going: Going, made: Session, messages: int) -> tuple[list[StoredMessage], list[Record]]:
    """Return what a session takes over: messages of system text in front of all, and records."""
    store, source_id = made.wired.store, going.source.session_id
    pins = Pins.of(store.records(source_id, PIN))
    lead: list[StoredMessage] = []
    views: list[Document] = []
    for row in _rows(store, source_id, messages):
        if row.seq == len(lead) and row.category is Category.SYSTEM:
            lead.append(replace(row, notice=None))
        elif row.category in {Category.SYSTEM, Category.CONTEXT} or row.seq in pins.seqs:
            views += _view(made.wired.codecs, source_id, row)
    kept = [one for one in documents_of(store.records(source_id, CONTEXT)) if one.name not in _OWN]
    mark = [] if going.way == SUB_AGENT else [_transition(source_id, messages, _rows(store, source_id, messages, -1))]
    # Those that say where it is come first: they are left out last.
    documents = {one.name: one for one in (*mark, *going.told, *kept, *views)}
    texts = ({"name": one.name.removeprefix("pin "), "text": one.text} for one in pins.texts)
    goals = goals_of(store.records(source_id, GOAL), Markers.of(store.records(source_id, MARKED)).said)
    return lead, [
        *Pins().records(texts),
        *(as_record(change._replace(seq=len(lead)), number) for number, change in enumerate(_changes(goals))),
        *(record_of(number, one) for number, one in enumerate(documents.values())),
    ]


def _rows(store: TranscriptStore, session_id: str, messages: int, first: int = 0) -> Iterator[StoredMessage]:
    """Yield the messages of a session, from one on; of a negative one from the end."""
    for start in range(first % messages if messages else 0, messages, PAGE_ROWS):
        yield from store.read(session_id, start, min(start + PAGE_ROWS, messages) - 1)


def _view(codecs: Mapping[str, Codec], source_id: str, row: StoredMessage) -> list[Document]:
    text = codecs[row.codec].text(row.payload).strip()
    return [Document(f"[{shown(source_id)} m{row.seq}]", text)] if text else []


def _transition(source_id: str, messages: int, newest: Iterator[StoredMessage]) -> Document:
    row = next(newest, None)
    until = f", until {stamp(row.time)}" if row is not None and row.time is not None else ""
    said = f"{messages:,} message{'s' * (messages != 1)}{until}"
    name = shown(source_id)
    told = (
        f"This conversation goes on from an earlier one, {name} ({said}). What was said there is stored, and not shown."
    )
    if messages:
        told += f' history brings it back: recall with the id "{name}#m0-m{messages - 1}", search with the id "{name}".'
    return Document(TRANSITION, told)


def _changes(goals: Goals) -> Iterator[Change]:
    """Yield what makes goals stand in a session that has none."""
    name = goals.active.text if goals.active else ""
    ways = {"milestone": "milestone", "artifact": "artifact", "blocker": "block", "architecture": "architecture"}
    standing = (*goals.milestones, *goals.decisions, *goals.artifacts, *goals.blockers, *goals.architecture)
    mine = [one for one in standing if one.goal == name and name]
    for one in (*(one for one in standing if one not in mine), None, *mine):
        if one is None:
            yield from [Change("set", name)] if name else []
        elif one.kind == "decision":
            yield Change("lock" if one.done else "decide", one.text)
        else:
            yield Change(ways[one.kind], one.text, done=one.done)
    if goals.next_step and name:
        yield Change("next", goals.next_step)


def _tell_parent(store: TranscriptStore, source_id: str, descent: Descent) -> None:
    """Write into the earlier session that another one goes on from it; once."""
    for _ in range(1_000):
        messages, records = store.head(source_id)
        known = children_of(store, source_id)
        if any(one.other == descent.other for one in known):
            return
        number = len(store.records(source_id, KIND))
        try:
            store.append(source_id, messages, (), [descent.record(number)])
        except StoreError:
            if store.head(source_id) == (messages, records):
                raise
        else:
            return
    raise StoreError(f"1,000 other writers came first; {source_id!r} does not say which session goes on from it")


def _is_over(newest: list[StoredMessage]) -> bool:
    """Return whether a turn is over: the assistant has spoken last, and called no tool."""
    return bool(newest) and newest[-1].role == "assistant" and not newest[-1].call_ids


# -- how sessions are opened for it -----------------------------------------------------------------------------------


class Means(NamedTuple):
    """What a new session is opened with; None: as the one that it goes on from."""

    model: str | None
    window_tokens: int | None
    form: str | None
    scope: Scope | None
    mode: str | None


def go_on(open_one: Open, wired: Wired, session_id: str, new_id: str, means: Means) -> Session:
    """Do what `Engine.continued` says; `open_one` is `Engine.session`."""
    lease = newest_lease(wired.store, session_id)
    scopes = scopes_of(wired.store, session_id) if wired.store.head(session_id) != (0, 0) else ()
    scope = scopes[-1].scope if scopes else Scope()
    if means.scope is not None and (means.scope.tenant, means.scope.user) != (scope.tenant, scope.user) and scopes:
        raise ConfigError(f"{session_id!a:.80} is another user's; go on from it in the scope of its own")
    model = means.model if means.model is not None else (lease.model if lease else "")
    window = means.window_tokens
    if window is None and lease is not None and model == lease.model:
        window = lease.window_tokens
    scope, form = means.scope or scope, means.form or "openai.chat"
    source = open_one(session_id, model=model, window_tokens=window, form=form, scope=scope)
    mode = means.mode or (source.mode if source.mode != "off" else None)
    made = open_one(new_id, model=model, window_tokens=window, form=form, scope=scope, mode=mode)
    return continued(Going(CONTINUED, source, time.time()), made)


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
    shares_window, clamp = agent.window
    if not agent.name.strip():
        raise ConfigError("the sub-agent has no name; it is what its scope calls it")
    if shares_window and clamp is not None:
        raise ConfigError("a window that is shared can't be clamped; leave clamp_tokens or share_context_window out")
    if agent.shares and agent.session_id not in {None, parent.session_id}:
        raise ConfigError(f"a session that is shared is {parent.session_id!a:.80}; leave session_id out")
    least = parent.wired.loaded.settings.window.min
    if clamp is not None and clamp < least:
        raise ConfigError(f"clamp_tokens is {clamp:,}; a window has at least {least:,} tokens (window.min)")
    model = agent.model if agent.model is not None else parent.lease.model
    own = parent.lease.window_tokens
    if model != parent.lease.model and not shares_window:
        own = parent.wired.lease(model, None).window_tokens
    tokens = min(own, clamp or own)
    session_id = parent.session_id if agent.shares else agent.session_id or f"{parent.session_id}/{agent.name}"
    scope = parent.scope._replace(agent=agent.name)
    made = open_one(session_id, model=model, window_tokens=tokens, form=parent.codec.tag, scope=scope, mode=agent.mode)
    return sub_agent(Going(SUB_AGENT, parent, time.time()), made, clamped=tokens < own)
