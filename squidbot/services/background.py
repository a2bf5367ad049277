"""Background work on sessions, in a thread or on demand: facts, summaries, the journal, the index of files.

Requests never wait for it.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self, TypeAlias

from squidbot.adapters.common.counts import hold
from squidbot.adapters.common.threads import COMPUTING, Waiting
from squidbot.core import events
from squidbot.core.budget import JOURNAL
from squidbot.core.errors import LLMError, SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.journal import DEFAULT_AGENT, JournalEntry, JournalSpan, by_model, by_rule, status
from squidbot.core.last_request import REQUEST, tokens_used
from squidbot.core.memories import NOBODY, WITH_MESSAGES, View
from squidbot.core.memory.view import MOST_COMPARED, among_nearest, merges, places_of
from squidbot.core.messages import Category
from squidbot.core.operations import Operation
from squidbot.core.text import count
from squidbot.core.transcript.bookkeeping import JOURNALED, JournalMark, note_journaled
from squidbot.core.transcript.lines import LineStore, on_all_lines
from squidbot.core.transcript.removals import FORGOTTEN
from squidbot.core.transcript.scopes import SCOPE, scope_at
from squidbot.wiring.claims import claimed, wait
from squidbot.wiring.journal import journal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from squidbot.adapters.stdlib.daybook import State
    from squidbot.bootstrap import Wired
    from squidbot.core.engine import CoreSession
    from squidbot.core.memories import Scope
    from squidbot.core.memory.learning import FactReader, LearningResult, ModelReader
    from squidbot.core.messages import Completion, ContextWindow, StoredMessage
    from squidbot.core.ports import LLM
    from squidbot.core.settings import HistorySettings
    from squidbot.core.summaries import Backoff, TaskResult
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.transcript.bookkeeping import JournalProgress
    from squidbot.services.indexing import IndexReport
    from squidbot.services.retention import SweepOutcome
    from squidbot.wiring.registry import Timer


_LOG = logging.getLogger("squidbot")
# How often the thread looks for work that is due after an interval.
INTERVAL_SECONDS = 1800.0
# How long the thread rests when all is done: turns that follow each other fast share a pass, which takes the store from
# them.
REST_SECONDS = 0.2
# How many tasks one session gets before the next session's turn.
TASKS_IN_A_ROW = 4
# How long a claim lasts after its worker dies; a living worker renews it before each task.
CLAIM_SECONDS = 900.0

TaskOutcome: TypeAlias = "TaskResult | LearningResult | JournalOutcome | IndexOutcome | SweepOutcome"


class WorkSession(Protocol):
    """The part of a session that background work needs; `squidbot.Session` has it."""

    @property
    def wired(self) -> Wired:
        """The engine and its adapters."""

    @property
    def core(self) -> CoreSession:
        """The core's session."""

    @property
    def meter(self) -> Meter:
        """Counts the session's texts."""


class SessionHandle(NamedTuple):
    """A session for background work; the host may have dropped its own object."""

    wired: Wired
    session_id: str
    window: ContextWindow
    settings: HistorySettings
    meter: Meter

    @property
    def place(self) -> tuple[int, str]:
        """The key of the session among all engines of this process."""
        return id(self.wired), self.session_id


class WorkOrder(NamedTuple):
    """At most `limit` tasks, their reason, the time (`None`: now), and a listener for each outcome."""

    limit: int | None = None
    reason: str = ""
    now: float | None = None
    told: Callable[[TaskOutcome], object] | None = None

    @property
    def at(self) -> float:
        """The time, in seconds since 1970."""
        return time.time() if self.now is None else self.now


class WorkKind(Protocol):
    """One kind of background work on sessions."""

    @property
    def claim(self) -> str:
        """The claim on a session during this work; "" for none: two processes may do it at once."""

    def waits(self, one: SessionHandle, order: WorkOrder) -> bool:
        """Return whether work is due; cheap."""

    def doing(self, one: SessionHandle, order: WorkOrder) -> Iterator[TaskOutcome]:
        """Yield outcomes; each costs one task."""


