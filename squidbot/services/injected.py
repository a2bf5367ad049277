"""Durable facts and extensions' texts that squidbot adds to requests by itself; a failure only leaves them out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from squidbot.core import events
from squidbot.core.cached import cached_property
from squidbot.core.errors import SquidbotError
from squidbot.core.events import Event
from squidbot.core.journal import digest, is_entry
from squidbot.core.memory.injection import InjectionLimits, cold_start, memories_in, sections
from squidbot.core.memory.standing import said_in, stands
from squidbot.core.memory.text import safe
from squidbot.core.plan import JOURNAL_SECTION, Section
from squidbot.core.transcript.goals import stored_goals
from squidbot.core.transcript.lines import LineStore
from squidbot.core.transcript.scopes import SCOPE
from squidbot.core.view.marks import JOURNAL as NOTED
from squidbot.core.view.marks import fence, holds, tool_names
from squidbot.core.view.renderer import fenced
from squidbot.services.background import is_on_line
from squidbot.wiring.extensions import SessionHooks, sections_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.core.journal import JournalEntry
    from squidbot.core.memories import Memory, Scope
    from squidbot.core.memory.view import Memories
    from squidbot.core.tokens.counters import Meter


Value = TypeVar("Value")
# The name of a tool in a text is no longer.
TOOL_CHARS: Final = 80


class MemoryCall(NamedTuple):
    """One call of a session.

    It has a scope, a counter, a time in seconds since 1970, and the name of the tool that searches facts, "" for none.
    """

    session_id: str
    scope: Scope
    meter: Meter
    now: float
    tool: str


class UnpromptedMemory:
    """`UnpromptedContext` for one call of one session; it reads everything only once."""

    def __init__(self, wired: Wired, call: MemoryCall) -> None:
        """Take the engine's parts, and the call; this opens nothing yet."""
        self._wired = wired
        self._call = call
        self._sections: tuple[Section, ...] | None = None

    def head(self, limit_tokens: int) -> tuple[Section, ...]:
        """Return the sections for the head of a request; together they cost at most `limit_tokens`, as a bound."""
        if self._sections is None:
            nothing: tuple[Section, ...] = ()
            own = self._tried(lambda: self._head(limit_tokens), nothing)
            call = self._call
            place = SessionHooks(self._wired.hooks, call.session_id, call.scope, call.meter)
            told, entry_id = self._tried(lambda: self._digest(limit_tokens), ("", ""), "the journal is not shown")
            journal = (Section(JOURNAL_SECTION, told, (entry_id,)),) if told else ()
            self._sections = (*own, *sections_of(place, own, limit_tokens), *journal)
        return self._sections

    def start(self, prompt: str, limit_tokens: int, head: Sequence[Section]) -> str | None:
        """Return facts that answer a conversation's first message and are not in `head`, between our marks."""
        return self._tried(lambda: self._start(prompt, limit_tokens, head), None)

    def resume(self, limit_tokens: int, head: Sequence[Section], noticed: Sequence[str]) -> str | None:
        """Return the newest journal entry, between our marks; None if there is none, or if it is in view already."""
        told, entry_id = self._tried(lambda: self._digest(limit_tokens), ("", ""), "the journal is not shown")
        if not told or any(one.text == told for one in head) or any(told in one for one in noticed):
            return None
        return fence(NOTED, f"the newest entry of the work journal, before this pause; {entry_id}", told)

    def withdrawn(self, memory_ids: Collection[str]) -> frozenset[str]:
        """Return the facts that must no longer be sent here: they were forgotten, or belong to another user."""
        facts = [one for one in memory_ids if not is_entry(one)]  # `forget` handles journal entries
        if not facts or not self._wired.remembering.may_hold():
            return frozenset()
        nothing: frozenset[str] = frozenset()
        found = self._tried(lambda: self._memories.hidden(facts), nothing)
        if found:  # earlier results may have them
            self._sections = None
        return found

    def unsaid(self, memory_ids: Collection[str]) -> bool:
        """Return whether one of these facts was said by this session alone, and not on the line that is talked on.

        What other sessions left goes with the next plan: looking into each of them would slow every turn.
        """
        facts = [one for one in memory_ids if not is_entry(one)]
        own = said_in(self._wired.store, self._call.session_id)
        nothing: list[Memory] = []
        known = self._tried(lambda: self._memories.store.get(facts), nothing)
        return not all(stands(memory, own) for memory in known)

    def _head(self, limit_tokens: int) -> tuple[Section, ...]:
        if not self._is_said:
            return ()
        return sections(self._memories, self._caps, limit_tokens, tool=self._call.tool)

    def _start(self, prompt: str, limit_tokens: int, head: Sequence[Section]) -> str | None:
        limit_tokens = min(limit_tokens, self._caps.cold_start_tokens)
        if not limit_tokens or not self._is_said:
            return None
        call, known = self._call, memories_in(head)
        page = cold_start(self._memories, prompt, call.now, known, limit_tokens, tool=call.tool)
        return page.text if page else None

    def _digest(self, limit_tokens: int) -> tuple[str, str]:
        """Return the newest journal entry with its session's goals, within that cost, and its id."""
        if not self._wired.journals.tells:
            return "", ""
        return digest_of(self._wired, self._call.scope, self._call.session_id, self._call.meter, limit_tokens)

    @cached_property
    def _caps(self) -> InjectionLimits:
        memory = self._wired.loaded.settings.memory
        return InjectionLimits(memory.index_tokens, memory.profile_tokens, memory.cold_start_tokens)

    @property
    def _is_said(self) -> bool:
        settings = self._wired.loaded.settings
        is_wanted = settings.memory.in_prompt and settings.bot(self._call.scope.bot).requires_memory
        return is_wanted and self._wired.remembering.may_hold()

    @cached_property
    def _memories(self) -> Memories:
        call = self._call
        found = self._wired.remembering.memories(call.meter, call.scope, call.session_id, by_words=True)
        return replace(found, is_said=said_in(self._wired.store))

    def _tried(self, act: Callable[[], Value], otherwise: Value, failed: str = "facts are not shown") -> Value:
        """Return the result of `act`; after a failure, which becomes an event, return `otherwise`."""
        try:
            return act()
        except SquidbotError as error:
            cause = f"{failed}: {error}"
            self._wired.relay.notify(Event(events.DEGRADED, self._call.session_id, cause, scope=self._call.scope))
            return otherwise


