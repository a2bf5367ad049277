"""The tools of a store for programs that keep their conversations elsewhere and name them by id."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from squidbot.core.errors import BudgetError, DamagedStoreError, RecallError, SquidbotError
from squidbot.core.memories import NOBODY
from squidbot.core.messages import Cost
from squidbot.core.ports import SupportsSessions
from squidbot.core.recall.history import HITS, SearchRequest, line_of, run_id
from squidbot.core.text import clip, one_line
from squidbot.core.transcript.bookkeeping import Keys
from squidbot.core.transcript.identity import identity_of
from squidbot.core.transcript.lineage import ancestors
from squidbot.core.transcript.scopes import MOST_ID_CHARS, SCOPE, scope_at
from squidbot.core.view.current import SessionContext
from squidbot.core.view.marks import Hints, fence, harmless, refused
from squidbot.core.view.renderer import Renderer
from squidbot.plugins.host import overview, told_of
from squidbot.plugins.scopes import told_scope
from squidbot.session import Session
from squidbot.tools.goals import GOAL, change_goal
from squidbot.tools.history import OFFSET, QUERY, codec_of, found_in, hits_in, page_of
from squidbot.tools.journal import ADD_ENTRY, JOURNAL_STATUS, LIST_ENTRIES
from squidbot.tools.memory import PROGRAM_TOOLS
from squidbot.tools.session import ToolContext, answer_in
from squidbot.tools.table import named, offered
from squidbot.tools.tool import Answer, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.core.memories import Scope
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.recall.history import HistoryHit
    from squidbot.core.recall.search import SearchQuery
    from squidbot.core.transcript.identity import SessionIdentity
    from squidbot.plugins.host import HostRuntime

    # A tenant and a user.
    Owner = tuple[str, str]


# The most that an answer costs: these programs don't tell their free room.
ANSWER_TOKENS: Final = 4_000
# Without a conversation's id: how many conversations are searched, and what is shown of each.
MOST_SEARCHED: Final = 100
HITS_OF_EACH: Final = 3
MOST_LISTED: Final = 20
# The most that one call records.
MOST_MESSAGES: Final = 100
MOST_CHARS: Final = 200_000
KEY_CHARS: Final = 200
ID_CHARS: Final = 200
# How many transcripts' owners are remembered.
MOST_KNOWN: Final = 100_000
# A list hides what was another user's so long without asking again.
HIDDEN_SECONDS: Final = 10.0
HINTS: Final = Hints(
    recall="history_recall {}",
    page="more: history_recall {}",
    found="more: history_search offset {}",
    facts="more: memory_search with offset {}",
    listed="more: memory_list after {}",
    forget="memory_forget takes an id",
    search="memory_list shows what there is",
    ids="memory_search and memory_list show them",
    past="",
)
_CONVERSATION: Final = {"type": "string", "description": "the conversation's id; status lists some"}
_MESSAGE: Final = {
    "type": "object",
    "properties": {"role": {"type": "string", "enum": ["user", "assistant"]}, "text": {"type": "string"}},
    "required": ["role", "text"],
}
_HANDLE: Final = {"type": "string", "description": "such as m17, m17-m40 or s12-80.ab12"}
_SEARCH: Final = "Search the messages of one conversation, or without an id those of the newest ones."
_SEARCHED: Final = {"query": QUERY, "conversation_id": {"type": "string"}, "offset": OFFSET}
_RECALL: Final = "Return the original words where a text says `recall ID`, or a page ends with an offset."
_APPEND: Final = "Append messages to a conversation; sending them again under the same key does nothing."
_APPENDED: Final[dict[str, dict[str, object]]] = {
    "conversation_id": {"type": "string", "description": "the conversation; a new id begins one"},
    "key": {
        "type": "string",
        "description": "your name for these messages; reuse it when you send them again",
    },
    "messages": {"type": "array", "items": _MESSAGE},
}
_STATUS: Final = "List the conversations, newest first, and tell whether facts may be added."


class SessionOwners:
    """Whose the messages of transcripts are, remembered while a transcript stays the same. Threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Know nothing yet; `clock` returns seconds."""
        self._clock = clock
        self._known: dict[str, _KnownOwners] = {}

    def of(self, store: TranscriptStore, name: str, messages: int) -> frozenset[Owner | None]:
        """Return the tenants and users of a transcript's messages, and of the transcripts that it continues.

        `None` is among them if that is unknown. `messages` is how many there are now.

        Raises:
            StoreError: the store failed.
        """
        if not messages:
            return frozenset()
        identity, known = identity_of(store, name), self._known.get(name)
        if known is not None and known.identity == identity:
            self._known[name] = known._replace(read_at=self._clock())
            return known.owners
        try:
            found = frozenset(owner for each in (name, *ancestors(store, name)) for owner in _owners(store, each))
        except DamagedStoreError:
            found = frozenset({None})
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[name] = _KnownOwners(identity, found, self._clock())
        return found

    def lists(self, store: TranscriptStore, name: str, messages: int, owner: Owner) -> bool:
        """Return whether a list shows a transcript to a user: all of it is theirs, or it is empty.

        As `of` tells, but what was another user's is asked for again only after a while: a list has many of these.

        Raises:
            StoreError: the store failed.
        """
        known = self._known.get(name)
        is_same = known is not None and known.identity.messages == messages
        if known and is_same and not known.owners <= {owner} and self._clock() < known.read_at + HIDDEN_SECONDS:
            return False
        return self.of(store, name, messages) <= {owner}


class _KnownOwners(NamedTuple):
    """The owners of a transcript, of which identity that was, and when it was last read."""

    identity: SessionIdentity
    owners: frozenset[Owner | None]
    read_at: float


def _owners(store: TranscriptStore, session_id: str) -> set[Owner | None]:
    if not store.head(session_id)[0]:
        return set()
    changes = SCOPE.state(store, session_id)
    scopes = (scope_at(changes, 0), *(change.scope for change in changes))
    return {None if scope is None else (scope.tenant, scope.user) for scope in scopes}


class StoreTools:
    """The tools, over one store. Threads may share it; no method raises.

    With `owners`, conversations of other users do not exist for the tools, and those that they begin have ids of
    their own: two users may both name one "notes".
    """

    def __init__(
        self,
        hosted: HostRuntime,
        scope: Scope,
        owners: SessionOwners | None = None,
        answer_tokens: int = ANSWER_TOKENS,
    ) -> None:
        """Take the runtime that opens the store, the scope of durable facts, and the most that an answer costs."""
        self._hosted = hosted
        self._scope = scope
        self._answer_tokens = answer_tokens
        self._owners = owners
        # Behind the ids of conversations that this user begins; no other user has the same.
        self._behind = f"@user:{quote(scope.user, safe='', errors='surrogatepass')}"
        self._table = self._offers()

    def _offers(self) -> tuple[Tool, ...]:
        """Return the tools, those too that the settings don't offer."""
        recalls = {"conversation_id": _CONVERSATION, "id": _HANDLE, "offset": OFFSET}
        return (
            *PROGRAM_TOOLS,
            Tool("history_search", _SEARCH, _SEARCHED, {"": self._search}),
            Tool("history_recall", _RECALL, recalls, {"": self._recall}),
            Tool("history_append", _APPEND, _APPENDED, {"": self._append}, effect="adds"),
            Tool("status", _STATUS, {}, {"": self._status}),
            GOAL._replace(
                arguments={"conversation_id": _CONVERSATION, **GOAL.arguments},
                acts={action: self._goal if act is change_goal else act for action, act in GOAL.acts.items()},
            ),
            ADD_ENTRY,
            LIST_ENTRIES,
            JOURNAL_STATUS,
        )

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that settings offer.

        Raises:
            ConfigError: a setting is wrong.
        """
        return offered(self._table, self._wired.loaded.settings, self._scope.bot)

    def call(self, name: str, arguments: Mapping[str, object]) -> Answer:
        """Answer a call of a tool."""

        def act() -> Answer:
            tool = named(self._table, name, self._wired.loaded.settings, self._scope.bot)
            if tool is None:
                return Answer(refused(f"there is no tool {name[:60]!a}"), is_error=True)
            return answer_in(self._context(), tool, arguments)

        return self._safely(f"answer {name}", str(arguments.get("conversation_id", "")), act)

    def overview(self, session_id: str) -> Answer:
        """Return an overview of a conversation: its length, beginning, notes and last messages."""

        def act() -> Answer:
            found, wired = self._found(session_id), self._wired
            shelf = SessionContext(found, wired.store, wired.store, Renderer(wired.meter(), wired.codecs))
            return Answer(overview(shelf, self._session(found, NOBODY), self._answer_tokens))

        return self._safely("give an overview", session_id, act)

    def _safely(self, what: str, session_id: str, act: Callable[[], Answer]) -> Answer:
        def answered() -> Answer:
            try:
                return act()
            except SquidbotError as error:
                return Answer(refused(str(error)[:1_000]), is_error=True)

        failed = Answer(f"<squidbot could not {what}; its log says why>", is_error=True)
        return self._hosted.safely(what, session_id, answered, failed)

    @property
    def _wired(self) -> Wired:
        return self._hosted.engine.wired

    def _context(self) -> ToolContext:
        room = Cost(self._answer_tokens, self._answer_tokens)
        return ToolContext(self._wired, self._wired.meter(), self._scope, room, time.time(), hints=HINTS)

    def _recall(self, context: ToolContext, conversation_id: str, id: str, offset: int = 0) -> str:  # noqa: A002  # the tool's argument
        return page_of(context, self._found(conversation_id), id, offset)

    def _goal(  # the tool's arguments
        self,
        context: ToolContext,
        conversation_id: str,
        action: str,
        text: str = "",
        done: bool = False,  # noqa: FBT001, FBT002  # as above
    ) -> str:
        session = self._session(self._found(conversation_id)).lookups
        return change_goal(replace(context, session=session), action, text, done)

    def _search(self, context: ToolContext, query: str, conversation_id: str = "", offset: int = 0) -> str:
        """Return the hits in one conversation or, without an id, in the newest ones."""
        if conversation_id:
            return found_in(context, self._found(conversation_id), query, offset)
        words, every = SearchRequest(query).words(), self._sessions()
        looked = every[-MOST_SEARCHED:][::-1]
        best = {name: _best(context, name, query, words) for name, _ in looked}
        found = [(hit, name) for name, hits in best.items() for hit in hits or ()]
        found.sort(key=lambda one: -one[0].score)
        where = f"in {len(looked):,} of {len(every):,} conversations"
        lost = sum(hits is None for hits in best.values())
        where += f" ({lost} can't be read)" if lost else ""
        if not found:
            return fence("found", f"no message {where} for: {one_line(query)[:80]}", "[try other words]")
        lines = "\n".join(f"{self._shown(name)} {line_of(hit, context.now)}" for hit, name in found[:HITS])
        about = f"best first, times are UTC, {where}, for: {one_line(query)[:80]}"
        return f"{fence('found', about, lines)}\n[name the conversation to see more of it]"

    def _append(
        self, context: ToolContext, conversation_id: str, key: str, messages: Sequence[Mapping[str, str]]
    ) -> str:
        """Record messages at the end of a conversation, once under the same key."""
        _check(key, messages)
        rows = self._recorded(self._begun(conversation_id), key, messages)
        texts = [codec_of(context.wired, row.codec).text(row.payload) for row in rows]
        ids = run_id(rows[0].seq, rows[-1].seq)
        if texts != [message["text"] for message in messages]:
            raise RecallError(f"{ids} was recorded under this key with other words, or forgotten; take a new key")
        return f"[recorded as {ids} of {_safe(conversation_id)}; the same key records nothing more]"

    def _status(self, context: ToolContext) -> str:
        """Return the store's place, its conversations, and whether facts may be added."""
        store, settings = context.wired.store, context.wired.loaded.settings
        sessions = self._sessions()
        facts = "off"
        if settings.memory.enabled:
            facts = f"{'added and found' if settings.memory.write else 'found'}, {told_scope(self._scope)}"
        shown = [f"{self._shown(name)}: {told_of(store, name, count)}" for name, count in sessions[-MOST_LISTED:][::-1]]
        more = [f"[{len(sessions) - MOST_LISTED:,} older ones]"] if len(sessions) > MOST_LISTED else []
        place = (
            [] if self._owners else [f"store: {settings.store.path or context.wired.loaded.store_place or 'in memory'}"]
        )
        head = [*place, f"durable facts: {facts}"]
        return "\n".join([*head, f"conversations: {len(sessions):,}, newest first", *shown, *more])

    def _recorded(self, session_id: str, key: str, messages: Sequence[Mapping[str, str]]) -> tuple[StoredMessage, ...]:
        known = Keys(self._wired.store, session_id).find(key)
        if known is not None:
            return tuple(self._wired.store.read(session_id, known.first_seq, known.last_seq))
        session = self._session(session_id)
        try:
            awaited = session.core.room().awaited
        except BudgetError:
            awaited = ()
        if awaited:
            raise RecallError(f"m{awaited[0].seq} awaits results of its tool calls: its program is at work; try later")
        return session.record([{"role": message["role"], "content": message["text"]} for message in messages], key=key)

    def _session(self, session_id: str, scope: Scope | None = None) -> Session:
        """Return the conversation in the window of its program: another window would change its requests."""
        scope = self._scope if scope is None else scope
        engine = self._hosted.engine
        window = engine.wired.engine.window(session_id)
        model, window_tokens = (window.model, window.window_tokens) if window else ("", None)
        made = engine.session(session_id, model=model, window_tokens=window_tokens, scope=scope)
        messages = engine.wired.store.head(made.session_id)[0]
        if made.session_id != session_id and not self._is_own(made.session_id, messages):
            raise self._unknown(session_id)  # `history.isolation` or `session.max_messages` leads to another one
        if window is None or made.window.window_id == window.window_id:
            return made
        return Session(engine.wired, session_id, window, engine.wired.codecs["openai.chat"], scope=scope)

    def _sessions(self) -> list[tuple[str, int]]:
        """Return every conversation with its number of messages, oldest first."""
        store: object = self._wired.store
        if not isinstance(store, SupportsSessions):
            raise RecallError("this store can't list its conversations; name one")
        return [(name, count) for name, count in store.sessions() if count and self._is_listed(name, count)]

    def _found(self, session_id: str) -> str:
        """Return the id of the transcript of a conversation.

        Raises:
            RecallError: there is none of that id; the text names some.
        """
        _check_id(session_id)
        found = self._transcript(session_id)
        if len(found) > MOST_ID_CHARS or not self._wired.store.head(found)[0]:
            raise self._unknown(session_id)
        return found

    def _begun(self, session_id: str) -> str:
        """Return the id of the transcript of a conversation, perhaps a new one.

        Raises:
            RecallError: the id is too long.
        """
        most = MOST_ID_CHARS - (len(self._behind) if self._owners else 0)
        _check_id(session_id, most)
        return self._transcript(session_id)

    def _transcript(self, session_id: str) -> str:
        """Return the id of the transcript that a conversation has, or will have.

        One that a user begins never has an id that another program might use for another user.
        """
        store = self._wired.store
        messages = store.head(session_id)[0] if self._owners else 0
        if self._owners is None or (messages and self._is_own(session_id, messages)):
            return session_id
        name = f"{session_id}{self._behind}"
        while len(name) <= MOST_ID_CHARS and not self._is_own(name, store.head(name)[0]):
            name += self._behind
        return name

    def _is_own(self, name: str, messages: int) -> bool:
        """Return whether the user may see a transcript: all of it is theirs, or it is empty."""
        return self._owners is None or self._owners.of(self._wired.store, name, messages) <= {self._scope[:2]}

    def _is_listed(self, name: str, messages: int) -> bool:
        """Return whether a list shows a transcript to the user."""
        return self._owners is None or self._owners.lists(self._wired.store, name, messages, self._scope[:2])

    def _unknown(self, session_id: str) -> RecallError:
        names = ", ".join(self._shown(name) for name, _ in self._sessions()[-5:][::-1])
        newest = f"newest: {names}" if names else "there is none yet"
        return RecallError(f"no conversation is called {session_id!a:.80}; {newest}")

    def _shown(self, name: str) -> str:
        """Return the id by which a user names a transcript."""
        short = name
        while self._owners and (less := short.removesuffix(self._behind)) not in {"", short}:
            if self._transcript(less) != name:
                break
            short = less
        return _safe(short)


