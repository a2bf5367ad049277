"""The tools of a session: its history, durable facts, goals and documents, for its host and its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from squidbot.core.cached import cached_property
from squidbot.core.errors import BudgetError, RecallError
from squidbot.core.events import DEGRADED, Event
from squidbot.core.memory.facts import utterances
from squidbot.core.operations import Operation
from squidbot.core.recall.history import found_messages
from squidbot.core.tokens.counters import NOTHING
from squidbot.core.transcript.documents import SessionDocuments
from squidbot.core.transcript.goals import GoalBook
from squidbot.core.transcript.scopes import SCOPE, scope_at
from squidbot.core.view.marks import HINTS, Hints, copies, refused
from squidbot.services.documents import DocumentSources
from squidbot.tools.tool import Answer, answer
from squidbot.wiring.claims import wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from squidbot.bootstrap import Wired
    from squidbot.core.engine import CoreSession
    from squidbot.core.memories import Scope
    from squidbot.core.memory.facts import Utterance
    from squidbot.core.messages import Cost
    from squidbot.core.recall.history import HitPage, Page
    from squidbot.core.tokens.counters import Meter
    from squidbot.tools.tool import Tool
    from squidbot.wiring.extensions import SessionHooks

__all__ = ["SessionTools", "ToolContext", "answer_in"]

# How many of the newest messages to search for the user's words.
_SPOKEN = 256


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of one call.

    Attributes:
        wired: the engine's parts.
        meter: counts answers.
        scope: of the durable facts and the journal.
        room: what the answer may cost.
        now: in seconds since 1970.
        session: the session whose model calls; `None` for a program that keeps its conversations elsewhere.
        hints: what the reader of an answer can call next.
    """

    wired: Wired
    meter: Meter
    scope: Scope
    room: Cost
    now: float
    session: SessionTools | None = None
    hints: Hints = HINTS

    @property
    def session_id(self) -> str:
        """The session's id; "" without one."""
        return self.session.session_id if self.session else ""

    @property
    def own(self) -> SessionTools:
        """The session.

        Raises:
            RecallError: there is none.
        """
        if self.session is None:
            raise RecallError("this needs a conversation")
        return self.session


def answer_in(context: ToolContext, tool: Tool, arguments: Mapping[str, object] | str) -> Answer:
    """Answer a call as `tool.answer` does; a bot that uses no tools may only read."""
    bot = context.scope.bot
    if tool.effect != "reads" and not context.wired.loaded.settings.bot(bot).uses_tools:
        return Answer(refused(f"bots.{bot}.uses_tools is false: continue without it"), is_error=True)
    return answer(tool, context, arguments)


class SessionTools:
    """The history of a session, and the durable facts of its scope. All times are in seconds since 1970.

    The methods of `Session` of the same names document details and errors.
    """

    def __init__(self, wired: Wired, core: CoreSession, meter: Meter, place: SessionHooks) -> None:
        """Use `Session`; `place` notifies extensions of each look-up, and where it was."""
        self.session_id = core.session_id
        self.history = wired.engine.history(core, meter)
        self.wired = wired
        self._core = core
        self._meter = meter
        self._place = place

    @property
    def scope(self) -> Scope:
        """The scope of its facts and its journal."""
        return self._place.scope

    def search(  # noqa: PLR0913, PLR0917  # as `History.search`
        self,
        query: str,
        limit: int,
        offset: int,
        now: float,
        hints: Hints = HINTS,
        beside: Cost = NOTHING,
        *,
        for_model: bool = False,
    ) -> HitPage:
        """Return a page of the messages that answer a query, which leaves room for `beside`.

        `for_model`: without the question that it is answering.
        """
        operation = Operation(name="search_memory", session_id=self.session_id, store="messages", query=query)
        with self.wired.relay.watch(operation):
            page = self.history.search(
                query, limit=limit, offset=offset, now=now, hints=hints, beside=beside, for_model=for_model
            )
            found_messages(operation, page)
        return page

    def recall(self, handle: str, offset: int, now: float) -> Page:
        """Return a page of messages, and record it at the end of the transcript."""
        return self._announced(self.history.recall(handle, offset, now=now))

    def expand(self, handle: str, offset: int, now: float) -> Page:
        """Return a page of messages without recording it."""
        return self._announced(self.history.expand(handle, offset, now=now))

    def _announced(self, page: Page) -> Page:
        self._place.recalled("history", page.text)
        return page

    def spoken(self) -> Iterator[Utterance]:
        """Yield the newest messages of the session's user."""
        line = self._core.line
        scopes = SCOPE.state(line, self.session_id)
        rows = line.pick(self.session_id, line.newest_seqs(_SPOKEN))
        mine = (row for row in rows if row.role == "user" and scope_at(scopes, row.seq) == self._place.scope)
        yield from utterances(mine, self.wired.codecs)

    def _says(self, words: str) -> bool:
        """Return whether the user's newest messages contain these words."""
        from squidbot.core.own_words import says  # noqa: PLC0415  # its patterns take a third of a start to compile

        return any(says(message.text, words) for message in self.spoken())

    @property
    def goals(self) -> GoalBook:
        """The goals of the session, in its window."""
        window_tokens = self._core.window.window_tokens
        return GoalBook(self._core.line, self.session_id, window_tokens, self._count, wait, self._says)

    @property
    def documents(self) -> SessionDocuments:
        """The documents in the head of the session's requests, in its window."""
        window_tokens = self._core.window.window_tokens
        return SessionDocuments(self._core.line, self.session_id, window_tokens, self._count, wait)

    def _count(self, text: str) -> int:
        return self._meter.text(text).bound

    @cached_property
    def sources(self) -> DocumentSources:
        """The files that its documents come from."""
        core, relay = self._core, self.wired.relay

        def report(cause: str) -> None:
            relay.notify(Event(DEGRADED, core.session_id, cause, core.window.window_id, model=core.window.model))

        return DocumentSources.of(self.wired.loaded, self.documents, report)

    @property
    def wants_documents(self) -> bool:
        """Whether the settings have documents."""
        context = self.wired.loaded.settings.context
        return bool(context.folder or context.autoload_project_docs)

    def answer(self, tool: Tool, arguments: Mapping[str, object] | str, now: float, hints: Hints = HINTS) -> Answer:
        """Answer a model's call of a tool, within the free room of the next request.

        Further calls of the same step have that much less room.
        """
        place = self._place
        context = ToolContext(self.wired, self._meter, place.scope, self.history.free(), now, self, hints)
        answered = answer_in(context, tool, arguments)
        try:
            self.history.hand_out(self._meter.message(answered.text))
        except BudgetError:
            return answered  # no request fits at all
        if copies(tool.name):
            place.recalled(tool.name, answered.text)
        return answered
