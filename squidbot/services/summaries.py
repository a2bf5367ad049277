"""Summaries by a language model beside the sessions of an engine: on demand, or by a thread of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.arguments import moment, optional, takes, text, whole
from squidbot.core.summaries import ModelSummarizer, SummarySettings, TaskResult
from squidbot.wiring.extensions import Summarizing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.messages import SummaryTask
    from squidbot.core.ports import LLM
    from squidbot.core.summaries import SummaryQueue

from squidbot.services.background import (
    BackgroundWorker,
    SafeModel,
    SessionHandle,
    TaskOutcome,
    WorkKind,
    WorkOrder,
    WorkSession,
    watched,
)

# Summaries by a language model beside the sessions of an engine: on demand, or by a thread of their
# own.


class _Summaries:
    """The work: summaries of the old parts of sessions."""

    claim = "summaries"

    def __init__(self, llm: LLM, settings: SummarySettings | None) -> None:
        self._settings = settings or SummarySettings()
        self._model = ModelSummarizer(SafeModel(llm), self._settings.keeps)

    def desk(self, one: SessionHandle) -> SummaryQueue:
        """Return what knows the jobs of a session."""
        return one.wired.engine.desk(one.session_id, one.window, one.meter, one.settings, self._settings)

    def waits(self, one: SessionHandle, order: WorkOrder) -> bool:
        """Return whether any is due."""
        return bool(self.desk(one).due(order.at, reason=order.reason))

    def doing(self, one: SessionHandle, order: WorkOrder) -> Iterator[TaskResult]:
        """Have them written."""
        summarizer = Summarizing(one.wired.hooks, self._model)
        return self.desk(one).doing(summarizer, order.at, order.limit, reason=order.reason)


class SummaryWorker(BackgroundWorker):
    """Has a language model summarize old parts of sessions; requests never wait for it.

    `due` and `run` work in the caller's thread. `start` begins a thread that runs the jobs of the sessions that are
    watched, each time `poke` is called, and at an interval. One session is worked on by one caller at a time, in
    whatever process where its store has claims: another one gets nothing to do. The sessions may be used meanwhile.
    """

    def __init__(self, llm: LLM, settings: SummarySettings | None = None, *, beside: tuple[WorkKind, ...] = ()) -> None:
        """Take the model, which may raise what it likes, and what is to be summarized; `beside` is done before it."""
        self._summaries = _Summaries(llm, settings)
        super().__init__(*beside, self._summaries)

    @takes(reason=text, now=moment)
    def due(self, session: WorkSession, *, reason: str = "", now: float | None = None) -> tuple[SummaryTask, ...]:
        """Return the jobs of a session that are due, those that save most first.

        `reason` "schedule" adds blocks before a pause that no event is near to, "request" all that are closed. `now` is
        in seconds since 1970; None takes the clock.

        Raises:
            ArgumentError: there is no such reason.
            StoreError: the store failed.
        """
        return self._summaries.desk(watched(session)).due(WorkOrder(now=now).at, reason=reason)

    @takes(limit=optional(whole(0)), reason=text, now=moment)
    def run(
        self,
        session: WorkSession | None = None,
        *,
        limit: int | None = None,
        reason: str = "",
        now: float | None = None,
        told: Callable[[TaskResult], object] | None = None,
    ) -> tuple[TaskResult, ...]:
        """Do the jobs that are due, at most `limit`, and return what became of each; waits for the model.

        Those of a session, or (None) of all that are watched, one after the other. Nothing is done while another
        caller works on a session. A failure is in what is returned, and an event `compression-error`. `told` gets
        what became of each job as it is done. The rest is as for `due`.

        Raises:
            ArgumentError: there is no such reason.
            StoreError: the store failed.
        """

        def tell(outcome: TaskOutcome) -> None:
            if told is not None and isinstance(outcome, TaskResult):
                told(outcome)

        done = self.work(session, WorkOrder(limit, reason, now, tell), [self._summaries])
        return tuple(one for one in done if isinstance(one, TaskResult))