class BackgroundWorker:
    """Works on sessions; their requests never wait for it.

    `start` begins a thread that works on the watched sessions after each `poke`, and at an interval. Only one caller
    at a time does one kind of work on a session, across processes if the store has claims; other callers find
    nothing to do. You may use the sessions meanwhile.
    """

    def __init__(self, *works: WorkKind) -> None:
        """Take the kinds of work, in order."""
        self._works = works
        self._watched: dict[tuple[int, str], SessionHandle] = {}
        # The sessions that the thread will look at, each with its reason.
        self._poked: dict[tuple[int, str], str] = {}
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._due, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._timer: Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def put_first(self, *works: WorkKind) -> None:
        """Do other kinds of work, too, before those that there are."""
        self._works = (*works, *self._works)

    def watch(self, session: WorkSession) -> None:
        """Work on this session, too, until `leave`; at most the newest 1,000 sessions are watched."""
        one = watched(session)
        with self._lock:
            hold(self._watched, one.place, one)

    def leave(self, session: WorkSession) -> None:
        """Stop watching this session."""
        with self._lock:
            self._watched.pop(watched(session).place, None)

    def start(self, interval_seconds: float = INTERVAL_SECONDS, timer: Timer | None = None) -> None:
        """Begin the thread, unless it runs: it works after each `poke`, and every `interval_seconds`.

        A `timer` replaces the clock of the interval; it stops with the thread.
        """
        with self._starting:
            if self._thread is not None and self._thread.is_alive() and not self._stopping.is_set():
                return
            # An event of its own: an earlier thread may still wait for a model that hangs.
            self._stopping = threading.Event()
            work = None if timer else interval_seconds, self._stopping
            self._thread = threading.Thread(target=self._run, args=work, name="squidbot-jobs", daemon=True)
            self._thread.start()
            if timer is not None:
                self._timer = timer
                timer.start(lambda: self._poke(None, "schedule"), interval_seconds)

    def poke(self, session: WorkSession | None = None) -> None:
        """Make the thread look for work now, on one session or on all watched ones; returns at once."""
        self._poke(None if session is None else watched(session).place)

    def stop(self, timeout_seconds: float | None = 10.0) -> bool:
        """End the thread after the current task, and return whether it ended in time.

        The thread never keeps the process from ending.
        """
        with self._starting:
            thread, timer, self._timer = self._thread, self._timer, None
            self._stopping.set()
            self._due.set()
        if timer is not None:
            timer.stop()
        if thread is not None and thread is not threading.current_thread():  # a listener may close its engine
            with Waiting():
                thread.join(timeout_seconds)
        return thread is None or not thread.is_alive()

    def work(
        self, session: WorkSession | None, order: WorkOrder, works: Sequence[WorkKind] | None = None
    ) -> list[TaskOutcome]:
        """Do the due work on a session, or (`None`) on all watched ones, and return the outcomes.

        `works` limits the kinds of work. Errors of the work are raised.
        """
        done: list[TaskOutcome] = []
        with self._lock:
            sessions = [watched(session)] if session is not None else list(self._watched.values())
        for one in sessions:
            for work in self._works if works is None else works:
                left = None if order.limit is None else order.limit - len(done)
                done += _tasks(work, one, order._replace(limit=left))
        return done

    # -- the thread ---------------------------------------------------------------------------------------------

    def _poke(self, place: tuple[int, str] | None, reason: str = "") -> None:
        with self._lock:
            for key in self._watched if place is None else (place,):
                self._poked[key] = reason or self._poked.get(key, "")
        self._due.set()

    def _run(self, interval_seconds: float | None, stopping: threading.Event) -> None:
        ends = None if interval_seconds is None else time.monotonic() + interval_seconds
        busy: dict[SessionHandle, str] = {}
        while not stopping.is_set():
            if not busy:
                self._due.wait(None if ends is None else max(0.0, ends - time.monotonic()))
                self._due.clear()
            if ends is not None and interval_seconds is not None and time.monotonic() >= ends:
                ends = time.monotonic() + interval_seconds
                self._poke(None, "schedule")
                self._due.clear()
            with self._lock:
                busy |= {self._watched[key]: reason for key, reason in self._poked.items() if key in self._watched}
                self._poked.clear()
            # Sessions take turns, with each kind of work; after a task, more may be due.
            with COMPUTING:
                busy = {one: reason for one, reason in busy.items() if any([*self._tried(one, reason, stopping)])}
            if not busy:
                stopping.wait(REST_SECONDS)

    def _tried(self, one: SessionHandle, reason: str, stopping: threading.Event) -> Iterator[bool]:
        """Do a few tasks of each kind on a session, and yield whether any succeeded."""
        for work in self._works:
            try:
                done = () if stopping.is_set() else _tasks(work, one, WorkOrder(TASKS_IN_A_ROW, reason), stopping)
            except Exception as error:  # noqa: BLE001  # a thread cannot raise to a caller; the failure is logged, and an event
                if not stopping.is_set():  # otherwise the store was closed before a model answered
                    failed(one, error)
            else:
                yield any(outcome.succeeded for outcome in done)


