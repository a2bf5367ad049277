"""One seeded file under one window: the session that a host holds on it, and what its calls took."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.clocks import Times
from benchmarks.floor import Insert, Reader, evict, sum_fresh
from benchmarks.host import SESSION, Host, Seen, Stores, open_session
from squidbot.adapters.sqlite3 import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.host import Call
    from squidbot.core.messages import Message
    from squidbot.core.view.assembly import CoreAssembly

__all__ = ["Bench", "Where"]

# Fresh sessions are measured where no event is near: turns are taken until then, at most so many.
MOST_SETTLING_TURNS = 60


class Where(NamedTuple):
    """A seeded file, how many messages were seeded, and the window of the session, in tokens."""

    path: Path
    messages: int
    window_tokens: int


class Bench:
    """Measures turns of one session; `times` by what was called, `rows` and `tokens` of the newest fresh request."""

    def __init__(self, where: Where, folder: Path) -> None:
        """Open the file, and one in `folder` for bare inserts."""
        self.where = where
        self.times: defaultdict[str, Times] = defaultdict(Times)
        self.rows = self.tokens = 0
        self._store = SqliteStore(where.path)
        self._seen = Seen()
        self._session = open_session(Stores(self._store, self._store, self._seen), where.window_tokens)
        self._reader = Reader(where.path, SESSION)
        self._insert = Insert(folder / f"bare-{where.messages}-{where.window_tokens}.db")
        self._host = Host(where.window_tokens)

    def close(self) -> None:
        """Close the files."""
        self._insert.close()
        self._reader.close()
        self._store.close()

    def open(self) -> None:
        """Take the first turn: it makes the session's first plan, which takes notes some windows far back, once."""
        first, *others = self._host.turn()
        made = self.times["opened"].of(lambda: self._session.assemble(first.incoming, self._host.inputs))
        self._session.record(*made.incoming, first.reply, now=first.time)
        for call in others:
            self._take(call)

    def take_turn(self) -> None:
        """Take one turn as a host does, each call beside its floor."""
        for call in self._host.turn():
            self._take(call)

    def settle(self) -> None:
        """Take turns until a fresh object makes no event, and thinks about none."""
        for _ in range(MOST_SETTLING_TURNS):
            seen = Seen()
            probe = open_session(Stores(self._store, self._store, seen), self.where.window_tokens)
            probe.assemble([self._host.question()], self._host.inputs)
            if not seen.was_busy():
                break
            self.take_turn()

    def fresh(self, *, evicted: bool = False) -> None:
        """Open the file and a session and assemble, as a new object does; then the floor on a new connection.

        With `evicted`, the system has to read the file from the disk for both.
        """
        kind = "evicted" if evicted else "fresh"
        question = self._host.question()
        if evicted:
            evict(self.where.path)
        opened: list[SqliteStore] = []
        made = self.times[kind].of(lambda: self._open_and_assemble(kind, opened, question))
        for store in opened:
            store.close()
        if self._seen.was_busy():
            self.times[kind].move_last_to(self.times[f"{kind} with event"])
        keys = self._reader.keys(made)
        self.rows, self.tokens = len(keys), made.cost.bound
        if evicted:
            evict(self.where.path)
        self.times[f"{kind} floor"].of(lambda: sum_fresh(self.where.path, keys))

    def _open_and_assemble(self, kind: str, opened: list[SqliteStore], question: Message) -> CoreAssembly:
        store = self.times[f"{kind} open"].of(lambda: SqliteStore(self.where.path))
        opened.append(store)
        session = open_session(Stores(store, store, self._seen), self.where.window_tokens)
        made = self.times[f"{kind} assemble"].of(lambda: session.assemble([question], self._host.inputs))
        self.times[f"{kind} encode"].of(lambda: made.payloads)
        return made

    def _take(self, call: Call) -> None:
        times, inputs = self.times, self._host.inputs
        made = times["assemble"].of(lambda: self._session.assemble(call.incoming, inputs))
        times["payloads"].of(lambda: made.payloads)
        keys = self._reader.keys(made)
        times["floor"].of(lambda: self._reader.sum(keys))
        kind = "record tool" if call.reply.calls or call.incoming[0].results else "record"
        rows = times[kind].of(lambda: self._session.record(*made.incoming, call.reply, now=call.time))
        times[f"bare {kind}"].of(lambda: self._insert.store(rows))
        if self._seen.was_busy():
            times["assemble"].move_last_to(times["event" if made.event else "skipped event"])
            times[kind].move_last_to(times["record behind event" if made.event else "record behind skipped event"])
