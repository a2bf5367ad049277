"""Summaries by a language model beside the sessions of an engine: on demand, or by a thread of their own."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Self

from squidbot.core import events
from squidbot.core.errors import LLMError, SquidbotError
from squidbot.core.events import Event
from squidbot.core.jobs.due import JobSettings
from squidbot.core.jobs.writing import ModelSummarizer

if TYPE_CHECKING:
    from types import TracebackType

    from squidbot.core.jobs.desk import Desk, Done
    from squidbot.core.messages import Completion, Job
    from squidbot.core.ports import LLM
    from squidbot.sessions import Session

__all__ = ["Jobs"]

_LOG = logging.getLogger("squidbot")
# How often the thread looks for blocks before a pause (B-40).
INTERVAL_SECONDS = 1800.0
# How many jobs one session gets in a row before the next one has its turn.
JOBS_IN_A_ROW = 4


class Jobs:
    """Has a language model summarize old parts of sessions; requests never wait for it.

    `due` and `run` work in the caller's thread. `start` begins a thread that runs the jobs of all sessions that are
    watched, each time `poke` is called, and at an interval. One session is worked on by one caller at a time: another
    one gets nothing to do. The sessions may be used meanwhile.
    """

    def __init__(self, llm: LLM, settings: JobSettings | None = None) -> None:
        """Take the model, which may raise what it likes, and what is to be summarized."""
        self._summarizer = ModelSummarizer(_Guarded(llm))
        self._settings = settings or JobSettings()
        self._desks: dict[Session, Desk] = {}
        self._in_flight: set[tuple[int, str]] = set()
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def due(self, session: Session, *, reason: str = "", now: float | None = None) -> tuple[Job, ...]:
        """Return the jobs of a session that are due, those that save most first.

        `reason` "schedule" adds blocks before a pause that no event is near to, "request" all that are closed. `now` is
        in seconds since 1970; None takes the clock.

        Raises:
            ValueError: there is no such reason.
            StoreError: the store failed.
        """
        return self._desk(session).due(time.time() if now is None else now, reason=reason)

    def run(
        self, session: Session, *, limit: int | None = None, reason: str = "", now: float | None = None
    ) -> tuple[Done, ...]:
        """Do the jobs of a session that are due, at most `limit`, and return what became of each; waits for the model.

        Nothing is done while another caller works on the session. A failure is in what is returned, and an event
        `compression-error`. The rest is as for `due`.

        Raises:
            ValueError: there is no such reason.
            StoreError: the store failed.
        """
        desk, place = self._desk(session), _place(session)
        with self._lock:
            if place in self._in_flight:
                return ()
            self._in_flight.add(place)
        try:
            return desk.run(self._summarizer, time.time() if now is None else now, limit, reason=reason)
        finally:
            with self._lock:
                self._in_flight.discard(place)

    def watch(self, session: Session) -> None:
        """Have the thread run the jobs of a session, too, until `leave`."""
        self._desk(session, keep=True)

    def leave(self, session: Session) -> None:
        """Have the thread pass a session over from now on."""
        with self._lock:
            self._desks.pop(session, None)

    def start(self, interval_seconds: float = INTERVAL_SECONDS) -> None:
        """Begin the thread, unless it runs: it works when it is poked, and each `interval_seconds`."""
        if self._thread is None or not self._thread.is_alive():
            self._stopping = False
            self._thread = threading.Thread(
                target=self._work, args=(interval_seconds,), name="squidbot-jobs", daemon=True
            )
            self._thread.start()

    def poke(self) -> None:
        """Have the thread look for jobs now; returns at once. Call it behind a turn."""
        self._due.set()

    def stop(self, timeout_seconds: float | None = 10.0) -> bool:
        """End the thread once the job at hand is done, and return whether it has ended within the time.

        It never keeps the process from ending.
        """
        thread, self._stopping = self._thread, True
        self._due.set()
        if thread is not None:
            thread.join(timeout_seconds)
            return not thread.is_alive()
        return True

    def _desk(self, session: Session, *, keep: bool = False) -> Desk:
        with self._lock:
            desk = self._desks.get(session) or _opened(session, self._settings)
            if keep:
                self._desks[session] = desk
            return desk

    def _work(self, interval_seconds: float) -> None:
        while not self._stopping:
            poked = self._due.wait(interval_seconds)
            self._due.clear()
            while not self._stopping and self._round("" if poked else "schedule"):
                pass

    def _round(self, reason: str) -> bool:
        """Run a few jobs of every session; return whether any summary was written, so that there may be more."""
        with self._lock:
            sessions = list(self._desks)
        wrote = False
        for session in sessions:
            if self._stopping:
                break
            try:
                done = self.run(session, limit=JOBS_IN_A_ROW, reason=reason)
            except Exception as error:  # noqa: BLE001  # a thread has nobody to raise to; it is told and logged
                _failed(session, error)
                continue
            wrote = wrote or any(one.summary is not None for one in done)
        return wrote


class _Guarded:
    """A language model whose foreign errors become ours, chained."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    @property
    def name(self) -> str:
        return self._llm.name

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        try:
            return self._llm.complete(system, prompt, max_output_tokens)
        except SquidbotError:
            raise
        except Exception as error:
            raise LLMError("unreachable", f"{type(error).__name__}: {error}"[:300]) from error


def _opened(session: Session, settings: JobSettings) -> Desk:
    wired, lease = session.wired, session.lease
    return wired.engine.desk(session.session_id, lease, wired.meter(lease.model), session.core.settings, settings)


def _place(session: Session) -> tuple[int, str]:
    return id(session.wired), session.session_id


def _failed(session: Session, error: Exception) -> None:
    _LOG.warning("the jobs of a session failed; it goes on with the notes it has", exc_info=error)
    cause = f"jobs failed: {type(error).__name__}: {error}"
    session.wired.relay.notify(Event(events.DEGRADED, session.session_id, cause, session.lease.lease_id))
