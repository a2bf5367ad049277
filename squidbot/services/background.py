"""Work on sessions beside their turns: on demand, or by a thread of its own; of all processes one at a time."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

from squidbot.core import events
from squidbot.core.budget import JOURNAL
from squidbot.core.errors import LLMError, SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.journal import DEFAULT_AGENT, Entry, Stretch, by_model, by_rule
from squidbot.core.last_request import REQUEST, tokens_used
from squidbot.core.memories import View
from squidbot.core.messages import Category
from squidbot.core.ports import Claims
from squidbot.core.transcript.bookkeeping import JOURNALED, note_journaled
from squidbot.core.transcript.removals import FORGOTTEN
from squidbot.core.transcript.scopes import SCOPE, scope_at
from squidbot.wiring.journal import hold
from squidbot.wiring.streams import wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from squidbot.bootstrap import Wired
    from squidbot.core.engine import Session as CoreSession
    from squidbot.core.memories import Scope
    from squidbot.core.memory.learning import Backoff, FactReader, LearningResult, ModelReader
    from squidbot.core.messages import Completion, ContextWindow, StoredMessage
    from squidbot.core.ports import LLM
    from squidbot.core.settings import HistorySettings
    from squidbot.core.tokens.counters import Meter
    from squidbot.core.transcript.bookkeeping import JournalProgress
    from squidbot.wiring.journal import Telling
    from squidbot.wiring.registry import Timer


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
    window: ContextWindow
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
    return Watched(session.wired, core.session_id, core.window, core.settings, session.meter)


def failed(one: Watched, error: Exception) -> None:
    """Log and tell that work on a session has failed."""
    _LOG.warning("the jobs of a session failed; it goes on with what it has", exc_info=error)
    cause = f"jobs failed: {type(error).__name__}: {error}"
    one.wired.relay.notify(Event(events.DEGRADED, one.session_id, cause, one.window.window_id, model=one.window.model))


# Facts read out of sessions as the settings want it: by rules, by a language model; forgotten with
# their messages.


def study_of(
    wired: Wired, session_id: str, model: ModelReader | None = None, rests: Backoff | None = None
) -> FactReader:
    """Return what reads a session for facts.

    Raises:
        ConfigError: memory is switched off, or its settings are wrong.
        StoreError: the store of facts can't be opened.
    """
    from squidbot.core.memory.learning import Backoff, FactReader  # noqa: PLC0415  # as the head of this file says, and below

    memory, remembering = wired.loaded.settings.memory, wired.remembering
    return FactReader(
        session_id,
        wired.store,
        wired.codecs,
        remembering.store,
        memory.isolation,
        remembering.redactor,
        anonymous=memory.extract is not None,
        model=model,
        rests=rests or Backoff(),
        observer=wired.relay,
    )


def reader_of(wired: Wired) -> ModelReader | None:
    """Return the language model that reads for facts; None where the settings want none.

    Raises:
        ConfigError: it can't be made, or `memory.extract` is "model" and none is named.
    """
    memory = wired.loaded.settings.memory
    if not wired.remembering.learns or memory.extract == "rules" or not (memory.llm or memory.extract):
        return None
    from squidbot.core.memory.learning import ModelReader  # noqa: PLC0415

    return ModelReader(Guarded(wired.llm("memory.llm")), wired.remembering.redactor)


class ByRules:
    """The work: facts found by rule. Who reads what another one reads stores nothing, so nothing is claimed."""

    claim = ""

    def waits(self, one: Watched, _order: Order) -> bool:
        """Return whether messages are unread."""
        return study_of(one.wired, one.session_id).unread() is not None

    def doing(self, one: Watched, order: Order) -> Iterator[LearningResult]:
        """Read them."""
        for done in study_of(one.wired, one.session_id).by_rules(order.at):
            _merge(one.wired, done)
            yield done


class ByModel:
    """The work: facts found by a language model, beside the rules."""

    claim = "facts"

    def __init__(self, model: ModelReader, backoff_seconds: float) -> None:
        """Take the model, and how long a session rests after a failure."""
        from squidbot.core.memory.learning import Backoff  # noqa: PLC0415

        self._model = model
        self._rests = Backoff(backoff_seconds)

    def waits(self, one: Watched, order: Order) -> bool:
        """Return whether messages are unread, and the session does not rest; for "request" none rests."""
        rests = order.reason != "request" and self._rests.rests(one.session_id, order.at)
        return not rests and study_of(one.wired, one.session_id).unread("model") is not None

    def doing(self, one: Watched, order: Order) -> Iterator[LearningResult]:
        """Read them; with a reason turns that are not ended, too."""
        if order.reason == "request":
            self._rests.worked(one.session_id)
        study = study_of(one.wired, one.session_id, self._model, self._rests)
        for done in study.by_model(order.at, waits=not order.reason):
            _merge(one.wired, done)
            yield done


def forget_with(wired: Wired, session_id: str, seqs: Sequence[int]) -> tuple[str, ...]:
    """Forget the facts that only these messages say, where facts are kept, and return their ids.

    Raises:
        StoreError: they could not be forgotten.
    """
    store = wired.remembering.kept()
    if store is None:
        return ()
    from squidbot.core.memory.learning import WITH_MESSAGES  # noqa: PLC0415

    ids = store.forget_messages(session_id, seqs, WITH_MESSAGES)
    if ids:
        wired.withdraw(ids, reason="facts went with the messages that alone said them")
        wired.relay.notify(Event(events.FACTS_FORGOTTEN, session_id, ", ".join(ids)))
    return tuple(ids)


def _merge(wired: Wired, done: LearningResult) -> None:
    """Where the settings want it, have one fact stand for others that say nearly the same as what was just learned.

    Raises:
        StoreError: nothing was merged; what was learned is stored.
    """
    memory = wired.loaded.settings.memory
    if not memory.merge or not done.memories:
        return
    from squidbot.core.memory.view import MOST_COMPARED, among_nearest, merges, places_of  # noqa: PLC0415

    store, meaning = wired.remembering.store, wired.remembering.meaning
    view = View(done.memories[0].scope, memory.isolation)
    near = (meaning.near(done.memories, view) if meaning else None) or {}
    learnt = [one.memory_id for one in done.memories]
    nearest = sorted({*learnt}.union(*near.values()))  # however old they are
    held = {one.memory_id: one for one in (*store.get(nearest), *store.listed(view, limit=MOST_COMPARED))}
    plan = merges(list(held.values()), among_nearest(near), learnt)
    if plan:
        places = places_of(plan)
        store.supersede(places)
        told = ", ".join(f"{gone} by {kept}" for gone, kept in places.items())
        wired.relay.notify(Event(events.FACTS_MERGED, done.unread.session_id, told))


# Entries of the journal as jobs beside the sessions (J-02): when one is due, and making it, by rule
# or by a model.

# What makes an entry due, by the names of events; of `context-pressure` one cause.
_OCCASIONS: Final = {
    events.COMPRESSED: "summary",
    events.CHECKPOINT_CREATED: "summary",
    events.SNAPSHOT_CREATED: "snapshot",
    events.AUTO_SNAPSHOT_CREATED: "snapshot",
}
# Of a stretch that is longer the newest messages are read; the others stay in the session.
MOST_READ: Final = 400
# A claim ends by itself where its process dies.
ENTRY_CLAIM_SECONDS: Final = 300.0


class Occasion(NamedTuple):
    """Why an entry is due, and the run that it is made in; "" where there is none."""

    name: str
    run_id: str = ""


class Kept(NamedTuple):
    """What became of an entry: as it is kept, and which one of its day; None, and why there is none."""

    entry: Entry | None
    number: int = 0
    why: str = ""

    @property
    def succeeded(self) -> bool:
        """Whether there is one."""
        return self.entry is not None


class ByJournal:
    """The work: entries of what sessions have said since their last one. It listens for what makes one due."""

    claim = "journal"

    def __init__(self, interval_seconds: float, llm: LLM | None = None) -> None:
        """Take how much time makes an entry due, and who writes them; None: they are made by rule."""
        self._interval_seconds = interval_seconds
        self._llm = llm
        self._asked: dict[str, Occasion] = {}
        # Where an entry was refused: until when the session rests; and what the newest heartbeats told.
        self._rests: dict[str, float] = {}
        self._beats: dict[str, int] = {}
        self._writing: set[str] = set()
        self._lock = threading.Lock()

    def listen(self, event: Event) -> None:
        """Note what makes an entry due; cheap, since it is called on the way of requests."""
        name = _OCCASIONS.get(event.name)
        if event.name == events.CONTEXT_PRESSURE and event.cause == JOURNAL:
            name = "pressure"
        if name is not None:
            self.ask(event.session_id, Occasion(name))

    def ask(self, session_id: str, occasion: Occasion) -> None:
        """Make an entry due."""
        with self._lock:
            hold(self._asked, session_id, occasion)

    def waits(self, one: Watched, order: Order) -> bool:
        """Return whether an entry is due, or a heartbeat."""
        store, session_id = one.wired.store, one.session_id
        told, stored = JOURNALED.state(store, session_id), store.head(session_id)[0]
        if stored <= told.until_seq:
            return False
        beats = order.reason == "schedule" and stored != self._beats.get(one.session_id)
        return beats or self._occasion(one, told, order) is not None

    def doing(self, one: Watched, order: Order) -> Iterator[Kept]:
        """Tell how far a session is, where a schedule asks; then make what is due, one entry for each scope."""
        store, session_id = one.wired.store, one.session_id
        told, stored = JOURNALED.state(store, session_id), store.head(session_id)[0]
        if order.reason == "schedule":
            self._beat(one, told, stored)
        occasion = self._occasion(one, told, order)
        if occasion is None or stored <= told.until_seq:
            return
        with self._lock:
            self._asked.pop(session_id, None)
        first = max(told.until_seq, stored - MOST_READ)
        about = Entry(
            order.at,
            "-",
            run_id=occasion.run_id,
            source_session=session_id,
            tags=(occasion.name,),
            total_tokens=tokens_used(store.records(session_id, REQUEST)),
        )
        before = _forgotten(one)
        for place, (scope, rows) in _by_place(one, store.read(session_id, first, stored - 1)).items():
            with self._turn(one, place) as is_mine:
                if not is_mine:
                    self.ask(session_id, occasion)
                    return
                kept = self._kept(one, one.wired.journals.of(scope), rows, replace(about, agent_id=_agent_of(scope)))
                if _forgotten(one) != before and kept is not None and kept.entry is not None:
                    # It was read before that; whoever forgot may have looked at the journal before it stood there.
                    made_anew(one.wired, scope, kept.entry)
            if kept is not None:
                yield kept
                if not kept.succeeded:
                    with self._lock:
                        hold(self._rests, session_id, order.at + self._interval_seconds)
                    return
        note_journaled(store, session_id, stored, order.at, wait)

    def _occasion(self, one: Watched, told: JournalProgress, order: Order) -> Occasion | None:
        """Return why an entry is due; None where none is."""
        asked = self._asked.get(one.session_id)
        if asked is not None and asked.name == "iteration":
            return asked
        if order.reason == "request":
            return asked or Occasion("request")
        if order.at < self._rests.get(one.session_id, 0.0):
            return None
        return asked or (Occasion("interval") if self._is_late(one, told, order.at) else None)

    def _is_late(self, one: Watched, told: JournalProgress, now: float) -> bool:
        """Return whether the newest entry, or without one the first message, is old enough."""
        since = told.time
        if since is None:
            since = next((row.time for row in one.wired.store.read(one.session_id, 0, 0)), None)
        return since is not None and now - since >= self._interval_seconds

    def _kept(self, one: Watched, journal: Telling, rows: list[StoredMessage], about: Entry) -> Kept | None:
        stretch = _stretch(one.wired, rows)
        made = by_rule(stretch, about, one.wired.counter("classes"))
        if made is None:
            return None
        try:
            kept = journal.append(self._written(one, stretch, made))
        except StoreError as error:  # told by the journal; the turn knows nothing of it
            return Kept(None, why=str(error))
        return Kept(kept.entry, kept.number)

    def _written(self, one: Watched, stretch: Stretch, made: Entry) -> Entry:
        """Return an entry as the model writes it, with what rules have found; by rule where the model fails."""
        if self._llm is None:
            return made
        try:
            return by_model(stretch, made, self._llm, one.wired.journals.redacted)
        except SquidbotError as error:
            cause = f"journal: the entry is made by rule: {error}"
            one.wired.relay.notify(Event(events.DEGRADED, one.session_id, cause, one.window.window_id))
            return made

    def _beat(self, one: Watched, told: JournalProgress, stored: int) -> None:
        """Tell what is going on, once for each state of a session."""
        if stored == self._beats.get(one.session_id):
            return
        with self._lock:
            hold(self._beats, one.session_id, stored)
        since = f"entry {told.entries}" if told.entries else "the beginning"
        cause = f"{stored - told.until_seq:,} messages since {since}"
        one.wired.relay.notify(Event(events.JOURNAL_HEARTBEAT, one.session_id, cause, one.window.window_id))

    @contextmanager
    def _turn(self, one: Watched, folder: str) -> Iterator[bool]:
        """Give whether this is the only one that writes in a scope's journal, in whatever process."""
        with self._lock:
            is_mine = folder not in self._writing
            self._writing.add(folder)
        if not is_mine:
            yield False
            return
        store, holder = one.wired.store, uuid.uuid4().hex
        place = f"journal {folder}"[-1_000:], self.claim, holder
        try:
            yield not isinstance(store, Claims) or store.claim(*place, time.time(), ENTRY_CLAIM_SECONDS)
        finally:
            if isinstance(store, Claims):
                with suppress(StoreError):  # it ends by itself
                    store.release(*place)
            with self._lock:
                self._writing.discard(folder)


