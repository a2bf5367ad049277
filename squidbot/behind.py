"""The jobs behind the turns of one engine, as its settings say: facts are read out, summaries and journals written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from squidbot.journaling import ByJournal, Occasion
from squidbot.learning import ByModel, ByRules, reader_of
from squidbot.working import Guarded, Order, Worker, failed, watched

if TYPE_CHECKING:
    from squidbot.bootstrap import Wired
    from squidbot.jobs import Jobs
    from squidbot.sessions import Session
    from squidbot.working import Outcome

__all__ = ["EngineJobs"]


class EngineJobs:
    """The jobs of one engine. Rules read at once; what waits for a language model has a thread of its own."""

    def __init__(self, wired: Wired) -> None:
        """Make the language models that the settings name.

        Raises:
            ConfigError: one can't be made, or facts are to be read by one, and none is named.
        """
        self._remembering = wired.remembering
        settings = wired.loaded.settings
        self.jobs, self._models = _by_models(wired)
        self._rules = Worker(ByRules())
        self._journal = _journal(wired)
        self._timer = wired.timer()
        self._is_scheduled = settings.summary.scheduler != "none"
        self._seconds = settings.summary.interval_minutes * 60.0
        self._journal_seconds = settings.journal.interval_minutes * 60.0

    def recorded(self, session: Session) -> None:
        """Have the jobs of a session looked for, in a while, elsewhere. Never raises an Exception, returns at once."""
        if self._remembering.learns_of(session.scope):
            self._have(self._rules, session)
        if self._models is not None:
            self._have(self._models, session)
        if self._journal is not None:
            self._have(self._journal[0], session)

    def iterated(self, session: Session, run_id: str) -> tuple[Outcome, ...]:
        """Make an entry of what a session has said since its last one, here and now; none where the journal is off."""
        if self._journal is None:
            return ()
        worker, work = self._journal
        work.ask(session.session_id, Occasion("iteration", run_id))
        return tuple(worker.work(session, Order()))

    def run(self, session: Session | None, limit: int | None, reason: str) -> tuple[Outcome, ...]:
        """Do what is due, of a session or of all that were recorded in, and return what became of each."""
        done: list[Outcome] = []
        for worker in self._workers:
            left = None if limit is None else limit - len(done)
            done += worker.work(session, Order(left, reason))
        return tuple(done)

    def close(self, timeout_seconds: float) -> None:
        """End what works on them, for good; what is at hand has that long to be ended."""
        self._is_scheduled = False
        for worker in self._workers:
            worker.stop(timeout_seconds)

    @property
    def _workers(self) -> tuple[Worker, ...]:
        every = self._rules, self._models, self._journal and self._journal[0]
        return tuple(one for one in every if one is not None)

    def _have(self, worker: Worker, session: Session) -> None:
        worker.watch(session)
        if self._is_scheduled:
            try:
                if self._journal and worker is self._journal[0]:
                    worker.start(self._journal_seconds)
                else:
                    worker.start(self._seconds, self._timer if worker is self._models else None)
            except Exception as error:  # noqa: BLE001  # no thread was to be had: the turn goes on, and it is told
                failed(watched(session), error)
            worker.poke(session)


def _journal(wired: Wired) -> tuple[Worker, ByJournal] | None:
    """Return what writes entries of the journal, which listens for what makes one due; None where it is off.

    Raises:
        ConfigError: the model of `journal.llm` can't be made, or a pattern is none.
    """
    settings = wired.loaded.settings.journal
    if not settings.enabled:
        return None
    _ = settings.rules  # what is wrong with them is said when the engine is made, and not when an entry is
    work = ByJournal(settings.interval_minutes * 60.0, Guarded(wired.llm("journal.llm")) if settings.llm else None)
    wired.relay.listen("journal", work.listen)
    return Worker(work), work


def _by_models(wired: Wired) -> tuple[Jobs | None, Worker | None]:
    """Return the summaries, and what works on them and on whatever else waits for a model; None for neither.

    Raises:
        ConfigError: a model can't be made.
    """
    reader, settings = reader_of(wired), wired.job_settings()
    reading = (ByModel(reader, settings.backoff_seconds),) if reader else ()
    if wired.loaded.settings.summary.llm:
        from squidbot.jobs import Jobs  # noqa: PLC0415  # without a model nobody needs it

        jobs = Jobs(wired.llm(), settings, beside=reading)
        return jobs, jobs
    return None, Worker(*reading) if reading else None