class LastingWorker(BackgroundWorker):
    """A worker whose work is done to the end when its engine is closed."""

    def finish(self, seconds: float) -> None:
        """Do the due work on all watched sessions here and now, for about so long; failures are logged, and events."""
        ends, never = time.monotonic() + seconds, threading.Event()
        with self._lock:
            busy = [*reversed(self._watched.values())]  # the newest first
        while busy:
            busy = [one for one in busy if time.monotonic() < ends and any([*self._tried(one, "", never)])]


def _tasks(
    work: WorkKind, one: SessionHandle, order: WorkOrder, stopping: threading.Event | None = None
) -> tuple[TaskOutcome, ...]:
    """Do one kind of work on a session; nothing while another worker does it."""
    with claimed(one.wired.store, one.session_id, work.claim, key=work, seconds=CLAIM_SECONDS) as renew:
        # Asked before the claim is written, so that a session with nothing to do costs no write.
        if renew is None or order.limit == 0 or not work.waits(one, order):
            return ()
        done: list[TaskOutcome] = []
        tasks = work.doing(one, order)
        # Look for due work after the claim: another process may have done it meanwhile.
        while (order.limit is None or len(done) < order.limit) and not (stopping and stopping.is_set()) and renew():
            if (outcome := next(tasks, None)) is None:
                break
            done.append(outcome)
            if order.told is not None:
                order.told(outcome)
        return tuple(done)


class SafeModel:
    """A language model that turns foreign errors into ours, chained."""

    def __init__(self, llm: LLM) -> None:
        """Take the model; it may raise any error."""
        self._llm = llm

    @property
    def name(self) -> str:
        """The model's name."""
        return self._llm.name

    def complete(self, system: str, prompt: str, max_output_tokens: int) -> Completion:
        """Return the model's answer.

        Raises:
            SquidbotError: the model failed, with any error.
        """
        try:
            with Waiting():
                return self._llm.complete(system, prompt, max_output_tokens)
        except SquidbotError:
            raise
        except Exception as error:
            raise LLMError("unreachable", f"{type(error).__name__}: {error}"[:300]) from error


def watched(session: WorkSession) -> SessionHandle:
    """Return a session's handle for background work."""
    core = session.core
    return SessionHandle(session.wired, core.session_id, core.window, core.settings, session.meter)


def failed(one: SessionHandle, error: Exception) -> None:
    """Log that background work on a session has failed, and notify observers."""
    _LOG.warning("background work on a session failed; the session continues without it", exc_info=error)
    _notify(one, f"jobs failed: {type(error).__name__}: {error}")


