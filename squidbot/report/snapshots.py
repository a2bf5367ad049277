"""The figures of sessions for pages that follow them: built when needed, kept in bounds, sent as increments."""

from __future__ import annotations

import json
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from squidbot.adapters.common.threads import SharedLock
from squidbot.core.errors import NotFoundError
from squidbot.core.transcript.identity import SessionIdentity
from squidbot.report.data import GrowingReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from squidbot.report.data import ReportData

# A session is built again at the earliest after so many times the seconds that building it took, of a processor: waits
# for other builds don't count.
REST_FACTOR: Final = 10.0
# The most characters of figures and texts that are kept; the newest session stays, however long it is.
MOST_CHARS: Final = 128 * 2**20
# What figures and texts take beside their own length: the rows that they are made from, and the session's messages.
FIGURE_FACTOR: Final = 3
TEXT_FACTOR: Final = 2
# A page that is further behind gets everything anew.
MOST_VERSIONS: Final = 32

_WITH_TEXTS: Final = frozenset({"messages", "parts"})
_encoded: Final = json.JSONEncoder(separators=(",", ":")).encode


class SentFigures(NamedTuple):
    """What a page gets.

    Attributes:
        version: names these figures; the page names it the next time.
        body: JSON: "version"; "since", the version that it continues (null: none); "lists", by name how many entries
            to "keep" and those to "add"; "values", everything else. `None`: the page has it.
        again_seconds: when to ask again, because the session has more by now; `None`: at the next event.
    """

    version: str
    body: str | None
    again_seconds: float | None


@dataclass(slots=True)
class _Snapshot:
    """The newest figures of a session.

    Attributes:
        epoch: names the numbers of texts; begins every version.
        texts, numbers: the texts, and their numbers: a text keeps its number while the epoch lasts.
        growing: what was read of the session.
        rows: what the lists were made from: a row that is the same object is not written again.
        known: older versions, each with how many entries of each list it has in common with the newest one.
    """

    epoch: str = field(default_factory=lambda: secrets.token_hex(6))
    number: int = 0
    identity: SessionIdentity = field(default_factory=SessionIdentity)
    lists: dict[str, list[str]] = field(default_factory=dict)
    values: str = "{}"
    texts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    known: OrderedDict[str, dict[str, int]] = field(default_factory=OrderedDict)
    growing: GrowingReport = field(default_factory=GrowingReport)
    rows: dict[str, list[Any]] = field(default_factory=dict)
    chars: int = 0
    built_at: float = 0.0
    seconds: float = 0.0

    @property
    def version(self) -> str:
        return f"{self.epoch}.{self.number}"

    def take(self, data: ReportData, identity: SessionIdentity) -> bool:
        """Take newer figures; return False if a text is gone: then numbers have to begin anew."""
        numbers = [self.numbers.setdefault(text, len(self.numbers)) for text in data.texts]
        if len(self.numbers) > len(data.texts):
            return False
        rows = {name: value for name, value in data.values.items() if isinstance(value, list)}
        lists = {name: self._written(name, value, numbers) for name, value in rows.items()}
        self._keep_versions(lists)
        self.lists, self.rows, self.identity, self.number = lists, rows, identity, self.number + 1
        self.values = _encoded({name: value for name, value in data.values.items() if name not in lists})
        self.texts = [*self.numbers]
        chars = sum(len(one) for every in lists.values() for one in every)
        self.chars = FIGURE_FACTOR * chars + TEXT_FACTOR * sum(map(len, self.texts)) + len(self.values)
        return True

    def _written(self, name: str, rows: Sequence[Any], numbers: Sequence[int]) -> list[str]:
        """Return the rows of a list as JSON."""
        before, written = self.rows.get(name, ()), self.lists.get(name, ())
        pairs = zip(before, rows, strict=False)
        kept = next((at for at, (one, other) in enumerate(pairs) if one is not other), min(len(before), len(rows)))
        if name in _WITH_TEXTS:
            new = [_encoded({**one, "text": numbers[one["text"]]}) for one in rows[kept:]]
        else:
            new = [*map(_encoded, rows[kept:])]
        return [*written[:kept], *new]

    def _keep_versions(self, lists: Mapping[str, Sequence[str]]) -> None:
        """Note how much of the versions before the newer figures have, too."""
        if self.number:
            self.known[self.version] = {name: len(every) for name, every in self.lists.items()}
        same = {name: _same(self.lists.get(name, ()), every) for name, every in lists.items()}
        for kept in self.known.values():
            kept.update({name: min(kept.get(name, 0), count) for name, count in same.items()})
        while len(self.known) > MOST_VERSIONS:
            self.known.popitem(last=False)

    def body(self, since: str) -> str | None:
        """Return what a page that has a version lacks; `None` for nothing."""
        if since == self.version:
            return None
        kept = self.known.get(since)
        lists = ",".join(
            f'{_encoded(name)}:{{"keep":{keep},"add":[{",".join(every[keep:])}]}}'
            for name, every in self.lists.items()
            for keep in (kept.get(name, 0) if kept else 0,)
        )
        continues = _encoded(since) if kept is not None else "null"
        return f'{{"version":"{self.version}","since":{continues},"lists":{{{lists}}},"values":{self.values}}}'


