"""Tells open pages which sessions have something new: one thread looks for all of them, and only while one is open."""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from squidbot.core.errors import StoreError
from squidbot.core.ports import SupportsHeads, SupportsNews
from squidbot.core.transcript.identity import identity_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from squidbot.core.ports import TranscriptStore
    from squidbot.core.transcript.identity import SessionIdentity

    Tell = Callable[[frozenset[str]], None]

_LOG = logging.getLogger("squidbot")
# The pause between two looks at a file, and at a server: with what follows, a page is at most a second behind.
FILE_SECONDS: Final = 0.2
SERVER_SECONDS: Final = 0.7
# After a failure.
RETRY_SECONDS: Final = 2.0
# Of those that were written to lately, at most so many of the newest are looked at one by one.
MOST_RECENT: Final = 32
# Later than any clock is ahead of another one.
AHEAD_SECONDS: Final = 7 * 24 * 3_600.0
# What is told where sessions that nobody named have changed.
ANY: Final = ""


class _Listener(NamedTuple):
    """Who listens: the sessions, whether any other one counts too, and whom to tell."""

    sessions: frozenset[str]
    any_session: bool
    tell: Tell


class StoreWatcher:
    """Watches sessions of a store for those who listen. Threads may share it.

    A SQLite file is asked only if it, or its log, has changed. A server answers two small queries for all sessions, and
    a few for those that were written to in the last minute.
    """

    def __init__(self, store: TranscriptStore, path: str = "") -> None:
        """Take the store, and its file; "" for none."""
        self._store = store
        self._files = (path, f"{path}-wal") if path else ()
        self._pause_seconds = FILE_SECONDS if path else SERVER_SECONDS
        self._lock = threading.Lock()
        self._listeners: dict[int, _Listener] = {}
        self._next = 0
        self._known: dict[str, SessionIdentity] = {}
        self._stamp: object = None
        self._moment = 0.0
        self._recent: dict[str, SessionIdentity] = {}
        self._wake = threading.Event()
        self._is_open = True
        self._thread: threading.Thread | None = None

    @contextmanager
    def listening(self, sessions: Sequence[str], tell: Tell, *, any_session: bool = False) -> Iterator[None]:
        """Call `tell` in the watcher's thread, with the ids of sessions that have changed, while the context is open.

        It is called from now on: whoever read a session before looks again once the context is open. `any_session`:
        also with `ANY`, when any session of the store has changed.

        Raises:
            StoreError: the store failed.
        """
        found = {name: identity_of(self._store, name) for name in dict.fromkeys(sessions)}
        with self._lock:
            number, self._next = self._next, self._next + 1
            self._listeners[number] = _Listener(frozenset(sessions), any_session, tell)
            for name in sessions:
                self._known.setdefault(name, found[name])
            if self._thread is None and self._is_open:
                self._stamp = self._stamp_of_files()
                self._thread = threading.Thread(target=self._run, name="squidbot-watcher", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._listeners[number]
                watched = {name for one in self._listeners.values() for name in one.sessions}
                self._known = {name: one for name, one in self._known.items() if name in watched}
            self._wake.set()

    @property
    def is_at_work(self) -> bool:
        """Whether its thread runs."""
        return self._thread is not None

    def poke(self) -> None:
        """Look soon: this process has written."""
        self._wake.set()

    def close(self) -> None:
        """End the thread; nobody is told anything after this."""
        with self._lock:
            self._is_open = False
            thread = self._thread
        self._wake.set()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        pause = self._pause_seconds
        while True:
            self._wake.wait(pause)
            self._wake.clear()
            with self._lock:
                if not self._listeners or not self._is_open:
                    self._thread, self._moment = None, 0.0
                    self._recent.clear()
                    return
                listeners = [*self._listeners.values()]
            pause = self._pause_seconds
            try:
                self._look(listeners)
            except StoreError as error:
                _LOG.debug("the watcher could not look: %s", error)
                pause = RETRY_SECONDS

    def _look(self, listeners: Sequence[_Listener]) -> None:
        stamp = self._stamp_of_files()
        if stamp is not None and stamp == self._stamp:
            return
        sessions = [*{name for one in listeners for name in one.sessions}]
        written, moment = self._written() if stamp is None else ([], 0.0)
        with self._lock:
            known = {name: self._known[name] for name in sessions if name in self._known}
        found = self._identities(known, written)
        lists = any(one.any_session for one in listeners)
        recent = {name: found.get(name) or identity_of(self._store, name) for name in written} if lists else {}
        changed = {name for name, identity in found.items() if identity != known[name]}
        is_any_new = stamp is not None or any(self._recent.get(name) != one for name, one in recent.items())
        # From here on nothing fails: what is noted now is told.
        with self._lock:
            self._known.update({name: found[name] for name in changed if name in self._known})
        self._stamp, self._recent, self._moment = stamp, recent, moment
        if is_any_new:
            changed.add(ANY)
        for one in listeners:
            mine = changed & one.sessions | (changed & {ANY} if one.any_session else frozenset())
            if mine:
                one.tell(frozenset(mine))

    def _identities(self, known: Mapping[str, SessionIdentity], written: Sequence[str]) -> dict[str, SessionIdentity]:
        """Return the sessions as they are now. A server is asked only for those that may have changed."""
        if not known or not isinstance(self._store, SupportsHeads):
            return {name: identity_of(self._store, name) for name in known}
        heads, lately = self._store.heads([*known]), {*written}
        same = {name for name, one in known.items() if heads.get(name, (0, 0)) == (one.messages, one.records)}
        return {name: known[name] if name in same - lately else identity_of(self._store, name) for name in known}

    def _stamp_of_files(self) -> object:
        """Return what differs as soon as anything was written; `None` where there is no file."""
        if not self._files:
            return None
        found = list[object]()
        for path in self._files:
            status = None
            with suppress(OSError):
                status = os.stat(path)  # noqa: PTH116  # five times a second; a Path costs more than the call
            found.append(status and (status.st_ino, status.st_size, status.st_mtime_ns))
        return tuple(found)

    def _written(self) -> tuple[list[str], float]:
        """Return the newest sessions of a server that were written to since the last look, and the moment of this."""
        if not isinstance(self._store, SupportsNews):
            return [], 0.0
        moment = self._moment
        if not moment:  # a moment to come tells the server's own
            moment = self._store.changed_since(time.time() + AHEAD_SECONDS)[1]
        names, moment = self._store.changed_since(moment)
        return names[-MOST_RECENT:], moment