def _notify(one: SessionHandle, cause: str, name: str = events.DEGRADED, scope: Scope = NOBODY) -> None:
    event = Event(name, one.session_id, cause, one.window.window_id, model=one.window.model, scope=scope)
    one.wired.relay.notify(event)


# Extracts facts from sessions, by rule or by a language model; facts are forgotten with their messages.


def study_of(
    wired: Wired, session_id: str, model: ModelReader | None = None, rests: Backoff | None = None
) -> FactReader:
    """Return the reader that extracts facts from a session.

    Raises:
        ConfigError: memory is off, or its settings are wrong.
        StoreError: the store of facts can't be opened.
    """
    from squidbot.core.memory.learning import FactReader  # noqa: PLC0415  # a seventh of a start; no turn needs it

    remembering = wired.remembering
    study = FactReader(
        session_id,
        wired.store,
        wired.codecs,
        remembering.store,
        wired.loaded.settings.memory.isolation,
        remembering.redactor,
        reads=remembering.learns_of,
        model=model,
        observer=wired.relay,
        watch=wired.relay.watch,
    )
    return replace(study, rests=rests) if rests else study


def reader_of(wired: Wired) -> ModelReader | None:
    """Return the language model that extracts facts; None if the settings want none.

    Raises:
        ConfigError: it can't be made, or `memory.extract` is "model" without a model.
    """
    if not (wired.remembering.learns and wired.remembering.learns_by_model):
        return None
    from squidbot.core.memory.learning import ModelReader  # noqa: PLC0415  # as above

    return ModelReader(SafeModel(wired.llm("memory.llm")), wired.remembering.redactor)


class FactWork:
    """Finds facts in users' messages: by rule, or with a language model.

    Rules claim nothing: two readers of the same messages store the same facts once.
    """

    def __init__(self, model: ModelReader | None = None, backoff_seconds: float = 300.0) -> None:
        """Take the model (`None`: rules), and how long a session rests after a failure."""
        self._model, self._rests = model, None
        self._reader, self.claim = ("model", "facts") if model else ("rules", "")
        if model:
            from squidbot.core.summaries import Backoff  # noqa: PLC0415  # no turn needs it

            self._rests = Backoff(backoff_seconds)

    def waits(self, one: SessionHandle, order: WorkOrder) -> bool:
        """Return whether messages are unread and the session does not rest; a "request" ends a rest."""
        rests = self._rests and order.reason != "request" and self._rests.rests(one.session_id, order.at)
        return not rests and study_of(one.wired, one.session_id).unread(self._reader) is not None

    def doing(self, one: SessionHandle, order: WorkOrder) -> Iterator[LearningResult]:
        """Read the unread messages; with a reason, a model also reads turns that have not ended."""
        if self._rests and order.reason == "request":
            self._rests.worked(one.session_id)
        study = study_of(one.wired, one.session_id, self._model, self._rests)
        by_model = self._model is not None
        for done in study.by_model(order.at, waits=not order.reason) if by_model else study.by_rules(order.at):
            _merge(one.wired, done)
            yield done


def forget_with(wired: Wired, session_id: str, seqs: Sequence[int]) -> tuple[str, ...]:
    """Forget stored facts whose only sources are these messages, and return their ids.

    Raises:
        StoreError: they could not be forgotten.
    """
    store = wired.remembering.kept()
    if store is None:
        return ()
    with wired.relay.watch(Operation(name="delete_memory", session_id=session_id, store="facts")) as operation:
        ids = store.forget_messages(session_id, seqs, WITH_MESSAGES)
        operation.records = len(ids)
    if ids:
        wired.retract(ids, reason="removed facts whose only source was forgotten")
        wired.relay.notify(Event(events.FACTS_FORGOTTEN, session_id, ", ".join(ids)))
    return tuple(ids)


