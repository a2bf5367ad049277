"""What a store answers where no conversation is led: to programs that name one by its id."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from squidbot.core.errors import BudgetError, ConfigError, RecallError, SquidbotError
from squidbot.core.finding.words import read_query
from squidbot.core.history.hits import Asked, hits_of, line_of, listed
from squidbot.core.history.names import named, resolve
from squidbot.core.history.pages import Maker
from squidbot.core.keys import Keys
from squidbot.core.memory.turns import Turns
from squidbot.core.messages import Cost
from squidbot.core.notes.quotes import clip, one_line
from squidbot.core.view.marks import fence, harmless, refused
from squidbot.core.view.renderer import Renderer
from squidbot.core.view.standing import Shelf
from squidbot.hosting.overview import overview, told_of
from squidbot.remembering import Lists
from squidbot.sessions import Session
from squidbot.tool_goals import answer_goal
from squidbot.tool_journal import Desk, answer_journal
from squidbot.tool_memory import FORBIDDEN, Caller, answer_memory
from squidbot.tools import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.core.finding.words import Query
    from squidbot.core.history.hits import Hit
    from squidbot.core.memories import Scope
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import Codec
    from squidbot.hosting.hosted import Hosted

__all__ = ["Served"]

# What an answer costs at most: these programs say nothing of the room that they have.
ANSWER_TOKENS: Final = 4_000
ROOM: Final = Cost(ANSWER_TOKENS, ANSWER_TOKENS)
HITS: Final = 8
MOST_OFFSET: Final = 1_000
QUERY_CHARS: Final = 1_000
# Where no conversation is named: how many are looked through, and what is shown of each.
MOST_SEARCHED: Final = 100
HITS_OF_EACH: Final = 3
MOST_LISTED: Final = 20
# What one call may record.
MOST_MESSAGES: Final = 100
MOST_CHARS: Final = 200_000
KEY_CHARS: Final = 200
ID_CHARS: Final = 200
ROLES: Final = ("user", "assistant")


class Served:
    """Answers for programs that lead their conversations elsewhere. Threads may share it; no method raises."""

    def __init__(self, hosted: Hosted, scope: Scope) -> None:
        """Take what opens the store; `scope` says whose durable facts are found and told."""
        self._hosted = hosted
        self._scope = scope

    def memory(self, action: str, **arguments: object) -> Answer:
        """Do what the tool `memory` does: search, add, list, forget."""

        def act() -> Answer:
            if self._wired.loaded.settings.memory.allow_tools is False:
                return FORBIDDEN
            memories = replace(self._wired.memories(self._wired.meter(), self._scope), limit_tokens=ANSWER_TOKENS)
            writes = self._wired.loaded.settings.memory.write
            given = {"action": action, **{name: value for name, value in arguments.items() if value}}
            return answer_memory(memories, given, Caller(time.time(), write=writes))

        return self._answer(f"memory {action}", "", act)

    def journal(self, name: str, **arguments: object) -> Answer:
        """Do what one of the journal's tools does, in the journal of the scope."""

        def act() -> Answer:
            wired = self._wired
            journal, meter, agent_id = wired.journals.of(self._scope), wired.meter(), self._scope.agent or "mcp"
            desk = Desk(journal, time.time(), meter, ANSWER_TOKENS, agent_id=agent_id)
            most = wired.loaded.settings.journal.max_entries_per_day
            given = {key: value for key, value in arguments.items() if value}
            return answer_journal(name, desk._replace(most_per_day=most), given)

        return self._answer(name, "", act)

    def search(self, query: str, session_id: str = "", offset: int = 0) -> Answer:
        """Find what was said, in one conversation or, without an id, in those that were begun last."""
        act = (lambda: self._found_in(session_id, query, offset)) if session_id else (lambda: self._found(query))
        return self._answer("a search", session_id, act)

    def recall(self, session_id: str, handle: str, offset: int = 0) -> Answer:
        """Bring back what was said as it was said: a message, a run of them, or what notes stand for."""

        def act() -> Answer:
            store, messages = self._wired.store, self._length(session_id)
            run = resolve(handle, messages, store, session_id)
            page = Maker(self._shelf(session_id), run, time.time()).page(_within(offset), ROOM)
            if page is None:
                raise RecallError(f"{named(*run[:2])} does not fit an answer; ask for one message of it")
            return Answer(page.text)

        return self._answer("a recall", session_id, act)

    def append(self, session_id: str, key: str, messages: Sequence[tuple[str, str]]) -> Answer:
        """Record messages, each a role and a text, behind a conversation; under the same key once."""

        def act() -> Answer:
            _check_id(session_id)
            _check(key, messages)
            rows = self._recorded(session_id, key, messages)
            texts = [self._codec(row.codec).text(row.payload) for row in rows]
            ids = named(rows[0].seq, rows[-1].seq)
            if texts != [text for _, text in messages]:
                raise RecallError(f"{ids} was recorded under this key with other words, or forgotten; take a new key")
            return Answer(f"[recorded as {ids} of {_shown(session_id)}; what is sent again under this key is not]")

        return self._answer("recording", session_id, act)

    def goal(self, session_id: str, **arguments: object) -> Answer:
        """Do what the tool `goal` does in a conversation, in the window that its program has."""

        def act() -> Answer:
            self._length(session_id)
            given = {name: value for name, value in arguments.items() if value != ""}
            return answer_goal(self._session(session_id).goals, given, ANSWER_TOKENS)

        return self._answer("a goal", session_id, act)

    def status(self) -> Answer:
        """Tell of the store: where it is, which conversations it has, whether facts may be added."""

        def act() -> Answer:
            settings = self._wired.loaded.settings
            sessions = self._sessions()
            facts = "off" if not settings.memory.enabled else "added and found" if settings.memory.write else "found"
            shown = [
                f"{_shown(name)}: {told_of(self._wired.store, name, count)}"
                for name, count in sessions[-MOST_LISTED:][::-1]
            ]
            more = [f"[{len(sessions) - MOST_LISTED:,} that were begun before]"] if len(sessions) > MOST_LISTED else []
            head = [f"store: {settings.store.path or 'in memory'}", f"durable facts: {facts}"]
            return Answer("\n".join([*head, f"conversations: {len(sessions):,}, newest first", *shown, *more]))

        return self._answer("status", "", act)

    def overview(self, session_id: str) -> Answer:
        """Tell of one conversation: how long it is, how it began, its notes, what was said last."""

        def act() -> Answer:
            self._length(session_id)
            return Answer(overview(self._shelf(session_id), self._session(session_id), ANSWER_TOKENS))

        return self._answer("an overview", session_id, act)

    @property
    def _wired(self) -> Wired:
        return self._hosted.engine.wired

    def _answer(self, what: str, session_id: str, act: Callable[[], Answer]) -> Answer:
        def told() -> Answer:
            try:
                return act()
            except SquidbotError as error:
                return Answer(refused(str(error)[:1_000]), is_error=True)

        failed = Answer(f"<squidbot failed at {what}; its log says why>", is_error=True)
        return self._hosted.safely(what, session_id, told, failed)

    def _found_in(self, session_id: str, query: str, offset: int) -> Answer:
        self._length(session_id)
        words, now = _words(query), time.time()
        hits = islice(self._hits(session_id, query, words, now), _within(offset, MOST_OFFSET), offset + HITS + 1)
        page = listed(Asked(query, offset, HITS, now), list(hits), self._wired.meter(), ROOM)
        if page is None:
            raise RecallError("the hits do not fit an answer; look for less")
        return Answer(page.text)

    def _found(self, query: str) -> Answer:
        words, now = _words(query), time.time()
        every = self._sessions()
        looked = every[-MOST_SEARCHED:][::-1]
        best = {name: self._best(name, query, words, now) for name, _ in looked}
        found = [(hit, name) for name, hits in best.items() for hit in hits or ()]
        found.sort(key=lambda one: -one[0].score)
        where = f"in {len(looked):,} of {len(every):,} conversations"
        lost = sum(hits is None for hits in best.values())
        where += f" ({lost} can't be read)" if lost else ""
        if not found:
            return Answer(fence("found", f"no message {where} for: {one_line(query)[:80]}", "[try other words]"))
        lines = "\n".join(f"{_shown(name)} {line_of(hit, now)}" for hit, name in found[:HITS])
        about = f"best first, times are UTC, {where}, for: {one_line(query)[:80]}"
        return Answer(f"{fence('found', about, lines)}\n[name the conversation to see more of it]")

    def _hits(self, session_id: str, query: str, words: Query, now: float) -> Iterator[Hit]:
        found = Turns(self._wired.store, session_id, self._codec).found(query, now)
        return hits_of(found, words, self._codec, {})

    def _best(self, session_id: str, query: str, words: Query, now: float) -> list[Hit] | None:
        """Return the first hits in a conversation; None where it can't be read: the others still can."""
        try:
            return list(islice(self._hits(session_id, query, words, now), HITS_OF_EACH))
        except SquidbotError:
            return None

    def _codec(self, tag: str) -> Codec:
        if tag not in self._wired.codecs:
            raise ConfigError(f"no codec reads messages of the form {tag!r}; load its extension")
        return self._wired.codecs[tag]

    def _recorded(self, session_id: str, key: str, messages: Sequence[tuple[str, str]]) -> tuple[StoredMessage, ...]:
        known = Keys(self._wired.store, session_id).find(key)
        if known is not None:
            return tuple(self._wired.store.read(session_id, *known))
        session = self._session(session_id)
        try:
            awaited = session.core.room().awaited
        except BudgetError:
            awaited = ()
        if awaited:
            raise RecallError(f"m{awaited[0].seq} awaits results of its tool calls: its program is at work; try later")
        return session.record([{"role": role, "content": text} for role, text in messages], key=key)

    def _session(self, session_id: str) -> Session:
        """Return the conversation in the window that its program has: another would change what that one sends."""
        engine = self._hosted.engine
        lease = engine.wired.engine.lease(session_id)
        if lease is None:
            return engine.session(session_id, scope=self._scope)
        made = engine.session(session_id, model=lease.model, window_tokens=lease.window_tokens, scope=self._scope)
        if made.lease.lease_id == lease.lease_id:
            return made
        return Session(engine.wired, session_id, lease, engine.wired.codecs["openai.chat"], scope=self._scope)

    def _shelf(self, session_id: str) -> Shelf:
        wired = self._wired
        return Shelf(session_id, wired.store, wired.store, Renderer(wired.meter(), wired.codecs))

    def _sessions(self) -> list[tuple[str, int]]:
        """Return every conversation with how many messages it has, oldest first."""
        store: object = self._wired.store
        if not isinstance(store, Lists):
            raise RecallError("this store can't list its conversations; name one")
        return [(name, count) for name, count in store.sessions() if count]

    def _length(self, session_id: str) -> int:
        """Return how many messages a conversation has.

        Raises:
            RecallError: there is none of that id; the text names some.
        """
        _check_id(session_id)
        messages = self._wired.store.head(session_id)[0]
        if not messages:
            names = ", ".join(_shown(name) for name, _ in self._sessions()[-5:][::-1])
            raise RecallError(
                f"no conversation is called {session_id!a:.80}; {f'newest: {names}' if names else 'there is none yet'}"
            )
        return messages


