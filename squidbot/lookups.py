"""What a session looks up for its host and its model: what was said before, durable facts, goals; the tools for it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, get_args

from squidbot.core import events
from squidbot.core.contexts import Documents
from squidbot.core.errors import ConfigError
from squidbot.core.events import DEGRADED, Event
from squidbot.core.view.marks import refused
from squidbot.tool_journal import SCHEMAS, journal_tools
from squidbot.tools import Answer, answer, history_tool
from squidbot.waiting import wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from squidbot.bootstrap import Wired
    from squidbot.context.sources import Sources
    from squidbot.core.counting.meter import Meter
    from squidbot.core.engine import Session as CoreSession
    from squidbot.core.goals.book import GoalBook
    from squidbot.core.history.hits import Hits
    from squidbot.core.history.pages import Page
    from squidbot.core.memory.facts import Candidate, Utterance
    from squidbot.extending import Place

__all__ = ["Lookups"]

# Of the newest messages so many are looked through for words that a model wants kept as the user's.
_SPOKEN = 256


class Lookups:
    """What was said in a session, and the durable facts of its scope. All times are in seconds since 1970.

    What is raised stands at the methods of `Session`, which say what these do.
    """

    def __init__(self, wired: Wired, core: CoreSession, meter: Meter, place: Place) -> None:
        """Use `Session`; `place` tells extensions what was looked up, and where."""
        self._wired = wired
        self._core = core
        self._history = wired.engine.history(core, meter)
        self._meter = meter
        self._place = place

    def recall(self, handle: str, offset: int, now: float) -> Page:
        """Return a page of what was said, which is recorded behind the transcript."""
        return self._told(self._history.recall(handle, offset, now=now))

    def expand(self, handle: str, offset: int, now: float) -> Page:
        """Return a page of what was said, and write nothing."""
        return self._told(self._history.expand(handle, offset, now=now))

    def search(self, query: str, limit: int, offset: int, now: float) -> Hits:
        """Return the messages that answer a query, best first, as a page."""
        return self._history.search(query, limit=limit, offset=offset, now=now)

    def history(self, arguments: Mapping[str, object] | str, now: float) -> Answer:
        """Return what a model's call of the tool `history` answers."""
        from squidbot.ancestors import Ancestors  # noqa: PLC0415  # no turn needs it

        earlier = Ancestors(self._wired, self._core.session_id, self._meter)
        told = earlier.answer(arguments, self._history.free(), now)
        if told is None:
            told = answer(self._history, arguments, now)
        else:
            self._history.hand_out(self._meter.message(told.text))
        self._place.recalled("history", told.text)
        return told

    def memory(self, arguments: Mapping[str, object] | str, now: float) -> Answer:
        """Return what a model's call of the tool `memory` answers, never more than the next request has free."""
        from squidbot.tool_memory import FORBIDDEN, answer_memory, caller_in  # noqa: PLC0415  # no turn needs it

        wired, session_id = self._wired, self._place.session_id
        if wired.loaded.settings.memory.allow_tools is False:
            return FORBIDDEN
        memories = wired.memories(self._meter, self._place.scope, session_id)
        # In words or tokens: nothing has more words than tokens.
        limit_tokens = min(memories.limit_tokens, *self._history.free())
        caller = caller_in(wired.store, session_id, now, write=wired.loaded.settings.memory.write)
        caller = caller._replace(trait=self._trait, learned=self._told_trait)
        told = answer_memory(replace(memories, limit_tokens=limit_tokens), arguments, caller)
        return self._handed(told, "memory")

    def _trait(self, sentence: str) -> Candidate | None:
        """Return the trait that a sentence is, where the newest messages of the session's user have it; None else."""
        from squidbot.core.memory.extract import trait_in  # noqa: PLC0415  # few calls need it

        found = (trait_in(one, sentence, self._wired.remembering.redactor) for one in self._spoken())
        return next(filter(None, found), None)

    def _says(self, words: str) -> bool:
        """Return whether the session's user says these words himself, in his newest messages."""
        from squidbot.core.own_words import says  # noqa: PLC0415  # few calls need it

        return any(says(one.text, words) for one in self._spoken())

    def _spoken(self) -> Iterator[Utterance]:
        """Yield what the session's user says in the newest messages."""
        from squidbot.core.memory.facts import utterances  # noqa: PLC0415  # few calls need it
        from squidbot.core.scopes import scope_at, scopes_of  # noqa: PLC0415

        wired, session_id = self._wired, self._place.session_id
        last_seq = wired.store.head(session_id)[0] - 1
        scopes = scopes_of(wired.store, session_id)
        rows = wired.store.read(session_id, max(0, last_seq - _SPOKEN + 1), last_seq) if last_seq >= 0 else []
        mine = (row for row in rows if row.role == "user" and scope_at(scopes, row.seq) == self._place.scope)
        yield from utterances(mine, wired.codecs)

    def _told_trait(self, trait: Candidate, memory_id: str) -> None:
        place = self._place
        cause = f"m{trait.first_seq}, {memory_id}: {trait.sentence or trait.text}"
        self._wired.relay.notify(Event(events.TRAIT_LEARNED, place.session_id, cause, scope=place.scope))

    def reindex(self) -> Answer:
        """Return what a model's call of the tool `reindex_workspace` answers, where the settings allow it.

        The files are those of the settings alone, and the journal of the session's scope.
        """
        from squidbot.indexing import Became, Paths, reindex  # noqa: PLC0415  # no turn needs it
        from squidbot.tool_memory import FORBIDDEN, REINDEX  # noqa: PLC0415

        loaded, place = self._wired.loaded, self._place
        if not loaded.settings.memory.allow_tools:
            return FORBIDDEN
        memories = self._wired.memories(self._meter, place.scope, place.session_id)
        done = reindex(memories, Paths.of(loaded, scope=place.scope))
        became = ", ".join(f"{done.count(one)} {one}" for one in get_args(Became) if done.count(one))
        told = Answer(f"[files looked at: {became + ', ' if became else ''}{done.unchanged} as they were]")
        return self._handed(told, REINDEX)

    @property
    def goals(self) -> GoalBook:
        """What the session is after, in its window."""
        from squidbot.core.goals.book import GoalBook  # noqa: PLC0415  # few sessions have any

        core, meter = self._core, self._meter
        window_tokens = core.lease.window_tokens
        return GoalBook(
            self._wired.store, core.session_id, window_tokens, lambda text: meter.text(text).bound, wait, self._says
        )

    def goal(self, arguments: Mapping[str, object] | str) -> Answer:
        """Return what a model's call of the tool `goal` answers, never more than the next request has free."""
        from squidbot.tool_goals import answer_goal  # noqa: PLC0415  # no turn needs it

        told = answer_goal(self.goals, arguments, min(self._history.free()))
        return self._handed(told)

    def journal(self, name: str, arguments: Mapping[str, object] | str, now: float) -> Answer:
        """Return what a model's call of a tool of the journal answers, never more than the next request has free."""
        from squidbot.tool_journal import Desk, answer_journal  # noqa: PLC0415  # no turn needs it

        wired, place = self._wired, self._place
        if not wired.journals.enabled:
            raise ConfigError(f"the journal is switched off; set enabled @ {wired.loaded.source}.journal")
        most = wired.loaded.settings.journal.max_entries_per_day
        desk = Desk(wired.journals.of(place.scope), now, self._meter, min(self._history.free()), most_per_day=most)
        agent_id = place.scope.agent or desk.agent_id
        told = answer_journal(name, desk._replace(session_id=place.session_id, agent_id=agent_id), arguments)
        return self._handed(told, name)

    @property
    def documents(self) -> Documents:
        """The documents in the head of the session's requests, in its window."""
        core, meter = self._core, self._meter
        window_tokens = core.lease.window_tokens
        return Documents(self._wired.store, core.session_id, window_tokens, lambda text: meter.text(text).bound, wait)

    @cached_property
    def sources(self) -> Sources:
        """Where its documents come from: files, read, kept, loaded and dropped."""
        from squidbot.context.sources import Sources  # noqa: PLC0415  # few sessions have any

        core, relay = self._core, self._wired.relay

        def told(said: str) -> None:
            relay.notify(Event(DEGRADED, core.session_id, said, core.lease.lease_id, model=core.lease.model))

        return Sources.of(self._wired.loaded, self.documents, told)

    @property
    def wants_documents(self) -> bool:
        """Whether settings want any looked after."""
        context = self._wired.loaded.settings.context
        return bool(context.folder or context.autoload_project_docs)

    def context(self, arguments: Mapping[str, object] | str) -> Answer:
        """Return what a model's call of the tool `context` answers."""
        from squidbot.tool_context import answer_context  # noqa: PLC0415  # no turn needs it

        told = answer_context(self.sources, arguments)
        return self._handed(told)

    def call(self, name: str, arguments: Mapping[str, object] | str, now: float) -> Answer:
        """Return what a model's call of one of our tools answers, by the tool's name."""
        acts: dict[str, Callable[[], Answer]] = {
            "history": lambda: self.history(arguments, now),
            "memory": lambda: self.memory(arguments, now),
            "reindex_workspace": self.reindex,
            "goal": lambda: self.goal(arguments),
            **{one: partial(self.journal, one, arguments, now) for one in SCHEMAS},
            "context": lambda: self.context(arguments),
        }
        if name in acts:
            return acts[name]()
        return Answer(refused(f"there is no tool {name[:60]!a}; there are {', '.join(acts)}"), is_error=True)

    def tools(self, form: str, alias: str) -> tuple[dict[str, object], ...]:
        """Return the definitions of our tools for a model, by its alias, in a form of messages.

        `memory`, `goal` and the journal's are there where they are switched on, `context` where there is a folder,
        `reindex_workspace` where `memory.allow_tools` says so (unset it vetoes nothing, C19); extensions may withhold
        any.
        """
        from squidbot.tool_context import context_tool  # noqa: PLC0415  # few sessions ask
        from squidbot.tool_goals import goal_tool  # noqa: PLC0415  # few sessions ask
        from squidbot.tool_memory import REINDEX, memory_tool, reindex_tool  # noqa: PLC0415

        settings = self._wired.loaded.settings
        memory = settings.memory
        every = {"history": history_tool(form)}
        if memory.enabled and memory.allow_tools is not False:
            every["memory"] = memory_tool(form, write=memory.write, journal=settings.journal.enabled)
        if memory.enabled and memory.allow_tools:
            every[REINDEX] = reindex_tool(form)
        if settings.goals.tool:
            every["goal"] = goal_tool(form)
        if settings.journal.enabled:
            every |= journal_tools(form)
        if settings.context.folder:
            every["context"] = context_tool(form)
        return tuple(every[name] for name in self._place.granted(alias, tuple(every)))

    def _handed(self, told: Answer, tool: str = "") -> Answer:
        """Return an answer, whose room is taken from then on; of `tool` extensions are told as of what was recalled."""
        self._history.hand_out(self._meter.message(told.text))
        if tool:
            self._place.recalled(tool, told.text)
        return told

    def _told(self, page: Page) -> Page:
        self._place.recalled("history", page.text)
        return page