def _merge(wired: Wired, done: LearningResult) -> None:
    """If the settings say so, merge old facts that say nearly the same as the new ones.

    Raises:
        StoreError: nothing was merged; the new facts are stored.
    """
    memory = wired.loaded.settings.memory
    if not memory.merge or not done.memories:
        return
    store, meaning = wired.remembering.store, wired.remembering.meaning
    view = View(done.memories[0].scope, memory.isolation)
    near = (meaning.near(done.memories, view) if meaning else None) or {}
    learnt = [one.memory_id for one in done.memories]
    nearest = sorted({*learnt}.union(*near.values()))  # however old they are
    held = {one.memory_id: one for one in (*store.get(nearest), *store.listed(view, limit=MOST_COMPARED))}
    plan = merges(list(held.values()), among_nearest(near), learnt)
    if plan:
        places = places_of(plan)
        operation = Operation(name="update_memory", session_id=done.unread.session_id, store="facts")
        operation.records = len(places)
        with wired.relay.watch(operation):
            store.supersede(places)
        told = ", ".join(f"{gone} by {kept}" for gone, kept in places.items())
        wired.relay.notify(Event(events.FACTS_MERGED, done.unread.session_id, told))


# Journal entries: when one is due, and how rules or a model write it.

# The events that make an entry due; `context-pressure` only with one cause.
_TRIGGERS: Final = {
    events.COMPRESSED: "summary",
    events.CHECKPOINT_CREATED: "summary",
    events.SNAPSHOT_CREATED: "snapshot",
    events.AUTO_SNAPSHOT_CREATED: "snapshot",
}
# From longer runs, only the newest messages are read; the others stay in the session.
MOST_READ: Final = 400
# A claim expires if its process dies.
ENTRY_CLAIM_SECONDS: Final = 300.0


