"""Summaries by a language model beside the sessions of an engine: on demand, or by a thread of their own."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from squidbot.core import events
from squidbot.core.errors import LLMError, SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.jobs.due import JobSettings
from squidbot.core.jobs.writing import ModelSummarizer
from squidbot.core.ports import Claims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from squidbot.bootstrap import Wired
    from squidbot.core.counting.meter import Meter
    from squidbot.core.engine import Session as CoreSession
    from squidbot.core.jobs.desk import Desk, Done
    from squidbot.core.messages import Completion, Job, Lease
    from squidbot.core.ports import LLM
    from squidbot.core.settings import HistorySettings
    from squidbot.offers import Timer

__all__ = ["EngineJobs", "Jobs", "Summarized"]

_LOG = logging.getLogger("squidbot")
# How often the thread looks for blocks before a pause (B-40).
INTERVAL_SECONDS = 1800.0
# How many jobs one session gets in a row before the next one has its turn.
JOBS_IN_A_ROW = 4
# How many sessions are watched: a host may have a new one for each visitor, and the newest are those that grow.
MOST_WATCHED = 1_000
# How long nobody else works on a session whose worker has died; a living one renews its claim before each job.
CLAIM_SECONDS = 900.0
CLAIM_KIND = "summaries"


class Summarized(Protocol):
    """What jobs need of a session; `squidbot.Session` has it."""

    @property
    def wired(self) -> Wired:
        """The engine and its adapters."""

    @property
    def core(self) -> CoreSession:
        """The core's session."""

    @property
    def meter(self) -> Meter:
        """What counts its texts."""


class _Watched(NamedTuple):
    """A session, as far as its jobs need it; its host may have let go of its own object."""

    wired: Wired
    session_id: str
    lease: Lease
    settings: HistorySettings
    meter: Meter

    @property
    def place(self) -> tuple[int, str]:
        """What no other session has."""
        return id(self.wired), self.session_id


class _Order(NamedTuple):
    """What is to be done: at most so many jobs, why, at which time, and who is told of each."""

    limit: int | None = None
    reason: str = ""
    now: float | None = None
    told: Callable[[Done], object] | None = None