def stretch_of(wired: Wired, entry: Entry) -> tuple[int, int]:
    """Return the messages of its session that an entry tells of: the first, and the first behind.

    Of one that nobody noted yet that are all behind those that were; (0, 0) of one that no job has made.
    """
    until, newest = 0, 0.0
    for behind, newest in JOURNALED.all(wired.store, entry.source_session):
        if int(newest) == entry.time:
            return max(until, behind - MOST_READ), behind
        until = behind
    return (until, wired.store.head(entry.source_session)[0]) if entry.time > int(newest) else (0, 0)


def remade(wired: Wired, entry: Entry, place: str) -> Entry | None:
    """Return an entry made once more, by rule, of what its messages say now; None where they say nothing any more.

    `place` is the journal that it stands in (`Journals.place`).
    """
    first, behind = stretch_of(wired, entry)
    store, scopes = wired.store, SCOPE.state(wired.store, entry.source_session)
    stored = store.read(entry.source_session, first, behind - 1) if first < behind else []
    found = ((row, scope_at(scopes, row.seq)) for row in stored)
    rows = [row for row, scope in found if scope is not None and wired.journals.place(scope) == place]
    if not rows:
        return None
    stretch = _stretch(wired, rows)
    bare = replace(entry, summary="-", decisions=(), progress=(), open_questions=(), files_touched=(), errors=())
    made = by_rule(stretch, bare, wired.counter("classes"))
    return wired.loaded.settings.journal.rules.taken(made).entry if made and made.summary.strip() else None