class JournalOutcome(NamedTuple):
    """The result of writing a journal entry.

    Attributes:
        entry: the stored entry; None if there is none.
        number: its number within its day, from 1; 0 without an entry.
        why: why there is none; "" on success.
    """

    entry: JournalEntry | None
    number: int = 0
    why: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether an entry was made."""
        return self.entry is not None


class JournalWork:
    """Writes journal entries on new messages of sessions. It listens for events that make one due."""

    claim = "journal"

    def __init__(self, interval_seconds: float, llm: LLM | None = None) -> None:
        """Take the time that makes an entry due, and the model that writes entries; `None`: rules write them."""
        self._interval_seconds = interval_seconds
        self._llm = llm
        # By session: why an entry is due, and the run that writes it ("" for none).
        self._asked: dict[str, tuple[str, str]] = {}
        # How long a session rests after a refused entry, and its message count at its newest heartbeat.
        self._rests: dict[str, float] = {}
        self._beats: dict[str, int] = {}
        self._lock = threading.Lock()

    def listen(self, event: Event) -> None:
        """Note an event that makes an entry due; cheap, because requests wait for it."""
        name = _TRIGGERS.get(event.name)
        if event.name == events.CONTEXT_PRESSURE and event.cause == JOURNAL:
            name = "pressure"
        if name is not None:
            self.ask(event.session_id, name)

    def ask(self, session_id: str, name: str, run_id: str = "") -> None:
        """Make an entry due."""
        with self._lock:
            hold(self._asked, session_id, (name, run_id))

    def waits(self, one: SessionHandle, order: WorkOrder) -> bool:
        """Return whether an entry is due, or a heartbeat."""
        progress, stored = _progress(one)
        if stored <= progress.until_seq:
            return False
        beats = order.reason == "schedule" and stored != self._beats.get(one.session_id)
        return beats or self._trigger(one, progress, order) is not None

    def doing(self, one: SessionHandle, order: WorkOrder) -> Iterator[JournalOutcome]:
        """Send a heartbeat if a schedule asks; then write due entries, one for each scope."""
        store, session_id = one.wired.store, one.session_id
        progress, stored = _progress(one)
        if order.reason == "schedule":
            self._beat(one, progress, stored)
        trigger = self._trigger(one, progress, order)
        if trigger is None or stored <= progress.until_seq:
            return
        with self._lock:
            self._asked.pop(session_id, None)
        at = order.at  # of the entries and of their mark alike: `stretch_of` joins them, and a model takes seconds
        about = JournalEntry(
            at,
            "-",
            run_id=trigger[1],
            source_session=session_id,
            tags=trigger[:1],
            total_tokens=tokens_used(store.records(session_id, REQUEST)),
        )
        before = _forgotten(one)
        line = LineStore(store, session_id)
        rows = line.read(session_id, max(progress.until_seq, stored - MOST_READ), stored - 1)
        for place, (scope, theirs) in _by_place(one, rows).items():
            # One writer for each scope's journal, across processes.
            with claimed(store, f"journal {place}"[-1_000:], self.claim, seconds=ENTRY_CLAIM_SECONDS) as claim:
                if claim is None or not claim():
                    self.ask(session_id, *trigger)
                    return
                outcome = self._made(one, scope, theirs, replace(about, agent_id=scope.agent or DEFAULT_AGENT))
                if outcome is not None and outcome.entry is not None and _forgotten(one) != before:
                    # The messages were read earlier; `forget` may have searched the journal before the entry arrived.
                    made_anew(one.wired, scope, outcome.entry)
            if outcome is not None:
                yield outcome
                if not outcome.succeeded:
                    with self._lock:
                        hold(self._rests, session_id, order.at + self._interval_seconds)
                    return
        note_journaled(store, session_id, stored, at, wait)

    def _trigger(self, one: SessionHandle, progress: JournalProgress, order: WorkOrder) -> tuple[str, str] | None:
        """Return why an entry is due; None if none is."""
        asked = self._asked.get(one.session_id)
        rests = order.at < self._rests.get(one.session_id, 0.0)
        if asked and (asked[0] == "iteration" or order.reason == "request" or not rests):
            return asked
        if order.reason == "request":
            return "request", ""
        since = progress.time
        if since is None and not rests:
            since = next((row.time for row in one.wired.store.read(one.session_id, 0, 0)), None)
        is_late = since is not None and order.at - since >= self._interval_seconds
        return ("interval", "") if is_late and not rests else None

    def _made(
        self, one: SessionHandle, scope: Scope, rows: list[StoredMessage], about: JournalEntry
    ) -> JournalOutcome | None:
        """Write and store an entry on messages; None if they have nothing new."""
        span = _span(one.wired, rows)
        entry = by_rule(span, about, one.wired.counter("classes"))
        if entry is None:
            return None
        if self._llm is not None:
            try:
                entry = by_model(span, entry, self._llm, one.wired.journals.redacted)
            except SquidbotError as error:
                _notify(one, f"journal: model failed ({error}); entry written by rule")
        try:
            kept = one.wired.journals.of(scope).append(entry)
        except StoreError as error:  # the journal has sent an event; the turn continues
            return JournalOutcome(None, why=str(error))
        return JournalOutcome(kept.entry, kept.number)

    def _beat(self, one: SessionHandle, progress: JournalProgress, stored: int) -> None:
        """Send a heartbeat for each scope, once for each state of a session: how much is new, and what it says."""
        if stored == self._beats.get(one.session_id):
            return
        with self._lock:
            hold(self._beats, one.session_id, stored)
        since = f"entry {progress.entries}" if progress.entries else "the beginning"
        first = max(progress.until_seq, stored - MOST_READ)
        by_place = _by_place(one, LineStore(one.wired.store, one.session_id).read(one.session_id, first, stored - 1))
        for scope, rows in by_place.values():
            number = len(rows) if by_place.keys() - {one.wired.journals.place(scope)} else stored - progress.until_seq
            cause = f"{count(number, 'message')} since {since}"
            made = by_rule(_span(one.wired, rows), JournalEntry(0, "-"), one.wired.counter("classes"))
            if made is not None and made.summary.strip():
                cause += f": {status(one.wired.journals.applied(made))}"
            _notify(one, cause, events.JOURNAL_HEARTBEAT, scope)


def _progress(one: SessionHandle) -> tuple[JournalProgress, int]:
    """Return how far entries cover a session, and how many messages it has."""
    store, session_id = one.wired.store, one.session_id
    return JOURNALED.state(store, session_id), store.head(session_id)[0]


def stretch_of(wired: Wired, entry: JournalEntry) -> tuple[int, int]:
    """Return the messages that an entry covers, as a half-open range.

    Entries of one second cover the messages of all of them. A newest entry without a record covers all messages after
    the recorded ones; (0, 0) for entries not written by background work.
    """
    marks = [JournalMark(0, 0.0), *JOURNALED.all(wired.store, entry.source_session)]
    covered = [(before.until_seq, mark.until_seq) for before, mark in pairwise(marks) if int(mark.time) == entry.time]
    if covered:
        first, behind = covered[0]
        return max(first, behind - MOST_READ), covered[-1][1]
    until, newest = marks[-1]
    return (until, wired.store.head(entry.source_session)[0]) if entry.time > int(newest) else (0, 0)


def is_on_line(wired: Wired, entry: JournalEntry) -> bool:
    """Return whether all messages that an entry was written from are on the line that is talked on.

    It was written from the line on which the newest of them was recorded.
    """
    now = LineStore(wired.store, entry.source_session)
    first, behind = stretch_of(wired, entry) if entry.source_session and now.lines.made else (0, 0)
    if first >= behind:
        return True
    then = now.on(now.lines.line_of(behind - 1))
    runs = [(max(start, first), min(end, behind - 1)) for start, end in then.runs]
    return all(now.has_all(start, end) for start, end in runs if start <= end)


def remade(wired: Wired, entry: JournalEntry, place: str) -> JournalEntry | None:
    """Return an entry rewritten by rule from its messages as they are now; None if they are empty.

    `place` is the journal that holds it (`Journals.place`).
    """
    first, behind = stretch_of(wired, entry)
    store, scopes = LineStore(wired.store, entry.source_session), SCOPE.state(wired.store, entry.source_session)
    stored = store.read(entry.source_session, first, behind - 1) if first < behind else []
    owners = ((row, scope_at(scopes, row.seq)) for row in stored)
    rows = [row for row, scope in owners if scope is not None and wired.journals.place(scope) == place]
    if not rows:
        return None
    bare = replace(entry, summary="-", decisions=(), progress=(), open_questions=(), files_touched=(), errors=())
    made = by_rule(_span(wired, rows), bare, wired.counter("classes"))
    return wired.loaded.settings.journal.rules.applied(made)[0] if made and made.summary.strip() else None


def made_anew(wired: Wired, scope: Scope, entry: JournalEntry) -> None:
    """Replace an entry with one from its messages as they are now.

    Raises:
        StoreError: the disk failed.
    """
    place, wanted = wired.journals.place(scope), entry.entry_id
    wired.journals.rewrite(
        scope, lambda one: remade(wired, one, place) if one.entry_id == wanted else one, lambda _: False
    )


def _span(wired: Wired, rows: Sequence[StoredMessage]) -> JournalSpan:
    """Return the messages for an entry; forgotten ones are marked, so that it leaves them out."""
    decoded = ((row, wired.codecs[row.codec].decode(row.payload)) for row in rows)
    forgotten = Category.FORGOTTEN
    messages = [replace(said, category=forgotten) if row.category is forgotten else said for row, said in decoded]
    return JournalSpan(messages, rows[0].seq)


def _by_place(one: SessionHandle, rows: Sequence[StoredMessage]) -> dict[str, tuple[Scope, list[StoredMessage]]]:
    """Return messages by their journal, so that no entry quotes another user's messages.

    Messages of an unknown scope have no journal.
    """
    scopes = SCOPE.state(one.wired.store, one.session_id)
    found: dict[str, tuple[Scope, list[StoredMessage]]] = {}
    for row in rows:
        scope = scope_at(scopes, row.seq)
        if scope is not None:
            found.setdefault(one.wired.journals.place(scope), (scope, []))[1].append(row)
    return found


def _forgotten(one: SessionHandle) -> int:
    """Return how often messages of a session were forgotten."""
    return len([*on_all_lines(one.wired.store, one.session_id, FORGOTTEN)])


# The index of files and journals: each scope of a session has its own.

# Files are looked at again after this pause at the earliest; a new journal entry is indexed at once.
INDEX_SECONDS: Final = 60.0


class IndexOutcome(NamedTuple):
    """The result of one pass over the files of a scope.

    Attributes:
        report: the outcome of each file; None if the pass failed.
        why: why it failed; "" on success.
    """

    report: IndexReport | None
    why: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether the pass ended."""
        return self.report is not None


