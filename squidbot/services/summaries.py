"""Summaries by a language model, as background work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.core.arguments import optional, takes, text, timestamp, whole
from squidbot.core.summaries import ModelSummarizer, SummarySettings, TaskResult
from squidbot.services.background import BackgroundWorker, SafeModel, WorkOrder, watched
from squidbot.wiring.extensions import HookedSummarizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from squidbot.core.messages import SummaryTask
    from squidbot.core.ports import LLM
    from squidbot.core.summaries import SummaryQueue
    from squidbot.services.background import SessionHandle, TaskOutcome, WorkSession


class SummaryWork:
    """Lets a language model write due summaries."""

    claim = "summaries"

    def __init__(self, llm: LLM, settings: SummarySettings | None) -> None:
        """Take the model, which may raise any error, and the settings of summaries."""
        self._settings = settings or SummarySettings()
        self._model = ModelSummarizer(SafeModel(llm), self._settings.keeps)

    def queue(self, one: SessionHandle) -> SummaryQueue:
        """Return the summary queue of a session."""
        return one.wired.engine.summary_queue(one.session_id, one.window, one.meter, one.settings, self._settings)

    def waits(self, one: SessionHandle, order: WorkOrder) -> bool:
        """Return whether any summary is due."""
        return bool(self.queue(one).due(order.at, reason=order.reason))

    def doing(self, one: SessionHandle, order: WorkOrder) -> Iterator[TaskResult]:
        """Write them."""
        summarizer = HookedSummarizer(one.wired.hooks, self._model)
        return self.queue(one).doing(summarizer, order.at, order.limit, reason=order.reason)


class SummaryWorker(BackgroundWorker):
    """Lets a language model summarize old parts of sessions; requests never wait for it.

    `due` and `run` work in your thread; `start` begins a thread for the watched sessions (see `BackgroundWorker`).
    """

    def __init__(self, llm: LLM, settings: SummarySettings | None = None) -> None:
        """Take the model, which may raise any error, and the settings of summaries; None takes the defaults."""
        self._summaries = SummaryWork(llm, settings)
        super().__init__(self._summaries)

    @takes(reason=text, now=timestamp)
    def due(self, session: WorkSession, *, reason: str = "", now: float | None = None) -> tuple[SummaryTask, ...]:
        """Return the due tasks of a session, those that save most first.

        `reason` "schedule" adds blocks closed by a pause, "request" all closed blocks. `now` is in seconds since
        1970; `None` takes the clock.

        Raises:
            ArgumentError: there is no such reason.
            StoreError: the store failed.
        """
        return self._summaries.queue(watched(session)).due(WorkOrder(now=now).at, reason=reason)

    @takes(limit=optional(whole(0)), reason=text, now=timestamp)
    def run(
        self,
        session: WorkSession | None = None,
        *,
        limit: int | None = None,
        reason: str = "",
        now: float | None = None,
        told: Callable[[TaskResult], object] | None = None,
    ) -> tuple[TaskResult, ...]:
        """Do at most `limit` of the due tasks and return their results; waits for the model.

        `session` `None` takes all watched sessions, one by one. A session that another caller works on is skipped. A
        failure is in the result, and an event `compression-error`. `told` gets each result at once; `reason` and `now`
        are those of `due`.

        Raises:
            ArgumentError: there is no such reason.
            StoreError: the store failed.
        """

        def tell(outcome: TaskOutcome) -> None:
            if told is not None and isinstance(outcome, TaskResult):
                told(outcome)

        done = self.work(session, WorkOrder(limit, reason, now, tell), [self._summaries])
        return tuple(one for one in done if isinstance(one, TaskResult))