def _words(query: str) -> Query:
    if len(query) > QUERY_CHARS:
        raise RecallError(f"the query has {len(query):,} characters, at most {QUERY_CHARS:,} are looked for")
    try:
        return read_query(query)
    except ValueError as error:
        raise RecallError(str(error)) from error


def _within(offset: int, most: int = 10**9) -> int:
    if not 0 <= offset <= most:
        raise RecallError(f"offset {offset!a:.40} is out of range; it is a number that the page before says")
    return offset


def _check_id(session_id: str) -> None:
    if not session_id or len(session_id) > 1_024:
        raise RecallError(f"conversation_id has {len(session_id):,} characters; it is 1 to 1,024, as status lists them")


def _check(key: str, messages: Sequence[tuple[str, str]]) -> None:
    """Check what is to be recorded.

    Raises:
        RecallError: it is not to be.
    """
    if not key.strip() or len(key) > KEY_CHARS:
        raise RecallError(f"key is the client's own name for these messages, 1 to {KEY_CHARS} characters")
    if not 1 <= len(messages) <= MOST_MESSAGES:
        raise RecallError(f"there are {len(messages):,} messages; 1 to {MOST_MESSAGES} are recorded at once")
    if any(role not in ROLES or not text.strip() for role, text in messages):
        raise RecallError("each message has a role, user or assistant, and a text")
    if (chars := sum(len(text) for _, text in messages)) > MOST_CHARS:
        raise RecallError(f"the messages have {chars:,} characters; at most {MOST_CHARS:,} are recorded at once")


def _shown(session_id: str) -> str:
    return clip(one_line(harmless(session_id)), ID_CHARS)