def _stretch(wired: Wired, rows: Sequence[StoredMessage]) -> Stretch:
    """Return messages as an entry is made of them: of those that were forgotten it tells nothing."""
    decoded = ((row, wired.codecs[row.codec].decode(row.payload)) for row in rows)
    return Stretch(
        [
            replace(message, category=row.category) if row.category is Category.FORGOTTEN else message
            for row, message in decoded
        ],
        rows[0].seq,
    )


def _by_place(one: Watched, rows: Sequence[StoredMessage]) -> dict[str, tuple[Scope, list[StoredMessage]]]:
    """Return messages by the journal that they belong in: no entry tells one what another one said (promise 12).

    Those of which nobody knows whose they are belong in none.
    """
    scopes = SCOPE.state(one.wired.store, one.session_id)
    found: dict[str, tuple[Scope, list[StoredMessage]]] = {}
    for row in rows:
        scope = scope_at(scopes, row.seq)
        if scope is not None:
            found.setdefault(one.wired.journals.place(scope), (scope, []))[1].append(row)
    return found


def _forgotten(one: Watched) -> int:
    """Return how often something of a session was forgotten."""
    last = one.wired.store.last_record(one.session_id, FORGOTTEN.name)
    return last.number + 1 if last else 0


def made_anew(wired: Wired, scope: Scope, entry: Entry) -> None:
    """Put what an entry's messages say now in its place.

    Raises:
        StoreError: the disk failed.
    """
    place, wanted = wired.journals.place(scope), entry.entry_id
    wired.journals.rewrite(
        scope, lambda one: remade(wired, one, place) if one.entry_id == wanted else one, lambda _: False
    )


def _agent_of(scope: Scope) -> str:
    return scope.agent or DEFAULT_AGENT