class Jobs:
    """Has a language model summarize old parts of sessions; requests never wait for it.

    `due` and `run` work in the caller's thread. `start` begins a thread that runs the jobs of the sessions that are
    watched, each time `poke` is called, and at an interval. One session is worked on by one caller at a time, in
    whatever process where its store has claims: another one gets nothing to do. The sessions may be used meanwhile.
    """

    def __init__(self, llm: LLM, settings: JobSettings | None = None) -> None:
        """Take the model, which may raise what it likes, and what is to be summarized."""
        self._summarizer = ModelSummarizer(_Guarded(llm))
        self._settings = settings or JobSettings()
        self._holder = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._watched: dict[tuple[int, str], _Watched] = {}
        # Those that the thread is to look at, each with the reason that was given.
        self._poked: dict[tuple[int, str], str] = {}
        self._in_flight: set[tuple[int, str]] = set()
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._due = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._timer: Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def due(self, session: Summarized, *, reason: str = "", now: float | None = None) -> tuple[Job, ...]:
        """Return the jobs of a session that are due, those that save most first.

        `reason` "schedule" adds blocks before a pause that no event is near to, "request" all that are closed. `now` is
        in seconds since 1970; None takes the clock.

        Raises:
            ValueError: there is no such reason.
            StoreError: the store failed.
        """
        return self._desk(_watched(session)).due(time.time() if now is None else now, reason=reason)

    def run(
        self,
        session: Summarized | None = None,
        *,
        limit: int | None = None,
        reason: str = "",
        now: float | None = None,
        told: Callable[[Done], object] | None = None,
    ) -> tuple[Done, ...]:
        """Do the jobs that are due, at most `limit`, and return what became of each; waits for the model.

        Those of a session, or (None) of all that are watched, one after the other. Nothing is done while another
        caller works on a session. A failure is in what is returned, and an event `compression-error`. `told` gets
        what became of each job as it is done. The rest is as for `due`.

        Raises:
            ValueError: there is no such reason.
            StoreError: the store failed.
        """
        order = _Order(limit, reason, now, told)
        if session is not None:
            return self._run(_watched(session), order)
        done: list[Done] = []
        for one in self._every():
            left = None if limit is None else limit - len(done)
            done += self._run(one, order._replace(limit=left))
        return tuple(done)

    def watch(self, session: Summarized) -> None:
        """Have the thread run the jobs of a session, too, until `leave`; of more than 1,000 the newest stay."""
        watched = _watched(session)
        with self._lock:
            self._watched.pop(watched.place, None)
            self._watched[watched.place] = watched
            if len(self._watched) > MOST_WATCHED:
                del self._watched[next(iter(self._watched))]

    def leave(self, session: Summarized) -> None:
        """Have the thread pass a session over from now on."""
        with self._lock:
            self._watched.pop(_watched(session).place, None)

    def start(self, interval_seconds: float = INTERVAL_SECONDS, timer: Timer | None = None) -> None:
        """Begin the thread, unless it runs: it works when it is poked, and each `interval_seconds`.

        With a `timer` that one says when an interval is over; it is stopped with the thread.
        """
        with self._starting:
            if self._thread is not None and self._thread.is_alive() and not self._stopping.is_set():
                return
            # Of its own: an earlier thread may still wait for a model that hangs, and ends behind it.
            self._stopping = threading.Event()
            work = None if timer else interval_seconds, self._stopping
            self._thread = threading.Thread(target=self._work, args=work, name="squidbot-jobs", daemon=True)
            self._thread.start()
            if timer is not None:
                self._timer = timer
                timer.start(self._poke_for_schedule, interval_seconds)

    def poke(self, session: Summarized | None = None, *, reason: str = "") -> None:
        """Have the thread look for jobs now, of one session or of all that are watched; returns at once.

        Call it behind a turn. `reason` as for `due`.
        """
        self._poke(None if session is None else _watched(session).place, reason)

    def stop(self, timeout_seconds: float | None = 10.0) -> bool:
        """End the thread once the job at hand is done, and return whether it has ended within the time.

        It never keeps the process from ending.
        """
        with self._starting:
            thread, timer, self._timer = self._thread, self._timer, None
            self._stopping.set()
            self._due.set()
        if timer is not None:
            timer.stop()
        if thread is not None and thread is not threading.current_thread():  # a listener may close its engine
            thread.join(timeout_seconds)
        return thread is None or not thread.is_alive()

    # -- one session --------------------------------------------------------------------------------------------

    def _desk(self, one: _Watched) -> Desk:
        return one.wired.engine.desk(one.session_id, one.lease, one.meter, one.settings, self._settings)

    def _run(self, one: _Watched, order: _Order, stopping: threading.Event | None = None) -> tuple[Done, ...]:
        with self._lock:
            if one.place in self._in_flight:
                return ()
            self._in_flight.add(one.place)
        try:
            desk, at = self._desk(one), time.time() if order.now is None else order.now
            # Asked twice, so that a session with nothing to do costs no writing of a claim.
            if order.limit == 0 or not desk.due(at, reason=order.reason):
                return ()
            claim = _Claim(one, self._holder, stopping)
            try:
                return tuple(self._doing(desk, at, order, claim))
            finally:
                claim.end()
        finally:
            with self._lock:
                self._in_flight.discard(one.place)

    def _doing(self, desk: Desk, at: float, order: _Order, claim: _Claim) -> Iterator[Done]:
        doing = desk.doing(self._summarizer, at, order.limit, reason=order.reason)
        # What is due is looked for behind the claim: what another process has done meanwhile is not.
        while claim.holds() and (done := next(doing, None)) is not None:
            if order.told is not None:
                order.told(done)
            yield done

    # -- the thread ---------------------------------------------------------------------------------------------

    def _poke(self, place: tuple[int, str] | None, reason: str) -> None:
        with self._lock:
            for each in self._watched if place is None else (place,):
                self._poked[each] = reason or self._poked.get(each, "")
        self._due.set()

    def _poke_for_schedule(self) -> None:
        self._poke(None, "schedule")

    def _every(self) -> list[_Watched]:
        with self._lock:
            return list(self._watched.values())

    def _taken(self) -> dict[_Watched, str]:
        """Return the sessions that were poked since, with the reasons."""
        with self._lock:
            taken = {self._watched[place]: reason for place, reason in self._poked.items() if place in self._watched}
            self._poked.clear()
            return taken

    def _work(self, interval_seconds: float | None, stopping: threading.Event) -> None:
        ends = None if interval_seconds is None else time.monotonic() + interval_seconds
        busy: dict[_Watched, str] = {}
        while not stopping.is_set():
            if not busy:
                self._due.wait(None if ends is None else max(0.0, ends - time.monotonic()))
                self._due.clear()
            if ends is not None and interval_seconds is not None and time.monotonic() >= ends:
                ends = time.monotonic() + interval_seconds
                self._poke_for_schedule()
                self._due.clear()
            busy |= self._taken()
            # Each has its turn; those for which a summary was written may have more to do.
            busy = {one: reason for one, reason in busy.items() if self._wrote(one, reason, stopping)}

    def _wrote(self, one: _Watched, reason: str, stopping: threading.Event) -> bool:
        """Run a few jobs of a session, and return whether any summary was written."""
        if stopping.is_set():
            return False
        try:
            done = self._run(one, _Order(JOBS_IN_A_ROW, reason), stopping)
        except Exception as error:  # noqa: BLE001  # a thread has nobody to raise to; it is told and logged
            if not stopping.is_set():  # else the store was closed under a model that answered too late
                _failed(one, error)
            return False
        return any(each.summary is not None for each in done)