def _same(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many first entries two lists have in common."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))


class ReportCache:
    """The figures and texts of sessions. Threads may share it: a session is built by one of them at a time."""

    def __init__(
        self,
        build: Callable[[str, GrowingReport], ReportData],
        identity: Callable[[str], SessionIdentity],
        *,
        most_chars: int = MOST_CHARS,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        """Take what builds a session's data, what tells its identity, and clocks.

        `build` also gets what was read of the session before. `clock` and `spent` return seconds: those that have
        passed, and those that this thread has computed.
        """
        self._build, self._identity, self._most_chars = build, identity, most_chars
        self._clock, self._spent = clock, spent
        self._lock = Lock()
        self._held = OrderedDict[str, _Snapshot]()
        # The lock of each session that is being built, and how many wait for it.
        self._building: dict[str, tuple[SharedLock, int]] = {}

    @property
    def chars(self) -> int:
        """How many characters are kept."""
        with self._lock:
            return sum(one.chars for one in self._held.values())

    def figures(self, session_id: str, since: str = "") -> SentFigures:
        """Return what a page that has the version `since` lacks ("" for none).

        Raises:
            StoreError: the store failed, or what it has can't be read.
        """
        lock = self._enter(session_id)
        try:
            with lock:
                identity = self._identity(session_id)  # here, or another thread may have built what is newer
                held = self._newest(session_id, identity)
                wait = max(0.0, held.built_at + REST_FACTOR * held.seconds - self._clock())
                return SentFigures(held.version, held.body(since), wait if held.identity != identity else None)
        finally:
            self._leave(session_id)

    def text(self, session_id: str, epoch: str, number: int) -> str:
        """Return a text of the figures whose version begins with `epoch`.

        Raises:
            NotFoundError: it is not kept any more: ask for the figures.
            StoreError: the store failed.
        """
        beginning = self._identity(session_id).beginning
        with self._lock:
            held = self._held.get(session_id)
            is_same = held is not None and (held.identity.beginning, held.epoch) == (beginning, epoch)
            if held is None or not is_same or not 0 <= number < len(held.texts):
                raise NotFoundError("these figures are not kept any more: load the page again")
            return held.texts[number]

    def drop(self, session_id: str | None = None) -> None:
        """Keep nothing of a session, or of any: something was forgotten."""
        with self._lock:
            for name in [*self._held] if session_id is None else [session_id]:
                self._held.pop(name, None)

    def _newest(self, session_id: str, identity: SessionIdentity) -> _Snapshot:
        """Return the newest figures that may be had now; the lock of the session is held."""
        with self._lock:
            held = self._held.get(session_id)
            if held and not identity.continues(held.identity):  # it was forgotten, and begun again
                held = None
                del self._held[session_id]
        now = self._clock()
        if held and (held.identity == identity or now < held.built_at + REST_FACTOR * held.seconds):
            return self._keep(session_id, held)
        spent = self._spent()
        made = held or _Snapshot()
        data = self._build(session_id, made.growing)
        with self._lock:  # `text` must not read it half
            if not made.take(data, identity):
                made = _Snapshot(growing=made.growing)
                made.take(data, identity)
        made.built_at = self._clock()
        made.seconds = self._spent() - spent
        return self._keep(session_id, made)

    def _keep(self, session_id: str, made: _Snapshot) -> _Snapshot:
        with self._lock:
            self._held[session_id] = made
            self._held.move_to_end(session_id)
            chars = sum(one.chars for one in self._held.values())
            while chars > self._most_chars and len(self._held) > 1:
                chars -= self._held.popitem(last=False)[1].chars
        return made

    def _enter(self, session_id: str) -> SharedLock:
        with self._lock:
            lock, waiting = self._building.get(session_id, (SharedLock(), 0))
            self._building[session_id] = lock, waiting + 1
            return lock

    def _leave(self, session_id: str) -> None:
        with self._lock:
            lock, waiting = self._building.pop(session_id)
            if waiting > 1:
                self._building[session_id] = lock, waiting - 1