class IndexWork:
    """Indexes the files of `memory.index_paths` and the journal, for the scopes of a session; reads what changed.

    One process at a time works on a scope.
    """

    claim = ""

    def __init__(self) -> None:
        """Start with every scope due."""
        # By scope: the time of its newest pass, the state of its journal before that pass, and whether it failed.
        self._passes: dict[tuple[str, ...], tuple[float, State, bool]] = {}
        self._lock = threading.Lock()

    def again(self) -> None:
        """Make all files due, however recently they were looked at."""
        with self._lock:
            self._passes.clear()

    def waits(self, one: SessionHandle, order: WorkOrder) -> bool:
        """Return whether the files of one of the session's scopes are due; reads no file."""
        return any(self._due(one, order))

    def doing(self, one: SessionHandle, order: WorkOrder) -> Iterator[IndexOutcome]:
        """Index each due scope; yield an outcome if that changed the index, or failed.

        A failure is an event `degraded`, and the scope rests.
        """
        for place, scope, journal in list(self._due(one, order)):
            key = f"index {' '.join(filter(None, place))}"[-1_000:]
            with claimed(one.wired.store, key, "index", seconds=CLAIM_SECONDS) as claim:
                if claim is None or not claim():
                    continue
                outcome = _indexed(one, scope)
                with self._lock:
                    hold(self._passes, place, (order.at, journal, outcome is not None and not outcome.succeeded))
            if outcome is not None:
                yield outcome

    def _due(self, one: SessionHandle, order: WorkOrder) -> Iterator[tuple[tuple[str, ...], Scope, State]]:
        """Yield the due scopes of a session, with the states of their journals."""
        settings = one.wired.loaded.settings
        said = [change.scope for change in SCOPE.state(one.wired.store, one.session_id)] or [NOBODY]
        scopes = [scope for scope in said if settings.bot(scope.bot).requires_memory]
        # Threads without a user search the files that all share.
        shared = [scope._replace(thread="") for scope in scopes if settings.memory.index_paths and not scope.user]
        views = (View(each, settings.memory.isolation) for each in (*scopes, *shared))
        for place, scope in {view.key: view.scope for view in views}.items():
            journal = journal_of(one.wired.loaded, None, scope).state() if settings.journal.enabled else None
            at, before, has_failed = self._passes.get(place, (None, None, False))
            rested = at is None or order.reason != "" or order.at - at >= INDEX_SECONDS
            if (rested and (settings.memory.index_paths or has_failed)) or journal != before:
                yield place, scope, journal


def _indexed(one: SessionHandle, scope: Scope) -> IndexOutcome | None:
    """Bring the index of a scope up to date; None if nothing changed."""
    from squidbot.services.indexing import IndexPaths, reindex  # noqa: PLC0415  # no turn needs it

    try:
        memories = one.wired.memories(one.meter, scope)
        report = reindex(memories, IndexPaths.in_background(one.wired.loaded, memories))
    except (SquidbotError, OSError) as error:
        _notify(one, f"files were not indexed: {error}")
        return IndexOutcome(None, str(error))
    return IndexOutcome(report) if any(change.became != "skipped" for change in report.outcomes) else None