def _best(context: ToolContext, session_id: str, query: str, words: SearchQuery) -> list[HistoryHit] | None:
    """Return the first hits in a conversation; `None` if it can't be read."""
    try:
        return list(islice(hits_in(context, session_id, query, words), HITS_OF_EACH))
    except SquidbotError:
        return None


def _check_id(session_id: str, most: int = MOST_ID_CHARS) -> None:
    if not 1 <= len(session_id) <= most:
        raise RecallError(f"conversation_id has {len(session_id):,} characters; 1 to {most:,} are allowed")


def _check(key: str, messages: Sequence[Mapping[str, str]]) -> None:
    """Check messages and their key.

    Raises:
        RecallError: they can't be recorded.
    """
    if len(key) > KEY_CHARS:
        raise RecallError(f"key has {len(key):,} characters; 1 to {KEY_CHARS} are allowed")
    if not 1 <= len(messages) <= MOST_MESSAGES:
        raise RecallError(f"there are {len(messages):,} messages; pass 1 to {MOST_MESSAGES} at once")
    if any(not message["text"].strip() for message in messages):
        raise RecallError("each message needs a role, user or assistant, and a text")
    if (chars := sum(len(message["text"]) for message in messages)) > MOST_CHARS:
        raise RecallError(f"the messages have {chars:,} characters; pass at most {MOST_CHARS:,} at once")


def _safe(session_id: str) -> str:
    return clip(one_line(harmless(session_id)), ID_CHARS)