def search_tool(tools: Iterable[Mapping[str, object]]) -> str:
    """Return the name of the tool that searches facts, with or without a server's name before it; "" for none."""
    names = (safe(name, TOOL_CHARS) for name in tool_names(tools) if "facts" in holds(name))
    return next((name for name in names if name.endswith(("memory", "memory_search"))), "")


# The journal's text when a session begins, and when it continues after a pause.

# No line of an entry is longer.
LINE_CHARS = 10_000
# Where the newest entry was written on a line that nobody talks on, so many are looked at.
LOOKED_THROUGH: Final = 20


def digest_of(wired: Wired, scope: Scope, session_id: str, meter: Meter, limit_tokens: int) -> tuple[str, str]:
    """Return the newest entry of a scope's journal with the goals of its session, as lines, and its id; "" for none.

    It costs at most `journal.summary_token_budget` tokens in a head, and no more than `limit_tokens`, as a bound. The
    session's own goals are in its head already.

    Raises:
        ConfigError: a pattern of the journal is wrong.
        StoreError: the disk or the store failed.
    """
    entry = _newest(wired, scope)
    if entry is None:
        return "", ""
    goals = _goals(wired, scope, entry) if entry.source_session not in {"", session_id} else []
    most_tokens = min(wired.loaded.settings.journal.summary_token_budget, limit_tokens)
    made = digest(
        entry,
        lambda text: meter.message(fenced(JOURNAL_SECTION, _safe(text))).bound,
        goals=goals,
        most_tokens=most_tokens,
    )
    return _safe(made), entry.entry_id


def _newest(wired: Wired, scope: Scope) -> JournalEntry | None:
    """Return the newest entry of a scope's journal that was written from messages on a line that is talked on.

    None if there is none, or none among the newest 20: whoever left as many lines has begun something else.
    """
    entry = wired.journals.newest(scope)
    if entry is None or is_on_line(wired, entry):
        return entry
    return next(
        (one for one in wired.journals.of(scope).latest(LOOKED_THROUGH).entries if is_on_line(wired, one)), None
    )


def _safe(text: str) -> str:
    """Return lines without marks that only squidbot writes."""
    return "\n".join(safe(line, LINE_CHARS) for line in text.split("\n"))


def _goals(wired: Wired, scope: Scope, entry: JournalEntry) -> list[str]:
    """Return the goals of an entry's session, without secrets; none if it has other users."""
    store, journals = wired.store, wired.journals
    if any(journals.place(one.scope) != journals.place(scope) for one in SCOPE.state(store, entry.source_session)):
        return []
    goals = stored_goals(LineStore(store, entry.source_session), entry.source_session)
    if goals.active is None:
        return []
    open_ones = [f"milestone: {milestone.text}" for milestone in goals.milestones if not milestone.done]
    following = [f"next: {goals.next_step}"] if goals.next_step else []
    return [journals.redacted(one) for one in (goals.active.text, *open_ones, *following)]