class EngineJobs:
    """The jobs of one engine, as its settings say."""

    def __init__(self, wired: Wired) -> None:
        """Make the language model that the settings name.

        Raises:
            ConfigError: none is named, or it can't be made.
        """
        self.jobs = Jobs(wired.llm(), wired.job_settings())
        self._timer = wired.timer()
        summary = wired.loaded.settings.summary
        self._is_scheduled = summary.scheduler != "none"
        self._seconds = summary.interval_minutes * 60.0

    def recorded(self, session: Summarized) -> None:
        """Have the jobs of a session looked for, in a while, elsewhere. Never raises an Exception, returns at once."""
        self.jobs.watch(session)
        if self._is_scheduled:
            try:
                self.jobs.start(self._seconds, self._timer)
            except Exception as error:  # noqa: BLE001  # no thread was to be had: the turn goes on, and it is told
                _failed(_watched(session), error)
            self.jobs.poke(session)

    def close(self, timeout_seconds: float) -> None:
        """End what works on them, for good; a summary that is being written has that long to be ended."""
        self._is_scheduled = False
        self.jobs.stop(timeout_seconds)


class _Claim:
    """The right to work on a session, across processes where its store has claims."""

    def __init__(self, one: _Watched, holder: str, stopping: threading.Event | None) -> None:
        self._session_id = one.session_id
        self._store = one.wired.store if isinstance(one.wired.store, Claims) else None
        self._holder = holder
        self._stopping = stopping

    def holds(self) -> bool:
        """Take or renew it, and return whether work may go on."""
        if self._stopping is not None and self._stopping.is_set():
            return False
        place = self._session_id, CLAIM_KIND, self._holder
        return self._store is None or self._store.claim(*place, time.time(), CLAIM_SECONDS)

    def end(self) -> None:
        """Let go of it."""
        if self._store is not None:
            with suppress(StoreError):  # it ends by itself
                self._store.release(self._session_id, CLAIM_KIND, self._holder)


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


def _watched(session: Summarized) -> _Watched:
    core = session.core
    return _Watched(session.wired, core.session_id, core.lease, core.settings, session.meter)


def _failed(one: _Watched, error: Exception) -> None:
    _LOG.warning("the jobs of a session failed; it goes on with the notes it has", exc_info=error)
    cause = f"jobs failed: {type(error).__name__}: {error}"
    one.wired.relay.notify(Event(events.DEGRADED, one.session_id, cause, one.lease.lease_id))
