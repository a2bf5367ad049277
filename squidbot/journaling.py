"""Entries of the journal as jobs beside the sessions (J-02): when one is due, and making it, by rule or by a model."""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core import events
from squidbot.core.budget.ladder import JOURNAL
from squidbot.core.errors import SquidbotError, StoreError
from squidbot.core.events import Event
from squidbot.core.journal.asking import by_model
from squidbot.core.journal.entry import DEFAULT_AGENT, Entry
from squidbot.core.journal.making import Stretch, by_rule
from squidbot.core.journal.progress import stretches, tell, told_of
from squidbot.core.messages import Category
from squidbot.core.past import REQUEST, tokens_used
from squidbot.core.ports import Claims
from squidbot.core.scopes import scope_at, scopes_of
from squidbot.journals import hold
from squidbot.waiting import wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.core.journal.progress import Told
    from squidbot.core.memories import Scope
    from squidbot.core.messages import StoredMessage
    from squidbot.core.ports import LLM
    from squidbot.journals import Telling
    from squidbot.working import Order, Watched

__all__ = ["ByJournal", "Kept", "Occasion", "remade", "stretch_of"]

# What makes an entry due, by the names of events; of `context-pressure` one cause.
_OCCASIONS: Final = {
    events.COMPRESSED: "summary",
    events.CHECKPOINT_CREATED: "summary",
    events.SNAPSHOT_CREATED: "snapshot",
    events.AUTO_SNAPSHOT_CREATED: "snapshot",
}
# Of a stretch that is longer the newest messages are read; the others stay in the session.
MOST_READ: Final = 400
# The kind of the records of what was forgotten, as `core.forgetting` has it, which few processes need.
FORGOTTEN: Final = "forgotten"
# A claim ends by itself where its process dies.
CLAIM_SECONDS: Final = 300.0


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
        told, stored = told_of(one.wired.store, one.session_id), one.wired.store.head(one.session_id)[0]
        if stored <= told.until_seq:
            return False
        beats = order.reason == "schedule" and stored != self._beats.get(one.session_id)
        return beats or self._occasion(one, told, order) is not None

    def doing(self, one: Watched, order: Order) -> Iterator[Kept]:
        """Tell how far a session is, where a schedule asks; then make what is due, one entry for each scope."""
        store, session_id = one.wired.store, one.session_id
        told, stored = told_of(store, session_id), store.head(session_id)[0]
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
        tell(store, session_id, stored, order.at, wait)

    def _occasion(self, one: Watched, told: Told, order: Order) -> Occasion | None:
        """Return why an entry is due; None where none is."""
        asked = self._asked.get(one.session_id)
        if asked is not None and asked.name == "iteration":
            return asked
        if order.reason == "request":
            return asked or Occasion("request")
        if order.at < self._rests.get(one.session_id, 0.0):
            return None
        return asked or (Occasion("interval") if self._is_late(one, told, order.at) else None)

    def _is_late(self, one: Watched, told: Told, now: float) -> bool:
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
            one.wired.relay.notify(Event(events.DEGRADED, one.session_id, cause, one.lease.lease_id))
            return made

    def _beat(self, one: Watched, told: Told, stored: int) -> None:
        """Tell what is going on, once for each state of a session."""
        if stored == self._beats.get(one.session_id):
            return
        with self._lock:
            hold(self._beats, one.session_id, stored)
        since = f"entry {told.entries}" if told.entries else "the beginning"
        cause = f"{stored - told.until_seq:,} messages since {since}"
        one.wired.relay.notify(Event(events.JOURNAL_HEARTBEAT, one.session_id, cause, one.lease.lease_id))

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
            yield not isinstance(store, Claims) or store.claim(*place, time.time(), CLAIM_SECONDS)
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
    noted = stretches(wired.store, entry.source_session)
    until = 0
    for first, behind, when in noted:
        if int(when) == entry.time:
            return max(first, behind - MOST_READ), behind
        until = behind
    newest = noted[-1][2] if noted else 0.0
    return (until, wired.store.head(entry.source_session)[0]) if entry.time > int(newest) else (0, 0)


def remade(wired: Wired, entry: Entry, place: str) -> Entry | None:
    """Return an entry made once more, by rule, of what its messages say now; None where they say nothing any more.

    `place` is the journal that it stands in (`Journals.place`).
    """
    first, behind = stretch_of(wired, entry)
    store, scopes = wired.store, scopes_of(wired.store, entry.source_session)
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
    scopes = scopes_of(one.wired.store, one.session_id)
    found: dict[str, tuple[Scope, list[StoredMessage]]] = {}
    for row in rows:
        scope = scope_at(scopes, row.seq)
        if scope is not None:
            found.setdefault(one.wired.journals.place(scope), (scope, []))[1].append(row)
    return found


def _forgotten(one: Watched) -> int:
    """Return how often something of a session was forgotten."""
    last = one.wired.store.last_record(one.session_id, FORGOTTEN)
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
