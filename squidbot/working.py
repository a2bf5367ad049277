"""Work on sessions beside their turns: on demand, or by a thread of its own; of all processes one at a time."""

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
from squidbot.core.ports import Claims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from squidbot.bootstrap import Wired
    from squidbot.core.counting.meter import Meter
    from squidbot.core.engine import Session as CoreSession
    from squidbot.core.messages import Completion, Lease
    from squidbot.core.ports import LLM
    from squidbot.core.settings import HistorySettings
    from squidbot.offers import Timer

__all__ = ["INTERVAL_SECONDS", "Guarded", "Order", "Outcome", "Watched", "Work", "Worked", "Worker", "watched"]

_LOG = logging.getLogger("squidbot")
# How often the thread looks for what only an interval makes due (B-40).
INTERVAL_SECONDS = 1800.0
# How many jobs one session gets in a row before the next one has its turn.
JOBS_IN_A_ROW = 4
# How many sessions are watched: a host may have a new one for each visitor, and the newest are those that grow.
MOST_WATCHED = 1_000
# How long nobody else works on a session whose worker has died; a living one renews its claim before each job.
CLAIM_SECONDS = 900.0


class Worked(Protocol):
    """What work needs of a session; `squidbot.Session` has it."""

    @property
    def wired(self) -> Wired:
        """The engine and its adapters."""

    @property
    def core(self) -> CoreSession:
        """The core's session."""

    @property
    def meter(self) -> Meter:
        """What counts its texts."""


class Watched(NamedTuple):
    """A session, as far as work needs it; its host may have let go of its own object."""

    wired: Wired
    session_id: str
    lease: Lease
    settings: HistorySettings
    meter: Meter

    @property
    def place(self) -> tuple[int, str]:
        """What no other session has."""
        return id(self.wired), self.session_id


class Outcome(Protocol):
    """What became of one job."""

    @property
    def succeeded(self) -> bool:
        """Whether it is done: there may be more to do then."""


class Order(NamedTuple):
    """What is to be done: at most so many jobs, why, at which time, and who is told of each."""

    limit: int | None = None
    reason: str = ""
    now: float | None = None
    told: Callable[[Outcome], object] | None = None

    @property
    def at(self) -> float:
        """The time, in seconds since 1970."""
        return time.time() if self.now is None else self.now


class Work(Protocol):
    """One kind of work on sessions."""

    @property
    def claim(self) -> str:
        """What is claimed of a session while it is done; "": nothing, it may be done twice at once."""

    def waits(self, one: Watched, order: Order) -> bool:
        """Return whether there is anything to do; cheap."""

    def doing(self, one: Watched, order: Order) -> Iterator[Outcome]:
        """Do it, one job each time that what became of the next is asked for."""


