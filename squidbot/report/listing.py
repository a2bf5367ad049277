"""The list of a store's sessions: what is known of each without reading its messages, and what it has cost so far."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from squidbot.core.errors import DamagedStoreError, NotFoundError, SquidbotError
from squidbot.core.last_request import REQUEST, LastRequest, usage_of
from squidbot.core.plan import PlanRecord
from squidbot.core.ports import SupportsRecordSearch
from squidbot.core.transcript.goals import stored_goals
from squidbot.core.transcript.identity import SessionIdentity, identity_of
from squidbot.core.transcript.lineage import BELOW, above, parent_of
from squidbot.core.transcript.lines import own_name
from squidbot.core.transcript.recordings import RECORDING
from squidbot.core.transcript.scopes import MODEL
from squidbot.replay.terms import Charges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.bootstrap import Wired
    from squidbot.config import Loaded
    from squidbot.core.messages import ContextWindow
    from squidbot.core.ports import TranscriptStore
    from squidbot.core.session import CoreSession
    from squidbot.core.transcript.lines import LineStore
    from squidbot.hookspecs import Store

# In larger stores only the latest sessions are listed; each takes about a third of a millisecond.
MOST_LISTED: Final = 1_000
# How many sessions' rows are remembered.
MOST_ROWS: Final = 4_096


class ShownStore(Protocol):
    """A store whose sessions are shown, under their own windows; `cli.open_store.OpenStore` is one."""

    @property
    def wired(self) -> Wired:
        """The engine."""

    @property
    def store(self) -> Store:
        """Transcripts and summaries."""

    def sessions(self) -> list[tuple[str, int]]:
        """Return (id, number of messages) of every session, oldest first."""

    def line(self, session_id: str) -> LineStore:
        """Return the store as the line of a session that is talked on."""

    def window(self, session_id: str) -> tuple[ContextWindow, str]:
        """Return the window that a session ran under, and its source: "recorded", "settings" or "assumed"."""

    def session(self, session_id: str) -> CoreSession:
        """Return the engine's session under its own window."""