class Worker:
    """Does work on sessions; their requests never wait for it.

    `start` begins a thread that works on the sessions that are watched, each time `poke` is called, and at an interval.
    One kind of work is done on a session by one caller at a time, in whatever process where its store has claims:
    another one gets nothing to do. The sessions may be used meanwhile.
    """

    def __init__(self, *works: Work) -> None:
        """Take the kinds of work, in the order in which they are done."""
        self._works = works
        self._holder = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._watched: dict[tuple[int, str], Watched] = {}
        # Those that the thread is to look at, each with the reason that was given.
        self._poked: dict[tuple[int, str], str] = {}
        self._in_flight: set[tuple[Work, tuple[int, str]]] = set()
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

    def watch(self, session: Worked) -> None:
        """Have the thread work on a session, too, until `leave`; of more than 1,000 the newest stay."""
        one = watched(session)
        with self._lock:
            self._watched.pop(one.place, None)
            self._watched[one.place] = one
            if len(self._watched) > MOST_WATCHED:
                del self._watched[next(iter(self._watched))]

    def leave(self, session: Worked) -> None:
        """Have the thread pass a session over from now on."""
        with self._lock:
            self._watched.pop(watched(session).place, None)

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

    def poke(self, session: Worked | None = None, *, reason: str = "") -> None:
        """Have the thread look for jobs now, of one session or of all that are watched; returns at once.

        Call it behind a turn. `reason` as the work has it.
        """
        self._poke(None if session is None else watched(session).place, reason)

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

    def work(self, session: Worked | None, order: Order, works: Sequence[Work] | None = None) -> list[Outcome]:
        """Do what there is to do on a session, or (None) on all that are watched, and return what became of each job.

        Only of some kinds of work where these are given. Raises what the work raises.
        """
        done: list[Outcome] = []
        for one in [watched(session)] if session is not None else self._every():
            for work in self._works if works is None else works:
                left = None if order.limit is None else order.limit - len(done)
                done += self._do(work, one, order._replace(limit=left))
        return done

    # -- one session --------------------------------------------------------------------------------------------

    def _do(
        self, work: Work, one: Watched, order: Order, stopping: threading.Event | None = None
    ) -> tuple[Outcome, ...]:
        with self._lock:
            if (work, one.place) in self._in_flight:
                return ()
            self._in_flight.add((work, one.place))
        try:
            # Asked twice, so that a session with nothing to do costs no writing of a claim.
            if order.limit == 0 or not work.waits(one, order):
                return ()
            claim = _Claim(one, work.claim, self._holder, stopping)
            try:
                return tuple(self._doing(work, one, order, claim))
            finally:
                claim.end()
        finally:
            with self._lock:
                self._in_flight.discard((work, one.place))

    @staticmethod
    def _doing(work: Work, one: Watched, order: Order, claim: _Claim) -> Iterator[Outcome]:
        doing, count = work.doing(one, order), 0
        # What is due is looked for behind the claim: what another process has done meanwhile is not.
        while order.limit is None or count < order.limit:
            if not claim.holds() or (done := next(doing, None)) is None:
                return
            count += 1
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

    def _every(self) -> list[Watched]:
        with self._lock:
            return list(self._watched.values())

    def _taken(self) -> dict[Watched, str]:
        """Return the sessions that were poked since, with the reasons."""
        with self._lock:
            taken = {self._watched[place]: reason for place, reason in self._poked.items() if place in self._watched}
            self._poked.clear()
            return taken

    def _work(self, interval_seconds: float | None, stopping: threading.Event) -> None:
        ends = None if interval_seconds is None else time.monotonic() + interval_seconds
        busy: dict[Watched, str] = {}
        while not stopping.is_set():
            if not busy:
                self._due.wait(None if ends is None else max(0.0, ends - time.monotonic()))
                self._due.clear()
            if ends is not None and interval_seconds is not None and time.monotonic() >= ends:
                ends = time.monotonic() + interval_seconds
                self._poke_for_schedule()
                self._due.clear()
            busy |= self._taken()
            # Each has its turn; those of which a job was done may have more to do.
            busy = {one: reason for one, reason in busy.items() if self._worked(one, reason, stopping)}

    def _worked(self, one: Watched, reason: str, stopping: threading.Event) -> bool:
        """Do a few jobs of a session, and return whether any was done."""
        # All of them: no kind waits until another one has nothing left to do.
        done = [self._tried(work, one, reason, stopping) for work in self._works]
        return any(done)

    def _tried(self, work: Work, one: Watched, reason: str, stopping: threading.Event) -> bool:
        if stopping.is_set():
            return False
        try:
            done = self._do(work, one, Order(JOBS_IN_A_ROW, reason), stopping)
        except Exception as error:  # noqa: BLE001  # a thread has nobody to raise to; it is told and logged
            if not stopping.is_set():  # else the store was closed under a model that answered too late
                failed(one, error)
            return False
        return any(each.succeeded for each in done)


class _Claim:
    """The right to one kind of work on a session, across processes where its store has claims."""

    def __init__(self, one: Watched, kind: str, holder: str, stopping: threading.Event | None) -> None:
        self._place = one.session_id, kind, holder
        self._store = one.wired.store if kind and isinstance(one.wired.store, Claims) else None
        self._stopping = stopping

    def holds(self) -> bool:
        """Take or renew it, and return whether work may go on."""
        if self._stopping is not None and self._stopping.is_set():
            return False
        return self._store is None or self._store.claim(*self._place, time.time(), CLAIM_SECONDS)

    def end(self) -> None:
        """Let go of it."""
        if self._store is not None:
            with suppress(StoreError):  # it ends by itself
                self._store.release(*self._place)


class Guarded:
    """A language model whose foreign errors become ours, chained."""

    def __init__(self, llm: LLM) -> None:
        """Take the model, which may raise what it likes."""
        self._llm = llm

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return what the model answers.

        Raises:
            SquidbotError: the model failed: whatever it raised is one.
        """
        try:
            return self._llm.complete(system, prompt, max_output_tokens)
        except SquidbotError:
            raise
        except Exception as error:
            raise LLMError("unreachable", f"{type(error).__name__}: {error}"[:300]) from error


def watched(session: Worked) -> Watched:
    """Return a session as work needs it."""
    core = session.core
    return Watched(session.wired, core.session_id, core.lease, core.settings, session.meter)


def failed(one: Watched, error: Exception) -> None:
    """Log and tell that work on a session has failed."""
    _LOG.warning("the jobs of a session failed; it goes on with what it has", exc_info=error)
    cause = f"jobs failed: {type(error).__name__}: {error}"
    one.wired.relay.notify(Event(events.DEGRADED, one.session_id, cause, one.lease.lease_id, model=one.lease.model))