def key_of(session_id: str) -> str:
    """Return a session's id as a part of an address: letters, digits, - and _."""
    return urlsafe_b64encode(session_id.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def id_of(key: str) -> str:
    """Return the id of a session by its key.

    Raises:
        NotFoundError: it is no key.
    """
    try:
        found = urlsafe_b64decode(key + "=" * (-len(key) % 4)).decode("utf-8", "surrogatepass")
    except ValueError:
        found = ""
    if not 1 <= len(found) <= 1024 or key_of(found) != key:
        raise NotFoundError("there is no such session")
    return found


def charges_for(loaded: Loaded, model: str) -> Charges:
    """Return the prices of a model by the settings."""
    return Charges.of(loaded.settings.model(model).prices or loaded.settings.prices, loaded.prices(model))


def charges_of_session(place: ShownStore, session_id: str) -> Charges:
    """Return the prices by which a session is billed: those of its window's model, or of the newest that answered.

    Raises:
        DamagedStoreError: a record can't be read.
    """
    model = place.window(session_id)[0].model
    newest = None if model else MODEL.newest(place.store, session_id)
    return charges_for(place.wired.loaded, newest.model if newest else model)


def session_row(place: ShownStore, session_id: str, messages: int, above_it: str | None) -> dict[str, Any]:
    """Return what is known about a session without reading it; its id is below that of another one, `above_it`.

    A session with a damaged record has the reason under "damaged", and no more.
    """
    keys = ("first_time", "last_time", "requests", "request_tokens", "plan", "cause", "model", "window")
    found: dict[str, Any] = {"session": session_id, "messages": messages, **dict.fromkeys(keys), "requests": 0}
    found |= {"damaged": None, "parent": above_it, "way": BELOW if above_it else None}
    found |= dict.fromkeys(("agent", "project", "title"))
    try:
        ends = place.store.pick(session_id, {0, messages - 1}) if messages else []
        newest = place.line(session_id).last_record(session_id, REQUEST)
        last_request = LastRequest.of(newest) if newest else None
        stored = place.line(session_id).last_record(session_id, "plan")
        plan = PlanRecord.from_json(stored.body) if stored else None
        window, source = place.window(session_id)
        parent = parent_of(place.store, session_id)
        recording = RECORDING.newest(place.store, session_id)
    except DamagedStoreError as error:
        return {**found, "damaged": str(error)}
    if ends:
        found |= {"first_time": ends[0].time, "last_time": ends[-1].time}
    if last_request:
        found |= {"requests": last_request.requests, "request_tokens": last_request.most_tokens}
    if plan:
        found |= {"plan": plan.plan_id, "cause": plan.cause}
    if source != "assumed":
        found |= {"model": window.model, "window": window.window_tokens}
    if recording:
        redacted = place.wired.remembering.redactor.redacted
        said = (recording.agent, recording.project, recording.title)
        found |= {name: redacted(one) or None for name, one in zip(("agent", "project", "title"), said, strict=True)}
    if parent:
        found |= {"parent": parent.other, "way": parent.way}
    return found


class _Spent(NamedTuple):
    """What the prompts of one line have cost: up to the newest, and with it.

    Attributes:
        records: how many records were read; requests: how many there are: one of them may have a second record.
        before: tokens and price of all requests but the newest; newest: of that.
        place, plan, tokens: the messages, the plan and the size of the newest request.
        is_sure: whether every request has a bill of its provider.
    """

    records: int = 0
    requests: int = 0
    before: tuple[int, float] = (0, 0.0)
    newest: tuple[int, float] = (0, 0.0)
    place: int = -1
    plan: int = -2
    tokens: int = 0
    is_sure: bool = True

    def after(self, store: TranscriptStore, session_id: str, kind: str, charges: Charges) -> _Spent:
        """Return it with the records of a kind that came since."""
        spent = self
        for record in store.records(session_id, kind, self.records):
            last, usage = LastRequest.of(record), usage_of(record)
            is_again = last.messages == spent.place >= 0  # with its bill
            before = spent.before if is_again else _plus(spent.before, spent.newest)
            tokens = last.cost.estimate
            if usage is not None:
                one = usage.input_tokens, charges.prices.billed(usage._replace(output_tokens=0))
            else:
                kept = charges.cached(min(spent.tokens, tokens)) if last.plan_id == spent.plan else 0
                one = tokens, charges.request(tokens, kept)
            is_sure = spent.is_sure and usage is not None
            counts = spent.records + 1, spent.requests + (not is_again)
            spent = _Spent(*counts, before, one, last.messages, last.plan_id, tokens, is_sure)
        return spent


def _plus(one: tuple[int, float], other: tuple[int, float]) -> tuple[int, float]:
    return one[0] + other[0], one[1] + other[1]


class SessionRows:
    """The rows of the list, remembered while their sessions stay as they are. Threads may share it."""

    def __init__(self, place: ShownStore) -> None:
        """Take the store; nothing is read yet."""
        self._place = place
        self._lock = Lock()
        self._times = OrderedDict[str, tuple[int, float]]()
        self._rows = OrderedDict[str, tuple[SessionIdentity, dict[str, Any]]]()
        self._spent = OrderedDict[str, tuple[_Spent, ...]]()
        self._identities = OrderedDict[str, SessionIdentity]()

    def page(
        self, sees: Callable[[str, int], bool], *, name: str = "", offset: int = 0, limit: int = 50
    ) -> dict[str, Any]:
        """Return a page of the list, the session with the newest message first.

        `sees` tells which sessions, by id and number of messages, the viewer may see; `name` is a part of the ids, or
        of the projects and titles of imported sessions.

        Raises:
            StoreError: the store failed, or can't list its sessions.
        """
        stored = dict(self._place.sessions())
        listed, total = self._listed(stored, sees, name)
        # A session that was begun again is among the newest of the store, but keeps its old place until it is noticed.
        looked = dict.fromkeys((*listed[offset : offset + limit], *self._newest(stored, listed, limit)))
        identities = {one: identity_of(self._place.store, one) for one in looked}
        if self._are_begun_again(identities):
            listed, total = self._listed(stored, sees, name)
        rows = [dict(self._row(one, stored, identities.get(one))) for one in listed[offset : offset + limit]]
        for row in rows:
            parent = row["parent"]
            if parent is not None and not (parent in stored and sees(parent, stored[parent])):
                row |= {"parent": None, "parent_key": None}
        return {"sessions": rows, "offset": offset, "listed": len(listed), "total": total}

    def ids(self, sees: Callable[[str, int], bool], name: str = "") -> tuple[list[str], int]:
        """Return the ids of the list, in its order, and how many sessions there are; raises as `page`."""
        return self._listed(dict(self._place.sessions()), sees, name)

    def _listed(self, stored: Mapping[str, int], sees: Callable[[str, int], bool], name: str) -> tuple[list[str], int]:
        part, about = name.casefold(), self._recorded_as(name)
        every = [one for one, count in stored.items() if (part in one.casefold() or one in about) and sees(one, count)]
        listed = every[-MOST_LISTED:]
        times = {one: self._last_time(one, stored[one]) for one in listed}
        listed.sort(key=lambda one: -times[one])
        return listed, len(every)

    def _recorded_as(self, name: str) -> set[str]:
        """Return the imported sessions in whose project or title a text stands."""
        store = self._place.store
        if not name or not isinstance(store, SupportsRecordSearch):
            return set()
        written = json.dumps(name, ensure_ascii=False)[1:-1]
        return {one for one in store.sessions_with(RECORDING.name, [written]) if self._is_recorded_as(one, name)}

    def _is_recorded_as(self, session_id: str, name: str) -> bool:
        try:
            recording = RECORDING.newest(self._place.store, session_id)
        except DamagedStoreError:
            return False
        return recording is not None and (name in recording.project or name in recording.title)

    def _last_time(self, session_id: str, messages: int) -> float:
        with self._lock:
            held = self._times.get(session_id)
        if held is None or held[0] != messages:
            try:
                newest = self._place.store.pick(session_id, {messages - 1}) if messages else []
            except DamagedStoreError:
                newest = []
            held = messages, (newest[0].time or 0.0) if newest else 0.0
            self._hold(self._times, session_id, held)
        return held[1]

    def _newest(self, stored: Mapping[str, int], listed: Sequence[str], limit: int) -> Iterator[str]:
        """Return those of a list that were begun last."""
        shown = set(listed)
        return islice((one for one in reversed([*stored]) if one in shown), limit)

    def _are_begun_again(self, identities: Mapping[str, SessionIdentity]) -> bool:
        """Return whether any session is another one than before, or seen for the first time; drop what is known of it.

        Until then only its number of messages told whether the time of its newest one was still right.
        """
        with self._lock:
            before = {one: self._identities.get(one) for one in identities}
            others = [one for one, found in identities.items() if not ((was := before[one]) and found.continues(was))]
            for one in others:
                for held in (self._times, self._rows, self._spent):
                    held.pop(one, None)
        for one, found in identities.items():
            self._hold(self._identities, one, found)
        return bool(others)

    def _row(self, session_id: str, stored: Mapping[str, int], identity: SessionIdentity | None) -> dict[str, Any]:
        identity = identity or identity_of(self._place.store, session_id)
        with self._lock:
            held = self._rows.get(session_id)
        if held is None or held[0] != identity:
            self._are_begun_again({session_id: identity})
            held = identity, self._made(session_id, identity.messages, above(session_id, stored.__contains__))
            self._hold(self._rows, session_id, held)
        return held[1]

    def _made(self, session_id: str, messages: int, above_it: str | None) -> dict[str, Any]:
        parts = ("limit", "compaction", "lines", "line", "sent_tokens", "price", "price_is_sure", "goal")
        row: dict[str, Any] = {"key": key_of(session_id), **dict.fromkeys(parts)}
        try:
            row |= session_row(self._place, session_id, messages, above_it)
            if not row["damaged"]:
                row |= self._state(session_id)
        except SquidbotError as error:
            row |= {"session": session_id, "messages": messages, "damaged": str(error), "parent": above_it}
        return row | {"parent_key": key_of(row["parent"]) if row["parent"] else None}

    def _state(self, session_id: str) -> dict[str, Any]:
        """Return how full the window is, the newest compaction, the lines, the cost and the goal."""
        line = self._place.line(session_id)
        newest, stored = line.last_record(session_id, REQUEST), line.last_record(session_id, "plan")
        plan = PlanRecord.from_json(stored.body) if stored else None
        goals, spent = stored_goals(line, session_id), self._cost(session_id, line)
        tokens, price = 0, 0.0
        for one in spent:
            tokens, price = _plus((tokens, price), _plus(one.before, one.newest))
        return {
            "limit": LastRequest.of(newest).limit_under(self._place.window(session_id)[0]) if newest else None,
            "compaction": plan
            and {
                "cause": plan.cause,
                "time": plan.created_at,
                "before": plan.tokens_before,
                "after": plan.tokens_after,
            },
            "requests": sum(one.requests for one in spent),
            "lines": len(line.lines.made) + 1,
            "line": line.line,
            "sent_tokens": tokens,
            "price": price,
            "price_is_sure": all(one.is_sure for one in spent),
            "goal": goals.active.text if goals.active else None,
        }

    def _cost(self, session_id: str, line: LineStore) -> tuple[_Spent, ...]:
        """Return what each line has spent; of known ones only what came since is read."""
        charges = charges_of_session(self._place, session_id)
        with self._lock:
            before = self._spent.get(session_id, ())
        names = [own_name(REQUEST, number) for number in range(len(line.lines.made) + 1)]
        known = (*before, *[_Spent()] * (len(names) - len(before)))
        pairs = zip(known, names, strict=False)
        spent = tuple(one.after(self._place.store, session_id, name, charges) for one, name in pairs)
        self._hold(self._spent, session_id, spent)
        return spent

    def _hold(self, held: OrderedDict[str, Any], name: str, value: object) -> None:
        with self._lock:
            held[name] = value
            held.move_to_end(name)
            while len(held) > MOST_ROWS:
                held.popitem(last=False)
